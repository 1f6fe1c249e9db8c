//! A build without CUDA.

use std::sync::Arc;

use crate::device::MemoryManager;
use crate::error::Result;
use crate::kernel::device::engine::Engine;

/// Nobody.
#[expect(clippy::unnecessary_wraps, reason = "the twin of one that asks a driver")]
pub(in crate::kernel::device) fn engine_of(_: &Arc<dyn MemoryManager>) -> Result<Option<Arc<dyn Engine>>> {
    Ok(None)
}
