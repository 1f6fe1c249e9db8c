//! The numbers that holders have reserved for versions: one file, for all names of a folder.
//!
//! After a kill, a search finds the memory that processes have open. It cannot find memory in a
//! reply that its reader has not taken yet, so the newest version found may not be the last one
//! given. But a holder reserves numbers in this file before it gives them. So the file's number is
//! at least that of every version that any holder gave, and a holder that continues behind it
//! gives none twice.
//!
//! The file is never removed, and its number never falls: both would undo that.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::{Error, Kind, Result, short};
use crate::exchange::protocol::hold::folder::{Lock, failed};
use crate::memory::os::files;

/// The name of the file: no socket has it.
const FILE: &str = "numbers";

/// How many numbers are reserved at a time, so that the file is seldom written.
const BLOCK: u64 = 1 << 6;

/// The highest number of a version that a holder gives or accepts.
const MOST: u64 = 1 << 62;

/// The highest number that is reserved; 0 if none ever was.
///
/// # Errors
///
/// `is_io` if the file cannot be read, or contains something else.
pub(super) fn reserved(lock: &Lock<'_>) -> Result<u64> {
    let path = lock.path(FILE);
    read(&open(&path)?, &path)
}

/// Reserves numbers from `first` on. Returns the last of them.
///
/// # Errors
///
/// As [`reserved`], and `is_overflow` beyond the highest number of a version.
pub(super) fn reserve(lock: &Lock<'_>, first: u64) -> Result<u64> {
    if first > MOST {
        let text = format!("a version cannot have the number {first}: the highest one is {MOST}");
        return Err(Error::new(Kind::Overflow, text));
    }
    let path = lock.path(FILE);
    let file = open(&path)?;
    let last = first + BLOCK - 1;
    // Always as many digits, in one write: a kill leaves the former number or this one.
    if last > read(&file, &path)? {
        let written = file.write_all_at(format!("{last:020}\n").as_bytes(), 0);
        written.map_err(|error| failed(&path, "could not be written", error))?;
    }
    Ok(last)
}

fn open(path: &Path) -> Result<File> {
    files::open_own(path).map_err(|error| failed(path, "could not be opened", error))
}

fn read(file: &File, path: &Path) -> Result<u64> {
    let mut text = String::new();
    let read = file.take(64).read_to_string(&mut text);
    read.map_err(|error| failed(path, "could not be read", error))?;
    match text.trim() {
        // New, or its holder was killed before it wrote or gave a number.
        "" => Ok(0),
        digits => digits.parse().map_err(|_| {
            let text = format!(
                "{} contains {}, but should contain the highest number of a version; remove it once no process \
                 holds a set",
                path.display(),
                short(digits)
            );
            Error::new(Kind::Io, text)
        }),
    }
}
