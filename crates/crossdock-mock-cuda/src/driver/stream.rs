//! Streams.

use std::ffi::{c_int, c_uint, c_void};

use crate::abi::{HostFunction, Out};
use crate::call::driver;
use crate::current;
use crate::memory::unlocked;
use crate::queue::Work;
use crate::state::{State, wait_until};
use crate::status::{Result, Status};

const NON_BLOCKING: c_uint = 1;

impl State {
    fn new_stream(&mut self, flags: c_uint) -> Result<usize> {
        if flags & !NON_BLOCKING != 0 {
            return Err(self.misuse(Status::INVALID_VALUE, format!("flags {flags:#x}")));
        }
        let context = current::context(self)?;
        Ok(self.make_stream(context, flags & NON_BLOCKING == 0, true))
    }
}

driver! {
    /// A stream of the current context.
    fn cuStreamCreate(stream: Out<usize>, flags: c_uint) needs Context |mut state| stream.set(state.new_stream(flags)?)

    /// The same; priorities have no effect.
    fn cuStreamCreateWithPriority(stream: Out<usize>, flags: c_uint, priority: c_int) needs Context |mut state| {
        let _any = priority;
        stream.set(state.new_stream(flags)?)
    }

    /// Destroys a stream; its work is still done.
    fn cuStreamDestroy_v2(stream: usize) needs ContextToDestroy |mut state| {
        let id = state.stream(stream)?;
        if !state.streams.get(&id).is_some_and(|stream| stream.is_made) {
            return Err(state.misuse(Status::INVALID_HANDLE, "a default stream is not destroyed"));
        }
        state.streams.remove(&id);
        state.close_queue(id);
        Ok(())
    }

    /// Waits until all work in the stream is done.
    fn cuStreamSynchronize(stream: usize) needs Context |mut state| {
        let stream = state.stream(stream)?;
        let context = current::context(&mut state)?;
        // An empty piece of work, so that the default stream waits for the other streams, too.
        let mark = state.put(stream, Vec::new(), Work::Nothing)?;
        let mut state = wait_until(state, |_| mark.is_reached())?;
        state.context(context)?.sticky.map_or(Ok(()), Err)
    }

    /// Whether all work in the stream is done.
    fn cuStreamQuery(stream: usize) needs Context |mut state| {
        let stream = state.stream(stream)?;
        if state.last(stream).is_none_or(|mark| mark.is_reached()) { Ok(()) } else { Err(Status::NOT_READY) }
    }

    /// Makes later work in the stream wait for an event, as it was last recorded.
    fn cuStreamWaitEvent(stream: usize, event: usize, flags: c_uint) needs Context |mut state| {
        let stream = state.stream(stream)?;
        if flags != 0 {
            return Err(state.misuse(Status::INVALID_VALUE, format!("flags {flags:#x}")));
        }
        let Some(mark) = state.event(event)?.mark.clone() else { return Ok(()) };
        state.put(stream, vec![mark], Work::Nothing)?;
        Ok(())
    }

    /// The context of a stream.
    fn cuStreamGetCtx(stream: usize, context: Out<usize>) needs Driver |mut state| {
        let of = match stream {
            0..=2 => current::context(&mut state)?,
            _ => match state.streams.get(&stream) {
                Some(stream) => stream.context,
                None => return Err(state.misuse(Status::INVALID_HANDLE, format!("{stream:#x} is no stream"))),
            },
        };
        context.set(of)
    }

    /// Calls a function of the program in stream order, unless earlier work failed.
    fn cuLaunchHostFunc(stream: usize, function: HostFunction, data: *mut c_void) needs Context |mut state| {
        let stream = state.stream(stream)?;
        let run = function.with(data)?;
        let work = Work::run(move |state| {
            unlocked(state, || current::in_host_function(run));
            Ok(())
        });
        state.put(stream, Vec::new(), work)?;
        Ok(())
    }
}
