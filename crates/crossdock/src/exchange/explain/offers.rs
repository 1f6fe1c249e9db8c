//! Which protocols export an array: calls each exporter, and drops its result.

use crate::array::DArray;
use crate::error::Error;
#[cfg(feature = "ndarray-0_17")]
use crate::exchange::explain::ndarray;
use crate::exchange::explain::python;
use crate::exchange::protocol::memory_view::{self, ArrayObject, View, hub};
#[cfg(unix)]
use crate::exchange::protocol::shm;
use crate::exchange::protocol::{arrow, dlpack, pep3118};
use crate::view::{Refusal, Request};

/// What one protocol does with an array.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Offered {
    /// The protocol, and in parentheses the lease or the flags that a consumer requests.
    pub protocol: &'static str,
    /// Why it is not exported in place, in the exporter's words; `None` if it is.
    pub refusal: Option<String>,
    /// The size of the copy that would be exported; `None` if the array is exported in place, or if
    /// a copy does not help.
    pub would_copy: Option<usize>,
}

/// Which protocols export an array in place, which as a copy, and which refuse it, with the reason.
/// One row per protocol and kind of access.
///
/// Each answer comes from the exporter itself, which holds its lease during the call. It may
/// therefore wait for in-flight work of a device, and reads dates and durations once (Arrow has
/// nulls for NaT). Nothing is copied.
///
/// ```
/// use crossdock::Array;
/// use crossdock::exchange::offers;
///
/// let constant = Array::from_vec(vec![1u8, 2, 3], [3])?.into_readonly();
/// let rows = offers(&constant.into());
/// let row = |name| rows.iter().find(|row| row.protocol == name).unwrap();
/// assert!(row("Arrow array").refusal.is_none());
/// assert!(row("DLPack before 1.0").refusal.as_ref().unwrap().contains("read-only"));
/// assert_eq!(row("DLPack before 1.0").would_copy, Some(3));
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn offers(array: &DArray) -> Vec<Offered> {
    // Those that need constant memory come first: their refusals list by which protocols it was
    // exported, and the probes of this function shall not be among them.
    let is_later = |protocol: &str| !protocol.starts_with("Arrow") && protocol != "MemoryView (Read)";
    let mut order: Vec<usize> = (0..EXPORTERS.len()).collect();
    order.sort_by_key(|&at| is_later(EXPORTERS[at].0));
    let probe = |at: usize| (at, Offered::refused(EXPORTERS[at].0, EXPORTERS[at].1(array).err()));
    let mut probed: Vec<(usize, Offered)> = order.into_iter().map(probe).collect();
    probed.sort_by_key(|&(at, _)| at);
    let mut rows: Vec<Offered> = probed.into_iter().map(|(_, row)| row).collect();
    let object = ArrayObject::approximated(array.clone());
    rows.extend(REQUESTS.iter().map(|&(protocol, flags)| {
        let mut view = View::EMPTY;
        // SAFETY: `object` has the library's own class and lives until the end of this function;
        // `view` is a local struct that may be written.
        let answer = unsafe { hub::get(object.as_ptr(), &mut view, flags) };
        if answer.is_ok() {
            // SAFETY: `get` filled in `view`, a local struct, and no code uses or has kept what it
            // leads to.
            _ = unsafe { hub::release(&mut view) };
        }
        Offered::failed(protocol, answer.err().as_ref(), array)
    }));
    let python = [
        ("PEP 3118", python::buffer(array, pep3118::Flags::FULL_RO).map(drop)),
        ("__array_interface__", python::interface(array).map(drop)),
        ("__cuda_array_interface__", python::cuda_interface(array).map(drop)),
    ];
    rows.extend(python.map(|(protocol, answer)| Offered::failed(protocol, answer.err().as_ref(), array)));
    #[cfg(feature = "ndarray-0_17")]
    rows.push(Offered::refused("ndarray (Pin)", ndarray::view(array).err()));
    rows
}

type Export = fn(&DArray) -> Result<(), Refusal>;

const EXPORTERS: &[(&str, Export)] = &[
    ("MemoryView (Pin)", |array| array.export(&Request::pin()).map(drop)),
    ("MemoryView (Read)", |array| array.export(&Request::read()).map(drop)),
    ("MemoryView (Share)", |array| array.export(&Request::share()).map(drop)),
    ("DLPack", |array| dlpack::export_versioned(array, &tensor()).map(drop)),
    ("DLPack before 1.0", |array| dlpack::export_legacy(array, &tensor()).map(drop)),
    ("Arrow array", |array| arrow::export(array, &arrow::ExportOptions::new()).map(drop)),
    ("Arrow device array", |array| arrow::export_device(array, &arrow::ExportOptions::new()).map(drop)),
    #[cfg(unix)]
    ("shared memory (Pin)", |array| shm::export(array, &Request::pin()).map(drop)),
    #[cfg(unix)]
    ("shared memory (Share)", |array| shm::export(array, &Request::share()).map(drop)),
];

/// The requests of typical consumers of MemoryView in C.
const REQUESTS: &[(&str, memory_view::Flags)] = &[
    ("MemoryView in C (WRITABLE)", memory_view::Flags::WRITABLE),
    ("MemoryView in C (ROW_MAJOR)", memory_view::Flags::ROW_MAJOR),
    ("MemoryView in C (COLUMN_MAJOR)", memory_view::Flags::COLUMN_MAJOR),
    ("MemoryView in C (ANY_CONTIGUOUS)", memory_view::Flags::ANY_CONTIGUOUS),
    ("MemoryView in C (STRIDES)", memory_view::Flags::STRIDES),
];

/// In-flight work does not affect whether an array is exported.
fn tensor() -> dlpack::ExportOptions {
    dlpack::ExportOptions::new().ordered()
}

impl Offered {
    fn refused(protocol: &'static str, refusal: Option<Refusal>) -> Self {
        Self {
            protocol,
            would_copy: refusal.as_ref().and_then(Refusal::would_copy),
            refusal: refusal.map(|refusal| refusal.reason().fact().to_string()),
        }
    }

    /// For an exporter that does not copy: a writable copy in row-major order would be exported.
    fn failed(protocol: &'static str, error: Option<&Error>, array: &DArray) -> Self {
        let helps = |error: &&Error| error.is_layout() || error.is_read_only();
        let would_copy = error.filter(helps).filter(|_| array.place().is_host());
        Self {
            protocol,
            would_copy: would_copy.map(|_| array.nbytes()),
            refusal: error.map(|error| error.fact().to_string()),
        }
    }
}
