//! Views described by text: `"::2, ..., .price"`.

use crate::array::DArray;
use crate::error::{Error, Kind, Result};
use crate::layout::AxisSlice;

impl DArray {
    /// The view that a text describes in Python's syntax: indices, ranges, `...`, `newaxis` and
    /// fields, separated by commas. Ranges are clamped as NumPy clamps them. Each field begins a
    /// new subscript, so that `"::2, .position, 0"` is `a[::2]["position"][0]`. A field name that
    /// is not a plain word is quoted: `."unit price"`. O(rank).
    ///
    /// ```
    /// use crossdock::{Array, DArray};
    ///
    /// let image = DArray::from(Array::from_vec(vec![0u8; 480 * 640 * 3], [480, 640, 3])?);
    /// assert_eq!(image.at("::2, ..., -1")?.shape(), [240, 640]);
    /// assert!(image.at("::2; 1").unwrap_err().is_malformed());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_malformed` with the position in the text; as [`DArray::slice_numpy`] and
    /// [`DArray::field`].
    pub fn at(&self, text: &str) -> Result<Self> {
        let mut view = self.clone();
        let mut subscript: Vec<AxisSlice> = Vec::new();
        for step in parse(text)? {
            match step {
                ExprStep::Axis(slice) => subscript.push(slice),
                ExprStep::Field(name) => {
                    if !subscript.is_empty() {
                        view = view.slice_numpy(&subscript[..])?;
                        subscript.clear();
                    }
                    view = view.field(&name)?;
                }
            }
        }
        if subscript.is_empty() { Ok(view) } else { view.slice_numpy(&subscript[..]) }
    }
}

#[derive(Debug, PartialEq)]
enum ExprStep {
    Axis(AxisSlice),
    Field(String),
}

/// Reads steps separated by commas. A field may follow its predecessor directly: `.a.b`.
fn parse(text: &str) -> Result<Vec<ExprStep>> {
    let mut steps = Vec::new();
    let mut cursor = ExprCursor { text, at: 0 };
    cursor.skip_spaces();
    while !cursor.rest().is_empty() {
        if cursor.rest().starts_with('.') && !cursor.rest().starts_with("...") {
            cursor.at += 1;
            steps.push(ExprStep::Field(cursor.name()?));
            cursor.skip_spaces();
            if cursor.rest().starts_with('.') && !cursor.rest().starts_with("...") {
                continue;
            }
        } else {
            steps.push(ExprStep::Axis(cursor.axis()?));
            cursor.skip_spaces();
        }
        if cursor.rest().is_empty() {
            break;
        }
        if !cursor.rest().starts_with(',') {
            return Err(cursor.expected("a comma"));
        }
        cursor.at += 1;
        cursor.skip_spaces();
    }
    Ok(steps)
}

struct ExprCursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> ExprCursor<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn expected(&self, what: &str) -> Error {
        let found = match self.rest().chars().next() {
            Some(found) => format!("{found:?}"),
            None => "its end".to_owned(),
        };
        Error::new(
            Kind::Malformed,
            format!("view {:?}: expected {what} at byte {}, found {found}", self.text, self.at),
        )
    }

    fn name(&mut self) -> Result<String> {
        let rest = self.rest();
        if let Some(quote @ ('"' | '\'')) = rest.chars().next() {
            let Some(nbytes) = rest[1..].find(quote) else {
                return Err(self.expected("a closing quote"));
            };
            self.at += nbytes + 2;
            return Ok(rest[1..=nbytes].to_owned());
        }
        let nbytes = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if nbytes == 0 {
            return Err(self.expected("a field's name"));
        }
        self.at += nbytes;
        Ok(rest[..nbytes].to_owned())
    }

    fn axis(&mut self) -> Result<AxisSlice> {
        let words =
            [("...", AxisSlice::Ellipsis), ("newaxis", AxisSlice::NewAxis), ("None", AxisSlice::NewAxis)];
        for (word, slice) in words {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(slice);
            }
        }
        let start = self.integer()?;
        if !self.colon() {
            return start
                .map(AxisSlice::Index)
                .ok_or_else(|| self.expected("an index, a range, `...` or a `.field`"));
        }
        let stop = self.integer()?;
        let step = if self.colon() { self.integer()? } else { None };
        Ok(AxisSlice::Range { start, stop, step: step.unwrap_or(1) })
    }

    fn colon(&mut self) -> bool {
        self.skip_spaces();
        let found = self.rest().starts_with(':');
        self.at += usize::from(found);
        found
    }

    fn integer(&mut self) -> Result<Option<isize>> {
        self.skip_spaces();
        let rest = self.rest();
        let digits = rest.strip_prefix(['-', '+']).unwrap_or(rest);
        let count = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        if count == 0 {
            return if digits.len() == rest.len() { Ok(None) } else { Err(self.expected("an integer")) };
        }
        let number = &rest[..rest.len() - digits.len() + count];
        let value = number.parse().map_err(|_| {
            Error::new(
                Kind::Overflow,
                format!("view {:?}: {number} at byte {} is too large for an index", self.text, self.at),
            )
        })?;
        self.at += number.len();
        Ok(Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn range(start: Option<isize>, stop: Option<isize>, step: isize) -> ExprStep {
        ExprStep::Axis(AxisSlice::Range { start, stop, step })
    }

    #[test]
    fn texts_are_read_as_python_reads_them() {
        let field = |name: &str| ExprStep::Field(name.to_owned());
        let cases: [(&str, Vec<ExprStep>); 9] = [
            ("", vec![]),
            ("  ", vec![]),
            ("-1", vec![ExprStep::Axis(AxisSlice::Index(-1))]),
            (":", vec![range(None, None, 1)]),
            (
                "::2, ..., .field",
                vec![range(None, None, 2), ExprStep::Axis(AxisSlice::Ellipsis), field("field")],
            ),
            (
                "1:, :-3 , +2:7:-2,",
                vec![range(Some(1), None, 1), range(None, Some(-3), 1), range(Some(2), Some(7), -2)],
            ),
            (".a.b, 0", vec![field("a"), field("b"), ExprStep::Axis(AxisSlice::Index(0))]),
            (".'unit price'.\"ä.b\"", vec![field("unit price"), field("ä.b")]),
            ("newaxis,None", vec![ExprStep::Axis(AxisSlice::NewAxis), ExprStep::Axis(AxisSlice::NewAxis)]),
        ];
        for (text, steps) in cases {
            assert_eq!(parse(text).unwrap(), steps, "{text:?}");
        }
    }

    #[test]
    fn wrong_texts_are_refused_with_the_place() {
        for (text, at) in
            [("x", 0), ("1 2", 2), ("1,,2", 2), (".", 1), (".'a", 1), ("1:-", 2), ("::2;", 3), ("....a", 3)]
        {
            let error = parse(text).unwrap_err();
            assert!(error.is_malformed(), "{text:?}: {error}");
            assert!(error.to_string().contains(&format!("byte {at}")), "{text:?}: {error}");
        }
        assert!(parse("99999999999999999999").unwrap_err().is_overflow());
    }
}
