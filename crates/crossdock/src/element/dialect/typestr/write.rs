//! Writes a dtype as a Python literal.

use crate::element::dialect::literal;
use crate::element::dialect::typestr::scalar;
use crate::element::{DType, DTypeKind, Field, Record, SubArray};
use crate::error::{Error, Kind, Result};
use std::fmt::Write;

/// NumPy holds the size of an element and the extents of sub-arrays in a C int.
const MAX_SIZE: usize = i32::MAX as usize;

pub(super) struct TypestrPrinter {
    /// Whether a record that a list cannot describe may be written as a dictionary.
    pub(super) dictionaries: bool,
    /// Whether a scalar that NumPy cannot spell has its own name.
    pub(super) names: bool,
}

impl TypestrPrinter {
    /// Recurses to the depth of the dtype, which is bounded.
    pub(super) fn dtype(&self, dtype: &DType) -> Result<String> {
        if dtype.itemsize() > MAX_SIZE {
            return Err(Error::new(
                Kind::Unsupported,
                format!("NumPy has no elements of {} bytes; the most is {MAX_SIZE}", dtype.itemsize()),
            ));
        }
        match dtype.kind() {
            DTypeKind::Scalar(scalar) => match scalar::print(scalar) {
                Err(_) if self.names && scalar.kind().name().is_some() => {
                    let order = scalar.byte_order().map_or("".into(), |order| order.symbol().to_string());
                    Ok(literal::quote(&format!("{order}{}", scalar.kind())))
                }
                printed => Ok(literal::quote(&printed?)),
            },
            DTypeKind::SubArray(subarray) => {
                let (base, shape) = self.subarray(subarray)?;
                Ok(format!("({base}, {shape})"))
            }
            DTypeKind::Record(record) if record.is_packed() => self.list(record),
            DTypeKind::Record(record) if self.dictionaries => self.dict(record),
            DTypeKind::Record(record) => self.list(record),
        }
    }

    /// The base and the shape.
    fn subarray(&self, subarray: &SubArray) -> Result<(String, String)> {
        let (shape, base) = (subarray.shape(), subarray.base());
        if base.as_scalar().is_some_and(|scalar| scalar.itemsize() == 0) {
            return Err(Error::new(
                Kind::Unsupported,
                format!("NumPy has no sub-arrays of {base}, whose size is 0 bytes"),
            ));
        }
        if let Some(extent) = shape.iter().find(|&&extent| extent > MAX_SIZE) {
            return Err(Error::new(
                Kind::Unsupported,
                format!("NumPy has no sub-arrays of {extent} elements; the most is {MAX_SIZE}"),
            ));
        }
        Ok((self.dtype(base)?, tuple(shape)))
    }

    fn list(&self, record: &Record) -> Result<String> {
        let (mut text, mut end) = (String::from("["), 0);
        let mut separator = "";
        let mut entry = |entry: std::fmt::Arguments<'_>| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}{entry}");
            separator = ", ";
        };
        for field in record.fields() {
            let Some(gap) = field.offset().checked_sub(end) else {
                return Err(Error::new(
                    Kind::Unsupported,
                    format!(
                        "a list of fields cannot express that field {:?} begins at byte {}, before the \
                        previous one ends at byte {end}",
                        field.name(),
                        field.offset()
                    ),
                ));
            };
            if gap > 0 {
                entry(format_args!("('', '|V{gap}')"));
            }
            end = field.end();
            let name = literal::quote(field.name());
            let label = match field.title() {
                Some(title) => format!("({}, {name})", literal::quote(title)),
                None => name,
            };
            let within = |error: Error| error.within(format_args!("field {:?}", field.name()));
            match field.dtype().as_subarray() {
                Some(subarray) => {
                    let (base, shape) = self.subarray(subarray).map_err(within)?;
                    entry(format_args!("({label}, {base}, {shape})"));
                }
                None => entry(format_args!("({label}, {})", self.dtype(field.dtype()).map_err(within)?)),
            }
        }
        let gap = record.itemsize() - end;
        if gap > 0 {
            entry(format_args!("('', '|V{gap}')"));
        }
        text.push(']');
        Ok(text)
    }

    fn dict(&self, record: &Record) -> Result<String> {
        let fields = record.fields();
        let list = |item: &dyn Fn(&Field) -> Result<String>| {
            Ok::<_, Error>(fields.iter().map(item).collect::<Result<Vec<_>>>()?.join(", "))
        };
        let names = list(&|field| Ok(literal::quote(field.name())))?;
        let formats = list(&|field| {
            self.dtype(field.dtype()).map_err(|error| error.within(format_args!("field {:?}", field.name())))
        })?;
        let offsets = list(&|field| Ok(field.offset().to_string()))?;
        let mut text = format!("{{'names': [{names}], 'formats': [{formats}], 'offsets': [{offsets}]");
        if fields.iter().any(|field| field.title().is_some()) {
            let titles = list(&|field| Ok(field.title().map_or("None".into(), literal::quote)))?;
            text.push_str(&format!(", 'titles': [{titles}]"));
        }
        text.push_str(&format!(", 'itemsize': {}}}", record.itemsize()));
        Ok(text)
    }
}

fn tuple(shape: &[usize]) -> String {
    let extents: Vec<_> = shape.iter().map(usize::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    format!("({}{comma})", extents.join(", "))
}
