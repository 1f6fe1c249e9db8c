//! The C structs of exported columns, and the functions that release them.

use core::ffi::{c_char, c_void};
use std::ptr;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::arrow::abi::{ArrowArray, ArrowSchema, NULLABLE};
use crate::exchange::protocol::arrow::column::{ArrayColumn, Body};
use crate::exchange::protocol::arrow::event::SyncEvent;
use crate::exchange::protocol::arrow::metadata::Extension;
use crate::memory::Lease;
use crate::table::TableLease;

/// A schema to export, with everything that its struct will refer to.
#[derive(Default)]
pub(super) struct NewSchema {
    pub(super) text: SchemaText,
    pub(super) metadata: Option<Box<[u8]>>,
    pub(super) flags: i64,
    pub(super) children: Vec<NewSchema>,
    pub(super) dictionary: Option<Box<NewSchema>>,
}

/// The format and the name of a schema, each ended by NUL, in one allocation.
///
/// # Invariants
///
/// 1. There is a NUL before byte `name`, and one at the end; before a body is made, the default is
///    replaced.
#[derive(Default)]
pub(super) struct SchemaText {
    bytes: Box<[u8]>,
    name: usize,
}

impl SchemaText {
    /// # Errors
    ///
    /// `is_unsupported` for text with a NUL.
    pub(super) fn new(format: &str, name: &str) -> Result<Self> {
        if let Some(text) = [format, name].into_iter().find(|text| text.contains('\0')) {
            let text = format!("the name {text:?} contains a NUL, which ends text in C; rename the column");
            return Err(Error::new(Kind::Unsupported, text));
        }
        Ok(Self::of(format.as_bytes(), name.as_bytes()))
    }

    /// Text without a NUL.
    fn of(format: &[u8], name: &[u8]) -> Self {
        // SchemaText 1: the two NULs.
        Self { bytes: [format, b"\0", name, b"\0"].concat().into(), name: format.len() + 1 }
    }

    fn format(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }

    fn name(&self) -> *const c_char {
        self.bytes[self.name..].as_ptr().cast()
    }
}

/// A column to export, with everything that its struct will refer to.
#[derive(Default)]
pub(super) struct NewArray {
    pub(super) len: usize,
    /// The number of nulls; `None` if not counted.
    pub(super) null_count: Option<usize>,
    pub(super) offset: usize,
    /// The addresses of the buffers, which `keep` keeps alive and constant.
    pub(super) buffers: Vec<*const c_void>,
    pub(super) children: Vec<NewArray>,
    pub(super) dictionary: Option<Box<NewArray>>,
    pub(super) keep: ColumnOwners,
}

/// What keeps the memory of a column alive and constant until it is released.
#[derive(Default)]
#[expect(dead_code, reason = "the fields are owned until the release, and are not read")]
pub(super) struct ColumnOwners {
    /// Its drop ends the lease. Each column of an array has its own, so that a child may be moved
    /// away from its parent.
    pub(super) lease: Option<Lease>,
    /// The leases of all columns of a table, for the same reason in each column.
    pub(super) leases: Option<Arc<TableLease>>,
    /// No other party has the bitmap, so it stays constant.
    pub(super) bits: Option<Buffer>,
    /// The sizes of the buffers to which views refer.
    pub(super) sizes: Box<[i64]>,
    /// Owned here for the consumer, which has a pointer to its handle.
    pub(super) event: Option<Box<SyncEvent>>,
}

/// The `private_data` of an exported schema: what it refers to.
///
/// # Invariants
///
/// 1. It is a box, owned by the one struct whose `release` is [`release_schema`], wherever that
///    struct is moved.
/// 2. Each struct of `children` and `dictionary` is released, or moved elsewhere, by the consumer
///    or by [`release_schema`] of the parent.
struct SchemaBody {
    // Owned here for the pointers to them in the struct.
    _text: SchemaText,
    _metadata: Option<Box<[u8]>>,
    children: ChildStructs<ArrowSchema>,
    dictionary: ChildStructs<ArrowSchema>,
}

/// The `private_data` of an exported column: what it refers to.
///
/// # Invariants
///
/// 1. It is a box, owned by the one struct whose `release` is [`release_array`], wherever that
///    struct is moved.
/// 2. Each struct of `children` and `dictionary` is released, or moved elsewhere, by the consumer
///    or by [`release_array`] of the parent.
struct ArrayBody {
    buffers: Box<[*const c_void]>,
    children: ChildStructs<ArrowArray>,
    dictionary: ChildStructs<ArrowArray>,
    _keep: ColumnOwners,
}

/// The structs below another one, in one allocation, and the pointers to them that C requires.
///
/// # Invariants
///
/// 1. `structs` comes from a box, which only the drop frees. The consumer has pointers into it
///    until the parent is released.
/// 2. `pointers` are those of its elements.
struct ChildStructs<S> {
    structs: *mut [S],
    pointers: Box<[*mut S]>,
}

impl<S> ChildStructs<S> {
    fn new(structs: impl Iterator<Item = S>) -> Self {
        let structs: *mut [S] = Box::into_raw(structs.collect());
        let first = structs.cast::<S>();
        // ChildStructs 2: as many pointers as elements.
        Self { structs, pointers: (0..structs.len()).map(|k| first.wrapping_add(k)).collect() }
    }

    /// The pointers, for the C struct; null if there are none.
    fn as_ptr(&mut self) -> *mut *mut S {
        if self.pointers.is_empty() { ptr::null_mut() } else { self.pointers.as_mut_ptr() }
    }

    /// The pointer to the only one; null if there is none.
    fn only(&self) -> *mut S {
        self.pointers.first().copied().unwrap_or(ptr::null_mut())
    }
}

impl<S> Drop for ChildStructs<S> {
    fn drop(&mut self) {
        // SAFETY: ChildStructs 1: a box that only this drop frees; it has no destructor that reads
        // what the structs refer to.
        drop(unsafe { Box::from_raw(self.structs) });
    }
}

/// A column as a pair of C structs, each of which owns what it refers to.
pub(super) fn lend(column: ArrayColumn, flags: i64) -> (ArrowSchema, ArrowArray) {
    let (schema, array) = parts(column, flags);
    (schema.into_struct(), array.into_struct())
}

fn parts(column: ArrayColumn, flags: i64) -> (NewSchema, NewArray) {
    let ArrayColumn { format, name, extension, len, nulls, event, body } = column;
    let bitmap = nulls.as_ref().map_or(ptr::null(), |nulls| nulls.bits.as_ptr().cast());
    let flags = if nulls.is_some() { NULLABLE } else { flags };
    let (buffers, children, lease) = match body {
        Body::Values { data, lease } => (vec![bitmap, data.cast()], vec![], Some(lease)),
        // There are no nulls; but consumers that compare types mark the items of tensors as
        // nullable.
        Body::List(item) => (vec![bitmap], vec![parts(*item, NULLABLE)], None),
        Body::Struct(columns) => {
            (vec![bitmap], columns.into_iter().map(|column| parts(column, 0)).collect(), None)
        }
    };
    let (schemas, arrays) = children.into_iter().unzip();
    let metadata = extension.as_ref().map(Extension::encode);
    let text = SchemaText::of(format.as_bytes(), name.as_bytes());
    let schema = NewSchema { text, metadata, flags, children: schemas, dictionary: None };
    let null_count = Some(nulls.as_ref().map_or(0, |nulls| nulls.count));
    let bits = nulls.map(|nulls| nulls.bits);
    let keep = ColumnOwners { lease, bits, event, ..ColumnOwners::default() };
    (schema, NewArray { len, null_count, buffers, children: arrays, keep, ..NewArray::default() })
}

impl NewSchema {
    /// The struct, which owns the parts.
    pub(super) fn into_struct(self) -> ArrowSchema {
        let Self { text, metadata, flags, children, dictionary } = self;
        let schema = ArrowSchema {
            format: text.format(),
            name: text.name(),
            metadata: metadata.as_ref().map_or(ptr::null(), |bytes| bytes.as_ptr().cast()),
            flags,
            n_children: children.len() as i64,
            release: Some(release_schema),
            ..ArrowSchema::empty()
        };
        let children = ChildStructs::new(children.into_iter().map(Self::into_struct));
        let dictionary = ChildStructs::new(dictionary.into_iter().map(|values| values.into_struct()));
        let body = SchemaBody { _text: text, _metadata: metadata, children, dictionary };
        with_schema_body(schema, body)
    }
}

impl NewArray {
    /// The struct, which owns the parts.
    pub(super) fn into_struct(self) -> ArrowArray {
        let array = ArrowArray {
            length: self.len as i64,
            null_count: self.null_count.map_or(-1, |count| count as i64),
            offset: self.offset as i64,
            n_buffers: self.buffers.len() as i64,
            n_children: self.children.len() as i64,
            release: Some(release_array),
            ..ArrowArray::empty()
        };
        let body = ArrayBody {
            buffers: self.buffers.into(),
            children: ChildStructs::new(self.children.into_iter().map(Self::into_struct)),
            dictionary: ChildStructs::new(self.dictionary.into_iter().map(|values| values.into_struct())),
            _keep: self.keep,
        };
        with_array_body(array, body)
    }
}

/// Takes the pointers into a body once it is in its final place.
fn with_schema_body(mut schema: ArrowSchema, body: SchemaBody) -> ArrowSchema {
    let body = Box::into_raw(Box::new(body));
    // SAFETY: `body` comes from `Box::into_raw` one line above, and no other reference to it
    // exists.
    let SchemaBody { children, dictionary, .. } = unsafe { &mut *body };
    schema.dictionary = dictionary.only();
    schema.children = children.as_ptr();
    schema.private_data = body.cast();
    schema
}

/// Takes the pointers into a body once it is in its final place.
fn with_array_body(mut array: ArrowArray, body: ArrayBody) -> ArrowArray {
    let body = Box::into_raw(Box::new(body));
    // SAFETY: `body` comes from `Box::into_raw` one line above, and no other reference to it
    // exists.
    let ArrayBody { buffers, children, dictionary, .. } = unsafe { &mut *body };
    array.dictionary = dictionary.only();
    array.buffers = buffers.as_mut_ptr();
    array.children = children.as_ptr();
    array.private_data = body.cast();
    array
}

/// Frees what a schema refers to. Does not unwind: none of the destructors panics.
///
/// # Safety
///
/// 1. `schema` is null, or points to a struct of [`lend`], moved or not. Nothing happens if it was
///    released.
/// 2. No other code uses the struct during the call.
unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: clauses 1 and 2 of `# Safety`: `schema` is null or points to a struct that no other
    // code uses during the call.
    let Some(schema) = (unsafe { schema.as_mut() }) else { return };
    if schema.release.take().is_none() {
        return;
    }
    // SAFETY: SchemaBody 1: the struct was not released before (`release` was set, checked above),
    // so `private_data` is its own box.
    let body = unsafe { Box::from_raw(schema.private_data.cast::<SchemaBody>()) };
    schema.private_data = ptr::null_mut();
    for &child in body.children.pointers.iter().chain(&body.dictionary.pointers) {
        // SAFETY: ChildStructs 1 and 2: the struct lives until `body` is dropped, and the consumer
        // uses it no longer, since it releases the parent.
        let child = unsafe { &mut *child };
        if let Some(release) = child.release {
            // SAFETY: SchemaBody 2: `release` is set, so the struct was neither moved away nor
            // released, and it is released with its parent.
            unsafe { release(child) };
        }
    }
}

/// Releases a column, and with the last lease the memory. Neither unwinds: panics of owners are
/// caught where they are called.
///
/// # Safety
///
/// 1. `array` is null, or points to a struct of [`lend`], moved or not. Nothing happens if it was
///    released.
/// 2. No other code uses the struct during the call.
unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: clauses 1 and 2 of `# Safety`: `array` is null or points to a struct that no other
    // code uses during the call.
    let Some(array) = (unsafe { array.as_mut() }) else { return };
    if array.release.take().is_none() {
        return;
    }
    // SAFETY: ArrayBody 1: the struct was not released before (`release` was set, checked above),
    // so `private_data` is its own box.
    let body = unsafe { Box::from_raw(array.private_data.cast::<ArrayBody>()) };
    array.private_data = ptr::null_mut();
    for &child in body.children.pointers.iter().chain(&body.dictionary.pointers) {
        // SAFETY: ChildStructs 1 and 2: the struct lives until `body` is dropped, and the consumer
        // uses it no longer, since it releases the parent.
        let child = unsafe { &mut *child };
        if let Some(release) = child.release {
            // SAFETY: ArrayBody 2: `release` is set, so the struct was neither moved away nor
            // released, and it is released with its parent.
            unsafe { release(child) };
        }
    }
}
