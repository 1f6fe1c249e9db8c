//! The memory that stays resident after the last free, without a further call.
//!
//! Each owner is measured in its own process, which holds 64 MiB and repeatedly allocates, writes
//! and frees another 64 MiB. The figure is the resident memory beyond the live memory, as a
//! fraction of the live memory.

use std::fs;
use std::process::Command;
use std::time::Duration;

use crossdock_measure::{Figure, Reach, Unit};

use crate::arrow::Arrow;
use crate::harness::{Row, Table};
use crate::memory::{MIB, transfer};
use crate::{Measure, Result};

const BLOCK: usize = 64 * MIB;
const REPEATED: usize = 24;
const QUIET: Duration = Duration::from_secs(2);

/// An owner: its name for the child, and the names of its rows.
const OWNERS: [(&str, &str, &str); 3] = [
    ("malloc", "malloc: at the last free", "malloc: 2 s later"),
    ("arrow", "Arrow C++: at the last free", "Arrow C++: 2 s later"),
    ("crossdock", "crossdock: at the last free", "crossdock: 2 s later"),
];

pub(super) fn resident(_: &Measure, arrow: Option<&Arrow>) -> Result<Table> {
    let mut rows = Vec::new();
    for (owner, at_once, later) in OWNERS {
        if owner == "arrow" && arrow.is_none() {
            continue;
        }
        let output = Command::new(std::env::current_exe()?).args(["--resident", owner]).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [first, second] = figures[..] else {
            return Err(format!("{owner}: {}", String::from_utf8_lossy(&output.stderr)).into());
        };
        let reach = (owner == "crossdock").then_some(Reach::value(5.0));
        rows.push(Row { name: at_once, figure: Figure::alone(first, Unit::Percent) });
        rows.push(Row { name: later, figure: Figure::alone(second, Unit::Percent).reaching(reach) });
    }
    let title = "resident beyond 64 MiB that live";
    Ok(Table { title, unit: Unit::Percent, against: vec![], rows, bars: false })
}

/// In the child: prints the figure at the last free, and the one after a quiet time.
pub(crate) fn child(owner: &str) -> Result {
    let [at_once, later] = match owner {
        "malloc" => excess(
            || Ok((vec![7u8; BLOCK], BLOCK)),
            || {
                let block = vec![7u8; BLOCK];
                Ok(std::hint::black_box(&block)[BLOCK - 1])
            },
        )?,
        "arrow" => {
            let arrow = Arrow::load()?.ok_or("the peer is not there")?;
            excess(
                || {
                    let last = arrow.keep(BLOCK);
                    assert_eq!((last, arrow.live()), (7, BLOCK), "the pool counts what it holds");
                    Ok(((), BLOCK))
                },
                || Ok(arrow.allocate_write(1, BLOCK) as u8),
            )?
        }
        "crossdock" => excess(
            || Ok((crossdock::buffer::Buffer::copy_from_slice(&vec![7u8; BLOCK])?, BLOCK)),
            || Ok(transfer::own_filled(BLOCK)?),
        )?,
        _ => return Err(format!("there is no owner `{owner}`").into()),
    };
    println!("{at_once:.3} {later:.3}");
    Ok(())
}

/// The resident bytes beyond the live bytes, in percent of the live bytes: at the last free, and
/// after a quiet time.
fn excess<T>(keep: impl FnOnce() -> Result<(T, usize)>, block: impl Fn() -> Result<u8>) -> Result<[f64; 2]> {
    let before = resident_now()?;
    let (kept, live) = keep()?;
    std::hint::black_box(&kept);
    for _ in 0..REPEATED {
        assert_eq!(block()?, 7, "the block was written");
    }
    let percent = |resident: usize| 100.0 * (resident as f64 - before as f64 - live as f64) / live as f64;
    let at_once = percent(resident_now()?);
    std::thread::sleep(QUIET);
    let later = percent(resident_now()?);
    // Less would mean that live memory was not resident, and the figure meaningless.
    assert!(later > -1.0, "what lives is resident");
    Ok([at_once, later])
}

/// The resident bytes of this process.
fn resident_now() -> Result<usize> {
    let text = fs::read_to_string("/proc/self/statm")?;
    let pages: usize = text.split(' ').nth(1).ok_or("statm has no second number")?.parse()?;
    // SAFETY: a constant of the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Ok(pages * usize::try_from(page)?)
}
