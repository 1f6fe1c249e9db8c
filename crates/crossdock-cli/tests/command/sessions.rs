//! Sessions on terminals of two sizes, with and without colours, compared with their records in
//! `sessions/`. `CROSSDOCK_BLESS=1` writes the records anew.

use std::fmt::Write;
use std::path::Path;

use crossdock::exchange::files::SaveOptions;
use crossdock::{Array, DArray};

use crate::common::{Folder, crossdock, npy};
use crate::terminal::on_terminal_of;

/// What is typed, in a folder with the files below.
const TYPED: &[&[&str]] = &[
    &["inspect", "photo.npy"],
    &["inspect", "photo.npy[::2]", "--picture=never", "--stats"],
    &["inspect", "trades.npy", "--stats", "--values=2"],
    &["inspect", "model.safetensors"],
    &["inspect", "model.safetensors", "--filter", "*.1.*", "--sort", "name"],
    &["inspect", "model.safetensors:model.layers.2.q[0]"],
    &["inspect", "."],
    &["inspect", "phoot.npy"],
    &["inspect", "model.safetensors:model.layers.2.w"],
    &["--quiet", "inspect", "trades.npy:.prize"],
];

/// A photograph of 8 x 6 pixels, two records, and a model of three layers.
fn files(folder: &Folder) {
    let pixels: Vec<u8> = (0..8 * 6 * 3u32).map(|at| (at * 37 % 256) as u8).collect();
    folder.file("photo.npy", npy("'|u1'", false, "(8, 6, 3)", &pixels));
    let mut records = Vec::new();
    for (price, count) in [(1.5f64, 3i32), (f64::NAN, 0), (-2.25, 70_000)] {
        records.extend(price.to_le_bytes());
        records.extend(count.to_le_bytes());
    }
    folder.file("trades.npy", npy("[('price', '<f8'), ('count', '<i4')]", false, "(3,)", &records));
    let weight = |rows: usize| DArray::from(Array::from_vec(vec![1f32; rows * 2], [rows, 2]).unwrap());
    let layer = |layer| ["q", "k"].map(|part| (format!("model.layers.{layer}.{part}"), weight(2)));
    let arrays = (0..3).flat_map(layer).chain([("norm".to_owned(), weight(1))]);
    SaveOptions::new().save_all(folder.path("model.safetensors"), &arrays.collect::<Vec<_>>()).unwrap();
}

/// The screen, with escapes that can be read.
fn session(folder: &Folder, (rows, columns): (u16, u16), environment: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for arguments in TYPED {
        let mut command = crossdock(*arguments);
        command.current_dir(folder.path("")).env_remove("CLICOLOR").env_remove("COLORTERM");
        command.envs(environment.iter().copied());
        let (shown, status) = on_terminal_of(&mut command, Some((rows, columns)));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "$ crossdock {}", arguments.join(" "));
        text += &shown.replace("\r\n", "\n").replace('\u{1b}', "^[");
        let _ = writeln!(text, "[{}]\n", status.code().unwrap());
        let facts = shown.lines().take_while(|line| !line.contains("picture")).count();
        assert!(facts <= 24 || arguments.len() > 3, "{} lines:\n{shown}", shown.lines().count());
        // A picture never scrolls the facts away.
        if arguments.len() == 2 {
            assert!(shown.lines().count() < usize::from(rows), "{shown}");
        }
    }
    text
}

fn compare(name: &str, size: (u16, u16), environment: &[(&str, &str)]) {
    let folder = Folder::new(&format!("session-{name}"));
    files(&folder);
    let text = session(&folder, size, environment);
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/sessions").join(format!("{name}.txt"));
    if std::env::var_os("CROSSDOCK_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = text.lines().zip(expected.lines()).position(|(a, b)| a != b);
    let line = differs.map(|at| format!("line {}: {:?}", at + 1, text.lines().nth(at).unwrap()));
    assert!(text == expected, "{}: {line:?}; CROSSDOCK_BLESS=1 writes it anew", path.display());
}

#[test]
fn a_small_terminal_without_colours() {
    compare("24x80", (24, 80), &[("TERM", "xterm-256color"), ("NO_COLOR", "1")]);
}

#[test]
fn a_large_terminal_with_colours() {
    compare("50x200", (50, 200), &[("TERM", "xterm-256color")]);
}

#[test]
fn colours_are_as_asked() {
    let folder = Folder::new("session-colour");
    files(&folder);
    let has = |arguments: &[&str], environment: &[(&str, &str)]| {
        let mut command = crossdock(arguments);
        command.current_dir(folder.path("")).env_remove("CLICOLOR").env("TERM", "xterm-256color");
        command.envs(environment.iter().copied());
        on_terminal_of(&mut command, Some((24, 80))).0.contains('\u{1b}')
    };
    let inspect = ["inspect", "trades.npy"];
    assert!(
        has(&inspect, &[]) && !has(&inspect, &[("NO_COLOR", "1")]) && !has(&inspect, &[("CLICOLOR", "0")])
    );
    let asked = |when| [inspect[0], inspect[1], "--color", when];
    assert!(!has(&asked("never"), &[]) && has(&asked("always"), &[("NO_COLOR", "1")]));
    let piped = crossdock(asked("always")).current_dir(folder.path("")).output().unwrap();
    assert!(piped.stdout.contains(&0x1b));
}
