//! Text and bytes of a column, in place.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use crossdock::table::TextRead;

use crate::error::{Failure, Result, XD_ERROR_BOUNDS};
use crate::foreign::{emptied, given};
use crate::guard::{ErrorOut, answer, fallible};
use crate::handle::Handle;

/// `xd_text_t`: the text or bytes of a column under a read lease.
pub struct XdText {
    read: TextRead,
    is_utf8: bool,
}

impl XdText {
    pub(super) fn new(read: TextRead, is_utf8: bool) -> Self {
        Self { read, is_utf8 }
    }

    fn get(&self, index: usize) -> Result<Option<&[u8]>> {
        if index >= self.read.len() {
            let text =
                format!("element {index} is out of bounds for a column of {} elements", self.read.len());
            return Err(Failure::of_kind(XD_ERROR_BOUNDS, text));
        }
        Ok(match self.is_utf8 {
            true => self.read.get(index)?.map(str::as_bytes),
            false => self.read.bytes(index)?,
        })
    }
}

/// Frees a handle. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_text_free(text: Handle<XdText>) {
    answer(|| drop(text));
}

/// The number of elements.
#[unsafe(no_mangle)]
pub extern "C" fn xd_text_len(text: Option<&XdText>) -> usize {
    answer(|| text.map_or(0, |text| text.read.len()))
}

/// One element.
#[unsafe(no_mangle)]
pub extern "C" fn xd_text_get(
    text: Option<&XdText>,
    index: usize,
    data: Option<&mut MaybeUninit<*const c_char>>,
    len: Option<&mut MaybeUninit<usize>>,
    error: ErrorOut<'_>,
) -> bool {
    let (data, len) = (emptied(data, std::ptr::null()), emptied(len, 0));
    fallible(error, || {
        let (text, data, len) = (given(text, "text")?, given(data, "data")?, given(len, "len")?);
        if let Some(bytes) = text.get(index)? {
            (*data, *len) = (bytes.as_ptr().cast(), bytes.len());
        }
        Ok(true)
    })
}
