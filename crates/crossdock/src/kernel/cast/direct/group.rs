//! The loop of a direct conversion: 64 elements at a time, from registers to registers.

use std::mem::{MaybeUninit, offset_of};

use crate::kernel::cast::direct::registers::{CastPiece, CastRegisters};
use crate::kernel::cast::step::{Map, StepArgs, Test};
#[cfg(target_arch = "x86_64")]
use crate::memory::racy::vector;
use crate::memory::{Pod, racy};

/// How many elements are converted at once: one or more registers of either type.
pub(super) const GROUP: usize = 64;

/// A conversion of groups.
pub(super) trait GroupCast {
    type From: Pod;
    type To: Pod;

    /// Must be `#[inline(always)]`, so that it is compiled for the level of its caller.
    ///
    /// # Safety
    ///
    /// 1. The level of `R` is available.
    unsafe fn convert<R: CastRegisters>(args: &StepArgs, from: &[Self::From; GROUP]) -> [Self::To; GROUP];

    /// Whether any of the elements would be lost. 0 never is.
    fn is_lost(_: &StepArgs, _: &[Self::From; GROUP]) -> bool {
        false
    }
}

/// Each element by a step.
#[inline(always)]
pub(super) fn each<M: Map>(args: &StepArgs, from: &[M::From; GROUP]) -> [M::To; GROUP] {
    // No `map`, which may stay a call.
    let mut to = [M::map(args, from[0]); GROUP];
    for (to, &from) in to.iter_mut().zip(from) {
        *to = M::map(args, from);
    }
    to
}

/// Whether the test finds any of the elements.
#[inline(always)]
pub(super) fn any<T: Test>(args: &StepArgs, from: &[T::Of; GROUP]) -> bool {
    from.iter().fold(false, |lost, &value| lost | T::is_lost(args, value))
}

/// How far ahead of a load to prefetch: a line is first brought to the second cache, which has room
/// for more lines on their way, and to the first one just before its use.
#[cfg(target_arch = "x86_64")]
const AHEAD: [usize; 2] = [8192, 512];

/// Converts `len` contiguous elements. Returns whether none was lost.
///
/// # Safety
///
/// 1. `len` elements at `src` may be loaded racily.
/// 2. `len` elements at `dst` may be stored racily. They are the elements at `src`, of the same
///    size, or do not overlap them.
/// 3. The level of `R` is available.
/// 4. If `streams`, `dst` is aligned to 64 bytes, and the caller fences before another thread
///    learns of the elements.
#[inline(always)]
pub(super) unsafe fn run<R: CastRegisters, C: GroupCast>(
    args: &StepArgs,
    src: *const u8,
    dst: *mut u8,
    len: usize,
    streams: bool,
) -> bool {
    let args = *args;
    let (from_size, to_size) = (size_of::<C::From>(), size_of::<C::To>());
    let (mut src, mut dst, mut left, mut lost) = (src, dst, len, false);
    let mut room = MaybeUninit::<Room>::uninit();
    while left > 0 {
        let count = left.min(GROUP);
        if R::HAS_MASKS && count < GROUP {
            // SAFETY: clause 1 of `# Safety`: the last `count` elements; clause 3 covers the level.
            let from: [C::From; GROUP] = unsafe { load_first::<R, _>(src, count) };
            lost |= C::is_lost(&args, &from);
            // SAFETY: clause 3 of `# Safety`.
            let to = unsafe { C::convert::<R>(&args, &from) };
            // SAFETY: clause 2 of `# Safety`: the last `count` elements; clause 3 covers the level.
            unsafe { store_first::<R, _>(dst, &to, count) };
            break;
        }
        // The last elements go through memory that has room for a whole group.
        let (group_src, group_dst) = if count == GROUP {
            (src, dst)
        } else {
            let room = room.as_mut_ptr().cast::<u8>();
            // SAFETY: `Room::from`, which the room begins with, has a group of any element.
            unsafe { room.write_bytes(0, GROUP * from_size) };
            // SAFETY: clause 1 of `# Safety`: these are the last `count` elements, fewer than the
            // group that `Room::from` has.
            unsafe { racy::copy(src, room, count * from_size) };
            (room.cast_const(), room.wrapping_add(offset_of!(Room, to)))
        };
        if streams {
            prefetch(src, from_size);
        }
        // SAFETY: clause 1 of `# Safety`: a group of the elements, or `Room::from`; clause 3 covers
        // the level.
        let from: [C::From; GROUP] = unsafe { load::<R, _>(group_src) };
        lost |= C::is_lost(&args, &from);
        // SAFETY: clause 3 of `# Safety`.
        let to = unsafe { C::convert::<R>(&args, &from) };
        // SAFETY: clause 2 of `# Safety`: a group of the elements, or `Room::to`; clause 3 covers
        // the level. Clause 4 says how `dst` is aligned, to which whole groups are added; a `Room`
        // is aligned, too.
        unsafe { store::<R, _>(group_dst, &to, streams) };
        if count < GROUP {
            // SAFETY: clause 2 of `# Safety`: these are the last `count` elements. `Room::to` has
            // more, all of them written.
            unsafe { racy::copy(group_dst, dst, count * to_size) };
        }
        (src, dst) = (src.wrapping_add(GROUP * from_size), dst.wrapping_add(GROUP * to_size));
        left -= count;
    }
    !lost
}

/// The most bytes of a group.
const MOST: usize = 8 * GROUP;

/// Private memory for a group of which not all elements exist; as many bytes as are used are
/// initialised.
#[repr(C, align(64))]
struct Room {
    from: [u8; MOST],
    to: [u8; MOST],
}

/// # Safety
///
/// 1. As many bytes as `T` has, a multiple of 64, at `src` may be loaded racily.
/// 2. The level of `R` is available.
#[inline(always)]
unsafe fn load<R: CastRegisters, T: Pod>(src: *const u8) -> [T; GROUP] {
    let mut group = MaybeUninit::<[T; GROUP]>::uninit();
    for piece in 0..size_of::<T>() {
        // SAFETY: clause 1 of `# Safety`: the group has 64 bytes for each byte of a `T`, so this
        // piece is one of them; clause 2 covers the level.
        let bytes = unsafe { R::load(src.wrapping_add(piece * size_of::<CastPiece>())) };
        let place = group.as_mut_ptr().cast::<CastPiece>().wrapping_add(piece);
        // SAFETY: the piece lies in `group`, a local; a `CastPiece` has no alignment.
        unsafe { place.write(bytes) };
    }
    // SAFETY: the loop wrote all bytes of the group; every pattern is a value (Pod 1).
    unsafe { group.assume_init() }
}

/// Loads the first `count` elements of a group. The others are 0.
///
/// # Safety
///
/// 1. `count` elements at `src`, at most a group, may be loaded racily.
/// 2. The level of `R` is available, and has masks.
#[inline(always)]
unsafe fn load_first<R: CastRegisters, T: Pod>(src: *const u8, count: usize) -> [T; GROUP] {
    let mut group = MaybeUninit::<[T; GROUP]>::uninit();
    for piece in 0..size_of::<T>() {
        let at = piece * size_of::<CastPiece>();
        let nbytes = (count * size_of::<T>()).saturating_sub(at).min(size_of::<CastPiece>());
        // SAFETY: clause 1 of `# Safety`: `nbytes` of the elements' bytes follow `at`, or it is 0;
        // clause 2 covers the level.
        let bytes = unsafe { R::load_first(src.wrapping_add(at), nbytes) };
        let place = group.as_mut_ptr().cast::<CastPiece>().wrapping_add(piece);
        // SAFETY: the piece lies in `group`, a local; a `CastPiece` has no alignment.
        unsafe { place.write(bytes) };
    }
    // SAFETY: the loop wrote all bytes of the group; every pattern is a value (Pod 1).
    unsafe { group.assume_init() }
}

/// Stores the first `count` elements of a group.
///
/// # Safety
///
/// 1. `count` elements at `dst`, at most a group, may be stored racily.
/// 2. The level of `R` is available, and has masks.
#[inline(always)]
unsafe fn store_first<R: CastRegisters, T: Pod>(dst: *mut u8, group: &[T; GROUP], count: usize) {
    for piece in 0..size_of::<T>() {
        let at = piece * size_of::<CastPiece>();
        let nbytes = (count * size_of::<T>()).saturating_sub(at).min(size_of::<CastPiece>());
        let bytes = group.as_ptr().cast::<CastPiece>().wrapping_add(piece);
        // SAFETY: the group has 64 bytes for each byte of a `T`, so this piece is one of them, and
        // it is initialised (Pod 2); a `CastPiece` has no alignment.
        let bytes = unsafe { &*bytes };
        // SAFETY: clause 1 of `# Safety`: `nbytes` of the elements' bytes follow `at`, or it is 0;
        // clause 2 covers the level.
        unsafe { R::store_first(dst.wrapping_add(at), bytes, nbytes) };
    }
}

/// # Safety
///
/// 1. As many bytes as `T` has, a multiple of 64, at `dst` may be stored racily.
/// 2. The level of `R` is available.
/// 3. If `streams`, `dst` is aligned to 64 bytes, and the caller fences.
#[inline(always)]
unsafe fn store<R: CastRegisters, T: Pod>(dst: *mut u8, group: &[T; GROUP], streams: bool) {
    for piece in 0..size_of::<T>() {
        let bytes = group.as_ptr().cast::<CastPiece>().wrapping_add(piece);
        // SAFETY: the group has 64 bytes for each byte of a `T`, so this piece is one of them, and
        // it is initialised (Pod 2); a `CastPiece` has no alignment.
        let bytes = unsafe { &*bytes };
        let dst = dst.wrapping_add(piece * size_of::<CastPiece>());
        if streams {
            // SAFETY: clauses 1 to 3 of `# Safety`: pieces before this one are multiples of 64
            // bytes.
            unsafe { R::stream(dst, bytes) };
        } else {
            // SAFETY: clauses 1 and 2 of `# Safety`.
            unsafe { R::store(dst, bytes) };
        }
    }
}

/// Prefetches the lines that a group some way ahead has, of elements of this size.
#[inline(always)]
fn prefetch(src: *const u8, size: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..size {
        // A prefetch is no access, so the addresses may be invalid.
        let src = src.wrapping_add(line * size_of::<CastPiece>());
        vector::prefetch_to_second(src.wrapping_add(AHEAD[0]));
        vector::prefetch(src.wrapping_add(AHEAD[1]));
    }
    let _ = (src, size);
}
