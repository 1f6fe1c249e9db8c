//! Linux, with glibc or musl.

pub(crate) mod anonymous;
pub(crate) mod attributes;
pub(crate) mod files;
pub(crate) mod pages;
pub(crate) mod process;
pub(crate) mod sockets;
pub(crate) mod threads;
