//! Large work on several threads: the results are those of one thread, and the helper threads do
//! not outlive the work, reach a forked child, or hide a fault.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossdock::bindings::threads::{num_threads, set_num_threads};
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::{AxisSlice, Order};
use crossdock::memory::MapOptions;
use crossdock::{Array, Casting, DArray};
use crossdock_testkit::{rounds, scattered, status_of_child};

/// The number of threads belongs to the process, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The names of this process's threads that share work.
fn helpers() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|name| name.trim_end() == "crossdock-work").count()
}

/// Whether large work starts some. On a busy machine they may have ended before this looks: once is
/// enough.
fn starts_helpers() -> bool {
    let array = numbers([2, 530, 1000]).transpose().unwrap();
    (0..100).any(|_| {
        drop(array.to_order(Order::RowMajor).unwrap());
        helpers() > 0
    })
}

/// Waits until all of them have ended.
fn no_helpers() {
    while helpers() > 0 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn every_second(axis: usize, rank: usize) -> Vec<AxisSlice> {
    let mut axes = vec![AxisSlice::ALL; rank];
    axes[axis] = AxisSlice::Range { start: Some(1), stop: None, step: 2 };
    axes
}

fn numbers(shape: [usize; 3]) -> DArray {
    Array::from_vec(scattered(shape.iter().product()), shape).unwrap().into()
}

/// Views of many layouts: whole, transposed, reversed, with gaps, with few long rows, repeated.
fn layouts() -> Vec<(&'static str, DArray)> {
    let array = numbers([2, 530, 1000]);
    let column = array.slice(every_second(2, 3)).unwrap();
    let wide = numbers([1, 3, 360_001]);
    vec![
        ("transposed", array.transpose().unwrap()),
        ("reversed", array.reverse(1).unwrap()),
        ("rows with gaps", array.slice(every_second(1, 3)).unwrap()),
        ("columns with gaps", column),
        ("few long rows", wide.reverse(2).unwrap()),
        ("repeated", array.drop_axis(1, 0).unwrap().broadcast_to(&[530, 2, 1000]).unwrap()),
        ("whole", array),
    ]
}

/// What one number of threads makes of an array.
struct Results {
    copy: DArray,
    column_major: DArray,
    widened: DArray,
    narrowed: DArray,
    assigned: DArray,
    filled: DArray,
    same: bool,
    difference: Option<Vec<usize>>,
}

impl Results {
    fn of(array: &DArray) -> Self {
        let shape = array.shape();
        let copy = array.to_order(Order::RowMajor).unwrap();
        let assigned = DArray::zeros(DType::F32, shape, Order::ColumnMajor).unwrap();
        assigned.assign(array, Casting::Checked).unwrap();
        let double: Vec<usize> =
            shape.iter().enumerate().map(|(axis, &len)| len << u32::from(axis == 1)).collect();
        let filled = DArray::zeros(DType::F64, &double, Order::RowMajor).unwrap();
        filled.slice(every_second(1, shape.len())).unwrap().fill(&1.5.into()).unwrap();
        let other = copy.to_order(Order::ColumnMajor).unwrap();
        let last: Vec<usize> = shape.iter().map(|len| len - 1).collect();
        other.set(&last, &(-1.0).into()).unwrap();
        Self {
            column_major: array.to_order(Order::ColumnMajor).unwrap(),
            widened: array.cast(&DType::F64, Order::RowMajor, Casting::Checked).unwrap(),
            narrowed: array.cast(&DType::I16, Order::ColumnMajor, Casting::Saturating).unwrap(),
            same: array.equals(&copy).unwrap(),
            difference: array.first_difference(&other).unwrap(),
            copy,
            assigned,
            filled,
        }
    }

    fn arrays(&self) -> [&DArray; 6] {
        [&self.copy, &self.column_major, &self.widened, &self.narrowed, &self.assigned, &self.filled]
    }
}

fn bytes(array: &DArray) -> Vec<u8> {
    array.buffer().unwrap().0.pin().unwrap().to_vec()
}

#[test]
fn every_number_of_threads_gives_the_same_bytes() {
    let _alone = alone();
    for (name, array) in layouts() {
        set_num_threads(1).unwrap();
        let expected = Results::of(&array);
        assert!(expected.same, "{name}");
        let last: Vec<usize> = array.shape().iter().map(|len| len - 1).collect();
        assert_eq!(expected.difference.as_ref(), Some(&last), "{name}");
        for threads in [2, 5] {
            set_num_threads(threads).unwrap();
            let results = Results::of(&array);
            assert_eq!((results.same, &results.difference), (true, &Some(last.clone())), "{name}, {threads}");
            for (number, (one, other)) in expected.arrays().iter().zip(results.arrays()).enumerate() {
                assert!(bytes(one) == bytes(other), "{name}, {threads} threads, result {number}");
            }
        }
    }
}

#[test]
fn a_lost_value_is_found_by_any_number_of_threads() {
    let _alone = alone();
    let array = numbers([4, 150, 1000]);
    for index in [[0, 0, 0], [1, 149, 999], [3, 149, 999]] {
        let array = array.to_order(Order::RowMajor).unwrap();
        array.set(&index, &0.5.into()).unwrap();
        for threads in [1, 2, 5] {
            set_num_threads(threads).unwrap();
            let error = array.cast(&DType::U32, Order::RowMajor, Casting::Checked).unwrap_err();
            assert!(
                error.is_value() && error.to_string().contains(&format!("{index:?}")),
                "{threads}: {error}"
            );
        }
    }
}

#[test]
fn callers_on_many_threads_share_the_helpers() {
    let _alone = alone();
    no_helpers();
    set_num_threads(3).unwrap();
    let array = numbers([2, 530, 1000]);
    let expected = bytes(&array.transpose().unwrap().to_order(Order::RowMajor).unwrap());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..3 {
                    let copy = array.transpose().unwrap().to_order(Order::RowMajor).unwrap();
                    assert!(bytes(&copy) == expected);
                }
            });
        }
    });
    assert!(helpers() <= 2, "{}", helpers());
}

#[test]
fn helpers_end_when_there_is_no_work() {
    let _alone = alone();
    set_num_threads(4).unwrap();
    for _ in 0..2 {
        assert!(starts_helpers());
        no_helpers();
    }
}

#[test]
fn one_thread_starts_no_helper() {
    let _alone = alone();
    no_helpers();
    set_num_threads(1).unwrap();
    drop(numbers([2, 530, 1000]).transpose().unwrap().to_order(Order::RowMajor).unwrap());
    assert_eq!(helpers(), 0);
}

#[test]
fn the_number_of_threads_has_limits() {
    let _alone = alone();
    set_num_threads(3).unwrap();
    for number in [0, 1025, usize::MAX] {
        let error = set_num_threads(number).unwrap_err();
        assert!(error.is_value() && error.to_string().contains(&number.to_string()), "{error}");
    }
    assert_eq!(num_threads(), 3);
}

#[test]
fn a_child_works_on_one_thread_while_its_parent_uses_several() {
    let _alone = alone();
    set_num_threads(3).unwrap();
    let array = numbers([2, 530, 1000]);
    let expected = bytes(&array.transpose().unwrap().to_order(Order::RowMajor).unwrap());
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let copy = array.transpose().unwrap().to_order(Order::RowMajor).unwrap();
                assert!(bytes(&copy) == expected);
            }
        });
        for _ in 0..rounds(20) {
            let status = status_of_child(|| {
                let copy = array.transpose().unwrap().to_order(Order::RowMajor).unwrap();
                set_num_threads(2).is_ok() && num_threads() == 1 && helpers() == 0 && bytes(&copy) == expected
            });
            if status != 0 {
                over.store(true, Ordering::Relaxed);
                panic!("the child ended with status {status:#x}");
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(num_threads(), 3);
}

/// A file for one test, which is deleted after it.
struct Temporary(std::path::PathBuf);

impl Temporary {
    fn new(name: &str, nbytes: usize) -> Self {
        let name = format!("crossdock-threads-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, vec![7; nbytes]).unwrap();
        Self(path)
    }

    fn shrink(&self, nbytes: u64) {
        File::options().write(true).open(&self.0).unwrap().set_len(nbytes).unwrap();
    }
}

impl AsRef<Path> for Temporary {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_file(&self.0);
    }
}

#[test]
fn the_guard_of_a_file_that_shrinks_works_on_helper_threads() {
    const NBYTES: usize = 16 << 20;
    let _alone = alone();
    set_num_threads(4).unwrap();
    // The helpers are awake before the work begins.
    assert!(starts_helpers());
    let file = Temporary::new("shrinks", NBYTES);
    let buffer = Buffer::map(File::open(&file).unwrap(), MapOptions::new().guarded(true)).unwrap();
    let array = DArray::from(Array::<u8, 1>::from_buffer(buffer.clone(), [NBYTES]).unwrap());
    file.shrink(1 << 20);
    let error = array.to_order(Order::RowMajor).unwrap_err();
    assert!(error.is_fault(), "{error}");
}
