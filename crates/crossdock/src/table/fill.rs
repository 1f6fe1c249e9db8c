//! Columns with a value in place of each null.

use crate::buffer::{Bitmap, BitmapBuilder, Buffer, MutableBuffer};
use crate::element::{TimeUnit, Value};
use crate::error::{Error, Kind, Result};
use crate::layout::Order;
use crate::memory::count_copied;
use crate::table::checks::Checks;
use crate::table::column::{Column, ColumnParts};
use crate::table::column_type::{ColumnType, OffsetWidth, Storage};
use crate::table::concat_bytes::NewIntegers;
use crate::table::full::Validity;
use crate::table::integers::IntegerKind;
use crate::table::shape::{VIEW, times};
use crate::table::text::{INLINE, TextBytes};

const MILLISECONDS_OF_A_DAY: i64 = 86_400_000;

/// The seconds, milli-, micro- or nanoseconds of a day.
fn of_a_day(unit: TimeUnit) -> i64 {
    let units = [TimeUnit::NANOSECOND, TimeUnit::MICROSECOND, TimeUnit::MILLISECOND];
    let place = units.iter().position(|&known| known == unit).unwrap_or(units.len());
    86_400 * [1_000_000_000, 1_000_000, 1_000, 1][place]
}

impl Column {
    /// The elements with a value in place of each null, in new memory. Copies, and counts, the
    /// elements; of views, only the views. Decimals and dates take the value of their
    /// [`ColumnType::dtype`](crate::table::ColumnType::dtype).
    ///
    /// ```
    /// use crossdock::buffer::Buffer;
    /// use crossdock::table::{Checks, Column, ColumnParts, ColumnType};
    ///
    /// let buffers = vec![Buffer::from_vec(vec![0i32, 1, 1])?, Buffer::from_static(b"a")?];
    /// let validity = Some(Buffer::from_static(&[0b01u8])?);
    /// let parts = ColumnParts { len: 2, buffers, validity, ..ColumnParts::default() };
    /// let column = Column::new(ColumnType::utf8(), parts, Checks::Shape)?;
    /// let filled = column.fill_nulls(&"none".into())?;
    /// assert_eq!(filled.text()?.get(1)?, Some("none"));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_unsupported` for dictionaries, and types that are neither text, bytes, booleans nor of a
    /// fixed width; `is_value` or `is_dtype` if the value does not fit the type; `is_overflow` if
    /// offsets exceed their width; as [`Column::mask`].
    pub fn fill_nulls(&self, value: &Value) -> Result<Self> {
        self.or_fault(self.filled_as_read(value))
    }

    /// As [`Column::fill_nulls`], of a file that shrank too.
    fn filled_as_read(&self, value: &Value) -> Result<Self> {
        let ty = self.column_type();
        if self.dictionary().is_some() {
            let text = format!("nulls of type {ty} cannot be filled; decode the column first");
            return Err(Error::unsupported(text));
        }
        let buffers = match ty.storage() {
            Storage::Bits => vec![self.filled_bits(value)?],
            Storage::Bytes(width, _) => self.filled_bytes(width, self.bytes_of(value)?)?,
            Storage::Views(_) => self.filled_views(self.bytes_of(value)?)?,
            _ => {
                let filled = self.array()?.to_order(Order::RowMajor)?;
                if let Some(validity) = self.validity() {
                    let mut result = Ok(());
                    validity.for_each_false(|index| {
                        if result.is_ok() {
                            let set = filled.set(&[index], value).and_then(|()| filled.get(&[index]));
                            result = set.and_then(|count| self.check_count(&count));
                        }
                    })?;
                    result?;
                }
                vec![filled.buffer()?.0]
            }
        };
        let parts = ColumnParts { len: self.len(), buffers, ..ColumnParts::default() };
        Self::new(ty.clone(), parts, Checks::Shape)
    }

    /// The bytes of a value that fits a column of text or bytes.
    fn bytes_of<'a>(&self, value: &'a Value) -> Result<&'a [u8]> {
        match (value, self.column_type().is_utf8()) {
            (Value::Text(text), true) => Ok(text.as_bytes()),
            (Value::Bytes(bytes), false) => Ok(bytes),
            _ => Err(self.unfit(value)),
        }
    }

    /// Refuses counts that the type does not have: parts of a day of dates, and times of no day.
    fn check_count(&self, filled: &Value) -> Result<()> {
        let ty = self.column_type();
        let text = match (ty, filled) {
            (ColumnType::Date64, Value::DateTime { count, .. }) if count % MILLISECONDS_OF_A_DAY != 0 => {
                format!("{count} ms are no whole days, and elements of type {ty} are")
            }
            (ColumnType::Time(unit), &Value::Int(count)) if !(0..of_a_day(*unit)).contains(&count) => {
                format!("{count} is no time of day, of which type {ty} has {}", of_a_day(*unit))
            }
            _ => return Ok(()),
        };
        Err(Error::new(Kind::Value, text))
    }

    #[cold]
    fn unfit(&self, value: &Value) -> Error {
        let text = format!("nulls of type {} cannot be filled with {value:?}", self.column_type());
        Error::new(Kind::DType, text)
    }

    fn filled_bits(&self, value: &Value) -> Result<Buffer> {
        let &Value::Bool(value) = value else { return Err(self.unfit(value)) };
        let bits = Bitmap::new(self.buffers()[0].try_clone()?, self.offset(), self.len())?;
        let mut values = bits.to_vec()?;
        if let Some(validity) = self.validity() {
            validity.for_each_false(|index| values[index] = value)?;
        }
        let mut filled = BitmapBuilder::with_capacity(values.len())?;
        filled.append_slice(&values)?;
        count_copied(values.len().div_ceil(8));
        Ok(filled.finish().0)
    }

    fn filled_bytes(&self, width: OffsetWidth, value: &[u8]) -> Result<Vec<Buffer>> {
        let (source, validity, mut room) = (TextBytes::of(self)?, Validity::of(self)?, Vec::new());
        let mut offsets = NewIntegers::new(IntegerKind::from(width))?;
        let mut bytes = MutableBuffer::new()?;
        offsets.push(0)?;
        for index in 0..self.len() {
            let element = match validity.is_valid(index)? {
                true => source.get(index, &mut room)?,
                false => value,
            };
            bytes.extend_from_slice(element)?;
            offsets.push(bytes.nbytes() as i64)?;
        }
        count_copied(bytes.nbytes());
        Ok(vec![offsets.finish(), bytes.freeze()])
    }

    /// New views, the buffers of the old ones, and one of the value if it is long.
    fn filled_views(&self, value: &[u8]) -> Result<Vec<Buffer>> {
        let validity = Validity::of(self)?;
        let mut buffers = self.buffers().iter().map(Buffer::try_clone).collect::<Result<Vec<_>>>()?;
        let mut view = [0; VIEW];
        let len = i32::try_from(value.len()).map_err(|_| {
            let text = format!("a value of {} bytes exceeds views, which count up to 2^31", value.len());
            Error::new(Kind::Overflow, text)
        })?;
        view[..4].copy_from_slice(&len.to_ne_bytes());
        if value.len() <= INLINE {
            view[4..4 + value.len()].copy_from_slice(value);
        } else {
            view[4..8].copy_from_slice(&value[..4]);
            view[8..12].copy_from_slice(&(buffers.len() as i32 - 1).to_ne_bytes());
            buffers.push(Buffer::copy_from_slice(value)?);
        }
        let (first, nbytes) = (times(self.offset(), VIEW)?, times(self.len(), VIEW)?);
        let mut views = MutableBuffer::new()?;
        views.resize(nbytes)?;
        crate::buffer::ReadOrPinLease::at(&buffers[0])?.copy_out(first, &mut views)?;
        for (index, slot) in views.as_chunks_mut::<VIEW>().0.iter_mut().enumerate() {
            if !validity.is_valid(index)? {
                *slot = view;
            }
        }
        count_copied(nbytes);
        buffers[0] = views.freeze();
        Ok(buffers)
    }
}
