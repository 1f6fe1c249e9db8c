//! Python literals: the syntax in which NumPy writes a dtype and the header of a file.
//!
//! Strict: dictionaries, lists, tuples, strings, integers (`10L` of Python 2 too), `True`, `False`
//! and `None`, and nothing else. Nesting is bounded, so no text can exhaust the stack; every error
//! names the byte offset.

use crate::error::{Error, Kind, Result, short};

/// The maximum nesting of brackets. Enough for a header around a dtype of
/// [`MAX_DEPTH`](crate::element::MAX_DEPTH) records (a list and a tuple each); Python's own parser
/// gives up at 200.
const MAX_NESTING: usize = 160;

/// A value as Python's `ast.literal_eval` returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Literal {
    /// In the order of the text, repeated keys included.
    Dict(Vec<(Literal, Literal)>),
    List(Vec<Literal>),
    Tuple(Vec<Literal>),
    Str(String),
    Int(i128),
    Bool(bool),
    None,
}

impl Literal {
    /// A description in words, for errors.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Self::Dict(_) => "a dictionary",
            Self::List(_) => "a list",
            Self::Tuple(_) => "a tuple",
            Self::Str(_) => "a string",
            Self::Int(_) => "an integer",
            Self::Bool(_) => "a boolean",
            Self::None => "None",
        }
    }
}

/// Reads one literal, with white space around it and nothing else.
///
/// # Errors
///
/// `is_malformed`, with the byte offset; `is_unsupported` for brackets nested too deep.
pub(crate) fn parse(text: &str) -> Result<Literal> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let literal = parser.value()?;
    match parser.peek() {
        None => Ok(literal),
        Some(_) => Err(parser.unexpected("the end")),
    }
}

/// Writes a string as Python reads it: in single quotes, with unprintable characters escaped.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for letter in text.chars() {
        match letter {
            '\'' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control < ' ' || control == '\x7f' => {
                quoted.push_str(&format!("\\x{:02x}", u32::from(control)));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('\'');
    quoted
}

struct Parser<'a> {
    text: &'a str,
    /// 1. A character boundary of `text`.
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The next character that is not white space.
    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0c']);
        self.at += rest.len() - trimmed.len();
        trimmed.chars().next()
    }

    /// Skips `wanted`, if it comes next.
    fn skip(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    #[cold]
    fn malformed(&self, at: usize, what: impl std::fmt::Display) -> Error {
        Error::new(Kind::Malformed, format!("byte {at} of the Python literal: {what}"))
    }

    #[cold]
    fn unexpected(&mut self, wanted: &str) -> Error {
        match self.peek() {
            Some(found) => self.malformed(self.at, format_args!("found {found:?} instead of {wanted}")),
            None => self.malformed(self.at, format_args!("expected {wanted}, found the end")),
        }
    }

    fn value(&mut self) -> Result<Literal> {
        match self.peek() {
            Some('{') => self.nested(Self::dict),
            Some('[') => self.nested(|parser| Ok(Literal::List(parser.items('[', ']')?.0))),
            Some('(') => self.nested(Self::tuple),
            Some('\'' | '"') => Ok(Literal::Str(self.string()?)),
            Some('-' | '+' | '0'..='9') => self.integer(),
            Some(letter) if letter.is_alphabetic() => self.word(),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Result<Literal>) -> Result<Literal> {
        if self.depth == MAX_NESTING {
            return Err(Error::new(
                Kind::Unsupported,
                format!(
                    "byte {} of the Python literal: brackets are nested more than {MAX_NESTING} levels deep",
                    self.at
                ),
            ));
        }
        self.depth += 1;
        let literal = read(self)?;
        self.depth -= 1;
        Ok(literal)
    }

    fn dict(&mut self) -> Result<Literal> {
        self.skip('{');
        let mut pairs = Vec::new();
        while !self.skip('}') {
            let key = self.value()?;
            if !self.skip(':') {
                return Err(self.unexpected("':'"));
            }
            pairs.push((key, self.value()?));
            if !self.skip(',') && self.peek() != Some('}') {
                return Err(self.unexpected("',' or '}'"));
            }
        }
        Ok(Literal::Dict(pairs))
    }

    fn tuple(&mut self) -> Result<Literal> {
        let (mut items, comma) = self.items('(', ')')?;
        // One value in brackets without a comma is that value.
        match items.pop() {
            Some(only) if items.is_empty() && !comma => Ok(only),
            last => {
                items.extend(last);
                Ok(Literal::Tuple(items))
            }
        }
    }

    /// The values between two brackets, and whether a comma ended the last of them.
    fn items(&mut self, open: char, close: char) -> Result<(Vec<Literal>, bool)> {
        self.skip(open);
        let (mut items, mut comma) = (Vec::new(), false);
        while !self.skip(close) {
            items.push(self.value()?);
            comma = self.skip(',');
            if !comma && self.peek() != Some(close) {
                return Err(self.unexpected(if close == ']' { "',' or ']'" } else { "',' or ')'" }));
            }
        }
        Ok((items, comma))
    }

    fn word(&mut self) -> Result<Literal> {
        let rest = self.rest();
        let start = self.at;
        let word = &rest
            [..rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len())];
        self.at += word.len();
        match word {
            "True" => Ok(Literal::Bool(true)),
            "False" => Ok(Literal::Bool(false)),
            "None" => Ok(Literal::None),
            // Python 2 wrote non-ASCII names this way.
            "u" if rest[1..].starts_with(['\'', '"']) => Ok(Literal::Str(self.string()?)),
            _ => Err(self.malformed(start, format_args!("the word {} is not a literal", short(word)))),
        }
    }

    fn integer(&mut self) -> Result<Literal> {
        let start = self.at;
        let rest = self.rest();
        let signed = usize::from(rest.starts_with(['-', '+']));
        let digits = rest[signed..].bytes().take_while(u8::is_ascii_digit).count();
        let number = &rest[..signed + digits];
        self.at += number.len();
        if digits == 0 {
            return Err(self.unexpected("a digit"));
        }
        if digits > 1
            && rest[signed..].starts_with('0')
            && number[signed..].bytes().any(|digit| digit != b'0')
        {
            return Err(self.malformed(start, "an integer with a leading zero"));
        }
        let value = number
            .parse()
            .map_err(|_| self.malformed(start, format_args!("an integer of {digits} digits is too large")))?;
        if self.rest().starts_with(['L', 'l']) {
            self.at += 1;
        }
        if self.rest().starts_with(|next: char| next.is_alphanumeric() || next == '_' || next == '.') {
            return Err(self.malformed(start, "a number that is not a decimal integer"));
        }
        Ok(Literal::Int(value))
    }

    fn string(&mut self) -> Result<String> {
        let start = self.at;
        let quote = self.bump();
        let mut value = String::new();
        loop {
            let at = self.at;
            match self.bump() {
                None => return Err(self.malformed(start, "an unterminated string")),
                end if end == quote => return Ok(value),
                Some('\\') => value.extend(self.escape(at)?),
                Some(control @ ('\n' | '\r' | '\0')) => {
                    return Err(self.malformed(at, format_args!("{control:?} inside a string")));
                }
                Some(letter) => value.push(letter),
            }
        }
    }

    /// The next character, white space or not.
    fn bump(&mut self) -> Option<char> {
        let letter = self.rest().chars().next()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    /// The character of the escape whose backslash, at byte `at`, has been read; `None` for an
    /// escaped line end.
    fn escape(&mut self, at: usize) -> Result<Option<char>> {
        let code = match self.bump() {
            Some('\n') => return Ok(None),
            Some(plain @ ('\\' | '\'' | '"')) => return Ok(Some(plain)),
            Some('a') => 0x07,
            Some('b') => 0x08,
            Some('t') => 0x09,
            Some('n') => 0x0a,
            Some('v') => 0x0b,
            Some('f') => 0x0c,
            Some('r') => 0x0d,
            Some('x') => self.code(at, 16, 2, 2)?,
            Some('u') => self.code(at, 16, 4, 4)?,
            Some('U') => self.code(at, 16, 8, 8)?,
            Some('0'..='7') => {
                self.at -= 1;
                self.code(at, 8, 1, 3)?
            }
            _ => return Err(self.malformed(at, "an unknown escape")),
        };
        match char::from_u32(code) {
            Some(letter) => Ok(Some(letter)),
            None => {
                Err(self.malformed(at, format_args!("an escape for U+{code:04X}, which is not a character")))
            }
        }
    }

    /// A character code of `least` to `most` digits.
    fn code(&mut self, at: usize, radix: u32, least: usize, most: usize) -> Result<u32> {
        let rest = self.rest();
        let digits = rest.chars().take(most).take_while(|letter| letter.is_digit(radix)).count();
        if digits < least {
            return Err(self.malformed(at, format_args!("an escape of {digits} digits instead of {least}")));
        }
        self.at += digits;
        u32::from_str_radix(&rest[..digits], radix)
            .map_err(|_| self.malformed(at, "an escape that is too large"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str) -> Literal {
        Literal::Str(text.into())
    }

    #[test]
    fn a_header_of_numpy_is_read() {
        let text = "{'descr': [('a', '<i4'), (('t', 'b'), '<f8', (2, 3))], 'fortran_order': False, 'shape': (3, 10L,), }\n";
        let Literal::Dict(pairs) = parse(text).unwrap() else { panic!("no dictionary") };
        assert_eq!(pairs[0].0, string("descr"));
        assert_eq!(
            pairs[0].1,
            Literal::List(vec![
                Literal::Tuple(vec![string("a"), string("<i4")]),
                Literal::Tuple(vec![
                    Literal::Tuple(vec![string("t"), string("b")]),
                    string("<f8"),
                    Literal::Tuple(vec![Literal::Int(2), Literal::Int(3)]),
                ]),
            ])
        );
        assert_eq!(pairs[1].1, Literal::Bool(false));
        assert_eq!(pairs[2].1, Literal::Tuple(vec![Literal::Int(3), Literal::Int(10)]));
    }

    #[test]
    fn values_are_read_as_python_reads_them() {
        for (text, value) in [
            ("()", Literal::Tuple(vec![])),
            ("( 1 )", Literal::Int(1)),
            ("(1,)", Literal::Tuple(vec![Literal::Int(1)])),
            ("((1,),)", Literal::Tuple(vec![Literal::Tuple(vec![Literal::Int(1)])])),
            ("[1,]", Literal::List(vec![Literal::Int(1)])),
            ("{}", Literal::Dict(vec![])),
            ("None", Literal::None),
            (" \t\r\n\x0cTrue ", Literal::Bool(true)),
            ("-7", Literal::Int(-7)),
            ("00", Literal::Int(0)),
            ("170141183460469231731687303715884105727", Literal::Int(i128::MAX)),
            ("\"it's\"", string("it's")),
            ("u'größe'", string("größe")),
            (
                r#"'\\\'\"\a\b\t\n\v\f\r\x41\101\0\u00e9\U0001F600'"#,
                string("\\'\"\x07\x08\t\n\x0b\x0c\rAA\0é😀"),
            ),
            ("'a\\\nb'", string("ab")),
        ] {
            assert_eq!(parse(text).unwrap(), value, "{text}");
        }
    }

    #[test]
    fn what_is_no_literal_is_refused_with_its_place() {
        for (text, place) in [
            ("", "byte 0"),
            ("   ", "byte 3"),
            ("[1 2]", "byte 3"),
            ("[1,,2]", "byte 3"),
            ("[,]", "byte 1"),
            ("(,)", "byte 1"),
            ("[1", "byte 2"),
            ("{1}", "byte 2"),
            ("{1:}", "byte 3"),
            ("{1:2", "byte 4"),
            ("(1]", "byte 2"),
            ("1 2", "byte 2"),
            ("'abc", "byte 0"),
            ("'ab\nc'", "byte 3"),
            ("'ab\0c'", "byte 3"),
            ("'a'\0", "byte 3"),
            ("'ä\\q'", "byte 3"),
            ("'\\x4'", "byte 1"),
            ("'\\ud800'", "byte 1"),
            ("'\\U00110000'", "byte 1"),
            ("'\\", "byte 1"),
            ("-", "byte 1"),
            ("- 1", "byte 2"),
            ("1.5", "byte 0"),
            ("1e5", "byte 0"),
            ("0x10", "byte 0"),
            ("1_000", "byte 0"),
            ("010", "byte 0"),
            ("170141183460469231731687303715884105728", "byte 0"),
            ("True_", "byte 0"),
            ("__import__('os')", "byte 0"),
            ("open('x')", "byte 0"),
            ("b'x'", "byte 0"),
            ("u", "byte 0"),
            ("'a' 'b'", "byte 4"),
            ("True + 1", "byte 5"),
            ("#", "byte 0"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.is_malformed(), "{text}: {error}");
            assert!(error.to_string().contains(place), "{text}: {error}");
        }
    }

    #[test]
    fn huge_and_deep_texts_are_errors() {
        for bracket in ["[", "(", "{", "{1:", "[(", "({1:["] {
            assert!(parse(&bracket.repeat(100_000)).is_err(), "{bracket}");
        }
        let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse(&nested(MAX_NESTING)).is_ok());
        assert!(parse(&nested(MAX_NESTING + 1)).unwrap_err().is_unsupported());
        assert!(parse(&"9".repeat(100_000)).unwrap_err().is_malformed());
        assert!(parse(&"x".repeat(100_000)).unwrap_err().to_string().len() < 200);
        // Width is not depth.
        assert!(parse(&format!("[{}]", "1,".repeat(100_000))).is_ok());
    }

    #[test]
    fn quoted_strings_are_read_back() {
        for text in ["", "a", "it's", "back\\slash", "\0\x01\t\r\n\x7f", "größe 😀", "\"", "\u{2028}"] {
            assert_eq!(parse(&quote(text)).unwrap(), string(text));
        }
    }

    #[test]
    fn every_cut_of_a_text_is_an_error_or_a_value_but_no_panic() {
        let text = "{'ä\\x41': [(-1, 'b', None), (('t',), u'\\u00e9', 12L)], \"c\": {'d': (True, False)}}";
        for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
            assert!(parse(&text[..end]).is_err(), "{}", &text[..end]);
        }
        assert!(parse(text).is_ok());
    }
}
