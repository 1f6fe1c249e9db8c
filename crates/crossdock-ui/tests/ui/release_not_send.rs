//! A release callback runs on the thread that drops the last holder.

use std::rc::Rc;

use crossdock::buffer::Buffer;
use crossdock::memory::{Birth, Place};

fn main() {
    let counter = Rc::new(());
    // SAFETY: the buffer has 0 bytes, so no memory has to be valid.
    let _buffer = unsafe {
        Buffer::from_foreign(std::ptr::null_mut(), 0, Place::CPU, Birth::Sole, move || drop(counter))
    };
}
