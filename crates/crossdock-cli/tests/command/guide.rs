//! The commands in the guide's chapters print what the chapters show.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Folder, python};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn chapter(name: &str) -> String {
    std::fs::read_to_string(root().join("docs/guide").join(name)).unwrap()
}

/// The commands of a chapter's console blocks, each with the lines below it.
fn commands(chapter: &str) -> Vec<(String, String)> {
    let blocks = chapter.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut commands = Vec::new();
    for line in blocks.flat_map(str::lines) {
        match line.strip_prefix("$ ") {
            Some(command) => commands.push((command.to_owned(), String::new())),
            None => commands.last_mut().unwrap().1 += &format!("{line}\n"),
        }
    }
    commands
}

/// A line without the time that a conversion took, which is its last part.
fn without_time(line: &str) -> &str {
    line.rsplit_once(", ")
        .filter(|(_, time)| time.ends_with(" s") && time.starts_with(|c: char| c.is_ascii_digit()))
        .map_or(line, |(rest, _)| rest)
}

/// Runs the commands of a chapter, one after the other, in a folder that looks like the checkout.
#[track_caller]
fn print_what_is_shown(name: &str, expected: usize) {
    let folder = Folder::new(name);
    let programs = folder.path("programs");
    std::fs::create_dir(&programs).unwrap();
    symlink(env!("CARGO_BIN_EXE_crossdock"), programs.join("crossdock")).unwrap();
    if let Some(python) = python().filter(|python| python.contains('/')) {
        symlink(python, programs.join("python3")).unwrap();
    }
    for shared in ["data", "docs"] {
        symlink(root().join(shared), folder.path(shared)).unwrap();
    }
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let commands = commands(&chapter(name));
    assert_eq!(commands.len(), expected);
    for (command, shown) in commands {
        let output = Command::new("sh")
            .args(["-c", &format!("{command} 2>&1")])
            .current_dir(folder.path(""))
            .env("PATH", &path)
            .env_remove("CLICOLOR_FORCE")
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let lines = |text: &str| text.lines().map(|line| without_time(line).to_owned()).collect::<Vec<_>>();
        assert_eq!(lines(&printed), lines(&shown), "{command}");
    }
}

#[test]
fn the_chapter_on_copies_shows_what_its_command_prints() {
    print_what_is_shown("05-copies.md", 1);
}

#[test]
fn the_chapters_on_opening_and_slices_show_what_their_commands_print() {
    print_what_is_shown("01-open.md", 1);
    print_what_is_shown("03-slices.md", 1);
}

#[test]
fn the_chapter_on_processes_shows_its_borrower_and_what_it_prints() {
    let borrower = std::fs::read_to_string(root().join("docs/guide/programs/06_report.py")).unwrap();
    assert!(chapter("06-processes.md").contains(&format!("```python\n{borrower}```\n")), "{borrower}");
    if python().is_some() {
        print_what_is_shown("06-processes.md", 1);
    }
}

#[test]
fn the_chapter_on_files_shows_what_its_commands_print() {
    print_what_is_shown("10-files.md", 5);
}

#[test]
fn only_the_time_of_a_conversion_is_left_out() {
    assert_eq!(
        without_time("a.npy: 1 array, 3 B written, 0 B copied, 0.001 s"),
        "a.npy: 1 array, 3 B written, 0 B copied"
    );
    assert_eq!(without_time("a.npy: 2 arrays, b c s"), "a.npy: 2 arrays, b c s");
}
