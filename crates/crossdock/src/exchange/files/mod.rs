//! Arrays in files, opened in place.
