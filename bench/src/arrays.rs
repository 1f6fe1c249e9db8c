//! The cost of single elements, rows and views.

use std::hint::black_box;
use std::sync::Arc;

use crossdock::array::ArrayView;
use crossdock::view::Request;
use crossdock::{Array, DArray, s};
use ndarray::s as theirs;

use crate::arrow::Arrow;
use crate::harness::{self, Case, Reach, Scale, Table};
use crate::{Measure, Result};

pub(crate) const MEASURES: &[Measure] = &[
    Measure { group: "arrays", name: "index", run: index },
    Measure { group: "arrays", name: "rows", run: rows },
    Measure { group: "arrays", name: "element", run: element },
    Measure { group: "arrays", name: "view", run: view },
];

const ARC: &str = "Arc::clone + drop";

/// Adds up all elements by index. Floats are added in index order, so that no compiler can
/// vectorise the loop.
fn index(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    const PEER: &str = "raw pointer";
    const SIDE: usize = 1024;
    let values: Vec<f32> = (0..SIDE * SIDE).map(|index| (index % 8) as f32).collect();
    let answer = values.iter().sum::<f32>() as usize;
    let theirs = ndarray::Array2::from_shape_vec([SIDE, SIDE], values.clone())?;
    let array = Array::from_vec(values, [SIDE, SIDE])?;
    let guard = array.read()?;
    let view = guard.view();
    macro_rules! by_index {
        ($array:expr, |$a:ident, $i:ident, $j:ident| $element:expr) => {
            || {
                let $a = black_box($array);
                let mut sum = 0f32;
                for $i in 0..SIDE {
                    for $j in 0..SIDE {
                        sum += $element;
                    }
                }
                sum as usize
            }
        };
    }
    let cases = vec![
        Case::new(
            PEER,
            answer,
            by_index!(view.as_ptr(), |a, i, j| {
                // SAFETY: the element is in the array, which is constant while the guard exists.
                unsafe { a.wrapping_add(i * SIDE + j).read() }
            }),
        ),
        Case::new("ArrayView, a[[i, j]]", answer, by_index!(&view, |a, i, j| a[[i, j]]))
            .reaching(Reach::ratio(1.0 / 1.05, PEER)),
        Case::new("ArrayRead, a[[i, j]]", answer, by_index!(&guard, |a, i, j| a[[i, j]]))
            .reaching(Reach::ratio(1.0 / 1.05, PEER)),
        Case::new(
            "ArrayView::get_unchecked",
            answer,
            by_index!(&view, |a, i, j| {
                // SAFETY: both are less than the length of their axis.
                *unsafe { a.get_unchecked([i, j]) }
            }),
        ),
        Case::new("ndarray, a[[i, j]]", answer, by_index!(&theirs, |a, i, j| a[[i, j]])),
    ];
    harness::measure("sum of 1024 x 1024 f32 by index", Scale::gigabytes(SIDE * SIDE * 4), &[PEER], cases)
}

/// Adds up all elements, row by row. Integers may be added several at a time, if the compiler
/// proves that they are adjacent.
fn rows(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    const PEER: &str = "slices";
    const SIDE: usize = 256;
    let values: Vec<u32> = (0..(SIDE * SIDE) as u32).map(|index| index % 97).collect();
    let answer = values.iter().sum::<u32>() as usize;
    let theirs = ndarray::Array2::from_shape_vec([SIDE, SIDE], values.clone())?;
    let array = Array::from_vec(values.clone(), [SIDE, SIDE])?;
    let guard = array.read()?;
    let view = guard.view();
    let cases = vec![
        Case::new(PEER, answer, || {
            // The length of an array's rows is known at run time only; so is the length of these.
            let rows = black_box(&values).chunks_exact(black_box(SIDE));
            rows.fold(0u32, |sum, row| sum.wrapping_add(row.iter().fold(0, |sum, &x| sum.wrapping_add(x))))
                as usize
        }),
        Case::new("ArrayView::rows", answer, || {
            let rows = black_box(&view).rows();
            rows.fold(0u32, |sum, row| sum.wrapping_add(row.iter().fold(0, |sum, &x| sum.wrapping_add(x))))
                as usize
        })
        .reaching(Reach::ratio(0.8, PEER)),
        Case::new("ArrayView::iter", answer, || {
            black_box(&view).iter().fold(0u32, |sum, &x| sum.wrapping_add(x)) as usize
        }),
        Case::new("ndarray, rows", answer, || {
            let rows = black_box(&theirs).rows().into_iter();
            rows.fold(0u32, |sum, row| sum.wrapping_add(row.iter().fold(0, |sum, &x| sum.wrapping_add(x))))
                as usize
        }),
    ];
    harness::measure("sum of 256 x 256 u32 row by row", Scale::gigabytes(SIDE * SIDE * 4), &[PEER], cases)
}

/// One element whose index, and in a dynamic array whose type, is known at run time only.
fn element(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let arc = Arc::new(41usize);
    let array = Array::from_vec((0..4096).collect::<Vec<u16>>(), [16, 16, 16])?;
    let dynamic = DArray::from(array.clone());
    let lent = dynamic.export(&Request::pin())?;
    let guard = array.read()?;
    let view = guard.view();
    let number = |value: crossdock::Result<crossdock::element::Value>| {
        value.ok().and_then(|value| value.as_u64()).unwrap_or(0) as usize
    };
    let cases = vec![
        Case::new(ARC, 41, || **black_box(&Arc::clone(black_box(&arc)))),
        Case::new("DArray::get, by a bare handle", 273, || {
            number(black_box(&dynamic).get(black_box(&[1, 1, 1])))
        })
        .reaching(Reach::ratio(1.5, ARC)),
        Case::new("MemoryView::get, by a view", 273, || number(black_box(&lent).get(black_box(&[1, 1, 1]))))
            .reaching(Reach::value(4.0)),
        Case::new("Array<u16, 3>::get, by a bare handle", 273, || {
            usize::from(black_box(&array).get(black_box([1, 1, 1])).unwrap_or(0))
        }),
        Case::new("ArrayView<u16, 3>, a[[i, j, k]]", 273, || {
            usize::from(black_box(&view)[black_box([1, 1, 1])])
        }),
    ];
    harness::measure("one element", Scale::NANOSECONDS, &[ARC], cases)
}

/// A view of a view.
fn view(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let arc = Arc::new(41usize);
    let values: Vec<u16> = (0..4096).collect();
    let theirs = ndarray::Array3::from_shape_vec([16, 16, 16], values.clone())?;
    let shared = theirs.clone().into_shared();
    let their_view = theirs.view();
    let array = Array::from_vec(values, [16, 16, 16])?;
    let dynamic = DArray::from(array.clone());
    let guard = array.read()?;
    let view: ArrayView<'_, u16, 3> = guard.view();
    const ANSWER: usize = 15 * 8 * 6;
    let cases = vec![
        Case::new(ARC, 41, || **black_box(&Arc::clone(black_box(&arc)))),
        Case::new("Array<u16, 3>, s![] of three axes", ANSWER, || {
            let slice = black_box(black_box(&array).slice(s![black_box(1)..16, ..;2, 3..9]));
            slice.map_or(0, |slice| slice.len())
        })
        .reaching(Reach::value(15.0)),
        Case::new("ArrayView<u16, 3>, s![] of three axes", ANSWER, || {
            let slice = black_box(black_box(&view).slice(s![black_box(1)..16, ..;2, 3..9]));
            slice.map_or(0, |slice| slice.len())
        })
        .reaching(Reach::value(5.0)),
        Case::new("DArray, s![] of three axes", ANSWER, || {
            let slice = black_box(black_box(&dynamic).slice(s![black_box(1)..16, ..;2, 3..9]));
            slice.map_or(0, |slice| slice.len())
        }),
        Case::new("ndarray::ArcArray3, s![] of three axes", ANSWER, || {
            black_box(black_box(&shared).clone().slice_move(theirs![black_box(1)..16, ..;2, 3..9])).len()
        }),
        Case::new("ndarray::ArrayView3, s![] of three axes", ANSWER, || {
            black_box(black_box(&their_view).slice(theirs![black_box(1)..16, ..;2, 3..9])).len()
        }),
    ];
    harness::measure("slice + drop, three axes", Scale::NANOSECONDS, &[ARC], cases)
}
