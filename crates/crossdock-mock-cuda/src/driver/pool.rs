//! Pools, and memory that streams allocate and free in stream order.

use std::ffi::{c_int, c_void};

use crate::abi::{In, Out};
use crate::call::driver;
use crate::config::MEMORY_POOLS_SUPPORTED;
use crate::memory::{Kind, Pool};
use crate::queue::Work;
use crate::state::{Locked, State, wait_until};
use crate::status::{Result, Status};
use crate::virtual_memory::READ_WRITE;

/// The properties of a new pool.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Properties {
    allocation_type: c_int,
    handle_types: c_int,
    location: Location,
    security: usize,
    most: usize,
    rest: [u64; 7],
}

/// A device.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Location {
    pub(crate) kind: c_int,
    pub(crate) ordinal: c_int,
}

/// The access of a device to memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Access {
    pub(crate) location: Location,
    pub(crate) flags: c_int,
}

pub(crate) const ON_A_DEVICE: c_int = 1;

impl State {
    fn make_pool(&mut self, device: i32, is_default: bool) -> Result<usize> {
        if self.config.attribute(device, MEMORY_POOLS_SUPPORTED) != Some(1) {
            return Err(self.misuse(Status::NOT_SUPPORTED, format!("device {device} has no pools")));
        }
        let pool = self.handle();
        self.pools.insert(pool, Pool { device, is_default, ..Pool::default() });
        Ok(pool)
    }

    fn default_pool(&mut self, device: i32) -> Result<usize> {
        if let Some(pool) = self.device(device)?.default_pool {
            return Ok(pool);
        }
        let pool = self.make_pool(device, true)?;
        self.device(device)?.default_pool = Some(pool);
        Ok(pool)
    }

    fn pool(&mut self, handle: usize) -> Result<&mut Pool> {
        if self.pools.get(&handle).is_none_or(|pool| pool.is_leaving) {
            return Err(self.misuse(Status::INVALID_VALUE, format!("{handle:#x} is no pool")));
        }
        self.pools.get_mut(&handle).ok_or(Status::INVALID_VALUE)
    }
}

fn allocate(mut state: Locked, nbytes: usize, pool: usize, stream: usize) -> Result<usize> {
    let (context, device) = state.here()?;
    let stream = state.stream(stream)?;
    let of = state.pool(pool)?;
    if of.device != device && !of.peers.contains(&device) {
        return Err(state.misuse(Status::INVALID_VALUE, "the pool is of another device"));
    }
    let device = of.device;
    let mut attempt = state.allocate(Kind::Pool(pool), context, device, nbytes);
    if attempt == Err(Status::OUT_OF_MEMORY)
        && let Some(mark) = state.last(stream)
    {
        // Memory that the stream is going to free is available to later work in it.
        state = wait_until(state, |_| mark.is_reached())?;
        attempt = state.allocate(Kind::Pool(pool), context, device, nbytes);
    }
    let address = attempt?;
    let ready = state.put(stream, Vec::new(), Work::Nothing)?;
    state.set_ready(address, ready);
    Ok(address)
}

driver! {
    /// A pool of memory on a device.
    fn cuMemPoolCreate(pool: Out<usize>, properties: In<Properties>) needs Driver |mut state| {
        let properties = properties.get(0)?;
        if properties.allocation_type != 1 || properties.location.kind != ON_A_DEVICE || properties.rest != [0; 7] {
            return Err(state.misuse(Status::INVALID_VALUE, format!("a pool with {properties:?}")));
        }
        state.device(properties.location.ordinal)?;
        let made = state.make_pool(properties.location.ordinal, false)?;
        pool.set(made)
    }

    /// Destroys a pool once nothing is allocated from it.
    fn cuMemPoolDestroy(pool: usize) needs DriverToDestroy |mut state| {
        let of = state.pool(pool)?;
        if of.is_default {
            return Err(state.misuse(Status::INVALID_VALUE, "a default pool is not destroyed"));
        }
        of.is_leaving = true;
        let is_empty = of.used == 0;
        state.trim(pool, 0);
        if is_empty {
            state.pools.remove(&pool);
        }
        Ok(())
    }

    /// The default pool of a device.
    fn cuDeviceGetDefaultMemPool(pool: Out<usize>, device: c_int) needs Driver |mut state| {
        pool.set(state.default_pool(device)?)
    }

    /// Sets an attribute of a pool.
    fn cuMemPoolSetAttribute(pool: usize, number: c_int, value: In<u64>) needs Driver |mut state| {
        let of = state.pool(pool)?;
        match number {
            1..=3 => {}
            4 => of.threshold = value.get(0)?,
            6 => of.reserved_high = of.reserved,
            8 => of.used_high = of.used,
            _ => return Err(state.misuse(Status::INVALID_VALUE, format!("attribute {number} is not to be set"))),
        }
        Ok(())
    }

    /// Returns an attribute of a pool.
    fn cuMemPoolGetAttribute(pool: usize, number: c_int, value: Out<c_void>) needs Driver |mut state| {
        let of = state.pool(pool)?;
        match number {
            1..=3 => value.of::<c_int>().set(1),
            4 => value.of().set(of.threshold),
            5 => value.of().set(of.reserved),
            6 => value.of().set(of.reserved_high),
            7 => value.of().set(of.used),
            8 => value.of().set(of.used_high),
            _ => Err(state.misuse(Status::INVALID_VALUE, format!("there is no attribute {number}"))),
        }
    }

    /// Lets other devices access the memory of a pool.
    fn cuMemPoolSetAccess(pool: usize, access: In<Access>, count: usize) needs Driver |mut state| {
        for index in 0..count {
            let Access { location, flags } = access.get(index)?;
            if location.kind != ON_A_DEVICE || !matches!(flags, 0 | READ_WRITE) {
                return Err(state.misuse(Status::INVALID_VALUE, format!("access {flags} of {location:?}")));
            }
            let peer = location.ordinal;
            state.device(peer)?;
            if state.pool(pool)?.device != peer && !state.config.reaches_peers {
                return Err(state.misuse(Status::INVALID_DEVICE, format!("device {peer} cannot reach the pool's")));
            }
            let peers = &mut state.pool(pool)?.peers;
            if flags == READ_WRITE { peers.insert(peer) } else { peers.remove(&peer) };
        }
        Ok(())
    }

    /// Returns unused memory to the device.
    fn cuMemPoolTrimTo(pool: usize, kept: usize) needs Driver |mut state| {
        state.pool(pool)?;
        state.trim(pool, kept as u64);
        Ok(())
    }

    /// Allocates from a pool, in stream order.
    fn cuMemAllocFromPoolAsync(address: Out<u64>, nbytes: usize, pool: usize, stream: usize) needs Context |state| {
        address.set(allocate(state, nbytes, pool, stream)? as u64)
    }

    /// Allocates from the default pool of the current device, in stream order.
    fn cuMemAllocAsync(address: Out<u64>, nbytes: usize, stream: usize) needs Context |mut state| {
        let (_, device) = state.here()?;
        let pool = state.default_pool(device)?;
        address.set(allocate(state, nbytes, pool, stream)? as u64)
    }

    /// Frees device memory, in stream order.
    fn cuMemFreeAsync(address: u64, stream: usize) needs ContextToDestroy |mut state| {
        let stream = state.stream(stream)?;
        let found = state.freeable(address as usize, |kind| matches!(kind, Kind::Pool(_) | Kind::Device))?;
        found.is_leaving = true;
        let address = found.address;
        state.put(stream, Vec::new(), Work::Free(address))?;
        Ok(())
    }
}
