//! A channel whose memory another process writes as the input says, between and among the steps of
//! a sender and a receiver. Each step returns an error or a value; arrays lie within their slot.
//!
//! The first byte chooses the channel. Then each step is a byte and its operands.

use std::time::Duration;

use crossdock::DArray;
use crossdock::element::DType;
use crossdock::exchange::protocol::channel::{Channel, ChannelOptions, Delivery};

const SLOTS: usize = 3;
const SLOT_NBYTES: usize = 200;

/// The words that a channel of so many slots uses: bells and members, records, and three dtypes.
const WORDS: usize = 128 + SLOTS * 144 + 3 * 512;

const NOW: Option<Duration> = Some(Duration::ZERO);

struct Steps<'a>(&'a [u8]);

impl Steps<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn number<const N: usize>(&mut self) -> Option<u64> {
        let mut number = 0;
        for _ in 0..N {
            number = number << 8 | u64::from(self.byte()?);
        }
        Some(number)
    }
}

fuzz_target!(|data: &[u8]| {
    run_steps(Steps(data));
});

fn run_steps(mut steps: Steps<'_>) -> Option<()> {
    let choice = steps.byte()?;
    let delivery = [Delivery::Each, Delivery::One, Delivery::Latest][usize::from(choice % 3)];
    let options = ChannelOptions::new(SLOTS, SLOT_NBYTES).delivery(delivery).drops_oldest(choice & 0x80 != 0);
    let channel = Channel::new(&options).expect("little memory");
    let memory = channel.to_array().expect("little memory").buffer().expect("few handles").0;
    let other = memory.share().expect("shared memory is aliased");
    let mut sender = channel.sender().expect("the first");
    let mut receiver = channel.receiver().expect("the first");
    let (mut loans, mut views) = (vec![], vec![]);
    loop {
        let step = steps.byte()?;
        match step & 7 {
            0 => {
                let at = steps.number::<2>()? as usize % WORDS * 8;
                other.store(at, steps.number::<8>()?).expect("in the control part");
            }
            1 => {
                let at = steps.number::<2>()? as usize % WORDS * 8;
                let word = other.load::<u64>(at).expect("in the control part");
                other.store(at, word ^ 1 << (step >> 3) << (steps.byte()? & 32)).expect("in the control part");
            }
            2 | 3 => {
                let dtype = ["uint8", ">f8", "bfloat16", "[('a', '<u2'), ('b', 'S3')]"][usize::from(step >> 6)];
                let dtype: DType = dtype.parse().expect("a dtype");
                let shape: Vec<usize> = (0..step >> 3 & 7).map_while(|_| steps.byte()).map(usize::from).collect();
                match sender.loan(&dtype, &shape, NOW) {
                    Ok(loan) => {
                        check(loan.array(), false);
                        loans.push(loan);
                    }
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
            4 => {
                if let Some(loan) = loans.pop().filter(|_| step & 0x80 == 0)
                    && let Err(refused) = loan.send() {
                        assert!(!refused.to_string().is_empty());
                    }
            }
            5 => match if step & 0x80 == 0 { receiver.try_receive() } else { receiver.receive(NOW) } {
                Ok(Some(view)) => {
                    check(&view, true);
                    views.push(view);
                }
                Ok(None) => {}
                Err(error) => assert!(!error.to_string().is_empty()),
            },
            6 => drop(views.pop()),
            _ => match step >> 3 & 3 {
                0 => receiver.reap(),
                1 => channel.close(),
                2 => match (channel.sender(), channel.receiver()) {
                    (Ok(new_sender), Ok(new_receiver)) => (sender, receiver) = (new_sender, new_receiver),
                    (sender, receiver) => {
                        for error in [sender.err(), receiver.err()].into_iter().flatten() {
                            assert!(error.is_exhausted(), "{error}");
                        }
                    }
                },
                _ => match Channel::open(&channel.to_array().expect("the memory is there")) {
                    Ok(again) => {
                        let _ = (again.usage(), again.senders(), again.receivers(), again.sent());
                    }
                    Err(error) => assert!(!error.to_string().is_empty()),
                },
            },
        }
    }
}

fn check(array: &DArray, is_view: bool) {
    let (buffer, offset) = array.buffer().expect("few handles");
    assert!(buffer.nbytes() <= SLOT_NBYTES && offset <= buffer.nbytes(), "{array:?}");
    assert_eq!(array.is_readonly(), is_view);
    assert_eq!(buffer.pin().expect("no writer").to_vec().len(), buffer.nbytes());
    if !is_view {
        let bytes: Vec<u8> = (0..buffer.nbytes()).map(|at| at as u8).collect();
        buffer.share().expect("aliased").copy_from_slice(&bytes).expect("as many bytes");
    }
}
