//! The name of a set and its version: `m@3`.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Kind, Result, short};

/// The most bytes of a name: a socket's path has room for it.
pub(super) const MOST_NBYTES: usize = 48;

/// A name and, unless the newest is meant, a version: `m` or `m@3`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    name: String,
    /// 0 for the newest.
    version: u64,
}

impl Label {
    /// A version of a name, or with version 0 its newest.
    ///
    /// # Errors
    ///
    /// `is_malformed` for an empty name, one of more than 48 bytes, and one with other characters
    /// than ASCII letters, digits, `.`, `_` and `-`, of which the last three cannot be the first.
    pub(super) fn new(name: &str, version: u64) -> Result<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if !begins || name.len() > MOST_NBYTES || !name.bytes().all(is_plain) {
            let text = format!(
                "{} cannot be the name of a set, which has 1 to {MOST_NBYTES} letters, digits, dots, underscores and hyphens, and \
                begins with a letter or digit",
                short(name)
            );
            return Err(Error::new(Kind::Malformed, text));
        }
        Ok(Self { name: name.to_owned(), version })
    }

    /// The name without the version.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version; `None` for the newest.
    pub fn version(&self) -> Option<u64> {
        (self.version > 0).then_some(self.version)
    }

    /// The version, or 0 for the newest.
    pub(super) fn number(&self) -> u64 {
        self.version
    }

    /// Fails for a label with a version, where `task` concerns a name as a whole.
    ///
    /// # Errors
    ///
    /// `is_malformed`.
    pub(super) fn check_is_name(&self, task: &str) -> Result<()> {
        if self.version == 0 {
            return Ok(());
        }
        let text = format!("{self} has a version, but {task} concerns all versions; pass {}", self.name);
        Err(Error::new(Kind::Malformed, text))
    }

    /// Another version of the same name.
    pub(super) fn at(&self, version: u64) -> Self {
        Self { name: self.name.clone(), version }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            0 => f.write_str(&self.name),
            version => write!(f, "{}@{version}", self.name),
        }
    }
}

impl FromStr for Label {
    type Err = Error;

    /// Reads `m` or `m@3`.
    ///
    /// # Errors
    ///
    /// `is_malformed`.
    fn from_str(text: &str) -> Result<Self> {
        let Some((name, version)) = text.split_once('@') else { return Self::new(text, 0) };
        match version.parse() {
            Ok(number) if number > 0 && !version.starts_with('+') => Self::new(name, number),
            _ => {
                let text =
                    format!("{} is no version of a set; write one as in m@3, from 1 on", short(version));
                Err(Error::new(Kind::Malformed, text))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_come_back_from_their_texts() {
        for text in ["m", "m@3", "a.b-c_d", "0@18446744073709551615"] {
            assert_eq!(text.parse::<Label>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_could_lead_out_of_the_folder_is_no_name() {
        let long = "x".repeat(MOST_NBYTES + 1);
        for text in
            ["", ".", "..", "a/b", "-m", "a b", "ä", "a\0", "@1", &long, "m@", "m@0", "m@-1", "m@+1", "m@x"]
        {
            assert!(text.parse::<Label>().unwrap_err().is_malformed(), "{text:?}");
        }
    }
}
