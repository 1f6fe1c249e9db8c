//! The message of a slot: which dtype, shape and strides its bytes have.

use std::sync::atomic::Ordering;

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::channel::control::ControlMap;
use crate::exchange::protocol::channel::geometry::SLOT_HEAD_WORDS;
use crate::layout::{Layout, MAX_RANK, Order};

/// The number of a slot whose elements are not those of its last message, for taps.
pub(super) const NO_MESSAGE: u64 = u64::MAX;

/// The words of a slot's record behind its word and number.
/// The dtype in the lower half, then 16 bits each of the rank and of the sender.
const DTYPE_AND_RANK: usize = 2;
const OFFSET: usize = 3;

/// Writes the message of a slot that the sender has on loan. Element 0 is at the slot's first byte.
pub(super) fn write(control: &ControlMap, slot: usize, sender: usize, dtype: usize, layout: &Layout) {
    let put = |word, value| control.message(slot, word).store(value, Ordering::Relaxed);
    put(DTYPE_AND_RANK, (sender as u64) << 48 | (layout.rank() as u64) << 32 | dtype as u64);
    put(OFFSET, 0);
    for (axis, (&len, &stride)) in layout.shape().iter().zip(layout.strides()).enumerate() {
        put(SLOT_HEAD_WORDS + 2 * axis, len as u64);
        put(SLOT_HEAD_WORDS + 2 * axis + 1, stride as u64);
    }
}

/// A message as it was read: nothing is checked yet.
pub(super) struct Message {
    /// The number of the dtype.
    pub(super) dtype: usize,
    rank: usize,
    /// The number of the sender, for taps.
    pub(super) sender: usize,
    pub(super) offset: u64,
}

/// Up to this rank, shape and strides are read into few bytes.
const FEW: usize = 8;

/// [`Layout::contiguous`] in its place, without a move: for few axes of lengths other than 0.
/// `None` in all other cases; the layout is then some valid one.
pub(super) fn contiguous_to(
    shape: &[usize],
    itemsize: usize,
    order: Order,
    layout: &mut Layout,
) -> Option<()> {
    let rank = shape.len();
    let (mut lens, mut strides) = ([0; FEW], [0; FEW]);
    let (lens, strides) = (lens.get_mut(..rank)?, &mut strides[..rank]);
    let mut stride = itemsize;
    for step in 0..rank {
        let axis = match order {
            Order::RowMajor => rank - 1 - step,
            Order::ColumnMajor => step,
        };
        // What does not fit is negative, or refused because of the number of bytes.
        (lens[axis], strides[axis]) = (shape[axis] as isize, stride as isize);
        stride = stride.saturating_mul(shape[axis]);
    }
    Layout::new_to(lens, strides, itemsize, layout)
}

impl Message {
    /// Reads the message of a slot, each word once.
    pub(super) fn read(control: &ControlMap, slot: usize) -> Self {
        let get = |word| control.message(slot, word).load(Ordering::Relaxed);
        let dtype_and_rank = get(DTYPE_AND_RANK);
        Self {
            dtype: (dtype_and_rank & u64::from(u32::MAX)) as usize,
            rank: (dtype_and_rank >> 32 & 0xffff) as usize,
            sender: (dtype_and_rank >> 48) as usize,
            offset: get(OFFSET),
        }
    }

    /// Reads shape and strides, each word once, into a layout.
    ///
    /// # Errors
    ///
    /// `is_malformed` for too many dimensions; `is_overflow` for shapes and strides that no memory
    /// has.
    #[inline]
    pub(super) fn read_layout(
        &self,
        control: &ControlMap,
        slot: usize,
        itemsize: usize,
        layout: &mut Layout,
    ) -> Result<()> {
        match self.rank {
            0..=FEW => self.read_layout_of::<FEW>(control, slot, itemsize, layout),
            rank if rank <= MAX_RANK => self.read_layout_of::<MAX_RANK>(control, slot, itemsize, layout),
            rank => {
                let text = format!("the message has {rank} dimensions; {MAX_RANK} are the most");
                Err(Error::new(Kind::Malformed, text))
            }
        }
    }

    #[inline]
    fn read_layout_of<const MOST: usize>(
        &self,
        control: &ControlMap,
        slot: usize,
        itemsize: usize,
        layout: &mut Layout,
    ) -> Result<()> {
        let (mut shape, mut strides) = ([0; MOST], [0; MOST]);
        let (shape, strides) = (&mut shape[..self.rank], &mut strides[..self.rank]);
        for (axis, (len, stride)) in shape.iter_mut().zip(&mut *strides).enumerate() {
            let get = |word| address_sized(control.message(slot, word).load(Ordering::Relaxed));
            *len = get(SLOT_HEAD_WORDS + 2 * axis)?;
            *stride = get(SLOT_HEAD_WORDS + 2 * axis + 1)?;
        }
        if Layout::new_to(shape, strides, itemsize, layout).is_none() {
            // Empty, of many dimensions, or nonsense.
            let shape: Vec<usize> = shape.iter().map(|&len| len as usize).collect();
            *layout = Layout::new(&shape, strides, itemsize)?;
        }
        Ok(())
    }
}

/// A length, or a stride in bytes. With pointers of 32 bits, that of a larger process may not fit.
#[inline]
fn address_sized(word: u64) -> Result<isize> {
    let number = word.cast_signed();
    isize::try_from(number).map_err(|_| {
        let text = format!("the message has a length or stride of {number}, beyond the address space");
        Error::new(Kind::Overflow, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_no_address_can_have_is_no_other_number() {
        assert_eq!(address_sized(5).unwrap(), 5);
        assert_eq!(address_sized((-8i64).cast_unsigned()).unwrap(), -8);
        // Of a sender with wider pointers.
        let wide = address_sized((1 << 32) + 5);
        assert!(if usize::BITS < 64 { wide.is_err_and(|error| error.is_overflow()) } else { wide.is_ok() });
    }

    #[test]
    fn a_contiguous_layout_in_place_is_the_usual_one_or_left_to_the_usual_function() {
        let shapes: [&[usize]; 7] =
            [&[], &[3], &[2, 1, 4], &[usize::MAX, 2], &[usize::MAX / 4 + 1, 4], &[2, 0, 3], &[1; FEW + 1]];
        for (shape, itemsize) in shapes.into_iter().flat_map(|shape| [(shape, 0), (shape, 8)]) {
            for order in [Order::RowMajor, Order::ColumnMajor] {
                let mut layout = Layout::contiguous(&[], 1, order).unwrap();
                let usual = Layout::contiguous(shape, itemsize, order).ok();
                let usual = usual.filter(|_| !shape.contains(&0) && shape.len() <= FEW);
                let made = contiguous_to(shape, itemsize, order, &mut layout).map(|()| layout);
                assert_eq!(made, usual, "{shape:?} of {itemsize} bytes");
            }
        }
    }
}
