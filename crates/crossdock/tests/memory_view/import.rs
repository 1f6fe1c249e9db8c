//! C objects as arrays, for any claims of their producers.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossdock::DArray;
use crossdock::bindings::memory_view::{self, ArrayObject, Class, Entry, Flags, View};
use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::memory::Birth;
use crossdock_testkit::dlpack::Choices;
use crossdock_testkit::hostile::{self, Hostile, Recipe, Switch, fill};
use crossdock_testkit::{Coverage, seed};
use fastrand::Rng;

use super::{get, release};

static CLASS: Class = Class { name: c"Imported".as_ptr(), super_: ptr::null() };

/// Runs a function on an object of a recipe, while its producer is registered.
fn with<R>(recipe: &Recipe, class: &Class, f: impl FnOnce(&Hostile) -> R) -> R {
    let object = Hostile::new(ptr::from_ref(class).cast(), recipe);
    // SAFETY: the test kit declares the same C struct with the same fields.
    let entry = unsafe { std::mem::transmute::<hostile::Entry, Entry>(object.callbacks()) };
    // SAFETY: the callbacks break every rule except memory safety: they write only within the
    // struct, and keep their memory.
    unsafe { memory_view::register(class, &entry) }.unwrap();
    let result = f(&object);
    assert!(memory_view::unregister(class));
    result
}

fn elements(array: &DArray) -> Vec<u8> {
    let copy = array.to_order(Order::RowMajor).unwrap();
    let (buffer, _) = copy.buffer().unwrap();
    buffer.pin().unwrap().to_vec()
}

#[test]
fn an_indirect_view_becomes_an_indirect_array() {
    let class = Class { name: c"Rows".as_ptr(), super_: ptr::null() };
    with(&Recipe::with(&[Switch::Indirect]), &class, |object| {
        // SAFETY: `object` is alive, and its table of pointers leads to rows in its block.
        let error = unsafe { memory_view::import(object.as_ptr(), Flags::SIMPLE) }.unwrap_err();
        assert!(error.to_string().contains("INDIRECT"), "{error}");
        // SAFETY: `object` is alive, and its table of pointers leads to rows in its block.
        let array = unsafe { memory_view::import(object.as_ptr(), Flags::INDIRECT) }.unwrap();
        assert!(array.is_indirect() && array.dtype() == &DType::I32 && array.birth() == Birth::Aliased);
        let rows = (0..12).map(fill).chain((hostile::ROW..hostile::ROW + 12).map(fill));
        assert_eq!(elements(&array), rows.collect::<Vec<_>>());
        assert_eq!(object.counts().taken_back, 1);
        drop(array);
        assert_eq!(object.counts().taken_back, 2);
    });
}

#[test]
fn an_array_of_ours_comes_back_as_itself() {
    let array = DArray::zeros(DType::I32, &[2, 3], Order::ColumnMajor).unwrap();
    let object = ArrayObject::new(array.clone());
    // SAFETY: `object` is a live object of a class of this library, which keeps the array.
    let same = unsafe { memory_view::import(object.as_ptr(), Flags::WRITABLE) }.unwrap();
    assert!(same.as_ptr() == array.as_ptr() && !same.is_readonly());
    // SAFETY: `object` is a live object of a class of this library, which keeps the array.
    assert!(unsafe { memory_view::import(object.as_ptr(), Flags::SIMPLE) }.unwrap().is_readonly());
    // SAFETY: `object` is a live object of a class of this library, which keeps the array.
    assert!(unsafe { memory_view::import(object.as_ptr(), Flags::ROW_MAJOR) }.unwrap_err().is_layout());
}

#[test]
fn what_is_read_only_or_not_stays_so() {
    let class = Class { name: c"Readonly".as_ptr(), super_: ptr::null() };
    for (switch, is_readonly) in
        [(Switch::Readonly, true), (Switch::OddReadonly, true), (Switch::OddTruth, false)]
    {
        with(&Recipe::with(&[switch]), &class, |object| {
            // SAFETY: `object` is alive and lends the memory of its block, which outlives the
            // array.
            let array = unsafe { memory_view::import(object.as_ptr(), Flags::SIMPLE) }.unwrap();
            assert_eq!(array.is_readonly(), is_readonly);
        });
    }
}

#[test]
fn every_struct_is_refused_or_is_the_array_that_it_says() {
    let mut rng = Rng::with_seed(seed());
    let cases = crossdock_testkit::cases(20_000);
    let mut coverage = Coverage::default();
    for _ in 0..cases {
        let bytes: Vec<u8> = (0..64).map(|_| rng.u8(..)).collect();
        let mut recipe = Recipe::choose(&mut Choices(&bytes));
        coverage.case();
        // A view whose release is declined with the last handle stays with the producer.
        recipe.declines = 0;
        let (_, asked) =
            hostile::Flags::ALL[if recipe.is_indirect() && rng.bool() { 8 } else { rng.usize(..9) }];
        with(&recipe, &CLASS, |object| check(object, &recipe, asked, &mut coverage));
    }
    println!("{coverage}");
    let classes =
        ["given", "refused", "read", "empty", "negative strides", "unaligned", "indirect", "records"];
    coverage.assert_at_least(0.05, classes);
    coverage.assert_at_least(0.01, ["more than 8 axes"]);
}

fn check(object: &Hostile, recipe: &Recipe, asked: hostile::Flags, coverage: &mut Coverage) {
    let is_legal = recipe.is_legal(asked, object.block());
    let flags = Flags::from_bits(asked.0);
    // Elements behind pointers are not accessed, since the pointers may lead anywhere.
    if recipe.is_indirect() || !is_legal {
        let mut view = View::EMPTY;
        let result = get(object.as_ptr(), &mut view, flags);
        assert_eq!(result.is_ok(), is_legal, "{recipe:?} under {flags}: {result:?}");
        coverage.note_if(!is_legal, "refused");
        coverage.note_if(recipe.is_indirect(), "indirect");
        assert_eq!(release(&mut view), is_legal);
        return;
    }
    coverage.note("given");
    // SAFETY: `object` is alive, and elements are accessed only if the recipe stays within its
    // block.
    let array = match unsafe { memory_view::import(object.as_ptr(), flags) } {
        Ok(array) => array,
        // Items without bytes, or with padding only, are a valid view but not an array.
        Err(error) => {
            assert!(error.is_dtype() || error.is_unsupported(), "{recipe:?}: {error:?}");
            assert_eq!(object.counts().taken_back, usize::from(recipe.has_release));
            return;
        }
    };
    object.misbehave_later();
    coverage.note_if(array.is_empty(), "empty");
    coverage.note_if(array.rank() > 8, "more than 8 axes");
    coverage.note_if(array.strides().iter().any(|&stride| stride < 0), "negative strides");
    coverage.note_if(array.dtype().as_record().is_some(), "records");
    coverage.note_if(
        array.dtype().alignment() > 1 && array.as_ptr().addr() % array.dtype().alignment() != 0,
        "unaligned",
    );
    if let Some(places) = recipe.elements() {
        coverage.note("read");
        let size = array.dtype().itemsize();
        let expected: Vec<u8> = places.into_iter().flat_map(|at| (at..at + size).map(fill)).collect();
        assert_eq!(elements(&array), expected, "{recipe:?}");
    }
    assert_eq!(object.counts().releases, 0);
    drop(array);
    assert_eq!(object.counts().taken_back, usize::from(recipe.has_release));
}

// ===== structs that another hub had filled in

/// A view from another hub: bytes without format, shape and strides.
fn lent(bytes: &[u8]) -> View {
    let data = bytes.as_ptr().cast_mut().cast();
    View { data, byte_size: bytes.len() as isize, readonly: 1, item_size: 1, ndim: 1, ..View::EMPTY }
}

#[test]
fn what_another_hub_gave_is_adopted_and_released_once() {
    static BYTES: [u8; 5] = [3, 1, 4, 1, 5];
    let released = Arc::new(AtomicUsize::new(0));
    let count = || {
        let released = Arc::clone(&released);
        move || {
            released.fetch_add(1, Ordering::Relaxed);
        }
    };
    // SAFETY: the view describes `BYTES`, a static that is never written.
    let array = unsafe { memory_view::adopt(&lent(&BYTES), Flags::STRIDES, count()) }.unwrap();
    assert!(array.is_readonly() && array.dtype() == &DType::U8 && array.shape() == [5]);
    let tail = array.at("3:").unwrap();
    drop(array);
    assert_eq!((tail.get(&[1]).unwrap().as_u64(), released.load(Ordering::Relaxed)), (Some(5), 0));
    drop(tail);
    assert_eq!(released.load(Ordering::Relaxed), 1);

    // A refused view is released first.
    let shape = [7_isize];
    let lies = View { shape: shape.as_ptr(), ..lent(&BYTES) };
    // SAFETY: the view contradicts itself about `BYTES`, a static, and is refused before an element
    // is read.
    let error = unsafe { memory_view::adopt(&lies, Flags::SIMPLE, count()) }.unwrap_err();
    assert!(error.is_malformed() && error.to_string().contains("byte_size is 5"), "{error}");
    // SAFETY: the view describes `BYTES`, a static that is never written.
    let error = unsafe { memory_view::adopt(&lent(&BYTES), Flags::WRITABLE, count()) }.unwrap_err();
    assert!(error.is_read_only(), "{error}");
    assert_eq!(released.load(Ordering::Relaxed), 3);
}

#[test]
fn a_byte_size_between_what_the_items_have_and_what_they_cover_contradicts_itself() {
    static BYTES: [u8; 64] = [7; 64];
    let adopt = |byte_size: isize, shape: &[isize], strides: &[isize]| {
        let said = View {
            byte_size,
            format: c"q".as_ptr(),
            item_size: 8,
            ndim: shape.len() as isize,
            shape: shape.as_ptr(),
            strides: strides.as_ptr(),
            ..lent(&BYTES)
        };
        // SAFETY: shape and strides have `ndim` numbers, and the array is dropped without an access
        // to its elements.
        unsafe { memory_view::adopt(&said, Flags::STRIDES, || {}) }
    };
    let far = 1 << 40;
    for byte_size in [0, 47, 49, 64, far, far + 23] {
        let error = adopt(byte_size, &[2, 3], &[far, 8]).unwrap_err();
        let text = error.to_string();
        assert!(error.is_malformed() && text.contains(&format!("byte_size is {byte_size}")), "{text}");
        assert!(text.contains("must be 48") && text.contains(&format!("at least {}", far + 24)), "{text}");
    }
    // The size of the items, as producers of strided arrays count, where the strides are trusted;
    // or their extent, or more.
    for byte_size in [48, far + 24, far + 25] {
        adopt(byte_size, &[2, 3], &[far, 8]).unwrap();
    }
    // Items that share bytes: the extent is smaller than the size of the items.
    for (byte_size, is_taken) in [(7, false), (8, true), (40, true), (48, true), (64, true)] {
        assert_eq!(adopt(byte_size, &[2, 3], &[0, 0]).is_ok(), is_taken, "{byte_size}");
    }
    assert!(adopt(39, &[2, 2], &[24, 8]).is_err() && adopt(32, &[2, 2], &[24, 8]).is_ok());
}

#[test]
fn an_item_without_axes_needs_no_shape() {
    static BYTES: [u8; 8] = [1, 0, 0, 0, 0, 0, 0, 0];
    let said = View { format: c"q".as_ptr(), item_size: 8, ndim: 0, shape: ptr::null(), ..lent(&BYTES) };
    for flags in [Flags::SIMPLE, Flags::STRIDES, Flags::INDIRECT] {
        // SAFETY: the view describes `BYTES`, a static that is never written, and has no axes.
        let array = unsafe { memory_view::adopt(&said, flags, || {}) }.unwrap();
        assert_eq!((array.shape(), array.get(&[]).unwrap().as_i64()), (&[][..], Some(1)));
    }
}

#[test]
fn items_without_an_address_are_refused() {
    let said = |nbytes: isize| View {
        data: ptr::null_mut(),
        byte_size: nbytes,
        format: c"q".as_ptr(),
        item_size: 8,
        ndim: 1,
        shape: ptr::null(),
        ..View::EMPTY
    };
    // SAFETY: shape and strides have `ndim` numbers, and the array is dropped without an access to
    // its elements.
    let adopt = |nbytes| unsafe { memory_view::adopt(&said(nbytes), Flags::STRIDES, || {}) };
    let error = adopt(24).unwrap_err();
    assert!(
        error.is_malformed() && error.to_string().contains("data is null, but it has 3 items"),
        "{error}"
    );
    assert_eq!(adopt(0).unwrap().shape(), [0]);
}

#[test]
fn an_address_from_which_a_sum_could_wrap_is_refused() {
    let most = isize::MAX as usize;
    let (shape, strides) = ([2_isize, 3], [-16_isize, 4]);
    let adopt = |address: usize| {
        let said = View {
            data: ptr::without_provenance_mut(address),
            byte_size: 1 << 20,
            format: c"l".as_ptr(),
            item_size: 4,
            ndim: 2,
            shape: shape.as_ptr(),
            strides: strides.as_ptr(),
            ..View::EMPTY
        };
        // SAFETY: shape and strides have `ndim` numbers, and the array is dropped without an access
        // to its elements.
        unsafe { memory_view::adopt(&said, Flags::STRIDES, || {}) }
    };
    for address in [1, 16, most - 11, most, most + 1, usize::MAX - 12, usize::MAX] {
        let error = adopt(address).unwrap_err();
        assert!(error.is_overflow() && error.to_string().contains("-16..12"), "{error}");
    }
    assert!(adopt(17).is_ok() && adopt(most - 12).is_ok());
}
