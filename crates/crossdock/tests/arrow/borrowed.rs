//! Buffers on borrowed memory, and bits.

use crossdock::buffer::{BitmapBuilder, BufferView, BufferViewMut};
use crossdock::pool::Pool;

use crate::numbers;

#[test]
fn a_wrap_for_reading_borrows_and_is_copied_to_be_kept() {
    let storage = vec![1u16, 2, 3];
    let view = BufferView::from(&storage[..]);
    assert_eq!((view.nbytes(), view.as_bytes().as_ptr()), (6, storage.as_ptr().cast()));
    assert_eq!(view.slice(2..).unwrap().as_slice_of::<u16>().unwrap(), [2, 3]);
    assert!(view.slice(2..7).unwrap_err().is_bounds());
    let kept = view.to_buffer(&Pool::default()).unwrap();
    drop(storage); // moved out from under the view, it would not compile
    assert_eq!(kept.read().unwrap().as_slice_of::<u16>().unwrap(), [1, 2, 3]);
}

#[test]
fn a_wrap_for_writing_is_the_only_way_to_the_bytes_meanwhile() {
    let mut storage = [0u32; 4];
    let view = BufferViewMut::from(&mut storage[..]);
    let (mut left, mut right) = view.split_at_mut(8).unwrap();
    left.as_mut_slice_of::<u32>().unwrap().fill(1);
    right.as_mut_bytes()[4] = 2;
    assert!(right.split_at_mut(9).unwrap_err().error.is_bounds());
    assert_eq!(storage, [1, 1, 0, u32::from_le_bytes([2, 0, 0, 0])]);
}

#[test]
fn bits_are_appended_one_many_and_in_slices() {
    let mut bits = BitmapBuilder::new().unwrap();
    bits.append(true).unwrap();
    bits.append_n(9, false).unwrap();
    bits.append_slice(&[true, true, false]).unwrap();
    assert_eq!((bits.len(), bits.as_bytes()), (13, &[0b0000_0001, 0b0000_1100][..]));
    assert!(bits.append_n(usize::MAX, true).unwrap_err().is_out_of_memory());
    let (buffer, len) = bits.finish();
    assert_eq!((buffer.nbytes(), len), (2, 13), "the number of bits comes with the bytes");
}

#[test]
fn a_bit_is_asked_for_with_its_bound_and_counts_are_kept() {
    let mut bits = BitmapBuilder::with_capacity(100).unwrap();
    assert_eq!(bits.capacity(), 64 * 8, "in bits");
    let values: Vec<bool> = numbers(100).iter().map(|byte| byte % 3 == 0).collect();
    bits.append_slice(&values).unwrap();
    assert!((0..100).all(|index| bits.get(index) == Some(values[index])));
    assert_eq!(bits.get(100), None);
    assert_eq!(bits.count_false(), values.iter().filter(|&&value| !value).count());
}
