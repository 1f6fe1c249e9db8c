//! The terms of a protocol: what its structs can say of an array, and what its consumers do with
//! the memory. Data alone; the negotiation is the same for all protocols.

use crate::array::RawArray;
use crate::error::{Error, Kind, Result};
use crate::layout::Layout;
use crate::memory::{Lease, LeaseKind, Place, Protocols};
use crate::view::reason::Reason;

/// What one protocol can say of an array, and what its consumers do with the memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// Names the holder of the lease in refusals and in the ledger.
    pub(crate) holder: Protocols,
    /// The lease that the consumer needs.
    pub(crate) access: Access,
    /// Which memory it takes.
    pub(crate) reach: Reach,
    /// How it counts strides.
    pub(crate) strides: Strides,
    /// In which memory copies are made.
    pub(crate) copies: Copies,
}

/// The lease under which a protocol lends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Access {
    /// Always this one.
    Only(LeaseKind),
    /// Share; Pin of a read-only array, which the struct says, and consumers obey.
    AsFlagged,
    /// Share. A read-only array is refused with this text: the struct cannot say that it is
    /// read-only, or consumers ignore it.
    Writable(&'static str),
}

/// Which memory a protocol lends, and how a consumer comes after in-flight work of a device on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Memory that the processor addresses. Taking the lease waits for in-flight work.
    Host,
    /// Memory of any device. Taking the lease waits for in-flight work.
    Anywhere,
    /// Memory of any device. The protocol orders the consumer after in-flight work by itself.
    Ordered,
}

/// How a protocol counts strides.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Strides {
    /// In bytes. Whether the consumer follows pointers is up to the request.
    Bytes,
    /// In whole elements. There are no pointers to follow.
    Elements,
}

/// In which memory a protocol makes copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copies {
    /// Ordinary memory, or that of the device.
    Ordinary,
    /// Memory that another process can map.
    Shared,
}

impl Terms {
    /// Memory of the host with strides in bytes.
    pub(crate) const fn new(holder: Protocols, access: Access) -> Self {
        Self { holder, access, reach: Reach::Host, strides: Strides::Bytes, copies: Copies::Ordinary }
    }

    /// The kind of lease under which an array is lent. [`Access::Writable`] is Share.
    #[inline]
    pub(crate) fn kind(&self, is_readonly: bool) -> LeaseKind {
        match self.access {
            Access::Only(kind) => kind,
            Access::AsFlagged if is_readonly => LeaseKind::Pin,
            Access::AsFlagged | Access::Writable(_) => LeaseKind::Share,
        }
    }

    /// Takes the lease under which an array is lent, and notes its holder. One compare-and-swap.
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

    /// As [`Terms::lease`], before it is certain that the array is exported.
    ///
    /// # Errors
    ///
    /// `is_read_only`; `is_conflict`; `is_place` for memory out of reach; `is_exhausted`; the error
    /// of in-flight work that failed.
    #[inline(always)]
    pub(super) fn take(&self, raw: &RawArray) -> Result<Lease> {
        if let Access::Writable(why) = self.access
            && raw.is_readonly()
        {
            return Err(read_only(why));
        }
        let kind = self.kind(raw.is_readonly());
        match self.reach {
            Reach::Host => return raw.lease(kind),
            Reach::Anywhere => raw.handle().await_work(kind)?,
            Reach::Ordered => {}
        }
        Ok(raw.handle().lease(kind)?)
    }

    /// What the protocol cannot say of a layout.
    #[inline]
    pub(crate) fn mismatch(&self, layout: &Layout) -> Option<Reason> {
        match self.strides {
            Strides::Bytes => None,
            Strides::Elements if layout.suboffsets().is_none() && fractional_axis(layout).is_none() => None,
            Strides::Elements => Some(self.no_elements(layout)),
        }
    }

    /// Why strides cannot be counted in elements.
    #[cold]
    fn no_elements(&self, layout: &Layout) -> Reason {
        let (holder, itemsize) = (self.holder, layout.itemsize());
        if let Some(suboffsets) = layout.suboffsets() {
            return Reason::Layout(format!(
                "{holder} cannot describe an array that follows pointers (suboffsets {suboffsets:?})"
            ));
        }
        let axis = fractional_axis(layout).unwrap_or_default();
        Reason::Layout(format!(
            "{holder} counts strides in elements, and the stride of axis {axis}, {} bytes, is not a multiple of the \
             {itemsize} bytes of one",
            layout.strides()[axis]
        ))
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
    /// Whether memory of a place is lent unless the request names a place.
    #[inline]
    pub(crate) fn contains(self, place: Place) -> bool {
        !matches!(self, Self::Host) || place.is_host()
    }
}

#[cold]
fn read_only(why: &'static str) -> Error {
    Error::new(Kind::ReadOnly, why)
}
