//! The example of two programs, of which one or both are killed at a random moment: the other ends
//! in an orderly way, and nothing is left behind.
//!
//! Both programs are this test program, started again in the role of the example's maker or taker.
//! A survivor checks its own descriptors and maps before it ends; the test checks those of all
//! processes. `CROSSDOCK_SEED` chooses the moments.

use std::ffi::CString;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossdock::DArray;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::exchange::protocol::shm;
use crossdock::layout::{Layout, Order};
use crossdock::view::Request;
use crossdock_testkit::{Coverage, held, rounds, seed};
use fastrand::Rng;

#[path = "../examples/shared_memory.rs"]
#[expect(dead_code, reason = "the example's `main` is not called here")]
mod example;

const ROLE: &str = "CROSSDOCK_TEST_ROLE";

/// The exit codes of the programs.
const DONE: i32 = 0;
const FAILED_IN_GOOD_ORDER: i32 = 10;
const KEPT_SOMETHING: i32 = 20;

/// Longer than any step takes: a program that needs more hangs.
const HANGS: Duration = Duration::from_secs(20);

/// The tests count the descriptors of this program, so one runs at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// The role of this program when it is started again; nothing otherwise.
#[test]
fn role() {
    let Ok(text) = std::env::var(ROLE) else { return };
    let words: Vec<&str> = text.split(' ').collect();
    let [role, name, rounds, patience] = words[..] else { panic!("{text}") };
    let rounds: usize = rounds.parse().unwrap();
    let patience = Duration::from_millis(patience.parse().unwrap());
    let before = descriptors();
    let outcome = match role {
        "make" => example::make(name, rounds, patience),
        "take" => example::take(name, rounds, patience),
        "send-wide" => send_wide(name),
        "never-read" => loop {
            std::thread::sleep(patience);
        },
        _ => panic!("{text}"),
    };
    let kept = held::holds("self", name);
    let (code, text) = match outcome {
        _ if kept > 0 => (KEPT_SOMETHING, format!("{kept} maps and descriptors are left")),
        _ if descriptors() != before => {
            (KEPT_SOMETHING, format!("{before} descriptors became {}", descriptors()))
        }
        Ok(()) => (DONE, String::new()),
        Err(error) => (FAILED_IN_GOOD_ORDER, error.to_string()),
    };
    eprint!("{text}");
    std::process::exit(code);
}

/// A program under test. It never outlives the test.
struct Program(Child);

impl Program {
    fn start(role: &str, name: &str, rounds: usize, patience: Duration, stdin: Stdio) -> Self {
        let child = crossdock_testkit::this_program()
            .args(["--exact", "role", "--nocapture", "--test-threads=1"])
            .env(ROLE, format!("{role} {name} {rounds} {}", patience.as_millis()))
            .stdin(stdin)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        Self(child.unwrap())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
    }

    fn holds(&self, name: &str) -> usize {
        held::holds(&self.0.id().to_string(), name)
    }

    fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    /// The status and the output of the program.
    #[track_caller]
    fn end(&mut self) -> (ExitStatus, String) {
        let start = Instant::now();
        while !self.has_ended() {
            assert!(start.elapsed() < HANGS, "a program hangs");
            std::thread::sleep(Duration::from_micros(200));
        }
        let mut text = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (self.0.wait().unwrap(), text)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        let _gone_already = self.0.wait();
    }
}

/// Waits until one of the programs has the memory of this name. `false` if it ended before.
#[track_caller]
fn until_held(program: &mut Program, name: &str) -> bool {
    let start = Instant::now();
    while program.holds(name) == 0 {
        if program.has_ended() {
            return false;
        }
        assert!(start.elapsed() < HANGS, "nothing was ever made");
    }
    true
}

/// Files that could be a socket or shared memory.
fn files(name: &str) -> Vec<PathBuf> {
    let folders = [std::env::temp_dir(), std::env::current_dir().unwrap(), "/dev/shm".into()];
    let entries = folders.iter().filter_map(|folder| folder.read_dir().ok()).flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().contains(name)).collect()
}

#[track_caller]
fn assert_nothing_is_left(name: &str) {
    assert_eq!(held::holders(name), [""; 0], "processes that still have the memory");
    assert_eq!(files(name), [""; 0].map(PathBuf::from));
    // The names of other programs' sockets may be any bytes.
    let sockets = String::from_utf8_lossy(&std::fs::read("/proc/net/unix").unwrap()).into_owned();
    assert!(!sockets.contains(name), "a socket still listens");
}

#[test]
fn two_programs_survive_the_death_of_either_at_any_moment() {
    const USUAL: usize = 200;
    let _alone = alone();
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    let (start, before) = (Instant::now(), descriptors());
    let times = rounds(USUAL);
    for round in 0..times {
        coverage.case();
        let name = format!("killed-{}-{round}", std::process::id());
        // One round of the example ends quickly; if a program is to be killed during it, the rounds
        // repeat forever.
        let victims = [&[0][..], &[1], &[0, 1], &[1, 0]][round % 4];
        let amid = rng.usize(0..5) > 1;
        let unharmed = round % 20 == 19;
        let (rounds, patience) = match (unharmed, amid) {
            (true, _) => (3, HANGS / 2),
            (false, true) => (usize::MAX, HANGS / 2),
            // A program that waits for one that was killed before it connected waits this long.
            (false, false) => (1, Duration::from_millis(100)),
        };
        let mut programs =
            ["make", "take"].map(|role| Program::start(role, &name, rounds, patience, Stdio::null()));
        let mut held_when_killed = [0; 2];
        if !unharmed {
            if amid {
                assert!(until_held(&mut programs[rng.usize(0..2)], &name), "it ends only when it is killed");
            }
            for &victim in victims {
                let most = if amid { 3_000 } else { 12_000 };
                std::thread::sleep(Duration::from_micros(rng.u64(0..most)));
                held_when_killed[victim] = programs[victim].holds(&name);
                programs[victim].kill();
            }
        }
        let killed = |who: usize| !unharmed && victims.contains(&who);
        let mut successes = 0;
        for (who, program) in programs.iter_mut().enumerate() {
            let (status, text) = program.end();
            match (status.code(), status.signal()) {
                (None, Some(libc::SIGKILL)) if killed(who) => {
                    coverage.note("killed");
                    coverage.note_if(held_when_killed[who] > 0, "killed while it had the memory");
                }
                (Some(DONE), None) if !amid || unharmed => successes += 1,
                (Some(FAILED_IN_GOOD_ORDER), None) if !unharmed && !text.is_empty() => {
                    coverage.note("survived with an error");
                    coverage.note_if(amid, "survived with an error amid the exchange");
                }
                _ => panic!("round {round}: program {who} ended with {status} and said {text:?}"),
            }
        }
        assert!(!unharmed || successes == 2);
        coverage.note_if(unharmed, "no process was killed");
        coverage.note_if(victims.len() == 2, "both were killed");
        assert_nothing_is_left(&name);
    }
    println!("{coverage}");
    println!("{times} rounds in {:?}", start.elapsed());
    assert_eq!(descriptors(), before, "this program's own descriptors");
    coverage.assert_at_least(0.05, ["no process was killed"]);
    if times == USUAL {
        coverage.assert_at_least(0.3, ["killed", "killed while it had the memory", "both were killed"]);
        coverage.assert_at_least(0.2, ["survived with an error", "survived with an error amid the exchange"]);
    }
}

/// An array whose description does not fit into a socket buffer, so that sending it takes as long
/// as the receiver wants.
fn wide(name: &str) -> DArray {
    let fields = (0..20_000).map(|index| (format!("a field with a name, number {index}"), DType::U8));
    let dtype = DType::packed_record(fields.collect::<Vec<_>>()).unwrap();
    let layout = Layout::contiguous(&[100], dtype.itemsize(), Order::RowMajor).unwrap();
    let buffer = Buffer::shared_named(layout.nbytes(), &CString::new(name).unwrap()).unwrap();
    DArray::from_buffer(buffer, dtype, layout, 0).unwrap()
}

/// Waits for a first byte without consuming it.
fn until_something_comes(socket: &UnixStream) {
    let mut byte = [0];
    // SAFETY: `byte` has room for the one byte that `recv` may write.
    let got = unsafe { libc::recv(socket.as_raw_fd(), byte.as_mut_ptr().cast(), 1, libc::MSG_PEEK) };
    assert_eq!(got, 1);
}

fn send_wide(name: &str) -> ! {
    let socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    let lent = shm::export(&wide(name), &Request::pin()).unwrap();
    let error = shm::send(&socket, &lent).unwrap_err();
    panic!("this program was to be killed amid the message: {error}");
}

#[test]
fn a_receiver_survives_a_sender_that_is_killed_amid_a_message() {
    let _alone = alone();
    let name = format!("amid-send-{}", std::process::id());
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut sender = Program::start("send-wide", &name, 0, HANGS, OwnedFd::from(theirs).into());
    // The descriptor is sent with the first byte; then the message stops at the socket's capacity.
    assert!(until_held(&mut sender, &name));
    until_something_comes(&ours);
    std::thread::sleep(Duration::from_millis(50));
    sender.kill();
    assert_eq!(sender.end().0.signal(), Some(libc::SIGKILL));
    let error = shm::receive(&ours).unwrap_err();
    assert!(error.is_io() && error.to_string().contains("received"), "{error}");
    drop(ours);
    assert_nothing_is_left(&name);
}

#[test]
fn a_sender_survives_a_receiver_that_is_killed_amid_a_message() {
    let _alone = alone();
    let name = format!("amid-receive-{}", std::process::id());
    let (ours, theirs) = UnixStream::pair().unwrap();
    let patience = Duration::from_millis(10);
    let mut receiver = Program::start("never-read", &name, 0, patience, OwnedFd::from(theirs).into());
    let error = std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let lent = shm::export(&wide(&name), &Request::pin()).unwrap();
            shm::send(&ours, &lent).unwrap_err()
        });
        std::thread::sleep(Duration::from_millis(300));
        assert!(!sending.is_finished(), "the socket takes it all");
        receiver.kill();
        sending.join().unwrap()
    });
    assert!(error.is_io() && error.to_string().contains("sent"), "{error}");
    drop(receiver);
    assert_nothing_is_left(&name);
}
