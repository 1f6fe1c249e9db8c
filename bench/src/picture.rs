//! All ratios to `memcpy`, as a picture (SVG).

use std::fmt::Write;

use crossdock_measure::record::Line;
use crossdock_measure::{BEST_COPY, MEMCPY};

/// Crossdock's bars: the case, the colour, and the position of the bar within a row.
const BARS: [(&str, &str, f64, f64); 3] = [
    ("crossdock, 1 thread", "#1f6feb", 3.0, 8.0),
    ("crossdock, 2 threads", "#9ec5fe", 11.0, 5.0),
    ("crossdock, into a new array", "#7c5cd6", 11.0, 5.0),
];
/// The colours of the peers' dots. Peers without a name here have the last colour.
const DOTS: [(&str, &str); 7] = [
    ("NumPy", "#e36209"),
    ("ndarray", "#22863a"),
    ("ndarray, 2 threads", "#85c893"),
    ("strided-perm", "#b31d28"),
    ("strided-perm, 2 threads", "#f0959c"),
    ("transpose", "#b08800"),
    ("half", "#6a737d"),
];
const OTHER: &str = "#24292e";

/// The start of the bars, in pixels.
const LEFT: f64 = 260.0;
/// The pixels of a ratio of 1.
const SCALE: f64 = 420.0;
/// The greatest ratio that is drawn.
const FARTHEST: f64 = 1.6;
const ROW: f64 = 20.0;
const HEAD: f64 = 78.0;

/// A picture of all lines that have a ratio to `memcpy`; `None` if there are none.
pub(crate) fn draw(lines: &[&Line]) -> Option<String> {
    let mut tables: Vec<&str> = Vec::new();
    for line in lines.iter().filter(|line| line.case == MEMCPY) {
        if !tables.contains(&line.table.as_str()) {
            tables.push(&line.table);
        }
    }
    let first = lines.iter().find(|line| line.case == MEMCPY)?;
    let (width, height) = (LEFT + FARTHEST * SCALE + 20.0, HEAD + tables.len() as f64 * ROW + 16.0);
    let mut svg = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
    );
    text(
        &mut svg,
        10.0,
        20.0,
        "start",
        &format!("ratio to {MEMCPY} of the same bytes by one thread, {}", first.circumstances.date),
    );
    text(&mut svg, 10.0, 36.0, "start", &first.circumstances.machine);
    legend(&mut svg, lines);
    for step in 0..=(FARTHEST / 0.25) as usize {
        let ratio = step as f64 * 0.25;
        let (x, colour) = (LEFT + ratio * SCALE, if step == 4 { "#24292e" } else { "#d8dee4" });
        let bottom = height - 12.0;
        let _ = writeln!(svg, "<path d=\"M{x} {HEAD}V{bottom}\" stroke=\"{colour}\"/>");
        text(&mut svg, x, HEAD - 4.0, "middle", &ratio.to_string());
    }
    for (row, table) in tables.iter().enumerate() {
        let y = HEAD + row as f64 * ROW;
        text(&mut svg, LEFT - 8.0, y + 13.0, "end", table);
        let of_table = || lines.iter().filter(|line| line.table == *table);
        for line in of_table() {
            if let Some(&(_, colour, top, thick)) = BARS.iter().find(|(name, ..)| *name == line.case) {
                bar(&mut svg, line, colour, y + top, thick);
            }
        }
        for line in of_table().filter(|line| is_peer(&line.case)) {
            dot(&mut svg, line, y + ROW / 2.0);
        }
    }
    svg += "</svg>\n";
    Some(svg)
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    let words = escaped(words);
    let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{words}</text>");
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The position of a ratio, if it is within the picture.
fn place(line: &Line) -> Option<f64> {
    Some(LEFT + line.ratio(MEMCPY)?.min(FARTHEST) * SCALE)
}

fn bar(svg: &mut String, line: &Line, colour: &str, y: f64, thick: f64) {
    let Some(end) = place(line) else { return };
    let (width, title) = (end - LEFT, title(line));
    let _ = writeln!(
        svg,
        "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"{thick}\" fill=\"{colour}\">{title}</rect>"
    );
    // The target: a mark across the bar.
    let wanted = line.reach.strip_prefix(">= ").and_then(|reach| reach.strip_suffix(" x memcpy"));
    if let Some(wanted) = wanted.and_then(|ratio| ratio.parse::<f64>().ok()) {
        let (x, top) = (LEFT + wanted * SCALE, y - 1.0);
        let length = thick + 2.0;
        let _ = writeln!(svg, "<path d=\"M{x:.1} {top}v{length}\" stroke=\"#d1242f\" stroke-width=\"2\"/>");
    }
}

fn dot(svg: &mut String, line: &Line, y: f64) {
    let Some(x) = place(line) else { return };
    let (colour, title) = (colour_of(&line.case), title(line));
    let _ = writeln!(
        svg,
        "<circle cx=\"{x:.1}\" cy=\"{y}\" r=\"4\" fill=\"{colour}\" stroke=\"white\">{title}</circle>"
    );
}

fn colour_of(peer: &str) -> &'static str {
    DOTS.iter().find(|(name, _)| *name == peer).map_or(OTHER, |&(_, colour)| colour)
}

/// The tooltip.
fn title(line: &Line) -> String {
    let ratio = line.ratio(MEMCPY).unwrap_or_default();
    let words = format!("{}, {}: {ratio:.2} ({:.1} {})", line.table, line.case, line.figure, line.unit);
    format!("<title>{}</title>", escaped(&words))
}

/// Whether a case belongs to a library that does the same work: neither a limit nor Crossdock.
fn is_peer(case: &str) -> bool {
    case != MEMCPY && !case.starts_with(BEST_COPY) && !case.starts_with("crossdock")
}

/// The legend, for the participants.
fn legend(svg: &mut String, lines: &[&Line]) {
    let mut x = 10.0;
    let bars = BARS.iter().map(|&(name, colour, ..)| (name, colour));
    let others = [("a plain loop", OTHER)];
    for (name, colour) in bars.chain(DOTS).chain(others) {
        if lines.iter().any(|line| line.case == name) {
            let _ = writeln!(svg, "<circle cx=\"{x}\" cy=\"50\" r=\"4\" fill=\"{colour}\"/>");
            text(svg, x + 8.0, 54.0, "start", name);
            x += 22.0 + 6.2 * name.len() as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_with_a_ratio_is_drawn_and_explained() {
        let line = |case: &str, ratio: &str| {
            let line =
                format!("2026-01-02,a <machine>,,,\"\",\"a work\",\"{case}\",1,GB/s,\"{ratio}\",\"\",");
            Line::parse(&line).unwrap()
        };
        let lines = [
            line(MEMCPY, "1.0 x memcpy"),
            line("crossdock, 1 thread", "0.5 x memcpy"),
            line("NumPy", "9.0 x memcpy"),
            line("a peer", ""),
        ];
        let svg = draw(&lines.iter().collect::<Vec<_>>()).unwrap();
        assert!(svg.contains(">a work<") && svg.contains("a &lt;machine&gt;"), "{svg}");
        assert_eq!(svg.matches("<title>").count(), 2, "{svg}");
        assert!(svg.contains("width=\"210.0\"") && svg.contains("cx=\"932.0\""), "{svg}");
    }

    #[test]
    fn without_memcpy_there_is_nothing_to_draw() {
        assert!(draw(&[]).is_none());
    }
}
