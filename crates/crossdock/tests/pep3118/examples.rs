//! Typical formats, and dtypes that formats cannot express.

use crossdock::bindings::MAX_DEPTH;
use crossdock::bindings::dialect::pep3118;
use crossdock::element::{DType, Field, ScalarKind, TimeUnit};

fn sub(shape: &[usize], base: DType) -> DType {
    DType::subarray(shape, base).unwrap()
}

fn record(fields: &[(&str, usize, DType)], itemsize: usize) -> DType {
    let fields = fields.iter().map(|(name, offset, dtype)| Field::new(*name, *offset, dtype.clone()));
    DType::record(fields, itemsize).unwrap()
}

#[test]
fn dtypes_and_formats_stand_for_each_other() {
    let pair = record(&[("a", 0, DType::I32), ("b", 8, DType::F64)], 16);
    for (dtype, aligned, unaligned) in [
        (DType::BOOL, "?", "?"),
        (DType::I64, "l", "<q"),
        (DType::U64.swapped(), ">Q", ">Q"),
        (DType::U16.swapped(), ">H", ">H"),
        (DType::F16, "e", "<e"),
        (DType::native(ScalarKind::LongDouble), "g", "^g"),
        (DType::C64, "Zf", "<Zf"),
        (DType::C128.swapped(), ">Zd", ">Zd"),
        (DType::native(ScalarKind::Pointer), "P", "P"),
        (DType::bytes(1).unwrap(), "c", "c"),
        (DType::bytes(7).unwrap(), "7s", "7s"),
        (DType::text(3).unwrap(), "3w", "<3w"),
        (DType::text(3).unwrap().swapped(), ">3w", ">3w"),
        (DType::void(5).unwrap(), "5x", "5x"),
        (DType::void(0).unwrap(), "0x", "0x"),
        (sub(&[2, 3], DType::F64), "(2,3)d", "(2,3)<d"),
        (record(&[], 0), "T{}", "T{}"),
        (record(&[], 3), "T{3x}", "T{3x}"),
        (pair.clone(), "T{i:a:4xd:b:}", "T{^i:a:4xd:b:}"),
        (sub(&[2], pair.clone()), "(2)T{i:a:4xd:b:}", "(2)T{^i:a:4xd:b:}"),
        (record(&[("in", 8, pair.clone())], 24), "T{8xT{i:a:4xd:b:}:in:}", "T{8xT{^i:a:4xd:b:}:in:}"),
        (record(&[("a", 0, DType::U8), ("b", 1, DType::F64)], 9), "T{^B:a:d:b:}", "T{^B:a:d:b:}"),
        (record(&[("a", 0, DType::I64), ("b", 8, DType::U64)], 16), "T{l:a:L:b:}", "T{^l:a:L:b:}"),
        (
            record(&[("a", 0, DType::I64.swapped()), ("b", 8, DType::I64)], 16),
            "T{>q:a:^l:b:}",
            "T{>q:a:^l:b:}",
        ),
        // The layout is C's, but no struct has this size.
        (record(&[("a", 0, DType::I32), ("b", 4, DType::U8)], 5), "T{^i:a:B:b:}", "T{^i:a:B:b:}"),
        (
            record(&[("a", 0, DType::I32.swapped()), ("b", 4, DType::I32), ("c", 8, DType::I8)], 9),
            "T{>i:a:^i:b:b:c:}",
            "T{>i:a:^i:b:b:c:}",
        ),
        (record(&[("raw", 1, DType::void(2).unwrap())], 4), "T{x2x:raw:x}", "T{x^2x:raw:x}"),
    ] {
        // The texts are for a little-endian machine.
        if cfg!(target_endian = "little") {
            assert_eq!(pep3118::print(&dtype).unwrap(), aligned);
            assert_eq!(pep3118::print_unaligned(&dtype).unwrap(), unaligned);
        }
        assert_eq!(pep3118::parse(aligned.as_bytes()).unwrap(), dtype, "{aligned}");
        assert_eq!(pep3118::parse(unaligned.as_bytes()).unwrap(), dtype, "{unaligned}");
    }
}

#[test]
fn integers_of_c_go_out_under_the_name_under_which_they_came_in() {
    for (text, aligned, unaligned) in [
        ("l", "l", "<q"),
        ("q", "q", "<q"),
        ("L", "L", "<Q"),
        ("Q", "Q", "<Q"),
        ("n", "l", "<q"),
        ("N", "L", "<Q"),
        ("@q", "q", "<q"),
        // A type of the same width on all platforms is not a C type.
        ("=q", "l", "<q"),
        ("<Q", "L", "<Q"),
        ("(2,3)q", "(2,3)q", "(2,3)<q"),
        ("T{q:a:l:b:T{Q:c:}:d:}", "T{q:a:l:b:T{Q:c:}:d:}", "T{^q:a:l:b:T{Q:c:}:d:}"),
    ] {
        let dtype = pep3118::parse(text.as_bytes()).unwrap();
        assert_eq!(pep3118::print(&dtype).unwrap(), aligned, "{text}");
        assert_eq!(pep3118::print_unaligned(&dtype).unwrap(), unaligned, "{text}");
        if let Some(letters) = pep3118::print_static(&dtype) {
            assert_eq!(letters.to_str().unwrap(), aligned, "{text}");
        }
        // A round trip through the non-native byte order changes no name.
        let back = dtype.swapped().swapped();
        assert_eq!(pep3118::print(&back).unwrap(), aligned, "{text}");
    }
    // The name is not part of the meaning.
    let hash = |dtype: &DType| {
        let mut hasher = std::hash::DefaultHasher::new();
        std::hash::Hash::hash(dtype, &mut hasher);
        std::hash::Hasher::finish(&hasher)
    };
    let (long, long_long) = (pep3118::parse(b"l").unwrap(), pep3118::parse(b"q").unwrap());
    assert_eq!((&long, &long_long), (&DType::I64, &DType::I64));
    assert_eq!(hash(&long), hash(&long_long));
}

#[test]
fn what_cannot_be_said_is_named() {
    let field = |name: &str, dtype: DType| record(&[(name, 0, dtype.clone())], dtype.itemsize());
    for (dtype, part) in [
        (DType::BF16, "bfloat16"),
        (DType::native(ScalarKind::Float8E5M2), "float8_e5m2"),
        (DType::native(ScalarKind::Float4E2M1Fn), "float4_e2m1fn"),
        (DType::native(ScalarKind::Complex32), "complex32"),
        (DType::datetime(TimeUnit::NANOSECOND), "datetime64[ns]"),
        (DType::timedelta(TimeUnit::NANOSECOND), "timedelta64[ns]"),
        (DType::native(ScalarKind::LongDouble).swapped(), "longdouble"),
        (field("at", DType::native(ScalarKind::Pointer)), "\"at\""),
        (field("at", field("in", DType::BF16)), "field \"at\": field \"in\""),
        (field("a:b", DType::U8), "\"a:b\""),
        (field("a\0", DType::U8), "\"a\\0\""),
        (sub(&[3], DType::void(2).unwrap()), "opaque"),
        (record(&[("a", 0, DType::U16), ("b", 1, DType::U8)], 4), "\"b\""),
        (record(&[("a", 4, DType::U16), ("b", 0, DType::U8)], 6), "\"b\""),
    ] {
        let error = pep3118::print(&dtype).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains(part), "{dtype}: {error}");
    }
}

#[test]
fn what_is_no_format_is_refused_with_its_place() {
    for (text, place) in [
        ("d d y", "byte 4"),
        ("3", "byte 1"),
        ("(2", "byte 2"),
        ("()d", "byte 1"),
        ("(2,)d", "byte 3"),
        ("(2;3)d", "byte 2"),
        ("(2)(3)d", "byte 3"),
        ("d>", "byte 2"),
        ("d}", "byte 1"),
        ("iT{d", "byte 1"),
        ("T d", "byte 0"),
        ("Zq", "byte 0"),
        ("d:name", "byte 1"),
        (":name:", "byte 0"),
        ("=n", "byte 1"),
        ("<N", "byte 1"),
        (">P", "byte 1"),
        ("d\0", "byte 1"),
    ] {
        let error = pep3118::parse(text.as_bytes()).unwrap_err();
        assert!(error.is_malformed() || text == "Zq", "{text}: {error}");
        assert!(error.to_string().contains(place), "{text}: {error}");
    }
    for text in ["", " ", "T{"] {
        assert!(pep3118::parse(text.as_bytes()).unwrap_err().is_malformed(), "{text}");
    }
    assert!(pep3118::parse(b"d:\xff:").unwrap_err().is_malformed());
    assert!(pep3118::parse(b"d:a:i:a:").unwrap_err().is_dtype());
    assert!(pep3118::parse(b"d::").unwrap_err().is_dtype());
}

#[test]
fn what_others_write_and_no_dtype_says_is_refused_by_name() {
    for (text, name) in [
        ("O", "object"),
        ("T{O:a:d:b:}", "object"),
        ("u", "text ('u')"),
        ("<u", "text ('u')"),
        ("&<i", "typed pointers"),
        ("X{}", "functions"),
        ("3t", "bit fields"),
        ("<z", "strings"),
    ] {
        let error = pep3118::parse(text.as_bytes()).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains(name), "{text}: {error}");
    }
}

#[test]
fn large_numbers_are_refused_and_never_wrap() {
    for text in [
        "99999999999999999999999999999999999d",
        "(4294967296,4294967296)d",
        "4294967296s",
        "2147483648x:raw:",
        "9223372036854775807xd",
        "9223372036854775807x@d",
        "(0,18446744073709551615)d",
        "T{9223372036854775807x}T{9223372036854775807x}",
        "@d9223372036854775800x",
    ] {
        let result = pep3118::parse(text.as_bytes());
        assert!(result.as_ref().is_err_and(crossdock::Error::is_overflow), "{text}: {result:?}");
    }
    let deep = "T{".repeat(MAX_DEPTH + 2) + &"}".repeat(MAX_DEPTH + 2);
    assert!(pep3118::parse(deep.as_bytes()).unwrap_err().is_unsupported());
    let endless = "T{".repeat(1 << 20);
    assert!(pep3118::parse(endless.as_bytes()).unwrap_err().is_unsupported());
    assert_eq!(pep3118::parse(b"T{9223372036854775807x}").unwrap().itemsize(), isize::MAX as usize);
}
