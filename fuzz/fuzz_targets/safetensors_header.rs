//! Arbitrary text as the header of a `.safetensors` file, followed by as many bytes as it
//! describes: an error, or the tensors that another JSON parser finds, with the same names, types,
//! shapes and bytes. A header without faults for the other parser is no error.

use std::collections::BTreeMap;

use crossdock::buffer::Buffer;
use crossdock::exchange::files::safetensors;
use crossdock::layout::Order;
use serde_json::Value;

/// The most bytes made, whatever the header says.
const MOST: u64 = 1 << 12;

/// Types of whole bytes: their names in the file and here, and their widths.
const TYPES: [(&str, &str, u64); 17] = [
    ("BOOL", "bool", 1),
    ("U8", "uint8", 1),
    ("I8", "int8", 1),
    ("F8_E5M2", "float8_e5m2", 1),
    ("F8_E4M3", "float8_e4m3fn", 1),
    ("F8_E8M0", "float8_e8m0fnu", 1),
    ("I16", "int16", 2),
    ("U16", "uint16", 2),
    ("F16", "float16", 2),
    ("BF16", "bfloat16", 2),
    ("I32", "int32", 4),
    ("U32", "uint32", 4),
    ("F32", "float32", 4),
    ("C64", "complex64", 8),
    ("F64", "float64", 8),
    ("I64", "int64", 8),
    ("U64", "uint64", 8),
];

/// A tensor as the other parser reads it.
struct Tensor {
    dtype: &'static str,
    start: usize,
    end: usize,
}

fuzz_target!(|text: &str| {
    let object = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    };
    let ends = object.iter().flat_map(|object| object.values());
    let ends = ends.filter_map(|info| info.get("data_offsets")?.get(1)?.as_u64());
    let data: Vec<u8> = (0..ends.max().unwrap_or(0).min(MOST)).map(|at| (at * 7 % 251) as u8).collect();
    let file = [&(text.len() as u64).to_le_bytes()[..], text.as_bytes(), &data].concat();

    let expected = object.as_ref().and_then(|object| expected(object, data.len()));
    let contents = match safetensors::from_buffer(Buffer::from_vec(file).expect("few bytes")) {
        Ok(contents) => contents,
        Err(error) => {
            assert!(error.is_malformed() || error.is_unsupported(), "{error:?}");
            // The other parser loses duplicate names.
            let names = ["\"dtype\"", "\"shape\"", "\"data_offsets\""].map(|name| text.matches(name).count());
            let count = expected.as_ref().map_or(0, BTreeMap::len);
            let is_plain = names == [count; 3] && !text.contains('\\') && !text.contains("__metadata__");
            assert!(
                expected.is_none() || !is_plain || !text.starts_with('{') || error.is_unsupported(),
                "{error:?}"
            );
            return;
        }
    };
    let object = object.expect("only JSON objects are accepted");
    let tensors = object.keys().filter(|name| *name != "__metadata__").count();
    assert_eq!(contents.entries().len() + contents.refused().len(), tensors);
    for (name, error) in contents.refused() {
        assert!(error.is_unsupported(), "{error:?}");
        assert!(tensor(&object[name], data.len()).is_none(), "a known type is refused: {error:?}");
    }
    for entry in contents.entries() {
        let array = entry.open().expect("all was checked");
        let info = &object[entry.name()];
        let shape: Vec<u64> = array.shape().iter().map(|&len| len as u64).collect();
        assert_eq!(info["shape"], serde_json::json!(shape));
        let Some(tensor) = tensor(info, data.len()) else { continue };
        let little = array.dtype().to_string();
        assert_eq!(little.trim_start_matches('<'), tensor.dtype);
        let bytes = array.to_order(Order::RowMajor).expect("few bytes").buffer().expect("one more handle").0;
        assert_eq!(bytes.pin().expect("no Write lease").to_vec(), data[tensor.start..tensor.end]);
    }
    for (name, said) in contents.metadata() {
        assert_eq!(object["__metadata__"][name], said.as_str());
    }
});

/// All tensors, if they have types of whole bytes and cover the data, each byte once.
fn expected(object: &serde_json::Map<String, Value>, nbytes: usize) -> Option<BTreeMap<String, Tensor>> {
    let tensors: Option<BTreeMap<String, Tensor>> =
        object.iter().map(|(name, info)| Some((name.clone(), tensor(info, nbytes)?))).collect();
    let tensors = tensors?;
    let mut ranges: Vec<(usize, usize)> = tensors.values().map(|tensor| (tensor.start, tensor.end)).collect();
    ranges.sort_unstable();
    let mut end = 0;
    for range in ranges {
        if range.0 != end {
            return None;
        }
        end = range.1;
    }
    (end == nbytes).then_some(tensors)
}

fn tensor(info: &Value, nbytes: usize) -> Option<Tensor> {
    let (_, dtype, width) = TYPES.iter().find(|row| info["dtype"] == row.0)?;
    let shape: Option<Vec<u64>> = info["shape"].as_array()?.iter().map(Value::as_u64).collect();
    let [start, end] = &info["data_offsets"].as_array()?[..] else { return None };
    let (shape, start, end) = (shape?, start.as_u64()?, end.as_u64()?);
    // A tensor with an axis of length 0 may have any other lengths whose product fits.
    let len = shape.iter().try_fold(*width, |len, &axis| len.checked_mul(axis.max(1)))?;
    let is_empty = shape.contains(&0);
    let taken = if is_empty { 0 } else { len };
    if i64::try_from(len).is_err()
        || start > end
        || end > nbytes as u64
        || end - start != taken
        || shape.len() > 64
    {
        return None;
    }
    Some(Tensor { dtype, start: start as usize, end: end as usize })
}
