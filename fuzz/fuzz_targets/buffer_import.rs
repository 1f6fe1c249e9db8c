//! Python buffers, chosen by bytes. An import succeeds if and only if the buffer is legal. The
//! elements are those of the recipe, and the buffer is released exactly once, after the last use.
//!
//! The exporter guarantees that the memory exists. The recipe knows whether it stays within its
//! block of data; if not, the target does not access the elements.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossdock::bindings::pep3118::{Described, Flags, import};
use crossdock::memory::Birth;
use crate::{bytes_of, onward};
use crossdock_testkit::buffer::{Exporter, FORMATS, Recipe};
use crossdock_testkit::dlpack::Choices;

fuzz_target!(|data: &[u8]| {
    let recipe = Recipe::choose(&mut Choices(data));
    let mut exporter = Exporter::new(&recipe);
    let legal = recipe.is_legal(exporter.block());
    let numbers = |list: &Option<Vec<i64>>| -> Option<Vec<isize>> {
        list.as_ref().map(|list| list.iter().map(|&number| number as isize).collect())
    };
    let (shape, strides, suboffsets) =
        (numbers(&recipe.shape), numbers(&recipe.strides), numbers(&recipe.suboffsets));
    let described = Described {
        buf: exporter.address(&recipe),
        len: recipe.len as isize,
        itemsize: recipe.itemsize as isize,
        format: recipe.format.map(|number| FORMATS[number].0),
        shape: shape.as_deref(),
        strides: strides.as_deref(),
        suboffsets: suboffsets.as_deref(),
    };
    let releases = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&releases);
    let release = move || {
        count.fetch_add(1, Ordering::Relaxed);
    };
    // SAFETY: pointers lead into the live block or are null, and elements are accessed only if the
    // recipe stays within the block.
    let result = unsafe { import(&described, false, Birth::Aliased, release) };
    assert_eq!(result.is_ok(), legal, "{recipe:?}: {result:?}");
    if let Ok(array) = result {
        assert_eq!(releases.load(Ordering::Relaxed), 0);
        if let Some(bytes) = recipe.bytes() {
            onward(&array, &bytes);
            // Axes cannot be moved across pointers.
            let turned = array.transpose().and_then(|turned| turned.transpose());
            assert_eq!(turned.is_err(), array.is_indirect() && array.rank() > 1, "{recipe:?}");
            assert!(turned.is_err() || turned.is_ok_and(|turned| bytes_of(&turned) == bytes));
        }
        // A consumer's result does not depend on the elements.
        for bits in 0..512 {
            let given = Flags::from_bits(bits).given(array.layout(), array.is_readonly());
            assert!(given.is_ok() || !Flags::from_bits(bits).contains(Flags::INDIRECT) || bits & 0xe0 != 0);
        }
    }
    assert_eq!(releases.load(Ordering::Relaxed), 1);
});
