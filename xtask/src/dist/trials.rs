//! The trials of what is installed as it is: each artefact, where nothing of this project is, and
//! used there.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::root::{COMPILERS, PLAIN, Root};
use super::{Dist, commands, mounts};
use crate::platforms;
use crate::provision::DIST;
use crate::run::Run;

/// NumPy for the programs of the README, as the tests pin it.
const PINS: &str = "tests/python/requirements.txt";

/// The photograph, in the folder of a trial.
pub(super) const PHOTO: &str = "data/rocket.npy";

/// What the command says of its shape.
const PHOTOGRAPH: &str = "  shape      427 x 640 x 3";

/// What the README's program in Python prints at its end.
pub(super) const FIRST_SESSION: &str = "[np.float64(3.0), np.float64(3.0)]";

/// The first program of a document in a language.
pub(super) fn example(dist: &Dist, document: &str, language: &str) -> Result<String> {
    let text = fs::read_to_string(dist.door.root.join(document))?;
    let (_, rest) = text
        .split_once(&format!("```{language}\n"))
        .with_context(|| format!("{document} has no program in {language}"))?;
    let (program, _) = rest.split_once("\n```").context("a block of code ends")?;
    Ok(format!("{program}\n"))
}

/// Runs a command whose standard output ends with exactly these lines.
pub(super) fn prints(run: &mut Run<'_>, command: &mut Command, expected: &str) -> Result<()> {
    let told = run.stdout(command)?;
    let (told_lines, expected_lines): (Vec<_>, Vec<_>) = (told.lines().collect(), expected.lines().collect());
    let is_end = !expected_lines.is_empty() && told_lines.ends_with(&expected_lines);
    ensure!(is_end, "`{expected}` was expected at the end, and the program prints: {told}");
    Ok(())
}

/// Runs a command with exactly this line in its standard output.
fn prints_line(run: &mut Run<'_>, command: &mut Command, line: &str) -> Result<()> {
    let told = run.stdout(command)?;
    ensure!(told.lines().any(|told| told == line), "the line `{line}` was expected in: {told}");
    Ok(())
}

/// No file in a folder contains a path of a build, which another machine does not have.
pub(super) fn names_no_path(run: &mut Run<'_>, dist: &Dist, folder: &Path) -> Result<()> {
    let mut grep = dist.door.command("grep", "--recursive --fixed-strings --files-with-matches --binary -e");
    grep.arg(&dist.door.target).args(mounts::PATHS.iter().flat_map(|path| ["-e", path]));
    let found = grep.arg("--").arg(folder).output()?;
    let files = String::from_utf8_lossy(&found.stdout);
    // 1: no line was selected (grep(1)).
    ensure!(found.status.code() == Some(1), "the path of the build is in: {files}");
    run.append(&format!("no path of the build in {}\n", folder.display()))
}

/// The README's program in Python, in a Debian with CPython 3.11. Of all wheels, pip chooses the
/// one that fits.
pub(super) fn wheel(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let root = Root::debian(run, dist, PLAIN)?;
    offer_wheels(run, dist, "manylinux_2_28_x86_64", &root.new_folder("packages")?)?;
    fs::write(root.trial().join("program.py"), example(dist, "README.md", "python")?)?;
    let install = "python3 -m venv /venv; \
                   /venv/bin/pip install --quiet --no-index --find-links packages crossdock numpy";
    run.exec(&mut root.command(dist, install))?;
    let program = "/venv/bin/python program.py";
    prints(run, &mut root.command(dist, program), FIRST_SESSION)?;
    names_no_path(run, dist, &root.folder().join("venv/lib/python3.11/site-packages/crossdock"))
}

/// NumPy in the version that the tests pin.
fn numpy(dist: &Dist) -> Result<String> {
    let pins = fs::read_to_string(dist.door.root.join(PINS))?;
    let numpy = pins.lines().find(|line| line.starts_with("numpy=="));
    Ok(numpy.context("NumPy is pinned")?.to_owned())
}

/// Puts all wheels that were made into a folder, and NumPy's for CPython 3.11 on a platform: pip is
/// to choose the ones that fit.
pub(super) fn offer_wheels(run: &mut Run<'_>, dist: &Dist, platform: &str, folder: &Path) -> Result<()> {
    offer_wheels_with(run, dist, &[platform], &numpy(dist)?, folder)
}

/// Likewise, with another version of NumPy, for the first of the platforms that it has a wheel for.
pub(super) fn offer_wheels_with(
    run: &mut Run<'_>,
    dist: &Dist,
    platforms: &[&str],
    numpy: &str,
    folder: &Path,
) -> Result<()> {
    for wheel in dist.names()?.iter().filter(|name| name.ends_with(".whl")) {
        fs::copy(dist.out.join(wheel), folder.join(wheel))?;
    }
    let options = "-m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
                   --python-version 3.11 --implementation cp --abi cp311 --dest";
    let mut download = dist.door.command(DIST.python(&dist.door), options);
    download.arg(folder).arg(numpy).args(platforms.iter().flat_map(|platform| ["--platform", platform]));
    run.exec(&mut download)
}

/// The gem with its extension, in a Debian with Ruby 3.1 and without Rust.
pub(super) fn built_gem(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let root = Root::debian(run, dist, PLAIN)?;
    let gem = dist.artefact(&format!("crossdock-{}-", dist.version), ".gem")?;
    fs::copy(gem, root.trial().join("crossdock.gem"))?;
    let (program, answer) = session(dist)?;
    fs::write(root.trial().join("program.rb"), program)?;
    let script = "gem install --quiet --local --no-document crossdock.gem; ruby program.rb";
    prints(run, &mut root.command(dist, script), &answer)?;
    names_no_path(run, dist, &root.folder().join("var/lib/gems"))
}

/// The lines that are typed in the first session of the gem's page, and its last answer.
pub(super) fn session(dist: &Dist) -> Result<(String, String)> {
    let session = example(dist, "bindings/ruby/README.md", "irb")?;
    let lines = session.lines().filter_map(|line| line.strip_prefix(">> "));
    let program =
        lines.map(|line| if line.starts_with("require") { line.into() } else { format!("p(({line}))") });
    let answer = session.lines().filter_map(|line| line.strip_prefix("=> ")).next_back();
    let answer = answer.context("the session has no answer")?.to_owned();
    Ok((program.collect::<Vec<String>>().join("\n"), answer))
}

/// The page's program in C, compiled and run in a Debian with the unpacked archive: with the shared
/// library and with the static one.
pub(super) fn c_library(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let archive = dist.artefact("crossdock-c-", ".tar.gz")?;
    let root = Root::debian(run, dist, COMPILERS)?;
    let folder = root.new_folder("c")?;
    run.exec(dist.door.command("tar", "--strip-components=1 -xzf").arg(archive).arg("-C").arg(&folder))?;
    for link in [LINK, LINK_STATIC, LINK_ALL_STATIC] {
        let mut program = compile(dist, &root, link)?;
        let program = program.env("PKG_CONFIG_PATH", "/trial/c/lib/pkgconfig");
        prints(run, program.env("LD_LIBRARY_PATH", "/trial/c/lib"), LARGEST)?;
    }
    names_no_path(run, dist, &folder)
}

const LINK: &str = "$(pkg-config --cflags --libs crossdock)";

/// As the page for C says it.
const LINK_STATIC: &str = "$(pkg-config --cflags crossdock) \
                           $(pkg-config --static --libs crossdock | sed s/-lcrossdock/-l:libcrossdock.a/)";

/// With the static libraries of the system, too.
const LINK_ALL_STATIC: &str = "-static $(pkg-config --cflags --static --libs crossdock)";

/// What the first program of that page prints: the largest number, of two layouts.
const LARGEST: &str = "4.5\n4.5";

/// A command that compiles the first program of the page for C in a root, and runs it.
fn compile(dist: &Dist, root: &Root, link: &str) -> Result<Command> {
    fs::write(root.trial().join("program.c"), example(dist, "docs/c.md", "c")?)?;
    Ok(root.command(dist, &format!("cc program.c -o program {link}; ./program")))
}

/// The Debian package, installed by Debian: the command, its page, and a program in C.
pub(super) fn debian(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let root = Root::debian(run, dist, COMPILERS)?;
    fs::copy(dist.artefact("crossdock_", "_amd64.deb")?, root.trial().join("crossdock.deb"))?;
    let install = "dpkg -i crossdock.deb; test -z \"$(dpkg --verify crossdock)\"";
    run.exec(&mut root.command(dist, install))?;
    prints(run, &mut compile(dist, &root, LINK)?, LARGEST)?;
    prints_line(run, &mut root.command(dist, "crossdock inspect data/rocket.npy"), PHOTOGRAPH)?;
    let title = "zcat -f /usr/share/man/man1/crossdock-lend.1 | grep -o '^.TH crossdock-lend 1'";
    prints(run, &mut root.command(dist, title), ".TH crossdock-lend 1")
}

/// The static command, in a root without any other file but the photograph, and in one with a
/// static shell.
pub(super) fn command(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let root = Root::empty(dist)?;
    commands::unpack(run, dist, commands::X86_64, &root.trial())?;
    prints_line(run, &mut root.program(dist, &["./crossdock", "inspect", PHOTO]), PHOTOGRAPH)?;

    let root = Root::busybox(run, dist)?;
    commands::unpack(run, dist, commands::X86_64, &root.trial())?;
    names_no_path(run, dist, &root.trial())?;
    // `diff` ends with 0 if the photograph came back as it was.
    let script = "./crossdock convert data/rocket.npy rocket.png; ./crossdock diff data/rocket.npy rocket.png; \
                  ./crossdock lend data/rocket.npy -- ./crossdock --version";
    prints(run, &mut root.command(dist, script), &format!("crossdock {}", dist.version))
}

/// The static command for ARM, in a root with qemu and the photograph. (The kernel starts no
/// programs of ARM, so `lend` is not tried.)
pub(super) fn command_aarch64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let root = Root::empty(dist)?;
    commands::unpack(run, dist, commands::AARCH64, &root.trial())?;
    names_no_path(run, dist, &root.trial())?;
    fs::copy(platforms::qemu(run, "aarch64")?, root.folder().join("qemu"))?;
    reads_and_converts(run, &|words| root.program(dist, &[&["/qemu", "./crossdock"], words].concat()))
}

/// A command, called with these words, reads the photograph, writes it in another format, and finds
/// no difference.
pub(super) fn reads_and_converts(run: &mut Run<'_>, command: &dyn Fn(&[&str]) -> Command) -> Result<()> {
    prints_line(run, &mut command(&["inspect", PHOTO]), PHOTOGRAPH)?;
    run.exec(&mut command(&["convert", PHOTO, "rocket.png"]))?;
    run.exec(&mut command(&["diff", PHOTO, "rocket.png"]))
}
