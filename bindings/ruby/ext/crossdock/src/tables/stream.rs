//! Arrow's C stream interface for Ruby: `Crossdock::ArrowStream`, which holds a struct at an
//! address from which a consumer moves it, and the import of streams of other producers, whose
//! functions may be written in Ruby.

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int, c_void};
use std::ffi::CString;
use std::ptr;
use std::sync::Arc;
use std::vec;

use crossdock::bindings::arrow::abi::{ArrowArray, ArrowSchema};
use crossdock::bindings::arrow::{self, ArrowArrayStream};
use crossdock::bindings::table::remaining;
use crossdock::memory::LeaseKind;
use crossdock::table::{Checks, RecordBatch, RecordBatchReader, Schema};
use magnus::rb_sys::protect;
use magnus::{DataTypeFunctions, RModule, Ruby, TryConvert, TypedData, Value, function, method, prelude::*};
use rb_sys::VALUE;

use crate::arrow::{Column, both, moved};
use crate::error::{Failure, Result};
use crate::keep;
use crate::pressure::{ReportedMemory, told};
use crate::tables::column::RubyColumn;
use crate::tables::content::Reported;
use crate::tables::table::{RubyTable, TableContent};
use crate::words::words;

// ===== export

/// `Crossdock::ArrowStream`.
///
/// # Invariants
///
/// 1. The struct is releasable on any thread, or is marked as released or moved. Code that has its
///    address moves it with Ruby's lock held.
#[derive(TypedData)]
#[magnus(class = "Crossdock::ArrowStream", free_immediately, size)]
struct Stream {
    // Boxed, so that the address stays valid while the object is alive.
    stream: Box<UnsafeCell<ArrowArrayStream>>,
    kept: Option<Arc<ReportedMemory>>,
}

impl DataTypeFunctions for Stream {
    fn size(&self) -> usize {
        size_of::<Self>()
            + size_of::<ArrowArrayStream>()
            + told(self.kept.as_ref(), ptr::from_ref(self).addr())
    }
}

// SAFETY: Stream 1: any thread may own the struct, and only threads that hold Ruby's lock access
// it.
unsafe impl Send for Stream {}

impl Stream {
    fn new(stream: ArrowArrayStream, kept: Option<Arc<ReportedMemory>>) -> Self {
        Self { stream: Box::new(stream.into()), kept }
    }

    fn release(&self) {
        let stream = self.stream.get();
        // SAFETY: Stream 1: the box is alive, and this thread holds Ruby's lock or is sweeping.
        if let Some(release) = unsafe { (*stream).release } {
            // SAFETY: Stream 1: the struct is releasable on any thread, and was not released.
            unsafe { release(stream) };
        }
    }

    fn is_released(&self) -> bool {
        // SAFETY: Stream 1: the box is alive, and consumers write the struct only with Ruby's lock
        // held, as this thread does.
        unsafe { (*self.stream.get()).release }.is_none()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(kept) = &self.kept {
            kept.leave(ptr::from_ref(self).addr());
        }
        self.release();
    }
}

fn address(this: &Stream) -> usize {
    this.stream.get().expose_provenance()
}

fn is_released(this: &Stream) -> bool {
    this.is_released()
}

fn give_back(this: &Stream) {
    this.release();
    keep::give_back();
}

/// The batches of a table, from the first on.
#[derive(Clone)]
pub(crate) struct OwnBatches {
    schema: Schema,
    batches: vec::IntoIter<RecordBatch>,
}

impl RecordBatchReader for OwnBatches {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn next_batch(&mut self) -> crossdock::Result<Option<RecordBatch>> {
        Ok(self.batches.next())
    }
}

impl OwnBatches {
    pub(super) fn of(table: &TableContent) -> Self {
        Self { schema: table.schema().clone(), batches: table.batches().to_vec().into_iter() }
    }
}

/// All batches of a table as a stream.
fn of_table(ruby: &Ruby, this: &RubyTable) -> Result<Stream> {
    keep::give_back();
    let this = this.content(ruby)?;
    // Refused here rather than in the stream, whose consumers name a number of the system.
    for batch in this.batches() {
        drop(arrow::export_batch(batch)?);
    }
    let stream = arrow::export_stream_in_words(Box::new(OwnBatches::of(&this)), words);
    Ok(Stream::new(stream, this.kept()))
}

/// All chunks of a column as a stream.
fn of_column(ruby: &Ruby, this: &RubyColumn) -> Result<Stream> {
    keep::give_back();
    let this = this.content(ruby)?;
    for chunk in this.chunks() {
        drop(chunk.lease(LeaseKind::Read)?);
    }
    let stream = arrow::export_chunks(this.field().clone(), this.chunks().to_vec(), words);
    Ok(Stream::new(stream, this.kept()))
}

/// A column of one chunk, or a table of one batch, as two structs.
fn structs_of(ruby: &Ruby, object: Value) -> Result<Column> {
    keep::give_back();
    if let Ok(table) = <&RubyTable>::try_convert(object) {
        let table = table.content(ruby)?;
        return match table.batches() {
            [only] => Ok(Column::exported(arrow::export_batch(only)?.into_raw(), table.kept())),
            batches => {
                let text =
                    format!("the table has {} batches; `batches` gives each as a table", batches.len());
                Err(Failure::refused(ruby, text))
            }
        };
    }
    let column = <&RubyColumn>::try_convert(object)?.content(ruby)?;
    let exported = arrow::export_column(column.field(), column.only(ruby)?)?;
    Ok(Column::exported(exported.into_raw(), column.kept()))
}

// ===== import

/// A stream of another producer, whose functions are called on this thread, with Ruby's lock, and
/// may raise.
struct Foreign {
    stream: ArrowArrayStream,
    raised: Option<CString>,
}

impl Foreign {
    /// Calls a function of the producer; an exception is an error of the stream.
    fn call(&mut self, function: impl FnOnce(&mut ArrowArrayStream) -> c_int) -> c_int {
        const EINVAL: c_int = 22;
        self.raised = None;
        let mut code = EINVAL;
        let stream = &mut self.stream;
        let called = protect(|| {
            code = function(stream);
            rb_sys::Qnil as VALUE
        });
        if let Err(error) = called {
            self.raised = CString::new(error.to_string().replace('\0', " ")).ok();
            return EINVAL;
        }
        code
    }
}

/// The foreign stream in the struct that the library reads.
///
/// # Safety
///
/// `stream` points to a struct of [`forwarded`], which was not released.
unsafe fn foreign<'a>(stream: *mut ArrowArrayStream) -> &'a mut Foreign {
    // SAFETY: `# Safety`: the struct is readable.
    let body = unsafe { (*stream).private_data };
    // SAFETY: `# Safety`: `private_data` is the box of `forwarded`, which only the calls of the
    // stream use, one at a time.
    unsafe { &mut *body.cast::<Foreign>() }
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the library calls the functions of a struct of `forwarded` before it releases it.
    let foreign = unsafe { foreign(stream) };
    let mut schema = ArrowSchema::empty();
    let code = foreign.call(|stream| match stream.get_schema {
        // SAFETY: the producer's own function, with its struct and an empty one.
        Some(function) => unsafe { function(stream, &mut schema) },
        None => 22,
    });
    // SAFETY: clauses 1 and 2 of `moved`: a local struct that the producer filled in or left empty,
    // and whose `release` a Ruby thread calls.
    let schema = unsafe { moved(&raw mut schema, rb_sys::Qnil as VALUE) };
    // SAFETY: the library passes a pointer to a struct of any content.
    unsafe { out.write(schema.unwrap_or(ArrowSchema::empty())) };
    code
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: the library calls the functions of a struct of `forwarded` before it releases it.
    let foreign = unsafe { foreign(stream) };
    let mut array = ArrowArray::empty();
    let code = foreign.call(|stream| match stream.get_next {
        // SAFETY: the producer's own function, with its struct and an empty one.
        Some(function) => unsafe { function(stream, &mut array) },
        None => 22,
    });
    // SAFETY: clauses 1 and 2 of `moved`: a local struct that the producer filled in or left empty,
    // and whose `release` a Ruby thread calls.
    let array = unsafe { moved(&raw mut array, rb_sys::Qnil as VALUE) };
    // SAFETY: the library passes a pointer to a struct of any content.
    unsafe { out.write(array.unwrap_or(ArrowArray::empty())) };
    code
}

unsafe extern "C" fn get_last_error(stream: *mut ArrowArrayStream) -> *const c_char {
    // SAFETY: the library calls the functions of a struct of `forwarded` before it releases it.
    let foreign = unsafe { foreign(stream) };
    if let Some(raised) = &foreign.raised {
        return raised.as_ptr();
    }
    let mut text = ptr::null();
    foreign.call(|stream| {
        if let Some(function) = stream.get_last_error {
            // SAFETY: the producer's own function, with its struct.
            text = unsafe { function(stream) };
        }
        0
    });
    text
}

unsafe extern "C" fn release(stream: *mut ArrowArrayStream) {
    // SAFETY: the library releases a struct of `forwarded` once, on the thread of the import.
    let body: *mut c_void = unsafe { (*stream).private_data };
    // SAFETY: the library passes its own struct, which no other code uses.
    unsafe { (*stream).release = None };
    // SAFETY: `private_data` is the box that `forwarded` leaked, and this is called once.
    let mut foreign = unsafe { Box::from_raw(body.cast::<Foreign>()) };
    foreign.call(|stream| {
        if let Some(function) = stream.release {
            // SAFETY: the producer's own function, with its struct, which is not released.
            unsafe { function(stream) };
        }
        0
    });
}

/// Moves the stream at an address into a struct whose functions call the producer's.
///
/// # Safety
///
/// The address is 0 or that of a struct `ArrowArrayStream`, which this thread may use.
unsafe fn forwarded(ruby: &Ruby, address: usize) -> Result<ArrowArrayStream> {
    let stream = ptr::with_exposed_provenance_mut::<ArrowArrayStream>(address);
    // SAFETY: `# Safety`: the address is 0 or that of a struct.
    let Some(stream) = (unsafe { stream.as_mut() }) else {
        return Err(Failure::argument(ruby, "address 0 is no struct of Arrow's"));
    };
    if stream.release.is_none() {
        let text = "the Arrow stream was released, or moved elsewhere: it is taken once";
        return Err(Failure::ours(ruby, text));
    }
    let own = ArrowArrayStream { ..*stream };
    stream.release = None;
    Ok(ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release),
        private_data: Box::into_raw(Box::new(Foreign { stream: own, raised: None })).cast(),
    })
}

/// A table of all batches of the stream at an address.
fn table_of_stream(ruby: &Ruby, address: usize) -> Result<RubyTable> {
    keep::give_back();
    // SAFETY: the Ruby caller passes the address of a struct, or 0; this cannot be checked.
    let mut stream = unsafe { forwarded(ruby, address) }?;
    // SAFETY: clauses 1 and 2 of `import_stream`: a local struct, whose functions move the
    // producer's structs. Clause 3: the reader is used and dropped on this thread only.
    let mut reader = unsafe { arrow::import_stream(&mut stream, Checks::Shape) }?;
    let batches = remaining(&mut reader)?;
    RubyTable::new(reader.schema().clone(), batches)
}

/// A column of all chunks of the stream at an address.
fn column_of_stream(ruby: &Ruby, address: usize) -> Result<RubyColumn> {
    keep::give_back();
    // SAFETY: the Ruby caller passes the address of a struct, or 0; this cannot be checked.
    let mut stream = unsafe { forwarded(ruby, address) }?;
    // SAFETY: clauses 1 and 2 of `import_stream`: a local struct, whose functions move the
    // producer's structs. Clause 3: it is used and released on this thread only.
    let (field, chunks) = unsafe { arrow::import_chunks(&mut stream, Checks::Shape) }?;
    RubyColumn::new(field, chunks)
}

/// A table of the struct at two addresses.
fn table_of_structs(ruby: &Ruby, schema: usize, array: usize) -> Result<RubyTable> {
    keep::give_back();
    // SAFETY: clauses 1 and 2 of `both`: the Ruby caller passes the addresses of two unreleased
    // structs, or 0; this cannot be checked.
    let (mut schema, mut array) = unsafe { both(ruby, schema, array, rb_sys::Qnil as VALUE) }?;
    // SAFETY: `both` moved the structs into local variables, so no other code has them, and made
    // them releasable on any thread.
    let batch = unsafe { arrow::import_batch(&mut schema, &mut array, Checks::Shape) }?;
    RubyTable::new(batch.schema().clone(), vec![batch])
}

/// A column of the structs at two addresses.
fn column_of_structs(ruby: &Ruby, schema: usize, array: usize) -> Result<RubyColumn> {
    keep::give_back();
    // SAFETY: clauses 1 and 2 of `both`: the Ruby caller passes the addresses of two unreleased
    // structs, or 0; this cannot be checked.
    let (mut schema, mut array) = unsafe { both(ruby, schema, array, rb_sys::Qnil as VALUE) }?;
    // SAFETY: `both` moved the structs into local variables, so no other code has them, and made
    // them releasable on any thread.
    let (field, column) = unsafe { arrow::import_column(&mut schema, &mut array, Checks::Shape) }?;
    RubyColumn::new(field, vec![column])
}

pub(super) fn init(ruby: &Ruby, module: RModule) -> std::result::Result<(), magnus::Error> {
    let class = module.define_class("ArrowStream", ruby.class_object())?;
    class.undef_default_alloc_func();
    // Looked up once, here: later, several Ractors may need it at the same time.
    let _class = Stream::class(ruby);
    class.define_method("address", method!(address, 0))?;
    class.define_method("released?", method!(is_released, 0))?;
    class.define_method("release", method!(give_back, 0))?;
    class.define_singleton_method("of_table", function!(of_table, 1))?;
    class.define_singleton_method("of_column", function!(of_column, 1))?;
    class.define_singleton_method("structs_of", function!(structs_of, 1))?;
    class.define_singleton_method("table_at", function!(table_of_stream, 1))?;
    class.define_singleton_method("column_at", function!(column_of_stream, 1))?;
    class.define_singleton_method("table_of_structs", function!(table_of_structs, 2))?;
    class.define_singleton_method("column_of_structs", function!(column_of_structs, 2))
}
