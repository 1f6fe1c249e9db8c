//! The protocols by which memory is exported.

use std::fmt;

/// The protocols by which an allocation was ever exported: a set of labels, which a refusal names.
///
/// An open set: a bit without a name prints as its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Protocols(pub(crate) u32);

impl Protocols {
    /// Never exported.
    pub const NONE: Self = Self(0);
    /// A [`MemoryView`](crate::view::MemoryView).
    pub const MEMORY_VIEW: Self = Self(1);
    /// A DLPack managed tensor.
    pub const DLPACK: Self = Self(1 << 1);
    /// A Python buffer (PEP 3118).
    pub const PEP3118: Self = Self(1 << 2);
    /// The Arrow C data interface.
    pub const ARROW: Self = Self(1 << 3);
    /// NumPy's array interface.
    pub const ARRAY_INTERFACE: Self = Self(1 << 4);
    /// A descriptor sent to another process.
    pub const SHARED_MEMORY: Self = Self(1 << 5);
    /// A type of another Rust crate.
    pub const CRATE: Self = Self(1 << 6);
    /// A lease that a C program took on an array (`xd_array_lease`).
    pub const LEASE: Self = Self(1 << 7);

    const NAMES: [&str; 8] = [
        "MemoryView",
        "DLPack",
        "PEP 3118",
        "Arrow",
        "array interface",
        "shared memory",
        "a Rust crate",
        "a C lease",
    ];

    /// Whether every label of `other` is in this set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The labels of this set, one at a time.
    #[doc(hidden)]
    pub fn each(self) -> impl Iterator<Item = Self> {
        (0..u32::BITS).map(|bit| Self(1 << bit)).filter(move |&label| self.contains(label))
    }
}

impl fmt::Display for Protocols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        let mut separator = "";
        for label in self.each() {
            let bit = label.0.trailing_zeros();
            f.write_str(separator)?;
            match Self::NAMES.get(bit as usize) {
                Some(name) => f.write_str(name)?,
                None => write!(f, "protocol {bit}")?,
            }
            separator = ", ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_a_set_of_names_and_of_numbers_without_one() {
        assert_eq!(Protocols::NONE.to_string(), "none");
        assert!(Protocols::default().is_empty());
        let set = Protocols(Protocols::DLPACK.0 | Protocols::ARROW.0 | 1 << 31);
        assert_eq!(set.to_string(), "DLPack, Arrow, protocol 31");
        assert!(set.each().eq([Protocols::DLPACK, Protocols::ARROW, Protocols(1 << 31)]));
        assert!(set.contains(Protocols::ARROW) && set.contains(Protocols::NONE));
        assert!(!set.contains(Protocols::PEP3118));
        assert!(!set.contains(Protocols(Protocols::ARROW.0 | Protocols::PEP3118.0)));
    }
}
