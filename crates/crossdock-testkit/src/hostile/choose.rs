//! Recipes that are chosen by bytes, for fuzzing.

use crate::dlpack::Choices;
use crate::hostile::{Data, Format, Recipe, Switch};

/// Formats, with the size of an item where they are templates.
const FORMATS: [(&[u8], Option<usize>); 18] = [
    (b"C", Some(1)),
    (b"c", Some(1)),
    (b"s>", Some(2)),
    (b"l", Some(4)),
    (b"q!<", Some(8)),
    (b"f", Some(4)),
    (b"d", Some(8)),
    (b"C3", Some(3)),
    (b"iqc", Some(13)),
    (b"|iqc", Some(24)),
    (b"ccc2f3x2d4q!<", Some(58)),
    (b" f x2 ", Some(6)),
    (b"x5", Some(5)),
    (b"", Some(0)),
    (b"|", Some(0)),
    (b"dd>", None),
    (b"b", None),
    (b"c99999999999999999999", None),
];

impl Recipe {
    /// A struct chosen by bytes: every second one or so is legal, and most of these keep to the block.
    pub fn choose(choices: &mut Choices<'_>) -> Self {
        let (format, size) = FORMATS[usize::from(choices.below(18))];
        let mut recipe = Self {
            format: Format::Text(format.to_vec(), size),
            item_size: size.unwrap_or(8) as isize,
            ndim: isize::from(choices.below(5)),
            readonly: choices.below(3),
            ..Self::default()
        };
        if choices.rarely() {
            recipe.ndim = 5 + isize::from(choices.below(60));
        }
        let rank = 64;
        let mut shape: Vec<isize> =
            (0..rank).map(|axis| if axis < 5 { isize::from(choices.below(4)) + 1 } else { 1 }).collect();
        for len in &mut shape[..5] {
            if choices.rarely() {
                *len = if choices.below(2) == 0 { 0 } else { choices.nasty() as isize };
            }
        }
        let mut strides = vec![0isize; rank];
        let kind = choices.below(4);
        let mut inner = if kind == 1 { -recipe.item_size } else { recipe.item_size };
        for axis in (0..recipe.ndim as usize).rev() {
            strides[axis] = if kind == 2 { isize::from(choices.below(33)) - 16 } else { inner };
            if choices.rarely() {
                strides[axis] = choices.nasty() as isize;
            }
            inner = inner.wrapping_mul(shape[axis]);
        }
        recipe.data = Data::Block(if kind == 0 { usize::from(choices.below(8)) } else { 512 });
        recipe.byte_size = match choices.below(4) {
            0 => choices.nasty() as isize,
            _ => inner.wrapping_abs(),
        };
        (recipe.shape, recipe.strides) = (Some(shape), (kind != 3).then_some(strides));
        if choices.below(2) == 0 {
            for _ in 0..choices.below(3) {
                let number = usize::from(choices.below(u8::MAX));
                Switch::ALL[number % Switch::ALL.len()].apply(&mut recipe);
            }
        }
        recipe.lengthen();
        recipe
    }
}
