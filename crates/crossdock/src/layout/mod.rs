//! How an index becomes an offset.
