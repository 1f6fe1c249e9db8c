//! Streams: pipes that close, colours, help.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::common::{Folder, answer, crossdock, data, npy, refusal, run, stderr, stdout};

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    for arguments in [&["inspect", "--json"][..], &["inspect"]] {
        let mut child = crossdock(arguments)
            .arg(data("rocket.npy"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Closed before the command writes to it.
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
    }
}

#[test]
fn a_full_disk_is_a_failure() {
    let full = match std::fs::File::options().write(true).open("/dev/full") {
        Ok(full) => full,
        Err(error) => return crossdock_testkit::missing(&format!("/dev/full ({error})")),
    };
    let photo = data("rocket.npy");
    for arguments in [&["inspect", photo.to_str().unwrap()][..], &["lend", "--help"], &["--version"]] {
        let full = full.try_clone().unwrap();
        let output = crossdock(arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let said = stderr(&output);
        assert!(said.starts_with("crossdock: standard output could not be written"), "{said}");
    }
}

#[test]
fn a_closed_standard_output_is_a_failure() {
    let folder = Folder::new("streams-closed");
    let (file, out) = (folder.file("a.npy", npy("'<f4'", false, "(2,)", &[0; 8])), folder.path("b.npy"));
    let shell = |redirected: &str, arguments: &[&str]| {
        let line = format!("\"$@\" {redirected}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &line, "sh", env!("CARGO_BIN_EXE_crossdock"), arguments[0]]).arg(&file);
        shell.args(&arguments[1..]).output().unwrap()
    };
    for arguments in
        [&["inspect", "--json"][..], &["cat"], &["cat", "--bytes"], &["convert", "-", "--to", "npy"]]
    {
        let said = refusal(&shell(">&-", arguments), 1);
        assert!(said.starts_with("crossdock: standard output could not be written"), "{said}");
        // A program that opens it for reading too, as Python's subprocess does, loses nothing.
        assert_eq!(shell("1<>/dev/null", arguments).status.code(), Some(0), "{arguments:?}");
    }
    let said = refusal(&shell(">&-", &["convert", out.to_str().unwrap()]), 1);
    assert!(said.starts_with("crossdock: standard output could not be written"), "{said}");
    assert!(out.exists());
}

#[test]
fn colours_are_for_terminals_and_for_those_who_insist() {
    let file = data("rocket.npy");
    let plain = run(["inspect", file.to_str().unwrap()]);
    assert!(!answer(&plain).contains('\u{1b}'));
    let insist = |command: &mut Command| {
        command.args(["inspect", file.to_str().unwrap()]).env("CLICOLOR_FORCE", "1").output().unwrap()
    };
    let forced = insist(&mut crossdock::<&str>([]));
    assert!(stdout(&forced).contains('\u{1b}'));
    // The same answer without the colours.
    let bare = stdout(&forced)
        .split('\u{1b}')
        .map(|part| part.split_once('m').map_or(part, |(_, rest)| rest))
        .collect::<String>();
    assert_eq!(bare.trim_start(), stdout(&plain).trim_start());
}

#[test]
fn no_color_is_heeded_on_a_terminal() {
    let file = data("rocket.npy");
    let arguments = ["inspect", file.to_str().unwrap()];
    let coloured = on_terminal(&arguments, &[]);
    assert!(coloured.contains("\u{1b}[") && coloured.contains("427 × 640 × 3"), "{coloured}");
    let bare = on_terminal(&arguments, &[("NO_COLOR", "1")]);
    assert!(!bare.contains("\u{1b}[") && bare.contains("427 × 640 × 3"), "{bare}");
}

/// The output of the command on a terminal.
fn on_terminal(arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let mut command = crossdock(arguments);
    command.env_remove("CLICOLOR").envs(environment.iter().copied());
    crate::terminal::on_terminal(&mut command).0
}

/// The sequence that erases a line of a terminal.
const ERASE: &str = "\u{1b}[2K";

#[test]
fn what_takes_long_is_told_on_a_terminal_and_erased_in_the_end() {
    let folder = Folder::new("progress");
    const NBYTES: u64 = 20 << 20;
    let path = folder.file("large.npy", npy("'|u1'", false, &format!("({NBYTES},)"), &[]));
    let file = std::fs::File::options().append(true).open(&path).unwrap();
    file.set_len(file.metadata().unwrap().len() + NBYTES).unwrap();
    let large = path.to_str().unwrap();
    for (how, nbytes) in
        [(&["--copy", "always"][..], NBYTES), (&["--copy", "if-needed", "--dtype", "int16"], 2 * NBYTES)]
    {
        let arguments = [&["lend", large][..], how, &["--", "echo", "ran"]].concat();
        // The complete stderr if it is not a terminal.
        let output = run(&arguments);
        let note = stderr(&output);
        assert_eq!((stdout(&output).as_str(), note.lines().count()), ("ran\n", 1), "{note}");
        assert!(note.starts_with(&format!("crossdock: copied {nbytes} bytes because ")), "{note}");
        let shown = on_terminal(&arguments, &[]);
        let (progress, rest) = shown.rsplit_once(ERASE).unwrap_or_else(|| panic!("{shown:?}"));
        assert!(progress.contains(&format!("copying {nbytes} bytes")), "{shown:?}");
        assert!(rest.contains(&format!("copied {nbytes} bytes")) && rest.ends_with("ran\r\n"), "{shown:?}");
    }
    // An array that is lent in place is not copied.
    let in_place = ["lend", large, "--copy", "if-needed", "--", "echo", "ran"];
    assert_eq!(answer(&run(in_place)), "ran\n");
    assert_eq!(on_terminal(&in_place, &[]), "ran\r\n");
}

#[test]
fn the_tour_tells_its_steps_on_a_terminal() {
    let file = data("elevation.npy");
    let arguments = ["tour", file.to_str().unwrap()];
    assert!(answer(&run(arguments)).contains("counted copied bytes: 0 in all"));
    let shown = on_terminal(&arguments, &[]);
    let (progress, rest) = shown.rsplit_once(ERASE).unwrap_or_else(|| panic!("{shown:?}"));
    assert!(progress.contains("of 28 steps done: whole to "), "{shown:?}");
    assert!(!rest.contains("steps done") && rest.contains("counted copied bytes: 0 in all"), "{shown:?}");
}

#[test]
fn every_help_has_examples() {
    for arguments in [
        &["--help"][..],
        &["lend", "--help"],
        &["inspect", "--help"],
        &["convert", "--help"],
        &["tour", "--help"],
    ] {
        let help = answer(&run(arguments));
        assert!(help.contains("Examples:") && help.contains("crossdock "), "{help}");
    }
    assert!(answer(&run(["--version"])).starts_with("crossdock "));
}
