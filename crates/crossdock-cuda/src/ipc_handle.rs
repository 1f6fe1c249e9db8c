//! The handle that lets another process open memory of a device.

use std::fmt;

use crossdock::device::DeviceLease;
use crossdock::{Error, Result};

/// What a process needs to open another process's memory: the driver's handle of the allocation,
/// and a range of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct IpcHandle {
    driver: [u8; 64],
    offset: u64,
    nbytes: u64,
}

impl IpcHandle {
    /// The length of [`IpcHandle::to_bytes`].
    pub const LEN: usize = 80;

    pub(crate) fn new(driver: [u8; 64], offset: u64, nbytes: u64) -> Self {
        Self { driver, offset, nbytes }
    }

    /// The driver's own handle, a `CUipcMemHandle`, of the whole allocation.
    pub fn driver(&self) -> &[u8; 64] {
        &self.driver
    }

    /// The offset of the memory in the allocation, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The number of bytes.
    pub fn nbytes(&self) -> u64 {
        self.nbytes
    }

    /// The handle as bytes, for transmission: the driver's handle, then the offset and the number
    /// of bytes, both little-endian.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..64].copy_from_slice(&self.driver);
        bytes[64..72].copy_from_slice(&self.offset.to_le_bytes());
        bytes[72..].copy_from_slice(&self.nbytes.to_le_bytes());
        bytes
    }

    /// Restores a handle from its bytes. Its range is checked when it is opened.
    ///
    /// # Errors
    ///
    /// `is_malformed` for another number of bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = || {
            let text = format!("a handle of CUDA memory has {} bytes, not {}", Self::LEN, bytes.len());
            Error::malformed(text)
        };
        let (driver, rest) = bytes.split_first_chunk::<64>().ok_or_else(wrong)?;
        let (offset, rest) = rest.split_first_chunk::<8>().ok_or_else(wrong)?;
        let nbytes: &[u8; 8] = rest.try_into().map_err(|_| wrong())?;
        Ok(Self { driver: *driver, offset: u64::from_le_bytes(*offset), nbytes: u64::from_le_bytes(*nbytes) })
    }
}

impl fmt::Debug for IpcHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IpcHandle({} bytes from byte {} on)", self.nbytes, self.offset)
    }
}

/// Memory that other processes may have open. It is kept under a Share lease as long as this lives.
#[derive(Debug)]
pub struct IpcExport {
    handle: IpcHandle,
    _lease: DeviceLease,
}

impl IpcExport {
    pub(crate) fn new(handle: IpcHandle, lease: DeviceLease) -> Self {
        Self { handle, _lease: lease }
    }

    /// The handle for the other process.
    pub fn handle(&self) -> IpcHandle {
        self.handle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_the_same_after_it_was_sent() {
        let handle = IpcHandle::new(std::array::from_fn(|index| index as u8), 1 << 40, 12_345);
        let bytes = handle.to_bytes();
        assert_eq!(IpcHandle::from_bytes(&bytes).unwrap(), handle);
        for wrong in [&bytes[..79], &[bytes.as_slice(), &[0]].concat(), &[]] {
            assert!(IpcHandle::from_bytes(wrong).unwrap_err().is_malformed(), "{} bytes", wrong.len());
        }
    }
}
