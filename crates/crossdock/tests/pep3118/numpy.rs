//! Tests against NumPy, which reads and writes formats.

use crate::made::Maker;
use crossdock::bindings::dialect::{pep3118, typestr};
use crossdock_testkit::{Coverage, python, seed};
use fastrand::Rng;
use serde_json::{Value as Json, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The output of a script of `tests/python` for `cases`.
pub(crate) fn ask(python: &Path, script: &str, args: &[&str], cases: &Json) -> Json {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python").join(script);
    let mut child = Command::new(python)
        .arg(script)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(cases.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn numpy_reads_the_same_in_a_format() {
    let Some(python) = python() else { return };
    let (mut coverage, mut rng) = (Coverage::default(), Rng::with_seed(seed()));
    let mut cases = Vec::new();
    for _ in 0..crate::cases() {
        coverage.case();
        let (text, _, sizes) = Maker::new(rng.fork(), &mut coverage, true).format();
        // NumPy counts the padding behind the last item.
        let dtype = pep3118::parse_sized(text.as_bytes(), *sizes.last().unwrap()).unwrap();
        // NumPy has no sub-arrays of elements of size 0.
        let Ok(literal) = typestr::print(&dtype) else { continue };
        let canonical = pep3118::print(&dtype).ok();
        cases.push(json!({ "format": text, "dtype": literal, "canonical": canonical }));
    }
    println!("{coverage}");
    let answer = ask(&python, "buffer_formats.py", &["read"], &Json::from(cases));
    println!("{answer}");
    assert_eq!(answer["different"], json!([]));
    // NumPy fails on some valid formats.
    assert!(answer["same"].as_u64().unwrap() as usize * 10 > crate::cases() * 8, "{answer}");
    assert!(answer["canonical"].as_u64().unwrap() as usize * 10 > crate::cases() * 7, "{answer}");
}

#[test]
fn what_numpy_writes_is_read() {
    let Some(python) = python() else { return };
    let answer =
        ask(&python, "buffer_formats.py", &["write"], &json!({ "seed": seed(), "cases": crate::cases() }));
    let cases = answer.as_array().unwrap();
    let mut records = 0;
    for case in cases {
        let (format, literal) = (case["format"].as_str().unwrap(), case["dtype"].as_str().unwrap());
        let meant = typestr::parse(literal).unwrap();
        let itemsize = usize::try_from(case["itemsize"].as_u64().unwrap()).unwrap();
        let read = pep3118::parse_sized(format.as_bytes(), itemsize).unwrap();
        assert_eq!(read, meant, "{format}");
        records += usize::from(format.contains("T{"));
    }
    println!("{} formats, {records} of records", cases.len());
    assert!(cases.len() * 10 > crate::cases() * 8 && records * 3 > cases.len());
}
