//! The C structs of columns on loan, and the functions that give them back.

use core::ffi::c_void;
use std::ffi::CString;
use std::ptr;

use crate::buffer::Buffer;
use crate::exchange::protocol::arrow::abi::{ArrowArray, ArrowSchema, NULLABLE};
use crate::exchange::protocol::arrow::column::{Body, Column};
use crate::exchange::protocol::arrow::event::SyncEvent;
use crate::exchange::protocol::arrow::metadata::Extension;
use crate::memory::Lease;

/// What a schema of ours refers to: its `private_data`.
///
/// # Invariants
///
/// 1. A box, for the one struct whose `release` is [`release_schema`], wherever that struct is moved.
/// 2. Each of `children` is a box, which nobody else frees. What it holds is released, or moved elsewhere, by the consumer or by
///    whoever releases the parent.
struct SchemaBody {
    // Kept for the pointers to them in the struct.
    _format: CString,
    _name: CString,
    _metadata: Option<Box<[u8]>>,
    children: Box<[*mut ArrowSchema]>,
}

/// What an array of ours refers to: its `private_data`.
///
/// # Invariants
///
/// 1. A box, for the one struct whose `release` is [`release_array`], wherever that struct is moved.
/// 2. As [`SchemaBody`] 2.
struct ArrayBody {
    buffers: Box<[*const c_void]>,
    children: Box<[*mut ArrowArray]>,
    // Kept for its drop, which gives it back. Each column has its own, so that a child may be moved away from its parent.
    _lease: Option<Lease>,
    // Nobody else has the bitmap, so nobody writes it.
    _bits: Option<Buffer>,
    // Kept for the consumer, which was told where it is.
    _event: Option<Box<SyncEvent>>,
}

/// A column as a pair of C structs, each of which owns what it refers to.
pub(super) fn lend(column: Column, flags: i64) -> (ArrowSchema, ArrowArray) {
    let Column { format, name, extension, len, nulls, event, body } = column;
    let bitmap = nulls.as_ref().map_or(ptr::null(), |nulls| nulls.bits.as_ptr().cast());
    let flags = if nulls.is_some() { NULLABLE } else { flags };
    let (buffers, children, lease) = match body {
        Body::Values { data, lease } => (vec![bitmap, data.cast()], vec![], Some(lease)),
        // Not that there are nulls; but consumers that compare types know the elements of tensors as ones that could be.
        Body::List(item) => (vec![bitmap], vec![lend(*item, NULLABLE)], None),
        Body::Struct(columns) => {
            (vec![bitmap], columns.into_iter().map(|column| lend(column, 0)).collect(), None)
        }
    };
    let boxed = |(schema, array)| (Box::into_raw(Box::new(schema)), Box::into_raw(Box::new(array)));
    let (schemas, arrays): (Vec<_>, Vec<_>) = children.into_iter().map(boxed).unzip();
    let metadata = extension.as_ref().map(Extension::encode);
    let schema = ArrowSchema {
        format: format.as_ptr(),
        name: name.as_ptr(),
        metadata: metadata.as_ref().map_or(ptr::null(), |bytes| bytes.as_ptr().cast()),
        flags,
        n_children: schemas.len() as i64,
        release: Some(release_schema),
        ..ArrowSchema::empty()
    };
    let array = ArrowArray {
        length: len as i64,
        null_count: nulls.as_ref().map_or(0, |nulls| nulls.count as i64),
        n_buffers: buffers.len() as i64,
        n_children: arrays.len() as i64,
        release: Some(release_array),
        ..ArrowArray::empty()
    };
    let body = SchemaBody { _format: format, _name: name, _metadata: metadata, children: schemas.into() };
    let of_array = ArrayBody {
        buffers: buffers.into(),
        children: arrays.into(),
        _lease: lease,
        _bits: nulls.map(|nulls| nulls.bits),
        _event: event,
    };
    (with_schema_body(schema, body), with_array_body(array, of_array))
}

/// The pointers into a body are taken when it is where it stays.
fn with_schema_body(mut schema: ArrowSchema, body: SchemaBody) -> ArrowSchema {
    let body = Box::into_raw(Box::new(body));
    // SAFETY: just made, and nobody else has it.
    let children = unsafe { &mut (*body).children };
    schema.children = if children.is_empty() { ptr::null_mut() } else { children.as_mut_ptr() };
    schema.private_data = body.cast();
    schema
}

/// As [`with_schema_body`].
fn with_array_body(mut array: ArrowArray, body: ArrayBody) -> ArrowArray {
    let body = Box::into_raw(Box::new(body));
    // SAFETY: just made, and nobody else has it.
    let ArrayBody { buffers, children, .. } = unsafe { &mut *body };
    array.buffers = buffers.as_mut_ptr();
    array.children = if children.is_empty() { ptr::null_mut() } else { children.as_mut_ptr() };
    array.private_data = body.cast();
    array
}

/// Frees what a schema refers to. That it does not unwind: nothing in it does.
///
/// # Safety
///
/// `schema` is null, or to a struct of [`lend`], moved or not; if it says that it was released, nothing happens.
unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the caller's word.
    let Some(schema) = (unsafe { schema.as_mut() }) else { return };
    if schema.release.take().is_none() {
        return;
    }
    // SAFETY: SchemaBody 1: it was not released before.
    let body = unsafe { Box::from_raw(schema.private_data.cast::<SchemaBody>()) };
    schema.private_data = ptr::null_mut();
    for &child in &body.children {
        // SAFETY: SchemaBody 2.
        let mut child = unsafe { Box::from_raw(child) };
        if let Some(release) = child.release {
            // SAFETY: it was not moved away, so it is released with its parent.
            unsafe { release(&mut *child) };
        }
    }
}

/// Gives a column back, and with it, perhaps, the memory. That neither unwinds: owners that panic are caught where they are called.
///
/// # Safety
///
/// `array` is null, or to a struct of [`lend`], moved or not; if it says that it was released, nothing happens.
unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: the caller's word.
    let Some(array) = (unsafe { array.as_mut() }) else { return };
    if array.release.take().is_none() {
        return;
    }
    // SAFETY: ArrayBody 1: it was not released before.
    let body = unsafe { Box::from_raw(array.private_data.cast::<ArrayBody>()) };
    array.private_data = ptr::null_mut();
    for &child in &body.children {
        // SAFETY: ArrayBody 2.
        let mut child = unsafe { Box::from_raw(child) };
        if let Some(release) = child.release {
            // SAFETY: it was not moved away, so it is released with its parent.
            unsafe { release(&mut *child) };
        }
    }
}
