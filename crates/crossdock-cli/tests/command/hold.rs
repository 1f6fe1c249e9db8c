//! Sets that one command holds for others: `hold`, `connect`, `who`, `ls` and `drop`.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crossdock::Array;
use crossdock::buffer::Buffer;
use crossdock::exchange::files::arrow_ipc::IpcOptions;
use crossdock::exchange::protocol::channel::{Channel, ChannelOptions};
use crossdock::table::{Batches, Checks, Column, ColumnParts, ColumnType, RecordBatch};
use crossdock_testkit::{held, not_run};

use crate::common::{Folder, answer, crossdock, data, python, refusal, stderr, stdout};

/// The command with sockets in a folder of the test's own.
fn command(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = crossdock(arguments);
    command.env("XDG_RUNTIME_DIR", folder.path("")).env_remove("CROSSDOCK_SET");
    command
}

fn run(folder: &Folder, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

/// A command that runs on. It never outlives the test.
pub(crate) struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    pub(crate) fn start(folder: &Folder, arguments: &[&str]) -> Self {
        let mut command = command(folder, arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }

    /// The exit status, and what was said on standard error.
    #[track_caller]
    pub(crate) fn end(&mut self) -> (Option<i32>, String) {
        let start = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(20), "the command does not end");
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _gone_already = self.child.wait();
    }
}

fn photo() -> String {
    data("rocket.npy").to_str().unwrap().to_owned()
}

fn sockets(folder: &Folder) -> usize {
    let entries = std::fs::read_dir(folder.path("crossdock")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "sock")).count()
}

/// Waits until a program that `connect` started reads the set.
fn until_read(folder: &Folder, name: &str, readers: u64) {
    let start = Instant::now();
    let wanted = format!("\"readers\": {readers}");
    while !answer(&run(folder, &["ls", "--json"])).contains(&wanted) {
        assert!(start.elapsed() < Duration::from_secs(20), "{name} has no {readers} readers");
    }
}

/// Waits until a command prints a text.
fn until_listed(folder: &Folder, arguments: &[&str], wanted: &str) {
    let start = Instant::now();
    while !answer(&run(folder, arguments)).contains(wanted) {
        assert!(start.elapsed() < Duration::from_secs(20), "{arguments:?} does not list {wanted}");
    }
}

#[test]
fn a_file_is_held_listed_read_and_dropped() {
    let folder = Folder::new("hold");
    let mut holder = Running::start(&folder, &["hold", &photo(), "--name", "listed"]);
    let line = holder.line();
    assert!(line.starts_with("holding listed@1: 1 array of ") && line.contains("rocket.npy"), "{line}");

    let listed = answer(&run(&folder, &["ls"]));
    assert!(listed.contains("listed@1") && listed.lines().count() == 2, "{listed}");
    let (pid, who) = (holder.child.id().to_string(), answer(&run(&folder, &["who", "listed"])));
    assert!(who.contains(&pid) && who.contains("holder") && who.contains("crossdock"), "{who}");
    let set = answer(&run(&folder, &["connect", "listed", "--", "sh", "-c", "echo $CROSSDOCK_SET"]));
    assert_eq!(set, "listed@1\n");
    assert_eq!(run(&folder, &["connect", "listed@1", "--", "sh", "-c", "exit 7"]).status.code(), Some(7));

    let mut reader = Running::start(&folder, &["connect", "listed", "--", "sleep", "60"]);
    until_read(&folder, "listed", 1);
    let who = answer(&run(&folder, &["who", "listed", "--json"]));
    assert!(who.contains(&format!("\"pid\": {}", reader.child.id())) && who.contains("reader"), "{who}");
    assert_eq!(answer(&run(&folder, &["drop", "listed"])), "");
    assert_eq!(holder.end(), (Some(0), String::new()));
    assert_eq!(sockets(&folder), 0);
    // The reader keeps what it has.
    assert!(held::holds(&reader.child.id().to_string(), "crossdock hold listed@1 region 0") > 0);
    reader.signal(rustix::process::Signal::TERM);
    assert_eq!(reader.end().0, Some(143));
    let gone = refusal(&run(&folder, &["connect", "listed", "--", "true"]), 1);
    assert!(gone.contains("crossdock hold FILE --name listed"), "{gone}");
    let none = run(&folder, &["ls"]);
    assert!(none.status.success() && stdout(&none).is_empty() && stderr(&none).contains("nothing is held"));
}

#[test]
fn arrays_that_cannot_be_opened_are_skipped_on_request() {
    let folder = Folder::new("hold-refused");
    // A checkpoint of which one tensor is conjugated.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/torch/protocol_5");
    let file = folder.path("model.pt");
    std::fs::copy(path, &file).unwrap();
    let file = file.to_str().unwrap();
    for map in [&[][..], &["--map"]] {
        let arguments = [&["hold", file, "--name", "m"][..], map].concat();
        let said = refusal(&run(&folder, &arguments), 1);
        assert!(
            said.contains("\"conj\"") && said.contains("use --skip-refused to hold the other arrays"),
            "{said}"
        );
        let mut holder = Running::start(&folder, &[&arguments[..], &["--skip-refused"]].concat());
        let line = holder.line();
        assert!(line.starts_with("holding m@1: 2 arrays of "), "{line}");
        holder.signal(rustix::process::Signal::TERM);
        let (status, said) = holder.end();
        assert_eq!(status, Some(0));
        assert!(said.contains("not held from ") && said.contains("it is conjugated"), "{said}");
    }
    let said = refusal(&run(&folder, &["hold", "--name", "m", "--skip-refused"]), 2);
    assert!(said.contains("FILE"), "{said}");
}

#[test]
fn signals_end_the_holder_in_good_order() {
    use rustix::process::Signal;
    let folder = Folder::new("hold-signals");
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut holder = Running::start(&folder, &["hold", &photo()]);
        assert!(holder.line().starts_with("holding rocket@1"));
        assert_eq!(sockets(&folder), 1);
        holder.signal(signal);
        assert_eq!(holder.end(), (Some(0), String::new()));
        assert_eq!(sockets(&folder), 0);
    }
}

#[test]
fn after_a_kill_the_set_is_found_in_its_readers() {
    let folder = Folder::new("hold-killed");
    let mut holder = Running::start(&folder, &["hold", &photo(), "--name", "k"]);
    holder.line();
    let reader = Running::start(&folder, &["connect", "k", "--", "sleep", "60"]);
    until_read(&folder, "k", 1);
    holder.child.kill().unwrap();
    holder.child.wait().unwrap();
    let dead = refusal(&run(&folder, &["connect", "k", "--", "true"]), 1);
    assert!(dead.contains("was killed") && dead.contains("crossdock hold --name k"), "{dead}");
    assert_eq!(sockets(&folder), 1);

    let mut next = Running::start(&folder, &["hold", "--name", "k"]);
    assert_eq!(next.line(), "holding k@1\n");
    assert_eq!(answer(&run(&folder, &["connect", "k", "--", "sh", "-c", "echo $CROSSDOCK_SET"])), "k@1\n");
    next.child.kill().unwrap();
    next.child.wait().unwrap();
    // Without a new holder, `ls` removes the socket.
    assert!(run(&folder, &["ls"]).status.success());
    assert_eq!(sockets(&folder), 0);
    drop(reader);
}

#[test]
fn a_new_version_replaces_the_old_one_without_a_gap() {
    let folder = Folder::new("hold-replace");
    let mut former = Running::start(&folder, &["hold", &photo(), "--name", "r"]);
    former.line();
    let reader = Running::start(&folder, &["connect", "r", "--", "sleep", "60"]);
    until_read(&folder, "r", 1);
    let taken = refusal(&run(&folder, &["hold", &photo(), "--name", "r"]), 1);
    assert!(taken.contains(&format!("process {} holds r", former.child.id())), "{taken}");

    let mut next = Running::start(&folder, &["hold", &photo(), "--name", "r", "--replace"]);
    assert!(next.line().starts_with("holding r@2: 1 array of "));
    assert_eq!(former.end(), (Some(0), String::new()));
    let listed = answer(&run(&folder, &["ls"]));
    assert!(listed.contains("r@1") && listed.contains("r@2"), "{listed}");
    drop(reader);
    until_read(&folder, "r", 0);
    assert!(!answer(&run(&folder, &["ls"])).contains("r@1"));
    assert!(refusal(&run(&folder, &["drop", "r@1"]), 1).contains("r@2"));
}

/// The bytes of a process that are in memory.
fn resident(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

#[test]
fn a_mapped_file_is_held_without_a_copy_and_named_as_mapped() {
    const NBYTES: usize = 1 << 30;
    let folder = Folder::new("hold-map");
    // A file without blocks: its elements are zeros.
    let dict = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({NBYTES},), }}");
    let head = [&b"\x93NUMPY\x01\0"[..], &118u16.to_le_bytes(), format!("{dict:<117}\n").as_bytes()].concat();
    let path = folder.path("large.npy");
    std::fs::write(&path, &head).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len((128 + NBYTES) as u64).unwrap();
    let mut holder = Running::start(&folder, &["hold", path.to_str().unwrap(), "--map"]);
    let line = holder.line();
    assert!(
        line.starts_with("holding large@1: 1 array of ") && line.ends_with(", 1.00 GiB, mapped\n"),
        "{line}"
    );
    assert!(resident(holder.child.id()) < NBYTES / 8, "{}", resident(holder.child.id()));
    assert!(answer(&run(&folder, &["ls"])).contains("mapped file"));
    assert!(answer(&run(&folder, &["ls", "--json"])).contains("\"mapped\": true"));
    assert!(answer(&run(&folder, &["who", "large"])).contains("mapped file"));

    // After a kill, the file is found in a reader.
    let reader = Running::start(&folder, &["connect", "large", "--", "sleep", "60"]);
    until_read(&folder, "large", 1);
    holder.child.kill().unwrap();
    holder.child.wait().unwrap();
    let mut next = Running::start(&folder, &["hold", "--name", "large"]);
    assert_eq!(next.line(), "holding large@1\n");
    assert!(answer(&run(&folder, &["ls"])).contains("mapped file"));
    drop(reader);
    assert!(refusal(&run(&folder, &["hold", "--map", "--name", "m"]), 2).contains("FILE"));
}

/// Starts a program as user 65534. The system refuses one that was just copied as long as a child
/// of another test has the copy open for writing.
fn start_as_nobody(command: &mut Command) -> Child {
    let command = command.uid(65534).gid(65534).stdin(Stdio::null());
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    loop {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            child => return child.unwrap(),
        }
    }
}

#[test]
fn another_user_sees_and_reaches_neither_sets_nor_channels() {
    if !rustix::process::geteuid().is_root() {
        return not_run("only root can start a program as another user");
    }
    let folder = Folder::new("hold-users");
    let name = format!("private-{}", std::process::id());
    let mut holder = Running::start(&folder, &["hold", &photo(), "--name", &name]);
    holder.line();
    let channel = Channel::new(&ChannelOptions::new(2, 4096).named(&name)).unwrap();
    for listed in [run(&folder, &["ls"]), run(&folder, &["tap"])] {
        assert!(answer(&listed).contains(&name));
    }

    // At a path that the other user can read, and with a folder of that user.
    let program = folder.path("program");
    std::fs::copy(env!("CARGO_BIN_EXE_crossdock"), &program).unwrap();
    let theirs = folder.path("theirs");
    std::fs::create_dir(&theirs).unwrap();
    std::os::unix::fs::chown(&theirs, Some(65534), Some(65534)).unwrap();
    let ours = folder.path("");
    let other = |runtime: &Path, arguments: &[&str]| {
        start_as_nobody(Command::new(&program).args(arguments).env("XDG_RUNTIME_DIR", runtime))
    };
    for (runtime, arguments, words) in [
        (&ours, &["ls"][..], "must be a folder of your own"),
        (&ours, &["who", &name], "must be a folder of your own"),
        (&ours, &["connect", &name, "--", "true"], "must be a folder of your own"),
        (&ours, &["drop", &name], "must be a folder of your own"),
        (&ours, &["hold", "--name", &name, "--replace"], "folder of your own"),
        (&theirs, &["ls"], "nothing is held"),
        (&theirs, &["connect", &name, "--", "true"], "no process holds"),
        (&theirs, &["tap"], ""),
        (&theirs, &["tap", &name], &name),
    ] {
        let output = other(runtime, arguments).wait_with_output().unwrap();
        let (said, printed) = (stderr(&output), stdout(&output));
        assert!(said.contains(words) && !printed.contains(&name), "{arguments:?}: {said} {printed}");
        assert!(output.status.success() == (arguments.len() == 1 && *runtime == theirs), "{arguments:?}");
    }
    // Nor does a search for sets after a kill find the memory.
    let mut finder = other(&theirs, &["hold", "--name", &name]);
    let mut line = String::new();
    BufReader::new(finder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    finder.kill().unwrap();
    finder.wait().unwrap();
    assert_eq!(line, format!("holding {name}, of which nothing is published yet\n"));
    for process in [holder.child.id(), std::process::id()] {
        let listed = start_as_nobody(Command::new("ls").arg(format!("/proc/{process}/fd")));
        assert!(!listed.wait_with_output().unwrap().status.success());
    }
    assert!(answer(&run(&folder, &["ls"])).contains(&name));
    drop(channel);
}

#[test]
fn wrong_files_and_names_are_refused_and_leave_nothing() {
    let folder = Folder::new("hold-wrong");
    let text = folder.file("text.npy", "hello");
    save_table(&folder.path("cut.arrow"));
    let cut = folder.path("cut.arrow");
    std::fs::File::options().write(true).open(&cut).unwrap().set_len(40).unwrap();
    for (arguments, status, words) in [
        (&["hold", "missing.npy"][..], 1, "missing.npy: no such file"),
        (&["hold", text.to_str().unwrap()], 1, "text.npy"),
        (&["hold", cut.to_str().unwrap()], 1, "cut.arrow: its 40 bytes do not end as an Arrow IPC file does"),
        (&["hold", &format!("{}[::2]", photo())], 2, "whole files; hold "),
        (&["hold", &format!("{}:w", photo())], 2, "whole files; hold "),
        (&["hold", "/"], 2, "choose one with --name"),
        (&["hold"], 2, "name FILE, or give --name"),
        (&["hold", "x.npy", "y.npy"], 2, "2 files are one set, which needs a name; give --name"),
        (&["hold", "x.npy", "-", "--name", "a"], 2, "give it without FILE"),
        (&["hold", &photo(), &photo(), "--name", "a"], 1, "already has an entry \"rocket\""),
        (&["hold", &photo(), "missing.npy", "--name", "a"], 1, "missing.npy: no such file"),
        (&["hold", "x.npy", "--name", "a/b"], 2, "cannot be the name of a set"),
        (&["hold", "x.npy", "--name", "a@2"], 2, "give --name a"),
        (&["who", "m"], 1, "no process holds m"),
        (&["drop", "m@x"], 2, "no version of a set"),
        (&["connect", "m"], 2, "COMMAND"),
        (&["hold", &photo(), "--limit", "1K"], 1, "the holder keeps 0, and its limit is 1024"),
        (&["hold", &photo(), "--limit-of-process", "2k"], 1, "the limit for one process is 2048"),
        (&["hold", &photo(), "--limit", "1X"], 2, "K, M, G or T"),
        (&["hold", &photo(), "--limit", "99999999T"], 2, "cannot be held"),
    ] {
        let said = refusal(&run(&folder, arguments), status);
        assert!(said.contains(words), "{arguments:?}: {said}");
        assert_eq!(sockets(&folder), 0, "{arguments:?}");
    }
    std::fs::create_dir(folder.path("open")).unwrap();
    let lax = folder.path("open").join("crossdock");
    std::fs::create_dir(&lax).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&lax, mode).unwrap();
    let within = |path: &Path| crossdock(["hold", &photo()]).env("XDG_RUNTIME_DIR", path).output().unwrap();
    assert!(refusal(&within(&folder.path("open")), 1).contains("chmod 700"));
    std::fs::remove_dir(&lax).unwrap();
    std::os::unix::fs::symlink("/tmp", &lax).unwrap();
    assert!(refusal(&within(&folder.path("open")), 1).contains("not a link"));
}

/// A reader that knows nothing but what `docs/hold.md` says, and Python's standard library.
const READER: &str = r#"
import mmap, os, socket, struct, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as holder:
    holder.connect(os.environ["XDG_RUNTIME_DIR"] + "/crossdock/" + sys.argv[1] + ".sock")
    holder.send(b"XDOCKHLD" + struct.pack("<IIQ", 3, 1, 0))
    reply, fds, _, _ = socket.recv_fds(holder, 4096, 65)
    magic, protocol, kind, version, regions = struct.unpack("<8sIIQQ", reply)
    assert (magic, protocol, kind, regions) == (b"XDOCKHLD", 3, 102, len(fds) - 1)
    manifest, *memory = [mmap.mmap(fd, 0, prot=mmap.PROT_READ) for fd in fds]
    assert manifest[:8] == b"XDOCKSET" and struct.unpack_from("<QQ", manifest, 24) == (len(manifest), version)
    rest = manifest[24:] + bytes(-(len(manifest) - 24) % 8)
    mixed = 0x9E3779B97F4A7C15
    for word, in struct.iter_unpack("<Q", rest):
        mixed = (mixed ^ word) * 0xFF51AFD7ED558CCD % 2**64
        mixed ^= mixed >> 32
    assert struct.unpack_from("<Q", manifest, 16)[0] == mixed
    counts = struct.unpack_from("<8I", manifest, 48)
    starts = [96]
    for count, nbytes in zip([counts[1], counts[2], counts[3], counts[0], counts[4], counts[5]], [32, 8, 16, 40, 8, 4]):
        starts.append(starts[-1] + count * nbytes)
    regions, dtypes, metadata, entries, numbers, slots, texts = starts
    def text(at):
        first, nbytes = struct.unpack_from("<II", manifest, at)
        return manifest[texts + first : texts + first + nbytes].decode()
    for entry in range(entries, numbers, 40):
        kind, dtype, rank, first, region, _, offset = struct.unpack_from("<IIIIIIQ", manifest, entry + 8)
        own = struct.unpack_from(f"<{[2 * rank, 3][kind]}q", manifest, numbers + 8 * first)
        name = text(entry)
        slot = 0xCBF29CE484222325
        for byte in name.encode():
            slot = (slot ^ byte) * 0x100000001B3 % 2**64
        slot = (slot ^ slot >> 32) % counts[5]
        while struct.unpack_from("<I", manifest, slots + 4 * slot)[0] != (entry - entries) // 40 + 1:
            slot = (slot + 1) % counts[5]
        if kind == 0:
            print(version, name, text(dtypes + 8 * dtype), *own, memory[region][offset])
        else:
            nbytes, rows, columns = own
            table = memory[region][offset : offset + nbytes]
            print(version, name, f"{rows} x {columns} of {counts[7]}", table[:6], table[-6:])
"#;

#[test]
fn the_page_on_sets_says_all_that_a_reader_needs() {
    let Some(python) = python() else { return };
    let folder = Folder::new("hold-page");
    std::fs::copy(photo(), folder.path("rocket.npy")).unwrap();
    save_table(&folder.path("trades.arrow"));
    let mut holder = Running::start(&folder, &["hold", folder.path("").to_str().unwrap(), "--name", "p"]);
    holder.line();
    let mut reader = Command::new(python);
    let output = reader.args(["-c", READER, "p"]).env("XDG_RUNTIME_DIR", folder.path("")).output().unwrap();
    let array = "1 rocket uint8 427 640 3 1920 3 1 17\n";
    assert_eq!(answer(&output), format!("{array}1 trades 3 x 2 of 1 b'ARROW1' b'ARROW1'\n"));
}

/// Saves a table of three rows, with a column of numbers and one of text.
fn save_table(path: &Path) {
    let price = Column::from_array(Array::from_vec(vec![1.5f64, 2.5, 4.0], [3]).unwrap()).unwrap();
    let buffers =
        vec![Buffer::from_vec(vec![0i32, 1, 3, 3]).unwrap(), Buffer::from_vec(b"abc".to_vec()).unwrap()];
    let parts = ColumnParts { len: 3, buffers, ..ColumnParts::default() };
    let name = Column::new(ColumnType::utf8(), parts, Checks::Full).unwrap();
    let batch = RecordBatch::from_columns([("price", price), ("name", name)]).unwrap();
    IpcOptions::new().save(path, &mut Batches::from_iter([batch])).unwrap();
}

#[test]
fn a_table_is_held_listed_and_found_after_a_kill() {
    let folder = Folder::new("hold-table");
    let path = folder.path("trades.arrow");
    save_table(&path);
    for options in [&[][..], &["--map"]] {
        let arguments = [&["hold", path.to_str().unwrap()][..], options].concat();
        let mut holder = Running::start(&folder, &arguments);
        let line = holder.line();
        assert!(line.starts_with("holding trades@1: 1 table of ") && line.contains("trades.arrow"), "{line}");
        let listed = answer(&run(&folder, &["ls", "trades"]));
        assert!(listed.contains("table") && listed.contains("3 rows, 2 columns"), "{listed}");
        let counts = answer(&run(&folder, &["ls", "--json"]));
        assert!(counts.contains("\"arrays\": 0") && counts.contains("\"tables\": 1"), "{counts}");
        let reader = Running::start(&folder, &["connect", "trades", "--", "sleep", "60"]);
        // Another reader, `ls`, may still be counted.
        let pid = format!("\"pid\": {}", reader.child.id());
        until_listed(&folder, &["who", "trades", "--json"], &pid);
        holder.child.kill().unwrap();
        holder.child.wait().unwrap();
        let mut next = Running::start(&folder, &["hold", "--name", "trades"]);
        assert_eq!(next.line(), "holding trades@1\n");
        let listed = answer(&run(&folder, &["ls", "trades@1", "--json"]));
        assert!(listed.contains("\"rows\": 3") && listed.contains("\"columns\": 2"), "{listed}");
        drop(reader);
        assert_eq!(answer(&run(&folder, &["drop", "trades"])), "");
        assert_eq!(next.end().0, Some(0));
    }
}

#[test]
fn the_arrays_of_a_set_are_listed_by_name() {
    let folder = Folder::new("hold-ls");
    std::fs::copy(photo(), folder.path("rocket.npy")).unwrap();
    save_table(&folder.path("trades.feather"));
    let files = ["rocket.npy", "trades.feather"].map(|name| folder.path(name).to_str().unwrap().to_owned());
    let mut holder = Running::start(&folder, &["hold", &files[0], &files[1], "--name", "both"]);
    let line = holder.line();
    assert!(line.starts_with("holding both@1: 1 array and 1 table of 2 files, "), "{line}");
    let listed = answer(&run(&folder, &["ls", "both"]));
    let words: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[1], ["rocket", "uint8", "[427,", "640,", "3]"]);
    assert_eq!(words[2], ["trades", "table", "3", "rows,", "2", "columns"]);
    assert!(refusal(&run(&folder, &["ls", "both@2"]), 1).contains("both@1"));
    assert!(refusal(&run(&folder, &["ls", "other"]), 1).contains("no process holds other"));
}
