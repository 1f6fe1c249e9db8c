//! Nulls as arrays: masks of them, and arrays without any.

use crate::array::DArray;
use crate::buffer::{Bitmap, Buffer, MutableBuffer};
use crate::element::DType;
use crate::error::{Error, Kind, Result, try_with_capacity};
use crate::layout::{Layout, Order};
use crate::memory::count_copied;
use crate::table::column::Column;
use crate::table::column_type::{ColumnType, Storage};

/// Bytes in new memory, which count as copied, as an array of booleans.
fn as_booleans(bytes: Buffer) -> Result<DArray> {
    count_copied(bytes.nbytes());
    let layout = Layout::contiguous(&[bytes.nbytes()], 1, Order::RowMajor)?;
    DArray::from_buffer(bytes, DType::BOOL, layout, 0)
}

impl Column {
    /// A boolean for each element: true where it is valid, false where it is null, which behind
    /// dictionaries, runs and unions it also is if the value is. In new memory: copies, and counts,
    /// a byte for each.
    ///
    /// Validity alone decides, as in Arrow: a date or duration that is no time
    /// ([`NAT`](crate::element::NAT)) is valid if its producer says so. [`Column::from_array`]
    /// makes those of an array null.
    ///
    /// ```
    /// use crossdock::buffer::Buffer;
    /// use crossdock::element::DType;
    /// use crossdock::table::{Checks, Column, ColumnParts, ColumnType};
    ///
    /// let validity = Some(Buffer::from_static(&[0b101u8])?);
    /// let buffers = vec![Buffer::from_vec(vec![1u8, 2, 3])?];
    /// let parts = ColumnParts { len: 3, buffers, validity, ..ColumnParts::default() };
    /// let column = Column::new(ColumnType::Fixed(DType::U8), parts, Checks::Shape)?;
    /// assert_eq!(column.mask()?.to_string(), "[ True False  True]");
    /// let filled = column.fill_nulls(&9u8.into())?;
    /// assert_eq!((filled.array()?.to_string().as_str(), filled.null_count()?), ("[1 9 3]", 0));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; `is_fault` if a guarded file shrank; `is_conflict` while a Write lease
    /// is held; `is_place` on a device; as [`Column::value`] where values may be null.
    pub fn mask(&self) -> Result<DArray> {
        let bytes = match self.validity() {
            _ if self.may_refer_to_nulls()? => {
                let mut bytes = try_with_capacity(self.len())?;
                for index in 0..self.len() {
                    bytes.push(u8::from(self.resolved(index)?.is_some()));
                }
                Buffer::from_vec(bytes)?
            }
            Some(validity) => self.or_fault(validity.to_bytes())?,
            // As many as a file says, since they take no memory there.
            None if *self.column_type() == ColumnType::Null => Buffer::zeroed(self.len())?,
            None => {
                let mut bytes = MutableBuffer::new()?;
                bytes.resize(self.len())?;
                bytes.fill(1);
                bytes.freeze()
            }
        };
        as_booleans(bytes)
    }

    /// Whether elements are values of a dictionary, of runs or of a union some of which are null.
    fn may_refer_to_nulls(&self) -> Result<bool> {
        let values = match self.column_type().storage() {
            Storage::RunEnds => &self.children()[1..],
            Storage::Union(_) => self.children(),
            _ => self.dictionary().map_or(&[][..], std::slice::from_ref),
        };
        for values in values {
            if values.null_count()? > 0 || values.may_refer_to_nulls()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The elements of a column of booleans, which are bits, as a byte for each: those of nulls
    /// too. In new memory: copies, and counts, a byte for each.
    ///
    /// # Errors
    ///
    /// `is_dtype` for other types; as [`Column::mask`].
    #[doc(hidden)]
    pub fn truth_values(&self) -> Result<DArray> {
        let ty = self.column_type();
        if *ty != ColumnType::Boolean {
            return Err(Error::new(Kind::DType, format!("elements of type {ty} are no booleans")));
        }
        let bits = Bitmap::new(self.buffers()[0].try_clone()?, self.offset(), self.len())?;
        as_booleans(self.or_fault(bits.to_bytes())?)
    }

    /// [`Column::array`], if it means what the column does: no element is null, in lists of a fixed
    /// size and values of dictionaries neither, and none is a decimal. A dictionary gives its
    /// indices. O(n / 8) for the nulls, as [`Column::null_count`]; O(n) if values of a dictionary
    /// are null.
    ///
    /// # Errors
    ///
    /// `is_value` if elements are null, with their number; `is_unsupported` for decimals, whose
    /// scale no dtype has; as [`Column::array`] and [`Column::null_count`].
    #[doc(hidden)]
    pub fn complete_array(&self) -> Result<DArray> {
        let array = self.array()?;
        self.check_complete("")?;
        Ok(array)
    }

    /// [`Column::complete_array`], if the elements are no indices of a dictionary, which have no
    /// meaning without it. Booleans of a bit each become bytes, by a copy, which counts.
    ///
    /// # Errors
    ///
    /// `is_unsupported` for dictionaries; as [`Column::complete_array`].
    pub(super) fn value_array(&self) -> Result<DArray> {
        fn has_dictionary(column: &Column) -> bool {
            column.dictionary().is_some() || column.children().iter().any(has_dictionary)
        }
        if has_dictionary(self) {
            let ty = self.column_type();
            return Err(Error::unsupported(format!(
                "elements of type {ty} are indices, which mean nothing without their dictionary; decode the \
                 column before the import"
            )));
        }
        if *self.column_type() == ColumnType::Boolean {
            self.check_complete("")?;
            return self.truth_values();
        }
        self.complete_array()
    }

    /// `place` says where the elements are in the outermost column.
    fn check_complete(&self, place: &str) -> Result<()> {
        let (mut nulls, len, ty) = (self.null_count()?, self.len(), self.column_type());
        if self.may_refer_to_nulls()? {
            nulls = 0;
            for index in 0..len {
                nulls += usize::from(self.resolved(index)?.is_none());
            }
        }
        if nulls > 0 {
            let text = format!("{nulls} of {len} elements{place} are null, which no array expresses");
            return Err(Error::new(Kind::Value, text));
        }
        match ty {
            ColumnType::Decimal { .. } => Err(Error::unsupported(format!(
                "no array expresses the scale of elements of type {ty}; a cast before the import makes them \
                 integers or floats"
            ))),
            ColumnType::FixedList { len: each, .. } => {
                // Column 1: the child has `each` elements for each up to the last.
                let (start, end) = (self.offset() * each, (self.offset() + len) * each);
                self.children()[0].slice(start..end)?.check_complete(" of its lists")
            }
            _ => Ok(()),
        }
    }
}
