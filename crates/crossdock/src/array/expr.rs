//! Views described by text: `"::2, ..., .price"`.

use crate::array::DArray;
use crate::error::{Error, Kind, Result};
use crate::layout::AxisSlice;

impl DArray {
    /// The view that a text describes in Python's syntax: indices, ranges, `...`, `newaxis` and
    /// fields, separated by commas. Ranges are clamped as NumPy clamps them. Each field begins a
    /// new subscript, so that `"::2, .position, 0"` is `a[::2]["position"][0]`, which may also be
    /// written so, or as `"[::2].position[0]"`. A field name that is not a plain word is quoted:
    /// `."unit price"`. O(rank).
    ///
    /// ```
    /// use crossdock::{Array, DArray};
    ///
    /// let image = DArray::from(Array::from_vec(vec![0u8; 480 * 640 * 3], [480, 640, 3])?);
    /// assert_eq!(image.at("::2, ..., -1")?.shape(), [240, 640]);
    /// assert_eq!(image.at("[::2][..., -1]")?.shape(), [240, 640]);
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
            if let ExprStep::Axis(slice) = step {
                subscript.push(slice);
                continue;
            }
            if !subscript.is_empty() {
                view = view.slice_numpy(&subscript[..])?;
                subscript.clear();
            }
            if let ExprStep::Field(name) = step {
                view = view.field(&name)?;
            }
        }
        if subscript.is_empty() { Ok(view) } else { view.slice_numpy(&subscript[..]) }
    }
}

/// Whether [`DArray::at`] can read the text, whatever the array.
pub(crate) fn is_view(text: &str) -> bool {
    parse(text).is_ok()
}

#[derive(Debug, PartialEq)]
enum ExprStep {
    Axis(AxisSlice),
    Field(String),
    /// The end of a subscript in brackets.
    End,
}

/// Reads a list of steps; or subscripts in brackets and fields, which follow each other directly.
fn parse(text: &str) -> Result<Vec<ExprStep>> {
    let mut steps = Vec::new();
    let mut cursor = ExprCursor { text, at: 0, within: false };
    cursor.skip_spaces();
    while cursor.bracketed(&mut steps)? {
        cursor.chain(&mut steps)?;
    }
    if !steps.is_empty() && !cursor.rest().is_empty() {
        return Err(cursor.expected("`[`, a `.field` or the end"));
    }
    cursor.list(&mut steps)?;
    match cursor.rest() {
        "" => Ok(steps),
        _ => Err(cursor.expected("a comma")),
    }
}

struct ExprCursor<'a> {
    text: &'a str,
    at: usize,
    /// Whether it is between brackets, which are not nested.
    within: bool,
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

    /// A subscript in brackets, if there is one.
    fn bracketed(&mut self, steps: &mut Vec<ExprStep>) -> Result<bool> {
        if self.within || !self.rest().starts_with('[') {
            return Ok(false);
        }
        self.within = true;
        self.at += 1;
        self.skip_spaces();
        if self.rest().starts_with(['"', '\'']) {
            steps.push(ExprStep::Field(self.name()?));
            self.skip_spaces();
        } else if self.rest().starts_with(']') {
            return Err(self.expected("an index, a range, `...` or a field"));
        } else {
            self.list(steps)?;
        }
        if !self.rest().starts_with(']') {
            return Err(self.expected("a comma or `]`"));
        }
        self.within = false;
        self.at += 1;
        self.skip_spaces();
        steps.push(ExprStep::End);
        Ok(true)
    }

    /// Fields and subscripts in brackets that follow a field or such a subscript directly:
    /// `.a.b[0]`.
    fn chain(&mut self, steps: &mut Vec<ExprStep>) -> Result<()> {
        loop {
            if self.is_at_field() {
                self.at += 1;
                steps.push(ExprStep::Field(self.name()?));
                self.skip_spaces();
            } else if !self.bracketed(steps)? {
                return Ok(());
            }
        }
    }

    /// Steps separated by commas, up to what is none.
    fn list(&mut self, steps: &mut Vec<ExprStep>) -> Result<()> {
        while !self.is_at_end() {
            if self.is_at_field() {
                self.chain(steps)?;
            } else {
                steps.push(ExprStep::Axis(self.axis()?));
                self.skip_spaces();
            }
            if !self.rest().starts_with(',') {
                return Ok(());
            }
            self.at += 1;
            self.skip_spaces();
        }
        Ok(())
    }

    fn is_at_field(&self) -> bool {
        self.rest().starts_with('.') && !self.rest().starts_with("...")
    }

    fn is_at_end(&self) -> bool {
        self.rest().is_empty() || self.rest().starts_with(']')
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
        let cases: [(&str, Vec<ExprStep>); 12] = [
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
            ("[::2]", vec![range(None, None, 2), ExprStep::End]),
            (
                " [ 1: , 0 ] .a [\"b c\"] [-1]",
                vec![
                    range(Some(1), None, 1),
                    ExprStep::Axis(AxisSlice::Index(0)),
                    ExprStep::End,
                    field("a"),
                    field("b c"),
                    ExprStep::End,
                    ExprStep::Axis(AxisSlice::Index(-1)),
                    ExprStep::End,
                ],
            ),
            (".a[0], 1", {
                let index = |index| ExprStep::Axis(AxisSlice::Index(index));
                vec![field("a"), index(0), ExprStep::End, index(1)]
            }),
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
        for (text, at) in [
            ("[", 1),
            ("[]", 1),
            ("[0", 2),
            ("[0]]", 3),
            ("[0] 1", 4),
            ("]", 0),
            ("0]", 1),
            ("1[0]", 1),
            ("['a", 1),
            ("[.a[0]]", 3),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().contains(&format!("byte {at}")), "{text:?}: {error}");
        }
        assert!(parse("99999999999999999999").unwrap_err().is_overflow());
    }
}
