//! Ruby's spelling for MemoryView: letters of `Array#pack`, each followed by modifiers and a count.
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
//! | `f` `d`, `e` `E`, `g` `G` | floats of 4 and 8 bytes; native, little-endian, big-endian |
//! | `x` | a byte that is not read |
//!
//! Parts are contiguous, unless the first byte is `|`: then each part, and the item, is aligned as
//! in a C struct. There are no other letters; those of `String#unpack` that this list lacks are
//! errors.
//!
//! `parse` reads a template, [`to_pack`] writes one, [`read_members`] and [`write_members`] read
//! and write the numbers of one item. Where Ruby's parser overflows or writes out of bounds, this
//! one reports an error or continues.

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
pub use self::items::{MemberReader, load_members, read_members, store_members, write_members};
pub use self::template::Template;
#[doc(no_inline)]
pub use crate::element::value::member::Member;

/// Reads a template. One pass; allocates only for more than a few components, and never for a
/// count.
///
/// # Errors
///
/// For the first part from the left that is invalid, or makes the item exceed the address space,
/// with its offset.
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

/// Reads a template like `parse`, and passes each component to `found` instead of storing them.
/// Returns the size of an item. Allocates nothing.
///
/// # Errors
///
/// As `parse`; components passed before the error are void.
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
    parse::walk(format, 0, 0, found)
}

/// The size of one item of a template in bytes. Allocates nothing.
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
    parse::walk(format, 0, 0, |_| ())
}
