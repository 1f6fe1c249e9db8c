//! Streams of columns: each column is a separate export, and everything is released once, however
//! the producer behaves.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Int32Array, RecordBatch, RecordBatchIterator};
use arrow_schema::ArrowError;
use crossdock::bindings::arrow::ArrowArrayStream;
use crossdock::bindings::arrow::abi::{ArrowArray, ArrowSchema};
use crossdock::bindings::arrow::{self, ArrowStream, ExportOptions};
use crossdock::{Array, Result};

fn batch(numbers: Vec<i32>) -> RecordBatch {
    RecordBatch::try_from_iter([("numbers", Arc::new(Int32Array::from(numbers)) as ArrayRef)]).unwrap()
}

#[test]
fn streams_of_arrow_rs_are_taken_in_place() {
    let batches = [batch(vec![1, 2, 3]), batch(vec![4])];
    let first = batches[0].column(0).to_data().buffers()[0].as_ptr();
    let schema = batches[0].schema();
    let failed = Err(ArrowError::ComputeError("the source ran dry".to_owned()));
    let all = batches.into_iter().map(Ok).chain([failed]);
    let mut theirs = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(all, schema)));
    let theirs: *mut FFI_ArrowArrayStream = &mut theirs;
    // SAFETY: both crates declare the same struct of the specification; the stream is valid and
    // consumed once.
    let mut stream = unsafe { ArrowStream::take_over(theirs.cast()) }.unwrap();
    assert_eq!(stream.child_names(), Some(vec!["numbers"]));
    let columns = stream.next_column().unwrap().unwrap().into_columns().unwrap();
    assert_eq!((columns[0].0.as_str(), columns[0].1.as_ptr()), ("numbers", first));
    let last = stream.next_column().unwrap().unwrap().into_columns().unwrap();
    let error = stream.next_column().unwrap_err();
    assert!(error.is_io() && error.to_string().contains("the source ran dry"), "{error}");
    // After an error the stream has ended.
    assert!(stream.next_column().unwrap().is_none());
    drop(stream);
    assert_eq!(columns[0].1.get(&[2]).unwrap().as_i64(), Some(3));
    assert_eq!(last[0].1.get(&[0]).unwrap().as_i64(), Some(4));
}

thread_local! {
    static RELEASED: Cell<usize> = const { Cell::new(0) };
}

/// The behaviour of a producer of the tests.
#[derive(Clone, Copy)]
enum Behaviour {
    Gives(usize),
    FailsAtOnce,
    FailsWithoutAWord,
}

fn state(stream: *mut ArrowArrayStream) -> &'static Cell<Behaviour> {
    // SAFETY: consumers pass a stream that `lent` made and that is not released, so it is readable.
    let data = unsafe { (*stream).private_data };
    // SAFETY: the private data is a leaked box of this type, which lives until the stream is
    // released.
    unsafe { &*data.cast() }
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    if !matches!(state(stream).get(), Behaviour::Gives(_)) {
        return 5;
    }
    let (schema, mut array) = column();
    if let Some(release) = array.release {
        // SAFETY: `column` made the array just now, and its `release` is called once.
        unsafe { release(&mut array) };
    }
    // SAFETY: the protocol requires `out` to be valid for a write of one schema.
    unsafe { out.write(schema) };
    0
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    let Behaviour::Gives(left @ 1..) = state(stream).get() else { return 0 };
    state(stream).set(Behaviour::Gives(left - 1));
    let (mut schema, array) = column();
    if let Some(release) = schema.release {
        // SAFETY: `column` made the schema just now, and its `release` is called once.
        unsafe { release(&mut schema) };
    }
    // SAFETY: the protocol requires `out` to be valid for a write of one array.
    unsafe { out.write(array) };
    0
}

unsafe extern "C" fn get_last_error(stream: *mut ArrowArrayStream) -> *const c_char {
    let said: &CStr = c"out of paper";
    if matches!(state(stream).get(), Behaviour::FailsAtOnce) { said.as_ptr() } else { ptr::null() }
}

unsafe extern "C" fn release(stream: *mut ArrowArrayStream) {
    RELEASED.set(RELEASED.get() + 1);
    // SAFETY: consumers pass a stream that `lent` made and that is not released, so it is readable.
    let data: *mut c_void = unsafe { (*stream).private_data };
    // SAFETY: `lent` leaked a box of this type as the private data, and consumers release a stream
    // once.
    drop(unsafe { Box::from_raw(data.cast::<Cell<Behaviour>>()) });
    // SAFETY: the struct is the consumer's and writable; null marks it as released.
    unsafe { (*stream).release = None };
}

fn column() -> (ArrowSchema, ArrowArray) {
    let array = Array::from_vec(vec![1u8, 2, 3], [3]).unwrap();
    arrow::export(&array, &ExportOptions::new()).unwrap().into_raw()
}

fn lent(behaviour: Behaviour) -> ArrowArrayStream {
    RELEASED.set(0);
    ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release),
        private_data: Box::into_raw(Box::new(Cell::new(behaviour))).cast(),
    }
}

/// Imports a stream, which must then be marked as moved.
fn take_over(mut theirs: ArrowArrayStream) -> Result<ArrowStream> {
    // SAFETY: `lent` made the stream with the callbacks above, and it is consumed once.
    let stream = unsafe { ArrowStream::take_over(&mut theirs) };
    assert!(theirs.release.is_none());
    stream
}

#[test]
fn a_stream_ends_and_is_released_once() {
    let stream = take_over(lent(Behaviour::Gives(3))).unwrap();
    assert_eq!((stream.child_names(), RELEASED.get()), (None, 0));
    let arrays: Vec<_> = stream.map(|column| column.unwrap().into_array().unwrap()).collect();
    assert_eq!((arrays.len(), RELEASED.get()), (3, 1));
    assert_eq!(arrays[2].get(&[1]).unwrap().as_u64(), Some(2));
    drop(take_over(lent(Behaviour::Gives(0))).unwrap());
    assert_eq!(RELEASED.get(), 1);
}

#[test]
fn producers_that_fail_are_quoted_and_released() {
    let error = take_over(lent(Behaviour::FailsAtOnce)).unwrap_err();
    assert!(
        error.is_io()
            && error.to_string().contains("get_schema of the producer failed with error 5: out of paper")
    );
    assert_eq!(RELEASED.get(), 1);
    let error = take_over(lent(Behaviour::FailsWithoutAWord)).unwrap_err();
    assert!(error.to_string().ends_with("get_schema of the producer failed with error 5"), "{error}");
    let error =
        take_over(ArrowArrayStream { get_last_error: None, ..lent(Behaviour::FailsAtOnce) }).unwrap_err();
    assert!(error.is_io() && RELEASED.get() == 1, "{error}");
}

#[test]
fn streams_that_lack_what_they_need_are_refused() {
    let error = take_over(ArrowArrayStream { get_schema: None, ..lent(Behaviour::Gives(1)) }).unwrap_err();
    assert!(error.is_malformed() && error.to_string().contains("no get_schema") && RELEASED.get() == 1);
    let mut stream = take_over(ArrowArrayStream { get_next: None, ..lent(Behaviour::Gives(1)) }).unwrap();
    assert!(stream.next_column().unwrap_err().is_malformed());
    // SAFETY: the function accepts a null pointer, which it refuses before it reads a stream.
    assert!(unsafe { ArrowStream::take_over(ptr::null_mut()) }.unwrap_err().is_malformed());
    let mut moved = lent(Behaviour::Gives(1));
    drop(take_over(ArrowArrayStream { ..moved }).unwrap());
    moved.release = None;
    // SAFETY: a null `release` marks the struct as released, and the function accepts such a
    // struct.
    assert!(unsafe { ArrowStream::take_over(&mut moved) }.unwrap_err().is_malformed());
}
