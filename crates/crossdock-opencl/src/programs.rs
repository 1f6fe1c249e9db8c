//! Kernels. The driver compiles a program when its first kernel is needed.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::sync::{Mutex, MutexGuard, PoisonError};

use opencl_sys::*;

use crate::driver::Driver;
use crate::error::check;
use crate::object::{Object, OfContext, OfKernel, OfProgram};
use crate::query::{Subject, one};
use crossdock::device::engine::{Kernel, Program};
use crossdock::memory::Place;
use crossdock::{Error, Result};

/// The compiled programs of a context.
#[derive(Default)]
pub(crate) struct Programs {
    /// Held while a kernel's arguments are set and it is enqueued, because the driver stores them
    /// in the kernel. A forked child never takes the lock.
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

/// The target of a compilation: a device in a context.
///
/// # Invariants
///
/// 1. The device is one of the context.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    driver: &'static Driver,
    place: Place,
    context: &'a Object<OfContext>,
    device: cl_device_id,
}

impl<'a> Target<'a> {
    /// # Safety
    ///
    /// 1. The device is one of the context, which is of this driver (Target 1).
    pub(crate) unsafe fn new(
        driver: &'static Driver,
        place: Place,
        context: &'a Object<OfContext>,
        device: cl_device_id,
    ) -> Self {
        Self { driver, place, context, device }
    }
}

impl Compiled {
    /// The kernel. The first call compiles it.
    ///
    /// # Errors
    ///
    /// The driver's error, including those of its compiler; `is_unsupported` where the device does
    /// not support the kernels.
    pub(crate) fn kernel(&mut self, target: &Target<'_>, kernel: Kernel) -> Result<cl_kernel> {
        if let Some(made) = self.kernels.get(&kernel) {
            return Ok(made.raw());
        }
        let (driver, mut status) = (target.driver, CL_SUCCESS);
        let program = self.program(target, kernel.program())?;
        // SAFETY: `programs` owns the program, which was built, the name is a C string, and
        // `status` is a local variable (Driver 1).
        let raw = unsafe { (driver.create_kernel)(program, kernel.name().as_ptr(), &raw mut status) };
        // SAFETY: `clCreateKernel` returned `raw` with `status`; on success the reference is this
        // caller's to pass on.
        let made = unsafe { Object::made(raw, status, driver, target.place, "clCreateKernel") }?;
        self.kernels.insert(kernel, made);
        Ok(raw)
    }

    fn program(&mut self, target: &Target<'_>, program: Program) -> Result<cl_program> {
        if let Some(built) = self.programs.get(&program) {
            return Ok(built.raw());
        }
        let &Target { driver, place, context, device } = target;
        let context = context.raw();
        // SAFETY: the driver returned the context's device (Target 1), which is valid as long as
        // the process lives.
        let is_little = unsafe { one::<cl_uint>(driver, Subject::Device(device), CL_DEVICE_ENDIAN_LITTLE) }?;
        if (is_little == 0) == cfg!(target_endian = "little") {
            return Err(Error::unsupported(format!("{} has another byte order than the CPU", place)));
        }
        let source = program.source();
        let mut text = source.as_ptr().cast::<c_char>();
        let (length, mut status) = (source.len(), CL_SUCCESS);
        // SAFETY: `target` holds the context (Object 1); the text has `length` bytes, which the
        // driver copies during the call (Driver 1).
        let raw =
            unsafe { (driver.create_program)(context, 1, &raw mut text, &raw const length, &raw mut status) };
        // SAFETY: `clCreateProgramWithSource` returned `raw` with `status`; on success the
        // reference is this caller's to pass on.
        let built =
            unsafe { Object::<OfProgram>::made(raw, status, driver, place, "clCreateProgramWithSource") }?;
        const OPTIONS: &CStr = c"-cl-std=CL1.2";
        // SAFETY: `built` owns the program, the device is one of its context, and the options are a
        // C string. There is no callback, so the call returns when the build is done (Driver 1).
        let status = unsafe {
            (driver.build_program)(raw, 1, &raw const device, OPTIONS.as_ptr(), None, std::ptr::null_mut())
        };
        check(status, "clBuildProgram")
            .map_err(|error| Error::device(format!("{}: {error}: {}", place, log(target, raw))))?;
        self.programs.insert(program, built);
        Ok(raw)
    }
}

/// The compiler's log, or its beginning.
#[cold]
fn log(target: &Target<'_>, program: cl_program) -> String {
    const MOST: usize = 2000;
    let mut text = vec![0_u8; MOST];
    let mut nbytes = 0;
    // SAFETY: the caller owns the program, the device is one of its context, and `text` has room
    // for `text.len()` bytes (Driver 1).
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
    // An error message is one line.
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { "the compiler gave no reason".to_owned() } else { lines.join("; ") }
}
