//! The parts of the protocol that read another process's bytes, for tests of them alone.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::error::Result;
use crate::exchange::protocol::hold::builder::SealedSet;
use crate::exchange::protocol::hold::message::{HoldRequest, Reply};
use crate::exchange::protocol::hold::set::Set;

/// Reads a request or a reply, and writes it again.
///
/// # Errors
///
/// `is_malformed`; `is_unsupported` for another version of the protocol.
pub fn rewritten(bytes: &[u8]) -> Result<Vec<u8>> {
    let request = HoldRequest::read(bytes).map(|request| request.to_bytes());
    request.or_else(|_| Reply::read(bytes).map(|reply| reply.to_bytes()))
}

/// Maps the memory of a set, as a reader does.
///
/// # Errors
///
/// As [`connect`](crate::exchange::protocol::hold::connect).
pub fn open(manifest: OwnedFd, regions: Vec<OwnedFd>) -> Result<Set> {
    Set::open(manifest, regions, ())
}

/// The manifest and the regions of a set.
pub fn memory(set: &SealedSet) -> Vec<BorrowedFd<'_>> {
    std::iter::once(&set.0.manifest)
        .chain(set.0.regions.iter().map(AsRef::as_ref))
        .map(|fd| fd.as_fd())
        .collect()
}
