//! The end of a channel that sends, and the arrays that it fills.

use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::array::{ArrayBuilder, Casting, DArray};
use crate::buffer::Buffer;
use crate::element::DType;
use crate::error::{Error, Kind, Rejected, Result};
use crate::exchange::protocol::channel::ahead;
use crate::exchange::protocol::channel::control::ControlMap;
use crate::exchange::protocol::channel::dtypes::DTypes;
use crate::exchange::protocol::channel::member::{ChannelEnd, Membership, sweep_slot};
use crate::exchange::protocol::channel::message::{self, NO_MESSAGE};
use crate::exchange::protocol::channel::options::Delivery;
use crate::exchange::protocol::channel::slot::{self, SlotState};
#[cfg(feature = "arrow-ipc")]
use crate::layout::AxisSlice;
use crate::layout::{Layout, Order};
use crate::memory::header::Region;
use crate::memory::owner::{Keep, adopt, give_up, kept};
use crate::memory::{Backing, Birth, LeaseKind, Place};

/// Between the first two times that a waiting sender looks for members that are gone, which costs
/// it a system call for each.
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);

/// The end of a [`Channel`](super::Channel) that sends.
pub struct Sender {
    member: Arc<Membership>,
    dtypes: DTypes,
    /// Where the search for a free slot begins.
    next: usize,
}

/// A slot of the channel as a writable array. Fill it, and send it. Dropping it instead gives the
/// slot back.
pub struct Loan {
    array: DArray,
    /// The number of the dtype.
    dtype: usize,
}

/// # Invariants
///
/// 1. This value alone stands for the loan `loaned` of `slot`.
struct LoanOwner {
    member: Arc<Membership>,
    slot: usize,
    loaned: SlotState,
}

impl Keep for LoanOwner {
    unsafe fn free(self) {
        if !self.member.is_here() {
            return;
        }
        let control = &self.member.control;
        if slot::load(control.slot(self.slot)) == self.loaned {
            // The slot no longer has the elements of its last message.
            control.number(self.slot).store(NO_MESSAGE, Ordering::Relaxed);
        }
        if slot::give_back(control.slot(self.slot), self.loaned) {
            control.freed().ring_sleepers();
        }
    }

    fn is_own(&self) -> bool {
        true
    }
}

impl Sender {
    pub(super) fn attach(control: &Arc<ControlMap>) -> Result<Self> {
        let member = Membership::join(control, ChannelEnd::Sender)?;
        let next = member.index % control.geometry().slots();
        Ok(Self { member, dtypes: DTypes::default(), next })
    }

    /// Borrows a slot as a row-major array. Zero-copy, in O(rank), and without a system call if a
    /// slot is free. The bytes are those of an earlier message, or zero.
    ///
    /// If no slot is free, it waits until a receiver drops a view, a message is received, or
    /// `timeout` has passed; with `None` as long as it takes. With
    /// [`ChannelOptions::drops_oldest`](super::ChannelOptions::drops_oldest), it takes the slot of
    /// the oldest message that no receiver has a view of.
    ///
    /// # Errors
    ///
    /// `is_exhausted` if no slot became free in time; `is_bounds` if the array is larger than a
    /// slot; `is_closed`; `is_unsupported` for a dtype without a text, and if the channel has had
    /// 64 others; `is_overflow`; `is_conflict` in a forked child.
    pub fn loan(&mut self, dtype: &DType, shape: &[usize], timeout: Option<Duration>) -> Result<Loan> {
        self.loan_in_order(dtype, shape, Order::RowMajor, timeout)
    }

    /// Like [`Sender::loan`], in either order.
    ///
    /// # Errors
    ///
    /// As [`Sender::loan`].
    #[doc(hidden)]
    pub fn loan_in_order(
        &mut self,
        dtype: &DType,
        shape: &[usize],
        order: Order,
        timeout: Option<Duration>,
    ) -> Result<Loan> {
        let mut place = MaybeUninit::uninit();
        let dtype = self.loan_to(dtype, shape, order, timeout, &mut place)?;
        // SAFETY: `loan_to` made the array in `place`.
        Ok(Loan { array: unsafe { place.assume_init() }, dtype })
    }

    /// Makes the array of a loan in its place, and returns the number of its dtype.
    fn loan_to(
        &mut self,
        dtype: &DType,
        shape: &[usize],
        order: Order,
        timeout: Option<Duration>,
        place: &mut MaybeUninit<DArray>,
    ) -> Result<usize> {
        self.member.check_here()?;
        let mut array = ArrayBuilder::new(place);
        let itemsize = dtype.itemsize();
        if message::contiguous_to(shape, itemsize, order, array.layout()).is_none() {
            *array.layout() = Layout::contiguous(shape, itemsize, order)?;
        }
        let nbytes = array.layout().nbytes();
        let most = self.member.control.geometry().slot_nbytes();
        if nbytes > most {
            let text = format!("the array has {nbytes} bytes, and a slot {most}");
            return Err(Error::new(Kind::Bounds, text));
        }
        let number = self.dtypes.number(&self.member.control, self.member.index, dtype)?;
        let (slot, loaned) = self.acquire(timeout)?;
        let owner = LoanOwner { member: Arc::clone(&self.member), slot, loaned };
        let region = region(&self.member, slot, nbytes);
        // SAFETY: clause 1 of `adopt`: the region lies in a slot of the writable map `member.data`,
        // which `owner` keeps, and shared memory is initialised. Clause 2: the map is not moved or
        // unmapped while `owner` lives. Clause 3: `Aliased`, since other processes can write it.
        let handle = unsafe { adopt(region, Birth::Aliased, owner) }?;
        array.finish_on(Buffer::fresh(handle, nbytes), dtype.clone(), 0)?;
        Ok(number)
    }

    /// The bytes of a slot.
    #[cfg(feature = "arrow-ipc")]
    pub(in crate::exchange) fn slot_nbytes(&self) -> usize {
        self.member.control.geometry().slot_nbytes()
    }

    /// Copies an array into a slot, and sends it. The copy counts as
    /// [copied bytes](crate::memory::copied_bytes).
    ///
    /// # Errors
    ///
    /// As [`Sender::loan`]; as [`DArray::assign`] if the array cannot be read.
    pub fn send_copy(&mut self, array: &DArray, timeout: Option<Duration>) -> Result<()> {
        let loan = self.loan(array.dtype(), array.shape(), timeout)?;
        loan.array.assign(array, Casting::Checked)?;
        loan.send().map_err(|rejected| rejected.error)
    }

    fn acquire(&mut self, timeout: Option<Duration>) -> Result<(usize, SlotState)> {
        if let Some(found) = self.try_acquire()? {
            return Ok(found);
        }
        self.acquire_later(timeout)
    }

    /// A free slot, or one whose message may be dropped.
    fn try_acquire(&mut self) -> Result<Option<(usize, SlotState)>> {
        let control = &self.member.control;
        if control.closed().load(Ordering::Acquire) != 0 {
            return Err(Error::new(Kind::Closed, "the channel is closed"));
        }
        let slots = control.geometry().slots();
        for index in (self.next..slots).chain(0..self.next) {
            let word = control.slot(index);
            let state = slot::load(word);
            if state.is_free()
                && let Some(loaned) = slot::take(word, state, self.member.index)
            {
                self.next = control.geometry().after(index);
                return Ok(Some((index, loaned)));
            }
        }
        let geometry = control.geometry();
        if geometry.drops_oldest || geometry.delivery == Delivery::Latest {
            return Ok(self.evict());
        }
        Ok(None)
    }

    /// Takes the slot of the oldest message that no receiver holds. The newest value of a channel
    /// that keeps it is never dropped.
    fn evict(&mut self) -> Option<(usize, SlotState)> {
        let control = &self.member.control;
        let mut waiting: Vec<(u64, usize, SlotState)> = Vec::new();
        for index in 0..control.geometry().slots() {
            let state = slot::load(control.slot(index));
            if state.wanted() != 0 {
                waiting.push((control.number(index).load(Ordering::Relaxed), index, state));
            }
        }
        waiting.sort_unstable_by_key(|(number, ..)| *number);
        if control.geometry().delivery == Delivery::Latest {
            waiting.pop();
        }
        let taken = waiting.into_iter().find_map(|(_, index, state)| {
            slot::take(control.slot(index), state, self.member.index).map(|loaned| (index, loaned))
        });
        if let Some((index, _)) = taken {
            control.dropped().fetch_add(1, Ordering::Relaxed);
            self.next = (index + 1) % control.geometry().slots();
        }
        taken
    }

    #[cold]
    fn acquire_later(&mut self, timeout: Option<Duration>) -> Result<(usize, SlotState)> {
        let start = Instant::now();
        loop {
            if self.member.reap()
                && let Some(found) = self.try_acquire()?
            {
                return Ok(found);
            }
            let member = Arc::clone(&self.member);
            let bell = member.control.freed();
            let seen = bell.enter(member.index);
            let found = self.try_acquire();
            let left = timeout.map(|timeout| timeout.saturating_sub(start.elapsed()));
            let is_over = left.is_some_and(|left| left.is_zero());
            if matches!(found, Ok(None)) && !is_over {
                // A receiver that is killed meanwhile rings no bell: it is noticed after as long as
                // this sender has waited, from `SHORTEST_SLEEP` to the bell's longest.
                let limit = start.elapsed().max(SHORTEST_SLEEP);
                bell.sleep(seen, left.map_or(limit, |left| left.min(limit)));
            }
            bell.leave(member.index);
            match found? {
                Some(found) => return Ok(found),
                None if is_over => return Err(self.full()),
                None => {}
            }
            if let Some(found) = self.try_acquire()? {
                return Ok(found);
            }
        }
    }

    #[cold]
    fn full(&self) -> Error {
        let [_, loaned, waiting, held] = usage(&self.member.control);
        let slots = self.member.control.geometry().slots();
        let text = format!(
            "no slot of the channel is free: of {slots}, {loaned} are on loan to senders, {waiting} wait for \
            receivers, and receivers have views of {held}"
        );
        Error::new(Kind::Exhausted, text)
    }
}

/// How many slots are free, on loan, waiting for receivers only, and held by receivers.
pub(super) fn usage(control: &ControlMap) -> [usize; 4] {
    let mut usage = [0; 4];
    for index in 0..control.geometry().slots() {
        let state = slot::load(control.slot(index));
        let kind = match () {
            () if state.is_free() => 0,
            () if state.held() != 0 => 3,
            () if state.wanted() != 0 => 2,
            () => 1,
        };
        usage[kind] += 1;
    }
    usage
}

/// `nbytes` bytes of a slot, at most as many as it has.
pub(super) fn region(member: &Membership, slot: usize, nbytes: usize) -> Region {
    let geometry = member.control.geometry();
    assert!(nbytes <= geometry.slot_nbytes(), "{nbytes} bytes of a slot");
    // SAFETY: Geometry 1: the slot's `slot_nbytes` bytes lie in the map, whose size is the
    // `data_nbytes` of the same geometry.
    let ptr = unsafe { member.data.header().ptr().add(geometry.data(slot)) };
    Region { ptr, nbytes, place: Place::CPU, backing: Backing::Shared }
}

impl Loan {
    /// Sends only the first elements of the only axis.
    #[cfg(feature = "arrow-ipc")]
    pub(in crate::exchange) fn shorten(&mut self, len: usize) -> Result<()> {
        self.array =
            self.array.slice([AxisSlice::Range { start: None, stop: Some(len as isize), step: 1 }])?;
        Ok(())
    }

    /// The array to fill: aliased memory, of which Share and Pin leases can be taken.
    pub fn array(&self) -> &DArray {
        &self.array
    }

    /// Sends the array to the receivers. No element is copied, and there is no system call unless a
    /// receiver sleeps.
    ///
    /// # Errors
    ///
    /// The error returns the loan. `is_conflict` while there are other handles, leases or exports
    /// of the array, which could write to it after it was sent, and in a forked child; `is_closed`;
    /// `is_malformed` if another process took the slot away against the rules.
    pub fn send(mut self) -> Result<(), Rejected<Box<Self>>> {
        match self.publish() {
            Ok(()) => {
                let handle = self.array.into_handle();
                // SAFETY: clause 1 of `give_up`: `loan_to` adopted it with a `LoanOwner`.
                // Clauses 2 and 3: `publish` found this handle alone, and waited for its work.
                drop(unsafe { give_up::<LoanOwner>(handle) });
                Ok(())
            }
            Err(error) => Err(Rejected { value: Box::new(self), error }),
        }
    }

    /// Like [`Loan::send`], although other handles in this process can still write to the array:
    /// for languages that cannot end them. What they write later, receivers may see.
    ///
    /// # Errors
    ///
    /// As [`Loan::send`], without the conflict.
    #[doc(hidden)]
    pub fn send_shared(self) -> Result<()> {
        self.publish_shared()
    }

    fn publish(&mut self) -> Result<()> {
        self.array.only_handle()?;
        self.publish_shared()
    }

    fn publish_shared(&self) -> Result<()> {
        let handle = self.array.raw().handle();
        handle.await_work(LeaseKind::Write)?;
        // SAFETY: clause 1 of `kept`: `loan_to` adopted the memory with a `LoanOwner`.
        let owner: &LoanOwner = unsafe { kept(handle) };
        owner.publish(self.dtype, self.array.layout())
    }
}

impl LoanOwner {
    fn publish(&self, dtype: usize, layout: &Layout) -> Result<()> {
        self.member.check_here()?;
        let (control, word) = (&*self.member.control, self.member.control.slot(self.slot));
        if control.closed().load(Ordering::Acquire) != 0 {
            return Err(Error::new(Kind::Closed, "the channel is closed"));
        }
        // Only this loan's holder writes the message (slot.rs, invariant 2).
        message::write(control, self.slot, self.member.index, dtype, layout);
        let number = control.head().fetch_add(1, Ordering::AcqRel);
        control.number(self.slot).store(number, Ordering::Relaxed);
        let wanted = match control.geometry().delivery {
            Delivery::Each => control.receivers().load(Ordering::Acquire) & (slot::ANY - 1),
            Delivery::One | Delivery::Latest => slot::ANY,
        };
        // A release (slot.rs, invariant 3): the receiver that claims the message sees it and its
        // elements.
        let Some(sent) = slot::publish(word, self.loaned, wanted) else {
            let text = format!("another process took slot {} of the channel from its sender", self.slot);
            return Err(Error::new(Kind::Malformed, text));
        };
        let freed = match control.geometry().delivery {
            Delivery::Each => {
                if wanted == 0 {
                    control.dropped().fetch_add(1, Ordering::Relaxed);
                }
                // See `member::sweep`.
                sweep_slot(control, self.slot) || sent.is_free()
            }
            Delivery::One => false,
            Delivery::Latest => retire(control, number),
        };
        control.sent().ring();
        if freed {
            control.freed().ring_sleepers();
        }
        ahead::send(control, &self.member.data, control.geometry().after(self.slot));
        Ok(())
    }
}

/// Messages older than a number are no longer the newest value. Returns whether a slot became free.
///
/// A sender that dies before it gets here leaves two values; receivers take the newer one, and the
/// next message retires both.
fn retire(control: &ControlMap, number: u64) -> bool {
    let mut freed = false;
    for index in 0..control.geometry().slots() {
        let state = slot::load(control.slot(index));
        // The number belongs to the state: `refuse` fails if the word changed (slot.rs, invariant
        // 1).
        if state.wanted() != 0 && control.number(index).load(Ordering::Relaxed) < number {
            freed |= slot::refuse(control.slot(index), state, slot::ANY);
        }
    }
    freed
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sender({})", self.member.index)
    }
}

impl std::fmt::Debug for Loan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Loan").field(&self.array).finish()
    }
}
