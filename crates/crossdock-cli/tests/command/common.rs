//! Shared by the tests of the command: runs it, writes files, and finds the programs of other
//! languages.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crossdock_testkit::missing;

/// A folder that is removed when it is dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("crossdock-cli-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether a device exists; a missing device is a failure if it is required.
pub(crate) fn has_device(place: &str) -> bool {
    let opened = crossdock_opencl::register().and_then(|()| crossdock::device::get(place.parse().unwrap()));
    opened.inspect_err(|error| missing(&error.to_string())).is_ok()
}

/// The command, without colours.
pub(crate) fn crossdock<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossdock"));
    command.args(arguments).env_remove("CLICOLOR_FORCE").env_remove("NO_COLOR");
    command
}

/// Runs the command to its end.
pub(crate) fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    crossdock(arguments).output().unwrap()
}

/// Runs the command as a user without permission to write everything: as user 65534 if this process
/// is root.
pub(crate) fn as_nobody(folder: &Folder, arguments: &[&str]) -> Output {
    let mut command = if rustix::process::geteuid().is_root() {
        // Copied to a path that the other user can read.
        let program = folder.0.with_extension("crossdock");
        std::fs::copy(env!("CARGO_BIN_EXE_crossdock"), &program).unwrap();
        let mut command = Command::new(program);
        command.uid(65534).gid(65534);
        command
    } else {
        Command::new(env!("CARGO_BIN_EXE_crossdock"))
    };
    command.args(arguments);
    let output = loop {
        match command.output() {
            // If another test forked during the copy, its child has the copy open for writing until
            // it calls exec.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => break output.unwrap(),
        }
    };
    let _ = std::fs::remove_file(folder.0.with_extension("crossdock"));
    output
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The output of a successful command that wrote nothing to stderr.
pub(crate) fn answer(output: &Output) -> String {
    assert!(output.status.success(), "{}: {}", output.status, stderr(output));
    assert_eq!(stderr(output), "");
    stdout(output)
}

/// The sentence of a failure: nothing on stdout, no panic, this exit status.
#[track_caller]
pub(crate) fn refusal(output: &Output, status: i32) -> String {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(status), "{said}");
    assert_eq!(stdout(output), "", "{said}");
    assert!(said.starts_with("crossdock: ") && said.ends_with('\n') && said.lines().count() == 1, "{said:?}");
    assert!(!said.contains("panicked") && !said.contains("unwrap"), "{said}");
    assert!(!said.contains("(os error"), "{said}");
    said
}

pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name)
}

/// How many bytes of a file are in the page cache; `None`, with a message, if the system is too old
/// to tell.
pub(crate) fn cached_nbytes(path: &Path) -> Option<u64> {
    /// The system call `cachestat` of Linux 6.5, whose number is the same on all architectures.
    const CACHESTAT: libc::c_long = 451;
    let file = std::fs::File::open(path).unwrap();
    let (whole, mut counts) = ([0u64; 2], [0u64; 5]);
    let (fd, flags) = (file.as_raw_fd(), 0);
    // SAFETY: `cachestat` reads a range of two numbers and writes five numbers.
    let status = unsafe { libc::syscall(CACHESTAT, fd, whole.as_ptr(), counts.as_mut_ptr(), flags) };
    if status != 0 {
        missing("cachestat, a system call of Linux 6.5");
        return None;
    }
    Some(counts[0] * 4096)
}

/// How much the system reads at once where one page of a file is needed.
pub(crate) fn readahead_nbytes(path: &Path) -> u64 {
    let device = std::fs::metadata(path).unwrap().dev();
    let (major, minor) = (libc::major(device), libc::minor(device));
    let kib = std::fs::read_to_string(format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb"));
    kib.ok().and_then(|kib| kib.trim().parse::<u64>().ok()).unwrap_or(0) << 10
}

/// `FILE:EXPR`.
pub(crate) fn target(file: &Path, expr: &str) -> String {
    let file = file.to_str().unwrap();
    if expr.is_empty() { file.to_owned() } else { format!("{file}:{expr}") }
}

/// An `.npy` file of version 1.0, encoded by the format's specification.
pub(crate) fn npy(descr: &str, fortran: bool, shape: &str, elements: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    npy_with_header(&format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"), elements)
}

/// An `.npy` file with any header.
pub(crate) fn npy_with_header(header: &str, elements: &[u8]) -> Vec<u8> {
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&u16::try_from(length).unwrap().to_le_bytes());
    bytes.extend_from_slice(format!("{header:<width$}\n", width = length - 1).as_bytes());
    bytes.extend_from_slice(elements);
    bytes
}

/// A program of another language, by the environment variable or the path; `None`, with a message,
/// if it does not exist and is not required.
pub(crate) fn counterpart(variable: &str, program: &str, probe: &[&str]) -> Option<String> {
    let program = std::env::var(variable).unwrap_or_else(|_| program.to_owned());
    let found = Command::new(&program).args(probe).output().is_ok_and(|output| output.status.success());
    if found {
        return Some(program);
    }
    missing(&format!("{program} that runs with {probe:?}"));
    None
}

/// The system's Python, with only its standard library.
pub(crate) fn python() -> Option<String> {
    counterpart("CROSSDOCK_PLAIN_PYTHON", "python3", &["-c", "import mmap"])
}

/// A Python that has NumPy.
pub(crate) fn python_with_numpy() -> Option<String> {
    counterpart("CROSSDOCK_PYTHON", "python3", &["-c", "import numpy"])
}

/// A Ruby that has `IO::Buffer`: 3.1 or later.
pub(crate) fn ruby() -> Option<String> {
    counterpart("CROSSDOCK_RUBY", "ruby", &["-e", "IO::Buffer"])
}

pub(crate) fn cc() -> Option<String> {
    counterpart("CC", "cc", &["--version"])
}
