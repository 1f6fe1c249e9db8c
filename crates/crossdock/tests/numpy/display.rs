//! Comparison with NumPy: arrays print character for character as in NumPy.

use std::path::Path;

use crossdock_testkit::python;
use serde_json::Value as Json;

use crate::{Folder, run};

/// As text and, with room for the closing bracket, as a literal.
fn printed(folder: &Path, case: &Json) -> [String; 2] {
    let array = crossdock::open(folder.join(case["file"].as_str().unwrap())).unwrap();
    let mut display = array.display();
    let mut width = 75;
    for (name, value) in case["options"].as_object().unwrap() {
        let value = usize::try_from(value.as_u64().unwrap()).unwrap();
        display = match name.as_str() {
            "precision" => display.precision(value),
            "threshold" => display.threshold(value),
            "edgeitems" => display.edge_items(value),
            "linewidth" => {
                width = value;
                display.line_width(value)
            }
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
    [text, display.line_width(width - 1).literal("Array(".len()).to_string()]
}

#[test]
fn arrays_are_printed_as_numpy_prints_them() {
    let Some(python) = python() else { return };
    let folder = Folder::new("texts");
    run(&python, "make_texts.py", &folder.0);

    let cases = std::fs::read_to_string(folder.0.join("texts.json")).unwrap();
    let cases: Vec<Json> = serde_json::from_str(&cases).unwrap();
    assert!(cases.len() > 1000, "{} arrays only", cases.len());
    let mut wrong = 0;
    for case in &cases {
        let wanted = ["text", "literal"].map(|kind| case[kind].as_str().unwrap());
        let found = printed(&folder.0, case);
        if wanted != found {
            wrong += 1;
            if wrong <= 20 {
                let (dtype, shape, options) = (&case["dtype"], &case["shape"], &case["options"]);
                for (wanted, found) in wanted.iter().zip(&found).filter(|(wanted, found)| wanted != found) {
                    println!("{dtype} {shape} {options}: NumPy prints\n{wanted}\nand here it is\n{found}\n");
                }
            }
        }
    }
    assert_eq!(wrong, 0, "of {} arrays", cases.len());
}
