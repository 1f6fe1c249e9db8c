//! MATLAB's files of version 5: variables under names, mapped in place, read only.
//!
//! ```text
//!   text of 124 bytes, version, byte order │ variable │ variable │ …
//!   an element:  type, length │ data │ padding to 8 bytes      (up to 4 bytes of data follow a short tag)
//!   a variable:  flags │ lengths of axes │ name │ real part │ imaginary part     each is an element
//! ```
//!
//! Arrays are in column-major order, and in the type in which they are stored: MATLAB stores the
//! integers among its doubles as the shortest integers that hold them. The class of such a variable
//! is a text of the file, under `x.class`. A complex variable is two arrays, `z.real` and `z.imag`.
//! Text, cells, structures, objects and sparse matrices are refused by name, and compressed
//! variables by number, since their names are compressed, too.

use std::collections::HashSet;
use std::ops::Range;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::{ByteOrder, DType, ScalarKind};
use crate::error::{Advice, Error, Kind, Result, short};
use crate::exchange::files::contents::{Contents, Entry};
use crate::exchange::files::fields::Fields;
use crate::exchange::files::format::Format;
use crate::layout::{Layout, Order};

/// The bytes in front of the first variable, and the byte of the version and the byte order.
const HEADER: u64 = 128;
const VERSION: u64 = 124;

/// Types of elements: the numbers, and what else a file needs.
const TYPES: [(u32, ScalarKind); 10] = [
    (1, ScalarKind::Int8),
    (2, ScalarKind::UInt8),
    (3, ScalarKind::Int16),
    (4, ScalarKind::UInt16),
    (5, ScalarKind::Int32),
    (6, ScalarKind::UInt32),
    (7, ScalarKind::Float32),
    (9, ScalarKind::Float64),
    (12, ScalarKind::Int64),
    (13, ScalarKind::UInt64),
];
const UINT32: u32 = 6;
/// Types of lengths and of letters: what MATLAB writes, and what others write instead.
const LENGTHS: [u32; 2] = [5, UINT32];
const LETTERS: [u32; 2] = [1, 16];
const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;

/// The classes of variables: of numbers, with the type that needs no conversion.
const CLASSES: [(u32, &str, u32); 10] = [
    (6, "double", 9),
    (7, "single", 7),
    (8, "int8", 1),
    (9, "uint8", 2),
    (10, "int16", 3),
    (11, "uint16", 4),
    (12, "int32", 5),
    (13, "uint32", 6),
    (14, "int64", 12),
    (15, "uint64", 13),
];
const OTHERS: [(u32, &str); 7] = [
    (1, "a cell array"),
    (2, "a structure"),
    (3, "an object"),
    (4, "text"),
    (5, "a sparse matrix"),
    (16, "a function"),
    (OPAQUE, "an object"),
];
const OPAQUE: u32 = 17;

/// Flags of a variable, beside its class.
const COMPLEX: u32 = 0x800;
const LOGICAL: u32 = 0x200;

/// More variables than this are refused, since each is listed.
const MOST_VARIABLES: usize = 1 << 16;

/// The most axes of any array, and the longest name.
const MOST_AXES: u64 = 64;
const MOST_NAMED: u64 = 1 << 12;

/// An array of the file.
struct Part {
    name: String,
    dtype: DType,
    layout: Layout,
    range: Range<usize>,
}

/// What the file holds, so far.
#[derive(Default)]
struct ListedVariables {
    parts: Vec<Part>,
    refused: Vec<(String, Error)>,
    texts: Vec<(String, String)>,
    names: HashSet<String>,
}

pub(super) fn read(buffer: Buffer) -> Result<Contents> {
    let order = byte_order(&buffer)?;
    let mut fields = Fields::new(&buffer, order)?;
    fields.seek(HEADER);
    let (nbytes, mut listed) = (buffer.nbytes() as u64, ListedVariables::default());
    for number in 1.. {
        if fields.at() >= nbytes {
            break;
        }
        if number > MOST_VARIABLES {
            let text = format!("it has more than {MOST_VARIABLES} variables");
            return Err(Error::new(Kind::Unsupported, text));
        }
        let element = DataElement::read(&mut fields, nbytes)?;
        match element.kind {
            MATRIX => listed.add(&mut fields, &element, number, order)?,
            COMPRESSED => {
                let text = "it is compressed, and so is its name (`save -v6` compresses nothing)";
                let error = Error::new(Kind::Unsupported, text).advising(Advice::OpenMatlab);
                listed.refuse(format!("#{number}"), error)?;
            }
            kind => return Err(malformed(format!("its variable {number} is of the unknown type {kind}"))),
        }
        // Compressed variables are not padded.
        fields.seek(if element.kind == COMPRESSED { element.end } else { element.next });
    }
    drop(fields);
    let ranges: Vec<Range<usize>> = listed.parts.iter().map(|part| part.range.clone()).collect();
    let buffers = buffer
        .partition(&ranges)
        .map_err(|rejected| rejected.error.within("the file could not be divided into its variables"))?;
    let entries = listed.parts.into_iter().zip(buffers).map(|(part, buffer)| {
        Ok(Entry::mapped(part.name, DArray::from_buffer(buffer, part.dtype, part.layout, 0)?))
    });
    let contents = Contents::new(Format::Mat, entries.collect::<Result<_>>()?, listed.texts);
    Ok(contents.with_refused(listed.refused))
}

/// The byte order of the file, of a version that is supported.
fn byte_order(buffer: &Buffer) -> Result<ByteOrder> {
    let mut fields = Fields::new(buffer, ByteOrder::Little)?;
    fields.seek(VERSION);
    let [low, high, letters @ ..]: [u8; 4] = fields.array("the header")?;
    let (order, version) = match &letters {
        b"IM" => (ByteOrder::Little, u16::from_le_bytes([low, high])),
        b"MI" => (ByteOrder::Big, u16::from_be_bytes([low, high])),
        other => {
            let text = format!("its byte order is \"{}\", and not \"IM\" or \"MI\"", other.escape_ascii());
            return Err(malformed(text));
        }
    };
    if version != 0x100 {
        let text = format!("it is a MATLAB file of version {version:#06x}; only 0x0100 is supported");
        return Err(Error::new(Kind::Unsupported, text).advising(Advice::OpenMatlab));
    }
    Ok(order)
}

/// The place of an element: its data, and the next element.
struct DataElement {
    kind: u32,
    start: u64,
    end: u64,
    next: u64,
}

impl DataElement {
    /// Reads a tag, and continues at the data. The element must end before `end`.
    fn read(fields: &mut Fields, end: u64) -> Result<Self> {
        const WHAT: &str = "an element";
        let at = fields.at();
        let word = fields.u32(WHAT)?;
        let (kind, nbytes, is_short) = match word >> 16 {
            0 => (word, fields.u32(WHAT)?, false),
            nbytes => (word & 0xffff, nbytes, true),
        };
        let start = fields.at();
        let stop = start.saturating_add(nbytes.into());
        if stop > end || is_short && nbytes > 4 {
            return Err(malformed(format!(
                "the file is truncated or damaged: an element at byte {at} has {nbytes} bytes, but the room for it \
                ends at byte {end}"
            )));
        }
        // Padding counts from the element's own start: after a compressed variable, elements are
        // not aligned in the file.
        let next = if is_short { at + 8 } else { start + u64::from(nbytes).next_multiple_of(8) };
        Ok(Self { kind, start, end: stop, next: next.min(end) })
    }

    fn nbytes(&self) -> u64 {
        self.end - self.start
    }

    /// Reads the tag of the next element of a variable, which must be of one of these types.
    fn expect(fields: &mut Fields, end: u64, kinds: &[u32], what: &str) -> Result<Self> {
        let element = Self::read(fields, end)?;
        if kinds.contains(&element.kind) {
            return Ok(element);
        }
        Err(malformed(format!("{what} of a variable are of type {}, and not {}", element.kind, kinds[0])))
    }
}

impl ListedVariables {
    /// Keeps a name, which no other array or refused variable may have.
    fn take(&mut self, name: &str) -> Result<()> {
        match self.names.insert(name.to_owned()) {
            true => Ok(()),
            false => Err(malformed(format!("it has two variables named {}", short(name)))),
        }
    }

    fn refuse(&mut self, name: String, error: Error) -> Result<()> {
        self.take(&name)?;
        let error = error.within(format_args!("variable {}", short(&name)));
        self.refused.push((name, error));
        Ok(())
    }

    /// Adds the arrays of a variable, or the reason why it has none.
    fn add(
        &mut self,
        fields: &mut Fields,
        whole: &DataElement,
        number: usize,
        order: ByteOrder,
    ) -> Result<()> {
        let flags = DataElement::expect(fields, whole.end, &[UINT32], "the flags")?;
        let flags = match flags.nbytes() {
            8 => (fields.u32("the flags")?, fields.seek(flags.next)).0,
            nbytes => {
                return Err(malformed(format!("the flags of a variable have {nbytes} bytes, and not 8")));
            }
        };
        let class = flags & 0xff;
        // The lengths of an object of a newer class are elsewhere.
        let shape = if class == OPAQUE { Vec::new() } else { shape(fields, whole.end)? };
        let name = name(fields, whole.end)?;
        // Without a name, it is the state of functions.
        let name = if name.is_empty() { format!("#{number}") } else { name };
        let Some(&(_, class, plain)) = CLASSES.iter().find(|row| row.0 == class) else {
            let what = OTHERS.iter().find(|row| row.0 == class).map_or("of an unknown class", |row| row.1);
            let error = Error::new(Kind::Unsupported, format!("it is {what}, and no array of numbers"));
            return self.refuse(name, error.advising(Advice::OpenMatlab));
        };
        let is_complex = flags & COMPLEX != 0;
        if is_complex {
            self.take(&name)?;
        }
        for suffix in if is_complex { &[".real", ".imag"][..] } else { &[""] } {
            let data = DataElement::read(fields, whole.end)?;
            let Some(&(stored, kind)) = TYPES.iter().find(|row| row.0 == data.kind) else {
                let text = format!("the numbers of variable {} are of type {}", short(&name), data.kind);
                return Err(malformed(text));
            };
            let is_logical = flags & LOGICAL != 0 && kind == ScalarKind::UInt8;
            let dtype = DType::scalar(if is_logical { ScalarKind::Bool } else { kind }, order)?;
            let layout = Layout::contiguous(&shape, dtype.itemsize(), Order::ColumnMajor);
            let layout = layout.ok().filter(|layout| layout.nbytes() as u64 == data.nbytes());
            let layout = layout.ok_or_else(|| {
                malformed(format!(
                    "variable {} has {} bytes of {}, but its shape is {shape:?}",
                    short(&name),
                    data.nbytes(),
                    dtype.brief()
                ))
            })?;
            if stored != plain && !is_logical && *suffix != ".imag" {
                self.texts.push((format!("{name}.class"), class.to_owned()));
            }
            // Both are within the file, which is mapped.
            let range = data.start as usize..data.end as usize;
            let name = format!("{name}{suffix}");
            self.take(&name)?;
            self.parts.push(Part { name, dtype, layout, range });
            fields.seek(data.next);
        }
        Ok(())
    }
}

/// The lengths of the axes.
fn shape(fields: &mut Fields, end: u64) -> Result<Vec<usize>> {
    let lens = DataElement::expect(fields, end, &LENGTHS, "the lengths")?;
    let rank = lens.nbytes() / 4;
    if !(2..=MOST_AXES).contains(&rank) {
        return Err(malformed(format!("a variable has {rank} axes, and not 2 to {MOST_AXES}")));
    }
    let shape = (0..rank).map(|_| {
        let len = fields.u32("the lengths")?;
        usize::try_from(len as i32).map_err(|_| malformed(format!("an axis has the length {}", len as i32)))
    });
    let shape = shape.collect::<Result<_>>()?;
    fields.seek(lens.next);
    Ok(shape)
}

fn name(fields: &mut Fields, end: u64) -> Result<String> {
    let name = DataElement::expect(fields, end, &LETTERS, "the letters of the name")?;
    if name.nbytes() > MOST_NAMED {
        let nbytes = name.nbytes();
        return Err(malformed(format!("a name has {nbytes} bytes; at most {MOST_NAMED} are allowed")));
    }
    let bytes = fields.bytes(name.nbytes() as usize, "a name")?;
    fields.seek(name.next);
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        malformed(format!("the name of a variable is not UTF-8 from its byte {valid} on"))
    })
}

fn malformed(text: String) -> Error {
    Error::new(Kind::Malformed, text)
}
