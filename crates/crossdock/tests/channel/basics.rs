//! One sender and one receiver: what goes in comes out, in place.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use crossdock::element::DType;
use crossdock::exchange::protocol::channel::{Channel, ChannelOptions, Delivery};
use crossdock::exchange::protocol::shm;
use crossdock::layout::Order;
use crossdock::memory::{Backing, Birth, copied_bytes_here};
use crossdock::view::Request;
use crossdock::{Array, DArray};

pub(crate) const NOW: Option<Duration> = Some(Duration::ZERO);

pub(crate) fn channel(slots: usize, nbytes: usize) -> Channel {
    Channel::new(&ChannelOptions::new(slots, nbytes)).unwrap()
}

pub(crate) fn numbers(values: &[i64]) -> DArray {
    Array::from_vec(values.to_vec(), [values.len()]).unwrap().into()
}

pub(crate) fn bytes(array: &DArray) -> Vec<u8> {
    array.export(&Request::pin()).unwrap().to_bytes().unwrap()
}

#[test]
fn an_array_is_filled_and_received_in_place() {
    let channel = channel(2, 4096);
    let (mut sender, mut receiver) = (channel.sender().unwrap(), channel.receiver().unwrap());
    let before = copied_bytes_here();
    let loan = sender.loan(&DType::I32, &[10, 20], NOW).unwrap();
    assert!(!loan.array().is_readonly() && loan.array().birth() == Birth::Aliased);
    loan.array().fill(&7.into()).unwrap();
    loan.array().set(&[9, 19], &8.into()).unwrap();
    loan.send().unwrap();
    let view = receiver.try_receive().unwrap().unwrap();
    assert_eq!((view.dtype(), view.shape()), (&DType::I32, &[10, 20][..]));
    assert_eq!(
        (view.get(&[0, 0]).unwrap().as_i64(), view.get(&[9, 19]).unwrap().as_i64()),
        (Some(7), Some(8))
    );
    assert_eq!(copied_bytes_here(), before);
    assert!(view.is_readonly() && view.birth() == Birth::Aliased && view.backing() == Backing::Shared);
    assert!(view.export(&Request::read()).is_err(), "another process may write it");
    assert!(view.fill(&1.into()).unwrap_err().is_read_only());
    assert!(receiver.try_receive().unwrap().is_none());
}

#[test]
fn a_slot_is_free_when_the_last_part_of_its_view_is_dropped_on_any_thread() {
    let channel = channel(1, 800);
    let (mut sender, mut receiver) = (channel.sender().unwrap(), channel.receiver().unwrap());
    sender.send_copy(&numbers(&[1, 2, 3, 4]), NOW).unwrap();
    let view = receiver.receive(NOW).unwrap().unwrap();
    let part = view.at("1::2").unwrap();
    let lease = part.export(&Request::pin()).unwrap();
    drop((view, part));
    let error = sender.loan(&DType::U8, &[1], NOW).unwrap_err();
    assert!(error.is_exhausted() && error.to_string().contains("views of 1"), "{error}");
    std::thread::spawn(move || drop(lease)).join().unwrap();
    assert_eq!(channel.usage(), [1, 0, 0, 0]);
    assert!(sender.loan(&DType::U8, &[1], NOW).is_ok());
}

#[test]
fn a_view_outlives_its_receiver_and_the_channel() {
    let channel = channel(1, 800);
    let (mut sender, mut receiver) = (channel.sender().unwrap(), channel.receiver().unwrap());
    sender.send_copy(&numbers(&[5, 6]), NOW).unwrap();
    let view = receiver.receive(NOW).unwrap().unwrap();
    drop((channel, receiver));
    assert!(sender.loan(&DType::U8, &[1], NOW).unwrap_err().is_exhausted(), "its slot is not free");
    assert!(view.equals(&numbers(&[5, 6])).unwrap());
    drop(view);
    assert!(sender.loan(&DType::U8, &[1], NOW).is_ok());
}

#[test]
fn every_message_has_a_dtype_and_a_shape_of_its_own() {
    let channel = channel(3, 1 << 16);
    let (mut sender, mut receiver) = (channel.sender().unwrap(), channel.receiver().unwrap());
    let record = DType::packed_record([("id", DType::U32), ("at", DType::F64.swapped())]).unwrap();
    let dtypes = [DType::BF16, DType::F64, record, DType::I16.swapped(), DType::BOOL, "S5".parse().unwrap()];
    for round in 0..20usize {
        for (kind, dtype) in dtypes.iter().enumerate() {
            let shape = [&[][..], &[0], &[3, 0, 2], &[4, 5], &[2; 8], &[1; 64]][(round + kind) % 6];
            let loan = sender.loan(dtype, shape, NOW).unwrap();
            let marks: Vec<u8> = (0..loan.array().nbytes()).map(|at| (at * 7 + round + kind) as u8).collect();
            loan.array().buffer().unwrap().0.share().unwrap().copy_from_slice(&marks).unwrap();
            loan.send().unwrap();
            let view = receiver.try_receive().unwrap().unwrap();
            assert_eq!((view.dtype(), view.shape(), bytes(&view)), (dtype, shape, marks));
        }
    }
}

#[test]
fn messages_go_in_column_major_order_too() {
    let channel = channel(1, 800);
    let (mut sender, mut receiver) = (channel.sender().unwrap(), channel.receiver().unwrap());
    let loan = sender.loan_in_order(&DType::I64, &[2, 3], Order::ColumnMajor, NOW).unwrap();
    assert_eq!(loan.array().strides(), [8, 16]);
    loan.send().unwrap();
    assert_eq!(receiver.try_receive().unwrap().unwrap().strides(), [8, 16]);
}

#[test]
fn a_loan_that_is_dropped_gives_its_slot_back() {
    let channel = channel(1, 8);
    let (mut sender, mut receiver) = (channel.sender().unwrap(), channel.receiver().unwrap());
    drop(sender.loan(&DType::U8, &[8], NOW).unwrap());
    assert_eq!((channel.usage(), channel.sent()), ([1, 0, 0, 0], 0));
    let loan = sender.loan(&DType::U8, &[8], NOW).unwrap();
    drop(sender);
    assert_eq!(channel.senders(), 1, "the loan is still out");
    loan.send().unwrap();
    assert_eq!(channel.senders(), 0);
    assert!(receiver.try_receive().unwrap().is_some());
}

#[test]
fn an_array_that_something_else_can_still_write_is_not_sent() {
    let channel = channel(1, 8);
    let (mut sender, mut receiver) = (channel.sender().unwrap(), channel.receiver().unwrap());
    let loan = sender.loan(&DType::U8, &[8], NOW).unwrap();
    let part = loan.array().at("2:").unwrap();
    let refused = loan.send().unwrap_err();
    assert!(refused.error.is_conflict(), "{refused}");
    let lease = part.buffer().unwrap().0.share().unwrap();
    drop(part);
    let refused = refused.value.send().unwrap_err();
    assert!(refused.error.is_conflict(), "{refused}");
    assert!(receiver.try_receive().unwrap().is_none());
    drop(lease);
    refused.value.send().unwrap();
    assert!(receiver.try_receive().unwrap().is_some());
}

#[test]
fn what_does_not_fit_is_refused_with_both_numbers() {
    let channel = channel(1, 100);
    let mut sender = channel.sender().unwrap();
    let error = sender.loan(&DType::F64, &[13], NOW).unwrap_err();
    assert!(
        error.is_bounds() && error.to_string().contains("104") && error.to_string().contains("100"),
        "{error}"
    );
    assert!(sender.loan(&DType::F64, &[usize::MAX], NOW).unwrap_err().is_overflow());
    let unspelt = DType::packed_record([("x", DType::subarray(&[1 << 31], DType::U8).unwrap())]).unwrap();
    assert!(sender.loan(&unspelt, &[0], NOW).unwrap_err().is_unsupported());
    let wide =
        DType::packed_record((0..500).map(|field| (format!("field {field}"), DType::U8)).collect::<Vec<_>>());
    assert!(sender.loan(&wide.unwrap(), &[0], NOW).unwrap_err().is_unsupported());
    assert_eq!(channel.usage(), [1, 0, 0, 0]);
}

#[test]
fn a_channel_has_room_for_64_dtypes_and_20_members_of_each_kind() {
    let channel = channel(1, 100);
    let mut senders: Vec<_> = (0..20).map(|_| channel.sender().unwrap()).collect();
    assert!(channel.sender().unwrap_err().is_exhausted());
    let receivers: Vec<_> = (0..20).map(|_| channel.receiver().unwrap()).collect();
    assert!(channel.receiver().unwrap_err().is_exhausted());
    assert_eq!((channel.senders(), channel.receivers()), (20, 20));
    for width in 1..=64 {
        let dtype: DType = format!("S{width}").parse().unwrap();
        // Another sender finds what the first one wrote.
        for sender in &mut senders[..2] {
            sender.loan(&dtype, &[], NOW).unwrap();
        }
    }
    let error = senders[5].loan(&"S65".parse().unwrap(), &[], NOW).unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains("64"), "{error}");
    assert!(senders[5].loan(&"S64".parse().unwrap(), &[], NOW).is_ok());
    drop((senders, receivers));
    assert_eq!((channel.senders(), channel.receivers()), (0, 0));
}

#[test]
fn a_channel_travels_as_an_array() {
    let channel = channel(2, 800);
    let (ours, theirs) = UnixStream::pair().unwrap();
    shm::send(&ours, &shm::export(&channel.to_array().unwrap(), &Request::share()).unwrap()).unwrap();
    let there = Channel::open(&shm::receive(&theirs).unwrap().unwrap()).unwrap();
    let mut receiver = there.receiver().unwrap();
    channel.sender().unwrap().send_copy(&numbers(&[1, 2]), NOW).unwrap();
    let view = receiver.try_receive().unwrap().unwrap();
    assert!(view.equals(&numbers(&[1, 2])).unwrap());
    assert!(view.export(&Request::share()).is_err());
}

#[test]
fn memory_that_is_no_channel_is_refused() {
    let other = numbers(&[0; 100]).to_shared(Order::RowMajor).unwrap();
    assert!(Channel::open(&other).unwrap_err().is_malformed());
    assert!(Channel::open(&numbers(&[0; 10])).unwrap_err().is_unsupported());
    let few = numbers(&[0]).to_shared(Order::RowMajor).unwrap();
    assert!(Channel::open(&few).unwrap_err().is_malformed());
    for options in [ChannelOptions::new(0, 1), ChannelOptions::new(1025, 1)] {
        assert!(Channel::new(&options).unwrap_err().is_value());
    }
    assert!(Channel::new(&ChannelOptions::new(2, usize::MAX)).unwrap_err().is_overflow());
    let empty = Channel::new(&ChannelOptions::new(1, 0).delivery(Delivery::One)).unwrap();
    empty.sender().unwrap().send_copy(&numbers(&[]), NOW).unwrap();
    assert_eq!(empty.receiver().unwrap().try_receive().unwrap().unwrap().shape(), [0]);
}

#[test]
fn a_part_of_a_channels_array_is_refused_with_the_sizes() {
    let array = channel(2, 800).to_array().unwrap();
    let whole = array.nbytes();
    let part = array.slice(crossdock::s![..whole / 2]).unwrap();
    let error = Channel::open(&part).unwrap_err();
    assert!(error.is_malformed(), "{error}");
    for size in [whole / 2, whole] {
        assert!(error.to_string().contains(&size.to_string()), "{error}");
    }
}

#[test]
fn shared_memory_that_is_in_use_here_says_so() {
    let pool = crossdock::pool::Pool::shareable(1 << 20, std::time::Duration::ZERO).unwrap();
    let array: DArray = Array::<u8, 1>::from_buffer(pool.zeroed(100).unwrap(), [100]).unwrap().into();
    let buffer = array.buffer().unwrap().0;
    let _bytes = buffer.read().unwrap();
    let error = Channel::open(&array).unwrap_err();
    assert!(error.is_conflict(), "{error}");
}

#[test]
fn a_read_only_array_does_not_open_a_channel() {
    let channel = Channel::new(&ChannelOptions::new(1, 8)).unwrap();
    let array = channel.to_array().unwrap();
    assert!(Channel::open(&array.clone().into_readonly()).unwrap_err().is_read_only());
    assert!(Channel::open(&array).is_ok());
}

#[test]
fn a_closed_channel_is_received_to_its_end() {
    let channel = channel(4, 80);
    let (mut sender, mut receiver) = (channel.sender().unwrap(), channel.receiver().unwrap());
    let loan = sender.loan(&DType::U8, &[1], NOW).unwrap();
    sender.send_copy(&numbers(&[1]), NOW).unwrap();
    channel.close();
    assert!(sender.loan(&DType::U8, &[1], None).unwrap_err().is_closed());
    assert!(loan.send().unwrap_err().error.is_closed());
    assert!(receiver.receive(None).unwrap().is_some());
    assert!(receiver.receive(None).unwrap_err().is_closed());
    assert!(receiver.try_receive().unwrap_err().is_closed());
    assert_eq!(channel.usage()[0], 4);
}

#[test]
fn sleepers_are_woken() {
    let channel = channel(1, 80);
    let (mut sender, mut receiver) = (channel.sender().unwrap(), channel.receiver().unwrap());
    std::thread::scope(|scope| {
        let receiving = scope.spawn(move || {
            let mut sum = 0;
            while let Ok(view) = receiver.receive(None) {
                sum += view.unwrap().get(&[0]).unwrap().as_i64().unwrap();
            }
            sum
        });
        for value in 1..=1000 {
            sender.send_copy(&numbers(&[value]), None).unwrap();
        }
        channel.close();
        assert_eq!(receiving.join().unwrap(), 500_500);
    });
}
