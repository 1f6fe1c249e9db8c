//! Writes a dtype as a format.

use crate::element::dialect::pep3118::letters::{self, Mode};
use crate::element::{DType, DTypeKind, Record, Scalar, ScalarKind};
use crate::error::{Error, Kind, Result};
use std::fmt::Write;

pub(super) fn write(dtype: &DType, aligned: bool) -> Result<String> {
    let natural = aligned && natural(dtype).is_some();
    let mut printer = FormatPrinter { text: String::new(), mode: Mode::Aligned, natural, depth: 0 };
    printer.part(dtype)?;
    Ok(printer.text)
}

/// The alignment of a native dtype whose parts have C's offsets, so that `@` adds no padding;
/// `None` for others.
fn natural(dtype: &DType) -> Option<usize> {
    match dtype.kind() {
        DTypeKind::Scalar(scalar) => scalar.is_native().then(|| scalar.alignment()),
        DTypeKind::SubArray(subarray) => natural(subarray.base()),
        DTypeKind::Record(record) => {
            let mut strictest = 1;
            for field in record.fields() {
                let alignment = natural(field.dtype())?;
                if !field.offset().is_multiple_of(alignment) {
                    return None;
                }
                strictest = strictest.max(alignment);
            }
            record.itemsize().is_multiple_of(strictest).then_some(strictest)
        }
    }
}

struct FormatPrinter {
    text: String,
    /// The mode set by the marks so far.
    mode: Mode,
    /// Whether no mark is needed at all.
    natural: bool,
    /// The number of enclosing records.
    depth: usize,
}

impl FormatPrinter {
    fn part(&mut self, dtype: &DType) -> Result<()> {
        match dtype.kind() {
            DTypeKind::Scalar(scalar) => self.scalar(scalar),
            DTypeKind::Record(record) => self.record(record),
            DTypeKind::SubArray(subarray) => {
                let mut separator = '(';
                for extent in subarray.shape() {
                    self.push(format_args!("{separator}{extent}"));
                    separator = ',';
                }
                self.text.push(')');
                let base = subarray.base();
                if self.depth == 0 && matches!(base.as_scalar().map(Scalar::kind), Some(ScalarKind::Void(_)))
                {
                    return Err(unsaid(
                        "a sub-array of opaque bytes ('x') is padding outside of records, so it would be \
                        lost",
                    ));
                }
                self.part(base)
            }
        }
    }

    fn record(&mut self, record: &Record) -> Result<()> {
        self.text.push_str("T{");
        self.depth += 1;
        let mut end = 0;
        for field in record.fields() {
            let within = |error: Error| error.within(format_args!("field {:?}", field.name()));
            let Some(gap) = field.offset().checked_sub(end) else {
                return Err(unsaid(format!(
                    "field {:?} begins at byte {}, before the previous one ends at byte {end}, and a format \
                    of PEP 3118 lists its items in order",
                    field.name(),
                    field.offset()
                )));
            };
            if field.name().contains([':', '\0']) {
                return Err(unsaid(format!(
                    "field {:?}: a name in a format of PEP 3118 cannot contain a colon or NUL; rename the \
                    field",
                    field.name()
                )));
            }
            self.padding(gap);
            self.part(field.dtype()).map_err(within)?;
            self.push(format_args!(":{}:", field.name()));
            end = field.end();
        }
        self.padding(record.itemsize() - end);
        self.depth -= 1;
        self.text.push('}');
        Ok(())
    }

    fn scalar(&mut self, scalar: Scalar) -> Result<()> {
        let kind = scalar.kind();
        let opaque = matches!(kind, ScalarKind::LongDouble | ScalarKind::ComplexLongDouble);
        if opaque && !scalar.is_native() {
            return Err(unsaid(format!("readers of PEP 3118 know {kind} in native byte order only")));
        }
        if kind == ScalarKind::Pointer && self.depth > 0 {
            return Err(unsaid(
                "readers of PEP 3118 know no pointers ('P') in records; export the field by itself",
            ));
        }
        if !self.natural {
            self.mark(scalar);
        }
        match (kind, letters::spelling(scalar, self.mode)) {
            (_, Some(letters)) => {
                self.text.extend(letters.to_bytes().iter().map(|&letter| char::from(letter)))
            }
            (ScalarKind::Bytes(len), _) => self.push(format_args!("{len}s")),
            (ScalarKind::Void(len), _) => self.push(format_args!("{len}x")),
            (ScalarKind::Text(len), _) => self.push(format_args!("{len}w")),
            _ => return Err(unsaid(format!("PEP 3118 has no letter for {kind}"))),
        }
        Ok(())
    }

    /// Writes the mark for a scalar, unless it already applies.
    fn mark(&mut self, scalar: Scalar) {
        let wanted = match scalar.byte_order() {
            // Any mode but `@`, which would align the following items.
            None if self.mode != Mode::Aligned || self.depth == 0 => return,
            // For a single item, more consumers support `<` than `^`; a long double is the
            // exception.
            Some(order) if self.depth == 0 && scalar.alignment() < 16 || !scalar.is_native() => {
                Mode::Standard(order)
            }
            _ => Mode::Packed,
        };
        if wanted != self.mode {
            self.mode = wanted;
            self.text.push(match wanted {
                Mode::Standard(order) => order.symbol(),
                Mode::Packed | Mode::Aligned => '^',
            });
        }
    }

    fn padding(&mut self, nbytes: usize) {
        match nbytes {
            0 => {}
            1 => self.text.push('x'),
            _ => self.push(format_args!("{nbytes}x")),
        }
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing into a string does not fail.
        let _ = self.text.write_fmt(text);
    }
}

#[cold]
fn unsaid(text: impl Into<String>) -> Error {
    Error::new(Kind::Unsupported, text)
}
