//! Imports an object of C as an array.

use core::ffi::c_void;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::DType;
use crate::element::dialect::pack;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::abi::View;
use crate::exchange::protocol::memory_view::flags::Flags;
use crate::exchange::protocol::memory_view::foreign::ForeignView;
use crate::exchange::protocol::memory_view::object::{self, ArrayObject};
use crate::exchange::protocol::memory_view::view_lease::ViewLease;
use crate::exchange::protocol::memory_view::{classes, format, hub, last};
use crate::layout::Layout;
use crate::memory::{Birth, Place};

/// Imports a view of an object as an array, zero-copy. The view is released when the array's last
/// handle or lease is dropped, on any thread, or before this returns an error.
///
/// The memory is aliased, since the producer may write it at any time: Share and Pin leases can be
/// taken. The array is read-only if the view is. The import of an [`ArrayObject`] is its array
/// itself, read-only unless the flags have `WRITABLE`.
///
/// # Errors
///
/// As [`get`](super::hub::get); `is_malformed` for a null pointer on the way to an element of an
/// indirect array.
///
/// # Safety
///
/// 1. Clauses 1 and 2 of [`get`](super::hub::get).
/// 2. The pointers of an indirect array may be followed. Each leads to the bytes from the lowest to
///    the highest element behind it.
pub unsafe fn import(obj: *mut c_void, flags: Flags) -> Result<DArray> {
    // SAFETY: clauses 1 and 2 of `# Safety` are those of `try_import`, for the same object.
    let result = unsafe { try_import(obj, flags) };
    result.map_err(|error| error.within("importing a memory view")).inspect_err(last::keep)
}

/// # Safety
///
/// The clauses of [`import`].
unsafe fn try_import(obj: *mut c_void, flags: Flags) -> Result<DArray> {
    if !obj.is_null() {
        // SAFETY: clause 1 of `import`: `obj` is not null (checked above), so it points to an
        // object.
        let class = unsafe { classes::of(obj) };
        if std::ptr::eq(class, object::class()) {
            // SAFETY: ArrayObject 1: an object with the class of this library is an `ArrayObject`,
            // and clause 1 of `import` says that `obj` points to it.
            return unsafe { &*obj.cast::<ArrayObject>() }.hand_over(flags);
        }
    }
    let mut held = HeldView(View::EMPTY);
    // SAFETY: clause 1 of `import` covers the object; the struct is this function's own variable,
    // so no other code uses it.
    unsafe { hub::get(obj, &mut held.0, flags) }?;
    held.into_array()
}

/// A view from the hub. Dropping it releases it.
///
/// # Invariants
///
/// 1. It is empty, or filled in by [`hub::get`] and not released; no other code has a copy that
///    releases it.
struct HeldView(View);

// SAFETY: a view may be released on any thread (clause 2 of `register`), and its pointers lead to
// memory of the hub and the producer that lives until then.
unsafe impl Send for HeldView {}

impl Drop for HeldView {
    fn drop(&mut self) {
        if !self.0.reserved.is_null() {
            // SAFETY: HeldView 1: the field is set, so the hub filled in the view; the array that
            // used its memory was dropped before, or never made.
            let _taken = unsafe { hub::release(&mut self.0) };
        }
    }
}

impl HeldView {
    fn into_array(self) -> Result<DArray> {
        let view = self.0;
        // SAFETY: HeldView 1: `hub::get` checked the view, and holds it until `self` is dropped;
        // clause 2 of `import` covers pointers that suboffsets follow.
        unsafe { array_of(&view, move || drop(self)) }
    }
}

/// Imports the memory that a struct describes as an array, zero-copy. A producer filled in the
/// struct without this hub: for bindings to a foreign hub, such as Ruby's. The struct gets the
/// hub's checks. `release` is called once: when the array's last handle or lease is dropped, on any
/// thread, or before this returns an error.
///
/// As for [`import`], the memory is aliased, and the array is read-only if the view is.
///
/// ```
/// use crossdock::bindings::memory_view::{self, Flags, View};
///
/// let (samples, shape) = ([1.5f32, 2.5, 3.5, 4.5], [2, 2]);
/// let filled = View {
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
/// let array = unsafe { memory_view::adopt(&filled, Flags::SIMPLE, || println!("given back")) }?;
/// assert_eq!((array.strides(), array.get(&[1, 0])?.as_f64()), (&[8, 4][..], Some(3.5)));
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Errors
///
/// `is_malformed`, `is_overflow` and `is_unsupported` for contradictions and unknown values, with
/// both numbers; `is_read_only` and `is_layout` if the view does not meet the flags.
///
/// # Safety
///
/// 1. Until `release` is called, `shape`, `strides` and `sub_offsets` are each null or point to
///    `ndim` numbers, and `format` is null or a C string.
/// 2. Until then, the elements that shape and strides reach are as in clause 4 of
///    [`register`](super::register).
/// 3. The pointers of an indirect array are as in clause 2 of [`import`].
pub unsafe fn adopt<F: FnOnce() + Send + 'static>(filled: &View, flags: Flags, release: F) -> Result<DArray> {
    let mut view_lease = ViewLease::NONE;
    let release = CallOnDrop(Some(release));
    // SAFETY: clause 1 of `# Safety`: the pointers are each null, or lead to `ndim` numbers or a C
    // string, until `release` is called.
    let foreign = unsafe { ForeignView::read(filled) };
    let items = foreign.check(flags, &mut view_lease)?;
    let view = foreign.view(std::ptr::null_mut(), &items, &view_lease);
    // SAFETY: clause 1 of `array_of`: `check` passed, and `view_lease` holds the view's numbers
    // until this returns. Clauses 2 and 3 of `# Safety` are those of `array_of`.
    unsafe { array_of(&view, move || drop(release)) }
}

/// Calls a function once, when it is dropped.
struct CallOnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for CallOnDrop<F> {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}

/// # Safety
///
/// 1. [`ForeignView::check`] passed for the view, whose shape, strides, suboffsets and format live
///    during the call.
/// 2. Until `release` is called, the elements are as in clause 4 of [`register`](super::register).
/// 3. The pointers of an indirect array are as in clause 2 of [`import`].
unsafe fn array_of(view: &View, release: impl FnOnce() + Send + 'static) -> Result<DArray> {
    // An error before the memory owns `release` drops it, which calls it.
    let release = CallOnDrop(Some(release));
    // SAFETY: clause 1 of `# Safety`: the view is checked, and its format, shape, strides and
    // suboffsets live during the call.
    let (dtype, layout) = (unsafe { dtype_of(view) }?, unsafe { layout_of(view) }?);
    let data = view.data.cast::<u8>();
    let array = if layout.suboffsets().is_some() {
        // SAFETY: clauses 2 and 3 of `# Safety`: until `release` is called, the elements that the
        // layout reaches are initialised memory of the host, and its pointers may be followed.
        unsafe { DArray::from_indirect(data, dtype, &layout, Birth::Aliased, move || drop(release)) }?
    } else {
        let span = layout.span();
        let begin = data.wrapping_offset(span.low());
        // SAFETY: clause 2 of `# Safety`: until `release` is called, the elements that the layout
        // reaches are initialised memory of the host; `check` found their span in the address
        // space.
        let buffer = unsafe {
            Buffer::from_foreign(begin, span.nbytes(), Place::CPU, Birth::Aliased, move || drop(release))
        }?;
        DArray::from_buffer(buffer, dtype, layout, span.low().unsigned_abs())?
    };
    Ok(if view.is_readonly() { array.into_readonly() } else { array })
}

/// # Safety
///
/// 1. [`ForeignView::check`] passed for the view.
/// 2. Its format lives during the call.
unsafe fn dtype_of(view: &View) -> Result<DType> {
    // SAFETY: clauses 1 and 2 of `# Safety`: a checked view has a format that is a C string, alive
    // during the call, in which the text is parsed.
    let text = unsafe { format::read(view.format) }?;
    pack::parse(text)?.to_dtype()
}

/// # Safety
///
/// 1. [`ForeignView::check`] passed for the view.
/// 2. Its shape, strides and suboffsets live during the call.
unsafe fn layout_of(view: &View) -> Result<Layout> {
    let View { ndim, shape, strides, sub_offsets, item_size, .. } = *view;
    let rank = ndim as usize;
    let item_size = usize::try_from(item_size)
        .map_err(|_| Error::new(Kind::Malformed, format!("its item_size is {item_size}")))?;
    // SAFETY: clauses 1 and 2 of `# Safety`: a checked view points to `ndim` aligned lengths of the
    // hub's; none is negative, and `usize` has the layout of `isize`.
    let shape = unsafe { std::slice::from_raw_parts(shape.cast::<usize>(), rank) };
    // SAFETY: clauses 1 and 2 of `# Safety`: a checked view points to `ndim` aligned strides of the
    // hub's, alive during the call.
    let strides = unsafe { std::slice::from_raw_parts(strides, rank) };
    if sub_offsets.is_null() {
        return Layout::new(shape, strides, item_size);
    }
    // SAFETY: clauses 1 and 2 of `# Safety`: the suboffsets of a checked view are null (checked
    // above) or `ndim` aligned numbers of the hub's.
    let suboffsets = unsafe { std::slice::from_raw_parts(sub_offsets, rank) };
    let suboffsets: Vec<_> = suboffsets.iter().map(|&jump| (jump >= 0).then_some(jump)).collect();
    Layout::with_suboffsets(shape, strides, &suboffsets, item_size)
}
