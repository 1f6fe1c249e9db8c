//! Views of one memory with any strides, including those that slicing never yields: negative, 0,
//! smaller than an element, of empty axes and of elements of size 0.
//!
//! `CROSSDOCK_SEED` and `CROSSDOCK_CASES` choose the views.

use crossdock::element::{DType, Value};
use crossdock::layout::Layout;
use crossdock::memory::copied_bytes_here;
use crossdock::{Casting, DArray};
use crossdock_testkit::{Coverage, seed};
use fastrand::Rng;

use crate::roads::{Memory, whole};

const CASES: usize = 3_000;

/// Two pages, so that some windows on a file begin in the second one.
const NBYTES: usize = 8 << 10;

/// The byte around which all views lie.
const MIDDLE: usize = 4 << 10;

/// A view, and the position of each of its elements, in row-major order.
struct Side {
    array: DArray,
    cells: Vec<usize>,
}

fn side(rng: &mut Rng, memory: &Memory, dtype: &DType, shape: &[usize], pitch: isize) -> Side {
    let unit = rng.choice([1, 1, 4, pitch]).unwrap();
    let strides: Vec<isize> = shape.iter().map(|_| rng.isize(-8..=8) * unit).collect();
    let offset = MIDDLE + rng.usize(..64);
    let layout = Layout::new(shape, &strides, dtype.itemsize()).unwrap();
    let mut cells = vec![offset as isize];
    for (&len, &stride) in shape.iter().zip(&strides) {
        let along = |&cell: &isize| (0..len as isize).map(move |index| cell + index * stride);
        cells = cells.iter().flat_map(along).collect();
    }
    let array = DArray::from_buffer(whole(memory, rng), dtype.clone(), layout, offset).unwrap();
    Side { array, cells: cells.into_iter().map(|cell| cell as usize).collect() }
}

/// The number of elements that contain each byte.
fn owners(side: &Side) -> Vec<u8> {
    let mut owners = vec![0; NBYTES];
    let itemsize = side.array.dtype().itemsize();
    side.cells.iter().flat_map(|&cell| cell..cell + itemsize).for_each(|byte| owners[byte] += 1);
    owners
}

#[test]
fn views_by_any_strides_are_written_as_if_the_source_had_been_copied_before_or_refused() {
    let seed = seed();
    let mut rng = Rng::with_seed(seed);
    let memories = [Memory::heap(NBYTES), Memory::file(NBYTES), Memory::shared(NBYTES)];
    let dtypes = [
        DType::U8,
        DType::U16,
        DType::U32,
        DType::void(3).unwrap(),
        DType::void(7).unwrap(),
        DType::void(0).unwrap(),
    ];
    let mut coverage = Coverage::default();
    for case in 0..crate::cases(CASES) {
        coverage.case();
        let memory = rng.choice(&memories).unwrap();
        let mut bytes = vec![0; NBYTES];
        rng.fill(&mut bytes);
        memory.write(&bytes);
        let dtype = rng.choice(&dtypes).unwrap();
        let itemsize = dtype.itemsize();
        let shape: Vec<usize> =
            (0..rng.usize(..4)).map(|_| if rng.u8(..16) == 0 { 0 } else { rng.usize(1..6) }).collect();
        // Often the columns of one table.
        let pitch = rng.isize(1..24);
        let to = side(&mut rng, memory, dtype, &shape, pitch);
        let from = side(&mut rng, memory, dtype, &shape, pitch);
        let context = format!("case {case} of seed {seed}: {:?} to {:?}", from.array, to.array);

        let (written, read) = (owners(&to), owners(&from));
        let overlaps_itself = written.iter().any(|&count| count > 1);
        let is_shared = written.iter().zip(&read).any(|(&one, &other)| one > 0 && other > 0);
        let before = copied_bytes_here();
        let assigned = to.array.assign(&from.array, Casting::Checked);
        let copied = copied_bytes_here() - before;
        let is_written = assigned.is_ok();
        if let Err(error) = assigned {
            // Layouts that are injective for a reason beyond the rule of strides are refused, too.
            assert!(error.is_layout() && !to.array.layout().is_injective(), "{error}: {context}");
        } else {
            assert!(!overlaps_itself, "{context}");
        }
        let mut expected = bytes.clone();
        if is_written {
            for (&source, &cell) in from.cells.iter().zip(&to.cells) {
                expected[cell..cell + itemsize].copy_from_slice(&bytes[source..source + itemsize]);
            }
        }
        assert!(memory.read() == expected, "{context}");
        let nbytes = to.array.nbytes() as u64;
        if is_written && is_shared && to.cells != from.cells {
            assert_eq!(copied, 2 * nbytes, "no temporary: {context}");
        }

        let byte = rng.u8(..);
        let value = match dtype.itemsize() {
            1 => Value::UInt(byte.into()),
            2 => Value::UInt(u16::from_ne_bytes([byte; 2]).into()),
            4 => Value::UInt(u32::from_ne_bytes([byte; 4]).into()),
            _ => Value::Void(vec![byte; itemsize]),
        };
        let filled = to.array.fill(&value);
        assert_eq!(filled.is_ok(), is_written, "{context}");
        if is_written {
            to.cells.iter().for_each(|&cell| expected[cell..cell + itemsize].fill(byte));
        }
        assert!(memory.read() == expected, "filled: {context}");

        coverage.note(if is_written { "written" } else { "refused" });
        coverage.note_if(!is_written && !overlaps_itself, "refused by the rule of strides");
        coverage.note_if(is_written && to.cells.is_empty(), "empty");
        coverage.note_if(is_written && itemsize == 0, "elements without bytes");
        coverage.note_if(is_written && is_shared, "shared");
        coverage.note_if(is_written && is_shared && memory.is_in_a_file(), "shared in a file");
        coverage.note_if(is_written && read.iter().any(|&count| count > 1), "a source that repeats bytes");
        coverage.note_if(is_written && !is_shared && copied == nbytes && nbytes > 0, "apart");
        let is_reversed = |side: &Side| side.array.strides().iter().any(|&stride| stride < 0);
        coverage.note_if(is_written && is_reversed(&to) && is_shared, "reversed");
    }
    println!("{coverage}");
    coverage.assert_at_least(0.2, ["written", "refused"]);
    coverage
        .assert_at_least(0.03, ["shared", "shared in a file", "elements without bytes", "empty", "apart"]);
    coverage.assert_at_least(0.02, ["a source that repeats bytes", "reversed"]);
}
