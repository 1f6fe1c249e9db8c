//! The member in Rust of the test of all languages, `bindings/ruby/test/test_together.rb`, which
//! says what a member does. It is here because building it also builds the C library.

use std::os::fd::{FromRawFd, OwnedFd};
use std::time::Duration;

use crossdock::element::DType;
use crossdock::exchange::protocol::channel::Channel;
use crossdock::exchange::protocol::hold;
use crossdock::table::ColumnValue;
use crossdock::{DArray, Result};

const SENDERS: usize = 4;

fn number(array: &DArray, at: usize) -> i64 {
    array.get(&[at]).ok().and_then(|value| value.as_i64()).expect("an integer")
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, label, fd, _, id, count] = &arguments[..] else { panic!("SET FD TEXT ID COUNT: {arguments:?}") };
    let (id, count): (i64, i64) = (id.parse().expect("a number"), count.parse().expect("a number"));
    let set = hold::connect(&label.parse()?)?;
    let squares = set.get("squares")?;
    assert!((0..100).all(|k| number(&squares, k) == (k * k) as i64), "the set has other values");
    assert!(squares.set(&[0], &1.into()).unwrap_err().is_read_only());
    let rows = set.table("rows")?.batch(0)?;
    let (k, name) = (rows.column_named("k")?.array()?, rows.column_named("name")?);
    assert!((0..10).all(|at| number(&k, at) == at as i64) && rows.len() == 10);
    assert!(name.to_string().contains("größe") && name.value(3)? == ColumnValue::Null);
    assert!(k.set(&[0], &1.into()).unwrap_err().is_read_only());

    // SAFETY: the process that started this one passed the descriptor for it alone.
    let fd = unsafe { OwnedFd::from_raw_fd(fd.parse().expect("a number")) };
    let channel = Channel::open_fd(fd)?;
    let (mut sender, mut receiver) = (channel.sender()?, channel.receiver()?);
    while channel.receivers() < SENDERS {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (mut sent, mut received) = (0, [0; SENDERS]);
    while sent < count || received != [count; SENDERS] {
        if sent < count {
            match sender.loan(&DType::I64, &[2 + (sent % 3) as usize], Some(Duration::ZERO)) {
                Ok(loan) => {
                    loan.array().fill(&sent.into())?;
                    loan.array().set(&[0], &id.into())?;
                    loan.send().map_err(|rejected| rejected.error)?;
                    sent += 1;
                }
                Err(error) if error.is_exhausted() => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(view) = receiver.receive(Some(Duration::from_millis(1)))? {
            let (from, last) = (number(&view, 0) as usize, view.shape()[0] - 1);
            assert_eq!((number(&view, last), last as i64), (received[from], 1 + received[from] % 3));
            assert!(view.set(&[1], &(-1).into()).unwrap_err().is_read_only());
            received[from] += 1;
        }
    }
    println!("rust {sent} {received:?} {}", receiver.missed());
    Ok(())
}
