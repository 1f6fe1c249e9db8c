//! Long doubles beside other numbers: equality, closeness, and saturating conversions.

use crossdock::bindings::long_double::NATIVE;
use crossdock::element::{DType, ScalarKind, Value};
use crossdock::layout::Order;
use crossdock::{Array, Casting, DArray};

const LONG: DType = DType::native(ScalarKind::LongDouble);

/// `(leading one + steps) * 2^exponent`, where the leading one counts 1.
fn long(steps: u128, exponent: i64) -> Value {
    let precision = NATIVE.precision();
    let significand = (1 << (precision - 1)) + steps;
    Value::LongDouble(NATIVE.encode(false, significand, exponent + 1 - i64::from(precision)).unwrap())
}

fn of(values: &[Value], dtype: &DType) -> DArray {
    let array = DArray::zeros(dtype.clone(), &[values.len()], Order::RowMajor).unwrap();
    for (at, value) in values.iter().enumerate() {
        array.set(&[at], value).unwrap();
    }
    array
}

#[test]
fn long_doubles_equal_the_same_numbers_of_other_types() {
    let whole = DArray::from(Array::from_vec(vec![0.0, 1.0, -2.0, 100.0], [4]).unwrap());
    let to = |dtype: &str| whole.cast(&dtype.parse().unwrap(), Order::RowMajor, Casting::Checked).unwrap();
    for one in ["longdouble", ">f16", "clongdouble"] {
        for other in ["float32", "int8", "int64", "complex128", "longdouble", "clongdouble"] {
            assert!(to(one).all_close(&to(other), 0.0, 0.0, false).unwrap(), "{one} {other}");
            assert!(to(other).all_close(&to(one), 0.0, 0.0, false).unwrap(), "{one} {other}");
        }
    }
    let same = |a: &DArray, b: &DArray| a.first_not_close(b, 0.0, 0.0, false).unwrap().is_none();
    let one = of(&[1.0.into()], &DType::F64);
    assert!(!same(&of(&[long(1, 0)], &LONG), &one) && !same(&one, &of(&[long(1, 0)], &LONG)));
    let large = of(&[Value::UInt((1 << 63) + 1)], &DType::U64);
    let wide = large.cast(&LONG, Order::RowMajor, Casting::Checked).unwrap();
    assert!(same(&large, &wide) && !same(&wide, &of(&[2_f64.powi(63).into()], &DType::F64)));
    let nan = of(&[f64::NAN.into()], &LONG);
    assert!(!same(&nan, &nan) && nan.all_close(&nan, 0.0, 0.0, true).unwrap());
    // About 1e4000 and twice that.
    let (huge, twice) = (of(&[long(0, 13_287)], &LONG), of(&[long(0, 13_288)], &LONG));
    assert!(!huge.all_close(&twice, 1e-3, 0.0, false).unwrap());
    assert!(huge.all_close(&twice, 0.5, 0.0, false).unwrap());
    assert!(huge.all_close(&of(&["x".into()], &DType::text(1).unwrap()), 0.0, 0.0, false).is_err());
}

#[test]
fn long_doubles_saturate_as_doubles_do() {
    let mut numbers = vec![0.0, -0.0, 0.5, -1.5, 300.5, -300.5, 1e10, 1e39, f64::INFINITY, f64::NAN, 1e-50];
    numbers.extend([7, 8, 15, 16, 31, 32, 63, 64].map(|power| 2_f64.powi(power)));
    numbers.extend([6.1, 28.5, 239.9, 240.0, 448.0, 465.0, 57_344.0, 61_441.0, 65_519.0, 65_520.0, 3.39e38]);
    numbers.extend(numbers.clone().iter().map(|number| -number));
    let doubles = DArray::from(Array::from_vec(numbers.clone(), [numbers.len()]).unwrap());
    let longs = doubles.cast(&LONG, Order::RowMajor, Casting::Checked).unwrap();
    let pairs = longs.cast(&"clongdouble".parse().unwrap(), Order::RowMajor, Casting::Checked).unwrap();
    for name in [
        "bool",
        "int8",
        "int16",
        ">i4",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "bfloat16",
        "float32",
        ">f8",
        "complex64",
        "complex128",
        "float8_e3m4",
        "float8_e4m3",
        "float8_e4m3b11fnuz",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "float6_e2m3fn",
        "float6_e3m2fn",
        "float4_e2m1fn",
    ] {
        let dtype: DType = name.parse().unwrap();
        let cast = |array: &DArray| array.cast(&dtype, Order::RowMajor, Casting::Saturating).unwrap();
        let (expected, found, of_pairs) = (cast(&doubles), cast(&longs), cast(&pairs));
        for (at, number) in numbers.iter().enumerate() {
            let text = |array: &DArray| format!("{:?}", array.get(&[at]).unwrap()).replace("-NaN", "NaN");
            assert_eq!(text(&found), text(&expected), "{number} to {name}");
            assert_eq!(text(&of_pairs), text(&expected), "{number} to {name}");
        }
    }
}

#[test]
fn what_doubles_cannot_hold_saturates_too() {
    let cast = |value: &Value, dtype: &DType| {
        let array = of(std::slice::from_ref(value), &LONG);
        array.cast(dtype, Order::RowMajor, Casting::Saturating).unwrap().get(&[0]).unwrap()
    };
    let huge = long(0, 13_287);
    assert_eq!(cast(&huge, &DType::F64), Value::Float(f64::INFINITY));
    assert_eq!(cast(&huge, &DType::I8), Value::Int(127));
    assert_eq!(cast(&huge, &DType::U64), Value::UInt(u64::MAX));
    assert_eq!(cast(&huge, &DType::BOOL), Value::Bool(true));
    assert_eq!(cast(&huge, &DType::native(ScalarKind::Float8E4M3Fn)), Value::Float(448.0));
    assert_eq!(cast(&long(0, -16_000), &DType::BOOL), Value::Bool(true));
    assert_eq!(cast(&long(0, -16_000), &DType::I64), Value::Int(0));
    // The largest signed integer, which a double would round up.
    let largest = of(&[Value::Int(i64::MAX)], &DType::I64);
    let wide = largest.cast(&LONG, Order::RowMajor, Casting::Checked).unwrap();
    assert_eq!(cast(&wide.get(&[0]).unwrap(), &DType::I64), Value::Int(i64::MAX));
    let complex = of(&[Value::Complex { re: 1.5, im: 2.0 }], &DType::C128);
    let real = complex.cast(&LONG, Order::RowMajor, Casting::Saturating).unwrap();
    assert_eq!(real.get(&[0]).unwrap().as_f64(), Some(1.5));
    assert!(complex.cast(&LONG, Order::RowMajor, Casting::Checked).unwrap_err().is_value());
}
