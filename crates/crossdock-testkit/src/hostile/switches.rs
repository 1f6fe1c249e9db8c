//! Every misbehaviour of a producer, one by one.

use crate::hostile::{Data, Fills, Format, Obj, Recipe};

macro_rules! switches {
    ($($(#[$doc:meta])* $name:ident => |$recipe:ident| $change:expr;)*) => {
        /// One misbehaviour.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Switch {
            $($(#[$doc])* $name,)*
        }

        impl Switch {
            /// All switches.
            pub const ALL: &[Switch] = &[$(Switch::$name),*];

            /// Applies the switch.
            pub fn apply(self, recipe: &mut Recipe) {
                match self {
                    $(Switch::$name => { let $recipe = recipe; $change; })*
                }
            }
        }
    };
}

/// A length whose square wraps to 0.
const WRAPS_SQUARED: isize = 1 << (isize::BITS / 2);

/// A format and the size of its items.
fn text(text: &[u8], size: Option<usize>) -> Format {
    Format::Text(text.to_vec(), size)
}

switches! {
    /// -1 axes.
    NegativeNdim => |recipe| recipe.ndim = -1;
    /// The smallest number of axes.
    LeastNdim => |recipe| recipe.ndim = isize::MIN;
    /// 65 axes.
    TooManyAxes => |recipe| recipe.ndim = 65;
    /// The largest number of axes.
    MostNdim => |recipe| recipe.ndim = isize::MAX;
    /// A length of -1.
    NegativeLength => |recipe| recipe.shape = Some(vec![2, -1, 1]);
    /// The smallest length.
    LeastLength => |recipe| recipe.shape = Some(vec![isize::MIN, 3, 1]);
    /// A shape whose size wraps to 0.
    ShapeWraps => |recipe| recipe.shape = Some(vec![WRAPS_SQUARED, WRAPS_SQUARED, 1]);
    /// A shape whose size wraps to the true one.
    ShapeWrapsToSix => |recipe| recipe.shape = Some(vec![2, isize::MIN.wrapping_add(3), 1]);
    /// A length of 0, and one that overflows beside it.
    EmptyAndHuge => |recipe| recipe.shape = Some(vec![0, isize::MAX, 1]);
    /// No shape for 3 axes.
    NullShape => |recipe| (recipe.ndim, recipe.shape) = (3, None);
    /// No shape for 1 axis: bytes, by the original's rule.
    NullShapeOfBytes => |recipe| (recipe.ndim, recipe.shape, recipe.strides) = (1, None, None);
    /// No strides: row-major.
    NullStrides => |recipe| recipe.strides = None;
    /// The largest stride.
    StrideOverflows => |recipe| recipe.strides = Some(vec![isize::MAX, 4, 1]);
    /// The smallest stride.
    LeastStride => |recipe| recipe.strides = Some(vec![isize::MIN, 4, 1]);
    /// Strides that fit alone, but not together.
    StridesOverflowTogether => |recipe| recipe.strides = Some(vec![isize::MAX / 2 + 1, isize::MAX / 4 + 1, 1]);
    /// Strides that lead before the guaranteed memory.
    StridesLeadOut => |recipe| (recipe.strides, recipe.byte_size) = (Some(vec![-400, 4, 1]), 20);
    /// Column-major strides.
    ColumnMajor => |recipe| recipe.strides = Some(vec![4, 8, 24]);
    /// Every element at the same address.
    ZeroStrides => |recipe| recipe.strides = Some(vec![0, 0, 0]);
    /// No memory.
    NullData => |recipe| recipe.data = Data::Null;
    /// Memory at the end of the address space.
    DataAtTheEnd => |recipe| recipe.data = Data::Wild(usize::MAX - 8);
    /// Memory that would begin below address 0.
    DataAtTheBegin => |recipe| (recipe.data, recipe.strides) = (Data::Wild(8), Some(vec![-12, -4, 1]));
    /// One byte fewer than needed.
    ByteSizeTooSmall => |recipe| recipe.byte_size = 23;
    /// No bytes.
    ByteSizeZero => |recipe| recipe.byte_size = 0;
    /// -1 bytes.
    NegativeByteSize => |recipe| recipe.byte_size = -1;
    /// The smallest number of bytes.
    LeastByteSize => |recipe| recipe.byte_size = isize::MIN;
    /// Items smaller than their format.
    ItemSizeTooSmall => |recipe| recipe.item_size = 2;
    /// Items larger than their format.
    ItemSizeTooLarge => |recipe| recipe.item_size = 8;
    /// Items of -4 bytes.
    NegativeItemSize => |recipe| recipe.item_size = -4;
    /// Items of no bytes.
    ItemSizeZero => |recipe| recipe.item_size = 0;
    /// The largest items.
    MostItemSize => |recipe| recipe.item_size = isize::MAX;
    /// No format: bytes.
    NullFormat => |recipe| recipe.format = Format::Null;
    /// No letter of a template.
    UnknownFormat => |recipe| recipe.format = text(b"?", None);
    /// Another dialect.
    ForeignDialect => |recipe| recipe.format = text(b"<i", None);
    /// A structure of another dialect.
    ForeignRecord => |recipe| recipe.format = text(b"T{<i:x:}", None);
    /// White space, which is valid.
    SpacedFormat => |recipe| recipe.format = text(b" l\t", Some(4));
    /// White space between members, by which the original overflows.
    SpacedMembers => |recipe| recipe.format = text(b"s x2", Some(4));
    /// A count that wraps to a negative number.
    FormatWraps => |recipe| recipe.format = text(b"c9223372036854775808", None);
    /// A size that wraps to 0.
    FormatWrapsToZero => |recipe| recipe.format = text(b"q2305843009213693952", None);
    /// A size that wraps to the right one.
    FormatWrapsToFour => |recipe| recipe.format = text(b"c18446744073709551620", None);
    /// The empty format.
    EmptyFormat => |recipe| recipe.format = text(b"", Some(0));
    /// A format without a terminating zero.
    UnterminatedFormat => |recipe| recipe.format = Format::Unterminated(b"l\xff".to_vec());
    /// A very long format.
    EndlessFormat => |recipe| recipe.format = text(&[b'x'; 1 << 17], None);
    /// Read-only.
    Readonly => |recipe| recipe.readonly = 1;
    /// A `bool` that is neither 0 nor 1.
    OddReadonly => |recipe| recipe.readonly = 0xaa;
    /// An indirect view.
    Indirect => |recipe| {
        (recipe.data, recipe.strides) = (Data::Table, Some(vec![8, 4, 1]));
        recipe.sub_offsets = Some(vec![0, -1, -1]);
    };
    /// An indirect view without strides.
    IndirectWithoutStrides => |recipe| (recipe.sub_offsets, recipe.strides) = (Some(vec![0, -1, -1]), None);
    /// A pointer and suboffset beyond the address space.
    SuboffsetOverflows => |recipe| recipe.sub_offsets = Some(vec![isize::MAX, -1, -1]);
    /// Negative suboffsets, which have no effect.
    IdleSuboffsets => |recipe| recipe.sub_offsets = Some(vec![-1, isize::MIN, -1]);
    /// Half a struct, and success.
    HalfFilled => |recipe| recipe.fills = Fills::Half;
    /// Nothing filled in, and success.
    NothingFilled => |recipe| recipe.fills = Fills::Nothing;
    /// All filled in, and failure.
    FailsAfterFilling => |recipe| recipe.answer = 0;
    /// Half filled in, and failure.
    FailsHalfWay => |recipe| (recipe.answer, recipe.fills) = (0, Fills::Half);
    /// A true value other than 1.
    OddTruth => |recipe| recipe.answer = 0x80;
    /// Not available.
    Unavailable => |recipe| recipe.available = Some(0);
    /// No `available`.
    NullAvailable => |recipe| recipe.available = None;
    /// No object.
    NullObj => |recipe| recipe.obj = Obj::Null;
    /// Another object.
    OtherObj => |recipe| recipe.obj = Obj::Other;
    /// The hub's fields filled in.
    Meddles => |recipe| recipe.meddles = true;
    /// No `release`.
    NullRelease => |recipe| recipe.has_release = false;
    /// A `release` that refuses once.
    DeclinesRelease => |recipe| recipe.declines = 1;
    /// A `release` that refuses three times.
    KeepsDecliningRelease => |recipe| recipe.declines = 3;
    /// A `release` that overwrites the struct.
    ScribblesInRelease => |recipe| recipe.scribbles = true;
    /// Writes to the struct after `get` has returned.
    KeepsStruct => |recipe| recipe.keeps_struct = true;
    /// Changes shape and strides after `get` has returned.
    ChangesNumbers => |recipe| recipe.changes_numbers = true;
}
