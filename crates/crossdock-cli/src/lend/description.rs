//! The description of the array for its borrower: JSON, and plain numbers for C and the shell.

use crossdock::bindings::dialect::typestr;
use crossdock::element::{ByteOrder, DType, DTypeKind, ScalarKind};
use crossdock::exchange::protocol::shm::Description;
use crossdock::layout::Order;
use serde::Serialize;

use crate::failure::{Failure, Result};

/// Names and values.
pub(crate) type Environment = [(&'static str, String); 7];

/// The contents of `CROSSDOCK_ARRAY`. All numbers except those of `shape` are in bytes.
#[derive(Debug, Serialize)]
pub(super) struct Array<'a> {
    fd: i32,
    dtype: String,
    /// NumPy's type string; for a record, that of as many bytes. This and each of the next three is
    /// `None` if its consumer has no such type.
    typestr: Option<String>,
    /// The Python literal from which `numpy.dtype` constructs the dtype.
    descr: Option<String>,
    /// The format of Python's `struct` and `memoryview`.
    #[serde(rename = "struct")]
    struct_format: Option<String>,
    /// The type of Ruby's `IO::Buffer#get_value`.
    io_buffer: Option<String>,
    itemsize: usize,
    shape: &'a [usize],
    strides: &'a [isize],
    offset: u64,
    nbytes: usize,
    span: [u64; 2],
    writable: bool,
    order: Option<&'static str>,
}

impl<'a> Array<'a> {
    /// The array behind the descriptor with this number.
    pub(super) fn new(fd: i32, described: &'a Description) -> Self {
        let (dtype, layout, span) = (described.dtype(), described.layout(), described.span());
        let spelling = typestr::print(dtype).ok();
        let (typestr, descr) = match dtype.kind() {
            DTypeKind::Scalar(_) => (spelling.clone(), spelling.map(|text| format!("'{text}'"))),
            _ => (Some(format!("|V{}", dtype.itemsize())), spelling),
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
        }
    }

    /// The environment of the borrower.
    pub(super) fn environment(&self) -> Result<Environment> {
        let json = serde_json::to_string(self)
            .map_err(|error| Failure::new(format_args!("the array could not be described: {error}")))?;
        Ok([
            ("CROSSDOCK_ARRAY", json),
            ("CROSSDOCK_FD", self.fd.to_string()),
            ("CROSSDOCK_OFFSET", self.offset.to_string()),
            ("CROSSDOCK_NBYTES", self.nbytes.to_string()),
            ("CROSSDOCK_END", self.span[1].to_string()),
            ("CROSSDOCK_SHAPE", spaced(self.shape)),
            ("CROSSDOCK_STRIDES", spaced(self.strides)),
        ])
    }
}

/// NumPy's letter for an order.
pub(crate) fn order_letter(order: Order) -> &'static str {
    match order {
        Order::RowMajor => "C",
        Order::ColumnMajor => "F",
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
        _ => return None,
    };
    let mark = scalar.byte_order().filter(|_| !scalar.is_native()).map(ByteOrder::symbol);
    Some(mark.into_iter().collect::<String>() + letter)
}

/// The type by which Ruby's `IO::Buffer` reads one element: in capitals for big-endian.
fn io_buffer_type(dtype: &DType) -> Option<String> {
    let scalar = dtype.as_scalar()?;
    let name = match scalar.kind() {
        // One byte has no order, and these two types are always in capitals.
        ScalarKind::Int8 => return Some("S8".into()),
        ScalarKind::UInt8 => return Some("U8".into()),
        ScalarKind::Int16 => "s16",
        ScalarKind::Int32 => "s32",
        ScalarKind::Int64 | ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_) => "s64",
        ScalarKind::UInt16 => "u16",
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
        serde_json::to_value(Array::new(5, &description)).unwrap()
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
    fn types_are_spelt_for_each_language_and_not_at_all_where_it_has_none() {
        for (dtype, typestr, descr, format, io_buffer) in [
            ("uint8", "|u1", "'|u1'", "B", "U8"),
            (">int16", ">i2", "'>i2'", ">h", "S16"),
            ("<f4", "<f4", "'<f4'", "f", "f32"),
            ("datetime64[ns]", "<M8[ns]", "'<M8[ns]'", "q", "s64"),
            ("S5", "|S5", "'|S5'", "5s", ""),
            ("[('a', '<i4'), ('b', '|u1', (3,))]", "|V7", "[('a', '<i4'), ('b', '|u1', (3,))]", "", ""),
            ("bfloat16", "", "", "", ""),
            ("complex64", "<c8", "'<c8'", "", ""),
        ] {
            let array = described(dtype);
            let got =
                ["typestr", "descr", "struct", "io_buffer"].map(|key| array[key].as_str().unwrap_or(""));
            assert_eq!(got, [typestr, descr, format, io_buffer], "{dtype}");
        }
    }
}
