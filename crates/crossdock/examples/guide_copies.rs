//! The program of the guide's chapter on copies.

include!("../../../docs/guide/programs/05_copies.rs");
