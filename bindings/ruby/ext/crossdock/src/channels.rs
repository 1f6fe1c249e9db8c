//! Arrays and tables as a stream between processes: what `Crossdock::Channel` has of Rust. The
//! methods with the documentation are in `lib/crossdock/channel.rb`.

use std::cell::Cell;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crossdock::DArray;
use crossdock::array::Casting;
use crossdock::bindings::channel::{loan_for_table, send_table_in, table as table_of};
use crossdock::element::DType;
use crossdock::exchange::protocol::channel::{Channel, ChannelOptions, Delivery, Loan, Receiver, Sender};
use magnus::{
    DataTypeFunctions, Integer, IntoValue, RArray, RModule, Ruby, TypedData, Value, function, method,
    prelude::*,
};

use crate::blocking::without_lock;
use crate::dtype::parse_dtype;
use crate::error::{Failure, Result};
use crate::handle::Wrapped;
use crate::lengths::{lengths, size};
use crate::pressure::{ReportedMemory, again};
use crate::shm::duplicate;
use crate::tables;
use crate::value::{describe, name};

/// The longest wait without Ruby's lock, after which interrupts are handled.
const SLICE: Duration = Duration::from_millis(50);

#[derive(TypedData)]
#[magnus(class = "Crossdock::Channel", free_immediately)]
struct ChannelObject(Channel);

#[derive(TypedData)]
#[magnus(class = "Crossdock::Channel::Sender", free_immediately)]
struct SenderObject(Mutex<Sender>);

#[derive(TypedData)]
#[magnus(class = "Crossdock::Channel::Receiver", free_immediately)]
struct ReceiverObject {
    receiver: Mutex<Receiver>,
    /// The slices waited since it last returned a view, and 1; 0 before the first. Views that are
    /// unreachable keep slots.
    waited: AtomicU32,
}

/// A slot on loan, until it is sent or given back.
#[derive(TypedData)]
#[magnus(class = "Crossdock::Channel::Loan", free_immediately)]
struct LoanObject(Mutex<Option<Loan>>);

impl DataTypeFunctions for ChannelObject {}
impl DataTypeFunctions for SenderObject {}
impl DataTypeFunctions for ReceiverObject {}
impl DataTypeFunctions for LoanObject {}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Seconds, or nil for as long as it takes.
fn duration(ruby: &Ruby, timeout: Option<f64>) -> Result<Option<Duration>> {
    let Some(seconds) = timeout else { return Ok(None) };
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) => Ok(Some(duration)),
        Err(_) if seconds >= 0.0 => Ok(None),
        Err(_) => Err(Failure::argument(ruby, format!("timeout: nil or seconds from 0 on, not {seconds}"))),
    }
}

/// Repeats `attempt` without Ruby's lock, which waits for at most the given time, until it has a
/// result or `timeout` has passed. In between, interrupts are raised, and `stalled` is called.
fn waited<T>(
    timeout: Option<Duration>,
    stalled: impl Fn(),
    mut attempt: impl FnMut(Duration) -> crossdock::Result<Option<T>>,
) -> Result<Option<T>> {
    let start = Instant::now();
    loop {
        let left = timeout.map_or(SLICE, |timeout| timeout.saturating_sub(start.elapsed()));
        let found = without_lock(|| attempt(left.min(SLICE)))??;
        if found.is_some() || left.is_zero() {
            return Ok(found);
        }
        stalled();
    }
}

/// Collects after 1, 2, 4, … slices: a collection misses what stale words of the stack refer to.
fn collect_after(ruby: &Ruby, slices: u32) {
    if slices.is_power_of_two() {
        ruby.gc_start();
    }
}

// ===== the channel

fn make(
    ruby: &Ruby,
    slots: Value,
    nbytes: Value,
    delivery: Value,
    drop_oldest: bool,
    label: Option<String>,
) -> Result<ChannelObject> {
    let (slots, nbytes) = (size(ruby, "slots", slots)?, size(ruby, "nbytes", nbytes)?);
    let delivery = match name(ruby, delivery)?.as_str() {
        "each" => Delivery::Each,
        "one" => Delivery::One,
        "latest" => Delivery::Latest,
        other => {
            let text = format!("delivery: {other:?} is none: give :each, :one or :latest");
            return Err(Failure::argument(ruby, text));
        }
    };
    let mut options = ChannelOptions::new(slots, nbytes).delivery(delivery).drops_oldest(drop_oldest);
    if let Some(label) = label {
        if label.is_empty() {
            return Err(Failure::argument(ruby, "name: give nil, or a name with letters"));
        }
        options = options.named(&label);
    }
    again(ruby, || Ok(ChannelObject(Channel::new(&options)?)))
}

/// The channel in an array, or in the memory of a descriptor, which remains the caller's.
fn open(ruby: &Ruby, memory: Value) -> Result<ChannelObject> {
    if let Some(array) = Wrapped::of(memory) {
        let array = array.array()?;
        return again(ruby, || Ok(ChannelObject(Channel::open(&array)?)));
    }
    let descriptor = if memory.respond_to("fileno", false)? { memory.funcall("fileno", ())? } else { memory };
    let Some(descriptor) = Integer::from_value(descriptor) else {
        let text = format!(
            "{} is no channel: it is opened from a Crossdock::Array in shared memory, or a descriptor",
            describe(memory)
        );
        return Err(Failure::of_type(ruby, text));
    };
    let descriptor = descriptor.to_i32()?;
    again(ruby, || Ok(ChannelObject(Channel::open_fd(duplicate(ruby, descriptor)?)?)))
}

/// The descriptor of the memory, which remains the channel's.
fn fileno(this: &ChannelObject) -> Result<i32> {
    Ok(this.0.fd()?.as_raw_fd())
}

fn to_array(ruby: &Ruby, this: &ChannelObject) -> Result<Wrapped> {
    let array = again(ruby, || Ok(this.0.to_array()?))?;
    // Most of its pages are never touched: the collector is told of the parts that are viewed.
    Wrapped::sharing(ruby, array, None)
}

fn sender(ruby: &Ruby, this: &ChannelObject) -> Result<SenderObject> {
    again(ruby, || Ok(SenderObject(Mutex::new(this.0.sender()?))))
}

fn receiver(ruby: &Ruby, this: &ChannelObject) -> Result<ReceiverObject> {
    let receiver = again(ruby, || Ok(Mutex::new(this.0.receiver()?)))?;
    Ok(ReceiverObject { receiver, waited: AtomicU32::new(0) })
}

fn close(this: &ChannelObject) {
    this.0.close();
}

fn slots(this: &ChannelObject) -> usize {
    this.0.slots()
}

fn nbytes(this: &ChannelObject) -> usize {
    this.0.slot_nbytes()
}

fn delivery(ruby: &Ruby, this: &ChannelObject) -> magnus::Symbol {
    ruby.to_symbol(match this.0.delivery() {
        Delivery::Each => "each",
        Delivery::One => "one",
        Delivery::Latest => "latest",
    })
}

fn senders(this: &ChannelObject) -> usize {
    this.0.senders()
}

fn receivers(this: &ChannelObject) -> usize {
    this.0.receivers()
}

fn sent(this: &ChannelObject) -> u64 {
    this.0.sent()
}

// ===== the end that sends

/// The slot that `attempt` borrows, once one is free.
fn loan_slot(
    ruby: &Ruby,
    timeout: Option<f64>,
    mut attempt: impl FnMut(Duration) -> crossdock::Result<Loan>,
) -> Result<Loan> {
    let timeout = duration(ruby, timeout)?;
    let waited_slices = Cell::new(0u32);
    let stalled = || {
        // Unreachable views of this process may keep the slots.
        waited_slices.set(waited_slices.get().saturating_add(1));
        collect_after(ruby, waited_slices.get());
    };
    let found = waited(timeout, stalled, |limit| match attempt(limit) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_exhausted() => Ok(None),
        Err(error) => Err(error),
    })?;
    found.ok_or_else(|| {
        let text = "no slot of the channel became free: each is on loan, has a message that waits for a receiver, or is \
                    kept by views of one";
        Failure::System(std::io::Error::from_raw_os_error(ETIMEDOUT), text)
    })
}

fn loan_array(
    ruby: &Ruby,
    this: &SenderObject,
    dtype: &DType,
    shape: &[usize],
    timeout: Option<f64>,
) -> Result<Loan> {
    loan_slot(ruby, timeout, |limit| lock(&this.0).loan(dtype, shape, Some(limit)))
}

/// The system's error number for a timeout.
const ETIMEDOUT: i32 = 110;

fn loan(
    ruby: &Ruby,
    this: &SenderObject,
    shape: RArray,
    dtype: Value,
    timeout: Option<f64>,
) -> Result<LoanObject> {
    let (dtype, shape) = (parse_dtype(ruby, dtype)?, lengths(ruby, "shape", shape)?);
    let loan = loan_array(ruby, this, &dtype, &shape, timeout)?;
    Ok(LoanObject(Mutex::new(Some(loan))))
}

/// Copies the elements into a slot, and sends it.
fn send_array(ruby: &Ruby, this: &SenderObject, array: Wrapped, timeout: Option<f64>) -> Result<()> {
    let source = array.array()?;
    let loan = loan_array(ruby, this, source.dtype(), source.shape(), timeout)?;
    without_lock(|| loan.array().assign(&source, Casting::Checked))??;
    Ok(loan.send_shared()?)
}

/// Copies the batches of a table into a slot, and sends them.
fn send_table(ruby: &Ruby, this: &SenderObject, table: Value, timeout: Option<f64>) -> Result<()> {
    let Some(mut batches) = tables::batches_of(ruby, table)? else {
        return Err(Failure::of_type(ruby, "a Crossdock::Table is sent as a table"));
    };
    let loan = loan_slot(ruby, timeout, |limit| loan_for_table(&mut lock(&this.0), Some(limit)))?;
    Ok(without_lock(|| send_table_in(loan, &mut batches))??)
}

// ===== a loan

fn loaned(ruby: &Ruby, this: &LoanObject) -> Result<Wrapped> {
    let array = lock(&this.0).as_ref().map(|loan| loan.array().clone());
    Wrapped::sharing(ruby, array.ok_or_else(|| ended(ruby))?, None)
}

fn deliver(ruby: &Ruby, this: &LoanObject) -> Result<()> {
    let loan = lock(&this.0).take();
    Ok(loan.ok_or_else(|| ended(ruby))?.send_shared()?)
}

fn give_back(this: &LoanObject) {
    let loan = lock(&this.0).take();
    drop(loan);
}

fn ended(ruby: &Ruby) -> Failure {
    Failure::ours(ruby, "the loan has ended: its array was sent, or its slot given back")
}

// ===== the end that receives

/// A view, or the table in it, as an object; false if the channel is closed.
fn given(ruby: &Ruby, this: &ReceiverObject, found: Option<DArray>) -> Result<Value> {
    let Some(array) = found else { return Ok(false.into_value_with(ruby)) };
    this.waited.store(1, Ordering::Relaxed);
    if let Some(file) = table_of(&array)? {
        return tables::of_file(ruby, &file);
    }
    let kept = ReportedMemory::new(array.nbytes())?;
    Ok(Wrapped::sharing(ruby, array, kept)?.into_value_with(ruby))
}

/// A closed channel is no error here.
fn unless_closed(found: crossdock::Result<Option<DArray>>) -> crossdock::Result<Option<Option<DArray>>> {
    match found {
        Ok(found) => Ok(found.map(Some)),
        Err(error) if error.is_closed() => Ok(Some(None)),
        Err(error) => Err(error),
    }
}

/// The next array or table; nil if there is none now, and false if the channel is closed. Another
/// thread that waits has the receiver: then there is none.
fn try_receive(ruby: &Ruby, this: &ReceiverObject) -> Result<Value> {
    let found = match this.receiver.try_lock() {
        Ok(mut receiver) => unless_closed(receiver.try_receive())?,
        Err(TryLockError::Poisoned(receiver)) => unless_closed(receiver.into_inner().try_receive())?,
        Err(TryLockError::WouldBlock) => None,
    };
    found.map_or_else(|| Ok(ruby.qnil().as_value()), |found| given(ruby, this, found))
}

/// As `try_receive`, and waits.
fn receive(ruby: &Ruby, this: &ReceiverObject, timeout: Option<f64>) -> Result<Value> {
    let timeout = duration(ruby, timeout)?;
    let found = try_receive(ruby, this)?;
    if !found.is_nil() {
        return Ok(found);
    }
    let stalled = || {
        // The sender may wait for the slots of views that are unreachable.
        let waited = this.waited.load(Ordering::Relaxed);
        if waited > 0 {
            this.waited.store(waited.saturating_add(1), Ordering::Relaxed);
            collect_after(ruby, waited);
        }
    };
    let found = waited(timeout, stalled, |limit| unless_closed(lock(&this.receiver).receive(Some(limit))))?;
    found.map_or_else(|| Ok(ruby.qnil().as_value()), |found| given(ruby, this, found))
}

fn missed(_: &Ruby, this: &ReceiverObject) -> Result<u64> {
    without_lock(|| lock(&this.receiver).missed())
}

pub(crate) fn init(ruby: &Ruby, module: RModule) -> std::result::Result<(), magnus::Error> {
    let class = module.define_class("Channel", ruby.class_object())?;
    let sending = class.define_class("Sender", ruby.class_object())?;
    let receiving = class.define_class("Receiver", ruby.class_object())?;
    let lending = class.define_class("Loan", ruby.class_object())?;
    for each in [class, sending, receiving, lending] {
        each.undef_default_alloc_func();
    }
    // Looked up once, here: later, several Ractors may need them at the same time.
    let _classes = (ChannelObject::class(ruby), SenderObject::class(ruby));
    let _classes = (ReceiverObject::class(ruby), LoanObject::class(ruby));
    class.define_singleton_method("make", function!(make, 5))?;
    class.define_singleton_method("open", function!(open, 1))?;
    class.define_method("fileno", method!(fileno, 0))?;
    class.define_method("to_array", method!(to_array, 0))?;
    class.define_method("sender", method!(sender, 0))?;
    class.define_method("receiver", method!(receiver, 0))?;
    class.define_method("close", method!(close, 0))?;
    class.define_method("slots", method!(slots, 0))?;
    class.define_method("nbytes", method!(nbytes, 0))?;
    class.define_method("delivery", method!(delivery, 0))?;
    class.define_method("senders", method!(senders, 0))?;
    class.define_method("receivers", method!(receivers, 0))?;
    class.define_method("sent", method!(sent, 0))?;
    sending.define_private_method("loan_slot", method!(loan, 3))?;
    sending.define_private_method("send_array", method!(send_array, 2))?;
    sending.define_private_method("send_table", method!(send_table, 2))?;
    lending.define_method("array", method!(loaned, 0))?;
    lending.define_method("deliver", method!(deliver, 0))?;
    lending.define_method("give_back", method!(give_back, 0))?;
    receiving.define_private_method("next_view", method!(receive, 1))?;
    receiving.define_private_method("next_view_now", method!(try_receive, 0))?;
    receiving.define_method("missed", method!(missed, 0))
}
