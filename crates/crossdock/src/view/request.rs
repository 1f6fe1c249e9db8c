//! What a consumer asks for.

use std::fmt;

use crate::array::{CopyPolicy, DArray, overlap};
use crate::element::DType;
use crate::layout::{Layout, Order};
use crate::memory::{LeaseKind, Place, Protocols};
use crate::view::copying;
use crate::view::reason::Reason;
use crate::view::terms::{Access, Reach, Terms};

/// The least that a consumer needs of an array.
///
/// ```
/// use crossdock::layout::Order;
/// use crossdock::view::{CopyPolicy, Request};
///
/// let request = Request::read().order(Order::ColumnMajor).copy(CopyPolicy::IfNeeded);
/// assert_eq!(request.wanted_order(), Some(Order::ColumnMajor));
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

/// Who makes a copy that is permitted. It is named by requests that permit one alone, so that a
/// program without such a request links none of the kernels that copy and convert.
#[derive(Clone, Copy)]
struct Copier {
    policy: CopyPolicy,
    make: Make,
}

/// Gives the copy, and how many bytes were copied.
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

    /// Elements that nobody else touches, by mutable reference.
    pub fn write() -> Self {
        Self::new(LeaseKind::Write)
    }

    /// Elements that others may write too, loaded and stored racily.
    pub fn share() -> Self {
        Self::new(LeaseKind::Share)
    }

    /// Elements that others may write, loaded racily: the least demanding request.
    pub fn pin() -> Self {
        Self::new(LeaseKind::Pin)
    }

    /// Only without gaps in this order.
    pub fn order(mut self, order: Order) -> Self {
        self.order = Some(order);
        self
    }

    /// Only elements of this type.
    pub fn dtype(mut self, dtype: DType) -> Self {
        self.dtype = Some(dtype);
        self
    }

    /// Only on this device. Unless this is said, memory that the processor can address is wanted,
    /// and elements on a device are refused, whatever may be copied. With it, a copy that is
    /// permitted brings them: mapped where others may have the memory (Share, Pin) and it can be,
    /// else copied, and converted before that by their device.
    ///
    /// A [`MemoryView`](crate::view::MemoryView) is of memory that the processor addresses: for it,
    /// the place is `cpu`, or one of pinned or managed memory. To another device,
    /// [`DArray::copy_to`] copies.
    pub fn place(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// The consumer follows pointers (suboffsets, in the words of PEP 3118). Without this word, an
    /// indirect array is refused, or copied where that is permitted.
    pub fn indirect(mut self) -> Self {
        self.indirect = true;
        self
    }

    /// Whether a copy may be made.
    pub fn copy(mut self, policy: CopyPolicy) -> Self {
        self.copy = (policy != CopyPolicy::Never).then_some(Copier { policy, make: copying::copy });
        self
    }

    /// Sets how refusals and the [ledger](crate::ledger) name the holder of the view. The
    /// default is [`Protocols::MEMORY_VIEW`]. For bindings that export under other names.
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

    /// The kind of lease asked for.
    pub fn lease(&self) -> LeaseKind {
        self.lease
    }

    /// The order asked for, if one was.
    pub fn wanted_order(&self) -> Option<Order> {
        self.order
    }

    /// The dtype asked for, if one was.
    pub fn wanted_dtype(&self) -> Option<&DType> {
        self.dtype.as_ref()
    }

    /// The device asked for, if one was.
    pub fn wanted_place(&self) -> Option<Place> {
        self.place
    }

    /// Whether a copy may be made.
    pub fn copy_policy(&self) -> CopyPolicy {
        self.copy.map_or(CopyPolicy::Never, |copier| copier.policy)
    }

    /// The copy that [`Request::copy`] permitted, and how many bytes were copied.
    ///
    /// # Errors
    ///
    /// The reason why there is none.
    pub(super) fn make_copy(&self, array: &DArray, terms: &Terms) -> Result<(DArray, usize), Reason> {
        let none = || Reason::Unsupported("the request permits no copy".to_owned());
        (self.copy.ok_or_else(none)?.make)(array, self, terms)
    }

    /// The terms of a [`MemoryView`](crate::view::MemoryView): the requested lease, of memory that
    /// the processor addresses.
    #[inline(always)]
    pub(crate) fn terms(&self) -> Terms {
        Terms::new(self.holder, Access::Only(self.lease))
    }

    /// What of the request, but for the lease itself, such an array does not fulfil. Unless the
    /// request names a place, the protocol's reach decides.
    #[inline(always)]
    pub(super) fn mismatch(
        &self,
        dtype: &DType,
        layout: &Layout,
        place: Place,
        reach: Reach,
    ) -> Option<Reason> {
        let is_plain = self.dtype.is_none() && self.order.is_none() && self.place.is_none();
        if is_plain
            && self.lease != LeaseKind::Write
            && reach.contains(place)
            && layout.suboffsets().is_none()
        {
            return None;
        }
        self.mismatch_of_any(dtype, layout, place, reach)
    }

    /// As [`Request::mismatch`], for a request that wants anything in particular.
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
            return Some(Reason::Layout(overlap(layout.shape(), layout.strides())));
        }
        None
    }
}

#[cold]
fn indirect(suboffsets: &[Option<isize>]) -> Reason {
    Reason::Layout(format!(
        "the array follows pointers (suboffsets {suboffsets:?}), and the request does not say that the consumer does"
    ))
}
