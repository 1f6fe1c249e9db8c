//! The types of columns.

use std::fmt;
use std::sync::Arc;

use crate::element::{DType, TimeUnit};
use crate::error::{Error, Kind, Result};
use crate::table::field::Field;

/// The greatest scale of decimals, which have 76 digits at most: as text, each has so many zeros.
const MOST_SCALE: u32 = 1_000;

/// The width of the offsets of lists, text and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OffsetWidth {
    /// Signed integers of 32 bits.
    I32,
    /// Signed integers of 64 bits: the *large* types.
    I64,
}

impl OffsetWidth {
    /// The number of bytes.
    pub fn nbytes(self) -> usize {
        match self {
            Self::I32 => 4,
            Self::I64 => 8,
        }
    }
}

/// The parts of a calendar interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    /// Months, as an `int32`.
    YearMonth,
    /// Days and milliseconds, as two `int32`.
    DayTime,
    /// Months and days, as two `int32`, then nanoseconds, as an `int64`.
    MonthDayNano,
}

/// How a union stores its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnionMode {
    /// Element `i` is element `i` of the child that its identifier names.
    Sparse,
    /// Element `i` is the element of that child which its offset names.
    Dense,
}

/// The type of a column: what Arrow's columnar format describes. Extension types are metadata of
/// the [`Field`].
///
/// `Display` uses pyarrow's names. Source: the Arrow columnar format, as of Arrow 26.
///
/// ```
/// use crossdock::element::{DType, TimeUnit};
/// use crossdock::table::ColumnType;
///
/// let moment = ColumnType::Timestamp { unit: TimeUnit::NANOSECOND, zone: Some("UTC".into()) };
/// assert_eq!(moment.to_string(), "timestamp[ns, tz=UTC]");
/// assert_eq!(moment.dtype(), Some(DType::datetime(TimeUnit::NANOSECOND))); // of its array
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnType {
    /// Nulls only, without buffers.
    Null,
    /// Booleans of a bit each.
    Boolean,
    /// Elements of a dtype: integers and floats and, beyond Arrow, any other.
    Fixed(DType),
    /// Days since 1970-01-01, as `int32`.
    Date32,
    /// Milliseconds since 1970-01-01 that are whole days, as `int64`.
    Date64,
    /// A time of day: `int32` for seconds and milliseconds, `int64` for micro- and nanoseconds.
    Time(TimeUnit),
    /// A count of seconds, milli-, micro- or nanoseconds since 1970-01-01, as `int64`: in UTC if
    /// there is a time zone, otherwise in an unknown one.
    Timestamp {
        /// What is counted.
        unit: TimeUnit,
        /// The name or the offset of the time zone.
        zone: Option<Arc<str>>,
    },
    /// A count of seconds, milli-, micro- or nanoseconds, as `int64`.
    Duration(TimeUnit),
    /// A calendar interval.
    Interval(IntervalUnit),
    /// Integers of 32, 64, 128 or 256 bits in two's complement, times 10 to the power of `-scale`.
    Decimal {
        /// The width of the integers.
        bits: u16,
        /// How many digits they have at most.
        precision: u8,
        /// How many of these follow the decimal point; more zeros precede it if negative.
        scale: i32,
    },
    /// Bytes, so many for each element.
    FixedBinary(usize),
    /// Bytes of any length, by offsets.
    Binary(OffsetWidth),
    /// UTF-8 of any length, by offsets.
    Utf8(OffsetWidth),
    /// Bytes of any length, by views of 16 bytes: short ones in the view, others in one of several
    /// buffers.
    BinaryView,
    /// UTF-8, as [`ColumnType::BinaryView`].
    Utf8View,
    /// Lists of any length, by offsets into one child.
    List {
        /// The child.
        item: Arc<Field>,
        /// The width of the offsets.
        offsets: OffsetWidth,
    },
    /// Lists by offset and size, in any order and with overlaps.
    ListView {
        /// The child.
        item: Arc<Field>,
        /// The width of offsets and sizes.
        offsets: OffsetWidth,
    },
    /// Lists of one length.
    FixedList {
        /// The child.
        item: Arc<Field>,
        /// The length of each list.
        len: usize,
    },
    /// An element of each child.
    Struct(Arc<[Field]>),
    /// Lists of keys and values, by offsets of 32 bits into a struct.
    Map {
        /// The struct of a key, which is not null, and a value.
        entries: Arc<Field>,
        /// Whether the keys of each map are sorted.
        keys_sorted: bool,
    },
    /// Indices of values that are stored once.
    Dictionary {
        /// The type of the indices: an integer.
        index: DType,
        /// The values.
        values: Arc<Field>,
        /// Whether the order of the values has a meaning.
        ordered: bool,
    },
    /// Runs of equal values.
    RunEndEncoded {
        /// For each run, the index after its last element: increasing `int16`, `int32` or `int64`.
        run_ends: Arc<Field>,
        /// The value of each run.
        values: Arc<Field>,
    },
    /// Elements of several types, each with the identifier of its own.
    Union {
        /// How the children are stored.
        mode: UnionMode,
        /// The children.
        fields: Arc<[Field]>,
        /// The identifier of each child, from 0 to 127.
        ids: Arc<[i8]>,
    },
}

/// What the buffers and children of a type are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// No buffer, not even validity.
    Null,
    /// Bits.
    Bits,
    /// Elements of so many bytes.
    Fixed(usize),
    /// Offsets, and the bytes that they divide; text or not.
    Bytes(OffsetWidth, bool),
    /// Views, then any number of buffers; text or not.
    Views(bool),
    /// Offsets, and a child.
    List(OffsetWidth),
    /// Offsets, sizes, and a child.
    ListView(OffsetWidth),
    /// A child with so many elements for each.
    FixedList(usize),
    /// Children.
    Struct,
    /// Two children: ends and values. No validity.
    RunEnds,
    /// Identifiers (and offsets), and children. No validity.
    Union(UnionMode),
}

impl Storage {
    /// The number of buffers, apart from validity, and whether there may be more.
    pub(crate) fn buffer_count(self) -> (usize, bool) {
        match self {
            Self::Null | Self::FixedList(_) | Self::Struct | Self::RunEnds => (0, false),
            Self::Bits | Self::Fixed(_) | Self::List(_) | Self::Union(UnionMode::Sparse) => (1, false),
            Self::Bytes(..) | Self::ListView(_) | Self::Union(UnionMode::Dense) => (2, false),
            Self::Views(_) => (1, true),
        }
    }
}

impl ColumnType {
    /// UTF-8 by offsets of 32 bits: Arrow's `string`.
    pub fn utf8() -> Self {
        Self::Utf8(OffsetWidth::I32)
    }

    /// Lists by offsets of 32 bits: Arrow's `list`.
    pub fn list(item: Field) -> Self {
        Self::List { item: item.into(), offsets: OffsetWidth::I32 }
    }

    /// The dtype of [`Column::array`](crate::table::Column::array), if elements have a fixed width
    /// of whole bytes; of the indices for a dictionary. The meaning that no dtype expresses stays
    /// with the column: dates of 32 bits and times are integers, intervals are integers or records,
    /// decimals are integers or opaque bytes, and timestamps have no time zone.
    pub fn dtype(&self) -> Option<DType> {
        Some(match self {
            Self::Fixed(dtype) | Self::Dictionary { index: dtype, .. } => dtype.clone(),
            Self::Date32 | Self::Interval(IntervalUnit::YearMonth) => DType::I32,
            Self::Date64 => DType::datetime(TimeUnit::MILLISECOND),
            Self::Time(unit) if *unit == TimeUnit::SECOND || *unit == TimeUnit::MILLISECOND => DType::I32,
            Self::Time(_) => DType::I64,
            Self::Timestamp { unit, .. } => DType::datetime(*unit),
            Self::Duration(unit) => DType::timedelta(*unit),
            Self::Interval(IntervalUnit::DayTime) => {
                DType::packed_record([("days", DType::I32), ("milliseconds", DType::I32)]).ok()?
            }
            Self::Interval(IntervalUnit::MonthDayNano) => {
                let days = [("months", DType::I32), ("days", DType::I32), ("nanoseconds", DType::I64)];
                DType::packed_record(days).ok()?
            }
            Self::Decimal { bits: 32, .. } => DType::I32,
            Self::Decimal { bits: 64, .. } => DType::I64,
            Self::Decimal { bits, .. } => DType::void(usize::from(bits / 8)).ok()?,
            Self::FixedBinary(nbytes) => DType::void(*nbytes).ok()?,
            _ => return None,
        })
    }

    /// The fields of the children, and of a dictionary's values.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        let (many, pair): (&[Field], [Option<&Field>; 2]) = match self {
            Self::Struct(fields) | Self::Union { fields, .. } => (fields, [None, None]),
            Self::List { item, .. } | Self::ListView { item, .. } | Self::FixedList { item, .. } => {
                (&[], [Some(item), None])
            }
            Self::Map { entries, .. } => (&[], [Some(entries), None]),
            Self::Dictionary { values, .. } => (&[], [Some(values), None]),
            Self::RunEndEncoded { run_ends, values } => (&[], [Some(run_ends), Some(values)]),
            _ => (&[], [None, None]),
        };
        many.iter().chain(pair.into_iter().flatten())
    }

    /// Whether the type is text: UTF-8 by offsets or views.
    pub fn is_utf8(&self) -> bool {
        matches!(self, Self::Utf8(_) | Self::Utf8View)
    }

    pub(crate) fn storage(&self) -> Storage {
        match self {
            Self::Null => Storage::Null,
            Self::Boolean => Storage::Bits,
            Self::Binary(width) => Storage::Bytes(*width, false),
            Self::Utf8(width) => Storage::Bytes(*width, true),
            Self::BinaryView => Storage::Views(false),
            Self::Utf8View => Storage::Views(true),
            Self::List { offsets, .. } => Storage::List(*offsets),
            Self::Map { .. } => Storage::List(OffsetWidth::I32),
            Self::ListView { offsets, .. } => Storage::ListView(*offsets),
            Self::FixedList { len, .. } => Storage::FixedList(*len),
            Self::Struct(_) => Storage::Struct,
            Self::RunEndEncoded { .. } => Storage::RunEnds,
            Self::Union { mode, .. } => Storage::Union(*mode),
            Self::Fixed(dtype) | Self::Dictionary { index: dtype, .. } => Storage::Fixed(dtype.itemsize()),
            // Types with a fixed width: `check` refused those without a dtype.
            _ => Storage::Fixed(self.dtype().map_or(0, |dtype| dtype.itemsize())),
        }
    }

    /// Whether columns of this type have a validity bitmap.
    pub(crate) fn has_validity(&self) -> bool {
        !matches!(self, Self::Null | Self::RunEndEncoded { .. } | Self::Union { .. })
    }

    /// Checks the rules that the enum itself does not express, for this level.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Time(unit) | Self::Duration(unit) | Self::Timestamp { unit, .. } => {
                check(short(*unit).is_some(), || {
                    format!("the unit {unit} is not a second or a thousandth, millionth or billionth of one")
                })
            }
            Self::Decimal { bits, precision, scale } => {
                check(scale.unsigned_abs() <= MOST_SCALE, || {
                    format!("decimals have a scale of {MOST_SCALE} at most, up or down, not {scale}")
                })?;
                let most = match bits {
                    32 => 9,
                    64 => 18,
                    128 => 38,
                    256 => 76,
                    _ => return Err(wrong(format!("decimals of {bits} bits do not exist"))),
                };
                check((1..=most).contains(precision), || {
                    format!("decimals of {bits} bits have 1 to {most} digits, not {precision}")
                })
            }
            Self::FixedBinary(nbytes) => DType::void(*nbytes).map(drop),
            Self::Dictionary { index, .. } => {
                check(is_integer(index), || format!("indices of a dictionary are integers, not {index}"))
            }
            Self::Map { entries, .. } => {
                check(matches!(entries.column_type(), Self::Struct(fields) if fields.len() == 2), || {
                    format!("entries of a map are a struct of key and value, not {}", entries.column_type())
                })
            }
            Self::RunEndEncoded { run_ends, .. } => {
                let ty = run_ends.column_type();
                let known = [DType::I16, DType::I32, DType::I64];
                check(matches!(ty, Self::Fixed(dtype) if known.contains(dtype)), || {
                    format!("run ends are int16, int32 or int64, not {ty}")
                })
            }
            Self::Union { fields, ids, .. } => {
                let (children, count) = (fields.len(), ids.len());
                check(children == count, || {
                    format!("a union of {children} children has {count} identifiers")
                })?;
                let mut seen = [false; 128];
                for &id in &**ids {
                    let slot = usize::try_from(id).ok().and_then(|id| seen.get_mut(id));
                    let is_new = slot.is_some_and(|slot| !std::mem::replace(slot, true));
                    check(is_new, || format!("the identifier {id} of a union is negative or repeated"))?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn check(holds: bool, text: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(wrong(text())) }
}

#[cold]
fn wrong(text: String) -> Error {
    Error::new(Kind::Value, text)
}

/// Whether elements are integers of 8 to 64 bits in native byte order.
fn is_integer(dtype: &DType) -> bool {
    dtype.as_scalar().is_some_and(|scalar| scalar.kind().is_integer()) && dtype.is_native()
}

/// The letters of the units that Arrow has.
fn short(unit: TimeUnit) -> Option<&'static str> {
    let known = [TimeUnit::SECOND, TimeUnit::MILLISECOND, TimeUnit::MICROSECOND, TimeUnit::NANOSECOND];
    known.contains(&unit).then(|| unit.base().symbol())
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let large = |offsets: &OffsetWidth| if *offsets == OffsetWidth::I64 { "large_" } else { "" };
        let unit = |unit: &TimeUnit| short(*unit).unwrap_or("?");
        match self {
            Self::Null => f.write_str("null"),
            Self::Boolean => f.write_str("bool"),
            Self::Fixed(dtype) if *dtype == DType::BOOL => f.write_str("bool8"),
            Self::Fixed(dtype) => write!(f, "{dtype}"),
            Self::Date32 => f.write_str("date32[day]"),
            Self::Date64 => f.write_str("date64[ms]"),
            Self::Time(of) => {
                let bits = if self.dtype() == Some(DType::I32) { 32 } else { 64 };
                write!(f, "time{bits}[{}]", unit(of))
            }
            Self::Timestamp { unit: of, zone: None } => write!(f, "timestamp[{}]", unit(of)),
            Self::Timestamp { unit: of, zone: Some(zone) } => {
                write!(f, "timestamp[{}, tz={zone}]", unit(of))
            }
            Self::Duration(of) => write!(f, "duration[{}]", unit(of)),
            Self::Interval(IntervalUnit::YearMonth) => f.write_str("month_interval"),
            Self::Interval(IntervalUnit::DayTime) => f.write_str("day_time_interval"),
            Self::Interval(IntervalUnit::MonthDayNano) => f.write_str("month_day_nano_interval"),
            Self::Decimal { bits, precision, scale } => write!(f, "decimal{bits}({precision}, {scale})"),
            Self::FixedBinary(nbytes) => write!(f, "fixed_size_binary[{nbytes}]"),
            Self::Binary(width) => write!(f, "{}binary", large(width)),
            Self::Utf8(width) => write!(f, "{}string", large(width)),
            Self::BinaryView => f.write_str("binary_view"),
            Self::Utf8View => f.write_str("string_view"),
            Self::List { item, offsets } => write!(f, "{}list<{item}>", large(offsets)),
            Self::ListView { item, offsets } => write!(f, "{}list_view<{item}>", large(offsets)),
            Self::FixedList { item, len } => write!(f, "fixed_size_list<{item}>[{len}]"),
            Self::Struct(fields) => {
                f.write_str("struct<")?;
                for (k, field) in fields.iter().enumerate() {
                    write!(f, "{}{field}", if k == 0 { "" } else { ", " })?;
                }
                f.write_str(">")
            }
            Self::Map { entries, keys_sorted } => {
                let mut types = entries.column_type().fields().map(Field::column_type);
                let (Some(key), Some(value)) = (types.next(), types.next()) else {
                    return f.write_str("map<?>");
                };
                write!(f, "map<{key}, {value}{}>", if *keys_sorted { ", keys_sorted" } else { "" })
            }
            Self::Dictionary { index, values, ordered } => write!(
                f,
                "dictionary<values={}, indices={index}, ordered={}>",
                values.column_type(),
                u8::from(*ordered)
            ),
            Self::RunEndEncoded { run_ends, values } => write!(
                f,
                "run_end_encoded<run_ends: {}, values: {}>",
                run_ends.column_type(),
                values.column_type()
            ),
            Self::Union { mode, fields, ids } => {
                f.write_str(if *mode == UnionMode::Sparse { "sparse_union<" } else { "dense_union<" })?;
                for (k, (field, id)) in fields.iter().zip(&**ids).enumerate() {
                    write!(f, "{}{field}={id}", if k == 0 { "" } else { ", " })?;
                }
                f.write_str(">")
            }
        }
    }
}
