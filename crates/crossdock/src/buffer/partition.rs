//! Partitions of memory into independent allocations.

use std::ops::Range;

use crate::buffer::Buffer;
use crate::buffer::window::resolve;
use crate::error::{Error, Kind, Rejected, Result, try_with_capacity};
use crate::memory::{LeaseKind, owner};

impl Buffer {
    /// Divides the memory into allocations, each with its own leases: the tensors of a file, the
    /// arrays of a batch. Requires that this is the only holder, and that it is not a part itself.
    /// Each part keeps the whole alive.
    ///
    /// ```
    /// use crossdock::buffer::Buffer;
    ///
    /// let frame = Buffer::from_vec(vec![0u8; 100])?;
    /// let parts = frame.partition(&[0..40, 64..100])?;
    /// let (mut left, mut right) = (parts[0].write()?, parts[1].write()?); // both at once
    /// left[0] = 1;
    /// right[0] = 2;
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_bounds` where a range goes past the end, two overlap, or the memory is a part already;
    /// `is_conflict` where there is another handle or lease; `is_exhausted` where there are more
    /// parts than handles can be counted (2²³ - 1); `is_out_of_memory`. The error returns the
    /// buffer.
    pub fn partition(mut self, ranges: &[Range<usize>]) -> Result<Vec<Self>, Rejected<Self>> {
        if let Err(error) = self.check_partition(ranges) {
            return Err(Rejected { value: self, error });
        }
        match self.parts(ranges) {
            Ok(parts) => Ok(parts),
            Err(error) => Err(Rejected { value: self, error }),
        }
    }

    /// The parts of a buffer that `check_partition` accepted. On an error, the parts made so far
    /// are dropped.
    fn parts(&self, ranges: &[Range<usize>]) -> Result<Vec<Self>> {
        let within = self.address() - self.header().ptr().addr().get();
        let mut parts = try_with_capacity(ranges.len())?;
        for range in ranges {
            let whole = self.handle().try_clone()?;
            // SAFETY: the range lies within the buffer, hence the region, and the ranges are
            // disjoint (`check_partition`). This was the only holder, and its clones are inside the
            // parts, so no lease of the whole can be taken.
            let part = unsafe { owner::adopt_part(whole, within + range.start, range.len()) }?;
            parts.push(Self::whole(part).with_readonly(self.is_readonly()));
        }
        Ok(parts)
    }

    fn check_partition(&mut self, ranges: &[Range<usize>]) -> Result<()> {
        // The parts have no events but their own.
        self.handle().await_work(LeaseKind::Write)?;
        self.handle_mut().only_handle()?;
        // A handle that is gone by now may have noted work since.
        self.handle().await_work(LeaseKind::Write)?;
        if self.handle().is_part() {
            return Err(Error::new(
                Kind::Bounds,
                "the memory is already a part of a partition, and a part cannot be partitioned again",
            ));
        }
        let mut sorted = try_with_capacity(ranges.len())?;
        sorted.extend(ranges.iter().map(|range| (range.start, range.end)));
        sorted.sort_unstable();
        let mut free_from = 0;
        for (start, end) in sorted {
            let range = start..end;
            resolve(&range, self.nbytes())?;
            if !range.is_empty() && range.start < free_from {
                return Err(Error::new(
                    Kind::Bounds,
                    format!("part {}..{} overlaps one that ends at byte {free_from}", range.start, range.end),
                ));
            }
            free_from = free_from.max(range.end);
        }
        Ok(())
    }
}
