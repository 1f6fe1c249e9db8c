//! Random pairs of files against a naive oracle.

use std::path::{Path, PathBuf};

use crossdock::DArray;
use crossdock::bindings::long_double::{ExactNumber, NATIVE};
use crossdock::element::{DType, NAT, Scalar, ScalarKind, Value};
use crossdock::exchange::files::npy;
use crossdock::layout::Order;
use crossdock_testkit::{Coverage, cases, seed};

use super::compare::DiffPlan;
use super::elements::Differences;
use super::rule::{Distance, Rule};
use super::tiles::index_at;

const DTYPES: &[&str] = &[
    "bool",
    "int8",
    "<i2",
    ">i2",
    "<i4",
    ">i4",
    "<i8",
    ">i8",
    "uint8",
    "<u2",
    ">u2",
    "<u4",
    "<u8",
    ">u8",
    "<f2",
    ">f2",
    "<f4",
    ">f4",
    "<f8",
    ">f8",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "<c8",
    ">c16",
    "longdouble",
    "S3",
    "S5",
    "U2",
    ">U3",
    "<M8[D]",
    "<m8[s]",
    "V3",
    "[('n', '<i2'), ('x', '>f4', (2,)), ('t', 'S2')]",
];

/// The long double `1 + count * 2^-63`.
fn near_one(count: u64) -> [u8; 16] {
    let precision = NATIVE.precision();
    let significand = u128::from(1 << 63 | count) << (precision - 64);
    NATIVE.encode(false, significand, 1 - i64::from(precision)).unwrap()
}

/// NumPy's rule, written out; the number of the difference, and whether there is one.
fn differ(rule: Rule, a: &Value, b: &Value) -> (bool, Option<Distance>, bool) {
    let whole = |value: &Value| match value {
        Value::Bool(truth) => Some(i128::from(*truth)),
        Value::Int(number) => Some(i128::from(*number)),
        Value::UInt(number) => Some(i128::from(*number)),
        _ => None,
    };
    if let (Value::Bool(a), Value::Bool(b)) = (a, b) {
        return (a != b, None, false);
    }
    if let (Some(a), Some(b)) = (whole(a), whole(b)) {
        let distance = (a - b).unsigned_abs();
        let close = a == b || distance as f64 <= rule.atol + rule.rtol * b.unsigned_abs() as f64;
        return (!close, Some(Distance::Integer(distance)), false);
    }
    let number =
        |value: &Value| whole(value).map(|number| (number as f64, 0.0)).or_else(|| value.as_complex());
    // The bits of a long double near 1 that its nearest double lacks.
    let rest = |value: &Value| match value {
        Value::LongDouble(raw) => {
            let count = (0..3).find(|&count| near_one(count) == *raw).unwrap_or(0);
            count as f64 * 2_f64.powi(-63)
        }
        _ => 0.0,
    };
    let long = |value: &Value| matches!(value, Value::LongDouble(_));
    let rests = (rest(a), rest(b));
    let is_long = long(a) || long(b);
    let exact = ExactNumber::of(a).zip(ExactNumber::of(b));
    if let (Some(a), Some(b), Some(exact)) = (number(a), number(b), exact) {
        let is_nan = |number: (f64, f64)| number.0.is_nan() || number.1.is_nan();
        if is_nan(a) || is_nan(b) {
            return (!(rule.equal_nan && is_nan(a) && is_nan(b)), None, is_nan(a) != is_nan(b));
        }
        let part = |a: f64, b: f64| if a == b { 0.0 } else { a - b };
        let (re, im) = (part(a.0, b.0), part(a.1, b.1));
        let (distance, size) =
            if im == 0.0 && b.1 == 0.0 { (re.abs(), b.0.abs()) } else { (re.hypot(im), b.0.hypot(b.1)) };
        if is_long && im == 0.0 && b.1 == 0.0 && distance.is_finite() && size.is_finite() {
            // First the doubles, which may cancel, then what they lack.
            let lost = match re {
                0.0 => (rests.0 - rests.1).abs(),
                _ => (rests.0 - rests.1) * re.signum(),
            };
            let beyond =
                (distance - rule.atol - rule.rtol * size) + (lost - rule.rtol * rests.1 * b.0.signum());
            if distance > 2_f64.powi(53) && beyond.abs() < 1e-15 * distance {
                // Doubles do not tell; the tests of exact numbers do.
                let close = exact.0.is_close(exact.1, rule.rtol, rule.atol, rule.equal_nan);
                return (!close, Some(Distance::Real(distance)), false);
            }
            let is_same = distance + lost == 0.0;
            return (!is_same && beyond > 0.0, Some(Distance::Real(distance + lost)), false);
        }
        let close =
            a == b && rests == (0.0, 0.0) || size.is_finite() && distance <= rule.atol + rule.rtol * size;
        return (!close, Some(Distance::Real(distance)), false);
    }
    let is_nat = |value: &Value| match value {
        Value::DateTime { count, .. } | Value::TimeDelta { count, .. } => *count == NAT,
        _ => false,
    };
    if is_nat(a) || is_nat(b) {
        return (!(rule.equal_nan && is_nat(a) && is_nat(b)), None, is_nat(a) != is_nat(b));
    }
    (a != b, None, false)
}

fn oracle(rule: Rule, a: &DArray, b: &DArray) -> Differences {
    let mut tally = Differences::default();
    for position in 0..a.len() {
        let index = index_at(a.shape(), position);
        let (a, b) = (a.get(&index).unwrap(), b.get(&index).unwrap());
        let (differs, distance, one_is_nan) = differ(rule, &a, &b);
        if differs {
            tally.differing += 1;
            tally.first = tally.first.or(Some(position));
        }
        tally.one_is_nan += usize::from(one_is_nan);
        let Some(distance) = distance else { continue };
        if distance > tally.greatest.map_or(Distance::Real(0.0), |(greatest, _)| greatest) {
            tally.greatest = Some((distance, position));
        }
        let size = match &b {
            Value::Int(number) => number.unsigned_abs() as f64,
            Value::UInt(number) => *number as f64,
            Value::Bool(truth) => f64::from(u8::from(*truth)),
            other => {
                other.as_complex().map_or(0.0, |(re, im)| if im == 0.0 { re.abs() } else { re.hypot(im) })
            }
        };
        let relative = match distance {
            Distance::Integer(number) => number as f64 / size,
            Distance::Real(number) => number / size,
            Distance::Wide(_) => unreachable!("the distances of these numbers are doubles"),
        };
        if size != 0.0 && relative > tally.greatest_relative.map_or(0.0, |(greatest, _)| greatest) {
            tally.greatest_relative = Some((relative, position));
        }
    }
    tally
}

/// Bytes that are often the same, and are valid elements of the dtype.
fn element(rng: &mut fastrand::Rng, dtype: &DType) -> Value {
    let mut bytes = vec![0; dtype.itemsize()];
    let kind = dtype.as_scalar().map(Scalar::kind);
    if let Some(ScalarKind::Text(_)) = kind {
        return Value::Text(["", "a", "ö", "ab"][rng.usize(..4)].to_owned());
    }
    let numbers =
        [0.0, -0.0, 1.0, 1.0 + 1e-3, -2.0, 7.0, 100.0, 1e-7, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let number = Value::Float(numbers[rng.usize(..numbers.len())]);
    if rng.bool() && number.write(dtype, &mut bytes).is_ok() {
        return Value::read(dtype, &bytes).unwrap();
    }
    if kind == Some(ScalarKind::LongDouble) {
        bytes.copy_from_slice(&near_one(rng.u64(..3)));
    } else {
        let few = [0, 1, 0x3c, 0x7f, 0x80, 0xff];
        bytes.iter_mut().for_each(|byte| *byte = few[rng.usize(..few.len())]);
    }
    if let Some(ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_)) = kind {
        let count = [NAT, 0, 1, 5][rng.usize(..4)];
        bytes.copy_from_slice(&count.to_le_bytes());
    }
    Value::read(dtype, &bytes).unwrap()
}

fn random(rng: &mut fastrand::Rng, dtype: &DType, shape: &[usize], order: Order) -> DArray {
    DArray::from_fn(dtype.clone(), shape, order, |_| element(rng, dtype)).unwrap()
}

/// Another array of the shape, which has many elements in common with the first.
fn similar(rng: &mut fastrand::Rng, first: &DArray, dtype: &DType, order: Order) -> DArray {
    let other = random(rng, dtype, first.shape(), order);
    let keep = [0, 1, 9, 10][rng.usize(..4)];
    for position in (0..first.len()).filter(|_| rng.usize(..10) < keep).collect::<Vec<_>>() {
        let index = index_at(first.shape(), position);
        // A value that does not fit stays different.
        let _ = other.set(&index, &first.get(&index).unwrap());
    }
    other
}

/// The array in a file, if a format can hold it.
fn through_file(array: DArray, path: &Path) -> DArray {
    let mut bytes = Vec::new();
    match npy::write(&mut bytes, &array) {
        Ok(()) => {
            // Without waiting for the disk, as a saved file does.
            std::fs::write(path, bytes).unwrap();
            crossdock::open(path).unwrap()
        }
        Err(error) => {
            assert!(error.is_dtype() || error.is_unsupported(), "{error}");
            array
        }
    }
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn random_pairs_differ_as_the_oracle_says() {
    let folder = Folder(std::env::temp_dir().join(format!("crossdock-diff-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    let mut rng = fastrand::Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    for case in 0..cases(300) {
        coverage.case();
        let one: DType = DTYPES[rng.usize(..DTYPES.len())].parse().unwrap();
        let other: DType = match rng.usize(..3) {
            0 => DTYPES[rng.usize(..DTYPES.len())].parse().unwrap(),
            _ => one.clone(),
        };
        let shape: Vec<usize> = match case % 300 {
            150 => vec![2, 33_000],
            _ => (0..rng.usize(..4)).map(|_| rng.usize(..7)).collect(),
        };
        let mut order = || if rng.bool() { Order::RowMajor } else { Order::ColumnMajor };
        let orders = [order(), order()];
        let a = random(&mut rng, &one, &shape, orders[0]);
        let b = similar(&mut rng, &a, &other, orders[1]);
        let a = through_file(a, &folder.0.join(format!("a{case}.npy")));
        let b = through_file(b, &folder.0.join(format!("b{case}.npy")));
        let tolerance = |rng: &mut fastrand::Rng| [0.0, 0.0, 1e-4, 1e-2, 1.0][rng.usize(..5)];
        let rule = Rule { rtol: tolerance(&mut rng), atol: tolerance(&mut rng), equal_nan: rng.bool() };
        let plan = DiffPlan { rule, any_dtype: rng.bool(), brief: false };
        let diff = plan.compare(&a, &b, &|_| Ok(())).unwrap();
        let context = || format!("seed {}: {one} {other} {shape:?} {rule:?}\n{a}\n{b}", seed());
        let is_record = [&one, &other].map(|dtype| dtype.as_scalar().is_none());
        let mut differs = !plan.any_dtype && diff.dtypes_differ() || is_record[0] != is_record[1];
        for field in &diff.fields {
            let [a, b] = &field.arrays;
            let Some(tally) = &field.tally else {
                differs = true;
                coverage.note("not comparable");
                continue;
            };
            let expected = oracle(rule, a, b);
            assert_eq!(*tally, expected, "{}", context());
            differs |= tally.differing > 0;
            coverage.note(if tally.differing > 0 { "different" } else { "the same" });
            let exact = Rule { rtol: 0.0, atol: 0.0, ..rule };
            let is_small = a.len() < 1000;
            let is_close = is_small && oracle(exact, a, b).differing > tally.differing;
            coverage.note_if(is_close, "within the tolerance");
            coverage.note_if(tally.one_is_nan > 0, "one is NaN");
            coverage.note_if(orders[0] != orders[1] && a.len() > 5, "different orders");
        }
        assert_eq!(diff.differs, differs, "{}", context());
        let brief = DiffPlan { brief: true, ..plan }.compare(&a, &b, &|_| Ok(())).unwrap();
        assert_eq!(brief.differs, differs, "{}", context());
        let same = plan.compare(&a, &a, &|_| Ok(())).unwrap();
        let has_nan =
            same.fields.iter().any(|field| field.tally.as_ref().is_some_and(|tally| tally.differing > 0));
        assert!(!same.differs || has_nan && !rule.equal_nan, "{}", context());
    }
    if coverage.cases() >= 300 {
        let classes = ["different", "the same", "within the tolerance", "one is NaN", "different orders"];
        coverage.assert_at_least(0.03, classes);
        coverage.assert_at_least(0.02, ["not comparable"]);
    }
}
