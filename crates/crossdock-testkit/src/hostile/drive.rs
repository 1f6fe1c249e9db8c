//! Runs the hostile producer against a hub, called from any language: each switch, and each pair of
//! switches, is refused with its reason or has no effect.

use std::ptr;

use crate::hostile::{Class, Counts, Entry, Flags, Hostile, Recipe, Switch, View};

/// The functions of a hub.
pub trait Hub: Copy + 'static {
    /// Registers a producer; false if refused.
    fn register(self, class: &Class, entry: &Entry) -> bool;
    /// Removes it; false if there was none.
    fn unregister(self, class: &Class) -> bool;
    /// Whether a view may be available.
    fn available(self, object: &Hostile) -> bool;
    /// Requests a view; false if refused.
    fn get(self, object: &Hostile, view: &mut Struct, flags: Flags) -> bool;
    /// Releases it; false if refused.
    fn release(self, view: &mut Struct) -> bool;
    /// The number of held views of the object at an address.
    fn exports(self, object: usize) -> usize;
    /// The reason of the last refusal.
    fn last_refusal(self) -> String;
}

/// The memory of a view's struct, including padding.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Struct([u8; size_of::<View>()]);

impl Struct {
    /// The struct of a consumer that initialised nothing.
    const UNINITIALISED: Self = Self([0x5a; size_of::<View>()]);

    /// The pointer that C uses.
    pub fn as_mut_ptr(&mut self) -> *mut View {
        ptr::from_mut(self).cast()
    }

    fn view(&self) -> View {
        // SAFETY: the bytes have the size and the alignment of a `View`, whose fields accept any
        // bytes: integers and pointers.
        unsafe { ptr::from_ref(self).cast::<View>().read() }
    }
}

/// A separate class for each object, since callbacks differ.
fn class() -> Box<Class> {
    Box::new(Class { name: c"Hostile".as_ptr(), super_: ptr::null() })
}

/// Requests a view, and checks that the outcome is exactly that of the recipe. Returns the reason
/// of a refusal.
///
/// # Panics
///
/// If the outcome differs.
#[track_caller]
pub fn check(hub: impl Hub, recipe: &Recipe, asked: Flags, what: &str) -> Option<String> {
    let class = class();
    let object = Hostile::new(&raw const *class, recipe);
    assert!(hub.register(&class, &object.callbacks()), "{what}");
    let is_legal = recipe.is_legal(asked, object.block());
    assert_eq!(hub.available(&object), recipe.available != Some(0), "{what}");
    let mut memory = Struct::UNINITIALISED;
    let was_given = hub.get(&object, &mut memory, asked);
    assert!(hub.unregister(&class), "{what}");
    let reason = (!was_given).then(|| hub.last_refusal());
    assert_eq!(was_given, is_legal, "{what}: {reason:?}");
    assert_eq!(object.counts().wrong, 0, "{what}");
    match &reason {
        Some(reason) => {
            assert!(reason.starts_with("the class Hostile: "), "{what}: {reason}");
            assert!(memory == Struct::UNINITIALISED, "{what}: the struct is another one, and {reason}");
            let is_to_be_taken_back = object.counts().gets == 1 && recipe.answer != 0 && recipe.has_release;
            assert_eq!(object.counts().releases, usize::from(is_to_be_taken_back), "{what}: {reason}");
            assert_eq!(hub.exports(object.as_ptr().addr()), 0, "{what}");
        }
        None => check_given(hub, memory, &object, recipe, what),
    }
    reason
}

#[track_caller]
fn check_given(hub: impl Hub, mut memory: Struct, object: &Hostile, recipe: &Recipe, what: &str) {
    assert_eq!(object.counts().releases, 0, "{what}");
    object.misbehave_later();
    let view = memory.view();
    let rank = recipe.ndim as usize;
    let numbers = |numbers: *const isize| {
        assert!(!numbers.is_null(), "{what}");
        // SAFETY: the view is held, so by the hub's contract the pointer, not null here, has `rank`
        // numbers.
        unsafe { std::slice::from_raw_parts(numbers, rank) }
    };
    let (shape, strides) = (numbers(view.shape), numbers(view.strides));
    if let Some(said) = &recipe.shape {
        assert_eq!(shape, &said[..rank], "{what}");
    }
    if let Some(said) = &recipe.strides {
        assert_eq!(strides, &said[..rank], "{what}");
    }
    assert_eq!(view.sub_offsets.is_null(), !recipe.is_indirect(), "{what}");
    assert!(!view.format.is_null() && !view.obj.is_null() && !view.components.is_null(), "{what}");
    assert_eq!((view.ndim, view.item_size), (recipe.ndim, recipe.item_size), "{what}");
    assert_eq!(hub.exports(view.obj.addr()), 1, "{what}");

    let mut copy = memory;
    let declines = recipe.declines * usize::from(recipe.has_release);
    for _ in 0..declines {
        assert!(!hub.release(&mut memory), "{what}");
        assert!(hub.last_refusal().contains("rejected the release of the view"), "{what}");
        assert!(memory == copy, "{what}: a view that is still held has changed");
        assert_eq!(hub.exports(view.obj.addr()), 1, "{what}");
    }
    assert!(hub.release(&mut memory), "{what}");
    assert!(!hub.release(&mut memory) && !hub.release(&mut copy), "{what}");
    assert!(hub.last_refusal().contains("already released"), "{what}");
    let taken_back = usize::from(recipe.has_release);
    let Counts { releases, taken_back: taken, wrong, .. } = object.counts();
    assert_eq!((releases, taken, wrong), (declines + taken_back, taken_back, 0), "{what}");
    assert_eq!(hub.exports(view.obj.addr()), 0, "{what}");
}

/// Tests each switch alone, under each flag.
///
/// # Panics
///
/// If one is neither refused with a reason nor without effect.
pub fn every_switch_alone(hub: impl Hub) {
    let (mut given, mut refused) = (0, 0);
    for &switch in Switch::ALL {
        let recipe = Recipe::with(&[switch]);
        for (name, asked) in Flags::ALL {
            let what = format!("{switch:?} under {name}");
            match check(hub, &recipe, asked, &what) {
                Some(_) => refused += 1,
                None => given += 1,
            }
        }
    }
    println!("{given} views were given, {refused} refused");
    assert!(given > 9 * 10 && refused > 9 * 20, "{given} views were given, {refused} refused");
}

/// Tests each switch after each other one, under a third of the flags, so that each pair meets
/// several in both orders.
///
/// # Panics
///
/// If a pair is neither refused nor sound.
pub fn every_pair_of_switches(hub: impl Hub) {
    for (index, &first) in Switch::ALL.iter().enumerate() {
        for &second in Switch::ALL.iter().filter(|&&second| second != first) {
            let recipe = Recipe::with(&[first, second]);
            for (name, asked) in Flags::ALL.into_iter().skip(index % 3).step_by(3) {
                let _reason = check(hub, &recipe, asked, &format!("{first:?} and {second:?} under {name}"));
            }
        }
    }
}

/// Tests that a reason names the contradiction, with both numbers.
///
/// # Panics
///
/// If one does not.
pub fn reasons(hub: impl Hub) {
    let simple = Flags(0);
    let cases: [(Switch, Flags, &[&str]); 27] = [
        (Switch::NegativeNdim, simple, &["ndim is -1"]),
        (Switch::TooManyAxes, simple, &["65", "at most 64"]),
        (Switch::NegativeLength, simple, &["axis 1", "-1"]),
        (Switch::ShapeWraps, simple, &["[4294967296, 4294967296]", "4-byte"]),
        (Switch::NullShape, simple, &["shape is null", "3 axes"]),
        (Switch::StrideOverflows, simple, &["9223372036854775807", "spans more"]),
        (Switch::StridesLeadOut, simple, &["byte_size is 20", "must be 24", "at least 412"]),
        (Switch::NullData, simple, &["data is null", "6 items"]),
        (Switch::DataAtTheEnd, simple, &["address space"]),
        (Switch::DataAtTheBegin, simple, &["-20..4", "address space"]),
        (Switch::ByteSizeTooSmall, simple, &["byte_size is 23", "must be 24"]),
        (Switch::NegativeByteSize, simple, &["byte_size is -1"]),
        (Switch::ItemSizeTooSmall, simple, &["item_size is 2", "'l' has 4"]),
        (Switch::ItemSizeTooLarge, simple, &["item_size is 8", "'l' has 4"]),
        (Switch::NegativeItemSize, simple, &["item_size is -4"]),
        (Switch::UnknownFormat, simple, &["'?'", "byte 0"]),
        (Switch::ForeignDialect, simple, &["'<i'", "byte 0"]),
        (Switch::FormatWraps, simple, &["byte 0", "9223372036854775807"]),
        (Switch::UnterminatedFormat, simple, &["byte 1", "\\xff"]),
        (Switch::EndlessFormat, simple, &["65536"]),
        (Switch::NothingFilled, simple, &["item_size is 0", "not filled in"]),
        (Switch::FailsAfterFilling, simple, &["refused a view", "SIMPLE"]),
        (Switch::Unavailable, simple, &["exports no views at present"]),
        (Switch::Readonly, Flags(1), &["WRITABLE", "read-only"]),
        (Switch::ColumnMajor, Flags(28), &["ROW_MAJOR", "[4, 8]"]),
        (Switch::Indirect, simple, &["follows pointers", "INDIRECT"]),
        (Switch::IndirectWithoutStrides, Flags(76), &["strides are null"]),
    ];
    for (switch, asked, parts) in cases {
        let reason = check(hub, &Recipe::with(&[switch]), asked, &format!("{switch:?}"))
            .unwrap_or_else(|| panic!("{switch:?} is refused"));
        for part in parts {
            assert!(reason.contains(part), "{switch:?}: {part:?} is not in: {reason}");
        }
    }
}

/// Tests that unknown flags do not reach the producer.
///
/// # Panics
///
/// If they do.
pub fn unknown_flags(hub: impl Hub) {
    let class = class();
    let object = Hostile::new(&raw const *class, &Recipe::with(&[]));
    assert!(hub.register(&class, &object.callbacks()));
    let mut memory = Struct::UNINITIALISED;
    assert!(!hub.get(&object, &mut memory, Flags(0x80)));
    assert!(hub.last_refusal().contains("0x80") && memory == Struct::UNINITIALISED);
    assert_eq!(object.counts(), Counts::default());
    assert!(hub.unregister(&class));
}

/// Tests that a release within the release of the same view does nothing.
///
/// # Panics
///
/// If it has an effect.
pub fn release_within_the_release(hub: impl Hub) {
    let class = class();
    let object = Hostile::new(&raw const *class, &Recipe::with(&[]));
    assert!(hub.register(&class, &object.callbacks()));
    let mut memory = Struct::UNINITIALISED;
    assert!(hub.get(&object, &mut memory, Flags(0)));
    let held = memory;
    object.on_release(move || {
        let mut copy = held;
        assert!(!hub.release(&mut copy) && copy == held);
        assert!(hub.last_refusal().contains("being released"), "{}", hub.last_refusal());
    });
    assert!(hub.release(&mut memory));
    assert_eq!(object.counts().releases, 1);
    assert!(hub.unregister(&class));
}
