//! Limits of a receiver.
//!
//! Reasons: `DESIGN.md`, "The receiver limits the bytes that an array covers".

use crate::error::{Advice, Error, Kind, Result};
use crate::exchange::description::Description;

/// The limits of [`receive_with`](super::receive_with) for a peer's messages.
///
/// A `memfd` of 1 TiB costs its sender nothing as long as no page is written: each page is
/// allocated, and charged to the process that touches it, when it is first read. The limit bounds
/// what one message can cost its receiver. It counts the bytes from the lowest to the highest that
/// the array touches, allocated or not, because the sender can punch holes at any later moment; and
/// the bytes of its elements, which a copy of the array takes, however few it repeats.
///
/// ```
/// use crossdock::exchange::protocol::shm::ReceiveOptions;
///
/// let options = ReceiveOptions::new().most_nbytes(1 << 40); // peers that may send 1 TiB
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiveOptions {
    most_nbytes: u64,
}

impl Default for ReceiveOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl ReceiveOptions {
    /// The default of [`most_nbytes`](Self::most_nbytes): 16 GiB.
    #[doc(hidden)]
    pub const MOST_NBYTES: u64 = 16 << 30;

    /// Accepts arrays that cover up to 16 GiB.
    pub fn new() -> Self {
        Self { most_nbytes: Self::MOST_NBYTES }
    }

    /// The most bytes that one array may cover, gaps between its elements included, and the most
    /// that its elements may be. Those are more where a stride of 0 repeats them: a copy of the
    /// array has them all.
    pub fn most_nbytes(mut self, nbytes: u64) -> Self {
        self.most_nbytes = nbytes;
        self
    }

    /// # Errors
    ///
    /// `is_refused`, with both numbers.
    pub(super) fn check(&self, description: &Description) -> Result<()> {
        let span = description.span();
        let (covered, most) = (span.end - span.start, self.most_nbytes);
        let nbytes = description.layout().nbytes() as u64;
        if covered.max(nbytes) <= most {
            return Ok(());
        }
        let text = if covered > most {
            format!("the array covers {covered} bytes, and this receiver takes at most {most}")
        } else {
            format!(
                "the elements of the array are {nbytes} bytes, though they cover only {covered}, and this \
                receiver takes at most {most}"
            )
        };
        Err(Error::new(Kind::Refused, text).advising(Advice::RaiseReceiveLimit))
    }
}
