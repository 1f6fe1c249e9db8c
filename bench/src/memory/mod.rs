//! The cost of memory: allocating, slicing, growing, copying, and the memory that stays after a
//! free.

mod allocate;
mod growth;
mod limit;
pub(crate) mod resident;
mod shareable;
mod slice;
mod transfer;

use crossdock::buffer::MutableBuffer;

use crate::Measure;

const GROUP: &str = "memory";
/// Recorded apart, so that it can be measured without the others.
const SHAREABLE: &str = "shareable";

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Memory that was written before, at the best possible address and in the best possible pages: for
/// the limits.
fn warm(nbytes: usize) -> crossdock::Result<MutableBuffer> {
    let mut bytes = MutableBuffer::new()?;
    bytes.resize(nbytes)?;
    bytes.fill(1);
    Ok(bytes)
}

/// Names in several tables.
const MALLOC: &str = "malloc + free";
const ARROW: &str = "Arrow C++";
const ARROW_CAPPED: &str = "Arrow C++: capped pool";

#[rustfmt::skip]
pub(crate) const MEASURES: &[Measure] = &[
    Measure { group: GROUP, name: "allocate-64", run: allocate::small },
    Measure { group: GROUP, name: "allocate-4k", run: allocate::page },
    Measure { group: GROUP, name: "allocate-1m", run: allocate::large },
    Measure { group: GROUP, name: "allocate-64m", run: transfer::allocate_and_write },
    Measure { group: SHAREABLE, name: "shareable-4k", run: shareable::page },
    Measure { group: SHAREABLE, name: "shareable-64m", run: shareable::large },
    Measure { group: SHAREABLE, name: "shareable-export", run: shareable::export },
    Measure { group: GROUP, name: "resident", run: resident::resident },
    Measure { group: GROUP, name: "two-threads", run: allocate::two_threads },
    Measure { group: GROUP, name: "slice", run: slice::slice },
    Measure { group: GROUP, name: "append", run: growth::append },
    Measure { group: GROUP, name: "hex", run: transfer::hex },
    Measure { group: GROUP, name: "copy", run: transfer::copy },
    Measure { group: GROUP, name: "equal", run: transfer::equal },
    Measure { group: GROUP, name: "limit", run: limit::limit },
    Measure { group: GROUP, name: "ledger", run: allocate::ledger },
];
