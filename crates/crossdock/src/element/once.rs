//! The cached dtype of a type.

use std::sync::OnceLock;

use crate::element::DType;
use crate::memory::fork;

/// For the derive macro: the dtype in a cell, made on first use. A child that is forked while
/// another thread makes it computes its own.
pub fn dtype_made_once(cell: &'static OnceLock<DType>, make: impl FnOnce() -> DType) -> DType {
    fork::get_or_make(cell, make).clone()
}
