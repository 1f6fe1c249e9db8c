//! `_repr_html_`: an array's text, a small picture of its values, and, folded, its memory.

mod drawing;
mod picture;

use std::fmt::Write as _;

use crossdock::DArray;
use crossdock::element::DType;
use pyo3::prelude::*;

use crate::dtype_object::dtype_text;
use crate::flags::Flags;
use crate::text;

/// An array as HTML: the text of `repr`, a picture of images and matrices, and a fold with the
/// properties, the fields and the axes of the memory.
///
/// It reads a bounded number of elements, and none of memory that the CPU cannot access.
pub(crate) fn write(py: Python<'_>, array: &DArray) -> PyResult<String> {
    let mut html = String::from(
        "<div class=\"crossdock-array\" style=\"display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start\">",
    );
    // Writing to a `String` does not fail, here and below.
    // Notebooks show `<pre>` in the font of prose, in which the columns do not align.
    let style = "margin:0;font-family:var(--jp-code-font-family,monospace);line-height:1.2";
    let _ = write!(html, "<pre style=\"{style}\">{}</pre>", escaped(&text::repr(array)));
    html += "<div>";
    if !array.place().is_host() {
        let _ = write!(
            html,
            "<p>The elements are on {}: <code>to_device(&quot;cpu&quot;)</code> copies them to the host.</p>",
            escaped(&array.place().to_string())
        );
    }
    html += &picture::figure(py, array)?;
    html += "<details><summary>memory</summary>";
    html += &properties(array);
    html += &fields(array.dtype());
    html += &drawing::drawing(array);
    Ok(html + "</details></div></div>")
}

fn properties(array: &DArray) -> String {
    let rows = [
        ("dtype", dtype_text(array.dtype())),
        ("shape", text::shape(array.shape())),
        ("strides", format!("{} bytes", tuple(array.strides()))),
        ("memory", format!("{} bytes on {}, at {:p}", array.nbytes(), array.place(), array.as_ptr())),
        ("flags", Flags::of(array).words()),
    ];
    let mut html = String::from("<table><tbody>");
    for (name, text) in rows {
        let _ = write!(
            html,
            "<tr><th>{name}</th><td style=\"text-align:left\"><code>{}</code></td></tr>",
            escaped(&text)
        );
    }
    html + "</tbody></table>"
}

fn tuple(numbers: &[isize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(isize::to_string).collect();
    format!("({}{})", numbers.join(", "), if numbers.len() == 1 { "," } else { "" })
}

/// Escapes the special characters of HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            letter => safe.push(letter),
        }
    }
    safe
}

/// The fields of records, as a table.
fn fields(dtype: &DType) -> String {
    let Some(record) = dtype.as_record() else { return String::new() };
    let mut html =
        String::from("<table><thead><tr><th>field</th><th>dtype</th><th>offset</th></tr></thead><tbody>");
    for field in record.fields() {
        let (name, dtype) = (escaped(field.name()), escaped(&dtype_text(field.dtype())));
        let offset = field.offset();
        let _ = write!(
            html,
            "<tr><td><code>{name}</code></td><td><code>{dtype}</code></td><td>{offset}</td></tr>"
        );
    }
    html + "</tbody></table>"
}
