//! What our own bindings need besides the public surface: the wheel, the gem, the library for C and
//! the command, and the tests that look inside.
//!
//! **Outside semantic versioning.** A name here can change or go in any release. Those bindings are
//! released together with the library, from the same sources. Other crates find what they need in
//! the documented modules.
//!
//! A module here stands for the layer whose names it has. To add a name, make it `pub` where it is
//! defined, inside a module that is not public itself, and re-export it here.

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
