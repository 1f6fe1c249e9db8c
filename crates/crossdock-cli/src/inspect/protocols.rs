//! By which protocols an array could be handed on: each is asked, and what it gave is dropped again.

use crossdock::element::Element;
use crossdock::exchange::protocol::dlpack::{self, ExportOptions};
use crossdock::exchange::protocol::shm;
use crossdock::memory::racy::Pinned;
use crossdock::view::{Reason, Refusal, Request};
use crossdock::{Array, DArray, Error};
use ndarray::Dim;
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
    let exports: [(&str, Result<(), Refusal>); 8] = [
        ("MemoryView, to look at (Pin)", array.export(&Request::pin()).map(drop)),
        ("MemoryView, to rely on (Read)", array.export(&Request::read()).map(drop)),
        ("MemoryView, to write (Share)", array.export(&Request::share()).map(drop)),
        ("ndarray, to look at", ndarray(array)),
        ("DLPack 1.x", dlpack::export_versioned(array, &ExportOptions::new()).map(drop)),
        ("DLPack before 1.0", dlpack::export_legacy(array, &ExportOptions::new()).map(drop)),
        ("another process, to look at (lend)", shm::export(array, &Request::pin()).map(drop)),
        ("another process, to write (lend --writable)", shm::export(array, &Request::share()).map(drop)),
    ];
    exports.into_iter().map(|(protocol, answer)| Row::new(protocol, answer.err())).collect()
}

/// Asks for a view of `ndarray`'s. The file may change at any time, so its elements are cells.
fn ndarray(array: &DArray) -> Result<(), Refusal> {
    macro_rules! ask {
        ($($ty:ident)*) => {
            $(
                if *array.dtype() == $ty::dtype() {
                    return ask_rank::<$ty>(array);
                }
            )*
        };
    }
    ask!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);
    Err(unsupported(format!("no number of Rust's is {}", array.dtype())))
}

fn ask_rank<T: Element>(array: &DArray) -> Result<(), Refusal> {
    macro_rules! ask {
        ($($rank:literal)*) => {
            match array.rank() {
                $($rank => {
                    let pin = Array::<T, $rank>::try_from(array.clone()).map_err(Error::from)?.pin()?;
                    ndarray::ArrayView::<Pinned<T>, Dim<[usize; $rank]>>::try_from(&pin)?;
                    Ok(())
                })*
                rank => Err(unsupported(format!("this command asks for views up to rank 6, not {rank}"))),
            }
        };
    }
    ask!(0 1 2 3 4 5 6)
}

fn unsupported(why: String) -> Refusal {
    Refusal::new(&Request::pin(), Reason::Unsupported(why))
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
