//! The trials of what is built where it is installed: the packages of Rust, and the sources of the
//! wheel and of the gem. Each is built in a Debian with a C compiler, which sees the toolchain and
//! the downloaded crates of this machine, and has no network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::root::{BUILDERS, COMPILERS, Root};
use super::trials::{example, prints, session};
use super::{Dist, crates};
use crate::provision::DIST;
use crate::run::Run;

/// Where a root has the toolchain, and the crates.
const TOOLCHAIN: &str = "/opt/rust";
const REGISTRY: &str = "/opt/cargo/registry";

/// The most bytes of a program that needs the library without its features.
const MOST_BYTES: u64 = 1 << 20;

/// Rust as this machine has it.
struct Rust {
    toolchain: PathBuf,
    registry: PathBuf,
}

impl Rust {
    fn of(run: &mut Run<'_>, dist: &Dist) -> Result<Self> {
        let toolchain = run.stdout(&mut dist.door.command("rustc", "--print sysroot"))?;
        let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
        let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home);
        let registry = cargo.context("Cargo's home is not known")?.join("registry");
        Ok(Self { toolchain: toolchain.trim().into(), registry })
    }

    /// A script in a root that can build. What is built here is used once, so it is built in less
    /// time.
    fn command(&self, dist: &Dist, root: &Root, script: &str) -> Command {
        let lent = [(self.toolchain.as_path(), TOOLCHAIN), (self.registry.as_path(), REGISTRY)];
        let mut command = root.command_with(dist, &lent, script);
        command.env("PATH", format!("{TOOLCHAIN}/bin:/usr/sbin:/usr/bin:/sbin:/bin"));
        command.env("CARGO_HOME", "/opt/cargo").env("CARGO_NET_OFFLINE", "true");
        command.env("CARGO_TARGET_DIR", "/trial/target").env("CARGO_INCREMENTAL", "0");
        command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_RELEASE_DEBUG", "0");
        command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0").env("CARGO_PROFILE_RELEASE_LTO", "off");
        command.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
        command
    }
}

/// Every package, built from its archive alone; and programs in new projects that add the packages
/// by path: the README's, and one that needs no feature.
pub(super) fn crates(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let root = Root::debian(run, dist, COMPILERS)?;
    crates::unpack(run, dist, &root.trial(), "/trial")?;
    let rust = Rust::of(run, dist)?;
    for name in crates::published() {
        let manifest = format!("{name}-{}/Cargo.toml", dist.version);
        let build = format!("cargo build --quiet --manifest-path {manifest}");
        run.exec(&mut rust.command(dist, &root, &build))
            .with_context(|| format!("{name} is not built from its package"))?;
    }
    let new = |name: &str, features: &str| {
        let library = format!("../crossdock-{}", dist.version);
        format!(
            "cargo init --quiet --vcs none --name {name} {name}; cd {name}; \
             cargo add --quiet --path {library} {features}"
        )
    };
    let add = new("project", "--features ndarray-0_17; cargo add --quiet ndarray@0.17");
    run.exec(&mut rust.command(dist, &root, &add))?;
    fs::write(root.trial().join("project/src/main.rs"), example(dist, "README.md", "rust")?)?;
    prints(run, &mut rust.command(dist, &root, "cd project; cargo run --quiet"), "7")?;

    run.exec(&mut rust.command(dist, &root, &new("plain", "")))?;
    fs::write(root.trial().join("plain/src/main.rs"), PLAIN_PROGRAM)?;
    let script = "cd plain; cargo build --release --quiet; cd ..; target/release/plain";
    let mut plain = rust.command(dist, &root, script);
    plain.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3").env("CARGO_PROFILE_RELEASE_LTO", "fat");
    plain.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1").env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    prints(run, &mut plain, "[427, 640, 3]")?;
    let nbytes = fs::metadata(root.trial().join("target/release/plain"))?.len();
    ensure!(nbytes <= MOST_BYTES, "a program without features has {nbytes} bytes, above {MOST_BYTES}");
    run.note(format!("a program that opens a file, without features: {} KiB", nbytes >> 10));
    Ok(())
}

/// A program that needs no feature of the library.
const PLAIN_PROGRAM: &str = r#"fn main() -> crossdock::Result<()> {
    println!("{:?}", crossdock::open("data/rocket.npy")?.shape());
    Ok(())
}
"#;

/// The sources of the wheel, built by pip with the tool that they name, and with the lock file that
/// is in them.
pub(super) fn sdist(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let root = Root::debian(run, dist, BUILDERS)?;
    let rust = Rust::of(run, dist)?;
    let packages = root.new_folder("packages")?;
    fs::copy(dist.artefact("crossdock-", &format!("{}.tar.gz", dist.version))?, packages.join("s.tar.gz"))?;
    let python = DIST.python(&dist.door);
    let options = "-m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
                   --python-version 3.11 --dest";
    let mut download = dist.door.command(python, options);
    run.exec(download.arg(&packages).arg(tool(dist)?))?;
    let install = "python3 -m venv /venv; \
                   /venv/bin/pip install --quiet --no-index --find-links packages packages/s.tar.gz";
    run.exec(&mut rust.command(dist, &root, install))?;
    let program = "/venv/bin/python -c 'import crossdock; print(crossdock.arange(3).nbytes)'";
    prints(run, &mut root.command(dist, program), "24")
}

/// What the sources of the wheel say that pip builds them with.
fn tool(dist: &Dist) -> Result<String> {
    let manifest = fs::read_to_string(dist.door.root.join("bindings/python/pyproject.toml"))?;
    let (_, needed) = manifest.split_once("requires = [\"").context("the sources name a tool")?;
    Ok(needed.split('"').next().unwrap_or_default().to_owned())
}

/// The first session of the gem's page, with the gem that is built where it is installed.
pub(super) fn gem(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let root = Root::debian(run, dist, BUILDERS)?;
    let rust = Rust::of(run, dist)?;
    let gem = dist.artefact("crossdock-", &format!("{}.gem", dist.version))?;
    fs::copy(gem, root.trial().join("crossdock.gem"))?;
    let (program, answer) = session(dist)?;
    fs::write(root.trial().join("program.rb"), program)?;
    let install = "gem install --quiet --local --no-document crossdock.gem";
    run.exec(&mut rust.command(dist, &root, install))?;
    prints(run, &mut root.command(dist, "ruby program.rb"), &answer)
}
