//! Against the real NumPy: arrays are printed as it prints them, letter for letter.
//!
//! `CROSSDOCK_PYTHON` names a Python that has NumPy. Without it nothing is run, unless `CROSSDOCK_REQUIRE_COUNTERPARTS`
//! is set: then that is a failure.

use std::path::{Path, PathBuf};
use std::process::Command;

use crossdock::exchange::files::npy;
use serde_json::Value as Json;

struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_dir_all(&self.0);
    }
}

fn python() -> Option<PathBuf> {
    let python = std::env::var_os("CROSSDOCK_PYTHON").map(PathBuf::from);
    if python.is_none() {
        let required = std::env::var_os("CROSSDOCK_REQUIRE_COUNTERPARTS").is_some_and(|value| value != "0");
        assert!(!required, "CROSSDOCK_PYTHON must name a Python with NumPy, since counterparts are required");
        println!("not run: CROSSDOCK_PYTHON names no Python with NumPy");
    }
    python
}

fn printed(directory: &Path, case: &Json) -> String {
    let array = npy::open(directory.join(case["file"].as_str().unwrap())).unwrap();
    let mut display = array.display();
    for (name, value) in case["options"].as_object().unwrap() {
        let value = usize::try_from(value.as_u64().unwrap()).unwrap();
        display = match name.as_str() {
            "precision" => display.precision(value),
            "threshold" => display.threshold(value),
            "edgeitems" => display.edge_items(value),
            "linewidth" => display.line_width(value),
            other => panic!("{other} is no option"),
        };
    }
    let text = display.to_string();
    if case["options"].as_object().unwrap().is_empty() {
        assert_eq!(array.to_string(), text);
        let debug = format!("{array:?}");
        assert!(
            debug.starts_with("DArray(") && debug.contains(&format!("shape {:?}", array.shape())),
            "{debug}"
        );
    }
    text
}

#[test]
fn arrays_are_printed_as_numpy_prints_them() {
    let Some(python) = python() else { return };
    let directory = Directory(std::env::temp_dir().join(format!("crossdock-texts-{}", std::process::id())));
    std::fs::create_dir_all(&directory.0).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/make_texts.py");
    let output = Command::new(python).arg(&script).arg(&directory.0).output().unwrap();
    println!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let cases = std::fs::read_to_string(directory.0.join("texts.json")).unwrap();
    let cases: Vec<Json> = serde_json::from_str(&cases).unwrap();
    assert!(cases.len() > 1000, "{} arrays only", cases.len());
    let mut wrong = 0;
    for case in &cases {
        let (wanted, found) = (case["text"].as_str().unwrap(), printed(&directory.0, case));
        if wanted != found {
            wrong += 1;
            if wrong <= 20 {
                let (dtype, shape, options) = (&case["dtype"], &case["shape"], &case["options"]);
                println!("{dtype} {shape} {options}: NumPy prints\n{wanted}\nand here it is\n{found}\n");
            }
        }
    }
    assert_eq!(wrong, 0, "of {} arrays", cases.len());
}
