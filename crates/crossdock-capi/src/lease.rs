//! Permission to access bytes, held until it is released.

use std::ffi::c_void;

use crossdock::DArray;
use crossdock::buffer::{Buffer, PinGuard, ReadGuard, ShareGuard, WriteGuard};
use crossdock::memory::{LeaseKind, Protocols};
use crossdock::table::TableLease;
use crossdock::view::{MemoryView, Reason, Request};

use crate::error::{Failure, Result, XD_ERROR_PLACE, kind_of as kind_of_error};
use crate::guard::answer;
use crate::handle::Handle;
use crate::words::words;

/// `XD_LEASE_NONE` of the header: the kind of a null lease.
pub const XD_LEASE_NONE: i32 = 0;
/// `XD_LEASE_READ` of the header.
pub const XD_LEASE_READ: i32 = 1;
/// `XD_LEASE_WRITE` of the header.
pub const XD_LEASE_WRITE: i32 = 2;
/// `XD_LEASE_SHARE` of the header.
pub const XD_LEASE_SHARE: i32 = 3;
/// `XD_LEASE_PIN` of the header.
pub const XD_LEASE_PIN: i32 = 4;

/// `xd_lease_t`. It also keeps the memory alive.
pub struct Lease {
    /// The address of the first byte, or of element 0 of an array; null for columns.
    data: *const u8,
    nbytes: usize,
    held: Held,
}

enum Held {
    Read(#[expect(dead_code, reason = "held until it is dropped")] ReadGuard),
    Write(#[expect(dead_code, reason = "as above")] WriteGuard),
    Share(#[expect(dead_code, reason = "as above")] ShareGuard),
    Pin(#[expect(dead_code, reason = "as above")] PinGuard),
    Array(MemoryView),
    Table(TableLease),
}

// SAFETY: the guards, `MemoryView` and `TableLease` are `Send`, and `data` points into memory that
// `held` keeps alive on any thread.
unsafe impl Send for Lease {}
// SAFETY: `&Lease` returns only the address, a size and the kind; nothing reads or writes through
// `data` in Rust.
unsafe impl Sync for Lease {}

fn kind_of(number: i32) -> Result<LeaseKind> {
    match number {
        XD_LEASE_READ => Ok(LeaseKind::Read),
        XD_LEASE_WRITE => Ok(LeaseKind::Write),
        XD_LEASE_SHARE => Ok(LeaseKind::Share),
        XD_LEASE_PIN => Ok(LeaseKind::Pin),
        other => Err(Failure::argument(format!(
            "the argument `kind` is {other}; it must be {XD_LEASE_READ} (read), {XD_LEASE_WRITE} (write), \
            {XD_LEASE_SHARE} (share) or {XD_LEASE_PIN} (pin)"
        ))),
    }
}

/// A request for a view under a lease of this kind.
pub(crate) fn request_of(kind: i32) -> Result<Request> {
    Ok(match kind_of(kind)? {
        LeaseKind::Read => Request::read(),
        LeaseKind::Write => Request::write(),
        LeaseKind::Share => Request::share(),
        LeaseKind::Pin => Request::pin(),
    })
}

impl Lease {
    /// All bytes of a buffer.
    pub(crate) fn of_buffer(buffer: &Buffer, kind: i32) -> Result<Self> {
        let held = match kind_of(kind)? {
            LeaseKind::Read => Held::Read(buffer.read()?),
            LeaseKind::Write => Held::Write(buffer.write()?),
            LeaseKind::Share => Held::Share(buffer.share()?),
            LeaseKind::Pin => Held::Pin(buffer.pin()?),
        };
        Ok(Self { data: buffer.as_ptr(), nbytes: buffer.nbytes(), held })
    }

    /// All elements of an array.
    pub(crate) fn of_array(array: &DArray, kind: i32) -> Result<Self> {
        let request = request_of(kind)?;
        let view = array.export(&request.indirect().held_by(Protocols::LEASE)).map_err(|refusal| {
            match refusal.reason() {
                // The error's kind is that of a buffer lease; its text is more specific.
                Reason::Lease(error) => {
                    Failure::of_kind(kind_of_error(error), refusal.in_words(words).to_string())
                }
                Reason::Place(_) => Failure::of_kind(XD_ERROR_PLACE, refusal.in_words(words).to_string()),
                _ => refusal.into(),
            }
        })?;
        Ok(Self { data: view.as_ptr(), nbytes: view.nbytes(), held: Held::Array(view) })
    }

    /// All the memory of columns, which has no single address.
    pub(crate) fn of_table(
        kind: i32,
        take: impl FnOnce(LeaseKind) -> crossdock::Result<TableLease>,
    ) -> Result<Self> {
        let held = take(kind_of(kind)?).map_err(Failure::of_table)?;
        Ok(Self { data: std::ptr::null(), nbytes: 0, held: Held::Table(held) })
    }

    fn kind(&self) -> LeaseKind {
        match &self.held {
            Held::Read(_) => LeaseKind::Read,
            Held::Write(_) => LeaseKind::Write,
            Held::Share(_) => LeaseKind::Share,
            Held::Pin(_) => LeaseKind::Pin,
            Held::Array(view) => view.grant().lease(),
            Held::Table(lease) => lease.kind(),
        }
    }
}

/// The address of the first byte; of an array, of element 0.
#[unsafe(no_mangle)]
pub extern "C" fn xd_lease_data(lease: Option<&Lease>) -> *const c_void {
    answer(|| lease.map_or(std::ptr::null(), |lease| lease.data.cast()))
}

/// As [`xd_lease_data`], for writing; null where the lease does not permit it.
#[unsafe(no_mangle)]
pub extern "C" fn xd_lease_mutable_data(lease: Option<&Lease>) -> *mut c_void {
    answer(|| match lease {
        Some(lease) if matches!(lease.kind(), LeaseKind::Write | LeaseKind::Share) => {
            lease.data.cast_mut().cast()
        }
        _ => std::ptr::null_mut(),
    })
}

/// The number of bytes; of an array, of all elements without gaps.
#[unsafe(no_mangle)]
pub extern "C" fn xd_lease_nbytes(lease: Option<&Lease>) -> usize {
    answer(|| lease.map_or(0, |lease| lease.nbytes))
}

/// The kind of the lease.
#[unsafe(no_mangle)]
pub extern "C" fn xd_lease_kind(lease: Option<&Lease>) -> i32 {
    answer(|| number_of(lease.map(Lease::kind)))
}

/// The number of a kind.
pub(crate) fn number_of(kind: Option<LeaseKind>) -> i32 {
    match kind {
        None => XD_LEASE_NONE,
        Some(LeaseKind::Read) => XD_LEASE_READ,
        Some(LeaseKind::Write) => XD_LEASE_WRITE,
        Some(LeaseKind::Share) => XD_LEASE_SHARE,
        Some(LeaseKind::Pin) => XD_LEASE_PIN,
    }
}

/// Releases the lease. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_lease_release(lease: Handle<Lease>) {
    answer(|| drop(lease));
}
