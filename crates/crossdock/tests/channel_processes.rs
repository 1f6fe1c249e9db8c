//! Senders and receivers that are killed at random moments: no message is torn, no slot is lost,
//! and nothing is left behind. And a process that writes anything into the channel's memory: the
//! others get errors or wrong messages, and nothing worse.
//!
//! Each process is this test program, started again as a sender or a receiver. It inherits the
//! channel's descriptor as its standard input. `CROSSDOCK_SEED` chooses the moments, and
//! `CROSSDOCK_CHANNEL_MESSAGES` the number of messages: 300,000 without it, over three channels.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crossdock::DArray;
use crossdock::element::DType;
use crossdock::exchange::protocol::channel::{Channel, ChannelOptions, Delivery};
use crossdock::exchange::protocol::shm;
use crossdock::view::Request;
use crossdock_testkit::{Coverage, held, rounds, seed};
use fastrand::Rng;

const ROLE: &str = "CROSSDOCK_TEST_ROLE";

/// Longer than any step takes: a program that needs more hangs.
const HANGS: Duration = Duration::from_secs(60);

const SLOTS: usize = 6;
const WORDS: usize = 64;

/// The role of this program when it is started again; nothing otherwise.
#[test]
fn role() {
    let Ok(text) = std::env::var(ROLE) else { return };
    let (role, text) = text.split_once(' ').unwrap();
    let fd = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let channel = Channel::open(&shm::import(fd, &text.parse().unwrap()).unwrap()).unwrap();
    match role {
        "send" => send(&channel),
        "receive" => receive(&channel),
        "scribble" => scribble(&channel),
        _ => panic!("{role}"),
    }
}

/// The words of a message: a random one, and others that follow from it.
fn word(first: u64, at: usize) -> u64 {
    first.wrapping_add(at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(at as u32 % 64)
}

fn send(channel: &Channel) {
    let mut rng = Rng::new();
    let mut sender = channel.sender().unwrap();
    loop {
        let words = rng.usize(1..=WORDS);
        let (dtype, shape) = match rng.u32(0..3) {
            0 => (DType::U64, vec![words]),
            1 => (DType::U16, vec![words, 2, 2]),
            _ => (DType::F64.swapped(), vec![1, words]),
        };
        let loan = match sender.loan(&dtype, &shape, Some(HANGS)) {
            Ok(loan) => loan,
            Err(error) if error.is_closed() => return,
            Err(error) => panic!("{error}"),
        };
        let first = rng.u64(..);
        let memory = loan.array().buffer().unwrap().0;
        let cells = memory.share().unwrap();
        for (at, cell) in cells.as_cells_of::<u64>().unwrap().iter().enumerate() {
            cell.store(word(first, at));
        }
        drop((cells, memory));
        match loan.send() {
            Ok(()) => {}
            Err(refused) if refused.error.is_closed() => return,
            Err(refused) => panic!("{refused}"),
        }
    }
}

fn receive(channel: &Channel) {
    let mut rng = Rng::new();
    let mut receiver = channel.receiver().unwrap();
    let mut kept = None;
    loop {
        let view = match receiver.receive(Some(HANGS)) {
            Ok(Some(view)) => view,
            Ok(None) => panic!("nothing came for {HANGS:?}"),
            Err(error) if error.is_closed() => return,
            Err(error) => panic!("{error}"),
        };
        check(&view);
        // Sometimes a view is kept while others come and go.
        match rng.u32(0..16) {
            0 => kept = Some(view),
            1 => kept.iter().for_each(check),
            2 => kept = None,
            _ => {}
        }
    }
}

fn check(view: &DArray) {
    let memory = view.buffer().unwrap().0;
    let pin = memory.pin().unwrap();
    let load = |at: usize| pin.load::<u64>(8 * at).unwrap();
    // The first word gives the others.
    let first = load(0).wrapping_mul(INVERSE);
    for at in 0..memory.nbytes() / 8 {
        assert_eq!(load(at), word(first, at), "word {at} of {view:?} is torn");
    }
}

/// `word(first, 0)` is `first` times the inverse of this.
const INVERSE: u64 = {
    let (multiplier, mut inverse) = (0x9E37_79B9_7F4A_7C15u64, 1u64);
    let mut round = 0;
    while round < 6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(multiplier.wrapping_mul(inverse)));
        round += 1;
    }
    assert!(multiplier.wrapping_mul(inverse) == 1);
    inverse
};

/// A program under test. It never outlives the test.
struct Program {
    child: Child,
    role: &'static str,
    dies: Instant,
}

impl Program {
    fn start(role: &'static str, channel: &Channel, lives: Duration) -> Self {
        let exported = shm::export(&channel.to_array().unwrap(), &Request::share()).unwrap();
        let child = crossdock_testkit::this_program()
            .args(["--exact", "role", "--nocapture", "--test-threads=1"])
            .env(ROLE, format!("{role} {}", exported.description().to_text().unwrap()))
            .stdin(exported.fd().try_clone_to_owned().unwrap())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        Self { child: child.unwrap(), role, dies: Instant::now() + lives }
    }

    /// Waits for the end of the program, which was killed or ends by itself.
    #[track_caller]
    fn end(mut self) {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < HANGS, "a program hangs");
            std::thread::sleep(Duration::from_micros(200));
        };
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        let was_killed = status.signal() == Some(libc::SIGKILL);
        assert!(was_killed || status.success(), "{} ended with {status}: {text}", self.role);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _gone_already = self.child.wait();
    }
}

fn messages() -> u64 {
    match std::env::var("CROSSDOCK_CHANNEL_MESSAGES") {
        Ok(text) => text.parse().expect("CROSSDOCK_CHANNEL_MESSAGES is a number"),
        Err(_) => rounds(300_000) as u64,
    }
}

#[test]
fn no_message_is_torn_and_no_slot_lost_when_processes_are_killed() {
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    // A sender to each notices late that a receiver is gone, so this takes the longest.
    let policies = [
        (Delivery::Each, false, 1),
        (Delivery::One, false, 3),
        (Delivery::One, true, 3),
        (Delivery::Latest, false, 3),
    ];
    for (delivery, drops_oldest, tenths) in policies {
        let name = format!("channel-killed-{delivery:?}-{drops_oldest}-{}", std::process::id());
        let options = ChannelOptions::new(SLOTS, 8 * WORDS).delivery(delivery).drops_oldest(drops_oldest);
        let channel = Channel::new(&options.named(&name)).unwrap();
        let lives = |rng: &mut Rng| Duration::from_micros(rng.u64(5_000..150_000));
        let mut programs: Vec<Program> = ["send", "send", "receive", "receive"]
            .map(|role| Program::start(role, &channel, lives(&mut rng)))
            .into();
        let (start, mut last) = (Instant::now(), (Instant::now(), 0));
        while channel.sent() < messages() / 10 * tenths {
            if channel.sent() != last.1 {
                last = (Instant::now(), channel.sent());
            }
            assert!(last.0.elapsed() < HANGS, "{channel:?} is stuck: {:?}", channel.usage());
            for program in &mut programs {
                if Instant::now() >= program.dies {
                    coverage.case();
                    coverage.note(program.role);
                    coverage.note_if(channel.usage()[1] > 0, "a slot was on loan");
                    coverage.note_if(channel.usage()[3] > 0, "a slot was viewed");
                    program.child.kill().unwrap();
                    let next = Program::start(program.role, &channel, lives(&mut rng));
                    std::mem::replace(program, next).end();
                }
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        // Those that are alive end by themselves.
        channel.close();
        programs.into_iter().for_each(Program::end);
        println!("{delivery:?}: {} messages in {:?}", channel.sent(), start.elapsed());
        // The next member that joins or waits finds what the dead ones left.
        let mut receiver = channel.receiver().unwrap();
        while receiver.receive(Some(Duration::ZERO)).is_ok_and(|view| view.is_some()) {}
        receiver.reap();
        drop(receiver);
        let [free, loaned, waiting, held] = channel.usage();
        assert_eq!((free + waiting, loaned, held), (SLOTS, 0, 0), "{delivery:?}");
        // A sender that dies between its message and the end of the previous value leaves both,
        // until there is a next message.
        let kept = if delivery == Delivery::Latest { 1..=3 } else { 0..=0 };
        assert!(kept.contains(&waiting), "{delivery:?}: {waiting} messages wait");
        assert_eq!((channel.senders(), channel.receivers()), (0, 0));
        drop(channel);
        assert_eq!(
            held::holders(&format!("crossdock channel {name}")),
            [""; 0],
            "processes that still have the memory"
        );
    }
    println!("{coverage}");
    coverage.assert_at_least(0.2, ["send", "receive"]);
}

/// Writes random words to random places, most of them in the part that has no elements, until it is
/// killed.
fn scribble(channel: &Channel) {
    let mut rng = Rng::new();
    let memory = channel.to_array().unwrap().buffer().unwrap().0;
    let all = memory.share().unwrap();
    let words = memory.nbytes() / 8;
    loop {
        // Bells and members, the records of slots, the dtypes, and rarely anything: a header that
        // is wrong, or a channel that is closed, hides everything else.
        let at = 8 * match rng.u32(0..4) {
            _ if rng.u32(0..5000) == 0 => rng.usize(0..words),
            0 => rng.usize(16..66),
            1 => 128 + rng.usize(0..SLOTS) * 144 + rng.usize(0..8),
            2 => 128 + SLOTS * 144 + 512 * rng.usize(0..3) + rng.usize(0..8),
            _ => continue,
        };
        let value = match rng.u32(0..4) {
            0 => rng.u64(..),
            1 => rng.u64(0..64),
            2 => 1 << rng.u32(0..64),
            // One bit of a word that makes sense.
            _ => all.load::<u64>(at).unwrap() ^ 1 << rng.u32(0..64),
        };
        all.store(at, value).unwrap();
        // Sometimes others get a few steps ahead.
        for _ in 0..rng.usize(0..4) * rng.usize(0..2000) {
            std::hint::spin_loop();
        }
    }
}

#[test]
fn a_hostile_process_causes_errors_and_wrong_messages_and_nothing_worse() {
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    for round in 0..rounds(30) {
        let delivery = [Delivery::Each, Delivery::One, Delivery::Latest][round % 3];
        let options = ChannelOptions::new(SLOTS, 8 * WORDS).delivery(delivery).drops_oldest(round % 2 == 0);
        let channel = Channel::new(&options).unwrap();
        let (mut sender, mut receiver) = (channel.sender().unwrap(), channel.receiver().unwrap());
        let mut program = Program::start("scribble", &channel, HANGS);
        let start = Instant::now();
        let mut kept = vec![];
        while start.elapsed() < Duration::from_millis(100) {
            coverage.case();
            let began = Instant::now();
            let soon = Some(Duration::from_millis(if rng.u32(0..20) == 0 { 3 } else { 0 }));
            let dtype = [DType::U8, DType::F64, "S9".parse().unwrap()][rng.usize(0..3)].clone();
            match sender.loan(&dtype, &[rng.usize(0..9), 4], soon) {
                Ok(loan) => {
                    loan.array().fill(&1.into()).or_else(|_| loan.array().fill(&"text".into())).unwrap();
                    coverage.note("loaned");
                    coverage.note_if(rng.u32(0..8) > 0 && loan.send().is_ok(), "sent");
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
            match if rng.bool() { receiver.try_receive() } else { receiver.receive(soon) } {
                Ok(Some(view)) => {
                    coverage.note("received");
                    let (buffer, offset) = view.buffer().unwrap();
                    assert!(offset <= buffer.nbytes() && buffer.nbytes() <= 8 * WORDS, "{view:?}");
                    assert_eq!(buffer.pin().unwrap().to_vec().len(), buffer.nbytes());
                    kept.push(view);
                    if rng.bool() {
                        kept.clear();
                    }
                }
                Ok(None) => coverage.note("nothing"),
                Err(error) => coverage.note_if(!error.to_string().is_empty(), "refused"),
            }
            if rng.u32(0..20) == 0 {
                // Other members may find no number free: the scribbler can lock no bytes, but what
                // it writes may look like a member.
                sender = channel.sender().unwrap();
                receiver = channel.receiver().unwrap();
            }
            if let Err(error) = Channel::open(&channel.to_array().unwrap()) {
                assert!(!error.to_string().is_empty());
                coverage.note("no channel any more");
            }
            assert!(began.elapsed() < HANGS, "an operation hangs");
        }
        assert!(program.child.try_wait().unwrap().is_none(), "it scribbles until it is killed");
        program.child.kill().unwrap();
        program.end();
    }
    println!("{coverage}");
    coverage.assert_at_least(0.001, ["sent", "received", "refused"]);
}
