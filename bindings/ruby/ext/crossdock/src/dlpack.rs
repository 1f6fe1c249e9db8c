//! DLPack for Ruby: `Crossdock::DLPack`, a capsule with a tensor that can be consumed once.
//!
//! The library's own protocol creates and reads the tensors; this file decides who calls the
//! deleter. A tensor of this library may be deleted anywhere, in a sweep and on any thread. A
//! tensor of another producer, which may be written in Ruby, is deleted by a Ruby thread with the
//! lock, outside of a sweep: it is exported again in a new struct, whose deleter drops a hold
//! (`keep`).

use core::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use crossdock::DArray;
use crossdock::bindings::dlpack::abi::{DLManagedTensor, DLManagedTensorVersioned, VERSION};
use crossdock::bindings::dlpack::{self, ExportOptions};
use magnus::rb_sys::{AsRawValue, protect};
use magnus::{
    DataTypeFunctions, Integer, RClass, RModule, Ruby, TryConvert, TypedData, Value, function, method,
    prelude::*,
};
use rb_sys::VALUE;

use crate::error::{Failure, Result};
use crate::handle::Wrapped;
use crate::keep::{self, Held, ObjectLease};
use crate::policy;
use crate::pressure::{self, ReportedMemory, again};

/// `Crossdock::DLPack`.
///
/// # Invariants
///
/// 1. `tensor` is null, or points to a struct whose deleter no other code has called or will call;
///    it may be called in a sweep.
/// 2. The struct is the versioned one, of major version 1, if `is_versioned` is set, and otherwise
///    the legacy one.
#[derive(TypedData)]
#[magnus(class = "Crossdock::DLPack", free_immediately, size)]
struct Capsule {
    tensor: AtomicPtr<c_void>,
    is_versioned: bool,
    copied_nbytes: usize,
    /// The report of the memory to Ruby's collector. `None` for a tensor of another producer.
    kept: Option<Arc<ReportedMemory>>,
}

impl DataTypeFunctions for Capsule {
    fn size(&self) -> usize {
        let kept = self.kept.as_ref().filter(|_| !is_used(self));
        size_of::<Self>() + pressure::told(kept, ptr::from_ref(self).addr())
    }
}

impl Capsule {
    fn new(tensor: *mut c_void, is_versioned: bool, copied_nbytes: usize) -> Self {
        Self { tensor: AtomicPtr::new(tensor), is_versioned, copied_nbytes, kept: None }
    }

    /// The tensor, on the first call. The caller then owns it.
    fn taken(&self) -> Option<*mut c_void> {
        let tensor = self.tensor.swap(ptr::null_mut(), Ordering::AcqRel);
        (!tensor.is_null()).then_some(tensor)
    }
}

impl Drop for Capsule {
    fn drop(&mut self) {
        if let Some(kept) = &self.kept {
            kept.leave(ptr::from_ref(self).addr());
        }
        let Some(tensor) = self.taken() else { return };
        if self.is_versioned {
            // SAFETY: Capsule 1: `taken` returned the tensor, so its deleter is called here alone;
            // Capsule 2: it is a versioned struct.
            unsafe { delete(tensor.cast::<DLManagedTensorVersioned>()) }
        } else {
            // SAFETY: Capsule 1: `taken` returned the tensor, so its deleter is called here alone;
            // Capsule 2: it is a legacy struct.
            unsafe { delete(tensor.cast::<DLManagedTensor>()) }
        }
    }
}

/// What the two structs have in common.
trait Tensor: Sized + 'static {
    /// # Safety
    ///
    /// `this` points to a readable struct of this kind, of any version.
    unsafe fn deleter(this: *const Self) -> Option<unsafe extern "C" fn(*mut Self)>;

    /// The same tensor in another struct; `None` for an unknown version.
    ///
    /// # Safety
    ///
    /// `this` points to a readable struct of this kind, of any version.
    unsafe fn forwarded(this: *const Self, deleter: unsafe extern "C" fn(*mut Self)) -> Option<Self>;
}

impl Tensor for DLManagedTensorVersioned {
    unsafe fn deleter(this: *const Self) -> Option<unsafe extern "C" fn(*mut Self)> {
        // SAFETY: `# Safety`: a readable struct; `deleter` is at the same offset in every version.
        unsafe { (*this).deleter }
    }

    unsafe fn forwarded(this: *const Self, deleter: unsafe extern "C" fn(*mut Self)) -> Option<Self> {
        // SAFETY: `# Safety`: a readable struct; `version` is at the same offset in every version.
        let version = unsafe { (*this).version };
        if version.major != VERSION.major {
            return None;
        }
        // SAFETY: `# Safety`: a readable struct; the major version, checked above, says that it has
        // this layout.
        let Self { flags, dl_tensor, .. } = unsafe { &*this };
        let (flags, dl_tensor) = (*flags, *dl_tensor);
        Some(Self { version, manager_ctx: ptr::null_mut(), deleter: Some(deleter), flags, dl_tensor })
    }
}

impl Tensor for DLManagedTensor {
    unsafe fn deleter(this: *const Self) -> Option<unsafe extern "C" fn(*mut Self)> {
        // SAFETY: `# Safety`: `this` points to a readable legacy struct, which has one version.
        unsafe { (*this).deleter }
    }

    unsafe fn forwarded(this: *const Self, deleter: unsafe extern "C" fn(*mut Self)) -> Option<Self> {
        // SAFETY: `# Safety`: `this` points to a readable legacy struct, which has one version.
        let dl_tensor = unsafe { (*this).dl_tensor };
        Some(Self { dl_tensor, manager_ctx: ptr::null_mut(), deleter: Some(deleter) })
    }
}

/// Calls the deleter of a tensor.
///
/// # Safety
///
/// `tensor` points to a valid struct whose deleter no other code has called or will call.
unsafe fn delete<T: Tensor>(tensor: *mut T) {
    // SAFETY: `# Safety`: a valid struct, whose deleter was not called, so it is readable.
    if let Some(deleter) = unsafe { T::deleter(tensor) } {
        // SAFETY: `# Safety`: no other code calls the deleter, and this function calls it once.
        unsafe { deleter(tensor) }
    }
}

/// A tensor of another producer with its deleter, which a Ruby thread calls.
struct BorrowedTensor<T: Tensor>(*mut T, unsafe extern "C" fn(*mut T));

// SAFETY: only `give_back` uses the pointers, on a thread that holds Ruby's lock (`ObjectLease`).
unsafe impl<T: Tensor> Send for BorrowedTensor<T> {}

impl<T: Tensor> ObjectLease for BorrowedTensor<T> {
    fn give_back(&mut self, _: VALUE) {
        let deleted = protect(|| {
            // SAFETY: clause 2 of `ForwardedTensor::of`: the deleter may be called on Ruby threads,
            // and a lease is released once.
            unsafe { (self.1)(self.0) };
            rb_sys::Qnil as VALUE
        });
        // No caller could handle an exception of the deleter.
        drop(deleted);
    }
}

/// A new struct for a tensor of another producer.
#[repr(C)]
struct ForwardedTensor<T> {
    // The first field, so that its address is that of the allocation.
    tensor: T,
    // Kept for its drop.
    _held: Held,
}

impl<T: Tensor> ForwardedTensor<T> {
    /// # Safety
    ///
    /// 1. `theirs` is null, or points to a tensor as `dlpack::import_versioned` or
    ///    `dlpack::import_legacy` requires it.
    /// 2. Its deleter may be called on any Ruby thread that holds the lock, while `owner` is alive.
    unsafe fn of(theirs: *mut T, owner: VALUE) -> *mut T {
        if theirs.is_null() {
            return theirs;
        }
        // SAFETY: clause 1 of `# Safety`: `theirs` is not null (checked above), so it is a readable
        // struct of this kind.
        let Some(tensor) = (unsafe { T::forwarded(theirs, Self::delete) }) else { return theirs };
        // SAFETY: clause 1 of `# Safety`: a readable struct of this kind. Without a deleter, the
        // struct is not used again.
        let deleter = unsafe { T::deleter(theirs) };
        let held = keep::hold(
            owner,
            deleter.map(|deleter| Box::new(BorrowedTensor(theirs, deleter)) as Box<dyn ObjectLease>),
        );
        Box::into_raw(Box::new(Self { tensor, _held: held })).cast()
    }

    unsafe extern "C" fn delete(tensor: *mut T) {
        // SAFETY: `of` boxed a `ForwardedTensor` whose first field is this tensor, and consumers
        // call the deleter once.
        drop(unsafe { Box::from_raw(tensor.cast::<Self>()) });
    }
}

fn export(
    ruby: &Ruby,
    this: Wrapped,
    copy: Value,
    is_versioned: bool,
    trusts_readonly: bool,
) -> Result<Capsule> {
    let array = this.array()?;
    let mut options = ExportOptions::new().copy(policy::of(copy)?);
    if trusts_readonly {
        // SAFETY: `trust_readonly: true` is the Ruby caller's documented promise that the consumer
        // does not write read-only memory.
        options = unsafe { options.trust_readonly() };
        // SAFETY: `trust_readonly: true` is the Ruby caller's documented promise, which covers
        // legacy consumers that see no flag.
        options = unsafe { options.trust_legacy_readonly() };
    }
    keep::give_back();
    let mut capsule = if is_versioned {
        let exported = again(ruby, || Ok(dlpack::export_versioned(&array, &options)?))?;
        let copied = exported.copied_nbytes();
        Capsule::new(exported.into_raw().cast(), true, copied)
    } else {
        let exported = again(ruby, || Ok(dlpack::export_legacy(&array, &options)?))?;
        let copied = exported.copied_nbytes();
        Capsule::new(exported.into_raw().cast(), false, copied)
    };
    capsule.kept = pressure::of_export(this, capsule.copied_nbytes)?;
    Ok(capsule)
}

/// A capsule for a tensor of another producer.
fn wrap(ruby: &Ruby, address: usize, is_versioned: bool, owner: Value) -> Result<Capsule> {
    if address == 0 {
        return Err(Failure::argument(ruby, "address 0 is no tensor"));
    }
    if !is_versioned {
        let tensor = ptr::with_exposed_provenance_mut::<DLManagedTensor>(address);
        // SAFETY: clauses 1 and 2 of `ForwardedTensor::of`: the Ruby caller passes the address of a
        // tensor that `owner` keeps alive; it cannot be checked.
        return Ok(Capsule::new(unsafe { ForwardedTensor::of(tensor, owner.as_raw()) }.cast(), false, 0));
    }
    let tensor = ptr::with_exposed_provenance_mut::<DLManagedTensorVersioned>(address);
    // SAFETY: the Ruby caller passes the address of a live versioned tensor, which is not 0;
    // `version` is at the same offset in every version.
    let version = unsafe { (*tensor).version };
    if version.major != VERSION.major {
        let text = format!(
            "the tensor's version is {}.{}, and {}.x is what is understood: it was not taken, and stays the caller's",
            version.major, version.minor, VERSION.major
        );
        return Err(Failure::argument(ruby, text));
    }
    // SAFETY: clauses 1 and 2 of `ForwardedTensor::of`: the Ruby caller passes the address of a
    // tensor that `owner` keeps alive; it cannot be checked.
    Ok(Capsule::new(unsafe { ForwardedTensor::of(tensor, owner.as_raw()) }.cast(), true, 0))
}

fn used(ruby: &Ruby) -> Failure {
    Failure::ours(ruby, "the capsule was used: a DLPack tensor is taken once")
}

fn address(ruby: &Ruby, this: &Capsule) -> Result<usize> {
    let tensor = this.tensor.load(Ordering::Acquire);
    if tensor.is_null() { Err(used(ruby)) } else { Ok(tensor.expose_provenance()) }
}

fn take(ruby: &Ruby, this: &Capsule) -> Result<usize> {
    Ok(this.taken().ok_or_else(|| used(ruby))?.expose_provenance())
}

fn is_used(this: &Capsule) -> bool {
    this.tensor.load(Ordering::Acquire).is_null()
}

fn is_versioned(this: &Capsule) -> bool {
    this.is_versioned
}

fn copied_nbytes(this: &Capsule) -> usize {
    this.copied_nbytes
}

fn release(this: &Capsule) {
    // Dropped at the end of this function, as the sweep drops a tensor that is left in the object.
    let taken = this.taken().map(|tensor| Capsule::new(tensor, this.is_versioned, 0));
    drop(taken);
    keep::give_back();
}

/// An array on the tensor of a capsule, or on the one at an address.
fn import(ruby: &Ruby, source: Value, is_versioned: bool, writable: bool) -> Result<Wrapped> {
    keep::give_back();
    let array = match <&Capsule>::try_convert(source) {
        Ok(capsule) => {
            let tensor = capsule.taken().ok_or_else(|| used(ruby))?;
            // SAFETY: Capsule 1 and 2: `taken` returned the tensor, so this import is its only
            // consumer, and it is of the kind that the flag says.
            let array = unsafe { imported(tensor, capsule.is_versioned, writable) }?;
            if let Some(kept) = &capsule.kept {
                kept.leave(ptr::from_ref(capsule).addr());
                return Wrapped::sharing(ruby, array, Some(kept.clone()));
            }
            array
        }
        Err(_) => {
            let address = Integer::try_convert(source)?.to_usize()?;
            let tensor = ptr::with_exposed_provenance_mut::<c_void>(address);
            let no_owner = rb_sys::Qnil as VALUE;
            let tensor: *mut c_void = if is_versioned {
                // SAFETY: clauses 1 and 2 of `ForwardedTensor::of`: the Ruby caller passes the
                // address of an unconsumed versioned tensor, or 0; it cannot be checked.
                unsafe { ForwardedTensor::of(tensor.cast::<DLManagedTensorVersioned>(), no_owner) }.cast()
            } else {
                // SAFETY: clauses 1 and 2 of `ForwardedTensor::of`: the Ruby caller passes the
                // address of an unconsumed legacy tensor, or 0; it cannot be checked.
                unsafe { ForwardedTensor::of(tensor.cast::<DLManagedTensor>(), no_owner) }.cast()
            };
            // SAFETY: `ForwardedTensor::of` returned a tensor of this kind that only this function
            // has, or the caller's own one of an unknown version.
            unsafe { imported(tensor, is_versioned, writable) }?
        }
    };
    Wrapped::new(ruby, array)
}

/// # Safety
///
/// 1. `tensor` is as `dlpack::import_versioned` requires it if `is_versioned` is set, and otherwise
///    as `dlpack::import_legacy` does.
/// 2. If `writable` is set for a legacy tensor, its memory may be written.
unsafe fn imported(tensor: *mut c_void, is_versioned: bool, writable: bool) -> Result<DArray> {
    let array = match (is_versioned, writable) {
        // SAFETY: clause 1 of `# Safety`: `is_versioned` is set, so the tensor is one that this
        // function accepts.
        (true, _) => unsafe { dlpack::import_versioned(tensor.cast()) },
        // SAFETY: clause 1 of `# Safety`: `is_versioned` is not set, so the tensor is one that this
        // function accepts.
        (false, false) => unsafe { dlpack::import_legacy(tensor.cast()) },
        // SAFETY: clause 1 of `# Safety`: a legacy tensor; clause 2: the Ruby caller who wrote
        // `writable: true` vouches that it may be written.
        (false, true) => unsafe { dlpack::import_legacy_writable(tensor.cast()) },
    };
    Ok(array?)
}

pub(crate) fn init(ruby: &Ruby, module: RModule, class: RClass) -> std::result::Result<(), magnus::Error> {
    let capsule = module.define_class("DLPack", ruby.class_object())?;
    capsule.undef_default_alloc_func();
    // Looked up once, here: later, several Ractors may need it at the same time.
    let _class = Capsule::class(ruby);
    capsule.define_singleton_method("wrap", function!(wrap, 3))?;
    capsule.define_method("address", method!(address, 0))?;
    capsule.define_method("take", method!(take, 0))?;
    capsule.define_method("used?", method!(is_used, 0))?;
    capsule.define_method("versioned?", method!(is_versioned, 0))?;
    capsule.define_method("copied_nbytes", method!(copied_nbytes, 0))?;
    capsule.define_method("release", method!(release, 0))?;
    class.define_private_method("export_dlpack", method!(export, 3))?;
    module.define_singleton_method("import_dlpack", function!(import, 3))
}
