//! The bytes of a record that none of its fields covers.

/// What becomes of the bytes of a record that none of its fields covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gaps {
    /// They are written, with zeros or with what is there in the source: the memory is new, and nobody has written it yet.
    Fill,
    /// They are left alone: they may be fields of a greater record, of which this one is a view.
    Keep,
}
