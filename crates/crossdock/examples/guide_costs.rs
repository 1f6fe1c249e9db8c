//! The program of the guide's chapter on memory.

include!("../../../docs/guide/programs/12_costs.rs");
