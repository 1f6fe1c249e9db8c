//! Arbitrary bytes as an item format: an error with its offset, or a template whose components lie
//! within the item, one after another. It becomes a dtype, which becomes a template of the same
//! item again.

use crossdock::Error;
use crossdock::bindings::dialect::pack::{self, Component, Member, Template};
use crate::spellings;

/// Items up to this size are read and written.
const LARGEST: usize = 1 << 12;

fuzz_target!(|format: &[u8]| {
    let mut each = Vec::new();
    let handed_over = pack::parse_each(format, |component| each.push(component));
    assert_eq!(pack::item_size(format), handed_over);
    match pack::parse(format) {
        Ok(template) => {
            assert_eq!((Ok(template.item_size()), template.components()), (handed_over, each.as_slice()));
            check(&template);
        }
        Err(error) => {
            assert_eq!(handed_over, Err(error));
            assert!(error.offset() < format.len() && !error.to_string().is_empty());
            // The text before the offset is a valid template, except perhaps for the alignment of
            // its item.
            if let Err(before) = pack::parse(&format[..error.offset()]) {
                assert!(Error::from(before).is_overflow(), "{before}");
            }
        }
    }
});

fn check(template: &Template) {
    let size = template.item_size();
    assert!(isize::try_from(size).is_ok());
    let mut end = 0;
    for component in template.components() {
        let Component { offset, size: each, repeat, .. } = *component;
        assert!(offset >= end, "{template:?}");
        end = each.checked_mul(repeat).and_then(|nbytes| nbytes.checked_add(offset)).expect("no overflow");
        assert!(end <= size, "{template:?}");
        assert_eq!(component.to_dtype().expect("a dtype").itemsize(), end - offset);
    }
    let dtype = template.to_dtype().expect("fewer components than parts of a record");
    assert_eq!(dtype.itemsize(), size);
    let text = pack::to_pack(&dtype).expect("what came from a template");
    let again = pack::parse(text.as_bytes()).expect("what was printed");
    assert_eq!(again.to_dtype().expect("the same"), dtype);
    spellings(&dtype);
    if size <= LARGEST {
        let mut item = vec![0x41; size];
        let mut members: Vec<Member> = Vec::new();
        pack::read_members(&item, template.components(), |member| members.push(member)).expect("an item");
        pack::write_members(&mut item, template.components(), &members).expect("its own numbers");
        assert!(item.iter().all(|&byte| byte == 0x41));
    }
}
