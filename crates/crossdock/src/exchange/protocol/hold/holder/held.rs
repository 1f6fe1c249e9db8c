//! One name: its socket, its versions, and who writes the next one.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::hold::folder::Folder;
use crate::exchange::protocol::hold::holder::client::Client;
use crate::exchange::protocol::hold::holder::numbers;
use crate::exchange::protocol::hold::label::Label;
use crate::exchange::protocol::hold::memory::{self, SetMemory};
use crate::exchange::protocol::hold::socket::{Interest, Socket};

/// One version of a set.
#[derive(Debug)]
pub(super) struct HeldVersion {
    pub(super) number: u64,
    /// The manifest and the regions.
    pub(super) memory: Vec<Arc<OwnedFd>>,
    pub(super) arrays: usize,
    pub(super) tables: usize,
    pub(super) nbytes: u64,
    /// Whether the arrays and tables lie in mapped files.
    pub(super) is_mapped: bool,
    /// The process that committed it, 0 if that is unknown.
    pub(super) publisher: u64,
    pub(super) since: Instant,
}

#[derive(Debug)]
pub(super) struct HeldName {
    /// Without a version.
    pub(super) name: Label,
    pub(super) listener: Socket,
    path: PathBuf,
    /// The inode of the socket, which tells it from a later one at the same path.
    inode: u64,
    /// Oldest first.
    pub(super) versions: Vec<HeldVersion>,
    next: u64,
    /// The last number that may be given before more are reserved.
    reserved: u64,
    /// The client that is the writer, and its version.
    pub(super) writer: Option<(u64, u64)>,
    /// The client to which the name is being handed over. Meanwhile no other client is served.
    pub(super) successor: Option<u64>,
}

impl HeldName {
    pub(super) fn new(name: Label, listener: Socket, path: PathBuf, inode: u64) -> Self {
        let versions = Vec::new();
        Self { name, listener, path, inode, versions, next: 1, reserved: 0, writer: None, successor: None }
    }

    /// The number of a new version. None is given twice, even if this holder is killed: see
    /// `docs/hold.md`, "Numbers of versions", for the exceptions.
    pub(super) fn take_number(&mut self, folder: &Folder) -> Result<u64> {
        let number = self.next;
        self.reserve(folder, number)?;
        self.next = number.saturating_add(1);
        Ok(number)
    }

    /// Reserves a number that a version is about to have.
    pub(super) fn reserve(&mut self, folder: &Folder, number: u64) -> Result<()> {
        if number > self.reserved {
            self.reserved = numbers::reserve(&folder.lock()?, number)?;
        }
        Ok(())
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// At least this number comes next.
    pub(super) fn continue_at(&mut self, next: u64) {
        self.next = self.next.max(next);
    }

    pub(super) fn newest(&self) -> Option<&HeldVersion> {
        self.versions.last()
    }

    /// The version of this number, or with 0 the newest.
    ///
    /// # Errors
    ///
    /// `is_bounds`, with those that there are.
    pub(super) fn version(&self, number: u64) -> Result<&HeldVersion> {
        let found = match number {
            0 => self.newest(),
            number => self.versions.iter().find(|version| version.number == number),
        };
        found.ok_or_else(|| {
            let all: Vec<String> =
                self.versions.iter().map(|version| self.name.at(version.number).to_string()).collect();
            let text = match all.as_slice() {
                [] => format!("{} has no version yet; publish one", self.name),
                all => format!("{} is not held; there is {}", self.name.at(number), all.join(", ")),
            };
            Error::new(Kind::Bounds, text)
        })
    }

    /// Adds a version, and marks its memory as committed. The same memory again changes nothing.
    ///
    /// # Errors
    ///
    /// `is_conflict` if another set has its number, or it is not newer than all others;
    /// `is_malformed` for another name.
    pub(super) fn insert(&mut self, set: SetMemory, publisher: u64) -> Result<()> {
        let SetMemory { ref label, head, nbytes, .. } = set;
        let (arrays, tables) = (head.entries - head.tables, head.tables);
        let number = label.number();
        if label.name() != self.name.name() {
            let text = format!("the manifest names its set {label}, but the name is {}", self.name);
            return Err(Error::new(Kind::Malformed, text));
        }
        let held = self.versions.iter().find(|version| version.number == number);
        if let Some(held) = held.and_then(|version| version.memory.first())
            && memory::identity(held)? == memory::identity(&set.manifest)?
        {
            return Ok(());
        }
        if let Some(newest) = self.newest().filter(|newest| newest.number >= number) {
            let text = format!("{label} is not newer than {}, which is held", self.name.at(newest.number));
            return Err(Error::new(Kind::Conflict, text));
        }
        memory::mark_committed(&set.manifest)?;
        let is_mapped = set.is_mapped();
        let memory = set.into_descriptors().into_iter().map(Arc::new).collect();
        let since = Instant::now();
        self.versions.push(HeldVersion {
            number,
            memory,
            arrays,
            tables,
            nbytes,
            is_mapped,
            publisher,
            since,
        });
        self.continue_at(number.saturating_add(1));
        Ok(())
    }

    pub(super) fn nbytes(&self) -> u64 {
        self.versions.iter().map(|version| version.nbytes).fold(0, u64::saturating_add)
    }

    pub(super) fn interest(&self, accepts: bool) -> Interest {
        let reads = accepts && self.successor.is_none();
        let fd = if reads { self.listener.as_fd().as_raw_fd() } else { -1 };
        Interest { fd, reads, ..Interest::default() }
    }

    /// Whether the client waits, because its name is being handed over to another one.
    pub(super) fn is_frozen_for(&self, client: &Client) -> bool {
        client.name == self.name && self.successor.is_some_and(|successor| successor != client.number)
    }

    /// Removes the socket, unless another one is at its path meanwhile.
    pub(super) fn remove_socket(&self, folder: &Folder) {
        // Without the lock, or if it fails, a dead socket stays behind, which the next holder or
        // `list` removes.
        if let Ok(lock) = folder.lock() {
            let _ = lock.remove(&self.path, self.inode);
        }
    }
}
