//! Copies of few bytes along at most two axes, and transposes of them, for which a plan would take
//! longer than the copy.
//!
//! Reasons: `DESIGN.md`, "Small work takes no plan".

use crate::kernel::copy::elements;
use crate::kernel::copy::machine::LARGE_NBYTES;
use crate::kernel::copy::plan::CopyAxis;
use crate::kernel::copy::run;
use crate::kernel::copy::square::Square;
use crate::kernel::cpu::Level;
use crate::layout::Layout;

/// Below this many bytes, no way of a plan gains as much as the plan costs.
pub(super) const MOST_NBYTES: usize = 512;

/// Copies the elements, if they are few and along few axes. Returns whether it did.
///
/// # Safety
///
/// 1. Clauses 1 to 4 of [`copy`](crate::kernel::copy), for direct layouts.
/// 2. The CPU has the level.
pub(super) unsafe fn copy(level: Level, src: *const u8, from: &Layout, dst: *mut u8, to: &Layout) -> bool {
    let (nbytes, width) = (to.nbytes(), to.itemsize());
    if nbytes > MOST_NBYTES && (to.rank() != 2 || nbytes >= LARGE_NBYTES) {
        return false;
    }
    if nbytes == 0 {
        return true;
    }
    let axis = |len: usize, from: isize, to: isize| CopyAxis { len, from, to };
    let (outer, inner) = match (to.shape(), from.strides(), to.strides()) {
        ([], ..) => (CopyAxis::SINGLE, CopyAxis::SINGLE),
        (&[len], &[from], &[to]) => (CopyAxis::SINGLE, axis(len, from, to)),
        (&[len, inner_len], &[from, inner_from], &[to, inner_to]) => {
            let axes = [axis(len, from, to), axis(inner_len, inner_from, inner_to)];
            let [outer, inner] = axes;
            let is_ordered = inner.to.unsigned_abs() <= outer.to.unsigned_abs() || outer.len == 1;
            if is_ordered { (outer, inner) } else { (inner, outer) }
        }
        _ => return false,
    };
    if nbytes > MOST_NBYTES {
        // What a plan chooses for two axes that change places.
        let is_forward = inner.len > 1 && outer.len > 1 && outer.to > 0;
        let square = if is_forward { Square::worthwhile(level, width, outer, inner, false) } else { None };
        // SAFETY: clause 1 of `# Safety`: the two axes are all that the layouts have; clause 2
        // covers the level.
        return square.inspect(|square| unsafe { square.copy(src, dst, &mut None) }).is_some();
    }
    let run = run::run(level, false);
    if inner.len == 1 || (inner.from, inner.to) == (width as isize, width as isize) {
        for row in 0..outer.len {
            let (src, dst) = elements::offset(src, dst, outer, row);
            // SAFETY: clause 1 of `# Safety`: the offsets are those of `inner.len` elements that
            // are contiguous in both layouts; clause 2 covers the level.
            unsafe { run(src, dst, inner.len * width) };
        }
    } else {
        // SAFETY: clauses 1 and 2 of `# Safety`: the two axes are all that the layouts have.
        unsafe { elements::table(src, dst, width, outer, inner, run) };
    }
    true
}
