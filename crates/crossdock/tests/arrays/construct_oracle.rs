//! New arrays against the naive oracle, over random layouts: their size, their content, and the
//! type that a visitor gets. `CROSSDOCK_SEED` and `CROSSDOCK_CASES` choose the layouts.

use crossdock::array::{Native, Visitor};
use crossdock::buffer::Buffer;
use crossdock::element::{DType, Value};
use crossdock::layout::{Layout, Order};
use crossdock::memory::Place;
use crossdock::{Array, DArray};
use crossdock_testkit::{Coverage, generate, seed};
use fastrand::Rng;

use crate::cases;

const CASES: usize = 4_000;

/// Nothing larger than this is allocated here.
const MOST: i128 = 1 << 20;

/// Reports the type that it was called with.
struct Tell;

impl Visitor for Tell {
    type Output = (usize, Vec<usize>, Vec<isize>, usize);

    fn visit<T: Native, const D: usize>(self, array: Array<T, D>) -> Self::Output {
        (size_of::<T>(), array.shape().to_vec(), array.strides().to_vec(), array.as_ptr().addr())
    }
}

#[test]
fn memory_for_a_layout_is_what_its_elements_cover() {
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    for _ in 0..cases(CASES) {
        let rank = rng.usize(0..=8);
        let placed = generate::direct(&mut rng, rank);
        let (plain, nested) = (&placed.plain, placed.nested());
        let itemsize = plain.itemsize;
        let (low, high) = nested.bytes(itemsize).unwrap_or((placed.offset as i128, placed.offset as i128));
        coverage.case();
        coverage.note(format!("rank {rank}"));
        let longer = || plain.shape.iter().zip(&plain.strides).filter(|axis| *axis.0 > 1);
        coverage.note_if(longer().any(|axis| *axis.1 < 0), "negative");
        coverage.note_if(longer().any(|axis| *axis.1 == 0), "zero");
        coverage.note_if(longer().any(|axis| axis.1.unsigned_abs() % itemsize.max(1) != 0), "unaligned");
        coverage.note_if(plain.shape.contains(&0), "empty");
        let layout = Layout::new(&plain.shape, &plain.strides, itemsize).unwrap();
        let dtype = DType::void(itemsize).unwrap();
        if high - low > MOST {
            coverage.note("large");
            if high - low > 1 << 50 {
                let refused = DArray::zeros_with_layout(dtype, layout, Place::CPU).unwrap_err();
                assert!(refused.is_out_of_memory(), "{refused}");
            }
            continue;
        }
        let array = DArray::zeros_with_layout(dtype.clone(), layout.clone(), Place::CPU).unwrap();
        assert_eq!((array.shape(), array.strides()), (&plain.shape[..], &plain.strides[..]));
        let (buffer, offset) = array.buffer().unwrap();
        assert_eq!(buffer.nbytes() as i128, high - low, "{plain:?}");
        if !array.is_empty() && itemsize > 0 {
            assert_eq!(offset as i128, placed.offset as i128 - low, "{plain:?}");
            assert!(buffer.read().unwrap().iter().all(|&byte| byte == 0));
            let index: Vec<usize> = plain.shape.iter().map(|&len| rng.usize(0..len)).collect();
            let element: Vec<u8> = (0..itemsize).map(|_| rng.u8(..)).collect();
            array.set(&index, &Value::Void(element.clone())).unwrap();
            let at = (nested.get(&index) - low) as usize;
            assert_eq!(buffer.read().unwrap()[at..at + itemsize], element);
            // The same over existing memory: exactly this size is enough, at exactly this offset.
            let taken = |offset| DArray::from_buffer(buffer.clone(), dtype.clone(), layout.clone(), offset);
            assert_eq!(taken(offset).unwrap().get(&index).unwrap(), Value::Void(element));
            assert!(taken(offset + 1).unwrap_err().is_bounds());
            assert!(offset == 0 || taken(offset - 1).unwrap_err().is_bounds());
        }
        // The type that a visitor gets.
        let native = [(1, DType::U8), (2, DType::I16), (4, DType::F32), (8, DType::U64)];
        if let Some((_, dtype)) = native.into_iter().find(|native| native.0 == itemsize) {
            coverage.note("visited");
            let array = DArray::from_buffer(buffer, dtype, layout, offset).unwrap();
            let expected = (itemsize, plain.shape.clone(), plain.strides.clone(), array.as_ptr().addr());
            assert_eq!(array.visit(Tell).unwrap(), expected);
        }
    }
    println!("{coverage}");
    if cases(CASES) >= CASES {
        coverage.assert_at_least(0.05, (0..=8).map(|rank| format!("rank {rank}")));
        coverage.assert_at_least(0.05, ["negative", "zero", "unaligned", "empty", "visited"]);
    }
}

#[test]
fn a_function_and_a_value_fill_every_element_in_either_order() {
    let mut rng = Rng::with_seed(seed());
    for _ in 0..cases(CASES) / 8 {
        let rank = rng.usize(0..=8);
        let shape = generate::shape(&mut rng, rank);
        for order in [Order::RowMajor, Order::ColumnMajor] {
            let mut asked = Vec::new();
            let array = DArray::from_fn(DType::U32, &shape, order, |index| {
                asked.push(index.to_vec());
                (asked.len() as u32).into()
            })
            .unwrap();
            assert!(array.is_contiguous(order));
            // The elements have the requested order in memory, and the function was called once for
            // each index.
            let memory: Buffer = array.buffer().unwrap().0;
            assert!(
                memory
                    .read()
                    .unwrap()
                    .as_slice_of::<u32>()
                    .unwrap()
                    .iter()
                    .copied()
                    .eq(1..=asked.len() as u32)
            );
            assert_eq!(asked.len(), array.len());
            for (number, index) in asked.iter().enumerate() {
                assert_eq!(array.get(index).unwrap(), Value::UInt(number as u64 + 1));
            }
            let width = rng.usize(1..=9);
            let element: Vec<u8> = (0..width).map(|_| rng.u8(..)).collect();
            let full = DArray::full(DType::void(width).unwrap(), &shape, Value::Void(element.clone()), order)
                .unwrap();
            assert_eq!(full.buffer().unwrap().0.read().unwrap()[..], element.repeat(full.len()));
        }
    }
}
