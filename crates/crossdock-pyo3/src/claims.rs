//! The arrays that arguments hold at the moment, so that none is written through one argument while
//! another one has it.
//!
//! The leases of imported memory do not tell: each import makes an allocation of its own.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossdock::{DArray, Error};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use crate::errors;

/// All claims. No code of others runs under the lock.
static CLAIMS: Mutex<Claims> = Mutex::new(Claims { next: 0, all: Vec::new() });

struct Claims {
    next: u64,
    all: Vec<Entry>,
}

struct Entry {
    number: u64,
    array: DArray,
    writes: bool,
}

fn claims() -> MutexGuard<'static, Claims> {
    CLAIMS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An array is held by an argument while the value lives.
pub(crate) struct Claim(u64);

impl Claim {
    /// # Errors
    ///
    /// `BufferError` if the array overlaps a claimed one, and either is written.
    pub(crate) fn of(array: &DArray, writes: bool) -> PyResult<Self> {
        // Cloned and dropped without the lock: the last handle runs its owner's code.
        let kept = array.clone();
        let mut claims = claims();
        let conflict = claims.all.iter().find_map(|entry| {
            let may_meet = writes || entry.writes;
            match may_meet.then(|| entry.array.may_overlap(array))? {
                Ok(false) => None,
                Ok(true) => Some(Ok(entry.writes)),
                Err(error) => Some(Err(error)),
            }
        });
        if let Some(conflict) = conflict {
            drop(claims);
            return Err(refused(array, conflict, writes));
        }
        let number = claims.next;
        claims.next += 1;
        claims.all.push(Entry { number, array: kept, writes });
        Ok(Self(number))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claims = claims();
        let at = claims.all.iter().position(|entry| entry.number == self.0);
        let ended = at.map(|at| claims.all.swap_remove(at));
        // The memory of the list goes with the last claim.
        let spare = if claims.all.is_empty() { mem::take(&mut claims.all) } else { Vec::new() };
        drop(claims);
        drop((ended, spare));
    }
}

#[cold]
fn refused(array: &DArray, conflict: Result<bool, Error>, writes: bool) -> PyErr {
    let other_writes = match conflict {
        Ok(other_writes) => other_writes,
        Err(error) => return errors::exception(&error),
    };
    let what = match (writes, other_writes) {
        (true, true) => "the array is to be written, and overlaps one that another argument writes",
        (true, false) => "the array is to be written, and overlaps one that another argument reads",
        _ => "the array overlaps one that another argument writes",
    };
    PyBufferError::new_err(format!(
        "{what}; it has {} bytes at {:p}; copy one of them with `copy()`",
        array.nbytes(),
        array.as_ptr()
    ))
}
