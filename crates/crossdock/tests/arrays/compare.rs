//! Fill, equality, closeness and byte order of arrays, compared with their values one by one.
//!
//! `CROSSDOCK_SEED` and `CROSSDOCK_CASES` choose the arrays.

use crossdock::buffer::Buffer;
use crossdock::element::{ByteOrder, DType, Field, NAT, ScalarKind, TimeUnit, Value};
use crossdock::layout::{AxisSlice, Layout, Order};
use crossdock::{Array, Casting, DArray, s};
use crossdock_testkit::{Coverage, generate, seed};
use fastrand::Rng;

use crate::cases;

const CASES: usize = 2_000;

const NUMBERS: [DType; 16] = [
    DType::BOOL,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U64,
    DType::F16,
    DType::BF16,
    DType::native(ScalarKind::Float8E4M3Fn),
    DType::native(ScalarKind::Float8E5M2),
    DType::F32,
    DType::F64,
    DType::C64,
    DType::C128,
];

fn dtype(rng: &mut Rng) -> DType {
    let number = rng.choice(NUMBERS).unwrap();
    match rng.usize(0..14) {
        0 => DType::datetime(TimeUnit::DAY),
        1 => DType::bytes(rng.usize(0..6)).unwrap(),
        2 => DType::void(rng.usize(1..90)).unwrap(),
        3 => DType::native(ScalarKind::LongDouble),
        4 => DType::subarray(&[2, 3], number).unwrap(),
        5 => DType::record(
            [
                Field::new("a", 1, number),
                Field::new("b", 20, DType::subarray(&[2], DType::F32.swapped()).unwrap()),
            ],
            rng.usize(28..32),
        )
        .unwrap(),
        6 => DType::void(rng.usize(2040..2060)).unwrap(),
        7 | 8 => number.swapped(),
        _ => number,
    }
}

/// An array of zeros with random strides, its base, and whether elements share memory.
fn strided(rng: &mut Rng, dtype: &DType, shape: &[usize]) -> (DArray, DArray) {
    let axes: Vec<usize> = {
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        if rng.bool() {
            rng.shuffle(&mut axes);
        }
        axes
    };
    let plain = rng.usize(0..3) == 0;
    let steps: Vec<isize> =
        axes.iter().map(|_| if plain { 1 } else { *rng.choice(&[1, 1, 2, -1, -2]).unwrap() }).collect();
    let wide: Vec<usize> =
        axes.iter().zip(&steps).map(|(&axis, step)| shape[axis] * step.unsigned_abs()).collect();
    let layout = Layout::contiguous(&wide, dtype.itemsize(), Order::RowMajor).unwrap();
    let offset = if plain { 0 } else { rng.usize(0..9) };
    let buffer = Buffer::zeroed(layout.nbytes() + offset).unwrap();
    let base = DArray::from_buffer(buffer, dtype.clone(), layout, offset).unwrap();
    let slices: Vec<AxisSlice> =
        steps.iter().map(|&step| AxisSlice::Range { start: None, stop: None, step }).collect();
    let mut back = vec![0; axes.len()];
    for (place, &axis) in axes.iter().enumerate() {
        back[axis] = place;
    }
    (base.slice(slices).unwrap().permute(&back).unwrap(), base)
}

/// The bytes of an array that begins in its buffer and is contiguous.
fn contiguous_bytes(array: &DArray) -> Vec<u8> {
    let (buffer, offset) = array.buffer().unwrap();
    buffer.read().unwrap()[offset..][..array.layout().nbytes()].to_vec()
}

fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |all, &len| {
        all.iter().flat_map(|index| (0..len).map(move |at| [&index[..], &[at]].concat())).collect()
    })
}

/// A value of a dtype from a small set, so that neighbours are often equal; sometimes a special
/// one.
fn value(rng: &mut Rng, dtype: &DType) -> Value {
    let mut bytes = vec![0; dtype.itemsize()];
    match rng.usize(0..8) {
        0 => bytes.iter_mut().for_each(|byte| *byte = rng.u8(..)),
        1 => bytes.fill(0xff),
        _ => bytes.iter_mut().for_each(|byte| *byte = rng.u8(0..2)),
    }
    let value = Value::read(dtype, &bytes).unwrap();
    match (rng.usize(0..20), value) {
        (0, Value::Float(_)) => Value::Float(-0.0),
        (1, Value::Float(_)) => Value::Float(f64::NAN),
        (2, Value::DateTime { unit, .. }) => Value::DateTime { count: NAT, unit },
        (_, value) => value,
    }
}

/// The bits of a number that count, the same ones for both zeros; `None` for NaN.
fn long_double(raw: &[u8; 16]) -> Option<u128> {
    // x86 has 6 bytes of padding, and writes the leading one, without which there is no number.
    // Elsewhere there are 112 bits below the exponent.
    let is_extended = cfg!(any(target_arch = "x86", target_arch = "x86_64"));
    let (width, below) = if is_extended { (80, 64) } else { (128, 112) };
    let bits = u128::from_le_bytes(*raw) << (128 - width) >> (128 - width);
    let (field, stored) = (bits >> below & 0x7fff, bits & ((1 << below) - 1));
    let lacks_leading_one = is_extended && field > 0 && stored >> 63 == 0;
    let fraction = if is_extended { stored & (u128::MAX >> 65) } else { stored };
    let is_nan = lacks_leading_one || field == 0x7fff && fraction != 0;
    let is_zero = field == 0 && stored == 0;
    (!is_nan).then_some(if is_zero { 0 } else { bits })
}

/// NumPy's `==`, spelled out.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Float(left), Value::Float(right)) => left == right,
        (Value::Complex { re: a, im: b }, Value::Complex { re: c, im: d }) => a == c && b == d,
        (Value::DateTime { count, .. }, Value::DateTime { count: other, .. }) => {
            count == other && *count != i64::MIN
        }
        (Value::LongDouble(left), Value::LongDouble(right)) => {
            let (left, right) = (long_double(left), long_double(right));
            left.is_some() && left == right
        }
        (Value::Array(left), Value::Array(right)) => left.iter().zip(right).all(|(a, b)| equal(a, b)),
        (Value::Record(left), Value::Record(right)) => {
            left.iter().zip(right).all(|((_, a), (_, b))| equal(a, b))
        }
        (left, right) => left == right,
    }
}

/// Notes what kind of layouts a case has.
fn note(coverage: &mut Coverage, array: &DArray) {
    let any = |f: &dyn Fn(isize) -> bool| {
        array.strides().iter().zip(array.shape()).any(|(&stride, &len)| len > 1 && f(stride))
    };
    coverage.note(format!("rank {}", array.rank()));
    coverage.note_if(any(&|stride| stride < 0), "negative");
    coverage.note_if(any(&|stride| stride == 0), "zero");
    let align = array.dtype().alignment();
    let aligned = array.layout().is_aligned(align) && array.as_ptr().addr().is_multiple_of(align);
    coverage.note_if(!aligned, "unaligned");
    coverage.note_if(array.is_empty(), "empty");
}

#[test]
fn arrays_are_equal_where_their_values_are() {
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    let cases = cases(CASES);
    for case in 0..cases {
        coverage.case();
        let dtype = dtype(&mut rng);
        let shape = generate::shape(&mut rng, case % 9);
        let (mut left, _) = strided(&mut rng, &dtype, &shape);
        for index in indices(&shape) {
            left.set(&index, &value(&mut rng, &dtype)).unwrap();
        }
        if shape.first().is_some_and(|&len| len > 0) && rng.usize(0..5) == 0 {
            left = left
                .slice([AxisSlice::Range { start: None, stop: Some(1), step: 1 }, AxisSlice::Ellipsis])
                .unwrap();
            let mut wide = left.shape().to_vec();
            wide[0] *= rng.usize(2..4);
            left = left.broadcast_to(&wide).unwrap();
        }
        let shape = left.shape().to_vec();
        let other = if rng.bool() { dtype.swapped() } else { dtype.clone() };
        let (right, _) = strided(&mut rng, &other, &shape);
        right.assign(&left, Casting::Checked).unwrap();
        let indices = indices(&shape);
        if rng.bool()
            && let Some(index) = rng.choice(&indices)
        {
            right.set(index, &value(&mut rng, &dtype)).unwrap();
        }
        note(&mut coverage, &left);
        let same = |index: &&Vec<usize>| equal(&left.get(index).unwrap(), &right.get(index).unwrap());
        let expected = indices.iter().find(|index| !same(index));
        let context = format!("{left:?}, {right:?}");
        assert_eq!(left.first_difference(&right).unwrap().as_ref(), expected, "{context}");
        assert_eq!(right.first_difference(&left).unwrap().as_ref(), expected, "{context}");
        assert_eq!(left.equals(&right).unwrap(), expected.is_none(), "{context}");
        coverage.note(if expected.is_some() { "different" } else { "equal" });
    }
    println!("{coverage}");
    if cases >= CASES {
        coverage.assert_at_least(0.05, ["negative", "zero", "unaligned", "empty"]);
        coverage.assert_at_least(0.2, ["equal", "different"]);
        coverage.assert_at_least(0.05, (0..=8).map(|rank| format!("rank {rank}")));
    }
}

/// NumPy's `isclose`, spelled out.
fn close(a: (f64, f64), b: (f64, f64), rtol: f64, atol: f64, equal_nan: bool) -> bool {
    let nan = |(re, im): (f64, f64)| re.is_nan() || im.is_nan();
    let finite = b.0.is_finite() && b.1.is_finite();
    let apart = (a.0 - b.0).hypot(a.1 - b.1);
    finite && apart <= atol + rtol * b.0.hypot(b.1) || a == b || equal_nan && nan(a) && nan(b)
}

#[test]
fn arrays_are_close_where_their_values_are() {
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    let cases = cases(CASES);
    for case in 0..cases {
        coverage.case();
        let pick = |rng: &mut Rng| {
            let dtype = rng.choice(NUMBERS).unwrap();
            if rng.usize(0..4) == 0 { dtype.swapped() } else { dtype }
        };
        let (dtype, other) = (pick(&mut rng), pick(&mut rng));
        let shape = generate::shape(&mut rng, case % 9);
        let ((left, _), (right, _)) = (strided(&mut rng, &dtype, &shape), strided(&mut rng, &other, &shape));
        for index in indices(&shape) {
            left.set(&index, &value(&mut rng, &dtype)).unwrap();
        }
        right.assign(&left, Casting::Saturating).unwrap();
        let (rtol, atol) =
            (*rng.choice(&[0.0, 1e-3, 0.5]).unwrap(), *rng.choice(&[0.0, 0.1, 300.0]).unwrap());
        let equal_nan = rng.bool();
        note(&mut coverage, &left);
        let number = |array: &DArray, index: &[usize]| {
            let value = array.get(index).unwrap();
            value.as_bool().map_or_else(|| value.as_complex().unwrap(), |bit| (f64::from(u8::from(bit)), 0.0))
        };
        let is_close =
            |index: &&Vec<usize>| close(number(&left, index), number(&right, index), rtol, atol, equal_nan);
        let indices = indices(&shape);
        let expected = indices.iter().find(|index| !is_close(index));
        let got = left.first_not_close(&right, rtol, atol, equal_nan).unwrap();
        assert_eq!(got.as_ref(), expected, "{left:?}, {right:?}, {rtol}, {atol}, {equal_nan}");
        assert_eq!(left.all_close(&right, rtol, atol, equal_nan).unwrap(), expected.is_none());
        coverage.note(if expected.is_some() { "apart" } else { "close" });
    }
    println!("{coverage}");
    if cases >= CASES {
        coverage.assert_at_least(0.05, ["negative", "unaligned", "empty"]);
        coverage.assert_at_least(0.2, ["apart", "close"]);
    }
}

#[test]
fn filling_writes_every_element_and_nothing_else() {
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    for case in 0..cases(CASES) / 2 {
        coverage.case();
        let dtype = dtype(&mut rng);
        let shape = generate::shape(&mut rng, case % 9);
        let (array, base) = strided(&mut rng, &dtype, &shape);
        note(&mut coverage, &array);
        let mut before = vec![0; dtype.itemsize()];
        value(&mut rng, &dtype).write(&dtype, &mut before).unwrap();
        let before = DArray::from_buffer(
            Buffer::from_vec(before.repeat(base.len())).unwrap(),
            dtype.clone(),
            Layout::contiguous(base.shape(), dtype.itemsize(), Order::RowMajor).unwrap(),
            0,
        );
        base.assign(&before.unwrap(), Casting::Checked).unwrap();
        let expected = DArray::zeros(dtype.clone(), base.shape(), Order::RowMajor).unwrap();
        expected.assign(&base, Casting::Checked).unwrap();
        let value = value(&mut rng, &dtype);
        // The view's elements in the base: each at its distance in bytes.
        for index in indices(&shape) {
            let at = array.layout().offset_of(&index).unwrap() + array.as_ptr().addr() as isize
                - base.as_ptr().addr() as isize;
            let mut rest = at as usize;
            let in_base: Vec<usize> = base
                .strides()
                .iter()
                .map(|&stride| {
                    let index = rest.checked_div(stride as usize).unwrap_or(0);
                    rest -= index * stride as usize;
                    index
                })
                .collect();
            expected.set(&in_base, &value).unwrap();
        }
        array.fill(&value).unwrap();
        if contiguous_bytes(&base) == contiguous_bytes(&expected) {
            continue;
        }
        // Values may be equal although their padding differs.
        for index in indices(base.shape()) {
            let (got, expected) = (base.get(&index).unwrap(), expected.get(&index).unwrap());
            assert_eq!(format!("{got:?}"), format!("{expected:?}"), "{array:?} at {index:?} of the base");
        }
    }
    println!("{coverage}");
    let large = Array::<u16, 1>::zeros([5_000_001]).unwrap();
    large.slice(s![1..]).unwrap().fill(0x1234).unwrap();
    assert!(large.read().unwrap().to_vec()[1..].iter().all(|&element| element == 0x1234));
    assert_eq!(large.get([0]).unwrap(), 0);
    // A repeated element is written in its base, not through the view that repeats it.
    let one = Array::<u8, 1>::zeros([1]).unwrap();
    let everywhere = one.broadcast_to([3, 5]).unwrap();
    assert!(everywhere.fill(7).unwrap_err().is_layout());
    assert_eq!(everywhere.get([2, 4]).unwrap(), 0);
    one.fill(7).unwrap();
    assert_eq!(everywhere.get([2, 4]).unwrap(), 7);
}

#[test]
fn bytes_are_turned_around_in_place_and_back() {
    let mut rng = Rng::with_seed(seed());
    for _ in 0..500 {
        let pair = DType::record(
            [Field::new("a", 1, DType::U32), Field::new("b", 7, DType::subarray(&[3], DType::C64).unwrap())],
            33,
        )
        .unwrap();
        let dtype = rng
            .choice([DType::F64, DType::I16, DType::U8, DType::C128, DType::datetime(TimeUnit::DAY), pair])
            .unwrap();
        let rank = rng.usize(0..4);
        let shape = generate::shape(&mut rng, rank);
        let array = strided(&mut rng, &dtype, &shape).0;
        for index in indices(&shape) {
            array.set(&index, &value(&mut rng, &dtype)).unwrap();
        }
        let values: Vec<String> =
            indices(&shape).iter().map(|index| format!("{:?}", array.get(index).unwrap())).collect();
        let copy = array.to_byte_order(ByteOrder::Big).unwrap();
        let turned = array.into_byte_order(ByteOrder::Big).unwrap();
        assert_eq!(turned.dtype(), &dtype.with_byte_order(ByteOrder::Big));
        for (at, index) in indices(&shape).iter().enumerate() {
            assert_eq!(format!("{:?}", turned.get(index).unwrap()), values[at], "{turned:?} at {index:?}");
            assert_eq!(format!("{:?}", copy.get(index).unwrap()), values[at], "{copy:?} at {index:?}");
        }
        let back = turned.into_byte_order(ByteOrder::Little).unwrap();
        assert_eq!(back.dtype(), &dtype.with_byte_order(ByteOrder::Little));
    }
}

#[test]
fn what_is_not_alone_is_not_turned_around_and_comes_back() {
    let array = DArray::from(Array::from_vec(vec![1_i32, 2, 3], [3]).unwrap());
    let other = array.clone();
    let back = array.into_byte_order(ByteOrder::Big).unwrap_err();
    assert!(back.error.is_conflict(), "{}", back.error);
    assert_eq!(back.value.get(&[1]).unwrap().as_i64(), Some(2));
    drop(other);
    assert!(back.value.clone().into_byte_order(ByteOrder::Little).is_ok(), "there is nothing to turn");
    assert!(back.value.into_byte_order(ByteOrder::Big).is_ok());
    let repeated = DArray::from(Array::<i32, 1>::zeros([1]).unwrap()).broadcast_to(&[4]).unwrap();
    assert!(repeated.into_byte_order(ByteOrder::Big).unwrap_err().error.is_layout());
    let union = DType::record([Field::new("a", 0, DType::I32), Field::new("b", 2, DType::I32)], 6).unwrap();
    let unions = DArray::zeros(union, &[2], Order::RowMajor).unwrap();
    assert!(unions.into_byte_order(ByteOrder::Big).unwrap_err().error.is_unsupported());
    let text = DArray::zeros(DType::text(3).unwrap(), &[2], Order::RowMajor).unwrap();
    assert!(text.into_byte_order(ByteOrder::Big).unwrap_err().error.is_unsupported());
}

#[test]
fn elements_that_both_arrays_repeat_are_compared_once() {
    const MANY: usize = 1 << 40;
    let row = DArray::from(Array::from_vec(vec![1, 2, 3], [3]).unwrap());
    let other = row.to_order(Order::RowMajor).unwrap();
    let repeated = |row: &DArray| row.broadcast_to(&[MANY, 3]).unwrap();
    assert!(repeated(&row).equals(&repeated(&other)).unwrap());
    other.set(&[1], &9.into()).unwrap();
    assert_eq!(repeated(&row).first_difference(&repeated(&other)).unwrap(), Some(vec![0, 1]));
    let columns = |row: &DArray| repeated(row).transpose().unwrap();
    assert_eq!(columns(&row).first_difference(&columns(&other)).unwrap(), Some(vec![1, 0]));
    // One that does not repeat them has all of them compared.
    let few = other.broadcast_to(&[4, 3]).unwrap();
    let written = row.broadcast_to(&[4, 3]).unwrap().to_order(Order::RowMajor).unwrap();
    assert_eq!(few.first_difference(&written).unwrap(), Some(vec![0, 1]));
}

#[test]
fn rows_behind_pointers_are_converted_filled_and_compared_as_others() {
    let rows = DArray::from_rows(vec![vec![1.5_f32, -2.0, 70000.0], vec![4.0, 5.0, 6.0]]).unwrap();
    assert!(rows.is_indirect());
    let plain = rows.to_order(Order::ColumnMajor).unwrap();
    assert!(rows.equals(&plain).unwrap() && plain.equals(&rows).unwrap());
    let half = rows.cast(&DType::F16, Order::RowMajor, Casting::Saturating).unwrap();
    assert_eq!(half.get(&[0, 2]).unwrap().as_f64(), Some(f64::INFINITY));
    assert_eq!(rows.first_not_close(&half, 1e-3, 0.0, false).unwrap(), Some(vec![0, 2]));
    let error = rows.cast(&DType::F16, Order::RowMajor, Casting::Checked).unwrap_err();
    assert!(error.to_string().starts_with("element [0, 2]: 70000"), "{error}");
    let error = rows.cast(&DType::U8, Order::RowMajor, Casting::Checked).unwrap_err();
    assert!(error.to_string().starts_with("element [0, 0]: 1.5"), "{error}");
    rows.slice(s![1.., 1..]).unwrap().fill(&9.into()).unwrap();
    assert_eq!(rows.first_difference(&plain).unwrap(), Some(vec![1, 1]));
    rows.assign(&half, Casting::Checked).unwrap();
    assert!(rows.equals(&half.cast(&DType::F32, Order::RowMajor, Casting::Checked).unwrap()).unwrap());
    assert!(rows.into_byte_order(ByteOrder::Big).unwrap_err().error.is_unsupported());
}

#[test]
fn what_cannot_be_compared_or_filled_is_refused() {
    let ints = DArray::from(Array::from_vec(vec![1, 2, 3], [3]).unwrap());
    let floats = ints.cast(&DType::F32, Order::RowMajor, Casting::Checked).unwrap();
    assert!(ints.equals(&floats).unwrap_err().is_dtype());
    assert!(ints.all_close(&floats, 0.0, 0.0, false).unwrap());
    let row = ints.insert_axis(0).unwrap();
    assert!(!ints.equals(&row).unwrap());
    assert!(ints.first_difference(&row).unwrap_err().is_shape());
    assert!(ints.all_close(&row, 1.0, 1.0, true).unwrap_err().is_shape());
    for tolerance in [-1.0, f64::NAN] {
        assert!(ints.all_close(&floats, tolerance, 0.0, false).unwrap_err().is_value());
        assert!(ints.all_close(&floats, 0.0, tolerance, false).unwrap_err().is_value());
    }
    let text = DArray::zeros(DType::text(3).unwrap(), &[3], Order::RowMajor).unwrap();
    assert!(text.equals(&text.to_byte_order(ByteOrder::Big).unwrap()).unwrap());
    assert!(text.all_close(&text, 1.0, 1.0, true).unwrap_err().is_dtype());
    let other = DType::packed_record([("b", DType::F32)]).unwrap();
    let pair = |dtype| DArray::zeros(dtype, &[3], Order::RowMajor).unwrap();
    let one = pair(DType::packed_record([("a", DType::F32)]).unwrap());
    assert!(one.equals(&pair(other)).unwrap_err().is_dtype());
    assert!(one.all_close(&one, 0.0, 0.0, true).is_ok());

    assert!(ints.fill(&1.5.into()).unwrap_err().is_value());
    assert!(ints.clone().into_readonly().fill(&1.into()).unwrap_err().is_read_only());
    let typed = Array::<i32, 1>::try_from(ints.clone()).unwrap();
    let reader = typed.read().unwrap();
    assert!(ints.fill(&1.into()).unwrap_err().is_conflict());
    drop(reader);
    let writer = typed.write().unwrap();
    assert!(ints.equals(&ints).unwrap_err().is_conflict());
    drop(writer);
    typed.fill(4).unwrap();
    assert!(
        typed
            .all_close(
                &typed.cast::<f64>(Casting::Checked).unwrap().cast(Casting::Checked).unwrap(),
                0.0,
                0.0,
                false
            )
            .unwrap()
    );
    assert_eq!(typed.first_not_close(&typed, 0.0, 0.0, false).unwrap(), None);
    let kind = DType::scalar(ScalarKind::Pointer, ByteOrder::NATIVE).unwrap();
    assert!(pair(kind.clone()).equals(&pair(kind)).unwrap());
}
