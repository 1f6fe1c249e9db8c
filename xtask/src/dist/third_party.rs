//! The licences of the crates in a program, and of what zig links into it, for the archives with
//! programs: the list of the parts, and below it each text once, with the parts that have it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Dist, sbom};
use crate::provision::DIST;
use crate::run::Run;

/// The name of the file.
pub(super) const FILE: &str = "LICENSE-THIRD-PARTY";

/// How Cargo finds what is built.
pub(super) const WHEEL: &str = "--manifest-path bindings/python/Cargo.toml";
pub(super) const GEM: &str = "--manifest-path bindings/ruby/ext/crossdock/Cargo.toml";
pub(super) const COMMAND: &str = "--package crossdock-cli";
pub(super) const C_LIBRARY: &str = "--package crossdock-capi";

/// How the names of files with licences begin, in small letters.
const TEXTS: [&str; 5] = ["license", "licence", "copying", "copyright", "notice"];

/// Writes the licences of the crates in one program.
pub(super) fn write(run: &mut Run<'_>, dist: &Dist, program: &str, target: &str, file: &Path) -> Result<()> {
    write_all(run, dist, &[(program, target)], file)
}

/// Writes the licences of the crates in several programs, each with its platform.
pub(super) fn write_all(
    run: &mut Run<'_>,
    dist: &Dist,
    programs: &[(&str, &str)],
    file: &Path,
) -> Result<()> {
    let (mut crates, mut folders) = (sbom::Crates::new(), BTreeMap::new());
    for (program, target) in programs {
        crates.extend(sbom::linked(run, dist, program, target)?);
        folders.extend(self::folders(run, dist, program)?);
    }
    let mut linked = Vec::new();
    // The crates of this repository are not of the registry.
    for (key, licence) in &crates {
        if let Some(folder) = folders.get(key) {
            linked.push((format!("{} {}", key.0, key.1), licence.as_str(), texts(folder)?));
        }
    }
    ensure!(!linked.is_empty(), "Cargo names no crates in {programs:?}");
    for part in RUNTIMES.iter().filter(|part| part.is_linked(programs)) {
        let text = runtime_licence(run, dist, part.file)?;
        linked.push((part.name.to_owned(), part.licence, BTreeSet::from([text])));
    }
    fs::write(file, document(&linked)).with_context(|| format!("{} cannot be written", file.display()))
}

/// A part of zig that is linked into programs for some systems.
struct Runtime {
    name: &'static str,
    licence: &'static str,
    /// Its file in the folder of zig.
    file: &'static str,
    /// What the names of their platforms contain.
    systems: &'static [&'static str],
}

const RUNTIMES: [Runtime; 3] = [
    Runtime { name: "musl", licence: "MIT", file: "lib/libc/musl/COPYRIGHT", systems: &["-musl"] },
    Runtime {
        name: "mingw-w64",
        licence: "ZPL-2.1 and others",
        file: "lib/libc/mingw/COPYING",
        systems: &["-windows-gnu"],
    },
    Runtime {
        name: "the runtime of zig",
        licence: "MIT",
        file: "LICENSE",
        systems: &["-musl", "-windows-gnu"],
    },
];

impl Runtime {
    /// Whether one of the programs is for one of the systems.
    fn is_linked(&self, programs: &[(&str, &str)]) -> bool {
        programs.iter().any(|(_, target)| self.systems.iter().any(|system| target.contains(system)))
    }
}

/// The text of a licence in the folder of zig.
fn runtime_licence(run: &mut Run<'_>, dist: &Dist, file: &str) -> Result<String> {
    let mut python = dist.door.command(DIST.python(&dist.door), "-c");
    let zig = run.stdout(python.arg("import ziglang; print(ziglang.__path__[0])"))?;
    let path = Path::new(zig.trim()).join(file);
    let text = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(text.replace("\r\n", "\n").trim().to_owned())
}

/// The folders of the downloaded crates, by name and version.
fn folders(run: &mut Run<'_>, dist: &Dist, program: &str) -> Result<BTreeMap<(String, String), PathBuf>> {
    let mut metadata = dist.door.cargo("metadata --locked --format-version 1");
    // It lists whole workspaces.
    if program.starts_with("--manifest-path") {
        metadata.args(program.split(' '));
    }
    let metadata: Value = serde_json::from_str(&run.stdout(&mut metadata)?)?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let folder = |package: &Value| {
        package["source"].as_str()?;
        let text = |key: &str| Some(package[key].as_str()?.to_owned());
        let manifest = PathBuf::from(text("manifest_path")?);
        Some(((text("name")?, text("version")?), manifest.parent()?.to_owned()))
    };
    Ok(packages.iter().filter_map(folder).collect())
}

/// The licences in a crate's folder, in an order that does not depend on the file system.
fn texts(folder: &Path) -> Result<BTreeSet<String>> {
    let mut texts = BTreeSet::new();
    for entry in fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if path.is_file() && TEXTS.iter().any(|begin| name.starts_with(begin)) {
            let text = fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            let text = String::from_utf8_lossy(&text).replace("\r\n", "\n");
            texts.insert(text.trim().to_owned());
        }
    }
    Ok(texts)
}

/// The list and the texts of crates: name with version, licence, and texts.
fn document(crates: &[(String, &str, BTreeSet<String>)]) -> String {
    let mut document = String::from(
        "This program contains the standard library of Rust (MIT OR Apache-2.0), and these parts:\n\n",
    );
    let mut owners = BTreeMap::<&str, Vec<&str>>::new();
    for (name, licence, texts) in crates {
        let mark = if texts.is_empty() { ", without a text" } else { "" };
        document += &format!("{name}: {licence}{mark}\n");
        for text in texts {
            owners.entry(text).or_default().push(name);
        }
    }
    for (text, names) in owners {
        document += &format!("\n{}\n{}\n\n{text}\n", "=".repeat(80), names.join(", "));
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_several_crates_stands_once() {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        let document = document(&[
            ("a 1.0.0".into(), "MIT", texts(&["Copyright A"])),
            ("b 2.0.0".into(), "MIT OR Apache-2.0", texts(&["Copyright A", "Apache"])),
            ("c 3.0.0".into(), "Zlib", texts(&[])),
        ]);
        let line = "=".repeat(80);
        let expected = format!(
            "a 1.0.0: MIT\nb 2.0.0: MIT OR Apache-2.0\nc 3.0.0: Zlib, without a text\n\
             \n{line}\nb 2.0.0\n\nApache\n\n{line}\na 1.0.0, b 2.0.0\n\nCopyright A\n"
        );
        assert!(document.ends_with(&expected), "{document}");
    }

    #[test]
    fn licences_of_a_crate_are_found_by_their_names() {
        let folder = std::env::temp_dir().join(format!("crossdock-xtask-licence-{}", std::process::id()));
        fs::create_dir_all(folder.join("licenses")).unwrap();
        fs::write(folder.join("LICENSE-MIT"), "MIT\r\ntext\r\n").unwrap();
        fs::write(folder.join("Copying"), "other\n").unwrap();
        fs::write(folder.join("README.md"), "page\n").unwrap();
        let texts = texts(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(texts.iter().map(String::as_str).collect::<Vec<_>>(), ["MIT\ntext", "other"]);
    }
}
