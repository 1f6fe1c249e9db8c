//! A consumer's request.

use std::fmt;

use crate::array::{CopyPolicy, DArray, RawArray, overlap};
use crate::element::DType;
use crate::layout::{Layout, Order};
use crate::memory::{Lease, LeaseKind, Place, Protocols};
use crate::view::copying;
use crate::view::reason::Reason;
use crate::view::terms::{Access, Reach, Terms};

/// The minimum that a consumer needs of an array.
///
/// ```
/// use crossdock::Array;
/// use crossdock::layout::Order;
/// use crossdock::view::{CopyPolicy, Request};
///
/// let array = Array::from_vec(vec![1u8, 2, 3, 4, 5, 6], [2, 3])?; // row-major
/// let request = Request::read().order(Order::ColumnMajor);
/// assert!(crossdock::view(&array, request.clone()).is_err());
///
/// let view = crossdock::view(&array, request.copy(CopyPolicy::IfNeeded))?;
/// assert_eq!(view.strides(), &[1, 2]);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Request {
    lease: LeaseKind,
    order: Option<Order>,
    dtype: Option<DType>,
    place: Option<Place>,
    indirect: bool,
    copy: Option<Copier>,
    holder: Protocols,
}

/// The function that makes a permitted copy. Only requests that permit a copy name it, so programs
/// without such a request do not link the kernels that copy and convert.
#[derive(Clone, Copy)]
struct Copier {
    policy: CopyPolicy,
    make: Make,
}

/// Returns the copy, and the number of bytes copied.
type Make = fn(&DArray, &Request, &Terms) -> Result<(DArray, usize), Reason>;

impl fmt::Debug for Copier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.policy.fmt(f)
    }
}

impl Request {
    fn new(lease: LeaseKind) -> Self {
        Self {
            lease,
            order: None,
            dtype: None,
            place: None,
            indirect: false,
            copy: None,
            holder: Protocols::MEMORY_VIEW,
        }
    }

    /// Constant elements, by reference.
    pub fn read() -> Self {
        Self::new(LeaseKind::Read)
    }

    /// Elements with exclusive access, by mutable reference.
    pub fn write() -> Self {
        Self::new(LeaseKind::Write)
    }

    /// Elements that other holders may also write, loaded and stored racily.
    pub fn share() -> Self {
        Self::new(LeaseKind::Share)
    }

    /// Elements that other holders may write, loaded racily: the least demanding request.
    pub fn pin() -> Self {
        Self::new(LeaseKind::Pin)
    }

    /// Requires elements that are contiguous in this order.
    pub fn order(mut self, order: Order) -> Self {
        self.order = Some(order);
        self
    }

    /// Requires elements of this type.
    pub fn dtype(mut self, dtype: DType) -> Self {
        self.dtype = Some(dtype);
        self
    }

    /// Requires memory on this device. Without a place, the request is for memory that the CPU can
    /// address, and elements in device memory are refused even if a copy is permitted. With a
    /// place, a permitted copy transfers them: mapped if the lease is Share or Pin and a mapping is
    /// possible, else copied, after their device converted them.
    ///
    /// A [`MemoryView`](crate::view::MemoryView) is always of memory that the CPU addresses: its
    /// place is `cpu`, pinned or managed memory. [`DArray::copy_to`] copies to other devices.
    pub fn place(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// States that the consumer follows pointers (suboffsets in PEP 3118). Without it, an indirect
    /// array is refused, or copied if permitted.
    pub fn indirect(mut self) -> Self {
        self.indirect = true;
        self
    }

    /// Whether a copy may be made.
    pub fn copy(mut self, policy: CopyPolicy) -> Self {
        self.copy = (policy != CopyPolicy::Never).then_some(Copier { policy, make: copying::copy });
        self
    }

    /// Sets the holder's name in refusals and in the [ledger](crate::ledger). The default is
    /// [`Protocols::MEMORY_VIEW`]. For bindings that export under other names.
    ///
    /// ```
    /// use crossdock::memory::Protocols;
    /// use crossdock::view::Request;
    /// use crossdock::{Array, DArray};
    ///
    /// let array = DArray::from(Array::from_vec(vec![1u8, 2], [2])?);
    /// let held = array.export(&Request::share().held_by(Protocols::LEASE))?;
    /// let refusal = array.export(&Request::read()).unwrap_err();
    /// assert!(refusal.to_string().contains("a C lease"), "{refusal}");
    /// # drop(held);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn held_by(mut self, holder: Protocols) -> Self {
        self.holder = holder;
        self
    }

    /// The requested kind of lease.
    #[inline]
    pub fn lease(&self) -> LeaseKind {
        self.lease
    }

    /// The requested order, if any.
    pub fn wanted_order(&self) -> Option<Order> {
        self.order
    }

    /// The requested dtype, if any.
    pub fn wanted_dtype(&self) -> Option<&DType> {
        self.dtype.as_ref()
    }

    /// The requested device, if any.
    pub fn wanted_place(&self) -> Option<Place> {
        self.place
    }

    /// Whether a copy may be made.
    #[inline]
    pub fn copy_policy(&self) -> CopyPolicy {
        self.copy.map_or(CopyPolicy::Never, |copier| copier.policy)
    }

    /// Makes the copy that [`Request::copy`] permitted, and returns the number of bytes copied.
    ///
    /// # Errors
    ///
    /// The reason why there is no copy.
    pub(super) fn make_copy(&self, array: &DArray, terms: &Terms) -> Result<(DArray, usize), Reason> {
        let none = || Reason::Unsupported("the request does not permit a copy".into());
        (self.copy.ok_or_else(none)?.make)(array, self, terms)
    }

    /// The terms of a [`MemoryView`](crate::view::MemoryView): the requested lease, of memory that
    /// the CPU addresses.
    #[inline(always)]
    pub(crate) fn terms(&self) -> Terms {
        Terms::new(self.holder, Access::Only(self.lease))
    }

    /// Takes the lease of a request that every direct array on the host fulfils in place, if it
    /// takes one atomic step. `None` in all other cases, which the negotiation handles.
    #[inline(always)]
    pub(super) fn quick_lease(&self, raw: &RawArray) -> Option<Lease> {
        let is_always = self.copy.is_some_and(|copier| copier.policy == CopyPolicy::Always);
        if !self.is_plain() || is_always {
            return None;
        }
        let lease = raw.quick_lease(self.lease)?;
        lease.mark_exported(self.holder);
        Some(lease)
    }

    /// Whether it has no requirement but the lease, which is not Write.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        let is_any = self.dtype.is_none() && self.order.is_none() && self.place.is_none();
        is_any && self.lease != LeaseKind::Write
    }

    /// The requirement, except the lease, that such an array does not fulfil. Unless the request
    /// names a place, the protocol's reach decides.
    #[inline(always)]
    pub(super) fn mismatch(
        &self,
        dtype: &DType,
        layout: &Layout,
        place: Place,
        reach: Reach,
    ) -> Option<Reason> {
        if self.is_plain() && reach.contains(place) && layout.suboffsets().is_none() {
            return None;
        }
        self.mismatch_of_any(dtype, layout, place, reach)
    }

    /// [`Request::mismatch`] for a request with particular requirements.
    fn mismatch_of_any(&self, dtype: &DType, layout: &Layout, place: Place, reach: Reach) -> Option<Reason> {
        if let Some(wanted) = self.wanted_dtype().filter(|&wanted| wanted != dtype) {
            return Some(Reason::DType(wanted.clone()));
        }
        if let Some(order) = self.wanted_order().filter(|&order| !layout.is_contiguous(order)) {
            return Some(Reason::Order(order));
        }
        if let Some(suboffsets) = layout.suboffsets().filter(|_| !self.indirect) {
            return Some(indirect(suboffsets));
        }
        match self.wanted_place() {
            Some(wanted) if wanted != place => return Some(Reason::Place(wanted)),
            None if !reach.contains(place) => return Some(Reason::Place(Place::CPU)),
            _ => {}
        }
        if self.lease == LeaseKind::Write && !layout.is_injective() {
            return Some(Reason::Layout(overlap(layout.shape(), layout.strides()).into()));
        }
        None
    }
}

#[cold]
fn indirect(suboffsets: &[Option<isize>]) -> Reason {
    Reason::Layout(
        format!("the array follows pointers (suboffsets {suboffsets:?}), which the request does not permit")
            .into(),
    )
}
