//! DLPack imports and exports, against its header and against counterparts in C.

mod c;
#[path = "../c_header/mod.rs"]
mod c_header;
mod export;
mod header;
mod import;
mod prepared;
