//! A drawing of an array's axes with the offsets of its elements in memory.

use std::fmt::Write as _;

use crossdock::DArray;

/// The largest number of cells drawn along an axis; the rest is left out.
const MOST: usize = 6;
/// The smallest cell; long offsets widen it.
const LEAST_CELL: (usize, usize) = (52, 24);
/// An upper bound of the width of a letter, and the height of a line.
const LETTER: usize = 7;
const LINE: usize = 16;
/// The position of the first cell; labels are above it and to its left.
const LEFT: usize = 30;
const TOP: usize = 26;
/// The displacement between the planes of outer axes.
const BEHIND: usize = 7;
/// The largest number of planes drawn.
const PLANES: usize = 3;
/// What an empty array shows instead of cells.
const NOTHING: &str = "no elements";

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
/// axes are planes behind them. An empty array is an outline without cells.
pub(super) fn drawing(array: &DArray) -> String {
    let strides = array.strides().iter().zip(array.shape()).enumerate();
    let mut axes: Vec<Axis> = strides.map(|(number, (&stride, &len))| Axis { number, len, stride }).collect();
    let (column, row) = (axes.pop(), axes.pop());
    let outer = axes;
    // Elements behind pointers have no fixed distance.
    let is_indirect = array.layout().suboffsets().is_some();
    let cells = if array.is_empty() { Vec::new() } else { grid(&row, &column, is_indirect) };
    let longest = cells.iter().flatten().map(|text| text.chars().count()).max().unwrap_or(0);
    let cell = (LEAST_CELL.0.max(longest * LETTER + 8), LEAST_CELL.1);
    let planes = outer.iter().map(|axis| axis.len).fold(1, usize::saturating_mul).clamp(1, PLANES);
    let shift = (planes - 1) * BEHIND;
    let (width, height) = match cells.first() {
        Some(first) => (first.len() * cell.0, cells.len() * cell.1),
        None => (NOTHING.len() * LETTER + 16, cell.1),
    };
    let labels: Vec<String> = outer.iter().map(|axis| format!("behind: {}", axis.label())).collect();
    let [down, across] = [&row, &column].map(|axis| axis.as_ref().map(Axis::label).unwrap_or_default());
    let widest = labels.iter().chain([&across]).map(|label| label.chars().count()).max().unwrap_or(0);
    let (left, top) = (LEFT + shift, TOP + shift);
    let bottom = top + height.max(down.chars().count() * LETTER);
    let full = ((left + width + 8).max(left + widest * LETTER), bottom + 8 + labels.len() * LINE);
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
    if cells.is_empty() {
        let (middle, base) = (left + width / 2, top + height / 2 + 4);
        let _ = write!(
            svg,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"currentColor\" \
             stroke-dasharray=\"4\"/><text x=\"{middle}\" y=\"{base}\" text-anchor=\"middle\">{NOTHING}</text>"
        );
    }
    for (y, texts) in cells.iter().enumerate() {
        for (x, text) in texts.iter().enumerate() {
            let (x, y) = (left + x * cell.0, top + y * cell.1);
            let (middle, base) = (x + cell.0 / 2, y + cell.1 / 2 + 4);
            let _ = write!(
                svg,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"currentColor\" fill-opacity=\"0.06\" \
                 stroke=\"currentColor\" stroke-opacity=\"0.6\"/><text x=\"{middle}\" y=\"{base}\" text-anchor=\"middle\">{text}</text>",
                cell.0, cell.1
            );
        }
    }
    let _ = write!(svg, "<text x=\"{left}\" y=\"14\">{across}</text>");
    if !down.is_empty() {
        let (x, y) = (14, top);
        let _ = write!(svg, "<text x=\"{x}\" y=\"{y}\" transform=\"rotate(90 {x} {y})\">{down}</text>");
    }
    for (line, label) in labels.iter().enumerate() {
        let y = bottom + (line + 1) * LINE;
        let _ = write!(svg, "<text x=\"{left}\" y=\"{y}\">{label}</text>");
    }
    svg + "</svg>"
}

/// The texts of the cells: the distances of the drawn elements from the first one.
fn grid(row: &Option<Axis>, column: &Option<Axis>, is_indirect: bool) -> Vec<Vec<String>> {
    let indices = |axis: &Option<Axis>| axis.as_ref().map_or_else(|| vec![Some(0)], |axis| drawn(axis.len));
    let along =
        |axis: &Option<Axis>, at: usize| axis.as_ref().map_or(0, |axis| axis.stride as i128 * at as i128);
    let text = |at_row: Option<usize>, at_column: Option<usize>| match (at_row, at_column) {
        (Some(_), Some(_)) if is_indirect => "→".to_owned(),
        (Some(at_row), Some(at_column)) => (along(row, at_row) + along(column, at_column)).to_string(),
        _ => "…".to_owned(),
    };
    let line = |at_row| indices(column).into_iter().map(|at_column| text(at_row, at_column)).collect();
    indices(row).into_iter().map(line).collect()
}
