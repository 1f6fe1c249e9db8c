//! Strided work on a device of CUDA.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use crate::core::Core;
use crate::modules::Grid;
use crate::stream::CudaStream;
use crate::sys::{self, Address};
use crossdock::device::engine::{Engine, Kernel, Pitched, Program, Rows, Start, Step, Work};
use crossdock::device::{DeviceLease, Event, MemoryManager, Stream};
use crossdock::{Error, Result};

/// The kernels of a program as PTX, compiled from its source for no particular device.
fn image(program: Program) -> &'static CStr {
    const fn text(bytes: &'static [u8]) -> &'static CStr {
        match CStr::from_bytes_with_nul(bytes) {
            Ok(text) => text,
            Err(_) => panic!("a zero within PTX"),
        }
    }
    const COPY: &CStr = text(concat!(include_str!("copy.ptx"), "\0").as_bytes());
    const CAST: &CStr = text(concat!(include_str!("cast.ptx"), "\0").as_bytes());
    match program {
        Program::Copy => COPY,
        Program::Cast => CAST,
    }
}

/// Strided work in a device's own memory.
#[derive(Debug)]
pub(crate) struct CudaEngine {
    core: Arc<Core>,
}

impl CudaEngine {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { core }
    }

    /// # Errors
    ///
    /// `is_place` for memory of another device.
    fn address(&self, lease: &DeviceLease) -> Result<Address> {
        let place = self.core.context().place();
        if lease.place() != place || lease.object().is_some() {
            let its = lease.place();
            return Err(Error::place(format!("kernels on {place} cannot access memory on {its}")));
        }
        Ok(lease.address().expose_provenance() as Address)
    }

    /// Enqueues all steps in a stream.
    ///
    /// # Errors
    ///
    /// The driver's error, including those of its compiler. Some steps may be in the stream then.
    ///
    /// # Safety
    ///
    /// 1. The stream is the core's, and alive, and its context is current.
    /// 2. The work is kept until the stream is done with it.
    unsafe fn put(&self, work: &Work, stream: sys::Stream) -> Result<()> {
        let (to, from) = (self.address(work.to())?, self.address(work.from())?);
        let refused = work.refused().map_or(Ok(0), |refused| self.address(refused))?;
        let mut pointers = [to, from, refused];
        let modules = self.core.modules();
        for step in work.steps() {
            match step {
                Step::Launch { kernel, groups, job } => {
                    let function = modules.function(image(kernel.program()), kernel.name())?;
                    let [to, from, refused] = &mut pointers;
                    let mut job = **job;
                    let mut arguments = [
                        (&raw mut *to).cast::<c_void>(),
                        (&raw mut *from).cast(),
                        (&raw mut *refused).cast(),
                        (&raw mut job).cast(),
                    ];
                    let grid = Grid { blocks: *groups, threads: Kernel::ITEMS as u32 };
                    // SAFETY: all kernels have these four parameters. The job touches only bytes of
                    // the work's leases (Work 1), which is kept until the stream is done with it
                    // (clause 2 of `# Safety`). The stream is the core's, with its context current
                    // (clause 1).
                    unsafe { modules.launch(function, grid, stream, &mut arguments) }?;
                }
                &Step::Rows(rows) => {
                    // SAFETY: the rows are bytes of the work's leases (Work 1), which permit the
                    // copy (Work 2) and are kept until the stream is done (clause 2 of `# Safety`);
                    // the stream is the core's, with its context current (clause 1).
                    unsafe { self.put_rows(rows, from, to, stream) }?;
                }
                &Step::Bytes { from: from_offset, to: to_offset, nbytes } => {
                    let (src, dst) = (from.wrapping_add(from_offset), to.wrapping_add(to_offset));
                    // SAFETY: both ranges are bytes of the work's leases (Work 1), which permit the
                    // copy (Work 2) and are kept until the stream is done (clause 2 of `# Safety`);
                    // the stream is the core's, with its context current (clause 1).
                    unsafe { self.core.driver().memcpy_async(dst, src, nbytes, stream) }?;
                }
            }
        }
        Ok(())
    }
}

impl CudaEngine {
    /// Enqueues a copy of rows.
    ///
    /// # Errors
    ///
    /// The driver's error.
    ///
    /// # Safety
    ///
    /// 1. From the two addresses, the rows are memory of the device that is kept, under leases for
    ///    racy loads and racy stores, until the work is over.
    /// 2. The stream is the core's, and alive, and its context is current.
    unsafe fn put_rows(&self, rows: Rows, from: Address, to: Address, stream: sys::Stream) -> Result<()> {
        let driver = self.core.driver();
        let side = |address: Address, side: Pitched| sys::PitchedMemory {
            device: address.wrapping_add(side.offset),
            pitch: side.row,
            height: side.slice / side.row,
        };
        let (src, dst) = (side(from, rows.from), side(to, rows.to));
        let outcome = if rows.slices == 1 {
            let copy = sys::CopyRectangle::of(src, dst, rows.nbytes, rows.rows);
            // SAFETY: clause 1 of `# Safety`: the rows are device memory, kept until the work is
            // over; clause 2: the stream is alive and its context current. The driver reads the
            // description before this returns.
            unsafe { driver.memcpy_2d_async(&raw const copy, stream) }
        } else {
            let copy = sys::CopyBox::of(src, dst, rows.nbytes, rows.rows, rows.slices);
            // SAFETY: clause 1 of `# Safety`: the rows are device memory, kept until the work is
            // over; clause 2: the stream is alive and its context current. The driver reads the
            // description before this returns.
            unsafe { driver.memcpy_3d_async(&raw const copy, stream) }
        };
        Ok(outcome?)
    }
}

impl Engine for CudaEngine {
    fn start(&self, lease: &DeviceLease) -> Result<Start> {
        Ok(Start { offset: 0, address: self.address(lease)? })
    }

    fn run(&self, work: &Work) -> Result<()> {
        // SAFETY: clause 1 of `put`: `now` passes a stream of the core, whose context is current.
        // Clause 2: it waits for the stream, and the caller keeps the work until then.
        self.core.now(|stream| unsafe { self.put(work, stream) })
    }

    fn can_enqueue(&self, stream: &dyn Stream) -> bool {
        CudaStream::of(stream).is_some_and(|stream| Arc::ptr_eq(stream.core(), &self.core))
    }

    fn enqueue(&self, work: Work, stream: &dyn Stream) -> Result<Arc<dyn Event>> {
        let own = CudaStream::of(stream).filter(|stream| Arc::ptr_eq(stream.core(), &self.core));
        let Some(stream) = own else {
            let place = self.core.context().place();
            return Err(Error::unsupported(format!("{stream:?} is not a CUDA stream of {place}")));
        };
        // SAFETY: clause 1 of `put`: `push` passes the stream, which is of this core (checked
        // above), with its context current. Clause 2: it keeps the work until the stream is done
        // with it.
        stream.push(work, |work, raw| unsafe { self.put(work, raw) })
    }

    fn reaches(&self, memory: &dyn MemoryManager) -> bool {
        memory.place() == self.core.context().place()
    }
}

#[cfg(test)]
mod tests {
    use crossdock::device::engine::Program;

    #[test]
    fn the_ptx_is_made_of_the_source_as_it_is_and_unchanged_since() {
        let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        let made = [(Program::Copy, include_str!("copy.ptx")), (Program::Cast, include_str!("cast.ptx"))];
        for (program, ptx) in made {
            let (first, body) = ptx.split_once('\n').unwrap();
            let bytes = program.source().to_owned() + body;
            let hash = format!("{:016x}", bytes.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, fnv));
            assert!(first.contains(&hash), "{first:?} is not of {hash}: run `cargo xtask ptx`");
        }
    }
}
