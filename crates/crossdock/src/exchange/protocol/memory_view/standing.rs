//! Arrays as objects of a hub that is not this one, which asks for many views, one after the other: Ruby's.
//!
//! Of what a view costs, the lease and the record are four atomic exchanges, as much as all the rest. A loan that stands does with none, for one view
//! at a time that is not to be written, which nearly all are: by a lease that stays as long as the loan does, and by a record of its own. All other
//! views are given as [`get`](super::hub::get) gives them.

use core::ffi::c_void;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::OnceLock;

use crate::array::DArray;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::abi::{ItemDesc, View};
use crate::exchange::protocol::memory_view::flags::Flags;
use crate::exchange::protocol::memory_view::last;
use crate::exchange::protocol::memory_view::loan::Lender;
use crate::exchange::protocol::memory_view::object::ArrayObject;
use crate::exchange::protocol::memory_view::records::{self, Reserved};
use crate::memory::fork::get_or_make;
use crate::memory::{Lease, LeaseKind, Protocols};
use crate::view::{Access, Terms};

/// An array of which views are given for a hub of another's.
///
/// They keep to the flags as those of [`get`](super::hub::get) do, and shape, strides and format
/// are always filled in; components are not, since they would be the other hub's to free. Each is
/// known by a name in [`View::reserved`], which the binding keeps wherever the other hub leaves
/// room for it, and by which alone it is [taken back](take_back).
///
/// What a view shows stays while it is held, also where the loan is dropped before: so it goes where a process ends, and objects are freed in no
/// order.
///
/// ```
/// use crossdock::Array;
/// use crossdock::bindings::memory_view::{self, Flags, StandingLoan, View};
///
/// let loan = StandingLoan::new(Array::from_vec(vec![1.5f64, 2.5], [2])?.into());
/// let mut view = View::EMPTY;
/// loan.lend(&mut view, Flags::STRIDES)?;
/// assert_eq!((view.ndim, view.byte_size, loan.held()), (1, 16, 1));
/// let name = view.reserved;
/// // SAFETY: one thread, here and below.
/// assert!(unsafe { memory_view::take_back(name) });
/// // SAFETY: as above.
/// assert!(!unsafe { memory_view::take_back(name) });
/// # Ok::<(), crossdock::Error>(())
/// ```
pub struct StandingLoan {
    inner: ManuallyDrop<Box<Inner>>,
}

/// # Invariants
///
/// 1. It stays where it is, and is not freed, while a view of the record that it keeps is held: pointers of the view lead into it.
struct Inner {
    object: ArrayObject,
    /// From the first view on.
    standing: OnceLock<Standing>,
}

struct Standing {
    #[expect(dead_code, reason = "held until it is dropped")]
    lease: Lease,
    record: Reserved,
}

impl StandingLoan {
    /// Of an array whose dtype is said by numbers where no template says it: see [`ArrayObject::approximated`]. O(1) for scalars, otherwise
    /// O(fields). What cannot be lent is refused when it is asked for.
    pub fn new(array: DArray) -> Self {
        let object = ArrayObject::approximated(array);
        Self { inner: ManuallyDrop::new(Box::new(Inner { object, standing: OnceLock::new() })) }
    }

    /// The array.
    #[inline]
    pub fn array(&self) -> &DArray {
        self.inner.object.array()
    }

    /// Gives a view. On refusal the struct is as it was.
    ///
    /// # Errors
    ///
    /// As [`get`](super::hub::get).
    pub fn lend(&self, view: &mut View, flags: Flags) -> Result<()> {
        self.inner.lend(view, flags).inspect_err(last::keep)
    }

    /// As [`StandingLoan::lend`], and faster: O(1), without a lock and without an atomic exchange, where the view is not to be written, the array
    /// follows no pointers and no other view that was given so is held.
    ///
    /// # Errors
    ///
    /// As [`get`](super::hub::get).
    ///
    /// # Safety
    ///
    /// No other thread calls this, of this loan, at the same time.
    #[inline]
    pub unsafe fn lend_alone(&self, view: &mut View, flags: Flags) -> Result<()> {
        match self.inner.standing.get() {
            Some(standing) if !flags.is_writable() && self.inner.lend_quickly(standing, view, flags) => {
                Ok(())
            }
            _ => self.inner.lend_slowly(view, flags).inspect_err(last::keep),
        }
    }

    /// Whether a view is held that shows what this loan has: dropped now, the loan would stay for ever.
    pub fn is_shown(&self) -> bool {
        self.inner.standing.get().is_some_and(|standing| standing.record.is_live())
    }

    /// How many views are held. Looks at every record that was ever used.
    pub fn held(&self) -> usize {
        records::count(self.inner.object.as_ptr())
    }
}

impl Drop for StandingLoan {
    fn drop(&mut self) {
        if !self.is_shown() {
            // SAFETY: Inner 1, and not used after this. All other views keep what they show by themselves.
            unsafe { ManuallyDrop::drop(&mut self.inner) };
        }
    }
}

impl Inner {
    /// Whether a view could be given so.
    #[inline(always)]
    fn lend_quickly(&self, standing: &Standing, view: &mut View, flags: Flags) -> bool {
        let Ok(format) = self.object.format() else { return false };
        let (layout, data) = (self.object.array().layout(), self.object.array().raw().ptr());
        if flags.check_layout(layout).is_err() || layout.suboffsets().is_some() {
            return false;
        }
        let Some(name) = standing.record.publish() else { return false };
        view.obj = self.object.as_ptr();
        view.data = data.as_ptr().cast();
        view.byte_size = layout.nbytes() as isize;
        view.readonly = 1;
        view.format = format.text;
        view.item_size = layout.itemsize() as isize;
        view.item_desc = NO_COMPONENTS;
        view.ndim = layout.rank() as isize;
        // Lengths have no sign, and are never greater than what has one. All of it stays (Inner 1).
        view.shape = layout.shape().as_ptr().cast();
        view.strides = layout.strides().as_ptr();
        view.sub_offsets = ptr::null();
        view.private_data = ptr::null_mut();
        view.reserved = name;
        true
    }

    #[cold]
    #[inline(never)]
    fn lend_slowly(&self, view: &mut View, flags: Flags) -> Result<()> {
        self.lend(view, flags)?;
        // For the next one; where it cannot be had, that one is given as this one was.
        if self.standing.get().is_none()
            && self.object.array().layout().suboffsets().is_none()
            && let Ok(lease) = STANDING.lease(self.object.array().raw())
            && let Ok(record) = records::take()
        {
            let record = record.reserve(self.object.as_ptr());
            // Of two threads, the second gives its lease and its record back. A child that was
            // forked meanwhile can set its own.
            get_or_make(&self.standing, || Standing { lease, record });
        }
        Ok(())
    }

    fn lend(&self, view: &mut View, flags: Flags) -> Result<()> {
        flags.check_known()?;
        let mut given = View::EMPTY;
        self.object.lend(&mut given, flags)?;
        given.item_desc = NO_COMPONENTS;
        *view = given;
        Ok(())
    }
}

/// The terms of the lease that stays as long as the loan.
const STANDING: Terms = Terms::new(Protocols::MEMORY_VIEW, Access::Only(LeaseKind::Pin));

const NO_COMPONENTS: ItemDesc = ItemDesc { components: ptr::null(), length: 0 };

/// Takes a view back by its name: whether it was held. Of all who come with it, by whatever copies of the struct, one is told so. Any number may be
/// given, on any thread.
///
/// # Safety
///
/// No two threads come with the same name at the same time.
#[inline]
pub unsafe fn take_back(name: *mut c_void) -> bool {
    records::finish(name) || take_back_slowly(name)
}

#[inline(never)]
fn take_back_slowly(name: *mut c_void) -> bool {
    // What a producer of this hub lent stays as it is.
    if let Ok(mut claimed) = records::claim(name)
        && !matches!(claimed.loan().lender, Lender::Producer(_))
    {
        claimed.retire();
        return true;
    }
    last::keep(&Error::new(Kind::Refused, "the view was released before, or was not given for another hub"));
    false
}

impl fmt::Debug for StandingLoan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StandingLoan").field("object", &self.inner.object).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;
    use crate::view::Request;

    fn loan() -> (DArray, StandingLoan) {
        let array = DArray::from(Array::from_vec((0..6i32).collect(), [2, 3]).unwrap());
        (array.clone(), StandingLoan::new(array))
    }

    fn taken_back(view: &View) -> bool {
        // SAFETY: one thread.
        unsafe { take_back(view.reserved) }
    }

    /// In both ways.
    fn lent(loan: &StandingLoan, flags: Flags, alone: bool) -> Result<View> {
        let mut view = View { ndim: 77, ..View::EMPTY };
        let result = if alone {
            // SAFETY: one thread.
            unsafe { loan.lend_alone(&mut view, flags) }
        } else {
            loan.lend(&mut view, flags)
        };
        assert!(result.is_ok() || view.ndim == 77 && view.reserved.is_null());
        result.map(|()| view)
    }

    #[test]
    fn views_are_known_by_name_and_taken_back_once() {
        let (array, loan) = loan();
        assert_eq!(loan.held(), 0);
        for round in 0..3 {
            let views = [true, true, false, true].map(|alone| lent(&loan, Flags::ROW_MAJOR, alone).unwrap());
            for view in &views {
                assert_eq!(
                    (view.data.cast_const().cast(), view.readonly, view.byte_size),
                    (array.as_ptr(), 1, 24)
                );
                // SAFETY: two numbers.
                let shape = unsafe { &*view.shape.cast::<[isize; 2]>() };
                // SAFETY: two numbers.
                let strides = unsafe { &*view.strides.cast::<[isize; 2]>() };
                assert_eq!((shape, strides), (&[2, 3], &[12, 4]));
                assert!(view.item_desc.components.is_null() && view.sub_offsets.is_null());
            }
            assert_eq!(loan.held(), 4, "round {round}");
            for view in &views {
                assert!(taken_back(view) && !taken_back(view));
            }
            assert!(views.iter().all(|view| !taken_back(view)));
            assert_eq!(loan.held(), 0);
        }
        for name in [0, 1, usize::MAX] {
            assert!(!taken_back(&View { reserved: ptr::without_provenance_mut(name), ..View::EMPTY }));
        }
    }

    #[test]
    fn the_lease_stands_from_the_first_view_to_the_end_of_the_loan() {
        let (array, loan) = loan();
        assert!(taken_back(&lent(&loan, Flags::SIMPLE, false).unwrap()));
        drop(array.export(&Request::write()).unwrap());
        assert!(taken_back(&lent(&loan, Flags::SIMPLE, true).unwrap()));
        assert!(array.export(&Request::write()).is_err() && array.export(&Request::read()).is_ok());
        let view = lent(&loan, Flags::WRITABLE, true).unwrap();
        assert!(view.readonly == 0 && array.export(&Request::read()).is_err());
        assert!(taken_back(&view) && array.export(&Request::read()).is_ok());
        drop(loan);
        assert!(array.export(&Request::write()).is_ok());
    }

    #[test]
    fn refusals_leave_the_struct_alone() {
        let (array, loan) = loan();
        for (flags, why) in [(Flags::COLUMN_MAJOR, "COLUMN_MAJOR"), (Flags::from_bits(1 << 20), "0x100000")] {
            for alone in [false, true, true] {
                let error = lent(&loan, flags, alone).unwrap_err();
                assert!(error.to_string().contains(why), "{error}");
                assert!(taken_back(&lent(&loan, Flags::SIMPLE, alone).unwrap()));
            }
        }
        let readonly = StandingLoan::new(array.into_readonly());
        assert!(lent(&readonly, Flags::WRITABLE, true).unwrap_err().is_read_only());
        let half = StandingLoan::new(
            DArray::zeros(crate::element::DType::F16, &[2], crate::layout::Order::RowMajor).unwrap(),
        );
        for alone in [false, true, true] {
            assert!(lent(&half, Flags::SIMPLE, alone).unwrap_err().is_unsupported());
        }
    }

    #[test]
    fn a_loan_that_goes_before_its_views_leaves_them_what_they_show() {
        let (array, loan) = loan();
        let views = [true, true, false].map(|alone| lent(&loan, Flags::SIMPLE, alone).unwrap());
        assert!(loan.is_shown());
        drop((array, loan));
        for view in &views {
            // SAFETY: the memory is still there.
            let item = unsafe { view.item_pointer([1, 2].as_ptr()) }.unwrap();
            // SAFETY: an item.
            assert_eq!(unsafe { item.cast::<i32>().read() }, 5);
            assert!(taken_back(view) && !taken_back(view));
        }
    }

    #[test]
    fn the_hub_takes_a_view_of_a_standing_loan_back_and_leaves_its_record_there() {
        let (_, loan) = loan();
        assert!(taken_back(&lent(&loan, Flags::SIMPLE, true).unwrap()));
        for _ in 0..3 {
            let mut view = lent(&loan, Flags::SIMPLE, true).unwrap();
            // SAFETY: a view that is held.
            assert!(unsafe { crate::exchange::protocol::memory_view::hub::release(&mut view) });
        }
        let (first, second) =
            (lent(&loan, Flags::SIMPLE, true).unwrap(), lent(&loan, Flags::SIMPLE, true).unwrap());
        assert_ne!(first.reserved, second.reserved);
        assert!(taken_back(&first) && taken_back(&second));
    }
}
