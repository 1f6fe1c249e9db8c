//! Generators and oracles for tests. Depends on no crate of this project, so that it cannot share
//! their bugs.
//!
//! - [`generate`]: random valid layouts as plain data ([`Placed`]), and random arguments for
//!   operations;
//! - [`invalid`]: layouts that must be refused;
//! - [`mutate`]: damages the bytes of a valid input;
//! - [`Nested`]: the oracle, an array as the list of the addresses of its elements, with every
//!   operation written in the most obvious way;
//! - [`arrow`]: the hostile producer of Arrow's C structs;
//! - [`buffer`]: the hostile exporter of Python's buffers;
//! - [`dlpack`]: the hostile producer of DLPack structs;
//! - [`hostile`]: the hostile producer of memory views, with a switch for each misbehaviour;
//! - [`python`]: the interpreter that tests use, and what to do if it or another counterpart is
//!   [`missing`], or the machine cannot run a check ([`not_run`]);
//! - [`status_of_child`]: the wait status of a forked child that performs one task;
//! - [`this_program`], [`c_compiler`] and [`emulated`]: how to start the test program again,
//!   compile C for it, and what to leave out, under an emulator;
//! - [`held`]: the processes that have shared memory of a name open or mapped, and how to send
//!   descriptors in any number;
//! - [`vectors`]: the recorded answers of Ruby's MemoryView, and which of them are wrong;
//! - [`layouts`]: its answers about strides, contiguity and item pointers;
//! - [`bugs`]: its known bugs;
//! - [`Coverage`]: the coverage of a property test, printed and asserted.
//!
//! Addresses are `i128` throughout, so that nothing here can overflow.

pub mod arrow;
pub mod arrow_columns;
pub mod buffer;
pub mod bugs;
#[cfg(unix)]
mod child;
mod counterpart;
mod coverage;
pub mod dlpack;
mod emulated;
pub mod generate;
#[cfg(unix)]
pub mod held;
pub mod hostile;
pub mod invalid;
pub mod layouts;
mod mutate;
mod nested;
mod plain;
pub mod vectors;

pub use crate::counterpart::{counterparts_are_required, missing, not_run, python};
pub use crate::coverage::Coverage;
pub use crate::emulated::{c_compiler, emulated, this_program};
pub use crate::mutate::mutate;
pub use crate::nested::{Nested, Pick};
pub use crate::plain::{Memory, Placed, Plain};
#[cfg(unix)]
pub use child::status_of_child;

/// The number of random cases of a test: `CROSSDOCK_CASES` from the environment, or the test's own
/// default. A test that runs at least its default asserts everything that it asserts by default.
///
/// # Panics
///
/// If the variable is set to something that is not a number.
pub fn cases(usual: usize) -> usize {
    match std::env::var("CROSSDOCK_CASES") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("CROSSDOCK_CASES is {text:?}, not a number")),
        Err(_) => usual,
    }
}

/// The number of repetitions of a test that depends on chance or needs a process each time:
/// `usual`, and proportionally fewer where `CROSSDOCK_CASES` is below 2,000.
///
/// # Panics
///
/// If the variable is set to something that is not a number.
pub fn rounds(usual: usize) -> usize {
    const USUAL_CASES: usize = 2000;
    (usual * cases(USUAL_CASES).min(USUAL_CASES)).div_ceil(USUAL_CASES)
}

/// Fills `bytes` with a count that no two neighbours share and that differs from page to page.
/// (Here because this crate is optimised in every suite.)
pub fn count_into(bytes: &mut [u8]) {
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = (index * 7 + index / 251) as u8;
    }
}

/// Whether all bytes are zero. (Here because this crate is optimised in every suite.)
pub fn are_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// The seed of a test run: `CROSSDOCK_SEED` from the environment, or a fixed default. Prints it.
///
/// # Panics
///
/// If the variable is set to something that is not a number.
pub fn seed() -> u64 {
    let seed = match std::env::var("CROSSDOCK_SEED") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("CROSSDOCK_SEED is {text:?}, not a number")),
        Err(_) => 20_260_823,
    };
    println!("CROSSDOCK_SEED={seed}");
    seed
}

/// Whether each of `bytes` is `byte`. The C library compares them, in an instrumented build too,
/// where a loop takes a hundred times as long.
pub fn is_filled(bytes: &[u8], byte: u8) -> bool {
    bytes.first().is_none_or(|&first| first == byte && bytes[1..] == bytes[..bytes.len() - 1])
}

/// `count` numbers without a fraction, from 0 to 2²⁴: neighbours differ, and few are equal.
pub fn scattered(count: usize) -> Vec<f32> {
    (1..=count as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 8) as f32).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// A copy of the function could assert less in a long run.
    #[test]
    fn every_test_program_asks_here_how_many_cases_it_runs() {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crossdock/tests");
        let (mut folders, mut count) = (vec![tests], 0);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "rs") {
                    let text = fs::read_to_string(&path).unwrap();
                    assert!(!text.contains("var(\"CROSSDOCK_CASES\")"), "{}", path.display());
                    count += usize::from(text.contains("cases("));
                }
            }
        }
        assert!(count > 10, "{count}");
    }
}
