//! Tests the command from outside: arguments in, streams, exit status and files out.

mod bad_input;
mod bench;
mod cat;
mod common;
mod complete;
mod convert;
mod diff;
mod guide;
mod hold;
mod inspect;
mod lend;
mod listing;
mod mutants;
mod saving;
mod sessions;
mod streaming;
mod streams;
mod tables;
mod tap;
mod terminal;
