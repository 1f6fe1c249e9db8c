//! Conversion of single elements between Ruby and the library.
//!
//! | dtype | in Ruby |
//! |---|---|
//! | boolean | `true`, `false` |
//! | integers, pointers | `Integer` |
//! | floats | `Float` (a `long double` as the nearest double); input: exact numbers, too |
//! | complex numbers | `Complex` |
//! | fixed bytes, opaque bytes | binary `String`; input: the bytes of a `String` in any encoding |
//! | text | UTF-8 `String`; input: a `String` in any encoding that has these characters |
//! | dates | `Time` in UTC, `nil` for NaT; input: `DateTime`, `Date`, and the count, too |
//! | durations | `Integer`, the count of their unit; `nil` for NaT |
//! | sub-arrays | `Array` |
//! | records | `Hash` with Symbols; input: a `Struct` or `Data`, too |

use crossdock::element::{DType, DTypeKind, NAT, ScalarKind, Value as Element};
use magnus::error::IntoError;
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::value::{Qfalse, Qtrue};
use magnus::{
    Float, Integer, IntoValue, RArray, RHash, RString, Ruby, Symbol, TryConvert, Value,
    encoding::EncodingCapable, prelude::*, r_hash::ForEach,
};

use rb_sys::VALUE;

use crate::error::{Failure, Result};
use crate::exact;
use crate::moment::{self, Moment};

/// An element as a Ruby object.
pub(crate) fn to_ruby(ruby: &Ruby, element: &Element) -> Result<Value> {
    Ok(match element {
        Element::Bool(value) => value.into_value_with(ruby),
        Element::Int(value) => value.into_value_with(ruby),
        Element::UInt(value) | Element::Pointer(value) => value.into_value_with(ruby),
        Element::Float(value) => ruby.float_from_f64(*value).as_value(),
        Element::Complex { re, im } => complex(*re, *im)?,
        Element::Bytes(bytes) | Element::Void(bytes) => ruby.str_from_slice(bytes).as_value(),
        Element::Text(text) => ruby.str_new(text).as_value(),
        Element::DateTime { count, unit } => moment::to_ruby(ruby, *count, *unit)?,
        Element::TimeDelta { count, .. } => (*count != NAT).then_some(*count).into_value_with(ruby),
        Element::ComplexLongDouble(_) => {
            let (re, im) = element.as_complex().unwrap_or((f64::NAN, f64::NAN));
            complex(re, im)?
        }
        Element::Array(items) => {
            let array = array_of(items.len())?;
            for item in items {
                array.push(to_ruby(ruby, item)?)?;
            }
            array.as_value()
        }
        Element::Record(fields) => {
            let hash = ruby.hash_new();
            for (name, field) in fields {
                hash.aset(ruby.to_symbol(name), to_ruby(ruby, field)?)?;
            }
            hash.as_value()
        }
        other => match other.as_f64() {
            Some(number) => ruby.float_from_f64(number).as_value(),
            None => ruby.str_new(&other.to_string()).as_value(),
        },
    })
}

/// An empty Array with this capacity.
///
/// # Errors
///
/// `NoMemoryError`, and `ArgumentError` if an Array cannot be that large.
pub(crate) fn array_of(capacity: usize) -> Result<RArray> {
    // SAFETY: `rb_ary_new_capa` checks the capacity, and `protect` catches what it raises.
    let made = protect(|| unsafe { rb_sys::rb_ary_new_capa(capacity as _) })?;
    // SAFETY: `made` is the Array that Ruby just created, and it is on the stack.
    let made = unsafe { Value::from_raw(made) };
    Ok(RArray::try_convert(made)?)
}

fn complex(re: f64, im: f64) -> Result<Value> {
    // SAFETY: `rb_dbl_complex_new` accepts all doubles, and `protect` catches what it raises.
    let made = protect(|| unsafe { rb_sys::rb_dbl_complex_new(re, im) })?;
    // SAFETY: `made` is the Complex that Ruby just created, and it is on the stack.
    Ok(unsafe { Value::from_raw(made) })
}

/// A Ruby object as an element for this dtype. Writing the element checks whether it fits.
pub(crate) fn from_ruby(ruby: &Ruby, value: Value, dtype: &DType) -> Result<Element> {
    match dtype.kind() {
        DTypeKind::Scalar(scalar) => scalar_from_ruby(ruby, value, scalar.kind()),
        DTypeKind::SubArray(subarray) => items_from_ruby(ruby, value, subarray.shape(), subarray.base()),
        DTypeKind::Record(record) => {
            let Some(hash) = fields_of(ruby, value)? else {
                return Err(unfit(ruby, value, "a Hash, Struct or Data with the fields of the record"));
            };
            let value = hash.as_value();
            let (mut given, mut twice) = (Vec::<(String, VALUE)>::new(), None);
            hash.foreach(|key: Value, field: Value| {
                let name = name(ruby, key).map_err(|failure| failure.into_error(ruby))?;
                // A Symbol and a String, or Strings of two encodings: different keys, the same
                // name.
                if given.iter().any(|(other, _)| *other == name) {
                    twice = Some(name.clone());
                }
                given.push((name, field.as_raw()));
                Ok(ForEach::Continue)
            })?;
            if let Some(name) = twice {
                let text = format!("the Hash has two values for the field {name:?}: keys {}", keys(value)?);
                return Err(Failure::argument(ruby, text));
            }
            if let Some((name, _)) = given.iter().find(|(name, _)| record.field(name).is_none()) {
                return Err(Failure::argument(
                    ruby,
                    format!("the record has no field {name:?}: it is {dtype}"),
                ));
            }
            let mut fields = Vec::with_capacity(given.len());
            for field in record.fields() {
                let Some((_, value)) = given.iter().find(|(name, _)| name == field.name()) else {
                    let text = format!("the Hash has no value for the field {:?} of {dtype}", field.name());
                    return Err(Failure::argument(ruby, text));
                };
                // SAFETY: the Hash, which is on the stack, refers to the value and keeps it alive.
                let value = unsafe { Value::from_raw(*value) };
                let value = from_ruby(ruby, value, field.dtype())
                    .map_err(|failure| failure.within(ruby, format_args!("field {:?}", field.name())))?;
                fields.push((field.name().to_owned(), value));
            }
            Ok(Element::Record(fields))
        }
    }
}

/// The keys of a Hash as Ruby prints them, for errors.
fn keys(hash: Value) -> Result<String> {
    let shown: String = hash.funcall::<_, _, Value>("keys", ())?.funcall("inspect", ())?;
    Ok(shown.chars().take(80).collect())
}

fn items_from_ruby(ruby: &Ruby, value: Value, shape: &[usize], base: &DType) -> Result<Element> {
    let Some((_, inner)) = shape.split_first() else { return from_ruby(ruby, value, base) };
    let Some(array) = RArray::from_value(value) else {
        return Err(unfit(ruby, value, &format!("an Array for the axes {shape:?}")));
    };
    let mut items = Vec::with_capacity(array.len());
    for index in 0..array.len() {
        items.push(items_from_ruby(ruby, array.entry(index as isize)?, inner, base)?);
    }
    Ok(Element::Array(items))
}

fn scalar_from_ruby(ruby: &Ruby, value: Value, kind: ScalarKind) -> Result<Element> {
    if value.is_nil() {
        return match kind {
            ScalarKind::DateTime(unit) => Ok(Element::DateTime { count: NAT, unit }),
            ScalarKind::TimeDelta(unit) => Ok(Element::TimeDelta { count: NAT, unit }),
            _ => Err(unfit(ruby, value, &kind.to_string())),
        };
    }
    if Qtrue::from_value(value).is_some() || Qfalse::from_value(value).is_some() {
        return Ok(Element::Bool(value.to_bool()));
    }
    if let Some(integer) = Integer::from_value(value) {
        let count = integer.to_i64();
        let unsigned = || integer.to_u64().map_err(|_| Failure::misfit(ruby, integer, kind));
        return match (kind, count) {
            (ScalarKind::DateTime(unit), Ok(count)) => Ok(Element::DateTime { count, unit }),
            (ScalarKind::TimeDelta(unit), Ok(count)) => Ok(Element::TimeDelta { count, unit }),
            (ScalarKind::Pointer, _) => Ok(Element::Pointer(unsigned()?)),
            (_, Ok(count)) => Ok(Element::Int(count)),
            (_, Err(_)) if kind.is_inexact() => exact::real(ruby, value, kind),
            (_, Err(_)) => Ok(Element::UInt(unsigned()?)),
        };
    }
    if let Some(float) = Float::from_value(value) {
        return Ok(Element::Float(float.to_f64()));
    }
    if let Some(string) = RString::from_value(value) {
        // SAFETY: `string` is alive, and `to_vec` copies the bytes before Ruby runs again.
        let bytes = || unsafe { string.as_slice() }.to_vec();
        return Ok(match kind {
            ScalarKind::Void(_) => Element::Void(bytes()),
            ScalarKind::Bytes(_) => Element::Bytes(bytes()),
            ScalarKind::Text(_) => Element::Text(characters(ruby, string)?),
            _ => return Err(unfit(ruby, value, &kind.to_string())),
        });
    }
    if value.is_kind_of(ruby.class_numeric()) {
        if !value.funcall::<_, _, bool>("real?", ())? {
            let (re, im): (Value, Value) = value.funcall("rect", ())?;
            return exact::complex(ruby, re, im, kind);
        }
        if kind.is_inexact() {
            return exact::real(ruby, value, kind);
        }
        let is_date =
            matches!(kind, ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_) | ScalarKind::Pointer);
        return match exact::whole(ruby, value)? {
            Some(integer) if !is_date => scalar_from_ruby(ruby, integer.as_value(), kind),
            _ => Err(Failure::misfit(ruby, value, kind)),
        };
    }
    if let ScalarKind::DateTime(unit) = kind
        && let Some(moment) = Moment::of(ruby, value)
    {
        return moment::from_ruby(ruby, value, moment, unit);
    }
    Err(unfit(ruby, value, &kind.to_string()))
}

/// The fields of a Hash, Struct or Data.
pub(crate) fn fields_of(ruby: &Ruby, value: Value) -> Result<Option<RHash>> {
    match RHash::from_value(value) {
        Some(hash) => Ok(Some(hash)),
        None if is_record(ruby, value) => Ok(Some(RHash::try_convert(value.funcall("to_h", ())?)?)),
        None => Ok(None),
    }
}

/// Whether an object is a Struct or a Data.
pub(crate) fn is_record(ruby: &Ruby, value: Value) -> bool {
    let is = |name: &str| {
        let class: std::result::Result<Value, _> = ruby.class_object().const_get(name);
        class.is_ok_and(|class| class.funcall("===", (value,)).unwrap_or(false))
    };
    // Before Ruby 3.2, `Data` was another class.
    is("Struct") || (is("Data") && value.respond_to("members", false).unwrap_or(false))
}

fn unfit(ruby: &Ruby, value: Value, wanted: &str) -> Failure {
    let text = format!("{} can't be an element: {wanted} is wanted{}", describe(value), way_out(ruby, value));
    Failure::of_type(ruby, text)
}

/// How to convert an unsupported object into an element or a list of them; for errors.
pub(crate) fn way_out(ruby: &Ruby, value: Value) -> &'static str {
    if RHash::from_value(value).is_some() || is_record(ruby, value) {
        "; it is an element of a record, whose dtype is a Hash of the fields and their dtypes"
    } else if Moment::of(ruby, value).is_some() {
        "; it is an element of dates, such as datetime64[s]"
    } else {
        ""
    }
}

/// `nil`, or `a String`: the kind of a value, for errors.
pub(crate) fn describe(value: Value) -> String {
    if value.is_nil() { "nil".into() } else { format!("an instance of {}", value.class()) }
}

/// The characters of a String in any encoding.
///
/// # Errors
///
/// `EncodingError` for bytes that are invalid in the String's encoding. Errors of `String#encode`,
/// which inherit from it, for characters that Unicode lacks, and for bytes above 127 in a binary
/// String.
pub(crate) fn characters(ruby: &Ruby, string: RString) -> Result<String> {
    // Ruby caches this answer with the String.
    if string.funcall::<_, _, bool>("valid_encoding?", ())? {
        // SAFETY: `string` is alive, and the bytes are copied or dropped before Ruby runs again.
        let bytes = unsafe { string.as_slice() };
        let index = string.enc_get();
        if index == ruby.utf8_encindex() || (bytes.is_ascii() && index == ruby.ascii8bit_encindex()) {
            return String::from_utf8(bytes.to_vec())
                .map_err(|error| Failure::argument(ruby, error.to_string()));
        }
        let converted: RString = string.funcall("encode", ("UTF-8",))?;
        return Ok(converted.to_string()?);
    }
    let encoding: Value = string.funcall("encoding", ())?;
    let shown: RString = string.funcall("inspect", ())?;
    let shown: String = shown.to_string().unwrap_or_default().chars().take(60).collect();
    let text = format!("a String of {} bytes is not valid {encoding}: {shown}", string.len());
    Err(Failure::Raised(magnus::Error::new(ruby.exception_encoding_error(), text)))
}

/// The name of a field or of a mode: a String or a Symbol.
pub(crate) fn name(ruby: &Ruby, value: Value) -> Result<String> {
    if let Some(symbol) = Symbol::from_value(value) {
        return characters(ruby, symbol.funcall("name", ())?);
    }
    match RString::from_value(value) {
        Some(string) => characters(ruby, string),
        None => {
            Err(Failure::of_type(ruby, format!("{} is no name: give a Symbol or a String", describe(value))))
        }
    }
}
