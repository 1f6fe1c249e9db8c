//! The suite of the Python wheel: built, installed into an environment with its counterparts only,
//! and tested with Python and NumPy. The long run builds the release wheel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::checks;
use crate::interpreters;
use crate::provision::{TESTS, WHEEL};
use crate::run::{Door, Run};

const MANIFEST: &str = "bindings/python/Cargo.toml";

/// The crate for extensions by PyO3, with the extensions of its tests and its example.
const EXTENSIONS: &str = "crates/crossdock-pyo3/Cargo.toml";

pub(crate) fn wheel(run: &mut Run<'_>) -> Result<()> {
    let wheel = build(run, for_tests)?;
    let nbytes = fs::metadata(&wheel)?.len();

    interpreters::audit(run, &wheel)?;

    run.step("install");
    let python = WHEEL.python(run.door);
    let pip = "-m pip install --disable-pip-version-check --no-input --no-index --no-deps --force-reinstall";
    run.exec(run.door.command(&python, pip).arg(&wheel))?;

    run.step("test");
    let programs = checks::programs(run)?;
    let mut pytest =
        run.door.command(&python, "-m pytest bindings/python -q -rs --color=no -p no:cacheprovider");
    pytest.env("CROSSDOCK_REQUIRE_COUNTERPARTS", "1");
    pytest.env("CROSSDOCK_CUDA_DRIVER", programs.join("libcrossdock_mock_cuda.so"));
    pytest.env("CROSSDOCK_BIN", programs.join("crossdock"));
    pytest.env("CROSSDOCK_EXTENSIONS", extensions(run)?);
    if run.door.long {
        pytest.env("CROSSDOCK_HAND_OVERS", "1000000");
    }
    run.seed(&mut pytest);
    // Compiled once for all processes of the tests, outside of the checkout.
    run.exec(pytest.env("PYTHONPYCACHEPREFIX", target(run.door).join("bytecode")))?;

    run.step("valgrind");
    interpreters::under_valgrind(run, &python)?;
    run.step("interpreters");
    interpreters::on_all(run, &wheel)?;
    run.note(format!("a wheel of {} KiB", nbytes.div_ceil(1 << 10)));
    run.expect_tests()
}

/// The build of the tests is linted.
fn for_tests(door: &Door, build: &mut Command) {
    door.build_for_tests(build);
    Door::lint(build);
}

/// The target folder of the wheel: apart from the workspace, whose lock file and features differ.
pub(crate) fn target(door: &Door) -> PathBuf {
    door.target.join("wheel")
}

/// Builds the wheel with the environment of the tests: the release wheel, except for the changes by
/// `change`.
pub(crate) fn build(run: &mut Run<'_>, change: impl Fn(&Door, &mut Command)) -> Result<PathBuf> {
    let folder = target(run.door).join("wheels");
    build_into(run, &folder, change)
}

/// Builds the wheel of the tests, which costs little if the suite of the wheel has, and unpacks it.
/// Returns the folder in which Python finds the package. Other suites do not write to `folder`.
pub(crate) fn package(run: &mut Run<'_>, folder: &Path) -> Result<PathBuf> {
    let wheel = build_into(run, &folder.join("wheels"), for_tests)?;
    let package = folder.join("package");
    remove(&package)?;
    let mut unpack = run.door.command(TESTS.python(run.door), "-m zipfile -e");
    run.exec(unpack.arg(wheel).arg(&package))?;
    Ok(package)
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("{} cannot be removed", folder.display()))?;
    }
    Ok(())
}

fn build_into(run: &mut Run<'_>, folder: &Path, change: impl Fn(&Door, &mut Command)) -> Result<PathBuf> {
    run.step("build");
    let target = target(run.door);
    remove(folder)?;
    let python = TESTS.python(run.door);
    let mut build =
        run.door.command(&python, &format!("-m maturin build --release --locked -m {MANIFEST} --out"));
    build.arg(folder).arg("--interpreter").arg(&python);
    change(run.door, &mut build);
    run.exec(build.env("CARGO_TARGET_DIR", &target))?;
    only_wheel(folder)
}

/// Lints and builds the extensions that the tests load, for the interpreter of the tests. Returns
/// their folder.
fn extensions(run: &mut Run<'_>) -> Result<PathBuf> {
    let target = run.door.target.join("extensions");
    let python = WHEEL.python(run.door);
    let mut build = run.door.cargo(&format!("build --locked --workspace --manifest-path {EXTENSIONS}"));
    Door::lint(&mut build);
    run.exec(build.env("CARGO_TARGET_DIR", &target).env("PYO3_PYTHON", &python))?;
    Ok(target.join("debug"))
}

/// One wheel serves every Python from 3.11 on, and its name says so.
fn only_wheel(folder: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let wheels: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<_>>()?;
    match wheels.as_slice() {
        [wheel] if wheel.to_string_lossy().contains("-cp311-abi3-") => Ok(wheel.clone()),
        other => bail!("one wheel for cp311-abi3 was expected, and there are {other:?}"),
    }
}
