//! The derive macro's error for a struct with padding.

/// The maximum length of the text; longer texts are cut.
const CAPACITY: usize = 512;

/// The sentence of a compile error, made by the compiler, which can evaluate this but not
/// `format!`.
pub struct Padding {
    text: [u8; CAPACITY],
    /// Invariant 1: the first `len` bytes are UTF-8.
    len: usize,
}

impl Padding {
    /// `before`, then the number of bytes, then `behind`, then the field to add.
    pub const fn new(before: &str, nbytes: usize, behind: &str) -> Self {
        let nothing = Self { text: [0; CAPACITY], len: 0 };
        let unit = if nbytes == 1 { " byte" } else { " bytes" };
        let counted = nothing.text(before).number(nbytes).text(unit).text(behind);
        counted.text(": add a field `_padding: [u8; ").number(nbytes).text("]` there")
    }

    /// The sentence.
    pub const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.text.split_at(self.len).0) {
            Ok(text) => text,
            // The text was cut inside a character.
            Err(_) => "the struct has padding, which may be uninitialised: add a field of `u8`s there",
        }
    }

    const fn text(mut self, text: &str) -> Self {
        let mut index = 0;
        while index < text.len() && self.len < CAPACITY {
            self.text[self.len] = text.as_bytes()[index];
            (self.len, index) = (self.len + 1, index + 1);
        }
        self
    }

    const fn number(self, number: usize) -> Self {
        let digits = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
        let front = if number < 10 { self } else { self.number(number / 10) };
        front.text(digits[number % 10])
    }
}

#[cfg(test)]
mod tests {
    use super::Padding;

    #[test]
    fn the_sentence_has_the_number_in_it() {
        let text = |nbytes| Padding::new("`T` has ", nbytes, " of padding").as_str().to_owned();
        assert_eq!(text(1), "`T` has 1 byte of padding: add a field `_padding: [u8; 1]` there");
        assert_eq!(text(4080), "`T` has 4080 bytes of padding: add a field `_padding: [u8; 4080]` there");
        assert!(Padding::new(&"x".repeat(600), 1, "").as_str().ends_with("xxx"));
        assert!(Padding::new(&"ö".repeat(300), 1, "").as_str().ends_with("ööö"));
        assert!(Padding::new(&format!("x{}", "ö".repeat(300)), 1, "").as_str().contains("padding"));
    }
}
