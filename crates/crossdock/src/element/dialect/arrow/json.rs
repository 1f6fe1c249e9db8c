//! The subset of JSON that tensor metadata need: an object with some members that are lists of
//! lengths; other members are skipped.

use crate::error::{Error, Kind, Result};

/// The maximum nesting of brackets, so that no text exhausts the stack.
const MAX_NESTING: usize = 64;

pub(super) struct JsonReader<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl<'a> JsonReader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), at: 0, depth: 0 }
    }

    /// An object; `member` reads the value of each key.
    pub(super) fn object(&mut self, mut member: impl FnMut(&mut Self, &str) -> Result<()>) -> Result<()> {
        self.sequence(b'{', b'}', |reader| {
            let key = reader.string()?;
            reader.expect(b':')?;
            member(reader, key)
        })
    }

    /// A list of non-negative integers.
    pub(super) fn lengths(&mut self) -> Result<Vec<usize>> {
        let mut lengths = Vec::new();
        self.sequence(b'[', b']', |reader| {
            reader.peek();
            let start = reader.at;
            let digits = reader.run(|byte| byte.is_ascii_digit());
            let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
            lengths.push(number.ok_or_else(|| wanted("a length", start))?);
            Ok(())
        })?;
        Ok(lengths)
    }

    /// Skips `null` if it comes next, and returns whether it did.
    pub(super) fn null(&mut self) -> bool {
        self.peek();
        let found = self.text[self.at..].starts_with(b"null");
        self.at += if found { 4 } else { 0 };
        found
    }

    /// Skips any value.
    pub(super) fn skip(&mut self) -> Result<()> {
        match self.peek() {
            Some(b'{') => self.object(|reader, _| reader.skip()),
            Some(b'[') => self.sequence(b'[', b']', Self::skip),
            Some(b'"') => self.string().map(drop),
            _ => {
                let start = self.at;
                let word = self.run(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
                let is_number =
                    std::str::from_utf8(word).is_ok_and(|word| word.parse::<f64>().is_ok_and(f64::is_finite));
                match word {
                    b"true" | b"false" | b"null" => Ok(()),
                    _ if is_number => Ok(()),
                    _ => Err(wanted("a value", start)),
                }
            }
        }
    }

    /// Checks that only white space is left.
    pub(super) fn end(mut self) -> Result<()> {
        if self.peek().is_none() { Ok(()) } else { Err(wanted("the end", self.at)) }
    }

    /// Items between brackets, with commas.
    fn sequence(&mut self, open: u8, close: u8, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.expect(open)?;
        if self.depth == MAX_NESTING {
            return Err(Error::new(
                Kind::Malformed,
                format!(
                    "the tensor's metadata is nested more than {MAX_NESTING} levels deep at byte {}",
                    self.at - 1
                ),
            ));
        }
        self.depth += 1;
        if self.peek() == Some(close) {
            self.at += 1;
        } else {
            loop {
                item(self)?;
                if self.peek() == Some(close) {
                    self.at += 1;
                    break;
                }
                self.expect(b',')?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// The text between quotes with its escapes unchanged: no key that is looked for has escapes.
    fn string(&mut self) -> Result<&'a str> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            match self.text.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
                None => return Err(wanted("the end of a string", self.text.len())),
            }
        }
        let text = std::str::from_utf8(&self.text[start..self.at]);
        self.at += 1;
        text.map_err(|_| wanted("text", start))
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        match self.peek() {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            _ => Err(wanted(&format!("{:?}", char::from(byte)), self.at)),
        }
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        self.run(|byte| b" \t\r\n".contains(&byte));
        self.text.get(self.at).copied()
    }

    fn run(&mut self, belongs: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = &self.text[self.at.min(self.text.len())..];
        let len = rest.iter().take_while(|&&byte| belongs(byte)).count();
        self.at += len;
        &rest[..len]
    }
}

#[cold]
fn wanted(what: &str, at: usize) -> Error {
    Error::new(
        Kind::Malformed,
        format!("the tensor's metadata is not valid JSON: expected {what} at byte {at}"),
    )
}
