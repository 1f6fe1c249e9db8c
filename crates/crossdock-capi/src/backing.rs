//! The numbers of kinds of memory, and of the access that other parties have to it.

use crossdock::memory::{Backing, Birth};

use crate::buffer::{XD_BIRTH_ALIASED, XD_BIRTH_CONSTANT, XD_BIRTH_SOLE};

macro_rules! backings {
    ($($name:ident = $number:literal, $backing:ident;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the header.")]
            pub const $name: i32 = $number;
        )*

        /// The number of a kind of memory.
        pub(crate) fn backing_of(backing: Backing) -> i32 {
            match backing {
                $(Backing::$backing => $name,)*
                _ => XD_BACKING_OTHER,
            }
        }
    };
}

backings! {
    XD_BACKING_HEAP = 1, Heap;
    XD_BACKING_STATIC = 2, Static;
    XD_BACKING_FILE = 3, File;
    XD_BACKING_SHARED = 4, Shared;
    XD_BACKING_FOREIGN = 5, Foreign;
    XD_BACKING_DEVICE = 6, Device;
}
/// `XD_BACKING_OTHER` of the header.
pub const XD_BACKING_OTHER: i32 = 0;

/// The number of a birth.
pub(crate) fn number_of_birth(birth: Birth) -> i32 {
    match birth {
        Birth::Sole => XD_BIRTH_SOLE,
        Birth::Constant => XD_BIRTH_CONSTANT,
        _ => XD_BIRTH_ALIASED,
    }
}
