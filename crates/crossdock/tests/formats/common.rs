//! Helpers of these tests.

use std::path::PathBuf;

use crossdock::buffer::Buffer;
use crossdock::layout::{Layout, Order};
use crossdock::{DArray, Error};

/// A folder for one test, which is deleted after it.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("crossdock-formats-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_dir_all(&self.0);
    }
}

/// Every element as text, one by one.
pub(crate) fn values(array: &DArray) -> Vec<String> {
    let indices = array.shape().iter().fold(vec![vec![]], |all: Vec<Vec<usize>>, &len| {
        all.iter().flat_map(|index| (0..len).map(move |i| [&index[..], &[i]].concat())).collect()
    });
    indices.iter().map(|index| array.get(index).unwrap().display(array.dtype()).to_string()).collect()
}

#[track_caller]
pub(crate) fn assert_same(got: &DArray, wanted: &DArray) {
    assert_eq!((got.dtype(), got.shape()), (wanted.dtype(), wanted.shape()));
    assert_eq!(values(got), values(wanted));
}

/// Numbers from 0 on, of any dtype, as bytes of a pattern without a period of 8.
pub(crate) fn pattern(dtype: &str, shape: &[usize], order: Order) -> DArray {
    let dtype: crossdock::element::DType = dtype.parse().unwrap();
    let layout = Layout::contiguous(shape, dtype.itemsize(), order).unwrap();
    let bytes: Vec<u8> = (0..layout.nbytes()).map(|n| (n * 37 % 61) as u8).collect();
    DArray::from_buffer(Buffer::from_vec(bytes).unwrap(), dtype, layout, 0).unwrap()
}

/// 0, 1, 2, …
pub(crate) fn ramp<const D: usize>(shape: [usize; D]) -> DArray {
    let len = shape.iter().product();
    DArray::from_vec((0..len).map(|n| n as u8).collect(), &shape).unwrap()
}

pub(crate) fn buffer(bytes: &[u8]) -> Buffer {
    Buffer::from_vec(bytes.to_vec()).unwrap()
}

/// Asserts that the text is one sentence in lower case with these words.
#[track_caller]
pub(crate) fn assert_says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    assert!(!text.contains('\n') && !text.ends_with('.') && text.len() < 1000, "{text:?}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
}
