//! The result of every request for each class of layout: as CPython's own exporters answer it.

use crate::numpy::ask;
use crossdock::bindings::pep3118::{Flags, Given};
use crossdock::layout::{Layout, Order};
use crossdock_testkit::python;
use serde_json::{Value as Json, json};

/// Every class of layout: its name, and its layouts for an element size.
fn classes(itemsize: usize) -> Vec<(&'static str, Layout)> {
    let contiguous = |shape: &[usize], order| Layout::contiguous(shape, itemsize, order).unwrap();
    let size = itemsize as isize;
    let strided = |shape: &[usize], strides: &[isize]| {
        let strides: Vec<isize> = strides.iter().map(|stride| stride * size).collect();
        Layout::new(shape, &strides, itemsize).unwrap()
    };
    vec![
        ("no axis", contiguous(&[], Order::RowMajor)),
        ("one axis", contiguous(&[5], Order::RowMajor)),
        ("one element", contiguous(&[1], Order::RowMajor)),
        ("no elements", contiguous(&[0], Order::RowMajor)),
        ("rows", contiguous(&[2, 3], Order::RowMajor)),
        ("columns", contiguous(&[2, 3], Order::ColumnMajor)),
        ("three axes", contiguous(&[2, 3, 4], Order::RowMajor)),
        ("three axes, column-major", contiguous(&[2, 3, 4], Order::ColumnMajor)),
        ("no elements, three axes", contiguous(&[2, 0, 3], Order::RowMajor)),
        ("a row by itself", strided(&[1, 4], &[9, 1])),
        ("a column by itself", strided(&[3, 1], &[1, 7])),
        ("every second", strided(&[3], &[2])),
        ("backwards", strided(&[4], &[-1])),
        ("rows with gaps", strided(&[3, 2], &[4, 1])),
        ("rows backwards", strided(&[3, 2], &[-2, 1])),
        ("again and again", strided(&[3, 4], &[0, 1])),
        ("axes in another order", strided(&[2, 3, 4], &[4, 8, 1])),
    ]
}

/// Bit by bit, as the script prints them.
fn bits(given: Given, rank: usize) -> (u64, u64) {
    // Without axes there is nothing to point to.
    let axes = |there: bool| there && rank > 0;
    let parts = [given.format, axes(given.shape), axes(given.strides), given.suboffsets];
    let bits = parts.iter().enumerate().map(|(bit, &there)| u64::from(there) << bit).sum();
    (bits, if given.shape { rank as u64 } else { 1 })
}

#[test]
fn every_request_is_answered_as_cpython_answers_it() {
    let Some(python) = python() else { return };
    let (mut cases, mut layouts) = (Vec::new(), Vec::new());
    for itemsize in [1, 2, 8] {
        for (name, layout) in classes(itemsize) {
            let span = layout.span();
            for (readonly, indirect) in [(false, false), (true, false), (false, true)] {
                // In the reference, an axis of pointers precedes axes without.
                if indirect && (layout.rank() < 2 || layout.is_empty() || layout.strides()[0] <= 0) {
                    continue;
                }
                cases.push(json!({
                    "shape": layout.shape(), "strides": layout.strides(), "itemsize": itemsize,
                    "offset": span.low().unsigned_abs(), "nbytes": span.nbytes(),
                    "readonly": readonly, "indirect": indirect,
                }));
                let layout = if indirect { behind_pointers(&layout) } else { layout.clone() };
                layouts.push((name, layout, readonly));
            }
        }
    }
    let answer = ask(&python, "buffer_requests.py", &[], &Json::from(cases));
    println!("reference: {}", answer["reference"]);
    let (mut given, mut refused) = (0, 0);
    for ((name, layout, readonly), answers) in layouts.iter().zip(answer["answers"].as_array().unwrap()) {
        let Some(answers) = answers.as_array() else { continue };
        // The INDIRECT bit alone is not a request for interpreters from 3.13 on.
        let asked = answers.iter().enumerate().filter(|(_, theirs)| !theirs.is_string());
        for (flags, theirs) in asked {
            let flags = Flags::from_bits(flags.try_into().unwrap());
            let ours = flags.given(layout, *readonly).ok().map(|given| bits(given, layout.rank()));
            let theirs =
                theirs.as_array().map(|parts| (parts[0].as_u64().unwrap(), parts[1].as_u64().unwrap()));
            assert_eq!(ours, theirs, "{name} {flags} {layout:?} readonly {readonly}");
            *(if ours.is_some() { &mut given } else { &mut refused }) += 1;
        }
    }
    println!("{given} given, {refused} refused");
    assert!(given > 10_000 && refused > 10_000);
}

/// The same shape with the rows behind a table of pointers.
fn behind_pointers(layout: &Layout) -> Layout {
    let mut strides = layout.strides().to_vec();
    strides[0] = size_of::<*const u8>() as isize;
    let mut suboffsets = vec![None; layout.rank()];
    suboffsets[0] = Some(0);
    Layout::with_suboffsets(layout.shape(), &strides, &suboffsets, layout.itemsize()).unwrap()
}

#[test]
fn a_refusal_says_what_was_asked_and_how_the_elements_lie() {
    let columns = Layout::contiguous(&[2, 3], 8, Order::ColumnMajor).unwrap();
    let error = Flags::C_CONTIGUOUS.given(&columns, false).unwrap_err();
    assert!(error.is_layout(), "{error}");
    for part in ["C_CONTIGUOUS", "[2, 3]", "[8, 16]", "8 bytes"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    assert!(Flags::FULL.given(&columns, true).unwrap_err().is_read_only());
    assert!(
        Flags::FORMAT
            .given(&Layout::contiguous(&[2], 8, Order::RowMajor).unwrap(), false)
            .unwrap_err()
            .is_unsupported()
    );
    let error = Flags::STRIDES.given(&behind_pointers(&columns), false).unwrap_err();
    assert!(error.is_layout() && error.to_string().contains("suboffsets"), "{error}");
}
