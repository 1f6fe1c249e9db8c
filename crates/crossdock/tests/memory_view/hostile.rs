//! Producers that lie, fail half-way, and misbehave later: each is refused with its reason, or what it did has no effect.

use std::ptr;

use crossdock::exchange::protocol::memory_view::{
    self, ArrayObject, Class, Entry, Flags, View, last_refusal,
};
use crossdock_testkit::hostile::{self, Format, Hostile, Recipe, Switch};

use super::{bytes, get, numbers, release};

static CLASS: Class = Class { name: c"Hostile".as_ptr(), super_: ptr::null() };

fn entry(object: &Hostile) -> Entry {
    // SAFETY: the same struct, declared once more.
    unsafe { std::mem::transmute::<hostile::Entry, Entry>(object.callbacks()) }
}

/// A class of its own for each object, since callbacks differ.
fn class() -> Box<Class> {
    Box::new(Class { name: c"Hostile".as_ptr(), super_: ptr::null() })
}

fn flags(flags: hostile::Flags) -> Flags {
    Flags::from_bits(flags.0)
}

/// Asks for a view, and sees to it that what comes of it is what the recipe says. Gives the reason of a refusal.
#[track_caller]
fn check(recipe: &Recipe, asked: hostile::Flags, what: &str) -> Option<String> {
    let class = class();
    let object = Hostile::new(ptr::from_ref(&*class).cast(), recipe);
    // SAFETY: the callbacks do anything but what breaks memory.
    unsafe { memory_view::register(&*class, &entry(&object)) }.unwrap();
    let is_legal = recipe.is_legal(asked, object.block());
    // As a consumer that zeroed nothing has it.
    let mut view = View { ndim: 77, byte_size: -3, reserved: ptr::without_provenance_mut(1), ..View::EMPTY };
    let before = bytes(&view);
    let result = get(object.as_ptr(), &mut view, flags(asked));
    assert!(memory_view::unregister(&*class));
    assert_eq!(result.is_ok(), is_legal, "{what}: {result:?}");
    assert_eq!(object.counts().wrong, 0, "{what}");
    match result {
        Err(error) => {
            assert_eq!(bytes(&view), before, "{what}: {error}");
            assert_eq!(last_refusal(), Some(error.to_string()), "{what}");
            let was_given = object.counts().gets == 1 && recipe.answer != 0;
            let taken_back = usize::from(was_given && recipe.has_release);
            assert_eq!(object.counts().releases, taken_back, "{what}: {error}");
            Some(error.to_string())
        }
        Ok(()) => {
            check_given(&mut view, &object, recipe, what);
            None
        }
    }
}

#[track_caller]
fn check_given(view: &mut View, object: &Hostile, recipe: &Recipe, what: &str) {
    assert_eq!(object.counts().releases, 0, "{what}");
    object.misbehave_later();
    let rank = recipe.ndim as usize;
    if let Some(shape) = &recipe.shape {
        assert_eq!(numbers(view.shape, view), &shape[..rank], "{what}");
    }
    if let Some(strides) = &recipe.strides {
        assert_eq!(numbers(view.strides, view), &strides[..rank], "{what}");
    }
    assert_eq!(view.sub_offsets.is_null(), !recipe.is_indirect(), "{what}");
    assert!(!view.strides.is_null() && !view.format.is_null() && !view.obj.is_null(), "{what}");
    assert!(view.item_size == recipe.item_size && !view.item_desc.components.is_null(), "{what}");
    assert_eq!(memory_view::exports(view.obj), 1, "{what}");
    let (obj, mut copy) = (view.obj, *view);
    for _ in 0..recipe.declines * usize::from(recipe.has_release) {
        assert!(!release(view), "{what}");
        assert!(last_refusal().unwrap().contains("did not take the view back"), "{what}");
        assert_eq!(memory_view::exports(obj), 1, "{what}");
    }
    assert!(release(view), "{what}");
    assert!(!release(view) && !release(&mut copy), "{what}");
    assert_eq!(object.counts().taken_back, usize::from(recipe.has_release), "{what}");
    assert_eq!(object.counts().releases, (recipe.declines + 1) * usize::from(recipe.has_release), "{what}");
    assert_eq!(memory_view::exports(obj), 0, "{what}");
}

#[test]
fn every_switch_alone_is_refused_with_its_reason_or_has_no_effect() {
    let mut given = 0;
    for &switch in Switch::ALL {
        let recipe = Recipe::with(&[switch]);
        for (name, asked) in hostile::Flags::ALL {
            let what = format!("{switch:?} under {name}");
            match check(&recipe, asked, &what) {
                Some(reason) => assert!(reason.starts_with("the class Hostile: "), "{what}: {reason}"),
                None => given += 1,
            }
        }
    }
    assert!(given > 9 * 10, "{given} views were given");
}

#[test]
fn every_pair_of_switches_is_refused_or_sound() {
    for (index, &first) in Switch::ALL.iter().enumerate() {
        for &second in Switch::ALL.iter().filter(|&&second| second != first) {
            let recipe = Recipe::with(&[first, second]);
            // All flags in turn, so that each pair meets several in both orders.
            for (name, asked) in hostile::Flags::ALL.into_iter().skip(index % 3).step_by(3) {
                check(&recipe, asked, &format!("{first:?} and {second:?} under {name}"));
            }
        }
    }
}

#[test]
fn a_refusal_says_both_numbers() {
    let simple = hostile::Flags(0);
    let cases: [(Switch, hostile::Flags, &[&str]); 27] = [
        (Switch::NegativeNdim, simple, &["ndim is -1"]),
        (Switch::TooManyAxes, simple, &["65", "64 is the most"]),
        (Switch::NegativeLength, simple, &["axis 1", "-1"]),
        (Switch::ShapeWraps, simple, &["[4294967296, 4294967296]", "4-byte"]),
        (Switch::NullShape, simple, &["shape is null", "3 axes"]),
        (Switch::StrideOverflows, simple, &["9223372036854775807", "spans more"]),
        (Switch::StridesLeadOut, simple, &["byte_size is 20", "24 bytes", "cover 412"]),
        (Switch::NullData, simple, &["data is null", "6 items"]),
        (Switch::DataAtTheEnd, simple, &["address space"]),
        (Switch::DataAtTheBegin, simple, &["-20..4", "address space"]),
        (Switch::ByteSizeTooSmall, simple, &["byte_size is 23", "24 bytes"]),
        (Switch::NegativeByteSize, simple, &["byte_size is -1"]),
        (Switch::ItemSizeTooSmall, simple, &["item_size is 2", "'l' has 4"]),
        (Switch::ItemSizeTooLarge, simple, &["item_size is 8", "'l' has 4"]),
        (Switch::NegativeItemSize, simple, &["item_size is -4"]),
        (Switch::UnknownFormat, simple, &["'?'", "byte 0"]),
        (Switch::ForeignDialect, simple, &["'<i'", "byte 0"]),
        (Switch::FormatWraps, simple, &["byte 0", "9223372036854775807"]),
        (Switch::UnterminatedFormat, simple, &["byte 1", "\\xff"]),
        (Switch::EndlessFormat, simple, &["65536"]),
        (Switch::NothingFilled, simple, &["item_size of 0", "not filled in"]),
        (Switch::FailsAfterFilling, simple, &["gave no view", "SIMPLE"]),
        (Switch::Unavailable, simple, &["not available"]),
        (Switch::Readonly, hostile::Flags(1), &["WRITABLE", "read-only"]),
        (Switch::ColumnMajor, hostile::Flags(28), &["ROW_MAJOR", "[4, 8]"]),
        (Switch::Indirect, simple, &["follows pointers", "INDIRECT"]),
        (Switch::IndirectWithoutStrides, hostile::Flags(76), &["strides are null"]),
    ];
    for (switch, asked, parts) in cases {
        let reason = check(&Recipe::with(&[switch]), asked, &format!("{switch:?}")).unwrap();
        for part in parts {
            assert!(reason.contains(part), "{switch:?}: {part:?} is not in: {reason}");
        }
    }
}

#[test]
fn flags_that_ask_for_nothing_that_is_known_do_not_reach_the_producer() {
    let object = Hostile::new(ptr::from_ref(&CLASS).cast(), &Recipe::with(&[]));
    // SAFETY: the callbacks do anything but what breaks memory.
    unsafe { memory_view::register(&CLASS, &entry(&object)) }.unwrap();
    let error = get(object.as_ptr(), &mut View::EMPTY.clone(), Flags::from_bits(0x80)).unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains("0x80"), "{error}");
    assert_eq!(object.counts(), hostile::Counts::default());
    assert!(memory_view::unregister(&CLASS));
}

#[test]
fn a_release_within_the_release_does_nothing() {
    let class = class();
    let object = Hostile::new(ptr::from_ref(&*class).cast(), &Recipe::with(&[]));
    // SAFETY: the callbacks do anything but what breaks memory.
    unsafe { memory_view::register(&*class, &entry(&object)) }.unwrap();
    let mut view = View::EMPTY;
    get(object.as_ptr(), &mut view, Flags::SIMPLE).unwrap();
    let copy = view;
    object.on_release(move || {
        let mut copy = copy;
        assert!(!release(&mut copy));
        assert!(last_refusal().unwrap().contains("being released"));
    });
    assert!(release(&mut view));
    assert_eq!(object.counts().releases, 1);
    assert!(memory_view::unregister(&*class));
}

#[test]
fn structs_that_were_never_given_are_not_released() {
    let array = crossdock::Array::from_vec(vec![1u8], [1]).unwrap();
    let object = ArrayObject::new(array.clone().into());
    let mut view = View::EMPTY;
    get(object.as_ptr(), &mut view, Flags::WRITABLE).unwrap();
    // Of the generation that no view has, of the last one, and of one that is still to come. (Those in between may be views of other tests.)
    let generation = 1 << 24;
    let next = view.reserved.addr() + generation;
    for name in [0, 1, 31, 32, generation - 1, usize::MAX, usize::MAX - 1, next] {
        let mut forged = View { reserved: ptr::without_provenance_mut(name), ..view };
        let before = bytes(&forged);
        assert!(!release(&mut forged), "{name:#x}");
        assert_eq!(bytes(&forged), before);
    }
    assert!(array.write().is_err() && release(&mut view) && array.write().is_ok());
}

#[test]
fn a_format_of_no_bytes_has_items_of_no_bytes() {
    let recipe = Recipe { format: Format::Text(vec![], Some(0)), item_size: 0, ..Recipe::with(&[]) };
    assert!(check(&recipe, hostile::Flags(0), "no bytes").is_none());
}
