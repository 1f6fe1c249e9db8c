//! The outputs of functions besides their return value: set to nothing or unchanged when the
//! function fails, as the header documents.

use std::fmt::Write as _;
use std::fs;

use crate::programs::run;
use crate::prototypes::prototypes;
use crate::toolchain::{C11, scratch};

/// The value of an output after a failure.
#[derive(Clone, Copy)]
enum Then {
    /// Every byte of it is 0.
    Nothing,
    /// It is -1, which is no descriptor: 0 is the standard input.
    NoDescriptor,
    /// It is unchanged.
    Untouched,
}
use Then::{NoDescriptor, Nothing, Untouched};

/// An output: the function, the parameter, its type in C, what happens to it, and calls that fail,
/// with `OUT` in its place.
type Output = (&'static str, &'static str, &'static str, Then, &'static [&'static str]);

#[rustfmt::skip]
const OUTPUTS: &[Output] = &[
    ("xd_array_get", "value", "xd_value", Nothing,
        &["(NULL, far, OUT, &error)", "(numbers, NULL, OUT, &error)", "(numbers, far, OUT, &error)"]),
    ("xd_array_buffer", "offset", "size_t", Nothing, &["(NULL, OUT, &error)"]),
    ("xd_channel_fd", "fd", "int", NoDescriptor, &["(NULL, OUT, &error)"]),
    ("xd_array_equals", "equal", "bool", Nothing,
        &["(NULL, numbers, OUT, &error)", "(numbers, NULL, OUT, &error)", "(numbers, records, OUT, &error)"]),
    ("xd_array_all_close", "close", "bool", Nothing,
        &["(NULL, numbers, 0, 0, false, OUT, &error)", "(numbers, records, 0, 0, false, OUT, &error)"]),
    ("xd_array_first_difference", "index", "ssize_t", Untouched, &["(NULL, numbers, OUT, NULL, &error)"]),
    ("xd_array_first_difference", "differ", "bool", Nothing, &["(NULL, numbers, NULL, OUT, &error)"]),
    ("xd_set_is_table", "is_table", "bool", Nothing, &["(NULL, \"x\", OUT, &error)"]),
    ("xd_dtype_field", "field", "xd_field", Nothing,
        &["(NULL, 0, OUT)", "(record, 9, OUT)", "(number, 0, OUT)"]),
    ("xd_dtype_find_field", "field", "xd_field", Nothing,
        &["(NULL, \"x\", OUT)", "(record, NULL, OUT)", "(record, \"y\", OUT)", "(record, \"\\xff\", OUT)"]),
    ("xd_dtype_to_dlpack", "code", "uint8_t", Nothing,
        &["(NULL, OUT, NULL, NULL, &error)", "(record, OUT, NULL, NULL, &error)"]),
    ("xd_dtype_to_dlpack", "bits", "uint8_t", Nothing,
        &["(NULL, NULL, OUT, NULL, &error)", "(record, NULL, OUT, NULL, &error)"]),
    ("xd_dtype_to_dlpack", "lanes", "uint16_t", Nothing,
        &["(NULL, NULL, NULL, OUT, &error)", "(record, NULL, NULL, OUT, &error)"]),
    ("xd_memory_view_parse_item_format", "components", "xd_memory_view_item_component_t *", Nothing,
        &["(\"?\", OUT, NULL, NULL) >= 0", "(\"cq<>\", OUT, NULL, NULL) >= 0"]),
    ("xd_memory_view_parse_item_format", "n", "size_t", Nothing,
        &["(\"?\", NULL, OUT, NULL) >= 0", "(\"?\", &components, OUT, NULL) >= 0"]),
    // The position of the error: null if there is none.
    ("xd_memory_view_parse_item_format", "err", "const char *", Nothing,
        &["(\"c\", NULL, NULL, OUT) < 0", "(NULL, NULL, NULL, OUT) < 0"]),
    ("xd_memory_view_item_size_from_format", "err", "const char *", Nothing,
        &["(\"c\", OUT) < 0", "(NULL, OUT) < 0"]),
    ("xd_array_from_arrow", "validity", "xd_array_t *", Nothing,
        &["(NULL, NULL, OUT, &error)", "(empty_schema, NULL, OUT, &error)", "(NULL, empty_column, OUT, &error)",
          "(empty_schema, empty_column, OUT, &error)", "(bad_schema(), empty_column, OUT, &error)"]),
    ("xd_array_from_arrow_device", "validity", "xd_array_t *", Nothing,
        &["(NULL, NULL, OUT, &error)", "(empty_schema, NULL, OUT, &error)", "(NULL, empty_device, OUT, &error)",
          "(empty_schema, empty_device, OUT, &error)", "(bad_schema(), empty_device, OUT, &error)"]),
    ("xd_array_to_arrow", "schema", "struct schema", Untouched,
        &["(NULL, NULL, 0, OUT, empty_column, &error)", "(records, \"\\xff\", 0, OUT, empty_column, &error)",
          "(numbers, NULL, 1u << 31, OUT, empty_column, &error)"]),
    ("xd_array_to_arrow", "column", "struct column", Untouched,
        &["(NULL, NULL, 0, empty_schema, OUT, &error)", "(numbers, NULL, 1u << 31, empty_schema, OUT, &error)"]),
    ("xd_array_to_arrow_device", "schema", "struct schema", Untouched,
        &["(NULL, NULL, 0, OUT, empty_device, &error)", "(numbers, NULL, 1u << 31, OUT, empty_device, &error)"]),
    ("xd_array_to_arrow_device", "column", "struct device_column", Untouched,
        &["(NULL, NULL, 0, empty_schema, OUT, &error)", "(numbers, NULL, 1u << 31, empty_schema, OUT, &error)"]),
    ("xd_column_to_arrow", "schema", "struct schema", Untouched, &["(NULL, OUT, empty_column, &error)"]),
    ("xd_column_to_arrow", "array", "struct column", Untouched,
        &["(NULL, empty_schema, OUT, &error)", "(column, NULL, OUT, &error)"]),
    ("xd_batch_to_arrow", "schema", "struct schema", Untouched, &["(NULL, OUT, empty_column, &error)"]),
    ("xd_batch_to_arrow", "array", "struct column", Untouched, &["(NULL, empty_schema, OUT, &error)"]),
    ("xd_reader_to_arrow", "stream", "struct stream", Untouched, &["(NULL, OUT, &error)"]),
    ("xd_column_to_arrow_device", "schema", "struct schema", Untouched, &["(NULL, OUT, empty_device, &error)"]),
    ("xd_column_to_arrow_device", "array", "struct device_column", Untouched, &["(NULL, empty_schema, OUT, &error)"]),
    ("xd_batch_to_arrow_device", "schema", "struct schema", Untouched, &["(NULL, OUT, empty_device, &error)"]),
    ("xd_batch_to_arrow_device", "array", "struct device_column", Untouched, &["(NULL, empty_schema, OUT, &error)"]),
    ("xd_reader_to_arrow_device", "stream", "struct device_stream", Untouched, &["(NULL, 1, OUT, &error)"]),
    ("xd_column_null_count", "count", "size_t", Nothing, &["(NULL, OUT, &error)"]),
    ("xd_column_validity", "bit_offset", "size_t", Nothing, &["(NULL, OUT, &error)"]),
    ("xd_column_array", "validity", "xd_array_t *", Nothing, &["(NULL, OUT, &error)"]),
    ("xd_column_get", "value", "xd_value", Nothing, &["(NULL, 0, OUT, &error)", "(column, 99, OUT, &error)"]),
    ("xd_text_get", "data", "const char *", Nothing, &["(NULL, 0, OUT, &length_of, &error)"]),
    ("xd_text_get", "len", "size_t", Nothing, &["(NULL, 0, &text_of, OUT, &error)"]),
    ("xd_contents_text", "key", "char *", Nothing, &["(NULL, 0, OUT, &error) != NULL"]),
    ("xd_contents_refused", "name", "char *", Nothing, &["(NULL, 0, OUT, &error) != NULL"]),
    ("xd_pool_statistics", "statistics", "xd_statistics", Nothing, &["(NULL, OUT)"]),
    ("xd_ledger_entry", "allocation", "xd_allocation", Nothing, &["(NULL, 0, OUT)"]),
    ("xd_buffer_fd", "fd", "int", NoDescriptor, &["(NULL, OUT, NULL, &error)"]),
    ("xd_buffer_fd", "offset", "uint64_t", Nothing, &["(NULL, NULL, OUT, &error)"]),
    ("xd_array_to_fd", "fd", "int", NoDescriptor,
        &["(NULL, XD_LEASE_PIN, 0, OUT, &error) != NULL", "(numbers, XD_LEASE_PIN, 0, OUT, &error) != NULL"]),
    ("xd_device_parse", "kind", "int32_t", Nothing, &["(NULL, OUT, NULL, &error)", "(\"?\", OUT, NULL, &error)"]),
    ("xd_device_parse", "ordinal", "int32_t", Nothing, &["(NULL, NULL, OUT, &error)", "(\"cpu:x\", NULL, OUT, &error)"]),
    ("xd_device_kinds", "kinds", "int32_t", Untouched, &["(OUT, 0) == 0"]),
    ("xd_device_usage", "usage", "xd_usage", Nothing, &["(99, 0, OUT, &error)"]),
    ("xd_array_to_device_in", "event", "xd_event_t *", Nothing,
        &["(NULL, 1, 0, NULL, OUT, &error)", "(numbers, 99, 0, NULL, OUT, &error)"]),
    ("xd_array_assign_in", "event", "xd_event_t *", Nothing, &["(NULL, NULL, 0, NULL, OUT, &error)"]),
    ("xd_memory_view_get", "view", "xd_memory_view_t", Untouched, &["(NULL, OUT, 0)", "(numbers, OUT, 28 | 1024)"]),
    ("xd_memory_view_init_as_byte_array", "view", "xd_memory_view_t", Untouched, &["(OUT, NULL, NULL, -1, false)"]),
    ("xd_memory_view_fill_contiguous_strides", "strides", "ssize_t", Untouched,
        &["(-1, 8, far, true, OUT)", "(1, -8, far, true, OUT)", "(1, 8, NULL, true, OUT)"]),
    ("xd_memory_view_read_item", "out", "xd_value", Untouched, &["(NULL, far, OUT, 1) >= 0"]),
];

/// Pointers to non-const data that are not outputs: handles, memory of the caller, structs that the
/// function consumes.
const INPUTS: &[&str] = &[
    "xd_error_free.error",
    "xd_set_free.set",
    "xd_string_free.text",
    "xd_value_free.value",
    "xd_dtype_free.dtype",
    "xd_buffer_adopt.data",
    "xd_buffer_adopt.release",
    "xd_buffer_adopt.context",
    "xd_buffer_free.buffer",
    "xd_lease_release.lease",
    "xd_array_free.array",
    "xd_channel_free.channel",
    "xd_sender_free.sender",
    "xd_loan_free.loan",
    "xd_receiver_free.receiver",
    "xd_memory_view_available_p.obj",
    "xd_memory_view_get.obj",
    "xd_memory_view_release.view",
    "xd_memory_view_exports.obj",
    "xd_memory_view_prepare_item_desc.view",
    "xd_memory_view_init_as_byte_array.obj",
    "xd_memory_view_init_as_byte_array.data",
    "xd_array_from_object.obj",
    "xd_array_from_dlpack.tensor",
    "xd_array_from_dlpack_legacy.tensor",
    "xd_array_from_arrow.schema",
    "xd_array_from_arrow.column",
    "xd_array_from_arrow_device.schema",
    "xd_array_from_arrow_device.column",
    "xd_array_copy_from_arrow.schema",
    "xd_array_copy_from_arrow.column",
    "xd_pool_free.pool",
    "xd_stream_free.stream",
    "xd_stream_wrap.raw",
    "xd_event_free.event",
    "xd_ledger_free.ledger",
    "xd_buffer_seal.buffer",
    "xd_contents_read.buffer",
    "xd_contents_free.contents",
    "xd_schema_free.schema",
    "xd_text_free.text",
    "xd_column_free.column",
    "xd_column_from_arrow.schema",
    "xd_column_from_arrow.array",
    "xd_column_from_arrow_device.schema",
    "xd_column_from_arrow_device.array",
    "xd_batch_free.batch",
    "xd_batch_from_arrow.schema",
    "xd_batch_from_arrow.array",
    "xd_batch_from_arrow_device.schema",
    "xd_batch_from_arrow_device.array",
    "xd_reader_free.reader",
    "xd_reader_from_arrow.stream",
    "xd_reader_from_arrow_device.stream",
];

#[test]
fn every_output_of_the_header_is_known() {
    let mut found = Vec::new();
    for prototype in prototypes() {
        for parameter in prototype.parameters.iter().filter(|parameter| parameter.contains('*')) {
            let name = match parameter.split_once("(*") {
                Some((_, rest)) => rest.split(')').next().unwrap_or_default(),
                None => parameter.rsplit([' ', '*']).next().unwrap_or_default(),
            };
            // `const char **err` points to a pointer to set; `const char *const *names` does not.
            let is_constant = parameter.starts_with("const ") && !parameter.contains("**");
            if !is_constant && parameter != "xd_error_t **error" {
                found.push(format!("{}.{name}", prototype.name));
            }
        }
    }
    let outputs = OUTPUTS.iter().map(|(function, name, ..)| format!("{function}.{name}"));
    let mut known: Vec<String> = INPUTS.iter().map(ToString::to_string).chain(outputs).collect();
    found.sort();
    known.sort();
    assert_eq!(found, known);
}

const PROLOGUE: &str = r#"#include <crossdock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct schema { const char *format, *name, *metadata; int64_t flags, n_children; struct schema **children; struct schema *dictionary;
                void (*release)(struct schema *); void *own; };
struct column { int64_t length, null_count, offset, n_buffers, n_children; const void **buffers; struct column **children;
                struct column *dictionary; void (*release)(struct column *); void *own; };
struct stream { void *functions[4], *own; };
struct device_stream { int32_t kind; void *functions[4], *own; };
struct device_column { struct column column; int64_t device_id; int32_t device_type; void *sync_event; int64_t reserved[3]; };
#define empty_schema ((struct ArrowSchema *)&(struct schema){0})
#define empty_column ((struct ArrowArray *)&(struct column){0})
#define empty_device ((struct ArrowDeviceArray *)&(struct device_column){0})
static void released(struct schema *schema) { schema->release = NULL; }
static struct schema bad;
static struct ArrowSchema *bad_schema(void) {
  memset(&bad, 0, sizeof bad);
  bad.format = "?";
  bad.release = released;
  return (struct ArrowSchema *)&bad;
}
int main(void) {
  ssize_t far[1] = {99}, length[1] = {3};
  xd_error_t *error = NULL;
  xd_memory_view_item_component_t *components = NULL;
  xd_dtype_t *number = xd_dtype_parse("<f8", NULL), *record = xd_dtype_parse("[('x', '<f8')]", NULL);
  xd_array_t *numbers = xd_array_zeros(number, 1, length, XD_ROW_MAJOR, NULL);
  xd_array_t *records = xd_array_zeros(record, 1, length, XD_ROW_MAJOR, NULL);
  xd_column_t *column = xd_column_from_array(numbers, NULL, NULL);
  const char *text_of;
  size_t length_of;
  if (!numbers || !records || !column) return 2;
  (void)components;
"#;

#[test]
fn outputs_are_nothing_or_untouched_where_a_function_fails() {
    let mut text = PROLOGUE.to_owned();
    for (function, parameter, of, then, calls) in OUTPUTS {
        let cast = match *of {
            "struct schema" => "(struct ArrowSchema *)",
            "struct column" => "(struct ArrowArray *)",
            "struct stream" => "(struct ArrowArrayStream *)",
            "struct device_stream" => "(struct ArrowDeviceArrayStream *)",
            "struct device_column" => "(struct ArrowDeviceArray *)",
            _ => "",
        };
        let expected = match then {
            Nothing => 0,
            NoDescriptor => 0xff,
            Untouched => 0xa5,
        };
        for call in *calls {
            let call = call.replace("OUT", &format!("{cast}&out"));
            let shown = format!("{function}.{parameter} {call}").escape_default().to_string();
            write!(
                text,
                "  {{\n    {of} out;\n    memset(&out, 0xa5, sizeof out);\n    error = NULL;\n    \
                 if ({function}{call}) {{ puts(\"{shown} did not fail\"); return 1; }}\n    xd_error_free(error);\n    \
                 for (size_t at = 0; at < sizeof out; at++) if (((unsigned char *)&out)[at] != {expected}) {{\n      \
                 puts(\"{shown}\"); return 1; }}\n  }}\n"
            )
            .unwrap();
        }
    }
    text.push_str(
        "  xd_column_free(column); xd_array_free(numbers); xd_array_free(records); xd_dtype_free(number); xd_dtype_free(record);\n  return 0;\n}\n",
    );
    let source = scratch("outputs.c");
    fs::write(&source, text).expect("the source is written");
    run(C11, &source);
}
