//! How a channel is made.

use std::ffi::CString;

use crate::error::{Error, Kind, Result, short};

/// Which receivers get a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// Every receiver that is attached when the message is sent. Without any, the message is
    /// dropped.
    Each,
    /// One receiver, whichever is first. The message waits until a receiver attaches.
    One,
    /// Every receiver gets the newest message that it has not seen; older ones are dropped. A
    /// receiver that attaches later begins with the newest message. The newest one keeps its slot,
    /// so the channel has at least two.
    Latest,
}

/// How [`Channel::new`](super::Channel::new) makes a channel.
///
/// ```
/// use crossdock::exchange::protocol::channel::{Channel, ChannelOptions, Delivery};
///
/// let options = ChannelOptions::new(4, 1 << 20).delivery(Delivery::Latest);
/// let channel = Channel::new(&options)?;
/// assert_eq!((channel.slots(), channel.slot_nbytes(), channel.delivery()), (4, 1 << 20, Delivery::Latest));
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChannelOptions {
    pub(super) slots: usize,
    pub(super) slot_nbytes: usize,
    pub(super) delivery: Delivery,
    pub(super) drops_oldest: bool,
    pub(super) name: String,
}

/// What `/proc` shows for the memory of a channel; a space and its name follow, if it has one.
pub(super) const LABEL: &str = "crossdock channel";

/// The most bytes of a name.
const MOST_NAME_NBYTES: usize = 48;

/// The most slots of a channel: a search for a message goes through all of them.
pub(super) const MOST_SLOTS: usize = 1024;

impl ChannelOptions {
    /// `slots` messages of at most `slot_nbytes` bytes each, [`Delivery::Each`]. A view keeps its
    /// slot until it is dropped, so there must be more slots than all receivers together keep
    /// views.
    pub fn new(slots: usize, slot_nbytes: usize) -> Self {
        Self { slots, slot_nbytes, delivery: Delivery::Each, drops_oldest: false, name: String::new() }
    }

    /// Which receivers get a message.
    pub fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// Whether a sender that finds no free slot takes that of the oldest message that no receiver
    /// has a view of, instead of waiting. Receivers count the messages that they missed.
    pub fn drops_oldest(mut self, drops_oldest: bool) -> Self {
        self.drops_oldest = drops_oldest;
        self
    }

    /// The name by which `crossdock tap` finds the channel: letters, digits, dots, underscores and
    /// hyphens, of which a letter is the first. Programs cannot open the channel by it, and several
    /// channels may have the same.
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// The label of the memory.
    pub(super) fn label(&self) -> CString {
        let label = if self.name.is_empty() { LABEL.to_owned() } else { format!("{LABEL} {}", self.name) };
        // A name that `check` accepted has no NUL.
        CString::new(label).unwrap_or_default()
    }

    pub(super) fn check(&self) -> Result<()> {
        if !self.name.is_empty() && !is_name(&self.name) {
            let text = format!(
                "{} cannot be the name of a channel, which has 1 to {MOST_NAME_NBYTES} letters, digits, dots, \
                underscores and hyphens, and begins with a letter",
                short(&self.name)
            );
            return Err(Error::new(Kind::Value, text));
        }
        if self.slots == 1 && self.delivery == Delivery::Latest {
            let text = "a channel that keeps the latest value needs 2 slots or more; 1 was requested";
            return Err(Error::new(Kind::Value, text));
        }
        if (1..=MOST_SLOTS).contains(&self.slots) {
            return Ok(());
        }
        let text = format!("a channel has 1 to {MOST_SLOTS} slots; {} were requested", self.slots);
        Err(Error::new(Kind::Value, text))
    }
}

/// Whether a channel can have this name.
pub(super) fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    begins && name.len() <= MOST_NAME_NBYTES && name.bytes().all(is_plain)
}
