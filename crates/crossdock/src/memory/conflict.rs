//! The reasons for refusing a lease, as data.

use std::fmt;

use crate::error::advice::InWords;
use crate::error::{Advice, Error, Kind};
use crate::memory::holder::{Age, Holder, ProtocolNames};
use crate::memory::protocols::Protocols;
use crate::memory::word::{LeaseKind, WordValue};

/// The request that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wanted {
    /// A lease of this kind.
    Lease(LeaseKind),
    /// To be the only holder, without another owner who may write: `&mut` access, resizing.
    Exclusive,
    /// To be the only holder in this process: partition, sealing.
    OnlyHandle,
    /// One more handle.
    Handle,
}

/// A refused lease or exclusive access: what was requested, and what prevented it at that moment.
///
/// It is the source of the [`Error`](crate::Error) for which `is_conflict()` holds.
///
/// ```
/// use crossdock::buffer::Buffer;
/// use crossdock::memory::{Conflict, LeaseKind};
/// use std::error::Error;
///
/// let buffer = Buffer::from_vec(vec![1u8, 2, 3])?;
/// let reading = buffer.read()?;
/// let error = buffer.write().unwrap_err();
/// let conflict = error.source().unwrap().downcast_ref::<Conflict>().unwrap();
/// assert_eq!(conflict.leases(), Some((LeaseKind::Read, 1)));
/// # drop(reading);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone)]
pub struct Conflict {
    wanted: Wanted,
    found: WordValue,
    exported: Protocols,
    holders: Box<[Holder]>,
}

impl Conflict {
    /// `holders` is shrunk to its length; it is empty while the ledger is off.
    pub(crate) fn new(wanted: Wanted, found: WordValue, exported: Protocols, holders: Vec<Holder>) -> Self {
        Self { wanted, found, exported, holders: holders.into_boxed_slice() }
    }

    /// The request.
    pub fn wanted(&self) -> Wanted {
        self.wanted
    }

    /// The kind and number of Read, Share or Write leases that were held. (These three exclude each
    /// other.)
    pub fn leases(&self) -> Option<(LeaseKind, u64)> {
        self.found.leases()
    }

    /// The number of Pin leases that were held.
    pub fn pins(&self) -> u64 {
        self.found.pins()
    }

    /// The number of handles that existed, the caller's own included.
    pub fn handles(&self) -> u64 {
        self.found.handles()
    }

    /// Whether another owner may write the memory at any time, which excludes Read and Write
    /// leases.
    pub fn is_aliased(&self) -> bool {
        self.found.is_aliased()
    }

    /// The protocols by which the memory was ever exported.
    pub fn exported(&self) -> Protocols {
        self.exported
    }

    /// The leases on the memory that the [ledger](crate::ledger) listed, the oldest first. Empty
    /// while it is off.
    ///
    /// They were looked up after the refusal: leases may have been released or taken in between.
    ///
    /// ```
    /// use crossdock::buffer::Buffer;
    /// use crossdock::ledger;
    /// use crossdock::memory::{Conflict, LeaseKind, Protocols};
    /// use std::error::Error;
    ///
    /// ledger::switch_on();
    /// let buffer = Buffer::from_vec(vec![1u8, 2, 3])?;
    /// let pin = buffer.pin()?;
    /// let error = buffer.write().unwrap_err(); // a write lease was refused: 1 pin lease (a guard, 2 µs old) held
    /// let conflict: &Conflict = error.source().unwrap().downcast_ref().unwrap();
    /// let holder = conflict.holders()[0];
    /// assert_eq!((holder.kind, holder.protocols), (LeaseKind::Pin, Protocols::NONE));
    /// # drop(pin);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    pub fn holders(&self) -> &[Holder] {
        &self.holders
    }

    /// Whether the only obstacle was a full count of holders of this kind.
    #[doc(hidden)]
    pub fn is_full(&self) -> bool {
        match self.wanted {
            Wanted::Lease(kind) => self.found.is_full(kind),
            Wanted::Exclusive | Wanted::OnlyHandle => false,
            Wanted::Handle => true,
        }
    }

    /// Whether another owner may write the memory, and the request excludes that.
    fn is_alias_in_the_way(&self) -> bool {
        let wants_constancy =
            matches!(self.wanted, Wanted::Lease(LeaseKind::Read | LeaseKind::Write) | Wanted::Exclusive);
        self.is_aliased() && wants_constancy
    }

    fn advice(&self) -> Option<Advice> {
        self.is_alias_in_the_way().then_some(Advice::SharePinOrCopy)
    }

    fn describe_holders(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some((kind, count)) = self.leases() {
            write!(f, "{count} {kind} {}", plural(count, "lease"))?;
            self.name_holders(f, kind, count)?;
            separator = ", ";
        }
        if self.pins() > 0 {
            write!(f, "{separator}{} pin {}", self.pins(), plural(self.pins(), "lease"))?;
            self.name_holders(f, LeaseKind::Pin, self.pins())?;
            separator = ", ";
        }
        if !matches!(self.wanted, Wanted::Lease(_)) {
            write!(f, "{separator}{} {}", self.handles(), plural(self.handles(), "handle"))?;
            separator = ", ";
        }
        if separator.is_empty() {
            f.write_str("the holder released it meanwhile; try again")
        } else {
            f.write_str(" held")
        }
    }

    /// Writes, in brackets, what the ledger lists of the `count` leases of `kind`.
    fn name_holders(&self, f: &mut fmt::Formatter<'_>, kind: LeaseKind, count: u64) -> fmt::Result {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let known = self.holders.iter().filter(|holder| holder.kind == kind);
        let mut named = 0;
        for holder in known.take(count.min(MOST_NAMED)) {
            let separator = if named == 0 { " (" } else { "; " };
            write!(f, "{separator}{}, {} old", ProtocolNames(holder.protocols), Age(holder.age))?;
            named += 1;
        }
        match (named, count - named) {
            (0, _) => Ok(()),
            (_, 0) => f.write_str(")"),
            (_, more) => write!(f, "; {more} more)"),
        }
    }
}

/// How many holders of one kind a text names.
const MOST_NAMED: usize = 4;

fn plural(count: u64, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}

impl fmt::Display for Conflict {
    /// With the advice in Rust's words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        InWords { fact: ConflictFact(self), advice: self.advice(), words: Advice::in_rust }.fmt(f)
    }
}

/// A conflict without its advice.
struct ConflictFact<'a>(&'a Conflict);

impl fmt::Display for ConflictFact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conflict = self.0;
        match conflict.wanted {
            Wanted::Lease(kind) => write!(f, "a {kind} lease was refused: ")?,
            Wanted::Exclusive => f.write_str("exclusive access was refused: ")?,
            Wanted::OnlyHandle => {
                f.write_str("memory must have one handle and no lease to be divided or sealed: ")?;
            }
            Wanted::Handle => f.write_str("another handle was refused: ")?,
        }
        if conflict.is_alias_in_the_way() {
            f.write_str("another owner may write the memory at any time")?;
            if conflict.leases().is_some() || conflict.pins() > 0 {
                f.write_str(", and ")?;
                conflict.describe_holders(f)?;
            }
        } else {
            conflict.describe_holders(f)?;
        }
        if conflict.is_full() {
            f.write_str(", the most that can be counted")?;
        }
        if !conflict.exported.is_empty() {
            write!(f, "; it was exported by {}", conflict.exported)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Conflict({self})")
    }
}

impl std::error::Error for Conflict {}

impl From<Conflict> for Error {
    #[cold]
    fn from(conflict: Conflict) -> Self {
        let kind = if conflict.is_full() { Kind::Exhausted } else { Kind::Conflict };
        let (fact, advice) = (ConflictFact(&conflict).to_string(), conflict.advice());
        Self::caused(kind, fact, conflict).advising(advice)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use std::error::Error as _;

    #[test]
    fn a_refusal_names_the_protocols_by_which_the_memory_ever_went_out() {
        let buffer = Buffer::from_vec(vec![0u8; 4]).unwrap();
        let lease = crate::memory::lease(&buffer.clone().into_parts().0, false, LeaseKind::Share);
        let lease = lease.unwrap();
        lease.mark_exported(Protocols::DLPACK);
        buffer.clone().into_parts().0.lease(LeaseKind::Pin).unwrap().mark_exported(Protocols::PEP3118);
        let error = buffer.read().unwrap_err();
        assert_eq!(
            error.to_string(),
            "a read lease was refused: 1 share lease held; it was exported by DLPack, PEP 3118"
        );
        let conflict: &Conflict = error.source().unwrap().downcast_ref().unwrap();
        assert!(conflict.exported().contains(Protocols::DLPACK));
        drop(lease);
        let mut buffer = buffer;
        let _other = buffer.clone();
        let error = buffer.as_mut_slice().unwrap_err();
        assert!(
            error.to_string().ends_with("2 handles held; it was exported by DLPack, PEP 3118"),
            "{error}"
        );
    }
}
