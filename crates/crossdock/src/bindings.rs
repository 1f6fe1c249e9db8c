//! What our own bindings need besides the public surface: the wheel, the gem, the library for C and
//! the command, and the tests that look inside.
//!
//! **Outside semantic versioning.** A name here can change or go in any release. Those bindings are
//! released together with the library, from the same sources. Other crates find what they need in
//! the documented modules.
//!
//! To add a name, make it `pub` where it is defined, in a module that is `pub(crate)`, and re-export
//! it here. A method that only bindings call is `#[doc(hidden)]` at its type.

pub use crate::element::record::MAX_DEPTH;
pub use crate::memory::copied::{copied_bytes_here, count_copied};

/// Readers and writers of other systems' spellings of a dtype.
pub mod dialect {
    pub use crate::element::dialect::{arrow, dlpack, pack, pep3118, typestr};
}

/// What consumers make of an object that a binding describes.
pub mod explain {
    pub use crate::exchange::explain::misread::{misread_format, misread_interface};
    pub use crate::exchange::explain::{
        Answer, ElementType, Profile, Protocol, Subject, judge, profiles, subject_of, text,
    };
}

/// A file that appears once it is complete, and the header of `.npy` files.
pub mod files {
    pub use crate::exchange::files::new_file::NewFile;
    pub use crate::exchange::files::npy::header::Header;
}

/// Loads, stores and copies of bytes that another thread, process or library may write meanwhile.
pub mod racy {
    pub use crate::memory::racy::{copy, load, store};
}
