//! Columns of Ruby objects, in new memory.

use crossdock::bindings::table;
use crossdock::buffer::Buffer;
use crossdock::element::TimeUnit;
use crossdock::layout::Order;
use crossdock::table::{Checks, Column, ColumnParts, ColumnType, OffsetWidth};
use magnus::encoding::EncodingCapable;
use magnus::{RArray, RString, Ruby, Value, prelude::*};

use crate::error::{Failure, Result};
use crate::moment::{self, EPOCH, Moment};
use crate::nested;
use crate::value::{characters, describe};

/// What the objects of an Array have in common.
enum Kind {
    Text,
    Bytes,
    Boolean,
    Days,
    Moments,
    Numbers,
}

/// A column of an Array's objects: text, bytes, dates, moments, truth values or numbers, some of
/// them nil.
pub(super) fn of_values(ruby: &Ruby, items: RArray) -> Result<Column> {
    let len = items.len();
    let mut is_valid = Vec::with_capacity(len);
    let mut first = None;
    for index in 0..len {
        let item: Value = items.entry(index as isize)?;
        is_valid.push(!item.is_nil());
        if first.is_none() && !item.is_nil() {
            first = Some(item);
        }
    }
    let validity = if is_valid.contains(&false) { Some(bits(&is_valid)?) } else { None };
    let Some(first) = first else {
        // An empty Array has no type either.
        let parts = ColumnParts { len, ..ColumnParts::default() };
        return Ok(Column::new(ColumnType::Null, parts, Checks::Shape)?);
    };
    let (ty, buffers) = match kind(ruby, items, first)? {
        kind @ (Kind::Text | Kind::Bytes) => text(ruby, items, matches!(kind, Kind::Text))?,
        Kind::Boolean => {
            let mut values = Vec::with_capacity(len);
            for index in 0..len {
                let item: Value = items.entry(index as isize)?;
                if !(item.is_nil()
                    || item.is_kind_of(ruby.class_true_class())
                    || item.is_kind_of(ruby.class_false_class()))
                {
                    return Err(unlike(ruby, index, item));
                }
                values.push(item.to_bool());
            }
            (ColumnType::Boolean, vec![bits(&values)?])
        }
        Kind::Days => (ColumnType::Date32, vec![Buffer::from_vec(days(ruby, items)?)?]),
        Kind::Moments => {
            let ty = ColumnType::Timestamp { unit: TimeUnit::NANOSECOND, zone: Some("UTC".into()) };
            (ty, vec![Buffer::from_vec(moments(ruby, items)?)?])
        }
        Kind::Numbers => {
            let filled = ruby.ary_new_capa(len);
            for index in 0..len {
                let item: Value = items.entry(index as isize)?;
                if !item.is_nil() && !item.is_kind_of(ruby.class_numeric()) {
                    return Err(unlike(ruby, index, item));
                }
                filled.push(if item.is_nil() { first } else { item })?;
            }
            let column = Column::from_array(nested::array(ruby, filled.as_value(), None, Order::RowMajor)?)?;
            (column.column_type().clone(), column.buffers().to_vec())
        }
    };
    let parts = ColumnParts { len, validity, buffers, ..ColumnParts::default() };
    Ok(Column::new(ty, parts, Checks::Shape)?)
}

fn kind(ruby: &Ruby, items: RArray, first: Value) -> Result<Kind> {
    if RString::from_value(first).is_some() {
        for index in 0..items.len() {
            let item: Value = items.entry(index as isize)?;
            if let Some(string) = RString::from_value(item)
                && string.enc_get() == ruby.ascii8bit_encindex()
                && !string.funcall::<_, _, bool>("ascii_only?", ())?
            {
                return Ok(Kind::Bytes);
            }
        }
        return Ok(Kind::Text);
    }
    if first.is_kind_of(ruby.class_true_class()) || first.is_kind_of(ruby.class_false_class()) {
        return Ok(Kind::Boolean);
    }
    Ok(match Moment::of(ruby, first) {
        Some(Moment::Time) => Kind::Moments,
        Some(Moment::Date) => Kind::Days,
        None => Kind::Numbers,
    })
}

fn unlike(ruby: &Ruby, index: usize, item: Value) -> Failure {
    let text = format!(
        "element {index} of the column is {}: the values are Strings, numbers, true and false, Dates or Times, and all of \
        one kind",
        describe(item)
    );
    Failure::of_type(ruby, text)
}

/// Offsets, and the bytes of text or of binary Strings.
fn text(ruby: &Ruby, items: RArray, is_text: bool) -> Result<(ColumnType, Vec<Buffer>)> {
    let (mut offsets, mut bytes) = (vec![0i64], Vec::new());
    for index in 0..items.len() {
        let item: Value = items.entry(index as isize)?;
        match RString::from_value(item) {
            None if item.is_nil() => {}
            None => return Err(unlike(ruby, index, item)),
            Some(string) if is_text => bytes.extend_from_slice(characters(ruby, string)?.as_bytes()),
            // SAFETY: `string` is alive, and the bytes are copied before Ruby runs again.
            Some(string) => bytes.extend_from_slice(unsafe { string.as_slice() }),
        }
        offsets.push(bytes.len() as i64);
    }
    let short =
        offsets.iter().map(|&offset| i32::try_from(offset)).collect::<std::result::Result<Vec<_>, _>>();
    let (width, offsets) = match short {
        Ok(short) => (OffsetWidth::I32, Buffer::from_vec(short)?),
        Err(_) => (OffsetWidth::I64, Buffer::from_vec(offsets)?),
    };
    let ty = if is_text { ColumnType::Utf8(width) } else { ColumnType::Binary(width) };
    Ok((ty, vec![offsets, Buffer::from_vec(bytes)?]))
}

fn days(ruby: &Ruby, items: RArray) -> Result<Vec<i32>> {
    let mut days = Vec::with_capacity(items.len());
    for index in 0..items.len() {
        let item: Value = items.entry(index as isize)?;
        if item.is_nil() {
            days.push(0);
            continue;
        }
        // A DateTime, which is a Date, has a time of day.
        if !item.respond_to("jd", false)? || item.respond_to("hour", false)? {
            return Err(unlike(ruby, index, item));
        }
        let day = item.funcall::<_, _, i64>("jd", ())? - EPOCH;
        days.push(
            i32::try_from(day).map_err(|_| Failure::misfit(ruby, ruby.integer_from_i64(day), "date32"))?,
        );
    }
    Ok(days)
}

fn moments(ruby: &Ruby, items: RArray) -> Result<Vec<i64>> {
    let mut moments = Vec::with_capacity(items.len());
    for index in 0..items.len() {
        let item: Value = items.entry(index as isize)?;
        if item.is_nil() {
            moments.push(0);
            continue;
        }
        if !item.is_kind_of(ruby.class_time()) && Moment::of(ruby, item) != Some(Moment::Time) {
            return Err(unlike(ruby, index, item));
        }
        moments.push(moment::count(ruby, item, Moment::Time, TimeUnit::NANOSECOND)?);
    }
    Ok(moments)
}

/// A column whose days, if it has NumPy's, are those of Arrow.
pub(super) fn with_days(ruby: &Ruby, column: Column) -> Result<Column> {
    table::with_days(column).map_err(|error| match error.is_value() {
        true => Failure::misfit(ruby, ruby.str_new(&error.to_string()), "the 32 bits of Arrow's dates"),
        false => error.into(),
    })
}

/// Bits in Arrow's order.
fn bits(values: &[bool]) -> Result<Buffer> {
    let byte = |values: &[bool]| values.iter().rev().fold(0u8, |byte, &value| byte << 1 | u8::from(value));
    Ok(Buffer::from_vec(values.chunks(8).map(byte).collect())?)
}
