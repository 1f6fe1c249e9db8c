//! NumPy's array interface without Python: the names of types, imports of descriptions, and the
//! lease for consumers without a release.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crossdock::bindings::array_interface::abi::{NOTSWAPPED, PyArrayInterface, WRITEABLE};
use crossdock::bindings::array_interface::{Described, InterfaceType, import, lend, type_string};
use crossdock::element::{DType, Field, TimeUnit};
use crossdock::memory::{Birth, Protocols};
use crossdock::{Array, DArray, Result};

static NUMBERS: [u32; 6] = [1, 2, 3, 4, 5, 6];

fn described() -> Described<'static> {
    Described {
        typestr: if cfg!(target_endian = "little") { "<u4" } else { ">u4" },
        descr: None,
        name: None,
        data: NUMBERS.as_ptr().cast_mut().cast(),
        shape: &[2, 3],
        strides: None,
    }
}

/// Passes the array to `look`; asserts that the memory is released once.
fn take<T>(described: Described<'_>, look: impl FnOnce(&DArray) -> T) -> Result<T> {
    let released = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&released);
    let release = move || {
        counter.fetch_add(1, Relaxed);
    };
    // SAFETY: `look` only accesses elements if the test's numbers stay within a live block, which
    // no code writes; `release` frees nothing.
    let looked = unsafe { import(&described, true, Birth::Constant, release) }.map(|array| {
        assert!(array.is_readonly() && released.load(Relaxed) == 0);
        look(&array)
    });
    assert_eq!(released.load(Relaxed), 1);
    looked
}

fn dtype(described: Described<'_>) -> Result<String> {
    take(described, |array| array.dtype().to_string())
}

#[test]
fn what_is_described_is_taken_in_place() {
    let seen = |array: &DArray| (array.as_ptr().addr(), array.shape().to_vec(), array.strides().to_vec());
    let here = NUMBERS.as_ptr().addr();
    assert_eq!(take(described(), seen).unwrap(), (here, vec![2, 3], vec![12, 4]));
    let last = described().data.wrapping_add(20);
    let backwards = Described { data: last, shape: &[3], strides: Some(&[-8]), ..described() };
    let values = |array: &DArray| [0, 1, 2].map(|index| array.get(&[index]).unwrap().as_u64().unwrap());
    assert_eq!(take(backwards, values).unwrap(), [6, 4, 2]);
    let single = Described { shape: &[], ..described() };
    assert_eq!(take(single, |array| array.get(&[]).unwrap().as_u64()).unwrap(), Some(1));
    let empty =
        Described { data: std::ptr::null_mut(), shape: &[0, 5], strides: Some(&[9, 9]), ..described() };
    assert_eq!(take(empty, |array| array.len()).unwrap(), 0);
}

#[test]
fn what_contradicts_itself_is_refused() {
    for (described, word) in [
        (Described { shape: &[-2], ..described() }, "length -2"),
        (Described { strides: Some(&[4]), ..described() }, "1 strides for 2 axes"),
        (Described { data: std::ptr::null_mut(), ..described() }, "null"),
        (Described { typestr: "<u3", ..described() }, "u3"),
        (Described { typestr: "|V4", descr: Some("[('a', '<i8')]"), ..described() }, "8 bytes"),
        (Described { typestr: "|V4", descr: Some("[('a', "), ..described() }, ""),
    ] {
        let error = take(described, |_| ()).unwrap_err();
        assert!(error.is_malformed() && error.to_string().contains(word), "{error}");
    }
    let far = Described { data: std::ptr::without_provenance_mut(usize::MAX - 8), ..described() };
    assert!(take(far, |_| ()).unwrap_err().is_overflow());
    let huge = Described { shape: &[isize::MAX, isize::MAX], ..described() };
    assert!(take(huge, |_| ()).unwrap_err().is_overflow());
    assert!(take(Described { shape: &[1; 65], ..described() }, |_| ()).unwrap_err().is_unsupported());
    assert!(
        dtype(Described { typestr: "|O8", name: Some("float64"), ..described() })
            .unwrap_err()
            .is_unsupported()
    );
}

#[test]
fn names_say_what_type_strings_lose() {
    let named = |typestr, name| dtype(Described { typestr, name: Some(name), shape: &[2], ..described() });
    assert_eq!(named("<V2", "bfloat16").unwrap(), "bfloat16");
    assert_eq!(named("|V1", "float8_e4m3fn").unwrap(), "float8_e4m3fn");
    assert_eq!(named("<W4", "complex32").unwrap(), "complex32");
    assert_eq!(named("|V2", "void16").unwrap(), "V2");
    // A type string that is precise wins over the name.
    assert_eq!(named("<f4", "bfloat16").unwrap(), "float32");
    for (typestr, name) in [("|V1", "int4"), ("|V4", "bfloat16"), ("<W4", "what")] {
        assert!(named(typestr, name).unwrap_err().is_unsupported(), "{typestr} {name}");
    }
    let fields = |descr| {
        dtype(Described {
            typestr: "|V4",
            descr: Some(descr),
            name: Some("void32"),
            shape: &[2],
            ..described()
        })
    };
    assert_eq!(
        fields("[('a', '<i2'), ('b', '<u2')]").unwrap(),
        "[('a', '<i2'), ('b', '<u2')]".parse::<DType>().unwrap().to_string()
    );
    assert_eq!(fields("[('', '|V4')]").unwrap(), "V4");
}

#[test]
fn types_are_called_as_numpy_calls_them() {
    let padded = DType::record([Field::new("a", 0, DType::U8), Field::new("b", 4, DType::I8)], 8).unwrap();
    let words = InterfaceType::of(&padded).unwrap();
    assert_eq!(words.typestr(), "|V8");
    assert_eq!(words.descr(), Some("[('a', '|u1'), ('', '|V3'), ('b', '|i1'), ('', '|V3')]"));
    let order = if cfg!(target_endian = "little") { '<' } else { '>' };
    assert_eq!(
        InterfaceType::of(&DType::datetime(TimeUnit::SECOND)).unwrap().typestr(),
        format!("{order}M8[s]")
    );
    assert_eq!(InterfaceType::of(&DType::F64).unwrap().descr(), None);
    for dtype in [DType::BF16, DType::subarray(&[2], DType::U8).unwrap()] {
        assert!(InterfaceType::of(&dtype).unwrap_err().is_unsupported());
    }
}

fn structure(typekind: u8, itemsize: i32, flags: i32) -> PyArrayInterface {
    use std::ptr::null_mut;
    PyArrayInterface {
        two: 2,
        nd: 0,
        typekind: typekind.cast_signed() as _,
        itemsize,
        flags,
        shape: null_mut(),
        strides: null_mut(),
        data: null_mut(),
        descr: null_mut(),
    }
}

#[test]
fn structs_become_type_strings() {
    let (native, other) = if cfg!(target_endian = "little") { ('<', '>') } else { ('>', '<') };
    for (kind, itemsize, flags, text) in [
        (b'f', 8, NOTSWAPPED, format!("{native}f8")),
        (b'i', 4, WRITEABLE, format!("{other}i4")),
        (b'u', 1, 0, "|u1".to_owned()),
        (b'b', 1, 0, "|b1".to_owned()),
        (b'S', 7, 0, "|S7".to_owned()),
        (b'U', 8, NOTSWAPPED, format!("{native}U2")),
        (b'V', 3, NOTSWAPPED, "|V3".to_owned()),
    ] {
        assert_eq!(type_string(&structure(kind, itemsize, flags)).unwrap(), text);
    }
    assert!(type_string(&structure(b'M', 8, NOTSWAPPED)).unwrap_err().is_unsupported());
    for wrong in [structure(b'U', 7, 0), structure(b'f', -8, 0), structure(0, 8, 0), structure(b'1', 8, 0)] {
        assert!(type_string(&wrong).unwrap_err().is_malformed());
    }
    let error = type_string(&PyArrayInterface { two: 3, ..structure(b'f', 8, 0) }).unwrap_err();
    assert!(error.is_malformed() && error.to_string().contains("begins with 3"), "{error}");
}

#[test]
fn lending_shares_what_is_written_and_pins_what_is_read() {
    let numbers = Array::from_vec(vec![1u8, 2], [2]).unwrap();
    let lease = lend(&DArray::from(numbers.clone())).unwrap();
    assert!(!lease.is_readonly() && numbers.read().unwrap_err().is_conflict() && numbers.share().is_ok());
    drop(lease);
    let lease = lend(&DArray::from(numbers.clone()).into_readonly()).unwrap();
    assert!(lease.is_readonly() && numbers.read().is_ok() && numbers.write().is_err());
    assert!(DArray::from(numbers.clone()).exported().contains(Protocols::ARRAY_INTERFACE));
    drop(lease);
    let reading = numbers.read().unwrap();
    assert!(lend(&DArray::from(numbers.clone())).is_err());
    drop(reading);
}

#[test]
fn addresses_from_which_a_sum_could_wrap_are_refused() {
    let most = isize::MAX as usize;
    let at = |address: usize, strides: &'static [isize]| {
        take(
            Described {
                data: std::ptr::without_provenance_mut(address),
                shape: &[3],
                strides: Some(strides),
                ..described()
            },
            |_| (),
        )
    };
    for (address, strides) in [
        (most - 11, &[4][..]),
        (most + 1, &[4]),
        (usize::MAX - 11, &[4]),
        (8, &[-4]),
        (9, &[isize::MAX / 2 - 2]),
    ] {
        let error = at(address, strides).unwrap_err();
        assert!(error.is_overflow() && error.to_string().contains("address space"), "{error}");
    }
    assert!(at(most - 12, &[4]).is_ok() && at(9, &[-4]).is_ok() && at(1, &[isize::MAX / 2 - 2]).is_ok());
}
