//! Slice and drop the slice: the result of each is the slice's length.

use std::hint::black_box;
use std::sync::Arc;

use crossdock::buffer::Buffer;

use crate::arrow::Arrow;
use crate::harness::{self, Case, Reach, Scale, Table};
use crate::memory::{ARROW, KIB};
use crate::{Measure, Result};

const PEER: &str = "Arc::clone + drop";

const PARENT: usize = 4 * KIB;
const OFFSET: usize = 24;
const LENGTH: usize = 1000;

pub(super) fn slice(_: &Measure, arrow: Option<&Arrow>) -> Result<Table> {
    let arc = Arc::new(41usize);
    let own = Buffer::from_vec(vec![7u8; PARENT])?;
    let rust = arrow_buffer::Buffer::from_vec(vec![7u8; PARENT]);
    let bytes = bytes::Bytes::from(vec![7u8; PARENT]);
    // The first clone creates the counted header.
    let _shared = bytes.clone();
    let end = OFFSET + LENGTH;

    // The result is examined in place: moving it is not part of the figure.
    let mut cases = vec![Case::new(PEER, 41, || **black_box(&Arc::clone(black_box(&arc))))];
    if let Some(arrow) = arrow {
        cases.push(Case::looped("shared_ptr copy + drop", 41, |count| arrow.copy_shared_ptr(count)));
        cases.push(Case::looped(ARROW, LENGTH, |count| arrow.slice(count, PARENT, OFFSET, LENGTH)));
    }
    cases.extend([
        Case::new("arrow-buffer", LENGTH, || {
            black_box(&black_box(&rust).slice_with_length(black_box(OFFSET), LENGTH)).len()
        }),
        Case::new("bytes", LENGTH, || black_box(&black_box(&bytes).slice(black_box(OFFSET)..end)).len()),
        Case::new("crossdock", LENGTH, || {
            let slice = black_box(&own).slice(black_box(OFFSET)..end);
            black_box(&slice).as_ref().map_or(0, Buffer::nbytes)
        })
        .reaching(Reach::ratio(1.2, PEER)),
    ]);
    harness::measure("slice + drop", Scale::NANOSECONDS, &[PEER, ARROW], cases)
}
