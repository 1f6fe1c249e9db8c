//! Passports: how arrays cross to and from files, other libraries' protocols, and other crates' types.
//!
//! Each protocol is a folder of its own (`abi`, `export`, `import`) and knows no other protocol.

mod crates;
pub mod files;
pub mod protocol;
