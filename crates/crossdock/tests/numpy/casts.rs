//! Conversions against NumPy and ml_dtypes, over a corpus that they write.

use crossdock::buffer::Buffer;
use crossdock::element::{DType, Value};
use crossdock::layout::{Layout, Order};
use crossdock::{Casting, DArray, s};
use crossdock_testkit::python;
use serde_json::Value as Json;

use crate::{Folder, run};

fn dtype(row: &Json, side: &str) -> DType {
    let dtype: DType = row[side].as_str().unwrap().parse().unwrap();
    let order = row[format!("{side}_order")].as_str().unwrap();
    if order == ">" { dtype.swapped() } else { dtype }
}

fn array(corpus: &[u8], at: &Json, dtype: &DType, len: usize) -> DArray {
    let at = at.as_u64().unwrap() as usize;
    let bytes = corpus[at..at + len * dtype.itemsize()].to_vec();
    let layout = Layout::contiguous(&[len], dtype.itemsize(), Order::RowMajor).unwrap();
    DArray::from_buffer(Buffer::from_vec(bytes).unwrap(), dtype.clone(), layout, 0).unwrap()
}

fn bytes(array: &DArray) -> Vec<u8> {
    array.to_order(Order::RowMajor).unwrap().buffer().unwrap().0.read().unwrap().to_vec()
}

/// The same bytes, or a NaN for a NaN: NumPy keeps payloads that this library drops.
fn assert_same(got: &DArray, expected: &DArray, source: &DArray, context: &str) {
    let dtype = got.dtype();
    let (all, others) = (bytes(got), bytes(expected));
    for (index, (got, expected)) in
        all.chunks(dtype.itemsize()).zip(others.chunks(dtype.itemsize())).enumerate()
    {
        if got == expected {
            continue;
        }
        let number = |bytes| Value::read(dtype, bytes).unwrap().as_complex();
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        let agree = match (number(got), number(expected)) {
            (Some((a, b)), Some((c, d))) => same(a, c) && same(b, d),
            _ => false,
        };
        let source = source.get(&[index]).unwrap();
        assert!(agree, "{context}: {source:?} became {got:x?}, in NumPy {expected:x?}");
    }
}

#[test]
fn numbers_become_what_numpy_makes_of_them() {
    let Some(python) = python() else { return };
    let folder = Folder::new("casts");
    run(&python, "make_casts.py", &folder.0);
    let corpus = std::fs::read(folder.0.join("casts.bin")).unwrap();
    let rows: Json = serde_json::from_slice(&std::fs::read(folder.0.join("casts.json")).unwrap()).unwrap();
    let rows = rows.as_array().unwrap();
    let (mut numbers, mut checked) = (0, 0);
    for row in rows {
        let (from, to) = (dtype(row, "from"), dtype(row, "to"));
        let len = row["len"].as_u64().unwrap() as usize;
        assert!(len > 0, "{row}");
        let source = array(&corpus, &row["source"], &from, len);
        let expected = array(&corpus, &row["result"], &to, len);
        let got = source.cast(&to, Order::RowMajor, Casting::Saturating).unwrap();
        assert_same(&got, &expected, &source, &format!("{from} to {to}"));
        // Reversed, with a gap between elements.
        let wide = DArray::zeros(to.clone(), &[2 * len], Order::RowMajor).unwrap();
        let places = wide.slice(s![..;2]).unwrap();
        places.assign(&source.reverse(0).unwrap(), Casting::Saturating).unwrap();
        assert_same(&places.reverse(0).unwrap(), &expected, &source, &format!("{from} to {to}, in steps"));
        // The checked conversion returns the same elements where it succeeds.
        if let Ok(got) = source.cast(&to, Order::RowMajor, Casting::Checked) {
            assert_same(&got, &expected, &source, &format!("{from} to {to}, checked"));
            checked += 1;
        }
        numbers += len;
    }
    println!("{} conversions of {numbers} numbers, {checked} of them checked, too", rows.len());
    assert!(rows.len() >= 600 && numbers > 1_000_000 && checked > 200);
}
