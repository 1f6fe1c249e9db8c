//! Against the real ones: NumPy, the Python package `safetensors`, and Pillow write, and what is written here they read.
//!
//! `CROSSDOCK_PYTHON` names a Python that has them. Without it nothing is run, unless `CROSSDOCK_REQUIRE_COUNTERPARTS` is
//! set: then that is a failure.

use std::path::Path;
use std::process::Command;

use crossdock::exchange::files::npz::Compression;
use crossdock::exchange::files::{self, jpeg, npy, npz, png, safetensors};
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
    // Beside each file lie its arrays, as `.npy` files of NumPy.
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
            let beside = npy::open(folder.path(&format!("{name}.{}.npy", entry.name()))).unwrap();
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

    let read = |name: &str| npy::open(folder.path(name)).unwrap();
    let arrays: Vec<_> =
        ["a", "b", "c", "d", "e", "f"].map(|name| (name, read(&format!("stored.npz.{name}.npy")))).into();
    npz::save(folder.path("ours-stored.npz"), &arrays, Compression::Stored).unwrap();
    npz::save(folder.path("ours-deflated.npz"), &arrays, Compression::Deflated).unwrap();
    let tensors = files::open_all(folder.path("torch.safetensors")).unwrap();
    let tensors: Vec<_> =
        tensors.entries().iter().map(|entry| (entry.name().to_owned(), entry.open().unwrap())).collect();
    safetensors::save(folder.path("ours.safetensors"), &tensors, &[("format", "np"), ("größe", "1")])
        .unwrap();
    png::save(folder.path("ours-rgb.png"), &read("rgb.png..npy")).unwrap();
    png::save(folder.path("ours-grey16.png"), &read("grey16.png..npy")).unwrap();
    jpeg::save(folder.path("ours-rgb.jpg"), &read("rgb.jpg..npy"), 95).unwrap();
    run(&python, "check", &folder.0);
}

/// Decoders may round differently.
fn assert_near(got: &crossdock::DArray, wanted: &crossdock::DArray) {
    assert_eq!(got.shape(), wanted.shape());
    for (got, wanted) in values(got).iter().zip(values(wanted)) {
        let [got, wanted]: [i32; 2] = [got, &wanted].map(|text| text.parse().unwrap());
        assert!((got - wanted).abs() <= 3, "{got} for {wanted}");
    }
}
