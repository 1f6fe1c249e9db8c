//! The dtypes of a channel's messages, as text: each is written once, and messages name it by its
//! number.
//!
//! An entry is a word, the length, and the text. The word is 0 while the entry is free, the number
//! of a sender while that one writes it, and [`READY`] for ever after. Two senders may write the
//! same dtype at the same time; then it has two numbers, which does no harm.

use std::sync::atomic::{Ordering, fence};

use crate::element::DType;
use crate::element::dialect::typestr;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::channel::control::ControlMap;
use crate::exchange::protocol::channel::geometry::{MOST_TYPE_NBYTES, MOST_TYPES};

const FREE: u64 = 0;
const READY: u64 = 1;

fn being_written_by(sender: usize) -> u64 {
    2 + sender as u64
}

/// The dtypes that one sender or receiver has seen, so that it reads or writes each text once.
#[derive(Default)]
pub(super) struct DTypes {
    known: Vec<(usize, DType)>,
}

impl DTypes {
    /// The number of a dtype, which is written if no message had it before.
    pub(super) fn number(&mut self, control: &ControlMap, sender: usize, dtype: &DType) -> Result<usize> {
        // The latest is the likeliest.
        if let Some((number, _)) = self.known.iter().rev().find(|(_, known)| known == dtype) {
            return Ok(*number);
        }
        let text = typestr::print_for_crossdock(dtype)?;
        if text.len() > MOST_TYPE_NBYTES {
            let text = format!(
                "the text of the dtype has {} bytes; a channel has room for {MOST_TYPE_NBYTES}",
                text.len()
            );
            return Err(Error::new(Kind::Unsupported, text));
        }
        let number = written(control, sender, &text)?;
        self.known.push((number, dtype.clone()));
        Ok(number)
    }

    /// The dtype of a number that another process wrote.
    pub(super) fn dtype(&mut self, control: &ControlMap, number: usize) -> Result<DType> {
        if let Some((_, dtype)) = self.known.iter().find(|(known, _)| *known == number) {
            return Ok(dtype.clone());
        }
        let text = (number < MOST_TYPES).then(|| read(control, number)).flatten().ok_or_else(|| {
            Error::new(Kind::Malformed, format!("the message has dtype {number}, which was never written"))
        })?;
        let text = String::from_utf8(text).map_err(|error| {
            Error::caused(Kind::Malformed, "the text of the message's dtype is not UTF-8", error)
        })?;
        let dtype: DType = text.parse()?;
        self.known.push((number, dtype.clone()));
        Ok(dtype)
    }
}

/// Finds the text, or writes it into the first free entry.
fn written(control: &ControlMap, sender: usize, text: &str) -> Result<usize> {
    for number in 0..MOST_TYPES {
        let at = control.geometry().dtype(number);
        let word = control.word(at);
        let claimed = being_written_by(sender);
        match word.compare_exchange(FREE, claimed, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                for (index, chunk) in text.as_bytes().chunks(8).enumerate() {
                    let mut bytes = [0; 8];
                    bytes[..chunk.len()].copy_from_slice(chunk);
                    control.word(at + 16 + 8 * index).store(u64::from_le_bytes(bytes), Ordering::Relaxed);
                }
                control.word(at + 8).store(text.len() as u64, Ordering::Relaxed);
                word.store(READY, Ordering::Release);
                return Ok(number);
            }
            Err(READY) if read(control, number).is_some_and(|there| there == text.as_bytes()) => {
                return Ok(number);
            }
            Err(_) => {}
        }
    }
    let text = format!("the messages of the channel have had {MOST_TYPES} dtypes, the most there can be");
    Err(Error::new(Kind::Unsupported, text))
}

/// The text of a complete entry. Its length is loaded once and checked; the bytes may change while
/// they are copied, and are then whatever they are.
fn read(control: &ControlMap, number: usize) -> Option<Vec<u8>> {
    let at = control.geometry().dtype(number);
    // Relaxed, since a tap has the memory for reading only.
    if control.word(at).load(Ordering::Relaxed) != READY {
        return None;
    }
    fence(Ordering::Acquire);
    let nbytes = usize::try_from(control.word(at + 8).load(Ordering::Relaxed)).ok()?;
    if nbytes > MOST_TYPE_NBYTES {
        return None;
    }
    let words = (0..nbytes.div_ceil(8)).map(|index| control.word(at + 16 + 8 * index));
    let mut text: Vec<u8> = words.flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
    text.truncate(nbytes);
    Some(text)
}

/// Frees the entries that a sender, which is gone, had not completed.
pub(super) fn remove_sender(control: &ControlMap, sender: usize) {
    for number in 0..MOST_TYPES {
        let word = control.word(control.geometry().dtype(number));
        let claimed = being_written_by(sender);
        let _was_complete = word.compare_exchange(claimed, FREE, Ordering::AcqRel, Ordering::Relaxed);
    }
}
