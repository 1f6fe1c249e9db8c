//! The packages of Rust.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Dist, mounts};
use crate::run::{Door, Run};

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
pub(super) fn version(run: &mut Run<'_>, door: &Door) -> Result<String> {
    let text = run.stdout(&mut door.cargo("metadata --locked --no-deps --format-version 1"))?;
    let metadata: Value = serde_json::from_str(&text)?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let library = packages.iter().find(|package| package["name"] == "crossdock");
    let version = library.and_then(|package| package["version"].as_str());
    Ok(version.context("`cargo metadata` lists no version of crossdock")?.to_owned())
}

/// Packs the packages. Each is built by its trial, from the file that is kept here.
pub(super) fn make(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let mut package = dist.door.cargo("package --locked --no-verify");
    package.args(PACKAGES.iter().flat_map(|name| ["--package", name]));
    mounts::exec(run, dist, dist.prepare(&mut package))?;
    // Its dependencies are published before it. Until then no lock file can name them.
    let mut extensions = dist.door.cargo("package --no-verify --exclude-lockfile");
    extensions.arg("--manifest-path").arg(format!("crates/{EXTENSIONS}/Cargo.toml"));
    mounts::exec(run, dist, dist.prepare(&mut extensions))?;
    for name in published() {
        dist.keep(&dist.build.join("package").join(format!("{name}-{}.crate", dist.version)))?;
    }
    Ok(())
}

/// Unpacks the packages beside each other into an empty folder that programs see as `path`. There,
/// each is found by the others in place of one that the registry has.
pub(super) fn unpack(run: &mut Run<'_>, dist: &Dist, folder: &Path, path: &str) -> Result<()> {
    let settings = folder.join(".cargo");
    fs::create_dir_all(&settings).with_context(|| format!("{} cannot be made", settings.display()))?;
    let mut patch = String::from("[patch.crates-io]\n");
    for name in published() {
        let versioned = format!("{name}-{}", dist.version);
        let file = dist.out.join(format!("{versioned}.crate"));
        run.exec(dist.door.command("tar", "-xzf").arg(&file).arg("-C").arg(folder))?;
        ensure!(folder.join(&versioned).join("LICENSE-MIT").is_file(), "{versioned} has no licence");
        patch += &format!("{name} = {{ path = \"{path}/{versioned}\" }}\n");
    }
    fs::write(settings.join("config.toml"), patch)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

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

    /// The lines `#[path = "…"]` of a folder's sources, each with its file.
    fn paths(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                paths(&path, found);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            let lines =
                text.lines().filter_map(|line| line.trim().strip_prefix("#[path = \"")?.strip_suffix("\"]"));
            found.extend(lines.map(|line| (path.clone(), line.to_owned())));
        }
    }

    /// A package has no files above its folder: what it shares with another is linked into it.
    #[test]
    fn modules_of_a_published_package_are_in_its_folder() {
        let mut count = 0;
        for name in published() {
            let package = root().join("crates").join(name);
            let mut found = Vec::new();
            paths(&package.join("src"), &mut found);
            for (file, path) in &found {
                let folder = file.parent().unwrap().strip_prefix(&package).unwrap();
                let up = path.split('/').filter(|part| *part == "..").count();
                assert!(
                    up <= folder.components().count() && !path.starts_with('/'),
                    "{}: {path}",
                    file.display()
                );
            }
            count += found.len();
        }
        assert!(count > 20, "{count} modules with a path were seen");
    }

    /// The package for extensions is published with the sources of the wheel that it compiles, and
    /// with no others.
    #[test]
    fn the_package_for_extensions_has_the_sources_that_it_compiles() {
        let package = root().join("crates").join(EXTENSIONS);
        let mut compiled = Vec::new();
        paths(&package.join("src"), &mut compiled);
        let compiled =
            compiled.iter().map(|(_, path)| path.trim_start_matches("..").trim_end_matches("/mod.rs"));
        let mut compiled: Vec<_> = compiled.filter(|path| path.starts_with("/wheel/")).collect();
        compiled.sort_unstable();
        let manifest = manifest(EXTENSIONS);
        let (_, included) = manifest.split_once("\ninclude = [\n").unwrap();
        let (included, _) = included.split_once("\n]").unwrap();
        let included = included.lines().map(|line| line.trim().trim_matches([',', '"']));
        let mut included: Vec<_> = included.filter(|path| path.starts_with("/wheel/")).collect();
        included.sort_unstable();
        assert!(compiled.len() > 20, "{compiled:?}");
        assert_eq!(included, compiled);
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
        let says = |file: &str, line: &str| {
            let text = fs::read_to_string(root().join(file)).unwrap();
            assert!(text.contains(line), "{file} has no `{line}`");
        };
        let number = version.trim_matches('"');
        says("bindings/ruby/lib/crossdock/version.rb", &format!("VERSION = {version}"));
        says("bindings/ruby/README.md", &format!("crossdock-{number}.gem"));
        says("bindings/ruby/README.md", &format!("crossdock-{number}-x86_64-linux.gem"));
        says("README.md", &format!("crossdock-{number}.gem"));
        says("crates/crossdock-capi/include/crossdock/base.h", &format!("XD_VERSION_STRING {version}"));
        says("crates/crossdock-capi/CMakeLists.txt", &format!("project(crossdock VERSION {number} "));
        says("crates/crossdock-capi/packaging/vcpkg/vcpkg.json", &format!("\"version\": {version}"));
        says("crates/crossdock-capi/packaging/conan/conanfile.py", &format!("version = {version}"));
    }

    /// The packages of this repository that a lock file lists have the version of the workspace.
    #[test]
    fn lock_files_name_the_version() {
        let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
        let version = workspace.lines().find_map(|line| line.strip_prefix("version = ")).unwrap();
        for folder in LOCKED {
            let lock = fs::read_to_string(root().join(folder).join("Cargo.lock")).unwrap();
            let entries = lock.split("[[package]]").filter(|entry| {
                let is_named = published().any(|name| entry.contains(&format!("\nname = \"{name}\"\n")));
                is_named && !entry.contains("\nsource = ")
            });
            let mut count = 0;
            for entry in entries {
                assert!(entry.contains(&format!("\nversion = {version}\n")), "{folder}/Cargo.lock: {entry}");
                count += 1;
            }
            assert!(count > 0, "{folder}/Cargo.lock names no package of this repository");
        }
    }

    /// The workspaces of the repository.
    const LOCKED: [&str; 5] =
        ["", "bench/channel", "bindings/python", "bindings/ruby/ext/crossdock", "crates/crossdock-pyo3"];
}
