//! The rows of a binary table of a FITS file as records.

use crate::element::{ByteOrder, DType, Field, ScalarKind};
use crate::error::{Advice, Error, Kind, Result, short};
use crate::exchange::files::fits::cards::{Cards, malformed};

/// The most columns that the standard allows.
const MOST: u64 = 999;

/// The dtype of a row of this many bytes.
///
/// # Errors
///
/// `is_unsupported` for columns that no dtype describes; `is_malformed`.
pub(super) fn dtype(cards: &Cards, row: usize) -> Result<DType> {
    let columns = cards.count("TFIELDS")?;
    if columns > MOST {
        return Err(malformed(format!("TFIELDS is {columns}, and at most {MOST} are allowed")));
    }
    let (mut fields, mut offset): (Vec<Field>, usize) = (Vec::new(), 0);
    for number in 1..=columns {
        let key = format!("TFORM{number}");
        let form = cards.text(&key).ok_or_else(|| malformed(format!("its header has no {key}")))?;
        let dtype = column(form).map_err(|error| error.within(&key))?;
        let nbytes = dtype.itemsize();
        let end = offset.checked_add(nbytes).filter(|&end| end <= row);
        let end = end.ok_or_else(|| {
            malformed(format!("column {number} of {nbytes} bytes ends after its row of {row} bytes"))
        })?;
        let named = cards.text(&format!("TTYPE{number}")).filter(|name| !name.is_empty());
        let name = named.map_or_else(|| format!("col{number}"), str::to_owned);
        if fields.iter().any(|field| field.name() == name) {
            return Err(Error::new(Kind::Unsupported, format!("it has two columns named {}", short(&name)))
                .advising(Advice::OpenFits));
        }
        // A column of no elements takes no bytes.
        if nbytes > 0 {
            fields.push(Field::new(name, offset, dtype));
        }
        offset = end;
    }
    DType::record(fields, row)
}

/// The dtype of a column: a count, and a letter. Truth values are the letters T and F.
fn column(form: &str) -> Result<DType> {
    let at = form.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(form.len());
    let wrong = || malformed(format!("{} is not the form of a column", short(form)));
    let count = if at == 0 { 1 } else { form[..at].parse::<u32>().map_err(|_| wrong())? };
    let kind = match form.as_bytes().get(at) {
        Some(b'A') => return DType::bytes(count as usize),
        Some(b'L') => ScalarKind::Bytes(1),
        Some(b'B') => ScalarKind::UInt8,
        Some(b'I') => ScalarKind::Int16,
        Some(b'J') => ScalarKind::Int32,
        Some(b'K') => ScalarKind::Int64,
        Some(b'E') => ScalarKind::Float32,
        Some(b'D') => ScalarKind::Float64,
        Some(b'C') => ScalarKind::Complex64,
        Some(b'M') => ScalarKind::Complex128,
        Some(b'X') => return Err(refused("bits")),
        Some(b'P' | b'Q') => return Err(refused("arrays of variable length")),
        _ => return Err(wrong()),
    };
    let dtype = DType::scalar(kind, ByteOrder::Big)?;
    if count == 1 { Ok(dtype) } else { DType::subarray(&[count as usize], dtype) }
}

fn refused(what: &str) -> Error {
    let text = format!("a column has {what}, which no dtype describes");
    Error::new(Kind::Unsupported, text).advising(Advice::OpenFits)
}
