//! A message there and back between two processes: channels beside iceoryx2, and beside the
//! machine's limit, a word in shared memory.
//!
//! ```sh
//! cargo run --release --manifest-path bench/channel/Cargo.toml             # the tables
//! cargo run --release --manifest-path bench/channel/Cargo.toml -- --record # appended to the record
//! ```
//!
//! Each contender has a process that sends every message back. It sleeps until a sample begins,
//! so that those of the other contenders leave the CPU alone. Both processes write the first byte
//! of a message and read it, whatever its size. A figure is the time there and back; half of it
//! is a hand-over.

mod crossdock_channel;
mod iceoryx;
mod word;

use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crossdock_measure::record::{self, Circumstances, Line};
use crossdock_measure::{Case, Limits, Reach, Result, Scale, compare};

const SIZES: [(usize, &str); 2] = [(8 << 10, "8 KiB"), (4 << 20, "4 MiB")];
const LIMITS: Limits = Limits { most: 401, least: 9, budget: Duration::from_secs(4) };

/// The first byte of a message that begins a sample, and of one that ends it.
const BEGIN: u8 = 254;
const END: u8 = 255;

/// The first byte of the last message: the other process ends.
const QUIT: u8 = 253;

/// One end of a pair of streams.
trait End {
    /// Sends a message that begins with this byte.
    fn send(&mut self, byte: u8);

    /// The first byte of the next message. Polls for it, or sleeps until it is there.
    fn receive(&mut self, polls: bool) -> u8;
}

/// Sends back what arrives.
fn echo(end: &mut dyn End, polls: bool) {
    loop {
        let mut byte = end.receive(false);
        loop {
            if byte == QUIT {
                return;
            }
            end.send(byte);
            if byte == END {
                break;
            }
            byte = end.receive(polls);
        }
    }
}

/// The time of `count` messages there and back, and the sum of their bytes.
fn there_and_back(end: &mut dyn End, polls: bool, count: usize) -> (Duration, usize) {
    let mut once = |byte| {
        end.send(byte);
        usize::from(end.receive(polls))
    };
    once(BEGIN);
    let start = Instant::now();
    let sum = (0..count).map(|_| once(7)).sum();
    let elapsed = start.elapsed();
    once(END);
    (elapsed, sum)
}

/// The process that sends messages back. It ends with this value.
struct Echo(Child);

impl Echo {
    fn start(contender: &str, polls: bool, nbytes: usize, more: &[String]) -> Result<Self> {
        let mode = if polls { "poll" } else { "sleep" };
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--echo", contender, mode, &nbytes.to_string()]).args(more);
        Ok(Self(command.stdin(Stdio::null()).spawn()?))
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        // It was told to end, if nothing failed.
        for _ in 0..100 {
            if matches!(self.0.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ended_already = self.0.kill();
        let _gone_already = self.0.wait();
    }
}

/// Each process has a CPU of its own, if there are two.
fn run_on(cpu: usize) {
    // SAFETY: `cpu_set_t` consists of integers, for which zero is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `cpu` is 0 or 1, and a set has more bits.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the call reads the set, of the stated size. If there is no such CPU, it fails, and
    // nothing changes.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
}

fn measure(polls: bool, recorded: bool) -> Result {
    let how = if polls { "polling" } else { "waking" };
    for (nbytes, size) in SIZES {
        let mut channel = crossdock_channel::Pair::new(polls, nbytes)?;
        let mut peer = iceoryx::Pair::new(polls, nbytes)?;
        let mut limit = word::Pair::new(polls)?;
        let cases = vec![
            Case::timed("a word, the limit", 7, |count| there_and_back(&mut limit.end, polls, count)),
            Case::timed("iceoryx2", 7, |count| there_and_back(&mut peer.end, polls, count)),
            Case::timed("channel", 7, |count| there_and_back(&mut channel.end, polls, count))
                .reaching(Reach::ratio(1.0, "iceoryx2")),
        ];
        let against = ["iceoryx2", "a word, the limit"];
        let title = format!("there and back, {how}, {size}");
        println!("{title}");
        let circumstances =
            Circumstances::now(Path::new(env!("CARGO_MANIFEST_DIR"))).beside("iceoryx2 0.10.0");
        let mut lines = vec![];
        for (name, figure) in compare(cases, &against, Scale::NANOSECONDS, LIMITS)? {
            let line = Line::new(&circumstances, &title, name, &figure);
            let ratios: Vec<_> = line.ratios.iter().map(|(ratio, to)| format!("{ratio:.3} x {to}")).collect();
            println!("  {name:20} {:>10.0} {}   {}", line.figure, line.unit, ratios.join("   "));
            lines.push(line);
        }
        let ends: [&mut dyn End; 3] = [&mut channel.end, &mut peer.end, &mut limit.end];
        ends.into_iter().for_each(|end| end.send(QUIT));
        if recorded {
            record::append(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../record/channel.csv"), &lines)?;
        }
    }
    Ok(())
}

fn run(args: &[&str]) -> Result {
    match *args {
        ["--echo", contender, mode, nbytes, ref more @ ..] => {
            run_on(1);
            let (polls, nbytes) = (mode == "poll", nbytes.parse()?);
            match contender {
                "channel" => echo(&mut crossdock_channel::there(more)?, polls),
                "iceoryx2" => echo(&mut iceoryx::there(more, nbytes)?, polls),
                "word" => echo(&mut word::there(more)?, polls),
                _ => return Err(format!("there is no contender `{contender}`").into()),
            }
            Ok(())
        }
        [] | ["--record"] => {
            run_on(0);
            measure(true, !args.is_empty())?;
            measure(false, !args.is_empty())
        }
        _ => Err("the one argument is --record".into()),
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}
