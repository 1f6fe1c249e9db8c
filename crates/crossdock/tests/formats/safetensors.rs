//! Tensors.

use crossdock::element::DType;
use crossdock::exchange::files::{self, Format, OpenOptions, SaveOptions, safetensors};
use crossdock::layout::Order;
use crossdock::memory::Backing;
use crossdock::memory::copied_bytes_here;
use crossdock::{Array, DArray};

use crate::common::{Folder, assert_same, assert_says, buffer, pattern, ramp, values};

/// Every element type of the format.
const DTYPES: [&str; 22] = [
    "bool",
    "uint8",
    "int8",
    "<u2",
    "<i2",
    "<u4",
    "<i4",
    "<u8",
    "<i8",
    "<f2",
    "<f4",
    "<f8",
    "<c8",
    "bfloat16",
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e8m0fnu",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
];

/// A file with this header.
fn file(json: &str, data: &[u8]) -> Vec<u8> {
    [&(json.len() as u64).to_le_bytes()[..], json.as_bytes(), data].concat()
}

#[test]
fn every_dtype_comes_back_in_place_but_for_packed_ones() {
    let folder = Folder::new("safetensors");
    let path = folder.path("a.safetensors");
    for shape in [&[2, 3, 4][..], &[], &[0, 5], &[8]] {
        let arrays: Vec<(String, DArray)> = DTYPES
            .iter()
            .filter(|name| !shape.is_empty() || !name.starts_with("float4") && !name.starts_with("float6"))
            .map(|&name| {
                let array = pattern(name, shape, Order::RowMajor);
                let bits = if name.starts_with("float4") { 15 } else { 63 };
                // An element narrower than a byte has zeros above it; a boolean is 0 or 1.
                let (buffer, _) = array.buffer().unwrap();
                let clean = |byte: u8| match name {
                    "bool" => byte & 1,
                    _ if name.starts_with("float4") || name.starts_with("float6") => byte & bits,
                    _ => byte,
                };
                let bytes: Vec<u8> = buffer.read().unwrap().iter().map(|&byte| clean(byte)).collect();
                let (dtype, layout) = (array.dtype().clone(), array.layout().clone());
                (name.to_owned(), DArray::from_buffer(self::buffer(&bytes), dtype, layout, 0).unwrap())
            })
            .collect();
        SaveOptions::new()
            .metadata("format", "pt")
            .metadata("größe", "\"1\"\n")
            .save_all(&path, &arrays)
            .unwrap();
        let copied = copied_bytes_here();
        let contents = files::open_all(&path).unwrap();
        assert_eq!((contents.format(), contents.entries().len()), (Format::Safetensors, arrays.len()));
        assert_eq!(contents.metadata()[1], ("größe".to_owned(), "\"1\"\n".to_owned()));
        for (entry, (name, array)) in contents.entries().iter().zip(&arrays) {
            assert_eq!(entry.name(), name);
            let packed = name.starts_with("float4") || name.starts_with("float6");
            assert_eq!(entry.copied_because().is_some(), packed);
            let before = copied_bytes_here();
            let got = entry.open().unwrap();
            assert_eq!(copied_bytes_here() - before, if packed { array.nbytes() as u64 } else { 0 });
            assert!(packed || got.backing() == Backing::File);
            assert!(got.as_ptr().addr().is_multiple_of(array.dtype().alignment()) || got.is_empty());
            assert_same(&got, array);
        }
        assert!(copied_bytes_here() - copied <= 3 * 24);
    }
}

#[test]
fn orders_and_strides_are_written_row_major_and_little_endian() {
    let part = DType::subarray(&[2, 3], DType::U16).unwrap();
    let parts = DArray::zeros(part, &[2], Order::RowMajor).unwrap();
    let arrays = [
        ("columns", pattern("<i4", &[3, 4], Order::ColumnMajor)),
        ("big", pattern(">f8", &[2, 2], Order::RowMajor)),
        ("strided", ramp([6, 4]).at("::-2, 1::2").unwrap()),
        ("parts", parts),
    ];
    let mut bytes = Vec::new();
    safetensors::write(&mut bytes, &arrays).unwrap();
    let contents = safetensors::from_buffer(buffer(&bytes)).unwrap();
    for (entry, (_, array)) in contents.entries().iter().zip(&arrays).take(3) {
        let got = entry.open().unwrap();
        assert!(got.layout().is_contiguous(Order::RowMajor) && got.dtype().is_native());
        assert_eq!(values(&got), values(array));
    }
    assert_eq!(contents.get("parts").unwrap().shape(), [2, 2, 3]);
}

#[test]
fn an_unaligned_tensor_is_opened_in_place() {
    let json = r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}}"#;
    let data = [&[7][..], &1.5f32.to_le_bytes(), &2.5f32.to_le_bytes()].concat();
    for pad in 0..4 {
        let json = format!("{json}{}", " ".repeat(pad));
        let contents = safetensors::from_buffer(buffer(&file(&json, &data))).unwrap();
        let b = contents.get("b").unwrap().open().unwrap();
        assert_eq!(values(&b), ["1.5", "2.5"]);
        assert_eq!(Array::<f32, 1>::try_from(b).ok().unwrap().get([1]).unwrap(), 2.5);
    }
}

#[test]
fn tensors_have_leases_of_their_own_and_can_be_written_in_the_file() {
    let folder = Folder::new("safetensors-write");
    let path = folder.path("a.safetensors");
    SaveOptions::new().save_all(&path, &[("a", ramp([4])), ("b", ramp([4]))]).unwrap();
    let contents = OpenOptions::new().writable(true).open_all(&path).unwrap();
    contents.get("b").unwrap().open().unwrap().set(&[3], &99u8.into()).unwrap();
    assert_eq!(values(&files::open_all(&path).unwrap().get("b").unwrap().open().unwrap())[3], "99");
    let bytes = std::fs::read(&path).unwrap();
    let contents = safetensors::from_buffer(buffer(&bytes)).unwrap();
    let [a, b] = ["a", "b"].map(|name| contents.get(name).unwrap().open().unwrap());
    let (a, b) = (Array::<u8, 1>::try_from(a).ok().unwrap(), Array::<u8, 1>::try_from(b).ok().unwrap());
    let _reading = a.read().unwrap();
    assert!(b.write().is_ok() && a.write().unwrap_err().is_conflict());
}

#[test]
fn a_bad_header_is_refused_with_numbers() {
    let one = |dtype: &str, shape: &str, offsets: &str| {
        format!(r#"{{"a":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#)
    };
    let two = |first: &str, second: &str| {
        let tensor =
            |name, offsets| format!(r#""{name}":{{"dtype":"U8","shape":[4],"data_offsets":{offsets}}}"#);
        format!("{{{},{}}}", tensor("a", first), tensor("b", second))
    };
    let huge = u64::MAX;
    let cases = [
        (one("U8", "[9]", "[0,9]"), &["0 and 9", "8"][..]),
        (one("U8", "[4]", "[0,4]"), &["4 bytes belong to no tensor"]),
        (one("U8", "[4]", "[4,8]"), &["gap of 4 bytes"]),
        (one("U8", "[4]", "[8,4]"), &["8 and 4"]),
        (one("F32", "[3]", "[0,8]"), &["12 bytes", "cover 8"]),
        (one("F32", "[4294967296,4294967296]", "[0,8]"), &["4294967296", "exceed the address space"]),
        (one("F32", &format!("[{huge},0,{huge}]"), "[0,0]"), &["\"a\""]),
        (one("U8", "[1e3]", "[0,8]"), &["the header is invalid"]),
        (one("U8", "[-8]", "[0,8]"), &["the header is invalid"]),
        (one("U8", "[8]", "[0,8,9]"), &["the header is invalid"]),
        (one("U8", "[8]", &format!("[{huge},{huge}]")), &[&huge.to_string()]),
        (one("F4", "[3]", "[0,1]"), &["3 elements of 4 bits"]),
        (two("[0,4]", "[2,6]"), &["overlaps the previous one by 2 bytes"]),
        (two("[0,4]", "[0,4]"), &["overlaps the previous one by 4 bytes"]),
        (two("[0,4]", "[4,8]").replace("\"b\"", "\"a\""), &["\"a\"", "twice"]),
        (r#"{"a":{"dtype":"U8","dtype":"U8","shape":[8],"data_offsets":[0,8]}}"#.into(), &["dtype"]),
        (r#"{"__metadata__":{"a":"1","a":"2"}}"#.into(), &["\"a\"", "twice"]),
        (r#"{"__metadata__":{"a":1}}"#.into(), &["the header is invalid"]),
        (r#"{"__metadata__":{},"__metadata__":{}}"#.into(), &["__metadata__", "twice"]),
        ("{}".into(), &["8 bytes belong to no tensor"]),
        ("{".into(), &["the header is invalid"]),
        ("[]".into(), &["begin with a brace"]),
        (" {}".into(), &["begin with a brace"]),
        ("{}x".into(), &["the header is invalid"]),
        ("".into(), &["0 bytes"]),
        (format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000)), &["the header is invalid"]),
    ];
    for (json, words) in cases {
        let error = safetensors::from_buffer(buffer(&file(&json, &[0; 8]))).unwrap_err();
        let short: String = json.chars().take(100).collect();
        assert!(error.is_malformed(), "{short}: {error:?}");
        assert_says(&error, words);
    }
    for json in [one("F128", "[1]", "[0,8]"), one("U8", &format!("[8{}]", ",1".repeat(64)), "[0,8]")] {
        let contents = safetensors::from_buffer(buffer(&file(&json, &[0; 8]))).unwrap();
        assert!(contents.single().unwrap_err().is_unsupported());
    }
    let not_utf8 = [&10u64.to_le_bytes()[..], b"{\"\xff\xfe\":1} ", &[0; 8]].concat();
    assert_says(&safetensors::from_buffer(buffer(&not_utf8)).unwrap_err(), &["not UTF-8 from its byte 2"]);
    for (length, words) in
        [(1u64 << 40, "1099511627776"), (100_000_000, "100000000"), (u64::MAX, &huge.to_string())]
    {
        let bytes = [&length.to_le_bytes()[..], b"{}"].concat();
        assert_says(&safetensors::from_buffer(buffer(&bytes)).unwrap_err(), &[words]);
    }
}

#[test]
fn a_tensor_of_a_type_that_is_not_known_keeps_nobody_from_the_others() {
    let tensor = |name: &str, dtype: &str, offsets: &str| {
        format!(r#""{name}":{{"dtype":"{dtype}","shape":[4],"data_offsets":{offsets}}}"#)
    };
    let json = format!("{{{},{}}}", tensor("new", "F128", "[0,4]"), tensor("old", "U8", "[4,8]"));
    let contents = safetensors::from_buffer(buffer(&file(&json, &[1, 2, 3, 4, 5, 6, 7, 8]))).unwrap();
    assert_eq!(contents.names().collect::<Vec<_>>(), ["old"]);
    assert_eq!(values(&contents.get("old").unwrap().open().unwrap()), ["5", "6", "7", "8"]);
    assert_eq!(contents.refused().map(|(name, _)| name).collect::<Vec<_>>(), ["new"]);
    let error = contents.get("new").unwrap_err();
    assert!(error.is_unsupported());
    assert_says(&error, &["tensor \"new\"", "F128"]);
    assert_says(&contents.single().unwrap_err(), &["2 arrays: \"old\", \"new\""]);
    // Its byte range is checked nevertheless.
    let json = format!("{{{},{}}}", tensor("new", "F128", "[0,5]"), tensor("old", "U8", "[4,8]"));
    let error = safetensors::from_buffer(buffer(&file(&json, &[0; 8]))).unwrap_err();
    assert_says(&error, &["overlaps the previous one by 1 bytes"]);
}

#[test]
fn a_truncated_file_is_an_error_wherever_it_ends() {
    let mut bytes = Vec::new();
    SaveOptions::new()
        .format(Format::Safetensors)
        .metadata("k", "v")
        .write(&mut bytes, &[("a", ramp([5])), ("b", ramp([2]))])
        .unwrap();
    for end in 0..bytes.len() {
        let error = safetensors::from_buffer(buffer(&bytes[..end])).unwrap_err();
        assert!(error.is_malformed(), "{end} of {}: {error:?}", bytes.len());
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x80;
        drop(safetensors::from_buffer(buffer(&changed)));
    }
}

#[test]
fn what_the_format_cannot_hold_is_not_written() {
    for (array, words) in [
        (pattern("<c16", &[2], Order::RowMajor), "complex128"),
        (pattern("<M8[s]", &[2], Order::RowMajor), "datetime64"),
        (pattern("float4_e2m1fn", &[3], Order::RowMajor), "4 bits"),
    ] {
        let mut bytes = Vec::new();
        let error = safetensors::write(&mut bytes, &[("a", array)]).unwrap_err();
        assert!(error.is_unsupported() && bytes.is_empty());
        assert_says(&error, &["array \"a\"", words]);
    }
    for arrays in [[("a", ramp([1])), ("a", ramp([1]))], [("a", ramp([1])), ("__metadata__", ramp([1]))]] {
        assert!(safetensors::write(Vec::new(), &arrays).unwrap_err().is_unsupported());
    }
}
