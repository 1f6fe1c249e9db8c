//! Each thread's stack of contexts.

use std::cell::{Cell, RefCell};

use crate::state::State;
use crate::status::{Result, Status};

thread_local! {
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
    static STACK: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    /// The handles of this thread's own default streams, by context.
    static OWN: RefCell<Vec<(usize, usize)>> = const { RefCell::new(Vec::new()) };
}

/// The thread's current context, or 0.
pub(crate) fn top() -> usize {
    STACK.with_borrow(|stack| stack.last().copied().unwrap_or(0))
}

pub(crate) fn push(context: usize) {
    STACK.with_borrow_mut(|stack| stack.push(context));
}

pub(crate) fn pop() -> Option<usize> {
    STACK.with_borrow_mut(Vec::pop)
}

/// Replaces the top, or removes it for 0.
pub(crate) fn set(context: usize) {
    STACK.with_borrow_mut(|stack| {
        stack.pop();
        if context != 0 {
            stack.push(context);
        }
    });
}

pub(crate) fn depth() -> usize {
    STACK.with_borrow(Vec::len)
}

/// The current context; an error if there is none.
pub(crate) fn context(state: &mut State) -> Result<usize> {
    match top() {
        0 => Err(state.misuse(Status::INVALID_CONTEXT, "no context is current")),
        context if state.contexts.contains_key(&context) => Ok(context),
        context => {
            Err(state
                .misuse(Status::CONTEXT_IS_DESTROYED, format!("the current context {context:#x} is gone")))
        }
    }
}

/// The thread's own default stream in a context, created on first use.
pub(crate) fn own_stream(context: usize, make: impl FnOnce() -> usize) -> usize {
    OWN.with_borrow_mut(|own| {
        if let Some(&(_, stream)) = own.iter().find(|&&(of, _)| of == context) {
            return stream;
        }
        let stream = make();
        own.push((context, stream));
        stream
    })
}

/// Runs a host function of the program, which must not call the driver.
pub(crate) fn in_host_function(run: impl FnOnce()) {
    IN_HOST_FUNCTION.set(true);
    run();
    IN_HOST_FUNCTION.set(false);
}

pub(crate) fn is_in_host_function() -> bool {
    IN_HOST_FUNCTION.get()
}
