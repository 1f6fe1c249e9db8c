//! Memory of a device that other processes open.
//!
//! Reasons: `DESIGN.md`, "An export to another process is an object".

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::core::Core;
use crate::import::range;
use crate::info::{memory_at, not_ours};
use crate::ipc_handle::{IpcExport, IpcHandle};
use crate::memory::CudaMemory;
use crate::sys::{self, Address, IpcMemory};
use crossdock::buffer::Buffer;
use crossdock::device::driver::report_release_error;
use crossdock::memory::{DeviceKind, LeaseKind};
use crossdock::{Error, Result};

pub(crate) fn export_ipc(buffer: &Buffer) -> Result<IpcExport> {
    let place = buffer.place();
    if place.kind() != DeviceKind::CUDA {
        let text = format!(
            "memory on {place} cannot be opened by other processes; only memory of a CUDA device can"
        );
        return Err(Error::place(text));
    }
    for (event, _) in buffer.events()? {
        event.wait()?;
    }
    // A Share lease, because other processes may write at any time.
    let lease = buffer.device_lease(LeaseKind::Share)?;
    let core = Core::of(place.ordinal())?;
    let address = lease.address().expose_provenance() as Address;
    let (base, _) = range(&core, address)?;
    let mut handle = IpcMemory([0; 64]);
    let _current = core.enter()?;
    // SAFETY: `base` is the start of a device allocation, which the lease keeps; the driver writes
    // the handle to a live local variable.
    unsafe { core.driver().ipc_get_mem_handle(&raw mut handle, base) }.map_err(|failure| {
        Error::from(failure)
            .within("only memory that was allocated to be exportable can be opened by other processes")
    })?;
    let handle = IpcHandle::new(handle.0, address - base, lease.nbytes() as u64);
    Ok(IpcExport::new(handle, lease))
}

/// A driver handle, and the device that opened it.
type Key = ([u8; 64], i32);

/// An allocation of another process, and how many buffers use it.
struct Opened {
    address: Address,
    nbytes: usize,
    buffers: usize,
}

/// The open allocations, each opened once for all its buffers. The driver is called under the lock,
/// so that an allocation that is being closed is not opened meanwhile. A forked child never takes
/// the lock.
static OPENED: Mutex<BTreeMap<Key, Opened>> = Mutex::new(BTreeMap::new());

fn opened() -> MutexGuard<'static, BTreeMap<Key, Opened>> {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// # Safety
///
/// The process that exported the memory keeps it until the buffer has been dropped.
pub(crate) unsafe fn open_ipc(handle: &IpcHandle, ordinal: i32) -> Result<Buffer> {
    let memory = memory_at(DeviceKind::CUDA, ordinal)?;
    let memory = CudaMemory::of(&*memory).ok_or_else(|| not_ours(&*memory))?;
    let core = memory.core().clone();
    let current = core.enter()?;
    let use_of = Use::begin(&core, (*handle.driver(), ordinal))?;
    drop(current);
    let (offset, nbytes) = (handle.offset(), handle.nbytes());
    if offset.checked_add(nbytes).is_none_or(|end| end > use_of.nbytes as u64) {
        return Err(Error::bounds(format!(
            "the handle is for {nbytes} bytes from byte {offset} on, but the allocation has {}",
            use_of.nbytes
        )));
    }
    let address = use_of.address + offset;
    // SAFETY: the range is within the allocation by the check above, and `use_of` keeps it open
    // until the release; `# Safety`: the exporting process keeps the memory.
    unsafe { memory.lend(address, nbytes as usize, move || use_of.end()) }
}

/// Opens an allocation. The context is current.
fn open(core: &Core, handle: [u8; 64]) -> Result<Opened> {
    let mut address = 0;
    let (handle, flags) = (IpcMemory(handle), sys::IPC_LAZY_ENABLE_PEER_ACCESS);
    // SAFETY: the driver checks the handle, whatever its bytes, and writes the address to a live
    // local variable.
    unsafe { core.driver().ipc_open_mem_handle(&raw mut address, handle, flags) }
        .map_err(|failure| Error::from(failure).within("opening memory of another process"))?;
    let (base, nbytes) = range(core, address).inspect_err(|_| {
        // SAFETY: the address was opened above and has not left this function. The first error is
        // the one to report.
        let _also = unsafe { core.driver().ipc_close_mem_handle(address) };
    })?;
    Ok(Opened { address: base, nbytes, buffers: 0 })
}

/// One buffer's use of an open allocation.
struct Use {
    core: Arc<Core>,
    key: Key,
    address: Address,
    nbytes: usize,
    has_ended: bool,
}

impl Use {
    /// Requires that the context is current.
    fn begin(core: &Arc<Core>, key: Key) -> Result<Self> {
        let mut opened = opened();
        let row = match opened.entry(key) {
            Entry::Occupied(row) => row.into_mut(),
            Entry::Vacant(room) => room.insert(open(core, key.0)?),
        };
        row.buffers += 1;
        let (address, nbytes) = (row.address, row.nbytes);
        drop(opened);
        Ok(Self { core: core.clone(), key, address, nbytes, has_ended: false })
    }

    fn end(mut self) -> Result<()> {
        self.close()
    }

    fn close(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.has_ended, true) || self.core.context().is_inherited() {
            return Ok(());
        }
        let mut opened = opened();
        let Some(row) = opened.get_mut(&self.key) else { return Ok(()) };
        row.buffers -= 1;
        if row.buffers > 0 {
            return Ok(());
        }
        let address = row.address;
        opened.remove(&self.key);
        // SAFETY: `begin` opened the address; it is closed under the lock and only here, when the
        // last buffer ends.
        self.core.context().release(|driver| unsafe { driver.ipc_close_mem_handle(address) })
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            report_release_error(self.core.context().place(), error);
        }
    }
}
