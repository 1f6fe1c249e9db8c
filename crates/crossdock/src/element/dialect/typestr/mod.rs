//! NumPy's spelling: `<f8` for a scalar, a Python literal for everything else.
//!
//! [`parse`] takes both. A literal is a list of fields, `[('a', '<i4'), ('b', '<f8', (2, 3))]`,
//! where a field without a name, `('', '|V4')`, is padding and `(('title', 'name'), '<i4')` has a
//! title; a dictionary, `{'names': […], 'formats': […], 'offsets': […], 'titles': […], 'itemsize':
//! n}`, which sets the offset of each field; or a pair of a base and a shape, `('<f8', (2, 3))`.
//!
//! [`print`](fn@print) writes what `numpy.dtype(ast.literal_eval(text))` turns into the equal dtype
//! (a scalar bare, without quotes). [`print_descr`] writes the form for the header of an `.npy`
//! file and `__array_interface__`, which have unnamed padding fields but no dictionaries.

mod error;
mod read;
mod scalar;
mod write;

#[cfg(test)]
pub(crate) use scalar::NAMED;
pub(crate) use scalar::named;

use crate::element::dialect::literal::{self, Literal};
use crate::element::{DType, DTypeKind};
use crate::error::Result;

impl DType {
    /// NumPy's spelling of this dtype: a typestr for a scalar, otherwise a Python literal of which
    /// `numpy.dtype` makes the equal dtype. Its inverse is [`FromStr`](std::str::FromStr), which
    /// reads all of NumPy's spellings.
    ///
    /// ```
    /// use crossdock::element::DType;
    ///
    /// assert_eq!(DType::F64.to_typestr()?, "<f8");
    /// let point = DType::packed_record([("x", DType::F32), ("y", DType::F32)])?;
    /// assert_eq!(point.to_typestr()?, "[('x', '<f4'), ('y', '<f4')]");
    /// assert_eq!("[('x', '<f4'), ('y', '<f4')]".parse::<DType>()?, point);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`is_unsupported`](crate::Error::is_unsupported), naming the part that NumPy cannot spell,
    /// such as `bfloat16`.
    pub fn to_typestr(&self) -> Result<String> {
        print(self)
    }
}

/// Reads a typestr (`<f8`) or the Python literal of a dtype.
///
/// The order `=`, `|` or no mark means native. Records made from lists are packed, and their
/// padding entries become gaps.
///
/// # Errors
///
/// `is_malformed` for an invalid text; `is_unsupported` for object references (a pickle, which is
/// never executed) and for types of NumPy that have no fixed width.
///
/// ```
/// use crossdock::bindings::dialect::typestr;
/// use crossdock::element::DType;
///
/// assert_eq!(typestr::parse("|u1")?, DType::U8);
/// assert_eq!(typestr::parse("?")?, DType::BOOL);
/// let dtype = typestr::parse("[('a', '<i4'), ('', '|V4'), ('b', '<f8', (2,))]")?;
/// assert_eq!(dtype.field("b").unwrap().offset(), 8);
/// assert!(typestr::parse("|O").unwrap_err().is_unsupported());
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn parse(text: &str) -> Result<DType> {
    if text.trim_start().starts_with(['[', '(', '{', '\'', '"']) {
        from_literal(&literal::parse(text)?)
    } else {
        scalar::parse(text)
    }
}

/// Writes a dtype so that `numpy.dtype` makes the equal one of it: a typestr for a scalar,
/// otherwise a Python literal.
///
/// # Errors
///
/// `is_unsupported`, naming the part that NumPy cannot spell, such as `bfloat16`.
///
/// ```
/// use crossdock::bindings::dialect::typestr;
/// use crossdock::element::{ByteOrder, DType, Field, ScalarKind};
///
/// let price = DType::scalar(ScalarKind::Float64, ByteOrder::Big)?;
/// assert_eq!(typestr::print(&price)?, ">f8");
/// let padded = DType::record([Field::new("kind", 0, DType::U8), Field::new("price", 8, price)], 16)?;
/// assert_eq!(
///     typestr::print(&padded)?,
///     "{'names': ['kind', 'price'], 'formats': ['|u1', '>f8'], 'offsets': [0, 8], 'itemsize': 16}"
/// );
/// assert_eq!(typestr::print_descr(&padded)?, "[('kind', '|u1'), ('', '|V7'), ('price', '>f8')]");
/// assert!(typestr::print(&DType::BF16).unwrap_err().to_string().contains("bfloat16"));
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn print(dtype: &DType) -> Result<String> {
    match dtype.kind() {
        DTypeKind::Scalar(scalar) => scalar::print(scalar),
        _ => write::TypestrPrinter { dictionaries: true, names: false }.dtype(dtype),
    }
}

/// Writes a dtype as `descr` in the header of an `.npy` file: a quoted typestr for a scalar, a list
/// with padding entries for a record.
///
/// # Errors
///
/// `is_unsupported`, naming the part that NumPy cannot spell, or that a list cannot express: fields
/// that overlap or are not in the order of their offsets.
pub fn print_descr(dtype: &DType) -> Result<String> {
    write::TypestrPrinter { dictionaries: false, names: false }.dtype(dtype)
}

/// Writes a dtype so that `DType`'s `from_str` makes the same one of it: the name of a scalar,
/// otherwise a literal in which parts that NumPy cannot spell, such as `bfloat16`, have their
/// names.
///
/// # Errors
///
/// `is_unsupported`, naming the part: elements of 2 GiB or more, for example.
pub(crate) fn print_for_crossdock(dtype: &DType) -> Result<String> {
    match dtype.kind() {
        DTypeKind::Scalar(scalar) => Ok(scalar.to_string()),
        _ => write::TypestrPrinter { dictionaries: true, names: true }.dtype(dtype),
    }
}

/// The dtype of a literal. See [`parse`].
pub(crate) fn from_literal(literal: &Literal) -> Result<DType> {
    read::read(literal, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{ByteOrder, Field, MAX_DEPTH, ScalarKind, TimeBase, TimeUnit};

    fn packed(fields: &[(&str, DType)]) -> DType {
        DType::packed_record(fields.iter().cloned()).unwrap()
    }

    fn little(kind: ScalarKind) -> DType {
        DType::scalar(kind, ByteOrder::Little).unwrap()
    }

    fn big(kind: ScalarKind) -> DType {
        DType::scalar(kind, ByteOrder::Big).unwrap()
    }

    #[test]
    fn scalars_are_read_and_written() {
        let unit = TimeUnit::new(TimeBase::Microsecond, 25).unwrap();
        for (text, dtype) in [
            ("|b1", DType::BOOL),
            ("|i1", DType::I8),
            ("|u1", DType::U8),
            ("<i2", little(ScalarKind::Int16)),
            (">u8", big(ScalarKind::UInt64)),
            ("<f2", little(ScalarKind::Float16)),
            (">f4", big(ScalarKind::Float32)),
            ("<f8", little(ScalarKind::Float64)),
            ("<f16", little(ScalarKind::LongDouble)),
            (">c8", big(ScalarKind::Complex64)),
            ("<c16", little(ScalarKind::Complex128)),
            (">c32", big(ScalarKind::ComplexLongDouble)),
            ("|S0", DType::bytes(0).unwrap()),
            ("|S17", DType::bytes(17).unwrap()),
            (">U5", big(ScalarKind::Text(5))),
            ("|V8", DType::void(8).unwrap()),
            ("<M8[25us]", little(ScalarKind::DateTime(unit))),
            (">M8", big(ScalarKind::DateTime(TimeUnit::GENERIC))),
            ("<m8[as]", little(ScalarKind::TimeDelta(TimeUnit::one(TimeBase::Attosecond)))),
        ] {
            assert_eq!(parse(text).unwrap(), dtype, "{text}");
            assert_eq!(print(&dtype).unwrap(), text);
            assert_eq!(parse(&print_descr(&dtype).unwrap()).unwrap(), dtype, "{text}");
        }
    }

    #[test]
    fn records_of_parts_that_numpy_cannot_spell_have_their_names() {
        let pair = DType::subarray(&[2], little(ScalarKind::Float8E4M3Fn)).unwrap();
        let dtype = packed(&[("scale", big(ScalarKind::BFloat16)), ("key", DType::I8), ("w", pair)]);
        assert!(print(&dtype).unwrap_err().to_string().contains("scale"));
        let text = print_for_crossdock(&dtype).unwrap();
        assert_eq!(text, "[('scale', '>bfloat16'), ('key', '|i1'), ('w', 'float8_e4m3fn', (2,))]");
        assert_eq!(text.parse::<DType>().unwrap(), dtype);
        let spread = DType::record([Field::new("x", 3, DType::BF16)], 8).unwrap();
        assert_eq!(print_for_crossdock(&spread).unwrap().parse::<DType>().unwrap(), spread);
    }

    #[test]
    fn other_spellings_of_the_same_scalar_are_read() {
        for (text, dtype) in [
            ("f8", DType::F64),
            ("=f8", DType::F64),
            ("|f8", DType::F64),
            (">i1", DType::I8),
            ("<S3", DType::bytes(3).unwrap()),
            ("S", DType::bytes(0).unwrap()),
            ("M8[1ns]", DType::datetime(TimeUnit::NANOSECOND)),
            ("m8[generic]", DType::timedelta(TimeUnit::GENERIC)),
            ("'i4'", DType::I32),
        ] {
            assert_eq!(parse(text).unwrap(), dtype, "{text}");
        }
    }

    #[test]
    fn type_strings_that_mean_nothing_are_refused() {
        for text in [
            "",
            "<",
            "<<f8",
            "f",
            "<f3",
            "<f12",
            "<i16",
            "<i",
            "b4",
            "<x8",
            " <f8",
            "<f8 ",
            "<f+8",
            "<f8,<f8",
            "S-1",
            "é",
            "<é8",
            "S99999999999",
            "M4",
            "<M8[]",
            "<M8[us",
            "<M8us",
            "<M8[0us]",
            "<M8[-1us]",
            "<M8[2]",
            "<M8[2generic]",
            "<M8[ us]",
            "<M8[9999999999us]",
            "float64",
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.is_malformed(), "{text:?}: {error}");
        }
        for text in ["S2147483648", "U536870912", "U4294967295"] {
            assert!(parse(text).unwrap_err().is_overflow(), "{text}");
        }
        for text in ["T", "<t4", "M8[7D/3]"] {
            assert!(parse(text).unwrap_err().is_unsupported(), "{text}");
        }
    }

    #[test]
    fn objects_are_refused_as_pickles_wherever_they_stand() {
        for text in [
            "O",
            "|O",
            "|O8",
            "'|O'",
            "[('a', '<i4'), ('b', 'O')]",
            "[('a', [('b', '|O', (2,))])]",
            "('O', (2,))",
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.is_unsupported() && error.to_string().contains("pickle"), "{text}: {error}");
        }
    }

    #[test]
    fn records_are_read_and_written() {
        let inner = packed(&[("x", little(ScalarKind::Float32)), ("y", DType::U8)]);
        let pairs = DType::subarray(&[2, 3], inner.clone()).unwrap();
        let gap =
            DType::record([Field::new("a", 0, DType::U8), Field::new("b", 8, big(ScalarKind::Float64))], 24);
        let union =
            DType::record([Field::new("a", 0, DType::void(4).unwrap()), Field::new("b", 2, DType::U8)], 4);
        let titled =
            DType::record([Field::new("a", 0, DType::U8).with_title("t'"), Field::new("b", 1, DType::U8)], 2)
                .unwrap();
        let titled_gap =
            DType::record([Field::new("a", 0, DType::U8).with_title("t"), Field::new("b", 1, DType::U8)], 4)
                .unwrap();
        for (dtype, text) in [
            (packed(&[]), "[]"),
            (inner.clone(), "[('x', '<f4'), ('y', '|u1')]"),
            (packed(&[("p", pairs.clone())]), "[('p', [('x', '<f4'), ('y', '|u1')], (2, 3))]"),
            (pairs, "([('x', '<f4'), ('y', '|u1')], (2, 3))"),
            (DType::subarray(&[3], DType::U8).unwrap(), "('|u1', (3,))"),
            (packed(&[("n", inner)]), "[('n', [('x', '<f4'), ('y', '|u1')])]"),
            (titled, "[(('t\\'', 'a'), '|u1'), ('b', '|u1')]"),
            (
                gap.unwrap(),
                "{'names': ['a', 'b'], 'formats': ['|u1', '>f8'], 'offsets': [0, 8], 'itemsize': 24}",
            ),
            (
                packed(&[("u", union.unwrap())]),
                "[('u', {'names': ['a', 'b'], 'formats': ['|V4', '|u1'], 'offsets': [0, 2], 'itemsize': 4})]",
            ),
            (
                titled_gap,
                "{'names': ['a', 'b'], 'formats': ['|u1', '|u1'], 'offsets': [0, 1], 'titles': ['t', None], 'itemsize': 4}",
            ),
            (
                packed(&[("it's\n", DType::U8), ("größe", DType::U8)]),
                "[('it\\'s\\n', '|u1'), ('größe', '|u1')]",
            ),
        ] {
            assert_eq!(print(&dtype).unwrap(), text);
            assert_eq!(parse(text).unwrap(), dtype, "{text}");
        }
    }

    #[test]
    fn a_list_with_padding_says_where_fields_lie() {
        let dtype =
            DType::record([Field::new("a", 2, DType::U8), Field::new("b", 8, DType::I8)], 12).unwrap();
        let text = "[('', '|V2'), ('a', '|u1'), ('', '|V5'), ('b', '|i1'), ('', '|V3')]";
        assert_eq!(print_descr(&dtype).unwrap(), text);
        assert_eq!(parse(text).unwrap(), dtype);
        let turned =
            DType::record([Field::new("a", 8, DType::U8), Field::new("b", 0, DType::I8)], 12).unwrap();
        let error = print_descr(&turned).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains("\"b\""), "{error}");
        // Inside of a record too.
        let nested = packed(&[("n", turned)]);
        assert!(print_descr(&nested).unwrap_err().to_string().contains("\"n\""));
    }

    #[test]
    fn other_spellings_of_the_same_record_are_read() {
        let dtype = packed(&[("a", DType::subarray(&[3], DType::U8).unwrap()), ("b", DType::I8)]);
        for text in [
            "[('a', 'u1', 3), ('b', 'i1', ())]",
            "[('a', ('u1', 3)), ('b', 'i1')]",
            "[('a', 'u1', [3]), ('b', 'i1')]",
            "{'names': ('a', 'b'), 'formats': (('u1', (3,)), 'i1')}",
            "{'formats': [('u1', 3L), 'i1'], 'names': ['a', 'b'], 'titles': [None, None], 'aligned': False}",
            "{'names': ['a', 'b'], 'formats': [('u1', 3), 'i1'], 'offsets': [0, 3], 'itemsize': 4, 'aligned': True}",
        ] {
            assert_eq!(parse(text).unwrap(), dtype, "{text}");
        }
    }

    #[test]
    fn records_that_lie_are_refused() {
        for text in [
            "[('a',)]",
            "[('a', 'u1', 2, 3)]",
            "['a']",
            "[(1, 'u1')]",
            "[(('t', 'n', 'x'), 'u1')]",
            "[('a', 'u1', -1)]",
            "[('a', 'u1', (2, None))]",
            "[('a', 'u1', 'x')]",
            "[('a', 'q9')]",
            "[('a', None)]",
            "('u1', (2,), 3)",
            "('u1',)",
            "{'names': ['a']}",
            "{'names': ['a'], 'formats': []}",
            "{'names': ['a'], 'formats': ['u1'], 'offsets': [0, 1]}",
            "{'names': ['a'], 'formats': ['u1'], 'offsets': [-1]}",
            "{'names': ['a'], 'formats': ['u1'], 'names': ['b']}",
            "{'names': ['a'], 'formats': ['u1'], 'colour': 1}",
            "{'names': 'a', 'formats': ['u1']}",
            "{'names': [1], 'formats': ['u1']}",
            "{'names': ['a'], 'formats': ['u1'], 'itemsize': 'x'}",
            "{'names': ['a'], 'formats': ['u1'], 'titles': [1]}",
            "{'a': ('u1', 0)}",
            "{1: 2}",
            "[('a', 'u1')",
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.is_malformed(), "{text}: {error}");
        }
        for text in [
            "[('a', 'u1'), ('a', 'u1')]",
            "[('', 'u1')]",
            "[(('', 'a'), 'u1')]",
            "{'names': ['a'], 'formats': ['<i4'], 'itemsize': 2}",
            "{'names': ['a'], 'formats': ['<i4'], 'offsets': [1], 'itemsize': 4}",
        ] {
            assert!(parse(text).unwrap_err().is_dtype(), "{text}");
        }
        for text in [
            format!("[('a', 'u1', ({0}, {0}))]", 1_usize << (usize::BITS / 2)),
            format!("[('a', 'u1', {}), ('b', 'u1')]", isize::MAX),
            format!("{{'names': ['a'], 'formats': ['u1'], 'offsets': [{}]}}", usize::MAX),
            format!("{{'names': [], 'formats': [], 'itemsize': {}}}", usize::MAX / 2 + 1),
        ] {
            assert!(parse(&text).unwrap_err().is_overflow(), "{text}");
        }
        assert!(parse("{'names': ['a'], 'formats': ['u1'], 'aligned': True}").unwrap_err().is_unsupported());
    }

    #[test]
    fn deep_and_wide_records_are_bounded() {
        let nested = |depth: usize| "[('a', ".repeat(depth) + "'u1'" + &")]".repeat(depth);
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        assert!(parse(&nested(MAX_DEPTH + 1)).unwrap_err().is_unsupported());
        assert!(parse(&nested(100_000)).is_err());
        let pairs = |depth: usize| "(".repeat(depth) + "'u1'" + &", 1)".repeat(depth);
        assert!(parse(&pairs(MAX_DEPTH)).is_ok());
        assert!(parse(&pairs(MAX_DEPTH + 1)).unwrap_err().is_unsupported());
        assert!(parse(&format!("('u1', ({}))", "1,".repeat(100_000))).unwrap_err().is_unsupported());
        let wide: String = (0..100_000).map(|index| format!("('f{index}', 'u1'), ")).collect();
        assert_eq!(parse(&format!("[{wide}]")).unwrap().itemsize(), 100_000);
    }

    #[test]
    fn what_numpy_cannot_say_is_named() {
        for dtype in [
            DType::BF16,
            DType::native(ScalarKind::Complex32),
            DType::native(ScalarKind::Pointer),
            DType::native(ScalarKind::Float8E4M3Fn),
            DType::native(ScalarKind::Float4E2M1Fn),
        ] {
            let error = print(&dtype).unwrap_err();
            assert!(error.is_unsupported() && error.to_string().contains(&dtype.to_string()), "{error}");
        }
        // NumPy's own parser refuses these, or wraps their size around.
        let large = [
            DType::subarray(&[1 << 31], DType::U8),
            DType::subarray(&[0, 1 << 31], DType::U8),
            DType::record([], 1 << 31),
        ];
        // With pointers of 32 bits, the library refuses them, too.
        assert!(usize::BITS < 64 || large.iter().all(Result::is_ok));
        let nothing = DType::subarray(&[2], DType::bytes(0).unwrap()).unwrap();
        for dtype in large.into_iter().flatten().chain([nothing]) {
            assert!(print(&dtype).unwrap_err().is_unsupported(), "{dtype}");
            assert!(print_descr(&packed(&[("a", dtype)])).unwrap_err().is_unsupported());
        }
        let error = print(&packed(&[("deep", packed(&[("er", DType::BF16)]))])).unwrap_err().to_string();
        assert!(
            error.contains("\"deep\"") && error.contains("\"er\"") && error.contains("bfloat16"),
            "{error}"
        );
    }
}
