//! The wheel beside the newest versions of its counterparts, which the registry has today: what has
//! changed since the versions that `requirements.txt` pins. Runs only by its name, since its result
//! depends on the day.

use std::fs;

use anyhow::{Context, Result};

use crate::run::{Door, Run};
use crate::wheel;

const PINNED: &str = "bindings/python/tests/requirements.txt";

/// Libraries that the pinned environment does not have: `explain` has profiles of them.
const MORE: &[&str] = &["jax", "numba", "zarr", "h5py", "xarray", "scikit-learn", "onnxruntime"];

pub(crate) fn wheel_newest(run: &mut Run<'_>) -> Result<()> {
    let wheel = wheel::build(run, Door::build_for_tests)?;

    run.step("install");
    let folder = run.door.target.join("venv-newest");
    run.exec(run.door.command("python3", "-m venv --clear").arg(&folder))?;
    let python = folder.join("bin/python");
    let pinned =
        fs::read_to_string(run.door.root.join(PINNED)).with_context(|| format!("{PINNED} cannot be read"))?;
    let pip = "-m pip install --disable-pip-version-check --no-input --no-compile --upgrade";
    run.exec(run.door.command(&python, pip).args(names(&pinned)).args(MORE).arg(&wheel))?;
    let list =
        run.door.command(&python, "-m pip list --format=freeze --disable-pip-version-check").output()?;
    let changed = changed(&pinned, &String::from_utf8_lossy(&list.stdout));
    run.note(match changed.as_slice() {
        [] => "the newest versions are those that are pinned".to_owned(),
        changed => format!("newer: {}", changed.join(", ")),
    });

    run.step("test");
    let mut pytest =
        run.door.command(&python, "-m pytest bindings/python -q -rs --color=no -p no:cacheprovider");
    run.seed(&mut pytest);
    run.exec(pytest.env("PYTHONPYCACHEPREFIX", folder.join("bytecode")))?;
    run.expect_tests()
}

/// The requirements without their versions.
fn names(pinned: &str) -> Vec<&str> {
    pins(pinned).map(|(name, _)| name).collect()
}

fn pins(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.trim().split_once("=="))
}

/// The pinned requirements that are installed in another version: `numpy 2.4.6 -> 2.5.0`.
fn changed(pinned: &str, installed: &str) -> Vec<String> {
    let plain = |name: &str| name.split('[').next().unwrap_or_default().replace('_', "-").to_lowercase();
    let found = |name: &str| pins(installed).find(|(own, _)| plain(own) == plain(name));
    let changed = pins(pinned).filter_map(|(name, version)| {
        let (_, newest) = found(name)?;
        (newest != version).then(|| format!("{name} {version} -> {newest}"))
    });
    changed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PINS: &str = "# A remark.\nnumpy==2.4.6\ndask[distributed]==2026.8.0\nml_dtypes==0.6.0\n";

    #[test]
    fn requirements_are_named_without_their_versions() {
        assert_eq!(names(PINS), ["numpy", "dask[distributed]", "ml_dtypes"]);
    }

    #[test]
    fn other_versions_are_listed() {
        let installed = "dask==2026.9.0\nml-dtypes==0.6.0\nnumpy==2.5.0\n";
        let expected = ["numpy 2.4.6 -> 2.5.0", "dask[distributed] 2026.8.0 -> 2026.9.0"];
        assert_eq!(changed(PINS, installed), expected);
        assert!(changed(PINS, "numpy==2.4.6\n").is_empty());
    }
}
