//! Elements at an address, as another library describes them: the validation that Python's
//! protocols share.

use std::mem::MaybeUninit;

use crate::array::{ArrayBuilder, DArray};
use crate::buffer::Buffer;
use crate::element::DType;
use crate::error::{Error, Kind, Result};
use crate::layout::{Layout, MAX_RANK, Order, Span};
use crate::memory::{Birth, Place};

/// A producer's unvalidated description of elements at an address.
pub trait Describe {
    /// The operation that a wrong description fails: "importing a buffer".
    const DOING: &'static str;

    /// The device of the memory.
    fn place(&self) -> Place {
        Place::CPU
    }

    /// The address of element 0.
    fn first(&self) -> *mut u8;

    /// Returns the type of the elements and writes their layout. It validates the whole description
    /// except the address.
    ///
    /// # Errors
    ///
    /// For contradictory or unknown descriptions.
    fn read(&self, layout: &mut Layout) -> Result<DType>;
}

/// A producer's unvalidated shape, strides and suboffsets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located<'a> {
    /// The lengths of the axes.
    pub(crate) shape: &'a [isize],
    /// The distances between neighbours along each axis, in bytes. `None` stands for row-major
    /// order.
    pub(crate) strides: Option<&'a [isize]>,
    /// The suboffsets: an axis with a non-negative number follows a pointer.
    pub(crate) suboffsets: Option<&'a [isize]>,
}

impl Located<'_> {
    /// Validates shape and strides.
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
            let text = format!("it has {} axes; at most {MAX_RANK} are supported", self.shape.len());
            return Err(Error::new(Kind::Unsupported, text));
        }
        let mut shape = [0; MAX_RANK];
        let shape = &mut shape[..self.shape.len()];
        for (axis, (len, &given)) in shape.iter_mut().zip(self.shape).enumerate() {
            *len =
                usize::try_from(given).map_err(|_| malformed(format!("axis {axis} has length {given}")))?;
        }
        match self.strides {
            Some(strides) if strides.len() != shape.len() => {
                Err(malformed(format!("it has {} strides for {} axes", strides.len(), shape.len())))
            }
            // An empty array never uses its strides, so any are accepted.
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
        return Err(malformed(format!(
            "its address is null, but its elements cover {} bytes",
            span.nbytes()
        )));
    }
    span.check_address(first.addr()).map(|lowest| first.with_addr(lowest))
}

/// Imports the elements that a producer describes. O(rank), zero-copy.
///
/// `release` is called exactly once: when the last handle or lease is dropped, on any thread, or
/// before this returns an error.
///
/// # Errors
///
/// `is_malformed` for a null address with elements, negative lengths, strides for another number of
/// axes, and contradictory descriptions; `is_overflow` if shape and strides leave the address
/// space; `is_unsupported` for elements that other programs must not access, and for more than 64
/// axes; `is_out_of_memory`; for invalid types, the errors of the protocol's dialect.
///
/// # Safety
///
/// 1. Until `release` is called, all elements that shape and strides reach from the first are
///    memory of the device. On the host they are initialised and valid for reads, and for writes
///    unless `readonly` is true.
/// 2. If `birth` is `Sole`, no other code accesses them; if `Constant`, no code writes them; if
///    `Aliased`, other code may write them, atomically or in ways that this program's memory model
///    does not see.
/// 3. With suboffsets, the pointers may be followed during the call, and each leads to the bytes
///    from the lowest to the highest element behind it.
pub unsafe fn import<D: Describe>(
    described: &D,
    readonly: bool,
    birth: Birth,
    release: impl FnOnce() + Send + 'static,
) -> Result<DArray> {
    let mut place = MaybeUninit::uninit();
    // SAFETY: clauses 1 to 3 of `# Safety` are those of `import_to`, for the same description,
    // `readonly`, `birth` and `release`.
    unsafe { import_to(&mut place, described, readonly, birth, release) }?;
    // SAFETY: `import_to` returned `Ok`, so `place` holds an initialised array, which is moved out
    // once.
    Ok(unsafe { place.assume_init() })
}

/// Like [`import`], written in its final place, whose owner drops it: for objects of an
/// interpreter.
///
/// # Errors
///
/// As [`import`]; the place stays uninitialised.
///
/// # Safety
///
/// Clauses 1 to 3 of [`import`].
#[inline]
pub unsafe fn import_to<'a, D: Describe>(
    place: &'a mut MaybeUninit<DArray>,
    described: &D,
    readonly: bool,
    birth: Birth,
    release: impl FnOnce() + Send + 'static,
) -> Result<&'a mut DArray> {
    // SAFETY: clauses 1 to 3 of `# Safety` are those of `adopt`, for the same description; `OnDrop`
    // calls `release` when it is dropped.
    unsafe { adopt(place, described, readonly, birth, OnDrop(Some(release))) }.map_err(importing::<D>)
}

/// The implementation of [`import_to`].
///
/// # Safety
///
/// Clauses 1 to 3 of [`import`].
#[inline]
unsafe fn adopt<'a, D: Describe>(
    place: &'a mut MaybeUninit<DArray>,
    described: &D,
    readonly: bool,
    birth: Birth,
    release: OnDrop<impl FnOnce() + Send + 'static>,
) -> Result<&'a mut DArray> {
    let mut making = ArrayBuilder::new(place);
    let dtype = described.read(making.layout())?;
    let first = described.first();
    let span = making.layout().span();
    let begin = check_address(first, span)?;
    let release = move || drop(release);
    if making.layout().suboffsets().is_some() {
        let (place, layout) = making.into_parts();
        // SAFETY: `layout` is the described one: its pointers may be followed during the call
        // (clause 3 of `# Safety`), and its elements are initialised memory until `release` is
        // called, accessed as `birth` describes (clauses 1 and 2).
        let array = unsafe { DArray::from_indirect(first, dtype, &layout, birth, release) }?;
        return Ok(place.write(if readonly { array.into_readonly() } else { array }));
    }
    // SAFETY: `span` is that of the described layout, so its bytes are memory of the device until
    // `release` is called, accessed as `birth` describes (clauses 1 and 2 of `# Safety`).
    // `check_address` found them in the address space.
    let buffer = unsafe { Buffer::from_foreign(begin, span.nbytes(), described.place(), birth, release) }?;
    let buffer = if readonly { buffer.into_readonly() } else { buffer };
    making.finish_on(buffer, dtype, span.low().unsigned_abs())
}

#[cold]
pub(crate) fn importing<D: Describe>(error: Error) -> Error {
    error.within(D::DOING)
}

/// Calls the closure when it is dropped.
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
