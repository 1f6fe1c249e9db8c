//! Arbitrary text as the description of a raw file: an error, or a description that is the same
//! after it is written and read again. Over some bytes it makes an array within them, or an error.

use crossdock::buffer::Buffer;
use crossdock::exchange::files::raw::{self, Description};
use crossdock::exchange::files::{Format, SaveOptions};
use crossdock::layout::Order;

const NBYTES: usize = 1000;

/// Larger arrays are not looped over: elements of size 0 can be of any number.
const FEW: usize = 1 << 10;

fuzz_target!(|text: &str| {
    let description = match text.parse::<Description>() {
        Ok(description) => description,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let written = description.to_string();
    let again = written.parse::<Description>();
    assert_eq!(again.as_ref().ok(), Some(&description), "{written}: {again:?}");

    let bytes: Vec<u8> = (0..NBYTES).map(|at| (at * 7 % 251) as u8).collect();
    let buffer = Buffer::from_vec(bytes.clone()).expect("few bytes");
    let (start, end) = (buffer.address(), buffer.address() + NBYTES);
    let array = match raw::from_buffer(buffer, &description) {
        Ok(array) => array,
        Err(error) => return assert!(error.to_string().contains("as "), "{error:?}"),
    };
    let (part, offset) = array.buffer().expect("few handles");
    assert!(start <= part.address() && part.address() + part.nbytes() <= end, "{array:?}");
    assert!(offset <= part.nbytes());
    if array.len() > FEW || array.nbytes() > FEW {
        return;
    }
    for order in [Order::RowMajor, Order::ColumnMajor] {
        let mut file = Vec::new();
        let options = SaveOptions::new().format(Format::Raw).order(order);
        options.write(&mut file, &[("", array.clone())]).expect("a vector takes everything");
        assert_eq!(file.len(), array.nbytes());
        let described = Description::new(array.dtype().clone(), array.shape()).order(order);
        let file = Buffer::from_vec(file).expect("few bytes");
        let again = raw::from_buffer(file, &described).expect("what was written");
        assert_eq!((again.dtype(), again.shape()), (array.dtype(), array.shape()));
        let copies = [&again, &array].map(|array| {
            let copy = array.to_order(Order::RowMajor).expect("few bytes");
            copy.buffer().expect("one more handle").0.pin().expect("no Write lease").to_vec()
        });
        assert_eq!(copies[0], copies[1]);
    }
});
