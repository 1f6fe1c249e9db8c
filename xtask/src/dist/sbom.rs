//! The crates that are compiled into each program, as CycloneDX 1.6.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Dist, HOST};
use crate::run::Run;

/// The one that is no library.
const COMMAND: &str = "crossdock-cli";

/// What is built: its name, how Cargo finds it, and its lock file.
const PROGRAMS: &[(&str, &str, &str)] = &[
    (COMMAND, "--package crossdock-cli", "Cargo.lock"),
    ("crossdock-capi", "--package crossdock-capi", "Cargo.lock"),
    ("crossdock-python", "--manifest-path bindings/python/Cargo.toml", "bindings/python/Cargo.lock"),
    (
        "crossdock-ruby",
        "--manifest-path bindings/ruby/ext/crossdock/Cargo.toml",
        "bindings/ruby/ext/crossdock/Cargo.lock",
    ),
];

/// Cargo's tree has the features that each program is built with; its metadata has those of the
/// whole workspace.
const TREE: &str = "tree --locked --edges normal,no-proc-macro --prefix none";

pub(super) fn make(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    for &(name, package, lock) in PROGRAMS {
        let crates = linked(run, dist, package, HOST)?;
        let sums = sums(&fs::read_to_string(dist.door.root.join(lock))?);
        let document = document(name, &dist.version, &crates, &sums);
        let file = dist.out.join(format!("{name}-{}.cdx.json", dist.version));
        fs::write(&file, format!("{document:#}\n"))
            .with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(())
}

/// Name and version of each crate, with its licence.
pub(super) type Crates = BTreeMap<(String, String), String>;

/// The crates that are compiled into a program for a platform.
pub(super) fn linked(run: &mut Run<'_>, dist: &Dist, package: &str, target: &str) -> Result<Crates> {
    let mut tree = dist.door.cargo(&format!("{TREE} --target {target} {package} --format"));
    Ok(crates(&run.stdout(tree.arg("{p}\t{l}"))?))
}

/// The lines of Cargo's tree, `libc v0.2.1 (from elsewhere)`, a tab, and the licence, each once.
fn crates(tree: &str) -> Crates {
    let crates = tree.lines().filter_map(|line| {
        let (package, licence) = line.split_once('\t')?;
        let mut words = package.split(' ');
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        // A crate that the tree shows again has a mark behind its licence.
        let licence = licence.trim_end_matches(" (*)").replace('/', " OR ");
        Some(((name.to_owned(), version.to_owned()), licence))
    });
    crates.collect()
}

/// The checksums in a lock file, by name and version.
fn sums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |entry: &str, key: &str| {
        let line = entry.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        line.map(|text| text.trim_matches('"').to_owned())
    };
    let entries = lock.split("[[package]]").skip(1);
    let entry = |entry| Some(((value(entry, "name")?, value(entry, "version")?), value(entry, "checksum")?));
    entries.filter_map(entry).collect()
}

fn document(
    program: &str,
    version: &str,
    crates: &Crates,
    sums: &BTreeMap<(String, String), String>,
) -> Value {
    let components = crates.iter().filter(|((name, _), _)| name != program).map(|(key, licence)| {
        let (name, version) = key;
        let purl = format!("pkg:cargo/{name}@{version}");
        let mut component = json!({
            "type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
            "licenses": [{ "expression": licence }],
        });
        if let Some(sum) = sums.get(key) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        component
    });
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": {
            "type": if program == COMMAND { "application" } else { "library" }, "bom-ref": format!("pkg:cargo/{program}@{version}"),
            "name": program, "version": version,
            "licenses": [{ "expression": "MIT OR Apache-2.0" }],
        } },
        "components": components.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "crossdock-cli v0.1.0 (/a/b)\tMIT OR Apache-2.0\nlibc v0.2.180\tMIT/Apache-2.0\n\
                        crossdock v0.1.0 (/a)\tMIT OR Apache-2.0 (*)\nlibc v0.2.180\tMIT/Apache-2.0 (*)\n";

    #[test]
    fn each_crate_is_listed_once_with_its_licence_and_its_checksum() {
        let lock = "[[package]]\nname = \"libc\"\nversion = \"0.2.180\"\nchecksum = \"0a1b\"\n\n\
                    [[package]]\nname = \"crossdock\"\nversion = \"0.1.0\"\n";
        let document = document("crossdock-cli", "0.1.0", &crates(TREE), &sums(lock));
        let components = document["components"].as_array().unwrap();
        let names: Vec<_> = components.iter().map(|component| component["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["crossdock", "libc"]);
        assert_eq!(components[1]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(components[1]["hashes"][0]["content"], "0a1b");
        assert!(components[0].get("hashes").is_none());
    }
}
