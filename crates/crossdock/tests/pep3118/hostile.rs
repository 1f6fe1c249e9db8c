//! For anything that an exporter fills in, the result is right, and the buffer is released once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crossdock::DArray;
use crossdock::bindings::pep3118::{Described, import};
use crossdock::memory::Birth;
use crossdock_testkit::buffer::{Exporter, FORMATS, Recipe};
use crossdock_testkit::dlpack::{Choices, Data};
use crossdock_testkit::{Coverage, seed};
use fastrand::Rng;

/// The result of an import. The elements of an accepted buffer are compared with the recipe's, if
/// they lie within the block.
fn check(recipe: &Recipe, coverage: &mut Coverage) -> crossdock::Result<()> {
    let mut exporter = Exporter::new(recipe);
    let legal = recipe.is_legal(exporter.block());
    let numbers = |list: &Option<Vec<i64>>| -> Option<Vec<isize>> {
        list.as_ref().map(|list| list.iter().map(|&number| number as isize).collect())
    };
    let (shape, strides) = (numbers(&recipe.shape), numbers(&recipe.strides));
    let suboffsets = numbers(&recipe.suboffsets);
    let described = Described {
        buf: exporter.address(recipe),
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
        count.fetch_add(1, Relaxed);
    };
    // SAFETY: pointers lead into the live block or are null, and elements are accessed only if the
    // recipe stays within the block.
    let result = unsafe { import(&described, false, Birth::Aliased, release) };
    coverage.case();
    let answer = match result {
        Ok(array) => {
            assert!(legal, "{recipe:?}");
            assert_eq!(releases.load(Relaxed), 0);
            if let Some(bytes) = recipe.bytes() {
                assert_eq!(values(&array), bytes, "{recipe:?}");
                coverage.note_if(!bytes.is_empty(), "compared");
                coverage.note_if(array.is_indirect(), "indirect");
            }
            Ok(())
        }
        Err(error) => {
            assert!(!legal, "{error}: {recipe:?}");
            coverage.note_if(error.is_malformed(), "malformed");
            coverage.note_if(error.is_unsupported(), "unsupported");
            coverage.note_if(error.is_overflow(), "overflow");
            Err(error)
        }
    };
    assert_eq!(releases.load(Relaxed), 1, "{recipe:?}");
    answer
}

fn values(array: &DArray) -> Vec<u8> {
    let copy = array.to_order(crossdock::layout::Order::RowMajor).unwrap();
    let (buffer, _) = copy.buffer().unwrap();
    buffer.pin().unwrap().to_vec()
}

#[test]
fn whatever_a_buffer_says_the_answer_is_right_and_it_is_released_once() {
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    for _ in 0..crate::cases() * 5 {
        let bytes: Vec<u8> = (0..60).map(|_| rng.u8(..)).collect();
        let _answer = check(&Recipe::choose(&mut Choices(&bytes)), &mut coverage);
    }
    println!("{coverage}");
    coverage.assert_at_least(0.3, ["compared"]);
    coverage.assert_at_least(0.02, ["indirect", "malformed", "overflow"]);
    coverage.assert_at_least(0.005, ["unsupported"]);
}

#[test]
fn each_lie_is_refused_by_name() {
    let rows = Recipe {
        rows: Some(vec![Some(12), None]),
        strides: Some(vec![8, 4]),
        suboffsets: Some(vec![0, -1]),
        ..Recipe::default()
    };
    for (lie, words) in [
        (Recipe { itemsize: -1, ..Recipe::default() }, "-1 bytes"),
        (Recipe { itemsize: i64::MIN, ..Recipe::default() }, "bytes"),
        (Recipe { itemsize: 8, ..Recipe::default() }, "its length is 24 bytes"),
        (Recipe { len: -24, ..Recipe::default() }, "its length is -24 bytes"),
        (Recipe { shape: Some(vec![2, -3]), ..Recipe::default() }, "axis 1 has length -3"),
        (Recipe { shape: Some(vec![i64::MAX, 3]), ..Recipe::default() }, "9223372036854775807"),
        (Recipe { strides: Some(vec![i64::MIN, 4]), ..Recipe::default() }, "-9223372036854775808"),
        (Recipe { strides: Some(vec![12]), ..Recipe::default() }, "1 strides for 2 axes"),
        (Recipe { data: Data::Null, ..Recipe::default() }, "null"),
        (Recipe { data: Data::Wild(usize::MAX - 3), ..Recipe::default() }, "address space"),
        (Recipe { data: Data::Wild(4), strides: Some(vec![-12, 4]), ..Recipe::default() }, "address space"),
        (Recipe { shape: Some(vec![1; 65]), strides: None, len: 4, ..Recipe::default() }, "65 axes"),
        (Recipe { format: Some(15), ..Recipe::default() }, "byte 2 of the format"),
        (Recipe { strides: None, suboffsets: Some(vec![0, -1]), ..Recipe::default() }, "no strides"),
        (rows, "null pointer on the way to element [1, 0]"),
    ] {
        let error = check(&lie, &mut Coverage::default()).expect_err(words);
        assert!(error.to_string().contains(words), "{error}, and not {words}");
    }
}
