//! Appending: the result of each is the number of bytes and the last byte.

use std::hint::black_box;

use arrow_buffer::MutableBuffer;
use bytes::{BufMut, BytesMut};
use crossdock::buffer::BufferBuilder;

use crate::arrow::Arrow;
use crate::harness::{self, Case, Reach, Scale, Table};
use crate::memory::{ARROW, KIB, MIB, warm};
use crate::{Measure, Result};

const PEER: &str = "Vec::extend_from_slice";
const LIMIT: &str = "memcpy into warm memory (the limit)";

const CHUNK: usize = 4 * KIB;
const WHOLE: usize = 64 * MIB;
const ANSWER: usize = WHOLE + 7;

fn answer(bytes: &[u8]) -> usize {
    let bytes = black_box(bytes);
    bytes.len() + bytes.last().map_or(0, |&last| usize::from(last))
}

fn own(chunk: &[u8]) -> crossdock::Result<usize> {
    let mut builder = BufferBuilder::new()?;
    for _ in 0..WHOLE / CHUNK {
        builder.append_slice(black_box(chunk))?;
    }
    let buffer = builder.finish();
    Ok(answer(&buffer.read()?))
}

pub(super) fn append(_: &Measure, arrow: Option<&Arrow>) -> Result<Table> {
    let chunk = vec![7u8; CHUNK];
    let mut warm = warm(WHOLE)?;

    let mut cases = vec![
        Case::new(PEER, ANSWER, || {
            let mut vec = Vec::new();
            for _ in 0..WHOLE / CHUNK {
                vec.extend_from_slice(black_box(&chunk));
            }
            answer(&vec)
        }),
        Case::new(LIMIT, ANSWER, || {
            for target in warm.chunks_exact_mut(CHUNK) {
                target.copy_from_slice(black_box(&chunk));
            }
            answer(&warm)
        }),
    ];
    if let Some(arrow) = arrow {
        cases.push(Case::looped(ARROW, ANSWER, |count| arrow.append(count, &chunk, WHOLE)));
    }
    cases.extend([
        Case::new("arrow-buffer", ANSWER, || {
            let mut buffer = MutableBuffer::new(0);
            for _ in 0..WHOLE / CHUNK {
                buffer.extend_from_slice(black_box(&chunk));
            }
            answer(&buffer)
        }),
        Case::new("bytes", ANSWER, || {
            let mut buffer = BytesMut::new();
            for _ in 0..WHOLE / CHUNK {
                buffer.put_slice(black_box(&chunk));
            }
            answer(&buffer)
        }),
        Case::new("crossdock", ANSWER, || own(&chunk).unwrap_or(0)).reaching(Reach::value(12.0)),
    ]);
    let scale = Scale::gigabytes(WHOLE);
    let cases = cases.into_iter().map(Case::settled).collect();
    harness::measure("append 4 KiB chunks to 64 MiB", scale, &[LIMIT, ARROW], cases)
}
