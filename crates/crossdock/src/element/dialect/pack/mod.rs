//! Ruby's spelling, that of MemoryView: letters of `Array#pack`, each with modifiers and a count
//! behind it.
//!
//! ```text
//! template := '|'? ( space* part )* space*
//! part     := letter modifier* count?
//! modifier := '!' | '_'        C's own size          of sSiIlLqQjJ only, any number of times
//!           | '<' | '>'        the byte order        of sSiIlLqQjJ only, once
//! count    := [0-9]+           1 where none is given
//! ```
//!
//! | letters | what |
//! |---|---|
//! | `c` `C` | 1 byte; the small letter is signed, here and below |
//! | `s` `S`, `l` `L`, `q` `Q` | 2, 4, 8 bytes, and with `!` C's `short`, `long`, `long long` |
//! | `i` `I`, `j` `J` | C's `int` and `intptr_t` |
//! | `n` `N`, `v` `V` | unsigned, 2 and 4 bytes; big-endian, little-endian |
//! | `f` `d`, `e` `E`, `g` `G` | floats of 4 and 8 bytes; in the machine's order, little-endian, big-endian |
//! | `x` | a byte that is not read |
//!
//! Parts follow one another without gaps, unless the very first byte is `|`: then each is aligned
//! as C aligns it in a struct, and so is the item. There are no other letters; those of
//! `String#unpack` that this list lacks are errors.
//!
//! `parse` reads a template, [`to_pack`] writes one, [`read_members`] and [`write_members`] read
//! and write the numbers of one item. Where the original's parser overflows or writes beyond what
//! it allocated, this one reports an error or reads on.

mod component;
mod components;
mod dtype;
mod error;
mod items;
mod letters;
mod parse;
mod template;

pub use self::component::Component;
pub use self::components::{Components, constant_reader};
pub use self::dtype::{to_pack, to_pack_approximately};
pub use self::error::FormatError;
pub use self::items::{Reader, load_members, read_members, store_members, write_members};
pub use self::template::Template;
#[doc(no_inline)]
pub use crate::element::value::member::Member;

/// Reads a template. One pass; allocates for more than a few components only, and never for a
/// count.
///
/// # Errors
///
/// Where a part is no part of a template, or makes the item larger than memory is, with the place
/// of the part. The first from the left is reported.
///
/// ```
/// use crossdock::bindings::dialect::pack;
///
/// let template = pack::parse(b"ccc2 f3 x2 d4 q!<")?;
/// assert_eq!(template.item_size(), 58);
/// assert_eq!(template.components().len(), 6);
/// assert_eq!(pack::parse(b"cq<>").unwrap_err().offset(), 1);
/// assert_eq!(pack::parse(b"cc18446744073709551616").unwrap_err().offset(), 1);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[inline]
pub fn parse(format: &[u8]) -> Result<Template, FormatError> {
    Template::parse(format)
}

/// Reads a template as `parse` does, and hands over each component instead of keeping them: for who
/// has a place for them. Gives the size of an item. Allocates nothing.
///
/// # Errors
///
/// As `parse`; what was handed over before is void.
///
/// ```
/// use crossdock::bindings::dialect::pack;
///
/// let mut letters = String::new();
/// let item_size = pack::parse_each(b"Cx3s2", |component| letters.push(component.format.into()))?;
/// assert_eq!((letters.as_str(), item_size), ("Cs", 8));
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn parse_each(format: &[u8], found: impl FnMut(Component)) -> Result<usize, FormatError> {
    parse::walk(format, found)
}

/// The bytes of one item of a template. Allocates nothing.
///
/// # Errors
///
/// As `parse`.
///
/// ```
/// use crossdock::bindings::dialect::pack;
///
/// assert_eq!(pack::item_size(b"iqc")?, 13);
/// assert_eq!(pack::item_size(b"|iqc")?, 24);
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn item_size(format: &[u8]) -> Result<usize, FormatError> {
    parse::walk(format, |_| ())
}
