//! `cargo xtask dist`: everything that a release consists of, in the folder `dist` of the target
//! folder, with checksums, the parts of each program, and a manifest.
//!
//! Two runs on the same commit and in the same folder give the same bytes: times are the commit's,
//! paths are remapped, and archives are sorted. The suite `dist` installs what is made here.

mod archives;
mod crates;
mod natives;
mod root;
mod sbom;
pub(crate) mod suite;
mod trials;
mod wheels;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::platforms;
use crate::provision::{
    self, CC, CXX, DIST, DIST_VENV, LIBCLANG, MMDEBSTRAP, PKG_CONFIG, RAKE, RUBY, RUBY_HEADERS,
};
use crate::run::{Door, Run};

/// The processor and system that the programs are built for beside others.
const HOST: &str = "x86_64-unknown-linux-gnu";

/// The oldest glibc that the wheels and the C library run with.
const GLIBC: &str = "2.28";

/// One kind of artefact.
struct Kind {
    name: &'static str,
    what: &'static str,
    make: Step,
    /// Installs it where nothing of this project is, and uses it there.
    tried: Option<Step>,
}

type Step = fn(&mut Run<'_>, &Dist) -> Result<()>;

#[rustfmt::skip]
const KINDS: &[Kind] = &[
    Kind { name: "crates", what: "the packages of Rust", make: crates::make, tried: Some(trials::crates) },
    Kind { name: "sdist", what: "the sources of the wheel", make: wheels::sources, tried: Some(trials::sources) },
    Kind { name: "wheel", what: "the wheel for glibc 2.28 on x86-64", make: wheels::x86_64, tried: Some(trials::wheel) },
    Kind { name: "wheel-aarch64", what: "the wheel for glibc 2.28 on aarch64", make: wheels::aarch64, tried: None },
    Kind { name: "wheel-musl", what: "the wheel for musl on x86-64", make: wheels::musl, tried: None },
    Kind { name: "gem", what: "the gem that is built where it is installed", make: natives::gem, tried: Some(trials::gem) },
    Kind { name: "gem-native", what: "the gem with its extension, for the Ruby of this machine", make: natives::built_gem, tried: Some(trials::built_gem) },
    Kind { name: "command", what: "the command as one static program, with its pages and completions", make: natives::command, tried: Some(trials::command) },
    Kind { name: "c", what: "the library for C and C++, with headers, pkg-config and CMake", make: natives::c_library, tried: Some(trials::c_library) },
    Kind { name: "deb", what: "the Debian package of the command and the C library", make: natives::debian, tried: Some(trials::debian) },
    Kind { name: "sbom", what: "the crates in each of these programs, as CycloneDX", make: sbom::make, tried: None },
];

/// What all artefacts share.
struct Dist {
    /// The folder of the artefacts.
    out: PathBuf,
    /// The target folder of their builds, apart from all others.
    build: PathBuf,
    version: String,
    commit: String,
    /// The time of the commit, in seconds since 1970.
    epoch: String,
}

/// Makes the named kinds, or all of them; or installs and uses those that were made before.
pub(crate) fn run(names: &[String], is_trial: bool) -> Result<ExitCode> {
    let door = Door::new(false)?;
    let mut run = Run::new(&door, "dist")?;
    let dist = Dist::of(&mut run)?;
    if is_trial {
        try_all(&mut run, &dist, names)?;
    } else {
        make_into(&mut run, &dist, names)?;
        print!("{}", fs::read_to_string(dist.out.join(SUMS))?);
    }
    Ok(ExitCode::SUCCESS)
}

/// The named kinds, or all.
fn chosen(names: &[String]) -> Result<Vec<&'static Kind>> {
    if let Some(unknown) = names.iter().find(|name| !KINDS.iter().any(|kind| kind.name == **name)) {
        let known: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        bail!("there is no artefact `{unknown}`; the artefacts are: {}", known.join(", "));
    }
    let is_chosen = |kind: &&Kind| names.is_empty() || names.iter().any(|name| name == kind.name);
    Ok(KINDS.iter().filter(is_chosen).collect())
}

fn make_into(run: &mut Run<'_>, dist: &Dist, names: &[String]) -> Result<()> {
    let kinds = chosen(names)?;
    provision::ensure(run, &[CC, CXX, DIST_VENV, RUBY, RAKE, RUBY_HEADERS, LIBCLANG])?;
    fs::create_dir_all(&dist.out).with_context(|| format!("{} cannot be made", dist.out.display()))?;
    for kind in kinds {
        run.step(kind.name);
        (kind.make)(run, dist).with_context(|| format!("{} ({})", kind.name, kind.what))?;
    }
    dist.describe(run)
}

fn try_all(run: &mut Run<'_>, dist: &Dist, names: &[String]) -> Result<()> {
    let kinds = chosen(names)?;
    provision::ensure(run, &[CC, DIST_VENV, RUBY, RUBY_HEADERS, LIBCLANG, PKG_CONFIG, MMDEBSTRAP])?;
    for kind in kinds {
        let Some(tried) = kind.tried else { continue };
        run.step(&format!("installed: {}", kind.name));
        tried(run, dist).with_context(|| format!("installed: {} ({})", kind.name, kind.what))?;
    }
    Ok(())
}

impl Dist {
    fn of(run: &mut Run<'_>) -> Result<Self> {
        let mut git = |args: &str| {
            let text = run.stdout(&mut run.door.command("git", args))?;
            anyhow::Ok(text.trim().to_owned())
        };
        let commit = git("describe --always --abbrev=40 --match=never --dirty")?;
        let epoch = git("log -1 --format=%ct")?;
        let version = crates::version(run)?;
        let target = &run.door.target;
        Ok(Self { out: target.join("dist"), build: target.join("dist-build"), version, commit, epoch })
    }

    /// The same artefacts, in another folder and by other builds.
    fn elsewhere(&self, folder: PathBuf) -> Self {
        let Self { version, commit, epoch, .. } = self;
        let [version, commit, epoch] = [version, commit, epoch].map(String::clone);
        Self { out: folder.join("dist"), build: folder.join("build"), version, commit, epoch }
    }

    /// Gives a command what makes its output depend on the commit only, and the tools.
    fn prepare<'c>(&self, door: &Door, command: &'c mut Command) -> &'c mut Command {
        let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
        let places = [
            (Some(door.root.clone()), "/crossdock"),
            (Some(door.target.clone()), "/crossdock/target"),
            (Some(self.build.clone()), "/crossdock/build"),
            (cargo.or(home), "/cargo"),
        ];
        let places: Vec<_> = places.into_iter().filter_map(|(from, to)| Some((from?, to))).collect();
        let remap = |flag: &str| {
            let flags = places.iter().map(|(from, to)| format!("{flag}{}={to}", from.display()));
            flags.collect::<Vec<_>>().join(" ")
        };
        let tools = DIST.python(door).parent().map(Path::to_owned);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(tools.into_iter().chain(std::env::split_paths(&path)));
        command.env("SOURCE_DATE_EPOCH", &self.epoch).env("TZ", "UTC").env("LC_ALL", "C.UTF-8");
        command.env("RUSTFLAGS", remap("--remap-path-prefix=")).env("CFLAGS", remap("-ffile-prefix-map="));
        command.env("CARGO_TARGET_DIR", &self.build).env("CARGO_INCREMENTAL", "0");
        command.env("PATH", path.unwrap_or_default())
    }

    /// Has a command compile for a platform whose standard library is not installed: it is built of
    /// its sources by the compiler that comes with them.
    fn cross(&self, run: &mut Run<'_>, command: &mut Command) -> Result<()> {
        let compiler = platforms::compiler(run)?;
        command.env("RUSTC", compiler).env("RUSTC_BOOTSTRAP", "1");
        // That compiler has no startup objects for musl: zig brings its own.
        let flags = command.get_envs().find_map(|(name, value)| value.filter(|_| name == "RUSTFLAGS"));
        let flags = flags.unwrap_or_default().to_string_lossy().into_owned();
        command.env("RUSTFLAGS", format!("{flags} -Clink-self-contained=no"));
        Ok(())
    }

    /// A new, empty folder for files that become an archive.
    fn staging(&self, name: &str) -> Result<PathBuf> {
        let folder = self.build.join("staging").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("{} cannot be removed", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        Ok(folder)
    }

    /// Copies a file to the artefacts.
    fn keep(&self, file: &Path) -> Result<()> {
        let name = file.file_name().context("an artefact has a name")?;
        fs::copy(file, self.out.join(name)).with_context(|| format!("{} cannot be kept", file.display()))?;
        Ok(())
    }

    /// Removes artefacts of an earlier run, so that one with another name does not stay beside its
    /// successor.
    fn forget(&self, is_old: impl Fn(&str) -> bool) -> Result<()> {
        for name in self.names()?.iter().filter(|name| is_old(name)) {
            fs::remove_file(self.out.join(name)).with_context(|| format!("{name} cannot be removed"))?;
        }
        Ok(())
    }

    /// The names of the artefacts, sorted, without the files that describe them.
    fn names(&self) -> Result<Vec<String>> {
        let entries = fs::read_dir(&self.out)?.collect::<std::io::Result<Vec<_>>>()?;
        let names = entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<_> = names.filter(|name| !DESCRIBING.contains(&name.as_str())).collect();
        names.sort();
        Ok(names)
    }

    /// The artefact whose name begins and ends so.
    fn artefact(&self, begins: &str, ends: &str) -> Result<PathBuf> {
        let names = self.names()?;
        let fits = |name: &&String| name.starts_with(begins) && name.ends_with(ends);
        match names.iter().filter(fits).collect::<Vec<_>>()[..] {
            [name] => Ok(self.out.join(name)),
            [] => bail!("no artefact is named {begins}…{ends}: `cargo xtask dist` makes it"),
            ref several => bail!("several artefacts are named {begins}…{ends}: {several:?}"),
        }
    }

    /// Writes `SHA256SUMS` and `manifest.json`.
    fn describe(&self, run: &mut Run<'_>) -> Result<()> {
        let names = self.names()?;
        let mut sums = run.door.command("sha256sum", "--");
        let sums = run.stdout(sums.args(&names).current_dir(&self.out))?;
        let rustc = run.stdout(&mut run.door.command("rustc", "--version"))?;
        let described = names.iter().zip(sums.lines()).map(|(name, line)| {
            let size = fs::metadata(self.out.join(name))?.len();
            let sum = line.split(' ').next().context("sha256sum prints a sum on each line")?;
            Ok(json!({ "name": name, "bytes": size, "sha256": sum }))
        });
        let manifest = json!({
            "name": "crossdock",
            "version": self.version,
            "commit": self.commit,
            "source_date_epoch": self.epoch.parse::<u64>()?,
            "rustc": rustc.trim(),
            "files": described.collect::<Result<Vec<Value>>>()?,
        });
        fs::write(self.out.join(SUMS), sums)?;
        fs::write(self.out.join(MANIFEST), format!("{manifest:#}\n"))?;
        Ok(())
    }
}

const SUMS: &str = "SHA256SUMS";
const MANIFEST: &str = "manifest.json";
const DESCRIBING: [&str; 2] = [SUMS, MANIFEST];
