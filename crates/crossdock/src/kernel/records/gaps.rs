//! The bytes of a record that none of its fields covers.

/// How the bytes of a record that none of its fields covers are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gaps {
    /// They are written, with zeros or with the bytes of the source. For new memory, which is not
    /// yet initialised.
    Fill,
    /// They keep their values: they may be fields of a larger record, of which this one is a view.
    Keep,
}
