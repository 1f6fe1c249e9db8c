//! The command for Windows: it answers as the command for this system does, and writes the same
//! files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::lend;
use super::wine::{Wine, cc, windows_path, write};
use crate::platforms::Build;
use crate::run::Run;

/// Stands for the folder in which the commands run.
const FOLDER: &str = "{folder}";

/// The commands in their order, each with its exit status. Later ones read what earlier ones wrote.
const CALLS: &[(i32, &[&str])] = &[
    (0, &["--version"]),
    (0, &["inspect", "rocket.npy", "--stats"]),
    (0, &["inspect", "elevation.npy", "--stats", "--values=3"]),
    (0, &["inspect", "rocket.npy[::2, :, 0]", "--json", "--stats"]),
    (0, &["inspect", "rocket.npy", "elevation.npy"]),
    (0, &["cat", "elevation.npy[:3, :5]", "--csv"]),
    (0, &["--quiet", "convert", "rocket.npy", "a picture.png"]),
    (0, &["--quiet", "convert", "a picture.png", "picture.npy"]),
    (0, &["diff", "rocket.npy", "picture.npy"]),
    (1, &["diff", "rocket.npy", "rocket.npy[::2]"]),
    (0, &["--quiet", "convert", "elevation.npy", "hills.arrow"]),
    (0, &["inspect", "hills.arrow", "--stats", "--values"]),
    (0, &["--quiet", "convert", "hills.arrow", "hills.npy"]),
    (0, &["diff", "elevation.npy", "hills.npy"]),
    (0, &["--quiet", "convert", "elevation.npy", "hills.npz"]),
    (0, &["--quiet", "convert", "elevation.npy", "hills.safetensors", "--dtype", "float32"]),
    (0, &["inspect", "hills.safetensors", "--stats"]),
    (0, &["--quiet", "convert", "hills.safetensors", "hills.npz", "--force"]),
    (0, &["inspect", "hills.npz", "--verify"]),
    (0, &["--quiet", "convert", "{folder}/elevation.npy[::-1, 5:9]", "{folder}/slope.npy"]),
    (0, &["inspect", "slope.npy", "--values"]),
    // Refused: an existing file, a missing one, a damaged one, a missing folder, no argument.
    (1, &["convert", "rocket.npy", "hills.npy"]),
    (0, &["--quiet", "convert", "rocket.npy", "hills.npy", "--force"]),
    (1, &["inspect", "none.npy"]),
    (1, &["inspect", "damaged.npy"]),
    (1, &["convert", "damaged.npy", "damaged.png"]),
    (1, &["convert", "rocket.npy", "none/rocket.npy"]),
    (1, &["inspect", "rocket.npy[9999]"]),
    (2, &["inspect"]),
    (2, &["convert", "rocket.npy"]),
];

/// Builds the command, and compares it with that of this system. Returns how many calls were
/// compared.
pub(in crate::platforms) fn command(run: &mut Run<'_>, build: &Build) -> Result<usize> {
    let mut cargo = run.door.command("cargo-zigbuild", "build --locked -p crossdock-cli");
    build.prepare(run.door, &mut cargo)?;
    run.exec(&mut cargo)?;
    run.cargo("build --locked -p crossdock-cli")?;
    let wine = Wine::new(run)?;
    let (program, own) =
        (build.output(run.door).join("crossdock.exe"), run.door.target.join("debug/crossdock"));
    let compiler = cc(run.door, "-std=c11");
    let windows = Side::new(run, "windows", compiler)?;
    let compiler = run.door.command("cc", "-std=gnu11");
    let here = Side::new(run, "here", compiler)?;
    let calls = || CALLS.iter().chain(lend::CALLS);
    for (status, call) in calls() {
        let told = windows.answer(run, wine.command(run.door, &program), call)?;
        let expected = here.answer(run, run.door.command(&own, ""), call)?;
        ensure!(told.0 == Some(*status), "{call:?} ended with {:?} on Windows: {}", told.0, told.1);
        ensure!(told == expected, "{call:?} answered {told:?} on Windows, and {expected:?} here");
    }
    let (told, expected) = (windows.files()?, here.files()?);
    ensure!(told.keys().eq(expected.keys()), "{:?} on Windows, {:?} here", told.keys(), expected.keys());
    for (name, bytes) in &told {
        ensure!(expected[name] == *bytes, "{name} has other bytes on Windows");
    }
    let tour = ["tour", "--json"];
    let told = windows.answer(run, wine.command(run.door, &program), &tour)?;
    let expected = here.answer(run, run.door.command(&own, ""), &tour)?;
    compare_tours(&told.1, &expected.1)?;
    Ok(calls().count() + 1)
}

/// A folder with files, in which the commands of one system run.
struct Side {
    folder: PathBuf,
    /// The folder as the commands take it.
    name: String,
    /// The program that reads what is lent, likewise.
    borrower: String,
}

impl Side {
    fn new(run: &mut Run<'_>, name: &str, cc: Command) -> Result<Self> {
        let folder = run.door.target.join("platforms/trial").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("{} cannot be removed", folder.display()))?;
        }
        write(&folder.join("damaged.npy"), "no array")?;
        for file in ["rocket.npy", "elevation.npy"] {
            fs::copy(run.door.root.join("data").join(file), folder.join(file))
                .with_context(|| format!("{file} cannot be copied"))?;
        }
        let borrower = run.door.target.join("platforms/lend").join(name).with_extension("exe");
        lend::build(run, cc, &borrower)?;
        let shown = |path: &Path| match name {
            "windows" => windows_path(path),
            _ => path.display().to_string(),
        };
        Ok(Self { name: shown(&folder), borrower: shown(&borrower), folder })
    }

    /// The exit status and the output of a call, without what differs by name only.
    fn answer(
        &self,
        run: &mut Run<'_>,
        mut command: Command,
        call: &[&str],
    ) -> Result<(Option<i32>, String)> {
        let words = call.iter().map(|word| match *word {
            lend::BORROWER => self.borrower.clone(),
            _ => word.replace(FOLDER, &self.name),
        });
        command.args(words).current_dir(&self.folder).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        let (status, text) = run.answer(&mut command)?;
        Ok((status.code(), text.replace("crossdock.exe", "crossdock").replace("\r\n", "\n")))
    }

    fn files(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        let files = fs::read_dir(&self.folder)?.map(|entry| {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok((name, read(&path)?))
        });
        files.collect()
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("{} cannot be read", path.display()))
}

/// Every hand-over on Windows is one of this system, which has more, and saw the same.
fn compare_tours(told: &str, expected: &str) -> Result<()> {
    let read = |text: &str| serde_json::from_str::<Value>(text).with_context(|| format!("no tour: {text}"));
    let (told, expected) = (read(told)?, read(expected)?);
    ensure!(told["alive_after"] == 0, "allocations are alive after the tour: {told}");
    let rows = |tour: &Value| tour["handovers"].as_array().cloned().unwrap_or_default();
    let seen = ["view", "to", "dtype", "shape", "strides", "checksum", "bytes_copied"];
    let seen = |row: &Value| seen.map(|field| row[field].clone());
    let known: Vec<_> = rows(&expected).iter().map(seen).collect();
    let rows: Vec<_> = rows(&told).iter().map(seen).collect();
    // Four views, to three consumers in the program.
    ensure!(rows.len() >= 12, "{} hand-overs on Windows", rows.len());
    match rows.iter().find(|row| !known.contains(row)) {
        Some(row) => anyhow::bail!("on Windows {row:?} was seen, which was not seen here"),
        None => Ok(()),
    }
}
