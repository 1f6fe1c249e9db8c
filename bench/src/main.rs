//! What a hand-over costs, in ratios to `Arc::clone` and drop measured in the same run.
//!
//! `cargo run --release -p crossdock-bench` prints the table; with `--record`, it also appends it to `bench/record/`.

mod harness;

use std::hint::black_box;
use std::sync::Arc;

use crossdock::array::ArrayView;
use crossdock::memory::Buffer;
use crossdock::view::{Refusal, Request};
use crossdock::{Array, DArray, Result, s};
use harness::{Case, Table};

fn main() -> std::process::ExitCode {
    match run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let table = handover()?;
    println!("{table}");
    if std::env::args().any(|arg| arg == "--record") {
        println!("recorded in {}", table.record()?.display());
    }
    Ok(())
}

/// Each case returns a number that depends on what it made, and which the harness checks.
fn handover() -> Result<Table> {
    let arc = Arc::new(41usize);
    let buffer = Buffer::from_vec(vec![7u8; 4096])?;
    let shape = [16, 16, 16];
    let array = Array::from_vec((0..4096).collect::<Vec<u16>>(), shape)?;
    let dynamic = DArray::from(array.clone());
    let reading = array.read()?;
    let view: ArrayView<'_, u16, 3> = reading.view();
    let pin = Request::pin();

    let cases: Vec<Case<'_>> = vec![
        Case::peer("Arc::clone + drop", 41, || {
            let clone = black_box(Arc::clone(black_box(&arc)));
            *clone
        }),
        Case::new("Buffer::clone + drop", 4096, None, || {
            let clone = black_box(black_box(&buffer).clone());
            clone.nbytes()
        }),
        Case::new("Buffer::slice + drop", 1000, Some(1.3), || {
            let slice = black_box(black_box(&buffer).slice(black_box(24..1024)));
            slice.map_or(0, |slice| slice.nbytes())
        }),
        Case::new("Array<u16, 3>::slice of three axes + drop", 15 * 8 * 6, Some(1.3), || {
            let slice = black_box(black_box(&array).slice(s![black_box(1)..16, ..;2, 3..9]));
            slice.map_or(0, |slice| slice.len())
        }),
        Case::new("ArrayView<u16, 3>::slice of three axes", 15 * 8 * 6, Some(8.0 / 10.6), || {
            let slice = black_box(black_box(&view).slice(s![black_box(1)..16, ..;2, 3..9]));
            slice.map_or(0, |slice| slice.len())
        }),
        Case::new("DArray::clone + drop", 4096, None, || {
            let clone = black_box(&dynamic).clone();
            black_box(&clone).len()
        }),
        Case::new("MemoryView: get + release", 4096, Some(1.9), || {
            let view = black_box(&dynamic).export(black_box(&pin));
            black_box(&view).as_ref().map_or(0, |view| view.shape().iter().product())
        }),
        Case::new("MemoryView: get + release, moved by `?`", 4096, None, || {
            lend(black_box(&dynamic), black_box(&pin)).unwrap_or(0)
        }),
        Case::new("crossdock::view(&DArray): get + release", 4096, None, || {
            let view = crossdock::view(black_box(&dynamic), Request::pin());
            black_box(&view).as_ref().map_or(0, |view| view.shape().iter().product())
        }),
        Case::new("crossdock::view(&Array<u16, 3>): get + release", 4096, None, || {
            let view = crossdock::view(black_box(&array), Request::pin());
            black_box(&view).as_ref().map_or(0, |view| view.shape().iter().product())
        }),
        Case::new("DArray::get, one element", 273, None, || {
            let value = black_box(&dynamic).get(black_box(&[1, 1, 1]));
            value.ok().and_then(|value| value.as_u64()).unwrap_or(0) as usize
        }),
        Case::new("Array<u16, 3>::get, one element", 273, None, || {
            usize::from(black_box(&array).get(black_box([1, 1, 1])).unwrap_or(0))
        }),
    ];
    Ok(Table::measure("hand-over", cases))
}

/// A consumer that takes the view by value, as code with `?` does: the view is moved once.
#[inline(never)]
fn lend(array: &DArray, request: &Request) -> Result<usize, Refusal> {
    let view = array.export(request)?;
    Ok(black_box(&view).shape().iter().product())
}
