//! The C and C++ compilers, and the library that they link.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::thread;

use crossdock_testkit::missing;

/// The folder of the package.
pub(crate) const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(PACKAGE).ancestors().nth(2).expect("the package lies two folders below the root").to_owned()
}

/// A language and its dialect.
#[derive(Clone, Copy)]
pub(crate) struct Language {
    compiler: &'static str,
    standard: &'static str,
}

pub(crate) const C99: Language = Language { compiler: "cc", standard: "c99" };
pub(crate) const C11: Language = Language { compiler: "cc", standard: "c11" };
pub(crate) const CXX11: Language = Language { compiler: "c++", standard: "c++11" };
pub(crate) const CXX17: Language = Language { compiler: "c++", standard: "c++17" };
pub(crate) const CXX20: Language = Language { compiler: "c++", standard: "c++20" };

pub(crate) const CXX23: Language = Language { compiler: "c++", standard: "c++23" };

impl Language {
    /// The compiler, with every warning an error; none where it is missing.
    pub(crate) fn compiler(self) -> Option<Command> {
        let program = env::var_os(if self.compiler == "cc" { "CC" } else { "CXX" });
        let program = program.unwrap_or_else(|| self.compiler.into());
        match Command::new(&program).arg("--version").output() {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {
                missing(&format!("the compiler `{}`", program.display()));
                return None;
            }
            Err(error) => panic!("{}: {error}", program.display()),
        }
        let mut command = Command::new(program);
        command.arg(format!("-std={}", self.standard)).args([
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pedantic",
            "-g",
        ]);
        Some(command)
    }
}

/// Where the headers and the library are.
struct Library {
    cflags: Vec<OsString>,
    libs: Vec<OsString>,
    folder: PathBuf,
}

/// The library under test, located once.
fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| match env::var_os("CROSSDOCK_PREFIX") {
        Some(prefix) => installed(Path::new(&prefix)),
        None => staged(),
    })
}

/// The flags that link the static library, and no shared one.
pub(crate) fn static_library() -> Vec<OsString> {
    let system = include_str!("../../system-libs.txt").lines().map(|name| format!("-l{name}").into());
    match env::var_os("CROSSDOCK_PREFIX") {
        // As the page says.
        Some(prefix) => {
            let mut command = Command::new("pkg-config");
            command.args(["--static", "--libs", "crossdock"]);
            command.env("PKG_CONFIG_PATH", Path::new(&prefix).join("lib/pkgconfig"));
            words(succeeded(&mut command).replace("-lcrossdock", "-l:libcrossdock.a").as_bytes())
        }
        None => [built().with_extension("a").into_os_string()].into_iter().chain(system).collect(),
    }
}

/// As `pkg-config` reports.
fn installed(prefix: &Path) -> Library {
    let folder = prefix.join("lib");
    let ask = |what: &str| {
        let mut command = Command::new("pkg-config");
        command.args([what, "crossdock"]).env("PKG_CONFIG_PATH", folder.join("pkgconfig"));
        let Output { status, stdout, stderr } = command.output().expect("pkg-config is there");
        assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
        words(&stdout)
    };
    Library { cflags: ask("--cflags"), libs: ask("--libs"), folder }
}

/// Splits a line into words like a shell: pkg-config puts a backslash before spaces, and before
/// each byte of a non-ASCII letter.
fn words(line: &[u8]) -> Vec<OsString> {
    let words = shlex::bytes::split(line).expect("pkg-config closes what it quotes");
    words.into_iter().map(OsString::from_vec).collect()
}

#[test]
fn a_folder_with_spaces_and_umlauts_is_one_word() {
    let line = b"-I/a\\ b\\ \\\xc3\\\xbc/include -L/c -lcrossdock \n";
    assert_eq!(words(line), ["-I/a b \u{fc}/include", "-L/c", "-lcrossdock"]);
}

/// The library of this build, under the names that it has once installed.
fn staged() -> Library {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("stage-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for links");
    let built = built();
    for name in ["libcrossdock.so", &soname(&built)] {
        let link = folder.join(name);
        let _ = fs::remove_file(&link);
        symlink(&built, &link).expect("a link to the library");
    }
    let package = Path::new(PACKAGE);
    Library {
        cflags: vec![flag("-I", &package.join("include"))],
        libs: vec![flag("-L", &folder), "-lcrossdock".into()],
        folder,
    }
}

/// A flag that contains a path, as one word.
fn flag(flag: &str, path: &Path) -> OsString {
    let mut word = OsString::from(flag);
    word.push(path);
    word
}

/// The shared library that Cargo built beside this test.
fn built() -> PathBuf {
    let this = env::current_exe().expect("a test has a file");
    let built = this.with_file_name("libcrossdock_capi.so");
    assert!(built.is_file(), "{} is missing", built.display());
    built
}

/// The shared library under test.
pub(crate) fn shared_library() -> PathBuf {
    library().folder.join("libcrossdock.so")
}

/// The soname of a library.
pub(crate) fn soname(library: &Path) -> String {
    let text = succeeded(Command::new("objdump").arg("-p").arg(library));
    let line = text.lines().find_map(|line| line.trim().strip_prefix("SONAME"));
    line.expect("the library has a name for the loader").trim().to_owned()
}

/// The output of a command that must succeed.
#[track_caller]
pub(crate) fn succeeded(command: &mut Command) -> String {
    let Output { status, stdout, stderr } =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?} ended with {status}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

/// A folder of this process in the target folder.
pub(crate) fn scratch_folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("border-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder of our own");
    folder
}

/// A file in it.
pub(crate) fn scratch(name: &str) -> PathBuf {
    scratch_folder().join(name)
}

/// Whether a text compiles; if not, the compiler's message. None where there is no compiler.
pub(crate) fn compiles(
    language: Language,
    name: &str,
    text: &str,
    flags: &[String],
) -> Option<Result<(), String>> {
    let ending = if language.compiler == "cc" { "c" } else { "cc" };
    let source = scratch(&format!("{name}.{ending}"));
    fs::write(&source, text).expect("a source of our own");
    let mut compile = language.compiler()?;
    compile.arg("-fsyntax-only").args(&library().cflags).args(flags).arg(&source);
    let output = compile.output().expect("the compiler runs");
    Some(if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    })
}

/// A shared library of this source and ours, in a folder of its own; none without the compiler.
pub(crate) fn linked_library(language: Language, source: &Path, name: &str) -> Option<PathBuf> {
    let Library { cflags, libs, folder } = library();
    let binary = scratch_folder().join(name);
    let mut compile = language.compiler()?;
    compile.args(cflags).args(["-shared", "-fPIC"]).arg("-o").arg(&binary).arg(source).args(libs);
    // Not `-Wl,-rpath,…`: a comma in the path would end the argument.
    compile.args(["-Xlinker", "-rpath", "-Xlinker"]).arg(folder);
    succeeded(&mut compile);
    Some(binary)
}

/// A program that contains the library.
pub(crate) fn static_program(source: &Path) -> Option<PathBuf> {
    let binary = scratch("static");
    let mut compile = C11.compiler()?;
    compile.args(&library().cflags).arg("-o").arg(&binary).arg(source).args(static_library());
    succeeded(&mut compile);
    Some(binary)
}

/// Builds a program and returns the command that runs it, under the requested instrument. None
/// where there is no compiler. `others` are flags for other libraries. With a folder in
/// `CROSSDOCK_PROGRAMS`, what was built there for another instrument is used.
pub(crate) fn program(language: Language, source: &Path, others: &[String]) -> Option<Command> {
    let instrument = env::var("CROSSDOCK_INSTRUMENT").unwrap_or_default();
    let built = env::var_os("CROSSDOCK_PROGRAMS").map_or_else(scratch_folder, PathBuf::from);
    let name = built_name(language, source, others, &instrument);
    let binary = built.join(&name);
    let mut compile = language.compiler()?;
    if !binary.exists() {
        fs::create_dir_all(&built).expect("a folder of our own");
        // Several tests may build the same program at once.
        let unfinished = scratch(&format!("{name}-{:?}", thread::current().id()));
        let Library { cflags, libs, folder } = library();
        if instrument == "address" {
            compile.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
        }
        compile.args(cflags).arg("-o").arg(&unfinished).arg(source).args(libs).args(others);
        // Not `-Wl,-rpath,…`: a comma in the path would end the argument.
        compile.args(["-Xlinker", "-rpath", "-Xlinker"]).arg(folder).args(["-pthread", "-ldl"]);
        succeeded(&mut compile);
        fs::rename(unfinished, &binary).expect("the same file system");
    }
    let mut command = match &*instrument {
        "" | "address" => Command::new(binary),
        "valgrind" => {
            let mut command = Command::new("valgrind");
            command.args(["-q", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite"]);
            command.args(["--errors-for-leak-kinds=definite", "--fair-sched=yes"]).arg(binary);
            command
        }
        other => panic!("CROSSDOCK_INSTRUMENT is {other:?}: it is `valgrind` or `address`"),
    };
    // Cargo's, which comes before the path in the program, and may have another build of the
    // library.
    command.env_remove("LD_LIBRARY_PATH");
    Some(command)
}

/// The file name of a program, by all that it is built from. Valgrind runs the one that is built
/// without an instrument.
fn built_name(language: Language, source: &Path, others: &[String], instrument: &str) -> String {
    let folder = source.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let name = source.file_name().expect("a source has a name").to_string_lossy().replace('.', "-");
    let mut flags = DefaultHasher::new();
    others.hash(&mut flags);
    let instrument = if instrument == "valgrind" { "" } else { instrument };
    format!("{folder}-{name}-{}-{:x}-{instrument}", language.standard, flags.finish())
}
