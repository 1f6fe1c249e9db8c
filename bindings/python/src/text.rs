//! `repr` and `str`: an array as text.

use crossdock::DArray;

use crate::dtype::dtype_text;

/// The longest line, as in NumPy's texts, and the number of elements from which on the middle is left out.
const LINE: usize = 75;
const THRESHOLD: usize = 1000;

/// What is written of an array: NumPy's `repr`, under our name, and with the dtype always.
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
    // Where the elements do not show it.
    if array.is_empty() && array.shape() != [0] || array.len() > THRESHOLD {
        tail = format!("shape={}, {tail}", shape(array));
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

/// What `print` shows: the elements, where the processor reaches them.
pub(crate) fn str(array: &DArray) -> String {
    if array.place().is_host() { array.to_string() } else { elsewhere(array) }
}

/// Of an array that the processor does not reach: all but the elements.
fn elsewhere(array: &DArray) -> String {
    let dtype = dtype_text(array.dtype());
    let dtype = if array.dtype().as_record().is_some() { dtype } else { format!("'{dtype}'") };
    format!("Array(shape={}, dtype={dtype}, device='{}')", shape(array), array.place())
}

fn shape(array: &DArray) -> String {
    let lengths: Vec<String> = array.shape().iter().map(usize::to_string).collect();
    let comma = if lengths.len() == 1 { "," } else { "" };
    format!("({}{comma})", lengths.join(", "))
}
