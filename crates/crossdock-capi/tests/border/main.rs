//! The library from the side of C: its header, its symbols, and programs that are built against both.
//!
//! Programs are built against this build of the library, or against an installed one where `CROSSDOCK_PREFIX` names its folder.
//! `CROSSDOCK_INSTRUMENT` runs them under an instrument: `valgrind`, or `address` for the compiler's address sanitizer.

mod bugs;
mod header;
mod hostile;
mod loaded;
mod nulls;
mod outputs;
mod programs;
mod prototypes;
mod symbols;
mod toolchain;
mod vectors;
