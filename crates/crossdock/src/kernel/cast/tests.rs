//! Every pair of kinds at every level: checked conversions against `Value`, saturating ones against
//! an oracle that knows nothing of bits. Then random layouts of both.

use std::cmp::Ordering;
use std::mem::MaybeUninit;

use crossdock_testkit::{Coverage, generate, seed};
use fastrand::Rng;

use super::{Cast, CastPlan, by_value};
use crate::element::{ByteOrder, DType, Field, ScalarKind, TimeUnit, Value};
use crate::kernel::Casting;
use crate::kernel::block::LaneBlock;
use crate::kernel::cpu::Level;
use crate::layout::{Layout, Order};

const KINDS: [ScalarKind; 27] = [
    ScalarKind::Bool,
    ScalarKind::Int8,
    ScalarKind::Int16,
    ScalarKind::Int32,
    ScalarKind::Int64,
    ScalarKind::UInt8,
    ScalarKind::UInt16,
    ScalarKind::UInt32,
    ScalarKind::UInt64,
    ScalarKind::Float16,
    ScalarKind::BFloat16,
    ScalarKind::Float8E3M4,
    ScalarKind::Float8E4M3,
    ScalarKind::Float8E4M3B11Fnuz,
    ScalarKind::Float8E4M3Fn,
    ScalarKind::Float8E4M3Fnuz,
    ScalarKind::Float8E5M2,
    ScalarKind::Float8E5M2Fnuz,
    ScalarKind::Float8E8M0Fnu,
    ScalarKind::Float6E2M3Fn,
    ScalarKind::Float6E3M2Fn,
    ScalarKind::Float4E2M1Fn,
    ScalarKind::Float32,
    ScalarKind::Float64,
    ScalarKind::Complex32,
    ScalarKind::Complex64,
    ScalarKind::Complex128,
];

fn dtype(kind: ScalarKind, order: ByteOrder) -> DType {
    DType::scalar(kind, order).unwrap()
}

fn native(kind: ScalarKind) -> DType {
    dtype(kind, ByteOrder::NATIVE)
}

// ===== the oracle of what saturates

/// The patterns of a float format that are finite and not negative, with their values, the least
/// first. Infinity, where there is one, follows the greatest of them.
struct Patterns {
    values: Vec<(f64, u64)>,
    infinity: Option<u64>,
    nan: Option<u64>,
    negative_zero: bool,
    sign: u64,
}

impl Patterns {
    fn of(kind: ScalarKind) -> Self {
        let dtype = native(kind);
        let bits = if dtype.itemsize() == 2 { 16 } else { 8 };
        let used = match kind {
            ScalarKind::Float6E2M3Fn | ScalarKind::Float6E3M2Fn => 6,
            ScalarKind::Float4E2M1Fn => 4,
            _ => bits,
        };
        let unsigned = kind == ScalarKind::Float8E8M0Fnu;
        let sign = if unsigned { 0 } else { 1 << (used - 1) };
        let value = |pattern: u64| {
            let value = Value::read(&dtype, &native_bytes(pattern.into(), dtype.itemsize())).unwrap();
            value.as_f64().unwrap()
        };
        let half = if unsigned { 256 } else { sign };
        let mut values: Vec<(f64, u64)> = (0..half)
            .map(|pattern| (value(pattern), pattern))
            .filter(|(value, _)| value.is_finite())
            .collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let nan = Value::from(f64::NAN);
        let mut bytes = vec![0; dtype.itemsize()];
        let nan = nan.write(&dtype, &mut bytes).is_ok().then(|| number(&bytes));
        Self {
            values,
            infinity: (0..half).find(|&pattern| value(pattern) == f64::INFINITY),
            nan,
            negative_zero: !unsigned && value(sign) == 0.0,
            sign,
        }
    }

    /// The nearest pattern, ties to even. Infinity counts as the next number after the greatest.
    fn nearest(&self, number: Number) -> u64 {
        let Number::Float(value) = number else { return self.nearest_magnitude(number, false) };
        if value.is_nan() {
            return self.nan.unwrap_or(0);
        }
        self.nearest_magnitude(number, value.is_sign_negative())
    }

    fn nearest_magnitude(&self, number: Number, negative: bool) -> u64 {
        let (number, negative) = match number {
            Number::Whole(value) => (Number::Whole(value.abs()), value < 0),
            Number::Float(value) => (Number::Float(value.abs()), negative),
        };
        if negative && self.sign == 0 {
            return self.values[0].1;
        }
        let (last, greatest) = *self.values.last().unwrap();
        let before = self.values[self.values.len() - 2].0;
        // The next number, were there one more exponent: as far again, where there is a mantissa.
        let next = if self.sign == 0 { 2.0 * last } else { last + (last - before) };
        let at = |index: usize| match self.values.get(index) {
            Some(&pair) => pair,
            None => (next, self.infinity.unwrap_or(greatest)),
        };
        // The index of the nearest value is the number of midpoints below the number.
        let middle = |index: usize| at(index).0 + (at(index + 1).0 - at(index).0) / 2.0;
        let (mut index, mut above) = (0, self.values.len());
        while index < above {
            let between = index + (above - index) / 2;
            let up = match number.compare(middle(between)) {
                Ordering::Less => false,
                Ordering::Greater => true,
                // One of two neighbours is even. Bare exponents have no even ones.
                Ordering::Equal => self.sign == 0 || between % 2 == 1,
            };
            if up { index = between + 1 } else { above = between }
        }
        let nearest = at(index);
        let zero = nearest.0 == 0.0;
        if negative && (!zero || self.negative_zero) { nearest.1 | self.sign } else { nearest.1 }
    }
}

/// A real number, exactly.
#[derive(Clone, Copy, Debug)]
enum Number {
    Whole(i128),
    Float(f64),
}

impl Number {
    fn compare(self, other: f64) -> Ordering {
        match self {
            Self::Float(value) => value.partial_cmp(&other).unwrap(),
            Self::Whole(_) if other.abs() > 1e30 => 0.0.partial_cmp(&other).unwrap(),
            Self::Whole(value) => {
                let whole = other.floor();
                value.cmp(&(whole as i128)).then(if other > whole { Ordering::Less } else { Ordering::Equal })
            }
        }
    }

    fn is_zero(self) -> bool {
        matches!(self, Self::Whole(0)) || matches!(self, Self::Float(value) if value == 0.0)
    }
}

fn number(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    if cfg!(target_endian = "big") {
        word[..bytes.len()].reverse();
    }
    u64::from_le_bytes(word)
}

/// The low bytes of a number, in the byte order of this machine.
fn native_bytes(number: u128, nbytes: usize) -> Vec<u8> {
    let mut bytes = number.to_le_bytes()[..nbytes].to_vec();
    if cfg!(target_endian = "big") {
        bytes.reverse();
    }
    bytes
}

/// The result of a conversion to a native kind. NaN is compared by its sign only.
struct Oracle {
    to: ScalarKind,
    patterns: Option<Patterns>,
}

impl Oracle {
    fn new(to: ScalarKind) -> Self {
        let part = match to {
            ScalarKind::Complex32 => ScalarKind::Float16,
            part => part,
        };
        let narrow = matches!(part, ScalarKind::Float16 | ScalarKind::BFloat16)
            || part.to_string().starts_with("float8")
            || part.to_string().starts_with("float6")
            || part.to_string().starts_with("float4");
        Self { to, patterns: narrow.then(|| Patterns::of(part)) }
    }

    fn saturated(&self, value: &Value) -> Vec<u8> {
        let (re, im) = match *value {
            Value::Bool(value) => (Number::Whole(value.into()), Number::Float(0.0)),
            Value::Int(value) => (Number::Whole(value.into()), Number::Float(0.0)),
            Value::UInt(value) => (Number::Whole(value.into()), Number::Float(0.0)),
            Value::Float(value) => (Number::Float(value), Number::Float(0.0)),
            Value::Complex { re, im } => (Number::Float(re), Number::Float(im)),
            _ => unreachable!("a number"),
        };
        let both = |f: &dyn Fn(Number) -> Vec<u8>| [f(re), f(im)].concat();
        match self.to {
            ScalarKind::Bool => vec![u8::from(!re.is_zero() || !im.is_zero())],
            ScalarKind::Complex32 => both(&|part| self.narrow(part)),
            ScalarKind::Complex64 => both(&|part| single(part).to_ne_bytes().to_vec()),
            ScalarKind::Complex128 => both(&|part| double(part).to_ne_bytes().to_vec()),
            ScalarKind::Float32 => single(re).to_ne_bytes().to_vec(),
            ScalarKind::Float64 => double(re).to_ne_bytes().to_vec(),
            _ if self.patterns.is_some() => self.narrow(re),
            integer => {
                let whole = match re {
                    Number::Whole(value) => value,
                    Number::Float(value) if value.is_nan() => 0,
                    Number::Float(value) => value.trunc() as i128,
                };
                let bits = 8 * integer.itemsize() as u32;
                let signed = integer.to_string().starts_with("int");
                let (low, high) =
                    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
                let whole: i128 = whole.clamp(low, high);
                native_bytes(whole as u128, integer.itemsize())
            }
        }
    }

    fn narrow(&self, number: Number) -> Vec<u8> {
        let patterns = self.patterns.as_ref().unwrap();
        let nbytes = native(self.to).alignment();
        native_bytes(patterns.nearest(number).into(), nbytes)
    }
}

fn single(number: Number) -> f32 {
    match number {
        Number::Whole(value) => value as f32,
        // Of a NaN only the sign is compared, which not every processor's conversion keeps.
        Number::Float(value) if value.is_nan() => {
            f32::NAN.copysign(if value.is_sign_negative() { -1.0 } else { 1.0 })
        }
        Number::Float(value) => value as f32,
    }
}

fn double(number: Number) -> f64 {
    match number {
        Number::Whole(value) => value as f64,
        Number::Float(value) => value,
    }
}

/// Whether two elements have the same bytes, or NaN of one sign in the same places.
fn same(kind: ScalarKind, left: &[u8], right: &[u8]) -> bool {
    if left == right {
        return true;
    }
    let parts = |bytes| {
        let value = Value::read(&native(kind), bytes).unwrap();
        value.as_complex().map(|(re, im)| [re, im])
    };
    let same = |(a, b): (f64, f64)| {
        a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan() && a.is_sign_negative() == b.is_sign_negative()
    };
    match (parts(left), parts(right)) {
        (Some(left), Some(right)) => left.into_iter().zip(right).all(same),
        _ => false,
    }
}

// ===== the elements that are tried

/// Numbers at which something changes: the ends of integers and of floats, the middles between
/// floats, and their neighbours.
fn landmarks() -> Vec<f64> {
    let mut all =
        vec![0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 255.5, 1e-320, f64::MIN_POSITIVE, f64::MAX, 3.402_823_5e38];
    all.extend((0..70).flat_map(|power| [2_f64.powi(power), 2_f64.powi(power) - 1.0, 2_f64.powi(-power)]));
    all.extend([-149, -150, -133, -134, -127, -126, -24, -25, 127, 128].map(|power| 2_f64.powi(power)));
    for kind in KINDS {
        if let Some(patterns) = Oracle::new(kind).patterns.filter(|_| kind.component_size() == 1) {
            for pair in patterns.values.windows(2) {
                all.extend([pair[0].0, (pair[0].0 + pair[1].0) / 2.0]);
            }
            let (last, before) =
                (patterns.values[patterns.values.len() - 1].0, patterns.values[patterns.values.len() - 2].0);
            all.extend([last, last + (last - before) / 2.0, 1.5 * last]);
        }
    }
    all.extend([65504.0, 65519.0, 65520.0, 3.389_531_389_251_535_5e38, 3.396_177_7e38]);
    all
}

/// Elements of a kind: all patterns if they are 65,536 at most, else landmarks with both signs and
/// neighbours, NaN with payloads, and random ones.
fn elements(kind: ScalarKind, rng: &mut Rng) -> Vec<Vec<u8>> {
    let nbytes = kind.itemsize();
    if nbytes <= 2 {
        return (0..1_u32 << (8 * nbytes)).map(|bits| native_bytes(bits.into(), nbytes)).collect();
    }
    let part = kind.component_size();
    let mut words: Vec<u64> = vec![];
    for number in landmarks() {
        for number in [number, -number] {
            let bits = match (kind, part) {
                (ScalarKind::Float32 | ScalarKind::Complex64, _) => u64::from((number as f32).to_bits()),
                (ScalarKind::Float64 | ScalarKind::Complex128, _) => number.to_bits(),
                (ScalarKind::Complex32, _) => rng.u64(..),
                _ => number as i128 as u64,
            };
            words.extend([bits, bits.wrapping_add(1), bits.wrapping_sub(1)]);
        }
    }
    match kind {
        ScalarKind::Float32 | ScalarKind::Complex64 => {
            words.extend([0x7f80_0000, 0xff80_0000, 0x7fc0_0001, 0xffc1_2345, 0x7f80_0001, 0xffff_ffff]);
            words.extend((0..500).map(|_| u64::from((f32::from_bits(rng.u32(..)) % 1e6).to_bits())));
        }
        ScalarKind::Float64 | ScalarKind::Complex128 => {
            words.extend([f64::INFINITY.to_bits(), f64::NEG_INFINITY.to_bits(), f64::NAN.to_bits()]);
            words.extend([0xfff8_0000_0000_0001, 0x7ff0_0000_0000_0001, u64::MAX]);
            // Neighbours of the ties of narrower floats.
            words.extend((0..300).map(|_| {
                let single = f64::from(f32::from_bits(rng.u32(..) & 0xffff_8000)).to_bits();
                single.wrapping_add(rng.u64(0..3)).wrapping_sub(1)
            }));
            words.extend((0..300).map(|_| ((rng.f64() - 0.5) * 1e6).to_bits()));
        }
        _ => words.extend([0x7fff_ffff, 0x8000_0000, u64::MAX, u64::MAX >> 1, 1 << 63]),
    }
    words.extend((0..1500).map(|_| rng.u64(..) >> rng.u32(0..64)));
    let mut bytes: Vec<Vec<u8>> = words.iter().map(|&word| native_bytes(word.into(), part)).collect();
    if nbytes > part {
        let parts = bytes.clone();
        bytes = parts.iter().map(|re| [&re[..], &rng.choice(&parts).unwrap()[..]].concat()).collect();
        bytes.extend(parts.iter().map(|re| [&re[..], &vec![0; part]].concat()));
    }
    bytes
}

fn run(cast: Cast, from: &DType, elements: &[u8], to: &DType) -> crate::Result<Vec<u8>> {
    let len = elements.len() / from.itemsize();
    let layout = |dtype: &DType| Layout::contiguous(&[len], dtype.itemsize(), Order::RowMajor).unwrap();
    let mut out = vec![0xa5; len * to.itemsize()];
    // SAFETY: `elements` and `out` hold `len` contiguous elements each, as the layouts say, and
    // only this function accesses them.
    unsafe { cast.run(elements.as_ptr(), from, &layout(from), out.as_mut_ptr(), to, &layout(to)) }?;
    Ok(out)
}

/// The result of `Value` for an element.
fn by_value(from: &DType, element: &[u8], to: &DType) -> Option<Vec<u8>> {
    let mut bytes = vec![0; to.itemsize()];
    Value::read(from, element).unwrap().write(to, &mut bytes).ok().map(|()| bytes)
}

fn concat<'a>(elements: impl Iterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    elements.flat_map(|element| element.iter().copied()).collect()
}

/// Whether a block of this one element is refused.
fn is_refused(plan: &CastPlan, element: &[u8]) -> bool {
    let mut room = MaybeUninit::uninit();
    let blocks = LaneBlock::make(&mut room, 1, element.len());
    blocks[0].lanes_mut::<u8>(element.len()).copy_from_slice(element);
    plan.run(blocks, 1).is_none()
}

#[test]
fn every_pair_of_kinds_is_converted_as_values_are_and_saturates_as_numbers_do() {
    let mut rng = Rng::with_seed(seed());
    let levels: Vec<Level> = Level::available().collect();
    let (mut pairs, mut compared, mut refused) = (0, 0, 0);
    let oracles = KINDS.map(Oracle::new);
    for kind in KINDS {
        let from = native(kind);
        let values = elements(kind, &mut rng);
        // The long run tries all values of 16 bits. Other runs try another part of them with each
        // type, and fewer where fewer cases are requested.
        let part = if values.len() > CASES { 8 * CASES } else { CASES };
        let stride = part.div_ceil(cases().max(1)).clamp(1, 128);
        for (to, oracle) in KINDS.into_iter().zip(&oracles) {
            if to == kind {
                continue;
            }
            pairs += 1;
            let elements: Vec<_> = values.iter().skip(pairs % stride).step_by(stride).cloned().collect();
            let to_dtype = native(to);
            // Where a float only gets an imaginary part it is moved, and a signalling NaN stays as
            // it is.
            let moved = matches!(
                (kind, to),
                (ScalarKind::Float32, ScalarKind::Complex64) | (ScalarKind::Float64, ScalarKind::Complex128)
            );

            let fits: Vec<Option<Vec<u8>>> =
                elements.iter().map(|element| by_value(&from, element, &to_dtype)).collect();
            let (mut good, mut lost, mut expected) = (vec![], vec![], vec![]);
            for (element, fits) in elements.iter().zip(&fits) {
                match fits {
                    Some(bytes) => {
                        good.extend_from_slice(element);
                        expected.extend_from_slice(bytes);
                    }
                    None => lost.push(element),
                }
            }
            let saturated: Vec<Vec<u8>> = elements
                .iter()
                .map(|element| oracle.saturated(&Value::read(&from, element).unwrap()))
                .collect();
            let all = concat(elements.iter());
            for &level in &levels {
                let context = format!("{kind} to {to} at {level:?}");
                let checked = Cast { casting: Casting::Checked, level };
                let got = run(checked, &from, &good, &to_dtype).expect(&context);
                for (index, (got, expected)) in
                    got.chunks(to.itemsize()).zip(expected.chunks(to.itemsize())).enumerate()
                {
                    let agree = got == expected || moved && same(to, got, expected);
                    assert!(
                        agree,
                        "{context}: {got:x?}, not {expected:x?}, of {:x?}",
                        good.chunks(kind.itemsize()).nth(index)
                    );
                }
                let scalars = (from.as_scalar().unwrap(), to_dtype.as_scalar().unwrap());
                // SAFETY: clause 1 of `new`: the level is one of `Level::available`.
                let plan = unsafe { CastPlan::new(scalars.0, scalars.1, Casting::Checked, level) };
                if let Some(plan) = plan {
                    for element in &lost {
                        assert!(is_refused(&plan, element), "{context}: {element:x?} was taken");
                    }
                }
                refused += lost.len();
                let saturating = Cast { casting: Casting::Saturating, level };
                let got = run(saturating, &from, &all, &to_dtype).expect(&context);
                for (index, got) in got.chunks(to.itemsize()).enumerate() {
                    let (element, expected) = (&elements[index], &saturated[index]);
                    assert!(
                        same(to, got, expected),
                        "{context}: {element:x?} became {got:x?}, not {expected:x?}"
                    );
                    if let Some(checked) = &fits[index] {
                        assert!(
                            got == checked || moved && same(to, got, checked),
                            "{context}: {element:x?} is not what it is if checked"
                        );
                    }
                }
                compared += elements.len();
            }
        }
    }
    println!("{pairs} pairs, {compared} conversions compared, {refused} refusals, at {levels:?}");
    assert_eq!(pairs, 27 * 26);
    assert!(refused > compared / 10);
}

#[test]
fn the_first_element_that_is_lost_is_named_as_values_name_it() {
    let mut rng = Rng::with_seed(seed());
    for level in Level::available() {
        let cast = Cast { casting: Casting::Checked, level };
        for (from, good, bad, to) in [
            (DType::F32, 1.5_f32.to_ne_bytes().to_vec(), 1e9_f32.to_ne_bytes().to_vec(), DType::F16),
            (DType::I32, 7_i32.to_ne_bytes().to_vec(), (-1_i32).to_ne_bytes().to_vec(), DType::U8),
            (DType::F64, 2.0_f64.to_ne_bytes().to_vec(), f64::NAN.to_ne_bytes().to_vec(), DType::I64),
            (DType::U8, vec![1], vec![2], DType::BOOL),
            (DType::F64, 2.0_f64.to_ne_bytes().to_vec(), 1e300_f64.to_ne_bytes().to_vec(), DType::F32),
        ] {
            for _ in 0..50 {
                let shape = [rng.usize(1..40), rng.usize(1..30)];
                let len = shape[0] * shape[1];
                let first = rng.usize(0..len);
                let elements = concat(
                    (0..len).map(|at| if at == first || at > first && rng.bool() { &bad } else { &good }),
                );
                let layout =
                    |dtype: &DType, order| Layout::contiguous(&shape, dtype.itemsize(), order).unwrap();
                let mut out = vec![0; len * to.itemsize()];
                let order = *rng.choice(&[Order::RowMajor, Order::ColumnMajor]).unwrap();
                // SAFETY: `elements` and `out` hold `len` elements each, as the layouts of `shape`
                // say, and only this function accesses them.
                let error = unsafe {
                    cast.run(
                        elements.as_ptr(),
                        &from,
                        &layout(&from, Order::RowMajor),
                        out.as_mut_ptr(),
                        &to,
                        &layout(&to, order),
                    )
                }
                .unwrap_err();
                assert!(error.is_value());
                let (value, index) =
                    (Value::read(&from, &bad).unwrap(), [first / shape[1], first % shape[1]]);
                let own = value.write(&to, &mut vec![0; to.itemsize()]).unwrap_err();
                assert_eq!(error.to_string(), format!("element {index:?}: {own}"), "at {level:?}");
            }
        }
    }
}

// ===== random layouts

const CASES: usize = 20_000;

fn cases() -> usize {
    crossdock_testkit::cases(CASES)
}

/// A layout in a window of memory.
struct Window {
    layout: Layout,
    offset: usize,
    nbytes: usize,
}

impl Window {
    fn new(shape: &[usize], strides: &[isize], itemsize: usize, rng: &mut Rng) -> Self {
        let layout = Layout::new(shape, strides, itemsize).unwrap();
        let span = layout.span();
        let before = rng.usize(0..9);
        Self {
            offset: before + span.low().unsigned_abs(),
            nbytes: before + span.nbytes() + rng.usize(0..9),
            layout,
        }
    }

    /// Any strides; elements may overlap.
    fn source(rng: &mut Rng, shape: &[usize], itemsize: usize) -> Self {
        if rng.usize(0..4) == 0 {
            let order = *rng.choice(&[Order::RowMajor, Order::ColumnMajor]).unwrap();
            let strides = Layout::contiguous(shape, itemsize, order).unwrap().strides().to_vec();
            return Self::new(shape, &strides, itemsize, rng);
        }
        let strides: Vec<isize> = shape
            .iter()
            .map(|_| match rng.usize(0..6) {
                0 => 0,
                1 => rng.isize(-40..40),
                _ => itemsize as isize * rng.isize(-6..=9),
            })
            .collect();
        Self::new(shape, &strides, itemsize, rng)
    }

    /// Strides under which no elements overlap.
    fn target(rng: &mut Rng, shape: &[usize], itemsize: usize) -> Self {
        let mut axes: Vec<usize> = (0..shape.len()).rev().collect();
        match rng.usize(0..4) {
            0 => axes.reverse(),
            1 => rng.shuffle(&mut axes),
            _ => {}
        }
        let kind = rng.usize(0..4);
        let mut strides = vec![0; shape.len()];
        let mut step = itemsize as isize;
        for axis in axes {
            step += match kind {
                0 => rng.isize(0..5),
                1 => itemsize as isize * rng.isize(0..3),
                _ => 0,
            };
            strides[axis] = if rng.usize(0..5) == 0 { -step } else { step };
            step *= shape[axis].max(1) as isize;
        }
        Self::new(shape, &strides, itemsize, rng)
    }
}

/// Two records with gaps and the same fields, at different offsets and of different kinds.
fn records(rng: &mut Rng, kinds: impl Fn(&mut Rng) -> DType) -> (DType, DType) {
    let count = rng.usize(1..4);
    let mut side = |kinds: &dyn Fn(&mut Rng) -> DType| {
        let mut end = 0;
        let fields: Vec<Field> = (0..count)
            .map(|index| {
                let base = kinds(rng);
                let dtype = if index == 2 { DType::subarray(&[2, 3], base).unwrap() } else { base };
                let offset = end + rng.usize(0..3);
                end = offset + dtype.itemsize();
                Field::new(format!("f{index}"), offset, dtype)
            })
            .collect();
        DType::record(fields, end + rng.usize(0..3)).unwrap()
    };
    (side(&kinds), side(&kinds))
}

#[test]
fn arrays_of_every_layout_are_converted_as_element_by_element() {
    let mut rng = Rng::with_seed(seed());
    let levels: Vec<Level> = Level::available().collect();
    let mut coverage = Coverage::default();
    let mut oracles = std::collections::HashMap::new();
    let cases = cases();
    for case in 0..cases {
        coverage.case();
        let scalar = |rng: &mut Rng| {
            let order = *rng.choice(&[ByteOrder::Little, ByteOrder::Big]).unwrap();
            dtype(*rng.choice(&KINDS).unwrap(), order)
        };
        let casting = if rng.bool() { Casting::Checked } else { Casting::Saturating };
        let (from, to) = match rng.usize(0..12) {
            0 | 3 if casting == Casting::Checked => records(&mut rng, scalar),
            1 => {
                let date = DType::datetime(TimeUnit::DAY);
                (date.clone(), date.swapped())
            }
            2 => {
                let one = scalar(&mut rng);
                (one.clone(), one.swapped())
            }
            _ => (scalar(&mut rng), scalar(&mut rng)),
        };
        let rank = case % 9;
        let mut shape = generate::shape(&mut rng, rank);
        if rank > 0 && rng.usize(0..8) == 0 {
            // Longer than a block.
            shape = vec![1; rank];
            shape[rng.usize(0..rank)] = rng.usize(100..700);
        }
        let source = Window::source(&mut rng, &shape, from.itemsize());
        let target = Window::target(&mut rng, &shape, to.itemsize());
        let (strides, level) = (source.layout.strides(), *rng.choice(&levels).unwrap());
        coverage.note(format!("rank {rank}"));
        coverage.note(format!("{level:?}"));
        coverage.note(format!("{casting:?}"));
        let any = |f: &dyn Fn(isize) -> bool| {
            let long = |(&stride, &len): (&isize, &usize)| len > 1 && f(stride);
            strides.iter().zip(&shape).any(long) || target.layout.strides().iter().zip(&shape).any(long)
        };
        coverage.note_if(any(&|stride| stride < 0), "negative");
        coverage.note_if(any(&|stride| stride == 0), "zero");
        let aligned = |window: &Window, dtype: &DType| {
            window.layout.is_aligned(dtype.alignment()) && window.offset.is_multiple_of(dtype.alignment())
        };
        coverage.note_if(!aligned(&source, &from) || !aligned(&target, &to), "unaligned");
        coverage.note_if(shape.contains(&0), "empty");
        coverage.note_if(from.as_record().is_some(), "records");
        // Small numbers, so that most fit into most, and sometimes anything.
        let mut memory: Vec<u8> =
            (0..source.nbytes + 8).map(|_| rng.u8(..) & if rng.bool() { 1 } else { 0 }).collect();
        if rng.usize(0..3) == 0 {
            memory.iter_mut().for_each(|byte| *byte = rng.u8(..));
        }
        let mut out = vec![0xa5; target.nbytes + 8];
        let mut expected = out.clone();
        let context = format!(
            "{from} to {to}, {casting:?} at {level:?}, shape {shape:?}, strides {strides:?}, {:?}",
            target.layout.strides()
        );

        let mut answer = Ok(());
        let elements = source.layout.offsets().unwrap().zip(target.layout.offsets().unwrap());
        for (position, (offset, place)) in elements.enumerate() {
            let at = |base: usize, offset: isize| base.checked_add_signed(offset).unwrap();
            let bytes = &memory[at(source.offset, offset)..][..from.itemsize()];
            let place = at(target.offset, place);
            let mut one = vec![0; to.itemsize()];
            if from.as_scalar().is_some_and(|from| to.as_scalar().is_some_and(|to| from.kind() == to.kind()))
            {
                moved(&from, bytes, &to, &mut one);
            } else if casting == Casting::Checked {
                if let Err(error) = Value::read(&from, bytes).unwrap().write(&to, &mut one) {
                    let index = super::index_of(&shape, position);
                    // The one element of rank 0 has no index.
                    answer = Err(match &index[..] {
                        [] => error.to_string(),
                        index => error.within(format_args!("element {index:?}")).to_string(),
                    });
                    break;
                }
                moved(&from, bytes, &to, &mut one);
            } else {
                let kind = to.as_scalar().unwrap().kind();
                let oracle = oracles.entry(kind).or_insert_with(|| Oracle::new(kind));
                one = oracle.saturated(&Value::read(&from, bytes).unwrap());
                if !to.is_native() {
                    one.chunks_mut(to.alignment()).for_each(<[u8]>::reverse);
                }
            }
            expected[place..][..to.itemsize()].copy_from_slice(&one);
        }
        let (src, dst) = (memory[source.offset..].as_ptr(), out[target.offset..].as_mut_ptr());
        // SAFETY: both windows hold all bytes that their layouts reach, the shapes are equal, and
        // only this test accesses the vectors.
        let got =
            unsafe { Cast { casting, level }.run(src, &from, &source.layout, dst, &to, &target.layout) };
        coverage.note_if(got.is_err(), "refused");
        coverage.note_if(got.is_ok(), "converted");
        match (got, answer) {
            (Ok(()), Ok(())) => {
                let nan = casting == Casting::Saturating && out != expected;
                if nan {
                    check_but_for_nan(&out, &expected, &target, &to, &context);
                } else {
                    assert!(out == expected, "{context}");
                }
            }
            (Err(got), Err(expected)) => assert_eq!(got.to_string(), expected, "{context}"),
            (got, expected) => panic!("{got:?}, not {expected:?}: {context}"),
        }
    }
    println!("{coverage}");
    if cases >= CASES {
        coverage.assert_at_least(0.05, (0..=8).map(|rank| format!("rank {rank}")));
        coverage.assert_at_least(0.05, ["negative", "zero", "unaligned", "empty", "records", "refused"]);
        coverage.assert_at_least(0.3, ["Checked", "Saturating", "converted"]);
        coverage.assert_at_least(0.2, levels.iter().map(|level| format!("{level:?}")));
    }
}

/// Moves bytes where the kinds are equal and at most the byte orders differ, whatever the bytes
/// mean.
fn moved(from: &DType, bytes: &[u8], to: &DType, one: &mut [u8]) {
    if let (Some(source), Some(target)) = (from.as_scalar(), to.as_scalar()) {
        if source.kind() == target.kind() {
            one.copy_from_slice(bytes);
            if source != target {
                one.chunks_mut(from.alignment()).for_each(<[u8]>::reverse);
            }
        }
    } else if let (Some(source), Some(target)) = (from.as_subarray(), to.as_subarray()) {
        let (source, target) = (source.base(), target.base());
        for (bytes, one) in bytes.chunks(source.itemsize()).zip(one.chunks_mut(target.itemsize())) {
            moved(source, bytes, target, one);
        }
    } else if let (Some(source), Some(target)) = (from.as_record(), to.as_record()) {
        for (source, target) in source.fields().iter().zip(target.fields()) {
            let bytes = &bytes[source.offset()..source.end()];
            moved(source.dtype(), bytes, target.dtype(), &mut one[target.offset()..target.end()]);
        }
    }
}

/// Compares everything but the payloads of NaN, which the oracle does not know.
fn check_but_for_nan(out: &[u8], expected: &[u8], target: &Window, to: &DType, context: &str) {
    let (mut out, mut expected) = (out.to_vec(), expected.to_vec());
    for offset in target.layout.offsets().unwrap() {
        let at = target.offset.checked_add_signed(offset).unwrap();
        let both = [&mut out, &mut expected].map(|bytes| {
            let element = &mut bytes[at..][..to.itemsize()];
            let copy = element.to_vec();
            element.fill(0);
            copy
        });
        let [left, right] = both.map(|mut bytes| {
            if !to.is_native() {
                bytes.chunks_mut(to.alignment()).for_each(<[u8]>::reverse);
            }
            bytes
        });
        let kind = to.as_scalar().unwrap().kind();
        assert!(same(kind, &left, &right), "{context}: {left:x?}, not {right:x?}");
    }
    assert!(out == expected, "{context}: around the elements");
}

#[test]
fn what_loops_do_not_know_goes_by_value() {
    let text = DType::text(2).unwrap();
    let layout = Layout::contiguous(&[1], 8, Order::RowMajor).unwrap();
    let (mut out, source) = ([0_u8; 8], [0xff_u8; 8]);
    // SAFETY: `source` and `out` hold the one element of 8 bytes that `layout` reaches, and only
    // this test accesses them.
    let lost = unsafe {
        by_value::cast(
            source.as_ptr(),
            &text,
            &layout,
            out.as_mut_ptr(),
            &text.swapped(),
            &layout,
            Casting::Checked,
        )
    };
    assert!(lost.unwrap().unwrap().error.is_value(), "no letters");
    let cast = Cast { casting: Casting::Saturating, level: Level::current() };
    let letters = run(
        cast,
        &DType::text(1).unwrap(),
        &u32::from('é').to_ne_bytes(),
        &DType::text(1).unwrap().swapped(),
    );
    assert_eq!(letters.unwrap(), u32::from('é').swap_bytes().to_ne_bytes());
    assert!(run(cast, &DType::F64, &1.5_f64.to_ne_bytes(), &DType::native(ScalarKind::LongDouble)).is_ok());
    assert!(
        run(cast, &DType::F64, &1.5_f64.to_ne_bytes(), &DType::native(ScalarKind::Pointer))
            .unwrap_err()
            .is_value()
    );
}
