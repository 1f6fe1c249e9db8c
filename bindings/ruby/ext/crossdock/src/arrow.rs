//! Arrow's C data interface for Ruby: `Crossdock::ArrowColumn`, which holds the two structs at
//! addresses from which consumers move them.
//!
//! The library's own protocol fills in and reads the structs. As with DLPack, this file decides who
//! releases them: structs of another producer, whose functions may be written in Ruby, are released
//! by a Ruby thread with the lock, outside of a sweep.

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
use crate::keep::{self, Held, ObjectLease};
use crate::policy;
use crate::pressure::{self, ReportedMemory, again};
use crate::value::name;

/// `Crossdock::ArrowColumn`.
///
/// # Invariants
///
/// 1. Each struct is safe to release in a sweep, or is marked as released or moved. Code that has
///    its address moves it with Ruby's lock held.
#[derive(TypedData)]
#[magnus(class = "Crossdock::ArrowColumn", free_immediately, size)]
pub(crate) struct Column {
    // Boxed, so that the addresses stay valid while the object is alive.
    schema: Box<UnsafeCell<ArrowSchema>>,
    array: Box<UnsafeCell<ArrowArray>>,
    copied_nbytes: usize,
    /// The report of the memory to Ruby's collector. `None` for a column of another producer.
    kept: Option<Arc<ReportedMemory>>,
}

impl DataTypeFunctions for Column {
    fn size(&self) -> usize {
        let structs = size_of::<Self>() + size_of::<ArrowSchema>() + size_of::<ArrowArray>();
        structs
            + pressure::told(self.kept.as_ref().filter(|_| !self.is_released()), ptr::from_ref(self).addr())
    }
}

// SAFETY: Column 1: any thread may own the structs, and only threads that hold Ruby's lock access
// them.
unsafe impl Send for Column {}

impl Column {
    fn new(schema: ArrowSchema, array: ArrowArray, copied_nbytes: usize) -> Self {
        Self { schema: Box::new(schema.into()), array: Box::new(array.into()), copied_nbytes, kept: None }
    }

    /// Structs that the library exported.
    pub(crate) fn exported(
        (schema, array): (ArrowSchema, ArrowArray),
        kept: Option<Arc<ReportedMemory>>,
    ) -> Self {
        let mut column = Self::new(schema, array, 0);
        column.kept = kept;
        column
    }

    /// Releases the structs that no consumer moved out.
    fn release(&self) {
        // SAFETY: Column 1: the struct is releasable or marked as released, and this thread holds
        // Ruby's lock or is sweeping.
        unsafe { release(self.array.get()) };
        // SAFETY: Column 1: the struct is releasable or marked as released, and this thread holds
        // Ruby's lock or is sweeping.
        unsafe { release(self.schema.get()) };
    }

    fn is_released(&self) -> bool {
        let array = self.array.get();
        // SAFETY: Column 1: the box is alive, and consumers write the struct only with Ruby's lock
        // held, as this thread does.
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

/// What `ArrowSchema` and `ArrowArray` have in common.
pub(crate) trait Struct: Sized + 'static {
    /// # Safety
    ///
    /// `this` points to an allocation of this struct.
    unsafe fn release_of(this: *mut Self) -> *mut Option<unsafe extern "C" fn(*mut Self)>;

    /// A struct with the content of `theirs`, which stays unreleased until this one is released.
    fn forwarded(theirs: &Self, release: unsafe extern "C" fn(*mut Self), held: *mut Held) -> Self;

    /// Returns the hold in a struct of [`Struct::forwarded`].
    ///
    /// # Safety
    ///
    /// 1. `this` points to a struct that `forwarded` made, or to a copy of its bytes.
    /// 2. It is called once for that struct.
    unsafe fn held(this: *mut Self) -> Box<Held>;
}

macro_rules! structs {
    ($($abi:ty),*) => {
        $(impl Struct for $abi {
            unsafe fn release_of(this: *mut Self) -> *mut Option<unsafe extern "C" fn(*mut Self)> {
                // SAFETY: `# Safety`: `this` points to an allocation of the struct, so the address
                // of the field is in bounds.
                unsafe { &raw mut (*this).release }
            }

            fn forwarded(theirs: &Self, release: unsafe extern "C" fn(*mut Self), held: *mut Held) -> Self {
                Self { release: Some(release), private_data: held.cast(), ..*theirs }
            }

            unsafe fn held(this: *mut Self) -> Box<Held> {
                // SAFETY: clause 1 of `# Safety`: `this` points to a readable struct that
                // `forwarded` filled in.
                let held = unsafe { (*this).private_data };
                // SAFETY: clause 1: `forwarded` stored the pointer of a leaked `Box<Held>` there;
                // clause 2: it is unboxed once.
                unsafe { Box::from_raw(held.cast()) }
            }
        })*
    };
}

structs!(ArrowSchema, ArrowArray);

/// Releases a struct, unless it is marked as released.
///
/// # Safety
///
/// 1. `this` points to a valid struct, whose `release` may be called on this thread.
/// 2. No other code uses the struct during the call.
unsafe fn release<S: Struct>(this: *mut S) {
    // SAFETY: clause 1 of `# Safety`: `this` points to a valid struct, so the address of its field
    // is in bounds.
    let function = unsafe { S::release_of(this) };
    // SAFETY: clauses 1 and 2 of `# Safety`: the struct is readable, and no other code writes it
    // meanwhile.
    if let Some(function) = unsafe { function.read() } {
        // SAFETY: clause 1: the function may be called on this thread; it is not null, so the
        // struct is unreleased, and the call marks it.
        unsafe { function(this) }
    }
}

/// A struct of another producer that was moved here, and that a Ruby thread releases.
struct BorrowedStruct<S: Struct>(Box<UnsafeCell<S>>);

// SAFETY: only `give_back` accesses the struct, on a thread that holds Ruby's lock (`ObjectLease`).
unsafe impl<S: Struct> Send for BorrowedStruct<S> {}

impl<S: Struct> ObjectLease for BorrowedStruct<S> {
    fn give_back(&mut self, _: VALUE) {
        let released = protect(|| {
            // SAFETY: clause 1 of `release`: this is a Ruby thread, as `moved` requires; clause 2:
            // the box is private to this lease.
            unsafe { release(self.0.get()) };
            rb_sys::Qnil as VALUE
        });
        // No caller could handle an exception of the producer's function.
        drop(released);
    }
}

unsafe extern "C" fn release_lent_on<S: Struct>(this: *mut S) {
    // SAFETY: a consumer calls `release` with a valid struct that `forwarded` made, or to which its
    // bytes were moved.
    let function = unsafe { S::release_of(this) };
    // SAFETY: the struct is valid, and the protocol forbids concurrent calls of `release`.
    if unsafe { function.replace(None) }.is_some() {
        // SAFETY: clause 1 of `Struct::held`: `forwarded` set this release function; clause 2: the
        // `replace` just took the mark, so this runs once.
        drop(unsafe { S::held(this) });
    }
}

/// Moves a struct into a new one that may be released on any thread.
///
/// # Safety
///
/// 1. `theirs` is not null and points to a struct as `arrow::take_over` requires it.
/// 2. Its `release` may be called on any Ruby thread that holds the lock, while `owner` is alive.
pub(crate) unsafe fn moved<S: Struct>(theirs: *mut S, owner: VALUE) -> Option<S> {
    // SAFETY: clause 1 of `# Safety`: `theirs` points to a valid struct, so the address of its
    // field is in bounds.
    let function = unsafe { S::release_of(theirs) };
    // SAFETY: clause 1 of `# Safety`: `theirs` is readable, and this function has exclusive use of
    // it.
    unsafe { function.read() }?;
    // SAFETY: clause 1 of `# Safety`: a valid struct; the protocol allows to move its bytes, since
    // the original is marked as released below.
    let own = Box::new(UnsafeCell::new(unsafe { theirs.read() }));
    // SAFETY: clause 1 of `# Safety`: `theirs` is writable; null marks it as moved.
    unsafe { function.write(None) };
    let pointer = own.get();
    let held = keep::hold(owner, Some(Box::new(BorrowedStruct(own))));
    // SAFETY: `held` owns the box, whose address is stable, and only uses it when it is dropped,
    // after this reference.
    let theirs = unsafe { &*pointer };
    Some(S::forwarded(theirs, release_lent_on::<S>, Box::into_raw(Box::new(held))))
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

/// A column with the structs at two addresses, which are marked as moved.
fn wrap(ruby: &Ruby, schema: usize, array: usize, owner: Value) -> Result<Column> {
    // SAFETY: clauses 1 and 2 of `both`: the Ruby caller passes the addresses of unreleased structs
    // that `owner` keeps alive; this cannot be checked.
    let (schema, array) = unsafe { both(ruby, schema, array, owner.as_raw()) }?;
    Ok(Column::new(schema, array, 0))
}

/// Moves both structs.
///
/// # Safety
///
/// 1. Each address is 0, or that of a struct as clause 1 of `moved` requires it.
/// 2. Clause 2 of `moved` holds for both.
pub(crate) unsafe fn both(
    ruby: &Ruby,
    schema: usize,
    array: usize,
    owner: VALUE,
) -> Result<(ArrowSchema, ArrowArray)> {
    if schema == 0 || array == 0 {
        return Err(Failure::argument(ruby, "address 0 is no struct of Arrow's"));
    }
    let schema_at = ptr::with_exposed_provenance_mut::<ArrowSchema>(schema);
    let array_at = ptr::with_exposed_provenance_mut::<ArrowArray>(array);
    // SAFETY: clause 1 of `# Safety`: the address is not 0 (checked above), so it is that of a
    // valid struct.
    let is_released = unsafe { (*array_at).release }.is_none();
    // SAFETY: clause 1 of `# Safety`: the address is not 0 (checked above), so it is that of a
    // valid struct.
    if is_released || unsafe { (*schema_at).release }.is_none() {
        let which = if is_released { "array" } else { "schema" };
        return Err(Failure::ours(
            ruby,
            format!("the {which} of the Arrow column was released, or moved elsewhere"),
        ));
    }
    // SAFETY: clauses 1 and 2 of `moved` are clauses 1 and 2 of `# Safety`, and the address is not
    // 0.
    let schema = unsafe { moved(schema_at, owner) };
    // SAFETY: clauses 1 and 2 of `moved` are clauses 1 and 2 of `# Safety`, and the address is not
    // 0.
    let array = unsafe { moved(array_at, owner) };
    match (schema, array) {
        (Some(schema), Some(array)) => Ok((schema, array)),
        // Both were checked above.
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

/// The schema, if it was neither released nor moved.
fn live_schema<'a>(ruby: &Ruby, this: &'a Column) -> Result<&'a ArrowSchema> {
    // SAFETY: Column 1: this thread holds Ruby's lock, and no callee of the caller writes the
    // struct before the caller has read it.
    let schema = unsafe { &*this.schema.get() };
    if schema.release.is_some() { Ok(schema) } else { Err(released(ruby)) }
}

fn live_array<'a>(ruby: &Ruby, this: &'a Column) -> Result<&'a ArrowArray> {
    // SAFETY: Column 1: this thread holds Ruby's lock, and no callee of the caller writes the
    // struct before the caller has read it.
    let array = unsafe { &*this.array.get() };
    if array.release.is_some() { Ok(array) } else { Err(released(ruby)) }
}

fn text(ruby: &Ruby, text: *const c_char) -> Option<RString> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the Arrow specification requires format and name to be C strings that live as long as
    // the struct.
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

/// Imports the structs at two addresses as one array, a Hash of arrays, records, or an array and a
/// mask. The source is the object that owns the structs, if it is a `Crossdock` column.
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
    // SAFETY: clauses 1 and 2 of `both`: the Ruby caller passes the addresses of two unreleased
    // structs, or 0; this cannot be checked.
    let (mut schema, mut array) = unsafe { both(ruby, schema, array, rb_sys::Qnil as VALUE) }?;
    // SAFETY: `both` moved the structs into local variables, so no other code has them, and
    // `forwarded` made them releasable on any thread.
    let imported = unsafe { arrow::take_over(&mut schema, &mut array) }?;
    how(ruby, imported, Origin(<&Column>::try_convert(source).ok().and_then(|column| column.kept.clone())))
}

/// The report to Ruby's collector of a column's memory, if a `Crossdock` object exported it.
struct Origin(Option<Arc<ReportedMemory>>);

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
    // Looked up once, here: later, several Ractors may need it at the same time.
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
