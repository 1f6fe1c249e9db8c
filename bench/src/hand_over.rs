//! The cost of a hand-over, beside `Arc::clone` and drop.

use std::hint::black_box;
use std::sync::Arc;

use crossdock::array::ArrayView;
use crossdock::bindings::dlpack::{self, ExportOptions, Prepared};
use crossdock::buffer::Buffer;
use crossdock::view::{Refusal, Request};
use crossdock::{Array, DArray, s};

use crate::arrow::Arrow;
use crate::harness::{self, Case, Reach, Scale, Table};
use crate::phase::phase;
use crate::{Measure, Result};

pub(crate) const MEASURES: &[Measure] = &[Measure { group: "hand-over", name: "lend", run: hand_over }];

const PEER: &str = "Arc::clone + drop";

/// Each case returns a number that depends on its result, which the harness checks.
fn hand_over(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let arc = Arc::new(41usize);
    let buffer = Buffer::from_vec(vec![7u8; 4096])?;
    let shape = [16, 16, 16];
    let array = Array::from_vec((0..4096).collect::<Vec<u16>>(), shape)?;
    let dynamic = DArray::from(array.clone());
    let reading = array.read()?;
    let view: ArrayView<'_, u16, 3> = reading.view();
    let pin = Request::pin();
    let dynamic_shared = DArray::from(Array::from_vec((0..4096).collect::<Vec<u16>>(), shape)?);
    let options = ExportOptions::new();
    let arrow_options = crossdock::exchange::protocol::arrow::ExportOptions::new();
    let prepared = Prepared::of(&dynamic_shared)?;

    let cases: Vec<Case<'_>> = vec![
        Case::new(PEER, 41, || {
            let clone = black_box(Arc::clone(black_box(&arc)));
            *clone
        }),
        phase(),
        Case::new("Buffer::clone + drop", 4096, || {
            let clone = black_box(black_box(&buffer).clone());
            clone.nbytes()
        }),
        Case::new("Buffer::slice + drop", 1000, || {
            let slice = black_box(black_box(&buffer).slice(black_box(24..1024)));
            slice.map_or(0, |slice| slice.nbytes())
        })
        .reaching(Reach::ratio(1.3, PEER)),
        Case::new("Array<u16, 3>::slice of three axes + drop", 15 * 8 * 6, || {
            let slice = black_box(black_box(&array).slice(s![black_box(1)..16, ..;2, 3..9]));
            slice.map_or(0, |slice| slice.len())
        })
        .reaching(Reach::ratio(1.3, PEER)),
        Case::new("ArrayView<u16, 3>::slice of three axes", 15 * 8 * 6, || {
            let slice = black_box(black_box(&view).slice(s![black_box(1)..16, ..;2, 3..9]));
            slice.map_or(0, |slice| slice.len())
        })
        .reaching(Reach::ratio(8.0 / 10.6, PEER)),
        Case::new("DArray::clone + drop", 4096, || {
            let clone = black_box(&dynamic).clone();
            black_box(&clone).len()
        }),
        Case::new("MemoryView: get + release", 4096, || {
            let view = black_box(&dynamic).export(black_box(&pin));
            black_box(&view).as_ref().map_or(0, |view| view.shape().iter().product())
        })
        .reaching(Reach::ratio(1.9, PEER)),
        Case::new("MemoryView: get + release, moved by `?`", 4096, || {
            lend(black_box(&dynamic), black_box(&pin)).unwrap_or(0)
        }),
        Case::new("crossdock::view(&DArray): get + release", 4096, || {
            let view = crossdock::view(black_box(&dynamic), Request::pin());
            black_box(&view).as_ref().map_or(0, |view| view.shape().iter().product())
        }),
        Case::new("crossdock::view(&Array<u16, 3>): get + release", 4096, || {
            let view = crossdock::view(black_box(&array), Request::pin());
            black_box(&view).as_ref().map_or(0, |view| view.shape().iter().product())
        }),
        Case::new("DLPack: export + deleter", 3, || {
            let exported = dlpack::export_versioned(black_box(&dynamic_shared), black_box(&options));
            black_box(&exported).as_ref().map_or(0, |exported| exported.managed().dl_tensor.ndim as usize)
        }),
        Case::new("DLPack: export of what is prepared + deleter", 3, || {
            // SAFETY: the description was prepared for this array.
            let exported = unsafe { prepared.lend(black_box(&dynamic_shared), black_box(&options)) };
            black_box(&exported).as_ref().map_or(0, |exported| exported.managed().dl_tensor.ndim as usize)
        }),
        Case::new("buffer protocol: loan + release", 1, || {
            let lease = crossdock::bindings::pep3118::lend(black_box(&dynamic_shared));
            black_box(&lease).as_ref().map_or(0, |lease| usize::from(!lease.is_readonly()))
        }),
        Case::new("Arrow: export + release", 16, || {
            let exported = crossdock::exchange::protocol::arrow::export(
                black_box(&dynamic_shared),
                black_box(&arrow_options),
            );
            black_box(&exported).as_ref().map_or(0, |exported| exported.array().length as usize)
        }),
        Case::new("DArray::get, one element", 273, || {
            let value = black_box(&dynamic).get(black_box(&[1, 1, 1]));
            value.ok().and_then(|value| value.as_u64()).unwrap_or(0) as usize
        }),
        Case::new("Array<u16, 3>::get, one element", 273, || {
            usize::from(black_box(&array).get(black_box([1, 1, 1])).unwrap_or(0))
        }),
    ];
    harness::measure("hand-over", Scale::NANOSECONDS, &[PEER], cases)
}

/// A consumer that takes the view by value, as code with `?` does: the view is moved once.
#[inline(never)]
fn lend(array: &DArray, request: &Request) -> Result<usize, Refusal> {
    let view = array.export(request)?;
    Ok(black_box(&view).shape().iter().product())
}
