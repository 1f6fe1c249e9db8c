//! Comparison with NumPy: its files are mapped here and equal, and it reads the files written here.

use std::fs::File;
use std::path::Path;

use crossdock::DArray;
use crossdock::bindings::dialect::typestr;
use crossdock::element::{DType, Value};
use crossdock::exchange::files::npy;
use crossdock::layout::{AxisSlice, Order};
use crossdock::memory::Backing;
use crossdock::memory::copied_bytes_here;
use crossdock_testkit::python;
use serde_json::{Value as Json, json};

use crate::{Folder, run};

fn numbers<T: TryFrom<i64>>(json: &Json) -> Vec<T> {
    let number = |json: &Json| T::try_from(json.as_i64().unwrap()).ok().unwrap();
    json.as_array().unwrap().iter().map(number).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of the elements in row-major order of their indices, through a copy.
fn row_major_bytes(array: &DArray) -> Vec<u8> {
    array.to_order(Order::RowMajor).unwrap().buffer().unwrap().0.read().unwrap().to_vec()
}

fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |all, &len| {
        all.iter().flat_map(|index| (0..len).map(move |i| [&index[..], &[i]].concat())).collect()
    })
}

/// The address at which the system maps byte 0 of a file.
fn mapped_at(path: &Path, address: usize) -> Option<usize> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let path = path.canonicalize().unwrap();
    maps.lines().filter(|line| line.ends_with(path.to_str().unwrap())).find_map(|line| {
        let mut words = line.split_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let offset = usize::from_str_radix(words.nth(1)?, 16).ok()?;
        let start = usize::from_str_radix(start, 16).ok()?;
        let end = usize::from_str_radix(end, 16).ok()?;
        (start..end).contains(&address).then(|| start - offset)
    })
}

/// Whether a value equals the one that NumPy reports.
fn agrees(value: &Value, dtype: &DType, numpy: &Json) -> bool {
    let double = |json: &Json| f64::from_bits(json.as_u64().unwrap());
    let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    let says = |key: &str| numpy.get(key).unwrap();
    match value {
        Value::Bool(truth) => {
            *truth == says("bool").as_bool().unwrap() && value.to_string() == says("text").as_str().unwrap()
        }
        Value::Float(_) | Value::LongDouble(_) => same(value.as_f64().unwrap(), double(says("double"))),
        Value::Complex { .. } | Value::ComplexLongDouble(_) => {
            let (re, im) = value.as_complex().unwrap();
            same(re, double(says("re"))) && same(im, double(says("im")))
        }
        Value::Bytes(bytes) => hex(bytes) == says("bytes").as_str().unwrap(),
        Value::Text(text) => text == says("string").as_str().unwrap(),
        _ => value.display(dtype).to_string() == says("text").as_str().unwrap(),
    }
}

/// Opens one file of the corpus and compares all properties in the manifest.
fn check(path: &Path, says: &Json) -> DArray {
    let before = copied_bytes_here();
    let array = crossdock::open(path).unwrap();
    assert_eq!(array.shape(), numbers::<usize>(&says["shape"]));
    assert_eq!(array.strides(), numbers::<isize>(&says["strides"]));
    assert_eq!(array.dtype().itemsize() as u64, says["itemsize"].as_u64().unwrap());
    // Elements of size 0 are contiguous in every order; NumPy reports the requested one.
    if array.dtype().itemsize() > 0 {
        assert_eq!(array.layout().is_contiguous(Order::RowMajor), says["c"].as_bool().unwrap());
        assert_eq!(array.layout().is_contiguous(Order::ColumnMajor), says["f"].as_bool().unwrap());
    }
    assert!(array.is_readonly());
    assert_eq!(array.backing(), Backing::File);
    let (buffer, offset) = array.buffer().unwrap();
    let (_, in_file) = buffer.descriptor().unwrap();
    assert_eq!(in_file + offset as u64, says["offset"].as_u64().unwrap());
    if array.nbytes() > 0 {
        let address = array.as_ptr().addr();
        let start = mapped_at(path, address).expect("the elements lie in a map of the file");
        assert_eq!((address - start) as u64, says["offset"].as_u64().unwrap());
    }
    let indices = indices(array.shape());
    if let Some(values) = says["values"].as_array() {
        assert_eq!(indices.len(), values.len());
        for (index, numpy) in indices.iter().zip(values) {
            let value = array.get(index).unwrap();
            assert!(agrees(&value, array.dtype(), numpy), "{index:?}: {value:?}, in NumPy {numpy}");
        }
    } else {
        // Every element of any record is readable.
        indices.iter().for_each(|index| drop(array.get(index).unwrap()));
    }
    assert_eq!(copied_bytes_here(), before, "opening and looking at elements copies nothing");
    assert_eq!(hex(&row_major_bytes(&array)), says["hex"].as_str().unwrap());
    array
}

/// Writes the array and views of it next to the corpus, and returns which file holds which.
fn write_views(directory: &Path, name: &str, array: &DArray) -> Json {
    let mut copies = serde_json::Map::new();
    let mut save = |view: &str, array: &DArray| {
        let copy = format!("{name}.{}.npy", copies.len());
        npy::write(File::create(directory.join(&copy)).unwrap(), array).unwrap();
        copies.insert(copy, view.into());
    };
    save("same", array);
    if array.rank() > 1 {
        save("transposed", &array.transpose().unwrap());
        save("reversed", &array.reverse(0).unwrap());
        let step = AxisSlice::Range { start: None, stop: None, step: 2 };
        save("every other", &array.slice_numpy([AxisSlice::Ellipsis, step]).unwrap());
    }
    copies.into()
}

#[test]
fn what_numpy_writes_opens_in_place_and_what_is_written_numpy_reads() {
    let Some(python) = python() else { return };
    let folder = Folder::new("corpus");
    run(&python, "make_corpus.py", &folder.0);
    let manifest: Json =
        serde_json::from_slice(&std::fs::read(folder.0.join("manifest.json")).unwrap()).unwrap();
    let mut answers = serde_json::Map::new();
    let mut versions = [0; 4];
    for says in manifest.as_array().unwrap() {
        let name = says["file"].as_str().unwrap();
        let path = folder.0.join(name);
        println!("{name}: {}", says["says"]);
        versions[usize::from(std::fs::read(&path).unwrap()[6])] += 1;
        let array = check(&path, says);
        let answer = json!({
            "dtype": typestr::print(array.dtype()).unwrap(),
            "descr": typestr::print_descr(array.dtype()).unwrap(),
            "copies": write_views(&folder.0, name, &array),
            "identical": says["identical"],
        });
        answers.insert(name.into(), answer);
    }
    assert!(answers.len() > 1000, "{} files", answers.len());
    assert!(versions[1..].iter().all(|&count| count >= 2), "files of versions 1.0, 2.0, 3.0: {versions:?}");
    std::fs::write(folder.0.join("answers.json"), Json::from(answers).to_string()).unwrap();
    run(&python, "check_corpus.py", &folder.0);
}
