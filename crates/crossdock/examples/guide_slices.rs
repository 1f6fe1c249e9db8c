//! The program of the guide's chapter on slices.

include!("../../../docs/guide/programs/03_slices.rs");
