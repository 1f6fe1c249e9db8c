//! The program of the guide's chapter on leases.

include!("../../../docs/guide/programs/04_leases.rs");
