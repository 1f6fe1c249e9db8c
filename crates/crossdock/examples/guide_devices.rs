//! The program of the guide's chapter on devices.

include!("../../../docs/guide/programs/07_devices.rs");
