//! The description of the array for its borrower: JSON, and plain numbers for C and the shell.

use crossdock::bindings::description::Description;
use crossdock::bindings::dialect::typestr;
use crossdock::element::{ByteOrder, DType, DTypeKind, ScalarKind};
use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::order_letter::order_letter;

/// The variable with the number of the descriptor, or, on Windows, of the handle.
const VARIABLE: &str = if cfg!(windows) { "CROSSDOCK_HANDLE" } else { "CROSSDOCK_FD" };

/// Names and values.
pub(crate) type Environment = [(&'static str, String); 7];

/// The contents of `CROSSDOCK_ARRAY`. All numbers except those of `shape` are in bytes.
#[derive(Debug, Serialize)]
pub(super) struct Array<'a> {
    #[cfg_attr(windows, serde(rename = "handle"))]
    fd: i32,
    dtype: String,
    /// NumPy's type string; for a type that NumPy lacks and for a record, that of as many bytes.
    typestr: String,
    /// The Python literal from which `numpy.dtype` constructs the dtype.
    descr: String,
    /// The format of Python's `struct` and `memoryview`. A float that Python lacks is read as its
    /// bits; other types that Python lacks are `None`.
    #[serde(rename = "struct")]
    struct_format: Option<String>,
    /// The type of Ruby's `IO::Buffer#get_value`, likewise.
    io_buffer: Option<String>,
    itemsize: usize,
    shape: &'a [usize],
    strides: &'a [isize],
    offset: u64,
    nbytes: usize,
    span: [u64; 2],
    writable: bool,
    order: Option<&'static str>,
    /// What the bytes of a table are: a `file` or a `stream` of Arrow's IPC format.
    table: Option<&'static str>,
}

impl<'a> Array<'a> {
    /// The array, or the bytes of a table, behind the descriptor or handle with this number.
    pub(super) fn new(fd: i32, described: &'a Description, table: Option<&'static str>) -> Self {
        let (dtype, layout, span) = (described.dtype(), described.layout(), described.span());
        let bytes = format!("|V{}", dtype.itemsize());
        let (typestr, descr) = match (dtype.kind(), typestr::print(dtype)) {
            (DTypeKind::Scalar(_), Ok(text)) => (text.clone(), format!("'{text}'")),
            (_, Ok(text)) => (bytes, text),
            (_, Err(_)) => (bytes.clone(), format!("'{bytes}'")),
        };
        Self {
            fd,
            dtype: dtype.to_string(),
            typestr,
            descr,
            struct_format: struct_format(dtype),
            io_buffer: io_buffer_type(dtype),
            itemsize: dtype.itemsize(),
            shape: described.layout().shape(),
            strides: described.layout().strides(),
            offset: described.offset(),
            nbytes: described.layout().nbytes(),
            span: [span.start, span.end],
            writable: described.is_writable(),
            order: layout.order().map(order_letter),
            table,
        }
    }

    /// The environment of the borrower.
    pub(super) fn environment(&self) -> Result<Environment> {
        let json = serde_json::to_string(self)
            .map_err(|error| Failure::new(format_args!("the array could not be described: {error}")))?;
        Ok([
            ("CROSSDOCK_ARRAY", json),
            (VARIABLE, self.fd.to_string()),
            ("CROSSDOCK_OFFSET", self.offset.to_string()),
            ("CROSSDOCK_NBYTES", self.nbytes.to_string()),
            ("CROSSDOCK_END", self.span[1].to_string()),
            ("CROSSDOCK_SHAPE", spaced(self.shape)),
            ("CROSSDOCK_STRIDES", spaced(self.strides)),
        ])
    }
}

fn spaced(numbers: &[impl ToString]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// The format by which Python's `struct` reads one element; without a byte order mark if it is
/// native, since `memoryview.cast` accepts no other.
fn struct_format(dtype: &DType) -> Option<String> {
    let scalar = dtype.as_scalar()?;
    let letter = match scalar.kind() {
        ScalarKind::Bool => "?",
        ScalarKind::Int8 => "b",
        ScalarKind::Int16 => "h",
        ScalarKind::Int32 => "i",
        ScalarKind::Int64 | ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_) => "q",
        ScalarKind::UInt8 => "B",
        ScalarKind::UInt16 => "H",
        ScalarKind::UInt32 => "I",
        ScalarKind::UInt64 => "Q",
        ScalarKind::Float16 => "e",
        ScalarKind::Float32 => "f",
        ScalarKind::Float64 => "d",
        ScalarKind::Bytes(len) => return Some(format!("{len}s")),
        ScalarKind::BFloat16 => "H",
        kind if is_small_float(kind) => "B",
        _ => return None,
    };
    let mark = scalar.byte_order().filter(|_| !scalar.is_native()).map(ByteOrder::symbol);
    Some(mark.into_iter().collect::<String>() + letter)
}

/// Whether this is a float of at most 8 bits, which takes one byte.
fn is_small_float(kind: ScalarKind) -> bool {
    matches!(
        kind,
        ScalarKind::Float8E3M4
            | ScalarKind::Float8E4M3
            | ScalarKind::Float8E4M3B11Fnuz
            | ScalarKind::Float8E4M3Fn
            | ScalarKind::Float8E4M3Fnuz
            | ScalarKind::Float8E5M2
            | ScalarKind::Float8E5M2Fnuz
            | ScalarKind::Float8E8M0Fnu
            | ScalarKind::Float6E2M3Fn
            | ScalarKind::Float6E3M2Fn
            | ScalarKind::Float4E2M1Fn
    )
}

/// The type by which Ruby's `IO::Buffer` reads one element: in capitals for big-endian.
fn io_buffer_type(dtype: &DType) -> Option<String> {
    let scalar = dtype.as_scalar()?;
    let name = match scalar.kind() {
        // One byte has no order, and these two types are always in capitals.
        ScalarKind::Int8 => return Some("S8".into()),
        ScalarKind::UInt8 | ScalarKind::Bool => return Some("U8".into()),
        kind if is_small_float(kind) => return Some("U8".into()),
        ScalarKind::Int16 => "s16",
        ScalarKind::Int32 => "s32",
        ScalarKind::Int64 | ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_) => "s64",
        ScalarKind::UInt16 | ScalarKind::Float16 | ScalarKind::BFloat16 => "u16",
        ScalarKind::UInt32 => "u32",
        ScalarKind::UInt64 => "u64",
        ScalarKind::Float32 => "f32",
        ScalarKind::Float64 => "f64",
        _ => return None,
    };
    match scalar.byte_order() {
        Some(ByteOrder::Big) => Some(name.to_uppercase()),
        _ => Some(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(dtype: &str) -> serde_json::Value {
        let dtype: DType = dtype.parse().unwrap();
        let description = Description::new(dtype, &[2, 3], &[-100, 20], 1000, false).unwrap();
        serde_json::to_value(Array::new(5, &description, None)).unwrap()
    }

    #[test]
    fn numbers_are_told_as_they_are() {
        let array = described("<f8");
        assert_eq!(array["span"], serde_json::json!([900, 1048]));
        assert_eq!((&array["offset"], &array["nbytes"]), (&1000.into(), &48.into()));
        assert_eq!(array["strides"], serde_json::json!([-100, 20]));
        assert!(array["order"].is_null());
    }

    #[test]
    fn types_are_spelt_for_each_language_and_as_bits_where_it_lacks_a_float() {
        for (dtype, typestr, descr, format, io_buffer) in [
            ("uint8", "|u1", "'|u1'", "B", "U8"),
            (">int16", ">i2", "'>i2'", ">h", "S16"),
            ("<f4", "<f4", "'<f4'", "f", "f32"),
            ("datetime64[ns]", "<M8[ns]", "'<M8[ns]'", "q", "s64"),
            ("S5", "|S5", "'|S5'", "5s", ""),
            ("[('a', '<i4'), ('b', '|u1', (3,))]", "|V7", "[('a', '<i4'), ('b', '|u1', (3,))]", "", ""),
            ("bool", "|b1", "'|b1'", "?", "U8"),
            ("float16", "<f2", "'<f2'", "e", "u16"),
            ("bfloat16", "|V2", "'|V2'", "H", "u16"),
            (">bfloat16", "|V2", "'|V2'", ">H", "U16"),
            ("float8_e4m3fn", "|V1", "'|V1'", "B", "U8"),
            ("complex64", "<c8", "'<c8'", "", ""),
        ] {
            let array = described(dtype);
            let got =
                ["typestr", "descr", "struct", "io_buffer"].map(|key| array[key].as_str().unwrap_or(""));
            assert_eq!(got, [typestr, descr, format, io_buffer], "{dtype}");
        }
    }
}
