//! Item formats as C strings: those of producers, and those of this library's arrays.

use std::ffi::{CStr, CString, c_char};
use std::fmt::Write;
use std::sync::Arc;

use crate::element::DType;
use crate::element::dialect::pack::{self, Component, Template};
use crate::error::{Error, Kind, Result};
use crate::view::{Key, RegistryTable};

/// The limit of a template's length in bytes.
const LONGEST: usize = 1 << 16;

/// The bytes of a foreign C string, up to the first that no template can contain. Reading stops
/// there, or after `LONGEST` bytes, if the string is not terminated.
///
/// # Safety
///
/// 1. Bytes are readable from `format` up to the first that is neither printable nor white space,
///    or `LONGEST` of them.
/// 2. They stay unchanged while the result is used.
pub(super) unsafe fn read<'a>(format: *const c_char) -> Result<&'a [u8]> {
    let format = format.cast::<u8>();
    for len in 0..LONGEST {
        // SAFETY: clause 1 of `# Safety`: all bytes before were printable or white space and fewer
        // than `LONGEST`, so this one is readable.
        let byte = unsafe { *format.wrapping_add(len) };
        let is_possible = byte.is_ascii_graphic() || byte.is_ascii_whitespace() || byte == 0x0b;
        if !is_possible {
            // An impossible byte is part of the result, so that the parser refuses it in its place.
            let len = if byte == 0 { len } else { len + 1 };
            // SAFETY: clauses 1 and 2 of `# Safety`: the loop just read these `len` bytes, and they
            // stay unchanged while the result is used.
            return Ok(unsafe { std::slice::from_raw_parts(format, len) });
        }
    }
    Err(Error::new(Kind::Malformed, format!("its format does not end within {LONGEST} bytes")))
}

/// The format of items without a producer's format: `C` and the number of bytes. Any number fits in
/// 24 bytes.
pub(super) struct BytesFormat([u8; 24]);

impl BytesFormat {
    pub(super) const EMPTY: Self = Self([0; 24]);

    pub(super) fn new(item_size: usize) -> Self {
        let mut text = InlineText { bytes: [0; 24], len: 0 };
        let _fits = write!(text, "C{item_size}");
        Self(text.bytes)
    }

    pub(super) fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr().cast()
    }
}

/// Text in its own storage, followed by a zero.
struct InlineText {
    bytes: [u8; 24],
    len: usize,
}

impl Write for InlineText {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.len + text.len();
        let place = self.bytes[..23].get_mut(self.len..end).ok_or(std::fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// A template's text and its parsed form.
pub(super) struct Spelling {
    text: CString,
    template: Template,
}

/// The format of an array's items, ready for a view.
pub(super) struct ItemFormat {
    pub(super) text: *const c_char,
    pub(super) components: *const Component,
    pub(super) length: usize,
    /// Owns what the pointers lead to, unless they lead to constants.
    pub(super) shared: Option<Arc<Spelling>>,
}

// SAFETY: the pointers lead to constants, or to the text and the components in `shared`, which are
// never changed and live as long.
unsafe impl Send for ItemFormat {}
// SAFETY: `&ItemFormat` permits only reads of constants, or of the text and the components in
// `shared`, which are never changed.
unsafe impl Sync for ItemFormat {}

/// A scalar's template, filled up with zeros.
type Short = [u8; 4];

impl Key for Short {
    #[inline]
    fn hash(&self) -> usize {
        u32::from_ne_bytes(*self) as usize
    }
}

/// All scalar templates parsed so far, of which there are few: each is a constant from then on. A
/// value is its component, in a static table.
static SCALARS: RegistryTable<Short> = RegistryTable::new();

#[inline]
fn short(text: &[u8]) -> Option<Short> {
    match *text {
        [a] => Some([a, 0, 0, 0]),
        [a, b] => Some([a, b, 0, 0]),
        [a, b, c] => Some([a, b, c, 0]),
        _ => None,
    }
}

/// A template of a single scalar, as a constant with its component, if it was parsed before.
#[inline]
pub(super) fn known(text: &[u8]) -> Option<(*const c_char, &'static Component)> {
    let row = SCALARS.find(&short(text)?)?;
    let component = row.value().cast::<Component>().cast_const();
    if component.is_null() {
        return None;
    }
    // SAFETY: values of `SCALARS` that are not null come from `remember`, which stores references
    // to the static components of templates.
    Some((row.key().as_ptr().cast(), unsafe { &*component }))
}

/// Makes the template [`known`], if it is a single scalar.
fn remember(text: &[u8], template: &Template) {
    if let Some(short) = short(text)
        && let Some([component]) = template.as_static()
        && component.size == template.item_size()
    {
        // Another thread may have set the same value first.
        let _first = SCALARS.find_or_make(short).set(std::ptr::from_ref(component).cast_mut().cast());
    }
}

/// Parses a template, which is [`known`] afterwards if it can be.
///
/// # Errors
///
/// If the text is not a template, with the position.
pub(super) fn parse(text: &[u8]) -> Result<Template> {
    let template = pack::parse(text)
        .map_err(|error| Error::from(error).within(format!("the format '{}'", text.escape_ascii())))?;
    remember(text, &template);
    Ok(template)
}

impl ItemFormat {
    /// # Errors
    ///
    /// If no template describes the dtype, naming the part.
    pub(super) fn new(dtype: &DType) -> Result<Self> {
        Self::spelt(pack::to_pack(dtype)?)
    }

    /// # Errors
    ///
    /// If the text is not a template.
    pub(super) fn spelt(text: String) -> Result<Self> {
        let template = parse(text.as_bytes())?;
        if let Some((text, component)) = known(text.as_bytes()) {
            return Ok(Self { text, components: component, length: 1, shared: None });
        }
        let text = CString::new(text).map_err(|error| Error::new(Kind::Malformed, error.to_string()))?;
        let spelling = Arc::new(Spelling { text, template });
        let components = spelling.template.components();
        Ok(Self {
            text: spelling.text.as_ptr(),
            components: components.as_ptr(),
            length: components.len(),
            shared: Some(spelling),
        })
    }

    /// The template.
    pub(super) fn as_c_str(&self) -> &CStr {
        // SAFETY: `text` comes from `known`, a constant row that ends in a zero, or from the
        // `CString` in `shared`, which lives as long as `self`.
        unsafe { CStr::from_ptr(self.text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_a_format_of_any_number() {
        for item_size in [4, isize::MAX as usize] {
            let text = format!("C{item_size}");
            let format = BytesFormat::new(item_size);
            // SAFETY: `BytesFormat` writes at most 23 bytes, so a zero follows them in its array.
            let read = unsafe { read(format.as_ptr()) }.unwrap();
            assert_eq!((read, pack::item_size(read).unwrap()), (text.as_bytes(), item_size));
        }
    }

    #[test]
    fn a_string_without_an_end_is_read_up_to_what_is_no_template() {
        // SAFETY: a C string literal ends by NUL and is constant.
        assert_eq!(unsafe { read(c"f x2\n d".as_ptr()) }.unwrap(), b"f x2\n d");
        // SAFETY: the last byte of the literal, 0xff, is not printable, so reading stops there.
        assert_eq!(unsafe { read(b"ff\xff".as_ptr().cast()) }.unwrap(), b"ff\xff");
        let endless = vec![b'f'; LONGEST + 1];
        // SAFETY: reading stops after `LONGEST` bytes, and the vector has one more.
        let error = unsafe { read(endless.as_ptr().cast()) }.unwrap_err();
        assert!(error.is_malformed() && error.to_string().contains("65536"), "{error}");
    }
}
