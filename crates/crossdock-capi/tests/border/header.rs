//! The header by itself: every dialect takes it, and its numbers are those of the library.

use std::fmt::Write as _;
use std::mem::offset_of;

use crossdock_capi::array::view::XdSlice;
use crossdock_capi::dtype::XdField;
use crossdock_capi::value::XdValue;
use crossdock_capi::{array, buffer, dlpack, dtype, error, lease, value};

use crate::prototypes;
use crate::toolchain::{C11, C99, CXX11, CXX17, CXX20, Language, compiles};

const DIALECTS: [(&str, Language); 5] =
    [("c99", C99), ("c11", C11), ("cxx11", CXX11), ("cxx17", CXX17), ("cxx20", CXX20)];

#[test]
fn every_dialect_takes_the_header() {
    for (name, language) in DIALECTS {
        // Twice, and alone: it includes what it needs.
        let text = "#include <crossdock.h>\n#include <crossdock.h>\nint main(void) { return 0; }\n";
        let strict = ["-Wshadow", "-Wconversion"].map(str::to_owned);
        match compiles(language, &format!("alone-{name}"), text, &strict) {
            Some(result) => result.unwrap_or_else(|why| panic!("{name}: {why}")),
            None => return,
        }
    }
}

macro_rules! structs {
    ($($name:literal = $type:ty { $($field:literal = $path:tt),* $(,)? })*) => {{
        let mut text = String::new();
        $(
            writeln!(text, "SAME(sizeof({}), {});", $name, size_of::<$type>()).unwrap();
            $(writeln!(text, "SAME(offsetof({}, {}), {});", $name, $field, offset_of!($type, $path)).unwrap();)*
        )*
        text
    }};
}

macro_rules! constants {
    ($($module:path: $($name:ident)*;)*) => {{
        let mut names = Vec::new();
        $({
            use $module as module;
            $(names.push((stringify!($name), module::$name as i128));)*
        })*
        names
    }};
}

fn numbers() -> Vec<(&'static str, i128)> {
    constants! {
        error: XD_ERROR_NONE XD_ERROR_ARGUMENT XD_ERROR_BOUNDS XD_ERROR_OVERFLOW XD_ERROR_SHAPE XD_ERROR_DTYPE XD_ERROR_VALUE
            XD_ERROR_LAYOUT XD_ERROR_ALIGNMENT XD_ERROR_READ_ONLY XD_ERROR_CONFLICT XD_ERROR_CLOSED XD_ERROR_EXHAUSTED
            XD_ERROR_PLACE XD_ERROR_DEVICE XD_ERROR_REFUSED XD_ERROR_MALFORMED XD_ERROR_UNSUPPORTED XD_ERROR_FAULT XD_ERROR_IO
            XD_ERROR_OUT_OF_MEMORY XD_ERROR_INTERNAL;
        value: XD_VALUE_NIL XD_VALUE_INT XD_VALUE_UINT XD_VALUE_FLOAT XD_VALUE_LIST XD_VALUE_BOOL XD_VALUE_COMPLEX
            XD_VALUE_BYTES XD_VALUE_TEXT XD_VALUE_DATETIME XD_VALUE_TIMEDELTA XD_VALUE_LONG_DOUBLE XD_VALUE_POINTER;
        dtype: XD_DTYPE_NONE XD_DTYPE_BOOL XD_DTYPE_INT XD_DTYPE_UINT XD_DTYPE_FLOAT XD_DTYPE_COMPLEX XD_DTYPE_BFLOAT
            XD_DTYPE_SMALL_FLOAT XD_DTYPE_LONG_DOUBLE XD_DTYPE_COMPLEX_LONG_DOUBLE XD_DTYPE_BYTES XD_DTYPE_TEXT
            XD_DTYPE_VOID XD_DTYPE_DATETIME XD_DTYPE_TIMEDELTA XD_DTYPE_POINTER XD_DTYPE_RECORD XD_DTYPE_SUBARRAY
            XD_DTYPE_OTHER;
        buffer: XD_BIRTH_SOLE XD_BIRTH_CONSTANT XD_BIRTH_ALIASED;
        lease: XD_LEASE_NONE XD_LEASE_READ XD_LEASE_WRITE XD_LEASE_SHARE XD_LEASE_PIN;
        array: XD_ROW_MAJOR XD_COLUMN_MAJOR;
        array::view: XD_SLICE_RANGE XD_SLICE_INDEX XD_SLICE_NEW_AXIS XD_SLICE_REST;
        array::convert: XD_CASTING_CHECKED XD_CASTING_SATURATING;
        dlpack: XD_EXPORT_IN_PLACE XD_EXPORT_COPY_IF_NEEDED XD_EXPORT_COPY XD_EXPORT_TRUST_READONLY;
    }
}

/// One assertion a line.
fn assertions() -> String {
    let mut text = structs! {
        "xd_value" = XdValue { "kind" = kind, "reserved" = reserved, "len" = len, "as" = payload }
        "xd_field" = XdField { "name" = name, "name_len" = name_len, "offset" = offset, "dtype" = dtype }
        "xd_slice" = XdSlice { "kind" = kind, "reserved" = reserved, "start" = start, "stop" = stop, "step" = step }
    };
    for (name, number) in numbers() {
        writeln!(text, "SAME({name}, {number});").unwrap();
    }
    writeln!(
        text,
        "SAME(XD_OPEN == PTRDIFF_MIN, 1);\nSAME(XD_VERSION, {});",
        crossdock_capi::version::xd_version()
    )
    .unwrap();
    text
}

#[test]
fn structs_and_constants_are_those_of_the_library() {
    let head = "#include <crossdock.h>\n#define SAME(a, b) _Static_assert((a) == (b), #a)\n";
    let good = format!("{head}{}", assertions());
    let Some(result) = compiles(C11, "same", &good, &[]) else { return };
    result.unwrap();
    // An assertion that is wrong is noticed.
    let spoilt = good.replacen("SAME(sizeof(xd_value), 16)", "SAME(sizeof(xd_value), 17)", 1);
    assert_ne!(good, spoilt);
    assert!(compiles(C11, "spoilt", &spoilt, &[]).unwrap().is_err());
}

/// Every number that the header defines is compared, so that none can be added on one side only.
#[test]
fn no_constant_is_forgotten() {
    let compared = numbers();
    for line in prototypes::header().lines() {
        let Some((name, number)) = line.strip_prefix("#define ").and_then(|line| line.trim().split_once(' '))
        else {
            continue;
        };
        let is_number = number.trim_end_matches('u').parse::<i64>().is_ok();
        if is_number && !name.starts_with("XD_VERSION") {
            assert!(compared.iter().any(|(known, _)| *known == name), "{name} is compared with nothing");
        }
    }
}
