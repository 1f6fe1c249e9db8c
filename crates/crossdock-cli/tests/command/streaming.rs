//! `convert` in parts: its memory, several inputs, and what it does to a file when it is killed.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crossdock::exchange::files::{SaveOptions, open_all};
use crossdock::layout::Order;
use crossdock::{Casting, DArray};
use crossdock_testkit::{cases, rounds};
use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Folder, answer, crossdock, npy, python_with_numpy, refusal, run, stdout};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A sparse `.npy` file of zeros, except for its last bytes.
fn sparse(folder: &Folder, name: &str, dtype: &str, shape: &str, nbytes: u64) -> PathBuf {
    let path = folder.file(name, npy(dtype, false, shape, &[]));
    let file = File::options().write(true).open(&path).unwrap();
    file.set_len(file.metadata().unwrap().len() + nbytes).unwrap();
    std::os::unix::fs::FileExt::write_at(&file, &7u32.to_le_bytes(), 128 + nbytes - 4).unwrap();
    path
}

/// Runs the command, and returns the most memory that it had resident, mapped pages included.
fn peak(arguments: &[&str]) -> u64 {
    let mut child = crossdock(arguments).stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kibibytes.unwrap_or(0) << 10);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(child.wait().unwrap().success(), "{arguments:?}");
    peak
}

#[test]
fn the_memory_is_that_of_the_option_whatever_the_size() {
    let folder = Folder::new("streaming-memory");
    const NBYTES: u64 = 64 << 20;
    let large = sparse(&folder, "large.npy", "'<u4'", "(2048, 8192)", NBYTES);
    let out = folder.path("out.npz");
    for options in [
        &["--order", "F"][..],
        &["--dtype", ">u2", "--order", "F", "--deflate"],
        &["--verify", "--order", "F", "--dtype", "<u2"],
    ] {
        let peak =
            peak(&[&["convert", text(&large), text(&out), "--force", "--memory", "2M"], options].concat());
        assert!(peak > 1 << 20 && peak < NBYTES * 3 / 4, "{options:?}: {peak} B");
    }
    let written = open_all(&out).unwrap().single().unwrap().open().unwrap();
    assert_eq!(written.get(&[2047, 8191]).unwrap().as_u64(), Some(7));
    assert_eq!(written.strides(), [2, 4096]);
}

#[test]
fn parts_join_to_the_array_in_every_order_and_dtype() {
    let folder = Folder::new("streaming-parts");
    let numbers: Vec<u32> = (0..300 * 70 * 90u32).map(|n| n.wrapping_mul(2_654_435_761) >> 8).collect();
    let whole = DArray::from_vec(numbers, &[300, 70, 90]).unwrap();
    let file = folder.path("whole.npy");
    crossdock::exchange::files::save(&file, &whole).unwrap();
    for (view, dtype, order, to) in [
        ("", "<f8", "F", "npy"),
        ("::-1, :, ::3", ">f4", "C", "npz"),
        ("", "<u4", "F", "npz"),
        (":, ::-2", "<i8", "F", "raw"),
        ("", "float32", "C", "safetensors"),
        ("5", "<u8", "F", "npy"),
    ] {
        let out = folder.path(&format!("out.{to}"));
        let target = crate::common::target(&file, view);
        let order_of: &[&str] = if to == "safetensors" { &[] } else { &["--order", order] };
        let arguments =
            ["convert", &target, text(&out), "--dtype", dtype, "--force", "--verify", "--memory", "1M"];
        let told = answer(&run([&arguments[..], order_of].concat()));
        let expected =
            whole.at(view).unwrap().cast(&dtype.parse().unwrap(), Order::RowMajor, Casting::Checked);
        let expected = expected.unwrap();
        let opened = match told.split_once("--raw '") {
            Some((_, said)) => {
                let description = said.split('\'').next().unwrap().parse().unwrap();
                crossdock::exchange::files::OpenOptions::new().raw(description).open(&out).unwrap()
            }
            None => crossdock::open(&out).unwrap(),
        };
        assert!(
            opened.dtype() == expected.dtype() && opened.equals(&expected).unwrap(),
            "{view} {dtype} {order}"
        );
        let is_in_order =
            opened.layout().order() == Some(if order == "F" { Order::ColumnMajor } else { Order::RowMajor });
        assert!(is_in_order, "{view} {dtype} {order}");
    }
    // The element that does not fit is named by its index in the whole array.
    whole.set(&[299, 3, 5], &u32::MAX.into()).unwrap();
    crossdock::exchange::files::save(&file, &whole).unwrap();
    let out = folder.path("narrow.npy");
    for order in ["C", "F"] {
        let arguments =
            ["convert", text(&file), text(&out), "--dtype", "<i4", "--order", order, "--memory", "1M"];
        let said = refusal(&run(arguments), 1);
        assert!(
            said.contains("whole.npy: element [299, 3, 5]: 4294967295") && said.contains("--saturate"),
            "{said}"
        );
        assert!(!out.exists());
    }
}

#[test]
fn several_files_become_one_and_a_float_dtype_is_for_floats() {
    let folder = Folder::new("streaming-many");
    let [first, second, model] = ["first.npy", "second.npy", "model.npz"].map(|name| folder.path(name));
    let floats = || DArray::from_vec(vec![0.5f32, 2.0], &[2]).unwrap();
    let words = || DArray::from_vec(vec![70_000i64, 1], &[2]).unwrap();
    crossdock::exchange::files::save(&first, &floats()).unwrap();
    crossdock::exchange::files::save(&second, &words()).unwrap();
    let arrays = [("a.w", floats()), ("a.ids", words()), ("b.w", floats())];
    SaveOptions::new().save_all(&model, &arrays).unwrap();
    let out = folder.path("out.safetensors");
    let dtypes = |options: &[&str]| -> (String, Vec<String>) {
        let files = [text(&first), text(&second), text(&model), text(&out)];
        let told = answer(&run([&["convert", "--force"], &files[..], options].concat()));
        let contents = open_all(&out).unwrap();
        let all = contents.entries().iter().map(|entry| format!("{}: {}", entry.name(), entry.dtype()));
        (told, all.collect())
    };
    let (told, all) = dtypes(&["--dtype", "bfloat16", "--verify"]);
    assert_eq!(all, ["first: bfloat16", "second: int64", "a.w: bfloat16", "a.ids: int64", "b.w: bfloat16"]);
    assert!(
        told.contains("5 arrays") && told.contains("not cast: 2 arrays (\"second\", \"a.ids\")"),
        "{told}"
    );
    let (_, all) = dtypes(&["--dtype", "float16", "--only", "b.*"]);
    assert_eq!(all, ["first: float32", "second: int64", "a.w: float32", "a.ids: int64", "b.w: float16"]);
    let (_, all) = dtypes(&["--dtype", "float64", "--only", "*ids"]);
    assert_eq!(all[3], "a.ids: float64");
    let refused = |arguments: &[&str], status| refusal(&run([&["convert"], arguments].concat()), status);
    let said = refused(&[text(&model), text(&out), "--force", "--dtype", "f2", "--only", "c*"], 1);
    assert!(said.contains("--only \"c*\" matches none of 3 arrays"), "{said}");
    let said = refused(&[text(&first), text(&first), text(&out), "--force"], 1);
    assert!(said.contains("both have an array \"first\""), "{said}");
    let said = refused(&[text(&first), text(&second), text(&folder.path("out.npy"))], 2);
    assert!(said.contains("holds one array, but 2 files"), "{said}");
    refused(&[text(&first), text(&folder.path("out.npy")), "--memory", "1K"], 2);
    refused(&[text(&first), text(&folder.path("out.jpg")), "--verify"], 2);
}

#[test]
fn numpy_makes_the_same_file() {
    let Some(python) = python_with_numpy() else { return };
    let folder = Folder::new("streaming-numpy");
    let program = "import numpy as np, subprocess, sys\n\
        x = np.random.default_rng(3).standard_normal((700, 900), 'f4')\n\
        np.save('x.npy', x)\n\
        for dtype, order in [('<f8', 'F'), ('<f2', 'C'), ('>f4', 'F')]:\n\
        \x20   subprocess.run([sys.argv[1], 'convert', 'x.npy', 'y.npy', '--dtype', dtype, '--order', order, \
        '--force', '--memory', '1M'], check=True, stdout=subprocess.DEVNULL)\n\
        \x20   np.save('z.npy', x.astype(dtype, order))\n\
        \x20   assert open('y.npy', 'rb').read() == open('z.npy', 'rb').read(), (dtype, order)\n";
    let mut command = Command::new(python);
    command.args(["-c", program, env!("CARGO_BIN_EXE_crossdock")]).current_dir(folder.path(""));
    answer(&command.output().unwrap());
}

#[test]
fn fractions_are_rounded_as_numpy_rounds_them() {
    let Some(python) = python_with_numpy() else { return };
    let folder = Folder::new("streaming-rounded");
    let program = "import numpy as np, subprocess, sys\n\
        rng = np.random.default_rng(5)\n\
        for kind in ['<f2', '>f4', '<f8']:\n\
        \x20   x = np.concatenate([rng.uniform(-100, 100, 70_000), np.arange(-99.5, 100, 0.5)]).astype(kind)\n\
        \x20   np.save('x.npy', x.reshape(-1, 1).repeat(2, 1))\n\
        \x20   for mode in ['rint', 'floor', 'ceil', 'trunc']:\n\
        \x20       for more in [[], ['--order', 'F', '--memory', '1M']]:\n\
        \x20           subprocess.run([sys.argv[1], 'convert', 'x.npy', 'y.npy', '--dtype', 'int8', '--round', \
        mode, '--force', '--verify', *more], check=True, stdout=subprocess.DEVNULL)\n\
        \x20           assert (np.load('y.npy') == getattr(np, mode)(x).astype('i1')[:, None]).all(), (kind, mode)\n";
    let mut command = Command::new(python);
    command.args(["-c", program, env!("CARGO_BIN_EXE_crossdock")]).current_dir(folder.path(""));
    answer(&command.output().unwrap());
    let file = folder.path("few.npy");
    let few = DArray::from_vec(vec![0.5f32, -1.5, 300.25, f32::NAN], &[4]).unwrap();
    crossdock::exchange::files::save(&file, &few).unwrap();
    let out = folder.path("out.npy");
    let convert = |more: &[&str]| run([&["convert", text(&file), text(&out), "--force"], more].concat());
    let said = refusal(&convert(&["--dtype", "uint8"]), 1);
    assert!(said.contains("element [0]: 0.5") && said.contains("or --round rint"), "{said}");
    let said = refusal(&convert(&["--dtype", "int8", "--round", "rint"]), 1);
    assert!(
        said.contains("element [2]: 300.0") && said.contains("; use --saturate to clamp such values"),
        "{said}"
    );
    answer(&convert(&["--dtype", "int8", "--round", "ceil", "--saturate"]));
    let all = crossdock::open(&out).unwrap();
    assert!(all.equals(&DArray::from_vec(vec![1i8, -1, 127, 0], &[4]).unwrap()).unwrap());
    refusal(&convert(&["--dtype", "f2", "--round", "rint"]), 2);
    refusal(&convert(&["--round", "rint"]), 2);
}

#[test]
fn a_conversion_that_is_killed_at_any_time_leaves_the_old_file_or_the_new_one() {
    let folder = Folder::new("streaming-killed");
    let large = sparse(&folder, "large.npy", "'<u4'", "(2048, 1024)", 8 << 20);
    let out = folder.file("out.npy", b"old");
    let arguments =
        ["convert", text(&large), text(&out), "--force", "--order", "F", "--dtype", "<u2", "--memory", "1M"];
    let fresh = folder.path("fresh.npy");
    let mut whole = arguments;
    whole[2] = text(&fresh);
    let begin = std::time::Instant::now();
    assert!(stdout(&run(whole)).contains("1 array"));
    let (new, takes) = (std::fs::read(&fresh).unwrap(), begin.elapsed());
    let mut rng = fastrand::Rng::with_seed(crossdock_testkit::seed());
    let names = |folder: &Folder| std::fs::read_dir(folder.path("")).unwrap().count();
    let before = names(&folder);
    // By hand: CROSSDOCK_CASES=200.
    for round in 0..rounds(10).max(cases(10).min(200)) {
        std::fs::write(&out, b"old").unwrap();
        let mut child = crossdock(arguments).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(takes.mul_f64(rng.f64() * 1.1));
        let signal = [Signal::INT, Signal::TERM, Signal::KILL][round % 3];
        let _ = kill_process(Pid::from_child(&child), signal);
        let status = child.wait().unwrap();
        assert!(status.success() || status.signal() == Some(signal.as_raw()), "{status}");
        let found = std::fs::read(&out).unwrap();
        assert!(found == new || found == b"old" && !status.success(), "{} B after {status}", found.len());
        // A process that is killed between the two steps of a replacement leaves the hidden name.
        assert!(names(&folder) == before || signal == Signal::KILL, "{signal:?}");
    }
}
