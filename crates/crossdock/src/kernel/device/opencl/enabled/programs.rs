//! Kernels, compiled by the driver when the first of a program is needed.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use opencl_sys::*;

use crate::device::opencl::enabled::context::Context;
use crate::device::opencl::enabled::error::check;
use crate::device::opencl::enabled::event::ClEvent;
use crate::device::opencl::enabled::object::{Object, OfKernel, OfProgram};
use crate::device::opencl::enabled::query::{Subject, one};
use crate::device::opencl::enabled::queue::wait_list;
use crate::error::{Error, Result};
use crate::kernel::device::job::{ITEMS, Job, Kernel, Program};

/// What of the source a context has compiled.
#[derive(Default)]
pub(super) struct Programs {
    /// Held while a kernel is given its arguments and put into a queue: the driver keeps them with the kernel. Never taken in a child of the
    /// process that made it.
    compiled: Mutex<Compiled>,
}

#[derive(Default)]
struct Compiled {
    programs: HashMap<Program, Object<OfProgram>>,
    kernels: HashMap<Kernel, Object<OfKernel>>,
}

impl Programs {
    /// Puts a kernel into a queue, behind some events.
    ///
    /// # Errors
    ///
    /// What the driver says, its compiler among it; `is_unsupported` where the device does not suit the kernels.
    ///
    /// # Safety
    ///
    /// The objects are null or of the context, and hold all that the job reaches, until the work is over; queue and events are the
    /// context's, and alive.
    #[expect(clippy::too_many_arguments, reason = "those of a launch")]
    pub(super) unsafe fn launch(
        &self,
        context: &Arc<Context>,
        kernel: Kernel,
        groups: u32,
        objects: [cl_mem; 3],
        job: &Job,
        queue: cl_command_queue,
        events: &[cl_event],
    ) -> Result<ClEvent> {
        let driver = context.driver();
        driver.check_process()?;
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let raw = compiled.kernel(context, kernel)?;
        let pointers =
            objects.iter().map(|object| (size_of::<cl_mem>(), (&raw const *object).cast::<c_void>()));
        let job = (size_of::<Job>(), (&raw const *job).cast::<c_void>());
        for (number, (nbytes, value)) in (0..).zip(pointers.chain([job])) {
            // SAFETY: a kernel that is alive, and a value of the size that its parameter has (Driver 1).
            let status = unsafe { (driver.set_kernel_argument)(raw, number, nbytes, value) };
            check(status, "clSetKernelArg").map_err(|error| error.within(context.place()))?;
        }
        let (global, local) = (groups as usize * ITEMS, ITEMS);
        let ((count, list), mut end) = (wait_list(events), std::ptr::null_mut());
        // SAFETY: the caller's word; the kernel has all its arguments (Driver 1).
        let status = unsafe {
            (driver.enqueue_kernel)(
                queue,
                raw,
                1,
                std::ptr::null(),
                &raw const global,
                &raw const local,
                count,
                list,
                &raw mut end,
            )
        };
        // SAFETY: the driver gave it.
        unsafe { ClEvent::made(end, status, context, "clEnqueueNDRangeKernel") }
    }
}

impl Compiled {
    fn kernel(&mut self, context: &Arc<Context>, kernel: Kernel) -> Result<cl_kernel> {
        if let Some(made) = self.kernels.get(&kernel) {
            return Ok(made.raw());
        }
        let (driver, mut status) = (context.driver(), CL_SUCCESS);
        let program = self.program(context, kernel.program())?;
        // SAFETY: a program that was built, and a name that ends with a zero (Driver 1).
        let raw = unsafe { (driver.create_kernel)(program, kernel.name().as_ptr(), &raw mut status) };
        // SAFETY: the driver gave it.
        let made = unsafe { Object::made(raw, status, driver, context.place(), "clCreateKernel") }?;
        self.kernels.insert(kernel, made);
        Ok(raw)
    }

    fn program(&mut self, context: &Arc<Context>, program: Program) -> Result<cl_program> {
        if let Some(built) = self.programs.get(&program) {
            return Ok(built.raw());
        }
        let (driver, device) = (context.driver(), context.device());
        // SAFETY: a device of the driver's, which stays.
        let is_little = unsafe { one::<cl_uint>(driver, Subject::Device(device), CL_DEVICE_ENDIAN_LITTLE) }?;
        if (is_little == 0) == cfg!(target_endian = "little") {
            return Err(Error::unsupported(format!(
                "{} has another byte order than the processor",
                context.place()
            )));
        }
        let parts = program.source();
        let mut texts = parts.map(|part| part.as_ptr().cast::<c_char>());
        let (lengths, mut status) = (parts.map(str::len), CL_SUCCESS);
        // SAFETY: a context that is alive, and texts with their lengths, which the driver copies (Driver 1).
        let raw = unsafe {
            (driver.create_program)(
                context.raw(),
                texts.len() as cl_uint,
                texts.as_mut_ptr(),
                lengths.as_ptr(),
                &raw mut status,
            )
        };
        // SAFETY: the driver gave it.
        let built = unsafe {
            Object::<OfProgram>::made(raw, status, driver, context.place(), "clCreateProgramWithSource")
        }?;
        const OPTIONS: &CStr = c"-cl-std=CL1.2";
        // SAFETY: a program of the context, one of its devices, and options that end with a zero; nobody is told later (Driver 1).
        let status = unsafe {
            (driver.build_program)(raw, 1, &raw const device, OPTIONS.as_ptr(), None, std::ptr::null_mut())
        };
        check(status, "clBuildProgram")
            .map_err(|error| Error::device(format!("{}: {error}: {}", context.place(), log(context, raw))))?;
        self.programs.insert(program, built);
        Ok(raw)
    }
}

/// What the compiler had to say, or the beginning of it.
#[cold]
fn log(context: &Context, program: cl_program) -> String {
    const MOST: usize = 2000;
    let mut text = vec![0_u8; MOST];
    let (driver, mut nbytes) = (context.driver(), 0);
    // SAFETY: a program that is alive and a device of its context; the text has room for as much as is told (Driver 1).
    let status = unsafe {
        (driver.get_build_info)(
            program,
            context.device(),
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
