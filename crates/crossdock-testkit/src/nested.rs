//! The oracle: an array as the list of the addresses of its elements, in row-major order of their
//! indices.

use std::collections::HashSet;

use crate::{Memory, Plain};

/// The addresses of all elements of an array.
///
/// Every operation builds a new list: for each index of the result, it finds the source element.
/// `None` means that the operation must be refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nested {
    /// The lengths of the axes.
    pub shape: Vec<usize>,
    /// The addresses, the last index running fastest.
    pub cells: Vec<i128>,
}

/// What a slice selects from one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// One index, which drops the axis.
    Index(isize),
    /// A range of indices.
    Range(Option<isize>, Option<isize>, isize),
    /// A new axis of length 1.
    NewAxis,
    /// The axes not named.
    Ellipsis,
}

/// The index of the element at a position in row-major order.
fn index_of(shape: &[usize], mut position: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for axis in (0..shape.len()).rev() {
        index[axis] = position % shape[axis];
        position /= shape[axis];
    }
    index
}

impl Nested {
    /// Builds an array from the address of every index.
    pub fn from_fn(shape: &[usize], mut address: impl FnMut(&[usize]) -> i128) -> Self {
        let numel: usize = shape.iter().product();
        let cells = (0..numel).map(|position| address(&index_of(shape, position))).collect();
        Self { shape: shape.to_vec(), cells }
    }

    /// Walks a layout by the rules of PEP 3118, with element 0 (or its first pointer) at `base`.
    pub fn of(plain: &Plain, base: i128, memory: &Memory) -> Self {
        Self::from_fn(&plain.shape, |index| {
            let mut p = base;
            for k in 0..index.len() {
                p += index[k] as i128 * plain.strides[k] as i128;
                if let Some(suboffset) = plain.suboffsets.as_ref().and_then(|suboffsets| suboffsets[k]) {
                    p = memory.load(p) + suboffset as i128;
                }
            }
            p
        })
    }

    /// The address of one element.
    pub fn get(&self, index: &[usize]) -> i128 {
        let mut position = 0;
        for (i, len) in index.iter().zip(&self.shape) {
            assert!(i < len, "index {index:?} in shape {:?}", self.shape);
            position = position * len + i;
        }
        self.cells[position]
    }

    // ===== questions

    /// Whether the elements are contiguous, in row-major or in column-major order of their indices.
    pub fn is_contiguous(&self, itemsize: usize, row_major: bool) -> bool {
        let cells = self.in_order(row_major);
        cells.iter().enumerate().all(|(k, cell)| *cell == cells[0] + (k * itemsize) as i128)
    }

    /// Whether no byte belongs to two elements.
    pub fn is_injective(&self, itemsize: usize) -> bool {
        let mut seen = HashSet::new();
        self.cells.iter().all(|cell| (0..itemsize as i128).all(|byte| seen.insert(cell + byte)))
    }

    /// The lowest byte and the one after the highest; `None` without elements.
    pub fn bytes(&self, itemsize: usize) -> Option<(i128, i128)> {
        Some((*self.cells.iter().min()?, *self.cells.iter().max()? + itemsize as i128))
    }

    /// The strides that express the addresses as one sum over the axes, if there are any: 0 for
    /// axes whose stride is open.
    pub fn strides(&self) -> Option<Vec<i128>> {
        let origin = vec![0; self.shape.len()];
        if self.cells.is_empty() {
            return Some(vec![0; self.shape.len()]);
        }
        let mut strides = vec![];
        for axis in 0..self.shape.len() {
            let mut next = origin.clone();
            next[axis] = 1;
            strides.push(if self.shape[axis] > 1 { self.get(&next) - self.get(&origin) } else { 0 });
        }
        let sum = Self::from_fn(&self.shape, |index| {
            self.get(&origin)
                + index.iter().zip(&strides).map(|(i, stride)| *i as i128 * stride).sum::<i128>()
        });
        (sum == *self).then_some(strides)
    }

    /// The addresses in row-major or column-major order of the indices.
    pub fn in_order(&self, row_major: bool) -> Vec<i128> {
        if row_major { self.cells.clone() } else { self.transpose().cells }
    }

    // ===== operations

    /// Axis `k` of the result is axis `axes[k]`.
    pub fn permute(&self, axes: &[usize]) -> Option<Self> {
        let mut sorted = axes.to_vec();
        sorted.sort();
        if sorted != (0..self.shape.len()).collect::<Vec<_>>() {
            return None;
        }
        let shape: Vec<usize> = axes.iter().map(|&axis| self.shape[axis]).collect();
        Some(Self::from_fn(&shape, |index| {
            let mut source = vec![0; axes.len()];
            for (k, &axis) in axes.iter().enumerate() {
                source[axis] = index[k];
            }
            self.get(&source)
        }))
    }

    /// The axes in reverse order.
    pub fn transpose(&self) -> Self {
        let axes: Vec<usize> = (0..self.shape.len()).rev().collect();
        self.permute(&axes).expect("each axis once")
    }

    /// Reverses one axis.
    pub fn reverse(&self, axis: usize) -> Option<Self> {
        let len = *self.shape.get(axis)?;
        Some(Self::from_fn(&self.shape, |index| {
            let mut source = index.to_vec();
            source[axis] = len - 1 - index[axis];
            self.get(&source)
        }))
    }

    /// Repeats axes of length 1 and missing leading axes.
    pub fn broadcast(&self, shape: &[usize]) -> Option<Self> {
        let missing = shape.len().checked_sub(self.shape.len())?;
        for (axis, &len) in self.shape.iter().enumerate() {
            if len != 1 && len != shape[missing + axis] {
                return None;
            }
        }
        Some(Self::from_fn(shape, |index| {
            let source: Vec<usize> = (0..self.shape.len())
                .map(|axis| if self.shape[axis] == 1 { 0 } else { index[missing + axis] })
                .collect();
            self.get(&source)
        }))
    }

    /// The same elements in the same order with another shape. [`Nested::strides`] determines
    /// whether strides can express it.
    pub fn reshape(&self, shape: &[usize], row_major: bool) -> Option<Self> {
        if shape.iter().map(|&len| len as u128).product::<u128>() != self.cells.len() as u128 {
            return None;
        }
        let cells = self.in_order(row_major);
        if row_major {
            Some(Self { shape: shape.to_vec(), cells })
        } else {
            let reversed = shape.iter().rev().copied().collect();
            Some(Self { shape: reversed, cells }.transpose())
        }
    }

    /// Selects one index of an axis.
    pub fn drop_axis(&self, axis: usize, index: usize) -> Option<Self> {
        if index >= *self.shape.get(axis)? {
            return None;
        }
        let mut shape = self.shape.clone();
        shape.remove(axis);
        Some(Self::from_fn(&shape, |rest| {
            let mut source = rest.to_vec();
            source.insert(axis, index);
            self.get(&source)
        }))
    }

    /// A new axis of length 1.
    pub fn insert_axis(&self, axis: usize) -> Option<Self> {
        let mut shape = self.shape.clone();
        (axis <= shape.len()).then(|| shape.insert(axis, 1))?;
        Some(Self { shape, cells: self.cells.clone() })
    }

    /// Exchanges two axes.
    pub fn swap_axes(&self, a: usize, b: usize) -> Option<Self> {
        (a < self.shape.len() && b < self.shape.len()).then_some(())?;
        let other = |axis| {
            if axis == a {
                b
            } else if axis == b {
                a
            } else {
                axis
            }
        };
        self.permute(&(0..self.shape.len()).map(other).collect::<Vec<_>>())
    }

    /// Moves one axis to another position.
    pub fn move_axis(&self, from: usize, to: usize) -> Option<Self> {
        let mut axes: Vec<usize> = (0..self.shape.len()).collect();
        (from < axes.len() && to < axes.len()).then_some(())?;
        let axis = axes.remove(from);
        axes.insert(to, axis);
        self.permute(&axes)
    }

    /// The indices of an axis from `start` to `end`, exclusive.
    pub fn slice_axis(&self, axis: usize, start: usize, end: usize) -> Option<Self> {
        let len = *self.shape.get(axis)?;
        (start <= len && end <= len).then_some(())?;
        let kept: Vec<usize> = (start..end).collect();
        let mut shape = self.shape.clone();
        shape[axis] = kept.len();
        Some(Self::from_fn(&shape, |index| {
            let mut source = index.to_vec();
            source[axis] = kept[index[axis]];
            self.get(&source)
        }))
    }

    /// The elements where the index of the second axis is that of the first plus `offset`, along a
    /// last axis that replaces both.
    pub fn diagonal(&self, first: usize, second: usize, offset: isize) -> Option<Self> {
        let (&rows, &columns) = (self.shape.get(first)?, self.shape.get(second)?);
        (first != second).then_some(())?;
        let on_it = |row: usize| usize::try_from(row as i128 + offset as i128).ok().filter(|&k| k < columns);
        let places: Vec<(usize, usize)> =
            (0..rows).filter_map(|row| on_it(row).map(|column| (row, column))).collect();
        let others: Vec<usize> =
            (0..self.shape.len()).filter(|&axis| axis != first && axis != second).collect();
        let mut shape: Vec<usize> = others.iter().map(|&axis| self.shape[axis]).collect();
        shape.push(places.len());
        Some(Self::from_fn(&shape, |index| {
            let mut source = vec![0; self.shape.len()];
            for (k, &axis) in others.iter().enumerate() {
                source[axis] = index[k];
            }
            (source[first], source[second]) = places[index[others.len()]];
            self.get(&source)
        }))
    }

    /// Every window, by its first index.
    pub fn windows(&self, window: &[usize]) -> Option<Self> {
        let fits = |(&len, &wide): (&usize, &usize)| wide > 0 && wide <= len;
        (window.len() == self.shape.len() && self.shape.iter().zip(window).all(fits)).then_some(())?;
        let begins = self.shape.iter().zip(window).map(|(len, wide)| len - wide + 1);
        let shape: Vec<usize> = begins.chain(window.iter().copied()).collect();
        Some(Self::from_fn(&shape, |index| {
            let (begin, within) = index.split_at(window.len());
            self.get(&begin.iter().zip(within).map(|(begin, within)| begin + within).collect::<Vec<_>>())
        }))
    }

    /// Every block, by its number along each axis.
    pub fn blocks(&self, block: &[usize]) -> Option<Self> {
        let fits = |(&len, &wide): (&usize, &usize)| wide > 0 && len % wide == 0;
        (block.len() == self.shape.len() && self.shape.iter().zip(block).all(fits)).then_some(())?;
        let numbers = self.shape.iter().zip(block).map(|(len, wide)| len / wide);
        let shape: Vec<usize> = numbers.chain(block.iter().copied()).collect();
        Some(Self::from_fn(&shape, |index| {
            let (number, within) = index.split_at(block.len());
            let places =
                number.iter().zip(block).zip(within).map(|((number, wide), within)| number * wide + within);
            self.get(&places.collect::<Vec<_>>())
        }))
    }

    /// Removes the axes of length 1.
    pub fn squeeze(&self) -> Self {
        let shape = self.shape.iter().copied().filter(|&len| len != 1).collect();
        Self { shape, cells: self.cells.clone() }
    }

    /// A slice whose ranges are sets of indices: the step walks the set from its front or, if
    /// negative, from its back.
    pub fn slice_rust(&self, picks: &[Pick]) -> Option<Self> {
        let complete = picks.contains(&Pick::Ellipsis);
        self.slice_with(picks, !complete, |start, stop, step, len| {
            let from_end = |bound: isize| if bound < 0 { bound as i128 + len } else { bound as i128 };
            let (start, stop) = (start.map_or(0, from_end), stop.map_or(len, from_end));
            if step == 0 || start < 0 || start > len || stop < 0 || stop > len {
                return None;
            }
            let mut set: Vec<i128> = (0..len).filter(|i| start <= *i && *i < stop).collect();
            if step < 0 {
                set.reverse();
            }
            Some(set.into_iter().step_by(step.unsigned_abs()).collect())
        })
    }

    /// A slice as in Python and NumPy.
    pub fn slice_numpy(&self, picks: &[Pick]) -> Option<Self> {
        self.slice_with(picks, false, |start, stop, step, len| {
            let step = step as i128;
            // "If either is negative, the length is added"; then both are clamped to the nearest
            // position where a walk in this direction can begin or end.
            let place = |bound: isize| {
                let bound = if bound < 0 { bound as i128 + len } else { bound as i128 };
                if step > 0 { bound.max(0).min(len) } else { bound.max(-1).min(len - 1) }
            };
            let (mut i, stop) = match step {
                0 => return None,
                1.. => (start.map_or(0, place), stop.map_or(len, place)),
                _ => (start.map_or(len - 1, place), stop.map_or(-1, place)),
            };
            let mut walk = vec![];
            while if step > 0 { i < stop } else { i > stop } {
                walk.push(i);
                i += step;
            }
            Some(walk)
        })
    }

    /// `range` returns the indices that a range selects from an axis of a given length. With
    /// `complete`, every axis must be named.
    fn slice_with(
        &self,
        picks: &[Pick],
        complete: bool,
        range: impl Fn(Option<isize>, Option<isize>, isize, i128) -> Option<Vec<i128>>,
    ) -> Option<Self> {
        let rank = self.shape.len();
        let named = picks.iter().filter(|pick| matches!(pick, Pick::Index(_) | Pick::Range(..))).count();
        let ellipses = picks.iter().filter(|pick| **pick == Pick::Ellipsis).count();
        if named > rank || ellipses > 1 || (complete && named < rank) {
            return None;
        }
        // Makes implied ranges explicit.
        let mut picks = picks.to_vec();
        let at = picks.iter().position(|pick| *pick == Pick::Ellipsis).unwrap_or(picks.len());
        picks.splice(at..(at + ellipses).max(at), vec![Pick::Range(None, None, 1); rank - named]);
        // For each axis of the source the selected indices, for each axis of the result its source.
        let (mut left, mut sources, mut shape) = (vec![], vec![], vec![]);
        for pick in picks {
            match pick {
                Pick::Ellipsis => unreachable!("spelt out above"),
                Pick::NewAxis => {
                    sources.push(None);
                    shape.push(1);
                }
                Pick::Index(index) => {
                    let len = self.shape[left.len()] as i128;
                    let index = if index < 0 { index as i128 + len } else { index as i128 };
                    if index < 0 || index >= len {
                        return None;
                    }
                    left.push(vec![index]);
                }
                Pick::Range(start, stop, step) => {
                    let walk = range(start, stop, step, self.shape[left.len()] as i128)?;
                    sources.push(Some(left.len()));
                    shape.push(walk.len());
                    left.push(walk);
                }
            }
        }
        Some(Self::from_fn(&shape, |index| {
            let mut position = vec![0; rank];
            for (i, source) in index.iter().zip(&sources) {
                if let Some(axis) = source {
                    position[*axis] = *i;
                }
            }
            let source: Vec<usize> =
                position.iter().zip(&left).map(|(&i, indices)| indices[i] as usize).collect();
            self.get(&source)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(shape: &[usize]) -> Nested {
        let mut next = 0;
        Nested::from_fn(shape, |_| {
            next += 1;
            next - 1
        })
    }

    #[test]
    fn the_oracle_knows_the_examples_of_the_books() {
        let a = counted(&[2, 3]);
        assert_eq!(a.transpose().cells, [0, 3, 1, 4, 2, 5]);
        assert_eq!(a.reverse(1).unwrap().cells, [2, 1, 0, 5, 4, 3]);
        assert_eq!(a.broadcast(&[2, 2, 3]).unwrap().cells, [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
        assert_eq!(a.reshape(&[3, 2], false).unwrap().cells, [0, 4, 3, 2, 1, 5]);
        assert_eq!(a.drop_axis(1, 2).unwrap().cells, [2, 5]);
        assert_eq!(a.diagonal(0, 1, 1).unwrap().cells, [1, 5]);
        assert_eq!(a.diagonal(1, 0, 1).unwrap().cells, [3]);
        assert_eq!(a.windows(&[1, 2]).unwrap().cells, [0, 1, 1, 2, 3, 4, 4, 5]);
        assert_eq!(counted(&[2, 4]).blocks(&[2, 2]).unwrap().cells, [0, 1, 4, 5, 2, 3, 6, 7]);
        assert_eq!(a.slice_axis(1, 1, 2).unwrap().cells, [1, 4]);
        assert_eq!(counted(&[2, 1, 3]).move_axis(0, 2).unwrap().shape, [1, 3, 2]);
        assert_eq!(a.swap_axes(0, 1), Some(a.transpose()));
        assert_eq!(a.strides(), Some(vec![3, 1]));
        assert_eq!(a.transpose().reshape(&[6], true).unwrap().strides(), None);
        assert!(
            a.is_contiguous(1, true) && !a.is_contiguous(1, false) && a.transpose().is_contiguous(1, false)
        );
        assert!(a.is_injective(1) && !a.is_injective(2));
    }

    #[test]
    fn the_two_readings_of_a_slice_differ() {
        let a = counted(&[6]);
        let cells = |nested: Option<Nested>| nested.map(|nested| nested.cells);
        let back = [Pick::Range(Some(1), Some(5), -2)];
        assert_eq!(cells(a.slice_rust(&back)), Some(vec![4, 2]));
        assert_eq!(cells(a.slice_numpy(&back)), Some(vec![]));
        let far = [Pick::Range(Some(4), Some(-100), -1)];
        assert_eq!(cells(a.slice_rust(&far)), None);
        assert_eq!(cells(a.slice_numpy(&far)), Some(vec![4, 3, 2, 1, 0]));
        assert_eq!(cells(a.slice_numpy(&[])), Some(vec![0, 1, 2, 3, 4, 5]));
        assert_eq!(a.slice_rust(&[]), None);
        assert_eq!(a.slice_rust(&[Pick::NewAxis, Pick::Ellipsis]).unwrap().shape, [1, 6]);
    }
}
