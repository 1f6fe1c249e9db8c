//! Views that a producer or a consumer fills in by hand: of bytes, and with the components of their
//! items.

use core::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::element::dialect::pack::{Component, Components, Template};
use crate::error::Result;
use crate::exchange::protocol::memory_view::abi::{ItemDesc, View};
use crate::exchange::protocol::memory_view::access::malformed;
use crate::exchange::protocol::memory_view::{format, records};

impl View {
    /// A view of `len` bytes: one axis, without shape, strides and format. Every field is set.
    ///
    /// # Errors
    ///
    /// `is_malformed` for a negative length.
    pub fn of_bytes(obj: *mut c_void, data: *mut c_void, len: isize, readonly: bool) -> Result<Self> {
        let mut view = MaybeUninit::uninit();
        Self::init_as_bytes(&mut view, obj, data, len, readonly).copied()
    }

    /// As [`View::of_bytes`], in a struct with any contents, which an error leaves unchanged.
    ///
    /// # Errors
    ///
    /// As [`View::of_bytes`].
    #[doc(hidden)]
    #[inline]
    pub fn init_as_bytes(
        view: &mut MaybeUninit<Self>,
        obj: *mut c_void,
        data: *mut c_void,
        len: isize,
        readonly: bool,
    ) -> Result<&mut Self> {
        if len < 0 {
            return Err(malformed(format!("a view of {len} bytes")));
        }
        Ok(view.write(Self {
            obj,
            data,
            byte_size: len,
            readonly: u8::from(readonly),
            item_size: 1,
            ndim: 1,
            ..Self::EMPTY
        }))
    }

    /// Parses the format and fills in [`View::item_desc`], if that was not done yet. Views from the
    /// hub have their components from the beginning. Several threads may call this at once. A view
    /// without a format stays without components.
    ///
    /// The caller frees the components of a view filled in by hand, with [`ItemDesc::free`].
    ///
    /// # Errors
    ///
    /// If the format is not a template, with the position.
    ///
    /// # Safety
    ///
    /// 1. `view` points to a struct whose format is null or a C string.
    /// 2. The view is not released, and its other fields stay unchanged, during the call.
    /// 3. Only this function accesses its item description meanwhile.
    #[doc(hidden)]
    pub unsafe fn prepare_item_desc(view: *mut Self) -> Result<()> {
        // SAFETY: clause 1 of `# Safety`: `view` points to a struct, of which this is the address
        // of a field.
        let place = unsafe { &raw mut (*view).item_desc.components };
        // SAFETY: clause 3 of `# Safety`: the aligned field of a live struct is accessed only by
        // this function, always atomically.
        let place = unsafe { AtomicPtr::from_ptr(place.cast::<*mut Component>()) };
        if !place.load(Ordering::Acquire).is_null() {
            return Ok(());
        }
        // SAFETY: clauses 1 and 2 of `# Safety`: `view` points to a struct whose `format` no code
        // writes during the call.
        let format = unsafe { (*view).format };
        // SAFETY: clauses 1 and 2 of `# Safety`: `view` points to a struct whose `reserved` no code
        // writes during the call.
        let reserved = unsafe { (*view).reserved };
        // SAFETY: clause 2 of `# Safety`: the view is not released during the call, which outlives
        // the use of `view_lease`.
        let view_lease = unsafe { records::find_view_lease(reserved) };
        let desc = match view_lease.and_then(|view_lease| view_lease.template()) {
            Some(template) => desc_of(template.components()),
            None if format.is_null() => return Ok(()),
            None => {
                // SAFETY: clauses 1 and 2 of `# Safety`: the format is not null (the arm before),
                // so it is a C string, unchanged during the call.
                let text = unsafe { format::read(format) }?;
                let template = format::parse(text)?;
                ItemDesc::of(template)
            }
        };
        // SAFETY: clause 1 of `# Safety`: `view` points to a struct, of which this is the address
        // of a field.
        let length = unsafe { &raw mut (*view).item_desc.length };
        // SAFETY: clause 3 of `# Safety`: the aligned field of a live struct is accessed only by
        // this function, always atomically; every thread stores the same number.
        unsafe { AtomicUsize::from_ptr(length) }.store(desc.length, Ordering::Relaxed);
        let components = desc.components.cast_mut();
        let first = place.compare_exchange(ptr::null_mut(), components, Ordering::Release, Ordering::Relaxed);
        if first.is_err() && view_lease.is_none() {
            // SAFETY: clauses 1 and 2 of `free`: without a view lease, `ItemDesc::of` made `desc`
            // above, and the failed exchange did not publish it.
            unsafe { desc.free() };
        }
        Ok(())
    }
}

fn desc_of(components: &[Component]) -> ItemDesc {
    ItemDesc { components: components.as_ptr(), length: components.len() }
}

impl ItemDesc {
    /// The components of a template for C, freed by [`ItemDesc::free`]. O(1).
    #[doc(hidden)]
    #[inline]
    pub fn of(template: Template) -> Self {
        let (components, length) = template.into_components().into_raw();
        Self { components, length }
    }

    /// Frees what [`ItemDesc::of`] made. Null frees nothing.
    ///
    /// # Safety
    ///
    /// 1. `self` was made by [`ItemDesc::of`], or its components are null.
    /// 2. No code uses the components any more.
    #[doc(hidden)]
    #[inline]
    pub unsafe fn free(self) {
        if let Some(components) = NonNull::new(self.components.cast_mut()) {
            // SAFETY: clauses 1 and 2 of `# Safety`: pointer and length come from
            // `Components::into_raw` in `ItemDesc::of`, and no other code uses or frees them.
            drop(unsafe { Components::from_raw(components, self.length) });
        }
    }
}
