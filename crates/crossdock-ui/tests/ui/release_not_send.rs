//! A release callback runs on whichever thread the last holder goes.

use std::rc::Rc;

use crossdock::buffer::Buffer;
use crossdock::memory::{Birth, Place};

fn main() {
    let counter = Rc::new(());
    // SAFETY: no bytes at all.
    let _buffer = unsafe {
        Buffer::from_foreign(std::ptr::null_mut(), 0, Place::CPU, Birth::Sole, move || drop(counter))
    };
}
