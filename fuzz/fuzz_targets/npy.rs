//! Arbitrary bytes as an `.npy` file: an error, or an array whose elements all lie within the
//! bytes, and which is equal after it is written and read again.

use crossdock::DArray;
use crossdock::bindings::files::NpyHeader;
use crossdock::buffer::Buffer;
use crossdock::exchange::files::npy;
use crate::{bytes_of, onward};

/// Arrays with more elements, or more bytes, are not walked: elements of size 0 can be of any
/// number.
const FEW: usize = 1 << 12;

fuzz_target!(|bytes: &[u8]| {
    let header = NpyHeader::parse(bytes);
    let buffer = Buffer::from_vec(bytes.to_vec()).expect("memory for a header");
    let (start, end) = (buffer.as_ptr().addr(), buffer.as_ptr().addr() + buffer.nbytes());
    let array = match npy::from_buffer(buffer) {
        Ok(array) => array,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            // Data may be missing, or the header itself may be invalid.
            assert!(header.is_err() || error.is_malformed(), "{error:?}");
            return;
        }
    };
    let header = header.expect("an array has a header");
    assert_eq!((array.dtype(), array.shape()), (header.dtype(), header.shape()));
    assert_inside(&array, start, end);
    if array.len() <= FEW && array.nbytes() <= FEW {
        walk(&array);
        write_and_read(&array);
        onward(&array, &bytes_of(&array));
    }
    let names = array.dtype().as_record().map_or(&[][..], |record| record.fields());
    for field in names.iter().take(16) {
        let field = array.field(field.name()).expect("a field of the dtype");
        assert_inside(&field, start, end);
    }
});

fn assert_inside(array: &DArray, start: usize, end: usize) {
    let (buffer, offset) = array.buffer().expect("few handles");
    let first = buffer.as_ptr().addr();
    assert!(start <= first && first + buffer.nbytes() <= end, "{array:?} leaves {start:#x}..{end:#x}");
    assert!(offset <= buffer.nbytes());
}

fn walk(array: &DArray) {
    let mut index = vec![0; array.rank()];
    for _ in 0..array.len() {
        // Not every code point is a character.
        if let Ok(value) = array.get(&index) {
            assert!(!value.display(array.dtype()).to_string().is_empty());
        }
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < array.shape()[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    assert!(array.get(&vec![usize::MAX; array.rank() + 1]).is_err());
}

fn write_and_read(array: &DArray) {
    let mut file = vec![];
    if let Err(error) = npy::write(&mut file, array) {
        // Some dtypes can be read but not written: NumPy has no spelling for their names and
        // fields, at least in a list.
        assert!(error.is_unsupported(), "{error:?}");
        return;
    }
    let again =
        npy::from_buffer(Buffer::from_vec(file).expect("few bytes")).expect("what was written can be read");
    assert_eq!(bytes_of(&again), bytes_of(array));
    if array.dtype().as_subarray().is_none() {
        assert_eq!((again.dtype(), again.shape()), (array.dtype(), array.shape()));
    }
}
