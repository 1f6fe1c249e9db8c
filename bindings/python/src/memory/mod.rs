//! `crossdock.Buffer`: bytes with an owner, which can be resized while nothing else refers to them.

mod bytes;
mod methods;

pub(crate) use bytes::{Bytes, lent, note_type};
