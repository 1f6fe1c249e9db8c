//! Tables over a channel: read in the slot, which stays taken while a column lives.

use crossdock::Array;
use crossdock::bindings::channel::table;
use crossdock::buffer::Buffer;
use crossdock::memory::{Birth, copied_bytes_here};
use crossdock::table::{Batches, Checks, Column, ColumnParts, ColumnType, RecordBatch, Schema};

use crate::basics::{NOW, channel, numbers};

fn batch(from: i64) -> RecordBatch {
    let count = Column::from_array(Array::from_vec((from..from + 4).collect(), [4]).unwrap()).unwrap();
    let buffers = vec![
        Buffer::from_vec(vec![0i32, 3, 3, 6, 11]).unwrap(),
        Buffer::from_static(b"onetwothree").unwrap(),
    ];
    let validity = Some(Buffer::from_static(&[0b1101u8]).unwrap());
    let parts = ColumnParts { len: 4, buffers, validity, ..ColumnParts::default() };
    let text = Column::new(ColumnType::utf8(), parts, Checks::Full).unwrap();
    RecordBatch::from_columns([("n", count), ("text", text)]).unwrap()
}

#[test]
fn a_table_is_received_in_its_slot_with_no_byte_copied() {
    let channel = channel(2, 1 << 14);
    let (mut sender, mut receiver) = (channel.sender().unwrap(), channel.receiver().unwrap());
    sender.send_table(&mut Batches::from_iter([batch(0), batch(10)]), NOW).unwrap();
    sender.send_copy(&numbers(&[1, 2]), NOW).unwrap();
    let before = copied_bytes_here();
    let received = receiver.receive_table(NOW).unwrap().unwrap();
    assert_eq!((received.len(), received.rows().unwrap()), (2, 8));
    assert_eq!(received.batch(1).unwrap().to_string(), batch(10).to_string());
    assert_eq!(received.schema(), batch(0).schema());
    let slot = received.buffer().address()..received.buffer().address() + received.buffer().nbytes();
    for column in received.batch(0).unwrap().columns() {
        for buffer in column.unwrap().buffers() {
            assert!(slot.contains(&buffer.address()) && buffer.address() % 64 == slot.start % 64);
            assert!(buffer.read().is_err() && buffer.pin().is_ok());
        }
    }
    let column = received.batch(0).unwrap().column(0).unwrap();
    assert_eq!(column.array().unwrap().birth(), Birth::Aliased);
    assert_eq!(copied_bytes_here(), before);
    // A message that is an array is none.
    let error = receiver.receive_table(NOW).unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains("an array of int64 [2]"), "{error}");
    assert!(receiver.receive_table(NOW).unwrap().is_none());
}

#[test]
fn a_column_keeps_the_slot_of_its_table() {
    let channel = channel(1, 1 << 14);
    let (mut sender, mut receiver) = (channel.sender().unwrap(), channel.receiver().unwrap());
    sender.send_table(&mut Batches::from_iter([batch(5)]), NOW).unwrap();
    let column = receiver.receive_table(NOW).unwrap().unwrap().batch(0).unwrap().column(0).unwrap();
    let refused = sender.send_table(&mut Batches::from_iter([batch(0)]), NOW).unwrap_err();
    assert!(refused.is_exhausted(), "{refused}");
    assert_eq!(column.array().unwrap().get(&[3]).unwrap().as_i64(), Some(8));
    drop(column);
    sender.send_table(&mut Batches::from_iter([batch(0)]), NOW).unwrap();
}

#[test]
fn a_table_that_does_not_fit_or_breaks_its_rules_gives_the_slot_back() {
    let channel = channel(1, 1000);
    let (mut sender, mut receiver) = (channel.sender().unwrap(), channel.receiver().unwrap());
    let many = Batches::from_iter((0..10).map(batch));
    let error = sender.send_table(&mut { many }, NOW).unwrap_err();
    assert!(error.is_bounds() && error.to_string().contains("a slot, which has 1000 bytes"), "{error}");
    let lies = ColumnParts {
        len: 2,
        buffers: vec![Buffer::from_vec(vec![0i32, 9, 3]).unwrap(), Buffer::from_static(b"one").unwrap()],
        ..ColumnParts::default()
    };
    let lies = Column::new(ColumnType::utf8(), lies, Checks::Shape).unwrap();
    let lies = RecordBatch::from_columns([("lies", lies)]).unwrap();
    assert!(sender.send_table(&mut Batches::from_iter([lies]), NOW).is_err());
    sender
        .send_table(&mut Batches::from_iter([RecordBatch::new(Schema::default(), [], 7).unwrap()]), NOW)
        .unwrap();
    assert_eq!(receiver.receive_table(NOW).unwrap().unwrap().rows().unwrap(), 7);
}

#[test]
fn what_a_hostile_sender_marks_as_a_table_is_an_error() {
    let channel = channel(2, 4096);
    let (mut sender, mut receiver) = (channel.sender().unwrap(), channel.receiver().unwrap());
    sender.send_table(&mut Batches::from_iter([batch(0)]), NOW).unwrap();
    let good = receiver.receive(NOW).unwrap().unwrap();
    let dtype = good.dtype().clone();
    assert_eq!(table(&good).unwrap().unwrap().rows().unwrap(), 4);
    assert!(table(&good.at("newaxis").unwrap()).unwrap().is_none());
    assert!(table(&numbers(&[1])).unwrap().is_none());
    drop(good);
    for byte in [0u8, 1, 0x7f, 0xff] {
        let loan = sender.loan(&dtype, &[500], NOW).unwrap();
        let (buffer, _) = loan.array().buffer().unwrap();
        buffer.share().unwrap().copy_from_slice(&[byte; 500]).unwrap();
        drop(buffer);
        loan.send().unwrap();
        assert!(receiver.receive_table(NOW).is_err(), "{byte}");
    }
}
