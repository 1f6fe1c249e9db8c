//! The whole program, on the mock driver and without any driver.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use crossdock_measure::record;
use crossdock_mock_cuda::Mock;

fn check(driver: &str, arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_crossdock-gpu-check"));
    program.env("CROSSDOCK_CUDA_DRIVER", driver).args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A folder with one suite, whose output the test determines.
struct Programs(PathBuf);

impl Programs {
    fn new(name: &str, script: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("crossdock-gpu-check-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (written, suite) = (folder.join("new"), folder.join("test-it"));
        fs::write(&written, format!("#!/bin/sh\n{script}\n")).unwrap();
        // By another process, so that the file is not open for writing when it is started.
        let install = Command::new("install").args(["-m", "755"]).args([&written, &suite]).status().unwrap();
        assert!(install.success());
        Self(folder)
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn without_a_driver_there_is_no_device_and_that_is_no_failure() {
    let output = check("/there/is/no/driver.so", &[]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(
        text(&output).starts_with("no device: ") && text(&output).lines().count() == 1,
        "{}",
        text(&output)
    );
}

#[test]
fn a_device_is_named_and_nothing_else_where_that_is_all_that_was_asked() {
    let output = check(Mock::path().to_str().unwrap(), &["--probe"]);
    assert!(output.status.success() && text(&output).starts_with("cuda:0: "), "{}", text(&output));
}

#[test]
fn every_check_has_a_row_and_every_figure_a_line_in_the_record() {
    let programs = Programs::new("well", "echo 3 passed");
    let path = programs.0.join("record.csv");
    let arguments = ["--shrink", "1024", "--programs", programs.0.to_str().unwrap(), "--record"];
    let output = check(Mock::path().to_str().unwrap(), &[&arguments[..], &[path.to_str().unwrap()]].concat());
    let table = text(&output);
    assert!(output.status.success(), "{table}");
    let suite = table.lines().find(|line| line.contains("test-it")).unwrap();
    assert!(suite.contains("passed") && suite.contains("3 passed"), "{suite}");
    let sent = table.lines().find(|line| line.contains("memory as a descriptor")).unwrap();
    assert!(sent.contains("passed") && sent.contains("read-only at cuda:0"), "{sent}");
    let measured = table.lines().filter(|line| line.contains(" measured ")).count();
    assert_eq!(measured, 3 + crossdock_measure::DEVICE_WORKS.len(), "{table}");
    assert!(table.trim_end().ends_with(" checks, 0 failed"), "{table}");
    let lines = record::read(&path).unwrap();
    assert_eq!(lines.len(), measured);
    assert!(lines.iter().all(|line| line.table == "gpu" && line.ratios.len() == 1));
    assert_eq!(fs::read_to_string(path).unwrap().lines().count(), 1 + measured);
}

#[test]
fn a_suite_that_fails_fails_all_of_it() {
    let programs = Programs::new("badly", "echo 1 failed; exit 101");
    let arguments = ["--shrink", "1024", "--seconds", "1", "--programs", programs.0.to_str().unwrap()];
    let output = check(Mock::path().to_str().unwrap(), &arguments);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("exit status: 101: 1 failed"), "{}", text(&output));
}
