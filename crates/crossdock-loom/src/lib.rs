//! The lease word, the counts of the pools, the records of views, and the slots of channels, under
//! the model checker.
//!
//! The models are next to the code that they check. This crate builds the layers that they need
//! from the library's own sources, by path, so that nothing else is compiled for the checker. It is
//! empty without `--cfg loom`.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p crossdock-loom --release`.

#![cfg(loom)]
#![expect(dead_code, unreachable_pub, unused_imports, reason = "the models need a corner of these layers")]

#[path = "../../crossdock/src/error/mod.rs"]
mod error;
#[path = "../../crossdock/src/memory/mod.rs"]
mod memory;
#[path = "../../crossdock/src/pool/mod.rs"]
mod pool;

/// The one file of the exchange with C that decides which caller releases a view.
#[path = "../../crossdock/src/exchange/protocol/memory_view"]
mod memory_view {
    mod state;
}

/// The one file of channels that decides who may access a slot.
#[path = "../../crossdock/src/exchange/protocol/channel"]
mod channel {
    mod slot;
}
