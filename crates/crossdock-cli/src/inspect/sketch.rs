//! Draws the axes in memory order: one line per axis, the longest stride first, each within the one
//! above.
//!
//! ```text
//!   axis 0 > 214 x 3840 B  |############------------|  1918 B used, 1922 B gap
//!     axis 1 > 640 x 3 B   |########----------------|  1 B used, 2 B gap
//!       element: uint8, 1 B
//! ```
//!
//! The bar is one step of the axis, to scale: the bytes that the inner axes cover, and the gap up
//! to the next step.

use std::fmt::Write;

use crossdock::DArray;
use crossdock::element::{DType, DTypeKind};
use serde::Serialize;

use crate::terminal::shown;

/// The characters of a drawing.
#[derive(Clone, Copy, Debug)]
pub(super) struct SketchGlyphs {
    pub(super) times: &'static str,
    forward: &'static str,
    backward: &'static str,
    used: &'static str,
    gap: &'static str,
    end: &'static str,
    bars: &'static [char],
}

impl SketchGlyphs {
    /// For files and pipes.
    pub(super) const ASCII: Self = Self {
        times: "x",
        forward: ">",
        backward: "<",
        used: "#",
        gap: "-",
        end: "|",
        bars: &['.', ':', '-', '=', '+', '*', '#', '@'],
    };
    /// For terminals.
    pub(super) const UNICODE: Self = Self {
        times: "×",
        forward: "▸",
        backward: "◂",
        used: "█",
        gap: "░",
        end: "▏",
        bars: &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
    };
}

impl SketchGlyphs {
    pub(super) fn end(&self) -> &'static str {
        self.end
    }

    /// A bar for each count, the largest in full height; none for zero.
    pub(super) fn spark(&self, counts: &[u64]) -> String {
        let most = counts.iter().max().copied().unwrap_or(0).max(1);
        let height =
            |count: u64| (u128::from(count) * self.bars.len() as u128).div_ceil(most.into()) as usize;
        counts.iter().map(|&count| if count == 0 { ' ' } else { self.bars[height(count) - 1] }).collect()
    }
}

/// One axis, and the contents of one of its steps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Step {
    pub(super) axis: usize,
    pub(super) len: usize,
    pub(super) stride: isize,
    /// The bytes that the inner axes cover, including their gaps.
    pub(super) used: usize,
    /// The bytes from there to the next step; negative if the next step begins earlier.
    pub(super) gap: i64,
}

/// The axes in memory order: the longest strides first. Axes of length 1 have no step, and are left
/// out.
pub(super) fn steps(array: &DArray) -> Vec<Step> {
    let mut axes: Vec<usize> = (0..array.rank()).filter(|&axis| array.shape()[axis] != 1).collect();
    axes.sort_by_key(|&axis| array.strides()[axis].unsigned_abs());
    let mut used = array.dtype().itemsize();
    let mut steps: Vec<Step> = axes
        .into_iter()
        .map(|axis| {
            let (len, stride) = (array.shape()[axis], array.strides()[axis]);
            let step = Step { axis, len, stride, used, gap: stride.unsigned_abs() as i64 - used as i64 };
            // An array fits into the address space, so nothing overflows here (and without
            // elements, nothing matters).
            used = used.saturating_add(stride.unsigned_abs().saturating_mul(len.saturating_sub(1)));
            step
        })
        .collect();
    steps.reverse();
    steps
}

/// The drawing, each line indented by two spaces.
pub(super) fn draw(array: &DArray, glyphs: SketchGlyphs) -> String {
    if array.is_empty() {
        return format!("  no elements (of {} B each)\n", array.dtype().itemsize());
    }
    let steps = steps(array);
    let labels: Vec<String> =
        steps.iter().enumerate().map(|(depth, step)| label(depth, step, glyphs)).collect();
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    let mut line = |content: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {}", shown(content.trim_end()));
    };
    for (step, label) in steps.iter().zip(&labels) {
        let pad = " ".repeat(width - label.chars().count());
        line(format!("{label}{pad}  {}  {}", bar(step, glyphs), said(step)));
    }
    line(format!("{}element: {}", "  ".repeat(steps.len()), element(array.dtype())));
    if !steps.is_empty() {
        line(extent(array, &steps));
    }
    text
}

fn label(depth: usize, step: &Step, glyphs: SketchGlyphs) -> String {
    let arrow = if step.stride < 0 { glyphs.backward } else { glyphs.forward };
    let Step { axis, len, stride, .. } = step;
    format!("{}axis {axis} {arrow} {len} {} {stride} B", "  ".repeat(depth), glyphs.times)
}

/// One step, to scale: neither a gap nor the used part disappears by rounding.
fn bar(step: &Step, glyphs: SketchGlyphs) -> String {
    const WIDTH: usize = 24;
    let used = if step.gap <= 0 {
        WIDTH
    } else {
        let share = step.used as f64 / step.stride.unsigned_abs() as f64;
        ((share * WIDTH as f64).round() as usize).clamp(1, WIDTH - 1)
    };
    let (end, rest) = (glyphs.end, WIDTH - used);
    format!("{end}{}{}{end}", glyphs.used.repeat(used), glyphs.gap.repeat(rest))
}

fn said(step: &Step) -> String {
    let backwards = if step.stride < 0 { ", backwards" } else { "" };
    match step.gap {
        _ if step.stride == 0 => "the same bytes at every step".to_owned(),
        0 => format!("no gap{backwards}"),
        gap if gap < 0 => {
            format!("{} B used, {} of them again by the next step{backwards}", step.used, -gap)
        }
        gap => format!("{} B used, {gap} B gap{backwards}", step.used),
    }
}

/// One element: for a record, its fields and gaps in memory order.
fn element(dtype: &DType) -> String {
    const MOST: usize = 12;
    let DTypeKind::Record(record) = dtype.kind() else {
        return format!("{dtype}, {} B", dtype.itemsize());
    };
    let mut fields: Vec<_> = record.fields().iter().collect();
    fields.sort_by_key(|field| field.offset());
    let (mut parts, mut end) = (Vec::new(), 0);
    for field in fields {
        if field.offset() > end {
            parts.push(format!("({} B gap)", field.offset() - end));
        }
        parts.push(format!("{} {} B", field.name(), field.dtype().itemsize()));
        end = end.max(field.offset() + field.dtype().itemsize());
    }
    if record.itemsize() > end {
        parts.push(format!("({} B gap)", record.itemsize() - end));
    }
    if parts.len() > MOST {
        let more = parts.len() - MOST;
        parts.truncate(MOST);
        parts.push(format!("… {more} more"));
    }
    format!("record of {} B | {} |", record.itemsize(), parts.join(" | "))
}

/// The part of the array's extent that its elements take.
fn extent(array: &DArray, steps: &[Step]) -> String {
    let (nbytes, span) = (array.nbytes(), array.layout().span().nbytes());
    if steps.iter().all(|step| step.gap == 0) {
        return format!("contiguous: {nbytes} B without gaps");
    }
    let share = nbytes as f64 / span as f64 * 100.0;
    format!("{nbytes} B of elements in a span of {span} B ({share:.0} %)")
}

#[cfg(test)]
mod tests {
    use crossdock::Array;
    use crossdock::layout::Order;

    use super::*;

    fn photo() -> DArray {
        Array::from_vec(vec![0u8; 427 * 640 * 3], [427, 640, 3]).unwrap().into()
    }

    #[test]
    fn axes_are_drawn_as_they_lie_whatever_their_order() {
        let channels_first = photo().permute(&[2, 0, 1]).unwrap();
        assert_eq!(
            draw(&channels_first, SketchGlyphs::ASCII),
            "  axis 1 > 427 x 1920 B  |########################|  no gap\n\
             \x20   axis 2 > 640 x 3 B   |########################|  no gap\n\
             \x20     axis 0 > 3 x 1 B   |########################|  no gap\n\
             \x20       element: uint8, 1 B\n\
             \x20 contiguous: 819840 B without gaps\n"
        );
    }

    #[test]
    fn gaps_and_turns_are_drawn_to_scale() {
        let view = photo().at("::-2, :, 0").unwrap();
        assert_eq!(
            draw(&view, SketchGlyphs::ASCII),
            "  axis 0 < 214 x -3840 B  |############------------|  1918 B used, 1922 B gap, backwards\n\
             \x20   axis 1 > 640 x 3 B    |########----------------|  1 B used, 2 B gap\n\
             \x20     element: uint8, 1 B\n\
             \x20 136960 B of elements in a span of 819838 B (17 %)\n"
        );
    }

    #[test]
    fn overlaps_repeats_and_records_are_named() {
        let row = DArray::from(Array::from_vec(vec![0u16; 5], [5]).unwrap());
        let repeated = row.broadcast_to(&[3, 5]).unwrap();
        assert!(draw(&repeated, SketchGlyphs::UNICODE).contains("the same bytes at every step"));
        let (buffer, _) = row.buffer().unwrap();
        let layout = crossdock::layout::Layout::new(&[2, 4], &[2, 2], 2).unwrap();
        let windows = DArray::from_buffer(buffer, DType::U16, layout, 0).unwrap();
        assert!(draw(&windows, SketchGlyphs::ASCII).contains("again by the next step"));
        let dtype = "{'names': ['a', 'b'], 'formats': ['|u1', '<f8'], 'offsets': [0, 8], 'itemsize': 20}";
        let records = DArray::zeros(dtype.parse().unwrap(), &[], Order::RowMajor).unwrap();
        let text = "  element: record of 20 B | a 1 B | (7 B gap) | b 8 B | (4 B gap) |\n";
        assert_eq!(draw(&records, SketchGlyphs::ASCII), text);
    }
}
