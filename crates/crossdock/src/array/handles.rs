//! Iteration over parts of an array as handles: each keeps the memory alive and can be sent to any
//! thread.

use std::ops::Range;

use crate::array::{Array, DArray};
use crate::element::Element;
use crate::error::Result;
use crate::layout::{Parts, check_axis, check_chunk};

impl<T: Element, const D: usize> Array<T, D> {
    /// The sub-arrays at each index of an axis, in order, as handles on arrays without that axis.
    /// `OUT` must be `D - 1`, or the call does not compile. Each costs one atomic addition and
    /// O(`D`); under a lease, the views of [`ArrayRead`](crate::array::ArrayRead) cost less.
    ///
    /// ```
    /// use crossdock::Array;
    ///
    /// let images = Array::from_vec((0..12).collect::<Vec<u8>>(), [3, 2, 2])?;
    /// let sums: Vec<u8> = images
    ///     .axis_iter::<2>(0)?
    ///     .map(|image| std::thread::spawn(move || Ok(image.read()?.iter().sum())))
    ///     .map(|thread| thread.join().unwrap())
    ///     .collect::<crossdock::Result<_>>()?;
    /// assert_eq!(sums, [6, 22, 38]);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_bounds` if the axis does not exist.
    pub fn axis_iter<const OUT: usize>(
        &self,
        axis: usize,
    ) -> Result<impl DoubleEndedIterator<Item = Array<T, OUT>> + ExactSizeIterator + use<T, D, OUT>> {
        let parts = self.layout().axis_parts(axis)?;
        // SAFETY: clause 1 of `parts`: they are those of this array's layout.
        Ok(unsafe { self.parts(parts) })
    }

    /// Ranges of `chunk` indices of an axis, in order, as handles; the last may be shorter. Each
    /// costs one atomic addition and O(`D`).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the axis does not exist, `is_shape` for chunks of 0.
    pub fn axis_chunks(
        &self,
        axis: usize,
        chunk: usize,
    ) -> Result<impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + use<T, D>> {
        let parts = self.layout().axis_chunks(axis, chunk)?;
        // SAFETY: clause 1 of `parts`: they are those of this array's layout.
        Ok(unsafe { self.parts(parts) })
    }

    /// # Safety
    ///
    /// 1. `parts` are those of this array's layout.
    unsafe fn parts<P: Parts<E>, const E: usize>(
        &self,
        parts: P,
    ) -> impl DoubleEndedIterator<Item = Array<T, E>> + ExactSizeIterator + use<T, D, P, E> {
        let array = self.clone();
        (0..parts.count()).map(move |k| {
            let (layout, offset) = parts.part(k);
            // SAFETY: clause 1 of `# Safety`: `parts` are those of this array's layout, and
            // `layout` and `offset` are one of them (`k < parts.count()`).
            unsafe { array.moved(layout, offset) }
        })
    }
}

impl DArray {
    /// The sub-arrays at each index of an axis, in order, as handles on arrays without that axis.
    /// Each costs one atomic addition and O(rank).
    ///
    /// ```
    /// use crossdock::{Array, DArray};
    ///
    /// let array = DArray::from(Array::from_vec(vec![1, 2, 3, 4, 5, 6], [2, 3])?);
    /// let shapes: Vec<_> = array.axis_iter(1)?.map(|column| column.shape().to_vec()).collect();
    /// assert_eq!(shapes, [[2], [2], [2]]);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_bounds` if the axis does not exist; `is_layout` if an indirect array cannot drop it.
    pub fn axis_iter(
        &self,
        axis: usize,
    ) -> Result<impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + use<>> {
        check_axis(axis, self.rank())?;
        let len = self.shape()[axis];
        if len > 0 {
            self.drop_axis(axis, 0)?;
        }
        Ok(DParts { array: self.clone(), axis, chunk: None, left: 0..len })
    }

    /// Ranges of `chunk` indices of an axis, in order, as handles; the last may be shorter. Each
    /// costs one atomic addition and O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the axis does not exist, `is_shape` for chunks of 0.
    pub fn axis_chunks(
        &self,
        axis: usize,
        chunk: usize,
    ) -> Result<impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + use<>> {
        check_axis(axis, self.rank())?;
        check_chunk(chunk, axis)?;
        let count = self.shape()[axis].div_ceil(chunk);
        Ok(DParts { array: self.clone(), axis, chunk: Some(chunk), left: 0..count })
    }
}

/// Parts of a dynamic array: single indices of an axis, or chunks of it.
struct DParts {
    /// Invariant 1: `axis` exists, and dropping it at an index succeeds, unless its length is 0.
    /// Success does not depend on the index.
    array: DArray,
    axis: usize,
    chunk: Option<usize>,
    left: Range<usize>,
}

impl DParts {
    /// `Some` for every part number (invariant 1).
    fn part(&self, k: usize) -> Option<DArray> {
        let part = match self.chunk {
            None => self.array.drop_axis(self.axis, k),
            Some(chunk) => {
                let start = k * chunk;
                let end = self.array.shape()[self.axis].min(start.saturating_add(chunk));
                self.array.slice_axis(self.axis, start..end)
            }
        };
        debug_assert!(part.is_ok(), "{part:?}");
        part.ok()
    }
}

impl Iterator for DParts {
    type Item = DArray;

    fn next(&mut self) -> Option<DArray> {
        let k = self.left.next()?;
        self.part(k)
    }

    fn nth(&mut self, n: usize) -> Option<DArray> {
        let k = self.left.nth(n)?;
        self.part(k)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl DoubleEndedIterator for DParts {
    fn next_back(&mut self) -> Option<DArray> {
        let k = self.left.next_back()?;
        self.part(k)
    }
}

impl ExactSizeIterator for DParts {}
