//! Memory of another process. The handle contains the process and its file descriptor of the
//! memory.

use std::ffi::c_uint;
use std::fs::OpenOptions;

use crate::abi::Out;
use crate::call::driver;
use crate::memory::Kind;
use crate::pages::Pages;
use crate::state::Opened;
use crate::status::{Result, Status};

/// The handle that one process sends to another.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Handle {
    bytes: [u8; 64],
}

const MAGIC: u64 = 0x6372_6F73_736D_6F63;

/// The content of a handle.
struct Told {
    process: u64,
    descriptor: u64,
    nbytes: u64,
    device: u64,
    number: u64,
}

impl Told {
    fn handle(&self) -> Handle {
        let mut bytes = [0; 64];
        let words = [MAGIC, self.process, self.descriptor, self.nbytes, self.device, self.number];
        for (room, word) in bytes.chunks_exact_mut(8).zip(words) {
            room.copy_from_slice(&word.to_ne_bytes());
        }
        Handle { bytes }
    }

    fn of(handle: &Handle) -> Option<Self> {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(handle.bytes.chunks_exact(8)) {
            *word = u64::from_ne_bytes(bytes.try_into().ok()?);
        }
        let [magic, process, descriptor, nbytes, device, number, 0, 0] = words else { return None };
        (magic == MAGIC).then_some(Self { process, descriptor, nbytes, device, number })
    }

    fn pages(&self) -> Result<Pages> {
        let path = format!("/proc/{}/fd/{}", self.process, self.descriptor);
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(|_| Status::MAP_FAILED)?;
        Pages::of(file, self.nbytes as usize).ok_or(Status::MAP_FAILED)
    }
}

driver! {
    /// The handle of the allocation that contains an address, which must be from `cuMemAlloc`.
    fn cuIpcGetMemHandle(handle: Out<Handle>, address: u64) needs Context |mut state| {
        let found = state.around(address as usize).filter(|found| found.kind == Kind::Device && !found.is_leaving);
        let told = found.and_then(|found| Some(Told {
            process: u64::from(std::process::id()),
            descriptor: found.room.as_ref()?.descriptor()?.cast_unsigned().into(),
            nbytes: found.nbytes as u64,
            device: u64::from(found.device.cast_unsigned()),
            number: found.number,
        }));
        match told {
            Some(told) => handle.set(told.handle()),
            None => Err(state.misuse(Status::INVALID_VALUE, format!("{address:#x} is not of cuMemAlloc"))),
        }
    }

    /// Opens memory of another process; further opens are counted.
    fn cuIpcOpenMemHandle_v2(address: Out<u64>, handle: Handle, flags: c_uint) needs Context |mut state| {
        let (context, device) = state.here()?;
        let told = match Told::of(&handle) {
            Some(told) if flags == 1 => told,
            _ => return Err(state.misuse(Status::INVALID_VALUE, "no handle of an allocation, or other flags than 1")),
        };
        if told.process == u64::from(std::process::id()) && !state.config.opens_own {
            return Err(Status::INVALID_CONTEXT);
        }
        if told.device != u64::from(device.cast_unsigned()) {
            return Err(state.misuse(Status::INVALID_VALUE, format!("the memory is of device {}", told.device)));
        }
        let is_it = |opened: &&mut Opened| opened.handle == handle.bytes && opened.context == context;
        if let Some(opened) = state.opened.iter_mut().find(is_it) {
            opened.count += 1;
            return address.set(opened.address as u64);
        }
        let imported = state.import(context, device, told.pages()?, told.nbytes as usize)?;
        state.opened.push(Opened { handle: handle.bytes, context, address: imported, count: 1 });
        address.set(imported as u64)
    }

    /// Closes the memory; the last close unmaps it.
    fn cuIpcCloseMemHandle(address: u64) needs ContextToDestroy |mut state| {
        let Some(index) = state.opened.iter().position(|opened| opened.address as u64 == address) else {
            return Err(state.misuse(Status::INVALID_VALUE, format!("{address:#x} was not opened")));
        };
        state.opened[index].count -= 1;
        if state.opened[index].count == 0 {
            let opened = state.opened.swap_remove(index);
            state.release(opened.address);
        }
        Ok(())
    }
}
