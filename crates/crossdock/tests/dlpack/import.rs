//! Imports of DLPack structs: every bad one is an error with its numbers, every good one a
//! zero-copy array, and the deleter is called exactly once in any case.

use std::thread;

use crossdock::bindings::dlpack::{import_legacy, import_legacy_writable, import_versioned};
use crossdock::element::{DType, Value};
use crossdock::layout::Order;
use crossdock::memory::{Birth, DeviceKind, Place};
use crossdock::{DArray, Error, Result};
use crossdock_testkit::dlpack::{Choices, Data, ForeignExport, Recipe, fill};
use crossdock_testkit::{Coverage, seed};
use fastrand::Rng;

fn import(export: &ForeignExport) -> Result<DArray> {
    // SAFETY: a `ForeignExport` keeps a valid struct, consumed once. Tests access elements only if
    // the recipe stays within the export's block.
    unsafe { import_versioned(export.versioned()) }
}

#[track_caller]
fn refused(recipe: Recipe) -> Error {
    let export = ForeignExport::new(&recipe);
    let error = import(&export).expect_err("an invalid struct");
    assert_eq!(export.deleted(), usize::from(recipe.deleter), "{error}");
    error
}

/// The error of a bad struct: its kind, and what its text must hold.
#[track_caller]
fn assert_refused(recipe: Recipe, kind: fn(&Error) -> bool, parts: &[&str]) {
    let error = refused(recipe);
    assert!(kind(&error), "{error:?}");
    for part in parts.iter().chain(&["DLPack"]) {
        assert!(error.to_string().contains(part), "{part:?} is not in: {error}");
    }
}

// ===== bad structs

#[test]
fn a_null_struct_is_an_error() {
    // SAFETY: the function accepts a null pointer, and fails with an error.
    let error = unsafe { import_versioned(std::ptr::null_mut()) }.unwrap_err();
    assert!(error.is_malformed(), "{error:?}");
    // SAFETY: the function accepts a null pointer, and fails with an error.
    let error = unsafe { import_legacy(std::ptr::null_mut()) }.unwrap_err();
    assert!(error.to_string().contains("null"), "{error}");
}

#[test]
fn another_major_version_is_given_back_and_not_looked_at() {
    for major in [0, 2, u32::MAX] {
        // If it were read, the error would concern the shape.
        let recipe = Recipe { version: [major, 7], shape: None, ..Recipe::default() };
        assert_refused(recipe, Error::is_unsupported, &[&format!("version is {major}.7"), "1.x"]);
    }
}

#[test]
fn null_data_with_elements_is_malformed() {
    let recipe = Recipe { data: Data::Null, ..Recipe::default() };
    assert_refused(recipe, Error::is_malformed, &["data is null", "6 elements"]);
    // An offset does not turn null into an address.
    let recipe = Recipe { data: Data::Null, byte_offset: 64, ..Recipe::default() };
    assert_refused(recipe, Error::is_malformed, &["data is null"]);
}

#[test]
fn a_null_shape_with_axes_is_malformed() {
    assert_refused(
        Recipe { shape: None, ..Recipe::default() },
        Error::is_malformed,
        &["shape is null", "2 axes"],
    );
}

#[test]
fn negative_ranks_and_ranks_above_64_are_refused() {
    for ndim in [-1, i32::MIN] {
        let recipe = Recipe { ndim, ..Recipe::default() };
        assert_refused(recipe, Error::is_malformed, &[&format!("{ndim} axes")]);
    }
    for ndim in [65, i32::MAX] {
        let recipe = Recipe { ndim, ..Recipe::default() };
        assert_refused(recipe, Error::is_unsupported, &[&format!("{ndim} axes"), "64"]);
    }
}

#[test]
fn negative_lengths_are_malformed() {
    for len in [-1, i64::MIN] {
        let recipe = Recipe { shape: Some(vec![2, len]), ..Recipe::default() };
        assert_refused(recipe, Error::is_malformed, &["axis 1", &len.to_string()]);
    }
}

#[test]
fn shapes_that_overflow_are_refused() {
    for shape in [vec![i64::MAX, 2], vec![1 << 32, 1 << 31], vec![i64::MAX, 1], vec![0, i64::MAX]] {
        for strides in [None, Some(vec![0, 0])] {
            let recipe = Recipe { shape: Some(shape.clone()), strides, ..Recipe::default() };
            assert_refused(recipe, Error::is_overflow, &[&format!("{shape:?}"), "4-byte"]);
        }
    }
}

#[test]
fn strides_that_overflow_are_refused() {
    for stride in [i64::MAX, i64::MIN, 1 << 61] {
        let recipe = Recipe { strides: Some(vec![stride, 1]), ..Recipe::default() };
        assert_refused(recipe, Error::is_overflow, &["axis 0", &stride.to_string(), "4 bytes"]);
    }
    // Each stride fits in bytes, but together they reach too far.
    let recipe = Recipe { strides: Some(vec![1 << 60, 1 << 59]), ..Recipe::default() };
    assert_refused(recipe, Error::is_overflow, &["[4611686018427387904, 2305843009213693952]"]);
}

#[test]
fn addresses_that_wrap_around_are_refused() {
    for byte_offset in [u64::MAX, u64::MAX - 100] {
        let recipe = Recipe { byte_offset, ..Recipe::default() };
        assert_refused(recipe, Error::is_overflow, &[&byte_offset.to_string(), "byte_offset"]);
    }
    for data in [usize::MAX - 22, usize::MAX / 2 - 23, usize::MAX / 2 + 1] {
        let end = Recipe { data: Data::Wild(data), ..Recipe::default() };
        assert_refused(end, Error::is_overflow, &["address space", "0..24"]);
    }
    let last = Recipe { data: Data::Wild(usize::MAX / 2 - 24), ..Recipe::default() };
    assert!(import(&ForeignExport::new(&last)).is_ok());
    let offset = Recipe { data: Data::Wild(usize::MAX / 2 - 100), byte_offset: 77, ..Recipe::default() };
    assert_refused(offset, Error::is_overflow, &["byte_offset of 77"]);
    let start = Recipe { data: Data::Wild(8), strides: Some(vec![-1, 1]), ..Recipe::default() };
    assert!(import(&ForeignExport::new(&start)).is_ok());
    let null = Recipe { data: Data::Wild(8), strides: Some(vec![-2, 1]), ..Recipe::default() };
    assert_refused(null, Error::is_overflow, &["-8..12"]);
    let before = Recipe { data: Data::Wild(8), strides: Some(vec![-3, 1]), ..Recipe::default() };
    assert_refused(before, Error::is_overflow, &["-12..12"]);
}

#[test]
fn types_without_a_dtype_are_refused_with_their_numbers() {
    for (dtype, part) in [
        ((0, 32, 2), "2 lanes"),
        ((0, 32, 0), "0 lanes"),
        ((18, 32, 1), "code 18"),
        ((255, 8, 1), "code 255"),
        ((2, 80, 1), "80 bits"),
        ((0, 4, 1), "4 bits"),
    ] {
        let recipe = Recipe { dtype, ..Recipe::default() };
        assert_refused(recipe, Error::is_unsupported, &[part]);
    }
}

#[test]
fn elements_packed_into_parts_of_bytes_are_refused_and_padded_ones_taken() {
    let packed = Recipe { dtype: (17, 4, 1), ..Recipe::default() };
    assert_refused(packed.clone(), Error::is_unsupported, &["packed", "4 bits"]);
    let padded = ForeignExport::new(&Recipe { flags: 4, ..packed });
    let array = import(&padded).unwrap();
    assert_eq!((array.dtype().itemsize(), array.strides()), (1, &[3, 1][..]));
    // The legacy struct has no flags, hence cannot say that they are padded.
    // SAFETY: the export keeps a separate legacy struct of the same tensor, which is consumed once.
    let error = unsafe { import_legacy(padded.legacy()) }.unwrap_err();
    assert!(error.is_unsupported(), "{error}");
}

#[test]
fn devices_whose_data_is_a_handle_are_refused() {
    for device in [7, 8, 15] {
        let recipe = Recipe { device: [device, 1], ..Recipe::default() };
        assert_refused(recipe, Error::is_unsupported, &["handle", ":1"]);
    }
}

// ===== odd structs that are good

fn values(array: &DArray) -> Vec<u8> {
    array.to_order(Order::RowMajor).unwrap().buffer().unwrap().0.pin().unwrap().to_vec()
}

/// Imports it, compares address and elements, drops it, and checks that it was deleted once.
#[track_caller]
fn assert_taken(recipe: Recipe, byte: usize) {
    let export = ForeignExport::new(&recipe);
    let array = import(&export).expect("a good struct");
    assert_eq!(array.as_ptr().addr(), export.block() + byte);
    assert_eq!(values(&array), recipe.bytes().expect("a recipe that keeps to the block"));
    assert_eq!(export.deleted(), 0, "while it is in use");
    drop(array);
    assert_eq!(export.deleted(), usize::from(recipe.deleter));
}

#[test]
fn null_strides_are_row_major() {
    assert_taken(Recipe { strides: None, ..Recipe::default() }, 0);
}

#[test]
fn a_byte_offset_is_added() {
    let recipe = Recipe { byte_offset: 64, ..Recipe::default() };
    assert_taken(recipe.clone(), 64);
    // The pointer alone may be anywhere.
    let data = Data::Block(0usize.wrapping_sub(40));
    assert_taken(Recipe { data, ..recipe }, 24);
}

#[test]
fn negative_zero_and_open_strides_are_taken_as_they_are() {
    let reversed = Recipe { strides: Some(vec![-3, -1]), data: Data::Block(20), ..Recipe::default() };
    assert_taken(reversed, 20);
    assert_taken(Recipe { strides: Some(vec![0, 2]), ..Recipe::default() }, 0);
    let open = Recipe { shape: Some(vec![1, 6]), strides: Some(vec![i64::MIN, 1]), ..Recipe::default() };
    assert_taken(open, 0);
}

#[test]
fn unaligned_data_is_taken() {
    assert_taken(Recipe { data: Data::Block(1), ..Recipe::default() }, 1);
}

#[test]
fn no_axes_are_one_element() {
    let recipe = Recipe { ndim: 0, shape: None, strides: None, ..Recipe::default() };
    let export = ForeignExport::new(&recipe);
    let array = import(&export).unwrap();
    let first = i32::from_ne_bytes([0, 1, 2, 3].map(fill));
    assert_eq!((array.rank(), array.get(&[]).unwrap().to_string()), (0, first.to_string()));
}

#[test]
fn sixty_four_axes_are_taken() {
    let recipe = Recipe {
        ndim: 64,
        shape: Some([vec![1; 62], vec![2, 3]].concat()),
        strides: None,
        ..Recipe::default()
    };
    assert_taken(recipe, 0);
}

#[test]
fn without_elements_data_may_be_null_and_strides_anything() {
    for strides in [None, Some(vec![i64::MAX, i64::MIN])] {
        let shape = Some(vec![0, 3]);
        let export = ForeignExport::new(&Recipe { shape, strides, data: Data::Null, ..Recipe::default() });
        let array = import(&export).unwrap();
        assert_eq!((array.shape(), array.strides()), (&[0, 3][..], &[12, 4][..]));
        drop(array);
        assert_eq!(export.deleted(), 1);
    }
}

#[test]
fn a_null_deleter_is_not_called() {
    assert_taken(Recipe { deleter: false, ..Recipe::default() }, 0);
    assert!(refused(Recipe { deleter: false, ndim: -1, ..Recipe::default() }).is_malformed());
}

#[test]
fn a_later_minor_version_is_taken() {
    assert_taken(Recipe { version: [1, 99], ..Recipe::default() }, 0);
}

#[test]
fn flags_that_mean_nothing_are_ignored_and_those_of_a_later_version_refused() {
    for minor in [0, 1, 3] {
        assert_taken(Recipe { version: [1, minor], flags: !0b111, ..Recipe::default() }, 0);
    }
    for flag in [1 << 3, 1 << 63] {
        let recipe = Recipe { version: [1, 4], flags: 0b100 | flag, ..Recipe::default() };
        assert_refused(recipe, Error::is_unsupported, &[&format!("bits {flag:#x} of version 1.4"), "1.3"]);
    }
}

#[test]
fn the_number_of_a_device_means_nothing_where_the_processor_reaches_the_memory() {
    for kind in [DeviceKind::CPU, DeviceKind::CUDA_HOST, DeviceKind::ROCM_HOST, DeviceKind::CUDA_MANAGED] {
        let export = ForeignExport::new(&Recipe { device: [kind.0, 7], ..Recipe::default() });
        assert_eq!(import(&export).unwrap().place(), Place::new(kind, 0));
    }
}

#[test]
fn unknown_devices_are_kept_and_not_touched() {
    for (device, text) in [([77, 3], "kind77:3"), ([-5, 0], "kind-5:0"), ([10, 1], "rocm:1")] {
        let export = ForeignExport::new(&Recipe { device, ..Recipe::default() });
        let array = import(&export).unwrap();
        assert_eq!(array.place(), Place::new(DeviceKind(device[0]), device[1]));
        let error = array.get(&[0, 0]).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains(text), "{error}");
        drop(array);
        assert_eq!(export.deleted(), 1);
    }
}

// ===== who may touch it

#[test]
fn a_tensor_is_aliased_and_can_be_shared_and_pinned_only() {
    let export = ForeignExport::new(&Recipe::default());
    let array = import(&export).unwrap();
    assert_eq!(array.birth(), Birth::Aliased);
    let (buffer, _) = array.buffer().unwrap();
    assert!(buffer.read().unwrap_err().is_conflict() && buffer.write().unwrap_err().is_conflict());
    array.set(&[1, 2], &Value::Int(-7)).unwrap();
    assert_eq!(array.get(&[1, 2]).unwrap().to_string(), "-7");
    assert!(buffer.pin().is_ok());
}

#[test]
fn a_read_only_tensor_is_not_written() {
    let export = ForeignExport::new(&Recipe { flags: 1, ..Recipe::default() });
    let array = import(&export).unwrap();
    assert!(array.is_readonly());
    assert!(array.set(&[0, 0], &Value::Int(1)).unwrap_err().is_read_only());
    assert!(array.get(&[0, 0]).is_ok());
}

#[test]
fn a_copied_tensor_is_ours_alone() {
    let export = ForeignExport::new(&Recipe { flags: 2, ..Recipe::default() });
    let array = import(&export).unwrap();
    assert_eq!(array.birth(), Birth::Sole);
    let (buffer, _) = array.buffer().unwrap();
    buffer.write().unwrap()[0] = 9;
    assert_eq!(buffer.read().unwrap()[0], 9);
    let readonly = ForeignExport::new(&Recipe { flags: 3, ..Recipe::default() });
    let (buffer, _) = import(&readonly).unwrap().buffer().unwrap();
    assert!(buffer.read().is_ok() && buffer.write().unwrap_err().is_read_only());
}

#[test]
fn a_legacy_tensor_is_read_only_without_the_callers_word() {
    let export = ForeignExport::new(&Recipe::default());
    // SAFETY: the export keeps a valid legacy struct, which is consumed once.
    let array = unsafe { import_legacy(export.legacy()) }.unwrap();
    assert!(array.is_readonly() && *array.dtype() == DType::I32);
    assert_eq!(values(&array), Recipe::default().bytes().unwrap());
    drop(array);
    assert_eq!(export.deleted(), 1);

    let export = ForeignExport::new(&Recipe::default());
    // SAFETY: the export keeps a valid legacy struct, which is consumed once, and its memory is
    // writable.
    let array = unsafe { import_legacy_writable(export.legacy()) }.unwrap();
    array.set(&[0, 0], &Value::Int(5)).unwrap();
    assert_eq!(array.get(&[0, 0]).unwrap().to_string(), "5");
}

#[test]
fn the_last_holder_gives_it_back_on_whichever_thread() {
    let export = ForeignExport::new(&Recipe::default());
    let array = import(&export).unwrap();
    let views: Vec<DArray> = (0..4).map(|k| array.slice(crossdock::s![k % 2, ..]).unwrap()).collect();
    let lease = array.buffer().unwrap().0.share().unwrap();
    drop(array);
    thread::scope(|scope| {
        for view in views {
            scope.spawn(move || drop(view));
        }
    });
    assert_eq!(export.deleted(), 0, "a lease holds it");
    thread::spawn(move || drop(lease)).join().unwrap();
    assert_eq!(export.deleted(), 1);
}

// ===== all of them

/// Imports what the bytes choose, and compares it with the recipe's own answers.
fn check(bytes: &[u8], coverage: &mut Coverage) {
    let recipe = Recipe::choose(&mut Choices(bytes));
    coverage.case();
    for versioned in [true, false] {
        let export = ForeignExport::new(&recipe);
        let legal = recipe.is_legal(versioned, export.block());
        let result = if versioned {
            import(&export)
        } else {
            // SAFETY: the export keeps a valid legacy struct, consumed once. Elements are accessed
            // only if the recipe stays within its block.
            unsafe { import_legacy(export.legacy()) }
        };
        match result {
            Ok(array) => {
                assert!(legal, "taken: {recipe:?}");
                assert_eq!(export.deleted(), 0);
                let bytes = recipe.bytes().filter(|_| array.place().is_host());
                if let Some(bytes) = bytes {
                    coverage.note_if(versioned && !bytes.is_empty(), "compared");
                    assert_eq!(values(&array), bytes, "{recipe:?}");
                }
                drop(array);
            }
            Err(error) => {
                assert!(!legal, "{error}: {recipe:?}");
                coverage.note_if(versioned, "refused");
                coverage.note_if(versioned && error.is_malformed(), "malformed");
                coverage.note_if(versioned && error.is_unsupported(), "unsupported");
                coverage.note_if(versioned && error.is_overflow(), "overflow");
            }
        }
        assert_eq!(export.deleted(), usize::from(recipe.deleter), "{recipe:?}");
    }
}

#[test]
fn whatever_a_struct_says_the_answer_is_right_and_the_deleter_is_called_once() {
    let cases = crossdock_testkit::cases(20_000);
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    for _ in 0..cases {
        let bytes: Vec<u8> = (0..200).map(|_| rng.u8(..)).collect();
        check(&bytes, &mut coverage);
    }
    println!("{coverage}");
    coverage.assert_at_least(0.3, ["compared"]);
    coverage.assert_at_least(0.02, ["malformed", "unsupported", "overflow"]);
}
