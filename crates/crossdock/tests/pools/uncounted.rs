//! Without the feature for custom allocators, no requests are counted.

use crossdock::pool::Pool;

use crate::Root;

pub(crate) fn root() -> Root {
    Root { pool: Pool::system().unwrap(), outstanding: None, has_cache: false }
}
