//! Arrays as a live stream between processes.
//!
//! ```text
//!   Sender ── loan ──> Loan: a slot as a writable array ── send ─┐
//!                                                                v
//!   slots of one sealed memory:   [ free ][ on loan ][ sent ][ viewed ]
//!                                                       │
//!   Receiver ── receive ──> DArray: a view of the slot <┘  whose drop frees the slot
//! ```
//!
//! A [`Channel`] is shared memory of sealed size with a number of slots. A [`Sender`] borrows a
//! slot as a writable array, fills it in place and sends it. A [`Receiver`] gets an ordinary,
//! read-only array, and the slot is free again when the last handle and lease of that array is
//! dropped. No element is copied, whatever the size. A message is a few words: the number of a
//! dtype, which is written once for the channel, the shape and the strides. So each message may
//! have another dtype and shape.
//!
//! ```
//! use crossdock::element::DType;
//! use crossdock::exchange::protocol::channel::{Channel, ChannelOptions};
//! use crossdock::exchange::protocol::shm;
//! use crossdock::view::Request;
//! use std::os::unix::net::UnixStream;
//!
//! let channel = Channel::new(&ChannelOptions::new(8, 1 << 20))?;
//!
//! // The channel goes to the other process as an array of its bytes.
//! let (ours, theirs) = UnixStream::pair()?;
//! shm::send(&ours, &shm::export(&channel.to_array()?, &Request::share())?)?;
//!
//! // What the other process does:
//! let there = Channel::open(&shm::receive(&theirs)?.expect("a channel was sent"))?;
//! let mut receiver = there.receiver()?;
//!
//! let mut sender = channel.sender()?;
//! let loan = sender.loan(&DType::F32, &[2, 3], None)?;
//! loan.array().fill(&1.5.into())?;
//! loan.send()?;
//!
//! let view = receiver.receive(None)?.expect("there is no timeout");
//! assert_eq!((view.shape(), view.get(&[1, 2])?.as_f64()), (&[2, 3][..], Some(1.5)));
//! drop(view); // the slot is free
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A table is a message, too (feature `arrow-ipc`): `Sender::send_table` writes its batches into a
//! slot, as an Arrow IPC stream, and `Receiver::receive_table` reads them there. The elements of
//! such a message are records of one byte, whose field is `arrow_ipc_stream`.
//!
//! # Delivery
//!
//! | [`Delivery`] | a message goes to | and waits |
//! |---|---|---|
//! | `Each` | every receiver that is attached | until each has taken it |
//! | `One` | one receiver | until one takes it, also if none is attached |
//! | `Latest` | every receiver that asks before there is a newer one | until there is a newer one |
//!
//! When no slot is free, a sender waits, fails after its timeout, or takes the slot of the oldest
//! message that no receiver has a view of ([`ChannelOptions::drops_oldest`]).
//!
//! A receiver polls ([`Receiver::try_receive`], for the shortest delay) or sleeps
//! ([`Receiver::receive`]). No system call is made while no process sleeps.
//!
//! # Processes that die
//!
//! Any process may be killed at any moment. What it had on loan or in view comes back: the first
//! sender that finds no free slot, or receiver that waits, notices that the process is gone. A
//! message that was being filled is dropped, and so is one that the dead receiver of
//! [`Delivery::One`] had taken. Memory and channel have no name in the file system, so nothing is
//! left when the last process is gone.
//!
//! A forked child cannot use the ends that it inherited; it attaches new ones. An array that it
//! inherited does not keep the slot.
//!
//! # What is trusted
//!
//! Every process with the channel can write all of its memory. What this process reads of it is
//! loaded once and checked against the size of the memory, which the kernel guarantees. So a broken
//! or hostile process can send wrong messages, change elements while another process reads them,
//! and make the channel unusable. It cannot make this process access other memory, loop or crash.
//! Elements are accessed racily, under Pin and Share leases, and there is no `&[T]` of them. To
//! rely on elements that an untrusted process sent, copy them first.
//!
//! Reasons: `DESIGN.md`, "A channel is slots in one sealed memory".

mod ahead;
mod bell;
#[expect(clippy::module_inception, reason = "the file is named after the type it defines")]
mod channel;
mod control;
mod dtypes;
pub(crate) mod find;
mod geometry;
mod member;
mod message;
mod options;
mod receiver;
mod sender;
pub(crate) mod slot;
pub(crate) mod tap;

pub use channel::Channel;
pub use options::{ChannelOptions, Delivery};
pub use receiver::Receiver;
pub use sender::{Loan, Sender};
