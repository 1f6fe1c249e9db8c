//! `crossdock.Table` and `crossdock.Column`: what Arrow describes and no array can.
//!
//! | file | contents |
//! |---|---|
//! | `import.rs` | tables and columns on the memory of other objects |
//! | `table_object.rs`, `column_object.rs` | the two classes |
//! | `new_column.rs` | columns of Python's values |
//! | `as_numpy.rs`, `comparison.rs` | columns as NumPy's arrays; `==`, which is refused |
//! | `values.rs`, `display.rs` | elements as Python values; tables and columns as text |
//! | `export.rs` | capsules of streams, batches, columns and schemas |

mod as_numpy;
mod column_object;
mod comparison;
mod display;
mod export;
mod import;
mod new_column;
mod table_object;
mod values;

pub(crate) use column_object::Column;
pub(crate) use import::{column, table};
pub(crate) use table_object::Table;
