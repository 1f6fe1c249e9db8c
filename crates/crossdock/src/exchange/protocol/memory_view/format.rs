//! Item formats as C strings: those that producers give, and those of our arrays.

use std::ffi::{CStr, CString, c_char};
use std::fmt::Write;
use std::sync::Arc;

use crate::element::DType;
use crate::element::dialect::pack::{self, Component, Template};
use crate::error::{Error, Kind, Result};
use crate::view::{Key, Rows};

/// No template that anybody means is longer, in bytes.
const LONGEST: usize = 1 << 16;

/// The bytes of a foreign C string, up to the first that no template can contain: what is not terminated is read no farther than the
/// bytes that a template could have.
///
/// # Safety
///
/// The string is terminated, or has a byte that is not printable and not white space.
pub(super) unsafe fn read<'a>(format: *const c_char) -> Result<&'a [u8]> {
    let format = format.cast::<u8>();
    for len in 0..LONGEST {
        // SAFETY: all bytes before were of the string, and did not end it.
        let byte = unsafe { *format.wrapping_add(len) };
        let is_possible = byte.is_ascii_graphic() || byte.is_ascii_whitespace() || byte == 0x0b;
        if !is_possible {
            // An impossible byte belongs to what is parsed, which refuses it there.
            let len = if byte == 0 { len } else { len + 1 };
            // SAFETY: as many bytes were just read.
            return Ok(unsafe { std::slice::from_raw_parts(format, len) });
        }
    }
    Err(Error::new(Kind::Malformed, format!("its format does not end within {LONGEST} bytes")))
}

/// The format of items that a producer gave none for: `C` and the number of bytes. 24 bytes have room for any number.
pub(super) struct BytesFormat([u8; 24]);

impl BytesFormat {
    pub(super) const EMPTY: Self = Self([0; 24]);

    pub(super) fn new(item_size: usize) -> Self {
        let mut text = Text { bytes: [0; 24], len: 0 };
        let _fits = write!(text, "C{item_size}");
        Self(text.bytes)
    }

    pub(super) fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr().cast()
    }
}

/// Text in a place of its own, with a zero behind it.
struct Text {
    bytes: [u8; 24],
    len: usize,
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.len + text.len();
        let place = self.bytes[..23].get_mut(self.len..end).ok_or(std::fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// A template and what it says.
pub(super) struct Spelling {
    text: CString,
    template: Template,
}

/// How the items of an array are spelt, ready to be put into a view.
pub(super) struct Format {
    pub(super) text: *const c_char,
    pub(super) components: *const Component,
    pub(super) length: usize,
    /// What the pointers lead to, where they do not lead to constants.
    pub(super) shared: Option<Arc<Spelling>>,
}

// SAFETY: the pointers lead to constants, or to what `shared` keeps.
unsafe impl Send for Format {}
// SAFETY: as above.
unsafe impl Sync for Format {}

/// A scalar's template and a zero.
type Short = [u8; 4];

impl Key for Short {
    #[inline]
    fn hash(&self) -> usize {
        u32::from_ne_bytes(*self) as usize
    }
}

/// The templates of scalars that were ever met, of which there are only so many: each is a constant once it is here. A value is its
/// component, in the table of constants.
static SCALARS: Rows<Short> = Rows::new();

#[inline]
fn short(text: &[u8]) -> Option<Short> {
    match *text {
        [a] => Some([a, 0, 0, 0]),
        [a, b] => Some([a, b, 0, 0]),
        [a, b, c] => Some([a, b, c, 0]),
        _ => None,
    }
}

/// A template that is a scalar and no more, as a constant with its component; if it was met before.
#[inline]
pub(super) fn known(text: &[u8]) -> Option<(*const c_char, &'static Component)> {
    let row = SCALARS.find(&short(text)?)?;
    let component = row.value().cast::<Component>().cast_const();
    if component.is_null() {
        return None;
    }
    // SAFETY: what `remember` put there, which is constant.
    Some((row.key().as_ptr().cast(), unsafe { &*component }))
}

/// From now on the template is [`known`], if it is a scalar and no more.
fn remember(text: &[u8], template: &Template) {
    if let Some(short) = short(text)
        && let Some([component]) = template.as_static()
        && component.size == template.item_size()
    {
        // Another thread may have been there first, with the same.
        let _first = SCALARS.find_or_make(short).set(std::ptr::from_ref(component).cast_mut().cast());
    }
}

/// Reads a template, which is known from then on, if it can be.
///
/// # Errors
///
/// Where it is none, with the place.
pub(super) fn parse(text: &[u8]) -> Result<Template> {
    let template = pack::parse(text)
        .map_err(|error| Error::from(error).within(format!("the format '{}'", text.escape_ascii())))?;
    remember(text, &template);
    Ok(template)
}

impl Format {
    /// # Errors
    ///
    /// Where no template says the dtype, naming the part.
    pub(super) fn new(dtype: &DType) -> Result<Self> {
        Self::spelt(pack::to_pack(dtype)?)
    }

    /// # Errors
    ///
    /// Where it is no template.
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
        // SAFETY: a constant, or what `shared` keeps; terminated either way.
        unsafe { CStr::from_ptr(self.text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_a_format_of_any_number() {
        for (item_size, text) in [(4, "C4"), (isize::MAX as usize, "C9223372036854775807")] {
            let format = BytesFormat::new(item_size);
            // SAFETY: terminated.
            let read = unsafe { read(format.as_ptr()) }.unwrap();
            assert_eq!((read, pack::item_size(read).unwrap()), (text.as_bytes(), item_size));
        }
    }

    #[test]
    fn a_string_without_an_end_is_read_up_to_what_is_no_template() {
        // SAFETY: terminated.
        assert_eq!(unsafe { read(c"f x2\n d".as_ptr()) }.unwrap(), b"f x2\n d");
        // SAFETY: with a byte that is not printable, and none behind it.
        assert_eq!(unsafe { read(b"ff\xff".as_ptr().cast()) }.unwrap(), b"ff\xff");
        let endless = vec![b'f'; LONGEST + 1];
        // SAFETY: read no farther than it is long.
        let error = unsafe { read(endless.as_ptr().cast()) }.unwrap_err();
        assert!(error.is_malformed() && error.to_string().contains("65536"), "{error}");
    }
}
