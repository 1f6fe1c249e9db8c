//! Each artefact, installed where nothing of this project is, and used there.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::root::Root;
use super::{Dist, crates};
use crate::provision::DIST;
use crate::run::{Door, Run};

/// NumPy for the programs of the README, as the tests pin it.
const PINS: &str = "tests/python/requirements.txt";

/// What the command says of the photograph.
const PHOTOGRAPH: &str = "427";

/// The README's program in Rust, in a new project that adds the packages by path; and every package
/// built from its archive alone.
pub(super) fn crates(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    crates::verify(run, dist)?;
    let folder = crates::unpack(run, dist)?;
    let project = folder.join("project");
    let package = format!("../crossdock-{}", dist.version);
    let mut cargo = |args: &str| {
        let mut cargo = run.door.cargo(args);
        cargo.current_dir(&project).env("CARGO_TARGET_DIR", dist.build.join("project"));
        run.output(&mut cargo)
    };
    fs::create_dir_all(&project)?;
    cargo("init --quiet --vcs none --name project")?;
    cargo(&format!("add --quiet --offline --path {package} --features ndarray-0_17"))?;
    cargo("add --quiet --offline ndarray@0.17")?;
    fs::write(project.join("src/main.rs"), example(run.door, "README.md", "rust")?)?;
    let mut cargo = run.door.cargo("run --quiet --offline");
    cargo.current_dir(&project).env("CARGO_TARGET_DIR", dist.build.join("project"));
    says(run, &mut cargo, "7")?;
    fs::remove_dir_all(&folder).with_context(|| format!("{} cannot be removed", folder.display()))
}

/// The first program of a document in a language.
fn example(door: &Door, document: &str, language: &str) -> Result<String> {
    let text = fs::read_to_string(door.root.join(document))?;
    let (_, rest) = text
        .split_once(&format!("```{language}\n"))
        .with_context(|| format!("{document} has no program in {language}"))?;
    let (program, _) = rest.split_once("\n```").context("a block of code ends")?;
    Ok(format!("{program}\n"))
}

/// Runs a command, which must say some words.
fn says(run: &mut Run<'_>, command: &mut Command, words: &str) -> Result<()> {
    let told = run.output(command)?;
    ensure!(told.contains(words), "`{words}` was expected, and the program says: {told}");
    Ok(())
}

/// The README's program in Python, in a Debian with CPython 3.11.
pub(super) fn wheel(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let root = Root::debian(run, dist)?;
    let wheel = dist.artefact("crossdock-", "manylinux_2_28_x86_64.whl")?;
    let wheel = wheel.file_name().context("a wheel has a name")?.to_string_lossy().into_owned();
    let packages = root.trial().join("packages");
    fs::create_dir_all(&packages)?;
    fs::copy(dist.out.join(&wheel), packages.join(&wheel))?;
    download_numpy(run, &packages)?;
    fs::write(root.trial().join("program.py"), example(run.door, "README.md", "python")?)?;
    let script = format!(
        "python3 -m venv /venv; /venv/bin/pip install --quiet --no-index --find-links packages packages/{wheel} numpy; \
         /venv/bin/python program.py"
    );
    says(run, &mut root.command(run, &script), "[np.float64(3.0), np.float64(3.0)]")
}

fn download_numpy(run: &mut Run<'_>, folder: &Path) -> Result<()> {
    let pins = fs::read_to_string(run.door.root.join(PINS))?;
    let numpy = pins.lines().find(|line| line.starts_with("numpy==")).context("NumPy is pinned")?;
    let python = DIST.python(run.door);
    let mut download = run.door.command(
        python,
        "-m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.11",
    );
    run.exec(download.arg(numpy).arg("--dest").arg(folder))
}

/// The sources of the wheel build without the repository, with the lock file in them.
pub(super) fn sources(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let sources = dist.artefact("crossdock-", &format!("{}.tar.gz", dist.version))?;
    let folder = dist.staging("sources")?;
    let python = DIST.python(run.door);
    let mut pip = run.door.command(
        &python,
        "-m pip --quiet --disable-pip-version-check install --no-index --no-deps --no-build-isolation",
    );
    pip.arg("--target").arg(folder.join("installed")).arg(&sources);
    dist.prepare(run.door, &mut pip);
    for_trial(&mut pip);
    run.exec(pip.current_dir(&folder))?;
    let mut program = run.door.command(python, "-c");
    program.arg("import crossdock; print(crossdock.arange(3).nbytes)");
    says(run, program.env("PYTHONPATH", folder.join("installed")).current_dir(&folder), "24")
}

/// What is built where it is installed is tried in a build that takes less time.
fn for_trial(command: &mut Command) {
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1").env("CARGO_PROFILE_RELEASE_LTO", "off");
    command.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
}

/// The first session of the gem's page, with the gem that is built where it is installed.
pub(super) fn gem(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let home = dist.staging("gems")?;
    let gem = dist.artefact("crossdock-", &format!("{}.gem", dist.version))?;
    let mut install = run.door.command("gem", "install --quiet --local --no-document");
    install.arg(gem).current_dir(&home).env("GEM_HOME", &home).env("GEM_PATH", &home);
    dist.prepare(run.door, &mut install);
    for_trial(&mut install);
    run.exec(&mut install)?;
    let program = session(run.door)?;
    fs::write(home.join("program.rb"), program)?;
    let mut ruby = run.door.command("ruby", "program.rb");
    ruby.current_dir(&home).env("GEM_HOME", &home).env("GEM_PATH", &home);
    says(run, &mut ruby, "[[3, 2, 1], [6, 5, 4]]")
}

/// The gem with its extension, in a Debian with Ruby 3.1 and without Rust.
pub(super) fn built_gem(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let root = Root::debian(run, dist)?;
    let gem = dist.artefact(&format!("crossdock-{}-", dist.version), ".gem")?;
    fs::copy(gem, root.trial().join("crossdock.gem"))?;
    fs::write(root.trial().join("program.rb"), session(run.door)?)?;
    let script = "gem install --quiet --local --no-document crossdock.gem; ruby program.rb";
    says(run, &mut root.command(run, script), "[[3, 2, 1], [6, 5, 4]]")
}

/// The lines that are typed in the first session of the gem's page.
fn session(door: &Door) -> Result<String> {
    let session = example(door, "bindings/ruby/README.md", "irb")?;
    let lines = session.lines().filter_map(|line| line.strip_prefix(">> "));
    let program =
        lines.map(|line| if line.starts_with("require") { line.into() } else { format!("p(({line}))") });
    Ok(program.collect::<Vec<String>>().join("\n"))
}

/// The README's program in C: compiled by pkg-config with the unpacked archive, and run with the
/// shared library beside Python.
pub(super) fn c_library(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let archive = dist.artefact("crossdock-c-", ".tar.gz")?;
    let folder = dist.staging("c-trial")?;
    run.exec(run.door.command("tar", "--strip-components=1 -xzf").arg(archive).arg("-C").arg(&folder))?;
    for kind in ["", "--static "] {
        let program = folder.join(format!("program{}", kind.trim()));
        compile(run, &folder, &folder.join("lib/pkgconfig"), kind, &program)?;
        let mut program = run.door.command(program, "");
        says(run, program.env("LD_LIBRARY_PATH", folder.join("lib")), "4.5")?;
    }
    Ok(())
}

/// Compiles the first program of the page for C.
fn compile(run: &mut Run<'_>, folder: &Path, packages: &Path, kind: &str, program: &Path) -> Result<()> {
    let source = folder.join("program.c");
    fs::write(&source, example(run.door, "docs/c.md", "c")?)?;
    let mut flags = run.door.command("pkg-config", &format!("{kind}--cflags --libs crossdock"));
    let flags = run.stdout(flags.env("PKG_CONFIG_PATH", packages))?;
    let flags = if kind.is_empty() { flags } else { flags.replace("-lcrossdock", "-l:libcrossdock.a") };
    let mut cc = run.door.command("cc", "");
    run.exec(cc.arg(source).arg("-o").arg(program).args(flags.split_whitespace()))
}

/// The Debian package, installed by Debian: the command, its page, and a program in C.
pub(super) fn debian(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let root = Root::debian(run, dist)?;
    fs::copy(dist.artefact("crossdock_", "_amd64.deb")?, root.trial().join("crossdock.deb"))?;
    let mut install = root.command(run, "dpkg -i crossdock.deb; test -z \"$(dpkg --verify crossdock)\"");
    run.exec(&mut install)?;
    let packages = root.folder().join("usr/lib/pkgconfig");
    compile(run, &root.trial(), &packages, "", &root.trial().join("program"))?;
    says(run, &mut root.command(run, "./program"), "4.5")?;
    says(run, &mut root.command(run, "crossdock inspect data/rocket.npy"), PHOTOGRAPH)?;
    says(run, &mut root.command(run, "zcat -f /usr/share/man/man1/crossdock.1"), "lend")
}

/// The static command, in a root without any other file but the photograph.
pub(super) fn command(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let archive = dist.artefact("crossdock-", "musl.tar.gz")?;
    let root = Root::empty(run, dist)?;
    run.exec(run.door.command("tar", "--strip-components=1 -xzf").arg(archive).arg("-C").arg(root.trial()))?;
    let chroot = || {
        let mut chroot = run.door.command("chroot", "");
        chroot.arg(root.folder()).args(["/trial/crossdock", "inspect", "/trial/data/rocket.npy"]);
        chroot
    };
    says(run, &mut chroot(), PHOTOGRAPH)?;
    let mut convert = run.door.command("chroot", "");
    convert.arg(root.folder()).args([
        "/trial/crossdock",
        "convert",
        "/trial/data/rocket.npy",
        "/trial/rocket.png",
    ]);
    run.exec(&mut convert)?;
    ensure!(root.trial().join("rocket.png").is_file(), "the command wrote no image");
    Ok(())
}
