//! Buffers over device memory, and the errors of freeing it.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, MutexGuard};

use crate::buffer::Buffer;
use crate::device::pages::Pages;
use crate::device::{Charge, DeviceLease, MemoryManager};
use crate::error::{Error, Kind, Result, try_with_capacity};
use crate::memory::fork::ForkLock;
use crate::memory::header::{Descriptor, DeviceMapping, Region};
use crate::memory::overlap::{Elsewhere, Extent};
use crate::memory::owner::{self, Keep};
use crate::memory::release::{note_failure, release_quietly};
use crate::memory::shareable;
use crate::memory::{Backing, Birth, DeviceKind, Handle, Place};

/// A block of device memory from a driver.
#[derive(Clone, Copy, Debug)]
pub struct DeviceRegion<'a> {
    /// The start address, from which slices and bounds are computed. `None` for memory without
    /// addresses: a range in which the CPU faults is reserved until the memory is released.
    pub address: Option<NonNull<u8>>,
    /// Its size in bytes.
    pub nbytes: usize,
    /// The driver's object for the memory, or null if the address identifies it. The value must be
    /// unique among all objects of devices of this kind, as a driver's handles are: it detects
    /// overlapping operands.
    pub object: *mut c_void,
    /// Who else may access it.
    pub birth: Birth,
    /// Other addresses of the same bytes, to detect overlapping operands.
    pub aliases: &'a [Alias],
}

/// A second address of the bytes of a driver's object.
#[derive(Clone, Copy, Debug)]
pub enum Alias {
    /// They are part of another object of devices of the same kind.
    Object {
        /// The object.
        object: *mut c_void,
        /// The offset in it at which they begin.
        offset: usize,
    },
    /// They are host memory.
    Host {
        /// The address of the first byte.
        address: *mut c_void,
    },
}

impl Alias {
    /// Registers the alias of an object's bytes.
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

// SAFETY: the pointers are only passed to the manager, which is Send and Sync, and not followed
// here; all other fields are Send, with `F: Send`.
unsafe impl<F: Send> Send for DeviceMemory<F> {}

impl<F: FnOnce() -> Result<()> + Send + 'static> Keep for DeviceMemory<F> {
    unsafe fn free(self) {
        let Self { manager, charge, release, elsewhere, reserved, .. } = self;
        // Unregistered before the driver can make another object at the same address.
        drop(elsewhere);
        if let Err(error) = release() {
            report_release_error(manager.place(), error);
        }
        drop((reserved, charge));
    }

    fn device(&self) -> Option<DeviceMapping<'_>> {
        let is_addressed = self.reserved.is_none();
        Some(DeviceMapping { manager: &self.manager, object: self.object, base: self.base, is_addressed })
    }

    fn is_own(&self) -> bool {
        self.is_own
    }
}

/// The manager that was passed to [`adopt`] or [`adopt_own`].
pub(super) fn manager_of(attached: &DeviceMapping<'_>) -> Option<Arc<dyn MemoryManager>> {
    attached.manager.downcast_ref::<Arc<dyn MemoryManager>>().cloned()
}

impl DeviceLease {
    /// The manager that allocated the memory, if a device did. Downcast it to recognise your own.
    pub fn manager(&self) -> Option<Arc<dyn MemoryManager>> {
        manager_of(&self.attached()?)
    }
}

/// Makes a buffer of memory that a device allocated, for implementations of
/// [`MemoryManager::allocate`]. O(1), plus a system call if addresses are reserved.
///
/// `release` is called exactly once, when the last holder is dropped, on any thread, or before this
/// returns an error. Its error is queued ([`take_release_errors`]); the charge ends after it.
///
/// # Errors
///
/// `is_out_of_memory` if there is no memory for the header, or no addresses.
///
/// # Safety
///
/// 1. The region satisfies [`Buffer::from_foreign`]'s contract, at the manager's place, until
///    `release` is called.
/// 2. An object, if there is one, stands for the `nbytes` bytes until then, and the aliases are
///    true until then.
pub unsafe fn adopt(
    manager: Arc<dyn MemoryManager>,
    region: DeviceRegion<'_>,
    charge: Charge,
    release: impl FnOnce() -> Result<()> + Send + 'static,
) -> Result<Buffer> {
    // SAFETY: clauses 1 and 2 of `# Safety` are those of `adopt_as`: region, object and aliases are
    // valid until `release` is called.
    unsafe { adopt_as(manager, region, charge, release, false) }
}

/// Like [`adopt`], for the driver's own memory, which `release` frees by calling only the driver.
/// It may run under the lock of a [`DriverQueue`](crate::device::driver::DriverQueue), so that
/// memory whose last holder was finished work is free when the work is reported as done. Therefore
/// `release` must use no queue and run no code of another library.
///
/// # Errors
///
/// As [`adopt`].
///
/// # Safety
///
/// Clauses 1 and 2 of [`adopt`].
pub unsafe fn adopt_own(
    manager: Arc<dyn MemoryManager>,
    region: DeviceRegion<'_>,
    charge: Charge,
    release: impl FnOnce() -> Result<()> + Send + 'static,
) -> Result<Buffer> {
    // SAFETY: clauses 1 and 2 of `# Safety` are those of `adopt_as`: region, object and aliases are
    // valid until `release` is called.
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
                let text = format!(
                    "{nbytes} bytes on {place} were given with neither an address nor a driver object"
                );
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
    // SAFETY: `nbytes` bytes at `base` stay valid until `keep` is freed: the driver's addresses by
    // clause 1 of [`adopt`], which all callers require; reserved addresses because `keep` owns the
    // pages (Pages 1), and no code follows them.
    unsafe { owner::adopt(erased, birth, keep) }.map(Buffer::whole)
}

/// Memory with a value that is dropped after it, such as the charge of its allocator or the lease
/// that it was imported by.
struct MemoryWith<T> {
    whole: Handle,
    beside: T,
}

impl<T: Send + 'static> Keep for MemoryWith<T> {
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

    fn device(&self) -> Option<DeviceMapping<'_>> {
        self.whole.device()
    }
}

/// Keeps a value with new memory that has no other handle, and drops it after the memory. O(1);
/// allocates a small block.
pub(crate) fn keeping(fresh: Buffer, beside: impl Send + 'static) -> Result<Buffer> {
    let (whole, ptr, nbytes, _) = fresh.into_parts();
    let header = whole.header();
    let region = Region { ptr, nbytes, place: header.place(), backing: header.backing() };
    let birth = header.birth();
    if header.backing() == Backing::Shared {
        shareable::divide(header);
    }
    // SAFETY: the handle `whole`, which `MemoryWith` owns, keeps the bytes of `fresh` alive until
    // it is freed. The callers pass its only handle, so all access goes through the new allocation,
    // with the same birth.
    unsafe { owner::adopt(region, birth, MemoryWith { whole, beside }) }.map(Buffer::whole)
}

/// Errors of freeing device memory, and of dropping a [`FixedWriter`](crate::io::FixedWriter) over
/// it before it was full.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ReleaseErrors {
    /// The places and the devices' errors, the oldest first.
    pub errors: Vec<(Place, Error)>,
    /// The number of further errors, for which there was no room.
    pub lost: u64,
}

/// The number of errors kept until [`take_release_errors`] is called.
const ROOM: usize = 256;

struct ErrorQueue {
    errors: VecDeque<(Place, Error)>,
    lost: u64,
}

static QUEUE: ForkLock<ErrorQueue> = ForkLock::new(ErrorQueue { errors: VecDeque::new(), lost: 0 });

fn locked() -> MutexGuard<'static, ErrorQueue> {
    QUEUE.lock()
}

/// Queues an error that no call can return, such as one of dropping a driver's object, for
/// [`take_release_errors`].
pub fn report_release_error(place: Place, error: Error) {
    note_failure();
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

/// Takes the errors of freeing device memory or dropping a writer over it, in this process, since
/// the last call. Freeing never panics, aborts or blocks because of an error: this program treats
/// the memory as freed. The first 256 errors are kept, the rest are counted.
pub fn take_release_errors() -> ReleaseErrors {
    let mut queue = locked();
    let (errors, lost) = (std::mem::take(&mut queue.errors), std::mem::take(&mut queue.lost));
    drop(queue);
    ReleaseErrors { errors: errors.into(), lost }
}
