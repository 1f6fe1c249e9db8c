//! `cargo xtask dist`: everything that a release consists of, in the folder `dist` of the target
//! folder, with checksums, the parts of each program, and a manifest.
//!
//! Everything is built from a copy of the commit, so that all artefacts are of the commit that the
//! manifest names. Two runs on the same commit give the same bytes: times are the commit's, builds
//! see the same paths in every checkout, and archives are sorted. The suite `dist` installs what is
//! made here.

mod archives;
mod builders;
mod commands;
mod cpython;
mod crates;
pub(crate) mod licences;
mod macos;
mod manifest;
mod mounts;
mod natives;
mod pythons;
mod root;
mod sbom;
mod source;
pub(crate) mod suite;
mod third_party;
mod trials;
mod wheel_tests;
mod wheels;
mod windows;
mod windows_python;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use self::source::Commit;
use crate::platforms;
use crate::provision::{
    self, CC, CXX, DIST, DIST_VENV, LIBCLANG, MAKE, MMDEBSTRAP, RAKE, RUBY, RUBY_HEADERS,
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

const KINDS: &[Kind] = &[
    Kind { name: "crates", what: "the packages of Rust", make: crates::make, tried: Some(builders::crates) },
    Kind {
        name: "sdist",
        what: "the sources of the wheel",
        make: wheels::sources,
        tried: Some(builders::sdist),
    },
    Kind {
        name: "wheel",
        what: "the wheel for glibc 2.28 on x86-64",
        make: wheels::x86_64,
        tried: Some(trials::wheel),
    },
    Kind {
        name: "wheel-aarch64",
        what: "the wheel for glibc 2.28 on aarch64",
        make: wheels::aarch64,
        tried: Some(pythons::aarch64),
    },
    Kind {
        name: "wheel-musl",
        what: "the wheel for musl on x86-64",
        make: wheels::musl,
        tried: Some(pythons::musl),
    },
    Kind {
        name: "wheel-musl-aarch64",
        what: "the wheel for musl on aarch64",
        make: wheels::musl_aarch64,
        tried: Some(pythons::musl_aarch64),
    },
    Kind {
        name: "wheel-macos-aarch64",
        what: "the wheel for macOS on aarch64",
        make: wheels::macos_aarch64,
        tried: Some(macos::aarch64),
    },
    Kind {
        name: "wheel-macos",
        what: "the wheel for macOS on x86-64",
        make: wheels::macos_x86_64,
        tried: Some(macos::x86_64),
    },
    Kind {
        name: "wheel-windows",
        what: "the wheel for Windows on x86-64",
        make: wheels::windows,
        tried: Some(windows::x86_64),
    },
    Kind {
        name: "gem",
        what: "the gem that is built where it is installed",
        make: natives::gem,
        tried: Some(builders::gem),
    },
    Kind {
        name: "gem-native",
        what: "the gem with its extension, for the Ruby of this machine",
        make: natives::built_gem,
        tried: Some(trials::built_gem),
    },
    Kind {
        name: "command",
        what: "the command as one static program, with its pages and completions",
        make: commands::x86_64,
        tried: Some(trials::command),
    },
    Kind {
        name: "command-aarch64",
        what: "the same for aarch64",
        make: commands::aarch64,
        tried: Some(trials::command_aarch64),
    },
    Kind {
        name: "command-windows",
        what: "the command for Windows on x86-64",
        make: commands::windows,
        tried: Some(windows::command),
    },
    Kind {
        name: "c",
        what: "the library for C and C++, with headers, pkg-config and CMake",
        make: natives::c_library,
        tried: Some(trials::c_library),
    },
    Kind {
        name: "deb",
        what: "the Debian package of the command and the C library",
        make: natives::debian,
        tried: Some(trials::debian),
    },
    Kind {
        name: "sbom",
        what: "the crates in each of these programs, as CycloneDX",
        make: sbom::make,
        tried: None,
    },
];

/// The platform of a wheel whose trial `docs/platforms.csv` records, and the state after it, where
/// the trial runs no tests. (The one of this machine is tested by other suites.)
const WHEELS: [(&str, &str, &str); 6] = [
    ("wheel-aarch64", "aarch64-unknown-linux-gnu", platforms::INSTALLED),
    ("wheel-musl", "x86_64-unknown-linux-musl", platforms::INSTALLED),
    ("wheel-musl-aarch64", "aarch64-unknown-linux-musl", platforms::INSTALLED),
    ("wheel-macos-aarch64", "aarch64-apple-darwin", platforms::BUILT),
    ("wheel-macos", "x86_64-apple-darwin", platforms::BUILT),
    ("wheel-windows", wheels::WINDOWS, platforms::INSTALLED),
];

/// Kinds that are each made of another, which is made before it.
const MADE_OF: [(&str, &str); 2] = [("command-aarch64", "command"), ("deb", "command")];

/// What all artefacts share.
struct Dist {
    /// Its root is the copy of the commit, in which everything is built. Only its long run makes
    /// artefacts for users: the other builds in less time, as the tests' builds.
    door: Door,
    /// The folder of the artefacts.
    out: PathBuf,
    /// The target folder of their builds, apart from all others.
    build: PathBuf,
    version: String,
    commit: Commit,
    /// Whether builds see the same paths in every checkout.
    has_mounts: bool,
    /// Kept while the folders are in use: another run waits.
    lock: Arc<File>,
}

/// What is done with the named kinds, or with all.
pub(crate) enum Task {
    Make,
    /// Made in other folders, and compared with those that were made before.
    MakeAgain,
    /// Those that were made before are installed and used.
    Try,
}

pub(crate) fn run(names: &[String], task: &Task, is_quick: bool) -> Result<ExitCode> {
    let door = Door::new(!is_quick)?;
    let mut run = Run::new(&door, "dist")?;
    let dist = Dist::of(&mut run)?;
    match task {
        Task::Try => try_all(&mut run, &dist, names)?,
        Task::MakeAgain => {
            suite::again(&mut run, &dist, names)?;
            println!("the same bytes in two runs");
        }
        Task::Make => {
            make_into(&mut run, &dist, names)?;
            print!("{}", fs::read_to_string(dist.out.join(manifest::SUMS))?);
            if dist.commit.is_checkout_changed {
                println!("not for a release: the checkout has changes that these artefacts lack");
            }
            if !dist.has_mounts {
                println!("built in this folder, on which some bytes depend: root builds at fixed paths");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The named kinds with those that they are made of, or all.
fn chosen(names: &[String]) -> Result<Vec<&'static Kind>> {
    if let Some(unknown) = names.iter().find(|name| !KINDS.iter().any(|kind| kind.name == **name)) {
        let known: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        bail!("there is no artefact `{unknown}`; the artefacts are: {}", known.join(", "));
    }
    let is_named = |wanted: &str| names.iter().any(|name| name == wanted);
    let is_part = |part: &str| MADE_OF.iter().any(|&(whole, of)| of == part && is_named(whole));
    let is_chosen = |kind: &&Kind| names.is_empty() || is_named(kind.name) || is_part(kind.name);
    Ok(KINDS.iter().filter(is_chosen).collect())
}

/// Makes the artefacts. Those of an earlier run stay only beside named ones, and only if they are
/// of the same commit and builds.
fn make_into(run: &mut Run<'_>, dist: &Dist, names: &[String]) -> Result<()> {
    let kinds = chosen(names)?;
    provision::ensure(run, &[CC, CXX, DIST_VENV, RUBY, RAKE, RUBY_HEADERS, LIBCLANG])?;
    if names.is_empty() || !manifest::fits(run, dist)? {
        empty(&dist.out)?;
    }
    manifest::remove(dist)?;
    for kind in kinds {
        run.step(kind.name);
        (kind.make)(run, dist).with_context(|| format!("{} ({})", kind.name, kind.what))?;
    }
    manifest::write(run, dist)
}

/// Waits until no other run uses the folders, and reserves them until the file is closed.
fn locked(path: &Path) -> Result<File> {
    let file = File::create(path).with_context(|| format!("{} cannot be made", path.display()))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            println!("dist       waits for another run, which has locked {}", path.display());
            file.lock()?;
        }
        result => result?,
    }
    Ok(file)
}

fn try_all(run: &mut Run<'_>, dist: &Dist, names: &[String]) -> Result<()> {
    let kinds = chosen(names)?;
    if !manifest::is_of_commit(dist) {
        let (folder, commit) = (dist.out.display(), &dist.commit.name);
        bail!("{folder} has no artefacts of this commit, {commit}: `cargo xtask dist` makes them");
    }
    provision::ensure(run, &[CC, DIST_VENV, MAKE, MMDEBSTRAP])?;
    for kind in kinds {
        let Some(tried) = kind.tried else { continue };
        run.step(&format!("installed: {}", kind.name));
        let passed = run.counts.passed;
        tried(run, dist).with_context(|| format!("installed: {} ({})", kind.name, kind.what))?;
        if let Some((_, target, state)) = WHEELS.iter().find(|(name, ..)| *name == kind.name) {
            let tests = run.counts.passed - passed;
            let state = if tests > 0 { platforms::runs(tests) } else { (*state).to_owned() };
            platforms::wheel_was_tried(&run.door.root, target, state)?;
        }
    }
    Ok(())
}

/// Makes a folder, or removes all that is in it.
fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("{} cannot be removed", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))
}

impl Dist {
    fn of(run: &mut Run<'_>) -> Result<Self> {
        let target = run.door.target.clone();
        let lock = Arc::new(locked(&target.join("dist.lock"))?);
        let commit = Commit::of(run)?;
        let root = target.join("dist-source");
        commit.check_out(run, &root)?;
        let door = Door { root, incremental: false, ..run.door.clone() };
        let version = crates::version(run, &door)?;
        let (out, build) = (target.join("dist"), target.join("dist-build"));
        let has_mounts = mounts::can_be_had(&door);
        Ok(Self { door, out, build, version, commit, has_mounts, lock })
    }

    /// The same artefacts, in another folder and by other builds.
    fn elsewhere(&self, folder: &Path) -> Self {
        let Self { door, version, commit, has_mounts, lock, .. } = self;
        Self {
            door: door.clone(),
            out: folder.join("dist"),
            build: folder.join("build"),
            version: version.clone(),
            commit: commit.clone(),
            has_mounts: *has_mounts,
            lock: Arc::clone(lock),
        }
    }

    /// Gives a command what makes its output depend on the commit only, and the tools.
    fn prepare<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        self.prepare_with(command, &[])
    }

    /// Likewise, with more flags for the compiler.
    fn prepare_with<'c>(&self, command: &'c mut Command, flags: &[&str]) -> &'c mut Command {
        let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
        // Of two that fit, the compilers take the later one.
        let places = [
            (Some(self.door.target.clone()), "/crossdock/target"),
            (Some(self.build.clone()), "/crossdock/build"),
            (Some(self.door.root.clone()), "/crossdock"),
            (cargo.or(home), "/cargo"),
        ];
        let places: Vec<_> = places.into_iter().filter_map(|(from, to)| Some((from?, to))).collect();
        let remap = |flag: &str| -> Vec<String> {
            places.iter().map(|(from, to)| format!("{flag}{}={to}", from.display())).collect()
        };
        let quoted = |flag: String| format!("'{}'", flag.replace('\'', r"'\''"));
        let mut rust = remap("--remap-path-prefix=");
        rust.extend(flags.iter().map(ToString::to_string));
        let c: Vec<_> = remap("-ffile-prefix-map=").into_iter().map(quoted).collect();

        let tools = DIST.python(&self.door).parent().map(Path::to_owned);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(tools.into_iter().chain(std::env::split_paths(&path)));
        command.env("SOURCE_DATE_EPOCH", &self.commit.epoch).env("TZ", "UTC").env("LC_ALL", "C.UTF-8");
        // Lists in which a flag may contain spaces, as folders do.
        command.env_remove("RUSTFLAGS").env("CARGO_ENCODED_RUSTFLAGS", rust.join("\x1f"));
        command.env("CC_SHELL_ESCAPED_FLAGS", "1").env("CFLAGS", c.join(" "));
        command.env("CARGO_TARGET_DIR", &self.build).env("CARGO_INCREMENTAL", "0");
        self.door.build_for_tests(command);
        if !self.door.long {
            command.env("CARGO_PROFILE_DIST_OPT_LEVEL", "0").env("CARGO_PROFILE_DIST_LTO", "off");
        }
        command.env("PATH", path.unwrap_or_default())
    }

    /// Has a command compile for a platform whose standard library is not installed: it is built of
    /// its sources by the compiler that comes with them.
    fn prepare_cross(
        &self,
        run: &mut Run<'_>,
        command: &mut Command,
        target: &str,
        flags: &[&str],
    ) -> Result<()> {
        let compiler = platforms::compiler(run)?;
        command.env("RUSTC", compiler).env("RUSTC_BOOTSTRAP", "1");
        // That compiler has no startup objects for musl: zig brings its own. For glibc no compiler
        // has any, and the flag is refused.
        let startup: &[&str] = if target.ends_with("-musl") { &["-Clink-self-contained=no"] } else { &[] };
        self.prepare_with(command, &[startup, flags].concat());
        if target.ends_with("-windows-gnu") {
            // The compiler starts a program of mingw that makes import libraries.
            let path = command.get_envs().find_map(|(name, value)| value.filter(|_| name == "PATH"));
            let mut folders = std::env::split_paths(path.unwrap_or_default()).collect::<Vec<_>>();
            folders.push(platforms::windows::tools(run)?);
            command.env("PATH", std::env::join_paths(folders)?);
        }
        Ok(())
    }

    /// A new, empty folder for files that become an archive.
    fn staging(&self, name: &str) -> Result<PathBuf> {
        let folder = self.build.join("staging").join(name);
        empty(&folder)?;
        Ok(folder)
    }

    /// Copies a file to the artefacts.
    fn keep(&self, file: &Path) -> Result<()> {
        let name = file.file_name().context("an artefact has a name")?;
        fs::copy(file, self.out.join(name)).with_context(|| format!("{} cannot be kept", file.display()))?;
        Ok(())
    }

    /// The names of the artefacts, sorted, without the files that describe them.
    fn names(&self) -> Result<Vec<String>> {
        let entries = fs::read_dir(&self.out)?.collect::<std::io::Result<Vec<_>>>()?;
        let names = entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<_> = names.filter(|name| !manifest::NAMES.contains(&name.as_str())).collect();
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_at_a_time_uses_the_folders() {
        let path = std::env::temp_dir().join(format!("crossdock-xtask-lock-{}", std::process::id()));
        let first = locked(&path).unwrap();
        let other = File::open(&path).unwrap();
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        drop(first);
        other.try_lock().unwrap();
        drop(other);
        locked(&path).unwrap();
    }

    #[test]
    fn what_an_artefact_is_made_of_is_made_before_it() {
        let names = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(ToString::to_string).collect();
            chosen(&names).map(|kinds| kinds.iter().map(|kind| kind.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["deb"]).unwrap(), ["command", "deb"]);
        assert_eq!(names(&["command-aarch64"]).unwrap(), ["command", "command-aarch64"]);
        assert_eq!(names(&["c", "sdist"]).unwrap(), ["sdist", "c"]);
        assert_eq!(names(&[]).unwrap().len(), KINDS.len());
        assert!(names(&["whel"]).unwrap_err().to_string().contains("`whel`"));
    }
}
