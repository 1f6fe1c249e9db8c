//! DLPack in both directions, held against its header and against counterparts in C.

mod c;
mod export;
mod header;
mod import;
