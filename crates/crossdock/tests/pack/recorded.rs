//! Ruby's own results.

use crossdock::bindings::dialect::pack::{self, Member};
use crossdock_testkit::vectors::{self, Answer, Extracted, Number};

fn component(component: &pack::Component) -> vectors::Component {
    let pack::Component { format, native_size, little_endian, offset, size, repeat } = *component;
    vectors::Component { format, native_size, little_endian, offset, size, repeat }
}

#[test]
fn formats_are_read_as_ruby_reads_them_where_it_is_right() {
    vectors::check_formats(|format| {
        let answer = match pack::parse(format.as_bytes()) {
            Ok(template) => Answer::Item(
                template.item_size() as i128,
                Some(template.components().iter().map(component).collect()),
            ),
            Err(error) => Answer::ErrorAt(error.offset()),
        };
        let size = match pack::item_size(format.as_bytes()) {
            Ok(size) => Answer::Item(size as i128, None),
            Err(error) => Answer::ErrorAt(error.offset()),
        };
        match &answer {
            Answer::Item(item_size, _) => assert_eq!(size, Answer::Item(*item_size, None), "{format:?}"),
            error => assert_eq!(size, *error, "{format:?}"),
        }
        answer
    });
}

fn number(member: Member) -> Number {
    match member {
        Member::Int(value) => Number::Int(value.into()),
        Member::UInt(value) => Number::Int(value.into()),
        Member::Float(value) => Number::Float(value.to_bits()),
    }
}

#[test]
fn items_are_read_as_ruby_reads_them() {
    for vectors::Item { format, bytes, value } in vectors::items() {
        let template = pack::parse(format.as_bytes()).unwrap();
        let mut numbers = Vec::new();
        pack::read_members(&bytes, template.components(), |member| numbers.push(number(member))).unwrap();
        let read = match (template.components(), numbers.as_slice()) {
            ([], _) => Extracted::Nil,
            ([only], [number]) if only.repeat == 1 => Extracted::One(*number),
            _ => Extracted::List(numbers),
        };
        assert_eq!(read, value, "{format:?} of {bytes:02x?}");
    }
}
