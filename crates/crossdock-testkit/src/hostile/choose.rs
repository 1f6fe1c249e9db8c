//! Recipes chosen by bytes, for fuzzing.

use crate::dlpack::Choices;
use crate::hostile::{Data, Format, Recipe, Switch};

/// Formats, with the size of an item for valid templates.
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
    /// A struct chosen by bytes: about half are legal, and most of those stay within the block.
    pub fn choose(choices: &mut Choices<'_>) -> Self {
        let (format, size) = FORMATS[usize::from(choices.below(18))];
        let mut recipe = Self {
            format: Format::Text(format.to_vec(), size),
            item_size: size.unwrap_or(8) as isize,
            ndim: isize::from(choices.below(5)),
            readonly: choices.below(3),
            ..Self::default()
        };
        if choices.below(9) == 0 {
            recipe.ndim = 5 + isize::from(choices.below(60));
        }
        let rank = 64;
        let mut shape: Vec<isize> =
            (0..rank).map(|axis| if axis < 5 { isize::from(choices.below(4)) + 1 } else { 1 }).collect();
        for len in &mut shape[..5] {
            *len = match choices.below(14) {
                0 => 0,
                1 if choices.rarely() => choices.nasty() as isize,
                _ => *len,
            };
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
        let beside = if choices.below(4) > 0 { usize::from(choices.below(8)) } else { 0 };
        recipe.data = Data::Block(if kind == 0 { 0 } else { 512 } + beside);
        recipe.byte_size = match choices.below(4) {
            0 => choices.nasty() as isize,
            _ => inner.wrapping_abs(),
        };
        (recipe.shape, recipe.strides) = (Some(shape), (kind != 3).then_some(strides));
        if recipe.ndim > 0 && choices.below(12) == 0 {
            recipe.follow_pointers(choices);
        }
        if choices.below(2) == 0 {
            for _ in 0..choices.below(3) {
                let number = usize::from(choices.below(u8::MAX));
                Switch::ALL[number % Switch::ALL.len()].apply(&mut recipe);
            }
        }
        recipe.lengthen();
        recipe
    }

    /// Turns the first axis into a table of pointers.
    fn follow_pointers(&mut self, choices: &mut Choices<'_>) {
        let strides = self.strides.get_or_insert_with(|| vec![1; 64]);
        strides[0] = 8;
        (self.data, self.byte_size) = (Data::Table, 1 << 20);
        let mut sub_offsets = vec![-1; 64];
        sub_offsets[0] = isize::from(choices.below(8));
        self.sub_offsets = Some(sub_offsets);
    }
}
