//! The owners of regions, one file for each kind. An owner frees its region.

mod adopted;
mod beside;
mod file;
mod foreign;
mod keep;
mod part;
mod shared;
mod vec;

pub(crate) use adopted::{adopt_owner, adopt_static};
pub use file::MapOptions;
pub(crate) use file::{identity, map_file, map_file_keeping};
pub(crate) use foreign::adopt_foreign;
pub(crate) use keep::{Keep, MALLOC_ALIGNMENT, adopt, give_up, kept};
pub(crate) use part::adopt_part;
pub(crate) use shared::{
    NotSealed, ORDINARY_PAGES, allocate_shared, deny_new_writers, for_reading, is_closed_to_writers,
    map_shared, map_shared_keeping, seal,
};
pub(crate) use vec::{adopt_vec, take_vec};
