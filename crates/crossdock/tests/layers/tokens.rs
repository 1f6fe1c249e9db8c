//! The tokens of a Rust source, without comments, literals and code for tests.

/// A word, `::`, or another character of code, and its line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) line: usize,
    pub(crate) text: &'a str,
}

impl Token<'_> {
    pub(crate) fn is(&self, text: &str) -> bool {
        self.text == text
    }

    /// Whether it is an identifier, a keyword or a number.
    pub(crate) fn is_word(&self) -> bool {
        self.text.bytes().next().is_some_and(is_word)
    }
}

/// The text of the token at `index`, or nothing behind the last one.
pub(crate) fn text<'a>(tokens: &[Token<'a>], index: usize) -> &'a str {
    tokens.get(index).map_or("", |token| token.text)
}

/// The code of `source`: comments, strings, characters and lifetimes are left out.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let bytes = source.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let (mut tokens, mut i, mut line) = (Vec::new(), 0, 1);
    while i < bytes.len() {
        let start = i;
        let mut is_code = false;
        match at(i) {
            b'/' if at(i + 1) == b'/' => i += bytes[i..].iter().take_while(|&&b| b != b'\n').count(),
            b'/' if at(i + 1) == b'*' => i = after_block_comment(bytes, i),
            b'"' => i = after_string(bytes, i + 1),
            b'\'' => i = after_quote(source, i),
            b if is_word(b) => {
                i = after_word(bytes, i);
                let word = &source[start..i];
                let hashes = bytes[i..].iter().take_while(|&&b| b == b'#').count();
                if ["r", "br", "cr"].contains(&word) && at(i + hashes) == b'"' {
                    i = after_raw_string(bytes, i + hashes + 1, hashes);
                } else if word == "r" && hashes == 1 {
                    i += 1; // a raw identifier: the following word counts
                } else if !(["b", "c"].contains(&word) && [b'"', b'\''].contains(&at(i))) {
                    is_code = true;
                }
            }
            b':' if at(i + 1) == b':' => (i, is_code) = (i + 2, true),
            b => (i, is_code) = (i + 1, !b.is_ascii_whitespace()),
        }
        i = i.min(bytes.len());
        if is_code {
            tokens.push(Token { line, text: &source[start..i] });
        }
        line += bytes[start..i].iter().filter(|&&b| b == b'\n').count();
    }
    tokens
}

/// Non-ASCII letters belong to words.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn after_word(bytes: &[u8], i: usize) -> usize {
    i + bytes[i..].iter().take_while(|&&b| is_word(b)).count()
}

fn after_block_comment(bytes: &[u8], mut i: usize) -> usize {
    let mut depth = 0;
    while i < bytes.len() {
        match bytes[i..] {
            [b'/', b'*', ..] => (depth, i) = (depth + 1, i + 2),
            [b'*', b'/', ..] => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            break;
        }
    }
    i
}

fn after_string(bytes: &[u8], mut i: usize) -> usize {
    while i < bytes.len() && bytes[i] != b'"' {
        i += if bytes[i] == b'\\' { 2 } else { 1 };
    }
    i + 1
}

fn after_raw_string(bytes: &[u8], mut i: usize, hashes: usize) -> usize {
    while i < bytes.len() {
        let end = i + 1 + hashes;
        if bytes[i] == b'"' && end <= bytes.len() && bytes[i + 1..end].iter().all(|&b| b == b'#') {
            return end;
        }
        i += 1;
    }
    i
}

/// After a character, or after a lifetime.
fn after_quote(source: &str, i: usize) -> usize {
    let bytes = source.as_bytes();
    let mut letters = source[i + 1..].chars();
    match (letters.next(), letters.next()) {
        (Some('\\'), Some(escaped)) => {
            let body = i + 2 + escaped.len_utf8();
            body + bytes[body..].iter().take_while(|&&b| b != b'\'').count() + 1
        }
        (Some(letter), Some('\'')) => i + 2 + letter.len_utf8(),
        _ => after_word(bytes, i + 1),
    }
}

pub(crate) fn without_tests<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut from = 0;
    for (start, end) in test_items(tokens) {
        if start >= from {
            kept.extend_from_slice(&tokens[from..start]);
            from = end;
        }
    }
    kept.extend_from_slice(&tokens[from..]);
    kept
}

/// The ranges of items under an attribute `#[cfg(…test…)]`, attribute included. `not(test)` and
/// `any(test, …)` do not count: other builds have those items, too.
pub(crate) fn test_items(tokens: &[Token<'_>]) -> Vec<(usize, usize)> {
    let is = |i: usize, word: &str| text(tokens, i) == word;
    let mut items = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        if !(is(i, "#") && is(i + 1, "[") && is(i + 2, "cfg") && is(i + 3, "(")) {
            i += 1;
            continue;
        }
        let close = balanced(tokens, i + 1);
        let attribute = &tokens[i..close];
        let for_tests = attribute.iter().any(|token| token.is("test"));
        let negated =
            attribute.windows(3).any(|three| three[0].is("not") && three[1].is("(") && three[2].is("test"));
        let widened = attribute.iter().any(|token| token.is("any"));
        if !for_tests || negated || widened {
            i = close;
            continue;
        }
        // The item ends with its braces, or with a semicolon before any.
        let mut end = close;
        while end < tokens.len() && !is(end, "{") && !is(end, ";") {
            end = if is(end, "(") || is(end, "[") { balanced(tokens, end) } else { end + 1 };
        }
        let end = if is(end, "{") { balanced(tokens, end) } else { (end + 1).min(tokens.len()) };
        items.push((i, end));
        i = end;
    }
    items
}

/// The index after the bracket that closes the one at `i`.
pub(crate) fn balanced(tokens: &[Token<'_>], mut i: usize) -> usize {
    let open = text(tokens, i);
    let close = match open {
        "(" => ")",
        "[" => "]",
        _ => "}",
    };
    let mut depth = 0usize;
    while i < tokens.len() {
        if tokens[i].is(open) {
            depth += 1;
        } else if tokens[i].is(close) {
            depth -= 1;
        }
        i += 1;
        if depth == 0 {
            break;
        }
    }
    i
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<&str> {
        tokens(source).iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_and_literals_are_no_code() {
        let sources = [
            "/* a /* nested */ comment */ x",
            r##"const A: &str = r#"" // "#; x"##,
            "const QUOTE: char = '\"'; x",
            r"const QUOTE: char = '\''; x",
            r#"const A: &str = "\""; x"#,
            "const A: &[u8] = b\"'\"; x",
            "//! `crate::layout`\n/// crate::view\n// crate::array\nx",
            "const ARROW: char = '→'; x",
        ];
        for source in sources {
            assert_eq!(words(source).last(), Some(&"x"), "{source}");
            assert!(!words(source).contains(&"crate"), "{source}");
        }
    }

    #[test]
    fn lifetimes_are_no_words() {
        assert_eq!(words("&'a str, 'outer: loop, r#type"), ["&", "str", ",", ":", "loop", ",", "type"]);
    }

    #[test]
    fn lines_count_through_strings() {
        let source = "\"a\n b\" x\n/* \n */ y";
        assert_eq!(tokens(source), [Token { line: 2, text: "x" }, Token { line: 4, text: "y" }]);
    }

    #[test]
    fn items_for_tests_are_left_out() {
        let kept = |source| without_tests(&tokens(source)).iter().map(|token| token.text).collect::<String>();
        assert_eq!(kept("a #[cfg(test)] mod t { b } c"), "ac");
        assert_eq!(kept("a #[cfg(all(test, loom))] use b; c"), "ac");
        assert_eq!(kept("a #[cfg(test)] fn f(b: [u8; 4]) { b } c"), "ac");
        assert!(kept("#[cfg(not(test))] use b;").contains('b'));
        assert!(kept("#[cfg(any(test, loom))] mod t { b }").contains('b'));
    }
}
