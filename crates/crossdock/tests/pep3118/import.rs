//! A foreign description is imported if it is valid, and released in either case.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crossdock::bindings::pep3118::{Described, import, lend};
use crossdock::element::DType;
use crossdock::memory::{Birth, Protocols};
use crossdock::{Array, DArray, Result};

static NUMBERS: [u32; 6] = [1, 2, 3, 4, 5, 6];

fn described() -> Described<'static> {
    Described {
        buf: NUMBERS.as_ptr().cast_mut().cast(),
        len: 24,
        itemsize: 4,
        format: Some(b"I"),
        shape: Some(&[2, 3]),
        strides: Some(&[12, 4]),
        suboffsets: None,
    }
}

/// Passes the array to `look`; returns the number of releases after it is gone.
fn take<T>(described: Described<'_>, look: impl FnOnce(&DArray) -> T) -> Result<T> {
    let released = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&released);
    let release = move || {
        counter.fetch_add(1, Relaxed);
    };
    // SAFETY: `look` only accesses elements if the test's numbers stay within a live block, which
    // no code writes.
    let array = unsafe { import(&described, true, Birth::Constant, release) };
    let looked = array.map(|array| {
        assert_eq!(released.load(Relaxed), 0);
        assert!(array.is_readonly());
        look(&array)
    });
    assert_eq!(released.load(Relaxed), 1);
    looked
}

fn values(array: &DArray) -> Vec<u64> {
    let all = array.reshape_with(
        &[array.len()],
        crossdock::layout::Order::RowMajor,
        crossdock::array::CopyPolicy::IfNeeded,
    );
    let all = all.unwrap();
    (0..all.len()).map(|index| all.get(&[index]).unwrap().as_u64().unwrap()).collect()
}

#[test]
fn a_buffer_is_taken_in_place() {
    let address = take(described(), |array| {
        assert_eq!((array.shape(), array.strides(), array.dtype()), (&[2, 3][..], &[12, 4][..], &DType::U32));
        assert_eq!(values(array), [1, 2, 3, 4, 5, 6]);
        array.as_ptr().addr()
    });
    assert_eq!(address.unwrap(), NUMBERS.as_ptr().addr());
    let last = described().buf.wrapping_add(20);
    let backwards = Described { buf: last, strides: Some(&[-12, -4]), ..described() };
    assert_eq!(take(backwards, values).unwrap(), [6, 5, 4, 3, 2, 1]);
    assert_eq!(take(Described { strides: None, ..described() }, values).unwrap(), [1, 2, 3, 4, 5, 6]);
    let flat = Described { shape: None, strides: None, ..described() };
    assert_eq!(take(flat, |array| array.shape().to_vec()).unwrap(), [6]);
    let repeated = Described { strides: Some(&[0, 4]), ..described() };
    assert_eq!(take(repeated, values).unwrap(), [1, 2, 3, 1, 2, 3]);
    let empty = Described {
        buf: std::ptr::null_mut(),
        len: 0,
        shape: Some(&[2, 0]),
        strides: Some(&[7, -9]),
        ..described()
    };
    assert_eq!(take(empty, |array| array.shape().to_vec()).unwrap(), [2, 0]);
    let single = Described { len: 4, shape: Some(&[]), strides: Some(&[]), ..described() };
    assert_eq!(take(single, |array| array.get(&[]).unwrap().as_u64()).unwrap(), Some(1));
}

#[test]
fn rows_behind_pointers_are_followed() {
    let table = [NUMBERS[3..].as_ptr(), NUMBERS[..].as_ptr()];
    let described = Described {
        buf: table.as_ptr().cast_mut().cast(),
        strides: Some(&[8, 4]),
        suboffsets: Some(&[0, -1]),
        ..described()
    };
    assert_eq!(take(described, values).unwrap(), [4, 5, 6, 1, 2, 3]);
    let direct = Described { suboffsets: Some(&[-1, -1]), ..self::described() };
    assert_eq!(take(direct, values).unwrap(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_format_that_lies_about_its_size_makes_opaque_bytes() {
    let dtype = |format: Option<&'static [u8]>| {
        take(Described { format, ..described() }, |array| array.dtype().clone())
    };
    assert_eq!(dtype(Some(b"<f")).unwrap().to_string(), "float32");
    assert_eq!(dtype(Some(b"B")).unwrap().to_string(), "V4");
    assert_eq!(dtype(Some(b"T{<h:a:<i:b:}")).unwrap().to_string(), "V4");
    assert_eq!(dtype(None).unwrap().to_string(), "V4");
    assert!(dtype(Some(b"O")).unwrap_err().is_unsupported());
    assert!(dtype(Some(b"&<i")).unwrap_err().is_unsupported());
    assert!(dtype(Some(b"what?")).unwrap_err().is_malformed());
    let bytes = Described { format: None, itemsize: 1, len: 24, shape: None, strides: None, ..described() };
    assert_eq!(take(bytes, |array| array.dtype().clone()).unwrap(), DType::U8);
}

#[test]
fn what_contradicts_itself_is_refused() {
    let lies = [
        ("items of fewer than no bytes", Described { itemsize: -4, ..described() }),
        ("fewer bytes", Described { len: 20, ..described() }),
        ("more bytes", Described { len: 28, ..described() }),
        ("bytes below none", Described { len: -24, ..described() }),
        ("a length below none", Described { shape: Some(&[2, -3]), ..described() }),
        ("no address", Described { buf: std::ptr::null_mut(), ..described() }),
        ("too few strides", Described { strides: Some(&[4]), ..described() }),
        ("too many bytes", Described { shape: Some(&[isize::MAX, 4]), strides: None, ..described() }),
        ("no room for the strides", Described { strides: Some(&[isize::MAX, 4]), ..described() }),
        (
            "below the first address",
            Described { buf: std::ptr::without_provenance_mut(8), strides: Some(&[-12, 4]), ..described() },
        ),
        (
            "above the last",
            Described { buf: std::ptr::without_provenance_mut(usize::MAX - 8), ..described() },
        ),
        ("too many axes", Described { shape: Some(&[1; 65]), strides: None, len: 4, ..described() }),
    ];
    for (name, lie) in lies {
        let error = take(lie, |_| ()).expect_err(name);
        let kinds = [error.is_malformed(), error.is_overflow(), error.is_unsupported()];
        assert!(kinds.contains(&true) && error.to_string().contains("importing a buffer"), "{name}: {error}");
    }
}

#[test]
fn lending_keeps_others_from_relying_on_constancy() {
    let array = Array::from_vec(vec![1u8, 2, 3], [3]).unwrap();
    let lease = lend(&array.clone().into()).unwrap();
    let another = lend(&array.clone().into()).unwrap();
    assert!(!lease.is_readonly() && array.exported().contains(Protocols::PEP3118));
    assert!(array.read().unwrap_err().is_conflict() && array.write().unwrap_err().is_conflict());
    drop((lease, another));
    let reader = array.read().unwrap();
    assert!(lend(&array.clone().into()).err().unwrap().is_conflict());
    let beside = lend(&DArray::from(array.clone()).into_readonly()).unwrap();
    assert!(beside.is_readonly() && reader[[1]] == 2);
}
