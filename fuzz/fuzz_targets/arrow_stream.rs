//! A stream of columns through Arrow's C Stream interface, chosen by bytes: the producer may lie,
//! fail with an errno or lack functions, and the columns may lie. Imported columns have the
//! elements that the recipes name; a stream ends after its last column or its first error, and
//! every struct is released exactly once, the stream too, in any order.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use crossdock::bindings::arrow::ArrowStream;
use crossdock::bindings::arrow::ArrowArrayStream;
use crossdock::bindings::arrow::abi::{ArrowArray, ArrowSchema};
use crate::{bytes_of, onward};
use crossdock_testkit::arrow::{Choices, ForeignExport, Recipe};

/// The producer's message for an error.
const WORDS: [Option<&[u8]>; 4] = [None, Some(b"it is broken\0"), Some(b"\xff\xfe\0"), Some(b"\0")];

const ERRORS: [c_int; 6] = [5, 22, 12, -1, c_int::MAX, c_int::MIN];

/// The content of `private_data`.
struct Producer<'a> {
    schema: &'a ForeignExport,
    columns: &'a [ForeignExport],
    next: usize,
    /// The call of `get_next` that fails.
    fails: Option<usize>,
    schema_fails: bool,
    error: c_int,
    words: Option<&'static [u8]>,
    released: usize,
    has_ended: bool,
    asked_after: bool,
}

fuzz_target!(|data: &[u8]| {
    let mut choices = Choices(data);
    let switches = choices.byte();
    let count = usize::from(choices.below(4));
    let fails = (switches & 1 != 0).then(|| usize::from(choices.below(4)));
    let (error, words) =
        (ERRORS[usize::from(choices.below(6))], WORDS[usize::from(choices.below(WORDS.len() as u8))]);
    let first = Recipe::choose(&mut choices);
    // The producer guarantees that all columns have the type of the schema.
    let schema = ForeignExport::new(&first);
    let columns: Vec<ForeignExport> = (0..count).map(|_| ForeignExport::new(&first)).collect();
    let mut producer = Producer {
        schema: &schema,
        columns: &columns,
        next: 0,
        fails,
        schema_fails: switches & 2 != 0,
        error,
        words,
        released: 0,
        has_ended: false,
        asked_after: false,
    };
    let mut stream = ArrowArrayStream {
        get_schema: (switches & 0x1c != 0x04).then_some(get_schema as _),
        get_next: (switches & 0x1c != 0x08).then_some(get_next as _),
        get_last_error: (switches & 0x1c != 0x0c).then_some(get_last_error as _),
        release: (switches & 0x1c != 0x10).then_some(release as _),
        private_data: ptr::from_mut(&mut producer).cast(),
    };
    let lives = stream.release.is_some();
    // SAFETY: the stream is on export and consumed once, its producer outlives it, and its columns
    // have the type of its schema.
    let taken = unsafe { ArrowStream::take_over(&mut stream) };
    assert!(stream.release.is_none());
    let mut kept = Vec::new();
    if let Ok(mut taken) = taken {
        let mut seen = 0;
        for column in taken.by_ref() {
            let Ok(column) = column else { break };
            let columns = column.into_columns();
            let leaves = if first.is_honest() { first.leaves() } else { vec![] };
            let has_nulls = leaves.iter().any(|leaf| leaf.has_nulls());
            assert_eq!(columns.is_ok(), first.is_honest() && !has_nulls, "{columns:?}");
            for ((_, array), leaf) in columns.unwrap_or_default().into_iter().zip(&leaves) {
                let wanted: Vec<u8> = leaf.elements().into_iter().flatten().flatten().collect();
                assert_eq!((array.shape(), bytes_of(&array)), (&leaf.shape()[..], wanted.clone()));
                onward(&array, &wanted);
                kept.push((array, wanted));
            }
            seen += 1;
        }
        assert!(seen <= count);
        assert!(taken.next().is_none(), "a stream that ended goes on");
    }
    assert!(!producer.asked_after, "a stream that failed or ended was asked again");
    assert_eq!(producer.released, usize::from(lives));
    // A column outlives its stream.
    for (array, wanted) in kept.drain(..) {
        assert_eq!(bytes_of(&array), wanted);
    }
    let given = producer.next;
    for (number, column) in columns.iter().enumerate() {
        let ((_, released), (_, live)) = column.released();
        assert_eq!(released, if number < given { live } else { 0 }, "column {number} of {count}");
    }
});

/// # Safety
///
/// 1. `stream` is alive and was made by this target.
/// 2. No other reference to its `Producer` is used while the result lives.
unsafe fn producer<'a>(stream: *mut ArrowArrayStream) -> &'a mut Producer<'a> {
    // SAFETY: clause 1 of `# Safety`: `stream` is alive and was made by this target, so it is
    // readable.
    let private = unsafe { (*stream).private_data };
    // SAFETY: clause 1: this target sets `private_data` to a `Producer` that outlives the stream;
    // clause 2: the reference is unique.
    unsafe { &mut *private.cast::<Producer<'a>>() }
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: clause 1: the consumer calls this with the stream that this target made; clause 2:
    // one callback runs at a time.
    let producer = unsafe { producer(stream) };
    if producer.schema_fails {
        return producer.error;
    }
    let lent = producer.schema.schema::<ArrowSchema>();
    // SAFETY: `out` is valid for a write by the protocol; the bytes of the schema on export are
    // moved there once.
    unsafe { ptr::copy_nonoverlapping(lent, out, 1) };
    0
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: clause 1: the consumer calls this with the stream that this target made; clause 2:
    // one callback runs at a time.
    let producer = unsafe { producer(stream) };
    let number = producer.next;
    producer.asked_after |= producer.has_ended;
    if producer.fails == Some(number) {
        producer.has_ended = true;
        return producer.error;
    }
    let Some(column) = producer.columns.get(number) else {
        producer.has_ended = true;
        // SAFETY: `out` is valid for a write by the protocol; a released array marks the end of the
        // stream.
        unsafe { out.write(ArrowArray::empty()) };
        return 0;
    };
    producer.next += 1;
    let lent = column.array::<ArrowArray>();
    // SAFETY: `out` is valid for a write by the protocol; the bytes of the column on export are
    // moved there once.
    unsafe { ptr::copy_nonoverlapping(lent, out, 1) };
    0
}

unsafe extern "C" fn get_last_error(stream: *mut ArrowArrayStream) -> *const c_char {
    // SAFETY: clause 1: the consumer calls this with the stream that this target made; clause 2:
    // one callback runs at a time.
    let producer = unsafe { producer(stream) };
    producer.words.map_or(ptr::null(), |words| words.as_ptr().cast())
}

unsafe extern "C" fn release(stream: *mut ArrowArrayStream) {
    // SAFETY: the consumer calls this with the stream that this target made, possibly moved, and
    // uses it no more.
    let stream = unsafe { &mut *stream };
    assert!(stream.release.take().is_some());
    let private: *mut c_void = stream.private_data;
    // SAFETY: this target sets `private_data` to a `Producer` that outlives the stream, and no
    // other callback runs.
    unsafe { (*private.cast::<Producer<'_>>()).released += 1 };
}
