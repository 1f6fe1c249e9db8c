//! Messages that a peer may send through a socket: arbitrary bytes, with none to three descriptors
//! of any kind. The result is an error, or an array that lies within the memory of the descriptor;
//! and every descriptor is closed.
//!
//! The first byte chooses the descriptors, and whether the remaining bytes are a whole message or
//! only its text.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::LazyLock;

use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::bindings::description::{Description, Frame};
use crossdock::bindings::shm;
use crossdock::layout::{Layout, Order};
use crossdock::view::Request;
use crossdock::{Array, DArray};
use crate::onward;
use crossdock_testkit::held::send_beside;

const NBYTES: usize = 5000;

/// Arrays with more elements, or more bytes, are not walked: elements of size 0 can be of any
/// number.
const FEW: usize = 1 << 10;

/// The kinds of descriptors, and their number.
const COUNTS: [usize; 8] = [1, 1, 1, 1, 1, 0, 2, 3];

static DESCRIPTORS: LazyLock<[OwnedFd; 4]> = LazyLock::new(|| {
    let bytes: Vec<u8> = (0..NBYTES).map(|at| (at * 7 % 251) as u8).collect();
    let array = DArray::from(Array::from_vec(bytes, [NBYTES]).expect("few bytes"));
    let shared = || array.to_shared(Order::RowMajor).expect("few bytes of shared memory");
    let open = |array: &DArray, request| {
        let lent = shm::export(array, &request).expect("shared memory has a descriptor");
        lent.fd().try_clone_to_owned().expect("few descriptors")
    };
    let sealed = shared().into_sealed().expect("the only handle");
    let file = File::open("/dev/zero").expect("a device that is everywhere");
    [
        open(&shared(), Request::share()),
        open(&shared(), Request::pin()),
        open(&sealed, Request::read()),
        file.into(),
    ]
});

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let fd = DESCRIPTORS[usize::from(choice >> 3 & 3)].as_fd();
    let fds = vec![fd; COUNTS[usize::from(choice & 7)]];
    let framed = [b"XDOCKSHM\x01\0\0\0", &(bytes.len() as u32).to_le_bytes()[..], bytes].concat();
    let bytes = if choice & 0x20 == 0 { bytes } else { &framed };
    let before = next_descriptor();
    let (ours, theirs) = UnixStream::pair().expect("two descriptors");
    if !bytes.is_empty() {
        let sent = send_beside(&theirs, bytes, &fds).expect("a socket holds few bytes");
        assert_eq!(sent, bytes.len());
    }
    drop(theirs);
    // A message, possibly followed by more bytes.
    for _ in 0..3 {
        match shm::receive(&ours) {
            Ok(None) => break,
            Ok(Some(array)) => use_it(&array),
            Err(error) => {
                assert!(!error.to_string().is_empty() && !error.is_out_of_memory(), "{error:?}");
                break;
            }
        }
    }
    drop(ours);
    assert_eq!(next_descriptor(), before, "a descriptor is left open");
    in_a_frame(bytes);
});

/// The same text with bytes that came without a descriptor, as in a pickle.
fn in_a_frame(text: &[u8]) {
    let Ok(Ok(described)) = str::from_utf8(text).map(str::parse::<Description>) else { return };
    let bytes = Buffer::zeroed(NBYTES).expect("few bytes");
    let (begin, writable) = (bytes.address(), described.is_writable());
    let Ok(array) = Frame::from_parts(bytes, described).into_array() else { return };
    let (buffer, _) = array.buffer().expect("few handles");
    assert!(buffer.address() >= begin && buffer.address() + buffer.nbytes() <= begin + NBYTES, "{array:?}");
    assert_eq!(array.is_readonly(), !writable);
    if array.len() <= FEW && array.nbytes() <= FEW {
        let again = Frame::new(&array).and_then(Frame::into_array).expect("few bytes");
        assert!(again.equals(&array).expect("no writer") && again.is_readonly() == array.is_readonly());
    }
}

fn use_it(array: &DArray) {
    let (buffer, offset) = array.buffer().expect("few handles");
    let start = buffer.descriptor().expect("of shared memory").1 as usize;
    assert!(offset <= buffer.nbytes() && start + buffer.nbytes() <= NBYTES, "{array:?}");
    let bytes = buffer.pin().expect("no writer").to_vec();
    assert!(bytes.iter().enumerate().all(|(at, &byte)| byte == ((start + at) * 7 % 251) as u8));
    let layout = Layout::contiguous(&[buffer.nbytes()], 1, Order::RowMajor).expect("few bytes");
    let again = DArray::from_buffer(buffer, DType::U8, layout, 0).expect("its own bytes");
    assert_eq!(again.export(&Request::pin()).expect("no writer").to_bytes().expect("few bytes"), bytes);
    if array.len() <= FEW && array.nbytes() <= FEW {
        let bytes = array.export(&Request::pin()).expect("no Write lease").to_bytes().expect("few bytes");
        onward(array, &bytes);
    }
    // Exports to the next process.
    let lent = shm::export(array, &Request::pin()).expect("shared memory has a descriptor");
    let (ours, theirs) = UnixStream::pair().expect("two descriptors");
    match shm::send(&ours, &lent) {
        Ok(()) => {
            let relayed = shm::receive(&theirs).expect("what was sent is legal").expect("a message");
            assert_eq!((relayed.dtype(), relayed.shape()), (array.dtype(), array.shape()));
        }
        // Some dtypes can be read but not printed: a record larger than NumPy's limit.
        Err(error) => assert!(error.is_unsupported(), "{error:?}"),
    }
}

/// The number that the next descriptor will get: the lowest free one.
fn next_descriptor() -> i32 {
    File::open("/dev/null").expect("a device that is everywhere").as_raw_fd()
}
