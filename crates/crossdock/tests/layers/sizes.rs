//! The lines of code of a file: without comments, blank lines, tests and tables.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::tokens::{Token, balanced, text, tokens, without_tests};

/// A file must have fewer lines of code.
pub(crate) const LIMIT: usize = 400;

/// The lines of code of a source. A constant or static at the top of the file whose initialiser is
/// a list is a table, of which the first and the last line count.
pub(crate) fn lines(source: &str) -> usize {
    let code = without_tests(&tokens(source));
    let mut lines = BTreeSet::new();
    let (mut i, mut depth) = (0, 0_usize);
    while i < code.len() {
        lines.insert(code[i].line);
        if depth == 0
            && let Some(list) = table_at(&code, i)
        {
            i = balanced(&code, list);
            lines.insert(code[i - 1].line);
            continue;
        }
        match code[i].text {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        i += 1;
    }
    lines.len()
}

/// The opening of a list that is a table, if `=` is at `i`.
fn table_at(code: &[Token<'_>], i: usize) -> Option<usize> {
    match (text(code, i), text(code, i + 1), text(code, i + 2)) {
        ("=", "[", _) => Some(i + 1),
        ("=", "&", "[") => Some(i + 2),
        _ => None,
    }
}

/// Differences between the list of files above the limit and those found. An entry is a file and
/// the most lines that it may have.
pub(crate) fn compared(known: &[(&str, usize)], found: &[(String, usize)]) -> Result<(), String> {
    let mut text = String::new();
    for (file, count) in found {
        let most = known.iter().find(|(known, _)| known == file).map_or(LIMIT - 1, |(_, most)| *most);
        if *count > most {
            let _ = write!(text, "\n{file} has {count} lines of code, and may have {most}");
        }
    }
    for (file, _) in known {
        let count = found.iter().find(|(found, _)| found == file).map_or(0, |(_, count)| *count);
        if count < LIMIT {
            let _ = write!(text, "\n{file} has {count} lines of code now: remove it from the list");
        }
    }
    if text.is_empty() { Ok(()) } else { Err(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_blank_lines_tests_and_texts_do_not_count() {
        let source = "//! Text.\n\nuse a;\n\n/// Text.\nfn f() {\n    // Text.\n    g(\"\n\n\")\n}\n\n\
                      #[cfg(test)]\nmod tests {\n    fn t() {}\n}\n";
        assert_eq!(lines(source), 5);
    }

    #[test]
    fn tables_count_as_two_lines() {
        assert_eq!(lines("const A: &[u8] = &[\n1,\n2,\n3,\n];\nfn f() {}\n"), 3);
        assert_eq!(lines("static A: [u8; 2] = [\n1,\n2,\n];\n"), 2);
        assert_eq!(lines("fn f() {\nlet a = [\n1,\n2,\n];\n}\n"), 6);
    }

    #[test]
    fn the_list_fails_if_a_file_grows_or_is_short_again() {
        let found = [("a.rs".to_owned(), 450), ("b.rs".to_owned(), 399)];
        assert_eq!(compared(&[("a.rs", 450)], &found), Ok(()));
        assert_eq!(compared(&[("a.rs", 460)], &found), Ok(()));
        assert!(compared(&[("a.rs", 449)], &found).unwrap_err().contains("a.rs has 450"));
        assert!(compared(&[], &found).unwrap_err().contains("may have 399"));
        assert!(compared(&[("a.rs", 450), ("b.rs", 410)], &found).unwrap_err().contains("remove it"));
    }
}
