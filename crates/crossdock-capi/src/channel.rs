//! Channels: arrays as a stream between processes.

use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossdock::element::DType;
use crossdock::exchange::protocol::channel::{Channel, ChannelOptions, Delivery, Loan, Receiver, Sender};

use crate::array::{XdArray, array_of, hand_over_array};
use crate::descriptors::duplicated;
use crate::error::{Failure, Result, XD_ERROR_CLOSED};
use crate::foreign::{emptied, given, lengths, text};
use crate::guard::{ErrorOut, answer, fallible};
use crate::handle::{Handle, hand_over};

/// `XD_DELIVERY_EACH` of the header.
pub const XD_DELIVERY_EACH: i32 = 1;
/// `XD_DELIVERY_ONE` of the header.
pub const XD_DELIVERY_ONE: i32 = 2;
/// `XD_DELIVERY_LATEST` of the header.
pub const XD_DELIVERY_LATEST: i32 = 3;

/// `xd_sender_t`: threads that use it at once wait for each other.
pub struct XdSender(Mutex<Sender>);

/// `xd_receiver_t`: threads that use it at once wait for each other.
pub struct XdReceiver {
    receiver: Mutex<Receiver>,
    /// As of the last message, for a query that never waits.
    missed: AtomicU64,
}

/// `xd_loan_t`: `None` once it is sent.
pub struct XdLoan(Mutex<Option<Loan>>);

impl XdSender {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Sender> {
        lock(&self.0)
    }
}

impl XdReceiver {
    /// Runs `receive` under the lock, and stores the count of missed messages.
    pub(crate) fn receive<T>(
        &self,
        receive: impl FnOnce(&mut Receiver) -> crossdock::Result<Option<T>>,
    ) -> Result<Option<T>> {
        let mut receiver = lock(&self.receiver);
        let found = receive(&mut receiver);
        self.missed.store(receiver.missed(), Ordering::Relaxed);
        Ok(found?)
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Milliseconds; a negative number is as long as it takes.
pub(crate) fn duration(timeout_ms: i64) -> Option<Duration> {
    u64::try_from(timeout_ms).ok().map(Duration::from_millis)
}

/// A new channel.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_channel_new(
    name: *const c_char,
    slots: usize,
    slot_nbytes: usize,
    delivery: i32,
    drop_oldest: bool,
    error: ErrorOut<'_>,
) -> Handle<Channel> {
    fallible(error, || {
        // SAFETY: `# Safety`: `name` is null or a C string; the result is used during this call
        // only, while nothing writes it.
        let name = unsafe { text(name, "name") }?;
        let delivery = match delivery {
            XD_DELIVERY_EACH => Delivery::Each,
            XD_DELIVERY_ONE => Delivery::One,
            XD_DELIVERY_LATEST => Delivery::Latest,
            other => {
                let text = format!("the argument `delivery` is {other}; it must be one of XD_DELIVERY_*");
                return Err(Failure::argument(text));
            }
        };
        let options = ChannelOptions::new(slots, slot_nbytes).delivery(delivery).drops_oldest(drop_oldest);
        hand_over(Channel::new(&options.named(name))?)
    })
}

/// The channel in the memory of a descriptor.
///
/// # Safety
///
/// `fd` is negative, or stays open during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_channel_open(fd: c_int, error: ErrorOut<'_>) -> Handle<Channel> {
    // SAFETY: `# Safety`: `fd` is negative, or stays open during the call.
    fallible(error, || hand_over(Channel::open_fd(unsafe { duplicated(fd) }?)?))
}

/// Frees a handle. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_channel_free(channel: Handle<Channel>) {
    answer(|| drop(channel));
}

/// The descriptor of the memory.
#[unsafe(no_mangle)]
pub extern "C" fn xd_channel_fd(
    channel: Option<&Channel>,
    fd: Option<&mut MaybeUninit<c_int>>,
    error: ErrorOut<'_>,
) -> bool {
    let fd = emptied(fd, -1);
    fallible(error, || {
        let found = given(channel, "channel")?.fd()?.as_raw_fd();
        *given(fd, "fd")? = found;
        Ok(true)
    })
}

/// Ends the stream.
#[unsafe(no_mangle)]
pub extern "C" fn xd_channel_close(channel: Option<&Channel>) {
    answer(|| channel.map_or((), Channel::close));
}

/// The number of slots.
#[unsafe(no_mangle)]
pub extern "C" fn xd_channel_slots(channel: Option<&Channel>) -> usize {
    answer(|| channel.map_or(0, Channel::slots))
}

/// The most bytes of a message.
#[unsafe(no_mangle)]
pub extern "C" fn xd_channel_slot_nbytes(channel: Option<&Channel>) -> usize {
    answer(|| channel.map_or(0, Channel::slot_nbytes))
}

/// Which receivers get a message.
#[unsafe(no_mangle)]
pub extern "C" fn xd_channel_delivery(channel: Option<&Channel>) -> i32 {
    answer(|| {
        channel.map_or(0, |channel| match channel.delivery() {
            Delivery::Each => XD_DELIVERY_EACH,
            Delivery::One => XD_DELIVERY_ONE,
            Delivery::Latest => XD_DELIVERY_LATEST,
        })
    })
}

/// The senders in all processes.
#[unsafe(no_mangle)]
pub extern "C" fn xd_channel_senders(channel: Option<&Channel>) -> usize {
    answer(|| channel.map_or(0, Channel::senders))
}

/// The receivers in all processes.
#[unsafe(no_mangle)]
pub extern "C" fn xd_channel_receivers(channel: Option<&Channel>) -> usize {
    answer(|| channel.map_or(0, Channel::receivers))
}

/// The number of messages sent so far.
#[unsafe(no_mangle)]
pub extern "C" fn xd_channel_sent(channel: Option<&Channel>) -> u64 {
    answer(|| channel.map_or(0, Channel::sent))
}

// ===== senders and loans

/// Attaches a sender.
#[unsafe(no_mangle)]
pub extern "C" fn xd_sender_new(channel: Option<&Channel>, error: ErrorOut<'_>) -> Handle<XdSender> {
    fallible(error, || hand_over(XdSender(Mutex::new(given(channel, "channel")?.sender()?))))
}

/// Detaches a sender. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_sender_free(sender: Handle<XdSender>) {
    answer(|| drop(sender));
}

/// Copies an array into a slot, and sends it.
#[unsafe(no_mangle)]
pub extern "C" fn xd_sender_send(
    sender: Option<&XdSender>,
    array: Option<&XdArray>,
    timeout_ms: i64,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let (sender, array) = (given(sender, "sender")?, array_of(array, "array")?);
        sender.lock().send_copy(array, duration(timeout_ms))?;
        Ok(true)
    })
}

/// Borrows a slot.
///
/// # Safety
///
/// `shape` is null or points to `ndim` numbers that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_sender_loan(
    sender: Option<&XdSender>,
    dtype: Option<&DType>,
    ndim: usize,
    shape: *const isize,
    timeout_ms: i64,
    error: ErrorOut<'_>,
) -> Handle<XdLoan> {
    fallible(error, || {
        let (sender, dtype) = (given(sender, "sender")?, given(dtype, "dtype")?);
        // SAFETY: `# Safety`: `shape` is null or points to `ndim` numbers, which nothing writes
        // during the call.
        let shape = unsafe { lengths(shape, ndim, "shape") }?;
        let loan = sender.lock().loan(dtype, shape.as_slice(), duration(timeout_ms))?;
        hand_over(XdLoan(Mutex::new(Some(loan))))
    })
}

/// The array to fill.
#[unsafe(no_mangle)]
pub extern "C" fn xd_loan_array(loan: Option<&XdLoan>, error: ErrorOut<'_>) -> Handle<XdArray> {
    fallible(error, || {
        let loan = lock(&given(loan, "loan")?.0);
        hand_over_array(loan.as_ref().ok_or_else(sent)?.array().clone())
    })
}

/// Sends the array.
#[unsafe(no_mangle)]
pub extern "C" fn xd_loan_send(loan: Option<&XdLoan>, error: ErrorOut<'_>) -> bool {
    fallible(error, || {
        let mut place = lock(&given(loan, "loan")?.0);
        match place.take().ok_or_else(sent)?.send() {
            Ok(()) => Ok(true),
            Err(rejected) => {
                *place = Some(*rejected.value);
                Err(rejected.error.into())
            }
        }
    })
}

/// Gives the slot back, unless it was sent. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_loan_free(loan: Handle<XdLoan>) {
    answer(|| drop(loan));
}

fn sent() -> Failure {
    Failure::of_kind(XD_ERROR_CLOSED, "the loan has ended: its array was sent")
}

// ===== receivers

/// Attaches a receiver.
#[unsafe(no_mangle)]
pub extern "C" fn xd_receiver_new(channel: Option<&Channel>, error: ErrorOut<'_>) -> Handle<XdReceiver> {
    fallible(error, || {
        let receiver = Mutex::new(given(channel, "channel")?.receiver()?);
        hand_over(XdReceiver { receiver, missed: AtomicU64::new(0) })
    })
}

/// Detaches a receiver. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_receiver_free(receiver: Handle<XdReceiver>) {
    answer(|| drop(receiver));
}

/// The next message; null without an error after the timeout.
#[unsafe(no_mangle)]
pub extern "C" fn xd_receiver_receive(
    receiver: Option<&XdReceiver>,
    timeout_ms: i64,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let found =
            given(receiver, "receiver")?.receive(|receiver| receiver.receive(duration(timeout_ms)))?;
        found.map_or(Ok(None), hand_over_array)
    })
}

/// The messages that were dropped before this receiver received them.
#[unsafe(no_mangle)]
pub extern "C" fn xd_receiver_missed(receiver: Option<&XdReceiver>) -> u64 {
    answer(|| receiver.map_or(0, |receiver| receiver.missed.load(Ordering::Relaxed)))
}
