//! One element of a column, by value.

use crate::element::{TimeBase, TimeUnit, Value};
use crate::error::{Error, Kind, Result, try_copied};
use crate::table::column::Column;
use crate::table::column_type::{ColumnType, IntervalUnit, Storage, UnionMode};
use crate::table::field::Field;
use crate::table::full::check_increase;
use crate::table::integers::{IntegerKind, Integers};
use crate::table::shape::{kind_of, malformed, times};
use crate::table::text::TextBytes;

/// One element of a column. Dictionaries, runs and unions give the value that they refer to.
///
/// ```
/// use crossdock::buffer::Buffer;
/// use crossdock::element::Value;
/// use crossdock::table::{Checks, Column, ColumnParts, ColumnType, ColumnValue};
///
/// let buffers = vec![Buffer::from_vec(vec![0i32, 1, 1])?, Buffer::from_static(b"a")?];
/// let validity = Some(Buffer::from_static(&[0b01u8])?);
/// let parts = ColumnParts { len: 2, buffers, validity, ..ColumnParts::default() };
/// let column = Column::new(ColumnType::utf8(), parts, Checks::Shape)?;
/// assert_eq!(column.value(0)?, ColumnValue::Element(Value::Text("a".into())));
/// assert_eq!(column.value(1)?, ColumnValue::Null);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ColumnValue {
    /// No value.
    Null,
    /// A boolean, a number, text, bytes, a moment or a duration. Dates are moments, times of day
    /// are durations since midnight, intervals of months are durations, others are records.
    /// Timestamps with a time zone are in UTC.
    Element(Value),
    /// A decimal number, exact, as text: `-12.50`.
    Decimal(String),
    /// The elements of a list, in place.
    List(Column),
    /// The entries of a map, in place: a struct of keys and values.
    Map(Column),
    /// A value for each field of a struct.
    Struct(Vec<Self>),
}

impl PartialEq for ColumnValue {
    /// Lists are equal if their elements are; a column that cannot be read equals none.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Element(one), Self::Element(other)) => one == other,
            (Self::Decimal(one), Self::Decimal(other)) => one == other,
            (Self::Struct(one), Self::Struct(other)) => one == other,
            (Self::List(one), Self::List(other)) | (Self::Map(one), Self::Map(other)) => {
                let values = one.values().zip(other.values());
                one.len() == other.len()
                    && values.into_iter().all(|pair| matches!(pair, (Ok(one), Ok(other)) if one == other))
            }
            _ => false,
        }
    }
}

impl Column {
    /// One element, by value, under leases held for the call. Each offset, view and index on the
    /// way is checked. O(1); O(log runs) for runs, whose ends are compared at first; copies text
    /// and bytes, which is not counted: for many elements, see [`Column::text`] and
    /// [`Column::array`].
    ///
    /// # Errors
    ///
    /// `is_bounds` for an index, or an offset, view or index in the column, beyond what it refers
    /// to; `is_malformed` for text that is not UTF-8, run ends that do not increase, and unknown
    /// identifiers of a union; `is_fault` if a guarded file shrank; `is_conflict` while a Write
    /// lease is held; `is_place` on a device.
    pub fn value(&self, index: usize) -> Result<ColumnValue> {
        self.or_fault(self.value_as_read(index))
    }

    /// As [`Column::value`], of a file that shrank too.
    fn value_as_read(&self, index: usize) -> Result<ColumnValue> {
        if index >= self.len() {
            let text = format!("element {index} is out of bounds for a column of {} elements", self.len());
            return Err(Error::new(Kind::Bounds, text));
        }
        match self.validity() {
            Some(validity) if !validity.get(index)? => Ok(ColumnValue::Null),
            _ => self.valid_value(index),
        }
    }

    /// The elements, by value. As [`Column::value`] for each.
    pub fn values(&self) -> impl ExactSizeIterator<Item = Result<ColumnValue>> {
        (0..self.len()).map(|index| self.value(index))
    }

    /// The column that has the value of an element, the index there, and the field of that column:
    /// behind dictionaries, runs and unions, otherwise `None`. `None` for nulls. O(1); O(log runs)
    /// for runs.
    ///
    /// # Errors
    ///
    /// As [`Column::value`].
    #[doc(hidden)]
    pub fn resolved(&self, index: usize) -> Result<Option<(&Self, usize, Option<&Field>)>> {
        self.or_fault(self.resolved_as_read(index, None))
    }

    /// As [`Column::resolved`], of a file that shrank too. `field` is that of this column.
    fn resolved_as_read<'a>(
        &'a self,
        index: usize,
        field: Option<&'a Field>,
    ) -> Result<Option<(&'a Self, usize, Option<&'a Field>)>> {
        if index >= self.len() {
            let text = format!("element {index} is out of bounds for a column of {} elements", self.len());
            return Err(Error::new(Kind::Bounds, text));
        }
        if let Some(validity) = self.validity()
            && !validity.get(index)?
        {
            return Ok(None);
        }
        let (at, ty) = (self.offset() + index, self.column_type());
        let (below, element, number) = match (ty.storage(), self.dictionary()) {
            (Storage::Null, _) => return Ok(None),
            (Storage::RunEnds, _) => (&self.children()[1], self.run_of(at)?, 1),
            (Storage::Union(mode), _) => {
                let (child, element) = self.member_of(mode, at)?;
                (&self.children()[child], element, child)
            }
            (_, Some(values)) => (values, self.entry_of(index)?, 0),
            _ => return Ok(Some((self, index, field))),
        };
        below.resolved_as_read(element, ty.fields().nth(number))
    }

    fn valid_value(&self, index: usize) -> Result<ColumnValue> {
        let (at, children, buffers) = (self.offset() + index, self.children(), self.buffers());
        let ty = self.column_type();
        match ty.storage() {
            Storage::Null => Ok(ColumnValue::Null),
            Storage::Bits => {
                let bits = crate::buffer::Bitmap::new(buffers[0].try_clone()?, at, 1)?;
                Ok(ColumnValue::Element(Value::Bool(bits.get(0)?)))
            }
            Storage::Fixed(_) => self.fixed_value(index),
            Storage::Bytes(_, is_text) | Storage::Views(is_text) => {
                let (bytes, mut room) = (TextBytes::of(self)?, Vec::new());
                let bytes = try_copied(bytes.get(index, &mut room)?)?;
                Ok(ColumnValue::Element(match is_text {
                    true => Value::Text(String::from_utf8(bytes).map_err(|error| {
                        let at = error.utf8_error().valid_up_to();
                        malformed(format!("byte {at} of element {index} is not valid UTF-8"))
                    })?),
                    false => Value::Bytes(bytes),
                }))
            }
            Storage::List(width) => {
                let offsets = Integers::at(&buffers[0], width)?;
                let list = part(&children[0], offsets.get(at)?, offsets.get(at + 1)?)?;
                let is_map = matches!(ty, ColumnType::Map { .. });
                Ok(if is_map { ColumnValue::Map(list) } else { ColumnValue::List(list) })
            }
            Storage::ListView(width) => {
                let start = Integers::at(&buffers[0], width)?.get(at)?;
                let size = Integers::at(&buffers[1], width)?.get(at)?;
                part(&children[0], start, start.saturating_add(size)).map(ColumnValue::List)
            }
            Storage::FixedList(len) => {
                let start = times(at, len)?;
                children[0].slice(start..start + len).map(ColumnValue::List)
            }
            Storage::Struct => children
                .iter()
                .map(|child| child.value_as_read(at))
                .collect::<Result<_>>()
                .map(ColumnValue::Struct),
            Storage::RunEnds => children[1].value_as_read(self.run_of(at)?),
            Storage::Union(mode) => {
                let (child, element) = self.member_of(mode, at)?;
                children[child].value_as_read(element)
            }
        }
    }

    /// An element of a fixed width, or the value of a dictionary.
    fn fixed_value(&self, index: usize) -> Result<ColumnValue> {
        if let Some(values) = self.dictionary() {
            return values.value_as_read(self.entry_of(index)?);
        }
        let element = self.array()?.get(&[index])?;
        let count = element.as_i64().unwrap_or_default();
        let of = |base: TimeBase| TimeUnit::one(base);
        Ok(ColumnValue::Element(match self.column_type() {
            ColumnType::Decimal { scale, .. } => {
                return Ok(ColumnValue::Decimal(decimal(&element, *scale)));
            }
            ColumnType::Date32 => Value::DateTime { count, unit: of(TimeBase::Day) },
            ColumnType::Time(unit) => Value::TimeDelta { count, unit: *unit },
            ColumnType::Interval(IntervalUnit::YearMonth) => {
                Value::TimeDelta { count, unit: of(TimeBase::Month) }
            }
            _ => element,
        }))
    }

    /// The index that an element has in the dictionary.
    fn entry_of(&self, index: usize) -> Result<usize> {
        let entry = Integers::at(&self.buffers()[0], kind_of(self))?.get(self.offset() + index)?;
        usize::try_from(entry)
            .map_err(|_| Error::new(Kind::Bounds, format!("index {entry} of element {index} is negative")))
    }

    /// The run of an element, counted as the column's offset does.
    fn run_of(&self, at: usize) -> Result<usize> {
        let run_ends = &self.children()[0];
        // Without this, the search may find a wrong run.
        if !self.are_runs_checked() {
            check_increase(run_ends)?;
            self.mark_runs_checked();
        }
        let ends = Integers::at(&run_ends.buffers()[0], kind_of(run_ends))?;
        let (mut low, mut high) = (0, run_ends.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let end = ends.get(run_ends.offset() + middle)?;
            match usize::try_from(end).is_ok_and(|end| end <= at) || end < 0 {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        if low < run_ends.len() {
            return Ok(low);
        }
        Err(Error::new(Kind::Bounds, format!("no run has element {at}, which is in the column")))
    }

    /// The child of a union's element, and the element's index in it.
    fn member_of(&self, mode: UnionMode, at: usize) -> Result<(usize, usize)> {
        let ColumnType::Union { ids, .. } = self.column_type() else { return Ok((0, at)) };
        let id = Integers::at(&self.buffers()[0], IntegerKind::I8)?.get(at)?;
        let child = ids.iter().position(|&known| i64::from(known) == id);
        let child = child
            .ok_or_else(|| malformed(format!("the identifier {id} at index {at} is that of no child")))?;
        if mode == UnionMode::Sparse {
            return Ok((child, at));
        }
        let offset = Integers::at(&self.buffers()[1], IntegerKind::I32)?.get(at)?;
        let element = usize::try_from(offset)
            .map_err(|_| Error::new(Kind::Bounds, format!("offset {offset} at index {at} is negative")))?;
        Ok((child, element))
    }
}

/// A part of a child by two offsets, which are checked.
fn part(child: &Column, start: i64, end: i64) -> Result<Column> {
    match (usize::try_from(start), usize::try_from(end)) {
        (Ok(start), Ok(end)) => child.slice(start..end),
        _ => Err(Error::new(Kind::Bounds, format!("the offsets {start}..{end} of a list are negative"))),
    }
}

/// The digits of an integer in two's complement, with a decimal point.
fn decimal(element: &Value, scale: i32) -> String {
    let (mut bytes, is_negative) = match element {
        Value::Int(value) => (value.unsigned_abs().to_le_bytes().to_vec(), *value < 0),
        Value::Void(bytes) => {
            let mut bytes = bytes.clone();
            if cfg!(target_endian = "big") {
                bytes.reverse();
            }
            let is_negative = bytes.last().is_some_and(|&last| last >= 0x80);
            if is_negative {
                let mut carry = true;
                for byte in &mut bytes {
                    (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
                }
            }
            (bytes, is_negative)
        }
        _ => return element.to_string(),
    };
    // Divides by ten again and again, the remainder of each division is the next digit.
    let mut digits = Vec::new();
    while bytes.iter().any(|&byte| byte != 0) {
        let mut rest = 0u16;
        for byte in bytes.iter_mut().rev() {
            let number = rest << 8 | u16::from(*byte);
            *byte = (number / 10) as u8;
            rest = number % 10;
        }
        digits.push(b'0' + rest as u8);
    }
    let scale = usize::try_from(scale).map_err(|_| scale.unsigned_abs());
    match scale {
        Ok(scale) => digits.resize(digits.len().max(scale.saturating_add(1)), b'0'),
        // Zeros before the point, or an exponent where there would be many.
        Err(zeros) if zeros <= 100 && !digits.is_empty() => {
            digits.splice(..0, std::iter::repeat_n(b'0', zeros as usize));
        }
        Err(zeros) => {
            let text: String = digits.iter().rev().map(|&digit| digit as char).collect();
            let sign = if is_negative { "-" } else { "" };
            return if text.is_empty() { "0".to_owned() } else { format!("{sign}{text}E+{zeros}") };
        }
    }
    let mut text = String::with_capacity(digits.len() + 2);
    if is_negative {
        text.push('-');
    }
    for (k, &digit) in digits.iter().enumerate().rev() {
        text.push(digit as char);
        if k > 0 && scale == Ok(k) {
            text.push('.');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_all_their_digits() {
        for (value, scale, text) in [
            (1250i128, 2, "12.50"),
            (-5, 3, "-0.005"),
            (0, 0, "0"),
            (0, 2, "0.00"),
            (7, -2, "700"),
            (0, -2, "0"),
            (-7, -200, "-7E+200"),
            (i128::MIN, 0, "-170141183460469231731687303715884105728"),
            (i128::MAX, 38, "1.70141183460469231731687303715884105727"),
        ] {
            assert_eq!(decimal(&Value::Void(value.to_ne_bytes().to_vec()), scale), text);
            if let Ok(value) = i64::try_from(value) {
                assert_eq!(decimal(&Value::Int(value), scale), text);
            }
        }
        let mut least = [0; 32];
        least[if cfg!(target_endian = "big") { 0 } else { 31 }] = 0x80;
        assert!(decimal(&Value::Void(least.to_vec()), 0).starts_with("-578960446186580977117"));
        assert_eq!(decimal(&Value::Int(i64::MIN), 0), i64::MIN.to_string());
    }
}
