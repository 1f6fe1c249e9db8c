//! Programs for a device, loaded when the first of their functions is launched.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::context::Context;
use crate::sys;
use crossdock::Result;

/// How a launch is divided: threads are counted along one axis, in blocks of as many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
}

/// The programs of one device, loaded once each.
pub(crate) struct Modules {
    context: Arc<Context>,
    loaded: Mutex<Vec<Loaded>>,
}

struct Loaded {
    image: &'static CStr,
    module: sys::Module,
    functions: Vec<(&'static CStr, sys::Function)>,
}

impl Modules {
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context, loaded: Mutex::new(Vec::new()) }
    }

    /// A function of a program, which is given as PTX: the driver compiles it for the device when
    /// it is first asked for. It stays as long as the device is in use.
    ///
    /// # Errors
    ///
    /// What the driver says; in a forked child.
    pub(crate) fn function(&self, image: &'static CStr, name: &'static CStr) -> Result<sys::Function> {
        let current = self.context.enter()?;
        let driver = self.context.driver();
        // Held meanwhile, so that nothing is compiled twice.
        let mut programs = self.lock();
        let place = match programs.iter().position(|program| program.image.as_ptr() == image.as_ptr()) {
            Some(place) => place,
            None => {
                let mut module = sys::Module::NULL;
                // SAFETY: the context is current; the text ends with a zero, and lives as long as
                // the program.
                unsafe { driver.module_load_data(&raw mut module, image.as_ptr().cast::<c_void>()) }?;
                programs.push(Loaded { image, module, functions: Vec::new() });
                programs.len() - 1
            }
        };
        let Loaded { module, functions, .. } = &mut programs[place];
        if let Some(&(_, function)) = functions.iter().find(|(known, _)| *known == name) {
            return Ok(function);
        }
        let mut function = sys::Function::NULL;
        // SAFETY: a module of this context, loaded above or before; the name ends with a zero.
        unsafe { driver.module_get_function(&raw mut function, *module, name.as_ptr()) }?;
        functions.push((name, function));
        drop(programs);
        drop(current);
        Ok(function)
    }

    /// Puts a launch into a stream.
    ///
    /// # Errors
    ///
    /// What the driver says. The function is not run then.
    ///
    /// # Safety
    ///
    /// The function is of this device, and takes arguments of the types that `arguments` point to;
    /// the memory that it touches stays until it is over. The stream is of this device, and the
    /// context current.
    pub(crate) unsafe fn launch(
        &self,
        function: sys::Function,
        grid: Grid,
        stream: sys::Stream,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        let driver = self.context.driver();
        let Grid { blocks, threads } = grid;
        let (arguments, nothing) = (arguments.as_mut_ptr(), std::ptr::null_mut());
        // SAFETY: the arguments are those of the function, the memory that it touches stays, and
        // the context is current (`# Safety`); the driver copies the arguments before it returns.
        Ok(unsafe {
            driver.launch_kernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nothing)
        }?)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Loaded>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Modules {
    fn drop(&mut self) {
        let programs = std::mem::take(self.loaded.get_mut().unwrap_or_else(PoisonError::into_inner));
        for program in programs {
            // SAFETY: loaded in `function`, and unloaded here alone. The stream and the event of
            // each launch own the `Core`, and with it these modules, so no launch is in flight.
            self.context.release_quietly(|driver| unsafe { driver.module_unload(program.module) });
        }
    }
}

impl fmt::Debug for Modules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Modules({})", self.context.place())
    }
}
