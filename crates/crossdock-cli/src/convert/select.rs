//! Which arrays `--dtype` applies to.

use crossdock::element::DType;

/// Whether a name matches a pattern, in which `*` stands for any text and `?` for one character.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // The last star, and the end of the text that it stands for so far.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&letter) if letter == '?' || letter == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, end)) => {
                    star = Some((at, end + 1));
                    (p, n) = (at + 1, end + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&letter| letter == '*')
}

/// Whether the elements are floats or complex numbers.
pub(super) fn is_float(dtype: &DType) -> bool {
    dtype.as_scalar().is_some_and(|scalar| scalar.kind().is_inexact())
}

/// Whether the elements are integers.
pub(super) fn is_integer(dtype: &DType) -> bool {
    dtype.as_scalar().is_some_and(|scalar| scalar.kind().is_integer())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_match_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("layers.*", "layers.0.weight", true),
            ("layers.*", "layer", false),
            ("*.weight", "layers.0.weight", true),
            ("*.weight", "layers.0.weights", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("l?y*s", "lay.as", true),
            ("a*b*c", "axbxbc", true),
            ("a*b*c", "axbxb", false),
            ("größe?", "größe1", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn floats_are_floats_of_any_width() {
        for dtype in ["<f2", ">f8", "bfloat16", "float8_e4m3fn", "longdouble", "c8"] {
            assert!(is_float(&dtype.parse().unwrap()), "{dtype}");
        }
        for dtype in ["bool", "<i4", "S3", "<U2", "<M8[D]", "[('a', '<f4')]"] {
            assert!(!is_float(&dtype.parse().unwrap()), "{dtype}");
        }
    }
}
