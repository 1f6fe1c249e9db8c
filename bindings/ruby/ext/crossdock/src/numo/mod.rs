//! `Numo::NArray`: its elements in place, and the elements of an array in place in it.
//!
//! ```text
//!   NArray with data ── ptr ──> elements, row-major      the root: it owns the elements
//!   view ── data ──> root; offset and strides in bytes, or a table of offsets for each axis
//!
//!   import ── an array on Numo's elements                 export ── an NArray on the elements of an array
//!   library ── Numo's structs and functions
//! ```
//!
//! Numo allocates the elements at the first write and then never moves them. Three methods free
//! them while the object lives: `free`, and with a frozen String `store_binary` and `marshal_load`.
//! `lib/crossdock/adapters/numo.rb` guards these, by [`import::obstacle`]. Elements that a root
//! does not own belong to a frozen String: the first write copies them, and the String keeps the
//! originals.
//!
//! Reasons: `DESIGN.md`, "Numo's elements are lent from the root that owns them".
//! See also: `DESIGN.md`, "Numo sees an array as a frozen String".

mod export;
mod import;
mod library;

use magnus::{RModule, function, prelude::*};

pub(crate) fn init(module: RModule) -> std::result::Result<(), magnus::Error> {
    let adapters = module.define_module("Adapters")?;
    adapters.define_singleton_method("numo_known?", function!(library::is_known, 0))?;
    adapters.define_singleton_method("lend_numo", function!(import::lend, 4))?;
    adapters.define_singleton_method("numo_writable?", function!(import::is_writable, 1))?;
    adapters.define_singleton_method("numo_obstacle", function!(import::obstacle, 1))?;
    adapters.define_singleton_method("numo_view?", function!(import::is_view, 1))?;
    adapters.define_singleton_method("numo_foreign?", function!(import::is_foreign, 1))?;
    adapters.define_singleton_method("lend_to_numo", function!(export::lend, 2))
}
