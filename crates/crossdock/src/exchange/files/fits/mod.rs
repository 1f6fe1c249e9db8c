//! FITS files: images and tables of astronomy under names, mapped in place, read only.
//!
//! ```text
//!   header │ data │ header │ data │ …       each fills whole blocks of 2880 bytes
//! ```
//!
//! All numbers are big-endian. The first axis of the file is the fastest, so that shapes have the
//! order of NumPy, as in astropy. A name is `EXTNAME`, or `PRIMARY` for the first unit, or the
//! number of the unit; a repeated one has its `EXTVER` behind a comma. Elements are given as they
//! are stored: if the header scales them, the texts of the file have `BSCALE` and `BZERO`, and a
//! note says so. Rows of binary tables are records. Compressed images, tables of text, columns of
//! bits and of variable length, and random groups are refused by name.

mod cards;
mod table;

use std::collections::HashSet;
use std::ops::Range;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::{ByteOrder, DType, ScalarKind};
use crate::error::{Advice, Error, Kind, Result};
use crate::exchange::files::contents::{Contents, Entry};
use crate::exchange::files::fields::Fields;
use crate::exchange::files::fits::cards::{BLOCK, Cards, malformed};
use crate::exchange::files::format::Format;
use crate::layout::{Layout, Order};

/// More units than this are refused, since each is listed.
const MOST_UNITS: usize = 1 << 16;

/// The number of axes that the standard allows.
const MOST_AXES: u64 = 999;

/// Divides a file into its units.
pub(super) fn read(buffer: Buffer) -> Result<Contents> {
    let mut fields = Fields::new(&buffer, ByteOrder::Big)?;
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    let (mut texts, mut notes, mut names) = (Vec::new(), Vec::new(), HashSet::new());
    let nbytes = buffer.nbytes() as u64;
    for number in 0..MOST_UNITS {
        // What follows the last unit need not be one.
        if number > 0 && nbytes.saturating_sub(fields.at()) < BLOCK {
            break;
        }
        let within = |error: Error| error.within(format_args!("unit {number}"));
        let cards = Cards::read(&mut fields).map_err(within)?;
        check_first(&cards, number).map_err(within)?;
        let unit = Unit::new(&cards).map_err(within)?;
        let start = fields.at();
        fields.skip(unit.nbytes, "the data of a unit").map_err(within)?;
        // The last block may be cut off.
        fields.seek(start.saturating_add(unit.nbytes).next_multiple_of(BLOCK).min(nbytes));
        if unit.nbytes == 0 {
            continue;
        }
        let name = unit.name(&cards, number, &mut names)?;
        match unit.described(&cards) {
            Ok((dtype, layout)) => {
                let range = start as usize..start as usize + layout.nbytes();
                if let Some(scale) = scale(&cards) {
                    notes.push(format!(
                        "{name:?}: the elements are as they are stored; the values are element × {} + {} \
                        (BSCALE, BZERO)",
                        scale[0], scale[1]
                    ));
                    let named = ["BSCALE", "BZERO"].map(|key| format!("{name}.{key}"));
                    texts.extend(named.into_iter().zip(scale.map(|number| number.to_string())));
                }
                found.push((name, dtype, layout, range));
            }
            Err(error) if error.is_unsupported() => {
                refused.push((name.clone(), error.within(format_args!("unit {name:?}"))));
            }
            Err(error) => return Err(within(error)),
        }
    }
    drop(fields);
    let ranges: Vec<Range<usize>> = found.iter().map(|(.., range)| range.clone()).collect();
    let parts = buffer
        .partition(&ranges)
        .map_err(|rejected| rejected.error.within("the file could not be divided into its units"))?;
    let entries = found.into_iter().zip(parts).map(|((name, dtype, layout, _), part)| {
        Ok(Entry::mapped(name, DArray::from_buffer(part, dtype, layout, 0)?))
    });
    let contents = Contents::new(Format::Fits, entries.collect::<Result<_>>()?, texts).with_refused(refused);
    Ok(notes.into_iter().fold(contents, Contents::with_note))
}

/// Checks the first card of a unit.
fn check_first(cards: &Cards, number: usize) -> Result<()> {
    let key = if number == 0 { "SIMPLE" } else { "XTENSION" };
    match cards.text(key) {
        Some("F") if number == 0 => Err(malformed("SIMPLE is F: it does not follow the standard".into())),
        Some(_) => Ok(()),
        None => Err(malformed(format!("its header has no {key}"))),
    }
}

/// The data of a unit, as its header describes them.
struct Unit {
    bitpix: i64,
    /// The lengths of the axes, the fastest first.
    lens: Vec<u64>,
    nbytes: u64,
}

impl Unit {
    fn new(cards: &Cards) -> Result<Self> {
        let bitpix = cards.integer("BITPIX")?.unwrap_or(0);
        if ![8, 16, 32, 64, -32, -64].contains(&bitpix) {
            return Err(malformed(format!("BITPIX is {bitpix}, and not 8, 16, 32, 64, -32 or -64")));
        }
        let rank = cards.count("NAXIS")?;
        if rank > MOST_AXES {
            return Err(malformed(format!("NAXIS is {rank}, and at most {MOST_AXES} are allowed")));
        }
        let lens: Vec<u64> =
            (1..=rank).map(|axis| cards.count(&format!("NAXIS{axis}"))).collect::<Result<_>>()?;
        let count = |key, or| if cards.text(key).is_some() { cards.count(key) } else { Ok(or) };
        let (parameters, groups) = (count("PCOUNT", 0)?, count("GCOUNT", 1)?);
        let mut each = lens.iter().try_fold(u64::from(rank > 0), |all, &len| all.checked_mul(len));
        if cards.text("GROUPS") == Some("T") && lens.first() == Some(&0) {
            each = lens[1..].iter().try_fold(1, |all: u64, &len| all.checked_mul(len));
        }
        let elements = each.and_then(|each| each.checked_add(parameters)?.checked_mul(groups));
        let nbytes = elements.and_then(|all| all.checked_mul(bitpix.unsigned_abs() / 8));
        let nbytes = nbytes
            .ok_or_else(|| malformed(format!("its shape is {lens:?}, which exceeds the address space")))?;
        Ok(Self { bitpix, lens, nbytes })
    }

    /// A name that no other unit has.
    fn name(&self, cards: &Cards, number: usize, names: &mut HashSet<String>) -> Result<String> {
        let named = cards.text("EXTNAME").filter(|name| !name.is_empty());
        let name = named.unwrap_or(if number == 0 { "PRIMARY" } else { "" }).to_owned();
        let version = cards.integer("EXTVER")?.unwrap_or(1);
        let choices = [name.clone(), format!("{name},{version}"), number.to_string(), format!("#{number}")];
        let free = choices
            .into_iter()
            .find(|choice| !choice.starts_with(',') && !choice.is_empty() && !names.contains(choice));
        let free = free.ok_or_else(|| malformed(format!("it has many units named {name:?}")))?;
        names.insert(free.clone());
        Ok(free)
    }

    fn described(&self, cards: &Cards) -> Result<(DType, Layout)> {
        let refused = |what: &str| {
            Err(Error::new(Kind::Unsupported, format!("it is {what}")).advising(Advice::OpenFits))
        };
        if cards.text("GROUPS") == Some("T") && self.lens.first() == Some(&0) {
            return refused("made of random groups");
        }
        if cards.text("ZIMAGE") == Some("T") {
            return refused("an image whose pixels are compressed");
        }
        let lens = self.lens.iter().map(|&len| usize::try_from(len));
        let mut shape: Vec<usize> = lens.collect::<std::result::Result<_, _>>().map_err(|_| {
            malformed(format!("its shape is {:?}, which exceeds the address space", self.lens))
        })?;
        let dtype = match cards.text("XTENSION") {
            None | Some("IMAGE") => {
                // The file has the fastest axis first.
                shape.reverse();
                self.dtype()?
            }
            Some("BINTABLE" | "A3DTABLE") => {
                let &[row, rows] = &shape[..] else {
                    return Err(malformed(format!("a table has {} axes, and not 2", shape.len())));
                };
                shape = vec![rows];
                table::dtype(cards, row)?
            }
            Some("TABLE") => return refused("a table of text"),
            Some(other) => return refused(&format!("an extension of the kind {other:?}")),
        };
        let layout = Layout::contiguous(&shape, dtype.itemsize(), Order::RowMajor)
            .map_err(|error| malformed(format!("the header is damaged: {error}")))?;
        Ok((dtype, layout))
    }

    fn dtype(&self) -> Result<DType> {
        let kind = match self.bitpix {
            8 => ScalarKind::UInt8,
            16 => ScalarKind::Int16,
            32 => ScalarKind::Int32,
            64 => ScalarKind::Int64,
            -32 => ScalarKind::Float32,
            _ => ScalarKind::Float64,
        };
        DType::scalar(kind, ByteOrder::Big)
    }
}

/// The factor and the summand of the elements of an image, if they change any.
fn scale(cards: &Cards) -> Option<[f64; 2]> {
    let scale = [cards.float("BSCALE").unwrap_or(1.0), cards.float("BZERO").unwrap_or(0.0)];
    (scale != [1.0, 0.0]).then_some(scale)
}
