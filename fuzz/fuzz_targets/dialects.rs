//! A dtype chosen by bytes (nested scalars of every kind, sub-arrays, records with gaps and
//! titles), printed in every dialect: an error if the dialect cannot express it, otherwise it is
//! read as the same dtype.

use crossdock::element::{DType, Field};
use crate::spellings;
use crossdock_testkit::dlpack::Choices;

const SCALARS: [&str; 48] = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "longdouble",
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
    "complex32",
    "complex64",
    "complex128",
    "clongdouble",
    ">int16",
    ">int64",
    ">uint32",
    ">float16",
    ">float64",
    ">bfloat16",
    ">complex64",
    "S0",
    "S1",
    "S7",
    "U1",
    ">U3",
    "V0",
    "V5",
    "datetime64[ns]",
    "datetime64[25us]",
    ">datetime64[D]",
    "timedelta64[s]",
    "timedelta64",
];

const NAMES: [&str; 12] =
    ["a", "b", "price", "", "unit price", "a:b", "it's \"q\"", "\\", "ä€😀", "f0", "\n", "a; dtype=x"];

fuzz_target!(|data: &[u8]| {
    let dtype = choose(&mut Choices(data), 4);
    let Some(dtype) = dtype else { return };
    spellings(&dtype);
});

/// A dtype with fewer than this many levels; `None` if the parts do not fit together.
fn choose(choices: &mut Choices<'_>, levels: usize) -> Option<DType> {
    match if levels == 0 { 0 } else { choices.below(8) } {
        6 => {
            let shape: Vec<usize> = (0..=choices.below(2)).map(|_| usize::from(choices.below(4))).collect();
            DType::subarray(&shape, choose(choices, levels - 1)?).ok()
        }
        7 => {
            let (mut fields, mut end) = (Vec::new(), 0);
            for number in 0..choices.below(5) {
                let part = choose(choices, levels - 1)?;
                let name = match choices.below(16) {
                    name if usize::from(name) < NAMES.len() => NAMES[usize::from(name)].to_owned(),
                    _ => format!("x{number}"),
                };
                let gap = usize::from(choices.below(8).saturating_sub(5));
                // Sometimes a field overlaps the one before.
                let offset = if choices.byte() > 250 { 0 } else { end + gap };
                end = end.max(offset + part.itemsize());
                let field = Field::new(name, offset, part);
                fields.push(if choices.byte() > 240 { field.with_title("titled") } else { field });
            }
            DType::record(fields, end + usize::from(choices.below(8).saturating_sub(5))).ok()
        }
        _ => {
            let name = SCALARS[usize::from(choices.below(SCALARS.len() as u8))];
            Some(name.parse().unwrap_or_else(|error| panic!("{name}: {error}")))
        }
    }
}
