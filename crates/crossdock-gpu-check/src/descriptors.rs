//! Memory that leaves the process as a file descriptor, and is mapped read-only where it arrives.

use std::os::unix::net::UnixStream;

use crossdock::buffer::Buffer;
use crossdock::device;
use crossdock::memory::{LeaseKind, Place};
use crossdock_cuda as cuda;

use crate::Result;
use crate::table::{Outcome, Row};

const WHAT: &str = "memory as a descriptor";

/// The row of the check; left out where the device has no such memory, with the reason.
pub(crate) fn check(place: Place) -> Row {
    let memory = match cuda::shareable_memory(place.ordinal()) {
        Err(error) if error.is_unsupported() => return Row::new(WHAT, Outcome::LeftOut(error.to_string())),
        memory => memory,
    };
    let told = memory.map_err(Into::into).and_then(|memory| sent_and_received(&memory));
    Row::new(WHAT, told.map_or_else(|error| Outcome::Failed(error.to_string()), Outcome::Passed))
}

/// Sends a part of new memory through a socket, drops it, and reads what arrives.
fn sent_and_received(memory: &std::sync::Arc<dyn device::MemoryManager>) -> Result<String> {
    let content: Vec<u8> = (0..5_000_000_u32).map(|index| (index % 251) as u8).collect();
    let sent = Buffer::copy_from_slice(&content)?.copy_to(memory)?;
    let (ours, theirs) = UnixStream::pair()?;
    cuda::export_descriptor(&sent.slice(1000..4_000_000)?)?.send(&ours)?;
    drop(sent);
    let received = cuda::receive(&theirs)?.ok_or("the socket was closed")?;
    let back = received.copy_to(&device::memory(Place::CPU)?)?;
    if back.read()?[..] != content[1000..4_000_000] {
        return Err("other bytes arrived than were sent".into());
    }
    if !received.device_lease(LeaseKind::Share).is_err_and(|error| error.is_read_only()) {
        return Err("the received memory has a lease for writing".into());
    }
    Ok(format!("{} bytes were mapped read-only at {}", received.nbytes(), received.place()))
}
