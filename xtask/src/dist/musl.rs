//! The trial of the wheel for musl: a root whose only C library is musl, with a shell, CPython and
//! NumPy. Debian has musl and a compiler for it, but no CPython of it, which is built once, of its
//! sources.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::root::{Root, sources};
use super::trials::{FIRST_SESSION, example, install_for, names_no_path, prints};
use super::{Dist, empty};
use crate::run::Run;

/// What builds CPython.
const PACKAGES: &str = "gcc,libc6-dev,make,musl-tools,xz-utils";

/// Builds CPython with the modules that need no other library, in a Debian, with `out` as the root
/// that gets it. The compiler names Debian's folder for glibc, whose headers are not musl's.
const BUILD: &str = r#"
cat > /usr/local/bin/musl-cc <<'END'
#!/bin/sh
case "$*" in *print-multiarch*) exit;; esac
exec musl-gcc "$@"
END
chmod +x /usr/local/bin/musl-cc
tar -xf *.orig.tar.xz
cd Python-*
./configure --quiet --prefix=/python --without-ensurepip --disable-test-modules CC=musl-cc CFLAGS=-O1
cp Modules/Setup.stdlib Modules/Setup.local
make --silent -j"$(nproc)"
make --silent install DESTDIR=/trial/out
mkdir -p /trial/out/lib
cp -L /lib/ld-musl-x86_64.so.1 /trial/out/lib/
tar -cf /trial/python.tar -C /trial/out .
"#;

/// The README's program in Python. Of all wheels, pip chooses the one that fits.
pub(super) fn wheel(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let python = built(run, dist)?;
    let root = Root::busybox(run, dist)?;
    run.exec(dist.door.command("tar", "-xf").arg(python).arg("-C").arg(root.folder()))?;
    // For processes that CPython starts.
    fs::create_dir_all(root.folder().join("dev/shm"))?;
    let null = root.folder().join("dev/null");
    run.exec(dist.door.command("mknod", "--mode=666").arg(null).args(["c", "1", "3"]))?;

    let packages = root.new_folder("packages")?;
    install_for(run, dist, "musllinux_1_2_x86_64", &packages)?;
    fs::write(root.trial().join("program.py"), example(dist, "README.md", "python")?)?;
    let mut program = root.command(dist, "/python/bin/python3 program.py");
    prints(run, program.env("PYTHONPATH", "/trial/packages"), FIRST_SESSION)?;
    names_no_path(run, dist, &packages.join("crossdock"))
}

/// An archive of CPython for musl, and of musl's loader.
fn built(run: &mut Run<'_>, dist: &Dist) -> Result<PathBuf> {
    let built = dist.door.target.join("dist-roots/python-musl.tar");
    if !built.is_file() {
        let root = Root::debian(run, dist, PACKAGES)?;
        download(run, dist, &root.trial())?;
        run.exec(&mut root.command(dist, BUILD)).context("CPython is not built for musl")?;
        fs::copy(root.trial().join("python.tar"), &built)?;
    }
    Ok(built)
}

/// Downloads the sources of Debian's CPython, of which this machine has no list.
fn download(run: &mut Run<'_>, dist: &Dist, folder: &Path) -> Result<()> {
    let state = dist.door.target.join("dist-roots/apt");
    empty(&state)?;
    fs::create_dir_all(state.join("lists/partial"))?;
    let here = sources().context("this machine names no source of Debian's packages")?;
    let text = fs::read_to_string(here)?;
    let lines = text.lines().map(|line| match line.strip_prefix("deb ") {
        Some(rest) => format!("deb-src {rest}\n"),
        None => format!("{}\n", line.replace("Types: deb", "Types: deb-src")),
    });
    let list = state.join(here.file_name().context("a list has a name")?);
    fs::write(&list, lines.collect::<String>())?;
    for task in ["update", "source --download-only python3.11"] {
        let mut apt = dist.door.command("apt-get", "-o Dir::Etc::SourceParts=- -o");
        apt.arg(format!("Dir::Etc::SourceList={}", list.display()));
        apt.arg("-o").arg(format!("Dir::State::Lists={}", state.join("lists").display()));
        run.exec(apt.args(task.split(' ')).current_dir(folder))
            .context("the sources of CPython could not be had (does the package registry answer?)")?;
    }
    Ok(())
}
