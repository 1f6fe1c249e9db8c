//! Which receivers get which messages, and what a sender does when no slot is free.

use std::time::Duration;

use crossdock::exchange::protocol::channel::{Channel, ChannelOptions, Delivery, Receiver};

use crate::basics::{NOW, numbers};

fn channel(slots: usize, delivery: Delivery, drops_oldest: bool) -> Channel {
    let options = ChannelOptions::new(slots, 80).delivery(delivery).drops_oldest(drops_oldest);
    Channel::new(&options).unwrap()
}

/// Everything that waits for the receiver.
fn all(receiver: &mut Receiver) -> Vec<i64> {
    let next = || receiver.try_receive().unwrap().map(|view| view.get(&[0]).unwrap().as_i64().unwrap());
    std::iter::from_fn(next).collect()
}

#[test]
fn each_receiver_gets_every_message_since_it_attached() {
    let channel = channel(8, Delivery::Each, false);
    let mut sender = channel.sender().unwrap();
    sender.send_copy(&numbers(&[0]), NOW).unwrap();
    assert_eq!(channel.usage()[0], 8, "without receivers, a message is dropped");
    let (mut first, mut second) = (channel.receiver().unwrap(), channel.receiver().unwrap());
    (1..4).for_each(|value| sender.send_copy(&numbers(&[value]), NOW).unwrap());
    let mut third = channel.receiver().unwrap();
    (4..6).for_each(|value| sender.send_copy(&numbers(&[value]), NOW).unwrap());
    assert_eq!(all(&mut first), [1, 2, 3, 4, 5]);
    assert_eq!((all(&mut third), third.missed()), (vec![4, 5], 0));
    assert_eq!(channel.usage(), [3, 0, 5, 0], "the second has not read");
    assert_eq!((all(&mut second), second.missed()), (vec![1, 2, 3, 4, 5], 0));
    assert_eq!(channel.usage(), [8, 0, 0, 0]);
}

#[test]
fn a_receiver_that_leaves_frees_what_waited_for_it() {
    let channel = channel(4, Delivery::Each, false);
    let (mut sender, mut first) = (channel.sender().unwrap(), channel.receiver().unwrap());
    let second = channel.receiver().unwrap();
    (0..4).for_each(|value| sender.send_copy(&numbers(&[value]), NOW).unwrap());
    assert_eq!(all(&mut first), [0, 1, 2, 3]);
    assert_eq!(channel.usage(), [0, 0, 4, 0]);
    drop(second);
    assert_eq!(channel.usage(), [4, 0, 0, 0]);
}

#[test]
fn one_receiver_gets_a_message_that_waited_for_it() {
    let channel = channel(8, Delivery::One, false);
    let mut sender = channel.sender().unwrap();
    (0..3).for_each(|value| sender.send_copy(&numbers(&[value]), NOW).unwrap());
    let (mut first, mut second) = (channel.receiver().unwrap(), channel.receiver().unwrap());
    let view = second.try_receive().unwrap().unwrap();
    assert_eq!(view.get(&[0]).unwrap().as_i64(), Some(0));
    assert_eq!(all(&mut first), [1, 2]);
    sender.send_copy(&numbers(&[3]), NOW).unwrap();
    assert_eq!((all(&mut second), all(&mut first)), (vec![3], vec![]));
    drop(view);
    assert_eq!(channel.usage(), [8, 0, 0, 0]);
}

#[test]
fn the_latest_value_is_received_once_and_kept_for_those_who_come_later() {
    let channel = channel(3, Delivery::Latest, false);
    let (mut sender, mut first) = (channel.sender().unwrap(), channel.receiver().unwrap());
    assert!(all(&mut first).is_empty());
    (0..10).for_each(|value| sender.send_copy(&numbers(&[value]), NOW).unwrap());
    assert_eq!(all(&mut first), [9]);
    let mut second = channel.receiver().unwrap();
    let view = second.try_receive().unwrap().unwrap();
    assert_eq!(view.get(&[0]).unwrap().as_i64(), Some(9));
    (10..20).for_each(|value| sender.send_copy(&numbers(&[value]), NOW).unwrap());
    assert_eq!((all(&mut second), second.missed()), (vec![19], 9));
    assert_eq!(view.get(&[0]).unwrap().as_i64(), Some(9), "a view is not overwritten");
    assert_eq!(channel.usage(), [1, 0, 1, 1]);
    // The value itself is never given away.
    let newest = first.try_receive().unwrap().unwrap();
    let third = sender.loan(newest.dtype(), &[1], NOW).unwrap();
    assert!(sender.loan(newest.dtype(), &[1], NOW).unwrap_err().is_exhausted());
    drop(third);
}

#[test]
fn a_channel_of_the_latest_value_has_a_slot_for_the_next_one() {
    let options = |slots| ChannelOptions::new(slots, 8).delivery(Delivery::Latest);
    assert!(Channel::new(&options(1)).unwrap_err().is_value());
    let mut sender = Channel::new(&options(2)).unwrap().sender().unwrap();
    for number in 0..5 {
        sender.send_copy(&numbers(&[number]), NOW).unwrap();
    }
}

#[test]
fn a_full_channel_waits_fails_or_drops_the_oldest() {
    let full = |drops_oldest| {
        let channel = channel(2, Delivery::Each, drops_oldest);
        let (mut sender, receiver) = (channel.sender().unwrap(), channel.receiver().unwrap());
        (0..2).for_each(|value| sender.send_copy(&numbers(&[value]), NOW).unwrap());
        (sender, receiver)
    };
    let (mut sender, mut receiver) = full(false);
    let short = Some(Duration::from_millis(20));
    let error = sender.send_copy(&numbers(&[2]), short).unwrap_err();
    assert!(error.is_exhausted() && error.to_string().contains("2 wait"), "{error}");
    std::thread::scope(|scope| {
        let sending =
            scope.spawn(|| (2..100).for_each(|value| sender.send_copy(&numbers(&[value]), None).unwrap()));
        let mut next = 0;
        while next < 100 {
            let view = receiver.receive(None).unwrap().unwrap();
            assert_eq!(view.get(&[0]).unwrap().as_i64(), Some(next));
            next += 1;
        }
        sending.join().unwrap();
    });
    assert_eq!(receiver.missed(), 0);

    let (mut sender, mut receiver) = full(true);
    (2..7).for_each(|value| sender.send_copy(&numbers(&[value]), NOW).unwrap());
    let view = receiver.try_receive().unwrap().unwrap();
    assert_eq!((view.get(&[0]).unwrap().as_i64(), receiver.missed()), (Some(5), 5));
    (7..9).for_each(|value| sender.send_copy(&numbers(&[value]), NOW).unwrap());
    assert_eq!(view.get(&[0]).unwrap().as_i64(), Some(5), "what is viewed is not dropped");
    assert_eq!(all(&mut receiver), [8]);
}

#[test]
fn several_senders_and_receivers_lose_and_repeat_nothing() {
    const EACH: i64 = 5_000;
    for delivery in [Delivery::Each, Delivery::One] {
        let channel = channel(5, delivery, false);
        let mut receivers: Vec<_> = (0..3).map(|_| channel.receiver().unwrap()).collect();
        let got = std::thread::scope(|scope| {
            let receiving: Vec<_> = receivers
                .iter_mut()
                .map(|receiver| {
                    scope.spawn(move || {
                        let mut got = vec![];
                        while let Ok(view) = receiver.receive(None) {
                            got.push(view.unwrap().get(&[0]).unwrap().as_i64().unwrap());
                        }
                        got
                    })
                })
                .collect();
            let sending: Vec<_> = (0..3)
                .map(|who| {
                    let mut sender = channel.sender().unwrap();
                    scope.spawn(move || {
                        (0..EACH)
                            .for_each(|at| sender.send_copy(&numbers(&[who * EACH + at]), None).unwrap());
                    })
                })
                .collect();
            sending.into_iter().for_each(|thread| thread.join().unwrap());
            channel.close();
            receiving.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let expected: Vec<i64> = (0..3 * EACH).collect();
        for one in &got {
            for who in 0..3 {
                let of_one_sender: Vec<_> = one.iter().filter(|value| *value / EACH == who).collect();
                assert!(of_one_sender.is_sorted(), "messages of a sender keep their order");
            }
        }
        let sorted = |mut values: Vec<i64>| {
            values.sort_unstable();
            values
        };
        if delivery == Delivery::Each {
            assert!(got.into_iter().all(|one| sorted(one) == expected));
        } else {
            assert_eq!(sorted(got.concat()), expected);
        }
        assert!(receivers.iter().all(|receiver| receiver.missed() == 0));
        drop(receivers);
        assert_eq!(channel.usage(), [5, 0, 0, 0]);
    }
}
