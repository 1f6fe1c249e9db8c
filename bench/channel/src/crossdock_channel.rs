//! Two channels of Crossdock, there and back.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crossdock::element::DType;
use crossdock::exchange::protocol::channel::{Channel, ChannelOptions, Receiver, Sender};
use crossdock::exchange::protocol::shm;
use crossdock::view::Request;
use crossdock_measure::Result;

use crate::Echo;

pub(crate) struct ChannelEnd {
    sender: Sender,
    receiver: Receiver,
    nbytes: usize,
}

pub(crate) struct Pair {
    pub(crate) end: ChannelEnd,
    _echo: Echo,
}

impl Pair {
    pub(crate) fn new(polls: bool, nbytes: usize) -> Result<Self> {
        let channels = [(); 2].map(|()| Channel::new(&ChannelOptions::new(8, nbytes)));
        let [there, back] = channels;
        let (there, back) = (there?, back?);
        let (mut more, mut fds) = (vec![nbytes.to_string()], vec![]);
        for channel in [&there, &back] {
            let exported = shm::export(&channel.to_array()?, &Request::share())?;
            // Inherited by the process that is started next.
            let fd = exported.fd().try_clone_to_owned()?;
            // SAFETY: `fd` is open; the call changes its flags alone.
            unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) };
            more.extend([fd.as_raw_fd().to_string(), exported.description().to_text()?]);
            fds.push(fd);
        }
        let end = ChannelEnd { sender: there.sender()?, receiver: back.receiver()?, nbytes };
        let echo = Echo::start("channel", polls, nbytes, &more)?;
        while there.receivers() == 0 || back.senders() == 0 {
            std::thread::yield_now();
        }
        Ok(Self { end, _echo: echo })
    }
}

pub(crate) fn there(more: &[&str]) -> Result<ChannelEnd> {
    let [nbytes, there, there_text, back, back_text] = *more else { return Err("five arguments".into()) };
    let open = |fd: &str, text: &str| -> Result<Channel> {
        // SAFETY: the process that started this one left the descriptor open for it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd.parse()?) };
        Ok(Channel::open(&shm::import(fd, &text.parse()?)?)?)
    };
    let (there, back) = (open(there, there_text)?, open(back, back_text)?);
    // The receiver last: the other process waits for the sender, too.
    let receiver = there.receiver()?;
    Ok(ChannelEnd { sender: back.sender()?, receiver, nbytes: nbytes.parse()? })
}

impl crate::End for ChannelEnd {
    fn send(&mut self, byte: u8) {
        let loan = self.sender.loan(&DType::U8, &[self.nbytes], None).expect("a free slot");
        // SAFETY: the array has a byte, and is on loan to this process alone.
        unsafe { loan.array().as_ptr().cast_mut().write_volatile(byte) };
        loan.send().expect("nothing else has the array");
    }

    fn receive(&mut self, polls: bool) -> u8 {
        let view = loop {
            let received = if polls { self.receiver.try_receive() } else { self.receiver.receive(None) };
            match received.expect("an open channel") {
                Some(view) => break view,
                None => std::hint::spin_loop(),
            }
        };
        // SAFETY: the array has a byte, which the other process no longer writes.
        unsafe { view.as_ptr().read_volatile() }
    }
}
