//! Without the feature for allocators of our own, nobody counts.

use crossdock::pool::Pool;

use crate::Root;

pub(crate) fn root() -> Root {
    Root { pool: Pool::system().unwrap(), outstanding: None, has_cache: false }
}
