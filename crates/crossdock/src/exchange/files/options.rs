//! The options with which files are opened.

use std::fs::File;

use crate::buffer::Buffer;
use crate::error::Result;
use crate::memory::MapOptions;

/// The most bytes that one array may take when it is decompressed, unless another limit is set: 16 GiB.
const LIMIT: u64 = 16 << 30;

/// How to open a file of arrays.
///
/// ```
/// use crossdock::{Array, element::Value, exchange::files::{self, npy}};
/// # let path = std::env::temp_dir().join(format!("crossdock-options-{}.npy", std::process::id()));
/// npy::save(&path, &Array::from_vec(vec![1u8, 2, 3], [3])?.into())?;
/// files::OpenOptions::new().writable(true).open(&path)?.set(&[0], &Value::from(9))?;
/// assert_eq!(crossdock::open(&path)?.get(&[0])?.as_i64(), Some(9));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    writable: bool,
    guarded: bool,
    pub(super) verified: bool,
    pub(super) limit: u64,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { writable: false, guarded: false, verified: false, limit: LIMIT }
    }
}

impl OpenOptions {
    /// Read-only, unguarded and unverified, with at most 16 GiB for what is decompressed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the arrays be written, and with them the file. Formats that compress or keep checksums refuse it.
    pub fn writable(mut self, writable: bool) -> Self {
        self.writable = writable;
        self
    }

    /// Guards against the file shrinking while it is mapped: see [`MapOptions::guarded`].
    pub fn guarded(mut self, guarded: bool) -> Self {
        self.guarded = guarded;
        self
    }

    /// Compares every array with its checksum as the file is opened: see
    /// [`Entry::verify`](crate::exchange::files::Entry::verify). Reads the whole file, where
    /// opening reads only headers otherwise. Damaged arrays are listed in
    /// [`Contents::refused`](crate::exchange::files::Contents::refused).
    pub fn verified(mut self, verified: bool) -> Self {
        self.verified = verified;
        self
    }

    /// The most bytes that one array may take when it is decompressed: a small file can claim a very large one. What is opened in
    /// place is as large as it is in the file, and knows no limit.
    pub fn limit(mut self, nbytes: u64) -> Self {
        self.limit = nbytes;
        self
    }

    pub(super) fn map(&self, file: File) -> Result<Buffer> {
        Buffer::map(file, MapOptions::new().writable(self.writable).guarded(self.guarded))
    }

    #[cfg(any(feature = "npz", feature = "png", feature = "jpeg"))]
    pub(super) fn decoded_limit(&self) -> u64 {
        self.limit
    }

    pub(super) fn is_writable(&self) -> bool {
        self.writable
    }
}
