//! Programs on a device, each loaded at the first launch of one of its functions.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::context::Context;
use crate::sys;
use crossdock::Result;

/// The size of a launch: blocks, and threads per block, along one axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
}

/// The programs of one device, loaded once each.
pub(crate) struct Modules {
    context: Arc<Context>,
    loaded: Mutex<Vec<LoadedModule>>,
}

struct LoadedModule {
    image: &'static CStr,
    module: sys::Module,
    functions: Vec<(&'static CStr, sys::Function)>,
}

impl Modules {
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context, loaded: Mutex::new(Vec::new()) }
    }

    /// A function of a program in PTX. The driver compiles the program for the device when it is
    /// first requested. It stays loaded as long as the device is in use.
    ///
    /// # Errors
    ///
    /// The driver's error; any call in a forked child.
    pub(crate) fn function(&self, image: &'static CStr, name: &'static CStr) -> Result<sys::Function> {
        let current = self.context.enter()?;
        let driver = self.context.driver();
        // Held during compilation, so that nothing is compiled twice.
        let mut programs = self.lock();
        let place = match programs.iter().position(|program| program.image.as_ptr() == image.as_ptr()) {
            Some(place) => place,
            None => {
                let mut module = sys::Module::NULL;
                // SAFETY: `current` keeps the context current, and the image is a static C string.
                unsafe { driver.module_load_data(&raw mut module, image.as_ptr().cast::<c_void>()) }?;
                programs.push(LoadedModule { image, module, functions: Vec::new() });
                programs.len() - 1
            }
        };
        let LoadedModule { module, functions, .. } = &mut programs[place];
        if let Some(&(_, function)) = functions.iter().find(|(known, _)| *known == name) {
            return Ok(function);
        }
        let mut function = sys::Function::NULL;
        // SAFETY: the module was loaded into this context and is unloaded by the drop of `self`
        // only; the name is a C string.
        unsafe { driver.module_get_function(&raw mut function, *module, name.as_ptr()) }?;
        functions.push((name, function));
        drop(programs);
        drop(current);
        Ok(function)
    }

    /// Enqueues a launch.
    ///
    /// # Errors
    ///
    /// The driver's error. In that case the function does not run.
    ///
    /// # Safety
    ///
    /// 1. The function is of this device, and its parameters have the types that `arguments` point
    ///    to.
    /// 2. The memory that it touches is kept until the launch is over, under leases that permit its
    ///    accesses.
    /// 3. The stream is of this device, and alive, and the context is current.
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
        // SAFETY: clause 1 of `# Safety`: the arguments are those of the function; clause 2: its
        // memory is kept; clause 3: the stream is alive and the context current. The driver copies
        // the arguments before it returns.
        Ok(unsafe {
            driver.launch_kernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nothing)
        }?)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<LoadedModule>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Modules {
    fn drop(&mut self) {
        let programs = std::mem::take(self.loaded.get_mut().unwrap_or_else(PoisonError::into_inner));
        for program in programs {
            // SAFETY: `function` loaded the module, and only this drop unloads it. The stream and
            // the event of each launch own the `Core`, and with it these modules, so no launch is
            // in flight.
            self.context.release_quietly(|driver| unsafe { driver.module_unload(program.module) });
        }
    }
}

impl fmt::Debug for Modules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Modules({})", self.context.place())
    }
}
