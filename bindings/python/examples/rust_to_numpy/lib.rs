//! A Rust library without any knowledge of Python: it allocates numbers, and frees them on request.

/// The first `count` squares. `free_squares` frees them.
#[unsafe(no_mangle)]
pub extern "C" fn make_squares(count: usize) -> *mut f64 {
    let squares: Box<[f64]> = (0..count).map(|k| (k * k) as f64).collect();
    Box::into_raw(squares).cast()
}

/// # Safety
///
/// `squares` is what `make_squares` returned for this `count`, and is freed only once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free_squares(squares: *mut f64, count: usize) {
    println!("freed by Rust");
    let slice = std::ptr::slice_from_raw_parts_mut(squares, count);
    // SAFETY: `# Safety`: the pointer and the length are those of a boxed slice that
    // `make_squares` leaked.
    drop(unsafe { Box::from_raw(slice) });
}
