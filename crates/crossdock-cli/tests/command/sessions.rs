//! Sessions on terminals of two sizes, with and without colours, compared with their records in
//! `sessions/`. `CROSSDOCK_BLESS=1` writes the records anew.

use std::fmt::Write;
use std::path::Path;

use crossdock::buffer::Buffer;
use crossdock::exchange::files::SaveOptions;
use crossdock::exchange::files::arrow_ipc::IpcOptions;
use crossdock::table::{Batches, Checks, Column, ColumnParts, ColumnType, RecordBatch};
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
    &["inspect", "dates.npy", "--stats", "--values"],
    &["inspect", "words.npy", "--values"],
    &["inspect", "photo.npy", "--protocols"],
    &["inspect", "model.safetensors:norm", "--json"],
    &["inspect", "damaged.npy"],
    &["inspect", "scan.raw"],
    &["inspect", "scan.raw", "--raw", "dtype=>u2; shape=4,-3"],
    &["inspect", "scan.raw", "--raw", "dtype=>u2; shape=4,3", "--values"],
    &["inspect", "twice.npz"],
    &["inspect", "checkpoint"],
    &["inspect", "tiny.pt"],
    &["inspect", "module.pt"],
    &["inspect", "others.mat"],
    &["cat", "trades.npy"],
    &["cat", "trades.npy", "--csv"],
    &["cat", "words.npy", "--csv"],
    &["cat", "photo.npy[:2, :3, 0]"],
    &["cat", "photo.npy", "--bytes"],
    &["cat", ".tables/trades.arrow"],
    &["cat", ".tables/trades.arrow", "--csv"],
    &["cat", ".tables/trades.arrow:name"],
    &["cat", ".tables/trades.arrow", "--bytes"],
    &["diff", ".tables/trades.arrow", ".tables/later.arrow"],
    &["diff", ".tables/trades.arrow:name", ".tables/later.arrow:name", "--json"],
    &["diff", "trades.npy", "trades.npy"],
    &["diff", "photo.npy[:, :4]", "photo.npy[:, 4:]"],
    &["diff", "model.safetensors", "trades.npy"],
    &["diff", "photo.npy", "dates.npy"],
    &["convert", "trades.npy:.price", "price.npy", "--dtype", "int8"],
    &["convert", "photo.npy", "photo.npz", "--order", "F", "--quality", "5"],
    &["convert", "model.safetensors", "model.npy"],
    &["convert", "photo.npy", "photo.tga"],
    &["convert", "photo.npy", "trades.npy"],
    &["lend", "photo.npy", "--", "sh", "-c", "echo $CROSSDOCK_SHAPE"],
    &["lend", "photo.npy[0, ::-1]", "--order", "F", "--", "true"],
    &["lend", "photo.npy", "--", "./nothing"],
    &["lend", "--help"],
    &["inspect", "--help"],
    &["convert", "-h"],
    &["help"],
    &["inspekt", "photo.npy"],
    &["photo.npy[::2]"],
    &["ls", "--bogus"],
];

/// Runs that fill the screen: their text is longer than a screen on purpose.
const LONG: &[&str] = &["--protocols", "--help", "-h", "help", "--json", "--bytes"];

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
    let days: Vec<u8> =
        [0i64, 1_000_000_000, 86_400_000_000_000, i64::MIN].iter().flat_map(|n| n.to_le_bytes()).collect();
    folder.file("dates.npy", npy("'<M8[ns]'", false, "(4,)", &days));
    let words = "\u{1b}[31mred  \"no\", she"
        .chars()
        .chain(['\0'; 5])
        .take(20)
        .flat_map(|letter| u32::from(letter).to_le_bytes());
    folder.file("words.npy", npy("'<U10'", false, "(2,)", &words.collect::<Vec<_>>()));
    folder.file("damaged.npy", npy("'<f4'", false, "(1000,)", &[0; 64]));
    folder.file("scan.raw", (0..24).collect::<Vec<u8>>());
    let weight = |rows: usize| DArray::from(Array::from_vec(vec![1f32; rows * 2], [rows, 2]).unwrap());
    let layer = |layer| ["q", "k"].map(|part| (format!("model.layers.{layer}.{part}"), weight(2)));
    let arrays = (0..3).flat_map(layer).chain([("norm".to_owned(), weight(1))]);
    SaveOptions::new().save_all(folder.path("model.safetensors"), &arrays.collect::<Vec<_>>()).unwrap();
    SaveOptions::new().save_all(folder.path("twice.npz"), &[("a", weight(1)), ("b", weight(2))]).unwrap();
    // The second array gets the name of the first one, in the member and in the list of the
    // archive.
    let mut bytes = std::fs::read(folder.path("twice.npz")).unwrap();
    for at in 0..bytes.len() - 5 {
        if &bytes[at..at + 5] == b"b.npy" {
            bytes[at] = b'a';
        }
    }
    folder.file("twice.npz", bytes);
    for (name, seed) in
        [("tiny.pt", "torch/checkpoint"), ("module.pt", "torch/module"), ("others.mat", "mat/others")]
    {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
        std::fs::copy(corpus.join(seed), folder.path(name)).unwrap();
    }
    std::fs::create_dir(folder.path("checkpoint")).unwrap();
    let index = r#"{"weight_map": {"norm": "m-1.safetensors", "q": "m-2.safetensors"}}"#;
    folder.file("checkpoint/m.safetensors.index.json", index);
    SaveOptions::new().save_all(folder.path("checkpoint/m-1.safetensors"), &[("norm", weight(1))]).unwrap();
}

/// Tables of two rows: a number, and a text or a null.
fn tables(folder: &Folder) {
    std::fs::create_dir(folder.path(".tables")).unwrap();
    let of = |name: &str, prices: Vec<f64>, text: &'static [u8]| {
        let buffers = vec![Buffer::from_vec(vec![0i32, 3, 3]).unwrap(), Buffer::from_static(text).unwrap()];
        let validity = Some(Buffer::from_static(&[0b01u8]).unwrap());
        let parts = ColumnParts { len: 2, buffers, validity, ..ColumnParts::default() };
        let names = Column::new(ColumnType::utf8(), parts, Checks::Full).unwrap();
        let prices = Column::from_array(Array::from_vec(prices, [2]).unwrap()).unwrap();
        let batch = RecordBatch::from_columns([("price", prices), ("name", names)]).unwrap();
        IpcOptions::new().save(folder.path(name), &mut Batches::from_iter([batch])).unwrap();
    };
    of(".tables/trades.arrow", vec![1.5, -2.0], b"\x1bab");
    of(".tables/later.arrow", vec![1.5, -2.5], b"cab");
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
        // The time that a conversion took.
        let shown = match shown.rsplit_once(" s\r\n").and_then(|(text, _)| text.rsplit_once(", ")) {
            Some((text, _)) if arguments[0] == "convert" => format!("{text}, … s\r\n"),
            _ => shown,
        };
        text += &shown.replace("\r\n", "\n").replace('\u{1b}', "^[");
        let _ = writeln!(text, "[{}]\n", status.code().unwrap());
        let is_long = arguments.iter().any(|word| LONG.contains(word));
        let facts = shown.lines().take_while(|line| !line.contains("picture")).count();
        assert!(facts <= 24 || arguments.len() > 3 || is_long, "{} lines:\n{shown}", shown.lines().count());
        // A picture never scrolls the facts away.
        if arguments.len() == 2 && !is_long {
            assert!(shown.lines().count() < usize::from(rows), "{shown}");
        }
    }
    text
}

fn compare(name: &str, size: (u16, u16), environment: &[(&str, &str)]) {
    let folder = Folder::new(&format!("session-{name}"));
    files(&folder);
    tables(&folder);
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
fn a_small_terminal_with_colours() {
    compare("24x80-colour", (24, 80), &[("TERM", "xterm-256color")]);
}

#[test]
fn a_large_terminal_without_colours() {
    compare("50x200-plain", (50, 200), &[("TERM", "xterm-256color"), ("NO_COLOR", "1")]);
}

#[test]
fn a_large_terminal_with_colours() {
    compare("50x200", (50, 200), &[("TERM", "xterm-256color")]);
}

#[test]
fn examples_and_tables_of_the_help_fit_80_columns() {
    for command in
        ["", "inspect", "lend", "cat", "convert", "diff", "tour", "bench", "hold", "connect", "tap"]
    {
        let arguments = [command, "--help"].into_iter().filter(|word| !word.is_empty());
        let [narrow, wide] = [80, 120].map(|columns| {
            let mut command = crossdock(arguments.clone());
            let (shown, _) = on_terminal_of(command.env("NO_COLOR", "1"), Some((24, columns)));
            let (_, examples) = shown.split_once("Examples:").unwrap_or_else(|| panic!("{shown}"));
            // Paragraphs are broken, but no example, table or program.
            let lines = examples.lines().filter(|line| line.starts_with("  "));
            lines.map(str::to_owned).collect::<Vec<_>>()
        });
        assert_eq!(narrow, wide, "{command}");
    }
}

#[test]
fn man_pages_show_every_subcommand_and_option() {
    let folder = Folder::new("man");
    let told = crossdock(["man", folder.path("man1").to_str().unwrap()]).output().unwrap();
    assert!(told.status.success() && told.stdout.is_empty() && told.stderr.is_empty(), "{told:?}");
    let page = |name: &str| std::fs::read_to_string(folder.path(&format!("man1/{name}.1"))).unwrap();
    let whole = page("crossdock");
    assert!(whole.starts_with(".ie") && whole.contains(".SH SUBCOMMANDS") && whole.contains("Exit status"));
    for command in ["inspect", "lend", "cat", "convert", "diff", "tour", "bench", "hold", "connect", "tap"] {
        assert!(whole.contains(&format!("crossdock\\-{command}(1)")), "{command}");
        let help = crossdock([command, "--help"]).output().unwrap();
        let options = String::from_utf8(help.stdout).unwrap();
        let options = options.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2);
        let (text, mut found) = (page(&format!("crossdock-{command}")).replace("\\-", "-"), 0);
        for option in options.filter(|word| word[2..].chars().all(|letter| letter.is_ascii_lowercase())) {
            assert!(text.contains(option), "{command} {option}");
            found += 1;
        }
        assert!(found > 3, "{command}");
    }
    let formatted =
        std::process::Command::new("man").arg("-l").arg(folder.path("man1/crossdock-lend.1")).output();
    match formatted {
        Ok(output) if output.status.success() => {
            // A program's lines stay apart.
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let lines: Vec<_> = text.lines().map(str::trim).collect();
            assert!(lines.contains(&"dtype = ast.literal_eval(a[\"descr\"])"), "{text}");
        }
        _ => crossdock_testkit::not_run("man, which shows pages"),
    }
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
