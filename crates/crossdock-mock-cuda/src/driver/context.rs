//! Contexts, and the current context of each thread.

use std::collections::BTreeSet;
use std::ffi::{c_int, c_uint};

use crate::abi::Out;
use crate::call::driver;
use crate::current;
use crate::state::{Context, State, wait_until};
use crate::status::Status;

impl State {
    fn make_context(&mut self, device: i32, is_primary: bool) -> usize {
        let handle = self.handle();
        let context = Context { device, is_primary, sticky: None, legacy: None, peers: BTreeSet::new() };
        self.contexts.insert(handle, context);
        handle
    }
}

driver! {
    /// A device's primary context, created on first use.
    fn cuDevicePrimaryCtxRetain(context: Out<usize>, device: c_int) needs Driver |mut state| {
        let primary = match state.device(device)?.primary {
            Some(primary) => primary,
            None => state.make_context(device, true),
        };
        let device = state.device(device)?;
        device.primary = Some(primary);
        device.retained += 1;
        context.set(primary)
    }

    /// Releases the primary context; the last release destroys it.
    fn cuDevicePrimaryCtxRelease_v2(device: c_int) needs DriverToDestroy |mut state| {
        let of = state.device(device)?;
        let Some(primary) = of.primary else {
            return Err(state.misuse(Status::INVALID_CONTEXT, format!("device {device} has no primary context")));
        };
        of.retained -= 1;
        if of.retained == 0 {
            state.destroy_context(primary);
        }
        Ok(())
    }

    /// Creates a context of the program's own and makes it current.
    fn cuCtxCreate_v2(context: Out<usize>, flags: c_uint, device: c_int) needs Driver |mut state| {
        let _any = flags;
        state.device(device)?;
        let made = state.make_context(device, false);
        current::push(made);
        context.set(made)
    }

    /// Destroys a program's own context, and removes it if it is current.
    fn cuCtxDestroy_v2(context: usize) needs DriverToDestroy |mut state| {
        if state.context(context)?.is_primary {
            return Err(state.misuse(Status::INVALID_CONTEXT, "a primary context is released, not destroyed"));
        }
        state.destroy_context(context);
        if current::top() == context {
            current::pop();
        }
        Ok(())
    }

    /// The current context of this thread, or null.
    fn cuCtxGetCurrent(context: Out<usize>) needs Driver |_state| context.set(current::top())

    /// Replaces the current context.
    fn cuCtxSetCurrent(context: usize) needs Driver |mut state| {
        if context != 0 {
            state.context(context)?;
        }
        current::set(context);
        Ok(())
    }

    /// Pushes a context.
    fn cuCtxPushCurrent_v2(context: usize) needs Driver |mut state| {
        state.context(context)?;
        current::push(context);
        Ok(())
    }

    /// Pops the current context.
    fn cuCtxPopCurrent_v2(context: Out<usize>) needs DriverToDestroy |mut state| {
        match current::pop() {
            Some(popped) => context.set_if_wanted(popped),
            None => Err(state.misuse(Status::INVALID_CONTEXT, "no context is current")),
        }
    }

    /// Waits for all work in the current context.
    fn cuCtxSynchronize() needs Context |mut state| {
        let context = current::context(&mut state)?;
        let streams = state.streams.iter().filter(|(_, stream)| stream.context == context);
        let marks: Vec<_> = streams.filter_map(|(&stream, _)| state.last(stream)).collect();
        let mut state = wait_until(state, |_| marks.iter().all(|mark| mark.is_reached()))?;
        state.context(context)?.sticky.map_or(Ok(()), Err)
    }

    /// Lets the current context access memory of another device.
    fn cuCtxEnablePeerAccess(peer: usize, flags: c_uint) needs Context |mut state| {
        let context = current::context(&mut state)?;
        if flags != 0 || peer == context {
            return Err(state.misuse(Status::INVALID_VALUE, "flags are 0, and the peer is another context"));
        }
        state.context(peer)?;
        if !state.config.reaches_peers {
            return Err(Status::PEER_ACCESS_UNSUPPORTED);
        }
        if !state.context(context)?.peers.insert(peer) {
            return Err(Status::PEER_ACCESS_ALREADY_ENABLED);
        }
        Ok(())
    }
}
