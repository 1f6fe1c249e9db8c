//! NumPy's array interface as a producer describes it, in lines: the type string, the fields, the
//! name of the type. Shape, strides and the offset of element 0 follow as numbers. The result is an
//! error, or an array whose elements all lie within the bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crossdock::DArray;
use crossdock::buffer::Buffer;
use crossdock::bindings::array_interface::{Described, InterfaceType, import};
use crossdock::layout::Order;
use crossdock::memory::Birth;
use crate::onward;

/// The number of bytes.
const BYTES: usize = 256;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let lines: Vec<&str> = text.split('\n').collect();
    let line = |number: usize| lines.get(number).copied().unwrap_or_default();
    let some = |number: usize| Some(line(number)).filter(|line| !line.is_empty());
    let numbers = |number: usize| -> Vec<isize> {
        line(number).split(',').filter_map(|part| part.parse().ok()).collect()
    };
    let (shape, strides) = (numbers(3), some(4).map(|_| numbers(4)));
    let offset = line(5).parse::<usize>().unwrap_or(0);

    let memory = Buffer::from_vec((0..BYTES).map(|byte| byte as u8).collect()).expect("a few bytes");
    let described = Described {
        typestr: line(0),
        descr: some(1),
        name: some(2),
        data: memory.as_ptr().cast_mut().wrapping_add(offset),
        shape: &shape,
        strides: strides.as_deref(),
    };
    let Ok((dtype, layout)) = described.checked() else {
        refused(&described);
        return;
    };
    let words = InterfaceType::of(&dtype);
    assert!(
        words.is_ok_and(|words| !words.typestr().is_empty())
            || dtype.as_scalar().is_none()
            || described.name.is_some()
    );
    let inside = DArray::from_buffer(memory.clone(), dtype, layout, offset);
    if let Ok(array) = inside {
        // SAFETY: `inside` just proved that the elements lie within the bytes of `memory`, which
        // outlives the array and is never written.
        let taken =
            unsafe { import(&described, true, Birth::Constant, || {}) }.expect("what lies within memory");
        assert_eq!((taken.shape(), taken.dtype()), (array.shape(), array.dtype()));
        if taken.nbytes() <= 1 << 16 {
            let copies = [&taken, &array].map(|array| array.to_order(Order::RowMajor).expect("a small copy"));
            let bytes = copies
                .map(|copy| copy.buffer().expect("one more handle").0.pin().expect("no writer").to_vec());
            assert_eq!(bytes[0], bytes[1]);
            onward(&taken, &bytes[0]);
        }
    }
});

/// An invalid description is released at once.
fn refused(described: &Described<'_>) {
    let released = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&released);
    let release = move || {
        counter.fetch_add(1, Relaxed);
    };
    // SAFETY: the callers pass an invalid description, which the import refuses before it accesses
    // memory.
    let error =
        unsafe { import(described, true, Birth::Constant, release) }.expect_err("what was refused before");
    assert!(!error.to_string().is_empty() && released.load(Relaxed) == 1);
}
