//! The answer for most operands, of a few loads.

use crate::memory::overlap::{Origin, OverlapOperand, elsewhere};

/// Whether two operands that the CPU addresses certainly share no byte. `false` says nothing: ask
/// [`meet`](super::meet) then, and [`meet_by_mapping`](super::meet_by_mapping).
///
/// It compares addresses. They decide if no memory is registered in a second space, and if one of
/// the operands is private. A few loads, and no system call.
#[inline]
pub(crate) fn are_apart(one: OverlapOperand<'_>, other: OverlapOperand<'_>) -> bool {
    let (a, b) = (one.extent, other.extent);
    (a.end() <= b.start || b.end() <= a.start)
        && !elsewhere::is_any()
        && (one.origin() == Origin::Private || other.origin() == Origin::Private)
}
