//! Which formats of buffers (PEP 3118) NumPy reads.

/// Whether NumPy finds a type for a format. It reads spaces, byte orders, sub-arrays, counts,
/// records, names, and the letters of its own types.
pub(super) fn numpy_reads(format: &str) -> bool {
    if matches!(format, "n" | "N") {
        return true;
    }
    let mut rest = format;
    while let Some(length) = token(rest) {
        rest = &rest[length..];
    }
    rest.is_empty() && !format.is_empty()
}

/// The number of bytes of the first token.
fn token(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    let digits = |text: &str| text.len() - text.trim_start_matches(|it: char| it.is_ascii_digit()).len();
    match first {
        _ if first.is_whitespace() => Some(first.len_utf8()),
        '@' | '=' | '<' | '>' | '^' | '!' | '}' => Some(1),
        '0'..='9' => Some(digits(text)),
        '(' => {
            let end = text.find(')')?;
            let are_lengths =
                text[1..end].split(',').all(|part| !part.is_empty() && digits(part) == part.len());
            are_lengths.then_some(end + 1)
        }
        'T' => text[1..].starts_with('{').then_some(2),
        ':' => text[1..].find(':').map(|end| end + 2),
        'Z' => text[1..].starts_with(['f', 'd', 'g']).then_some(2),
        _ => "?cbBhHiIlLqQefdgswOx".contains(first).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::numpy_reads;

    #[test]
    fn numpy_reads_what_its_parser_takes() {
        for format in ["d", "<i", "n", "N", "Zd", "(2,3)f", "T{i:a:4xd:b c:}", "3s", "@ l"] {
            assert!(numpy_reads(format), "{format}");
        }
        for format in ["", "P", "Z", "Zi", "()d", "(2,)d", "T", ":open", "&d", "t", "é"] {
            assert!(!numpy_reads(format), "{format}");
        }
    }
}
