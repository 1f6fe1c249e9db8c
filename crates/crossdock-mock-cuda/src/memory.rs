//! Memory: what was allocated, where its bytes are, and whether it may be touched.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::pages::Pages;
use crate::queue::Mark;
use crate::state::{Locked, State};
use crate::status::{Result, Status};

/// What memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// On a device, of `cuMemAlloc`.
    Device,
    /// On a device, out of a pool.
    Pool(usize),
    /// On a device, of another process.
    Imported,
    /// Pinned memory of the host.
    Pinned,
    /// A program's own memory, pinned.
    Registered,
    /// Moved by the driver.
    Managed,
}

impl Kind {
    /// Whether addresses fault when the processor touches them.
    pub(crate) fn is_fenced(self) -> bool {
        matches!(self, Self::Device | Self::Pool(_) | Self::Imported)
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
    /// Where the bytes are; `None` for a program's own memory, which is where its address says.
    pub(crate) room: Option<Arc<Pages>>,
    fence: Option<Pages>,
    /// The moment from which on it may be used, in streams that come after it.
    ready: Option<Arc<Mark>>,
    /// Whether a stream is to free it.
    pub(crate) is_leaving: bool,
}

/// A pool of a device.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub(crate) device: i32,
    pub(crate) threshold: u64,
    /// What is allocated out of it, and what it has of the device.
    pub(crate) used: u64,
    pub(crate) reserved: u64,
    pub(crate) used_high: u64,
    pub(crate) reserved_high: u64,
    /// Other devices that may reach what is allocated out of it.
    pub(crate) peers: BTreeSet<i32>,
    pub(crate) is_default: bool,
    /// Whether it goes when nothing is allocated any more.
    pub(crate) is_leaving: bool,
}

/// Bytes that were found, kept while this lives.
#[derive(Debug)]
pub(crate) struct Reached {
    pub(crate) pointer: *mut u8,
    _room: Option<Arc<Pages>>,
}

/// Who is to reach memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// A device: it reaches only what the driver knows.
    Device,
    /// The host: it reaches pinned, managed and all other memory of the process.
    Host,
    /// Whatever the address says.
    Either,
}

impl State {
    /// New memory, charged to the device that it is of.
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

    /// Memory of another process.
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

    /// A program's own memory becomes pinned.
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
        let (ready, is_leaving) = (None, false);
        let allocation =
            Allocation { address, nbytes, kind, context, device, number, room, fence, ready, is_leaving };
        self.allocations.insert(address, allocation);
    }

    /// Lets memory be used only after a moment.
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
            // The host's memory is limited by the system, and more than the device has can be managed.
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

    /// Gives back what a pool has and nobody uses, down to that many bytes.
    pub(crate) fn trim(&mut self, pool: usize, kept: u64) {
        let Some(pool) = self.pools.get_mut(&pool) else { return };
        let left = pool.reserved.min(kept.max(pool.used));
        let (device, given) = (pool.device, pool.reserved - left);
        pool.reserved = left;
        if let Ok(device) = self.device(device) {
            device.used -= given;
        }
    }

    /// Takes memory out. Its addresses stay unused for a while.
    pub(crate) fn release(&mut self, address: usize) {
        const KEPT: usize = 256;
        let Some(gone) = self.allocations.remove(&address) else { return };
        self.discharge(gone.kind, gone.device, gone.nbytes as u64);
        self.freed.extend(gone.fence);
        if self.freed.len() > KEPT {
            self.freed.pop_front();
        }
    }

    /// The allocation that begins at an address and is of such a kind, to be freed.
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

    /// The allocation that an address lies in.
    pub(crate) fn around(&self, address: usize) -> Option<&Allocation> {
        let (_, found) = self.allocations.range(..=address).next_back()?;
        (address - found.address < found.nbytes).then_some(found)
    }

    /// Whether work may be put into a stream that touches these bytes.
    pub(crate) fn check(&mut self, address: usize, nbytes: usize, side: Side) -> Result {
        if self.around(address).is_some_and(|found| found.is_leaving) {
            return Err(self.misuse(Status::INVALID_VALUE, format!("{address:#x} was freed by a stream")));
        }
        self.check_now(address, nbytes, side)
    }

    fn check_now(&mut self, address: usize, nbytes: usize, side: Side) -> Result {
        let refusal = match self.around(address) {
            Some(found) if nbytes > found.nbytes - (address - found.address) => {
                format!("is followed by {} bytes", found.nbytes - (address - found.address))
            }
            Some(found) if side == Side::Host && found.kind.is_fenced() => "is a device's".to_owned(),
            Some(_) => return Ok(()),
            None if self.was_freed(address) => "was freed".to_owned(),
            None if side == Side::Device => "is no device's".to_owned(),
            None if address == 0 => "is null".to_owned(),
            None => return Ok(()),
        };
        let what = format!("{nbytes} bytes are to be reached at {address:#x}, which {refusal}");
        Err(self.misuse(Status::INVALID_VALUE, what))
    }

    /// Where the bytes are that work in a stream is to touch now.
    pub(crate) fn reach(&mut self, address: usize, nbytes: usize, side: Side) -> Result<Reached> {
        // What was right when the work was put into the stream is an illegal address by now.
        self.check_now(address, nbytes, side).map_err(|_| Status::ILLEGAL_ADDRESS)?;
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

/// New memory of a device has any bytes; most have these.
fn poison(room: &Pages, nbytes: usize) {
    // What is large would be slow to fill.
    const MOST: usize = 1 << 16;
    // SAFETY: new pages of as many bytes, which nobody else has yet.
    unsafe { room.base().write_bytes(0xA5, nbytes.min(MOST)) };
}

/// Copies between memory of which racing accesses are no error of the driver's.
///
/// # Safety
///
/// `nbytes` bytes at both are mapped, and the two do not overlap.
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, nbytes: usize) {
    // SAFETY: the caller's word.
    unsafe { std::ptr::copy_nonoverlapping(from, to, nbytes) };
}

/// Lets go of the lock around what takes long.
pub(crate) fn unlocked<T>(state: Locked, work: impl FnOnce() -> T) -> T {
    drop(state);
    work()
}
