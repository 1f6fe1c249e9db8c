//! `crossdock diff`: what it finds, and its exit statuses.

use std::path::Path;
use std::process::Output;

use crossdock::DArray;
use crossdock::exchange::files::SaveOptions;
use serde_json::{Value, json};

use crate::common::{Folder, npy, refusal, run, stderr, stdout, target};

fn diff(arguments: &[&str]) -> Output {
    run([&["diff"], arguments].concat())
}

/// The text of two files that differ.
#[track_caller]
fn differences(arguments: &[&str]) -> String {
    let output = diff(arguments);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), ""), "{}", stdout(&output));
    stdout(&output)
}

#[track_caller]
fn same(arguments: &[&str]) {
    let output = diff(arguments);
    assert_eq!((output.status.code(), stderr(&output) + &stdout(&output)), (Some(0), String::new()));
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn doubles(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[test]
fn the_first_and_the_greatest_difference_are_shown() {
    let folder = Folder::new("diff");
    let numbers: Vec<f64> = (0..12).map(f64::from).collect();
    let mut changed = numbers.clone();
    (changed[5], changed[10], changed[11]) = (5.5, 12.0, f64::NAN);
    let file = |name, numbers: &[f64]| folder.file(name, npy("'<f8'", false, "(3, 4)", &doubles(numbers)));
    let (a, b) = (file("a.npy", &numbers), file("b.npy", &changed));
    let (a, b) = (text(&a), text(&b));
    same(&[a, a]);
    same(&[a, a, "-q"]);
    same(&[&target(Path::new(a), ":, ::2"), &target(Path::new(b), ":, ::2"), "--atol", "2"]);
    assert_eq!(
        differences(&[a, b]),
        format!(
            "{a}, {b}: different\n  \
             elements       3 of 12 differ (25.00 %)\n  \
             first          [1, 1]: 5.0, 5.5\n  \
             max abs error  2 at [2, 2]: 10.0, 12.0\n  \
             max rel error  0.166667 at [2, 2]: 10.0, 12.0\n  \
             NaN            1 of them in one of the two only\n"
        )
    );
    assert_eq!(differences(&[a, b, "-q"]), format!("{a} and {b} differ\n"));
    assert!(differences(&[a, b, "--tolerance", "1"]).contains("first          [2, 3]: 11.0, nan\n"));
    assert!(differences(&[b, b]).contains("1 of 12 differ (8.33 %)\n"));
    same(&[b, b, "--equal-nan"]);

    let told: Value = serde_json::from_str(&differences(&[a, b, "--json", "--rtol", "0.1"])).unwrap();
    let found = &told["arrays"][0]["fields"][0];
    assert_eq!(told["same"], json!(false));
    assert_eq!((&found["differing"], &found["len"]), (&json!(2), &json!(12)));
    assert_eq!(found["first"], json!({"index": [2, 2], "a": 10.0, "b": 12.0}));
    assert_eq!(found["max_abs_error"], json!({"index": [2, 2], "a": 10.0, "b": 12.0, "value": 2.0}));
    let told = diff(&[a, a, "--json"]);
    assert_eq!(told.status.code(), Some(0));
    assert_eq!(serde_json::from_str::<Value>(&stdout(&told)).unwrap()["same"], json!(true));
}

#[test]
fn orders_and_byte_orders_do_not_matter_but_shapes_and_dtypes_do() {
    let folder = Folder::new("diff-layouts");
    let rows = folder.file("rows.npy", npy("'<i2'", false, "(2, 3)", &[1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]));
    let columns =
        folder.file("columns.npy", npy("'>i2'", true, "(2, 3)", &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6]));
    let bytes = folder.file("bytes.npy", npy("'|u1'", false, "(2, 3)", &[1, 2, 3, 4, 5, 6]));
    let flat = folder.file("flat.npy", npy("'|u1'", false, "(6,)", &[1, 2, 3, 4, 5, 6]));
    let words = folder.file("words.npy", npy("'|S1'", false, "(6,)", b"abcdef"));
    let raw = folder.file("bytes.raw", [1, 2, 3, 4, 5, 6]);
    let [rows, columns, bytes, flat, words, raw] =
        [&rows, &columns, &bytes, &flat, &words, &raw].map(|path| text(path));
    same(&[rows, columns]);
    let said = differences(&[rows, bytes]);
    assert_eq!(said, format!("{rows}, {bytes}: different\n  dtype          int16, uint8\n"));
    same(&[rows, bytes, "--atol", "0"]);
    let said = differences(&[bytes, flat]);
    assert_eq!(said, format!("{bytes}, {flat}: different\n  shape          [2, 3], [6]\n"));
    assert!(differences(&[flat, words, "--atol", "9"]).contains("not compared"));
    // The description applies to the raw file alone.
    same(&[raw, bytes, "--raw", "dtype=uint8; shape=2,3"]);
    same(&[rows, raw, "--raw", "dtype=uint8; shape=2,3", "--tolerance", "0"]);
}

#[test]
fn archives_are_compared_by_name_and_records_by_field() {
    let folder = Folder::new("diff-names");
    let array = |numbers: &[i32]| DArray::from_vec(numbers.to_vec(), &[numbers.len()]).unwrap();
    let [a, b, one] = ["a.npz", "b.safetensors", "one.npz"].map(|name| folder.path(name));
    let save = |path, arrays: &[(&str, DArray)]| SaveOptions::new().save_all(path, arrays).unwrap();
    save(&a, &[("p", array(&[1])), ("q", array(&[2, 3])), ("r", array(&[4]))]);
    save(&b, &[("q", array(&[2, 7])), ("p", array(&[1])), ("s", array(&[4]))]);
    save(&one, &[("p", array(&[1]))]);
    let [a, b, one] = [&a, &b, &one].map(|path| text(path));
    assert_eq!(
        differences(&[a, b]),
        format!(
            "only in {a}: r\nonly in {b}: s\nq: different\n  \
             elements       1 of 2 differ (50.00 %)\n  \
             first          [1]: 3, 7\n  \
             max abs error  4 at [1]: 3, 7\n  \
             max rel error  0.571429 at [1]: 3, 7\n1 of 2 common arrays differ\n"
        )
    );
    assert_eq!(differences(&[a, b, "--quiet"]), format!("{a} and {b} differ\n"));
    assert!(differences(&[a, one]).starts_with(&format!("only in {a}: q\nonly in {a}: r\n")));
    same(&[&format!("{a}:p"), &format!("{b}:p")]);
    same(&[one, &format!("{a}:p")]);
    let said = refusal(&diff(&[a, &format!("{b}:p")]), 2);
    assert!(said.contains("3 arrays") && said.contains("FILE:NAME"), "{said}");

    let descr = "[('k', '|u1'), ('v', '|u1', (2,))]";
    let first = folder.file("first.npy", npy(descr, false, "(2,)", &[1, 2, 3, 4, 5, 6]));
    let second = folder.file("second.npy", npy(descr, false, "(2,)", &[1, 2, 3, 4, 5, 9]));
    let said = differences(&[text(&first), text(&second)]);
    assert!(
        said.contains("\n  .v\n  elements       1 of 4 differ (25.00 %)\n  first          [1, 1]: 6, 9\n"),
        "{said}"
    );
    assert!(!said.contains(".k"), "{said}");
}

#[test]
fn trouble_has_a_status_of_its_own() {
    let folder = Folder::new("diff-trouble");
    let good = folder.file("good.npy", npy("'<i2'", false, "(2,)", &[0; 4]));
    let broken = folder.file("broken.npy", b"\x93NUMPY");
    let objects = folder.file("objects.npy", npy("'|O'", false, "(2,)", &[0; 16]));
    let good = text(&good);
    for bad in [text(&broken), text(&objects), text(&folder.path("missing.npy")), &format!("{good}:7")] {
        refusal(&diff(&[good, bad]), 2);
        refusal(&diff(&[bad, good, "-q"]), 2);
    }
    for wrong in [["--rtol", "-1"], ["--atol", "nan"], ["--tolerance", "x"]] {
        refusal(&diff(&[&[good, good], &wrong[..]].concat()), 2);
    }
    refusal(&diff(&[good]), 2);
}

/// Pairs of random files: what `diff` finds, and what `convert --verify` writes. By hand:
/// `CROSSDOCK_CASES=5000`.
#[test]
fn diff_and_convert_agree_with_numpy_on_random_pairs() {
    let Some(python) = crate::common::python_with_numpy() else { return };
    let folder = Folder::new("diff-random");
    let program = include_str!("pairs.py");
    let mut command = std::process::Command::new(python);
    command.args(["-c", program, env!("CARGO_BIN_EXE_crossdock")]).current_dir(folder.path(""));
    let count = crossdock_testkit::rounds(12).max(crossdock_testkit::cases(12).min(5000));
    command.args([count.to_string(), crossdock_testkit::seed().to_string()]);
    crate::common::answer(&command.output().unwrap());
}
