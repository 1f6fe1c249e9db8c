//! Arrow's C Data interface for Ruby: `Crossdock::ArrowColumn`, which has the two structs at addresses that others move them from.
//!
//! The library's own protocol fills the structs in and reads them. As with DLPack, what is added is who releases: structs of somebody else's,
//! whose functions may be written in Ruby, are released by a Ruby thread with the lock, outside of a sweep.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};
use std::ptr;
use std::sync::Arc;

use crossdock::DArray;
use crossdock::bindings::arrow::abi::{ArrowArray, ArrowSchema};
use crossdock::bindings::arrow::{self, ExportOptions, Imported};
use magnus::rb_sys::{AsRawValue, protect};
use magnus::{
    DataTypeFunctions, IntoValue, RClass, RModule, RString, Ruby, TryConvert, TypedData, Value, function,
    method, prelude::*,
};
use rb_sys::VALUE;

use crate::error::{Failure, Result};
use crate::handle::Wrapped;
use crate::keep::{self, Held, Loan};
use crate::policy;
use crate::pressure::{self, Kept, again};
use crate::value::name;

/// `Crossdock::ArrowColumn`.
///
/// # Invariants
///
/// 1. Each struct may be released in a sweep; or was released, or moved elsewhere, and says so. Whoever has its address moves it with Ruby's
///    lock.
#[derive(TypedData)]
#[magnus(class = "Crossdock::ArrowColumn", free_immediately, size)]
struct Column {
    // Boxes of their own: the addresses are good for as long as the object is alive.
    schema: Box<UnsafeCell<ArrowSchema>>,
    array: Box<UnsafeCell<ArrowArray>>,
    copied_nbytes: usize,
    /// The report of the memory to Ruby's collector. `None` for a column of another producer.
    kept: Option<Arc<Kept>>,
}

impl DataTypeFunctions for Column {
    fn size(&self) -> usize {
        let structs = size_of::<Self>() + size_of::<ArrowSchema>() + size_of::<ArrowArray>();
        structs
            + pressure::told(self.kept.as_ref().filter(|_| !self.is_released()), ptr::from_ref(self).addr())
    }
}

// SAFETY: what any thread may have, and only threads with Ruby's lock touch (Column 1).
unsafe impl Send for Column {}

impl Column {
    fn new(schema: ArrowSchema, array: ArrowArray, copied_nbytes: usize) -> Self {
        Self { schema: Box::new(schema.into()), array: Box::new(array.into()), copied_nbytes, kept: None }
    }

    /// Releases what nobody has moved away.
    fn release(&self) {
        // SAFETY: Column 1.
        unsafe { release(self.array.get()) };
        // SAFETY: Column 1.
        unsafe { release(self.schema.get()) };
    }

    fn is_released(&self) -> bool {
        let array = self.array.get();
        // SAFETY: Column 1.
        unsafe { (*array).release }.is_none()
    }
}

impl Drop for Column {
    fn drop(&mut self) {
        if let Some(kept) = &self.kept {
            kept.leave(ptr::from_ref(self).addr());
        }
        self.release();
    }
}

/// What the two structs have in common here.
trait Struct: Sized + 'static {
    /// # Safety
    ///
    /// To a struct of this kind.
    unsafe fn release_of(this: *mut Self) -> *mut Option<unsafe extern "C" fn(*mut Self)>;

    /// What lends on what is in a struct, which is not released before this one is.
    fn lent_on(theirs: &Self, release: unsafe extern "C" fn(*mut Self), held: *mut Held) -> Self;

    /// Takes what keeps a struct of [`Struct::lent_on`].
    ///
    /// # Safety
    ///
    /// A struct that `lent_on` made, or a copy of its bytes; once.
    unsafe fn held(this: *mut Self) -> Box<Held>;
}

macro_rules! structs {
    ($($abi:ty),*) => {
        $(impl Struct for $abi {
            unsafe fn release_of(this: *mut Self) -> *mut Option<unsafe extern "C" fn(*mut Self)> {
                // SAFETY: the caller's word.
                unsafe { &raw mut (*this).release }
            }

            fn lent_on(theirs: &Self, release: unsafe extern "C" fn(*mut Self), held: *mut Held) -> Self {
                Self { release: Some(release), private_data: held.cast(), ..*theirs }
            }

            unsafe fn held(this: *mut Self) -> Box<Held> {
                // SAFETY: the caller's word.
                let held = unsafe { (*this).private_data };
                // SAFETY: as `lent_on` put it there.
                unsafe { Box::from_raw(held.cast()) }
            }
        })*
    };
}

structs!(ArrowSchema, ArrowArray);

/// Releases a struct, unless that happened before.
///
/// # Safety
///
/// To a struct of this kind, which nobody else uses.
unsafe fn release<S: Struct>(this: *mut S) {
    // SAFETY: the caller's word.
    let function = unsafe { S::release_of(this) };
    // SAFETY: as above.
    if let Some(function) = unsafe { function.read() } {
        // SAFETY: the one call: it marks the struct.
        unsafe { function(this) }
    }
}

/// A struct of somebody else's that was moved here, and is released by a Ruby thread.
struct Borrowed<S: Struct>(Box<UnsafeCell<S>>);

// SAFETY: only used by threads that have Ruby's lock (`Loan`).
unsafe impl<S: Struct> Send for Borrowed<S> {}

impl<S: Struct> Loan for Borrowed<S> {
    fn give_back(&mut self, _: VALUE) {
        let released = protect(|| {
            // SAFETY: moved here, and nobody else's.
            unsafe { release(self.0.get()) };
            rb_sys::Qnil as VALUE
        });
        // What a function of theirs raises has nobody to go to.
        drop(released);
    }
}

unsafe extern "C" fn release_lent_on<S: Struct>(this: *mut S) {
    // SAFETY: a struct of this kind.
    let function = unsafe { S::release_of(this) };
    // SAFETY: as above.
    if unsafe { function.replace(None) }.is_some() {
        // SAFETY: from `lent_on`, and not released before.
        drop(unsafe { S::held(this) });
    }
}

/// Moves a struct away from where it is, into one of ours that may be released anywhere.
///
/// # Safety
///
/// Not null; to a struct as `arrow::take_over` wants it, but that it is released by threads of Ruby's only, and while the owner is alive.
unsafe fn moved<S: Struct>(theirs: *mut S, owner: VALUE) -> Option<S> {
    // SAFETY: the caller's word.
    let function = unsafe { S::release_of(theirs) };
    // SAFETY: as above.
    unsafe { function.read() }?;
    // SAFETY: as above: the bytes go where nobody else has them, and what is left is marked.
    let own = Box::new(UnsafeCell::new(unsafe { theirs.read() }));
    // SAFETY: as above.
    unsafe { function.write(None) };
    let pointer = own.get();
    let held = keep::hold(owner, Some(Box::new(Borrowed(own))));
    // SAFETY: kept in a box by `held`, and nobody else has it.
    let theirs = unsafe { &*pointer };
    Some(S::lent_on(theirs, release_lent_on::<S>, Box::into_raw(Box::new(held))))
}

fn export(ruby: &Ruby, this: Wrapped, copy: Value, whole: bool, title: Value, mask: Value) -> Result<Column> {
    let array = this.array()?;
    let mut options = ExportOptions::new().copy(policy::of(copy)?);
    if whole {
        options = options.whole();
    }
    if !title.is_nil() {
        options = options.name(name(ruby, title)?);
    }
    if !mask.is_nil() {
        let Some(mask) = Wrapped::of(mask) else {
            let text = format!("a mask is a Crossdock::Array of truth values, and not a {}", mask.class());
            return Err(Failure::of_type(ruby, text));
        };
        options = options.validity(mask.array()?);
    }
    keep::give_back();
    let exported = again(ruby, || Ok(arrow::export(&array, &options)?))?;
    let copied = exported.copied_nbytes();
    let (schema, array) = exported.into_raw();
    let mut column = Column::new(schema, array, copied);
    column.kept = pressure::of_export(this, copied)?;
    Ok(column)
}

/// A column that has what lies in the structs at two addresses, which are marked as moved.
fn wrap(ruby: &Ruby, schema: usize, array: usize, owner: Value) -> Result<Column> {
    // SAFETY: the word of whoever gave the addresses.
    let (schema, array) = unsafe { both(ruby, schema, array, owner.as_raw()) }?;
    Ok(Column::new(schema, array, 0))
}

/// Both structs, moved.
///
/// # Safety
///
/// 0, or as for `moved`.
unsafe fn both(ruby: &Ruby, schema: usize, array: usize, owner: VALUE) -> Result<(ArrowSchema, ArrowArray)> {
    if schema == 0 || array == 0 {
        return Err(Failure::argument(ruby, "address 0 is no struct of Arrow's"));
    }
    let schema_at = ptr::with_exposed_provenance_mut::<ArrowSchema>(schema);
    let array_at = ptr::with_exposed_provenance_mut::<ArrowArray>(array);
    // SAFETY: the caller's word.
    let is_released = unsafe { (*array_at).release }.is_none();
    // SAFETY: as above.
    if is_released || unsafe { (*schema_at).release }.is_none() {
        let which = if is_released { "array" } else { "schema" };
        return Err(Failure::ours(
            ruby,
            format!("the {which} of the Arrow column was released, or moved elsewhere"),
        ));
    }
    // SAFETY: as above.
    let schema = unsafe { moved(schema_at, owner) };
    // SAFETY: as above.
    let array = unsafe { moved(array_at, owner) };
    match (schema, array) {
        (Some(schema), Some(array)) => Ok((schema, array)),
        // Both were there above.
        _ => Err(Failure::ours(ruby, "the Arrow column was released meanwhile")),
    }
}

fn released(ruby: &Ruby) -> Failure {
    Failure::ours(ruby, "the Arrow column was released, or moved elsewhere: it is taken once")
}

fn schema(this: &Column) -> usize {
    this.schema.get().expose_provenance()
}

fn array(this: &Column) -> usize {
    this.array.get().expose_provenance()
}

/// The schema, while it is there.
fn live_schema<'a>(ruby: &Ruby, this: &'a Column) -> Result<&'a ArrowSchema> {
    // SAFETY: Column 1, here and until the caller has read it.
    let schema = unsafe { &*this.schema.get() };
    if schema.release.is_some() { Ok(schema) } else { Err(released(ruby)) }
}

fn live_array<'a>(ruby: &Ruby, this: &'a Column) -> Result<&'a ArrowArray> {
    // SAFETY: as in `live_schema`.
    let array = unsafe { &*this.array.get() };
    if array.release.is_some() { Ok(array) } else { Err(released(ruby)) }
}

fn text(ruby: &Ruby, text: *const c_char) -> Option<RString> {
    if text.is_null() {
        return None;
    }
    // SAFETY: ended by NUL, as the specification has it.
    let text = unsafe { CStr::from_ptr(text) };
    Some(ruby.enc_str_new(text.to_bytes(), ruby.utf8_encoding()))
}

fn format(ruby: &Ruby, this: &Column) -> Result<Option<RString>> {
    Ok(text(ruby, live_schema(ruby, this)?.format))
}

fn title(ruby: &Ruby, this: &Column) -> Result<Option<RString>> {
    Ok(text(ruby, live_schema(ruby, this)?.name))
}

fn length(ruby: &Ruby, this: &Column) -> Result<i64> {
    Ok(live_array(ruby, this)?.length)
}

fn null_count(ruby: &Ruby, this: &Column) -> Result<i64> {
    Ok(live_array(ruby, this)?.null_count)
}

fn is_released(this: &Column) -> bool {
    this.is_released()
}

fn copied_nbytes(this: &Column) -> usize {
    this.copied_nbytes
}

fn give_back(this: &Column) {
    this.release();
    keep::give_back();
}

/// What lies in the structs at two addresses, as one array, as a Hash of arrays, as records, or as an array and a mask.
/// The source is the object that owns the structs, if it is a `Crossdock` column.
fn import(ruby: &Ruby, schema: usize, array: usize, form: Value, source: Value) -> Result<Value> {
    keep::give_back();
    let form = name(ruby, form)?;
    let how: fn(&Ruby, Imported, Origin) -> Result<Value> = match form.as_str() {
        "array" => |ruby, imported, origin| Ok(origin.wrap(ruby, imported.into_array()?)?.as_value()),
        "records" => |ruby, imported, _| Ok(Wrapped::new(ruby, imported.into_records()?)?.as_value()),
        "columns" => columns,
        "masked" => masked,
        _ => {
            let text = format!("as: {form:?} is none: give :array, :masked, :columns or :records");
            return Err(Failure::argument(ruby, text));
        }
    };
    // SAFETY: the word of whoever gave the addresses.
    let (mut schema, mut array) = unsafe { both(ruby, schema, array, rb_sys::Qnil as VALUE) }?;
    // SAFETY: moved here, and released by whoever has them.
    let imported = unsafe { arrow::take_over(&mut schema, &mut array) }?;
    how(ruby, imported, Origin(<&Column>::try_convert(source).ok().and_then(|column| column.kept.clone())))
}

/// The report to Ruby's collector of a column's memory, if a `Crossdock` object exported it.
struct Origin(Option<Arc<Kept>>);

impl Origin {
    fn wrap(&self, ruby: &Ruby, array: DArray) -> Result<Wrapped> {
        match &self.0 {
            Some(kept) => Wrapped::sharing(ruby, array, Some(kept.clone())),
            None => Wrapped::new(ruby, array),
        }
    }
}

fn columns(ruby: &Ruby, imported: Imported, origin: Origin) -> Result<Value> {
    let hash = ruby.hash_new();
    for (name, column) in imported.into_columns()? {
        hash.aset(name, origin.wrap(ruby, column)?)?;
    }
    Ok(hash.as_value())
}

fn masked(ruby: &Ruby, imported: Imported, origin: Origin) -> Result<Value> {
    let (array, mask) = imported.into_array_with_validity()?;
    let mask = mask.map(|mask| Wrapped::new(ruby, mask)).transpose()?;
    Ok((origin.wrap(ruby, array)?, mask).into_value_with(ruby))
}

pub(crate) fn init(ruby: &Ruby, module: RModule, class: RClass) -> std::result::Result<(), magnus::Error> {
    let column = module.define_class("ArrowColumn", ruby.class_object())?;
    column.undef_default_alloc_func();
    // Looked up once, here: later several Ractors may ask at the same time.
    let _class = Column::class(ruby);
    column.define_singleton_method("wrap", function!(wrap, 3))?;
    column.define_method("schema", method!(schema, 0))?;
    column.define_method("array", method!(array, 0))?;
    column.define_method("format", method!(format, 0))?;
    column.define_method("name", method!(title, 0))?;
    column.define_method("length", method!(length, 0))?;
    column.define_method("null_count", method!(null_count, 0))?;
    column.define_method("released?", method!(is_released, 0))?;
    column.define_method("copied_nbytes", method!(copied_nbytes, 0))?;
    column.define_method("release", method!(give_back, 0))?;
    class.define_private_method("export_arrow", method!(export, 4))?;
    module.define_singleton_method("import_arrow", function!(import, 4))
}
