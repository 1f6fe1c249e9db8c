//! One lease of all the memory of columns.

use std::fmt;

use crate::buffer::{Bitmap, Buffer};
use crate::error::{Error, Result};
use crate::memory::{Lease, LeaseKind, Protocols, lease};
use crate::table::column::Column;
use crate::table::record_batch::RecordBatch;

/// A lease of every allocation of some columns: of each one once, whatever number of buffers lie in
/// it. Taken whole or not at all; given back when it is dropped.
///
/// ```
/// use crossdock::Array;
/// use crossdock::memory::LeaseKind;
/// use crossdock::table::{Column, RecordBatch};
///
/// let price = Array::from_vec(vec![1.5f64, 2.5], [2])?;
/// let batch = RecordBatch::from_columns([("price", Column::from_array(price.clone())?)])?;
/// let lease = batch.lease(LeaseKind::Read)?;
/// assert!(price.write().unwrap_err().is_conflict());
/// drop(lease);
/// assert!(price.write().is_ok());
/// # Ok::<(), crossdock::Error>(())
/// ```
pub struct TableLease {
    kind: LeaseKind,
    leases: Vec<Lease>,
}

impl TableLease {
    /// # Errors
    ///
    /// That of the first allocation that refuses, with the name of its column.
    pub(crate) fn of<'a>(
        columns: impl IntoIterator<Item = (&'a str, &'a Column)>,
        kind: LeaseKind,
    ) -> Result<Self> {
        Self::taken(columns, kind, |buffer| lease(buffer.handle(), buffer.is_readonly(), kind))
    }

    /// As [`TableLease::of`] for Read leases, also of memory that the CPU cannot access, after work
    /// in flight.
    pub(crate) fn on_any_device<'a>(
        columns: impl IntoIterator<Item = (&'a str, &'a Column)>,
    ) -> Result<Self> {
        Self::taken(columns, LeaseKind::Read, |buffer| {
            buffer.handle().await_work(LeaseKind::Read)?;
            Ok(buffer.handle().lease(LeaseKind::Read)?)
        })
    }

    fn taken<'a>(
        columns: impl IntoIterator<Item = (&'a str, &'a Column)>,
        kind: LeaseKind,
        one: impl Fn(&Buffer) -> Result<Lease>,
    ) -> Result<Self> {
        // Sorting is cheaper than a map: there are two buffers for each column, seldom shared.
        let mut buffers: Vec<(&str, &Buffer)> = Vec::new();
        for (name, column) in columns {
            visit(column, &mut |buffer| buffers.push((name, buffer)));
        }
        let address = |buffer: &Buffer| std::ptr::from_ref(buffer.header()).addr();
        let in_order = buffers.windows(2).all(|pair| address(pair[0].1) < address(pair[1].1));
        if !in_order {
            let mut order: Vec<(usize, usize)> = Vec::with_capacity(buffers.len());
            order.extend(buffers.iter().enumerate().map(|(k, (_, buffer))| (address(buffer), k)));
            order.sort_unstable();
            order.dedup_by_key(|(address, _)| *address);
            if order.len() < buffers.len() {
                // The first of each, in the order of the columns.
                order.sort_unstable_by_key(|&(_, k)| k);
                buffers = order.into_iter().map(|(_, k)| buffers[k]).collect();
            }
        }
        let mut leases = Vec::with_capacity(buffers.len());
        for (name, buffer) in buffers {
            let lease = one(buffer);
            leases.push(lease.map_err(|error: Error| match name {
                "" => error,
                _ => error.within(format_args!("column {name:?}")),
            })?);
        }
        Ok(Self { kind, leases })
    }

    /// The kind of the leases.
    pub fn kind(&self) -> LeaseKind {
        self.kind
    }

    /// The number of allocations.
    #[doc(hidden)]
    pub fn count(&self) -> usize {
        self.leases.len()
    }

    /// Records the protocol by which the memory is exported.
    pub(crate) fn mark_exported(&self, protocol: Protocols) {
        self.leases.iter().for_each(|lease| lease.mark_exported(protocol));
    }
}

/// Passes on each buffer of a column, its children and its dictionary.
pub(crate) fn visit<'a>(column: &'a Column, each: &mut impl FnMut(&'a Buffer)) {
    let own = column.buffers().iter().chain(column.validity().map(Bitmap::buffer));
    own.for_each(&mut *each);
    column.children().iter().chain(column.dictionary()).for_each(|child| visit(child, each));
}

impl Column {
    /// A lease of all the memory of the column, its children and its dictionary. O(buffers).
    ///
    /// # Errors
    ///
    /// As [`Buffer::read`] and its siblings, for the kind; then no lease is held.
    pub fn lease(&self, kind: LeaseKind) -> Result<TableLease> {
        TableLease::of([("", self)], kind)
    }
}

impl RecordBatch {
    /// A lease of all the memory of all columns. O(buffers).
    ///
    /// # Errors
    ///
    /// As [`Buffer::read`] and its siblings, for the kind, with the name of the column; then no
    /// lease is held.
    pub fn lease(&self, kind: LeaseKind) -> Result<TableLease> {
        TableLease::of(self.named_columns(), kind)
    }
}

impl fmt::Debug for TableLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} lease of {} allocations", self.kind, self.leases.len())
    }
}
