//! The wheel's own tests, by a CPython for another processor that qemu starts.

use std::fs;

use anyhow::{Context, Result};

use super::Dist;
use super::root::Root;
use crate::provision::DIST;
use crate::run::Run;

/// The counterparts, each in the version that the tests of the wheel pin, and the tags of their
/// wheels.
const COUNTERPARTS: [&str; 12] = [
    "apache-tvm-ffi",
    "arro3-core",
    "array-api-compat",
    "ml_dtypes",
    "nanoarrow",
    "numpy",
    "pandas",
    "pillow",
    "polars",
    "pyarrow",
    "pytest",
    "safetensors",
];
const PINS: &str = "bindings/python/tests/requirements.txt";
const TAGS: [&str; 6] = [
    "manylinux_2_28_aarch64",
    "manylinux_2_27_aarch64",
    "manylinux_2_24_aarch64",
    "manylinux_2_17_aarch64",
    "manylinux2014_aarch64",
    "any",
];

/// What the tests read.
const SOURCES: [&str; 5] = ["README.md", "bindings/python", "data", "docs", "examples"];
const TESTS: &str = "source/bindings/python/tests";

/// Modules of the tests that pass under qemu. Of the others, many start processes, which qemu does
/// not do reliably for programs with threads, some need further counterparts, and the rest was not
/// tried.
const MODULES: &[&str] = &[
    "arguments",
    "array",
    "arrow",
    "buffers",
    "conventions",
    "dlpack",
    "dlpack_types",
    "documentation",
    "dtype",
    "exchange",
    "files",
    "indexing",
    "interfaces",
    "meanings",
    "memory",
    "operators",
    "others_dlpack",
    "records",
];

/// Tests of these modules that start a process.
const LEFT_OUT: [&str; 2] =
    ["arguments.py::test_a_file_without_permission", "files.py::test_a_guarded_file_may_shrink"];

/// Runs them in a root whose folder `packages` has the wheel and NumPy, by the interpreter that
/// these words start.
pub(super) fn pass(run: &mut Run<'_>, dist: &Dist, root: &Root, start: &[&str]) -> Result<()> {
    let pins = fs::read_to_string(dist.door.root.join(PINS))?;
    let pinned = |name: &&str| {
        let line = pins.lines().find(|line| line.split("==").next() == Some(name));
        line.with_context(|| format!("{PINS} does not pin {name}"))
    };
    let counterparts = COUNTERPARTS.iter().map(pinned).collect::<Result<Vec<_>>>()?;
    let mut install = dist.door.command(
        DIST.python(&dist.door),
        "-m pip install --quiet --disable-pip-version-check --only-binary=:all: --python-version 3.11 \
         --implementation cp --abi cp311 --abi abi3 --abi none",
    );
    install.args(TAGS.iter().flat_map(|tag| ["--platform", tag]));
    run.exec(install.arg("--target").arg(root.trial().join("counterparts")).args(counterparts))?;

    let mut copy = dist.door.command("cp", "--recursive --parents");
    run.exec(copy.args(SOURCES).arg(root.new_folder("source")?))?;
    let mut pytest = root.program(dist, start);
    pytest.args(["-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider"]);
    pytest.args(LEFT_OUT.map(|test| format!("--deselect=tests/test_{test}")));
    pytest.args(MODULES.iter().map(|module| format!("{TESTS}/test_{module}.py")));
    run.exec(pytest.env("PYTHONPATH", "/trial/packages:/trial/counterparts"))
}
