//! Draws an array of two or three dimensions in the terminal.
//!
//! Each cell of the terminal shows two pixels, one above the other: an upper half block in one
//! colour, on a background in another. Without colours, a cell is a letter, darker for smaller
//! values. Only one element is read per pixel: the middle one of those that the pixel stands for.

use std::fmt::Write;
use std::io::IsTerminal;

use clap::ValueEnum;
use crossdock::DArray;
use crossdock::element::ScalarKind;
use crossdock::view::Request;

use crate::failure::Result;

/// How an array is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum How {
    /// In colours if the terminal has them; in letters for files and pipes, and if NO_COLOR is set.
    Auto,
    /// No picture.
    Never,
    /// In letters.
    Ascii,
    /// In 256 colours.
    #[value(name = "256")]
    Indexed,
    /// In 24-bit colours.
    True,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ink {
    Letters,
    Indexed,
    True,
}

/// The area to draw on.
#[derive(Debug)]
pub(super) struct Canvas {
    ink: Ink,
    columns: usize,
    rows: usize,
}

/// The size if that of the terminal is unknown.
const COLUMNS: usize = 80;
const ROWS: usize = 24;

/// The largest picture, on any terminal.
const MOST_COLUMNS: usize = 160;
const MOST_ROWS: usize = 48;

impl Canvas {
    /// The canvas for stdout, a terminal or not, below so many lines; `None` if nothing is drawn.
    pub(super) fn of_stdout(how: How, above: usize) -> Option<Self> {
        let ink = match how {
            How::Never => return None,
            How::Ascii => Ink::Letters,
            How::Indexed => Ink::Indexed,
            How::True => Ink::True,
            How::Auto => ink_of_stdout(),
        };
        let rows = terminal_size::terminal_size_of(std::io::stdout()).map_or(ROWS, |(_, rows)| rows.0.into());
        // Without the caption, the line above it, and the line of the prompt.
        let rows = (rows.max(8) - 4).saturating_sub(above).min(MOST_ROWS - 4);
        Some(Self { ink, columns: Self::columns_of_stdout().clamp(8, MOST_COLUMNS) - 4, rows })
    }

    /// The width of the terminal.
    pub(super) fn columns_of_stdout() -> usize {
        terminal_size::terminal_size_of(std::io::stdout()).map_or(COLUMNS, |(columns, _)| columns.0.into())
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }
}

fn ink_of_stdout() -> Ink {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() || anstream::AutoStream::choice(&stdout) == anstream::ColorChoice::Never {
        return Ink::Letters;
    }
    let has = |variable: &str, words: &[&str]| {
        std::env::var(variable).is_ok_and(|value| words.iter().any(|word| value.contains(word)))
    };
    match () {
        () if has("COLORTERM", &["truecolor", "24bit"]) => Ink::True,
        () if has("TERM", &["256color"]) => Ink::Indexed,
        () => Ink::Letters,
    }
}

/// A drawing, and its caption.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) caption: String,
    /// Lines, each indented by two spaces.
    pub(super) drawing: String,
}

/// Draws an array. `None` if it is not a picture: another rank, no elements, or elements that are
/// not numbers.
pub(super) fn draw(array: &DArray, canvas: &Canvas) -> Result<Option<Picture>> {
    let Some(plane) = Plane::of(array)? else { return Ok(None) };
    let samples = Samples::take(&plane, canvas)?;
    let (height, width) = (plane.view.shape()[0], plane.view.shape()[1]);
    let mut caption = format!("picture of {height} x {width}{}", plane.said);
    if (samples.height, samples.width) != (height, width) {
        caption += &format!(", {} x {} of them shown", samples.height, samples.width);
    }
    caption += &match samples.range {
        Some((least, greatest)) => format!(", from {least} to {greatest}"),
        None => ", none of them a number".to_owned(),
    };
    let drawing = match canvas.ink {
        Ink::Letters => samples.letters(if doubled(width, height, canvas) { 2 } else { 1 }),
        ink => samples.blocks(ink),
    };
    Ok(Some(Picture { caption, drawing }))
}

/// The visible part: height × width × channels, 1 or 3 of them.
struct Plane {
    view: DArray,
    /// The range of the samples, if the type has one; otherwise the range of the values is used.
    full: Option<(f64, f64)>,
    said: String,
}

impl Plane {
    fn of(array: &DArray) -> Result<Option<Self>> {
        let Some(scalar) = array.dtype().as_scalar() else { return Ok(None) };
        let full = match scalar.kind() {
            ScalarKind::Bool => Some((0.0, 1.0)),
            ScalarKind::UInt8 => Some((0.0, 255.0)),
            ScalarKind::UInt16 => Some((0.0, 65535.0)),
            _ => None,
        };
        if array.is_empty()
            || !(2..=3).contains(&array.rank())
            || array.get(&vec![0; array.rank()])?.as_f64().is_none() && scalar.kind() != ScalarKind::Bool
        {
            return Ok(None);
        }
        let colours = |view: DArray, full| -> Result<Option<Self>> {
            Ok(Some(Self { view: view.at("..., :3")?, full, said: " pixels in colour".to_owned() }))
        };
        let grey = |view: DArray, said: String| -> Result<Option<Self>> {
            // One channel is scaled to its own range, so that small differences are visible.
            Ok(Some(Self { view: view.insert_axis(2)?, full: None, said }))
        };
        match *array.shape() {
            [_, _] => grey(array.clone(), " elements".to_owned()),
            [_, _, 3 | 4] => colours(array.clone(), full),
            [_, _, 1 | 2] => grey(array.drop_axis(2, 0)?, " pixels in grey".to_owned()),
            [3 | 4, height, width] if height > 4 && width > 4 => colours(array.permute(&[1, 2, 0])?, full),
            [slices, ..] => {
                let said = format!(" elements, slice {} of {slices} along axis 0", slices / 2);
                grey(array.drop_axis(0, slices / 2)?, said)
            }
            _ => Ok(None),
        }
    }
}

/// The elements that are drawn.
struct Samples {
    width: usize,
    height: usize,
    channels: usize,
    /// Row by row, with NaN for an element that is not a number.
    values: Vec<f64>,
    /// The smallest and the largest value.
    range: Option<(f64, f64)>,
    /// The values of black and of white.
    scale: (f64, f64),
}

impl Samples {
    fn take(plane: &Plane, canvas: &Canvas) -> Result<Self> {
        let &[height, width, channels] = plane.view.shape() else { return Ok(Self::none()) };
        let (pixels_across, pixels_down) = fit(width, height, canvas);
        let view = plane.view.export(&Request::pin())?;
        let mut values = Vec::with_capacity(pixels_across * pixels_down * channels);
        let middle = |pixel: usize, pixels: usize, len: usize| {
            // `u128`, since lengths can be huge if strides are zero.
            ((2 * pixel as u128 + 1) * len as u128 / (2 * pixels as u128)) as usize
        };
        for down in 0..pixels_down {
            for across in 0..pixels_across {
                for channel in 0..channels {
                    let index =
                        [middle(down, pixels_down, height), middle(across, pixels_across, width), channel];
                    let value = view.get(&index)?;
                    values.push(value.as_f64().or(value.as_bool().map(f64::from)).unwrap_or(f64::NAN));
                }
            }
        }
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let range = (finite().count() > 0)
            .then(|| (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max)));
        let scale = plane.full.or(range).unwrap_or((0.0, 1.0));
        Ok(Self { width: pixels_across, height: pixels_down, channels, values, range, scale })
    }

    fn none() -> Self {
        Self { width: 0, height: 0, channels: 1, values: Vec::new(), range: None, scale: (0.0, 1.0) }
    }

    /// Red, green and blue of a pixel, each 0 to 1; `None` if it is not a number.
    fn colour(&self, row: usize, column: usize) -> Option<[f64; 3]> {
        let start = (row * self.width + column) * self.channels;
        let of = |channel: usize| {
            let value = self.values[start + channel.min(self.channels - 1)];
            let (black, white) = self.scale;
            // Halves, so that the difference of the largest numbers does not overflow.
            let share = (value / 2.0 - black / 2.0) / (white / 2.0 - black / 2.0);
            match value {
                _ if value.is_nan() => f64::NAN,
                _ if white <= black => 0.5,
                f64::INFINITY => 1.0,
                f64::NEG_INFINITY => 0.0,
                _ => share.clamp(0.0, 1.0),
            }
        };
        let colour = [of(0), of(1), of(2)];
        colour.iter().all(|share| !share.is_nan()).then_some(colour)
    }

    fn letters(&self, times: usize) -> String {
        const RAMP: &[u8] = b" .:-=+*#%@";
        let mut text = String::new();
        for row in 0..self.height {
            let letter = |column| match self.colour(row, column) {
                None => '?',
                Some([red, green, blue]) => {
                    let luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
                    char::from(RAMP[(luma * (RAMP.len() - 1) as f64).round() as usize])
                }
            };
            let line: String =
                (0..self.width).flat_map(|column| std::iter::repeat_n(letter(column), times)).collect();
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(text, "  |{line}|");
        }
        text
    }

    fn blocks(&self, ink: Ink) -> String {
        let mut text = String::new();
        for row in (0..self.height).step_by(2) {
            text.push_str("  ");
            let mut before = (None, None);
            for column in 0..self.width {
                let upper = code(self.colour(row, column), ink);
                let lower = (row + 1 < self.height).then(|| code(self.colour(row + 1, column), ink));
                if before.0.as_ref() != Some(&upper) {
                    let _ = write!(text, "\x1b[38;{upper}m");
                }
                if before.1.as_ref() != Some(&lower) {
                    let _ = match &lower {
                        Some(lower) => write!(text, "\x1b[48;{lower}m"),
                        None => write!(text, "\x1b[49m"),
                    };
                }
                text.push('▀');
                before = (Some(upper), Some(lower));
            }
            text.push_str("\x1b[0m\n");
        }
        text
    }
}

/// The width and height in pixels: one per element, or as many as fit with the same proportions.
fn fit(width: usize, height: usize, canvas: &Canvas) -> (usize, usize) {
    // A cell is about twice as high as wide: two pixels, or one letter for twice as many rows.
    let (rows, down_per_row) = match canvas.ink {
        Ink::Letters => (canvas.rows, 0.5),
        _ => (canvas.rows * 2, 1.0),
    };
    if canvas.ink == Ink::Letters && doubled(width, height, canvas) {
        return (width, height);
    }
    let (wide, high) = (width as f64, height as f64 * down_per_row);
    let scale = (canvas.columns as f64 / wide).min(rows as f64 / high).min(1.0);
    let down = (high * scale).round().clamp(1.0, rows as f64) as usize;
    let across = (wide * scale).round().clamp(1.0, canvas.columns as f64) as usize;
    (across.min(width), down.min(height))
}

/// Whether there is room to draw every element as two letters side by side, which is about square.
fn doubled(width: usize, height: usize, canvas: &Canvas) -> bool {
    width <= canvas.columns / 2 && height <= canvas.rows
}

/// A colour as a parameter of the terminal's codes 38 and 48. NaN is magenta.
fn code(colour: Option<[f64; 3]>, ink: Ink) -> String {
    let [red, green, blue] = colour.unwrap_or([1.0, 0.0, 1.0]);
    let of = |share: f64, most: f64| (share * most).round() as u8;
    match ink {
        Ink::True => format!("2;{};{};{}", of(red, 255.0), of(green, 255.0), of(blue, 255.0)),
        // The palette has 24 steps of grey, and a cube of 6 × 6 × 6 colours.
        _ if red == green && green == blue => format!("5;{}", 232 + of(red, 23.0)),
        _ => format!("5;{}", 16 + 36 * of(red, 5.0) + 6 * of(green, 5.0) + of(blue, 5.0)),
    }
}

#[cfg(test)]
mod tests {
    use crossdock::Array;
    use crossdock::element::Element;
    use crossdock::memory::copied_bytes;

    use super::*;

    fn drawn(array: &DArray, ink: Ink, columns: usize, rows: usize) -> Option<Picture> {
        draw(array, &Canvas { ink, columns, rows }).unwrap()
    }

    fn array<T: Element, const D: usize>(values: Vec<T>, shape: [usize; D]) -> DArray {
        Array::from_vec(values, shape).unwrap().into()
    }

    #[test]
    fn small_arrays_are_drawn_element_by_element_from_least_to_greatest() {
        let numbers = array(vec![-5.0, 0.0, 4.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY], [2, 3]);
        let picture = drawn(&numbers, Ink::Letters, 76, 20).unwrap();
        assert_eq!(picture.drawing, "  |  ++@@|\n  |??@@  |\n");
        assert_eq!(picture.caption, "picture of 2 x 3 elements, from -5 to 4");
        let same = array(vec![7i32; 4], [2, 2]);
        assert_eq!(drawn(&same, Ink::Letters, 76, 20).unwrap().drawing, "  |++++|\n  |++++|\n");
        let none = array(vec![f64::NAN; 2], [1, 2]);
        let picture = drawn(&none, Ink::Letters, 76, 20).unwrap();
        assert_eq!(
            (picture.drawing.as_str(), picture.caption.contains("none of them a number")),
            ("  |????|\n", true)
        );
        let truths: DArray =
            DArray::zeros("bool".parse().unwrap(), &[1, 2], crossdock::layout::Order::RowMajor).unwrap();
        assert!(drawn(&truths, Ink::Letters, 76, 20).is_some());
        let extremes = array(vec![f64::MAX, -f64::MAX], [1, 2]);
        assert_eq!(drawn(&extremes, Ink::Letters, 76, 20).unwrap().drawing, "  |@@  |\n");
    }

    #[test]
    fn colours_are_the_samples_two_to_a_cell() {
        let pixels = array(vec![255u8, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9, 1, 2, 3, 4, 5, 6], [3, 2, 3]);
        let picture = drawn(&pixels, Ink::True, 76, 20).unwrap();
        assert_eq!(
            picture.drawing,
            "  \x1b[38;2;255;0;0m\x1b[48;2;0;0;255m▀\x1b[38;2;0;255;0m\x1b[48;2;9;9;9m▀\x1b[0m\n  \
             \x1b[38;2;1;2;3m\x1b[49m▀\x1b[38;2;4;5;6m▀\x1b[0m\n"
        );
        let planes = array((0..75u8).collect(), [3, 5, 5]);
        assert!(drawn(&planes, Ink::True, 76, 20).unwrap().drawing.starts_with("  \x1b[38;2;0;25;50m"));
        let greys = drawn(&array(vec![0u8, 255], [1, 2]), Ink::Indexed, 76, 20).unwrap().drawing;
        assert_eq!(greys, "  \x1b[38;5;232m\x1b[49m▀\x1b[38;5;255m▀\x1b[0m\n");
        let nan = drawn(&array(vec![0.0, f64::NAN], [1, 2]), Ink::Indexed, 76, 20).unwrap().drawing;
        assert!(nan.contains("38;5;201m"), "{nan:?}");
    }

    #[test]
    fn large_arrays_are_sampled_and_never_copied() {
        let row = array((0..=255u8).collect::<Vec<u8>>(), [1, 256]);
        let huge = row.broadcast_to(&[1 << 40, 256]).unwrap();
        let before = copied_bytes();
        for ink in [Ink::Letters, Ink::Indexed, Ink::True] {
            let picture = drawn(&huge, ink, 76, 20).unwrap();
            assert!(picture.drawing.lines().count() <= 20, "{}", picture.drawing);
        }
        let square = drawn(&row.broadcast_to(&[256, 256]).unwrap(), Ink::Letters, 76, 20).unwrap();
        assert!(square.drawing.lines().all(|line| line.len() == 40 + 4), "{}", square.drawing);
        assert!(copied_bytes() - before < 1 << 20);
    }

    #[test]
    fn what_is_no_picture_is_not_drawn() {
        for array in [
            array(vec![1u8; 4], [4]),
            array::<u8, 2>(vec![], [0, 4]),
            array(vec![1u8; 16], [2, 2, 2, 2]),
            DArray::zeros("S3".parse().unwrap(), &[2, 2], crossdock::layout::Order::RowMajor).unwrap(),
            DArray::zeros("complex64".parse().unwrap(), &[2, 2], crossdock::layout::Order::RowMajor).unwrap(),
        ] {
            assert!(drawn(&array, Ink::Letters, 76, 20).is_none(), "{array:?}");
        }
        let slices = array((0..24u16).collect::<Vec<u16>>(), [2, 2, 6]);
        let picture = drawn(&slices, Ink::Letters, 76, 20).unwrap();
        assert_eq!(picture.caption, "picture of 2 x 6 elements, slice 1 of 2 along axis 0, from 12 to 23");
    }
}
