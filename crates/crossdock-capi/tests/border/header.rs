//! The header by itself: every dialect compiles it, and its numbers equal those of the library.

use std::fmt::Write as _;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use crossdock::bindings::dialect::pack::Component;
use crossdock::bindings::memory_view::{Class, Entry, Flags, ItemDesc, View};
use crossdock_capi::array::view::XdSlice;
use crossdock_capi::device::XdUsage;
use crossdock_capi::dtype::XdField;
use crossdock_capi::ledger::XdAllocation;
use crossdock_capi::open::XdOpenOptions;
use crossdock_capi::own_device::{XdDeviceCopy, XdDeviceDriver};
use crossdock_capi::pool::{XdAllocator, XdStatistics};
use crossdock_capi::save::XdSaveOptions;
use crossdock_capi::value::XdValue;
use crossdock_capi::{
    array, backing, buffer, channel, device, dtype, error, export, lease, open, pool, save, table, value,
};
use crossdock_testkit::missing;

use crate::prototypes;
use crate::toolchain::{C11, C99, CXX11, CXX17, CXX20, CXX23, Language, compiles};

const DIALECTS: [(&str, Language); 5] =
    [("c99", C99), ("c11", C11), ("cxx11", CXX11), ("cxx17", CXX17), ("cxx20", CXX20)];

#[test]
fn every_dialect_takes_the_header() {
    for (name, language) in DIALECTS {
        // Included twice, and alone: the header includes what it needs.
        for header in ["crossdock.h", "crossdock_producer.h"] {
            let include = format!("#include <{header}>\n");
            let text = format!("{include}{include}int main(void) {{ return 0; }}\n");
            let mut strict = ["-Wshadow", "-Wconversion"].map(str::to_owned).to_vec();
            if name.starts_with("cxx") {
                strict.push("-Wzero-as-null-pointer-constant".to_owned());
            }
            match compiles(language, &format!("alone-{name}"), &text, &strict) {
                Some(result) => result.unwrap_or_else(|why| panic!("{header}, {name}: {why}")),
                None => return,
            }
        }
    }
}

#[test]
fn every_chapter_is_taken_alone() {
    for chapter in prototypes::chapters() {
        let text = format!("#include <{chapter}>\n#include <{chapter}>\nint main(void) {{ return 0; }}\n");
        let name = format!("chapter-{}", chapter.replace(['/', '.'], "-"));
        match compiles(C99, &name, &text, &[]) {
            Some(result) => result.unwrap_or_else(|why| panic!("{chapter}: {why}")),
            None => return,
        }
    }
}

#[test]
fn the_header_for_cxx_is_taken_alone() {
    for (name, language) in [("cxx17", CXX17), ("cxx20", CXX20), ("cxx23", CXX23)] {
        let text = "#include <crossdock.hpp>\n#include <crossdock.hpp>\nint main() {\n\
            static_assert(std::is_nothrow_move_constructible_v<crossdock::array>);\n\
            static_assert(!std::is_copy_constructible_v<crossdock::array>);\n\
            static_assert(!std::is_copy_constructible_v<crossdock::memory_view>);\n}\n";
        let strict = ["-Wshadow", "-Wconversion", "-Wold-style-cast"].map(str::to_owned);
        match compiles(language, &format!("alone-hpp-{name}"), text, &strict) {
            Some(result) => result.unwrap_or_else(|why| panic!("{name}: {why}")),
            None => return,
        }
    }
}

/// As a compiler for Windows: the classes use no function that is not declared there.
#[test]
fn the_headers_are_taken_without_what_windows_lacks() {
    for (header, language) in [("crossdock.h", C99), ("crossdock.hpp", CXX17)] {
        let text = format!("#include <{header}>\nint main(void) {{ return 0; }}\n");
        let name = format!("windows-{}", header.replace('.', "-"));
        match compiles(language, &name, &text, &["-D_WIN32".to_owned()]) {
            Some(result) => result.unwrap_or_else(|why| panic!("{header}: {why}")),
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
    let flags = [
        ("XD_MEMORY_VIEW_SIMPLE", Flags::SIMPLE),
        ("XD_MEMORY_VIEW_WRITABLE", Flags::WRITABLE),
        ("XD_MEMORY_VIEW_FORMAT", Flags::FORMAT),
        ("XD_MEMORY_VIEW_MULTI_DIMENSIONAL", Flags::MULTI_DIMENSIONAL),
        ("XD_MEMORY_VIEW_STRIDES", Flags::STRIDES),
        ("XD_MEMORY_VIEW_ROW_MAJOR", Flags::ROW_MAJOR),
        ("XD_MEMORY_VIEW_COLUMN_MAJOR", Flags::COLUMN_MAJOR),
        ("XD_MEMORY_VIEW_ANY_CONTIGUOUS", Flags::ANY_CONTIGUOUS),
        ("XD_MEMORY_VIEW_INDIRECT", Flags::INDIRECT),
    ];
    let mut names = constants! {
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
        channel: XD_DELIVERY_EACH XD_DELIVERY_ONE XD_DELIVERY_LATEST;
        open: XD_OPENING_WRITABLE XD_OPENING_GUARDED XD_OPENING_COPIED XD_OPENING_VERIFIED XD_OPENING_CONSTANT;
        pool: XD_ALLOC_RESERVE XD_ALLOC_HUGE XD_ALLOC_POPULATE;
        backing: XD_BACKING_OTHER XD_BACKING_HEAP XD_BACKING_STATIC XD_BACKING_FILE XD_BACKING_SHARED XD_BACKING_FOREIGN
            XD_BACKING_DEVICE;
        device: XD_DEVICE_CPU XD_DEVICE_CUDA XD_DEVICE_CUDA_HOST XD_DEVICE_OPENCL XD_DEVICE_VULKAN XD_DEVICE_METAL
            XD_DEVICE_ROCM XD_DEVICE_ROCM_HOST XD_DEVICE_EXT_DEV XD_DEVICE_CUDA_MANAGED XD_DEVICE_ONEAPI;
        save: XD_SAVING_NEW XD_SAVING_DEFLATED;
        table: XD_CHECKS_SHAPE XD_CHECKS_FULL;
        table::reader: XD_COMPRESSION_NONE XD_COMPRESSION_LZ4 XD_COMPRESSION_ZSTD;
        export: XD_EXPORT_IN_PLACE XD_EXPORT_COPY_IF_NEEDED XD_EXPORT_COPY XD_EXPORT_TRUST_READONLY XD_EXPORT_WHOLE;
    };
    names.extend(flags.map(|(name, flags)| (name, flags.bits().into())));
    names
}

/// One assertion per line.
fn assertions() -> String {
    let mut text = structs! {
        "xd_value" = XdValue { "kind" = head, "as" = payload }
        "xd_field" = XdField { "name" = name, "name_len" = name_len, "offset" = offset, "dtype" = dtype }
        "xd_slice" = XdSlice { "kind" = kind, "reserved" = reserved, "start" = start, "stop" = stop, "step" = step }
        "xd_open_options" = XdOpenOptions {
            "flags" = flags, "reserved" = reserved, "limit_nbytes" = limit_nbytes, "format" = format, "raw" = raw
        }
        "xd_save_options" = XdSaveOptions {
            "flags" = flags, "order" = order, "quality" = quality, "reserved" = reserved, "format" = format,
            "text_count" = text_count, "keys" = keys, "texts" = texts
        }
        "xd_statistics" = XdStatistics {
            "live_nbytes" = live_nbytes, "live_count" = live_count, "peak_nbytes" = peak_nbytes,
            "total_nbytes" = total_nbytes, "allocations" = allocations, "growths" = growths,
            "cached_nbytes" = cached_nbytes, "limit_nbytes" = limit_nbytes
        }
        "xd_allocator" = XdAllocator {
            "allocate" = allocate, "free" = free, "release" = release, "context" = context
        }
        "xd_allocation" = XdAllocation {
            "address" = address, "nbytes" = nbytes, "device_kind" = device_kind, "device_ordinal" = device_ordinal,
            "backing" = backing, "birth" = birth, "age_ms" = age_ms, "handles" = handles, "lease_kind" = lease_kind,
            "reserved" = reserved, "leases" = leases, "pins" = pins, "holder_count" = holder_count
        }
        "xd_usage" = XdUsage {
            "live_nbytes" = live_nbytes, "live_count" = live_count, "peak_nbytes" = peak_nbytes
        }
        "xd_device_copy" = XdDeviceCopy {
            "to" = to, "to_offset" = to_offset, "from" = from, "from_offset" = from_offset, "nbytes" = nbytes,
            "to_host" = to_host, "from_host" = from_host
        }
        "xd_device_driver" = XdDeviceDriver {
            "kind" = kind, "count" = count, "limit_nbytes" = limit_nbytes, "name" = name, "allocate" = allocate,
            "free" = free, "copy" = copy, "release" = release, "context" = context
        }
        "xd_class" = Class { "name" = name, "super" = super_ }
        "xd_memory_view_item_component_t" = Component {
            "format" = format, "native_size_p" = native_size, "little_endian_p" = little_endian, "offset" = offset,
            "size" = size, "repeat" = repeat
        }
        "xd_memory_view_t" = View {
            "obj" = obj, "data" = data, "byte_size" = byte_size, "readonly" = readonly, "format" = format,
            "item_size" = item_size, "item_desc" = item_desc, "ndim" = ndim, "shape" = shape, "strides" = strides,
            "sub_offsets" = sub_offsets, "private_data" = private_data, "reserved" = reserved
        }
        "((xd_memory_view_t *)0)->item_desc" = ItemDesc {}
        "xd_memory_view_entry_t" = Entry {
            "get_func" = get, "release_func" = release, "available_p_func" = available
        }
    };
    for (field, offset) in
        [("components", offset_of!(ItemDesc, components)), ("length", offset_of!(ItemDesc, length))]
    {
        let offset = offset_of!(View, item_desc) + offset;
        writeln!(text, "SAME(offsetof(xd_memory_view_t, item_desc.{field}), {offset});").unwrap();
    }
    // In the same word as the kind.
    text.push_str("SAME(offsetof(xd_value, len), 4);\n");
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
    // A wrong assertion must fail.
    let spoilt = good.replacen("SAME(sizeof(xd_value), 16)", "SAME(sizeof(xd_value), 17)", 1);
    assert_ne!(good, spoilt);
    assert!(compiles(C11, "spoilt", &spoilt, &[]).unwrap().is_err());
}

/// The include paths of Ruby's headers, as arguments; none where Ruby or its headers are missing.
pub(crate) fn ruby() -> Option<Vec<String>> {
    let script = "puts RbConfig::CONFIG.values_at('rubyhdrdir', 'rubyarchhdrdir')";
    let output = Command::new("ruby").args(["-rrbconfig", "-e", script]).output();
    let folders =
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let folders: Vec<_> = folders.lines().map(|folder| format!("-isystem{folder}")).collect();
    let first = folders.first().and_then(|folder| folder.strip_prefix("-isystem")).unwrap_or_default();
    if Path::new(first).join("ruby/memory_view.h").is_file() {
        return Some(folders);
    }
    missing("ruby/memory_view.h (Debian's ruby-dev)");
    None
}

/// Compares the structs of the original field by field, in the installed version of Ruby. (Until
/// 3.2 two flags of a component are bits of the byte where the first of them is here.)
#[test]
fn structs_and_flags_are_those_of_ruby() {
    let Some(ruby) = ruby() else { return };
    let mut text = "#include <ruby.h>\n#include <ruby/memory_view.h>\n#include <crossdock.h>\n\
        #define SAME(a, b) _Static_assert((a) == (b), #a)\n\
        #define SIZE(name) SAME(sizeof(rb_##name), sizeof(xd_##name));\n\
        #define FIELD(name, field) SAME(offsetof(rb_##name, field), offsetof(xd_##name, field));\n\
        SIZE(memory_view_t) SIZE(memory_view_item_component_t) SIZE(memory_view_entry_t)\n\
        SAME(offsetof(rb_memory_view_t, _memory_view_entry), offsetof(xd_memory_view_t, reserved));\n"
        .to_owned();
    let view = "obj data byte_size readonly format item_size item_desc item_desc.components item_desc.length ndim shape \
        strides sub_offsets private_data";
    let structs = [
        ("memory_view_t", view),
        ("memory_view_item_component_t", "format offset size repeat"),
        ("memory_view_entry_t", "get_func release_func available_p_func"),
    ];
    for (name, fields) in structs {
        for field in fields.split_whitespace() {
            writeln!(text, "FIELD({name}, {field})").unwrap();
        }
    }
    for (name, _) in numbers() {
        if let Some(flag) = name.strip_prefix("XD_MEMORY_VIEW_") {
            writeln!(text, "SAME(RUBY_MEMORY_VIEW_{flag}, {name});").unwrap();
        }
    }
    let Some(result) = compiles(C11, "ruby", &text, &ruby) else { return };
    result.unwrap();
    let spoilt =
        text.replacen("FIELD(memory_view_t, data)", "SAME(offsetof(rb_memory_view_t, data), 16);", 1);
    assert!(compiles(C11, "ruby-spoilt", &spoilt, &ruby).unwrap().is_err());
}

/// Compares every number that the header defines, so that the header and the library cannot differ.
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
