//! Streams: pipes that close, colours, help.

use std::io::Read;
use std::process::Stdio;

use crate::common::{answer, crossdock, data, run, stdout};

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    for arguments in [&["inspect", "--json"][..], &["inspect"]] {
        let mut child = crossdock(arguments)
            .arg(data("rocket.npy"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Closed before anything is written to it.
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
    }
}

#[test]
fn a_full_disk_is_a_failure() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else { return };
    let output = crossdock(["inspect"]).arg(data("rocket.npy")).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).starts_with("crossdock: the answer could not be written")
    );
}

#[test]
fn colours_are_for_terminals_and_for_those_who_insist() {
    let file = data("rocket.npy");
    let plain = run(["inspect", file.to_str().unwrap()]);
    assert!(!answer(&plain).contains('\u{1b}'));
    let insist = |command: &mut std::process::Command| {
        command.args(["inspect", file.to_str().unwrap()]).env("CLICOLOR_FORCE", "1").output().unwrap()
    };
    let forced = insist(&mut crossdock::<&str>([]));
    assert!(stdout(&forced).contains('\u{1b}'));
    // Without the colours it is the same answer.
    let bare = stdout(&forced)
        .split('\u{1b}')
        .map(|part| part.split_once('m').map_or(part, |(_, rest)| rest))
        .collect::<String>();
    assert_eq!(bare.trim_start(), stdout(&plain).trim_start());
}

#[test]
fn no_color_is_heeded_on_a_terminal() {
    // `script` gives the command a terminal.
    let line = format!("{} inspect {}", env!("CARGO_BIN_EXE_crossdock"), data("rocket.npy").display());
    let on_terminal = |no_color: &str| {
        let mut command = std::process::Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").stdin(Stdio::null());
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("CLICOLOR");
        if !no_color.is_empty() {
            command.env("NO_COLOR", no_color);
        }
        command.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let Ok(coloured) = on_terminal("") else {
        eprintln!("not run: there is no program `script` here");
        return;
    };
    assert!(coloured.contains("\u{1b}[") && coloured.contains("427 × 640 × 3"), "{coloured}");
    let bare = on_terminal("1").unwrap();
    assert!(!bare.contains("\u{1b}[") && bare.contains("427 × 640 × 3"), "{bare}");
}

#[test]
fn every_help_has_examples() {
    for arguments in [&["--help"][..], &["lend", "--help"], &["inspect", "--help"], &["tour", "--help"]] {
        let help = answer(&run(arguments));
        assert!(help.contains("Examples:") && help.contains("crossdock "), "{help}");
    }
    assert!(answer(&run(["--version"])).starts_with("crossdock "));
}
