//! `crossdock.ledger()`: which memory is alive, and who holds it.

use crossdock::ledger as book;
use crossdock::memory::{LeaseKind, Protocols};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::entry::attached;

/// What memory is alive, and who holds it.
///
/// Keeping the list costs a lock and a look at the clock for each allocation and each hand-over, so it is off until it is wanted: here, or by
/// the environment variable ``CROSSDOCK_LEDGER=1`` from the beginning. It knows what was allocated and handed over since.
///
/// Parameters
/// ----------
/// on : bool, optional
///     True begins to keep the list, False ends it; otherwise that stays as it is.
///
/// Returns
/// -------
/// Ledger
///     The allocations that are alive, the largest first: a sequence, whose text is a table.
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> _ = crossdock.ledger(on=True)
/// >>> x = crossdock.zeros(1000)
/// >>> view = memoryview(x)
/// >>> entry = next(entry for entry in crossdock.ledger() if entry.nbytes == 8000)
/// >>> entry.place, entry.leases, [holder.protocols for holder in entry.holders]
/// ('cpu', {'share': 1}, [['PEP 3118']])
/// >>> _ = crossdock.ledger(on=False)
#[pyfunction]
#[pyo3(signature = (*, on=None))]
pub(crate) fn ledger(py: Python<'_>, on: Option<bool>) -> PyResult<Ledger> {
    let _attached = attached(py);
    match on {
        Some(true) => book::switch_on(),
        Some(false) => book::switch_off(),
        None => {}
    }
    let report = book::report();
    let entries = report.entries().iter().map(|entry| Py::new(py, Entry::of(py, entry)?));
    Ok(Ledger { entries: entries.collect::<PyResult<_>>()?, is_on: book::is_on(), report })
}

/// The memory that was alive at one moment, the largest first.
#[pyclass(frozen, sequence, module = "crossdock")]
pub(crate) struct Ledger {
    entries: Vec<Py<Entry>>,
    /// Whether the list was kept at that moment.
    #[pyo3(get)]
    is_on: bool,
    report: book::Report,
}

#[pymethods]
impl Ledger {
    /// The bytes of all of it.
    #[getter]
    fn nbytes(&self) -> u128 {
        self.report.nbytes()
    }

    fn __len__(&self) -> usize {
        self.entries.len()
    }

    fn __getitem__(&self, py: Python<'_>, index: isize) -> PyResult<Py<Entry>> {
        let len = self.entries.len();
        let from_start = if index < 0 { index.saturating_add(len.cast_signed()) } else { index };
        let entry = usize::try_from(from_start).ok().and_then(|index| self.entries.get(index));
        entry.map(|entry| entry.clone_ref(py)).ok_or_else(|| {
            PyIndexError::new_err(format!("index {index} is out of bounds for {len} allocations"))
        })
    }

    fn __repr__(&self) -> String {
        self.report.to_string().trim_end().to_owned()
    }
}

/// One allocation that is alive.
#[pyclass(frozen, get_all, module = "crossdock", name = "LedgerEntry")]
pub(crate) struct Entry {
    /// Where it begins.
    address: usize,
    /// Its size in bytes.
    nbytes: usize,
    /// The device.
    place: String,
    /// What stands behind it: ``'heap'``, ``'file map'``, ``'shared memory'``, ``'foreign'``, ….
    backing: String,
    /// The name of the pool that it came from, where it came from one.
    pool: Option<&'static str>,
    /// How many seconds ago it was made; None where that was before the list was kept.
    age: Option<f64>,
    /// How many arrays and buffers lie on it.
    handles: u64,
    /// How many leases are held of each kind: ``'read'``, ``'share'``, ``'write'``, ``'pin'``.
    leases: Py<PyDict>,
    /// The protocols by which it ever went out.
    exported: Vec<String>,
    /// Those of the leases that were taken since the list is kept, the oldest first.
    holders: Vec<Py<Holder>>,
}

impl Entry {
    fn of(py: Python<'_>, entry: &book::Entry) -> PyResult<Self> {
        let leases = PyDict::new(py);
        let pins = (entry.pins > 0).then_some((LeaseKind::Pin, entry.pins));
        for (kind, count) in entry.leases.into_iter().chain(pins) {
            leases.set_item(name(kind), count)?;
        }
        let holders = entry.holders.iter().map(|holder| Py::new(py, Holder::of(holder)));
        Ok(Self {
            address: entry.address,
            nbytes: entry.nbytes,
            place: entry.place.to_string(),
            backing: entry.backing.to_string(),
            pool: entry.pool,
            age: entry.age.map(|age| age.as_secs_f64()),
            handles: entry.handles,
            leases: leases.unbind(),
            exported: names(entry.exported),
            holders: holders.collect::<PyResult<_>>()?,
        })
    }
}

#[pymethods]
impl Entry {
    fn __repr__(&self) -> String {
        let Self { nbytes, address, place, backing, handles, .. } = self;
        let holders = self.holders.iter().map(|holder| holder.get().text.as_str()).collect::<Vec<_>>();
        let holders = if holders.is_empty() { String::new() } else { format!(": {}", holders.join("; ")) };
        let noun = if *handles == 1 { "handle" } else { "handles" };
        format!("<{nbytes} bytes at {address:#x} on {place} ({backing}), {handles} {noun}{holders}>")
    }
}

/// One lease that is held.
#[pyclass(frozen, module = "crossdock", name = "LedgerHolder")]
pub(crate) struct Holder {
    /// What it permits: ``'read'``, ``'share'``, ``'write'`` or ``'pin'``.
    #[pyo3(get)]
    kind: &'static str,
    /// The protocols by which it went out.
    #[pyo3(get)]
    protocols: Vec<String>,
    /// How many seconds ago it was taken.
    #[pyo3(get)]
    age: f64,
    text: String,
}

impl Holder {
    fn of(holder: &book::Holder) -> Self {
        Self {
            kind: name(holder.kind),
            protocols: names(holder.protocols),
            age: holder.age.as_secs_f64(),
            text: holder.to_string(),
        }
    }
}

#[pymethods]
impl Holder {
    fn __repr__(&self) -> String {
        format!("<{}>", self.text)
    }
}

fn name(kind: LeaseKind) -> &'static str {
    match kind {
        LeaseKind::Read => "read",
        LeaseKind::Write => "write",
        LeaseKind::Share => "share",
        LeaseKind::Pin => "pin",
    }
}

fn names(protocols: Protocols) -> Vec<String> {
    let known = [
        Protocols::MEMORY_VIEW,
        Protocols::DLPACK,
        Protocols::PEP3118,
        Protocols::ARROW,
        Protocols::ARRAY_INTERFACE,
        Protocols::SHARED_MEMORY,
        Protocols::CRATE,
        Protocols::LEASE,
    ];
    known.into_iter().filter(|&known| protocols.contains(known)).map(|known| known.to_string()).collect()
}
