//! The C structs of exported columns, and the functions that release them.

use core::ffi::{c_char, c_void};
use std::mem::{self, ManuallyDrop};
use std::ptr;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::arrow::abi::{ArrowArray, ArrowSchema, NULLABLE};
use crate::exchange::protocol::arrow::column::{ArrayColumn, Body};
use crate::exchange::protocol::arrow::event::SyncEvent;
use crate::exchange::protocol::arrow::foreign::ReleasableStruct;
use crate::exchange::protocol::arrow::metadata::Extension;
use crate::memory::Lease;
use crate::table::TableLease;

/// What the struct of a schema refers to, but its children.
#[derive(Default)]
pub(super) struct SchemaParts {
    pub(super) text: SchemaText,
    pub(super) metadata: Option<Box<[u8]>>,
    pub(super) flags: i64,
}

/// The format and the name of a schema, each ended by NUL, that of most without an allocation.
///
/// # Invariants
///
/// 1. There is a NUL before byte `name`, and one at the end; before a body is made, the default is
///    replaced.
/// 2. The bytes are `long`, or, if it is empty, the first of `short`.
#[derive(Default)]
pub(super) struct SchemaText {
    short: [u8; 32],
    long: Box<[u8]>,
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
        let mut text = Self { name: format.len() + 1, ..Self::default() };
        // SchemaText 1: the two NULs, of which a short text has the rest of the zeros.
        match text.short.get_mut(..format.len() + name.len() + 2) {
            Some(short) => {
                short[..format.len()].copy_from_slice(format);
                short[format.len() + 1..][..name.len()].copy_from_slice(name);
            }
            None => text.long = [format, b"\0", name, b"\0"].concat().into(),
        }
        text
    }

    fn bytes(&self) -> &[u8] {
        if self.long.is_empty() { &self.short } else { &self.long }
    }

    fn format(&self) -> *const c_char {
        self.bytes().as_ptr().cast()
    }

    fn name(&self) -> *const c_char {
        self.bytes()[self.name..].as_ptr().cast()
    }
}

/// What the struct of a column refers to, but its children.
#[derive(Default)]
pub(super) struct ArrayParts {
    pub(super) len: usize,
    /// The number of nulls; `None` if not counted.
    pub(super) null_count: Option<usize>,
    pub(super) offset: usize,
    /// What `keep` keeps alive and constant.
    pub(super) buffers: BufferAddresses,
    pub(super) keep: ColumnOwners,
}

/// The addresses of a column's buffers, those of most columns without an allocation.
///
/// # Invariants
///
/// 1. `many` has all of them, or is empty; then the first `len` of `few` are all.
pub(super) struct BufferAddresses {
    few: [*const c_void; 3],
    many: Vec<*const c_void>,
    len: usize,
}

impl Default for BufferAddresses {
    fn default() -> Self {
        Self { few: [ptr::null(); 3], many: Vec::new(), len: 0 }
    }
}

impl BufferAddresses {
    pub(super) fn push(&mut self, address: *const c_void) {
        match self.few.get_mut(self.len) {
            Some(few) => *few = address,
            None => {
                if self.many.is_empty() {
                    self.many.extend(self.few);
                }
                self.many.push(address);
            }
        }
        self.len += 1;
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [*const c_void] {
        if self.many.is_empty() { &mut self.few[..self.len] } else { &mut self.many }
    }
}

impl FromIterator<*const c_void> for BufferAddresses {
    fn from_iter<I: IntoIterator<Item = *const c_void>>(addresses: I) -> Self {
        let mut list = Self::default();
        addresses.into_iter().for_each(|address| list.push(address));
        list
    }
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

/// A struct that was made here and has no consumer yet. Dropping it releases it.
///
/// # Invariants
///
/// 1. The struct was made in this file, and no other code uses it. It was not released, or has no
///    `release`.
#[repr(transparent)]
pub(super) struct Unsent<S: ReleasableStruct>(S);

impl<S: ReleasableStruct> Unsent<S> {
    /// The struct, which the caller or its consumer releases.
    pub(super) fn send(self) -> S {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is initialised and is neither dropped nor used afterwards.
        unsafe { ptr::read(&raw const this.0) }
    }
}

impl<S: ReleasableStruct> Drop for Unsent<S> {
    fn drop(&mut self) {
        // A consumer that moves a child elsewhere leaves no `release` behind.
        if let Some(release) = *self.0.release() {
            // SAFETY: Unsent 1: the struct was made in this file, and no other code uses it: the
            // clauses of its `release`. This drop makes the only call.
            unsafe { release(&mut self.0) }
        }
    }
}

/// The `private_data` of an exported schema: what it refers to.
///
/// # Invariants
///
/// 1. It is a box, owned by the one struct whose `release` is [`release_schema`], wherever that
///    struct is moved.
struct SchemaBody {
    // Owned here for the pointers to them in the struct.
    text: SchemaText,
    metadata: Option<Box<[u8]>>,
    below: StructsBelow<ArrowSchema>,
}

/// The `private_data` of an exported column: what it refers to.
///
/// # Invariants
///
/// 1. It is a box, owned by the one struct whose `release` is [`release_array`], wherever that
///    struct is moved.
struct ArrayBody {
    buffers: BufferAddresses,
    below: StructsBelow<ArrowArray>,
    _keep: ColumnOwners,
}

/// The structs below another one, in one allocation, a dictionary last, and the pointers to them
/// that C requires. Dropping it releases those that the consumer has not moved elsewhere.
///
/// # Invariants
///
/// 1. `structs` comes from a box of [`Unsent`], which only the drop frees. The consumer has
///    pointers into it until the parent is released.
/// 2. `pointers` are those of its elements.
struct StructsBelow<S: ReleasableStruct> {
    structs: *mut [Unsent<S>],
    pointers: Box<[*mut S]>,
    has_dictionary: bool,
}

impl<S: ReleasableStruct> StructsBelow<S> {
    fn new(structs: Vec<Unsent<S>>, has_dictionary: bool) -> Self {
        let structs = Box::into_raw(structs.into_boxed_slice());
        let first = structs.cast::<S>();
        // StructsBelow 2: as many pointers as elements.
        let pointers = (0..structs.len()).map(|k| first.wrapping_add(k)).collect();
        Self { structs, pointers, has_dictionary }
    }

    fn child_count(&self) -> usize {
        self.pointers.len() - usize::from(self.has_dictionary)
    }

    /// The pointers to the children, for the C struct; null if there are none.
    fn children(&mut self) -> *mut *mut S {
        if self.child_count() == 0 { ptr::null_mut() } else { self.pointers.as_mut_ptr() }
    }

    /// The pointer to the dictionary; null if there is none.
    fn dictionary(&self) -> *mut S {
        match self.pointers.last() {
            Some(&last) if self.has_dictionary => last,
            _ => ptr::null_mut(),
        }
    }
}

impl<S: ReleasableStruct> Drop for StructsBelow<S> {
    fn drop(&mut self) {
        // SAFETY: StructsBelow 1: a box that only this drop frees. The consumer uses the structs no
        // longer, since it releases the parent; one that it moved elsewhere has no `release`.
        drop(unsafe { Box::from_raw(self.structs) });
    }
}

/// A column as a pair of C structs, each of which owns what it refers to.
pub(super) fn lend(column: ArrayColumn, flags: i64) -> (ArrowSchema, ArrowArray) {
    let (schema, array) = pair(column, flags);
    (schema.send(), array.send())
}

fn pair(column: ArrayColumn, flags: i64) -> (Unsent<ArrowSchema>, Unsent<ArrowArray>) {
    let ArrayColumn { format, name, extension, len, nulls, event, body } = column;
    let bitmap = nulls.as_ref().map_or(ptr::null(), |nulls| nulls.bits.as_ptr().cast());
    let flags = if nulls.is_some() { NULLABLE } else { flags };
    let (data, children, lease) = match body {
        Body::Values { data, lease } => (Some(data.cast()), vec![], Some(lease)),
        // There are no nulls; but consumers that compare types mark the items of tensors as
        // nullable.
        Body::List(item) => (None, vec![pair(*item, NULLABLE)], None),
        Body::Struct(columns) => (None, columns.into_iter().map(|column| pair(column, 0)).collect(), None),
    };
    let (schemas, arrays): (Vec<_>, Vec<_>) = children.into_iter().unzip();
    let metadata = extension.as_ref().map(Extension::encode);
    let text = SchemaText::of(format.as_bytes(), name.as_bytes());
    let schema = SchemaParts { text, metadata, flags }.over(schemas, false);
    let null_count = Some(nulls.as_ref().map_or(0, |nulls| nulls.count));
    let bits = nulls.map(|nulls| nulls.bits);
    let keep = ColumnOwners { lease, bits, event, ..ColumnOwners::default() };
    let buffers = [bitmap].into_iter().chain(data).collect();
    let array = ArrayParts { len, null_count, buffers, keep, ..ArrayParts::default() };
    (schema, array.over(arrays, false))
}

impl SchemaParts {
    /// The struct, which owns the parts and the structs below it: the children, then the dictionary
    /// if there is one.
    pub(super) fn over(self, below: Vec<Unsent<ArrowSchema>>, has_dictionary: bool) -> Unsent<ArrowSchema> {
        let Self { text, metadata, flags } = self;
        let below = StructsBelow::new(below, has_dictionary);
        let body = Box::into_raw(Box::new(SchemaBody { text, metadata, below }));
        // SAFETY: `body` comes from `Box::into_raw` one line above, and no other reference to it
        // exists. The pointers are those into its final place.
        let SchemaBody { text, metadata, below } = unsafe { &mut *body };
        // Unsent 1: a new struct.
        Unsent(ArrowSchema {
            format: text.format(),
            name: text.name(),
            metadata: metadata.as_ref().map_or(ptr::null(), |bytes| bytes.as_ptr().cast()),
            flags,
            n_children: below.child_count() as i64,
            children: below.children(),
            dictionary: below.dictionary(),
            release: Some(release_schema),
            private_data: body.cast(),
        })
    }
}

impl ArrayParts {
    /// The struct, which owns the parts and the structs below it: the children, then the dictionary
    /// if there is one.
    pub(super) fn over(self, below: Vec<Unsent<ArrowArray>>, has_dictionary: bool) -> Unsent<ArrowArray> {
        let Self { len, null_count, offset, buffers, keep } = self;
        let below = StructsBelow::new(below, has_dictionary);
        let body = Box::into_raw(Box::new(ArrayBody { buffers, below, _keep: keep }));
        // SAFETY: `body` comes from `Box::into_raw` one line above, and no other reference to it
        // exists. The pointers are those into its final place.
        let ArrayBody { buffers, below, .. } = unsafe { &mut *body };
        let buffers = buffers.as_mut_slice();
        // Unsent 1: a new struct.
        Unsent(ArrowArray {
            length: len as i64,
            null_count: null_count.map_or(-1, |count| count as i64),
            offset: offset as i64,
            n_buffers: buffers.len() as i64,
            n_children: below.child_count() as i64,
            buffers: buffers.as_mut_ptr(),
            children: below.children(),
            dictionary: below.dictionary(),
            release: Some(release_array),
            private_data: body.cast(),
        })
    }
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
    let body = mem::replace(&mut schema.private_data, ptr::null_mut());
    // SAFETY: SchemaBody 1: the struct was not released before (`release` was set, checked above),
    // so `private_data` was its own box.
    drop(unsafe { Box::from_raw(body.cast::<SchemaBody>()) });
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
    let body = mem::replace(&mut array.private_data, ptr::null_mut());
    // SAFETY: ArrayBody 1: the struct was not released before (`release` was set, checked above),
    // so `private_data` was its own box.
    drop(unsafe { Box::from_raw(body.cast::<ArrayBody>()) });
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn text_of_any_length_is_read_back() {
        for len in 0..70 {
            let (format, name) = ("f".repeat(len / 2), "n".repeat(len - len / 2));
            let schema =
                SchemaParts { text: SchemaText::new(&format, &name).unwrap(), ..SchemaParts::default() };
            let schema = schema.over(vec![], false);
            for (text, expected) in [(schema.0.format, format), (schema.0.name, name)] {
                // SAFETY: both texts end with NUL and live until `schema` is dropped.
                assert_eq!(unsafe { CStr::from_ptr(text) }.to_str().unwrap(), expected);
            }
        }
    }

    #[test]
    fn any_number_of_buffers_has_the_addresses_in_order() {
        for count in 0..9 {
            let addresses: Vec<_> = (1..=count).map(ptr::without_provenance).collect();
            let array = ArrayParts { buffers: addresses.iter().copied().collect(), ..ArrayParts::default() };
            let array = array.over(vec![], false);
            assert_eq!(array.0.n_buffers, count as i64);
            // SAFETY: the struct has this many buffers and lives until the end of the loop.
            let found = unsafe { std::slice::from_raw_parts(array.0.buffers, count) };
            assert_eq!(found, addresses);
        }
    }
}
