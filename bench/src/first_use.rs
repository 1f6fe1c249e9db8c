//! The time that the first use of the library takes in a process beyond every later one: it detects
//! the CPU, and starts threads for the first large copy. Beside it, the time of a thread that the
//! caller starts.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::{Casting, DArray};
use crossdock_measure::{Figure, Reach, Unit, median};

use crate::arrow::Arrow;
use crate::harness::{Row, Table};
use crate::{Measure, Result};

pub(crate) const MEASURES: &[Measure] = &[Measure { group: "arrays", name: "first-use", run: first_use }];

/// The argument of a child process, and what it runs.
type Child = (&'static str, fn() -> Result);

/// Copies by the library, and by hand.
pub(crate) const CHILDREN: [Child; 2] = [("--first-use", by_library), ("--first-use-by-hand", by_hand)];

const PROCESSES: usize = 41;
const REACH: f64 = 50_000.0;

/// Copies by hand before the first one: without them, even a loop of the caller's takes a hundred
/// microseconds longer at first.
const WARM: usize = 8;

/// The copies after the first one, with whose median it is compared.
const LATER: usize = 9;

/// Copies of these sizes are compared with later copies of the same memory.
const COPIES: [(&str, usize); 2] =
    [("first copy of 4 KiB", 4 << 10), ("first copy of 4 MiB, by threads", LARGE)];
const BY_HAND: &str = "by hand: 4 MiB, with a thread";

const LARGE: usize = 4 << 20;

fn first_use(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let mut samples = [const { Vec::new() }; COPIES.len() + 1];
    for _ in 0..PROCESSES {
        let (mut figures, mut errors) = (Vec::<f64>::new(), String::new());
        for (argument, _) in CHILDREN {
            let output = Command::new(std::env::current_exe()?).arg(argument).output()?;
            let text = String::from_utf8_lossy(&output.stdout);
            figures.extend(text.split_whitespace().filter_map(|word| word.parse::<f64>().ok()));
            errors += &String::from_utf8_lossy(&output.stderr);
        }
        if figures.len() != samples.len() {
            return Err(errors.into());
        }
        samples.iter_mut().zip(figures).for_each(|(samples, figure)| samples.push(figure));
    }
    let names = COPIES.iter().map(|&(name, _)| (name, Some(Reach::value(REACH)))).chain([(BY_HAND, None)]);
    let row = |((name, reach), samples)| {
        let figure = Figure::alone(median(samples), Unit::Nanoseconds);
        Row { name, figure: figure.reaching(reach) }
    };
    let rows = names.zip(samples).map(row).collect();
    let title = "first use, beyond a later one";
    Ok(Table { title, unit: Unit::Nanoseconds, against: vec![], rows, bars: false })
}

/// Prints, for each copy, the nanoseconds of the first one less those of a later one.
fn by_library() -> Result {
    for (_, nbytes) in COPIES {
        let array = || DArray::zeros(DType::U8, &[nbytes], Order::RowMajor);
        let (source, target) = (array()?, array()?);
        warm(&mut source.buffer()?.0.write()?, &mut target.buffer()?.0.write()?);
        print_first(|| Ok(target.assign(&source, Casting::Checked)?))?;
    }
    Ok(())
}

/// The memory as later copies find it: pages present, and in the caches what a copy of this size
/// leaves there. (After `memcpy`, the target of a large copy would be in the caches, from which
/// streaming stores first write it back, which takes longer than the start of a thread.)
fn warm(source: &mut [u8], target: &mut [u8]) {
    source.fill(1);
    target.fill(1);
    for _ in 0..WARM {
        copy(source, target);
    }
}

fn print_first(copy: impl Fn() -> Result) -> Result {
    let timed = || -> Result<f64> {
        let start = Instant::now();
        copy()?;
        Ok(start.elapsed().as_secs_f64() * 1e9)
    };
    let first = timed()?;
    let later = (0..LATER).map(|_| timed()).collect::<Result<Vec<_>>>()?;
    println!("{:.0}", first - median(later));
    Ok(())
}

/// A copy on one thread, by streaming stores if it is large.
fn copy(source: &[u8], target: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if source.len() >= PART {
        use std::arch::x86_64::{__m128i, _mm_load_si128, _mm_sfence, _mm_stream_si128};
        // SAFETY: every bit pattern is a value of either type.
        let (before, from, _) = unsafe { source.align_to::<__m128i>() };
        // SAFETY: every bit pattern is a value of either type.
        let (start, to, _) = unsafe { target.align_to_mut::<__m128i>() };
        assert!(before.is_empty() && start.is_empty(), "large blocks are aligned");
        for (from, to) in from.iter().zip(to) {
            // SAFETY: `from` refers to 16 aligned bytes; x86-64 has SSE2.
            let value = unsafe { _mm_load_si128(from) };
            // SAFETY: `to` refers to 16 aligned bytes; the fence below orders the store.
            unsafe { _mm_stream_si128(to, value) };
        }
        // SAFETY: x86-64 has SSE.
        unsafe { _mm_sfence() };
        return;
    }
    target.copy_from_slice(source);
}

/// The parts that the caller and its thread take from the large copy by hand.
const PART: usize = LARGE / 8;

/// The large copy as a caller may write it: it starts a thread for the first, which takes parts
/// beside the caller and then waits for the next.
fn by_hand() -> Result {
    let (mut source, mut target) = (vec![0; LARGE], vec![0; LARGE]);
    warm(&mut source, &mut target);
    let parts: Vec<Mutex<(&[u8], &mut [u8])>> =
        source.chunks(PART).zip(target.chunks_mut(PART)).map(Mutex::new).collect();
    let (next, copied) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (round, more) = (Mutex::new(0), Condvar::new());
    let take = || {
        while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
            let (source, target) = &mut *part;
            copy(source, target);
            copied.fetch_add(1, Ordering::Release);
        }
    };
    let helper = || {
        let mut done = 0;
        while done < 1 + LATER {
            let begun = round.lock().unwrap_or_else(PoisonError::into_inner);
            let begun = more.wait_while(begun, |round| *round == done);
            done = *begun.unwrap_or_else(PoisonError::into_inner);
            take();
        }
    };
    std::thread::scope(|scope| {
        print_first(|| {
            copied.store(0, Ordering::Relaxed);
            next.store(0, Ordering::Relaxed);
            let mut round = round.lock().unwrap_or_else(PoisonError::into_inner);
            *round += 1;
            let is_first = *round == 1;
            drop(round);
            if is_first {
                scope.spawn(helper);
            } else {
                more.notify_one();
            }
            take();
            // The last part of the helper.
            while copied.load(Ordering::Acquire) < parts.len() {
                std::hint::spin_loop();
            }
            Ok(())
        })
    })
}
