//! Bytes that the CPU processes: filled, written as digits, copied, compared.

use std::hint::black_box;
use std::mem::MaybeUninit;

use bytes::{Bytes, BytesMut};
use crossdock::buffer::{Buffer, MutableBuffer, UninitBuffer};
use crossdock::pool::Pool;

use crate::arrow::Arrow;
use crate::harness::{self, Case, Reach, Scale, Table};
use crate::memory::{ARROW, MIB, warm};
use crate::{Measure, Result};

const WHOLE: usize = 64 * MIB;
const SEVEN: u8 = 7;

/// The number of bytes and the last byte.
fn answer(bytes: &[u8]) -> usize {
    let bytes = black_box(bytes);
    bytes.len() + bytes.last().map_or(0, |&last| usize::from(last))
}

fn sevens() -> crossdock::Result<MutableBuffer> {
    let mut bytes = warm(WHOLE)?;
    bytes.fill(SEVEN);
    Ok(bytes)
}

/// The result of each is the last byte.
pub(super) fn allocate_and_write(_: &Measure, arrow: Option<&Arrow>) -> Result<Table> {
    const PEER: &str = "malloc + memset + free";
    const LIMIT: &str = "memset of warm memory (the limit)";
    let last = usize::from(SEVEN);
    let mut warm = warm(WHOLE)?;

    let mut cases = vec![
        Case::new(PEER, last, || {
            fresh(WHOLE, |bytes| bytes.fill(MaybeUninit::new(SEVEN)), |bytes| bytes[WHOLE - 1].into())
        }),
        Case::new(LIMIT, last, || {
            black_box(&mut warm[..]).fill(SEVEN);
            black_box(&warm[..])[WHOLE - 1].into()
        }),
    ];
    if let Some(arrow) = arrow {
        cases.push(Case::looped(ARROW, last, |count| arrow.allocate_write(count, WHOLE)));
    }
    cases.extend([
        Case::new("arrow-buffer", last, || {
            let mut buffer = arrow_buffer::MutableBuffer::new(WHOLE);
            buffer.resize(WHOLE, SEVEN);
            black_box(&buffer)[WHOLE - 1].into()
        }),
        Case::new("bytes", last, || {
            let mut buffer = BytesMut::with_capacity(WHOLE);
            buffer.resize(WHOLE, SEVEN);
            black_box(&buffer)[WHOLE - 1].into()
        }),
        Case::new("crossdock", last, || own_filled(WHOLE).map_or(0, |last| last.into()))
            .reaching(Reach::ratio(1.0, ARROW)),
    ]);
    let scale = Scale::gigabytes(WHOLE);
    let cases = cases.into_iter().map(Case::settled).collect();
    harness::measure("allocate + write + free 64 MiB", scale, &[LIMIT, ARROW], cases)
}

/// Allocates from the default pool and fills with sevens; the last byte, read from the finished
/// buffer.
pub(super) fn own_filled(nbytes: usize) -> crossdock::Result<u8> {
    let mut fresh = UninitBuffer::new(nbytes)?;
    fresh.as_uninit_mut().fill(MaybeUninit::new(SEVEN));
    // SAFETY: every byte was written above.
    let buffer = unsafe { fresh.assume_init() };
    let bytes = buffer.read()?;
    Ok(black_box(&bytes)[nbytes - 1])
}

/// Memory of `malloc`, all of it written and then read.
fn fresh(
    nbytes: usize,
    write: impl FnOnce(&mut [MaybeUninit<u8>]),
    read: impl FnOnce(&[u8]) -> usize,
) -> usize {
    // SAFETY: `malloc` accepts any size.
    let ptr = unsafe { libc::malloc(black_box(nbytes)) };
    if ptr.is_null() {
        return 0;
    }
    // SAFETY: allocated above, with that many bytes.
    write(unsafe { std::slice::from_raw_parts_mut(ptr.cast(), nbytes) });
    // SAFETY: both callers write every byte.
    let answer = read(black_box(unsafe { std::slice::from_raw_parts(ptr.cast_const().cast(), nbytes) }));
    // SAFETY: allocated above, freed once.
    unsafe { libc::free(ptr) };
    answer
}

/// The result of each is the number of digits and the last digit. All digits are compared once.
pub(super) fn hex(_: &Measure, arrow: Option<&Arrow>) -> Result<Table> {
    const LIMIT: &str = "faster-hex into warm memory (the limit)";
    let bytes: Vec<u8> = (0..MIB).map(|index| ((index * 31) >> 3) as u8).collect();
    let naive: Vec<u8> = bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| b"0123456789ABCDEF"[usize::from(digit)])
        .collect();
    let expected = answer(&naive);
    let own = Buffer::copy_from_slice(&bytes)?;
    assert!(own.to_hex_string()?.as_bytes() == naive, "crossdock: wrong digits");
    let (mut digits, mut copied) = (warm(2 * MIB)?, warm(2 * MIB)?);

    let mut cases = vec![
        Case::new(LIMIT, expected, || {
            let written = faster_hex::hex_encode_upper(black_box(&bytes), &mut digits);
            written.map_or(0, |digits| answer(digits.as_bytes()))
        }),
        Case::new("faster-hex to a new String", expected, || {
            answer(faster_hex::hex_string_upper(black_box(&bytes)).as_bytes())
        }),
    ];
    assert!(faster_hex::hex_string_upper(&bytes).as_bytes() == naive, "faster-hex: wrong digits");
    cases.push(Case::new("memcpy of as many digits", expected, || {
        copied.copy_from_slice(black_box(&naive));
        answer(&copied)
    }));
    if let Some(arrow) = arrow {
        assert!(arrow.hex_once(&bytes) == naive, "Arrow C++: wrong digits");
        cases.push(Case::looped(ARROW, expected, |count| arrow.hex(count, &bytes)));
    }
    let digits = || black_box(&own).to_hex_string().map_or(0, |digits| answer(digits.as_bytes()));
    cases.push(Case::new("crossdock", expected, digits).reaching(Reach::value(5.0)));
    let scale = Scale::gigabytes(MIB);
    harness::measure("hex of 1 MiB", scale, &[LIMIT, ARROW], cases)
}

/// The result of each is the number of bytes and the last byte.
pub(super) fn copy(_: &Measure, arrow: Option<&Arrow>) -> Result<Table> {
    const LIMIT: &str = "memcpy into warm memory (the limit)";
    let own = Buffer::from(sevens()?);
    let pool = Pool::default();
    // All copy the same memory.
    let source = own.read()?;
    let expected = answer(&source);
    let mut warm = warm(WHOLE)?;

    let mut cases = vec![
        Case::new("malloc + memcpy + free", expected, || {
            let write = |bytes: &mut [MaybeUninit<u8>]| {
                bytes.write_copy_of_slice(black_box(&source));
            };
            fresh(WHOLE, write, answer)
        }),
        Case::new(LIMIT, expected, || {
            warm.copy_from_slice(black_box(&source));
            answer(&warm)
        }),
    ];
    if let Some(arrow) = arrow {
        cases.push(Case::looped(ARROW, expected, |count| arrow.copy(count, &source)));
    }
    cases.extend([
        Case::new("arrow-buffer", expected, || answer(&arrow_buffer::Buffer::from(black_box(&source[..])))),
        Case::new("bytes", expected, || answer(&Bytes::copy_from_slice(black_box(&source)))),
        Case::new("crossdock", expected, || {
            let copy = black_box(&own).copy_slice(.., &pool);
            copy.and_then(|copy| Ok(answer(&copy.read()?))).unwrap_or(0)
        }),
    ]);
    let scale = Scale::gigabytes(WHOLE);
    let cases = cases.into_iter().map(Case::settled).collect();
    harness::measure("copy 64 MiB to a new buffer", scale, &[LIMIT, ARROW], cases)
}

/// The result of each is 1. A difference in the last byte is asserted once.
pub(super) fn equal(_: &Measure, arrow: Option<&Arrow>) -> Result<Table> {
    const LIMIT: &str = "memcmp (the limit)";
    let own = [Buffer::from(sevens()?), Buffer::from(sevens()?)];
    // All but `arrow-buffer` compare the same memory.
    let [left, right] = [own[0].read()?, own[1].read()?];
    let rust = [&left, &right].map(|bytes| arrow_buffer::Buffer::from(&bytes[..]));
    let mut different = right.to_vec();
    different[WHOLE - 1] += 1;
    let unlike = Buffer::from_vec(different.clone())?;
    assert!(own[0].equals(&own[1])? && !own[0].equals(&unlike)?, "crossdock: wrong answer");

    let mut cases = vec![Case::new(LIMIT, 1, || {
        let (left, right) = (black_box(&left), black_box(&right));
        // SAFETY: both have that many bytes.
        let order = unsafe { libc::memcmp(left.as_ptr().cast(), right.as_ptr().cast(), WHOLE) };
        usize::from(order == 0)
    })];
    if let Some(arrow) = arrow {
        assert_eq!(arrow.equals(1, &left, &different), 0, "Arrow C++: wrong answer");
        cases.push(Case::looped(ARROW, 1, |count| arrow.equals(count, &left, &right)));
    }
    cases.extend([
        Case::new("arrow-buffer", 1, || usize::from(black_box(&rust[0]) == black_box(&rust[1]))),
        Case::new("crossdock", 1, || black_box(&own[0]).equals(black_box(&own[1])).map_or(0, usize::from)),
    ]);
    let scale = Scale::gigabytes(WHOLE);
    harness::measure("compare 64 MiB with 64 MiB", scale, &[LIMIT, ARROW], cases)
}
