//! The common interface of the versioned and the legacy struct.

use core::ffi::c_void;

use crate::error::Advice;
use crate::exchange::protocol::dlpack::abi::{
    DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, READ_ONLY, VERSION,
};

/// A function that releases a managed tensor.
pub(super) type Deleter<M> = unsafe extern "C" fn(*mut M);

/// One of the two structs that export tensors: [`DLManagedTensorVersioned`] or [`DLManagedTensor`].
/// Sealed.
pub trait Managed: sealed::ManagedStruct {}

impl Managed for DLManagedTensorVersioned {}
impl Managed for DLManagedTensor {}

pub(super) mod sealed {
    use super::*;

    pub trait ManagedStruct: Sized + 'static {
        /// Whether it has flags, and so a read-only flag.
        const HAS_FLAGS: bool;

        /// Why it does not export a read-only array, unless the caller vouches for the consumer.
        const READ_ONLY: &'static str;

        /// What to do instead.
        const READ_ONLY_ADVICE: Advice;

        fn new(tensor: DLTensor, context: *mut c_void, deleter: Deleter<Self>, flags: u64) -> Self;

        /// Sets a version other than [`VERSION`], if the struct has a version.
        fn set_version(&mut self, version: DLPackVersion);

        /// Sets the read-only flag, if the struct has flags.
        fn mark_readonly(&mut self);

        fn tensor(&self) -> &DLTensor;

        fn flags(&self) -> u64;

        /// # Safety
        ///
        /// `this` points to a struct of this kind, of whichever version.
        unsafe fn version(this: *const Self) -> DLPackVersion;

        /// # Safety
        ///
        /// `this` points to a struct of this kind, of whichever version.
        unsafe fn deleter(this: *const Self) -> Option<Deleter<Self>>;
    }
}

impl sealed::ManagedStruct for DLManagedTensorVersioned {
    const HAS_FLAGS: bool = true;

    const READ_ONLY: &'static str = "the array is read-only, and DLPack's flag that says so is advisory";

    const READ_ONLY_ADVICE: Advice = Advice::TrustConsumer;

    fn new(dl_tensor: DLTensor, manager_ctx: *mut c_void, deleter: Deleter<Self>, flags: u64) -> Self {
        Self { version: VERSION, manager_ctx, deleter: Some(deleter), flags, dl_tensor }
    }

    fn set_version(&mut self, version: DLPackVersion) {
        self.version = version;
    }

    fn mark_readonly(&mut self) {
        self.flags |= READ_ONLY;
    }

    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }

    fn flags(&self) -> u64 {
        self.flags
    }

    unsafe fn version(this: *const Self) -> DLPackVersion {
        // SAFETY: `# Safety` of the trait's function: `this` points to a struct of this kind, and
        // every version begins with `version`.
        unsafe { (*this).version }
    }

    unsafe fn deleter(this: *const Self) -> Option<Deleter<Self>> {
        // SAFETY: `# Safety` of the trait's function: `this` points to a struct of this kind, and
        // `deleter` has the same offset in every version.
        unsafe { (*this).deleter }
    }
}

impl sealed::ManagedStruct for DLManagedTensor {
    const HAS_FLAGS: bool = false;

    const READ_ONLY: &'static str = "the array is read-only, and DLPack's legacy struct cannot say so";

    const READ_ONLY_ADVICE: Advice = Advice::TrustLegacyConsumer;

    fn new(dl_tensor: DLTensor, manager_ctx: *mut c_void, deleter: Deleter<Self>, _flags: u64) -> Self {
        Self { dl_tensor, manager_ctx, deleter: Some(deleter) }
    }

    fn set_version(&mut self, _: DLPackVersion) {}

    fn mark_readonly(&mut self) {}

    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }

    fn flags(&self) -> u64 {
        0
    }

    unsafe fn version(_: *const Self) -> DLPackVersion {
        // The legacy struct has no version, and never changed.
        VERSION
    }

    unsafe fn deleter(this: *const Self) -> Option<Deleter<Self>> {
        // SAFETY: `# Safety` of the trait's function: `this` points to a legacy struct, which has
        // one version and so one place of `deleter`.
        unsafe { (*this).deleter }
    }
}
