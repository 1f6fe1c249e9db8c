//! Conversions from dynamic to typed arrays, which return what they refuse; visitors, and the
//! macros that dispatch.

use crossdock::array::{Native, PairVisitor, Visitor};
use crossdock::element::{DType, Element};
use crossdock::layout::{Layout, Order};
use crossdock::{Array, DArray, Error, dispatch, dispatch_dtype, dispatch_rank, s};

/// The ten dtypes that visitors support.
const NATIVE: [DType; 10] = [
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::F32,
    DType::F64,
];

/// Other dtypes.
fn foreign() -> [DType; 6] {
    [
        DType::BOOL,
        DType::F16,
        DType::C64,
        DType::F32.swapped(),
        DType::packed_record([("x", DType::F32)]).unwrap(),
        DType::subarray(&[2], DType::F32).unwrap(),
    ]
}

fn zeros(dtype: &DType, rank: usize) -> DArray {
    DArray::zeros(dtype.clone(), &(2..2 + rank).collect::<Vec<_>>(), Order::ColumnMajor).unwrap()
}

#[track_caller]
fn assert_says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}

/// Reports the type that it was called with.
struct Tell;

impl Visitor for Tell {
    type Output = (DType, usize, Vec<usize>, Vec<isize>, *const u8);

    fn visit<T: Native, const D: usize>(self, array: Array<T, D>) -> Self::Output {
        (T::dtype(), D, array.shape().to_vec(), array.strides().to_vec(), array.as_ptr().cast())
    }
}

struct TellBoth;

impl PairVisitor for TellBoth {
    type Output = (DType, usize, [*const u8; 2]);

    fn visit<T: Native, const D: usize>(self, first: Array<T, D>, second: Array<T, D>) -> Self::Output {
        (T::dtype(), D, [first.as_ptr().cast(), second.as_ptr().cast()])
    }
}

// ===== conversions

#[test]
fn a_typed_array_becomes_a_dynamic_one_and_comes_back_as_it_was() {
    let array = Array::from_vec((0..24).collect::<Vec<i16>>(), [2, 3, 4]).unwrap();
    let view = array.slice(s![.., ..;-1, 1..]).unwrap();
    let (layout, address) = (*view.layout(), view.as_ptr());
    let dynamic = DArray::from(view);
    assert_eq!(
        (dynamic.dtype(), dynamic.shape(), dynamic.strides()),
        (&DType::I16, &[2, 3, 3][..], &[24, -8, 2][..])
    );
    let back = Array::<i16, 3>::try_from(dynamic).unwrap();
    assert_eq!((*back.layout(), back.as_ptr()), (layout, address));
    let point = DArray::from(Array::<f64, 0>::full([], 0.5).unwrap());
    assert_eq!(point.rank(), 0);
    assert_eq!(Array::<f64, 0>::try_from(point).unwrap().get([]).unwrap(), 0.5);
    let empty = DArray::zeros(DType::U8, &[0, 3], Order::RowMajor).unwrap();
    assert_eq!(Array::<u8, 2>::try_from(empty).unwrap().shape(), &[0, 3]);
    let many = DArray::zeros(DType::U8, &[1; 64], Order::RowMajor).unwrap();
    assert_eq!(Array::<u8, 64>::try_from(many).unwrap().len(), 1);
}

#[test]
fn another_rank_or_dtype_is_refused_and_the_array_comes_back() {
    let array = DArray::from_vec((0..6).collect::<Vec<i32>>(), &[2, 3]).unwrap();
    let address = array.as_ptr();
    let refused = Array::<i32, 3>::try_from(array).unwrap_err();
    assert!(refused.error.is_shape());
    assert_says(&refused.error, &["[2, 3]", "rank 2", "3"]);
    let refused = Array::<u32, 2>::try_from(refused.value).unwrap_err();
    assert!(refused.error.is_dtype());
    assert_says(&refused.error, &["int32", "uint32"]);
    let refused = Array::<[i32; 3], 1>::try_from(refused.value).unwrap_err();
    assert!(refused.error.is_dtype());
    let array = Array::<i32, 2>::try_from(refused.value).unwrap();
    assert_eq!(array.as_ptr().cast(), address);
    assert_eq!(array.get([1, 2]).unwrap(), 5);
}

// ===== visitors

#[test]
fn a_visitor_is_called_with_the_array_as_what_it_is() {
    for dtype in NATIVE {
        for rank in 0..=8 {
            let array = zeros(&dtype, rank);
            let expected =
                (dtype.clone(), rank, array.shape().to_vec(), array.strides().to_vec(), array.as_ptr());
            assert_eq!(array.visit(Tell).unwrap(), expected);
        }
    }
}

#[test]
fn what_no_visitor_is_called_with_comes_back_with_dtype_and_rank() {
    for dtype in foreign() {
        let array = zeros(&dtype, 2);
        let address = array.as_ptr();
        let refused = array.visit(Tell).unwrap_err();
        assert!(refused.error.is_dtype());
        assert_says(&refused.error, &[&dtype.to_string(), "rank 2", "uint8, uint16", "float64"]);
        assert_eq!(refused.value.as_ptr(), address);
    }
    let array = DArray::zeros(DType::F32, &[1; 9], Order::RowMajor).unwrap();
    let refused = array.visit(Tell).unwrap_err();
    assert!(refused.error.is_shape());
    assert_says(&refused.error, &["float32", "rank 9", "0, 1, 2, 3, 4, 5, 6, 7, 8"]);
    assert_eq!(refused.value.rank(), 9);
}

#[test]
fn two_arrays_are_visited_where_they_are_alike() {
    for dtype in NATIVE {
        for rank in 0..=8 {
            let (first, second) = (zeros(&dtype, rank), zeros(&dtype, rank));
            let addresses = [first.as_ptr(), second.as_ptr()];
            assert_eq!(first.visit_with(second, TellBoth).unwrap(), (dtype.clone(), rank, addresses));
        }
    }
    let pairs = [
        (zeros(&DType::F32, 2), zeros(&DType::F64, 2), true),
        (zeros(&DType::F32, 2), zeros(&DType::F32, 3), false),
        (zeros(&DType::F32, 2), zeros(&DType::F64, 3), true),
        (zeros(&DType::F16, 2), zeros(&DType::F16, 2), true),
        (zeros(&DType::U8, 9), zeros(&DType::U8, 9), false),
    ];
    for (first, second, is_dtype) in pairs {
        let dtypes = [first.dtype().to_string(), second.dtype().to_string()];
        let addresses = [first.as_ptr(), second.as_ptr()];
        let refused = first.visit_with(second, TellBoth).unwrap_err();
        assert_eq!((refused.error.is_dtype(), refused.error.is_shape()), (is_dtype, !is_dtype));
        assert_says(&refused.error, &[&dtypes[0], &dtypes[1], "rank"]);
        assert_eq!([refused.value.0.as_ptr(), refused.value.1.as_ptr()], addresses);
    }
}

#[test]
fn the_element_types_of_visitors_have_their_values() {
    struct Least;
    impl Visitor for Least {
        type Output = crossdock::Result<crossdock::element::Value>;
        fn visit<T: Native, const D: usize>(self, array: Array<T, D>) -> Self::Output {
            let mut least = array.get([0; D])?;
            for index in array.layout().indices(Order::RowMajor) {
                let element = array.get(index)?;
                if element < least {
                    least = element;
                }
            }
            Ok(least.into())
        }
    }
    let array = DArray::from_vec(vec![3i8, -7, 5], &[3]).unwrap();
    assert_eq!(array.visit(Least).unwrap().unwrap().as_i64(), Some(-7));
}

// ===== dispatch

#[test]
fn an_expression_is_run_with_the_types_that_are_listed() {
    for dtype in NATIVE {
        for rank in 0..=9 {
            let array = zeros(&dtype, rank);
            let size_and_rank = dispatch!(array, |a| (size_of_val(&a.get([0; _]).unwrap()), a.shape().len()));
            match size_and_rank {
                Ok(found) => assert_eq!(found, (dtype.itemsize(), rank)),
                Err(refused) => assert!(rank == 9 && refused.error.is_shape()),
            }
            let array = zeros(&dtype, rank);
            let listed = dispatch!(array, Array<f32 | i64, 1 | 3>, |a| a.dtype());
            let is_listed = [DType::F32, DType::I64].contains(&dtype) && [1, 3].contains(&rank);
            match listed {
                Ok(found) => assert!(is_listed && found == dtype),
                Err(refused) => {
                    assert!(!is_listed && refused.value.rank() == rank);
                    assert_says(
                        &refused.error,
                        &[&format!("{dtype} and rank {rank}"), "float32, int64", "1, 3"],
                    );
                }
            }
            let any_type = dispatch!(zeros(&dtype, rank), Array<_, 2>, |a| a.len());
            assert_eq!(any_type.is_ok(), rank == 2);
            let any_rank = dispatch!(zeros(&dtype, rank), Array<u16, _>, |a| a.len());
            assert_eq!(any_rank.is_ok(), dtype == DType::U16 && rank <= 8);
        }
    }
}

#[test]
fn any_element_type_can_be_listed() {
    let points = DArray::from_vec(vec![[1.0f32, 2.0], [3.0, 4.0]], &[2]).unwrap();
    let sums = dispatch!(points, Array<[f32; 2] | [f64; 2], 1>, |points| {
        let points = points.read().unwrap();
        points.view().iter().map(|p| Into::<f64>::into(p[0] + p[1])).collect::<Vec<_>>()
    });
    assert_eq!(sums.unwrap(), [3.0, 7.0]);
}

#[test]
fn control_flow_in_an_expression_is_that_of_its_place() {
    fn total(array: DArray) -> crossdock::Result<f64> {
        let mut sum = 0.0;
        'rounds: for _ in 0..3 {
            dispatch!(array.clone(), Array<f32 | f64, 1>, |a| {
                let elements = a.read()?;
                if elements.view().is_empty() {
                    break 'rounds;
                }
                if elements.view()[[0]] < 0.0 {
                    return Ok(-1.0);
                }
                sum += elements.view().iter().map(|&x| Into::<f64>::into(x)).sum::<f64>();
            })?;
        }
        Ok(sum)
    }
    assert_eq!(total(DArray::from_vec(vec![0.5f32, 1.0], &[2]).unwrap()).unwrap(), 4.5);
    assert_eq!(total(DArray::from_vec(vec![-0.5f64], &[1]).unwrap()).unwrap(), -1.0);
    assert_eq!(total(DArray::from_vec(Vec::<f64>::new(), &[0]).unwrap()).unwrap(), 0.0);
    assert!(total(DArray::from_vec(vec![1u8], &[1]).unwrap()).unwrap_err().is_dtype());
    let written = Array::<f64, 1>::zeros([2]).unwrap();
    let _writing = written.write().unwrap();
    assert!(total(written.clone().into()).unwrap_err().is_conflict());
}

#[test]
fn two_arrays_are_dispatched_on_alike_or_each() {
    let float = |shape: &[usize]| DArray::full(DType::F32, shape, 0.5, Order::RowMajor).unwrap();
    let alike = dispatch!((float(&[2]), float(&[3])), |x, y| x.len() + y.len());
    assert_eq!(alike.unwrap(), 5);
    let listed = dispatch!((float(&[2]), float(&[3])), Array<f32, 1 | 2>, |x, y| x.len() * y.len());
    assert_eq!(listed.unwrap(), 6);
    assert!(
        dispatch!((float(&[2]), float(&[3])), Array<f32, 2>, |x, _| x.len()).unwrap_err().error.is_shape()
    );
    assert!(dispatch!((float(&[2]), float(&[3])), Array<_, 1>, |_, y| y.len()).is_ok());

    // Every pair of two lists, and dtypes in neither list.
    let dtypes = [DType::F32, DType::U8, DType::I64];
    for a in &dtypes {
        for b in &dtypes {
            for (i, j) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
                let pair = || (zeros(a, i), zeros(b, j));
                let (first, second) = pair();
                let both = dispatch!((first, second), (Array<f32 | u8, 1>, Array<u8, 1 | 2>), |x, y| {
                    (x.dtype(), x.shape().len(), y.dtype(), y.shape().len())
                });
                let first_fits = [DType::F32, DType::U8].contains(a) && i == 1;
                let second_fits = *b == DType::U8;
                match both {
                    Ok(found) => {
                        assert!(first_fits && second_fits);
                        assert_eq!(found, (a.clone(), i, b.clone(), j));
                    }
                    Err(refused) => {
                        assert!(!(first_fits && second_fits));
                        let which = if first_fits { "second" } else { "first" };
                        assert_says(
                            &refused.error,
                            &[which, "rank", &if first_fits { b } else { a }.to_string()],
                        );
                        assert_eq!((refused.value.0.rank(), refused.value.1.rank()), (i, j));
                    }
                }
                let (first, second) = pair();
                let any =
                    dispatch!((first, second), (Array<_, 1>, Array<u8 | f32, _>), |x, y| x.len() + y.len());
                assert_eq!(any.is_ok(), i == 1 && *b != DType::I64);
                let (first, second) = pair();
                let any = dispatch!((first, second), (Array<i64, _>, Array<_, 2>), |x, y| x.len() + y.len());
                assert_eq!(any.is_ok(), *a == DType::I64 && j == 2);
                let (first, second) = pair();
                let any = dispatch!((first, second), (Array<_, 1>, Array<_, 2>), |_, _| ());
                assert_eq!(any.is_ok(), i == 1 && j == 2);
            }
        }
    }
}

#[test]
fn dtypes_and_ranks_are_dispatched_on_alone() {
    for dtype in NATIVE {
        assert_eq!(dispatch_dtype!(&dtype, T => size_of::<T>()).unwrap(), dtype.itemsize());
        assert_eq!(dispatch_dtype!(&dtype, T => T::dtype()).unwrap(), dtype);
        let listed = dispatch_dtype!(&dtype, T: f32 | [u8; 2] => T::dtype());
        assert_eq!(listed.is_ok(), dtype == DType::F32);
    }
    for dtype in foreign() {
        let error = dispatch_dtype!(&dtype, T => size_of::<T>()).unwrap_err();
        assert!(error.is_dtype());
        assert_says(&error, &[&dtype.to_string(), "int8"]);
    }
    for rank in 0..=9 {
        let layout = Layout::contiguous(&vec![2; rank], 1, Order::RowMajor).unwrap();
        match dispatch_rank!(rank, D => layout.to_fixed::<D>().unwrap().shape().iter().sum::<usize>()) {
            Ok(sum) => assert_eq!(sum, 2 * rank),
            Err(error) => {
                assert!(rank == 9 && error.is_unsupported());
                assert_says(&error, &["rank 9"]);
            }
        }
        assert_eq!(dispatch_rank!(rank, D: 3 | 9 => D).ok(), [3, 9].contains(&rank).then_some(rank));
    }
}
