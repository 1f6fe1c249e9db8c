//! Formats arrays as NumPy prints them.
//!
//! Reasons: `DESIGN.md`, "Printing never fails".

mod lines;
mod notation;
mod number;
mod sources;
mod style;

use std::fmt;
use std::ptr::NonNull;

use crate::array::display::lines::{CUT, Grid, Page};
use crate::array::display::notation::Notation;
use crate::array::display::style::{Alone, Style};
use crate::array::load_value;
use crate::element::{DType, Value};
use crate::error::Result;
use crate::layout::{Layout, Order};
use crate::memory::Place;

/// Print options; the defaults are NumPy's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    precision: usize,
    threshold: usize,
    edge_items: usize,
    line_width: usize,
    /// The column in which a literal begins, with commas between elements; `None` for spaces
    /// between elements.
    literal: Option<usize>,
    notation: Notation,
}

impl Options {
    const NUMPY: Self = Self {
        precision: 8,
        threshold: 1000,
        edge_items: 3,
        line_width: 75,
        literal: None,
        notation: Notation::NumPy,
    };

    /// For a preview of an array in other output.
    const PREVIEW: Self = Self { threshold: 100, ..Self::NUMPY };
}

/// An array as text: brackets, aligned columns, lines of 75 characters, and `...` for the middle of
/// arrays of more than 1000 elements. The output equals `str(array)` in NumPy 2.4.
///
/// `display()` of arrays, their guards and views returns it, and [`Display`](fmt::Display) writes
/// it; a precision in the format (`{:.3}`) applies to floats. Only the shown elements are loaded,
/// under a Pin lease held for the call. If no lease is available (another holder writes, or the
/// memory is in use on a device), the text describes the array and the reason: printing never fails
/// and never waits.
///
/// All floats of an array have one format: with an exponent if any of them needs one, and with the
/// fewest digits that round-trip, up to the precision. Narrow floats that NumPy lacks are written
/// like its `float16`, long doubles as the nearest doubles. One text loads at most about two
/// million values: above that the edges get shorter, unlike in NumPy.
///
/// ```
/// use crossdock::Array;
///
/// let array = Array::from_vec((0..2000).map(|i| f64::from(i) / 3.0).collect(), [1000, 2])?;
/// assert_eq!(
///     array.display().precision(2).edge_items(1).to_string(),
///     "[[0.00e+00 3.33e-01]\n ...\n [6.66e+02 6.66e+02]]"
/// );
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct ArrayDisplay<'a> {
    source: &'a dyn Show,
    options: Options,
}

impl<'a> ArrayDisplay<'a> {
    pub(crate) fn new(source: &'a dyn Show) -> Self {
        Self { source, options: Options::NUMPY }
    }

    /// The maximum number of digits after the point. The default is 8; a precision in the format
    /// overrides it.
    #[must_use]
    pub fn precision(mut self, digits: usize) -> Self {
        self.options.precision = digits;
        self
    }

    /// Above this number of elements, the middle of long axes is left out. The default is 1000.
    #[must_use]
    pub fn threshold(mut self, elements: usize) -> Self {
        self.options.threshold = elements;
        self
    }

    /// The number of elements shown at either end of an axis whose middle is left out. The default
    /// is 3.
    #[must_use]
    pub fn edge_items(mut self, elements: usize) -> Self {
        self.options.edge_items = elements;
        self
    }

    /// The maximum number of characters in a line, unless a single element is longer. The default
    /// is 75.
    #[must_use]
    pub fn line_width(mut self, letters: usize) -> Self {
        self.options.line_width = letters;
        self
    }

    /// Formats the literal of nested lists in NumPy's `repr`, for a text in which it begins in this
    /// column: commas between elements, and an array without axes formatted like an element of an
    /// array.
    ///
    /// ```
    /// use crossdock::Array;
    ///
    /// let array = Array::from_vec(vec![1, 2, 3, 4], [2, 2])?;
    /// assert_eq!(format!("Array({})", array.display().literal(6)), "Array([[1, 2],\n       [3, 4]])");
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    #[must_use]
    #[doc(hidden)]
    pub fn literal(mut self, column: usize) -> Self {
        self.options.literal = Some(column);
        self
    }

    /// Formats elements in the notation of Ruby's `inspect`.
    ///
    /// ```
    /// use crossdock::Array;
    ///
    /// let array = Array::from_vec(vec![1.0, 2.5], [2])?;
    /// assert_eq!(array.display().ruby().to_string(), "[1.0 2.5]");
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    #[must_use]
    #[doc(hidden)]
    pub fn ruby(mut self) -> Self {
        self.options.notation = Notation::Ruby;
        self
    }

    fn text(mut self, f: &fmt::Formatter<'_>) -> Result<String> {
        self.options.precision = f.precision().unwrap_or(self.options.precision);
        let mut text = String::new();
        self.source.with_elements(&mut |elements| text = elements.to_text(&self.options))?;
        Ok(text)
    }
}

impl fmt::Display for ArrayDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text(f) {
            Ok(text) => f.write_str(&text),
            Err(why) => write!(f, "{}: {why}", self.source.head()),
        }
    }
}

/// A description of the array, and its elements.
impl fmt::Debug for ArrayDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text(f) {
            Ok(text) => write!(f, "{}\n{text}", self.source.head()),
            Err(why) => write!(f, "{}: {why}", self.source.head()),
        }
    }
}

/// Writes a description of an array, and a preview of its elements.
pub(crate) fn debug(source: &dyn Show, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    fmt::Debug::fmt(&ArrayDisplay { source, options: Options::PREVIEW }, f)
}

/// Types that can be printed.
pub(crate) trait Show {
    /// The description, without access to the elements.
    fn head(&self) -> DisplayHead<'_>;

    /// Calls `f` once with the elements, under an existing lease or one held for the call. Never
    /// waits.
    fn with_elements(&self, f: &mut dyn FnMut(&RacyElements)) -> Result<()>;
}

/// The description of an array.
pub(crate) struct DisplayHead<'a> {
    pub(crate) name: &'static str,
    pub(crate) dtype: DType,
    pub(crate) shape: &'a [usize],
    pub(crate) strides: &'a [isize],
    pub(crate) address: *const u8,
    pub(crate) place: Place,
    /// Additional text: `, read-only`.
    pub(crate) more: String,
}

impl fmt::Display for DisplayHead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, dtype, shape, strides, address, place, more } = self;
        // By value: the address of a reference would be that of this struct.
        let address: *const u8 = *address;
        let dtype = dtype.brief();
        write!(
            f,
            "{name}({dtype}, shape {shape:?}, strides {strides:?} bytes, at {address:p} on {place}{more})"
        )
    }
}

/// Elements that may be loaded racily.
///
/// # Invariants
///
/// 1. The layout, of elements of the dtype, reaches from `ptr` only bytes that may be loaded racily
///    while this value lives.
/// 2. Pointers that the layout follows from `ptr` may be read, and are never written.
pub(crate) struct RacyElements {
    ptr: NonNull<u8>,
    dtype: DType,
    layout: Layout,
}

/// One text loads at most this many values, and at most four times as many bytes.
const MOST: usize = 1 << 21;

impl RacyElements {
    /// The axes of sub-array elements become axes of the array, as in NumPy, unless the rank would
    /// be too great.
    ///
    /// # Safety
    ///
    /// RacyElements 1 and 2 hold for `ptr`, `dtype` and `layout`.
    pub(crate) unsafe fn new(ptr: NonNull<u8>, dtype: DType, layout: Layout) -> Self {
        let Some(subarray) = dtype.as_subarray() else { return Self { ptr, dtype, layout } };
        let base = subarray.base().clone();
        let inner = Layout::contiguous(subarray.shape(), base.itemsize(), Order::RowMajor);
        match inner.and_then(|inner| layout.with_inner(&inner)) {
            Ok(layout) => Self { ptr, dtype: base, layout },
            Err(_) => Self { ptr, dtype, layout },
        }
    }

    fn to_text(&self, options: &Options) -> String {
        if self.layout.is_empty() {
            return "[]".into();
        }
        let weight = values_in(&self.dtype).max(self.dtype.itemsize() / 4).max(1);
        let alone = self.layout.rank() == 0;
        if alone && weight > MOST {
            return CUT.into();
        }
        let grid = Grid::new(self.layout.shape(), options.threshold, options.edge_items, MOST / weight);
        let values: Vec<Result<Value>> = grid
            .indices()
            .map(|index| {
                // SAFETY: 1. the bytes may be loaded racily (RacyElements 1); 2. pointers on the
                // way are readable and never written (RacyElements 2).
                unsafe { load_value(self.ptr, &self.dtype, &self.layout, &index) }
            })
            .collect();
        let known: Vec<&Value> = values.iter().flatten().collect();
        let by_itself = alone && options.literal.is_none();
        let style = Style::of(&self.dtype, &known, options, Alone { element: by_itself, scalar: alone });
        let mut words = values.iter().map(|value| match value {
            Ok(Value::Text(text)) if by_itself => text.clone(),
            Ok(value) if by_itself && self.dtype.as_scalar().is_some() => {
                options.notation.value(value, &self.dtype)
            }
            Ok(value) => style.word(value, &self.dtype, options),
            Err(why) => format!("<{why}>"),
        });
        let (column, separator) = match options.literal {
            Some(column) => (column, ", "),
            None => (0, " "),
        };
        grid.write(&mut words, &Page { width: options.line_width, column, separator })
    }
}

/// The number of scalars in one element, plus one for each record and sub-array.
fn values_in(dtype: &DType) -> usize {
    if let Some(record) = dtype.as_record() {
        return record.fields().iter().fold(1, |sum, field| sum.saturating_add(values_in(field.dtype())));
    }
    match dtype.as_subarray() {
        Some(subarray) => values_in(subarray.base()).saturating_mul(subarray.len()).saturating_add(1),
        None => 1,
    }
}

/// `Display` (the elements), `Debug` (a description and a preview) and `display()` for types that
/// implement [`Show`].
macro_rules! printed {
    ([$($generics:tt)*] $ty:ty) => {
        impl<$($generics)*> $ty {
            /// The elements as text, with options for digits, elements and line width.
            pub fn display(&self) -> $crate::array::ArrayDisplay<'_> {
                $crate::array::ArrayDisplay::new(self)
            }
        }

        /// The elements, as NumPy prints them: see [`ArrayDisplay`](crate::array::ArrayDisplay).
        impl<$($generics)*> std::fmt::Display for $ty {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.display(), f)
            }
        }

        /// The dtype, shape, strides, address and place, and a preview of the elements, if they can
        /// be leased at once.
        impl<$($generics)*> std::fmt::Debug for $ty {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::array::display::debug(self, f)
            }
        }
    };
}

pub(crate) use printed;
