//! `crossdock.ledger()`: the live memory and its holders.

use crossdock::ledger as book;
use crossdock::memory::{LeaseKind, Protocols};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::parameters::truth;

/// The live memory and its holders.
///
/// The list costs a lock and a clock read for each allocation and each export, so it is off by
/// default. This function or the environment variable ``CROSSDOCK_LEDGER=1`` turns it on. It
/// contains what was allocated and exported since then.
///
/// Parameters
/// ----------
/// on : bool, optional
///     True turns the list on, False turns it off; by default it stays as it is.
///
/// Returns
/// -------
/// Ledger
///     The live allocations, the largest first: a sequence, whose text is a table.
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
pub(crate) fn ledger(py: Python<'_>, #[pyo3(from_py_with = on_or_off)] on: Option<bool>) -> PyResult<Ledger> {
    match on {
        Some(true) => book::switch_on(),
        Some(false) => book::switch_off(),
        None => {}
    }
    let report = book::report();
    let entries = report.entries().iter().map(|entry| Py::new(py, Entry::of(py, entry)?));
    Ok(Ledger { entries: entries.collect::<PyResult<_>>()?, is_on: book::is_on(), report })
}

fn on_or_off(object: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
    if object.is_none() { Ok(None) } else { truth("on", object).map(Some) }
}

/// The memory that was alive at one moment, the largest first.
#[pyclass(frozen, sequence, module = "crossdock")]
pub(crate) struct Ledger {
    entries: Vec<Py<Entry>>,
    /// Whether the list was on at that moment.
    #[pyo3(get)]
    is_on: bool,
    report: book::Report,
}

#[pymethods]
impl Ledger {
    /// The total number of bytes.
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

/// One live allocation.
#[pyclass(frozen, get_all, module = "crossdock", name = "LedgerEntry")]
pub(crate) struct Entry {
    /// The address of its first byte.
    address: usize,
    /// Its size in bytes.
    nbytes: usize,
    /// The device.
    place: String,
    /// The kind of memory: ``'heap'``, ``'file map'``, ``'shared memory'``, ``'foreign'``, ….
    backing: String,
    /// The name of its pool, if it came from one.
    pool: Option<&'static str>,
    /// Its age in seconds; None if it is older than the list.
    age: Option<f64>,
    /// The number of arrays and buffers on it.
    handles: u64,
    /// The number of active leases of each kind: ``'read'``, ``'share'``, ``'write'``, ``'pin'``.
    leases: Py<PyDict>,
    /// The protocols that ever exported it.
    exported: Vec<String>,
    /// The leases that were taken since the list is on, the oldest first.
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

/// One active lease.
#[pyclass(frozen, module = "crossdock", name = "LedgerHolder")]
pub(crate) struct Holder {
    /// The access that it permits: ``'read'``, ``'share'``, ``'write'`` or ``'pin'``.
    #[pyo3(get)]
    kind: &'static str,
    /// The protocols that exported it.
    #[pyo3(get)]
    protocols: Vec<String>,
    /// Its age in seconds.
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
    protocols.each().map(|label| label.to_string()).collect()
}
