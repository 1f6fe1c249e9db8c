//! `_repr_html_`: an array's properties, and a drawing of its axes with the memory offsets.

use std::fmt::Write as _;

use crossdock::DArray;
use crossdock::element::DType;

use crate::dtype_object::dtype_text;
use crate::flags::Flags;

/// The largest number of cells drawn along an axis; the rest is left out.
const MOST: usize = 6;
const CELL: (usize, usize) = (52, 24);
/// The position of the first cell; labels are above it and to its left.
const LEFT: usize = 30;
const TOP: usize = 26;
/// The displacement between the planes of outer axes.
const BEHIND: usize = 7;

/// An array as HTML: a table, its fields, and the last two axes as cells with the offsets of the
/// elements.
pub(crate) fn write(array: &DArray) -> String {
    let flags = Flags::of(array);
    let rows = [
        ("dtype", dtype_text(array.dtype())),
        ("shape", tuple(array.shape())),
        ("strides", format!("{} bytes", tuple(array.strides()))),
        ("memory", format!("{} bytes on {}, at {:p}", array.nbytes(), array.place(), array.as_ptr())),
        ("flags", flags.words()),
    ];
    let mut html = String::from("<div class=\"crossdock-array\"><table><tbody>");
    for (name, text) in rows {
        // Writing to a `String` does not fail, here and below.
        let _ = write!(html, "<tr><th>{name}</th><td><code>{}</code></td></tr>", escaped(&text));
    }
    html += "</tbody></table>";
    html += &fields(array.dtype());
    html += &drawing(array);
    html + "</div>"
}

fn tuple<T: ToString>(numbers: &[T]) -> String {
    let numbers: Vec<String> = numbers.iter().map(T::to_string).collect();
    format!("({}{})", numbers.join(", "), if numbers.len() == 1 { "," } else { "" })
}

/// Escapes the special characters of HTML.
fn escaped(text: &str) -> String {
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

/// The indices of an axis that are drawn, with a gap where the middle is left out.
fn drawn(len: usize) -> Vec<Option<usize>> {
    if len <= MOST {
        return (0..len).map(Some).collect();
    }
    let half = MOST / 2;
    (0..half).map(Some).chain([None]).chain((len - half + 1..len).map(Some)).collect()
}

struct Axis {
    number: usize,
    len: usize,
    stride: isize,
}

impl Axis {
    fn label(&self) -> String {
        let Self { number, len, stride } = self;
        format!("axis {number}: {len} × {stride} B")
    }
}

/// The last two axes as cells, each with its element's distance from the first one in bytes. Outer
/// axes are planes behind them.
fn drawing(array: &DArray) -> String {
    let strides = array.strides().iter().zip(array.shape()).enumerate();
    let mut axes: Vec<Axis> = strides.map(|(number, (&stride, &len))| Axis { number, len, stride }).collect();
    let (column, row) = (axes.pop(), axes.pop());
    let outer = axes;
    let cells = |axis: &Option<Axis>| axis.as_ref().map_or_else(|| vec![Some(0)], |axis| drawn(axis.len));
    let (columns, rows) = (cells(&column), cells(&row));
    let planes = outer.iter().map(|axis| axis.len).fold(1, usize::saturating_mul).min(3);
    let shift = planes.saturating_sub(1) * BEHIND;
    let (width, height) = (columns.len() * CELL.0, rows.len() * CELL.1);
    let labels = outer.iter().map(Axis::label).collect::<Vec<_>>().join(", ");
    let own_labels = [&row, &column].map(|axis| axis.as_ref().map(Axis::label).unwrap_or_default());
    // An upper bound of the width of a letter.
    let widest = labels.chars().count().max(own_labels[1].chars().count()) * 7 + LEFT;
    let tallest = own_labels[0].chars().count() * 7;
    let (left, top) = (LEFT + shift, TOP + shift);
    let below = if labels.is_empty() { 8 } else { 26 };
    let full = ((left + width + 8).max(widest), top + height.max(tallest) + below);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"axes and strides\" width=\"{}\" height=\"{}\" \
         font-family=\"monospace\" font-size=\"11\" fill=\"currentColor\" stroke=\"none\">",
        full.0, full.1
    );
    for plane in 1..planes {
        let (x, y) = (left - plane * BEHIND, top - plane * BEHIND);
        let _ = write!(
            svg,
            "<path d=\"M{x} {}V{y}H{}\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.35\"/>",
            y + height,
            x + width
        );
    }
    for (y, row_index) in rows.iter().enumerate() {
        for (x, column_index) in columns.iter().enumerate() {
            let offset = match (row_index, column_index) {
                (Some(at_row), Some(at_column)) => {
                    let along = |axis: &Option<Axis>, at: usize| {
                        axis.as_ref().map_or(0, |axis| axis.stride as i128 * at as i128)
                    };
                    (along(&row, *at_row) + along(&column, *at_column)).to_string()
                }
                _ => "…".to_owned(),
            };
            // Elements behind pointers have no fixed distance.
            let text = if array.layout().suboffsets().is_some() { "→" } else { &offset };
            let (x, y) = (left + x * CELL.0, top + y * CELL.1);
            let (middle, base) = (x + CELL.0 / 2, y + CELL.1 / 2 + 4);
            let _ = write!(
                svg,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"currentColor\" fill-opacity=\"0.06\" \
                 stroke=\"currentColor\" stroke-opacity=\"0.6\"/><text x=\"{middle}\" y=\"{base}\" text-anchor=\"middle\">{text}</text>",
                CELL.0, CELL.1
            );
        }
    }
    let [down, across] = own_labels;
    let _ = write!(svg, "<text x=\"{left}\" y=\"14\">{across}</text>");
    if !down.is_empty() {
        let (x, y) = (14, top);
        let _ = write!(svg, "<text x=\"{x}\" y=\"{y}\" transform=\"rotate(90 {x} {y})\">{down}</text>");
    }
    if !labels.is_empty() {
        let y = top + height.max(tallest) + 16;
        let _ = write!(svg, "<text x=\"{LEFT}\" y=\"{y}\">behind: {labels}</text>");
    }
    svg + "</svg>"
}
