//! DLPack with counterparts in C that only know the structs, compiled by the test.

use std::ffi::{CString, c_int, c_void};
use std::mem::transmute_copy;
use std::path::{Path, PathBuf};
use std::ptr;
use std::thread;

use crossdock::bindings::dlpack::abi::{DLManagedTensorVersioned, IS_COPIED, READ_ONLY};
use crossdock::bindings::dlpack::{ExportOptions, export_versioned, import_versioned};
use crossdock::view::CopyPolicy;
use crossdock::{Array, DArray, s};
use crossdock_testkit::{c_compiler, missing};

/// `struct report` of the consumer.
#[repr(C)]
struct Report {
    version: [u32; 2],
    flags: u64,
    address: u64,
    device: [i32; 2],
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: [i64; 64],
    strides: [i64; 64],
    sum: f64,
}

type Consume = unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut Report) -> c_int;
type Store = unsafe extern "C" fn(*const DLManagedTensorVersioned, *const c_void);
type Produce = unsafe extern "C" fn(i64, i64, c_int, u64) -> *mut DLManagedTensorVersioned;
type Alive = unsafe extern "C" fn() -> c_int;

/// A C file of `tests/c` as a shared object that stays loaded; `None` if there is no compiler and
/// none is required.
struct Library(*mut c_void);

impl Library {
    fn compile(name: &str) -> Option<Self> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name);
        let object: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!(
            "{name}.{}.{:?}.so",
            std::process::id(),
            thread::current().id()
        ));
        let compiled = c_compiler()
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o"])
            .arg(&object)
            .arg(&source)
            .status();
        match compiled {
            Ok(status) => assert!(status.success(), "{} does not compile", source.display()),
            Err(error) => {
                missing(&format!("the compiler `cc` ({error})"));
                return None;
            }
        }
        let path = CString::new(object.to_str().expect("a path in UTF-8")).expect("no zero in it");
        // SAFETY: the file is a shared object that was just compiled from plain C, without
        // constructors.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!library.is_null(), "{} does not load", object.display());
        std::fs::remove_file(&object).expect("it was just made");
        Some(Self(library))
    }

    /// # Safety
    ///
    /// `F` is the function pointer type of the C function called `name`.
    unsafe fn function<F: Copy>(&self, name: &str) -> F {
        let symbol = CString::new(name).expect("no zero in it");
        // SAFETY: `dlopen` returned this handle, which is never closed, and the name is a C string.
        let address = unsafe { libc::dlsym(self.0, symbol.as_ptr()) };
        assert!(!address.is_null() && size_of::<F>() == size_of::<*mut c_void>(), "{name}");
        // SAFETY: `# Safety`: `F` is a pointer to a function of this type; its size equals the
        // address's, as asserted above.
        unsafe { transmute_copy(&address) }
    }
}

fn consumer() -> Option<impl Fn(*mut DLManagedTensorVersioned) -> (c_int, Report)> {
    let library = Library::compile("dlpack_consumer.c")?;
    // SAFETY: `Consume` has the parameters and the result that dlpack_consumer.c declares for
    // `crossdock_consume`.
    let consume: Consume = unsafe { library.function("crossdock_consume") };
    Some(move |tensor| {
        // SAFETY: `Report` consists of integers, floats and arrays of them, for which zero is
        // valid.
        let mut report = unsafe { std::mem::zeroed() };
        // SAFETY: the tensor is null or unconsumed, and the C function owns it from here on; the
        // report is a writable local variable.
        let code = unsafe { consume(tensor, &raw mut report) };
        (code, report)
    })
}

/// Exports the array to the consumer, which must see the same array and the sum `sum`.
#[track_caller]
fn assert_seen(
    consume: &impl Fn(*mut DLManagedTensorVersioned) -> (c_int, Report),
    array: &DArray,
    strides: &[i64],
    sum: f64,
) {
    let exported = export_versioned(array, &ExportOptions::new()).expect("an array that DLPack can say");
    let (code, report) = consume(exported.into_raw());
    let rank = array.rank();
    assert_eq!((code, report.ndim, report.device), (0, rank as i32, [1, 0]));
    assert_eq!((report.version, report.flags, report.lanes), ([1, 3], 0, 1));
    assert!(array.is_empty() || report.address == array.as_ptr().addr() as u64, "in place");
    let shape: Vec<i64> = array.shape().iter().map(|&len| len as i64).collect();
    assert_eq!((&report.shape[..rank], &report.strides[..rank]), (&shape[..], strides));
    assert_eq!(report.sum, sum);
    array.buffer().unwrap().0.write().expect("everything was given back");
}

#[test]
fn a_c_consumer_sees_every_view_in_place() {
    let Some(consume) = consumer() else { return };
    let numbers = Array::from_vec((0..24).map(f64::from).collect(), [2, 3, 4]).unwrap();
    let array = DArray::from(numbers);
    assert_seen(&consume, &array, &[12, 4, 1], 276.0);
    assert_seen(&consume, &array.slice(s![.., ..;2, 1]).unwrap(), &[12, 8], 1.0 + 9.0 + 13.0 + 21.0);
    assert_seen(&consume, &array.slice(s![1, ..;-1, ..;-1]).unwrap(), &[-4, -1], 210.0);
    assert_seen(&consume, &array.transpose().unwrap(), &[1, 4, 12], 276.0);
    assert_seen(&consume, &array.slice(s![0, 0, 3]).unwrap(), &[], 3.0);
    assert_seen(&consume, &array.slice(s![0..0, .., ..]).unwrap(), &[12, 4, 1], 0.0);
    let row = array.slice(s![0, 0, ..]).unwrap();
    assert_seen(&consume, &row.broadcast_to(&[5, 4]).unwrap(), &[0, 1], 30.0);
    let deep = row.reshape(&[1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2]).unwrap();
    assert_seen(&consume, &deep, &[4, 4, 4, 4, 4, 4, 4, 4, 4, 2, 1], 6.0);
}

#[test]
fn a_c_consumer_writes_what_others_see() {
    let Some(library) = Library::compile("dlpack_consumer.c") else { return };
    // SAFETY: `Store` has the parameters and the result that dlpack_consumer.c declares for
    // `crossdock_store`.
    let store: Store = unsafe { library.function("crossdock_store") };
    let array = Array::from_vec(vec![1i16, 2, 3], [3]).unwrap();
    let shared = array.share().unwrap();
    let bytes = (-5i16).to_ne_bytes();
    let exported = export_versioned(&array.slice(s![1..]).unwrap(), &ExportOptions::new()).unwrap();
    // SAFETY: the export keeps its tensor, which the function does not consume, and `bytes` has the
    // size of an element.
    unsafe { store(exported.managed(), bytes.as_ptr().cast()) };
    assert_eq!(shared.to_vec(), [1, -5, 3]);
}

#[test]
fn a_c_consumer_is_told_of_a_copy_and_of_read_only_memory() {
    let Some(consume) = consumer() else { return };
    let constant = Array::from_vec(vec![1u8, 2, 3], [3]).unwrap().into_readonly();
    let copied = ExportOptions::new().copy(CopyPolicy::IfNeeded);
    let (_, report) = consume(export_versioned(&constant, &copied).unwrap().into_raw());
    assert_eq!((report.flags, report.sum), (IS_COPIED, 6.0));
    assert_ne!(report.address, constant.as_ptr().addr() as u64);
    // SAFETY: the consumer in dlpack_consumer.c adds up the elements and writes none.
    let trusted = unsafe { ExportOptions::new().trust_readonly() };
    let (_, report) = consume(export_versioned(&constant, &trusted).unwrap().into_raw());
    assert_eq!((report.flags, report.address), (READ_ONLY, constant.as_ptr().addr() as u64));
}

#[test]
fn a_c_consumer_answers_what_it_cannot_take() {
    let Some(consume) = consumer() else { return };
    assert_eq!(consume(ptr::null_mut()).0, -1);
    let half =
        DArray::zeros(crossdock::element::DType::F16, &[2], crossdock::layout::Order::RowMajor).unwrap();
    let (code, report) = consume(export_versioned(&half, &ExportOptions::new()).unwrap().into_raw());
    assert_eq!((code, report.code, report.bits), (1, 2, 16));
    half.buffer().unwrap().0.write().expect("given back all the same");
}

#[test]
fn what_a_c_producer_lends_is_imported_in_place_and_given_back() {
    let Some(library) = Library::compile("dlpack_producer.c") else { return };
    // SAFETY: `Produce` has the parameters and the result that dlpack_producer.c declares for
    // `crossdock_produce`.
    let produce: Produce = unsafe { library.function("crossdock_produce") };
    // SAFETY: `Alive` has the parameters and the result that dlpack_producer.c declares for
    // `crossdock_alive`.
    let alive: Alive = unsafe { library.function("crossdock_alive") };
    // SAFETY: the C function has no arguments and reads an atomic counter.
    let alive = || unsafe { alive() };
    for (upside_down, strides) in [(0, [32, 8]), (1, [-32, 8])] {
        // SAFETY: the C function accepts all lengths and flags, and returns a new tensor.
        let tensor = unsafe { produce(3, 4, upside_down, 0) };
        // SAFETY: the C producer returned a valid tensor over its own memory, and this import is
        // its only consumer.
        let array = unsafe { import_versioned(tensor) }.unwrap();
        let matrix = Array::<f64, 2>::try_from(array).unwrap();
        assert_eq!((*matrix.shape(), *matrix.strides()), ([3, 4], strides));
        let wanted: Vec<f64> = (0..12).map(|k| f64::from(k / 4 * 100 + k % 4)).collect();
        assert_eq!(matrix.pin().unwrap().to_vec(), wanted);
        let corner = matrix.slice(s![2.., 3..]).unwrap();
        drop(matrix);
        assert_eq!((alive(), corner.get([0, 0]).unwrap()), (1, 203.0));
        thread::spawn(move || drop(corner)).join().unwrap();
        assert_eq!(alive(), 0);
    }
    // SAFETY: the C function accepts all lengths and flags, and returns a new tensor.
    let tensor = unsafe { produce(2, 2, 1, READ_ONLY) };
    // SAFETY: the C producer returned a valid tensor over its own memory, and this import is its
    // only consumer.
    let array = unsafe { import_versioned(tensor) }.unwrap();
    assert!(array.is_readonly());
    drop(array);
    assert_eq!(alive(), 0);
}

#[test]
fn a_tensor_goes_from_c_through_us_to_c_in_place() {
    let Some(library) = Library::compile("dlpack_producer.c") else { return };
    let Some(consume) = consumer() else { return };
    // SAFETY: `Produce` has the parameters and the result that dlpack_producer.c declares for
    // `crossdock_produce`.
    let produce: Produce = unsafe { library.function("crossdock_produce") };
    // SAFETY: the C function accepts all lengths and flags, and returns a new tensor.
    let tensor = unsafe { produce(2, 3, 1, 0) };
    // SAFETY: the C producer returned a valid tensor over its own memory, and this import is its
    // only consumer.
    let array = unsafe { import_versioned(tensor) }.unwrap();
    let (address, exported) = (array.as_ptr().addr() as u64, export_versioned(&array, &ExportOptions::new()));
    drop(array);
    let (code, report) = consume(exported.unwrap().into_raw());
    assert_eq!((code, report.address, report.sum), (0, address, 306.0));
    assert_eq!(&report.strides[..2], [-3, 1]);
}
