//! Memory: the allocations, where their bytes are, and who may access them.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::pages::Pages;
use crate::queue::Mark;
use crate::state::{Locked, State};
use crate::status::{Result, Status};
use crate::virtual_memory::{Mapping, READ, READ_WRITE};

/// The kinds of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Device memory from `cuMemAlloc`.
    Device,
    /// Device memory from a pool.
    Pool(usize),
    /// Device memory of another process.
    Imported,
    /// Device memory of the virtual memory calls.
    Mapped,
    /// Pinned host memory.
    Pinned,
    /// The program's own memory, pinned.
    Registered,
    /// Managed memory, migrated by the driver.
    Managed,
}

impl Kind {
    /// Whether CPU accesses to the addresses fault.
    pub(crate) fn is_fenced(self) -> bool {
        matches!(self, Self::Device | Self::Pool(_) | Self::Imported | Self::Mapped)
    }
}

/// One allocation.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) address: usize,
    pub(crate) nbytes: usize,
    pub(crate) kind: Kind,
    pub(crate) context: usize,
    pub(crate) device: i32,
    pub(crate) number: u64,
    /// The pages with the bytes; `None` for a program's own memory, whose bytes are at its address.
    pub(crate) room: Option<Arc<Pages>>,
    fence: Option<Pages>,
    /// For memory of the virtual memory calls.
    pub(crate) mapping: Option<Mapping>,
    /// The point in a stream from which the memory may be used.
    ready: Option<Arc<Mark>>,
    /// Whether a stream is going to free it.
    pub(crate) is_leaving: bool,
}

/// What work does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Reads,
    Writes,
}

/// A pool of a device.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub(crate) device: i32,
    pub(crate) threshold: u64,
    /// The bytes allocated from the pool, and those reserved on the device.
    pub(crate) used: u64,
    pub(crate) reserved: u64,
    pub(crate) used_high: u64,
    pub(crate) reserved_high: u64,
    /// Other devices that may access the memory of the pool.
    pub(crate) peers: BTreeSet<i32>,
    pub(crate) is_default: bool,
    /// Whether the pool is destroyed once nothing is allocated from it.
    pub(crate) is_leaving: bool,
}

/// Resolved bytes, whose pages are kept while this lives.
#[derive(Debug)]
pub(crate) struct Reached {
    pub(crate) pointer: *mut u8,
    _room: Option<Arc<Pages>>,
}

/// The party that accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// A device, which accesses only memory that the driver knows.
    Device,
    /// The host, which accesses pinned, managed, and all other memory of the process.
    Host,
    /// Determined by the address.
    Either,
}

impl State {
    /// Allocates memory, charged to its device.
    pub(crate) fn allocate(
        &mut self,
        kind: Kind,
        context: usize,
        device: i32,
        nbytes: usize,
    ) -> Result<usize> {
        if nbytes == 0 {
            return Err(self.misuse(Status::INVALID_VALUE, "0 bytes were asked for"));
        }
        self.charge(kind, device, nbytes as u64)?;
        let room = match kind {
            Kind::Device => Pages::shared(nbytes),
            _ => Pages::room(nbytes),
        };
        let fence = kind.is_fenced().then(|| Pages::fence(nbytes));
        let (Some(room), false) = (room, matches!(fence, Some(None))) else {
            self.discharge(kind, device, nbytes as u64);
            return Err(Status::OUT_OF_MEMORY);
        };
        poison(&room, nbytes);
        let fence = fence.flatten();
        let address = fence.as_ref().map_or(room.base(), Pages::base).addr();
        self.note(kind, context, device, address, nbytes, Some(room), fence);
        Ok(address)
    }

    /// Adds memory of another process.
    pub(crate) fn import(
        &mut self,
        context: usize,
        device: i32,
        room: Pages,
        nbytes: usize,
    ) -> Result<usize> {
        let fence = Pages::fence(nbytes).ok_or(Status::OUT_OF_MEMORY)?;
        let address = fence.base().addr();
        self.note(Kind::Imported, context, device, address, nbytes, Some(room), Some(fence));
        Ok(address)
    }

    /// Adds a program's own memory as pinned.
    pub(crate) fn register(&mut self, context: usize, device: i32, address: usize, nbytes: usize) {
        self.note(Kind::Registered, context, device, address, nbytes, None, None);
    }

    #[expect(clippy::too_many_arguments, reason = "they are the fields of one allocation")]
    fn note(
        &mut self,
        kind: Kind,
        context: usize,
        device: i32,
        address: usize,
        nbytes: usize,
        room: Option<Pages>,
        fence: Option<Pages>,
    ) {
        let number = self.handle() as u64;
        let room = room.map(Arc::new);
        let allocation = Allocation {
            address,
            nbytes,
            kind,
            context,
            device,
            number,
            room,
            fence,
            mapping: None,
            ready: None,
            is_leaving: false,
        };
        self.allocations.insert(address, allocation);
    }

    /// Adds a mapping at reserved addresses. It belongs to no context.
    pub(crate) fn note_mapping(
        &mut self,
        device: i32,
        address: usize,
        nbytes: usize,
        room: Pages,
        mapping: Mapping,
    ) {
        self.note(Kind::Mapped, 0, device, address, nbytes, Some(room), None);
        if let Some(noted) = self.allocations.get_mut(&address) {
            noted.mapping = Some(mapping);
        }
    }

    /// Makes memory usable only after a point in a stream.
    pub(crate) fn set_ready(&mut self, address: usize, ready: Arc<Mark>) {
        if let Some(allocation) = self.allocations.get_mut(&address) {
            allocation.ready = Some(ready);
        }
    }

    fn charge(&mut self, kind: Kind, device: i32, nbytes: u64) -> Result {
        let total = self.config.memory;
        let wanted = match kind {
            Kind::Pool(pool) => {
                let pool = self.pools.get(&pool).ok_or(Status::INVALID_VALUE)?;
                pool.used.saturating_add(nbytes).saturating_sub(pool.reserved)
            }
            Kind::Device => nbytes,
            // The system limits host memory, and managed memory may exceed the device's.
            _ if nbytes > 1 << 46 => return Err(Status::OUT_OF_MEMORY),
            _ => 0,
        };
        if self.device(device)?.used.saturating_add(wanted) > total {
            return Err(Status::OUT_OF_MEMORY);
        }
        self.device(device)?.used += wanted;
        if let Kind::Pool(pool) = kind
            && let Some(pool) = self.pools.get_mut(&pool)
        {
            pool.used += nbytes;
            pool.reserved += wanted;
            pool.used_high = pool.used_high.max(pool.used);
            pool.reserved_high = pool.reserved_high.max(pool.reserved);
        }
        Ok(())
    }

    fn discharge(&mut self, kind: Kind, device: i32, nbytes: u64) {
        match kind {
            Kind::Device => {
                if let Ok(device) = self.device(device) {
                    device.used -= nbytes;
                }
            }
            Kind::Pool(id) => {
                if let Some(pool) = self.pools.get_mut(&id) {
                    pool.used -= nbytes;
                    let (threshold, is_leaving, is_empty) = (pool.threshold, pool.is_leaving, pool.used == 0);
                    self.trim(id, if is_leaving { 0 } else { threshold });
                    if is_leaving && is_empty {
                        self.pools.remove(&id);
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns unused memory of a pool to the device, except `kept` bytes.
    pub(crate) fn trim(&mut self, pool: usize, kept: u64) {
        let Some(pool) = self.pools.get_mut(&pool) else { return };
        let left = pool.reserved.min(kept.max(pool.used));
        let (device, given) = (pool.device, pool.reserved - left);
        pool.reserved = left;
        if let Ok(device) = self.device(device) {
            device.used -= given;
        }
    }

    /// Removes memory. Its addresses stay reserved for a while.
    pub(crate) fn release(&mut self, address: usize) {
        let Some(gone) = self.allocations.remove(&address) else { return };
        self.discharge(gone.kind, gone.device, gone.nbytes as u64);
        if let Some(fence) = gone.fence {
            self.keep_reserved(fence);
        }
    }

    /// Keeps freed addresses reserved for a while.
    pub(crate) fn keep_reserved(&mut self, fence: Pages) {
        const KEPT: usize = 256;
        self.freed.push_back(fence);
        if self.freed.len() > KEPT {
            self.freed.pop_front();
        }
    }

    /// The allocation to free: one of this kind that begins at the address.
    pub(crate) fn freeable(
        &mut self,
        address: usize,
        is_of_kind: impl Fn(Kind) -> bool,
    ) -> Result<&mut Allocation> {
        let found = self.allocations.get(&address);
        if found.is_none_or(|found| !is_of_kind(found.kind) || found.is_leaving) {
            let why = match found {
                Some(found) if found.is_leaving => "was freed already".to_owned(),
                Some(found) => format!("is {:?} memory", found.kind),
                None if self.was_freed(address) => "was freed already".to_owned(),
                None => "begins no allocation".to_owned(),
            };
            return Err(self.misuse(Status::INVALID_VALUE, format!("{address:#x} {why}")));
        }
        self.allocations.get_mut(&address).ok_or(Status::INVALID_VALUE)
    }

    fn was_freed(&self, address: usize) -> bool {
        self.freed.iter().any(|fence| fence.covers(address))
    }

    /// The allocation that contains an address.
    pub(crate) fn around(&self, address: usize) -> Option<&Allocation> {
        let (_, found) = self.allocations.range(..=address).next_back()?;
        (address - found.address < found.nbytes).then_some(found)
    }

    /// Whether work that accesses these bytes may be enqueued.
    pub(crate) fn check(&mut self, address: usize, nbytes: usize, side: Side, used: Use) -> Result {
        if self.around(address).is_some_and(|found| found.is_leaving) {
            return Err(self.misuse(Status::INVALID_VALUE, format!("{address:#x} was freed by a stream")));
        }
        self.check_now(address, nbytes, side, used)
    }

    /// Whether a device that can reach the memory may use it so.
    pub(crate) fn check_access(&mut self, address: usize, device: i32, used: Use) -> Result {
        let reaches_peers = self.config.reaches_peers;
        let bits = if used == Use::Reads { READ } else { READ_WRITE };
        let is_refused = self.around(address).is_some_and(|found| {
            let reaches = found.device == device || reaches_peers;
            reaches && found.mapping.as_ref().is_some_and(|mapping| !mapping.permits(device, bits))
        });
        if is_refused {
            let what = format!("device {device} has no access to {address:#x}: {used:?}");
            return Err(self.misuse(Status::INVALID_VALUE, what));
        }
        Ok(())
    }

    fn check_now(&mut self, address: usize, nbytes: usize, side: Side, used: Use) -> Result {
        let bits = if used == Use::Reads { READ } else { READ_WRITE };
        let refusal = match self.around(address) {
            Some(found) if nbytes > found.nbytes - (address - found.address) => {
                format!("is followed by {} bytes", found.nbytes - (address - found.address))
            }
            Some(found) if side == Side::Host && found.kind.is_fenced() => "is a device's".to_owned(),
            Some(found) if found.mapping.as_ref().is_some_and(|mapping| !mapping.is_permitted(bits)) => {
                format!("no device may access so: {used:?}")
            }
            Some(_) => return Ok(()),
            None if self.was_freed(address) => "was freed".to_owned(),
            None if side == Side::Device => "is no device's".to_owned(),
            None if address == 0 => "is null".to_owned(),
            None => return Ok(()),
        };
        let what = format!("{nbytes} bytes are to be reached at {address:#x}, which {refusal}");
        Err(self.misuse(Status::INVALID_VALUE, what))
    }

    /// Resolves bytes that work in a stream accesses now.
    pub(crate) fn reach(&mut self, address: usize, nbytes: usize, side: Side, used: Use) -> Result<Reached> {
        // An address that was valid when the work was enqueued may have become illegal.
        self.check_now(address, nbytes, side, used).map_err(|_| Status::ILLEGAL_ADDRESS)?;
        let Some(found) = self.around(address) else {
            return Ok(Reached { pointer: std::ptr::with_exposed_provenance_mut(address), _room: None });
        };
        if found.ready.as_ref().is_some_and(|ready| !ready.is_reached()) {
            let what = format!("{address:#x} is touched before the stream that allocates it has come so far");
            return Err(self.misuse(Status::ILLEGAL_ADDRESS, what));
        }
        let offset = address - found.address;
        let base = found.room.as_ref().map(|room| room.base());
        let base = base.unwrap_or_else(|| std::ptr::with_exposed_provenance_mut(found.address));
        Ok(Reached { pointer: base.wrapping_add(offset), _room: found.room.clone() })
    }
}

/// Fills new memory with a pattern, since its content is unspecified.
fn poison(room: &Pages, nbytes: usize) {
    // Filling large memory completely would be slow.
    const MOST: usize = 1 << 16;
    // SAFETY: `room` was mapped for at least `nbytes` writable bytes, and no other code has its
    // address yet.
    unsafe { room.base().write_bytes(0xA5, nbytes.min(MOST)) };
}

/// Copies bytes. Races on them are the program's error, not the driver's.
///
/// # Safety
///
/// 1. `from` is mapped and readable for `nbytes` bytes, `to` mapped and writable.
/// 2. The two ranges do not overlap.
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, nbytes: usize) {
    // SAFETY: clause 1 of `# Safety`: both ranges are mapped for `nbytes` bytes; clause 2: they do
    // not overlap.
    unsafe { std::ptr::copy_nonoverlapping(from, to, nbytes) };
}

/// Runs long work without the lock.
pub(crate) fn unlocked<T>(state: Locked, work: impl FnOnce() -> T) -> T {
    drop(state);
    work()
}
