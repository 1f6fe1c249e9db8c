//! `crossdock.Table` and `crossdock.Column`: what Arrow describes and no array can.
//!
//! | file | contents |
//! |---|---|
//! | `import.rs` | tables and columns on the memory of other objects |
//! | `table_object.rs`, `column_object.rs` | the two classes |
//! | `export.rs` | capsules of streams, batches, columns and schemas |

mod column_object;
mod export;
mod import;
mod table_object;

pub(crate) use column_object::Column;
pub(crate) use import::{column, table};
pub(crate) use table_object::Table;
