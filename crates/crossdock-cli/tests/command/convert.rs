//! `crossdock convert`: what it writes, and what it leaves unchanged.

use std::path::{Path, PathBuf};

use crossdock::DArray;
use crossdock::exchange::files::{self, Format, SaveOptions};
use serde_json::{Value, json};

use crate::common::{Folder, answer, crossdock, data, npy, python, refusal, run, stderr, stdout, target};

fn convert(arguments: &[&str]) -> String {
    answer(&run([&["convert"], arguments].concat()))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// All bytes of the array, in row-major order.
fn bytes(array: &DArray) -> Vec<u8> {
    array.to_order(crossdock::layout::Order::RowMajor).unwrap().buffer().unwrap().0.read().unwrap().to_vec()
}

fn listed(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn two_arrays(folder: &Folder) -> PathBuf {
    let path = folder.path("two.npz");
    let [a, b] = ["rocket.npy", "elevation.npy"].map(|name| crossdock::open(data(name)).unwrap());
    SaveOptions::new().save_all(&path, &[("photo", a), ("height:m", b)]).unwrap();
    path
}

#[test]
fn options_may_stand_between_the_files() {
    let folder = Folder::new("convert-between");
    let (source, out) = (data("rocket.npy"), folder.path("out.npy"));
    convert(&["--memory", "1M", text(&source), "--dtype", "f4", text(&out), "--verify"]);
    assert_eq!(crossdock::open(&out).unwrap().dtype().to_string(), "float32");
    let both = folder.path("both.npz");
    convert(&[text(&source), "--dtype=f4", text(&out), "--only", "out", text(&both)]);
    assert_eq!(files::open_all(&both).unwrap().names().collect::<Vec<_>>(), ["rocket", "out"]);
    for arguments in [&["convert"][..], &["convert", text(&source)], &["convert", "--dtype", "f4"]] {
        let said = refusal(&run(arguments), 2);
        assert!(said.contains("<OUT>") && said.ends_with("; try --help\n"), "{said}");
    }
    let said = refusal(&run(["convert", text(&source)]), 2);
    assert!(said.contains("the name of OUT is missing after"), "{said}");
}

#[test]
fn every_format_becomes_every_other() {
    let folder = Folder::new("convert-all");
    let photo = folder.path("small.npy");
    convert(&[&target(&data("rocket.npy"), "::7, ::8"), text(&photo)]);
    let wanted = bytes(&crossdock::open(&photo).unwrap());
    let lossless = ["npy", "npz", "safetensors", "png"];
    for from in lossless {
        let source = folder.path(&format!("photo.{from}"));
        convert(&[text(&photo), text(&source)]);
        for to in lossless {
            let out = folder.path(&format!("{from}-to.{to}"));
            let output = run(["convert", text(&source), text(&out)]);
            // Only the name can be lost.
            let is_lost =
                Format::named(&source).unwrap().has_names() && !Format::named(&out).unwrap().has_names();
            let lost = format!("crossdock: not converted from {}: the name \"small\"\n", source.display());
            assert_eq!(stderr(&output), if is_lost { lost.as_str() } else { "" });
            let told = stdout(&output);
            let written = std::fs::metadata(&out).unwrap().len();
            assert!(told.starts_with(&format!("{}: 1 array, {written} B", out.display())), "{told}");
            let contents = files::open_all(&out).unwrap();
            assert_eq!(Some(contents.format()), Format::named(&out));
            assert!(["", "small", "photo"].contains(&contents.single().unwrap().name()), "{contents:?}");
            assert_eq!(bytes(&contents.single().unwrap().open().unwrap()), wanted, "{from} to {to}");
        }
    }
    let raw = folder.path("photo.raw");
    let told = convert(&[text(&photo), text(&raw)]);
    let said = "dtype=uint8; shape=61,80,3";
    assert!(told.contains(&format!("--raw '{said}'")), "{told}");
    assert_eq!(std::fs::read(&raw).unwrap(), wanted);
    convert(&[text(&raw), text(&folder.path("back.npy")), "--raw", said]);
    assert_eq!(bytes(&crossdock::open(folder.path("back.npy")).unwrap()), wanted);
    let jpeg = folder.path("photo.jpg");
    convert(&[text(&photo), text(&jpeg), "--quality", "60"]);
    let opened = crossdock::open(&jpeg).unwrap();
    assert_eq!(opened.shape(), [61, 80, 3]);
    assert!(std::fs::metadata(&jpeg).unwrap().len() < 5_000);
    convert(&[text(&jpeg), text(&folder.path("from-jpeg.npy"))]);
    assert_eq!(bytes(&crossdock::open(folder.path("from-jpeg.npy")).unwrap()), bytes(&opened));
}

#[test]
fn views_types_and_orders_are_those_that_are_asked_for() {
    let folder = Folder::new("convert-views");
    let (photo, heights) = (data("rocket.npy"), data("elevation.npy"));
    let whole = crossdock::open(&photo).unwrap();
    for (target, at) in
        [(target(&photo, "::-2, 3::5, 0"), None), (text(&photo).to_owned(), Some("::-2, 3::5, 0"))]
    {
        let out = folder.path("view.npy");
        let at: Vec<&str> = at.into_iter().flat_map(|at| ["--at", at]).collect();
        convert(&[&[target.as_str(), text(&out), "--force"], &at[..]].concat());
        assert_eq!(bytes(&crossdock::open(&out).unwrap()), bytes(&whole.at("::-2, 3::5, 0").unwrap()));
    }
    let out = folder.path("heights.npy");
    convert(&[text(&heights), text(&out), "--dtype", "float32", "--order", "F"]);
    let opened = crossdock::open(&out).unwrap();
    assert_eq!(opened.dtype().to_string(), "float32");
    assert_eq!(opened.strides(), [4, 4 * 344]);
    let same = |index: &[usize]| {
        opened.get(index).unwrap().as_f64() == crossdock::open(&heights).unwrap().get(index).unwrap().as_f64()
    };
    assert!([[0, 0], [343, 402], [100, 7]].iter().all(|index| same(index)));

    let raw = folder.path("heights.raw");
    let told = convert(&[text(&heights), text(&raw), "--order", "F", "--dtype", ">i2"]);
    assert!(told.contains("--raw 'dtype=>int16; shape=344,403; order=F'"), "{told}");

    // 300 does not fit a byte, unless --saturate makes it 255.
    let big = folder.file(
        "big.npy",
        npy("'<i4'", false, "(2, 2)", &[[44, 1, 0, 0], [7, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]].concat()),
    );
    let out = folder.path("big.png");
    let said = refusal(&run(["convert", text(&big), text(&out), "--dtype", "uint8"]), 1);
    assert!(said.contains("300") && said.contains("big.npy") && said.contains("--saturate"), "{said}");
    assert!(!out.exists());
    convert(&[text(&big), text(&out), "--dtype", "uint8", "--saturate"]);
    assert_eq!(bytes(&crossdock::open(&out).unwrap()), [255, 7, 1, 0]);
}

#[test]
fn fractions_are_cut_off_towards_zero_as_the_help_says() {
    let folder = Folder::new("convert-fractions");
    let fractions = [0.841f64, -0.841, 1.5, -2.9].map(f64::to_le_bytes).concat();
    let file = folder.file("a.npy", npy("'<f8'", false, "(4,)", &fractions));
    let out = folder.path("b.npy");
    convert(&[text(&file), text(&out), "--dtype", "int8", "--saturate"]);
    assert_eq!(bytes(&crossdock::open(&out).unwrap()), [0, 0, 1, -2i8 as u8]);
    let help = answer(&run(["convert", "--help"])).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("fractions are truncated towards zero"), "{help}");
}

#[test]
fn several_arrays_go_together_or_one_by_one() {
    let folder = Folder::new("convert-several");
    let two = two_arrays(&folder);
    let out = folder.path("two.safetensors");
    let told = convert(&[text(&two), text(&out)]);
    assert!(told.contains(": 2 arrays, "), "{told}");
    let contents = files::open_all(&out).unwrap();
    assert_eq!(contents.names().collect::<Vec<_>>(), ["photo", "height:m"]);
    let back = folder.path("back.npz");
    convert(&[text(&out), text(&back), "--deflate"]);
    let contents = files::open_all(&back).unwrap();
    assert!(contents.entries().iter().all(|entry| entry.copied_because() == Some("deflated")));
    let heights = bytes(&crossdock::open(data("elevation.npy")).unwrap());
    assert_eq!(bytes(&contents.get("height:m").unwrap().open().unwrap()), heights);

    let one = folder.path("one.npy");
    convert(&[&format!("{}:height:m:::2", text(&two)), text(&one)]);
    assert_eq!(crossdock::open(&one).unwrap().shape(), [172, 403]);
    let said = refusal(&run(["convert", text(&two), text(&folder.path("no.npy"))]), 1);
    assert!(said.contains("2 arrays") && said.contains("FILE:NAME"), "{said}");
    let said = refusal(&run(["convert", &format!("{}:price", text(&two)), text(&folder.path("no.npy"))]), 1);
    assert!(said.contains("\"price\"") && said.contains("\"photo\", \"height:m\""), "{said}");
    assert!(!folder.path("no.npy").exists());

    // Texts are converted, too.
    let source = folder.path("texts.safetensors");
    SaveOptions::new()
        .metadata("k", "v")
        .save_all(&source, &[("a", crossdock::open(data("elevation.npy")).unwrap())])
        .unwrap();
    convert(&[text(&source), text(&folder.path("copy.safetensors"))]);
    let copy = files::open_all(folder.path("copy.safetensors")).unwrap();
    assert_eq!(copy.metadata(), [("k".to_owned(), "v".to_owned())]);
}

#[test]
fn nothing_is_replaced_unless_it_is_said_and_nothing_is_left_behind() {
    let folder = Folder::new("convert-force");
    let out = folder.file("out.npy", "precious");
    let photo = data("rocket.npy");
    let said = refusal(&run(["convert", text(&photo), text(&out)]), 1);
    assert!(said.contains("out.npy already exists; use --force to replace it"), "{said}");
    assert_eq!(std::fs::read(&out).unwrap(), b"precious");
    // An error while the file is written.
    let said =
        refusal(&run(["convert", text(&photo), text(&out), "--force", "--dtype", "S3", "--to", "png"]), 1);
    assert!(said.contains("rocket.npy") || said.contains("out.npy"), "{said}");
    let heights = data("elevation.npy");
    let said = refusal(&run(["convert", text(&heights), text(&folder.path("a.png"))]), 1);
    assert!(said.contains("a.png") && said.contains("int16"), "{said}");
    assert_eq!(std::fs::read(&out).unwrap(), b"precious");
    assert_eq!(listed(&folder.path("")), ["out.npy"]);
    convert(&[text(&photo), text(&out), "--force"]);
    // The output may replace its own source.
    convert(&[&target(&out, ":5"), text(&out), "--force"]);
    assert_eq!(crossdock::open(&out).unwrap().shape(), [5, 640, 3]);
    assert_eq!(listed(&folder.path("")), ["out.npy"]);
    refusal(&run(["convert", text(&photo), text(&folder.path("missing/a.npy"))]), 1);
}

#[test]
fn arguments_that_do_not_go_together_are_told() {
    let folder = Folder::new("convert-usage");
    let photo = data("rocket.npy");
    for (name, more, words) in [
        ("a.txt", &[][..], "--to"),
        ("a", &[], "--to"),
        ("a.png", &["--order", "F"], "--order F"),
        ("a.npy", &["--deflate"], "--deflate"),
        ("a.npy", &["--quality", "5"], "--quality"),
        ("a.jpg", &["--quality", "0"], "0"),
        ("a.npy", &["--saturate"], "--dtype"),
        ("a.npy", &["--raw", "dtype=u1"], "shape"),
        ("a.npy", &["--dtype", "q9"], "q9"),
    ] {
        let out = folder.path(name);
        let said = refusal(&run([&["convert", text(&photo), text(&out)], more].concat()), 2);
        assert!(said.contains(words), "{said}");
    }
    assert!(listed(&folder.path("")).is_empty());
    convert(&[text(&photo), text(&folder.path("a")), "--to", "npz"]);
    assert!(files::open_all(folder.path("a")).is_ok());
}

#[test]
fn several_arrays_are_listed() {
    let folder = Folder::new("inspect-several");
    let two = two_arrays(&folder);
    let told = answer(&run(["inspect", text(&two)]));
    for line in [
        "  2 arrays of 1097104 B (1.05 MiB) in a .npz file, 2 of them in place",
        "  name      dtype  shape           bytes  where",
    ] {
        assert!(told.lines().any(|found| found == line), "{line:?} is missing in\n{told}");
    }
    let listed: Value = serde_json::from_str(&answer(&run(["inspect", "--json", text(&two)]))).unwrap();
    assert_eq!(listed["format"], "npz");
    assert_eq!(listed["arrays"][1]["name"], "height:m");
    assert_eq!(listed["arrays"][1]["shape"], json!([344, 403]));
    assert!(listed["arrays"][1]["offset"].as_u64().unwrap().is_multiple_of(64));
    let one: Value = serde_json::from_str(&answer(&run([
        "inspect",
        "--json",
        "--stats",
        &format!("{}:height:m", text(&two)),
    ])))
    .unwrap();
    assert_eq!((&one["name"], &one["offset"]), (&json!("height:m"), &listed["arrays"][1]["offset"]));
    assert_eq!(one["decoded"], Value::Null);
    let whole: Value =
        serde_json::from_str(&answer(&run(["inspect", "--json", "--stats", text(&data("elevation.npy"))])))
            .unwrap();
    assert_eq!(one["statistics"], whole["statistics"]);

    let names = folder.path("names.npz");
    let odd = crossdock::open(data("elevation.npy")).unwrap();
    SaveOptions::new().deflated(true).save_all(&names, &[("a\u{1b}[31m", odd.clone()), ("b", odd)]).unwrap();
    let told = answer(&run(["inspect", text(&names)]));
    assert!(told.contains("a\\x1b[31m") && told.contains("deflated") && !told.contains('\u{1b}'), "{told}");
    let said = refusal(&run(["lend", text(&names), "--", "true"]), 1);
    assert!(said.contains("2 arrays") && said.contains("FILE:NAME"), "{said}");
}

#[test]
fn what_is_decoded_is_told_so_and_lent_as_a_copy_only() {
    let folder = Folder::new("inspect-decoded");
    let png = folder.path("photo.png");
    convert(&[text(&data("rocket.npy")), text(&png)]);
    let told = answer(&run(["inspect", text(&png)]));
    assert!(told.contains("stored     a PNG image: decoded when"), "{told}");
    let told = answer(&run(["inspect", text(&png), "--stats"]));
    assert!(told.contains("decoded once: a PNG image"), "{told}");
    assert!(told.contains("  shape      427 x 640 x 3"), "{told}");
    let raw = folder.file("a.raw", [1, 0, 2, 0, 3, 0, 4, 0]);
    let told = answer(&run(["inspect", text(&raw), "--raw", "dtype=<u2; shape=2,1; offset=4", "--stats"]));
    assert!(told.contains("byte 4 of the file, ") && told.contains("max 4\n  mean 3.5"), "{told}");
    let said = refusal(&run(["inspect", text(&raw), "--raw", "dtype=<u2; shape=5"]), 1);
    assert!(said.contains("a.raw") && said.contains("bytes 0..10") && said.contains("has 8 bytes"), "{said}");
    assert!(refusal(&run(["lend", text(&png), "--", "true"]), 1).contains("not lent"));
    assert!(run(["lend", text(&png), "--copy", "if-needed", "--", "true"]).status.success());
}

#[test]
fn a_picture_is_letters_in_a_pipe_and_colours_where_they_are_asked_for() {
    let folder = Folder::new("inspect-picture");
    let photo = data("rocket.npy");
    assert!(!answer(&run(["inspect", text(&photo)])).contains("picture of"));
    let told = answer(&run(["inspect", text(&photo), "--picture"]));
    assert!(told.contains("picture of 427 x 640 pixels in colour, "), "{told}");
    assert!(
        told.lines().filter(|line| line.starts_with("  |") && line.ends_with('|')).count() >= 15,
        "{told}"
    );
    assert!(!answer(&run(["inspect", text(&photo), "--picture=never"])).contains("picture of"));
    for (how, code) in [("true", "\u{1b}[38;2;"), ("256", "\u{1b}[38;5;")] {
        let forced = crossdock(["inspect", text(&photo), &format!("--picture={how}")])
            .env("CLICOLOR_FORCE", "1")
            .output()
            .unwrap();
        let told = answer(&forced);
        assert!(told.contains(code) && told.contains('▀'), "{how}: {told}");
    }
    let holes = folder.file(
        "holes.npy",
        npy("'<f4'", false, "(1, 3)", &[0f32, f32::NAN, 1.0].map(f32::to_le_bytes).concat()),
    );
    assert!(answer(&run(["inspect", "--picture", text(&holes)])).contains("\n  |  ??@@|\n"));
}

/// An archive of the arrays `a` and `b`, where `b` was damaged afterwards.
fn damaged(folder: &Folder) -> PathBuf {
    let path = folder.path("damaged.npz");
    let [a, b] = ["rocket.npy", "elevation.npy"].map(|name| crossdock::open(data(name)).unwrap());
    SaveOptions::new().save_all(&path, &[("a", a), ("b", b)]).unwrap();
    let offset = {
        let contents = files::open_all(&path).unwrap();
        let (buffer, within) = contents.get("b").unwrap().open().unwrap().buffer().unwrap();
        buffer.descriptor().unwrap().1 as usize + within
    };
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[offset + 1000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_damaged_array_gets_no_new_checksum() {
    let folder = Folder::new("convert-damaged");
    let path = damaged(&folder);
    let out = folder.path("out.npz");
    for target in [text(&path).to_owned(), target(&path, "b"), target(&path, "b:0, 0:2")] {
        let said = refusal(&run(["convert", &target, text(&out)]), 1);
        assert!(said.contains("array \"b\": it is damaged") && said.contains("checksum"), "{said}");
        assert!(!out.exists());
    }
    convert(&[&target(&path, "a"), text(&out)]);
    files::open_all(&out).unwrap().get("a").unwrap().verify().unwrap();

    let said = refusal(&run(["inspect", "--verify", &target(&path, "b")]), 1);
    assert!(said.contains("array \"b\": it is damaged: the checksum"), "{said}");
    let listed = answer(&run(["inspect", text(&path)]));
    assert!(listed.contains("2 arrays of ") && !listed.contains("checksum"), "{listed}");
    for json in [&[][..], &["--json"]] {
        let verified = run([&["inspect", text(&path), "--verify"], json].concat());
        assert_eq!(verified.status.code(), Some(1));
        let told = String::from_utf8(verified.stdout).unwrap();
        assert!(told.contains("damaged: the checksum of its ") && verified.stderr.is_empty(), "{told}");
    }
    let whole = two_arrays(&folder);
    assert_eq!(answer(&run(["inspect", text(&whole), "--verify"])), answer(&run(["inspect", text(&whole)])));
}

#[test]
fn an_array_whose_header_is_damaged_has_a_wrong_checksum() {
    let folder = Folder::new("convert-damaged-header");
    let whole = folder.path("whole.npz");
    for arguments in [&[][..], &["--deflate"]] {
        let [a, b] = ["rocket.npy", "elevation.npy"].map(data);
        convert(&[&[text(&a), text(&b), text(&whole), "--force"], arguments].concat());
        let bytes = std::fs::read(&whole).unwrap();
        let length = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let start = 30 + length(26) + length(28);
        for at in [0, 3, 8, 12, 20, 30].map(|at| start + at) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x10;
            let path = folder.file("damaged.npz", bytes);
            let verified = run(["inspect", text(&path), "--verify"]);
            let told = stdout(&verified);
            assert_eq!(verified.status.code(), Some(1), "byte {at}: {told}");
            let is_told = told.contains("damaged: the checksum of its ")
                || told.contains("its deflated bytes are truncated or damaged");
            assert!(is_told || told.contains("inflated, the array has more than"), "byte {at}: {told}");
        }
    }
}

/// The notes of a successful command.
fn noted(arguments: &[&str]) -> String {
    let output = run([&["convert", "--force"], arguments].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn a_volume_is_converted_from_its_map_with_a_note_that_its_values_are_scaled_and_none_is_written() {
    let folder = Folder::new("convert-nifti");
    let (source, out) = (folder.path("scan.nii"), folder.path("scan.npy"));
    let mut file = vec![0; 352];
    file[..4].copy_from_slice(&348u32.to_le_bytes());
    for (at, number) in [(40, 1i16), (42, 3), (70, 4)] {
        file[at..at + 2].copy_from_slice(&number.to_le_bytes());
    }
    for (at, number) in [(108, 352f32), (112, 0.5), (116, -1.0)] {
        file[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }
    file[344..347].copy_from_slice(b"n+1");
    file.extend([7, 0, 8, 0, 9, 0]);
    std::fs::write(&source, file).unwrap();
    let said = noted(&[text(&source), text(&out)]);
    assert!(
        said.contains("scan.nii: the elements are as they are stored; the values are element × 0.5 + -1")
    );
    assert!(said.contains("scan.nii: 2 texts (\"scl_slope\", \"scl_inter\")"), "{said}");
    assert_eq!(crossdock::open(&out).unwrap().get(&[2]).unwrap().as_i64(), Some(9));
    for ending in ["nii", "tif", "gguf"] {
        let out = folder.path(&format!("new.{ending}"));
        let said = refusal(&run(["convert", text(&source), text(&out)]), 2);
        assert!(said.contains("file can be opened, but not written; use .npy"), "{said}");
        assert!(!out.exists());
    }
}

#[test]
fn a_file_on_standard_input_is_read_in_place_and_a_pipe_is_refused() {
    let folder = Folder::new("convert-stdin");
    let out = folder.path("out.npy");
    for (target, at) in [("-", ""), ("-:::2, 3:", "::2, 3:")] {
        let file = std::fs::File::open(data("elevation.npy")).unwrap();
        let told = answer(
            &crossdock(["convert", "--force", "--", target, text(&out)]).stdin(file).output().unwrap(),
        );
        assert!(told.contains("1 array"), "{told}");
        let wanted = crossdock::open(data("elevation.npy")).unwrap().at(at).unwrap();
        assert_eq!(bytes(&crossdock::open(&out).unwrap()), bytes(&wanted));
    }
    let output = crossdock(["convert", "-", text(&folder.path("no.npy"))])
        .stdin(std::process::Stdio::piped())
        .output()
        .unwrap();
    let said = refusal(&output, 1);
    assert!(said.contains("/dev/stdin: it is a pipe") && said.contains("write its data to a file"), "{said}");
    // A file named `-` has precedence over standard input.
    std::fs::copy(data("rocket.npy"), folder.path("-")).unwrap();
    let output = crossdock(["inspect", "-", "--json"]).current_dir(folder.path("")).output().unwrap();
    assert!(answer(&output).contains("\"uint8\""));
}

#[test]
fn what_the_new_file_does_not_hold_is_told() {
    let folder = Folder::new("convert-losses");
    let array = crossdock::open(data("elevation.npy")).unwrap();
    let tensors = folder.path("a.safetensors");
    let options = SaveOptions::new().metadata("format", "pt").metadata("author", "x");
    options.save_all(&tensors, &[("a", array.clone())]).unwrap();
    let (npz, npy) = (folder.path("out.npz"), folder.path("out.npy"));
    let left = format!("crossdock: not converted from {}: ", text(&tensors));
    let said = noted(&[text(&tensors), text(&npz)]);
    assert_eq!(said, format!("{left}2 texts (\"format\", \"author\")\n"));
    let said = noted(&[text(&tensors), text(&npy)]);
    assert_eq!(said, format!("{left}the name \"a\"; 2 texts (\"format\", \"author\")\n"));
    assert_eq!(
        noted(&[&target(&tensors, "a"), text(&npy)]),
        format!("{left}2 texts (\"format\", \"author\")\n")
    );
    assert_eq!(noted(&[text(&tensors), text(&folder.path("same.safetensors"))]), "");

    // Two consecutive arrays, as `numpy.save` writes them to one file.
    let one = std::fs::read(data("elevation.npy")).unwrap();
    let two = folder.file("two.npy", [&one[..], &one].concat());
    let left = format!("crossdock: not converted from {}: ", text(&two));
    assert_eq!(noted(&[text(&two), text(&npy)]), format!("{left}{} B after the last element\n", one.len()));

    let Some(python) = python() else { return };
    let mixed = folder.path("mixed.npz");
    let script = "import sys, zipfile\n\
        with zipfile.ZipFile(sys.argv[1], 'w') as archive:\n    \
        archive.write(sys.argv[2], 'a.npy'); archive.write(sys.argv[3], 'b.npy')\n    \
        archive.writestr('readme.txt', 'text'); archive.writestr('more/\u{1b}.csv', '1, 2')\n";
    let status = std::process::Command::new(python)
        .args(["-c", script, text(&mixed), text(&data("elevation.npy")), text(&two)])
        .status();
    assert!(status.unwrap().success());
    let left = format!("crossdock: not converted from {}: ", text(&mixed));
    let behind = format!("{} B after the last element in \"b.npy\"", one.len());
    let files = "2 files (\"readme.txt\", \"more/\\u{1b}.csv\")";
    for out in [&npz, &folder.path("out.safetensors")] {
        assert_eq!(noted(&[text(&mixed), text(out)]), format!("{left}{behind}; {files}\n"));
    }
    assert_eq!(noted(&[&target(&mixed, "b"), text(&npy)]), format!("{left}{behind}\n"));
    assert_eq!(noted(&[&target(&mixed, "a"), text(&npy)]), "");
    let listed = answer(&run(["inspect", text(&mixed)]));
    assert!(
        listed.contains("not read") && listed.contains("readme.txt") && listed.contains(" 4 B"),
        "{listed}"
    );
}
