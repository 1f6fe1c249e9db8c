//! Arrays of any layout, exported and imported again, against the list of their elements'
//! addresses.

use crossdock::bindings::arrow;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::{Layout, Order};
use crossdock::memory::copied_bytes_here;
use crossdock::view::{CopyPolicy, Reason};
use crossdock::{Array, DArray};
use crossdock_testkit::{Coverage, Nested, generate, seed};
use fastrand::Rng;

use crate::{options, take_over};

/// Whether elements are contiguous for a consumer that takes the first axis as rows, and accepts
/// any order of the others.
fn lies_in_rows(nested: &Nested, itemsize: usize) -> bool {
    if nested.shape.contains(&0) {
        return true;
    }
    // Without gaps in the order of their addresses, and contiguous row by row.
    let per_row = nested.cells.len() / nested.shape[0];
    let mut sorted = nested.cells.clone();
    for row in sorted.chunks_mut(per_row) {
        row.sort_unstable();
    }
    sorted.windows(2).all(|pair| pair[1] - pair[0] == itemsize as i128) && is_box(nested, itemsize)
}

/// Whether the axes behind the first have positive strides: not every order of addresses is an
/// order of axes.
fn is_box(nested: &Nested, itemsize: usize) -> bool {
    let Some(strides) = nested.strides() else { return false };
    let long = nested.shape.iter().zip(&strides).filter(|(len, _)| **len > 1);
    long.clone().all(|(_, &stride)| stride >= itemsize as i128)
}

#[test]
fn what_arrow_can_say_goes_out_in_place_and_the_rest_by_a_copy() {
    let mut rng = Rng::with_seed(seed());
    let cases: usize = crossdock_testkit::cases(4000);
    let mut coverage = Coverage::default();
    while coverage.cases() < cases {
        if rng.usize(0..12) == 0 {
            coverage.case();
            coverage.note("suboffsets");
            behind_pointers(&mut rng);
            continue;
        }
        let rank = rng.usize(0..=8);
        let shape = generate::shape(&mut rng, rank);
        let itemsize = 4;
        let (layout, class) = layout(&mut rng, &shape, itemsize);
        let span = layout.span();
        let lead = if rng.usize(0..8) == 0 { 2 } else { 4 * rng.usize(0..3) };
        let bytes: Vec<u8> = (0..lead + span.nbytes()).map(|at| (at * 7 + at / 256) as u8).collect();
        let mut block = vec![0u64; bytes.len() / 8 + 1];
        // SAFETY: `block` has at least `bytes.len()` bytes, both are plain numbers, and they do not
        // overlap.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), block.as_mut_ptr().cast(), bytes.len()) };
        let start = lead + span.low().unsigned_abs();
        let array =
            DArray::from_buffer(Buffer::from_vec(block).unwrap(), DType::I32, layout.clone(), start).unwrap();
        let nested = Nested::from_fn(&shape, |index| layout.offset_of(index).unwrap() as i128);
        let wanted: Vec<&[u8]> =
            nested.cells.iter().map(|&at| &bytes[(start as i128 + at) as usize..][..itemsize]).collect();

        coverage.case();
        coverage.note(format!("rank {rank}"));
        coverage.note(class);
        let is_empty = shape.contains(&0);
        coverage.note_if(is_empty, "empty");
        let is_aligned = is_empty || array.as_ptr().addr().is_multiple_of(4);
        coverage.note_if(!is_aligned, "unaligned");
        let before = copied_bytes_here();
        let lent = arrow::export(&array, &options());
        assert_eq!(copied_bytes_here(), before);
        if rank == 0 {
            assert!(matches!(lent.unwrap_err().reason(), Reason::Unsupported(_)));
            let whole = arrow::export(&array, &options().whole());
            assert_eq!(whole.is_ok(), is_aligned);
            continue;
        }
        let fits = is_aligned && lies_in_rows(&nested, itemsize);
        assert_eq!(lent.is_ok(), fits, "shape {shape:?}, strides {:?}: {lent:?}", array.strides());
        coverage.note(if fits { "in place" } else { "refused" });
        let exported = match lent {
            Ok(exported) => exported,
            Err(refusal) => {
                assert!(matches!(refusal.reason(), Reason::Layout(_)), "{refusal}");
                let copied = arrow::export(&array, &options().copy(CopyPolicy::IfNeeded)).unwrap();
                assert_eq!(copied.copied_nbytes(), array.nbytes());
                assert_eq!(copied_bytes_here() - before, array.nbytes() as u64);
                copied
            }
        };
        let back = take_over(exported).into_array().unwrap();
        assert_eq!(back.shape(), shape);
        assert_eq!(
            back.as_ptr() == array.as_ptr(),
            fits && !is_empty || array.nbytes() == 0 && back.as_ptr() == array.as_ptr()
        );
        let there = back.to_order(Order::RowMajor).unwrap();
        let there = there.buffer().unwrap().0.pin().unwrap().to_vec();
        assert_eq!(there, wanted.concat(), "shape {shape:?}, strides {:?}", array.strides());
    }
    println!("{coverage}");
    if cases >= 1000 {
        coverage.assert_at_least(0.05, (0..=8).map(|rank| format!("rank {rank}")));
        coverage.assert_at_least(
            0.05,
            [
                "negative",
                "zero",
                "unaligned",
                "empty",
                "suboffsets",
                "in place",
                "refused",
                "permuted",
                "gaps",
            ],
        );
    }
}

/// Rows behind a table of pointers have no order that Arrow supports.
fn behind_pointers(rng: &mut Rng) {
    let (rows, columns) = (rng.usize(1..5), rng.usize(1..5));
    let rows: Vec<Vec<i32>> = (0..rows).map(|_| (0..columns).map(|_| rng.i32(..)).collect()).collect();
    let array = DArray::from_rows(rows.clone()).unwrap();
    let refusal = arrow::export(&array, &options()).unwrap_err();
    assert!(matches!(refusal.reason(), Reason::Layout(_)), "{refusal}");
    let exported = arrow::export(&array, &options().copy(CopyPolicy::IfNeeded)).unwrap();
    assert_eq!(exported.copied_nbytes(), array.nbytes());
    let back = Array::<i32, 2>::try_from(take_over(exported).into_array().unwrap()).unwrap();
    assert_eq!(back.read().unwrap().as_slice().unwrap(), rows.concat());
}

/// Strides of a class, which has this name.
fn layout(rng: &mut Rng, shape: &[usize], itemsize: usize) -> (Layout, &'static str) {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    let class = ["row-major", "permuted", "axes behind the first permuted", "negative", "zero", "gaps"]
        [rng.usize(0..6)];
    match class {
        "permuted" => rng.shuffle(&mut order),
        "axes behind the first permuted" if shape.len() > 1 => rng.shuffle(&mut order[1..]),
        _ => {}
    }
    let mut strides = vec![0; shape.len()];
    let mut inner = itemsize as isize;
    for &axis in order.iter().rev() {
        strides[axis] = inner;
        inner *= shape[axis].max(1) as isize;
        if class == "gaps" {
            inner += 4 * rng.isize(0..3);
        }
    }
    if !shape.is_empty() {
        let axis = rng.usize(0..shape.len());
        match class {
            "negative" => strides[axis] = -strides[axis],
            "zero" => strides[axis] = 0,
            _ => {}
        }
    }
    (Layout::new(shape, &strides, itemsize).unwrap(), class)
}
