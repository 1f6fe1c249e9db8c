//! Imports of types of other crates.

use std::fs::File;
use std::sync::Arc;

use arrow_data::ArrayData;
use arrow_schema::{DataType, Field};
use crossdock::array::ArrayView;
use crossdock::buffer::Buffer;
use crossdock::element::Element;
use crossdock::layout::Order;
use crossdock::memory::MapOptions;
use crossdock::{Array, DArray};
use image::{ImageBuffer, Luma};
use nalgebra::{DMatrix, DMatrixView, Dyn, Scalar};
use ndarray::{Axis, Dim, Dimension, IntoDimension, ShapeBuilder};
use safetensors::SafeTensors;

use super::{
    ALIGNED, Brought, COLUMN_MAJOR, DEVICE, ELEMENTS, FORWARDS, INDIRECT, NUMBERS, No, Origin, PICTURE,
    READONLY, ROW_MAJOR, ROWS_AND_COLUMNS, at_address, gapless, tensors, typed,
};
use crate::classes::{Kind, Specimen, Swapped, Trade};
use crate::files::{picture, with_file};

/// An array of `ndarray` with the specimen's layout.
fn nd<T: Element, const D: usize>(specimen: &Specimen) -> Result<ndarray::Array<T, Dim<[usize; D]>>, No>
where
    Dim<[usize; D]>: Dimension,
    [usize; D]: IntoDimension<Dim = Dim<[usize; D]>>,
{
    if specimen.device.is_some() {
        return Err(DEVICE);
    }
    if specimen.is_indirect {
        return Err(INDIRECT);
    }
    let strides = specimen.strides_in_elements().ok_or(ELEMENTS)?;
    if !specimen.is_aligned() {
        return Err(ALIGNED);
    }
    let shape: [usize; D] = specimen.shape[..].try_into().unwrap();
    // `ndarray`'s own strides are 0 if it is empty.
    let forwards =
        std::array::from_fn(|axis| if shape.contains(&0) { 0 } else { strides[axis].unsigned_abs() });
    let built = ndarray::Array::from_shape_vec(Dim(shape).strides(Dim(forwards)), specimen.vector());
    let Ok(mut array) = built else { return Err(No::CannotSay("owned elements, each of one index")) };
    for axis in (0..D).filter(|&axis| strides[axis] < 0) {
        array.invert_axis(Axis(axis));
    }
    Ok(array)
}

pub(super) fn nd_owned(specimen: &Specimen) -> Result<Brought, No> {
    fn bring<T: Element, const D: usize>(specimen: &Specimen) -> Result<Brought, No>
    where
        Dim<[usize; D]>: Dimension,
        [usize; D]: IntoDimension<Dim = Dim<[usize; D]>>,
    {
        let theirs = nd::<T, D>(specimen)?;
        let address = theirs.as_ptr().addr();
        at_address(Array::try_from(theirs)?, address)
    }
    if specimen.is_readonly {
        return Err(READONLY);
    }
    typed!(specimen, bring)
}

pub(super) fn nd_shared(specimen: &Specimen) -> Result<Brought, No> {
    fn bring<T: Element, const D: usize>(specimen: &Specimen) -> Result<Brought, No>
    where
        Dim<[usize; D]>: Dimension + Send + 'static,
        [usize; D]: IntoDimension<Dim = Dim<[usize; D]>>,
    {
        let theirs = nd::<T, D>(specimen)?.into_shared();
        let address = theirs.as_ptr().addr();
        at_address(Array::try_from(theirs)?, address)
    }
    typed!(specimen, bring)
}

/// A matrix on the heap, in column-major order.
pub(super) fn na_owned(specimen: &Specimen) -> Result<Brought, No> {
    fn bring<T: Element + Scalar, const D: usize>(specimen: &Specimen) -> Result<Brought, No> {
        let order = gapless(specimen)?;
        if !specimen.is_aligned() {
            return Err(ALIGNED);
        }
        let &[rows, columns] = &specimen.shape[..] else { return Err(ROWS_AND_COLUMNS) };
        if order != Order::ColumnMajor && !specimen.expected.is_empty() {
            return Err(COLUMN_MAJOR);
        }
        let theirs = DMatrix::<T>::from_vec(rows, columns, specimen.vector());
        let address = theirs.as_ptr().addr();
        at_address(Array::<T, 2>::try_from(theirs)?, address)
    }
    if specimen.is_readonly {
        return Err(READONLY);
    }
    typed!(specimen, bring)
}

/// A view of a shared vector. The array keeps the vector, without the view's lifetime.
pub(super) fn na_view(specimen: &Specimen) -> Result<Brought, No> {
    fn bring<T: Element + Scalar, const D: usize>(specimen: &Specimen) -> Result<Brought, No> {
        let &[rows, columns] = &specimen.shape[..] else { return Err(ROWS_AND_COLUMNS) };
        let strides = specimen.strides_in_elements().ok_or(ELEMENTS)?;
        if !specimen.is_aligned() {
            return Err(ALIGNED);
        }
        let [Ok(by_row), Ok(by_column)] = [0, 1].map(|axis| usize::try_from(strides[axis])) else {
            return Err(FORWARDS);
        };
        let vec = Arc::new(specimen.vector::<T>());
        let theirs =
            DMatrixView::<T, Dyn, Dyn>::from_slice_with_strides(&vec, rows, columns, by_row, by_column);
        let address = theirs.as_ptr().addr();
        let ours = ArrayView::<T, 2>::try_from(theirs)?;
        let offset = ours.as_ptr().addr() - vec.as_ptr().addr();
        let buffer = Buffer::from_owner(vec.clone())?;
        at_address(Array::<T, 2>::from_buffer_with_layout(buffer, *ours.layout(), offset)?, address)
    }
    if specimen.device.is_some() {
        return Err(DEVICE);
    }
    if specimen.is_indirect {
        return Err(INDIRECT);
    }
    typed!(specimen, bring)
}

/// A column, of lists of a fixed size if there are axes for them.
pub(super) fn arrow_column(specimen: &Specimen) -> Result<Brought, No> {
    if specimen.kind != Kind::Number {
        return Err(NUMBERS);
    }
    if gapless(specimen)? != Order::RowMajor {
        return Err(ROW_MAJOR);
    }
    if !specimen.is_aligned() {
        return Err(ALIGNED);
    }
    let &[rows, columns] = &specimen.shape[..] else { return Err(No::CannotSay("a column has a length")) };
    let buffer = arrow_buffer::Buffer::from_vec(specimen.vector::<u16>());
    let address = buffer.as_ptr().addr();
    let values = ArrayData::builder(DataType::UInt16).len(rows * columns).add_buffer(buffer).build().unwrap();
    let list =
        DataType::FixedSizeList(Arc::new(Field::new_list_field(DataType::UInt16, false)), columns as i32);
    let column = ArrayData::builder(list).len(rows).add_child_data(values).build().unwrap();
    at_address(DArray::try_from(&column)?, address)
}

pub(super) fn image_buffer(specimen: &Specimen) -> Result<Brought, No> {
    if specimen.is_readonly {
        return Err(READONLY);
    }
    let theirs = pixels(specimen)?;
    let address = theirs.as_ptr().addr();
    at_address(DArray::from(Array::try_from(theirs)?).drop_axis(2, 0)?, address)
}

pub(super) fn pixels(specimen: &Specimen) -> Result<ImageBuffer<Luma<u16>, Vec<u16>>, No> {
    if specimen.kind != Kind::Number {
        return Err(NUMBERS);
    }
    match gapless(specimen)? {
        Order::RowMajor if !specimen.is_aligned() => Err(ALIGNED),
        Order::RowMajor => picture(specimen).ok_or(PICTURE),
        Order::ColumnMajor => Err(ROW_MAJOR),
    }
}

/// A tensor within a mapped file that no process writes: the array keeps the map.
pub(super) fn tensor_view(specimen: &Specimen) -> Result<Brought, No> {
    let (bytes, position) = tensors(specimen)?;
    // Opened read-only, so that this process cannot write the file by the remaining descriptor.
    let (file, _) = with_file(&bytes, |path| File::open(path).unwrap()).unwrap();
    let map = Buffer::map(file.try_clone().unwrap(), MapOptions::new())?;
    // SAFETY: the file has lost its name, and the only descriptor that could write it is closed, so
    // its bytes are constant.
    let map = unsafe { map.assume_constant() };
    let bytes = map.read()?;
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let array = DArray::try_from((&map, &tensors.tensor("a").unwrap()))?;
    Ok(Brought { array, origin: Origin::Position(file, position as u64), because: None })
}
