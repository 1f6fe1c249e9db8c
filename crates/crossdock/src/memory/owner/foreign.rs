//! Memory of another library: a pointer, and a callback that releases it.

use std::ptr::NonNull;

use crate::error::{Error, Kind, Result};
use crate::memory::handle::Handle;
use crate::memory::header::{Birth, Region};
use crate::memory::owner::keep::{Keep, adopt};
use crate::memory::place::{Backing, Place};
use crate::memory::release::release_quietly;
use crate::memory::shareable;

/// Called once, on the thread that drops the last holder.
struct ReleaseOnDrop<F>(F);

impl<F: FnOnce() + Send + 'static> Keep for ReleaseOnDrop<F> {
    unsafe fn free(self) {
        (self.0)();
    }
}

/// O(1). If it fails, it has called `release`.
///
/// # Safety
///
/// 1. Clauses 1 to 3 of [`adopt`] hold, with `release` in the place of `keep.free()`.
pub(crate) unsafe fn adopt_foreign<F>(
    ptr: *mut u8,
    nbytes: usize,
    place: Place,
    birth: Birth,
    release: F,
) -> Result<Handle>
where
    F: FnOnce() + Send + 'static,
{
    match check(ptr, nbytes) {
        Ok(ptr) => {
            let region = Region { ptr, nbytes, place, backing: backing(ptr, nbytes, place, birth) };
            // SAFETY: clause 1 of `# Safety` holds for `adopt`, since freeing `ReleaseOnDrop` calls
            // `release`.
            unsafe { adopt(region, birth, ReleaseOnDrop(release)) }
        }
        Err(error) => {
            release_quietly(release);
            Err(error)
        }
    }
}

/// Memory of another library may be a block of a shareable pool: NumPy's, with the allocator that
/// the wheel installs. If its holders rely on more than aliased memory gives, it stays foreign: a
/// descriptor would end that.
fn backing(ptr: NonNull<u8>, nbytes: usize, place: Place, birth: Birth) -> Backing {
    let may_be_shared = birth == Birth::Aliased && place.is_host();
    match may_be_shared && shareable::descriptor(ptr, nbytes).is_some() {
        true => Backing::Shared,
        false => Backing::Foreign,
    }
}

/// The start of a region, if all of it is addressable.
///
/// Not generic: [`adopt_foreign`] is compiled for each closure type of its callers.
fn check(ptr: *mut u8, nbytes: usize) -> Result<NonNull<u8>> {
    match NonNull::new(ptr) {
        // A producer may export a tensor without elements with a null pointer.
        None if nbytes == 0 => Ok(NonNull::dangling()),
        None => Err(Error::new(Kind::Malformed, format!("a null pointer was given for {nbytes} bytes"))),
        Some(_) if nbytes > isize::MAX as usize => Err(Error::new(
            Kind::Overflow,
            format!(
                "a region of {nbytes} bytes is larger than {} bytes, the size of the address space",
                isize::MAX
            ),
        )),
        Some(ptr) if nbytes > 0 && !ends_in_reach(ptr, nbytes) => Err(Error::new(
            Kind::Overflow,
            format!("a region of {nbytes} bytes at {ptr:p} ends past the last address, {END:#x}"),
        )),
        Some(ptr) => Ok(ptr),
    }
}

/// The greatest address at which memory ends: with pointers of 32 bits, the upper half of the
/// addresses is the program's, too.
const END: usize = if usize::BITS < 64 { usize::MAX } else { usize::MAX / 2 };

/// Whether the end is an address. With pointers of 64 bits it fits a signed integer, too, so that
/// sums of addresses and offsets cannot wrap.
fn ends_in_reach(ptr: NonNull<u8>, nbytes: usize) -> bool {
    ptr.addr().get().checked_add(nbytes).is_some_and(|end| end <= END)
}
