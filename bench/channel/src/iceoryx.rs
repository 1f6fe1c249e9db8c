//! iceoryx2, as its own ping-pong is written: publish and subscribe, with loans, and its events
//! where a process sleeps.

use std::time::Duration;

use crossdock_measure::Result;
use iceoryx2::node::NodeBuilder;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;

use crate::Echo;

pub(crate) struct IceoryxEnd {
    publisher: Publisher<ipc::Service, [u8], ()>,
    subscriber: Subscriber<ipc::Service, [u8], ()>,
    notifier: Notifier<ipc::Service>,
    listener: Listener<ipc::Service>,
    nbytes: usize,
    /// Whether the last message was polled for: the other process polls for the next, too.
    polls: bool,
    // Dropped last.
    _node: Node<ipc::Service>,
}

pub(crate) struct Pair {
    pub(crate) end: IceoryxEnd,
    _echo: Echo,
}

impl Pair {
    pub(crate) fn new(polls: bool, nbytes: usize) -> Result<Self> {
        let name = format!("crossdock-bench-{}-{polls}-{nbytes}", std::process::id());
        let end = IceoryxEnd::new(&name, ["there", "back"], nbytes)?;
        let echo = Echo::start("iceoryx2", polls, nbytes, &[name])?;
        // Its ports find each other when they send.
        std::thread::sleep(Duration::from_secs(1));
        Ok(Self { end, _echo: echo })
    }
}

pub(crate) fn there(more: &[&str], nbytes: usize) -> Result<IceoryxEnd> {
    IceoryxEnd::new(more.first().ok_or("a name")?, ["back", "there"], nbytes)
}

impl IceoryxEnd {
    fn new(name: &str, [send, receive]: [&str; 2], nbytes: usize) -> Result<Self> {
        set_log_level(LogLevel::Error);
        let node = NodeBuilder::new().create::<ipc::Service>()?;
        let stream = |way: &str| -> Result<_> {
            let name = format!("{name}-{way}");
            let service = node.service_builder(&name.as_str().try_into()?).publish_subscribe::<[u8]>();
            let service = service.max_publishers(1).max_subscribers(1).history_size(0);
            Ok(service.subscriber_max_buffer_size(1).enable_safe_overflow(true).open_or_create()?)
        };
        let event = |way: &str| -> Result<_> {
            let name = format!("{name}-{way}-event");
            Ok(node.service_builder(&name.as_str().try_into()?).event().open_or_create()?)
        };
        Ok(Self {
            publisher: stream(send)?.publisher_builder().initial_max_slice_len(nbytes).create()?,
            subscriber: stream(receive)?.subscriber_builder().create()?,
            notifier: event(send)?.notifier_builder().create()?,
            listener: event(receive)?.listener_builder().create()?,
            nbytes,
            polls: false,
            _node: node,
        })
    }
}

impl crate::End for IceoryxEnd {
    fn send(&mut self, byte: u8) {
        let sample = self.publisher.loan_slice_uninit(self.nbytes).expect("a free sample");
        // SAFETY: every byte is a value of `u8`, and shared memory is initialised.
        let mut sample = unsafe { sample.assume_init() };
        sample.payload_mut()[0] = byte;
        sample.send().expect("a subscriber");
        // The other process may sleep: it does where it does not poll, and before a sample begins.
        if !self.polls || matches!(byte, crate::BEGIN | crate::QUIT) {
            self.notifier.notify().expect("a listener");
        }
    }

    fn receive(&mut self, polls: bool) -> u8 {
        self.polls = polls;
        loop {
            if let Some(sample) = self.subscriber.receive().expect("a publisher") {
                return sample.payload()[0];
            }
            if polls {
                std::hint::spin_loop();
            } else {
                self.listener.timed_wait(|_| (), Duration::from_secs(1)).expect("a notifier");
            }
        }
    }
}
