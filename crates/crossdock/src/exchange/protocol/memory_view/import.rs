//! From an object of C to an array.

use core::ffi::c_void;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::DType;
use crate::element::dialect::pack;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::abi::View;
use crate::exchange::protocol::memory_view::flags::Flags;
use crate::exchange::protocol::memory_view::foreign::Foreign;
use crate::exchange::protocol::memory_view::loan::Loan;
use crate::exchange::protocol::memory_view::object::{self, ArrayObject};
use crate::exchange::protocol::memory_view::{classes, format, hub, last};
use crate::layout::Layout;
use crate::memory::{Birth, Place};

/// A view of an object as an array, in place. It is released when the array's last handle or lease goes, on whichever thread that is, or before
/// this returns an error.
///
/// The memory is aliased, since the producer may write it at any time: Share and Pin leases can be had. Where the view is read-only, so is the array. Of
/// an [`ArrayObject`] it is the array itself, which is read-only unless the flags ask for `WRITABLE`.
///
/// # Errors
///
/// As [`get`](super::hub::get); `is_malformed` for a null pointer on the way to an element of an
/// indirect array.
///
/// # Safety
///
/// As for [`get`](super::hub::get). Of an indirect array, the pointers may be followed, and each
/// leads to the bytes from the lowest to the highest element behind it.
pub unsafe fn import(obj: *mut c_void, flags: Flags) -> Result<DArray> {
    // SAFETY: the caller's word.
    let result = unsafe { try_import(obj, flags) };
    result.map_err(|error| error.within("importing a memory view")).inspect_err(last::keep)
}

/// # Safety
///
/// As for [`import`].
unsafe fn try_import(obj: *mut c_void, flags: Flags) -> Result<DArray> {
    if !obj.is_null() {
        // SAFETY: the caller's word.
        let class = unsafe { classes::of(obj) };
        if std::ptr::eq(class, object::class()) {
            // SAFETY: an object of this class is such an array (ArrayObject 1).
            return unsafe { &*obj.cast::<ArrayObject>() }.hand_over(flags);
        }
    }
    let mut held = Held(View::EMPTY);
    // SAFETY: the caller's word.
    unsafe { hub::get(obj, &mut held.0, flags) }?;
    held.into_array()
}

/// A view that the hub gave. Released when it is dropped.
///
/// # Invariants
///
/// 1. Filled in by [`hub::get`], and nobody else's.
struct Held(View);

// SAFETY: a view may be released on any thread, and its pointers are the hub's and the producer's, who keep them until then.
unsafe impl Send for Held {}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.0.reserved.is_null() {
            // SAFETY: Held 1, and the memory is not used any more.
            let _taken = unsafe { hub::release(&mut self.0) };
        }
    }
}

impl Held {
    fn into_array(self) -> Result<DArray> {
        let view = self.0;
        // SAFETY: Held 1: checked by the hub, and held until `self` is dropped; the pointers lead on (`import`).
        unsafe { array_of(&view, move || drop(self)) }
    }
}

/// The memory that a struct describes which the caller had filled in by a producer without this hub, as an array, in place: for bindings
/// to a hub of another's, as Ruby's is. The struct is checked as the hub checks it, and `release` is called once: when the array's last handle or
/// lease goes, on whichever thread that is, or before this returns an error.
///
/// As of [`import`], the memory is aliased, and where the view is read-only, so is the array.
///
/// ```
/// use crossdock::bindings::memory_view::{self, Flags, View};
///
/// let (samples, shape) = ([1.5f32, 2.5, 3.5, 4.5], [2, 2]);
/// let lent = View {
///     data: samples.as_ptr().cast_mut().cast(),
///     byte_size: 16,
///     readonly: 1,
///     format: c"f".as_ptr(),
///     item_size: 4,
///     ndim: 2,
///     shape: shape.as_ptr(),
///     ..View::EMPTY
/// };
/// // SAFETY: what the struct points to outlives the array.
/// let array = unsafe { memory_view::adopt(&lent, Flags::SIMPLE, || println!("given back")) }?;
/// assert_eq!((array.strides(), array.get(&[1, 0])?.as_f64()), (&[8, 4][..], Some(3.5)));
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Errors
///
/// `is_malformed`, `is_overflow` and `is_unsupported` for what contradicts itself or has no meaning here, with both numbers; `is_read_only` and
/// `is_layout` where it is not what the flags ask for.
///
/// # Safety
///
/// Until `release` is called, what the struct says is there: wherever it is not null, `shape`, `strides` and `sub_offsets` point to `ndim`
/// numbers and `format` to a C string, and the elements that shape and strides reach are as for [`register`](super::register); the
/// pointers that suboffsets lead over, as for [`import`].
pub unsafe fn adopt<F: FnOnce() + Send + 'static>(lent: &View, flags: Flags, release: F) -> Result<DArray> {
    let (mut view, mut loan) = (View::EMPTY, Loan::NONE);
    let release = Release(Some(release));
    // SAFETY: the caller's word.
    let foreign = unsafe { Foreign::read(lent) };
    let items = foreign.check(flags, &mut loan)?;
    foreign.fill_in(&items, &loan, &mut view);
    // SAFETY: just checked, by what `loan` has until this returns; the rest is the caller's word.
    unsafe { array_of(&view, move || drop(release)) }
}

/// What is to be called once, whichever way it ends.
struct Release<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for Release<F> {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}

/// # Safety
///
/// The view was checked ([`Foreign::check`]), and the memory is there until `release` is called; the pointers of an indirect one lead on, as
/// [`import`] says.
unsafe fn array_of(view: &View, release: impl FnOnce() + Send + 'static) -> Result<DArray> {
    // What fails before the memory has it is released when it is dropped.
    let release = Release(Some(release));
    // SAFETY: the caller's word.
    let (dtype, layout) = (unsafe { dtype_of(view) }?, unsafe { layout_of(view) }?);
    let data = view.data.cast::<u8>();
    let array = if layout.suboffsets().is_some() {
        // SAFETY: the view lends what the layout reaches until it is released, and the pointers lead on (the caller's word).
        unsafe { DArray::from_indirect(data, dtype, &layout, Birth::Aliased, move || drop(release)) }?
    } else {
        let span = layout.span();
        let begin = data.wrapping_offset(span.low());
        // SAFETY: the view lends what the layout reaches until it is released, and it was seen to lie in the address space.
        let buffer = unsafe {
            Buffer::from_foreign(begin, span.nbytes(), Place::CPU, Birth::Aliased, move || drop(release))
        }?;
        DArray::from_buffer(buffer, dtype, layout, span.low().unsigned_abs())?
    };
    Ok(if view.is_readonly() { array.into_readonly() } else { array })
}

/// # Safety
///
/// A view that was checked.
unsafe fn dtype_of(view: &View) -> Result<DType> {
    // SAFETY: a C string (the caller's word).
    let text = unsafe { format::read(view.format) }?;
    pack::parse(text)?.to_dtype()
}

/// # Safety
///
/// A view that was checked, with shape and strides.
unsafe fn layout_of(view: &View) -> Result<Layout> {
    let View { ndim, shape, strides, sub_offsets, item_size, .. } = *view;
    let rank = ndim as usize;
    let item_size = usize::try_from(item_size)
        .map_err(|_| Error::new(Kind::Malformed, format!("its item_size is {item_size}")))?;
    // SAFETY: `ndim` lengths that are not negative (the caller's word).
    let shape = unsafe { std::slice::from_raw_parts(shape.cast::<usize>(), rank) };
    // SAFETY: as many strides.
    let strides = unsafe { std::slice::from_raw_parts(strides, rank) };
    if sub_offsets.is_null() {
        return Layout::new(shape, strides, item_size);
    }
    // SAFETY: as many suboffsets.
    let suboffsets = unsafe { std::slice::from_raw_parts(sub_offsets, rank) };
    let suboffsets: Vec<_> = suboffsets.iter().map(|&jump| (jump >= 0).then_some(jump)).collect();
    Layout::with_suboffsets(shape, strides, &suboffsets, item_size)
}
