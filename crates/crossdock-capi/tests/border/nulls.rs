//! Every function, called with null for each pointer and 1 for each number.

use std::fmt::Write as _;
use std::fs;

use crate::programs::run;
use crate::prototypes::{Prototype, prototypes};
use crate::toolchain::{C11, scratch};

/// The C expression that is true of a result that is nothing.
fn nothing(prototype: &Prototype) -> Option<&'static str> {
    match &*prototype.returns {
        "void" => None,
        "xd_value" => Some("result.kind == XD_VALUE_NIL"),
        // A function without pointer parameters may succeed.
        _ if prototype.pointers().next().is_none() => Some("true"),
        // The name of the one and the list of the other are optional.
        _ if ["xd_buffer_shared", "xd_device_kinds"].contains(&&*prototype.name) => Some("result != 0"),
        // Messages are never null.
        _ if prototype.name == "xd_error_message" => Some("result != NULL"),
        // Without a format, items are bytes.
        "ssize_t" if prototype.name.ends_with("_format") => Some("result == 1"),
        "ssize_t" => Some("result == -1"),
        _ => Some("result == 0"),
    }
}

fn call(prototype: &Prototype, last: &str) -> String {
    let argument = |parameter: &String| if parameter.contains('*') { "NULL" } else { "1" };
    let mut arguments: Vec<_> = prototype.parameters.iter().map(argument).collect();
    if prototype.is_fallible() {
        arguments.pop();
        arguments.push(last);
    }
    format!("{}({})", prototype.name, arguments.join(", "))
}

fn text() -> String {
    let mut text = "#include <crossdock.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
        #define CHECK(is) do { if (!(is)) { fprintf(stderr, \"%s: %s\\n\", name, #is); exit(1); } } while (0)\n\
        #define xd_lease_free xd_lease_release\n\
        int main(void) {\n  const char *name;\n"
        .to_owned();
    for prototype in prototypes() {
        let Prototype { name, returns, .. } = &prototype;
        writeln!(text, "  name = \"{name}\";").unwrap();
        for last in ["NULL", "&error"] {
            let call = call(&prototype, last);
            writeln!(text, "  {{").unwrap();
            if last == "&error" {
                writeln!(text, "    xd_error_t *error = (xd_error_t *)name;").unwrap();
            }
            match nothing(&prototype) {
                None => writeln!(text, "    {call};").unwrap(),
                Some(is) => {
                    writeln!(text, "    {returns} result = {call};\n    (void)result;\n    CHECK({is});")
                        .unwrap();
                    if let Some(object) =
                        returns.strip_suffix("_t *").filter(|name| !name.starts_with("const"))
                    {
                        writeln!(text, "    {object}_free(result);").unwrap();
                    }
                    if returns == "char *" {
                        writeln!(text, "    xd_string_free(result);").unwrap();
                    }
                }
            }
            // A failure because of a null pointer names it.
            if last == "&error" && prototype.is_fallible() {
                let names =
                    prototype.pointers().map(|name| format!("strstr(xd_error_message(error), \"`{name}`\")"));
                let names = names.collect::<Vec<_>>().join(" || ");
                let names = if names.is_empty() { "true" } else { &*names };
                writeln!(text, "    CHECK(xd_error_kind(error) != XD_ERROR_ARGUMENT || {names});").unwrap();
                writeln!(text, "    CHECK(xd_error_kind(error) != XD_ERROR_INTERNAL);").unwrap();
                writeln!(text, "    xd_error_free(error);").unwrap();
            } else if last == "&error" {
                writeln!(text, "    (void)error;").unwrap();
            }
            writeln!(text, "  }}").unwrap();
        }
    }
    text.push_str("  return 0;\n}\n");
    text
}

#[test]
fn null_is_answered_everywhere() {
    let source = scratch("nulls.c");
    fs::write(&source, text()).expect("a source of our own");
    run(C11, &source);
}
