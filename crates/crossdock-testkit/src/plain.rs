//! Layouts as plain data, and the simulated memory of indirect ones.

use std::collections::HashMap;

use crate::Nested;

/// The size of a pointer in the tables of indirect arrays.
pub(crate) const POINTER: usize = size_of::<*const u8>();

/// Shape, byte strides, suboffsets and itemsize, which may be invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// The lengths of the axes.
    pub shape: Vec<usize>,
    /// Bytes from one index to the next.
    pub strides: Vec<isize>,
    /// For an indirect array, the offset to add after following the pointer of an axis.
    pub suboffsets: Option<Vec<Option<isize>>>,
    /// The size of an element in bytes.
    pub itemsize: usize,
}

impl Plain {
    /// The axes between dereferences: each list except the last ends with an axis that
    /// dereferences.
    ///
    /// The last one may be empty. A direct array has one list.
    pub fn segments(&self) -> Vec<Vec<usize>> {
        let mut segments = vec![Vec::new()];
        for axis in 0..self.shape.len() {
            segments.last_mut().expect("there is always one").push(axis);
            if self.suboffsets.as_ref().is_some_and(|suboffsets| suboffsets[axis].is_some()) {
                segments.push(Vec::new());
            }
        }
        segments
    }

    /// The lowest and the highest (exclusive) byte that a segment reaches, relative to its index of
    /// zeros, with lengths of 0 counted as 1; and the included size of its element or pointer.
    pub fn reach(&self, segment: usize) -> (i128, i128, usize) {
        let segments = self.segments();
        let size = if segment + 1 == segments.len() { self.itemsize } else { POINTER };
        let (mut low, mut high) = (0, size as i128);
        for &axis in &segments[segment] {
            let last = self.shape[axis].max(1) as i128 - 1;
            let distance = last * self.strides[axis] as i128;
            low += distance.min(0);
            high += distance.max(0);
        }
        (low, high, size)
    }
}

/// Simulated memory: the pointers stored at addresses.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pointers: HashMap<i128, i128>,
}

impl Memory {
    /// The pointer stored at an address.
    ///
    /// # Panics
    ///
    /// If there is none: the layout led to a wrong address.
    #[track_caller]
    pub fn load(&self, address: i128) -> i128 {
        *self.pointers.get(&address).unwrap_or_else(|| panic!("no pointer is stored at {address}"))
    }

    /// Stores a pointer, unless one is already stored.
    pub fn store_if_absent(&mut self, address: i128, pointer: i128) {
        self.pointers.entry(address).or_insert(pointer);
    }
}

/// A layout in memory: element 0 (or, if indirect, the first pointer) is byte `offset` of a window
/// of `window` bytes that begins at address 0.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The layout.
    pub plain: Plain,
    /// The offset of element 0 in the window.
    pub offset: usize,
    /// The size of the window in bytes.
    pub window: usize,
    /// The pointers of an indirect array.
    pub memory: Memory,
}

impl Placed {
    /// The addresses of all elements.
    pub fn nested(&self) -> Nested {
        Nested::of(&self.plain, self.offset as i128, &self.memory)
    }
}
