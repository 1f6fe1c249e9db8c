//! Files that are opened: one array, or the list of all.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::exchange::files::{Contents, Entry, Format, OpenOptions};

use crate::array::{XdArray, hand_over_array};
use crate::error::{Failure, Result, XD_ERROR_BOUNDS};
use crate::foreign::{emptied, given, known_bits, optional_text, string, text};
use crate::guard::{ErrorOut, answer, fallible};
use crate::handle::{Handle, hand_over};

/// `XD_OPENING_WRITABLE` of the header.
pub const XD_OPENING_WRITABLE: u32 = 1;
/// `XD_OPENING_GUARDED` of the header.
pub const XD_OPENING_GUARDED: u32 = 2;
/// `XD_OPENING_COPIED` of the header.
pub const XD_OPENING_COPIED: u32 = 4;
/// `XD_OPENING_VERIFIED` of the header.
pub const XD_OPENING_VERIFIED: u32 = 8;
/// `XD_OPENING_CONSTANT` of the header.
pub const XD_OPENING_CONSTANT: u32 = 16;

const ALL: u32 =
    XD_OPENING_WRITABLE | XD_OPENING_GUARDED | XD_OPENING_COPIED | XD_OPENING_VERIFIED | XD_OPENING_CONSTANT;

/// `xd_open_options`.
#[repr(C)]
pub struct XdOpenOptions {
    /// Bits of `XD_OPENING_*`.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
    /// The most bytes of one decoded array; 0 for the default.
    pub limit_nbytes: u64,
    /// The ending of the format's names, or null.
    pub format: *const c_char,
    /// The description of a raw file, or null.
    pub raw: *const c_char,
}

/// The options that the caller passed; null selects the defaults.
///
/// # Safety
///
/// Nothing writes the texts during the call, each null or a C string. If the flags have
/// `XD_OPENING_CONSTANT`, no process writes or truncates the file while it is mapped.
pub(crate) unsafe fn options_of(given: Option<&XdOpenOptions>) -> Result<OpenOptions> {
    let mut options = OpenOptions::new();
    let Some(given) = given else { return Ok(options) };
    let XdOpenOptions { flags, reserved, limit_nbytes, .. } = *given;
    known_bits(flags, ALL, "options->flags")?;
    if reserved != 0 {
        let text = format!("the argument `options->reserved` is {reserved}; it must be 0");
        return Err(Failure::argument(text));
    }
    options = options.writable(flags & XD_OPENING_WRITABLE != 0);
    options = options.guarded(flags & XD_OPENING_GUARDED != 0);
    options = options.mapped(flags & XD_OPENING_COPIED == 0);
    options = options.verified(flags & XD_OPENING_VERIFIED != 0);
    if limit_nbytes != 0 {
        options = options.limit(limit_nbytes);
    }
    // SAFETY: `# Safety`: each text is null or a C string that nothing writes during the call.
    if let Some(name) = unsafe { optional_text(given.format, "format") }? {
        options = options.format(format_of(name)?);
    }
    // SAFETY: `# Safety`: each text is null or a C string that nothing writes during the call.
    if let Some(description) = unsafe { optional_text(given.raw, "raw") }? {
        options = options.raw(description.parse()?);
    }
    if flags & XD_OPENING_CONSTANT != 0 {
        // SAFETY: `# Safety`: with this flag, no process writes or truncates the file.
        options = unsafe { options.assume_constant() };
    }
    Ok(options)
}

/// The format whose files' names end so.
pub(crate) fn format_of(ending: &str) -> Result<Format> {
    Format::of_ending(ending).ok_or_else(|| {
        Failure::argument(format!(
            "the argument `format` is {ending:?}; it must be the ending of a file's name, such as \"npy\", \
            \"npz\", \"safetensors\", \"png\", \"jpg\" or \"raw\""
        ))
    })
}

/// The only array of a file, mapped where the file stores its elements in place.
///
/// # Safety
///
/// `path` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_open(path: *const c_char, error: ErrorOut<'_>) -> Handle<XdArray> {
    // SAFETY: `# Safety`: `path` is null or a C string; the result is used during this call only,
    // while nothing writes it.
    fallible(error, || hand_over_array(crossdock::open(unsafe { text(path, "path") }?)?))
}

/// As [`xd_array_open`], with options.
///
/// # Safety
///
/// 1. `path` and the texts of the options are null or C strings that nothing writes during the
///    call.
/// 2. With `XD_OPENING_CONSTANT`, no process writes or truncates the file while it is mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_open_with(
    path: *const c_char,
    options: Option<&XdOpenOptions>,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        // SAFETY: clause 1: `path` is null or a C string that nothing writes during the call.
        let path = unsafe { text(path, "path") }?;
        // SAFETY: clauses 1 and 2 are those of `options_of`.
        hand_over_array(unsafe { options_of(options) }?.open(path)?)
    })
}

/// The arrays of a file.
///
/// # Safety
///
/// As [`xd_array_open_with`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_contents_open(
    path: *const c_char,
    options: Option<&XdOpenOptions>,
    error: ErrorOut<'_>,
) -> Handle<Contents> {
    fallible(error, || {
        // SAFETY: `# Safety`, clause 1: `path` is null or a C string that nothing writes meanwhile.
        let path = unsafe { text(path, "path") }?;
        // SAFETY: `# Safety`, clauses 1 and 2, are those of `options_of`.
        hand_over(unsafe { options_of(options) }?.open_all(path)?)
    })
}

/// The arrays of the bytes of a file. Consumes the handle.
///
/// # Safety
///
/// The texts of the options are null or C strings that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_contents_read(
    buffer: Handle<Buffer>,
    options: Option<&XdOpenOptions>,
    error: ErrorOut<'_>,
) -> Handle<Contents> {
    fallible(error, || {
        let buffer = *given(buffer, "buffer")?;
        // SAFETY: `# Safety` is the first clause of `options_of`; reading a buffer maps no file.
        hand_over(unsafe { options_of(options) }?.read(buffer)?)
    })
}

/// Frees a handle. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_contents_free(contents: Handle<Contents>) {
    answer(|| drop(contents));
}

/// The entry with this number.
fn entry_of(contents: Option<&Contents>, index: usize) -> Result<&Entry> {
    let entries = given(contents, "contents")?.entries();
    entries.get(index).ok_or_else(|| beyond(index, entries.len(), "arrays"))
}

fn beyond(index: usize, len: usize, what: &str) -> Failure {
    Failure::of_kind(XD_ERROR_BOUNDS, format!("index {index} is out of bounds: the file has {len} {what}"))
}

/// The ending of the format.
#[unsafe(no_mangle)]
pub extern "C" fn xd_contents_format(contents: Option<&Contents>, error: ErrorOut<'_>) -> *mut c_char {
    fallible(error, || string(given(contents, "contents")?.format().ending().to_owned()))
}

/// The number of arrays that can be opened.
#[unsafe(no_mangle)]
pub extern "C" fn xd_contents_len(contents: Option<&Contents>) -> usize {
    answer(|| contents.map_or(0, |contents| contents.entries().len()))
}

/// The name of an array.
#[unsafe(no_mangle)]
pub extern "C" fn xd_contents_name(
    contents: Option<&Contents>,
    index: usize,
    error: ErrorOut<'_>,
) -> *mut c_char {
    fallible(error, || string(entry_of(contents, index)?.name().to_owned()))
}

/// The dtype of an array. Valid as long as the contents, and must not be freed.
#[unsafe(no_mangle)]
pub extern "C" fn xd_contents_dtype(contents: Option<&Contents>, index: usize) -> *const DType {
    answer(|| entry_of(contents, index).map_or(std::ptr::null(), |entry| std::ptr::from_ref(entry.dtype())))
}

/// The number of axes of an array.
#[unsafe(no_mangle)]
pub extern "C" fn xd_contents_ndim(contents: Option<&Contents>, index: usize) -> usize {
    answer(|| entry_of(contents, index).map_or(0, |entry| entry.shape().len()))
}

/// The shape of an array. Valid as long as the contents.
#[unsafe(no_mangle)]
pub extern "C" fn xd_contents_shape(contents: Option<&Contents>, index: usize) -> *const isize {
    // No length exceeds `isize::MAX`, so the cast keeps its value.
    answer(|| entry_of(contents, index).map_or(std::ptr::null(), |entry| entry.shape().as_ptr().cast()))
}

/// Whether an array is opened in place.
#[unsafe(no_mangle)]
pub extern "C" fn xd_contents_is_in_place(contents: Option<&Contents>, index: usize) -> bool {
    answer(|| entry_of(contents, index).is_ok_and(|entry| entry.copied_because().is_none()))
}

/// The array with this number.
#[unsafe(no_mangle)]
pub extern "C" fn xd_contents_array(
    contents: Option<&Contents>,
    index: usize,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || hand_over_array(entry_of(contents, index)?.open()?))
}

/// The array of a name.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_contents_get(
    contents: Option<&Contents>,
    name: *const c_char,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let contents = given(contents, "contents")?;
        // SAFETY: `# Safety`: `name` is null or a C string; the result is used during this call
        // only, while nothing writes it.
        hand_over_array(contents.get(unsafe { text(name, "name") }?)?.open()?)
    })
}

/// Compares an array with its checksum.
#[unsafe(no_mangle)]
pub extern "C" fn xd_contents_verify(contents: Option<&Contents>, index: usize, error: ErrorOut<'_>) -> bool {
    fallible(error, || {
        entry_of(contents, index)?.verify()?;
        Ok(true)
    })
}

/// The number of texts beside the arrays.
#[unsafe(no_mangle)]
pub extern "C" fn xd_contents_text_count(contents: Option<&Contents>) -> usize {
    answer(|| contents.map_or(0, |contents| contents.metadata().len()))
}

/// A text beside the arrays, and its key.
#[unsafe(no_mangle)]
pub extern "C" fn xd_contents_text(
    contents: Option<&Contents>,
    index: usize,
    key: Option<&mut MaybeUninit<*mut c_char>>,
    error: ErrorOut<'_>,
) -> *mut c_char {
    let key = emptied(key, std::ptr::null_mut());
    fallible(error, || {
        let texts = given(contents, "contents")?.metadata();
        let (name, text) = texts.get(index).ok_or_else(|| beyond(index, texts.len(), "texts"))?;
        pair(name, key, text)
    })
}

/// The number of arrays that cannot be opened.
#[unsafe(no_mangle)]
pub extern "C" fn xd_contents_refused_count(contents: Option<&Contents>) -> usize {
    answer(|| contents.map_or(0, |contents| contents.refused().len()))
}

/// The reason why an array cannot be opened, and its name.
#[unsafe(no_mangle)]
pub extern "C" fn xd_contents_refused(
    contents: Option<&Contents>,
    index: usize,
    name: Option<&mut MaybeUninit<*mut c_char>>,
    error: ErrorOut<'_>,
) -> *mut c_char {
    let name = emptied(name, std::ptr::null_mut());
    fallible(error, || {
        let mut refused = given(contents, "contents")?.refused();
        let len = refused.len();
        let (of, why) = refused.nth(index).ok_or_else(|| beyond(index, len, "refused arrays"))?;
        pair(of, name, &why.to_string())
    })
}

/// Two texts for C, or none.
fn pair(first: &str, out: Option<&mut *mut c_char>, second: &str) -> Result<*mut c_char> {
    let second = string(second.to_owned())?;
    if let Some(out) = out {
        *out = match string(first.to_owned()) {
            Ok(first) => first,
            Err(failure) => {
                // SAFETY: `string` returned the pointer just now, and nothing else has it.
                unsafe { crate::foreign::xd_string_free(second) };
                return Err(failure);
            }
        };
    }
    Ok(second)
}
