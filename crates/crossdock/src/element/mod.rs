//! The types and values of single elements.
//!
//! A [`DType`] is a tree: a [`Scalar`], a [`Record`] with named fields, or a [`SubArray`]. It
//! describes how to read the bytes of one element, in either byte order and at any address. Rust
//! types that have a fixed dtype implement [`Element`]; a [`Value`] is one element whose type is
//! known only at run time. A dtype is read from NumPy's spellings by [`FromStr`](std::str::FromStr)
//! and written by [`DType::to_typestr`], and in the format of Python's buffers by
//! [`DType::from_pep3118`] and [`DType::to_pep3118`]. A part that a spelling cannot express is an
//! error that names the part.
//!
//! `value/` is the only interpreter of an element's bytes; `dialect/` has a parser and a printer
//! for each spelling of dtypes.

pub(crate) mod big;
pub(crate) mod dialect;
mod dtype;
pub(crate) mod exact;
pub(crate) mod exact_number;
mod field_of;
mod float;
mod long_digits;
pub(crate) mod long_double;
mod once;
mod padding;
pub(crate) mod record;
mod scalar;
mod single;
mod time;
mod types;
mod units;
pub(crate) mod value;
pub(crate) mod wide_float;

pub use self::dtype::{DType, DTypeKind};
pub use self::field_of::{FieldName, FieldOf};
pub(crate) use self::field_of::{no_field, no_field_among};
pub(crate) use self::float::{Flavour, FloatFormat};
#[doc(hidden)]
pub use self::once::dtype_made_once;
#[doc(hidden)]
pub use self::padding::Padding;
pub(crate) use self::record::MAX_DEPTH;
pub use self::record::{Field, Record, SubArray};
pub use self::scalar::{ByteOrder, Scalar, ScalarKind};
pub(crate) use self::single::{narrowed, widened};
pub use self::time::{NAT, TimeBase, TimeUnit};
#[cfg(feature = "bytemuck-1")]
pub use self::types::Plain;
pub use self::types::{Be, Bool8, Le, MultiByte};
pub use self::value::Value;
pub(crate) use self::value::{Member, digits};
/// The derive macro for the trait: a struct's dtype, and the proof that it has no padding.
///
/// ```
/// use crossdock::element::Element;
///
/// #[derive(Clone, Copy, Element)]
/// #[repr(C)]
/// struct Trade {
///     price: f64,
///     #[element(name = "Vol. (lots)")]
///     volume: u32,
///     venue: [u8; 4],
/// }
///
/// let text = r#"{price: float64 @0, "Vol. (lots)": uint32 @8, venue: (4,)uint8 @12; 16}"#;
/// assert_eq!(Trade::dtype().to_string(), text);
/// ```
///
/// ```compile_fail,E0080
/// use crossdock::element::Element;
///
/// #[derive(Clone, Copy, Element)]
/// #[repr(C)]
/// struct Padded {
///     volume: u32,
///     price: f64, // error: 4 bytes of padding between `volume` and `price`
/// }
/// ```
#[cfg(feature = "derive")]
pub use crossdock_derive::Element;

#[doc(inline)]
pub use crate::field;
use crate::memory::Pod;

/// A Rust type that can be the element of an array, with its dtype.
///
/// Implemented for the integers and floats of the machine, in either byte order ([`Be`], [`Le`]),
/// for [`Bool8`], and for arrays of elements, which are sub-arrays; with the features `half-2` and
/// `num-complex-0_4` for 16-bit floats and complex numbers, and with `bytemuck-1` for types that
/// crate declares as plain (`Plain`). These types are not elements:
///
/// - `bool`, `char` and enums, because imported memory may hold bytes that are not valid values
///   ([`Bool8`] accepts all);
/// - structs with padding, because their padding may be uninitialised;
/// - `u128` and `i128`, for which no dtype exists.
///
/// Structs implement it with `#[derive(Element)]`, which refuses padding.
///
/// ```
/// use crossdock::element::{DType, Element};
///
/// assert_eq!(f64::dtype(), DType::F64);
/// assert_eq!(<[[u8; 3]; 4]>::dtype().to_string(), "(4, 3)uint8");
/// ```
///
/// ```compile_fail,E0277
/// fn take<T: crossdock::element::Element>() {}
/// take::<bool>();
/// ```
///
/// ```compile_fail,E0277
/// #[derive(Clone, Copy)]
/// struct Padded(u8, f64);
/// fn take<T: crossdock::element::Element>() {}
/// take::<Padded>();
/// ```
///
/// # Safety
///
/// 1. `dtype().itemsize() == size_of::<Self>()`.
/// 2. The dtype describes every byte of `Self`, byte order included, as `Self` reads it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element of arrays",
    note = "`bool` is `element::Bool8` in memory; a struct needs `#[derive(Element)]`",
    note = "16-bit floats need the feature `half-2`, and complex numbers `num-complex-0_4`"
)]
pub unsafe trait Element: Pod {
    /// The dtype of this type. The same on every call; O(1) for scalars, one small allocation
    /// otherwise.
    ///
    /// # Panics
    ///
    /// If arrays are nested more than [`MAX_DEPTH`] deep, or are empty with extents whose product
    /// overflows.
    fn dtype() -> DType;
}

macro_rules! element {
    ($($ty:ty = $name:ident),*) => {
        $(
            // SAFETY: 1. and 2. the dtype is the scalar of the same width and meaning as the
            // primitive type, in native byte order.
            unsafe impl Element for $ty {
                fn dtype() -> DType {
                    DType::$name
                }
            }
        )*
    };
}

element!(
    u8 = U8,
    u16 = U16,
    u32 = U32,
    u64 = U64,
    i8 = I8,
    i16 = I16,
    i32 = I32,
    i64 = I64,
    f32 = F32,
    f64 = F64
);

#[cfg(target_pointer_width = "32")]
element!(usize = U32, isize = I32);
#[cfg(target_pointer_width = "64")]
element!(usize = U64, isize = I64);

// SAFETY: 1. and 2. an array is `N` elements of `T` one after the other, which the sub-array of
// `T`'s dtype describes.
unsafe impl<T: Element, const N: usize> Element for [T; N] {
    fn dtype() -> DType {
        match DType::subarray(&[N], T::dtype()) {
            Ok(dtype) => dtype,
            Err(error) => panic!("{} has no dtype: {error}", std::any::type_name::<Self>()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upholds_the_law<T: Element>() {
        assert_eq!(T::dtype().itemsize(), size_of::<T>());
    }

    #[test]
    fn elements_have_the_size_that_their_dtype_says() {
        upholds_the_law::<u8>();
        upholds_the_law::<usize>();
        upholds_the_law::<isize>();
        upholds_the_law::<f64>();
        upholds_the_law::<[i16; 3]>();
        upholds_the_law::<[[f32; 0]; 5]>();
        upholds_the_law::<Bool8>();
        upholds_the_law::<[Be<f64>; 2]>();
        upholds_the_law::<Le<i16>>();
    }
}
