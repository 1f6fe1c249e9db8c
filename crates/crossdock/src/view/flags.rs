//! Requests as bits of a C `int`: the type of such flags, and the check of a layout against them.

use std::ffi::c_int;
use std::fmt;

use crate::error::{Advice, Error, Kind, Result};
use crate::layout::{Layout, Order};

/// Defines `Flags`, a C `int` with named flags of several bits each. They are listed in display
/// order, greatest first.
macro_rules! flags {
    ($(#[$of_type:meta])* { $($(#[$of_flag:meta])* $name:ident = $bits:expr;)* }) => {
        $(#[$of_type])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct Flags(::std::ffi::c_int);

        impl Flags {
            $($(#[$of_flag])* pub const $name: Self = Self($bits);)*

            /// The flags as a C `int`.
            #[inline]
            pub const fn from_bits(bits: ::std::ffi::c_int) -> Self {
                Self(bits)
            }

            /// The flags as a C `int`.
            #[doc(hidden)]
            #[inline]
            pub const fn bits(self) -> ::std::ffi::c_int {
                self.0
            }

            /// Whether all bits of `other` are set.
            #[inline]
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }
        }

        impl ::std::ops::BitOr for Flags {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl ::std::fmt::Display for Flags {
            /// The names of the greatest contained flags, and the bits without a name.
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $crate::view::flags::show(self.0, &[$((Flags::$name.0, stringify!($name))),*], f)
            }
        }

        impl ::std::fmt::Debug for Flags {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(f, "Flags({self})")
            }
        }
    };
}

pub(crate) use flags;

/// Writes the names of the contained flags, and the bits without a name. It omits a flag whose bits
/// are all named already. No bits are `SIMPLE`, the name in both protocols with such flags.
pub(crate) fn show(bits: c_int, names: &[(c_int, &str)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (mut named, mut separator) = (0, "");
    for &(flag, name) in names {
        if bits & flag == flag && flag & !named != 0 {
            write!(f, "{separator}{name}")?;
            named |= flag;
            separator = " | ";
        }
    }
    match bits & !named {
        0 if named == 0 => f.write_str("SIMPLE"),
        0 => Ok(()),
        rest => write!(f, "{separator}{rest:#x}"),
    }
}

/// The requirements of flags on a layout.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Needs {
    /// Whether the consumer follows pointers.
    pub(crate) indirect: bool,
    /// C-contiguous (row-major).
    pub(crate) row_major: bool,
    /// F-contiguous (column-major).
    pub(crate) column_major: bool,
    /// Contiguous in either order.
    pub(crate) any_order: bool,
}

impl Needs {
    /// O(rank).
    ///
    /// # Errors
    ///
    /// `is_layout` for suboffsets that `flags` do not request, and for another order.
    pub(crate) fn check(self, layout: &Layout, flags: &dyn fmt::Display) -> Result<()> {
        if let Some(suboffsets) = layout.suboffsets().filter(|_| !self.indirect) {
            let text = format!(
                "the array follows pointers (suboffsets {suboffsets:?}), which {flags} without INDIRECT does not permit"
            );
            return Err(Error::new(Kind::Layout, text).advising(Advice::Copy));
        }
        let lies = |order| layout.is_contiguous(order);
        if self.row_major && !lies(Order::RowMajor) {
            return Err(lies_otherwise(layout, flags, "row-major order"));
        }
        if self.column_major && !lies(Order::ColumnMajor) {
            return Err(lies_otherwise(layout, flags, "column-major order"));
        }
        if self.any_order && !lies(Order::RowMajor) && !lies(Order::ColumnMajor) {
            return Err(lies_otherwise(layout, flags, "row-major or column-major order"));
        }
        Ok(())
    }
}

/// Suboffsets as C has them: a negative number means that no pointer is followed. `None` for a
/// direct array, in O(1).
///
/// # Errors
///
/// `is_layout` for an axis that follows pointers and then goes backwards: C would not follow them.
#[inline]
pub(crate) fn suboffsets_in_c(layout: &Layout) -> Result<Option<Box<[isize]>>> {
    layout.suboffsets().map(in_c).transpose()
}

#[cold]
fn in_c(suboffsets: &[Option<isize>]) -> Result<Box<[isize]>> {
    if suboffsets.iter().flatten().any(|&suboffset| suboffset < 0) {
        let text = format!(
            "the array follows pointers and then goes backwards (suboffsets {suboffsets:?}), but a negative \
            suboffset tells consumers to follow none"
        );
        return Err(Error::new(Kind::Layout, text).advising(Advice::Copy));
    }
    Ok(suboffsets.iter().map(|suboffset| suboffset.unwrap_or(-1)).collect())
}

#[cold]
pub(crate) fn lies_otherwise(layout: &Layout, flags: &dyn fmt::Display, order: &str) -> Error {
    Error::new(
        Kind::Layout,
        format!(
            "{flags} requires contiguous {order}; shape {:?} with strides {:?} and items of {} bytes has \
            another layout",
            layout.shape(),
            layout.strides(),
            layout.itemsize()
        ),
    )
    .advising(Advice::Copy)
}
