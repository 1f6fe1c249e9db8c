//! One format for all floats of an array.

use crate::array::display::Options;
use crate::array::display::notation::Notation;
use crate::element::ScalarKind;
use crate::element::digits::{self, Real};
use crate::element::exact::ExactReal;

/// The number of characters on either side of the point, and whether there is an exponent.
pub(super) struct FloatStyle {
    kind: ScalarKind,
    /// Whether positive numbers get a sign.
    plus: bool,
    /// The maximum number of digits after the point; with an exponent, the exact number.
    precision: usize,
    /// The number of exponent digits, if there is an exponent.
    exponent: Option<usize>,
    /// The number of characters before the point, and after it.
    left: usize,
    right: usize,
    notation: Notation,
}

impl FloatStyle {
    pub(super) fn of(kind: ScalarKind, values: &[Real], options: &Options, plus: bool) -> Self {
        let Options { precision, notation, .. } = *options;
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let mut style = Self { kind, plus, precision, exponent: None, left: 0, right: 0, notation };
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
            let signed = |value: Real| usize::from(plus || is_minus_infinity(value));
            let others = values.iter().filter(|value| !value.is_finite());
            let width = others.map(|&value| notation.special(value).len() + signed(value)).max().unwrap_or(0);
            // `nan` and `inf` have no point, so they may use the columns after it.
            style.left = style.left.max(width.saturating_sub(style.right + 1));
        }
        style
    }

    fn measure<'a>(&mut self, numbers: impl Iterator<Item = &'a str>) {
        for number in numbers {
            let (whole, rest) = number.split_once('.').unwrap_or((number, ""));
            self.left = self.left.max(whole.len());
            self.right = self.right.max(self.notation.decimals(rest).len());
        }
    }

    /// Formats one number, padded on both sides.
    pub(super) fn word(&self, value: Real) -> String {
        let Self { kind, plus, precision, left, right, .. } = *self;
        if !value.is_finite() {
            let sign = if is_minus_infinity(value) {
                "-"
            } else if plus {
                "+"
            } else {
                ""
            };
            let name = self.notation.special(value);
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
        let rest = self.notation.decimals(rest);
        format!("{whole:>left$}.{:<right$}", format!("{rest}{exponent}"))
    }
}

/// Whether any number is large or small, or the numbers differ by more than three orders of
/// magnitude.
fn wants_exponent(kind: ScalarKind, finite: impl Iterator<Item = Real>) -> bool {
    let sizes = finite.filter(|value| !value.exact().is_zero());
    let by_size = |one: &Real, other: &Real| one.exact().cmp_size(&other.exact());
    let (mut least, mut greatest): (Option<Real>, Option<Real>) = (None, None);
    for value in sizes {
        least =
            Some(least.map_or(value, |least| if by_size(&value, &least).is_lt() { value } else { least }));
        greatest =
            Some(greatest.map_or(value, |other| if by_size(&value, &other).is_gt() { value } else { other }));
    }
    match (least, greatest) {
        (Some(Real::Double(least)), Some(Real::Double(greatest))) => {
            let (least, greatest) = (least.abs(), greatest.abs());
            // Rounded to the float format of the elements.
            let ratio = digits::rounded(greatest / least, kind);
            // A narrow format may not represent a ratio this large.
            let wide = ratio > 1000.0 || greatest / least > 1000.0 && !ratio.is_normal();
            greatest >= digits::large(kind).1 || least < digits::rounded(1e-4, kind) || wide
        }
        (Some(least), Some(greatest)) => {
            let (least, greatest) = (least.exact(), greatest.exact());
            let ratio = greatest.size().zip(least.size()).and_then(|(one, other)| one.ratio(other));
            greatest.cmp_size(&ExactReal::from(digits::large(kind).1)).is_ge()
                || least.cmp_size(&ExactReal::from(1e-4)).is_lt()
                || ratio.is_some_and(|ratio| ratio > 1000.0)
        }
        _ => false,
    }
}

fn is_minus_infinity(value: Real) -> bool {
    matches!(value.exact(), ExactReal::Infinite { negative: true })
}
