//! Compares the type that a consumer requests with the type of a column.

use crate::element::dialect::arrow::{ArrowFormat, BOOL8};
use crate::element::{DType, MAX_DEPTH};
use crate::error::Result;
use crate::exchange::protocol::arrow::abi::ArrowSchema;
use crate::exchange::protocol::arrow::field::{MAX_COLUMNS, children, malformed, text, unsupported};
use crate::exchange::protocol::arrow::metadata::Extension;

/// Compares the type that a consumer requests with the offered one, as for the `requested_schema`
/// of Arrow's PyCapsule interface. A producer may ignore a request for another representation of
/// the same data; a request for other data is an error of the consumer. O(parts of the types).
///
/// | offered | the same data |
/// |---|---|
/// | integers, floats, truth values | any of them, and decimals |
/// | timestamps; durations | of any unit; dates beside timestamps |
/// | opaque bytes of one width | of that width, or of variable width |
/// | lists of one length | of that length, or of variable length; items by this table |
/// | structs | as many children, of the same names; each by this table |
///
/// In the requested schema, dictionaries and run-end encoded columns count as the type of their
/// values.
///
/// `Some` is the requested element type, if it differs from the offered one and a numeric
/// conversion would produce it: the producer may convert. `None` means that the column is exported
/// unchanged, which the specification permits.
///
/// # Errors
///
/// `is_unsupported` if the requested data is not what is offered, with both types; `is_malformed`
/// for a schema that is null, was released, or contradicts itself.
///
/// # Safety
///
/// 1. `offered` follows the specification of the C Data interface, and was not released.
/// 2. `wanted` is null or points to a schema that follows the specification of the C Data
///    interface.
/// 3. Neither schema, nor a child or dictionary of one, is moved out or released during the call.
///    One that was moved out or released before is marked so (its `release` is null), as the
///    specification requires.
///
/// ```
/// use crossdock::Array;
/// use crossdock::element::DType;
/// use crossdock::bindings::arrow::{self, ExportOptions};
///
/// let options = ExportOptions::new();
/// let offered = arrow::export(&Array::from_vec(vec![1i64, 2], [2])?, &options)?;
/// let floats = arrow::export(&Array::<f64, 1>::zeros([1])?, &options)?;
/// let pairs = arrow::export(&Array::<i64, 2>::zeros([1, 2])?, &options)?;
/// // SAFETY: three schemas that are not released yet.
/// let asked = |wanted: &_| unsafe { arrow::requested(offered.schema(), wanted) };
/// assert_eq!(asked(offered.schema())?, None);
/// assert_eq!(asked(floats.schema())?, Some(DType::F64));
/// assert!(asked(pairs.schema()).unwrap_err().to_string().contains("\"+w:2\""));
/// # Ok::<(), crossdock::Error>(())
/// ```
pub unsafe fn requested(offered: &ArrowSchema, wanted: *const ArrowSchema) -> Result<Option<DType>> {
    // SAFETY: clause 2 of `# Safety`: `wanted` is null or points to a schema, which clause 3 keeps
    // unchanged during the call.
    let Some(wanted) = (unsafe { wanted.as_ref() }) else {
        return Err(malformed("the requested schema is null").within("a requested schema"));
    };
    // SAFETY: clauses 1 and 2 of `# Safety`: both schemas follow the specification. Clause 3: both
    // stay unchanged, and what was moved out of them is marked.
    unsafe { agree(offered, wanted, 0) }.map_err(|error| error.within("a requested schema"))
}

/// The data in columns of these formats, whatever the representation.
#[derive(Clone, Copy, PartialEq)]
enum Data {
    Numbers,
    Timestamps,
    Durations,
    /// Strings of this many bytes, or of variable width.
    Bytes(Option<usize>),
    /// Lists of this many items, or of variable length.
    Lists(Option<usize>),
    Structs,
    Other,
}

impl Data {
    fn of(format: &str) -> Self {
        match format {
            "b" | "c" | "C" | "s" | "S" | "i" | "I" | "l" | "L" | "e" | "f" | "g" => Self::Numbers,
            "tdD" | "tdm" => Self::Timestamps,
            "z" | "Z" | "vz" => Self::Bytes(None),
            "+l" | "+L" | "+vl" | "+vL" => Self::Lists(None),
            "+s" => Self::Structs,
            _ => match format.split_once(':') {
                Some(("d", _)) => Self::Numbers,
                Some(("w", width)) => width.parse().map_or(Self::Other, |width| Self::Bytes(Some(width))),
                Some(("+w", len)) => len.parse().map_or(Self::Other, |len| Self::Lists(Some(len))),
                Some(("tss" | "tsm" | "tsu" | "tsn", _)) => Self::Timestamps,
                _ if format.starts_with("tD") => Self::Durations,
                _ => Self::Other,
            },
        }
    }

    /// Whether data of this kind may be represented as `wanted`.
    fn may_be(self, wanted: Self) -> bool {
        match (self, wanted) {
            (Self::Bytes(_), Self::Bytes(None)) | (Self::Lists(_), Self::Lists(None)) => true,
            (Self::Other, _) => false,
            (own, wanted) => own == wanted,
        }
    }
}

/// # Safety
///
/// 1. `offered` follows the specification; it may have been released.
/// 2. `wanted` follows the specification; it may have been released.
/// 3. Neither changes during the call.
unsafe fn agree(offered: &ArrowSchema, wanted: &ArrowSchema, depth: usize) -> Result<Option<DType>> {
    if wanted.release.is_none() {
        return Err(malformed("it was already released or moved"));
    }
    if offered.release.is_none() {
        return Err(malformed("the offered schema was already released or moved"));
    }
    if depth > MAX_DEPTH {
        return Err(unsupported(format!("it is nested more than {MAX_DEPTH} levels deep")));
    }
    // SAFETY: clause 1 of `# Safety`: `offered` follows the specification; it was not released
    // (checked above).
    let own = unsafe { format(offered) }?;
    // SAFETY: clause 2 of `# Safety`: `wanted` was not released (checked above), so its dictionary
    // is null or points to a schema.
    if let Some(entries) = unsafe { wanted.dictionary.as_ref() } {
        // SAFETY: clause 1 of `# Safety` covers `offered`; the schema of the values belongs to
        // `wanted`, so clause 2 covers it; neither changes (clause 3).
        return unsafe { agree(offered, entries, depth + 1) };
    }
    // SAFETY: clause 2 of `# Safety`: `wanted` follows the specification; it was not released
    // (checked above).
    let format = unsafe { format(wanted) }?;
    // SAFETY: clauses 2 and 3 of `# Safety`: `wanted` was not released (checked above), so
    // `children` points to `n_children` pointers, which stay unchanged.
    let below = unsafe { children(wanted.n_children, wanted.children, "requested schema", MAX_COLUMNS) }?;
    // SAFETY: clause 2 of `# Safety`: a pointer to a child of `wanted` is null or points to a
    // schema.
    let child = |k: usize| match unsafe { below.get(k).and_then(|child| child.as_ref()) } {
        Some(child) => Ok(child),
        None => Err(malformed(format!("{format:?} has no child {k}"))),
    };
    if format == "+r" {
        // SAFETY: clause 1 of `# Safety` covers `offered`; the child belongs to `wanted`, so clause
        // 2 covers it; neither changes (clause 3).
        return unsafe { agree(offered, child(1)?, depth + 1) };
    }
    let data = Data::of(own);
    if !data.may_be(Data::of(format)) {
        return Err(unsupported(format!(
            "a column of format {own:?} cannot be exported as {format:?}; request no type, and cast the \
            result"
        )));
    }
    // SAFETY: clauses 1 and 3 of `# Safety`: `offered` was not released (checked above), so
    // `children` points to `n_children` pointers, which stay unchanged.
    let ours = unsafe { children(offered.n_children, offered.children, "schema", MAX_COLUMNS) }?;
    let mut ours = ours.iter().map(|&child| {
        // SAFETY: clause 1 of `# Safety`: a pointer to a child of `offered` is null or points to a
        // schema.
        unsafe { child.as_ref() }.ok_or_else(|| malformed("a child of the offered schema is null"))
    });
    match data {
        // SAFETY: clauses 1 and 2 of `# Safety`: both schemas follow the specification; neither was
        // released (checked above).
        Data::Numbers => unsafe { number(offered, wanted) },
        Data::Lists(_) => {
            let item = ours.next_back().unwrap_or_else(|| Err(malformed("the offered list has no child")))?;
            // SAFETY: the items belong to `offered` (clause 1 of `# Safety`), the other child to
            // `wanted` (clause 2); neither changes (clause 3).
            unsafe { agree(item, child(0)?, depth + 1) }
        }
        Data::Structs => {
            if ours.len() != below.len() {
                let (own, asked) = (ours.len(), below.len());
                return Err(unsupported(format!("it has {asked} columns, but the array has {own}")));
            }
            for (k, own) in ours.enumerate() {
                let (own, wanted) = (own?, child(k)?);
                if own.release.is_none() {
                    return Err(malformed(format!("column {k} was moved out of the offered schema")));
                }
                if wanted.release.is_none() {
                    return Err(malformed(format!("its column {k} was already released or moved")));
                }
                // SAFETY: clause 1 of `# Safety`: the child belongs to `offered` and was not
                // released (checked above), so its name is null or ends by NUL; clause 3 keeps it.
                let name = unsafe { text(own.name, "name") }?.unwrap_or_default();
                // SAFETY: clause 2 of `# Safety`: the child belongs to `wanted` and was not
                // released (checked above), so its name is null or ends by NUL; clause 3 keeps it.
                let asked = unsafe { text(wanted.name, "name") }?.unwrap_or_default();
                if name != asked {
                    return Err(unsupported(format!(
                        "column {k} is named {name:?}, but {asked:?} was requested"
                    )));
                }
                // SAFETY: one child belongs to `offered` (clause 1 of `# Safety`), the other to
                // `wanted` (clause 2); neither changes (clause 3).
                unsafe { agree(own, wanted, depth + 1) }
                    .map_err(|error| error.within(format_args!("column {name:?}")))?;
            }
            Ok(None)
        }
        Data::Timestamps | Data::Durations | Data::Bytes(_) | Data::Other => Ok(None),
    }
}

/// The requested element type, if it has a dtype other than the offered one.
///
/// # Safety
///
/// 1. Neither schema was released.
/// 2. Both follow the specification, and stay unchanged during the call.
unsafe fn number(offered: &ArrowSchema, wanted: &ArrowSchema) -> Result<Option<DType>> {
    // SAFETY: clauses 1 and 2 of `# Safety`: `offered` was not released, follows the specification
    // and stays unchanged.
    let own = unsafe { dtype(offered) }?;
    // SAFETY: clauses 1 and 2 of `# Safety`: `wanted` was not released, follows the specification
    // and stays unchanged.
    let other = unsafe { dtype(wanted) }?;
    // The consumer itself converts to decimals and bits.
    Ok(other.filter(|other| Some(other) != own.as_ref()))
}

/// # Safety
///
/// 1. The schema was not released.
/// 2. It follows the specification, and stays unchanged during the call.
unsafe fn dtype(schema: &ArrowSchema) -> Result<Option<DType>> {
    // SAFETY: clauses 1 and 2 of `# Safety`: the schema was not released, follows the specification
    // and stays unchanged.
    let Ok(ArrowFormat::Scalar(dtype)) = ArrowFormat::parse(unsafe { format(schema) }?) else {
        return Ok(None);
    };
    // SAFETY: clauses 1 and 2 of `# Safety`: the schema was not released, so its metadata are null
    // or as long as their numbers announce.
    let extension = unsafe { Extension::decode(schema.metadata) }?.unwrap_or_default();
    Ok(Some(if extension.name == BOOL8 { DType::BOOL } else { dtype }))
}

/// # Safety
///
/// 1. The schema was not released.
/// 2. It follows the specification, and stays unchanged while the result is used.
unsafe fn format(schema: &ArrowSchema) -> Result<&str> {
    // SAFETY: clauses 1 and 2 of `# Safety`: the schema was not released, so its format is null or
    // text that ends by NUL, unchanged while the result is used.
    unsafe { text(schema.format, "format") }?.ok_or_else(|| malformed("its format is null"))
}
