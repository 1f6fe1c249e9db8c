//! What is written is read back equal: dtypes × orders × ranks, views that are not contiguous,
//! memory that other code may write.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crossdock::buffer::Buffer;
use crossdock::element::{ByteOrder, DType, Field, ScalarKind, TimeUnit, Value};
use crossdock::exchange::files::{self, OpenOptions, npy};
use crossdock::layout::{AxisSlice, Layout, Order};
use crossdock::{Array, DArray};
use crossdock_testkit::seed;
use fastrand::Rng;

struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("crossdock-npy-trip-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> =
            std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_dir_all(&self.0);
    }
}

fn dtypes() -> Vec<DType> {
    let kinds = [
        ScalarKind::Bool,
        ScalarKind::Int8,
        ScalarKind::UInt16,
        ScalarKind::Int32,
        ScalarKind::UInt64,
        ScalarKind::Float16,
        ScalarKind::Float64,
        ScalarKind::LongDouble,
        ScalarKind::Complex64,
        ScalarKind::ComplexLongDouble,
        ScalarKind::Bytes(0),
        ScalarKind::Bytes(5),
        ScalarKind::Text(3),
        ScalarKind::Void(7),
        ScalarKind::DateTime(TimeUnit::NANOSECOND),
        ScalarKind::TimeDelta(TimeUnit::GENERIC),
    ];
    let mut dtypes: Vec<DType> = [ByteOrder::Little, ByteOrder::Big]
        .into_iter()
        .flat_map(|order| kinds.map(|kind| DType::scalar(kind, order).unwrap()))
        .collect();
    let point = DType::packed_record([("x", DType::F32), ("y", DType::F32)]).unwrap();
    let fields = [
        Field::new("größe", 1, DType::subarray(&[2, 3], DType::U8).unwrap()).with_title("how large"),
        Field::new("at", 8, DType::subarray(&[2], point).unwrap()),
    ];
    dtypes.push(DType::record(fields, 29).unwrap());
    dtypes
}

/// The bytes of the elements in row-major order of their indices, found one by one: the oracle.
fn bytes_of(array: &DArray) -> Vec<u8> {
    let (buffer, offset) = array.buffer().unwrap();
    let memory = buffer.pin().unwrap().to_vec();
    let itemsize = array.dtype().itemsize();
    let mut index = vec![0; array.rank()];
    let mut bytes = Vec::new();
    for _ in 0..array.len() {
        let distance: isize =
            index.iter().zip(array.strides()).map(|(&i, &stride)| i as isize * stride).sum();
        let start = offset.strict_add_signed(distance);
        bytes.extend_from_slice(&memory[start..start + itemsize]);
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < array.shape()[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    bytes
}

fn random(rng: &mut Rng, dtype: &DType, shape: &[usize], order: Order) -> DArray {
    let layout = Layout::contiguous(shape, dtype.itemsize(), order).unwrap();
    let mut bytes = vec![0; layout.nbytes()];
    rng.fill(&mut bytes);
    DArray::from_buffer(Buffer::from_vec(bytes).unwrap(), dtype.clone(), layout, 0).unwrap()
}

#[track_caller]
fn comes_back(array: &DArray) -> DArray {
    let mut file = Vec::new();
    npy::write(&mut file, array).unwrap();
    let read = npy::from_buffer(Buffer::from_vec(file).unwrap()).unwrap();
    assert_eq!((read.dtype(), read.shape()), (array.dtype(), array.shape()));
    assert_eq!(bytes_of(&read), bytes_of(array), "{array:?}");
    // A contiguous array keeps its order; every other array becomes row-major.
    assert_eq!(read.layout().order(), Some(array.layout().order().unwrap_or(Order::RowMajor)), "{array:?}");
    read
}

#[test]
fn every_dtype_in_every_order_and_rank_comes_back() {
    let mut rng = Rng::with_seed(seed());
    for dtype in dtypes() {
        for rank in 0..=8 {
            let shape: Vec<usize> = (0..rank).map(|_| rng.usize(1..=3)).collect();
            for order in [Order::RowMajor, Order::ColumnMajor] {
                let array = random(&mut rng, &dtype, &shape, order);
                comes_back(&array);
                if rank > 1 {
                    comes_back(&array.reverse(rng.usize(0..rank)).unwrap());
                    let (from, step) = (Some(rng.isize(0..2)), rng.isize(1..3));
                    comes_back(
                        &array.slice_numpy([AxisSlice::Range { start: from, stop: None, step }]).unwrap(),
                    );
                }
            }
        }
        comes_back(&random(&mut rng, &dtype, &[2, 0, 3], Order::RowMajor));
        comes_back(&random(&mut rng, &dtype, &[2], Order::RowMajor).broadcast_to(&[3, 2]).unwrap());
    }
}

#[test]
fn arrays_of_many_chunks_come_back() {
    let mut rng = Rng::with_seed(seed());
    // Rows longer and shorter than a chunk, odd lengths, a long axis behind a short one.
    for shape in [&[700_001][..], &[3, 300_007], &[300_007, 3], &[5, 7, 40_009], &[1, 1, 600_000]] {
        let dtype = DType::U16;
        let array = random(&mut rng, &dtype, shape, Order::RowMajor);
        let axis = shape.len() - 1;
        let reversed = array.reverse(axis).unwrap();
        comes_back(&reversed);
        comes_back(&reversed.transpose().unwrap());
        comes_back(&array.transpose().unwrap());
    }
    // One element longer than a chunk.
    let wide = DType::void(600_001).unwrap();
    comes_back(&random(&mut rng, &wide, &[2, 2], Order::RowMajor).reverse(0).unwrap());
}

#[test]
fn memory_that_others_may_write_is_written_too() {
    let directory = Directory::new("aliased");
    let path = directory.0.join("a.npy");
    let mut rng = Rng::with_seed(seed());
    for order in [Order::RowMajor, Order::ColumnMajor] {
        files::save(&path, &random(&mut rng, &DType::F32, &[300, 999], order)).unwrap();
        let mapped = files::open(&path).unwrap();
        comes_back(&mapped);
        // Even to the file that it is mapped from: the map keeps its content.
        files::save(&path, &mapped.reverse(0).unwrap()).unwrap();
        assert_eq!(bytes_of(&files::open(&path).unwrap()), bytes_of(&mapped.reverse(0).unwrap()),);
    }
}

#[test]
fn elements_that_are_sub_arrays_are_written_as_more_axes() {
    let array: DArray = Array::from_vec(vec![[1u8, 2, 3], [4, 5, 6]], [2]).unwrap().into();
    let mut file = Vec::new();
    npy::write(&mut file, &array).unwrap();
    let read = npy::from_buffer(Buffer::from_vec(file).unwrap()).unwrap();
    assert_eq!((read.shape(), read.dtype()), (&[2, 3][..], &DType::U8));
    assert_eq!(bytes_of(&read), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_writable_array_writes_the_file_and_another_does_not() {
    let directory = Directory::new("writable");
    let path = directory.0.join("a.npy");
    files::save(&path, &Array::from_vec(vec![1u32, 2, 3], [3]).unwrap().into()).unwrap();
    let error = files::open(&path).unwrap().set(&[1], &Value::from(7u32)).unwrap_err();
    assert!(error.is_read_only(), "{error:?}");
    OpenOptions::new().writable(true).open(&path).unwrap().set(&[1], &Value::from(7u32)).unwrap();
    assert_eq!(files::open(&path).unwrap().get(&[1]).unwrap().as_i64(), Some(7));
    assert_eq!(std::fs::read(&path).unwrap().len(), 128 + 12);
}

/// Accepts this many bytes, and then fails in this way.
struct Full(usize, io::ErrorKind);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        if taken == 0 { Err(self.1.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_writer_that_refuses_is_an_error_wherever_it_does() {
    let array: DArray = Array::from_vec(vec![0u8; 1000], [10, 100]).unwrap().into();
    for array in [array.clone(), array.transpose().unwrap(), array.reverse(0).unwrap()] {
        for room in [0, 100, 128, 129, 1127] {
            let error = npy::write(Full(room, io::ErrorKind::StorageFull), &array).unwrap_err();
            assert!(error.is_io(), "{error:?}");
            let error = npy::write(Full(room, io::ErrorKind::OutOfMemory), &array).unwrap_err();
            assert!(error.is_out_of_memory(), "{error:?}");
        }
        npy::write(Full(1128, io::ErrorKind::StorageFull), &array).unwrap();
    }
}

#[test]
fn a_save_that_fails_leaves_what_was_there_and_nothing_else() {
    let directory = Directory::new("fails");
    let path = directory.0.join("a.npy");
    let small: DArray = Array::from_vec(vec![1u8], [1]).unwrap().into();
    files::save(&path, &small).unwrap();
    let unspeakable = DArray::zeros(DType::BF16, &[4], Order::RowMajor).unwrap();
    let error = files::save(&path, &unspeakable).unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains("bfloat16"), "{error}");
    assert!(error.to_string().starts_with(&format!("{}: ", path.display())), "{error}");

    let buffer = Buffer::zeroed(8).unwrap();
    let writing = buffer.write().unwrap();
    let layout = Layout::contiguous(&[8], 1, Order::RowMajor).unwrap();
    let taken = DArray::from_buffer(buffer.clone(), DType::U8, layout, 0).unwrap();
    let error = files::save(&path, &taken).unwrap_err();
    assert!(error.is_conflict() && error.to_string().contains("1 write lease"), "{error}");
    drop(writing);

    assert_eq!(files::open(&path).unwrap().get(&[0]).unwrap().as_i64(), Some(1));
    assert_eq!(directory.files(), [path]);
    let nowhere = Path::new("/nonexistent/directory/a.npy");
    assert!(files::save(nowhere, &small).unwrap_err().is_io());
}

#[test]
fn saving_through_a_link_keeps_the_link() {
    let directory = Directory::new("link");
    let (path, link) = (directory.0.join("a.npy"), directory.0.join("link.npy"));
    files::save(&path, &Array::from_vec(vec![1u8], [1]).unwrap().into()).unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    files::save(&link, &Array::from_vec(vec![2u8], [1]).unwrap().into()).unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(files::open(&path).unwrap().get(&[0]).unwrap().as_i64(), Some(2));
}
