//! Events.

use std::ffi::c_uint;

use crate::abi::Out;
use crate::call::driver;
use crate::current;
use crate::queue::Work;
use crate::state::{Event, State, wait_until};
use crate::status::{Result, Status};

impl State {
    pub(crate) fn event(&mut self, handle: usize) -> Result<&mut Event> {
        if !self.events.contains_key(&handle) {
            return Err(self.misuse(Status::INVALID_HANDLE, format!("{handle:#x} is no event")));
        }
        self.events.get_mut(&handle).ok_or(Status::INVALID_HANDLE)
    }
}

driver! {
    /// An event of the current context.
    fn cuEventCreate(event: Out<usize>, flags: c_uint) needs Context |mut state| {
        let context = current::context(&mut state)?;
        if flags & !7 != 0 {
            return Err(state.misuse(Status::INVALID_VALUE, format!("flags {flags:#x}")));
        }
        let made = state.handle();
        state.events.insert(made, Event { context, mark: None });
        event.set(made)
    }

    /// Destroys an event; streams that wait for it continue to wait.
    fn cuEventDestroy_v2(event: usize) needs ContextToDestroy |mut state| {
        state.event(event)?;
        state.events.remove(&event);
        Ok(())
    }

    /// Records the event: it completes with all work that is in the stream now.
    fn cuEventRecord(event: usize, stream: usize) needs Context |mut state| {
        let stream = state.stream(stream)?;
        let context = current::context(&mut state)?;
        if state.event(event)?.context != context {
            return Err(state.misuse(Status::INVALID_HANDLE, "the event and the stream are of different contexts"));
        }
        let mark = state.put(stream, Vec::new(), Work::Nothing)?;
        state.event(event)?.mark = Some(mark);
        Ok(())
    }

    /// Whether the event is complete; an event that was never recorded is.
    fn cuEventQuery(event: usize) needs Context |mut state| {
        match &state.event(event)?.mark {
            Some(mark) if !mark.is_reached() => Err(Status::NOT_READY),
            _ => failed(&mut state, event),
        }
    }

    /// Waits for the event.
    fn cuEventSynchronize(event: usize) needs Context |mut state| {
        if let Some(mark) = state.event(event)?.mark.clone() {
            state = wait_until(state, |_| mark.is_reached())?;
        }
        failed(&mut state, event)
    }
}

/// The error of failed work in the event's context.
fn failed(state: &mut State, event: usize) -> Result {
    // The event may have been destroyed during the wait.
    let Some(context) = state.events.get(&event).map(|event| event.context) else { return Ok(()) };
    state.contexts.get(&context).and_then(|context| context.sticky).map_or(Ok(()), Err)
}
