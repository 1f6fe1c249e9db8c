//! Patterns with `*` and `?`, for names of arrays and of files.

/// Whether the pattern matches all of the text: `*` stands for any letters, and `?` for one.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut from) = (0, 0);
    // Where the last star is, and the first letter that it does not stand for.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(&letter) if letter == '?' || letter == text[from] => {
                at += 1;
                from += 1;
            }
            _ => match star {
                // The star stands for one letter more.
                Some((place, begin)) => {
                    star = Some((place, begin + 1));
                    at = place + 1;
                    from = begin + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|&letter| letter == '*')
}

/// Whether a text has letters with a meaning in patterns.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_letters_and_question_marks_for_one() {
        for (pattern, text, expected) in [
            ("model.layers.3.*", "model.layers.3.q.weight", true),
            ("model.layers.3.*", "model.layers.30.q.weight", false),
            ("*.weight", "a.b.weight", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("?", "ä", true),
            ("?", "", false),
            ("", "", true),
            ("*", "", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern:?} {text:?}");
        }
        // Exponential work would take for ever.
        assert!(!matches(&"*a".repeat(50), &"a".repeat(49)));
    }
}
