//! The part in front of the elements: parses bytes to a [`NpyHeader`], without a file or an array.

use std::borrow::Cow;
use std::ops::Range;

use crate::element::DType;
use crate::element::dialect::literal::{self, Literal};
use crate::element::dialect::typestr;
use crate::error::{Error, Kind, Result, short};
use crate::exchange::files::magic;
use crate::layout::{Layout, MAX_RANK, Order};

pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// The longest header that is read: enough for a dtype of a million parts
/// ([`MAX_PARTS`](crate::element::MAX_PARTS)). Without a limit, a sparse file could claim
/// gigabytes.
const MAX_NBYTES: usize = 16 << 20;

/// The header of an `.npy` file: the type and the layout of the elements, and their position.
///
/// ```
/// use crossdock::{element::DType, bindings::files::NpyHeader, layout::Order};
///
/// let header = NpyHeader::new(DType::F64, &[480, 640], Order::RowMajor)?;
/// let bytes = header.to_bytes()?;
/// assert_eq!(bytes.len(), 128);
/// let header = NpyHeader::parse(&bytes)?;
/// assert_eq!((header.version(), header.shape(), header.data_offset()), ((1, 0), &[480, 640][..], 128));
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NpyHeader {
    version: Version,
    dtype: DType,
    /// Invariant 1: contiguous in `order`, of elements of the dtype's size.
    layout: Layout,
    order: Order,
    data_offset: usize,
}

/// The versions differ in the encoding of the header, not in its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// 1.0: up to 65,535 bytes of Latin-1.
    One,
    /// 2.0: up to 2³² - 1 bytes of Latin-1.
    Two,
    /// 3.0: up to 2³² - 1 bytes of UTF-8.
    Three,
}

impl Version {
    pub(super) fn numbers(self) -> (u8, u8) {
        match self {
            Self::One => (1, 0),
            Self::Two => (2, 0),
            Self::Three => (3, 0),
        }
    }

    /// The size of the length field.
    pub(super) fn length_nbytes(self) -> usize {
        if self == Self::One { 2 } else { 4 }
    }
}

/// The fixed part: the version, and the position of the literal.
#[derive(Debug)]
pub(super) struct Preamble {
    version: Version,
    /// 1. Not longer than [`MAX_NBYTES`], and inside the file.
    literal: Range<usize>,
}

impl Preamble {
    /// The size of the longest preamble.
    pub(super) const NBYTES: usize = 12;

    /// Reads the first bytes of a file of `nbytes` bytes: [`Preamble::NBYTES`], or all of them if
    /// the file is shorter.
    pub(super) fn parse(start: &[u8], nbytes: usize) -> Result<Self> {
        if start.is_empty() {
            return Err(malformed(
                "the file is empty (0 bytes), and an .npy file begins with a header; save the array again"
                    .into(),
            ));
        }
        // A file that ends within the magic is reported as a truncated `.npy` file.
        let seen = start.len().min(MAGIC.len());
        if start[..seen] != MAGIC[..seen] {
            let found = magic::describe(start);
            let text = format!("it is not an .npy file: {}", found.fact());
            return Err(malformed(text).advising(found.advice()));
        }
        let truncated = |wanted: usize| {
            malformed(format!(
                "the file is truncated: its {nbytes} bytes end inside the header, whose first part takes \
                {wanted}; save the array again"
            ))
        };
        let Some(&[major, minor]) = start.get(6..8) else { return Err(truncated(10)) };
        let version = match (major, minor) {
            (1, 0) => Version::One,
            (2, 0) => Version::Two,
            (3, 0) => Version::Three,
            _ => {
                return Err(Error::new(
                    Kind::Unsupported,
                    format!(
                        "version {major}.{minor} of the .npy format is not supported, only 1.0, 2.0 and 3.0"
                    ),
                ));
            }
        };
        let begin = 8 + version.length_nbytes();
        let length = match start.get(8..begin) {
            Some(&[a, b]) => usize::from(u16::from_le_bytes([a, b])),
            // Files are mapped only where `usize` has at least 32 bits.
            Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]) as usize,
            _ => return Err(truncated(begin)),
        };
        let left = nbytes.saturating_sub(begin);
        if length > left {
            return Err(malformed(format!(
                "the file is truncated or damaged: its header has {length} bytes, but only {left} follow; \
                save the array again"
            )));
        }
        if length > MAX_NBYTES {
            return Err(Error::new(
                Kind::Unsupported,
                format!("the header has {length} bytes; at most {MAX_NBYTES} are supported"),
            ));
        }
        Ok(Self { version, literal: begin..begin + length })
    }

    /// The position of the literal in the file.
    pub(super) fn literal(&self) -> Range<usize> {
        self.literal.clone()
    }
}

impl NpyHeader {
    // ===== constructors

    /// The header of a contiguous array of this order, in the lowest version that can express it.
    ///
    /// # Errors
    ///
    /// `is_overflow` for more bytes than can be addressed; `is_unsupported` for too many
    /// dimensions.
    pub fn new(dtype: DType, shape: &[usize], order: Order) -> Result<Self> {
        let layout = Layout::contiguous(shape, dtype.itemsize(), order)?;
        let mut header = Self { version: Version::One, dtype, layout, order, data_offset: 0 };
        let bytes = header.encode()?;
        (header.version, header.data_offset) = (bytes.version, bytes.bytes.len());
        Ok(header)
    }

    /// Reads the header at the beginning of `bytes`, and ignores what follows it. O(length of the
    /// header).
    ///
    /// # Errors
    ///
    /// `is_malformed` if the header breaks the rules of the format, or if `bytes` end within it;
    /// `is_unsupported` for another version, objects, more than [`MAX_RANK`] dimensions, a header
    /// of more than 16 MiB.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let start = &bytes[..bytes.len().min(Preamble::NBYTES)];
        let preamble = Preamble::parse(start, bytes.len())?;
        // Preamble 1: the literal is within `bytes`.
        Self::parse_literal(&preamble, &bytes[preamble.literal()])
    }

    /// Reads the header of a file of `nbytes` bytes. `load` fills in the bytes of a range; the
    /// ranges are consecutive.
    pub(in crate::exchange::files) fn read(
        nbytes: usize,
        mut load: impl FnMut(usize, &mut [u8]) -> Result<()>,
    ) -> Result<Self> {
        let mut start = [0; Preamble::NBYTES];
        let start = &mut start[..nbytes.min(Preamble::NBYTES)];
        load(0, start)?;
        let preamble = Preamble::parse(start, nbytes)?;
        let literal = preamble.literal();
        // The preamble of version 1.0 is shorter than `start`, which may already hold part of the
        // literal.
        let mut bytes = vec![0; literal.len()];
        let known = start.get(literal.start..).unwrap_or_default();
        let known = &known[..known.len().min(bytes.len())];
        bytes[..known.len()].copy_from_slice(known);
        load(literal.start + known.len(), &mut bytes[known.len()..])?;
        Self::parse_literal(&preamble, &bytes)
    }

    /// Reads the bytes of the literal.
    pub(super) fn parse_literal(preamble: &Preamble, bytes: &[u8]) -> Result<Self> {
        let text = decode(preamble.version, bytes)?;
        let literal = literal::parse(&text).map_err(|error| error.within("the header"))?;
        let entries = HeaderEntries::read(literal)?;
        let dtype =
            typestr::from_literal(&entries.descr).map_err(|error| error.within("the header's descr"))?;
        let layout = Layout::contiguous(&entries.shape, dtype.itemsize(), entries.order).map_err(|_| {
            malformed(format!(
                "the header is invalid: shape {:?} with elements of {} bytes takes more than {} bytes",
                entries.shape,
                dtype.itemsize(),
                isize::MAX
            ))
        })?;
        Ok(Self {
            version: preamble.version,
            dtype,
            layout,
            order: entries.order,
            data_offset: preamble.literal.end,
        })
    }

    /// Checks that `nbytes` bytes, including this header, hold all elements, and returns how many
    /// bytes follow the last one.
    pub(in crate::exchange::files) fn check_fits(&self, nbytes: usize) -> Result<usize> {
        let (wanted, available) = (self.layout.nbytes(), nbytes.saturating_sub(self.data_offset));
        if wanted > available {
            return Err(malformed(format!(
                "the file is truncated: shape {:?} of {}-byte elements takes {wanted} bytes, but only \
                {available} follow the header of {}; save the array again",
                self.shape(),
                self.dtype.itemsize(),
                self.data_offset
            )));
        }
        Ok(available - wanted)
    }

    /// The dtype and the layout of the array.
    pub(super) fn into_parts(self) -> (DType, Layout) {
        (self.dtype, self.layout)
    }

    // ===== queries

    /// The version of the format, major and minor.
    pub fn version(&self) -> (u8, u8) {
        self.version.numbers()
    }

    /// The type of an element.
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// The lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The order of the elements, which are contiguous.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Shape, strides and item size.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The byte of the file at which element 0 begins. A multiple of 64 if NumPy or this library
    /// wrote the file; any number otherwise.
    pub fn data_offset(&self) -> usize {
        self.data_offset
    }

    /// The bytes of a file with this header: the header in the lowest version that can express it,
    /// padded to a multiple of 64 bytes as by NumPy.
    ///
    /// # Errors
    ///
    /// `is_unsupported` for a dtype that NumPy cannot express, or that a list of fields cannot
    /// express: overlapping fields, or fields that are not in the order of their offsets.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.encode().map(|encoded| encoded.bytes)
    }
}

fn malformed(text: String) -> Error {
    Error::new(Kind::Malformed, text)
}

fn decode(version: Version, bytes: &[u8]) -> Result<Cow<'_, str>> {
    match std::str::from_utf8(bytes) {
        Ok(text) if version == Version::Three || bytes.is_ascii() => Ok(text.into()),
        Err(error) if version == Version::Three => Err(malformed(format!(
            "the header is not UTF-8 from its byte {} on, as version 3.0 requires",
            error.valid_up_to()
        ))),
        // In Latin-1, each byte is a code point.
        _ => Ok(bytes.iter().map(|&byte| char::from(byte)).collect::<String>().into()),
    }
}

/// The three entries of the dictionary.
struct HeaderEntries {
    descr: Literal,
    /// 1. At most [`MAX_RANK`] lengths.
    shape: Vec<usize>,
    order: Order,
}

impl HeaderEntries {
    fn read(literal: Literal) -> Result<Self> {
        let pairs = match literal {
            Literal::Dict(pairs) => pairs,
            other => {
                return Err(malformed(format!("the header is {}, not a dictionary", other.describe())));
            }
        };
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        for (key, value) in pairs {
            let (name, slot) = match &key {
                Literal::Str(name) if name == "descr" => ("descr", &mut descr),
                Literal::Str(name) if name == "fortran_order" => ("fortran_order", &mut fortran_order),
                Literal::Str(name) if name == "shape" => ("shape", &mut shape),
                Literal::Str(name) => {
                    return Err(malformed(format!(
                        "the header has an unknown entry {}; only 'descr', 'fortran_order' and 'shape' are \
                        permitted",
                        short(name)
                    )));
                }
                other => {
                    return Err(malformed(format!("the header has {} as a key", other.describe())));
                }
            };
            if slot.replace(value).is_some() {
                return Err(malformed(format!("the header has '{name}' twice")));
            }
        }
        let missing = |name: &str| malformed(format!("the header has no '{name}'"));
        Ok(Self {
            descr: descr.ok_or_else(|| missing("descr"))?,
            order: match fortran_order.ok_or_else(|| missing("fortran_order"))? {
                Literal::Bool(false) => Order::RowMajor,
                Literal::Bool(true) => Order::ColumnMajor,
                other => {
                    return Err(malformed(format!(
                        "the header's 'fortran_order' is {}, not True or False",
                        other.describe()
                    )));
                }
            },
            shape: read_shape(&shape.ok_or_else(|| missing("shape"))?)?,
        })
    }
}

fn read_shape(literal: &Literal) -> Result<Vec<usize>> {
    let Literal::Tuple(lengths) = literal else {
        return Err(malformed(format!("the header's 'shape' is {}, not a tuple", literal.describe())));
    };
    if lengths.len() > MAX_RANK {
        return Err(Error::new(
            Kind::Unsupported,
            format!(
                "the header's 'shape' has {} dimensions; at most {MAX_RANK} are supported",
                lengths.len()
            ),
        ));
    }
    let length = |(axis, length): (usize, &Literal)| match length {
        Literal::Int(length) => usize::try_from(*length).map_err(|_| {
            let why = if *length < 0 { "negative" } else { "too large for the address space" };
            malformed(format!(
                "the header is invalid: dimension {axis} of its 'shape' is {length}, which is {why}"
            ))
        }),
        other => Err(malformed(format!(
            "dimension {axis} of the header's 'shape' is {}, not an integer",
            other.describe()
        ))),
    };
    lengths.iter().enumerate().map(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with this literal, in version 1.0 unless another is named.
    fn bytes(version: (u8, u8), literal: &[u8]) -> Vec<u8> {
        let length = literal.len().to_le_bytes();
        let length = if version == (1, 0) { &length[..2] } else { &length[..4] };
        [MAGIC, &[version.0, version.1], length, literal].concat()
    }

    fn parse(literal: &str) -> Result<NpyHeader> {
        NpyHeader::parse(&bytes((1, 0), literal.as_bytes()))
    }

    #[test]
    fn entries_come_in_any_order_with_any_space() {
        for literal in [
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }     \n",
            "{'shape':(3,4),'fortran_order':False,'descr':'<f8'}",
            "\n{ 'descr' : \"<f8\",\n 'shape' : (3L, 4L), 'fortran_order' : False }",
        ] {
            let header = parse(literal).unwrap();
            assert_eq!((header.shape(), header.order()), (&[3, 4][..], Order::RowMajor));
            let little: DType = "<f8".parse().unwrap();
            assert_eq!((header.dtype(), header.version()), (&little, (1, 0)));
            assert_eq!(header.data_offset(), 10 + literal.len());
        }
        let header = parse("{'descr': '|u1', 'fortran_order': True, 'shape': ()}").unwrap();
        assert_eq!((header.shape(), header.order()), (&[][..], Order::ColumnMajor));
    }

    #[test]
    fn the_version_decides_how_letters_are_read() {
        let field = |version, name: &[u8]| {
            let literal =
                [b"{'descr': [('", name, b"', '|u1')], 'fortran_order': False, 'shape': (1,)}"].concat();
            let header = NpyHeader::parse(&bytes(version, &literal))?;
            assert_eq!(header.version(), version);
            Ok::<_, Error>(header.dtype().as_record().unwrap().fields()[0].name().to_owned())
        };
        assert_eq!(field((1, 0), b"gr\xf6\xdfe").unwrap(), "größe");
        assert_eq!(field((2, 0), b"gr\xf6\xdfe").unwrap(), "größe");
        assert_eq!(field((3, 0), "größe".as_bytes()).unwrap(), "größe");
        // Latin-1 decodes UTF-8 without an error, to another name.
        assert_eq!(field((1, 0), "ö".as_bytes()).unwrap(), "Ã¶");
        let error = field((3, 0), b"gr\xf6\xdfe").unwrap_err();
        assert!(error.is_malformed() && error.to_string().contains("byte 15"), "{error}");
    }

    #[test]
    fn a_header_takes_the_lowest_version_that_can_say_it() {
        let record = |fields: Vec<(String, DType)>| DType::packed_record(fields).unwrap();
        let long = (0..5000).map(|index| (format!("field {index}"), DType::U8)).collect();
        for (dtype, version) in [
            (DType::U8, (1, 0)),
            (record(vec![("größe".into(), DType::U8)]), (1, 0)),
            (record(long), (2, 0)),
            (record(vec![("大小".into(), DType::U8)]), (3, 0)),
        ] {
            for (shape, order) in [(&[2, 3][..], Order::ColumnMajor), (&[], Order::RowMajor)] {
                let header = NpyHeader::new(dtype.clone(), shape, order).unwrap();
                assert_eq!(header.version(), version);
                let bytes = header.to_bytes().unwrap();
                assert!(bytes.len().is_multiple_of(64) && bytes.ends_with(b" \n"));
                assert_eq!(bytes.len(), header.data_offset());
                let read = NpyHeader::parse(&bytes).unwrap();
                assert_eq!((read.dtype(), read.shape(), read.order()), (&dtype, shape, order));
                assert_eq!((read.version(), read.data_offset()), (version, bytes.len()));
            }
        }
    }

    #[test]
    fn a_dtype_that_numpy_cannot_spell_is_refused_by_name() {
        let union =
            [("a", 4), ("b", 0)].map(|(name, offset)| crate::element::Field::new(name, offset, DType::U32));
        for (dtype, part) in [
            (DType::BF16, "bfloat16"),
            (DType::record(union, 8).unwrap(), "\"b\""),
            (
                DType::packed_record([("price", DType::native(crate::element::ScalarKind::Float8E5M2))])
                    .unwrap(),
                "\"price\"",
            ),
        ] {
            let error = NpyHeader::new(dtype, &[1], Order::RowMajor).unwrap_err();
            assert!(error.is_unsupported() && error.to_string().contains(part), "{error}");
        }
    }
}
