//! Arrays that are saved: to a file, or as the bytes of one.

use std::ffi::c_char;

use crossdock::DArray;
use crossdock::buffer::{Buffer, MutableBuffer};
use crossdock::exchange::files::SaveOptions;
use crossdock::io::BufferWriter;

use crate::array::{XdArray, array_of, order_of};
use crate::error::{Failure, Result};
use crate::foreign::{Item, items, known_bits, optional_text, text};
use crate::guard::{ErrorOut, fallible};
use crate::handle::{Handle, hand_over};
use crate::open::format_of;

/// `XD_SAVING_NEW` of the header.
pub const XD_SAVING_NEW: u32 = 1;
/// `XD_SAVING_DEFLATED` of the header.
pub const XD_SAVING_DEFLATED: u32 = 2;

/// `xd_save_options`.
#[repr(C)]
pub struct XdSaveOptions {
    /// Bits of `XD_SAVING_*`.
    pub flags: u32,
    /// The order of a raw file; 0 for row-major.
    pub order: i32,
    /// The quality of a JPEG image; 0 for the default.
    pub quality: i32,
    /// 0.
    pub reserved: i32,
    /// The ending of the format's names; null for that of the path.
    pub format: *const c_char,
    /// The number of texts.
    pub text_count: usize,
    /// Their keys.
    pub keys: *const *const c_char,
    /// The texts.
    pub texts: *const *const c_char,
}

/// The options that the caller passed; null selects the defaults.
///
/// # Safety
///
/// During the call, nothing writes the texts: `format` is null or a C string, and `keys` and
/// `texts` are null or lists of `text_count` pointers, each null or to a C string.
unsafe fn options_of(given: Option<&XdSaveOptions>) -> Result<SaveOptions> {
    let mut options = SaveOptions::new();
    let Some(given) = given else { return Ok(options) };
    known_bits(given.flags, XD_SAVING_NEW | XD_SAVING_DEFLATED, "options->flags")?;
    if given.reserved != 0 {
        let text = format!("the argument `options->reserved` is {}; it must be 0", given.reserved);
        return Err(Failure::argument(text));
    }
    options = options.create_new(given.flags & XD_SAVING_NEW != 0);
    options = options.deflated(given.flags & XD_SAVING_DEFLATED != 0);
    if given.order != 0 {
        options = options.order(order_of(given.order)?);
    }
    if given.quality != 0 {
        let quality = u8::try_from(given.quality).ok().filter(|quality| (1..=100).contains(quality));
        options = options.quality(quality.ok_or_else(|| {
            Failure::argument(format!("the quality is {}; it must be 1 to 100", given.quality))
        })?);
    }
    // SAFETY: `# Safety`: the text is null or a C string that nothing writes during the call.
    if let Some(format) = unsafe { optional_text(given.format, "format") }? {
        options = options.format(format_of(format)?);
    }
    // SAFETY: `# Safety`: the list is null, or has `text_count` pointers.
    let keys = unsafe { items(given.keys, given.text_count, "keys") }?;
    // SAFETY: `# Safety`: the list is null, or has `text_count` pointers.
    let texts = unsafe { items(given.texts, given.text_count, "texts") }?;
    for (index, (&key, &of)) in keys.iter().zip(texts).enumerate() {
        // SAFETY: `# Safety`: each pointer is null or to a C string.
        let key = unsafe { text(key, Item("keys", index)) }?;
        // SAFETY: `# Safety`: each pointer is null or to a C string.
        options = options.metadata(key, unsafe { text(of, Item("texts", index)) }?);
    }
    Ok(options)
}

/// Arrays with their names, which are empty if the caller passed none.
///
/// # Safety
///
/// During the call, nothing writes what the pointers lead to: `names` is null or a list of `count`
/// pointers, each null or to a C string; `arrays` is null or a list of `count` handles, each null
/// or an array.
pub(crate) unsafe fn named<'a>(
    count: usize,
    names: *const *const c_char,
    arrays: *const Option<&XdArray>,
) -> Result<Vec<(&'a str, DArray)>> {
    // SAFETY: `# Safety`: the list is null, or has `count` handles.
    let arrays = unsafe { items(arrays, count, "arrays") }?;
    let mut list = Vec::new();
    for (index, &array) in arrays.iter().enumerate() {
        let name = if names.is_null() && count == 1 {
            ""
        } else {
            // SAFETY: `# Safety`: the list is null, or has `count` pointers, and `index` is below.
            let name = unsafe { items(names, count, "names") }?[index];
            // SAFETY: `# Safety`: each pointer is null or to a C string.
            unsafe { text(name, Item("names", index)) }?
        };
        list.push((name, array_of(array, Item("arrays", index))?.clone()));
    }
    Ok(list)
}

/// Saves an array.
///
/// # Safety
///
/// During the call, nothing writes what the pointers lead to: `path` is null or a C string, and the
/// options are as the header describes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_save(
    array: Option<&XdArray>,
    path: *const c_char,
    options: Option<&XdSaveOptions>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let array = array_of(array, "array")?;
        // SAFETY: `# Safety`: the options' texts and lists are as `options_of` requires.
        let options = unsafe { options_of(options) }?;
        // SAFETY: `# Safety`: `path` is null or a C string that nothing writes during the call.
        options.save(unsafe { text(path, "path") }?, array)?;
        Ok(true)
    })
}

/// Saves arrays under names.
///
/// # Safety
///
/// During the call, nothing writes what the pointers lead to: `path` is null or a C string, and the
/// lists and the options are as the header describes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_save_all(
    path: *const c_char,
    count: usize,
    names: *const *const c_char,
    arrays: *const Option<&XdArray>,
    options: Option<&XdSaveOptions>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        // SAFETY: `# Safety`: `path` is null or a C string that nothing writes during the call.
        let path = unsafe { text(path, "path") }?;
        // SAFETY: `# Safety`: the lists are as `named` requires.
        let arrays = unsafe { named(count, names, arrays) }?;
        // SAFETY: `# Safety`: the options' texts and lists are as `options_of` requires.
        unsafe { options_of(options) }?.save_all(path, &arrays)?;
        Ok(true)
    })
}

/// The bytes of such a file.
///
/// # Safety
///
/// As [`xd_save_all`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_encode(
    count: usize,
    names: *const *const c_char,
    arrays: *const Option<&XdArray>,
    options: Option<&XdSaveOptions>,
    error: ErrorOut<'_>,
) -> Handle<Buffer> {
    fallible(error, || {
        // SAFETY: `# Safety`: the lists are as `named` requires.
        let arrays = unsafe { named(count, names, arrays) }?;
        let mut writer = BufferWriter::new(MutableBuffer::new()?);
        // SAFETY: `# Safety`: the options' texts and lists are as `options_of` requires.
        unsafe { options_of(options) }?.write(&mut writer, &arrays)?;
        hand_over(writer.finish())
    })
}
