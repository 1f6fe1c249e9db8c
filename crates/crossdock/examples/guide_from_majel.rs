//! The program of the guide's page for users of Majel.

include!("../../../docs/guide/programs/from_majel.rs");
