//! Elements of arrays as Ruby objects, many at a time.

use crossdock::element::{DType, ScalarKind, Value as Element};
use crossdock::view::Request;
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::{RArray, RClass, RString, Ruby, Value, method, prelude::*};
use rb_sys::VALUE;

use crate::error::{Failure, Result};
use crate::handle::Wrapped;
use crate::value::{array_of, to_ruby};

/// As many objects are made before they are put into an Array: on the stack, where Ruby's collector sees them.
const BATCH: usize = 256;

/// The elements in nested Arrays, one for each axis; of an array without axes, the element.
fn to_a(ruby: &Ruby, this: Wrapped) -> Result<Value> {
    let array = this.array()?;
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

/// Arrays in arrays without an element.
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

/// What scalars in the machine's order become Ruby objects without an [`Element`] between.
fn kind(dtype: &DType) -> Option<ScalarKind> {
    dtype.as_scalar().filter(|scalar| scalar.is_native()).map(|scalar| scalar.kind())
}

/// Nested Arrays that are being filled.
struct Nest<'a> {
    shape: &'a [usize],
    dtype: &'a DType,
    kind: Option<ScalarKind>,
    /// From the outermost, which the caller has on the stack, to the one that is being filled: each is the last entry of the one before.
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

    /// Adds elements of no bytes, of which no chunk tells how many there are.
    fn add_without_bytes(&mut self, ruby: &Ruby, count: usize) -> Result<()> {
        let element = Element::read(self.dtype, &[])?;
        for _ in 0..count {
            self.row(ruby)?.0.push(to_ruby(ruby, &element)?)?;
        }
        Ok(())
    }

    /// The innermost Array, and how many elements it lacks.
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

/// Appends the objects that `object` makes of `N` bytes each, without raising anything but for want of memory.
fn append<const N: usize>(row: RArray, bytes: &[u8], object: impl Fn([u8; N]) -> VALUE) -> Result<()> {
    let raw = row.as_raw();
    // One door for all of them: what is raised in between leaves nothing behind.
    protect(|| {
        let mut batch = [rb_sys::Qnil as VALUE; BATCH];
        for elements in bytes.as_chunks::<N>().0.chunks(BATCH) {
            for (place, &element) in batch.iter_mut().zip(elements) {
                *place = object(element);
            }
            // SAFETY: an Array, and objects on the stack.
            unsafe { rb_sys::rb_ary_cat(raw, batch.as_ptr(), elements.len() as _) };
        }
        raw
    })?;
    Ok(())
}

/// Whether Floats can stand in the reference itself.
const HAS_FLONUMS: bool =
    rb_sys::ruby_special_consts::RUBY_FLONUM_MASK as u32 == 3 && size_of::<VALUE>() == 8;

/// A Float. Most doubles are numbers that stand in the reference, which takes a few shifts; the others are Ruby's to make.
#[inline(always)]
pub(crate) fn float(number: f64) -> VALUE {
    let bits = number.to_bits();
    // The three bits behind the sign of what is not far from 1, and one number that is not.
    let near = matches!((bits >> 60) & 7, 3 | 4) && bits != 0x3000_0000_0000_0000;
    if HAS_FLONUMS && near {
        return ((bits.rotate_left(3) & !3) | 2) as VALUE;
    }
    // SAFETY: a number.
    unsafe { rb_sys::rb_float_new(number) }
}

/// An Integer that stands in the reference, as all of up to 32 bits do.
#[inline(always)]
fn small(number: i64) -> VALUE {
    // SAFETY: far below what a reference has room for.
    unsafe { rb_sys::LONG2FIX(number) }
}

/// Calls the block with every element, in row-major order; each is looked at when its turn comes.
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
    // SAFETY: a length.
    let made = protect(|| unsafe { rb_sys::rb_str_new(core::ptr::null(), view.nbytes() as _) })?;
    // SAFETY: a String that was just made.
    let mut place = unsafe { rb_sys::RSTRING_PTR(made) }.cast_mut().cast::<u8>();
    while let Some(bytes) = chunks.next_chunk() {
        // SAFETY: all chunks have the bytes of the view, which is as long as the String, which nobody else has yet.
        unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        place = place.wrapping_add(bytes.len());
    }
    // SAFETY: the String.
    let made = unsafe { Value::from_raw(made) };
    RString::from_value(made).ok_or_else(|| Failure::ours(ruby, "Ruby made something else than a String"))
}

pub(crate) fn init(class: RClass) -> std::result::Result<(), magnus::Error> {
    class.define_method("to_a", method!(to_a, 0))?;
    class.define_private_method("each_element", method!(each, 0))?;
    class.define_method("to_binary", method!(to_binary, 0))
}
