//! Exports to types of other crates.

use arrow_data::ArrayData;
#[cfg(feature = "candle-0_11")]
use candle_core::{CpuStorage, Storage, Tensor};
#[cfg(feature = "candle-0_11")]
use crossdock::element::DType;
use crossdock::element::Element;
use crossdock::exchange::LeasedTensor;
use crossdock::memory::Birth;
use crossdock::memory::Pinned;
use crossdock::view::CopyPolicy;
use crossdock::{Array, DArray, Error, Rejected};
use image::FlatSamples;
use nalgebra::{DMatrix, DMatrixView, Dyn, Matrix, RawStorage, Scalar};
use ndarray::{ArrayView, Dim, Dimension, IntoDimension};
use safetensors::View;

use super::{At, ConsumerView, Inspect, No, again, bytes_of, reason};
use crate::files::elements;

/// Elements by reference, or as cells if other code may write them.
pub(super) fn nd_view<T: Element, const D: usize>(array: &DArray, inspect: Inspect<'_>) -> Result<(), No>
where
    Dim<[usize; D]>: Dimension,
    [usize; D]: IntoDimension<Dim = Dim<[usize; D]>>,
{
    let array = Array::<T, D>::try_from(array.clone()).map_err(Error::from)?;
    if array.birth() == Birth::Aliased {
        let guard = array.pin()?;
        let view = ArrayView::<Pinned<T>, Dim<[usize; D]>>::try_from(&guard)?;
        inspect(ConsumerView {
            at: At::Address(view.as_ptr().addr()),
            because: None,
            elements: &|| view.iter().map(|cell| bytes_of(&cell.load())).collect(),
        });
    } else {
        let guard = array.read()?;
        let view = ArrayView::<T, Dim<[usize; D]>>::try_from(guard.view())?;
        inspect(ConsumerView {
            at: At::Address(view.as_ptr().addr()),
            because: None,
            elements: &|| view.iter().map(bytes_of).collect(),
        });
    }
    Ok(())
}

/// The vector of the array, as an array of `ndarray`.
pub(super) fn nd_owned<T: Element, const D: usize>(
    array: DArray,
    inspect: Inspect<'_>,
) -> Result<(), Rejected<DArray>>
where
    Dim<[usize; D]>: Dimension,
    [usize; D]: IntoDimension<Dim = Dim<[usize; D]>>,
{
    let theirs =
        ndarray::Array::<T, Dim<[usize; D]>>::try_from(Array::<T, D>::try_from(array)?).map_err(again)?;
    let elements = || theirs.iter().map(bytes_of).collect();
    inspect(ConsumerView { at: At::Address(theirs.as_ptr().addr()), because: None, elements: &elements });
    Ok(())
}

/// The vector that the array was made of, as a matrix.
pub(super) fn na_owned<T: Element + Scalar, const D: usize>(
    array: DArray,
    inspect: Inspect<'_>,
) -> Result<(), Rejected<DArray>> {
    let matrix = DMatrix::try_from(Array::<T, 2>::try_from(array)?).map_err(again)?;
    inspect(ConsumerView {
        at: At::Address(matrix.as_ptr().addr()),
        because: None,
        elements: &|| rows(&matrix),
    });
    Ok(())
}

/// Elements by reference, with any strides.
pub(super) fn na_view<T: Element + Scalar, const D: usize>(
    array: &DArray,
    inspect: Inspect<'_>,
) -> Result<(), No> {
    let array = Array::<T, 2>::try_from(array.clone()).map_err(Error::from)?;
    let guard = array.read()?;
    let view = DMatrixView::<T, Dyn, Dyn>::try_from(guard.view())?;
    inspect(ConsumerView { at: At::Address(view.as_ptr().addr()), because: None, elements: &|| rows(&view) });
    Ok(())
}

/// A matrix iterates over its elements by columns.
fn rows<T: Element + Scalar, S: RawStorage<T, Dyn, Dyn>>(matrix: &Matrix<T, Dyn, Dyn, S>) -> Vec<Vec<u8>> {
    let (rows, columns) = matrix.shape();
    let row = |i| (0..columns).map(move |j| bytes_of(&matrix[(i, j)]));
    (0..rows).flat_map(row).collect()
}

/// A picture of one channel.
pub(super) fn flat_samples(array: &DArray, _: CopyPolicy, inspect: Inspect<'_>) -> Result<(), No> {
    let array = Array::<u16, 3>::try_from(array.insert_axis(array.rank())?).map_err(Error::from)?;
    let guard = array.read()?;
    let flat = FlatSamples::<&[u16]>::try_from(&guard)?;
    let (height, width) = (flat.layout.height, flat.layout.width);
    let sample = |x, y| flat.get_sample(0, x, y).unwrap();
    inspect(ConsumerView {
        at: At::Address(flat.samples.as_ptr().addr()),
        because: None,
        elements: &|| (0..height).flat_map(|y| (0..width).map(move |x| bytes_of(sample(x, y)))).collect(),
    });
    Ok(())
}

/// A column, of lists of a fixed size if the array has axes for them.
pub(super) fn arrow_column(array: &DArray, _: CopyPolicy, inspect: Inspect<'_>) -> Result<(), No> {
    let column = ArrayData::try_from(array)?;
    let mut values = &column;
    while let [child] = values.child_data() {
        values = child;
    }
    let bytes = values.buffers()[0].as_slice();
    inspect(ConsumerView {
        at: At::Address(bytes.as_ptr().addr()),
        because: None,
        elements: &|| elements(bytes, array.shape(), array.dtype().itemsize(), false),
    });
    Ok(())
}

/// A tensor. `candle` has no unsigned 16-bit type, so the tensor has a signed one with the same
/// bits.
#[cfg(feature = "candle-0_11")]
pub(super) fn tensor(array: DArray, inspect: Inspect<'_>) -> Result<(), Rejected<DArray>> {
    fn signed<const D: usize>(array: DArray, inspect: Inspect<'_>) -> Result<(), Rejected<DArray>> {
        let tensor = Tensor::try_from(Array::<i16, D>::try_from(array)?).map_err(again)?;
        let (storage, _) = tensor.storage_and_layout();
        let Storage::Cpu(CpuStorage::I16(vec)) = &*storage else { panic!("{storage:?}") };
        inspect(ConsumerView {
            at: At::Address(vec.as_ptr().addr()),
            because: None,
            elements: &|| vec.iter().map(bytes_of).collect(),
        });
        Ok(())
    }
    if *array.dtype() != DType::U16 {
        return signed::<2>(array, inspect);
    }
    let signs = match array.view_as(&DType::I16) {
        Ok(signs) => signs,
        Err(error) => return Err(Rejected { value: array, error }),
    };
    drop(array);
    let answer = if signs.rank() == 0 { signed::<0>(signs, inspect) } else { signed::<2>(signs, inspect) };
    let unsigned = |array: DArray| array.view_as(&DType::U16).unwrap();
    answer.map_err(|rejected| Rejected { value: unsigned(rejected.value), error: rejected.error })
}

/// A tensor as the crate `safetensors` writes it.
pub(super) fn leased_tensor(array: &DArray, policy: CopyPolicy, inspect: Inspect<'_>) -> Result<(), No> {
    let tensor = LeasedTensor::new(array, policy)?;
    let bytes = tensor.data();
    inspect(ConsumerView {
        at: At::Address(bytes.as_ptr().addr()),
        because: reason(tensor.view().grant().copied_because()),
        elements: &|| elements(&bytes, View::shape(&tensor), array.dtype().itemsize(), false),
    });
    Ok(())
}
