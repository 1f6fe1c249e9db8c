//! Views that a producer or a consumer makes by hand: of bytes, and with the components of their items.

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

    /// As [`View::of_bytes`], in a struct that may be anything before. On an error it stays that.
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

    /// Reads the format, where that has not been done, so that [`View::item_desc`] has its components. Of a view that the hub gave they
    /// are there from the beginning. Several threads may do it at once. A view without a format stays without components.
    ///
    /// Those of a view that was made by hand are the caller's, to be given to [`ItemDesc::free`].
    ///
    /// # Errors
    ///
    /// Where the format is no template, with the place.
    ///
    /// # Safety
    ///
    /// `view` points to a struct whose format is null or a C string; it is not released meanwhile, and nobody touches its item description but by
    /// this function.
    #[doc(hidden)]
    pub unsafe fn prepare_item_desc(view: *mut Self) -> Result<()> {
        // SAFETY: the caller's word.
        let place = unsafe { &raw mut (*view).item_desc.components };
        // SAFETY: as above; touched atomically by all who call this.
        let place = unsafe { AtomicPtr::from_ptr(place.cast::<*mut Component>()) };
        if !place.load(Ordering::Acquire).is_null() {
            return Ok(());
        }
        // SAFETY: as above.
        let format = unsafe { (*view).format };
        // SAFETY: as above.
        let reserved = unsafe { (*view).reserved };
        // SAFETY: the view is not released meanwhile (the caller's word).
        let loan = unsafe { records::look(reserved) };
        let desc = match loan.and_then(|loan| loan.template()) {
            Some(template) => desc_of(template.components()),
            None if format.is_null() => return Ok(()),
            None => {
                // SAFETY: the caller's word.
                let text = unsafe { format::read(format) }?;
                let template = format::parse(text)?;
                ItemDesc::of(template)
            }
        };
        // SAFETY: the caller's word.
        let length = unsafe { &raw mut (*view).item_desc.length };
        // SAFETY: as above. Whoever comes first, the number is the same.
        unsafe { AtomicUsize::from_ptr(length) }.store(desc.length, Ordering::Relaxed);
        let components = desc.components.cast_mut();
        let first = place.compare_exchange(ptr::null_mut(), components, Ordering::Release, Ordering::Relaxed);
        if first.is_err() && loan.is_none() {
            // SAFETY: made above, and nobody knows of it.
            unsafe { desc.free() };
        }
        Ok(())
    }
}

fn desc_of(components: &[Component]) -> ItemDesc {
    ItemDesc { components: components.as_ptr(), length: components.len() }
}

impl ItemDesc {
    /// The components of a template as C has them, to be given to [`ItemDesc::free`]. O(1).
    #[doc(hidden)]
    #[inline]
    pub fn of(template: Template) -> Self {
        let (components, length) = template.into_components().into_raw();
        Self { components, length }
    }

    /// Frees what [`ItemDesc::of`] made. Null is nobody's.
    ///
    /// # Safety
    ///
    /// Made by [`ItemDesc::of`], or null; nobody uses the components any more.
    #[doc(hidden)]
    #[inline]
    pub unsafe fn free(self) {
        if let Some(components) = NonNull::new(self.components.cast_mut()) {
            // SAFETY: the caller's word.
            drop(unsafe { Components::from_raw(components, self.length) });
        }
    }
}
