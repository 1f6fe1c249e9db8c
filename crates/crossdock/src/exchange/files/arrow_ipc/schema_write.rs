//! Schemas, written.

use std::collections::HashMap;

use crate::element::{ByteOrder, DType, ScalarKind, TimeUnit};
use crate::error::{Error, Result};
use crate::exchange::files::arrow_ipc::flatbuffer::unsupported;
use crate::exchange::files::arrow_ipc::new_flatbuffer::{NewTable, NewValue};
use crate::exchange::files::arrow_ipc::schema_read::{IpcField, IpcSchema, endianness};
use crate::table::{ColumnType, Field, IntervalUnit, Metadata, OffsetWidth, Schema, UnionMode};

impl IpcSchema {
    /// A schema with a dictionary for each field that needs one.
    pub(super) fn of(schema: &Schema) -> Self {
        let mut dictionaries = HashMap::new();
        let columns = schema.fields().iter().map(|field| numbered(field, &mut dictionaries)).collect();
        Self { schema: schema.clone(), columns, dictionaries: dictionaries.into() }
    }

    /// The table of the schema.
    ///
    /// # Errors
    ///
    /// `is_unsupported` for types that Arrow does not have.
    pub(super) fn to_table(&self) -> Result<NewTable> {
        let fields = self.schema.fields().iter().zip(&*self.columns);
        let fields = fields.map(|(field, column)| self.field(field, column)).collect::<Result<_>>()?;
        // Little-endian is the default, which is left out.
        let order =
            Some(endianness(ByteOrder::NATIVE)).filter(|&order| order != endianness(ByteOrder::Little));
        let table =
            NewTable::default().with_some(0, order.map(NewValue::I16)).with(1, NewValue::Tables(fields));
        Ok(table.with_some(2, pairs(self.schema.metadata())))
    }

    fn field(&self, field: &Field, column: &IpcField) -> Result<NewTable> {
        let described = self.described(field, column);
        described.map_err(|error: Error| error.within(format_args!("column {:?}", field.name())))
    }

    fn described(&self, field: &Field, column: &IpcField) -> Result<NewTable> {
        let table = NewTable::default()
            .with(0, NewValue::Bytes(field.name().into()))
            .with(1, NewValue::U8(field.is_nullable().into()))
            .with_some(6, pairs(field.metadata()));
        let ty = field.column_type();
        // The type and the children of a dictionary are those of its values.
        let (table, ty, of) =
            match (ty, column.dictionary.and_then(|id| Some((id, self.dictionaries.get(&id)?)))) {
                (ColumnType::Dictionary { index, values, ordered }, Some((id, known))) => {
                    let index =
                        integer(index).ok_or_else(|| unsupported(format!("indices are no {index}")))?;
                    let encoding = NewTable::default()
                        .with(0, NewValue::I64(id))
                        .with(1, NewValue::Table(index))
                        .with(2, NewValue::U8((*ordered).into()));
                    (table.with(4, NewValue::Table(encoding)), values.column_type(), known)
                }
                _ => (table, ty, column),
            };
        let ty = if of.is_packed { &ColumnType::Boolean } else { ty };
        let (kind, description) = description(ty)?;
        let children = ty.fields().zip(&*of.below).map(|(field, column)| self.field(field, column));
        let children = children.collect::<Result<Vec<_>>>()?;
        Ok(table
            .with(2, NewValue::U8(kind))
            .with(3, NewValue::Table(description))
            .with(5, NewValue::Tables(children)))
    }
}

/// The parts of a field, with an identifier for each dictionary.
fn numbered(field: &Field, dictionaries: &mut HashMap<i64, IpcField>) -> IpcField {
    let ty = field.column_type();
    let name = field.name().into();
    match ty {
        ColumnType::Dictionary { values, .. } => {
            let known = numbered(values, dictionaries);
            let id = dictionaries.len() as i64;
            dictionaries.insert(id, known);
            IpcField { name, ty: ty.clone(), dictionary: Some(id), below: [].into(), is_packed: false }
        }
        _ => {
            let below = ty.fields().map(|field| numbered(field, dictionaries)).collect();
            // Other libraries show bytes of the extension type for booleans as numbers.
            let is_packed = *ty == ColumnType::Fixed(DType::BOOL) && field.extension().is_none();
            IpcField { name, ty: ty.clone(), dictionary: None, below, is_packed }
        }
    }
}

/// Pairs of keys and values; `None` if there are none.
fn pairs(metadata: &Metadata) -> Option<NewValue> {
    let pair = |(key, value): (&[u8], &[u8])| {
        NewTable::default().with(0, NewValue::Bytes(key.into())).with(1, NewValue::Bytes(value.into()))
    };
    (!metadata.is_empty()).then(|| NewValue::Tables(metadata.iter().map(pair).collect()))
}

fn unit(unit: TimeUnit) -> NewValue {
    NewValue::I16(match unit {
        TimeUnit::SECOND => 0,
        TimeUnit::MILLISECOND => 1,
        TimeUnit::MICROSECOND => 2,
        // `ColumnType::check` refused units that Arrow does not have.
        _ => 3,
    })
}

fn integer(dtype: &DType) -> Option<NewTable> {
    use ScalarKind::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    let kind = dtype.as_scalar().filter(|_| dtype.is_native())?.kind();
    let is_signed = match kind {
        Int8 | Int16 | Int32 | Int64 => true,
        UInt8 | UInt16 | UInt32 | UInt64 => false,
        _ => return None,
    };
    let bits = NewValue::I32(8 * dtype.itemsize() as i32);
    Some(NewTable::default().with(0, bits).with(1, NewValue::U8(is_signed.into())))
}

/// The number of a type that is no dictionary, and its description.
fn description(ty: &ColumnType) -> Result<(u8, NewTable)> {
    let plain = NewTable::default();
    let wide = |width: &OffsetWidth| *width == OffsetWidth::I64;
    let size = |size: usize| {
        let number =
            i32::try_from(size).map_err(|_| unsupported(format!("a size of {size} exceeds 31 bits")));
        number.map(NewValue::I32)
    };
    Ok(match ty {
        ColumnType::Null => (1, plain),
        ColumnType::Boolean => (6, plain),
        ColumnType::Fixed(dtype) if *dtype == DType::BOOL => {
            (2, plain.with(0, NewValue::I32(8)).with(1, NewValue::U8(1)))
        }
        ColumnType::Fixed(dtype) => match (integer(dtype), [DType::F16, DType::F32, DType::F64]) {
            (Some(table), _) => (2, table),
            (None, floats) => {
                let precision = floats.iter().position(|float| float == dtype).ok_or_else(|| {
                    unsupported(format!("elements of dtype {dtype} do not exist in Arrow; cast them"))
                })?;
                (3, plain.with(0, NewValue::I16(precision as i16)))
            }
        },
        ColumnType::Date32 => (8, plain.with(0, NewValue::I16(0))),
        ColumnType::Date64 => (8, plain.with(0, NewValue::I16(1))),
        ColumnType::Time(of) => {
            let bits = ty.dtype().map_or(64, |dtype| 8 * dtype.itemsize() as i32);
            (9, plain.with(0, unit(*of)).with(1, NewValue::I32(bits)))
        }
        ColumnType::Timestamp { unit: of, zone } => {
            let zone = zone.as_ref().map(|zone| NewValue::Bytes(zone.as_bytes().into()));
            (10, plain.with(0, unit(*of)).with_some(1, zone))
        }
        ColumnType::Duration(of) => (18, plain.with(0, unit(*of))),
        ColumnType::Interval(of) => {
            let number = match of {
                IntervalUnit::YearMonth => 0,
                IntervalUnit::DayTime => 1,
                IntervalUnit::MonthDayNano => 2,
            };
            (11, plain.with(0, NewValue::I16(number)))
        }
        ColumnType::Decimal { bits, precision, scale } => {
            let numbers = [i32::from(*precision), *scale, i32::from(*bits)];
            let table = numbers.into_iter().enumerate();
            (7, table.fold(plain, |table, (slot, number)| table.with(slot, NewValue::I32(number))))
        }
        ColumnType::FixedBinary(nbytes) => (15, plain.with(0, size(*nbytes)?)),
        ColumnType::Binary(width) => (if wide(width) { 19 } else { 4 }, plain),
        ColumnType::Utf8(width) => (if wide(width) { 20 } else { 5 }, plain),
        ColumnType::BinaryView => (23, plain),
        ColumnType::Utf8View => (24, plain),
        ColumnType::List { offsets, .. } => (if wide(offsets) { 21 } else { 12 }, plain),
        ColumnType::ListView { offsets, .. } => (if wide(offsets) { 26 } else { 25 }, plain),
        ColumnType::FixedList { len, .. } => (16, plain.with(0, size(*len)?)),
        ColumnType::Struct(_) => (13, plain),
        ColumnType::Map { keys_sorted, .. } => (17, plain.with(0, NewValue::U8((*keys_sorted).into()))),
        ColumnType::RunEndEncoded { .. } => (22, plain),
        ColumnType::Union { mode, ids, .. } => {
            let mode = NewValue::I16((*mode == UnionMode::Dense).into());
            let ids = NewValue::I32s(ids.iter().map(|&id| id.into()).collect());
            (14, plain.with(0, mode).with(1, ids))
        }
        ColumnType::Dictionary { .. } => {
            return Err(unsupported("the values of a dictionary are a dictionary, which files do not have"));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::files::arrow_ipc::flatbuffer::Table;

    #[test]
    fn a_schema_has_the_byte_order_of_this_machine_and_the_other_one_is_refused() {
        let schema = Schema::new([Field::new("a", ColumnType::Fixed(DType::I32)).unwrap()]);
        let bytes = IpcSchema::of(&schema).to_table().unwrap().to_bytes();
        let read = Table::root(&bytes).unwrap();
        // The format's numbers: 0 is little-endian, and the default.
        assert_eq!(read.i16(0, 0).unwrap(), i16::from(cfg!(target_endian = "big")));
        assert_eq!(IpcSchema::read(read, bytes.len()).unwrap().schema, schema);

        let other = NewTable::default().with(0, NewValue::I16(i16::from(cfg!(target_endian = "little"))));
        let other = other.with(1, NewValue::Tables(Vec::new())).to_bytes();
        let error = IpcSchema::read(Table::root(&other).unwrap(), other.len()).map(drop).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains("-endian"), "{error}");
    }
}
