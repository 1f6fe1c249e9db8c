//! Output to a terminal: the answer, and no characters from a file that the terminal would act on.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};

use crossdock::exchange::files::SaveOptions;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::common::{Folder, crossdock, data, run, stdout};

/// A command's output on a terminal, and its exit status.
pub(crate) fn on_terminal(command: &mut Command) -> (String, std::process::ExitStatus) {
    command.env("TERM", "xterm");
    on_terminal_of(command, None)
}

/// The same on a terminal of so many rows and columns, whose kind the command's environment names.
pub(crate) fn on_terminal_of(
    command: &mut Command,
    size: Option<(u16, u16)>,
) -> (String, std::process::ExitStatus) {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap();
    let name = std::ffi::OsStr::from_bytes(name.as_bytes());
    let open = || File::options().read(true).write(true).custom_flags(libc::O_NOCTTY).open(name).unwrap();
    command.stdin(Stdio::null()).stdout(open()).stderr(open());
    if let Some((rows, columns)) = size {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&controller, size).unwrap();
    }
    let mut child = command.spawn().unwrap();
    // The terminal closes when no process has it open: drop this process's own descriptors.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (mut controller, mut bytes) = (File::from(controller), Vec::new());
    let mut block = [0; 4096];
    loop {
        match controller.read(&mut block) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&block[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Linux returns this once the other end is closed.
            Err(_) => break,
        }
    }
    (String::from_utf8(bytes).unwrap(), child.wait().unwrap())
}

/// The text without the command's own colours and progress bar.
fn without_our_own(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(part.len());
        let (code, tail) = part.split_at((end + 1).min(part.len()));
        let own = code.strip_prefix('[').and_then(|code| code.strip_suffix(['m', 'K', 'A']));
        if own.is_none_or(|own| !own.bytes().all(|byte| byte.is_ascii_digit() || byte == b';')) {
            rest.push('\u{1b}');
        }
        rest += if own.is_some() { tail } else { part };
    }
    rest
}

/// Everything that a name could contain: C0 with a clear-screen and a title sequence, C1, DEL, and
/// bidirectional overrides.
const HOSTILE: &str = "x\u{1b}[2J\u{1b}]0;mine\u{7}\u{9b}31m\u{7f}\u{202e}gnp\u{2066}\u{200b}\r\n\ty";

#[track_caller]
fn assert_safe(text: &str, of: &str) {
    let text = without_our_own(text);
    for letter in text.chars() {
        let is_ours = matches!(letter, '\r' | '\n');
        let acts = letter.is_control()
            || ('\u{200b}'..='\u{200f}').contains(&letter)
            || ('\u{2028}'..='\u{202e}').contains(&letter)
            || letter == '\u{2066}';
        assert!(is_ours || !acts, "{of}: {letter:?} in {text:?}");
    }
}

/// Files with hostile names, fields, members, keys and texts.
fn files(folder: &Folder) -> Vec<String> {
    let literal: String = HOSTILE
        .chars()
        .map(|letter| match u32::from(letter) {
            code @ 0..0x100 if !letter.is_ascii_graphic() => format!("\\x{code:02x}"),
            code @ 0x100.. => format!("\\u{code:04x}"),
            _ => letter.to_string(),
        })
        .collect();
    let record = format!("[('{literal}', '<f4'), ('{literal}2', [('{literal}', '|u1')], (2,))]");
    let records = folder.file("records.npy", crate::common::npy(&record, false, "(3,)", &[0; 18]));
    let array = crossdock::open(data("elevation.npy")).unwrap();
    let (archive, one) = (folder.path("archive.npz"), folder.path("one.npz"));
    let named = |end: &str| (format!("{HOSTILE}{end}"), array.clone());
    SaveOptions::new().deflated(true).save_all(&archive, &[named(""), named("2")]).unwrap();
    SaveOptions::new().save_all(&one, &[named("")]).unwrap();
    let tensors = folder.path("tensors.safetensors");
    SaveOptions::new().metadata(HOSTILE, HOSTILE).save_all(&tensors, &[named(""), named("2")]).unwrap();
    let name = HOSTILE.replace('/', "");
    let odd = folder.file(&name, std::fs::read(data("elevation.npy")).unwrap());
    [records, archive, one, tensors, odd].map(|path| path.to_str().unwrap().to_owned()).into()
}

#[test]
fn nothing_in_a_file_reaches_the_terminal_that_it_would_act_on() {
    let folder = Folder::new("hostile");
    let files = files(&folder);
    let missing = format!("{}{HOSTILE}", files[0]);
    let out = folder.path(&format!("out{HOSTILE}.raw"));
    let out = out.to_str().unwrap();
    let mut escaped = 0;
    for file in files.iter().chain([&missing]) {
        let at = format!("{file}:.{HOSTILE}");
        for arguments in [
            &["inspect", file][..],
            &["inspect", "--stats", "--values", "--protocols", file],
            &["inspect", "--json", file],
            &["inspect", &at],
            &["inspect", "--raw", HOSTILE, file],
            &["convert", file, out, "--force"],
            &["convert", file, HOSTILE],
            &["convert", file, out, "--force", "--dtype", HOSTILE],
            &["convert", &at, out, "--force"],
            &["lend", "--dtype", "int8", file, "--", "true"],
            &["lend", file, "--", HOSTILE],
            &["tour", &at],
        ] {
            let (said, _) = on_terminal(&mut crossdock(arguments));
            assert!(!said.is_empty(), "{arguments:?}");
            assert_safe(&said, &format!("{arguments:?}"));
            escaped += usize::from(said.contains("\\u{202e}") || said.contains("\\u202e"));
        }
    }
    assert!(escaped > 40, "{escaped} answers had the name in them");
}

#[test]
fn json_says_the_names_as_they_are() {
    let folder = Folder::new("hostile-json");
    let files = files(&folder);
    let read = |file: &str| -> serde_json::Value {
        serde_json::from_str(&stdout(&run(["inspect", "--json", file]))).unwrap()
    };
    assert_eq!(read(&files[0])["dtype"]["fields"][0]["name"], HOSTILE);
    assert_eq!(read(&files[1])["arrays"][0]["name"], HOSTILE);
    assert_eq!(read(&files[3])["metadata"][HOSTILE], HOSTILE);
    assert!(read(&files[4])["file"].as_str().unwrap().ends_with(HOSTILE));
}
