//! `repr`: an array as text.

use crossdock::DArray;

use crate::methods::dtype_text;

/// The longest line, as in NumPy's texts, and the number of elements from which on the middle is left out.
const LINE: usize = 75;
const THRESHOLD: usize = 1000;

/// What is written of an array: NumPy's `repr`, under our name, and with the dtype always.
pub(crate) fn repr(array: &DArray) -> String {
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
        let shape: Vec<String> = array.shape().iter().map(usize::to_string).collect();
        let comma = if shape.len() == 1 { "," } else { "" };
        tail = format!("shape=({}{comma}), {tail}", shape.join(", "));
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
