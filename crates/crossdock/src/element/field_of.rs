//! Fields of structs, by a name or by a token that the compiler has checked.

use std::fmt;
use std::marker::PhantomData;

use crate::element::{DType, Element, Field};
use crate::error::similar::did_you_mean;
use crate::error::{Error, Kind, Result};

/// The position of a field of type `F` in elements `T`. Made by [`field!`](crate::field!), checked
/// by the compiler, or from a name, checked at run time.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use crossdock::element::{Element, FieldOf};
///
/// #[derive(Clone, Copy, Element)]
/// #[repr(C, packed)]
/// struct Trade { kind: u8, price: f64 }
///
/// impl Trade {
///     const PRICE: FieldOf<Self, f64> = crossdock::field!(Trade, price);
/// }
/// assert_eq!(Trade::PRICE.offset(), 1);
/// # }
/// ```
pub struct FieldOf<T, F> {
    /// Invariant 1: that, and the size of `F`, is at most the size of `T`.
    offset: usize,
    types: PhantomData<fn(T) -> F>,
}

impl<T: Element, F: Element> FieldOf<T, F> {
    /// The field `offset` bytes into `T`; `_take` serves only for its type. For
    /// [`field!`](crate::field!). Any offset is sound, because every bit pattern is an `F`.
    ///
    /// # Panics
    ///
    /// If the field would reach beyond the end of `T`.
    pub const fn new(offset: usize, _take: fn(T) -> F) -> Self {
        assert!(
            offset <= size_of::<T>() && size_of::<F>() <= size_of::<T>() - offset,
            "the field lies outside of the element"
        );
        Self { offset, types: PhantomData }
    }

    /// The offset in bytes from the start of the element.
    #[inline]
    pub const fn offset(&self) -> usize {
        self.offset
    }
}

impl<T, F> Clone for FieldOf<T, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, F> Copy for FieldOf<T, F> {}

impl<T, F> fmt::Debug for FieldOf<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FieldOf({} @{})", std::any::type_name::<F>(), self.offset)
    }
}

/// A field's name: text, or the result of [`field!`](crate::field!).
pub trait FieldName<T: Element, F: Element> {
    /// The position of the field.
    ///
    /// # Errors
    ///
    /// `is_dtype` if `T` has no such field, or its dtype is not that of `F`. A [`FieldOf`] never
    /// fails.
    #[doc(hidden)]
    fn locate(self) -> Result<FieldOf<T, F>>;
}

impl<T: Element, F: Element> FieldName<T, F> for FieldOf<T, F> {
    #[inline]
    #[doc(hidden)]
    fn locate(self) -> Result<FieldOf<T, F>> {
        Ok(self)
    }
}

impl<T: Element, F: Element> FieldName<T, F> for &str {
    #[doc(hidden)]
    fn locate(self) -> Result<FieldOf<T, F>> {
        let (dtype, wanted) = (T::dtype(), F::dtype());
        let field = dtype.field(self).ok_or_else(|| no_field(&dtype, self))?;
        if *field.dtype() != wanted {
            let (given, wanted) = (field.dtype().brief(), wanted.brief());
            return Err(Error::new(
                Kind::DType,
                format!("field {self:?} is {given}, not {wanted}; request {given}"),
            ));
        }
        // FieldOf 1: a field lies within its record (Record 2), and equal dtypes have equal sizes
        // (Element 1).
        Ok(FieldOf { offset: field.offset(), types: PhantomData })
    }
}

/// The error for a name that no field has.
#[cold]
pub(crate) fn no_field(dtype: &DType, name: &str) -> Error {
    match dtype.as_record() {
        Some(record) => no_field_among(record.fields(), name),
        None => {
            Error::new(Kind::DType, format!("{} has no fields, so there is no field {name:?}", dtype.brief()))
        }
    }
}

/// The error for a name that none of these fields has.
#[cold]
pub(crate) fn no_field_among(fields: &[Field], name: &str) -> Error {
    const MOST: usize = 20;
    let names: Vec<&str> = fields.iter().take(MOST).map(|field| field.name()).collect();
    let more = match fields.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let similar = did_you_mean(name, fields.iter().map(Field::name));
    Error::new(
        Kind::DType,
        format!("there is no field {name:?}{similar}; the fields are {}{more}", names.join(", ")),
    )
}

/// A field of a struct, for [`Array::field`](crate::Array::field) and similar methods: the compiler
/// determines offset and type. Nested fields are written with dots. It can be used in constants.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use crossdock::{Array, element::Element, field};
///
/// #[derive(Clone, Copy, Element)]
/// #[repr(C)]
/// struct Point { x: f32, y: f32 }
///
/// #[derive(Clone, Copy, Element)]
/// #[repr(C)]
/// struct Edge { ends: [u32; 2], middle: Point }
///
/// let edges = Array::from_vec(vec![Edge { ends: [1, 2], middle: Point { x: 0.5, y: 1.5 } }], [1])?;
/// let heights = edges.field(field!(Edge, middle.y))?; // an Array<f32, 1>
/// assert_eq!(heights.get([0])?, 1.5);
/// # }
/// # Ok::<(), crossdock::Error>(())
/// ```
#[macro_export]
macro_rules! field {
    ($struct:ty, $($field:tt).+) => {
        $crate::element::FieldOf::<$struct, _>::new(
            ::core::mem::offset_of!($struct, $($field).+),
            |element: $struct| element.$($field).+,
        )
    };
}
