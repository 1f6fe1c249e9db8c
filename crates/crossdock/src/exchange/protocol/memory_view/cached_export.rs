//! Exports arrays to a foreign MemoryView hub (Ruby's) that takes many short views in a row.
//!
//! The lease and the record of a view cost four atomic exchanges, as much as all the rest. A cached
//! export needs none, for one read-only view at a time, as nearly all are: its lease lasts as long
//! as the export, and it has a record of its own. All other views are exported as by
//! [`get`](super::hub::get).

use core::ffi::c_void;
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr;
use std::sync::OnceLock;

use crate::array::DArray;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::abi::{ItemDesc, View};
use crate::exchange::protocol::memory_view::flags::Flags;
use crate::exchange::protocol::memory_view::last;
use crate::exchange::protocol::memory_view::object::ArrayObject;
use crate::exchange::protocol::memory_view::records::{self, Reserved};
use crate::exchange::protocol::memory_view::view_lease::Lender;
use crate::memory::fork::get_or_make;
use crate::memory::{Lease, LeaseKind, Protocols};
use crate::view::{Access, Terms};

/// An array that exports views to a foreign hub.
///
/// The views meet the flags as those of [`get`](super::hub::get) do. Shape, strides and format are
/// always filled in; components are not, since the foreign hub would free them. Each view has a
/// name in [`View::reserved`], which the binding keeps where the foreign hub has room for it. The
/// view is [released](take_back) by its name alone.
///
/// What a view shows stays valid while it is held, even if the export is dropped before: at the end
/// of a process, objects are freed in any order.
///
/// ```
/// use std::mem::MaybeUninit;
/// use crossdock::Array;
/// use crossdock::bindings::memory_view::{self, Flags, CachedExport};
///
/// let export = CachedExport::new(Array::from_vec(vec![1.5f64, 2.5], [2])?.into());
/// let mut room = MaybeUninit::uninit();
/// let view = export.lend(&mut room, Flags::STRIDES)?;
/// assert_eq!((view.ndim, view.byte_size, export.held()), (1, 16, 1));
/// let name = view.reserved;
/// // SAFETY: only this thread releases views of this export.
/// assert!(unsafe { memory_view::take_back(name) });
/// // SAFETY: only this thread releases views of this export.
/// assert!(!unsafe { memory_view::take_back(name) });
/// # Ok::<(), crossdock::Error>(())
/// ```
pub struct CachedExport {
    inner: ManuallyDrop<Box<CachedArray>>,
}

/// # Invariants
///
/// 1. It is neither moved nor freed while a view of the record in `cached` is held: pointers of the
///    view lead into it.
struct CachedArray {
    object: ArrayObject,
    /// Set after the first view.
    cached: OnceLock<CachedLease>,
}

struct CachedLease {
    #[expect(dead_code, reason = "held until it is dropped")]
    lease: Lease,
    record: Reserved,
}

impl CachedExport {
    /// For an array whose dtype may be approximated by numbers: see [`ArrayObject::approximated`].
    /// O(1) for scalars, otherwise O(fields). Arrays that cannot be exported are refused when a
    /// view is requested.
    pub fn new(array: DArray) -> Self {
        let object = ArrayObject::approximated(array);
        Self { inner: ManuallyDrop::new(Box::new(CachedArray { object, cached: OnceLock::new() })) }
    }

    /// The array.
    #[inline]
    pub fn array(&self) -> &DArray {
        self.inner.object.array()
    }

    /// Exports a view. On refusal the struct is unchanged.
    ///
    /// # Errors
    ///
    /// As [`get`](super::hub::get).
    pub fn lend<'a>(&self, view: &'a mut MaybeUninit<View>, flags: Flags) -> Result<&'a mut View> {
        self.inner.lend(view, flags).inspect_err(last::keep)
    }

    /// As [`CachedExport::lend`], and faster: O(1), without a lock and without an atomic exchange,
    /// for a read-only view of a direct array while no other such view is held.
    ///
    /// # Errors
    ///
    /// As [`get`](super::hub::get).
    ///
    /// # Safety
    ///
    /// No other thread calls this for the same export at the same time.
    #[inline]
    pub unsafe fn lend_alone<'a>(
        &self,
        view: &'a mut MaybeUninit<View>,
        flags: Flags,
    ) -> Result<&'a mut View> {
        let cached = self.inner.cached.get().filter(|_| !flags.is_writable());
        match cached.and_then(|cached| self.inner.quick(cached, flags)) {
            Some(lent) => Ok(view.write(lent)),
            None => self.inner.lend_slowly(view, flags).inspect_err(last::keep),
        }
    }

    /// Whether a view shows this export's own data: if the export is dropped now, it is leaked.
    pub fn is_shown(&self) -> bool {
        self.inner.cached.get().is_some_and(|cached| cached.record.is_live())
    }

    /// The number of views that are held. Reads every record that was ever used.
    pub fn held(&self) -> usize {
        records::count(self.inner.object.as_ptr())
    }
}

impl Drop for CachedExport {
    fn drop(&mut self) {
        if !self.is_shown() {
            // SAFETY: CachedArray 1: `is_shown` is false, so no view leads into `inner`; it is not
            // used after this drop. Views with a record from a list hold leases of their own.
            unsafe { ManuallyDrop::drop(&mut self.inner) };
        }
    }
}

impl CachedArray {
    /// A view of the cached lease and record, if that is possible.
    #[inline(always)]
    fn quick(&self, cached: &CachedLease, flags: Flags) -> Option<View> {
        let format = self.object.format().ok()?;
        let (layout, data) = (self.object.array().layout(), self.object.array().raw().ptr());
        if flags.check_layout(layout).is_err() || layout.suboffsets().is_some() {
            return None;
        }
        let name = cached.record.publish()?;
        // Lengths fit in an `isize`. The pointers stay valid while the view is held
        // (CachedArray 1).
        Some(View {
            obj: self.object.as_ptr(),
            data: data.as_ptr().cast(),
            byte_size: layout.nbytes() as isize,
            readonly: 1,
            format: format.text,
            item_size: layout.itemsize() as isize,
            item_desc: NO_COMPONENTS,
            ndim: layout.rank() as isize,
            shape: layout.shape().as_ptr().cast(),
            strides: layout.strides().as_ptr(),
            sub_offsets: ptr::null(),
            private_data: ptr::null_mut(),
            reserved: name,
        })
    }

    #[cold]
    #[inline(never)]
    fn lend_slowly<'a>(&self, view: &'a mut MaybeUninit<View>, flags: Flags) -> Result<&'a mut View> {
        let view = self.lend(view, flags)?;
        // Prepares the next view; if that fails, the next one is exported like this one.
        if self.cached.get().is_none()
            && self.object.array().layout().suboffsets().is_none()
            && let Ok(lease) = STANDING.lease(self.object.array().raw())
            && let Ok(record) = records::take()
        {
            let record = record.reserve(self.object.as_ptr());
            // If two threads get here, the second releases its lease and its record. A child that
            // was forked meanwhile can set its own.
            get_or_make(&self.cached, || CachedLease { lease, record });
        }
        Ok(view)
    }

    fn lend<'a>(&self, view: &'a mut MaybeUninit<View>, flags: Flags) -> Result<&'a mut View> {
        flags.check_known()?;
        let lent = self.object.lend(view, flags)?;
        lent.item_desc = NO_COMPONENTS;
        Ok(lent)
    }
}

/// The terms of the cached lease.
const STANDING: Terms = Terms::new(Protocols::MEMORY_VIEW, Access::Only(LeaseKind::Pin));

const NO_COMPONENTS: ItemDesc = ItemDesc { components: ptr::null(), length: 0 };

/// Releases a view by its name, and returns whether it was held. Of several calls with copies of
/// one name, one returns true. Any number is accepted, on any thread.
///
/// # Safety
///
/// No other thread releases a view with the same name, by this function or by the hub's
/// [`release`](super::hub::release), at the same time.
#[inline]
pub unsafe fn take_back(name: *mut c_void) -> bool {
    records::finish(name) || take_back_slowly(name)
}

#[inline(never)]
fn take_back_slowly(name: *mut c_void) -> bool {
    // A view of a producer registered with this hub stays held.
    if let Ok(mut claimed) = records::claim(name)
        && !matches!(claimed.view_lease().lender, Lender::Producer(_))
    {
        claimed.retire();
        return true;
    }
    last::keep(&Error::new(
        Kind::Refused,
        "the view was already released, or was not exported to another hub",
    ));
    false
}

impl fmt::Debug for CachedExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StandingLoan").field("object", &self.inner.object).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;
    use crate::view::Request;

    fn cached() -> (DArray, CachedExport) {
        let array = DArray::from(Array::from_vec((0..6i32).collect(), [2, 3]).unwrap());
        (array.clone(), CachedExport::new(array))
    }

    fn taken_back(view: &View) -> bool {
        // SAFETY: only this test's thread knows the name, so no other thread releases the view at
        // the same time.
        unsafe { take_back(view.reserved) }
    }

    /// Exports a view in either way.
    fn exported(export: &CachedExport, flags: Flags, alone: bool) -> Result<View> {
        let before = View { ndim: 77, ..View::EMPTY };
        let mut view = MaybeUninit::new(before);
        let result = if alone {
            // SAFETY: only this test's thread uses the export, so no other thread calls this at the
            // same time.
            unsafe { export.lend_alone(&mut view, flags) }
        } else {
            export.lend(&mut view, flags)
        };
        let result = result.map(|view| *view);
        if result.is_err() {
            // SAFETY: the struct was initialised above.
            let after = unsafe { view.assume_init() };
            assert!(after.ndim == 77 && after.reserved.is_null());
        }
        result
    }

    #[test]
    fn views_are_known_by_name_and_taken_back_once() {
        let (array, export) = cached();
        assert_eq!(export.held(), 0);
        for round in 0..3 {
            let views =
                [true, true, false, true].map(|alone| exported(&export, Flags::ROW_MAJOR, alone).unwrap());
            for view in &views {
                assert_eq!(
                    (view.data.cast_const().cast(), view.readonly, view.byte_size),
                    (array.as_ptr(), 1, 24)
                );
                // SAFETY: the view is held and has two axes, so `shape` points to two numbers, none
                // of which is negative.
                let shape = unsafe { &*view.shape.cast::<[isize; 2]>() };
                // SAFETY: the view is held and has two axes, so `strides` points to two numbers.
                let strides = unsafe { &*view.strides.cast::<[isize; 2]>() };
                assert_eq!((shape, strides), (&[2, 3], &[12, 4]));
                assert!(view.item_desc.components.is_null() && view.sub_offsets.is_null());
            }
            assert_eq!(export.held(), 4, "round {round}");
            for view in &views {
                assert!(taken_back(view) && !taken_back(view));
            }
            assert!(views.iter().all(|view| !taken_back(view)));
            assert_eq!(export.held(), 0);
        }
        for name in [0, 1, usize::MAX] {
            assert!(!taken_back(&View { reserved: ptr::without_provenance_mut(name), ..View::EMPTY }));
        }
    }

    #[test]
    fn the_lease_stands_from_the_first_view_to_the_end_of_the_export() {
        let (array, export) = cached();
        assert!(taken_back(&exported(&export, Flags::SIMPLE, false).unwrap()));
        drop(array.export(&Request::write()).unwrap());
        assert!(taken_back(&exported(&export, Flags::SIMPLE, true).unwrap()));
        assert!(array.export(&Request::write()).is_err() && array.export(&Request::read()).is_ok());
        let view = exported(&export, Flags::WRITABLE, true).unwrap();
        assert!(view.readonly == 0 && array.export(&Request::read()).is_err());
        assert!(taken_back(&view) && array.export(&Request::read()).is_ok());
        drop(export);
        assert!(array.export(&Request::write()).is_ok());
    }

    #[test]
    fn refusals_leave_the_struct_alone() {
        let (array, export) = cached();
        for (flags, why) in [(Flags::COLUMN_MAJOR, "COLUMN_MAJOR"), (Flags::from_bits(1 << 20), "0x100000")] {
            for alone in [false, true, true] {
                let error = exported(&export, flags, alone).unwrap_err();
                assert!(error.to_string().contains(why), "{error}");
                assert!(taken_back(&exported(&export, Flags::SIMPLE, alone).unwrap()));
            }
        }
        let readonly = CachedExport::new(array.into_readonly());
        assert!(exported(&readonly, Flags::WRITABLE, true).unwrap_err().is_read_only());
        let half = CachedExport::new(
            DArray::zeros(crate::element::DType::F16, &[2], crate::layout::Order::RowMajor).unwrap(),
        );
        for alone in [false, true, true] {
            assert!(exported(&half, Flags::SIMPLE, alone).unwrap_err().is_unsupported());
        }
    }

    #[test]
    fn an_export_that_goes_before_its_views_leaves_them_what_they_show() {
        let (array, export) = cached();
        let views = [true, true, false].map(|alone| exported(&export, Flags::SIMPLE, alone).unwrap());
        assert!(export.is_shown());
        drop((array, export));
        for view in &views {
            // SAFETY: the views are still held, so shape and strides are there, of two axes as the
            // index has; there are no suboffsets.
            let item = unsafe { view.item_pointer([1, 2].as_ptr()) }.unwrap();
            // SAFETY: the view is still held and its items are of `i32`, aligned as in the vector
            // they came from.
            assert_eq!(unsafe { item.cast::<i32>().read() }, 5);
            assert!(taken_back(view) && !taken_back(view));
        }
    }

    #[test]
    fn the_hub_takes_a_view_of_a_cached_export_back_and_leaves_its_record_there() {
        let (_, export) = cached();
        assert!(taken_back(&exported(&export, Flags::SIMPLE, true).unwrap()));
        for _ in 0..3 {
            let mut view = exported(&export, Flags::SIMPLE, true).unwrap();
            // SAFETY: the struct is this test's own variable, and the memory of the view is not
            // used afterwards.
            assert!(unsafe { crate::exchange::protocol::memory_view::hub::release(&mut view) });
        }
        let (first, second) = (
            exported(&export, Flags::SIMPLE, true).unwrap(),
            exported(&export, Flags::SIMPLE, true).unwrap(),
        );
        assert_ne!(first.reserved, second.reserved);
        assert!(taken_back(&first) && taken_back(&second));
    }
}
