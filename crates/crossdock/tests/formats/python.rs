//! Interoperability: files of NumPy, the Python package `safetensors`, and Pillow are read here,
//! and files written here are read there.
//!
//! `CROSSDOCK_PYTHON` names a Python that has them. Without it nothing is run, unless
//! `CROSSDOCK_REQUIRE_COUNTERPARTS` is set: then that is a failure.

use std::path::Path;
use std::process::Command;

use crossdock::exchange::files::{self, SaveOptions};
use crossdock::memory::copied_bytes_here;
use crossdock_testkit::python;

use crate::common::{Folder, assert_same, values};

fn run(python: &Path, step: &str, folder: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/formats.py");
    let output = Command::new(python).arg(&script).arg(step).arg(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {step}: {}\n{said}", script.display(), output.status);
}

#[test]
fn what_python_writes_is_opened_and_what_is_written_here_python_reads() {
    let Some(python) = python() else { return };
    let folder = Folder::new("python");
    run(&python, "write", &folder.0);
    // Beside each file are its arrays, as `.npy` files of NumPy.
    let mut count = 0;
    for name in [
        "stored.npz",
        "deflated.npz",
        "torch.safetensors",
        "rgb.png",
        "grey16.png",
        "palette.png",
        "grey.jpg",
        "rgb.jpg",
    ] {
        let before = copied_bytes_here();
        let contents = files::open_all(folder.path(name)).unwrap();
        for entry in contents.entries() {
            let in_place = entry.copied_because().is_none();
            assert_eq!(in_place, name == "stored.npz" || name == "torch.safetensors", "{name}");
            let beside = files::open(folder.path(&format!("{name}.{}.npy", entry.name()))).unwrap();
            let array = entry.open().unwrap();
            if name.ends_with("jpg") {
                assert_near(&array, &beside);
            } else {
                assert_same(&array, &beside);
            }
            count += 1;
        }
        if name == "stored.npz" || name == "torch.safetensors" {
            assert_eq!(copied_bytes_here(), before);
        }
    }
    assert!(count >= 20, "{count} arrays were compared");

    let read = |name: &str| files::open(folder.path(name)).unwrap();
    let arrays: Vec<_> =
        ["a", "b", "c", "d", "e", "f"].map(|name| (name, read(&format!("stored.npz.{name}.npy")))).into();
    SaveOptions::new().save_all(folder.path("ours-stored.npz"), &arrays).unwrap();
    SaveOptions::new().deflated(true).save_all(folder.path("ours-deflated.npz"), &arrays).unwrap();
    let tensors = files::open_all(folder.path("torch.safetensors")).unwrap();
    let tensors: Vec<_> =
        tensors.entries().iter().map(|entry| (entry.name().to_owned(), entry.open().unwrap())).collect();
    SaveOptions::new()
        .metadata("format", "np")
        .metadata("größe", "1")
        .save_all(folder.path("ours.safetensors"), &tensors)
        .unwrap();
    files::save(folder.path("ours-rgb.png"), &read("rgb.png..npy")).unwrap();
    files::save(folder.path("ours-grey16.png"), &read("grey16.png..npy")).unwrap();
    SaveOptions::new().quality(95).save(folder.path("ours-rgb.jpg"), &read("rgb.jpg..npy")).unwrap();
    run(&python, "check", &folder.0);
}

/// Small enough not to overflow in NumPy, which wraps silently.
const DATES: &str = r#"
import pathlib, sys
import numpy as np
folder = pathlib.Path(sys.argv[1])
counts = np.random.default_rng(7).integers(-120, 120, 200)
counts[0] = np.iinfo("i8").min
units = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "7D", "25us", "3M", "2Y", "90m"]
for kind in ["M8", "m8"]:
    for a in units:
        dates = counts.view(f"{kind}[{a}]")
        np.save(folder / f"{kind}.{a}.npy", dates)
        for b in units:
            np.save(folder / f"{kind}.{a}.{b}.npy", dates.astype(f"{kind}[{b}]"))
np.savez(folder / "mixed.npz", a=counts, objects=np.array([1, "x", None], dtype=object), b=counts[:3])
"#;

#[test]
fn dates_are_cast_as_numpy_casts_them_and_objects_stand_beside_arrays() {
    use crossdock::{Casting, layout::Order};
    let Some(python) = python() else { return };
    let folder = Folder::new("python-dates");
    let output = Command::new(python).args(["-c", DATES]).arg(&folder.0).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut count, mut exact) = (0, 0);
    for entry in std::fs::read_dir(&folder.0).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let &[kind, from, to, _npy] = &name.split('.').collect::<Vec<_>>()[..] else { continue };
        // NumPy's factor between these overflows silently: it converts two years to
        // 16997043815726120 ns.
        if kind == "m8" && to == "ns" && ["3M", "2Y"].contains(&from) {
            continue;
        }
        let source = files::open(folder.path(&format!("{kind}.{from}.npy"))).unwrap();
        let wanted = files::open(folder.path(&name)).unwrap();
        let got = source.cast(wanted.dtype(), Order::RowMajor, Casting::Saturating).unwrap();
        assert_eq!(values(&got), values(&wanted), "{name}");
        // An accepted conversion must be equal.
        if let Ok(checked) = source.cast(wanted.dtype(), Order::RowMajor, Casting::Checked) {
            assert_eq!(values(&checked), values(&wanted), "{name}");
            exact += 1;
        }
        count += 1;
    }
    assert!(count == 2 * 15 * 15 - 2 && exact > 100, "{count} pairs of units, {exact} of them exact");
    let contents = files::open_all(folder.path("mixed.npz")).unwrap();
    assert_eq!(contents.names().collect::<Vec<_>>(), ["a", "b"]);
    assert!(contents.get("objects").unwrap_err().to_string().contains("pickle"));
}

/// Decoders may round differently.
fn assert_near(got: &crossdock::DArray, wanted: &crossdock::DArray) {
    assert_eq!(got.shape(), wanted.shape());
    for (got, wanted) in values(got).iter().zip(values(wanted)) {
        let [got, wanted]: [i32; 2] = [got, &wanted].map(|text| text.parse().unwrap());
        assert!((got - wanted).abs() <= 3, "{got} for {wanted}");
    }
}
