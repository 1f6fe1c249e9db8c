//! Answers of Ruby's MemoryView about strides, contiguity and item pointers, recorded from Ruby
//! 3.1.2 on x86-64 Linux.
//!
//! As with [`vectors`](crate::vectors), wrong answers are in a list, [`DEVIATIONS`]. Each check
//! enforces the list: every difference must be in it, for a reason computed here in 128 bits, and
//! every entry must occur.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::vectors::LAYOUTS;

/// Wrong answers of the original: a name, and the reason.
pub const DEVIATIONS: &[(&str, &str)] = &[
    (
        "item-out-of-bounds",
        "no index is compared with the length of its axis, so that any address comes back",
    ),
    (
        "item-offset-wraps",
        "the product of the lengths wraps around, and with it the offset of an item that exists",
    ),
    ("item-outside-addresses", "an item ends behind the last address that a pointer can have"),
    (
        "contiguous-product-wraps",
        "the product of the lengths wraps around, so that strides of 0 are contiguous",
    ),
    (
        "contiguous-single-axes",
        "the strides of axes of length 1 are compared, although nothing is ever stepped by them",
    ),
    (
        "contiguous-empty-axes",
        "without items, strides have to be 0 in front of the empty axis, although there is nothing to lie apart",
    ),
    ("contiguous-null-strides", "null strides are followed: a crash up to 4.0, and right in 4.1"),
];

/// The ids of [`DEVIATIONS`] that a check has met.
struct Met(BTreeSet<&'static str>);

impl Met {
    fn note(&mut self, id: &str) {
        let known = DEVIATIONS.iter().find(|(known, _)| *known == id);
        self.0.insert(known.unwrap_or_else(|| panic!("{id} is not on the list")).0);
    }

    fn assert(&self, ids: &[&str]) {
        for id in ids {
            assert!(self.0.contains(id), "{id} is on the list, and no recorded answer shows it");
        }
    }
}

/// A recorded layout.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Lengths; `None` for a null pointer.
    pub shape: Option<Vec<isize>>,
    /// The number of axes.
    pub ndim: isize,
    /// Strides in bytes; `None` for a null pointer.
    pub strides: Option<Vec<isize>>,
    /// The bytes of an item.
    pub item_size: isize,
}

impl Recorded {
    fn new(value: &Value) -> Self {
        let shape = numbers(&value["shape"]);
        let ndim = shape.as_ref().map_or_else(|| number(&value["ndim"]), |shape| shape.len() as isize);
        Self { shape, ndim, strides: numbers(&value["strides"]), item_size: number(&value["item_size"]) }
    }

    /// The offset of an item in 128 bits, by contiguous strides if there are none.
    fn offset(&self, index: &[isize]) -> i128 {
        let shape = self.shape.as_deref().unwrap_or_default();
        let (mut offset, mut stride) = (0, self.item_size as i128);
        for axis in (0..shape.len()).rev() {
            let step = self.strides.as_ref().map_or(stride, |strides| strides[axis] as i128);
            offset += index[axis] as i128 * step;
            stride *= shape[axis] as i128;
        }
        offset
    }

    /// NumPy's rule, in row-major or column-major order.
    fn is_contiguous(&self, row_major: bool) -> bool {
        let (Some(shape), Some(strides)) = (&self.shape, &self.strides) else {
            panic!("of explicit strides")
        };
        let mut expected = self.item_size as i128;
        let inwards = |k: usize| if row_major { shape.len() - 1 - k } else { k };
        shape.contains(&0)
            || (0..shape.len()).map(inwards).filter(|&axis| shape[axis] != 1).all(|axis| {
                let is_next = strides[axis] as i128 == expected;
                expected *= shape[axis] as i128;
                is_next
            })
    }

    /// Whether the elements exceed the address space.
    fn overflows(&self) -> bool {
        let lens = self.shape.iter().flatten();
        lens.fold(self.item_size as i128, |nbytes, &len| nbytes * len as i128) > isize::MAX as i128
    }
}

/// Asserts that strides are filled in as by the original. The arguments of `fill` are the shape,
/// the item size, and whether the order is row-major.
///
/// # Panics
///
/// If they differ.
pub fn check_strides(mut fill: impl FnMut(&[isize], isize, bool) -> Vec<isize>) {
    let mut count = 0;
    for value in vectors("fill_contiguous_strides") {
        let (shape, item_size) = (numbers(&value["shape"]).unwrap(), number(&value["item_size"]));
        for (name, row_major) in [("row_major_strides", true), ("column_major_strides", false)] {
            let expected = numbers(&value[name]).unwrap();
            assert_eq!(
                fill(&shape, item_size, row_major),
                expected,
                "{shape:?} of {item_size} bytes, {name}"
            );
            count += 1;
        }
    }
    assert!(count > 200, "{count} strides were checked");
}

/// The address of element 0 of the views whose item pointers are compared.
pub const ADDRESS: usize = 1 << (usize::BITS - 2);

/// Asserts that item pointers equal the original's, except for the deviations, which are refused.
/// `offset` returns the offset of the item from element 0, which is at [`ADDRESS`], or `None`.
///
/// # Panics
///
/// If they differ.
pub fn check_item_pointers(mut offset: impl FnMut(&Recorded, &[isize]) -> Option<isize>) {
    let mut met = Met(BTreeSet::new());
    let mut count = 0;
    for value in vectors("item_pointer") {
        let (layout, index) = (Recorded::new(&value), numbers(&value["indices"]).unwrap());
        let (ours, theirs) = (offset(&layout, &index), number(&value["offset"]));
        let what = format!("{layout:?} at {index:?}");
        let shape = layout.shape.as_deref().unwrap_or_default();
        if index.iter().zip(shape).any(|(at, len)| !(0..*len).contains(at)) {
            met.note("item-out-of-bounds");
            assert_eq!(ours, None, "{what}");
            continue;
        }
        // An offset that cannot be represented is refused.
        let exact = layout.offset(&index);
        let first = ADDRESS as i128 + exact;
        let is_there = first > 0 && first + layout.item_size as i128 <= isize::MAX as i128;
        let sound = isize::try_from(exact).ok().filter(|_| is_there);
        assert_eq!(ours, sound, "{what}");
        if sound == Some(theirs) {
            count += 1;
        } else if exact == theirs as i128 {
            met.note("item-outside-addresses");
        } else {
            assert!(layout.overflows(), "{what} is {sound:?} and not {theirs}, for no reason");
            met.note("item-offset-wraps");
        }
    }
    met.assert(&["item-out-of-bounds", "item-offset-wraps", "item-outside-addresses"]);
    assert!(count > 100, "{count} item pointers were as recorded");
}

/// Asserts that contiguity follows NumPy's rule, which differs from the original's by the
/// deviations only. The second argument of `ask` is whether the order is row-major.
///
/// # Panics
///
/// If it does not.
pub fn check_contiguity(ask: impl FnMut(&Recorded, bool) -> bool) {
    let met = contiguity(ask, |layout, ours, theirs| {
        let shape = layout.shape.as_deref().unwrap_or_default();
        let sound = [layout.is_contiguous(true), layout.is_contiguous(false)];
        assert_eq!(ours, sound, "{layout:?}");
        let differs = ours != theirs;
        match () {
            () if !differs => None,
            () if shape.contains(&0) => Some("contiguous-empty-axes"),
            () if layout.overflows() => Some("contiguous-product-wraps"),
            () if shape.contains(&1) => Some("contiguous-single-axes"),
            () => panic!("{layout:?} is answered {ours:?} and not {theirs:?}, for no reason"),
        }
    });
    met.assert(&["contiguous-product-wraps", "contiguous-single-axes", "contiguous-empty-axes"]);
}

/// As [`check_contiguity`], for the original's rule.
///
/// # Panics
///
/// If it does not.
pub fn check_strict_contiguity(ask: impl FnMut(&Recorded, bool) -> bool) {
    let met = contiguity(ask, |layout, ours, theirs| {
        if layout.overflows() && ours != theirs {
            assert_eq!(ours, [false; 2], "{layout:?}");
            return Some("contiguous-product-wraps");
        }
        assert_eq!(ours, theirs, "{layout:?}");
        None
    });
    met.assert(&["contiguous-product-wraps"]);
}

fn contiguity(
    mut ask: impl FnMut(&Recorded, bool) -> bool,
    mut compare: impl FnMut(&Recorded, [bool; 2], [bool; 2]) -> Option<&'static str>,
) -> Met {
    let mut met = Met(BTreeSet::new());
    let answer = |value: &Value| ["row_major", "column_major"].map(|order| value[order].as_bool().unwrap());
    for value in vectors("contiguity") {
        let layout = Recorded::new(&value);
        let ours = [true, false].map(|row_major| ask(&layout, row_major));
        if let Some(id) = compare(&layout, ours, answer(&value)) {
            met.note(id);
        }
    }
    for value in vectors("null_strides_4_1dev_only") {
        let layout = Recorded::new(&value);
        assert_eq!([true, false].map(|row_major| ask(&layout, row_major)), answer(&value), "{layout:?}");
        met.note("contiguous-null-strides");
    }
    met.assert(&["contiguous-null-strides"]);
    met
}

fn vectors(name: &str) -> Vec<Value> {
    let mut record: Value = serde_json::from_str(LAYOUTS).unwrap();
    match record[name].take() {
        Value::Array(vectors) => vectors,
        other => panic!("no list of {name}, but {other}"),
    }
}

fn number(value: &Value) -> isize {
    isize::try_from(value.as_i64().unwrap_or_else(|| panic!("{value} is no number"))).unwrap()
}

fn numbers(value: &Value) -> Option<Vec<isize>> {
    value.as_array().map(|list| list.iter().map(number).collect())
}
