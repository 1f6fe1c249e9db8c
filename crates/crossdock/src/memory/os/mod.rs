//! The system calls: no other module of the library calls the C library or asks which system it
//! is.
//!
//! | module | contents |
//! |---|---|
//! | `pages` | mappings, and advice about them |
//! | `anonymous` | files without a name, which processes share: their seals, pages and bytes |
//! | `faults` | the handler of accesses to missing pages |
//! | `files` | what a descriptor is open on, and the ways to open and lock files |
//! | `attributes` | the attributes that a file keeps when it is replaced |
//! | `sockets`, `messages` | Unix sockets, and descriptors sent through them |
//! | `process`, `threads` | limits, forks, users, random bytes, clocks; threads and their names |
//! | `c_heap` | blocks that code in C may free |
//! | `errors` | errors that the standard library does not name |
//! | `fd` | descriptors: the standard library's, or, on Windows, handles under the same names |
//!
//! `unix/` has what POSIX systems share, `basic/` what the others share, and a folder for each
//! system the rest, under the same names. A call that a system does not have fails there with
//! `ErrorKind::Unsupported`, or has no effect where it is a hint. `docs/platforms.md` lists what
//! each system lacks. Sockets, and names that only shared memory needs, exist on POSIX systems
//! alone: the modules that use them are compiled there (`cfg(unix)`).
//!
//! Reasons: `DESIGN.md`, "Only one module calls the system".

#[cfg(not(unix))]
mod basic;
pub(crate) mod c_heap;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod types;
#[cfg(unix)]
mod unix;
#[cfg(target_os = "wasi")]
mod wasi;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "wasi")]
pub(crate) use basic::anonymous;
#[cfg(not(unix))]
pub(crate) use basic::{attributes, errors, faults};
#[cfg(all(test, target_os = "linux", not(loom)))]
pub(crate) use linux::testing;
#[cfg(target_os = "linux")]
pub(crate) use linux::{anonymous, attributes, files, pages, process, sockets, threads};
#[cfg(all(test, target_os = "macos", not(loom)))]
pub(crate) use macos::testing;
#[cfg(target_os = "macos")]
pub(crate) use macos::{anonymous, attributes, files, pages, process, sockets, threads};
pub(crate) use types::{FileKind, FileState, Interest, LONG_DOUBLE_IS_DOUBLE, PageAccess, PageAdvice, Peer};
#[cfg(unix)]
pub(crate) use unix::{errors, faults, messages};
#[cfg(target_os = "wasi")]
pub(crate) use wasi::{files, pages, process, threads};
#[cfg(all(test, windows, not(loom)))]
pub(crate) use windows::testing;
#[cfg(windows)]
pub(crate) use windows::{anonymous, fd, files, pages, process, threads};

#[cfg(not(windows))]
pub(crate) use std::os::fd;
