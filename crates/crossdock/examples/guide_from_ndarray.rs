//! The program of the guide's page for users of `ndarray`.

include!("../../../docs/guide/programs/from_ndarray.rs");
