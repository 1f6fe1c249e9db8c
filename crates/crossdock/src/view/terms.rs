//! The terms of a protocol: what its structs can describe, and what its consumers do with the
//! memory. Pure data; the negotiation is the same for all protocols.

use crate::array::RawArray;
use crate::error::{Advice, Error, Kind, Result};
use crate::layout::Layout;
use crate::memory::{Lease, LeaseKind, Place, Protocols};
use crate::view::reason::Reason;

/// What one protocol can describe, and what its consumers do with the memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// Names the holder of the lease in refusals and in the ledger.
    pub(crate) holder: Protocols,
    /// The lease that the consumer needs.
    pub(crate) access: Access,
    /// The memory that it supports.
    pub(crate) reach: Reach,
    /// The unit of its strides.
    pub(crate) strides: Strides,
    /// The memory for copies.
    pub(crate) copies: Copies,
}

/// The lease under which a protocol exports.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Access {
    /// Always this one.
    Only(LeaseKind),
    /// Share, or Pin for a read-only array: the struct has a read-only flag that consumers obey.
    AsFlagged,
    /// Share. A read-only array is refused with this text and advice: the struct has no read-only
    /// flag, or consumers ignore it.
    Writable(&'static str, Advice),
}

/// The memory that a protocol exports, and how a consumer is ordered after in-flight device work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Memory that the CPU addresses. Taking the lease waits for in-flight work.
    Host,
    /// Memory of any device. Taking the lease waits for in-flight work.
    Anywhere,
    /// Memory of any device. The protocol orders the consumer after in-flight work by itself.
    Ordered,
}

/// The unit of a protocol's strides.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Strides {
    /// Bytes. The request decides whether the consumer follows pointers.
    Bytes,
    /// Whole elements, without suboffsets.
    Elements,
}

/// The memory in which a protocol makes copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copies {
    /// Ordinary memory, or memory of the device.
    Ordinary,
    /// Memory that another process can map.
    Shared,
}

impl Terms {
    /// Memory of the host with strides in bytes.
    pub(crate) const fn new(holder: Protocols, access: Access) -> Self {
        Self { holder, access, reach: Reach::Host, strides: Strides::Bytes, copies: Copies::Ordinary }
    }

    /// The kind of lease under which an array is exported. [`Access::Writable`] is Share.
    #[inline]
    pub(crate) fn kind(&self, is_readonly: bool) -> LeaseKind {
        match self.access {
            Access::Only(kind) => kind,
            Access::AsFlagged if is_readonly => LeaseKind::Pin,
            Access::AsFlagged | Access::Writable(..) => LeaseKind::Share,
        }
    }

    /// Like [`Terms::lease`] of an array on the host, if it takes only one atomic step. `None` in
    /// all other cases, which [`Terms::lease`] handles.
    #[inline(always)]
    pub(crate) fn quick_lease(&self, raw: &RawArray) -> Option<Lease> {
        if matches!(self.access, Access::Writable(..)) && raw.is_readonly() {
            return None;
        }
        let lease = raw.quick_lease(self.kind(raw.is_readonly()))?;
        lease.mark_exported(self.holder);
        Some(lease)
    }

    /// Takes the lease under which an array is exported, and records its holder. One
    /// compare-and-swap.
    ///
    /// # Errors
    ///
    /// As [`Terms::take`].
    #[inline(always)]
    pub(crate) fn lease(&self, raw: &RawArray) -> Result<Lease> {
        let lease = self.take(raw)?;
        lease.mark_exported(self.holder);
        Ok(lease)
    }

    /// Like [`Terms::lease`], before the export is certain.
    ///
    /// # Errors
    ///
    /// `is_read_only`; `is_conflict`; `is_place` for memory out of reach; `is_exhausted`; the error
    /// of in-flight work that failed.
    #[inline(always)]
    pub(super) fn take(&self, raw: &RawArray) -> Result<Lease> {
        if let Access::Writable(why, advice) = self.access
            && raw.is_readonly()
        {
            return Err(read_only(why).advising(advice));
        }
        let kind = self.kind(raw.is_readonly());
        match self.reach {
            Reach::Host => return raw.lease(kind),
            Reach::Anywhere => raw.handle().await_work(kind)?,
            Reach::Ordered => {}
        }
        Ok(raw.handle().lease(kind)?)
    }

    /// The reason why the protocol cannot describe a layout, if any.
    #[inline]
    pub(crate) fn mismatch(&self, layout: &Layout) -> Option<Reason> {
        match self.strides {
            Strides::Bytes => None,
            Strides::Elements if layout.suboffsets().is_none() && fractional_axis(layout).is_none() => None,
            Strides::Elements => Some(self.no_elements(layout)),
        }
    }

    /// The reason why strides cannot be counted in elements.
    #[cold]
    fn no_elements(&self, layout: &Layout) -> Reason {
        let (holder, itemsize) = (self.holder, layout.itemsize());
        if let Some(suboffsets) = layout.suboffsets() {
            return Reason::Layout(
                format!(
                    "{holder} cannot describe an array that follows pointers (suboffsets {suboffsets:?})"
                )
                .into(),
            );
        }
        let axis = fractional_axis(layout).unwrap_or_default();
        Reason::Layout(
            format!(
                "{holder} counts strides in elements, but the stride of axis {axis}, {} bytes, is not a \
            multiple of the item size, {itemsize} bytes",
                layout.strides()[axis]
            )
            .into(),
        )
    }
}

/// The first axis whose stride is not a whole number of elements, unless that stride is never used.
#[inline]
fn fractional_axis(layout: &Layout) -> Option<usize> {
    let itemsize = layout.itemsize().max(1).cast_signed();
    let low = itemsize - 1;
    // A division takes longer than the rest of an export, and few item sizes need it.
    let is_power = itemsize & low == 0;
    let is_fractional = |stride: isize| if is_power { stride & low != 0 } else { stride % itemsize != 0 };
    let is_odd = |(&len, &stride): (&usize, &isize)| len > 1 && is_fractional(stride);
    layout.shape().iter().zip(layout.strides()).position(is_odd).filter(|_| !layout.is_empty())
}

impl Reach {
    /// Whether memory of a place is exported if the request names no place.
    #[inline]
    pub(crate) fn contains(self, place: Place) -> bool {
        !matches!(self, Self::Host) || place.is_host()
    }
}

#[cold]
fn read_only(why: &'static str) -> Error {
    Error::new(Kind::ReadOnly, why)
}
