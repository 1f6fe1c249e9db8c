//! Whether axes in row-major order step over each other, found in one pass.

/// Whether each axis steps over everything that the axes behind it reach, so that no two elements
/// share a byte. `false` says nothing.
pub(super) fn steps_over_inner_axes(shape: &[usize], strides: &[isize], itemsize: usize) -> bool {
    let mut extent = itemsize;
    for (&len, &stride) in shape.iter().zip(strides).rev() {
        if len > 1 && stride.unsigned_abs() < extent {
            return false;
        }
        // Layout 3: what the axes longer than 1 reach fits.
        let steps = len.saturating_sub(1);
        extent = extent.wrapping_add(stride.unsigned_abs().wrapping_mul(steps));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_gaps_backwards_and_of_one_element_step_over_their_elements() {
        assert!(steps_over_inner_axes(&[], &[], 8));
        assert!(steps_over_inner_axes(&[2, 3], &[12, 4], 4));
        assert!(steps_over_inner_axes(&[2, 3], &[-16, -5], 4));
        assert!(steps_over_inner_axes(&[2, 1, 3], &[12, 0, 4], 4));
    }

    #[test]
    fn repeated_elements_common_bytes_and_other_orders_are_left_open() {
        for strides in [[11, 4], [12, 3], [0, 4], [4, 8]] {
            assert!(!steps_over_inner_axes(&[2, 3], &strides, 4), "{strides:?}");
        }
    }
}
