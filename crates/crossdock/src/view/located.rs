//! Elements at an address, as somebody else describes them: the check that Python's protocols
//! share.

use std::mem::MaybeUninit;

use crate::array::{DArray, Making};
use crate::buffer::Buffer;
use crate::element::DType;
use crate::error::{Error, Kind, Result};
use crate::layout::{Layout, MAX_RANK, Order, Span};
use crate::memory::{Birth, Place};

/// What a producer says of elements at an address. About nothing of it is anything known.
pub trait Describe {
    /// What fails where this says something wrong: "importing a buffer".
    const DOING: &'static str;

    /// The device whose memory it is.
    fn place(&self) -> Place {
        Place::CPU
    }

    /// The address of element 0.
    fn first(&self) -> *mut u8;

    /// Gives the type of the elements and fills in how they lie: the one check of what is said, but
    /// for the address.
    ///
    /// # Errors
    ///
    /// Whatever contradicts itself or is not known.
    fn read(&self, layout: &mut Layout) -> Result<DType>;
}

/// How elements lie, in the words of their producer. About nothing of it is anything known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located<'a> {
    /// The lengths of the axes.
    pub(crate) shape: &'a [isize],
    /// The distances between neighbours along each axis, in bytes. None stands for row-major order.
    pub(crate) strides: Option<&'a [isize]>,
    /// Where pointers have to be followed: an axis of which the number is not negative.
    pub(crate) suboffsets: Option<&'a [isize]>,
}

impl Located<'_> {
    /// Shape and strides, checked.
    ///
    /// # Errors
    ///
    /// `is_malformed` for negative lengths, and strides for another number of axes;
    /// `is_unsupported` for more than 64 axes; `is_overflow`.
    pub(crate) fn layout_to(&self, itemsize: usize, result: &mut Layout) -> Result<()> {
        let strides = self.strides.filter(|_| self.suboffsets.is_none());
        let plain = strides.and_then(|strides| Layout::new_to(self.shape, strides, itemsize, result));
        if plain.is_none() {
            *result = self.layout(itemsize)?;
        }
        Ok(())
    }

    #[cold]
    fn layout(&self, itemsize: usize) -> Result<Layout> {
        if self.shape.len() > MAX_RANK {
            let text = format!("it has {} axes, and {MAX_RANK} is the most", self.shape.len());
            return Err(Error::new(Kind::Unsupported, text));
        }
        let mut shape = [0; MAX_RANK];
        let shape = &mut shape[..self.shape.len()];
        for (axis, (len, &given)) in shape.iter_mut().zip(self.shape).enumerate() {
            *len = usize::try_from(given)
                .map_err(|_| malformed(format!("axis {axis} has the length {given}")))?;
        }
        match self.strides {
            Some(strides) if strides.len() != shape.len() => {
                Err(malformed(format!("it has {} strides for {} axes", strides.len(), shape.len())))
            }
            // Without elements the strides are never used, whatever they are.
            Some(strides) if !shape.contains(&0) => match self.suboffsets {
                Some(all) if all.iter().any(|&suboffset| suboffset >= 0) => {
                    let followed = |&suboffset: &isize| (suboffset >= 0).then_some(suboffset);
                    let suboffsets: Vec<_> = all.iter().map(followed).collect();
                    Layout::with_suboffsets(shape, strides, &suboffsets, itemsize)
                }
                _ => Layout::new(shape, strides, itemsize),
            },
            _ => Layout::contiguous(shape, itemsize, Order::RowMajor),
        }
    }
}

/// The address of the lowest byte of elements with this layout, if element 0 is at an address.
///
/// # Errors
///
/// `is_malformed` for null with elements; `is_overflow`.
fn check_address(first: *mut u8, span: Span) -> Result<*mut u8> {
    if first.is_null() && span.nbytes() > 0 {
        return Err(malformed(format!("its address is null, for elements on {} bytes", span.nbytes())));
    }
    span.check_address(first.addr()).map(|lowest| first.with_addr(lowest))
}

/// Takes over the elements that a producer describes. O(rank), and copies nothing.
///
/// `release` is called exactly once: when the last handle or lease goes, on whichever thread that
/// is, or before this returns an error.
///
/// # Errors
///
/// `is_malformed` for a null address with elements, negative lengths, strides for another number of
/// axes, and descriptions that contradict themselves; `is_overflow` where shape and strides leave
/// the address space; `is_unsupported` for elements that no other program may touch, and for more
/// than 64 axes; `is_out_of_memory`; as the dialect of the protocol for types that are none.
///
/// # Safety
///
/// Until `release` is called, all elements that shape and strides reach from the first are memory
/// of the device. On the host they are initialised and valid for reads, and for writes unless
/// `readonly` is true. If `birth` is `Sole`, no other code accesses them; if `Constant`, no code
/// writes them; if `Aliased`, other code may write them, atomically or in ways that this program's
/// memory model does not see. Where there are suboffsets, the pointers may be followed now, and
/// each leads to the bytes from the lowest to the highest element behind it.
pub unsafe fn import<D: Describe>(
    described: &D,
    readonly: bool,
    birth: Birth,
    release: impl FnOnce() + Send + 'static,
) -> Result<DArray> {
    let mut place = MaybeUninit::uninit();
    // SAFETY: the memory is what the caller of this function says of it, for the same description.
    unsafe { import_to(&mut place, described, readonly, birth, release) }?;
    // SAFETY: without an error the array was made there.
    Ok(unsafe { place.assume_init() })
}

/// As [`import`], made where it is to stay, whose owner drops it: for objects of an interpreter.
///
/// # Errors
///
/// As [`import`]; nothing is in the place then.
///
/// # Safety
///
/// As for [`import`].
#[inline]
pub unsafe fn import_to<'a, D: Describe>(
    place: &'a mut MaybeUninit<DArray>,
    described: &D,
    readonly: bool,
    birth: Birth,
    release: impl FnOnce() + Send + 'static,
) -> Result<&'a mut DArray> {
    // SAFETY: the memory is what the caller of this function says of it, for the same description.
    unsafe { adopt(place, described, readonly, birth, OnDrop(Some(release))) }.map_err(importing::<D>)
}

/// The work of [`import_to`].
///
/// # Safety
///
/// As for [`import`].
#[inline]
unsafe fn adopt<'a, D: Describe>(
    place: &'a mut MaybeUninit<DArray>,
    described: &D,
    readonly: bool,
    birth: Birth,
    release: OnDrop<impl FnOnce() + Send + 'static>,
) -> Result<&'a mut DArray> {
    let mut making = Making::new(place);
    let dtype = described.read(making.layout())?;
    let first = described.first();
    let span = making.layout().span();
    let begin = check_address(first, span)?;
    let release = move || drop(release);
    if making.layout().suboffsets().is_some() {
        let (place, layout) = making.into_parts();
        // SAFETY: the layout is the one that was described, whose pointers may be followed and
        // whose elements are memory of the host until `release` is called (this function's
        // contract).
        let array = unsafe { DArray::from_indirect(first, dtype, &layout, birth, release) }?;
        return Ok(place.write(if readonly { array.into_readonly() } else { array }));
    }
    // SAFETY: `span` is that of the described layout, so its bytes are memory of the device until
    // `release` is called (this function's contract); they lie in the address space
    // (`check_address`).
    let buffer = unsafe { Buffer::from_foreign(begin, span.nbytes(), described.place(), birth, release) }?;
    let buffer = if readonly { buffer.into_readonly() } else { buffer };
    making.finish_on(buffer, dtype, span.low().unsigned_abs())
}

#[cold]
pub(crate) fn importing<D: Describe>(error: Error) -> Error {
    error.within(D::DOING)
}

/// Calls it when it goes.
struct OnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}

#[cold]
pub(crate) fn malformed(text: impl Into<String>) -> Error {
    Error::new(Kind::Malformed, text)
}
