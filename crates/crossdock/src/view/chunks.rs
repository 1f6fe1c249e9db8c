//! The elements of a view as bytes, in chunks, for reading large arrays that may change meanwhile.

use crate::error::Result;
use crate::kernel::StridedWalk;
use crate::view::memory_view::MemoryView;

/// About the size of the CPU's nearest caches.
const CHUNK_NBYTES: usize = 1 << 16;

/// The elements of a [`MemoryView`] in row-major order, loaded one chunk at a time into reused
/// scratch memory.
///
/// Other holders may write the elements, so each is loaded once and read from the scratch memory.
/// The loads are not counted as copies, because only one chunk exists at a time.
///
/// ```
/// use crossdock::view::Request;
/// use crossdock::{Array, s};
///
/// let array = Array::from_vec((0..600u16).collect(), [20, 30])?;
/// let view = array.slice(s![..;2, ..;-1])?.export(&Request::pin())?;
/// let (mut sum, mut chunks) = (0u64, view.chunks()?);
/// while let Some(bytes) = chunks.next_chunk() {
///     sum += bytes.as_chunks().0.iter().map(|&two| u64::from(u16::from_ne_bytes(two))).sum::<u64>();
/// }
/// assert_eq!(sum, (0..600).filter(|n| n / 30 % 2 == 0).sum::<u64>());
/// # Ok::<(), crossdock::Error>(())
/// ```
pub struct Chunks<'a> {
    view: &'a MemoryView,
    steps: StridedWalk,
    scratch: Vec<u8>,
}

impl MemoryView {
    /// The elements as bytes, a chunk of some tens of kibibytes at a time. To read fastest, order
    /// the axes by their strides.
    ///
    /// # Errors
    ///
    /// None for a valid view.
    #[doc(hidden)]
    pub fn chunks(&self) -> Result<Chunks<'_>> {
        let itemsize = self.layout().itemsize().max(1);
        let nbytes = self.nbytes().min((CHUNK_NBYTES / itemsize).max(1) * itemsize);
        Ok(Chunks { view: self, steps: StridedWalk::new(self.layout())?, scratch: vec![0; nbytes] })
    }
}

impl Chunks<'_> {
    /// The next whole elements, contiguous; `None` after the last. It overwrites the previous
    /// chunk.
    pub fn next_chunk(&mut self) -> Option<&[u8]> {
        // SAFETY: the view's layout reaches only bytes that its lease, of any kind, permits to load
        // racily (MemoryView 1); `scratch` is a separate vector of this value.
        let nbytes = unsafe { self.steps.load(self.view.as_ptr(), &mut self.scratch) };
        if nbytes == 0 { None } else { Some(&self.scratch[..nbytes]) }
    }
}

impl std::fmt::Debug for Chunks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Chunks of {} bytes of {:?}", self.scratch.len(), self.view)
    }
}

#[cfg(test)]
mod tests {
    use crate::array::{Array, DArray};
    use crate::element::DType;
    use crate::layout::Order;
    use crate::view::{MemoryView, Request};

    fn joined(view: &MemoryView) -> Vec<u8> {
        let mut chunks = view.chunks().unwrap();
        let mut all = Vec::new();
        while let Some(bytes) = chunks.next_chunk() {
            assert!(!bytes.is_empty() && bytes.len() % view.dtype().itemsize() == 0);
            all.extend_from_slice(bytes);
        }
        assert!(chunks.next_chunk().is_none(), "an end is an end");
        all
    }

    #[test]
    fn chunks_joined_are_the_elements_in_row_major_order() {
        // More than one chunk for every slice, with runs that no chunk divides evenly.
        let whole = DArray::from(Array::from_vec((0..331 * 457u32).collect(), [331, 457]).unwrap());
        for expr in ["", "::2", "::-1, ::-1", ":, 3::7", "5", ":, 5", "4:4", "7, 9"] {
            let view = whole.at(expr).unwrap().export(&Request::pin()).unwrap();
            assert_eq!(joined(&view), view.to_bytes().unwrap(), "{expr:?}");
        }
        let turned = whole.transpose().unwrap().export(&Request::pin()).unwrap();
        assert_eq!(joined(&turned), turned.to_bytes().unwrap());
    }

    #[test]
    fn elements_wider_than_a_chunk_come_one_at_a_time_and_elements_without_bytes_not_at_all() {
        let wide = DType::void(100_000).unwrap();
        let view = DArray::zeros(wide, &[3], Order::RowMajor).unwrap().export(&Request::pin()).unwrap();
        assert_eq!(joined(&view), vec![0; 300_000]);
        let none = DType::void(0).unwrap();
        let view = DArray::zeros(none, &[3], Order::RowMajor).unwrap().export(&Request::pin()).unwrap();
        assert!(view.chunks().unwrap().next_chunk().is_none());
    }
}
