//! `crossdock bench`: its output. The tests expect figures, but no particular values.

use crate::common::{answer, refusal, run};
use serde_json::Value;

/// Arrays so small that a debug build finishes soon.
const TINY: [&str; 4] = ["bench", "--quick", "--shrink", "1000"];

fn figure(value: &Value) -> f64 {
    value.as_f64().filter(|figure| figure.is_finite() && *figure > 0.0).unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn all_works_and_all_kinds_of_memory_are_measured() {
    let text = answer(&run([&TINY[..], &["--json"]].concat()));
    let told: Value = serde_json::from_str(&text).unwrap();
    let threads = told["threads"].as_u64().unwrap();
    let memory = told["memory"].as_array().unwrap();
    assert_eq!(memory.last().unwrap()["level"], "memory");
    for level in memory {
        let names: Vec<_> = level["traffic"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
        assert_eq!(names, ["read", "write", "copy"]);
        for traffic in level["traffic"].as_array().unwrap() {
            figure(&traffic["one_thread"]);
            assert_eq!(traffic["all_threads"].is_null(), threads == 1);
        }
    }
    let works = told["works"].as_array().unwrap();
    assert!(works.len() >= 20, "{} works", works.len());
    for work in works {
        figure(&work["memcpy"]);
        figure(&work["one_thread"]["gigabytes"]);
        figure(&work["one_thread"]["ratio"]);
        assert_eq!(work["all_threads"].is_null(), threads == 1);
    }
}

#[test]
fn a_pipe_gets_a_drawing_in_plain_letters() {
    let text = answer(&run(TINY));
    assert!(text.is_ascii(), "{text}");
    for words in ["memory copy of", "f32 transpose 4096 x 4096", "f32 to f16", "records packed to aligned"] {
        let line = text.lines().find(|line| line.contains(words));
        assert!(line.is_some(), "{words:?} is missing in\n{text}");
    }
    let transpose = text.lines().find(|line| line.contains("f32 transpose")).unwrap();
    assert!(transpose.contains('|'), "no mark where memcpy is: {transpose:?}");
}

#[test]
fn a_device_is_measured_by_its_copies_and_by_works_beside_its_own() {
    if !crate::common::has_device("opencl:0") {
        return;
    }
    let arguments = [&TINY[..], &["--place", "opencl:0", "--json"]].concat();
    let told: Value = serde_json::from_str(&answer(&run(arguments))).unwrap();
    assert!(told["device"].as_str().unwrap().starts_with("opencl:0: "), "{told}");
    let links: Vec<_> = told["memory"].as_array().unwrap().iter().map(|link| &link["level"]).collect();
    assert_eq!(links, ["within the device", "host to device", "device to host"]);
    let works = told["works"].as_array().unwrap();
    assert!(works.len() >= 15, "{} works", works.len());
    for work in works {
        figure(&work["memcpy"]);
        figure(&work["one_thread"]["ratio"]);
        assert!(work["all_threads"].is_null());
    }
    let drawn = answer(&run([&TINY[..], &["--place", "opencl:0"]].concat()));
    for words in
        ["opencl:0: ", "host to device copy of", "speed as a share of the device's own copy", "# the device"]
    {
        assert!(drawn.contains(words), "{words:?} is missing in\n{drawn}");
    }
}

#[test]
fn a_place_that_is_not_there_is_named() {
    for (place, status, words) in [
        ("gpu", 2, "`gpu` is not a place"),
        ("cuda:77", 1, "CUDA"),
        ("opencl:77", 1, "opencl:77"),
        ("metal:0", 1, "no driver for devices of kind metal"),
    ] {
        let said = refusal(&run(["bench", "--place", place]), status);
        assert!(said.contains(words), "{place}: {said}");
    }
}

#[test]
fn sizes_that_make_no_sense_are_refused() {
    let said = refusal(&run(["bench", "--shrink", "0"]), 2);
    assert!(said.contains("--shrink"), "{said}");
}
