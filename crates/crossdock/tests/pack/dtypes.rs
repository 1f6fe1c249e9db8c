//! Conversions of templates to dtypes and back.

use crate::oracle;
use crossdock::bindings::dialect::pack::{self, Member};
use crossdock::element::{DType, DTypeKind, Field, ScalarKind, TimeUnit, Value};
use crossdock_testkit::{Coverage, seed};
use fastrand::Rng;

fn sub(shape: &[usize], base: DType) -> DType {
    DType::subarray(shape, base).unwrap()
}

fn record(fields: &[(usize, DType)], itemsize: usize) -> DType {
    let fields = fields.iter().enumerate();
    DType::record(
        fields.map(|(index, (offset, dtype))| Field::new(format!("f{index}"), *offset, dtype.clone())),
        itemsize,
    )
    .unwrap()
}

/// The types with letters in Ruby.
const NUMBERS: [DType; 10] = [
    DType::I8,
    DType::U8,
    DType::I16,
    DType::U16,
    DType::I32,
    DType::U32,
    DType::I64,
    DType::U64,
    DType::F32,
    DType::F64,
];

#[test]
fn templates_and_dtypes_stand_for_each_other() {
    for (dtype, text) in [
        (DType::I8, "c"),
        (DType::U8, "C"),
        (DType::I16, "s"),
        (DType::U16.swapped(), "S>"),
        (DType::I32, "l"),
        (DType::U32, "L"),
        (DType::I64.swapped(), "q>"),
        (DType::U64, "Q"),
        (DType::F32, "f"),
        (DType::F32.swapped(), "g"),
        (DType::F64, "d"),
        (DType::F64.swapped(), "G"),
        (sub(&[3], DType::I16.swapped()), "s>3"),
        (sub(&[0], DType::F64), "d0"),
        (sub(&[isize::MAX as usize], DType::U8), "C9223372036854775807"),
        (record(&[], 0), ""),
        (record(&[], 1), "x"),
        (record(&[], 3), "x3"),
        (record(&[(0, DType::U8), (1, DType::I8)], 2), "Cc"),
        (record(&[(0, DType::U8), (8, DType::F64)], 24), "Cx7dx8"),
        (record(&[(2, DType::F64)], 10), "x2d"),
        (record(&[(0, DType::F64)], 9), "dx"),
        (record(&[(0, sub(&[2], DType::F32)), (8, sub(&[0], DType::I64)), (8, DType::I32)], 12), "f2q0l"),
        (record(&[(3, sub(&[0], DType::I64))], 3), "x3q0"),
    ] {
        // The texts are for a little-endian machine.
        let dtype = if cfg!(target_endian = "little") { dtype } else { dtype.swapped() };
        assert_eq!(pack::to_pack(&dtype).unwrap(), text);
        assert_eq!(pack::parse(text.as_bytes()).unwrap().to_dtype().unwrap(), dtype, "{text}");
    }
}

#[test]
fn other_spellings_of_the_same_dtype_are_read() {
    for (text, same) in [
        ("i", "l"),
        ("I>", "L>"),
        ("n", "S>"),
        ("v", "S<"),
        ("N", "L>"),
        ("V", "L<"),
        ("e", if cfg!(target_endian = "little") { "f" } else { "e" }),
        ("E", if cfg!(target_endian = "little") { "d" } else { "E" }),
        ("d1", "d"),
        ("|c d", "cx7d"),
        ("|dc", "dcx7"),
        ("q!<", "q_<"),
    ] {
        let dtype = |text: &str| pack::parse(text.as_bytes()).unwrap().to_dtype().unwrap();
        assert_eq!(dtype(text), dtype(same), "{text}");
    }
}

#[test]
fn what_ruby_cannot_say_is_named() {
    let inner = record(&[(0, DType::F32), (4, DType::F32)], 8);
    for (dtype, part, approximately) in [
        (DType::BOOL, "bool", Some("C")),
        (DType::C64, "complex64", Some("ff")),
        (DType::C128.swapped(), "complex128", Some("GG")),
        (sub(&[3], DType::C64), "complex64", Some("f6")),
        (sub(&[2], DType::C128), "complex128", Some("d4")),
        (sub(&[1], DType::C64), "sub-array", Some("ff")),
        (DType::datetime(TimeUnit::NANOSECOND), "datetime64[ns]", Some("q")),
        (DType::timedelta(TimeUnit::NANOSECOND).swapped(), "timedelta64[ns]", Some("q>")),
        (DType::native(ScalarKind::Pointer), "pointer", Some("Q")),
        (DType::bytes(5).unwrap(), "S5", Some("C5")),
        (DType::text(2).unwrap(), "U2", Some("L2")),
        (DType::void(1).unwrap(), "V1", Some("C")),
        (DType::F16, "float16", None),
        (DType::BF16, "bfloat16", None),
        (DType::native(ScalarKind::Float8E4M3Fn), "float8_e4m3fn", None),
        (DType::native(ScalarKind::Complex32), "complex32", None),
        (DType::native(ScalarKind::LongDouble), "longdouble", None),
        (sub(&[2, 3], DType::F64), "(2, 3)float64", Some("d6")),
        (sub(&[1], DType::F64), "(1,)float64", Some("d")),
        (sub(&[2], inner.clone()), "f0: float32", Some("ffff")),
        (record(&[(0, DType::F64)], 8), "f0: float64", Some("d")),
        (record(&[(0, DType::U8), (4, inner)], 16), "\"f1\"", Some("Cx3ffx4")),
        (record(&[(0, DType::U8), (2, DType::BF16)], 4), "\"f1\"", None),
        (record(&[(0, DType::U16), (1, DType::U8)], 4), "\"f1\"", None),
        (record(&[(4, DType::U16), (0, DType::U8)], 6), "\"f1\"", None),
        (sub(&[1 << 40], record(&[(0, DType::U8), (1, DType::U8)], 2)), "f0: uint8", None),
        (sub(&[isize::MAX as usize], DType::bytes(0).unwrap()), "S0", Some("C0")),
    ] {
        let error = pack::to_pack(&dtype).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains(part), "{dtype}: {error}");
        match approximately {
            Some(text) if cfg!(target_endian = "little") => {
                assert_eq!(pack::to_pack_approximately(&dtype).unwrap(), text, "{dtype}");
            }
            Some(_) => assert!(pack::to_pack_approximately(&dtype).is_ok()),
            None => {
                let error = pack::to_pack_approximately(&dtype).unwrap_err();
                assert!(error.is_unsupported(), "{dtype}: {error}");
            }
        }
    }
}

/// A dtype that Ruby can express.
fn sayable(rng: &mut Rng) -> DType {
    let number = |rng: &mut Rng| {
        let number = rng.choice(NUMBERS).unwrap();
        if rng.bool() { number.swapped() } else { number }
    };
    let part = |rng: &mut Rng| match rng.usize(0..8) {
        1 | 6.. => number(rng),
        len => sub(&[len], number(rng)),
    };
    if rng.u8(0..4) == 0 {
        return part(rng);
    }
    let (mut end, mut fields) = (0, Vec::new());
    for _ in 0..rng.usize(0..10) {
        end += if rng.bool() { 0 } else { rng.usize(0..20) };
        let part = part(rng);
        fields.push((end, part.clone()));
        end += part.itemsize();
    }
    end += if rng.bool() { 0 } else { rng.usize(0..20) };
    match fields.as_slice() {
        [(_, only)] if only.itemsize() == end => only.clone(),
        _ => record(&fields, end),
    }
}

#[test]
fn a_dtype_comes_back_from_its_template() {
    let mut rng = Rng::with_seed(seed());
    for _ in 0..crate::cases() {
        let dtype = sayable(&mut rng);
        let text = pack::to_pack(&dtype).unwrap();
        assert_eq!(pack::to_pack_approximately(&dtype).unwrap(), text);
        let template = pack::parse(text.as_bytes()).unwrap();
        assert_eq!((template.item_size(), template.to_dtype().unwrap()), (dtype.itemsize(), dtype), "{text}");
    }
}

#[test]
fn a_template_comes_back_from_its_dtype_in_another_spelling() {
    let mut rng = Rng::with_seed(seed());
    for _ in 0..crate::cases() {
        let format = oracle::template(&mut rng, false);
        let Ok(template) = pack::parse(&format) else { continue };
        let dtype = template.to_dtype().unwrap();
        let text = pack::to_pack(&dtype).unwrap();
        let again = pack::parse(text.as_bytes()).unwrap();
        assert_eq!(again.item_size(), template.item_size(), "{text}");
        // The positions and types of the numbers: letters and their native sizes may differ.
        let meaning = |template: &pack::Template| -> Vec<_> {
            let components = template.components().iter();
            components.map(|component| (component.offset, component.to_dtype().unwrap())).collect()
        };
        assert_eq!(meaning(&again), meaning(&template), "{} and {text}", format.escape_ascii());
    }
}

/// A dtype whose numbers Ruby can express.
fn countable(rng: &mut Rng, depth: usize) -> DType {
    let leaf = |rng: &mut Rng| {
        let others = [
            DType::BOOL,
            DType::C64,
            DType::C128,
            DType::datetime(TimeUnit::NANOSECOND),
            DType::timedelta(TimeUnit::GENERIC),
            DType::native(ScalarKind::Pointer),
            DType::bytes(3).unwrap(),
            DType::void(2).unwrap(),
            DType::text(2).unwrap(),
        ];
        let dtype = rng.choice(NUMBERS.into_iter().chain(others).collect::<Vec<_>>()).unwrap();
        if rng.bool() { dtype.swapped() } else { dtype }
    };
    match rng.u8(0..4) {
        0 if depth > 0 => {
            let shape: Vec<usize> = (0..rng.usize(0..3)).map(|_| rng.usize(0..4)).collect();
            sub(&shape, countable(rng, depth - 1))
        }
        1 | 2 if depth > 0 => {
            let (mut end, mut fields) = (0, Vec::new());
            for _ in 0..rng.usize(0..5) {
                end += rng.usize(0..3);
                let field = countable(rng, depth - 1);
                fields.push((end, field.clone()));
                end += field.itemsize();
            }
            record(&fields, end + rng.usize(0..3))
        }
        _ => leaf(rng),
    }
}

/// The numbers of a value, one after another. `dtype` has the widths of bytes and text.
fn flatten(value: &Value, dtype: &DType, numbers: &mut Vec<Member>) {
    let padded = |len: usize| dtype.itemsize().checked_sub(len).unwrap();
    match (value, dtype.kind()) {
        (Value::Bool(value), _) => numbers.push(Member::UInt(u64::from(*value))),
        (Value::Int(value), _) => numbers.push(Member::Int(*value)),
        (Value::UInt(value) | Value::Pointer(value), _) => numbers.push(Member::UInt(*value)),
        (Value::Float(value), _) => numbers.push(Member::Float(*value)),
        (Value::Complex { re, im }, _) => numbers.extend([Member::Float(*re), Member::Float(*im)]),
        (Value::DateTime { count, .. } | Value::TimeDelta { count, .. }, _) => {
            numbers.push(Member::Int(*count))
        }
        (Value::Bytes(bytes) | Value::Void(bytes), _) => {
            numbers.extend(bytes.iter().map(|&byte| Member::UInt(byte.into())));
            numbers.extend(vec![Member::UInt(0); padded(bytes.len())]);
        }
        (Value::Text(text), _) => {
            numbers.extend(text.chars().map(|letter| Member::UInt(u32::from(letter).into())));
            numbers.extend(vec![Member::UInt(0); padded(4 * text.chars().count()) / 4]);
        }
        (Value::Array(items), DTypeKind::SubArray(subarray)) => {
            // Nested by axis, with the base innermost.
            fn descend(item: &Value, axes: usize, base: &DType, numbers: &mut Vec<Member>) {
                match item {
                    Value::Array(items) if axes > 0 => {
                        items.iter().for_each(|item| descend(item, axes - 1, base, numbers));
                    }
                    item => flatten(item, base, numbers),
                }
            }
            let axes = subarray.shape().len() - 1;
            items.iter().for_each(|item| descend(item, axes, subarray.base(), numbers));
        }
        (Value::Record(fields), DTypeKind::Record(record)) => {
            for ((_, value), field) in fields.iter().zip(record.fields()) {
                flatten(value, field.dtype(), numbers);
            }
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_approximate_template_reads_the_same_numbers() {
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    for _ in 0..crate::cases() {
        let dtype = countable(&mut rng, 3);
        let text = pack::to_pack_approximately(&dtype).unwrap();
        let template = pack::parse(text.as_bytes()).unwrap();
        assert_eq!(template.item_size(), dtype.itemsize(), "{dtype} as {text}");
        // Booleans of 0 and 1, and code points that are characters.
        let bytes: Vec<u8> = (0..dtype.itemsize()).map(|_| rng.u8(0..2)).collect();
        let Ok(value) = Value::read(&dtype, &bytes) else { continue };
        let (mut expected, mut read) = (Vec::new(), Vec::new());
        flatten(&value, &dtype, &mut expected);
        pack::read_members(&bytes, template.components(), |member| read.push(member)).unwrap();
        assert_eq!(read, expected, "{dtype} as {text}");
        coverage.case();
        coverage.note_if(pack::to_pack(&dtype).is_err(), "only approximately");
        coverage.note_if(expected.len() > 3, "several numbers");
    }
    println!("{coverage}");
    if crate::cases() >= crate::CASES {
        coverage.assert_at_least(0.2, ["only approximately", "several numbers"]);
    }
}
