//! The machine's limit: a word in shared memory, polled, or with a futex. It is no stream: there is
//! one message, no array, and nothing to give back.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use crossdock::buffer::Buffer;
use crossdock_measure::Result;

use crate::Echo;

/// A word of each way, in cache lines of its own.
const LINE: usize = 128;

pub(crate) struct WordEnd {
    memory: Buffer,
    /// Where the word lies that this end writes, and the one that it reads.
    ways: [usize; 2],
    /// The last values: a count, and below it the byte of the message.
    written: u32,
    read: u32,
    /// Whether the last message was polled for: the other process polls for the next, too.
    polls: bool,
}

pub(crate) struct Pair {
    pub(crate) end: WordEnd,
    _echo: Echo,
}

impl Pair {
    pub(crate) fn new(polls: bool) -> Result<Self> {
        let memory = Buffer::shared(2 * LINE)?;
        let (fd, _) = memory.descriptor().ok_or("shared memory has a descriptor")?;
        let fd = fd.try_clone_to_owned()?;
        // SAFETY: `fd` is open; the call changes its flags alone.
        unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) };
        let echo = Echo::start("word", polls, 0, &[fd.as_raw_fd().to_string()])?;
        Ok(Self { end: WordEnd { memory, ways: [0, LINE], written: 0, read: 0, polls: false }, _echo: echo })
    }
}

pub(crate) fn there(more: &[&str]) -> Result<WordEnd> {
    // SAFETY: the process that started this one left the descriptor open for it.
    let fd = unsafe { OwnedFd::from_raw_fd(more.first().ok_or("a descriptor")?.parse()?) };
    let memory = Buffer::map_shared(fd, 0, 2 * LINE, true)?;
    Ok(WordEnd { memory, ways: [LINE, 0], written: 0, read: 0, polls: false })
}

impl WordEnd {
    fn word(&self, way: usize) -> &AtomicU32 {
        let word = self.memory.as_ptr().wrapping_add(self.ways[way]).cast_mut().cast();
        // SAFETY: the word lies in the memory, which begins at a page; all accesses are atomic.
        unsafe { AtomicU32::from_ptr(word) }
    }
}

impl crate::End for WordEnd {
    fn send(&mut self, byte: u8) {
        self.written = (self.written >> 8).wrapping_add(1) << 8 | u32::from(byte);
        self.word(0).store(self.written, Ordering::Release);
        // The other process may sleep: it does where it does not poll, and before a sample begins.
        if !self.polls || matches!(byte, crate::BEGIN | crate::QUIT) {
            // SAFETY: the address is that of a live word; the call accesses no memory.
            unsafe { libc::syscall(libc::SYS_futex, self.word(0).as_ptr(), libc::FUTEX_WAKE, 1) };
        }
    }

    fn receive(&mut self, polls: bool) -> u8 {
        self.polls = polls;
        loop {
            let value = self.word(1).load(Ordering::Acquire);
            if value != self.read {
                self.read = value;
                return value as u8;
            }
            if polls {
                std::hint::spin_loop();
                continue;
            }
            let no_limit = std::ptr::null::<libc::timespec>();
            // SAFETY: the address is that of a live word, which the call reads.
            unsafe {
                libc::syscall(libc::SYS_futex, self.word(1).as_ptr(), libc::FUTEX_WAIT, value, no_limit)
            };
        }
    }
}
