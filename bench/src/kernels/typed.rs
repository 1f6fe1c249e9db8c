//! Support for peers that need Rust's element types: the same memory as typed arrays and as slices.

use crossdock::element::{DType, Element};
use crossdock::memory::Pod;
use crossdock::{Array, DArray};
use crossdock_measure::{Job, Result, Task};

/// The same bytes as elements of another dtype: as bits, for types that the library lacks.
fn bits(array: &DArray, dtype: DType) -> Result<DArray> {
    let (buffer, offset) = array.buffer()?;
    Ok(DArray::from_buffer(buffer, dtype, array.layout().clone(), offset)?)
}

/// The source and the target as typed arrays.
pub(super) fn arrays<T: Element, U: Element, const D: usize>(
    task: &Task,
) -> Result<(Array<T, D>, Array<U, D>)> {
    let source = Array::try_from(bits(task.source(), T::dtype())?)?;
    Ok((source, Array::try_from(bits(task.target(), U::dtype())?)?))
}

/// A job on all elements of the base and of the target, in memory order.
pub(super) fn slices<'a, T: Pod, U: Pod>(
    task: &'a Task,
    mut operation: impl FnMut(&[T], &mut [U]) + 'a,
) -> Result<Job<'a>> {
    let (source, target) = (task.base().buffer()?.0, task.target().buffer()?.0);
    Ok(Job::new(task, move || {
        let (source, mut target) = (source.read()?, target.write()?);
        operation(source.as_slice_of()?, target.as_mut_slice_of()?);
        Ok(())
    }))
}

/// The element types of a work, to choose a typed loop.
pub(super) fn dtypes(task: &Task) -> (&'static str, &'static str) {
    (task.work().dtype, task.work().into)
}

/// Whether all elements are read in memory order, without gaps.
pub(super) fn is_straight(task: &Task) -> bool {
    task.work().axes.is_empty() && task.work().at.is_empty()
}
