//! The floats of one array, written alike.

use crate::element::{ScalarKind, digits};

/// How many letters stand on either side of the point, and whether there is an exponent.
pub(super) struct FloatStyle {
    kind: ScalarKind,
    /// Whether positive numbers have a sign.
    plus: bool,
    /// The most digits behind the point; with an exponent, how many there are.
    precision: usize,
    /// The digits of the exponent, where there is one.
    exponent: Option<usize>,
    /// The letters in front of the point, and behind it.
    left: usize,
    right: usize,
}

impl FloatStyle {
    pub(super) fn of(kind: ScalarKind, values: &[f64], precision: usize, plus: bool) -> Self {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let mut style = Self { kind, plus, precision, exponent: None, left: 0, right: 0 };
        if wants_exponent(kind, finite()) {
            let numbers: Vec<_> =
                finite().map(|value| digits::scientific(value, kind, precision, plus)).collect();
            style.measure(numbers.iter().map(|(significand, _)| significand.as_str()));
            style.precision = style.right;
            let digits = numbers.iter().map(|&(_, exponent)| digits::signed(exponent, 2).len() - 1).max();
            style.exponent = digits;
            style.right += 2 + digits.unwrap_or(0);
        } else {
            let numbers: Vec<_> =
                finite().map(|value| digits::positional(value, kind, precision, plus)).collect();
            style.measure(numbers.iter().map(String::as_str));
        }
        if values.iter().any(|value| !value.is_finite()) {
            let signed = plus || values.contains(&f64::NEG_INFINITY);
            // What has no point may reach over its place.
            style.left = style.left.max((3 + usize::from(signed)).saturating_sub(style.right + 1));
        }
        style
    }

    fn measure<'a>(&mut self, numbers: impl Iterator<Item = &'a str>) {
        for number in numbers {
            let (whole, rest) = number.split_once('.').unwrap_or((number, ""));
            self.left = self.left.max(whole.len());
            self.right = self.right.max(rest.len());
        }
    }

    /// One of the numbers, padded on both sides.
    pub(super) fn word(&self, value: f64) -> String {
        let Self { kind, plus, precision, left, right, .. } = *self;
        if !value.is_finite() {
            let sign = if value < 0.0 {
                "-"
            } else if plus {
                "+"
            } else {
                ""
            };
            let name = if value.is_nan() { "nan" } else { "inf" };
            return format!("{:>width$}", format!("{sign}{name}"), width = left + 1 + right);
        }
        let (number, exponent) = match self.exponent {
            Some(least) => {
                let (significand, exponent) = digits::scientific_padded(value, kind, precision, plus);
                (significand, format!("e{}", digits::signed(exponent, least)))
            }
            None => (digits::positional(value, kind, precision, plus), String::new()),
        };
        let (whole, rest) = number.split_once('.').unwrap_or((&number, ""));
        format!("{whole:>left$}.{:<right$}", format!("{rest}{exponent}"))
    }
}

/// Whether any of the numbers is large or small, or they differ by more than three orders of
/// magnitude.
fn wants_exponent(kind: ScalarKind, finite: impl Iterator<Item = f64>) -> bool {
    let (mut least, mut greatest) = (f64::INFINITY, 0.0_f64);
    for value in finite.map(f64::abs).filter(|&value| value != 0.0) {
        (least, greatest) = (least.min(value), greatest.max(value));
    }
    if greatest == 0.0 {
        return false;
    }
    // As the format itself would round them.
    let ratio = digits::rounded(greatest / least, kind);
    // A format of few bits may have no number as large as this.
    let wide = ratio > 1000.0 || greatest / least > 1000.0 && !ratio.is_normal();
    greatest >= digits::large(kind).1 || least < digits::rounded(1e-4, kind) || wide
}
