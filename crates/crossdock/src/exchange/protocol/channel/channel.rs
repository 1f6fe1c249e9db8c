//! A channel: the memory, and its two kinds of ends.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::DType;
use crate::error::{Error, Kind, Result, system_text};
use crate::exchange::protocol::channel::control::ControlMap;
use crate::exchange::protocol::channel::geometry::Geometry;
use crate::exchange::protocol::channel::options::{ChannelOptions, Delivery};
use crate::exchange::protocol::channel::receiver::Receiver;
use crate::exchange::protocol::channel::sender::Sender;
use crate::layout::{Layout, Order};

/// A stream of arrays between processes. See the [module](super).
///
/// Cloning is cheap: the clones are the same channel.
#[derive(Clone)]
pub struct Channel {
    control: Arc<ControlMap>,
}

impl Channel {
    /// Makes a channel, in shared memory whose size is sealed. Pages are allocated when they are
    /// first written.
    ///
    /// # Errors
    ///
    /// `is_value` for a number of slots or a name that a channel cannot have; `is_overflow`;
    /// `is_io`.
    pub fn new(options: &ChannelOptions) -> Result<Self> {
        let control = ControlMap::new(Geometry::new(options)?, &options.label())?;
        Ok(Self { control: Arc::new(control) })
    }

    /// Opens a channel of another process, from the array that [`Channel::to_array`] made there.
    /// Copies nothing.
    ///
    /// The process that made the memory is not trusted: see [the module](super#what-is-trusted).
    ///
    /// # Errors
    ///
    /// `is_malformed` if the memory is not a channel, or the array only a part of it;
    /// `is_unsupported` for another version, and for memory that is not shared memory of sealed
    /// size; `is_conflict` while this process holds a lease that relies on the memory;
    /// `is_read_only` for a read-only array, since every member of a channel writes to it; `is_io`.
    pub fn open(array: &DArray) -> Result<Self> {
        let (buffer, _) = array.buffer()?;
        if buffer.is_readonly() {
            let text = "the array is read-only, and each member of a channel writes to its memory; \
                        send it under a share lease";
            return Err(Error::new(Kind::ReadOnly, text));
        }
        let Some((fd, _)) = buffer.publish()? else {
            let text = format!("{} has no descriptor, so it is not a channel", array.backing().described());
            return Err(Error::new(Kind::Unsupported, text));
        };
        let fd = fd.try_clone_to_owned().map_err(|error| {
            let text = format!("the channel's descriptor could not be duplicated: {}", system_text(&error));
            Error::caused(Kind::Io, text, error)
        })?;
        let channel = Self::open_fd(fd)?;
        let (passed, whole) = (array.nbytes(), channel.control.geometry().nbytes());
        if passed != whole {
            let text =
                format!("the array has {passed} bytes, but the channel has {whole}; pass the whole array");
            return Err(Error::new(Kind::Malformed, text));
        }
        Ok(channel)
    }

    /// As [`Channel::open`], by the descriptor of the memory.
    ///
    /// # Errors
    ///
    /// As [`Channel::open`].
    #[doc(hidden)]
    pub fn open_fd(fd: OwnedFd) -> Result<Self> {
        Ok(Self { control: Arc::new(ControlMap::open(fd)?) })
    }

    /// All of the channel's memory as an array of `uint8`, by which the channel goes to another
    /// process: send it as any array in shared memory is sent, under a Share lease, and pass what
    /// arrives to [`Channel::open`].
    ///
    /// # Errors
    ///
    /// `is_io` if the memory cannot be mapped once more.
    pub fn to_array(&self) -> Result<DArray> {
        let memory = Buffer::whole(self.control.map_whole()?);
        let layout = Layout::contiguous(&[memory.nbytes()], 1, Order::RowMajor)?;
        DArray::from_buffer(memory, DType::U8, layout, 0)
    }

    /// The descriptor of the memory, for a child that inherits it.
    ///
    /// # Errors
    ///
    /// None that is known: the memory has a descriptor.
    #[doc(hidden)]
    pub fn fd(&self) -> Result<BorrowedFd<'_>> {
        self.control.fd()
    }

    /// Attaches a sender.
    ///
    /// # Errors
    ///
    /// `is_exhausted` if the channel has 20 senders; `is_io`.
    pub fn sender(&self) -> Result<Sender> {
        Sender::attach(&self.control)
    }

    /// Attaches a receiver.
    ///
    /// # Errors
    ///
    /// `is_exhausted` if the channel has 20 receivers; `is_io`.
    pub fn receiver(&self) -> Result<Receiver> {
        Receiver::attach(&self.control)
    }

    /// Ends the stream: senders fail from now on, and receivers fail once they have received what
    /// was sent before. Cannot be undone.
    pub fn close(&self) {
        self.control.closed().store(1, Ordering::SeqCst);
        self.control.sent().ring();
        self.control.freed().ring_sleepers();
    }

    // ===== queries

    /// The number of slots.
    pub fn slots(&self) -> usize {
        self.control.geometry().slots()
    }

    /// The most bytes of a message.
    pub fn slot_nbytes(&self) -> usize {
        self.control.geometry().slot_nbytes()
    }

    /// Which receivers get a message.
    pub fn delivery(&self) -> Delivery {
        self.control.geometry().delivery
    }

    /// The receivers in all processes, those included whose process was killed until another
    /// member notices.
    pub fn receivers(&self) -> usize {
        self.control.receivers().load(Ordering::Acquire).count_ones() as usize
    }

    /// The senders in all processes, as [`Channel::receivers`].
    pub fn senders(&self) -> usize {
        self.control.senders().load(Ordering::Acquire).count_ones() as usize
    }

    /// The number of messages sent so far.
    pub fn sent(&self) -> u64 {
        self.control.head().load(Ordering::Acquire)
    }

    /// How many slots are free, on loan to a sender, waiting for receivers, and held by receivers.
    #[doc(hidden)]
    pub fn usage(&self) -> [usize; 4] {
        super::sender::usage(&self.control)
    }
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (slots, nbytes) = (self.slots(), self.slot_nbytes());
        write!(f, "Channel({slots} slots of {nbytes} bytes, {:?}, {} sent)", self.delivery(), self.sent())
    }
}
