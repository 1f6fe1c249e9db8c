//! Dtypes as Ruby programs write them.
//!
//! | in Ruby | the dtype |
//! |---|---|
//! | `:float32`, `">i2"`, `"[('x', '<f4')]"` | a name, or one of NumPy's spellings |
//! | `"iqc"`, `"|iqc"` | a template of `Array#pack` |
//! | `{ x: :float32, y: [:int16, 3] }` | a record, packed |
//! | `[:int16, 3]`, `[:int16, [2, 2]]` | a sub-array |
//! | a class given to `Crossdock.record` | that record |
//!
//! NumPy's spellings with a width come first (`"i4"` is `:int32`); single letters are those of
//! `pack` (`"l"` has 4 bytes).

use std::fmt::Write as _;

use crossdock::bindings::MAX_DEPTH;
use crossdock::bindings::dialect::pack;
use crossdock::element::{DType, DTypeKind, Field};
use magnus::{Integer, RArray, RClass, RHash, RModule, RString, Ruby, Value, function, prelude::*};

use crate::error::{CROSSDOCK, Failure, Result, text};
use crate::lengths;
use crate::query::dtype_to_ruby;
use crate::value::name;

/// A dtype in Ruby.
pub(crate) fn parse_dtype(ruby: &Ruby, value: Value) -> Result<DType> {
    parse(ruby, value, Packing::Packed, 0)
}

/// Where the fields of a Hash are.
#[derive(Clone, Copy, PartialEq)]
enum Packing {
    Packed,
    /// Where C aligns them.
    Aligned,
}

/// Nested records, up to a maximum depth: a Hash may contain itself.
fn parse(ruby: &Ruby, value: Value, packing: Packing, depth: usize) -> Result<DType> {
    if depth > MAX_DEPTH {
        return Err(Failure::argument(ruby, format!("dtype: records nested more than {MAX_DEPTH} deep")));
    }
    if let Some(fields) = RHash::from_value(value) {
        let mut parsed = Vec::new();
        for field in fields.funcall::<_, _, RArray>("keys", ())? {
            let dtype: Value = fields.aref(field)?;
            parsed.push((name(ruby, field)?, parse(ruby, dtype, packing, depth + 1)?));
        }
        return match packing {
            Packing::Packed => Ok(DType::packed_record(parsed)?),
            Packing::Aligned => aligned(ruby, parsed),
        };
    }
    if let Some(pair) = RArray::from_value(value) {
        return subarray(ruby, pair, packing, depth);
    }
    if RClass::from_value(value).is_some() {
        let known: Value = ruby.get_inner(&CROSSDOCK).funcall("dtype_of_class", (value,))?;
        return parse(ruby, known, Packing::Packed, depth + 1);
    }
    let spelling: String = value.funcall("to_s", ())?;
    spelling.parse::<DType>().or_else(|error| match of_template(&spelling) {
        Some(dtype) => dtype,
        None => {
            let mut why = format!("dtype: {}", text(&error));
            if RString::from_value(value).is_some()
                && let Err(error) = pack::parse(spelling.as_bytes())
            {
                _ = write!(why, "; it is no template of MemoryView either: {error}");
            }
            Err(Failure::argument(ruby, why))
        }
    })
}

/// The dtype of a template; `None` for a text that is none.
fn of_template(spelling: &str) -> Option<Result<DType>> {
    let template = pack::parse(spelling.as_bytes()).ok()?;
    (!template.components().is_empty()).then(|| Ok(template.to_dtype()?))
}

/// `[dtype, length]` or `[dtype, lengths]`.
fn subarray(ruby: &Ruby, pair: RArray, packing: Packing, depth: usize) -> Result<DType> {
    if pair.len() != 2 {
        let text = format!("dtype: {pair} is no sub-array: give [dtype, length] or [dtype, lengths]");
        return Err(Failure::argument(ruby, text));
    }
    let base = parse(ruby, pair.entry(0)?, packing, depth + 1)?;
    let lengths: Value = pair.entry(1)?;
    let shape: Vec<usize> = match Integer::from_value(lengths) {
        Some(length) => vec![lengths::size(ruby, "dtype", length.as_value())?],
        None => lengths::lengths(ruby, "dtype", RArray::try_convert(lengths)?)?,
    };
    Ok(DType::subarray(&shape, base)?)
}

/// A record with its fields where C puts them.
fn aligned(ruby: &Ruby, parsed: Vec<(String, DType)>) -> Result<DType> {
    let overflow = || Failure::argument(ruby, "dtype: a record larger than the address space");
    let (mut fields, mut end, mut widest) = (Vec::with_capacity(parsed.len()), 0_usize, 1);
    for (name, dtype) in parsed {
        let alignment = alignment(&dtype);
        let offset = end.checked_next_multiple_of(alignment).ok_or_else(overflow)?;
        end = offset.checked_add(dtype.itemsize()).ok_or_else(overflow)?;
        widest = widest.max(alignment);
        fields.push(Field::new(name, offset, dtype));
    }
    Ok(DType::record(fields, end.checked_next_multiple_of(widest).ok_or_else(overflow)?)?)
}

/// The alignment of a C type with this layout: of a record, that of its fields if all of them are
/// aligned in it.
fn alignment(dtype: &DType) -> usize {
    match dtype.kind() {
        DTypeKind::Scalar(scalar) => scalar.alignment(),
        DTypeKind::SubArray(subarray) => alignment(subarray.base()),
        DTypeKind::Record(record) => {
            let widest = record.fields().iter().map(|field| alignment(field.dtype())).max().unwrap_or(1);
            let fits = |field: &Field| field.offset().is_multiple_of(alignment(field.dtype()));
            let all_fit = record.itemsize().is_multiple_of(widest) && record.fields().iter().all(fits);
            if all_fit { widest } else { 1 }
        }
    }
}

/// The same record with these names of its fields.
fn renamed(ruby: &Ruby, dtype: DType, names: RArray) -> Result<DType> {
    let names = names.into_iter().map(|value| name(ruby, value)).collect::<Result<Vec<_>>>()?;
    let misfit = |count: usize| {
        Failure::argument(ruby, format!("{} names for the {count} fields of {dtype}", names.len()))
    };
    let Some(record) = dtype.as_record() else {
        // A template with a single part has no fields.
        let [name] = &names[..] else { return Err(misfit(1)) };
        return Ok(DType::packed_record([(name.as_str(), dtype)])?);
    };
    if record.fields().len() != names.len() {
        return Err(misfit(record.fields().len()));
    }
    let fields = record.fields().iter().zip(&names);
    let fields = fields.map(|(field, name)| Field::new(name.as_str(), field.offset(), field.dtype().clone()));
    Ok(DType::record(fields.collect::<Vec<_>>(), record.itemsize())?)
}

/// A dtype as `Array#dtype` returns it, with other names, or aligned.
fn make_dtype(ruby: &Ruby, value: Value, names: Option<RArray>, align: bool) -> Result<Value> {
    let packing = if align { Packing::Aligned } else { Packing::Packed };
    let dtype = parse(ruby, value, packing, 0)?;
    let dtype = match names {
        Some(names) => renamed(ruby, dtype, names)?,
        None => dtype,
    };
    dtype_to_ruby(ruby, &dtype)
}

pub(crate) fn init(module: RModule) -> std::result::Result<(), magnus::Error> {
    module.define_singleton_method("make_dtype", function!(make_dtype, 3))
}
