//! Memory that a device allocated becomes a buffer; and what goes wrong when it is freed.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, MutexGuard};

use crate::buffer::Buffer;
use crate::device::pages::Pages;
use crate::device::{Charge, Hold, MemoryManager};
use crate::error::{Error, Kind, Result, try_with_capacity};
use crate::memory::fork::ForkLock;
use crate::memory::header::{Attached, Descriptor, Region};
use crate::memory::overlap::{Elsewhere, Extent};
use crate::memory::owner::{self, Keep};
use crate::memory::release::release_quietly;
use crate::memory::{Backing, Birth, DeviceKind, Handle, Place};

/// A block of device memory, as the driver allocated it.
#[derive(Clone, Copy, Debug)]
pub struct DeviceRegion<'a> {
    /// Where it begins, which slices and bounds are computed with. `None` for memory without
    /// addresses: then a range is reserved, in which the processor faults, until the memory is
    /// released.
    pub address: Option<NonNull<u8>>,
    /// Its size in bytes.
    pub nbytes: usize,
    /// The driver's own object that stands for the memory, or null where the address does. Its
    /// value is that of no other object of any device of this kind, as the handle of a driver is:
    /// operands that overlap are found by it.
    pub object: *mut c_void,
    /// Who else may touch it.
    pub birth: Birth,
    /// Where else the bytes of an object are, if they are: so that overlapping operands are found.
    pub aliases: &'a [Alias],
}

/// A second way to the bytes of a driver's object.
#[derive(Clone, Copy, Debug)]
pub enum Alias {
    /// They are a part of another object of the same kind of devices, from a byte on.
    Object {
        /// The object.
        object: *mut c_void,
        /// The byte of it at which they begin.
        offset: usize,
    },
    /// They are host memory.
    Host {
        /// The address of the first.
        address: *mut c_void,
    },
}

impl Alias {
    /// Registers it for the bytes of an object.
    fn register(self, kind: DeviceKind, object: *mut c_void, nbytes: usize) -> Result<Elsewhere> {
        let there = match self {
            Self::Object { object, offset } => Extent::of_object(kind, object.addr(), offset, nbytes),
            Self::Host { address } => Extent::of_host(address.addr(), nbytes),
        };
        Elsewhere::new(Extent::of_object(kind, object.addr(), 0, nbytes), there)
    }
}

struct DeviceMemory<F> {
    base: NonNull<u8>,
    object: *mut c_void,
    manager: Arc<dyn MemoryManager>,
    charge: Charge,
    release: F,
    is_own: bool,
    elsewhere: Vec<Elsewhere>,
    reserved: Option<Pages>,
}

// SAFETY: the pointers are only handed on (to a manager, which is Send and Sync); what frees them
// is Send.
unsafe impl<F: Send> Send for DeviceMemory<F> {}

impl<F: FnOnce() -> Result<()> + Send + 'static> Keep for DeviceMemory<F> {
    unsafe fn free(self) {
        let Self { manager, charge, release, elsewhere, reserved, .. } = self;
        // Before the driver can make another object of the same address.
        drop(elsewhere);
        if let Err(error) = release() {
            report_release_error(manager.place(), error);
        }
        drop((reserved, charge));
    }

    fn device(&self) -> Option<Attached<'_>> {
        let is_addressed = self.reserved.is_none();
        Some(Attached { manager: &self.manager, object: self.object, base: self.base, is_addressed })
    }

    fn is_own(&self) -> bool {
        self.is_own
    }
}

/// The manager of memory that [`adopt`] or [`adopt_own`] was given.
pub(super) fn manager_of(attached: &Attached<'_>) -> Option<Arc<dyn MemoryManager>> {
    attached.manager.downcast_ref::<Arc<dyn MemoryManager>>().cloned()
}

impl Hold {
    /// Who allocated the memory, where that was a device. To find out whether it is one's own,
    /// downcast it.
    pub fn manager(&self) -> Option<Arc<dyn MemoryManager>> {
        manager_of(&self.attached()?)
    }
}

/// Makes a buffer of memory that a device allocated: for those who implement
/// [`MemoryManager::allocate`]. O(1), and a system call where addresses are reserved.
///
/// `release` is called exactly once, when the last holder goes, on whichever thread that is, or
/// before this returns an error. An error of it is queued ([`take_release_errors`]); the charge
/// ends after it.
///
/// # Errors
///
/// `is_out_of_memory` where there is none for the header, or no addresses.
///
/// # Safety
///
/// As for [`Buffer::from_foreign`], with the manager's place; and where there is an object, it
/// stands for the `nbytes` bytes until `release` is called, and the aliases are true as long.
pub unsafe fn adopt(
    manager: Arc<dyn MemoryManager>,
    region: DeviceRegion<'_>,
    charge: Charge,
    release: impl FnOnce() -> Result<()> + Send + 'static,
) -> Result<Buffer> {
    // SAFETY: `adopt_as` requires what this function requires: the region is valid until `release`
    // is called.
    unsafe { adopt_as(manager, region, charge, release, false) }
}

/// Like [`adopt`], for memory of the driver's own, which `release` frees by calling the driver
/// alone. It may run under the lock of a [`DriverQueue`](crate::device::driver::DriverQueue), so
/// that memory which finished work held last is free again when the work is known to be over. So
/// `release` must use no queue, and run no code of another library.
///
/// # Errors
///
/// As [`adopt`].
///
/// # Safety
///
/// As for [`adopt`].
pub unsafe fn adopt_own(
    manager: Arc<dyn MemoryManager>,
    region: DeviceRegion<'_>,
    charge: Charge,
    release: impl FnOnce() -> Result<()> + Send + 'static,
) -> Result<Buffer> {
    // SAFETY: `adopt_as` requires what this function requires: the region is valid until `release`
    // is called.
    unsafe { adopt_as(manager, region, charge, release, true) }
}

unsafe fn adopt_as(
    manager: Arc<dyn MemoryManager>,
    region: DeviceRegion<'_>,
    charge: Charge,
    release: impl FnOnce() -> Result<()> + Send + 'static,
    is_own: bool,
) -> Result<Buffer> {
    let (place, DeviceRegion { address, nbytes, object, birth, aliases }) = (manager.place(), region);
    let prepared = || -> Result<_> {
        let mut elsewhere = try_with_capacity(aliases.len())?;
        for alias in aliases {
            elsewhere.push(alias.register(place.kind(), object, nbytes)?);
        }
        let Some(base) = address else {
            if object.is_null() && nbytes > 0 {
                let text = format!("{nbytes} bytes on {place} have neither an address nor an object");
                return Err(Error::new(Kind::Malformed, text));
            }
            let reserved = Pages::reserved(nbytes)?;
            return Ok((reserved.base(), elsewhere, Some(reserved)));
        };
        Ok((base, elsewhere, None))
    };
    let (base, elsewhere, reserved) = match prepared() {
        Ok(prepared) => prepared,
        Err(error) => {
            if let Err(also) = release() {
                report_release_error(place, also);
            }
            return Err(error);
        }
    };
    let erased = Region { ptr: base, nbytes, place, backing: Backing::Device };
    let keep = DeviceMemory { base, object, manager, charge, release, is_own, elsewhere, reserved };
    // SAFETY: `nbytes` bytes at `base` until the release: clause of this function's callers for the
    // driver's addresses; those that are reserved are `keep`'s (Pages 1), and nothing follows them.
    unsafe { owner::adopt(erased, birth, keep) }.map(Buffer::whole)
}

/// Memory with something beside that goes after it: the charge of who allocates it, the loan that
/// it came by.
struct Beside<T> {
    whole: Handle,
    beside: T,
}

impl<T: Send + 'static> Keep for Beside<T> {
    unsafe fn free(self) {
        let Self { whole, beside } = self;
        drop(whole);
        drop(beside);
    }

    fn retained_nbytes(&self, _: usize) -> usize {
        self.whole.retained_nbytes()
    }

    fn descriptor(&self) -> Option<Descriptor> {
        self.whole.descriptor()
    }

    fn fault(&self) -> Option<Error> {
        self.whole.fault()
    }

    fn device(&self) -> Option<Attached<'_>> {
        self.whole.device()
    }
}

/// Keeps a value beside new memory to which there is no other handle, and drops it after the
/// memory. O(1); allocates a small block.
pub(crate) fn keeping(fresh: Buffer, beside: impl Send + 'static) -> Result<Buffer> {
    let (whole, ptr, nbytes, _) = fresh.into_parts();
    let header = whole.header();
    let region = Region { ptr, nbytes, place: header.place(), backing: header.backing() };
    let birth = header.birth();
    // SAFETY: the bytes are the whole's, which the handle keeps alive; it is the only one, so that
    // all access goes through the new allocation, which is born as the whole was.
    unsafe { owner::adopt(region, birth, Beside { whole, beside }) }.map(Buffer::whole)
}

/// What went wrong when device memory was freed, or when a [`FixedWriter`](crate::io::FixedWriter)
/// of it was dropped that had more to write.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ReleaseErrors {
    /// Where, and what the device said; the oldest first.
    pub errors: Vec<(Place, Error)>,
    /// How many more there were, for which there was no room.
    pub lost: u64,
}

/// How many errors are kept until [`take_release_errors`] is called.
const ROOM: usize = 256;

struct Queue {
    errors: VecDeque<(Place, Error)>,
    lost: u64,
}

static QUEUE: ForkLock<Queue> = ForkLock::new(Queue { errors: VecDeque::new(), lost: 0 });

fn locked() -> MutexGuard<'static, Queue> {
    QUEUE.lock()
}

/// Queues what went wrong where no caller can be told, such as when a driver's object is dropped,
/// for [`take_release_errors`].
pub fn report_release_error(place: Place, error: Error) {
    let mut queue = locked();
    let unkept = if queue.errors.len() < ROOM && queue.errors.try_reserve(1).is_ok() {
        queue.errors.push_back((place, error));
        None
    } else {
        queue.lost += 1;
        Some(error)
    };
    drop(queue);
    // Dropping the error's source may run code of another library.
    release_quietly(|| drop(unkept));
}

/// Takes what went wrong when device memory was freed or a writer of it dropped, in this process,
/// since the last call. Freeing never panics, aborts or blocks for it: the memory is gone for this
/// program, whatever the device made of it. The first 256 errors are kept, the rest are counted.
pub fn take_release_errors() -> ReleaseErrors {
    let mut queue = locked();
    let (errors, lost) = (std::mem::take(&mut queue.errors), std::mem::take(&mut queue.lost));
    drop(queue);
    ReleaseErrors { errors: errors.into(), lost }
}
