//! All elements of an array, in any order.

use crate::failure::Result;
use crossdock::DArray;

/// The same elements in memory order: the longest strides first, and none negative.
pub(crate) fn as_it_lies(array: &DArray) -> Result<DArray> {
    let mut axes: Vec<usize> = (0..array.rank()).collect();
    axes.sort_by_key(|&axis| std::cmp::Reverse(array.strides()[axis].unsigned_abs()));
    let mut turned = array.permute(&axes)?;
    for axis in 0..turned.rank() {
        if turned.strides()[axis] < 0 {
            turned = turned.reverse(axis)?;
        }
    }
    Ok(turned)
}

#[cfg(test)]
mod tests {
    use crossdock::Array;
    use crossdock::view::Request;

    use super::*;

    #[test]
    fn the_walk_meets_the_same_elements_in_another_order() {
        let numbers: Vec<u32> = (0..7 * 11 * 13).map(|n: u32| n.wrapping_mul(2_654_435_761)).collect();
        let whole = DArray::from(Array::from_vec(numbers, [7, 11, 13]).unwrap());
        for expr in ["", "::-2", ":, ::-3, 4:", "..., 0", "3, ::-1, ::-1", "2:2", "1, 2, 3"] {
            let view = whole.at(expr).unwrap().transpose().unwrap();
            let lying = as_it_lies(&view).unwrap();
            assert!(lying.strides().is_sorted_by(|a, b| a >= b && *b >= 0), "{expr:?}: {lying:?}");
            let sorted = |array: &DArray| {
                let bytes = array.export(&Request::pin()).unwrap().to_bytes().unwrap();
                let (elements, _) = bytes.as_chunks::<4>();
                let mut elements = elements.to_vec();
                elements.sort_unstable();
                elements
            };
            assert_eq!(sorted(&lying), sorted(&view), "{expr:?}");
        }
    }
}
