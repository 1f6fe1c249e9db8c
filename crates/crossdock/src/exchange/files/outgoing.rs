//! An array on its way into a file, with the dtype and the order that its elements get there.

use std::fmt;
use std::sync::Arc;

use crate::array::{Casting, DArray};
use crate::element::{DType, ScalarKind};
use crate::error::Result;
use crate::exchange::files::elements::with_plain_elements;
use crate::kernel::{self, Rounding};
use crate::layout::{Layout, Order};

/// An array to write, and how its elements are converted: in parts, so that the conversion of an
/// array of any size takes little memory.
#[derive(Clone)]
pub struct OutgoingArray {
    pub(super) array: DArray,
    pub(super) dtype: DType,
    casting: Casting,
    rounding: Option<Rounding>,
    order: Option<Order>,
    pub(super) stream: Option<StreamLimits>,
}

/// What a stream may take, and the party that is told of its progress.
#[derive(Clone)]
pub(super) struct StreamLimits {
    /// The memory for converted elements, in bytes.
    pub(super) memory: usize,
    pub(super) progress: Arc<dyn Fn(usize) + Send + Sync>,
}

impl OutgoingArray {
    /// The array as it is: in its order, or row-major.
    pub fn new(array: DArray) -> Self {
        let dtype = array.dtype().clone();
        Self { array, dtype, casting: Casting::Checked, rounding: None, order: None, stream: None }
    }

    /// Converts the elements.
    pub fn cast(mut self, dtype: DType, casting: Casting) -> Self {
        (self.dtype, self.casting) = (dtype, casting);
        self
    }

    /// Rounds floats that become integers, instead of what the casting does to fractions.
    pub fn rounded(mut self, rounding: Rounding) -> Self {
        self.rounding = Some(rounding);
        self
    }

    /// Sets the order of the elements, for formats that have a choice.
    pub fn order(mut self, order: Order) -> Self {
        self.order = Some(order);
        self
    }

    /// Bounds the memory for elements that are gathered in another order, and gives up the pages of
    /// a mapped file once they are read. `progress` is called with the number of bytes whenever
    /// elements have been written.
    pub fn streamed(mut self, memory: usize, progress: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.stream = Some(StreamLimits { memory, progress: Arc::new(progress) });
        self
    }

    /// The array before the conversion.
    pub fn array(&self) -> &DArray {
        &self.array
    }

    /// The dtype in the file.
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// The bytes of all elements in the file.
    ///
    /// # Errors
    ///
    /// `is_overflow`.
    pub fn nbytes(&self) -> Result<usize> {
        Ok(Layout::contiguous(self.array.shape(), self.dtype.itemsize(), Order::RowMajor)?.nbytes())
    }

    /// The order of the elements in the file. An array that is contiguous in both is row-major.
    ///
    /// # Errors
    ///
    /// `is_overflow`.
    pub fn written_order(&self) -> Result<Order> {
        let order = self.order.or(self.array.layout().order()).unwrap_or(Order::RowMajor);
        let layout = Layout::contiguous(self.array.shape(), self.dtype.itemsize(), order)?;
        Ok(layout.order().unwrap_or(order))
    }

    /// The converted array in memory, for formats that need it as a whole; the array itself if
    /// nothing is converted.
    ///
    /// # Errors
    ///
    /// As [`DArray::cast`].
    pub fn to_array(&self) -> Result<DArray> {
        if self.is_cast() {
            return self.convert(&self.array, self.written_order()?);
        }
        Ok(self.array.clone())
    }

    /// Converts a part of the array as all of it is converted.
    ///
    /// # Errors
    ///
    /// As [`DArray::cast`].
    pub fn convert(&self, part: &DArray, order: Order) -> Result<DArray> {
        self.whole(part, order)?.cast(&self.dtype, order, self.casting)
    }

    /// Converts a part of the array into another array.
    pub(super) fn convert_into(&self, target: &DArray, part: &DArray) -> Result<()> {
        target.assign(&self.whole(part, Order::RowMajor)?, self.casting)
    }

    /// The part with the floats rounded that become integers: in new memory, or as it is.
    fn whole(&self, part: &DArray, order: Order) -> Result<DArray> {
        let kind = |dtype: &DType| dtype.as_scalar().map(|scalar| scalar.kind());
        match (
            self.rounding,
            kind(part.dtype()).and_then(lane),
            kind(&self.dtype).is_some_and(ScalarKind::is_integer),
        ) {
            (Some(rounding), Some(lane), true) => {
                let whole = part.cast(&lane, order, Casting::Checked)?;
                kernel::round(rounding, &mut whole.buffer()?.0.write()?, lane == DType::F64);
                Ok(whole)
            }
            _ => Ok(part.clone()),
        }
    }

    /// Whether the elements are converted.
    pub(super) fn is_cast(&self) -> bool {
        self.dtype != *self.array.dtype()
    }

    /// The axes of a sub-array after those of the array: for formats whose elements have no axes.
    pub(super) fn with_plain_elements(&self) -> Result<Self> {
        let array = with_plain_elements(&self.array)?;
        let dtype = if self.is_cast() { self.dtype.clone() } else { array.dtype().clone() };
        Ok(Self { array, dtype, ..self.clone() })
    }

    pub(super) fn wrote(&self, nbytes: usize) {
        if let Some(stream) = &self.stream {
            (stream.progress)(nbytes);
        }
    }
}

/// The native float that represents every number of a kind of floats; `None` for other kinds.
fn lane(kind: ScalarKind) -> Option<DType> {
    use ScalarKind::*;
    match kind {
        Float64 => Some(DType::F64),
        Float32 | Float16 | BFloat16 | Float8E3M4 | Float8E4M3 | Float8E4M3B11Fnuz | Float8E4M3Fn
        | Float8E4M3Fnuz | Float8E5M2 | Float8E5M2Fnuz | Float6E2M3Fn | Float6E3M2Fn | Float4E2M1Fn => {
            Some(DType::F32)
        }
        _ => None,
    }
}

/// The arrays as they are.
pub(super) fn outgoing<N: AsRef<str>>(arrays: &[(N, DArray)]) -> Vec<(&str, OutgoingArray)> {
    arrays.iter().map(|(name, array)| (name.as_ref(), OutgoingArray::new(array.clone()))).collect()
}

impl fmt::Debug for OutgoingArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "OutgoingArray {{ array: {:?}, dtype: {}, order: {:?} }}",
            self.array, self.dtype, self.order
        )
    }
}
