//! A forked child: what it inherited refuses to work, and does not keep its parent's slots.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crossdock::element::DType;
use crossdock_testkit::status_of_child;

use crate::basics::{NOW, channel, numbers};

#[test]
fn a_forked_child_attaches_anew() {
    let channel = channel(2, 100);
    let (mut sender, mut receiver) = (channel.sender().unwrap(), channel.receiver().unwrap());
    sender.send_copy(&numbers(&[1]), NOW).unwrap();
    let view = receiver.try_receive().unwrap().unwrap();
    let loan = sender.loan(&DType::U8, &[3], NOW).unwrap();
    let status = status_of_child(move || {
        let refused = sender.loan(&DType::U8, &[1], NOW).unwrap_err();
        assert!(refused.is_conflict() && receiver.receive(NOW).unwrap_err().is_conflict(), "{refused}");
        assert!(loan.send().unwrap_err().error.is_conflict());
        // Its drops give nothing back that is the parent's.
        drop((view, sender, receiver));
        assert_eq!((channel.usage(), channel.senders(), channel.receivers()), ([0, 1, 0, 1], 1, 1));
        let (mut sender, mut receiver) = (channel.sender().unwrap(), channel.receiver().unwrap());
        assert!(sender.loan(&DType::U8, &[1], NOW).unwrap_err().is_exhausted());
        assert!(receiver.try_receive().unwrap().is_none());
        true
    });
    assert_eq!(status, 0);
}

#[test]
fn a_forked_child_does_not_keep_the_slots_of_a_parent_that_died() {
    let channel = channel(1, 100);
    let (mut waits, ends) = UnixStream::pair().unwrap();
    let status = status_of_child(|| {
        let loan = channel.sender().unwrap().loan(&DType::U8, &[3], NOW).unwrap();
        // SAFETY: the child of this child reads from a socket, and ends.
        if unsafe { libc::fork() } == 0 {
            // It lives until the test ends.
            let _ended = waits.read(&mut [0]);
            // SAFETY: `_exit` ends the process at once.
            unsafe { libc::_exit(0) };
        }
        std::mem::forget(loan);
        channel.usage() == [0, 1, 0, 0]
    });
    assert_eq!(status, 0);
    assert_eq!((channel.senders(), channel.usage()), (1, [0, 1, 0, 0]));
    let mut sender = channel.sender().unwrap();
    assert!(sender.loan(&DType::U8, &[1], Some(Duration::from_secs(20))).is_ok());
    (&ends).write_all(&[0]).unwrap();
}
