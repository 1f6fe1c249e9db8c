//! Arrays from nested Ruby arrays: one pass for shape and kind, and one for the elements.

use crossdock::bindings::MAX_DEPTH;
use crossdock::buffer::Buffer;
use crossdock::element::{DType, ScalarKind, TimeUnit};
use crossdock::layout::{Layout, MAX_RANK, Order};
use crossdock::{Casting, DArray};
use magnus::rb_sys::AsRawValue;
use magnus::{Float, Integer, RArray, RHash, RString, Ruby, Value, prelude::*};
use rb_sys::VALUE;

use crate::error::{Failure, Result, text};
use crate::exact::{is_rational, is_short, nearest};
use crate::lists::{Lists, too_deep};
use crate::moment::Moment;
use crate::stack::stacked;
use crate::value::{characters, describe, fields_of, from_ruby, is_record, name, way_out};

/// An array with the elements of nested Ruby arrays or other lists, or of one number, in the given
/// dtype or in the least one that holds all of them.
pub(crate) fn array(ruby: &Ruby, nested: Value, dtype: Option<DType>, order: Order) -> Result<DArray> {
    array_within(ruby, nested, dtype, order, &[])
}

/// As [`array`], of the values of a field: with the first of the records around it, at each level.
pub(crate) fn array_within(
    ruby: &Ruby,
    nested: Value,
    dtype: Option<DType>,
    order: Order,
    around: &[VALUE],
) -> Result<DArray> {
    let Lists { value: nested, has_arrays } = Lists::of(ruby, nested)?;
    if has_arrays && let Some(list) = RArray::from_value(nested) {
        return stacked(ruby, list, dtype, order, around);
    }
    let shape = shape(ruby, nested)?;
    if let Some(dtype) = &dtype
        && let Some(subarray) = dtype.as_subarray()
    {
        let array = one_by_one(ruby, nested, outer(&shape, subarray.shape()), dtype.clone(), true)?;
        return Ok(if array.is_contiguous(order) { array } else { array.to_order(order)? });
    }
    let mut census = Census::default();
    visit(ruby, nested, &shape, &mut |value| census.count(ruby, value, dtype.is_none()))?;
    if dtype.is_none() && census.is_of_records() {
        let dtype = record(ruby, nested, &shape, around)?;
        let array = one_by_one(ruby, nested, &shape, dtype, false)?;
        return Ok(if array.is_contiguous(order) { array } else { array.to_order(order)? });
    }
    let natural = census.natural();
    let array = match (&natural, &dtype) {
        (Ok(natural), Some(dtype))
            if is_number(dtype) && is_number(natural) && census.is_exact_as(natural) =>
        {
            filled(ruby, nested, &shape, natural)?.cast(dtype, order, Casting::Checked)?
        }
        (Ok(natural), None) if is_number(natural) => filled(ruby, nested, &shape, natural)?,
        _ => {
            let dtype = match (dtype, natural) {
                (Some(dtype), _) => dtype,
                (None, Ok(natural)) => natural,
                (None, Err(what)) => return Err(Failure::of_type(ruby, what)),
            };
            one_by_one(ruby, nested, &shape, dtype, false)?
        }
    };
    Ok(if array.is_contiguous(order) { array } else { array.to_order(order)? })
}

fn is_number(dtype: &DType) -> bool {
    let kind = dtype.as_scalar().map(|scalar| scalar.kind());
    kind.is_some_and(|kind| kind == ScalarKind::Bool || kind.is_integer() || kind.is_inexact())
}

/// The lengths of the axes, from the first elements.
fn shape(ruby: &Ruby, nested: Value) -> Result<Vec<usize>> {
    let (mut shape, mut at) = (Vec::new(), nested);
    while let Some(array) = RArray::from_value(at) {
        if shape.len() == MAX_RANK {
            return Err(too_deep(ruby));
        }
        shape.push(array.len());
        if array.is_empty() {
            break;
        }
        at = array.entry(0)?;
    }
    Ok(shape)
}

/// The axes around elements that are Arrays themselves, with these axes.
fn outer<'a>(shape: &'a [usize], inner: &[usize]) -> &'a [usize] {
    // An empty list has no elements that would show their axes.
    let is_empty = shape.last() == Some(&0) && !inner.contains(&0);
    if is_empty { shape } else { &shape[..shape.len().saturating_sub(inner.len())] }
}

/// Calls `f` with every element, in row-major order; all axes are as long as the shape says. An
/// error of `f` gets the index of the element in front.
fn visit(ruby: &Ruby, nested: Value, shape: &[usize], f: &mut dyn FnMut(Value) -> Result<()>) -> Result<()> {
    let mut scalar = |index: &[usize], value: Value| match RArray::from_value(value) {
        Some(_) => {
            let text = format!("an Array at {index:?}, where the others have elements: not all are as deep");
            Err(Failure::argument(ruby, text))
        }
        None => f(value).map_err(|failure| within(ruby, index, failure)),
    };
    visit_axis(ruby, nested, shape, &mut vec![0; shape.len()], 0, &mut scalar)
}

/// An error about the element at an index.
fn within(ruby: &Ruby, index: &[usize], failure: Failure) -> Failure {
    match index {
        [] => failure,
        index => failure.within(ruby, format_args!("element {index:?}")),
    }
}

fn visit_axis(
    ruby: &Ruby,
    nested: Value,
    shape: &[usize],
    index: &mut Vec<usize>,
    axis: usize,
    f: &mut dyn FnMut(&[usize], Value) -> Result<()>,
) -> Result<()> {
    let Some(&len) = shape.get(axis) else { return f(index, nested) };
    let at = &index[..axis];
    let Some(array) = RArray::from_value(nested) else {
        let text = format!("{} at {at:?}, where the others have Arrays of {len}", describe(nested));
        return Err(Failure::argument(ruby, text));
    };
    if array.len() != len {
        let text = format!("an Array of {} at {at:?}, where the first has {len} elements", array.len());
        return Err(Failure::argument(ruby, text));
    }
    for entry in 0..len {
        index[axis] = entry;
        // Ruby code that ran meanwhile may have changed it.
        visit_axis(ruby, array.entry(entry as isize)?, shape, index, axis + 1, f)?;
    }
    Ok(())
}

/// The number of elements of each kind.
#[derive(Default)]
struct Census {
    bools: usize,
    integers: usize,
    negative: usize,
    /// Integers above `i64`, and among them those that no integer dtype holds.
    beyond: usize,
    huge: usize,
    /// Numbers that a double does not represent.
    inexact: usize,
    floats: usize,
    complex: usize,
    strings: usize,
    longest: usize,
    nils: usize,
    times: usize,
    dates: usize,
    /// Hashes, Structs and Data.
    records: usize,
    /// The first element of an unsupported kind, and how to convert it.
    other: Option<(String, &'static str)>,
}

impl Census {
    /// Counts one element. The lengths of Strings are only read if the census is to name a dtype.
    fn count(&mut self, ruby: &Ruby, value: Value, names_dtype: bool) -> Result<()> {
        let raw = value.as_raw();
        if rb_sys::FIXNUM_P(raw) {
            // SAFETY: `FIXNUM_P` just confirmed that `raw` is a Fixnum, so it encodes its number.
            self.count_integer(unsafe { rb_sys::FIX2LONG(raw) });
        } else if rb_sys::FLONUM_P(raw) || Float::from_value(value).is_some() {
            self.floats += 1;
        } else if raw == rb_sys::Qtrue as rb_sys::VALUE || raw == rb_sys::Qfalse as rb_sys::VALUE {
            self.bools += 1;
        } else if let Some(integer) = Integer::from_value(value) {
            match integer.to_i64() {
                Ok(number) => self.count_integer(number),
                Err(_) => {
                    self.integers += 1;
                    self.beyond += 1;
                    self.inexact += 1;
                    self.huge += usize::from(integer.to_u64().is_err());
                }
            }
        } else if let Some(string) = RString::from_value(value) {
            self.strings += 1;
            if names_dtype {
                self.longest = self.longest.max(characters(ruby, string)?.chars().count());
            }
        } else if value.class().to_string() == "Complex" {
            self.complex += 1;
            self.inexact += 1;
        } else if is_rational(value) || value.is_kind_of(ruby.class_numeric()) {
            self.floats += 1;
            self.inexact += 1;
        } else if value.is_nil() {
            self.nils += 1;
        } else if RHash::from_value(value).is_some() || is_record(ruby, value) {
            self.records += 1;
        } else if let Some(moment) = Moment::of(ruby, value) {
            match moment {
                Moment::Time => self.times += 1,
                Moment::Date => self.dates += 1,
            }
        } else if self.other.is_none() {
            self.other = Some((describe(value), way_out(ruby, value)));
        }
        Ok(())
    }

    fn count_integer(&mut self, number: i64) {
        self.integers += 1;
        self.negative += usize::from(number < 0);
        self.inexact += usize::from(!is_short(number));
    }

    /// Whether an array of the dtype that was named has every number exactly, so that a conversion
    /// from it rounds once.
    fn is_exact_as(&self, natural: &DType) -> bool {
        if *natural == DType::F64 || *natural == DType::C128 {
            return self.inexact == 0;
        }
        self.huge == 0 && (*natural != DType::I64 || self.beyond == 0)
    }

    /// Whether all elements are Hashes, Structs or Data.
    fn is_of_records(&self) -> bool {
        let others = self.bools + self.integers + self.floats + self.complex + self.strings;
        self.records > 0 && others + self.nils + self.times + self.dates == 0 && self.other.is_none()
    }

    /// The dtype that holds all elements, or why there is none.
    fn natural(&self) -> std::result::Result<DType, String> {
        let numbers = self.integers + self.floats + self.complex;
        if let Some((other, way_out)) = &self.other {
            let way_out = if way_out.is_empty() { ": say by dtype: what they are" } else { way_out };
            return Err(format!("{other} among the elements{way_out}"));
        }
        let moments = self.times + self.dates;
        if self.nils > 0 && (moments == 0 || self.records > 0) {
            return Err("nil among the elements: say by dtype: what they are".into());
        }
        if self.records > 0 || moments > 0 && numbers + self.bools + self.strings > 0 {
            return Err(format!(
                "{} records and {moments} dates among other elements: say by dtype: what they are",
                self.records
            ));
        }
        if usize::from(numbers > 0) + usize::from(self.bools > 0) + usize::from(self.strings > 0) > 1 {
            return Err(format!(
                "{numbers} numbers, {} truth values and {} Strings: say by dtype: what they are",
                self.bools, self.strings
            ));
        }
        Ok(if moments > 0 {
            DType::datetime(if self.times > 0 { TimeUnit::NANOSECOND } else { TimeUnit::DAY })
        } else if self.bools > 0 {
            DType::BOOL
        } else if self.strings > 0 {
            DType::text(self.longest).map_err(|error| text(&error))?
        } else if self.complex > 0 {
            DType::C128
        } else if self.floats > 0 || numbers == 0 {
            DType::F64
        } else if self.beyond > 0 && self.negative == 0 {
            DType::U64
        } else {
            DType::I64
        })
    }
}

/// The record that holds all Hashes, Structs or Data, with the fields of the first: each field has
/// the dtype of an array of its values. Records that contain themselves have no end.
fn record(ruby: &Ruby, nested: Value, shape: &[usize], around: &[VALUE]) -> Result<DType> {
    let records = ruby.ary_new();
    let mut outer = around.to_vec();
    visit(ruby, nested, shape, &mut |value| {
        if outer.len() == around.len() {
            outer.push(value.as_raw());
            // Only compared; the lists around keep these objects.
            if around.len() == MAX_DEPTH || around.contains(&value.as_raw()) {
                return Err(Failure::argument(ruby, format!("records nested more than {MAX_DEPTH} deep")));
            }
        }
        match fields_of(ruby, value)? {
            Some(fields) => records.push(fields)?,
            None => return Err(Failure::of_type(ruby, "a record became something else meanwhile")),
        }
        Ok(())
    })?;
    let first: RHash = records.entry(0)?;
    let mut fields = Vec::new();
    for key in first.funcall::<_, _, RArray>("keys", ())? {
        let values = ruby.ary_new();
        for record in records {
            values.push(RHash::try_convert(record)?.lookup2::<_, _, Value>(key, ruby.qnil())?)?;
        }
        let name = name(ruby, key)?;
        let values = array_within(ruby, values.as_value(), None, Order::RowMajor, &outer)
            .map_err(|failure| failure.within(ruby, format_args!("field {name:?}")))?;
        let dtype = match values.shape() {
            [_, inner @ ..] if !inner.is_empty() => DType::subarray(inner, values.dtype().clone())?,
            _ => values.dtype().clone(),
        };
        fields.push((name, dtype));
    }
    Ok(DType::packed_record(fields)?)
}

/// Elements of one of the dtypes that a census names for numbers.
fn filled(ruby: &Ruby, nested: Value, shape: &[usize], dtype: &DType) -> Result<DArray> {
    let each = |f: &mut dyn FnMut(Value) -> Result<()>| visit(ruby, nested, shape, f);
    let buffer = if *dtype == DType::BOOL {
        let mut bytes = Vec::new();
        each(&mut |value| {
            bytes.push(u8::from(value.to_bool()));
            Ok(())
        })?;
        Buffer::from_vec(bytes)
    } else if *dtype == DType::I64 {
        let mut numbers: Vec<i64> = Vec::new();
        each(&mut |value| {
            let integer = whole(ruby, value)?;
            numbers.push(integer.to_i64().map_err(|_| Failure::misfit(ruby, integer, dtype))?);
            Ok(())
        })?;
        Buffer::from_vec(numbers)
    } else if *dtype == DType::U64 {
        let mut numbers: Vec<u64> = Vec::new();
        each(&mut |value| {
            let integer = whole(ruby, value)?;
            numbers.push(integer.to_u64().map_err(|_| Failure::misfit(ruby, integer, dtype))?);
            Ok(())
        })?;
        Buffer::from_vec(numbers)
    } else if *dtype == DType::F64 {
        let mut numbers: Vec<f64> = Vec::new();
        each(&mut |value| {
            numbers.push(nearest(ruby, value)?);
            Ok(())
        })?;
        Buffer::from_vec(numbers)
    } else {
        let mut numbers: Vec<f64> = Vec::new();
        each(&mut |value| {
            let (re, im): (Value, Value) = value.funcall("rect", ())?;
            numbers.push(nearest(ruby, re)?);
            numbers.push(nearest(ruby, im)?);
            Ok(())
        })?;
        Buffer::from_vec(numbers)
    }?;
    let layout = Layout::contiguous(shape, dtype.itemsize(), Order::RowMajor)?;
    Ok(DArray::from_buffer(buffer, dtype.clone(), layout, 0)?)
}

fn whole(ruby: &Ruby, value: Value) -> Result<Integer> {
    Integer::from_value(value)
        .ok_or_else(|| Failure::of_type(ruby, "an Integer became something else meanwhile"))
}

/// Elements of any dtype, converted one by one; `are_arrays` if each is an Array.
fn one_by_one(ruby: &Ruby, nested: Value, shape: &[usize], dtype: DType, are_arrays: bool) -> Result<DArray> {
    let array = DArray::zeros(dtype, shape, Order::RowMajor)?;
    let flat = array.flatten()?;
    let mut position = 0;
    let mut store = |value: Value| {
        let element = from_ruby(ruby, value, flat.dtype())?;
        flat.set(&[position], &element)?;
        position += 1;
        Ok(())
    };
    if are_arrays {
        let mut element =
            |index: &[usize], value: Value| store(value).map_err(|failure| within(ruby, index, failure));
        visit_axis(ruby, nested, shape, &mut vec![0; shape.len()], 0, &mut element)?;
    } else {
        visit(ruby, nested, shape, &mut store)?;
    }
    Ok(array)
}
