//! Draws the picture of the guide's chapter on leases.

include!("../../../docs/guide/programs/04_picture.rs");
