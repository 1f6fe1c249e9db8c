//! By which protocols an array could be handed on: each is asked, and what it gave is dropped again.

use crossdock::DArray;
use crossdock::exchange::protocol::dlpack::{self, ExportOptions};
use crossdock::exchange::protocol::shm;
use crossdock::view::{Refusal, Request};
use serde::Serialize;

/// One protocol, and its answer.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) protocol: &'static str,
    pub(super) in_place: bool,
    /// Why not.
    pub(super) reason: Option<String>,
    /// How many bytes a copy would take, where that would help.
    pub(super) would_copy: Option<usize>,
}

/// Asks every protocol that there is.
pub(super) fn ask(array: &DArray) -> Vec<Row> {
    let exports: [(&str, Result<(), Refusal>); 7] = [
        ("MemoryView, to look at (Pin)", array.export(&Request::pin()).map(drop)),
        ("MemoryView, to rely on (Read)", array.export(&Request::read()).map(drop)),
        ("MemoryView, to write (Share)", array.export(&Request::share()).map(drop)),
        ("DLPack 1.x", dlpack::export_versioned(array, &ExportOptions::new()).map(drop)),
        ("DLPack before 1.0", dlpack::export_legacy(array, &ExportOptions::new()).map(drop)),
        ("another process, to look at (lend)", shm::export(array, &Request::pin()).map(drop)),
        ("another process, to write (lend --writable)", shm::export(array, &Request::share()).map(drop)),
    ];
    exports.into_iter().map(|(protocol, answer)| Row::new(protocol, answer.err())).collect()
}

impl Row {
    fn new(protocol: &'static str, refusal: Option<Refusal>) -> Self {
        Self {
            protocol,
            in_place: refusal.is_none(),
            would_copy: refusal.as_ref().and_then(Refusal::would_copy),
            reason: refusal.map(|refusal| refusal.reason().to_string()),
        }
    }
}
