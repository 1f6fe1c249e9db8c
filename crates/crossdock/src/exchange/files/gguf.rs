//! GGUF files (feature `gguf`): the weights of a model under names, mapped in place, read only.
//!
//! ```text
//!   GGUF, version, counts │ metadata │ name, axes, type and offset of each tensor │ tensors
//! ```
//!
//! Versions 2 and 3 are read, in either byte order. Axes are in the order of NumPy: the last one is
//! the fastest. Quantized tensors share scales among their elements, which no dtype describes: each
//! is refused by name, with its type. The metadata is passed over.

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

/// Types of elements without blocks.
const TYPES: [(u32, ScalarKind); 8] = [
    (0, ScalarKind::Float32),
    (1, ScalarKind::Float16),
    (24, ScalarKind::Int8),
    (25, ScalarKind::Int16),
    (26, ScalarKind::Int32),
    (27, ScalarKind::Int64),
    (28, ScalarKind::Float64),
    (30, ScalarKind::BFloat16),
];

/// Types of blocks: the number, the name, and the elements of a block.
const QUANTIZED: [(u32, &str, u32); 26] = [
    (2, "Q4_0", 32),
    (3, "Q4_1", 32),
    (6, "Q5_0", 32),
    (7, "Q5_1", 32),
    (8, "Q8_0", 32),
    (9, "Q8_1", 32),
    (10, "Q2_K", 256),
    (11, "Q3_K", 256),
    (12, "Q4_K", 256),
    (13, "Q5_K", 256),
    (14, "Q6_K", 256),
    (15, "Q8_K", 256),
    (16, "IQ2_XXS", 256),
    (17, "IQ2_XS", 256),
    (18, "IQ3_XXS", 256),
    (19, "IQ1_S", 256),
    (20, "IQ4_NL", 32),
    (21, "IQ3_S", 256),
    (22, "IQ2_S", 256),
    (23, "IQ4_XS", 256),
    (29, "IQ1_M", 256),
    (34, "TQ1_0", 256),
    (35, "TQ2_0", 256),
    (39, "MXFP4", 32),
    (40, "NVFP4", 64),
    (41, "Q1_0", 128),
];

/// The key of the number of which every tensor's offset is a multiple.
const ALIGNMENT: &[u8] = b"general.alignment";

/// Longer names, and deeper lists in the metadata, are refused.
const MOST_NAMED: u64 = 1 << 16;
const MOST_NESTED: u32 = 8;

/// The number of axes of any array.
const MOST_AXES: u32 = 64;

/// The description of a tensor.
struct GgufTensor {
    name: String,
    shape: Vec<u64>,
    kind: u32,
    /// From the first byte of all tensors on.
    offset: u64,
}

/// Divides a file into its tensors.
pub(super) fn read(buffer: Buffer) -> Result<Contents> {
    let (tensors, start, order) = described(&buffer)?;
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for tensor in tensors {
        let within = |error: Error| error.within(format_args!("tensor {}", short(&tensor.name)));
        match tensor.described(order, start, buffer.nbytes()).map_err(within) {
            Ok((dtype, layout, range)) => found.push((tensor.name, dtype, layout, range)),
            // A type newer than this library must not block access to the other tensors.
            Err(error) if error.is_unsupported() => refused.push((tensor.name, error)),
            Err(error) => return Err(error),
        }
    }
    let ranges: Vec<Range<usize>> = found.iter().map(|(.., range)| range.clone()).collect();
    let parts = buffer.partition(&ranges).map_err(|rejected| match rejected.error {
        error if error.is_bounds() => malformed(format!("two tensors overlap: {error}")),
        error => error.within("the file could not be divided into its tensors"),
    })?;
    let entries = found.into_iter().zip(parts).map(|((name, dtype, layout, _), part)| {
        Ok(Entry::mapped(name, DArray::from_buffer(part, dtype, layout, 0)?))
    });
    Ok(Contents::new(Format::Gguf, entries.collect::<Result<_>>()?, Vec::new()).with_refused(refused))
}

/// The tensors, the first byte of all of them, and the byte order.
fn described(buffer: &Buffer) -> Result<(Vec<GgufTensor>, u64, ByteOrder)> {
    let mut fields = Fields::new(buffer, ByteOrder::Little)?;
    let magic = fields.array(HEADER)?;
    if &magic != b"GGUF" {
        return Err(malformed(format!("it is not a GGUF file: it begins with \"{}\"", magic.escape_ascii())));
    }
    let version = fields.u32(HEADER)?;
    // The versions are small numbers, in the byte order of the file.
    let order = if version > 0xffff { ByteOrder::Big } else { ByteOrder::Little };
    let version = if order == ByteOrder::Big { version.swap_bytes() } else { version };
    if !(2..=3).contains(&version) {
        let text = format!("it is a GGUF file of version {version}; only versions 2 and 3 are supported");
        return Err(Error::new(Kind::Unsupported, text));
    }
    let mut fields = Fields::new(buffer, order)?;
    fields.seek(8);
    let (tensors, pairs) = (fields.u64(HEADER)?, fields.u64(HEADER)?);
    let mut alignment = 32;
    for _ in 0..pairs {
        let key = text(&mut fields)?;
        let kind = fields.u32(METADATA)?;
        if key == ALIGNMENT && kind == UINT32 {
            alignment = fields.u32(METADATA)?;
        } else {
            skip(&mut fields, kind, 0)?;
        }
    }
    if !alignment.is_power_of_two() {
        return Err(malformed(format!(
            "the alignment of its tensors is {alignment}, which is no power of two"
        )));
    }
    let (mut list, mut names) = (Vec::new(), HashSet::new());
    for _ in 0..tensors {
        let tensor = GgufTensor::read(&mut fields)?;
        if !names.insert(tensor.name.clone()) {
            return Err(malformed(format!("it has two tensors named {}", short(&tensor.name))));
        }
        list.push(tensor);
    }
    Ok((list, fields.at().next_multiple_of(alignment.into()), order))
}

impl GgufTensor {
    fn read(fields: &mut Fields) -> Result<Self> {
        const WHAT: &str = "the description of a tensor";
        let name = text(fields)?;
        let name = String::from_utf8(name).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            malformed(format!("the name of a tensor is not UTF-8 from its byte {valid} on"))
        })?;
        let rank = fields.u32(WHAT)?;
        if rank > MOST_AXES {
            return Err(malformed(format!("tensor {} has {rank} axes", short(&name))));
        }
        let mut shape = (0..rank).map(|_| fields.u64(WHAT)).collect::<Result<Vec<_>>>()?;
        // The file has the fastest axis first.
        shape.reverse();
        Ok(Self { name, shape, kind: fields.u32(WHAT)?, offset: fields.u64(WHAT)? })
    }

    /// The dtype, the layout, and the range in a file of `nbytes` bytes, whose tensors begin at
    /// `start`.
    fn described(
        &self,
        order: ByteOrder,
        start: u64,
        nbytes: usize,
    ) -> Result<(DType, Layout, Range<usize>)> {
        let Some(&(_, kind)) = TYPES.iter().find(|row| row.0 == self.kind) else {
            return Err(match QUANTIZED.iter().find(|row| row.0 == self.kind) {
                Some((_, name, len)) => Error::new(
                    Kind::Unsupported,
                    format!(
                        "its elements are quantized as {name}, in blocks of {len}, which no dtype describes"
                    ),
                )
                .advising(Advice::Dequantize),
                None => Error::new(Kind::Unsupported, format!("its type {} is unknown", self.kind)),
            });
        };
        let dtype = DType::scalar(kind, order)?;
        let shape: Option<Vec<usize>> = self.shape.iter().map(|&len| usize::try_from(len).ok()).collect();
        let layout =
            shape.and_then(|shape| Layout::contiguous(&shape, dtype.itemsize(), Order::RowMajor).ok());
        let layout = layout.ok_or_else(|| {
            malformed(format!("its shape is {:?}, which exceeds the address space", self.shape))
        })?;
        let range = start.checked_add(self.offset).and_then(|first| {
            let first = usize::try_from(first).ok()?;
            Some(first..first.checked_add(layout.nbytes()).filter(|&end| end <= nbytes)?)
        });
        let range = range.ok_or_else(|| {
            malformed(format!(
                "the file is truncated or damaged: its {} bytes begin at byte {} after byte {start}, but the file \
                has {nbytes}",
                layout.nbytes(),
                self.offset
            ))
        })?;
        Ok((dtype, layout, range))
    }
}

const HEADER: &str = "the header";
const METADATA: &str = "the metadata";

/// Types of the metadata.
const UINT32: u32 = 4;
const STRING: u32 = 8;
const LIST: u32 = 9;

/// The bytes of a value of this type, if all of its values have equally many.
fn width(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        UINT32 | 5 | 6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

/// Passes over a value of the metadata. Each value in the file takes bytes, so a count that is too
/// large ends at the end of the file.
fn skip(fields: &mut Fields, kind: u32, depth: u32) -> Result<()> {
    match (kind, width(kind)) {
        (_, Some(nbytes)) => fields.skip(nbytes, METADATA),
        (STRING, _) => {
            let nbytes = fields.u64(METADATA)?;
            fields.skip(nbytes, METADATA)
        }
        (LIST, _) if depth == MOST_NESTED => {
            let text = format!("its metadata has lists that are nested more than {MOST_NESTED} levels deep");
            Err(Error::new(Kind::Unsupported, text))
        }
        (LIST, _) => {
            let (kind, count) = (fields.u32(METADATA)?, fields.u64(METADATA)?);
            match width(kind) {
                Some(nbytes) => fields.skip(nbytes.saturating_mul(count), METADATA),
                None => (0..count).try_for_each(|_| skip(fields, kind, depth + 1)),
            }
        }
        _ => Err(malformed(format!("its metadata has a value of the unknown type {kind}"))),
    }
}

/// The bytes of a name.
fn text(fields: &mut Fields) -> Result<Vec<u8>> {
    const NAME: &str = "a name";
    let nbytes = fields.u64(NAME)?;
    if nbytes > MOST_NAMED {
        return Err(malformed(format!("a name has {nbytes} bytes; at most {MOST_NAMED} are allowed")));
    }
    fields.bytes(nbytes as usize, NAME)
}

fn malformed(text: String) -> Error {
    Error::new(Kind::Malformed, text)
}
