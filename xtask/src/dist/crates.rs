//! The packages of Rust.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Dist;
use crate::run::Run;

/// The published packages of the workspace, each after those that it depends on.
const PACKAGES: &[&str] = &[
    "crossdock-derive",
    "crossdock",
    "crossdock-cuda",
    "crossdock-opencl",
    "crossdock-measure",
    "crossdock-capi",
    "crossdock-cli",
];

/// The published package that is a workspace of its own.
const EXTENSIONS: &str = "crossdock-pyo3";

/// All of them, in the order in which they are published.
pub(super) fn published() -> impl Iterator<Item = &'static str> {
    PACKAGES.iter().copied().chain([EXTENSIONS])
}

/// The version of the library, which all packages share.
pub(super) fn version(run: &mut Run<'_>) -> Result<String> {
    let text = run.stdout(&mut run.door.cargo("metadata --locked --no-deps --format-version 1"))?;
    let metadata: Value = serde_json::from_str(&text)?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let library = packages.iter().find(|package| package["name"] == "crossdock");
    let version = library.and_then(|package| package["version"].as_str());
    Ok(version.context("`cargo metadata` lists no version of crossdock")?.to_owned())
}

pub(super) fn make(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    package(run, dist, "--no-verify")?;
    // Its dependencies are published before it. Until then no lock file can name them.
    let mut extensions = run.door.cargo("package --no-verify --allow-dirty --exclude-lockfile");
    extensions.arg("--manifest-path").arg(format!("crates/{EXTENSIONS}/Cargo.toml"));
    run.exec(dist.prepare(run.door, &mut extensions))?;
    dist.forget(|name| name.ends_with(".crate"))?;
    for name in published() {
        dist.keep(&packed(dist, name))?;
    }
    Ok(())
}

/// Packs the packages of the workspace and builds each from its package alone, with the versions in
/// its lock file and without the registry.
pub(super) fn verify(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    package(run, dist, "--offline")
}

fn package(run: &mut Run<'_>, dist: &Dist, how: &str) -> Result<()> {
    let mut package = run.door.cargo(&format!("package --locked --allow-dirty {how}"));
    package.args(PACKAGES.iter().flat_map(|name| ["--package", name]));
    run.exec(dist.prepare(run.door, &mut package))
}

fn packed(dist: &Dist, name: &str) -> PathBuf {
    dist.build.join("package").join(format!("{name}-{}.crate", dist.version))
}

/// Unpacks the packages into an empty folder beside each other, where each is found by the others.
/// Below the checkout they would belong to its workspace, so the folder is among the temporary
/// ones.
pub(super) fn unpack(run: &mut Run<'_>, dist: &Dist) -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("crossdock-packages-{}", std::process::id()));
    std::fs::create_dir_all(folder.join(".cargo"))?;
    let mut settings = String::from("[patch.crates-io]\n");
    for name in published() {
        let versioned = format!("{name}-{}", dist.version);
        let file = dist.out.join(format!("{versioned}.crate"));
        run.exec(run.door.command("tar", "-xzf").arg(&file).arg("-C").arg(&folder))?;
        let path = folder.join(&versioned);
        ensure!(path.join("LICENSE-MIT").is_file(), "{versioned} has no licence");
        settings += &format!("{name} = {{ path = {:?} }}\n", path.display().to_string());
    }
    std::fs::write(folder.join(".cargo/config.toml"), settings)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    fn manifest(name: &str) -> String {
        fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap()
    }

    #[test]
    fn a_package_is_published_or_says_that_it_is_not() {
        for entry in fs::read_dir(root().join("crates")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let is_private = manifest(&name).contains("\npublish = false\n");
            assert_ne!(is_private, published().any(|published| published == name), "{name}");
        }
    }

    #[test]
    fn a_published_package_says_what_it_is_and_contains_its_licences() {
        for name in published() {
            let manifest = manifest(name);
            for field in ["description", "readme", "keywords", "categories", "include"] {
                assert!(manifest.contains(&format!("\n{field} = ")), "{name} has no {field}");
            }
            assert!(manifest.contains("\nlicense") && manifest.contains("\nrust-version"), "{name}");
            for licence in super::super::archives::LICENCES {
                let text = |path: PathBuf| fs::read_to_string(path).unwrap();
                let own = text(root().join("crates").join(name).join(licence));
                assert_eq!(own, text(root().join(licence)), "{name}");
            }
        }
    }

    /// A published package names what it needs of the others by the version that they have.
    #[test]
    fn versions_of_packages_that_need_each_other_agree() {
        let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
        let version = workspace.lines().find_map(|line| line.strip_prefix("version = ")).unwrap();
        let mut needed = 0;
        for name in published() {
            let manifest = manifest(name);
            let lines = manifest.split("[dev-dependencies]").next().unwrap().lines();
            for line in lines.filter(|line| line.starts_with("crossdock") && line.contains("path = ")) {
                needed += 1;
                assert!(line.contains(&format!("version = {version}")), "{name}: {line}");
            }
        }
        assert!(needed > 8, "{needed} dependencies were seen");
        assert!(manifest(EXTENSIONS).contains(&format!("\nversion = {version}\n")));
        for file in ["bindings/python/Cargo.toml", "bindings/ruby/ext/crossdock/Cargo.toml"] {
            let manifest = fs::read_to_string(root().join(file)).unwrap();
            assert!(manifest.contains(&format!("\nversion = {version}\n")), "{file}");
        }
        let ruby = fs::read_to_string(root().join("bindings/ruby/lib/crossdock/version.rb")).unwrap();
        let header = root().join("crates/crossdock-capi/include/crossdock/base.h");
        let header = fs::read_to_string(header).unwrap();
        assert!(ruby.contains(version) && header.contains(&format!("XD_VERSION_STRING {version}")));
    }
}
