//! Holders in threads, and this program started again in another role.

use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdout, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossdock::element::DType;
use crossdock::exchange::protocol::hold::{DraftSet, Label, Limits, SealedSet, SetBuilder, SetHolder};

pub(crate) const ROLE: &str = "CROSSDOCK_TEST_ROLE";

/// Longer than any step takes: a program that needs more hangs.
pub(crate) const HANGS: Duration = Duration::from_secs(20);

/// A name that no other test has.
pub(crate) fn unique() -> Label {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("test-{}-{number}", std::process::id()).parse().unwrap()
}

/// A set of one array `w` of this many `int64`, all of them the version.
pub(crate) fn sample(label: &Label, len: usize) -> SealedSet {
    sample_draft(label, len).seal().unwrap()
}

/// As [`sample`], before it is sealed.
pub(crate) fn sample_draft(label: &Label, len: usize) -> DraftSet {
    let mut builder = SetBuilder::new();
    builder.array("w", DType::I64, &[len]).unwrap().alias("tied", "w").unwrap();
    let draft = builder.allocate(label).unwrap();
    draft.get("w").unwrap().fill(&(label.version().unwrap() as i64).into()).unwrap();
    draft
}

/// A holder in a thread of this process. Dropping it ends the thread.
pub(crate) struct Running {
    thread: Option<JoinHandle<()>>,
    stop: Option<UnixStream>,
}

impl Running {
    pub(crate) fn start(mut holder: SetHolder) -> Self {
        let (stop, stopped) = UnixStream::pair().unwrap();
        let thread = std::thread::spawn(move || holder.run(Some(stopped.as_fd())).unwrap());
        Self { thread: Some(thread), stop: Some(stop) }
    }

    /// Holds version 1 of the sample under a name.
    pub(crate) fn with_sample(name: &Label, limits: Limits) -> Self {
        let mut holder = SetHolder::new(limits).unwrap();
        holder.claim(name).unwrap();
        let label = holder.next(name).unwrap();
        holder.commit(sample(&label, 1000)).unwrap();
        Self::start(holder)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.thread.as_ref().unwrap().is_finished()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

/// Another version of a label.
pub(crate) fn at(name: &Label, version: u64) -> Label {
    format!("{}@{version}", name.name()).parse().unwrap()
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < HANGS, "it never came about that {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// This program in another role. It never outlives the test.
pub(crate) struct Program {
    pub(crate) child: Child,
    output: BufReader<ChildStdout>,
}

impl Program {
    pub(crate) fn start(role: &str, name: &Label) -> Self {
        let mut child = crossdock_testkit::this_program()
            .args(["--exact", "killed::role", "--nocapture", "--test-threads=1"])
            .env(ROLE, format!("{role} {name}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Waits until it has printed this line. Returns whether it did before it ended.
    pub(crate) fn says(&mut self, wanted: &str) -> bool {
        let mut line = String::new();
        loop {
            line.clear();
            if self.output.read_line(&mut line).unwrap() == 0 {
                return false;
            }
            // The test harness prints the name of the test on the same line.
            if line.trim_end().ends_with(wanted) {
                return true;
            }
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _gone_already = self.child.wait();
    }
}

/// The processes of this machine that have memory of this name.
pub(crate) fn holders_of_memory(name: &Label) -> Vec<String> {
    let wanted = format!("/memfd:crossdock hold {}@", name.name());
    let has = |process: &str| {
        let folder = std::path::Path::new("/proc").join(process);
        let fds = folder.join("fd").read_dir().into_iter().flatten().flatten();
        let open = fds.filter_map(|entry| entry.path().read_link().ok());
        let is_open = open.into_iter().any(|path| path.to_string_lossy().starts_with(&wanted));
        is_open || std::fs::read_to_string(folder.join("maps")).unwrap_or_default().contains(&wanted)
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.bytes().all(|digit| digit.is_ascii_digit())).filter(|name| has(name)).collect()
}

/// Runs a test in a process that has a folder of sockets of its own: no other program lists the
/// names there, which removes the sockets of killed holders. `name` is the path of the test.
#[track_caller]
pub(crate) fn in_own_folder(name: &str, test: impl FnOnce()) {
    const ALONE: &str = "CROSSDOCK_TEST_ALONE";
    if std::env::var_os(ALONE).is_some_and(|alone| alone == name) {
        return test();
    }
    let folder = std::env::temp_dir().join(format!("crossdock-alone-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let mut command = crossdock_testkit::this_program();
    command.args(["--exact", name, "--nocapture"]).env(ALONE, name).env("XDG_RUNTIME_DIR", &folder);
    let output = command.output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{}: {said}{complained}", output.status);
}

/// The path of the socket of a name.
pub(crate) fn socket(name: &Label) -> std::path::PathBuf {
    // SAFETY: `geteuid` takes nothing and cannot fail.
    let user = unsafe { libc::geteuid() };
    let folder = match std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty()) {
        Some(path) => std::path::PathBuf::from(path).join("crossdock"),
        None => format!("/tmp/crossdock-{user}").into(),
    };
    folder.join(format!("{}.sock", name.name()))
}
