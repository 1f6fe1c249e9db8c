//! What one element is.
