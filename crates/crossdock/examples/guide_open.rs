//! The program of the guide's chapter on opening files.

include!("../../../docs/guide/programs/01_open.rs");
