//! A device of its own: memory that the processor does not address, and an engine that compiles the
//! kernels with the machine's C++ compiler, as a driver's compiler would.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::c_void;
use std::fmt::Display;
use std::process::Command;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use crossdock::buffer::Buffer;
use crossdock::device::driver::racy_copy;
use crossdock::device::engine::{Engine, Job, Kernel, Pitched, Program, Rows, Start, Step, Work};
use crossdock::device::{self, Device, DeviceRegion, Driver, Hold, MemoryManager, Meter, Transfer, Usage};
use crossdock::layout::Order;
use crossdock::memory::{Birth, DeviceKind, Place};
use crossdock::{Array, DArray, Error, Result};

/// A number that no other kind has.
pub(crate) const KIND: DeviceKind = DeviceKind(7007);

// 1. The driver: which kinds it serves, and how their devices are opened.

pub(crate) struct OwnDriver;

impl Driver for OwnDriver {
    fn kinds(&self) -> &[DeviceKind] {
        &[KIND]
    }

    fn open(&self, place: Place) -> Result<Arc<dyn Device>> {
        let (meter, engine) = (Arc::new(Meter::new(1 << 40)), Arc::new(Compiled::new(place)));
        Ok(Arc::new(OwnDevice(Arc::new(OwnMemory { place, meter, engine }))))
    }
}

// 2. The device. It has no streams: it works while the caller waits.

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

// 3. Its memory: blocks that only the device knows. The library reserves addresses for them, at
//    which the processor faults.

#[derive(Debug)]
struct OwnMemory {
    place: Place,
    meter: Arc<Meter>,
    engine: Arc<Compiled>,
}

/// Where the device finds the bytes of a hold: in its own block, or, for host memory, at their
/// address.
fn bytes_of(hold: &Hold) -> *mut u8 {
    let in_block =
        |(block, offset): (NonNull<c_void>, usize)| block.as_ptr().cast::<u8>().wrapping_add(offset);
    hold.object().map_or(hold.address(), in_block)
}

impl MemoryManager for OwnMemory {
    fn place(&self) -> Place {
        self.place
    }

    fn allocate(self: Arc<Self>, nbytes: usize) -> Result<Buffer> {
        let charge = Meter::charge(&self.meter, nbytes)?;
        let mut block = Vec::<u128>::new();
        let len = nbytes.div_ceil(16).max(1);
        block.try_reserve_exact(len).map_err(|_| Error::out_of_memory(nbytes, 16))?;
        block.resize(len, 0);
        let object = block.as_mut_ptr().cast::<c_void>();
        let region = DeviceRegion { address: None, nbytes, object, birth: Birth::Sole, aliases: &[] };
        let release = move || {
            drop(block);
            Ok(())
        };
        // SAFETY: the block has `nbytes` bytes, which nothing else knows, and goes with the
        // release.
        unsafe { device::adopt_own(self, region, charge, release) }
    }

    fn can_copy(&self, from: Place, to: Place) -> bool {
        let is_reached = |place: Place| place == self.place || place.is_host();
        is_reached(from) && is_reached(to) && (from == self.place || to == self.place)
    }

    fn copy(&self, transfer: &Transfer) -> Result<()> {
        let (src, dst) = (bytes_of(transfer.src()), bytes_of(transfer.dst()));
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
    place: Place,
    programs: Mutex<HashMap<Program, libloading::Library>>,
}

type Launch = unsafe extern "C" fn(*const c_void, *mut u8, *const u8, *mut u32, *const Job, u32);

impl Compiled {
    pub(crate) fn new(place: Place) -> Self {
        Self { place, programs: Mutex::default() }
    }

    fn compile(program: Program) -> Result<libloading::Library> {
        let failed = |error: &dyn Display| Error::device(format!("compiling {program:?}: {error}"));
        let stem = std::env::temp_dir().join(format!("own-device-{}-{program:?}", std::process::id()));
        let (source, library) = (stem.with_extension("cpp"), stem.with_extension("so"));
        let text = [program.source(), include_str!("launch.cpp")].concat();
        std::fs::write(&source, text).map_err(|error| failed(&error))?;
        let mut compiler = Command::new("c++");
        compiler.args(["-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
        let status = compiler.status().map_err(|error| failed(&error))?;
        // SAFETY: the library was just made of the kernels, and does nothing when it is loaded.
        let loaded = unsafe { libloading::Library::new(&library) };
        let _removed = (std::fs::remove_file(&source), std::fs::remove_file(&library));
        loaded.map_err(|error| failed(&format!("{status}: {error}")))
    }

    /// The function that runs a kernel, and the kernel.
    fn kernel(&self, kernel: Kernel) -> Result<(Launch, *const c_void)> {
        let mut programs = self.programs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let library = match programs.entry(kernel.program()) {
            Entry::Occupied(compiled) => compiled.into_mut(),
            Entry::Vacant(room) => room.insert(Self::compile(kernel.program())?),
        };
        let missing = |error: libloading::Error| Error::device(format!("{kernel:?}: {error}"));
        // SAFETY: `launch.cpp` defines it with this type.
        let launch = unsafe { library.get::<Launch>("launch") }.map_err(missing)?;
        // SAFETY: a function, of which only the address is taken.
        let function = unsafe { library.get::<*const c_void>(kernel.name()) }.map_err(missing)?;
        Ok((*launch, *function))
    }
}

impl Engine for Compiled {
    fn start(&self, hold: &Hold) -> Result<Start> {
        if hold.place() != self.place {
            return Err(Error::place(format!("the kernels of {} do not reach {hold:?}", self.place)));
        }
        Ok(Start { offset: 0, address: bytes_of(hold).addr() as u64 })
    }

    fn run(&self, work: &Work) -> Result<()> {
        let (to, from) = (bytes_of(work.to()), bytes_of(work.from()).cast_const());
        let refused = work.refused().map_or(std::ptr::null_mut(), |hold| bytes_of(hold).cast());
        let copy = |src: u64, dst: u64, nbytes: usize| {
            // SAFETY: bytes of the work's holds alone (Work 1), under leases for that (Work 2).
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
                    // SAFETY: all kernels have these parameters; the job reaches the work's holds
                    // alone (Work 1, Work 2).
                    unsafe { launch(function, to, from, refused, &raw const **job, *groups) }
                }
            }
        }
        Ok(())
    }

    fn reaches(&self, memory: &dyn MemoryManager) -> bool {
        memory.place() == self.place
    }
}

// 5. From now on it is a device as any other.

fn main() -> Result<()> {
    device::register(Arc::new(OwnDriver))?;
    let there = device::memory(Place::new(KIND, 0))?;
    let array = DArray::from(Array::from_vec((0..12_i32).collect(), [3, 4])?).copy_to(&there)?;
    let turned = array.transpose()?.to_order(Order::RowMajor)?; // by the device's own kernels
    println!("{} on {}", turned.copy_to(&device::memory(Place::CPU)?)?, turned.place());
    Ok(())
}
