//! The views that the tour lends.

use crate::failure::Result;
use crossdock::DArray;
use crossdock::layout::AxisSlice;

/// A view of the array, with the name that the tour shows.
pub(crate) struct View {
    pub(crate) name: &'static str,
    pub(crate) array: DArray,
}

/// The whole array, and strided views of it: every second row, the last axis first, one channel or
/// one field.
pub(crate) fn of(array: &DArray) -> Result<Vec<View>> {
    let mut views = vec![View { name: "whole", array: array.clone() }];
    let rank = array.rank();
    if rank >= 1 {
        let every_second = AxisSlice::Range { start: None, stop: None, step: 2 };
        views.push(View { name: "every second row", array: array.slice_numpy([every_second])? });
    }
    if rank >= 2 {
        let mut axes: Vec<usize> = (0..rank).collect();
        axes.rotate_right(1);
        let name = if rank == 3 { "channels first" } else { "last axis first" };
        views.push(View { name, array: array.permute(&axes)? });
    }
    if let Some(field) = array.dtype().as_record().and_then(|record| record.fields().first()) {
        views.push(View { name: "one field", array: array.field(field.name())? });
    } else if rank >= 1 && array.shape()[rank - 1] > 0 {
        let name = if rank == 3 { "one channel" } else { "one column" };
        let first = [AxisSlice::Ellipsis, AxisSlice::Index(0)];
        views.push(View { name, array: array.slice_numpy(first)? });
    }
    Ok(views)
}
