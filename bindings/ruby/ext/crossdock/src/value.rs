//! One element between Ruby and the library.
//!
//! | dtype | in Ruby |
//! |---|---|
//! | truth value | `true`, `false` |
//! | integers, pointers | `Integer` |
//! | floats of any width | `Float` (a `long double` as the nearest double) |
//! | complex numbers | `Complex` |
//! | fixed bytes, opaque bytes | `String` of binary encoding |
//! | text | `String` in UTF-8 |
//! | dates, durations | `Integer`, the count of their unit; `nil` for none |
//! | sub-arrays | `Array` |
//! | records | `Hash` with Symbols |

use crossdock::element::{DType, DTypeKind, NAT, ScalarKind, Value as Element};
use magnus::error::IntoError;
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::value::{Qfalse, Qtrue};
use magnus::{
    Float, Integer, IntoValue, RArray, RHash, RString, Ruby, Symbol, Value, prelude::*, r_hash::ForEach,
};

use crate::error::{Failure, Result};

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
        Element::DateTime { count, .. } | Element::TimeDelta { count, .. } => {
            (*count != NAT).then_some(*count).into_value_with(ruby)
        }
        Element::ComplexLongDouble(_) => {
            let (re, im) = element.as_complex().unwrap_or((f64::NAN, f64::NAN));
            complex(re, im)?
        }
        Element::Array(items) => {
            let array = ruby.ary_new_capa(items.len());
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

fn complex(re: f64, im: f64) -> Result<Value> {
    // SAFETY: two numbers.
    let made = protect(|| unsafe { rb_sys::rb_dbl_complex_new(re, im) })?;
    // SAFETY: what Ruby just made.
    Ok(unsafe { Value::from_raw(made) })
}

/// A Ruby object as an element that is to be written as this dtype. What does not fit is found out when it is written.
pub(crate) fn from_ruby(ruby: &Ruby, value: Value, dtype: &DType) -> Result<Element> {
    match dtype.kind() {
        DTypeKind::Scalar(scalar) => scalar_from_ruby(ruby, value, scalar.kind()),
        DTypeKind::SubArray(subarray) => items_from_ruby(ruby, value, subarray.shape(), subarray.base()),
        DTypeKind::Record(record) => {
            let Some(hash) = RHash::from_value(value) else {
                return Err(unfit(ruby, value, "a Hash with the fields of the record"));
            };
            let mut given = Vec::new();
            hash.foreach(|key: Value, field: Value| {
                let name = name(ruby, key).map_err(|failure| failure.into_error(ruby))?;
                given.push((name, field.as_raw()));
                Ok(ForEach::Continue)
            })?;
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
                // SAFETY: the hash, which is on the stack, has it.
                let value = unsafe { Value::from_raw(*value) };
                fields.push((field.name().to_owned(), from_ruby(ruby, value, field.dtype())?));
            }
            Ok(Element::Record(fields))
        }
    }
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
            (_, Err(_)) if is_float(kind) => Ok(Element::Float(value.funcall("to_f", ())?)),
            (_, Err(_)) => Ok(Element::UInt(unsigned()?)),
        };
    }
    if let Some(float) = Float::from_value(value) {
        return Ok(Element::Float(float.to_f64()));
    }
    if let Some(string) = RString::from_value(value) {
        // SAFETY: copied before Ruby runs again.
        let bytes = unsafe { string.as_slice() }.to_vec();
        return Ok(match (kind, String::from_utf8(bytes)) {
            (ScalarKind::Void(_), Ok(text)) => Element::Void(text.into_bytes()),
            (ScalarKind::Void(_), Err(error)) => Element::Void(error.into_bytes()),
            (ScalarKind::Bytes(_), Ok(text)) => Element::Bytes(text.into_bytes()),
            (_, Ok(text)) => Element::Text(text),
            (_, Err(error)) => Element::Bytes(error.into_bytes()),
        });
    }
    if value.is_kind_of(ruby.class_numeric()) {
        if value.funcall::<_, _, bool>("real?", ())? {
            return Ok(Element::Float(value.funcall("to_f", ())?));
        }
        let (re, im): (Value, Value) = value.funcall("rect", ())?;
        return Ok(Element::Complex { re: re.funcall("to_f", ())?, im: im.funcall("to_f", ())? });
    }
    Err(unfit(ruby, value, &kind.to_string()))
}

pub(crate) fn is_float(kind: ScalarKind) -> bool {
    let scalar = Element::Float(0.5);
    let mut bytes = [0; 32];
    // What a half fits is a float, or made of floats.
    DType::scalar(kind, crossdock::element::ByteOrder::NATIVE).is_ok_and(|dtype| {
        dtype.itemsize() <= 32 && scalar.write(&dtype, &mut bytes[..dtype.itemsize()]).is_ok()
    })
}

fn unfit(ruby: &Ruby, value: Value, wanted: &str) -> Failure {
    Failure::of_type(ruby, format!("{} can't be an element: {wanted} is wanted", describe(value)))
}

/// `nil`, or `a String`: what a value is, for errors.
pub(crate) fn describe(value: Value) -> String {
    if value.is_nil() { "nil".into() } else { format!("an instance of {}", value.class()) }
}

/// The name of a field, or of a mode: a String or a Symbol.
pub(crate) fn name(ruby: &Ruby, value: Value) -> Result<String> {
    if let Some(symbol) = Symbol::from_value(value) {
        return Ok(symbol.name()?.into_owned());
    }
    match RString::from_value(value) {
        Some(string) => Ok(string.to_string()?),
        None => {
            Err(Failure::of_type(ruby, format!("{} is no name: give a Symbol or a String", describe(value))))
        }
    }
}
