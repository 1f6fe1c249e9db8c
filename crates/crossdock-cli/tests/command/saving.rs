//! What `convert` does to an existing target (files, links, pipes, devices), and what remains when
//! it is interrupted.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crossdock::exchange::files::SaveOptions;
use crossdock::layout::Order;
use crossdock::{Array, DArray};
use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Folder, answer, as_nobody, crossdock, data, npy, refusal, run, stderr, stdout};
use crate::terminal::on_terminal;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn listed(folder: &Folder) -> Vec<String> {
    let names = std::fs::read_dir(folder.path("")).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Three bytes in a file.
fn small(folder: &Folder) -> PathBuf {
    folder.file("small.npy", npy("'|u1'", false, "(3,)", b"abc"))
}

#[test]
fn devices_and_pipes_are_written_through() {
    let folder = Folder::new("saving-through");
    let file = small(&folder);
    for force in [&["--force"][..], &[]] {
        answer(&run([&["convert", text(&file), "/dev/null", "--to", "raw"], force].concat()));
        assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        let said = refusal(&run([&["convert", text(&file), "/dev/full", "--to", "raw"], force].concat()), 1);
        assert!(said.contains("/dev/full: it could not be written"), "{said}");
    }
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read(pipe).unwrap()
    });
    answer(&run(["convert", text(&file), text(&pipe), "--to", "raw"]));
    assert_eq!(reader.join().unwrap(), b"abc");
    assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
}

#[test]
fn standard_output_has_the_bytes_and_nothing_else() {
    let folder = Folder::new("saving-stdout");
    let file = small(&folder);
    for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let output = run(["convert", text(&file), name, "--to", "raw"]);
        assert_eq!((stdout(&output).as_str(), output.status.code()), ("abc", Some(0)), "{name}");
        assert!(stderr(&output).contains("1 array, 3 B written"), "{}", stderr(&output));
        assert!(stderr(&output).lines().all(|line| line.starts_with("crossdock: ")), "{}", stderr(&output));
    }
    // In a file, the output goes to the current position.
    let mut log = File::create_new(folder.path("log")).unwrap();
    log.write_all(b"before ").unwrap();
    let status = crossdock(["convert", text(&file), "-", "--to", "raw"]).stdout(log).status().unwrap();
    assert_eq!(
        (status.code(), std::fs::read(folder.path("log")).unwrap()),
        (Some(0), b"before abc".to_vec())
    );
    // A reader that stops early is not a failure.
    let mut child = crossdock(["convert", text(&data("rocket.npy")), "-", "--to", "raw"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    // Output to a terminal needs --force.
    let (said, status) = on_terminal(&mut crossdock(["convert", text(&file), "-", "--to", "raw"]));
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("a terminal") && !said.contains("abc"), "{said}");
}

#[test]
fn a_file_is_not_written_into_while_it_is_read() {
    let folder = Folder::new("saving-itself");
    let file = small(&folder);
    let before = std::fs::read(&file).unwrap();
    let log = File::options().append(true).open(&file).unwrap();
    let output = crossdock(["convert", text(&file), "-", "--to", "npy"]).stdout(log).output().unwrap();
    assert!(refusal(&output, 1).contains("it is also the input"));
    assert_eq!(std::fs::read(&file).unwrap(), before);
    // The file can be replaced, by each of its names.
    std::fs::hard_link(&file, folder.path("hard.npy")).unwrap();
    std::os::unix::fs::symlink("small.npy", folder.path("soft.npy")).unwrap();
    for name in ["small.npy", "soft.npy", "hard.npy"] {
        let target = format!("{}:::-1", text(&file));
        answer(&run(["convert", &target, text(&folder.path(name)), "--force"]));
    }
    assert_eq!(std::fs::read(&file).unwrap()[128..], *b"abc");
    assert_eq!(std::fs::read(folder.path("hard.npy")).unwrap()[128..], *b"cba");
    assert!(folder.path("soft.npy").is_symlink());
}

#[test]
fn what_is_replaced_keeps_its_mode_and_a_read_only_file_is_refused() {
    let folder = Folder::new("saving-mode");
    let (file, out) = (small(&folder), folder.file("out.npy", "old"));
    let mode = |mode| std::fs::set_permissions(&out, Permissions::from_mode(mode)).unwrap();
    mode(0o600);
    answer(&run(["convert", text(&file), text(&out), "--force"]));
    assert_eq!(std::fs::metadata(&out).unwrap().permissions().mode() & 0o7777, 0o600);
    // Every user may write the folder, and no user may write the file.
    std::fs::set_permissions(folder.path(""), Permissions::from_mode(0o777)).unwrap();
    mode(0o444);
    let before = std::fs::read(&out).unwrap();
    let output = as_nobody(&folder, &["convert", text(&file), text(&out), "--force"]);
    assert!(refusal(&output, 1).contains("no permission to write it"));
    assert_eq!(std::fs::read(&out).unwrap(), before);
    // Replacing another user's writable file would change its owner.
    if rustix::process::geteuid().is_root() {
        mode(0o666);
        let output = as_nobody(&folder, &["convert", text(&file), text(&out), "--force"]);
        assert!(refusal(&output, 1).contains("belongs to user 0"));
        assert_eq!(std::fs::read(&out).unwrap(), before);
    } else {
        crossdock_testkit::not_run("a file of another owner: only root can make one");
    }
    std::fs::set_permissions(folder.path(""), Permissions::from_mode(0o555)).unwrap();
    let output = as_nobody(&folder, &["convert", text(&file), text(&folder.path("new.npy"))]);
    assert!(refusal(&output, 1).contains("no permission to create a file in its directory"));
    std::fs::set_permissions(folder.path(""), Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn names_may_be_anything_that_the_system_permits() {
    let folder = Folder::new("saving-names");
    let file = small(&folder);
    for name in
        [b"caf\xe9.npy".to_vec(), b"two\nlines.npy".to_vec(), [vec![b'n'; 251], b".npy".to_vec()].concat()]
    {
        let path = folder.path("").join(OsStr::from_bytes(&name));
        answer(&run([OsStr::new("convert"), file.as_os_str(), path.as_os_str()]));
        let told = answer(&run([OsStr::new("inspect"), path.as_os_str()]));
        assert!(told.lines().next().is_some_and(|line| line.ends_with(".npy")), "{told}");
        let said = refusal(&run([OsStr::new("convert"), file.as_os_str(), path.as_os_str()]), 1);
        assert!(said.contains("already exists; use --force to replace it"), "{said}");
    }
    let said =
        refusal(&run(["convert", text(&file), text(&folder.path(&format!("{}.npy", "n".repeat(252))))]), 1);
    assert!(said.contains("shorten"), "{said}");
}

#[test]
fn a_record_is_opened_again_by_the_line_that_is_printed_for_a_shell() {
    let folder = Folder::new("saving-raw");
    for (dtype, nbytes) in [
        (r#"[("it's; odd", '<i4'), ('b', '<f8', (2,))]"#, 60),
        // Names with characters that a terminal would not display.
        (r"[('invisible\u200b', '<i4'), ('\x85\u202e\U000e0041', '<f8', (2,))]", 60),
    ] {
        is_opened_again(&folder, dtype, nbytes);
    }
}

fn is_opened_again(folder: &Folder, dtype: &str, nbytes: usize) {
    let file = folder.file("records.npy", npy(dtype, false, "(3,)", &vec![7; nbytes]));
    let raw = folder.path("records.raw");
    for old in [&raw, &folder.path("back.npy")] {
        let _ = std::fs::remove_file(old);
    }
    let told = answer(&run(["convert", text(&file), text(&raw)]));
    let line = told.lines().find_map(|line| line.trim().strip_prefix("to open it: ")).unwrap();
    let back = folder.path("back.npy");
    let script = format!("\"$0\" convert \"$1\" \"$2\" {line}");
    let arguments = ["-c", &script, env!("CARGO_BIN_EXE_crossdock"), text(&raw), text(&back)];
    let output = Command::new("sh").args(arguments).output().unwrap();
    answer(&output);
    let (back, file) = (crossdock::open(back).unwrap(), crossdock::open(file).unwrap());
    assert!(back.dtype() == file.dtype() && back.equals(&file).unwrap());
}

#[test]
fn an_index_from_the_end_is_a_view_and_no_option() {
    let folder = Folder::new("saving-at");
    let file = folder.file("a.npy", npy("'|u1'", false, "(3,)", &[7, 8, 9]));
    let last = folder.path("last.npy");
    answer(&run(["convert", text(&file), text(&last), "--at", "-1"]));
    assert_eq!(crossdock::open(last).unwrap().get(&[]).unwrap().as_u64(), Some(9));
}

#[test]
fn an_archive_with_objects_is_of_use_without_them() {
    let folder = Folder::new("saving-objects");
    let path = folder.path("mixed.npz");
    let array = |len: usize| DArray::from(Array::from_vec(vec![1u8; len], [len]).unwrap());
    SaveOptions::new()
        .save_all(&path, &[("good", array(3)), ("bad", array(4)), ("other", array(5))])
        .unwrap();
    // One file's header says that it contains objects.
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(14).position(|found| found == b"'shape': (4,),").unwrap();
    let descr = bytes[..at].windows(5).rposition(|found| found == b"'|u1'").unwrap();
    bytes[descr..descr + 5].copy_from_slice(b"'|O' ");
    std::fs::write(&path, bytes).unwrap();

    let told = answer(&run(["inspect", text(&path)]));
    assert!(told.contains("  2 arrays of 8 B") && told.contains("array \"bad\": "), "{told}");
    let listed: serde_json::Value =
        serde_json::from_str(&answer(&run(["inspect", "--json", text(&path)]))).unwrap();
    assert_eq!(listed["refused"][0]["name"], "bad");
    answer(&run(["inspect", &format!("{}:other:1:", text(&path))]));
    let said = refusal(&run(["inspect", &format!("{}:bad", text(&path))]), 1);
    assert!(said.contains("pickle"), "{said}");
    let out = folder.path("out.safetensors");
    let said = refusal(&run(["convert", text(&path), text(&out)]), 1);
    assert!(said.contains("\"bad\"") && said.contains("--skip-refused") && !out.exists(), "{said}");
    let output = run(["convert", text(&path), text(&out), "--skip-refused"]);
    assert!(stdout(&output).contains("2 arrays") && stderr(&output).contains("not converted from "));
    assert_eq!(
        crossdock::exchange::files::open_all(out).unwrap().names().collect::<Vec<_>>(),
        ["good", "other"]
    );
}

/// Starts the command, and waits until the file is mapped.
fn started(arguments: &[&str], file: &Path) -> Child {
    let mut command = crossdock(arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let maps = format!("/proc/{}/maps", child.id());
    let patience = Instant::now() + Duration::from_secs(60);
    while !std::fs::read_to_string(&maps).unwrap_or_default().contains(text(file)) {
        assert!(Instant::now() < patience, "{arguments:?} did not begin");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

#[test]
fn a_signal_ends_it_wherever_it_is_and_nothing_is_left() {
    let folder = Folder::new("saving-signals");
    // Sparse, and large enough that the command is still running.
    const NBYTES: u64 = 2 << 30;
    let large = folder.file("large.npy", npy("'|u1'", false, &format!("({NBYTES},)"), &[]));
    let file = File::options().append(true).open(&large).unwrap();
    file.set_len(file.metadata().unwrap().len() + NBYTES).unwrap();
    let dates = folder.file("dates.npy", npy("'<M8[D]'", false, &format!("({},)", NBYTES / 8), &[]));
    let file = File::options().append(true).open(&dates).unwrap();
    file.set_len(file.metadata().unwrap().len() + NBYTES).unwrap();
    // Large once it is inflated.
    let deflated = folder.path("deflated.npz");
    let zeros = DArray::zeros("u1".parse().unwrap(), &[64 << 20], Order::RowMajor).unwrap();
    SaveOptions::new().deflated(true).save_all(&deflated, &[("zeros", zeros)]).unwrap();
    let out = folder.path("out.npz");
    let before = listed(&folder);
    for (arguments, file) in [
        (&["convert", text(&large), text(&out), "--deflate"][..], &large),
        (&["convert", text(&dates), text(&out), "--dtype", "datetime64[s]"], &dates),
        (&["convert", text(&large), text(&out), "--dtype", "float16"], &large),
        (&["convert", text(&deflated), text(&out)], &deflated),
        (&["inspect", "--stats", text(&large)], &large),
        (&["tour", text(&large)], &large),
    ] {
        for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
            let mut child = started(arguments, file);
            kill_process(Pid::from_child(&child), signal).unwrap();
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            let status = child.wait().unwrap();
            assert_eq!(status.signal(), Some(signal.as_raw()), "{arguments:?}: {status}, {said}");
            assert_eq!(listed(&folder), before, "{arguments:?}, {signal:?}");
        }
    }
}

#[test]
fn a_signal_that_is_ignored_stays_so() {
    let folder = Folder::new("saving-nohup");
    let file = small(&folder);
    let (pipe, out) = (folder.path("pipe"), folder.path("out.npy"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let script = "trap '' HUP; exec \"$0\" convert \"$1\" \"$2\" --to raw";
    let arguments = ["-c", script, env!("CARGO_BIN_EXE_crossdock"), text(&file), text(&pipe)];
    // The command waits for a reader.
    let mut child = Command::new("sh").args(arguments).stdout(Stdio::null()).spawn().unwrap();
    let comm = format!("/proc/{}/comm", child.id());
    while !std::fs::read_to_string(&comm).unwrap().contains("crossdock") {
        assert!(child.try_wait().unwrap().is_none(), "the command did not start");
        std::thread::sleep(Duration::from_millis(1));
    }
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    std::fs::write(&out, std::fs::read(&pipe).unwrap()).unwrap();
    assert_eq!((child.wait().unwrap().code(), std::fs::read(&out).unwrap()), (Some(0), b"abc".to_vec()));
}

#[test]
fn several_that_write_one_name_at_once_leave_one_whole_file() {
    let folder = Folder::new("saving-race");
    let out = folder.path("out.npy");
    let children: Vec<Child> = (0..6)
        .map(|part| {
            let target = format!("{}:{part}::6", text(&data("rocket.npy")));
            let mut command = crossdock(["convert", &target, text(&out), "--force"]);
            command.stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(listed(&folder), ["out.npy"]);
    let (out, photo) = (crossdock::open(out).unwrap(), crossdock::open(data("rocket.npy")).unwrap());
    assert!((0..6).any(|part| {
        let wanted = photo.at(&format!("{part}::6")).unwrap();
        wanted.shape() == out.shape() && wanted.equals(&out).unwrap()
    }));
    // Without --force, exactly one of them succeeds.
    let out = folder.path("one.npy");
    let mut children: Vec<Child> = (0..6)
        .map(|_| {
            let mut command = crossdock(["convert", text(&data("rocket.npy")), text(&out)]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().unwrap()
        })
        .collect();
    let won = children
        .iter_mut()
        .filter_map(|child| child.wait().unwrap().code().filter(|&code| code == 0))
        .count();
    assert_eq!(won, 1);
}
