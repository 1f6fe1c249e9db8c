//! Kernels, compiled by the driver when the first of a program is needed.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::sync::{Mutex, MutexGuard, PoisonError};

use opencl_sys::*;

use crate::driver::Driver;
use crate::error::check;
use crate::object::{Object, OfKernel, OfProgram};
use crate::query::{Subject, one};
use crossdock::device::engine::{Kernel, Program};
use crossdock::memory::Place;
use crossdock::{Error, Result};

/// What of the source a context has compiled.
#[derive(Default)]
pub(crate) struct Programs {
    /// Held while a kernel is given its arguments and put into a queue: the driver keeps them with
    /// the kernel. Never taken in a child of the process that made it.
    compiled: Mutex<Compiled>,
}

#[derive(Default)]
pub(crate) struct Compiled {
    programs: HashMap<Program, Object<OfProgram>>,
    kernels: HashMap<Kernel, Object<OfKernel>>,
}

impl Programs {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Compiled> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What programs are compiled for: a device, in a context.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) driver: &'static Driver,
    pub(crate) place: Place,
    pub(crate) context: cl_context,
    pub(crate) device: cl_device_id,
}

impl Compiled {
    /// The kernel, compiled now if it was not yet.
    ///
    /// # Errors
    ///
    /// What the driver says, its compiler among it; `is_unsupported` where the device does not suit
    /// the kernels.
    pub(crate) fn kernel(&mut self, target: &Target, kernel: Kernel) -> Result<cl_kernel> {
        if let Some(made) = self.kernels.get(&kernel) {
            return Ok(made.raw());
        }
        let (driver, mut status) = (target.driver, CL_SUCCESS);
        let program = self.program(target, kernel.program())?;
        // SAFETY: a program that was built, and a name that ends with a zero (Driver 1).
        let raw = unsafe { (driver.create_kernel)(program, kernel.name().as_ptr(), &raw mut status) };
        // SAFETY: the driver gave it.
        let made = unsafe { Object::made(raw, status, driver, target.place, "clCreateKernel") }?;
        self.kernels.insert(kernel, made);
        Ok(raw)
    }

    fn program(&mut self, target: &Target, program: Program) -> Result<cl_program> {
        if let Some(built) = self.programs.get(&program) {
            return Ok(built.raw());
        }
        let &Target { driver, place, context, device } = target;
        // SAFETY: a device of the driver's, which stays.
        let is_little = unsafe { one::<cl_uint>(driver, Subject::Device(device), CL_DEVICE_ENDIAN_LITTLE) }?;
        if (is_little == 0) == cfg!(target_endian = "little") {
            return Err(Error::unsupported(format!("{} has another byte order than the processor", place)));
        }
        let source = program.source();
        let mut text = source.as_ptr().cast::<c_char>();
        let (length, mut status) = (source.len(), CL_SUCCESS);
        // SAFETY: a context that is alive, and a text with its length, which the driver copies
        // (Driver 1).
        let raw =
            unsafe { (driver.create_program)(context, 1, &raw mut text, &raw const length, &raw mut status) };
        // SAFETY: the driver gave it.
        let built =
            unsafe { Object::<OfProgram>::made(raw, status, driver, place, "clCreateProgramWithSource") }?;
        const OPTIONS: &CStr = c"-cl-std=CL1.2";
        // SAFETY: a program of the context, one of its devices, and options that end with a zero;
        // no callback is passed, so the call returns when the build is done (Driver 1).
        let status = unsafe {
            (driver.build_program)(raw, 1, &raw const device, OPTIONS.as_ptr(), None, std::ptr::null_mut())
        };
        check(status, "clBuildProgram")
            .map_err(|error| Error::device(format!("{}: {error}: {}", place, log(target, raw))))?;
        self.programs.insert(program, built);
        Ok(raw)
    }
}

/// What the compiler had to say, or the beginning of it.
#[cold]
fn log(target: &Target, program: cl_program) -> String {
    const MOST: usize = 2000;
    let mut text = vec![0_u8; MOST];
    let mut nbytes = 0;
    // SAFETY: a program that is alive and a device of its context; the text has room for as much as
    // is told (Driver 1).
    let status = unsafe {
        (target.driver.get_build_info)(
            program,
            target.device,
            CL_PROGRAM_BUILD_LOG,
            text.len(),
            text.as_mut_ptr().cast(),
            &raw mut nbytes,
        )
    };
    text.truncate(if status == CL_SUCCESS { nbytes } else { 0 });
    let text = String::from_utf8_lossy(&text);
    if text.trim().is_empty() { "the compiler says nothing of it".to_owned() } else { text.trim().to_owned() }
}
