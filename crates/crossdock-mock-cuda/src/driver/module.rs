//! Modules, functions and launches.

use std::ffi::{c_uint, c_void};

use crate::abi::{In, Out, Text};
use crate::call::driver;
use crate::module::{Shape, arguments, launch};
use crate::status::Status;

driver! {
    /// Loads PTX into the current context.
    fn cuModuleLoadData(module: Out<usize>, image: Text) needs Context |mut state| {
        let (context, device) = state.here()?;
        let text = image.get()?;
        module.set(state.load(context, device, &text)?)
    }

    /// Unloads a module, with its functions.
    fn cuModuleUnload(module: usize) needs ContextToDestroy |mut state| {
        if state.modules.remove(&module).is_none() {
            return Err(state.misuse(Status::INVALID_HANDLE, format!("{module:#x} is no module")));
        }
        state.functions.retain(|_, function| function.module != module);
        Ok(())
    }

    /// A function of a module.
    fn cuModuleGetFunction(function: Out<usize>, module: usize, name: Text) needs Context |mut state| {
        function.set(state.entry(module, name.get()?)?)
    }

    /// Enqueues a launch in a stream.
    fn cuLaunchKernel(
        function: usize,
        groups_x: c_uint,
        groups_y: c_uint,
        groups_z: c_uint,
        items_x: c_uint,
        items_y: c_uint,
        items_z: c_uint,
        shared_nbytes: c_uint,
        stream: usize,
        parameters: In<*const c_void>,
        extra: In<*const c_void>,
    ) needs Context |mut state| {
        if !extra.is_null() || parameters.is_null() {
            return Err(state.misuse(Status::INVALID_VALUE, "parameters are passed as a list of pointers"));
        }
        let (groups, items) = ([groups_x, groups_y, groups_z], [items_x, items_y, items_z]);
        launch(state, function, Shape { groups, items, shared_nbytes }, stream, arguments(&parameters)?)
    }
}
