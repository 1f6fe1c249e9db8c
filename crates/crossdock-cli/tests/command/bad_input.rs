//! Invalid files and arguments: each causes one sentence and an exit status, and no other output.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use crate::common::{Folder, as_nobody, data, npy, npy_with_header, refusal, run, target};

/// Each file with a part of its error.
fn bad_files(folder: &Folder) -> Vec<(PathBuf, &'static str)> {
    let file = |name: &str, bytes: Vec<u8>| folder.file(name, bytes);
    let shaped = |name: &str, shape: &str| file(name, npy("'<f8'", false, shape, &[0; 64]));
    let typed = |name: &str, descr: &str| file(name, npy(descr, false, "(2,)", &[0; 64]));
    let good = npy("'<f8'", false, "(8,)", &[0; 64]);
    let mut long = good.clone();
    long[8..10].copy_from_slice(&60_000u16.to_le_bytes());
    let mut version = good.clone();
    version[6] = 9;
    let dims = format!("({})", "1, ".repeat(20_000));
    let mut many = b"\x93NUMPY\x02\x00".to_vec();
    let header =
        format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({}), }}\n", "1, ".repeat(1_000_000));
    many.extend_from_slice(&u32::try_from(header.len()).unwrap().to_le_bytes());
    many.extend_from_slice(header.as_bytes());
    many.push(0);
    std::fs::create_dir(folder.path("folder.npy")).unwrap();
    vec![
        (file("empty.npy", vec![]), "empty"),
        (file("short.npy", good[..7].to_vec()), ""),
        (file("header.npy", good[..40].to_vec()), ""),
        (file("truncated.npy", good[..good.len() - 1].to_vec()), "truncated"),
        (file("photo.npy", b"\x89PNG\r\n\x1a\n0000000000".to_vec()), "PNG"),
        (file("archive.npz", b"PK\x03\x04000000000000000".to_vec()), "ZIP"),
        (file("text.npy", b"1, 2, 3\n".to_vec()), ""),
        (file("version.npy", version), "9.0"),
        (file("length.npy", long), ""),
        (shaped("overflow.npy", "(4294967296, 4294967296, 4)"), ""),
        (shaped("huge.npy", "(1000000,)"), "8000000"),
        (shaped("negative.npy", "(-3, 2)"), "-3"),
        (shaped("rank.npy", &dims), "20000"),
        (file("millions.npy", many), ""),
        (shaped("words.npy", "(two,)"), ""),
        (typed("object.npy", "'|O'"), "pickle"),
        (typed("unknown.npy", "'<q9'"), "<q9"),
        (typed("field.npy", "[('a', '<f8'), ('a', '<f8')]"), "a"),
        (file("code.npy", npy_with_header("__import__('os').system('true')", &[0; 64])), ""),
        (folder.path("folder.npy"), "directory"),
        (folder.path("missing.npy"), "no such file"),
        (folder.path("missing/a.npy"), "no such file"),
        (PathBuf::from("/dev/null"), "device"),
    ]
}

#[test]
fn an_error_of_writing_gives_the_right_text() {
    let folder = Folder::new("bad-hints");
    let text = |path: &PathBuf| path.to_str().unwrap().to_owned();
    let records = folder.file("rec.npy", npy("[('id', '<f8')]", false, "(2,)", &[0; 16]));
    let (named, image) = (folder.path("c.npz"), folder.path("a.png"));
    for out in [&named, &image] {
        run([&"convert".to_owned(), &text(&data("elevation.npy")), &text(out), &"--dtype=uint16".to_owned()]);
    }
    let mut bytes = std::fs::read(&image).unwrap();
    bytes[20] ^= 5;
    std::fs::write(&image, bytes).unwrap();
    let (named, records) = (text(&named), text(&records));
    let cases = [
        (vec!["inspect".to_owned(), "--values".into(), "3".into(), records.clone()], "--values=3", 2),
        (vec!["cat".into(), format!("{named}[elevation]")], "c.npz['elevation']", 1),
        (vec!["cat".into(), format!("{records}.id")], "rec.npy:.id", 1),
        (vec!["cat".into(), text(&folder.file("e.npz", ""))], "the .npz file is empty", 1),
        (vec!["cat".into(), text(&folder.file("e.safetensors", ""))], "the .safetensors file is empty", 1),
        (vec!["cat".into(), text(&image)], "while decoding IHDR", 1),
    ];
    for (arguments, says, status) in cases {
        let said = refusal(&run(&arguments), status);
        assert!(said.contains(says) && !said.contains('{'), "{arguments:?}: {said}");
    }
}

#[test]
fn a_bad_file_gives_one_sentence_from_every_subcommand() {
    let folder = Folder::new("bad");
    let touched = folder.path("touched");
    for (path, says) in bad_files(&folder) {
        let name = path.to_str().unwrap();
        let inspected = refusal(&run(["inspect", name]), 1);
        let lent = refusal(&run(["lend", name, "--", "touch", touched.to_str().unwrap()]), 1);
        for said in [inspected, lent] {
            assert!(said.contains(name), "{said}");
            assert!(said.to_lowercase().contains(&says.to_lowercase()), "{name}: {said}");
            assert!(said.len() < 1000, "{} bytes of {}", said.len(), &said[..300]);
        }
    }
    assert!(!touched.exists(), "a command was run without its array");
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let folder = Folder::new("pipe");
    let pipe = folder.path("pipe.npy");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(refusal(&run(["inspect", pipe.to_str().unwrap()]), 1).contains("pipe"));
}

#[test]
fn a_file_without_permission_is_refused() {
    let folder = Folder::new("permission");
    let file = folder.file("a.npy", npy("'|u1'", false, "(3,)", &[1, 2, 3]));
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o000)).unwrap();
    let output = as_nobody(&folder, &["inspect", file.to_str().unwrap()]);
    let said = refusal(&output, 1);
    assert!(said.contains("no permission"), "{said}");
}

#[test]
fn a_read_only_file_is_not_lent_for_writing() {
    let folder = Folder::new("read-only");
    let file = folder.file("a.npy", npy("'|u1'", false, "(3,)", &[1, 2, 3]));
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o444)).unwrap();
    let output = as_nobody(&folder, &["lend", file.to_str().unwrap(), "--write", "--", "true"]);
    let said = refusal(&output, 1);
    assert!(said.contains("no permission"), "{said}");
}

#[test]
fn a_bad_view_gives_one_sentence_with_the_place() {
    for (expr, says) in [
        ("x", "byte 0"),
        ("::2;", "byte 3"),
        ("500", "500"),
        ("::0", "step"),
        (".price", "price"),
        ("1, 2, 3, 4", ""),
        ("99999999999999999999", "too large"),
    ] {
        let said = refusal(&run(["inspect", &target(&data("rocket.npy"), expr)]), 1);
        assert!(said.contains("rocket.npy") && said.contains(says), "{expr}: {said}");
    }
}

#[test]
fn a_name_with_colons_is_a_name_first() {
    let folder = Folder::new("colons");
    let file = folder.file("a:b.npy", npy("'|u1'", false, "(3,)", &[1, 2, 3]));
    let plain = run(["inspect", file.to_str().unwrap(), "--json"]);
    assert!(String::from_utf8_lossy(&plain.stdout).contains("\"view\": \"\""));
    let viewed = run(["inspect", &target(&file, "::2"), "--json"]);
    assert!(String::from_utf8_lossy(&viewed.stdout).contains("\"view\": \"::2\""));
}

#[test]
fn every_way_to_name_a_view_selects_it() {
    let folder = Folder::new("views");
    let record = "[('price', '<f8'), ('unit price', '<f8')]";
    let one = folder.file("a.npy", npy("'|u1'", false, "(4, 3)", &[7; 12]));
    let odd = folder.file("b[0].npy", npy("'|u1'", false, "(4, 3)", &[7; 12]));
    let records = folder.file("r.npy", npy(record, false, "(4,)", &[0; 64]));
    let array = crossdock::open(&one).unwrap();
    let (single, several) = (folder.path("one.npz"), folder.path("two.npz"));
    let save = crossdock::exchange::files::SaveOptions::new();
    save.save_all(&single, &[("x", array.clone())]).unwrap();
    save.save_all(&several, &[("x", array.clone()), ("x.y", array.at("0").unwrap()), ("it em", array)])
        .unwrap();
    for (file, rest, shape) in [
        (&one, "[::2]", &[2, 3][..]),
        (&one, ":::2", &[2, 3]),
        (&one, ":[::2][0, 1:]", &[2]),
        (&one, "::2", &[2, 3]),
        (&odd, "", &[4, 3]),
        (&odd, "[1]", &[3]),
        (&records, ":.price", &[4]),
        (&records, "[::2].price", &[2]),
        (&records, "['unit price'][1:]", &[3]),
        (&single, "", &[4, 3]),
        (&single, ":x", &[4, 3]),
        (&single, ":x[0]", &[3]),
        (&single, "[0]", &[3]),
        (&single, "['x'][0]", &[3]),
        (&several, ":x[::2, 0]", &[2]),
        (&several, ":x:::2, 0", &[2]),
        (&several, ":x.y", &[3]),
        (&several, ":x.y[0]", &[]),
        (&several, "['it em'][0]", &[3]),
        (&several, ":it em", &[4, 3]),
    ] {
        let target = format!("{}{rest}", file.to_str().unwrap());
        let told: serde_json::Value =
            serde_json::from_str(&crate::common::answer(&run(["inspect", "--json", &target]))).unwrap();
        assert_eq!(told["shape"], serde_json::json!(shape), "{target}");
        assert_eq!(crossdock::open(&target).unwrap().shape(), shape, "{target}");
    }
}

#[test]
fn a_file_without_a_subcommand_is_told_what_to_type() {
    let folder = Folder::new("bare");
    let file = folder.file("a.npy", npy("'|u1'", false, "(3,)", b"abc"));
    let file = file.to_str().unwrap();
    for target in [file.to_owned(), format!("{file}[::2]")] {
        let said = refusal(&run([&target]), 2);
        assert!(said.contains(&format!("write `crossdock inspect {target}`")), "{said}");
    }
    assert!(refusal(&run(["nothing.npy"]), 2).contains("unrecognized subcommand"));
}

#[test]
fn near_misses_are_suggested() {
    let folder = Folder::new("near");
    let array = folder.file("weights.npy", npy("[('price', '<f8')]", false, "(1,)", &[0; 8]));
    let several = folder.path("two.npz");
    let opened = crossdock::open(&array).unwrap();
    let save = crossdock::exchange::files::SaveOptions::new();
    save.save_all(&several, &[("weights", opened.clone()), ("bias", opened)]).unwrap();
    let of = |name: &str| folder.path(name).to_str().unwrap().to_owned();
    for (target, says) in [
        (of("two.npz:wieghts[0]"), "did you mean \"weights\"?"),
        (of("two.npz['bais']"), "did you mean \"bias\"?"),
        (of("two.npz[::2]"), "name one before the view, as weights[::2]"),
        (of("two.npz:::2"), "name one before the view, as weights[::2]"),
        (of("weights.npy:.prize"), "did you mean \"price\"?"),
        (of("weigths.npy[0]"), "weights.npy?"),
        (of("weights.npy[0"), "byte 2"),
        (String::new(), "the name of the file is empty"),
    ] {
        let said = refusal(&run(["inspect", &target]), 1);
        assert!(said.contains(says), "{target}: {said}");
        let lent = refusal(&run(["lend", &target, "--", "true"]), 1);
        assert!(lent.contains(says), "{target}: {lent}");
    }
}

#[test]
fn wrong_arguments_give_one_sentence_and_status_2() {
    for (arguments, says) in [
        (&["inspct"][..], "inspect"),
        (&["inspect"], "FILE"),
        (&["lend", "a.npy", "--copy", "perhaps", "--", "true"], "if-needed"),
        (&["lend", "a.npy", "--dtype", "flaot32", "--", "true"], "flaot32"),
        (&["lend", "a.npy", "--order", "Z", "--", "true"], "C, F"),
        (&["inspect", "a.npy", "--jsn"], "--json"),
    ] {
        let said = refusal(&run(arguments), 2);
        assert!(said.contains(says) && said.contains("--help"), "{arguments:?}: {said}");
    }
}

#[test]
fn what_names_hold_does_not_reach_the_terminal() {
    let said = refusal(&run(["inspect", "no\u{1b}[31m\nfile.npy"]), 1);
    assert!(!said.contains('\u{1b}') && said.contains("\\u{1b}[31m\\nfile.npy"), "{said:?}");
}
