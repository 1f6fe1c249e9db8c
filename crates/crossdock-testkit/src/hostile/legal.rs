//! The expected answer of a hub, computed in the most obvious way.

use crate::hostile::{BLOCK, Data, Fills, Format, Recipe};

/// The request of a consumer, as the original's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(pub i32);

impl Flags {
    /// All flags, by name.
    pub const ALL: [(&'static str, Flags); 9] = [
        ("SIMPLE", Flags(0)),
        ("WRITABLE", Flags(1)),
        ("FORMAT", Flags(2)),
        ("MULTI_DIMENSIONAL", Flags(4)),
        ("STRIDES", Flags(12)),
        ("ROW_MAJOR", Flags(28)),
        ("COLUMN_MAJOR", Flags(44)),
        ("ANY_CONTIGUOUS", Flags(60)),
        ("INDIRECT", Flags(76)),
    ];

    fn has(self, flag: i32) -> bool {
        self.0 & flag == flag
    }
}

const MOST: i128 = isize::MAX as i128;
const POINTER: i128 = 8;

impl Recipe {
    /// Whether a hub must return the view. The existence of the memory cannot be checked.
    pub fn is_legal(&self, flags: Flags, block: usize) -> bool {
        let is_willing = self.available != Some(0) && self.answer != 0 && self.fills == Fills::All;
        if !is_willing || flags.0 & !127 != 0 {
            return false;
        }
        let Some(item_size) = self.legal_item_size() else { return false };
        let Some((shape, strides)) = self.legal_dims(item_size) else { return false };
        let jumps = self.jumps();
        if jumps.is_some() && self.strides.is_none() {
            return false;
        }
        if self.byte_size < 0 || !fits(&shape, &strides, jumps.as_deref(), item_size) {
            return false;
        }
        let is_empty = shape.contains(&0);
        let nbytes = shape.iter().product::<i128>() * item_size;
        let (low, high) = match &jumps {
            _ if is_empty => (0, 0),
            None => reach(&shape, &strides, item_size),
            Some(jumps) => {
                let table = jumps.iter().position(|&jump| jump >= 0).map_or(0, |axis| axis + 1);
                reach(&shape[..table], &strides[..table], POINTER)
            }
        };
        // The whole extent of the items, or the sum of their bytes.
        let said = i128::from(self.byte_size as i64);
        if said < high - low && said != nbytes {
            return false;
        }
        if high > low && !self.is_addressed(low, high, block) {
            return false;
        }
        if flags.has(1) && self.readonly != 0 || jumps.is_some() && !flags.has(76) {
            return false;
        }
        let lies = |axes: Vec<usize>| jumps.is_none() && is_contiguous(&shape, &strides, item_size, &axes);
        let rank = shape.len();
        let (row_major, column_major) = (lies((0..rank).rev().collect()), lies((0..rank).collect()));
        match (flags.has(28), flags.has(44)) {
            (true, true) => row_major || column_major,
            (true, false) => row_major,
            (false, true) => column_major,
            (false, false) => true,
        }
    }

    fn legal_item_size(&self) -> Option<i128> {
        let item_size = self.item_size as i128;
        match &self.format {
            Format::Null => (item_size > 0).then_some(item_size),
            Format::Text(_, size) => size.map(|size| size as i128).filter(|&size| size == item_size),
            Format::Unterminated(_) => None,
        }
    }

    /// Lengths, and strides in bytes.
    fn legal_dims(&self, item_size: i128) -> Option<(Vec<i128>, Vec<i128>)> {
        if !(0..=64).contains(&self.ndim) {
            return None;
        }
        let rank = self.ndim as usize;
        let shape: Vec<i128> = match &self.shape {
            Some(shape) => shape[..rank].iter().map(|&len| len as i128).collect(),
            None if rank == 0 => vec![],
            None if rank == 1 && item_size > 0 && self.byte_size >= 0 => {
                vec![self.byte_size as i128 / item_size]
            }
            None => return None,
        };
        if shape.iter().any(|&len| len < 0) {
            return None;
        }
        let strides = match &self.strides {
            Some(strides) => strides[..rank].iter().map(|&stride| stride as i128).collect(),
            None => {
                let mut strides = vec![0; rank];
                let mut stride = item_size;
                for axis in (0..rank).rev() {
                    strides[axis] = stride;
                    stride = stride.checked_mul(shape[axis].max(1))?;
                }
                strides
            }
        };
        Some((shape, strides))
    }

    /// Whether the view follows pointers.
    pub fn is_indirect(&self) -> bool {
        self.jumps().is_some()
    }

    /// The suboffsets of an indirect view.
    fn jumps(&self) -> Option<Vec<i128>> {
        let rank = usize::try_from(self.ndim).ok()?;
        let jumps = self.sub_offsets.as_ref()?.get(..rank)?;
        let is_indirect = jumps.iter().any(|&jump| jump >= 0);
        is_indirect.then(|| jumps.iter().map(|&jump| jump as i128).collect())
    }

    fn is_addressed(&self, low: i128, high: i128, block: usize) -> bool {
        let first = match self.data {
            Data::Null => return false,
            Data::Block(offset) => block.wrapping_add(offset),
            Data::Wild(address) => address,
            // In the middle of the address space.
            Data::Table => block,
        } as i128;
        first > 0 && first + low > 0 && first + high <= MOST
    }

    /// The offsets of the elements of a direct view in the block, in row-major order of their
    /// indices, if all of them are within it.
    pub fn elements(&self) -> Option<Vec<usize>> {
        let Data::Block(offset) = self.data else { return None };
        let item_size = self.legal_item_size()?;
        let (shape, strides) = self.legal_dims(item_size).filter(|_| self.jumps().is_none())?;
        if !fits(&shape, &strides, None, item_size) {
            return None;
        }
        if shape.contains(&0) {
            return Some(vec![]);
        }
        let (low, high) = reach(&shape, &strides, item_size);
        let first = offset as i128;
        if first + low < 0 || first + high > BLOCK as i128 || shape.iter().product::<i128>() > 10_000 {
            return None;
        }
        let mut elements = vec![first];
        for (&len, &stride) in shape.iter().zip(&strides) {
            let along = |&at: &i128| (0..len).map(move |index| at + index * stride);
            elements = elements.iter().flat_map(along).collect();
        }
        Some(elements.into_iter().map(|at| at as usize).collect())
    }
}

/// The lowest and the highest (exclusive) byte, relative to element 0.
fn reach(shape: &[i128], strides: &[i128], item_size: i128) -> (i128, i128) {
    let mut reach = (0, item_size);
    for (&len, &stride) in shape.iter().zip(strides).filter(|&(&len, _)| len > 1) {
        let distance = (len - 1) * stride;
        if distance < 0 {
            reach.0 += distance;
        } else {
            reach.1 += distance;
        }
    }
    reach
}

/// Whether no size and no distance exceeds the address space. Lengths of 0 are no exception.
fn fits(shape: &[i128], strides: &[i128], jumps: Option<&[i128]>, item_size: i128) -> bool {
    let mut nbytes = item_size.max(1);
    for &len in shape.iter().filter(|&&len| len != 0) {
        nbytes = (nbytes * len).min(MOST + 1);
    }
    let unit = if jumps.is_some() { item_size.max(POINTER) } else { item_size };
    let extent = |unit: i128| {
        let axes = shape.iter().zip(strides).filter(|&(&len, _)| len > 1);
        axes.fold(unit, |sum, (&len, &stride)| (sum + (len - 1) * stride.abs()).min(MOST + 1))
    };
    if nbytes > MOST || extent(unit) > MOST {
        return false;
    }
    // After each pointer, the farthest byte of its row.
    let Some(jumps) = jumps else { return true };
    let ends: Vec<usize> = (0..jumps.len()).filter(|&axis| jumps[axis] >= 0).collect();
    ends.iter().enumerate().all(|(number, &axis)| {
        let end = ends.get(number + 1).map_or(jumps.len(), |&next| next + 1);
        let unit = if number + 1 < ends.len() { POINTER } else { item_size };
        let (low, high) = reach(&shape[axis + 1..end], &strides[axis + 1..end], unit);
        jumps[axis] + high <= MOST && jumps[axis] + low >= -MOST
    })
}

/// NumPy's rule. `axes` lists the axes from the innermost outwards.
fn is_contiguous(shape: &[i128], strides: &[i128], item_size: i128, axes: &[usize]) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut expected = item_size;
    axes.iter().filter(|&&axis| shape[axis] != 1).all(|&axis| {
        let is_next = strides[axis] == expected;
        expected = expected.saturating_mul(shape[axis]);
        is_next
    })
}
