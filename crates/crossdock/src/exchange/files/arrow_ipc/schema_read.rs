//! Schemas, read: fields, and the identifiers of their dictionaries.

use std::collections::HashMap;
use std::sync::Arc;

use crate::element::dialect::arrow::BOOL8;
use crate::element::{ByteOrder, DType, MAX_DEPTH, TimeUnit};
use crate::error::{Error, Result};
use crate::exchange::files::arrow_ipc::flatbuffer::{Table, malformed, unsupported};
use crate::exchange::files::arrow_ipc::message;
use crate::table::{ColumnType, Field, IntervalUnit, MAX_COLUMNS, OffsetWidth, Schema, UnionMode};

/// A schema, and the dictionaries that batches of it refer to.
#[derive(Clone, Debug)]
pub(super) struct IpcSchema {
    pub(super) schema: Schema,
    pub(super) columns: Arc<[IpcField]>,
    /// The values of each dictionary.
    pub(super) dictionaries: Arc<HashMap<i64, IpcField>>,
}

/// A type, and which of its parts are dictionaries.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct IpcField {
    pub(super) name: Arc<str>,
    pub(super) ty: ColumnType,
    /// The identifier of the dictionary, if the type is one.
    pub(super) dictionary: Option<i64>,
    /// The children; none for a dictionary.
    pub(super) below: Arc<[IpcField]>,
    /// Whether it is written as bits, of which memory has a byte each.
    pub(super) is_packed: bool,
}

impl IpcField {
    /// The number of fields in it that a batch has columns of, itself included.
    pub(super) fn parts(&self) -> usize {
        1 + self.below.iter().map(Self::parts).sum::<usize>()
    }
}

impl IpcSchema {
    /// The schema in a table of a message or a footer of `nbytes` bytes.
    pub(super) fn read(table: Table<'_>, nbytes: usize) -> Result<Self> {
        if table.i16(0, endianness(ByteOrder::Little))? != endianness(ByteOrder::NATIVE) {
            let [theirs, ours] = [ByteOrder::NATIVE.swapped(), ByteOrder::NATIVE].map(|order| match order {
                ByteOrder::Little => "little",
                ByteOrder::Big => "big",
            });
            return Err(unsupported(format!(
                "its elements are {theirs}-endian, and this machine reads {ours}-endian ones; write it again \
                 on a {ours}-endian machine",
            )));
        }
        // Each field has bytes of its own, unless references lead to the same ones.
        let mut reader = IpcSchemaReader { dictionaries: HashMap::new(), columns: 0, text: 0, nbytes };
        let mut fields = Vec::new();
        let mut columns = Vec::new();
        for field in table.tables(1)? {
            let (field, column) = reader.field(field?, 0)?;
            fields.push(field);
            columns.push(column);
        }
        let metadata = message::metadata(table, 2, |nbytes| reader.spend(nbytes))?;
        Ok(Self {
            schema: Schema::new(fields).with_metadata(metadata),
            columns: columns.into(),
            dictionaries: Arc::new(reader.dictionaries),
        })
    }
}

/// The number of a byte order in a schema.
pub(super) fn endianness(order: ByteOrder) -> i16 {
    match order {
        ByteOrder::Little => 0,
        ByteOrder::Big => 1,
    }
}

struct IpcSchemaReader {
    dictionaries: HashMap<i64, IpcField>,
    columns: usize,
    /// The bytes of names and metadata.
    text: usize,
    nbytes: usize,
}

impl IpcSchemaReader {
    fn spend(&mut self, nbytes: usize) -> Result<()> {
        const REPEATED: usize = 16;
        self.text = self.text.saturating_add(nbytes);
        match self.text <= self.nbytes.saturating_mul(REPEATED) {
            true => Ok(()),
            false => Err(malformed(format!(
                "its schema of {} bytes refers to the same texts more than {REPEATED} times",
                self.nbytes
            ))),
        }
    }

    fn field(&mut self, table: Table<'_>, depth: usize) -> Result<(Field, IpcField)> {
        self.columns += 1;
        if depth >= MAX_DEPTH || self.columns > MAX_COLUMNS.min(self.nbytes) {
            return Err(unsupported(format!(
                "its schema has more than {MAX_COLUMNS} columns, or columns nested more than {MAX_DEPTH} levels deep"
            )));
        }
        let name = text(table.bytes(0)?.unwrap_or_default())?;
        self.spend(name.len())?;
        let named = |error: Error| error.within(format_args!("column {name:?}"));
        let metadata = message::metadata(table, 6, |nbytes| self.spend(nbytes))?;
        let (mut children, mut below) = (Vec::new(), Vec::new());
        for child in table.tables(5)? {
            let (field, ipc) = self.field(child?, depth + 1).map_err(named)?;
            children.push(field);
            below.push(ipc);
        }
        let extension = metadata.extension().map(|(name, _)| name);
        let mut ty = column_type(table, children, extension).map_err(named)?;
        let mut dictionary = None;
        if let Some(encoding) = table.table(4)? {
            let id = encoding.i64(0)?;
            let index = match encoding.table(1)? {
                Some(int) => integer(int).map_err(named)?,
                None => DType::I32,
            };
            let values = Field::new("", ty.clone()).map_err(named)?;
            let ipc =
                IpcField { name: "".into(), ty, dictionary: None, below: below.into(), is_packed: false };
            if self.dictionaries.get(&id).is_some_and(|known| *known != ipc) {
                return Err(named(malformed(format!("dictionary {id} has values of two types"))));
            }
            self.dictionaries.insert(id, ipc);
            ty = ColumnType::Dictionary { index, values: values.into(), ordered: encoding.bool(2)? };
            (dictionary, below) = (Some(id), vec![]);
        }
        let field = Field::new(name, ty.clone())?.with_nullable(table.bool(1)?).with_metadata(metadata);
        let ipc = IpcField { name: name.into(), ty, dictionary, below: below.into(), is_packed: false };
        Ok((field, ipc))
    }
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        malformed(format!("byte {} of a name or a time zone is not valid UTF-8", error.valid_up_to()))
    })
}

fn unit(number: i16) -> Result<TimeUnit> {
    const UNITS: [TimeUnit; 4] =
        [TimeUnit::SECOND, TimeUnit::MILLISECOND, TimeUnit::MICROSECOND, TimeUnit::NANOSECOND];
    let unit = usize::try_from(number).ok().and_then(|number| UNITS.get(number).copied());
    unit.ok_or_else(|| unsupported(format!("the time unit {number} is unknown")))
}

fn integer(table: Table<'_>) -> Result<DType> {
    Ok(match (table.i32(0, 0)?, table.bool(1)?) {
        (8, true) => DType::I8,
        (8, false) => DType::U8,
        (16, true) => DType::I16,
        (16, false) => DType::U16,
        (32, true) => DType::I32,
        (32, false) => DType::U32,
        (64, true) => DType::I64,
        (64, false) => DType::U64,
        (bits, _) => return Err(unsupported(format!("integers of {bits} bits are unknown"))),
    })
}

/// A size in a table, which must not be negative.
fn size(number: i32) -> Result<usize> {
    usize::try_from(number).map_err(|_| malformed(format!("a size of its type is {number}")))
}

/// The type of a field, before a dictionary encodes it.
fn column_type(field: Table<'_>, children: Vec<Field>, extension: Option<&str>) -> Result<ColumnType> {
    let kind = field.u8(2)?;
    let table = field.table(3)?.ok_or_else(|| malformed("its type has no description"))?;
    let found = children.len();
    let wrong = |wanted: usize| malformed(format!("its type has {found} children, but requires {wanted}"));
    let one = |children: Vec<Field>| {
        <[Field; 1]>::try_from(children).map(|[item]| Arc::new(item)).map_err(|_| wrong(1))
    };
    let (narrow, wide) = (OffsetWidth::I32, OffsetWidth::I64);
    if found != 0 && !matches!(kind, 12..=14 | 16 | 17 | 21 | 22 | 25 | 26) {
        return Err(wrong(0));
    }
    Ok(match kind {
        1 => ColumnType::Null,
        2 => match integer(table)? {
            dtype if dtype == DType::I8 && extension == Some(BOOL8) => ColumnType::Fixed(DType::BOOL),
            dtype => ColumnType::Fixed(dtype),
        },
        3 => ColumnType::Fixed(match table.i16(0, 0)? {
            0 => DType::F16,
            1 => DType::F32,
            2 => DType::F64,
            other => return Err(unsupported(format!("floats of precision {other} are unknown"))),
        }),
        4 => ColumnType::Binary(narrow),
        5 => ColumnType::Utf8(narrow),
        6 => ColumnType::Boolean,
        7 => {
            let (precision, scale, bits) = (table.i32(0, 0)?, table.i32(1, 0)?, table.i32(2, 128)?);
            let (Ok(precision), Ok(bits)) = (u8::try_from(precision), u16::try_from(bits)) else {
                return Err(unsupported(format!(
                    "decimals of {bits} bits and {precision} digits are unknown"
                )));
            };
            ColumnType::Decimal { bits, precision, scale }
        }
        8 => match table.i16(0, 1)? {
            0 => ColumnType::Date32,
            1 => ColumnType::Date64,
            other => return Err(unsupported(format!("the unit {other} of dates is unknown"))),
        },
        9 => {
            let (unit, bits) = (unit(table.i16(0, 1)?)?, table.i32(1, 32)?);
            let ty = ColumnType::Time(unit);
            let wanted = ty.dtype().map_or(0, |dtype| 8 * dtype.itemsize());
            if size(bits)? != wanted {
                let text = format!("times have {bits} bits, but those in units of {unit} have {wanted}");
                return Err(malformed(text));
            }
            ty
        }
        10 => {
            let zone = table.bytes(1)?.filter(|zone| !zone.is_empty()).map(text).transpose()?;
            ColumnType::Timestamp { unit: unit(table.i16(0, 0)?)?, zone: zone.map(Arc::from) }
        }
        11 => ColumnType::Interval(match table.i16(0, 0)? {
            0 => IntervalUnit::YearMonth,
            1 => IntervalUnit::DayTime,
            2 => IntervalUnit::MonthDayNano,
            other => return Err(unsupported(format!("the unit {other} of intervals is unknown"))),
        }),
        12 => ColumnType::List { item: one(children)?, offsets: narrow },
        13 => ColumnType::Struct(children.into()),
        14 => {
            let mode = match table.i16(0, 0)? {
                0 => UnionMode::Sparse,
                1 => UnionMode::Dense,
                other => return Err(unsupported(format!("the mode {other} of unions is unknown"))),
            };
            let ids = table.vector(1, 4)?;
            let id = |number: i32| {
                i8::try_from(number)
                    .map_err(|_| malformed(format!("the identifier {number} of a union is out of range")))
            };
            let ids = match ids.len() {
                0 => (0..found.min(i32::MAX as usize) as i32).map(id).collect::<Result<Vec<i8>>>()?,
                _ => ids.elements().map(|bytes| id(i32::from_le_bytes(*bytes))).collect::<Result<_>>()?,
            };
            ColumnType::Union { mode, fields: children.into(), ids: ids.into() }
        }
        15 => ColumnType::FixedBinary(size(table.i32(0, 0)?)?),
        16 => ColumnType::FixedList { item: one(children)?, len: size(table.i32(0, 0)?)? },
        17 => ColumnType::Map { entries: one(children)?, keys_sorted: table.bool(0)? },
        18 => ColumnType::Duration(unit(table.i16(0, 1)?)?),
        19 => ColumnType::Binary(wide),
        20 => ColumnType::Utf8(wide),
        21 => ColumnType::List { item: one(children)?, offsets: wide },
        22 => {
            let [run_ends, values] = <[Field; 2]>::try_from(children).map_err(|_| wrong(2))?;
            ColumnType::RunEndEncoded { run_ends: run_ends.into(), values: values.into() }
        }
        23 => ColumnType::BinaryView,
        24 => ColumnType::Utf8View,
        25 => ColumnType::ListView { item: one(children)?, offsets: narrow },
        26 => ColumnType::ListView { item: one(children)?, offsets: wide },
        _ => return Err(unsupported(format!("the type number {kind} is unknown"))),
    })
}
