//! Live memory and its holders.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use crossdock::ledger::{self, Entry};

use crate::backing::{backing_of, number_of_birth};
use crate::error::{Failure, Result, XD_ERROR_BOUNDS};
use crate::foreign::{emptied, given, shown, string};
use crate::guard::{ErrorOut, answer, fallible};
use crate::handle::{Handle, hand_over};
use crate::lease::{XD_LEASE_NONE, number_of};

/// `xd_ledger_t`: the live allocations of one moment.
pub struct Ledger(Vec<Entry>);

/// `xd_allocation`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct XdAllocation {
    /// The address of the first byte.
    pub address: usize,
    /// The size in bytes.
    pub nbytes: usize,
    /// The device.
    pub device_kind: i32,
    /// The device's number.
    pub device_ordinal: i32,
    /// One of `XD_BACKING_*`.
    pub backing: i32,
    /// One of `XD_BIRTH_*`.
    pub birth: i32,
    /// The time since it was made; -1 if it was made before.
    pub age_ms: i64,
    /// Handles.
    pub handles: u64,
    /// One of `XD_LEASE_*`: the kind of the leases that are not pins.
    pub lease_kind: i32,
    /// 0.
    pub reserved: i32,
    /// Leases of that kind.
    pub leases: u64,
    /// Pin leases.
    pub pins: u64,
    /// Listed leases.
    pub holder_count: usize,
}

impl From<&Entry> for XdAllocation {
    fn from(of: &Entry) -> Self {
        let milliseconds = |age: std::time::Duration| i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        let (lease_kind, leases) =
            of.leases.map_or((XD_LEASE_NONE, 0), |(kind, leases)| (number_of(Some(kind)), leases));
        Self {
            address: of.address,
            nbytes: of.nbytes,
            device_kind: of.place.kind().0,
            device_ordinal: of.place.ordinal(),
            backing: backing_of(of.backing),
            birth: number_of_birth(of.birth),
            age_ms: of.age.map_or(-1, milliseconds),
            handles: of.handles,
            lease_kind,
            reserved: 0,
            leases,
            pins: of.pins,
            holder_count: of.holders.len(),
        }
    }
}

/// Begins to list allocations and leases.
#[unsafe(no_mangle)]
pub extern "C" fn xd_ledger_switch_on() {
    answer(ledger::switch_on);
}

/// Stops, and forgets the list.
#[unsafe(no_mangle)]
pub extern "C" fn xd_ledger_switch_off() {
    answer(ledger::switch_off);
}

/// Whether allocations are listed.
#[unsafe(no_mangle)]
pub extern "C" fn xd_ledger_is_on() -> bool {
    answer(ledger::is_on)
}

/// The rows for which there was no memory.
#[unsafe(no_mangle)]
pub extern "C" fn xd_ledger_missed() -> u64 {
    answer(ledger::missed)
}

/// The releases of memory that failed.
#[unsafe(no_mangle)]
pub extern "C" fn xd_ledger_failed_releases() -> u64 {
    answer(ledger::failed_releases)
}

/// The list as a table for people.
#[unsafe(no_mangle)]
pub extern "C" fn xd_ledger_to_text(error: ErrorOut<'_>) -> *mut c_char {
    fallible(error, || shown(ledger::report()))
}

/// The list as data.
#[unsafe(no_mangle)]
pub extern "C" fn xd_ledger_read(error: ErrorOut<'_>) -> Handle<Ledger> {
    fallible(error, || hand_over(Ledger(ledger::live())))
}

/// Frees a handle. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_ledger_free(ledger: Handle<Ledger>) {
    answer(|| drop(ledger));
}

/// The number of allocations.
#[unsafe(no_mangle)]
pub extern "C" fn xd_ledger_len(ledger: Option<&Ledger>) -> usize {
    answer(|| ledger.map_or(0, |ledger| ledger.0.len()))
}

/// One allocation; false beyond the end.
#[unsafe(no_mangle)]
pub extern "C" fn xd_ledger_entry(
    ledger: Option<&Ledger>,
    index: usize,
    entry: Option<&mut MaybeUninit<XdAllocation>>,
) -> bool {
    let out = emptied(entry, XdAllocation::default());
    answer(|| match ledger.and_then(|ledger| ledger.0.get(index)) {
        Some(found) => {
            if let Some(out) = out {
                *out = found.into();
            }
            true
        }
        None => false,
    })
}

fn entry_of(ledger: Option<&Ledger>, index: usize) -> Result<&Entry> {
    let entries = &given(ledger, "ledger")?.0;
    entries.get(index).ok_or_else(|| {
        let text = format!("index {index} is out of bounds: the ledger has {} allocations", entries.len());
        Failure::of_kind(XD_ERROR_BOUNDS, text)
    })
}

/// The name of an allocation's pool; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn xd_ledger_pool(ledger: Option<&Ledger>, index: usize, error: ErrorOut<'_>) -> *mut c_char {
    fallible(error, || match entry_of(ledger, index)?.pool {
        Some(name) => string(name.to_owned()),
        None => Ok(std::ptr::null_mut()),
    })
}

/// One of an allocation's leases, for people.
#[unsafe(no_mangle)]
pub extern "C" fn xd_ledger_holder(
    ledger: Option<&Ledger>,
    index: usize,
    holder: usize,
    error: ErrorOut<'_>,
) -> *mut c_char {
    fallible(error, || {
        let holders = &entry_of(ledger, index)?.holders;
        let found = holders.get(holder).ok_or_else(|| {
            let text = format!("holder {holder} is out of bounds: the allocation has {}", holders.len());
            Failure::of_kind(XD_ERROR_BOUNDS, text)
        })?;
        string(found.to_string())
    })
}
