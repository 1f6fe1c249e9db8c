//! A complete device: memory that the CPU does not address, and an engine that compiles the kernels
//! with the machine's C++ compiler, as a driver's compiler would.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::c_void;
use std::fmt::Display;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, Weak};
use std::{io, ptr};

use crossdock::buffer::Buffer;
use crossdock::device::driver::{generation, racy_copy};
use crossdock::device::engine::{Engine, Job, Kernel, Pitched, Program, Rows, Start, Step, Work};
use crossdock::device::{
    self, Device, DeviceLease, DeviceRegion, Driver, MemoryManager, Meter, Transfer, Usage,
};
use crossdock::layout::Order;
use crossdock::memory::{Birth, DeviceKind, Place};
use crossdock::{Array, DArray, Error, Result};

/// An unused number.
pub(crate) const KIND: DeviceKind = DeviceKind(7007);

/// The ordinals are below this number.
const DEVICES: i32 = 2;

// 1. The driver: which kinds it serves, and how their devices are opened.

pub(crate) struct OwnDriver;

impl Driver for OwnDriver {
    fn kinds(&self) -> &[DeviceKind] {
        &[KIND]
    }

    fn open(&self, place: Place) -> Result<Arc<dyn Device>> {
        if !(0..DEVICES).contains(&place.ordinal()) {
            return Err(Error::bounds(format!("there is no {place}: the driver has {DEVICES} devices")));
        }
        let memory = Arc::new_cyclic(|own: &Weak<OwnMemory>| {
            let engine = Arc::new(Compiled::new(own.clone()));
            OwnMemory { place, meter: Arc::new(Meter::new(1 << 40)), engine }
        });
        Ok(Arc::new(OwnDevice(memory)))
    }
}

// 2. The device. It has no streams: calls return when their work is done.

#[derive(Debug)]
struct OwnDevice(Arc<OwnMemory>);

impl Device for OwnDevice {
    fn place(&self) -> Place {
        self.0.place
    }

    fn name(&self) -> String {
        "a device of its own".to_owned()
    }

    fn memory(&self) -> Arc<dyn MemoryManager> {
        self.0.clone()
    }
}

// 3. Its memory: blocks that only the device can access. The library reserves addresses for them,
//    at which the CPU faults.

#[derive(Debug)]
struct OwnMemory {
    place: Place,
    meter: Arc<Meter>,
    engine: Arc<Compiled>,
}

/// The bytes of a lease: host memory at its address, this manager's memory in its block. Compares
/// managers, since a device that was opened again has the same place but another manager, for which
/// the objects of the first are invalid.
fn bytes_of(lease: &DeviceLease, own: *const dyn MemoryManager) -> Result<*mut u8> {
    if lease.place().is_host() {
        return Ok(lease.address());
    }
    let is_own = lease.manager().is_some_and(|manager| ptr::addr_eq(Arc::as_ptr(&manager), own));
    match lease.object() {
        Some((block, offset)) if is_own => Ok(block.as_ptr().cast::<u8>().wrapping_add(offset)),
        _ => Err(Error::place(format!("another manager allocated the memory of a {lease:?}"))),
    }
}

impl MemoryManager for OwnMemory {
    fn place(&self) -> Place {
        self.place
    }

    fn allocate(self: Arc<Self>, nbytes: usize) -> Result<Buffer> {
        let mut block = Vec::<u128>::new();
        let len = nbytes.div_ceil(16).max(1);
        block.try_reserve_exact(len).map_err(|_| Error::out_of_memory(nbytes, 16))?;
        // Charged after the reservation, so that a failed one does not raise the peak.
        let charge = Meter::charge(&self.meter, nbytes)?;
        block.resize(len, 0);
        let object = block.as_mut_ptr().cast::<c_void>();
        let region = DeviceRegion { address: None, nbytes, object, birth: Birth::Sole, aliases: &[] };
        let release = move || {
            drop(block);
            Ok(())
        };
        // SAFETY: the block has `nbytes` bytes, which only this buffer accesses, and the release
        // frees it.
        unsafe { device::adopt_own(self, region, charge, release) }
    }

    fn can_copy(&self, from: Place, to: Place) -> bool {
        let is_reached = |place: Place| place == self.place || place.is_host();
        is_reached(from) && is_reached(to) && (from == self.place || to == self.place)
    }

    fn copy(&self, transfer: &Transfer) -> Result<()> {
        let (src, dst) = (bytes_of(transfer.src(), self)?, bytes_of(transfer.dst(), self)?);
        // SAFETY: the transfer's leases permit racy loads of the source and racy stores to the
        // destination, which have as many bytes and do not overlap (Transfer 1).
        unsafe { racy_copy(src, dst, transfer.nbytes()) };
        Ok(())
    }

    fn engine(self: Arc<Self>) -> Result<Option<Arc<dyn Engine>>> {
        Ok(Some(self.engine.clone()))
    }

    fn usage(&self) -> Usage {
        self.meter.usage()
    }
}

// 4. The engine: copies, and kernels that are compiled when they are first launched.

#[derive(Debug)]
pub(crate) struct Compiled {
    memory: Weak<dyn MemoryManager>,
    programs: Mutex<HashMap<Program, libloading::Library>>,
    generation: u64,
}

type Launch = unsafe extern "C" fn(*const c_void, *mut u8, *const u8, *mut u32, *const Job, u32);

impl Compiled {
    pub(crate) fn new(memory: Weak<dyn MemoryManager>) -> Self {
        Self { memory, programs: Mutex::default(), generation: generation() }
    }

    fn compile(program: Program) -> Result<libloading::Library> {
        let failed = |error: &dyn Display| Error::device(format!("compiling {program:?}: {error}"));
        let run = |command: &mut Command| match command.output()? {
            output if output.status.success() => Ok(output.stdout),
            output => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(io::Error::other(format!("{}: {said}", output.status)))
            }
        };
        // A folder with a new name, which other users cannot open.
        let folder = run(Command::new("mktemp").arg("-d")).map_err(|error| failed(&error))?;
        let folder = PathBuf::from(String::from_utf8_lossy(&folder).trim_end());
        let compiled = || {
            let (source, library) = (folder.join("kernels.cpp"), folder.join("kernels.so"));
            std::fs::write(&source, [program.source(), include_str!("launch.cpp")].concat())?;
            let mut compiler = Command::new("c++");
            compiler.args(["-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
            run(&mut compiler)?;
            // SAFETY: the library contains only the kernels, and runs no code when it is loaded.
            unsafe { libloading::Library::new(&library) }.map_err(io::Error::other)
        };
        let loaded = compiled();
        let _removed = std::fs::remove_dir_all(&folder);
        loaded.map_err(|error| failed(&error))
    }

    fn bytes_of(&self, lease: &DeviceLease) -> Result<*mut u8> {
        match lease.place().is_host() {
            true => Err(Error::place(format!("the kernels do not reach a {lease:?}"))),
            false => bytes_of(lease, self.memory.as_ptr()),
        }
    }

    /// The launcher, and the address of the kernel.
    fn kernel(&self, kernel: Kernel) -> Result<(Launch, *const c_void)> {
        let mut programs = self.programs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let library = match programs.entry(kernel.program()) {
            Entry::Occupied(compiled) => compiled.into_mut(),
            Entry::Vacant(room) => room.insert(Self::compile(kernel.program())?),
        };
        let missing = |error: libloading::Error| Error::device(format!("{kernel:?}: {error}"));
        // SAFETY: `launch.cpp` defines `launch` with the type `Launch`.
        let launch = unsafe { library.get::<Launch>("launch") }.map_err(missing)?;
        // SAFETY: only the address of the symbol is used.
        let function = unsafe { library.get::<*const c_void>(kernel.name()) }.map_err(missing)?;
        Ok((*launch, *function))
    }
}

impl Engine for Compiled {
    fn start(&self, lease: &DeviceLease) -> Result<Start> {
        Ok(Start { offset: 0, address: self.bytes_of(lease)?.addr() as u64 })
    }

    fn run(&self, work: &Work) -> Result<()> {
        if self.generation != generation() {
            // Another thread of the parent may have held the lock at the fork: it would stay
            // locked.
            return Err(Error::device("the engine belongs to the parent of this forked process"));
        }
        let (to, from) = (self.bytes_of(work.to())?, self.bytes_of(work.from())?.cast_const());
        let refused = work.refused().map(|lease| self.bytes_of(lease)).transpose()?;
        let refused = refused.map_or(ptr::null_mut(), <*mut u8>::cast);
        let copy = |src: u64, dst: u64, nbytes: usize| {
            // SAFETY: the bytes are within the work's leases (Work 1), which permit these accesses
            // (Work 2).
            unsafe { racy_copy(from.wrapping_add(src as usize), to.wrapping_add(dst as usize), nbytes) }
        };
        for step in work.steps() {
            match step {
                &Step::Bytes { from, to, nbytes } => copy(from, to, nbytes),
                &Step::Rows(Rows { from, to, nbytes, rows, slices }) => {
                    for (slice, row) in (0..slices).flat_map(|slice| (0..rows).map(move |row| (slice, row))) {
                        let at = |side: Pitched| side.offset + (slice * side.slice + row * side.row) as u64;
                        copy(at(from), at(to), nbytes);
                    }
                }
                Step::Launch { kernel, groups, job } => {
                    let (launch, function) = self.kernel(*kernel)?;
                    // SAFETY: all kernels have these parameters; the job accesses only the work's
                    // leases (Work 1, Work 2).
                    unsafe { launch(function, to, from, refused, &raw const **job, *groups) }
                }
            }
        }
        Ok(())
    }

    fn reaches(&self, memory: &dyn MemoryManager) -> bool {
        ptr::addr_eq(memory, self.memory.as_ptr())
    }
}

// 5. The program uses it like any other device.

fn main() -> Result<()> {
    device::register(Arc::new(OwnDriver))?;
    let there = device::memory(Place::new(KIND, 0))?;
    let array = DArray::from(Array::from_vec((0..12_i32).collect(), [3, 4])?).copy_to(&there)?;
    let turned = array.transpose()?.to_order(Order::RowMajor)?; // the device's kernels do it
    println!("{} on {}", turned.copy_to(&device::memory(Place::CPU)?)?, turned.place());
    Ok(())
}
