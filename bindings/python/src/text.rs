//! `repr` and `str`: an array as text.

use crossdock::DArray;

use crate::dtype_object::dtype_text;

/// The longest line, as in NumPy's texts, and the number of elements above which the middle is left
/// out.
const LINE: usize = 75;
const THRESHOLD: usize = 1000;

/// The text of `repr`: as NumPy's, with the name of this type, and always with the dtype.
pub(crate) fn repr(array: &DArray) -> String {
    if !array.place().is_host() {
        return elsewhere(array);
    }
    const HEAD: &str = "Array(";
    let elements = array.display().threshold(THRESHOLD).line_width(LINE - 1).literal(HEAD.len());
    let mut text = format!("{HEAD}{elements},");
    let dtype = dtype_text(array.dtype());
    let mut tail = match array.dtype().as_record() {
        Some(_) => format!("dtype={dtype})"),
        None => format!("dtype='{dtype}')"),
    };
    // The shape, where the elements do not show it.
    if array.is_empty() && array.shape() != [0] || array.len() > THRESHOLD {
        tail = format!("shape={}, {tail}", shape(array.shape()));
    }
    let last = text.rsplit('\n').next().unwrap_or_default().chars().count();
    if last + 1 + tail.chars().count() > LINE {
        text += "\n";
        text += &" ".repeat(HEAD.len());
    } else {
        text += " ";
    }
    text + &tail
}

/// The text of `print`: the elements, if they are accessible from the CPU.
pub(crate) fn str(array: &DArray) -> String {
    if array.place().is_host() { array.to_string() } else { elsewhere(array) }
}

/// The text of an array that is not accessible from the CPU: its properties without the elements.
fn elsewhere(array: &DArray) -> String {
    let dtype = dtype_text(array.dtype());
    let dtype = if array.dtype().as_record().is_some() { dtype } else { format!("'{dtype}'") };
    format!("Array(shape={}, dtype={dtype}, device='{}')", shape(array.shape()), array.place())
}

/// A shape as Python writes a tuple.
pub(crate) fn shape(shape: &[usize]) -> String {
    let lengths: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if lengths.len() == 1 { "," } else { "" };
    format!("({}{comma})", lengths.join(", "))
}

/// A name of an array on one line: letters that a terminal would act on are escaped.
pub(crate) fn name(name: &str) -> String {
    let escaped = |letter: char| match letter.is_control() {
        true => letter.escape_debug().collect(),
        false => letter.to_string(),
    };
    name.chars().map(escaped).collect()
}

/// The letters of the longest text, as far as formatting can pad others to it.
pub(crate) fn width(texts: &[String]) -> usize {
    texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).min(u16::MAX.into())
}
