//! The library as C uses it: its header, its symbols, and programs built against both.
//!
//! Programs link this build of the library, or an installed one in the folder `CROSSDOCK_PREFIX`.
//! `CROSSDOCK_INSTRUMENT` runs them under an instrument: `valgrind`, or `address` for the
//! compiler's address sanitizer.

mod abi;
mod bugs;
mod coverage;
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
