//! Bulk conversion of array elements to Ruby objects.

use crossdock::DArray;
use crossdock::element::{DType, ScalarKind, Value as Element};
use crossdock::view::Request;
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::{RArray, RClass, RString, Ruby, Value, method, prelude::*};
use rb_sys::VALUE;

use crate::error::{Failure, Result};
use crate::handle::Wrapped;
use crate::value::{array_of, to_ruby};

/// The number of objects that are created before they are appended to an Array: on the stack, where
/// Ruby's collector finds them.
const BATCH: usize = 256;

/// The elements in nested Arrays, one level for each axis; for an array without axes, the element.
fn to_a(ruby: &Ruby, this: Wrapped) -> Result<Value> {
    nested(ruby, &this.array()?)
}

/// As `to_a`, of an array that no Ruby object has.
pub(crate) fn nested(ruby: &Ruby, array: &DArray) -> Result<Value> {
    if array.rank() == 0 {
        return to_ruby(ruby, &array.get(&[])?);
    }
    if array.is_empty() {
        return Ok(empty(ruby, array.shape())?.as_value());
    }
    let root = array_of(array.shape()[0])?;
    let mut nest =
        Nest { shape: array.shape(), dtype: array.dtype(), kind: kind(array.dtype()), open: vec![root] };
    if array.dtype().itemsize() == 0 {
        nest.add_without_bytes(ruby, array.len())?;
        return Ok(root.as_value());
    }
    let view = array.export(&Request::pin().indirect())?;
    let mut chunks = view.chunks()?;
    while let Some(bytes) = chunks.next_chunk() {
        nest.add(ruby, bytes)?;
    }
    Ok(root.as_value())
}

/// Nested empty Arrays.
fn empty(ruby: &Ruby, shape: &[usize]) -> Result<RArray> {
    let array = ruby.ary_new();
    if let [len, inner @ ..] = shape
        && !inner.is_empty()
    {
        for _ in 0..*len {
            array.push(empty(ruby, inner)?)?;
        }
    }
    Ok(array)
}

/// The kind of native-endian scalars that become Ruby objects without an [`Element`] in between.
fn kind(dtype: &DType) -> Option<ScalarKind> {
    dtype.as_scalar().filter(|scalar| scalar.is_native()).map(|scalar| scalar.kind())
}

/// Nested Arrays during filling.
struct Nest<'a> {
    shape: &'a [usize],
    dtype: &'a DType,
    kind: Option<ScalarKind>,
    /// From the outermost, which the caller has on the stack, to the innermost: each is the last
    /// entry of the one before.
    open: Vec<RArray>,
}

impl Nest<'_> {
    /// Adds elements.
    fn add(&mut self, ruby: &Ruby, mut bytes: &[u8]) -> Result<()> {
        let width = self.dtype.itemsize();
        while !bytes.is_empty() {
            let (row, room) = self.row(ruby)?;
            let (now, later) = bytes.split_at(bytes.len().min(room * width));
            self.fill(ruby, row, now)?;
            bytes = later;
        }
        Ok(())
    }

    /// Adds elements without bytes, whose number no chunk shows.
    fn add_without_bytes(&mut self, ruby: &Ruby, count: usize) -> Result<()> {
        let element = Element::read(self.dtype, &[])?;
        for _ in 0..count {
            self.row(ruby)?.0.push(to_ruby(ruby, &element)?)?;
        }
        Ok(())
    }

    /// The innermost Array, and the number of elements that it lacks.
    fn row(&mut self, ruby: &Ruby) -> Result<(RArray, usize)> {
        let rank = self.shape.len();
        while let Some(&last) = self.open.last() {
            let depth = self.open.len();
            let room = self.shape[depth - 1] - last.len();
            if room == 0 {
                self.open.pop();
            } else if depth == rank {
                return Ok((last, room));
            } else {
                let inner = array_of(self.shape[depth])?;
                last.push(inner)?;
                self.open.push(inner);
            }
        }
        Err(Failure::ours(ruby, "more elements than the shape has"))
    }

    fn fill(&self, ruby: &Ruby, row: RArray, bytes: &[u8]) -> Result<()> {
        match self.kind {
            Some(ScalarKind::Float64) => append(row, bytes, |bytes| float(f64::from_ne_bytes(bytes))),
            Some(ScalarKind::Float32) => append(row, bytes, |bytes| float(f32::from_ne_bytes(bytes).into())),
            Some(ScalarKind::Int64) => {
                append(row, bytes, |bytes| rb_sys::LONG2NUM(i64::from_ne_bytes(bytes)))
            }
            Some(ScalarKind::UInt64) => {
                append(row, bytes, |bytes| rb_sys::ULONG2NUM(u64::from_ne_bytes(bytes)))
            }
            Some(ScalarKind::Int32) => append(row, bytes, |bytes| small(i32::from_ne_bytes(bytes).into())),
            Some(ScalarKind::UInt32) => append(row, bytes, |bytes| small(u32::from_ne_bytes(bytes).into())),
            Some(ScalarKind::Int16) => append(row, bytes, |bytes| small(i16::from_ne_bytes(bytes).into())),
            Some(ScalarKind::UInt16) => append(row, bytes, |bytes| small(u16::from_ne_bytes(bytes).into())),
            Some(ScalarKind::Int8) => append(row, bytes, |bytes| small(i8::from_ne_bytes(bytes).into())),
            Some(ScalarKind::UInt8) => append(row, bytes, |bytes| small(u8::from_ne_bytes(bytes).into())),
            _ => {
                for element in bytes.chunks_exact(self.dtype.itemsize()) {
                    row.push(to_ruby(ruby, &Element::read(self.dtype, element)?)?)?;
                }
                Ok(())
            }
        }
    }
}

/// Appends the objects that `object` makes of `N` bytes each. It raises only if memory runs out.
fn append<const N: usize>(row: RArray, bytes: &[u8], object: impl Fn([u8; N]) -> VALUE) -> Result<()> {
    let raw = row.as_raw();
    // One `protect` for all objects: an exception in between leaves nothing behind.
    protect(|| {
        let mut batch = [rb_sys::Qnil as VALUE; BATCH];
        for elements in bytes.as_chunks::<N>().0.chunks(BATCH) {
            for (place, &element) in batch.iter_mut().zip(elements) {
                *place = object(element);
            }
            // SAFETY: `row` is a live Array, and `batch` has at least `elements.len()` initialised
            // objects, which the stack keeps alive.
            unsafe { rb_sys::rb_ary_cat(raw, batch.as_ptr(), elements.len() as _) };
        }
        raw
    })?;
    Ok(())
}

/// Whether Ruby encodes Floats in the reference itself.
const HAS_FLONUMS: bool =
    rb_sys::ruby_special_consts::RUBY_FLONUM_MASK as u32 == 3 && size_of::<VALUE>() == 8;

/// A Float. Most doubles are encoded in the reference by a few shifts; Ruby allocates the others.
#[inline(always)]
pub(crate) fn float(number: f64) -> VALUE {
    let bits = number.to_bits();
    // The three bits behind the sign select numbers of moderate size; one such pattern is not
    // encodable.
    let near = matches!((bits >> 60) & 7, 3 | 4) && bits != 0x3000_0000_0000_0000;
    if HAS_FLONUMS && near {
        return ((bits.rotate_left(3) & !3) | 2) as VALUE;
    }
    // SAFETY: `rb_float_new` accepts every double. All callers run inside `protect`, or have
    // nothing to drop if it raises.
    unsafe { rb_sys::rb_float_new(number) }
}

/// An Integer in the reference itself; up to 32 bits always fit.
#[inline(always)]
fn small(number: i64) -> VALUE {
    // SAFETY: every caller passes a number of at most 32 bits, which is within the range of a
    // Fixnum.
    unsafe { rb_sys::LONG2FIX(number) }
}

/// Calls the block with every element in row-major order. Each element is read just before its
/// call.
fn each(ruby: &Ruby, this: Wrapped) -> Result<Value> {
    let array = this.array()?;
    let mut index = vec![0; array.rank()];
    for _ in 0..array.len() {
        let _answer: Value = ruby.yield_value(to_ruby(ruby, &array.get(&index)?)?)?;
        for (place, &len) in index.iter_mut().zip(array.shape()).rev() {
            *place += 1;
            if *place < len {
                break;
            }
            *place = 0;
        }
    }
    Ok(this.as_value())
}

/// The bytes of all elements in row-major order, as a binary String.
fn to_binary(ruby: &Ruby, this: Wrapped) -> Result<RString> {
    let view = this.look()?.export(&Request::pin().indirect())?;
    let mut chunks = view.chunks()?;
    // SAFETY: `rb_str_new` accepts null and any length, and `protect` catches what it raises.
    let made = protect(|| unsafe { rb_sys::rb_str_new(core::ptr::null(), view.nbytes() as _) })?;
    // SAFETY: `made` is the String that Ruby just created, and it is on the stack.
    let mut place = unsafe { rb_sys::RSTRING_PTR(made) }.cast_mut().cast::<u8>();
    while let Some(bytes) = chunks.next_chunk() {
        // SAFETY: the chunks have `view.nbytes()` bytes in total, which is the length of the new
        // String; no other code refers to its bytes.
        unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        place = place.wrapping_add(bytes.len());
    }
    // SAFETY: `made` is the String that Ruby just created, and it is on the stack.
    let made = unsafe { Value::from_raw(made) };
    RString::from_value(made).ok_or_else(|| Failure::ours(ruby, "Ruby made something else than a String"))
}

pub(crate) fn init(class: RClass) -> std::result::Result<(), magnus::Error> {
    class.define_private_method("elements", method!(to_a, 0))?;
    class.define_private_method("each_element", method!(each, 0))?;
    class.define_method("to_binary", method!(to_binary, 0))
}
