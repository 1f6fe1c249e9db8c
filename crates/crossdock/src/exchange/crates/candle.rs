//! `candle`: views of tensors on the CPU are zero-copy, and vectors become tensors without a copy.
//!
//! | from | to | |
//! |---|---|---|
//! | `(&Storage, &Layout)`, `(&CpuStorage, &Layout)` | [`ArrayView`] | same elements, any strides |
//! | `(&mut CpuStorage, &Layout)` | [`ArrayViewMut`] | same elements; refused if they overlap |
//! | [`Array`] | `Tensor` | adopts the array's vector; row-major arrays that own a vector only |
//!
//! A tensor holds its vector behind a lock and may replace it. A view therefore borrows the guard
//! (`Tensor::storage_and_layout`); to keep the elements longer, copy them. The second and third
//! forms are the arguments of a custom operation (`CustomOp1::cpu_fwd`, `InplaceOp1::cpu_fwd`),
//! which can be written on views.
//!
//! The elements are `u8`, `u32`, `i16`, `i32`, `i64`, `f32` and `f64`; the feature `half-2` adds
//! its two floats.
//!
//! ```
//! use candle_core::{Device, Tensor};
//! use crossdock::{Array, array::ArrayView, s};
//!
//! let array = Array::from_vec(vec![1f32, 2., 3., 4., 5., 6.], [2, 3])?;
//! let tensor = Tensor::try_from(array)?; // adopted, not copied
//!
//! let transposed = tensor.t()?;
//! let (storage, layout) = transposed.storage_and_layout();
//! let view = ArrayView::<f32, 2>::try_from((&*storage, layout))?;
//! assert_eq!((view.shape(), view.strides()), (&[3, 2], &[4, 12]));
//! assert_eq!(view[[2, 1]], 6.);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A tensor needs a vector. Memory from a pool is copied into one by `Tensor::from_slice`, from
//! [`ArrayRead::as_slice`](crate::array::ArrayRead::as_slice).

use std::any::Any;

use candle_core::backend::BackendStorage;
use candle_core::op::BackpropOp;
use candle_core::{CpuStorage, DType, Layout, Storage, Tensor, WithDType};

use crate::array::{Array, ArrayView, ArrayViewMut};
use crate::element::Element;
use crate::error::{Advice, Error, Kind, Rejected, Result};
use crate::layout::FixedLayout;

impl<'a, T: Element + WithDType, const D: usize> TryFrom<(&'a CpuStorage, &'a Layout)>
    for ArrayView<'a, T, D>
{
    type Error = Error;

    /// The same elements. O(`D`).
    ///
    /// # Errors
    ///
    /// `is_dtype` and `is_shape` for another element type or rank; `is_bounds` and `is_overflow` if
    /// the layout does not fit this storage.
    fn try_from((storage, layout): (&'a CpuStorage, &'a Layout)) -> Result<Self> {
        let (layout, offset) = place_of::<T, D>(layout)?;
        Self::from_slice_with_layout(elements(storage)?, layout, offset)
    }
}

impl<'a, T: Element + WithDType, const D: usize> TryFrom<(&'a Storage, &'a Layout)> for ArrayView<'a, T, D> {
    type Error = Error;

    /// The same elements. O(`D`).
    ///
    /// # Errors
    ///
    /// `is_place` if the storage is not on the CPU; otherwise as for a [`CpuStorage`].
    fn try_from((storage, layout): (&'a Storage, &'a Layout)) -> Result<Self> {
        match storage {
            Storage::Cpu(storage) => (storage, layout).try_into(),
            Storage::Cuda(_) => Err(elsewhere("CUDA")),
            Storage::Metal(_) => Err(elsewhere("Metal")),
        }
    }
}

impl<'a, T: Element + WithDType, const D: usize> TryFrom<(&'a mut CpuStorage, &'a Layout)>
    for ArrayViewMut<'a, T, D>
{
    type Error = Error;

    /// The same elements. O(`D` log `D`).
    ///
    /// # Errors
    ///
    /// `is_layout` if elements overlap (a broadcast tensor); otherwise as for an [`ArrayView`].
    fn try_from((storage, layout): (&'a mut CpuStorage, &'a Layout)) -> Result<Self> {
        let (layout, offset) = place_of::<T, D>(layout)?;
        Self::from_slice_with_layout(elements_mut(storage)?, layout, offset)
    }
}

impl<T: Element + WithDType, const D: usize> TryFrom<Array<T, D>> for Tensor {
    type Error = Rejected<Array<T, D>>;

    /// Adopts the array's vector, as a tensor on the CPU. O(`D`), with a few small heap blocks.
    ///
    /// # Errors
    ///
    /// As [`Array::try_into_vec`]; the error returns the array.
    fn try_from(array: Array<T, D>) -> Result<Self, Rejected<Array<T, D>>> {
        let shape = *array.shape();
        let storage = Storage::Cpu(T::to_cpu_storage_owned(array.try_into_vec()?));
        Ok(Self::from_storage(storage, &shape, BackpropOp::none(), false))
    }
}

/// Shape and strides in bytes, and the offset of element 0 in bytes.
fn place_of<T: Element, const D: usize>(layout: &Layout) -> Result<(FixedLayout<D>, usize)> {
    let (dims, strides) = (layout.dims(), layout.stride());
    let (Ok(shape), Ok(strides)) = (<[usize; D]>::try_from(dims), <[usize; D]>::try_from(strides)) else {
        let text = format!("a tensor of shape {dims:?} with strides {strides:?} does not have rank {D}");
        return Err(Error::new(Kind::Shape, text));
    };
    let nbytes = |elements: usize| elements.checked_mul(size_of::<T>()).filter(|&n| n <= isize::MAX as usize);
    let mut in_bytes = [0; D];
    for (in_bytes, &stride) in in_bytes.iter_mut().zip(&strides) {
        *in_bytes = nbytes(stride).ok_or_else(|| too_far(layout))? as isize;
    }
    // An empty tensor reads no element, so its offset does not matter.
    let start = if shape.contains(&0) { 0 } else { layout.start_offset() };
    let offset = nbytes(start).ok_or_else(|| too_far(layout))?;
    Ok((FixedLayout::new(shape, in_bytes, size_of::<T>())?, offset))
}

fn elements<T: WithDType>(storage: &CpuStorage) -> Result<&[T]> {
    T::cpu_storage_as_slice(storage).map_err(|_| other_dtype::<T>(storage.dtype()))
}

fn elements_mut<T: WithDType>(storage: &mut CpuStorage) -> Result<&mut [T]> {
    let dtype = storage.dtype();
    // `CpuStorage` has no method that returns the vector by element type.
    let vec: Option<&mut dyn Any> = match storage {
        CpuStorage::U8(vec) => Some(vec),
        CpuStorage::U32(vec) => Some(vec),
        CpuStorage::I16(vec) => Some(vec),
        CpuStorage::I32(vec) => Some(vec),
        CpuStorage::I64(vec) => Some(vec),
        CpuStorage::BF16(vec) => Some(vec),
        CpuStorage::F16(vec) => Some(vec),
        CpuStorage::F32(vec) => Some(vec),
        CpuStorage::F64(vec) => Some(vec),
        _ => None,
    };
    match vec.and_then(|vec| vec.downcast_mut::<Vec<T>>()) {
        Some(vec) => Ok(vec),
        None => Err(other_dtype::<T>(dtype)),
    }
}

#[cold]
fn other_dtype<T: WithDType>(given: DType) -> Error {
    let (given, wanted) = (given.as_str(), T::DTYPE.as_str());
    let text = format!("the tensor's elements are {given}, not {wanted}");
    Error::new(Kind::DType, text).advising(Advice::ConvertElements)
}

#[cold]
fn elsewhere(place: &str) -> Error {
    let text = format!("the tensor is on {place}, which is not accessible from the CPU");
    Error::new(Kind::Place, text).advising(Advice::CopyToCpu)
}

#[cold]
fn too_far(layout: &Layout) -> Error {
    let (dims, strides, start) = (layout.dims(), layout.stride(), layout.start_offset());
    let text =
        format!("shape {dims:?} with strides {strides:?} from element {start} on exceeds the address space");
    Error::new(Kind::Overflow, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::memory::copied_bytes_here;
    use crate::s;
    use candle_core::{CudaStorage, Device, InplaceOp1, MetalStorage};

    fn counted() -> Tensor {
        Tensor::from_vec((0..24i64).collect(), (2, 3, 4), &Device::Cpu).unwrap()
    }

    // ===== views

    /// The view has the elements that candle itself copies out, and the address of the storage.
    #[track_caller]
    fn is_seen<const D: usize>(tensor: &Tensor) {
        let expected = tensor.flatten_all().unwrap().to_vec1::<i64>().unwrap();
        let copied = copied_bytes_here();
        let (storage, layout) = tensor.storage_and_layout();
        let view = ArrayView::<i64, D>::try_from((&*storage, layout)).unwrap();
        assert_eq!(view.shape(), layout.dims());
        assert!(view.iter().eq(&expected));
        let Storage::Cpu(CpuStorage::I64(vec)) = &*storage else { panic!("where else?") };
        if !expected.is_empty() {
            assert_eq!(view.as_ptr(), &raw const vec[layout.start_offset()]);
        }
        assert_eq!(copied_bytes_here(), copied);
    }

    #[test]
    fn tensors_are_seen_in_place_with_their_strides() {
        let tensor = counted();
        is_seen::<3>(&tensor);
        is_seen::<3>(&tensor.permute((2, 0, 1)).unwrap());
        is_seen::<3>(&tensor.narrow(2, 1, 2).unwrap().narrow(1, 1, 2).unwrap());
        is_seen::<2>(&tensor.get(1).unwrap().t().unwrap());
        is_seen::<4>(&tensor.broadcast_as((5, 2, 3, 4)).unwrap());
        is_seen::<0>(&tensor.get(1).unwrap().get(2).unwrap().get(3).unwrap());
    }

    #[test]
    fn empty_tensors_are_seen() {
        let tensor = counted();
        is_seen::<3>(&tensor.narrow(1, 3, 0).unwrap());
        let nowhere = tensor.permute((2, 1, 0)).unwrap().narrow(0, 4, 0).unwrap().narrow(2, 2, 0).unwrap();
        is_seen::<3>(&nowhere);
        is_seen::<1>(&Tensor::from_vec(Vec::<i64>::new(), 0, &Device::Cpu).unwrap());
    }

    #[test]
    fn another_dtype_or_rank_is_refused_by_name() {
        let tensor = counted();
        let (storage, layout) = tensor.storage_and_layout();
        let error = ArrayView::<f32, 3>::try_from((&*storage, layout)).unwrap_err();
        assert!(error.is_dtype() && error.to_string().contains("are i64, not f32"), "{error}");
        let error = ArrayView::<i64, 2>::try_from((&*storage, layout)).unwrap_err();
        assert!(error.is_shape() && error.to_string().contains("[2, 3, 4]"), "{error}");
    }

    #[test]
    fn storage_elsewhere_is_refused_by_name() {
        let layout = Layout::contiguous(3);
        for (storage, name) in [(Storage::Cuda(CudaStorage), "CUDA"), (Storage::Metal(MetalStorage), "Metal")]
        {
            let error = ArrayView::<f32, 1>::try_from((&storage, &layout)).unwrap_err();
            assert!(error.is_place() && error.to_string().contains(name), "{error}");
        }
    }

    #[test]
    fn a_layout_of_another_storage_is_refused() {
        let mut storage = CpuStorage::F32(vec![0.; 6]);
        let layout =
            |dims: &[usize], strides: &[usize], start| Layout::new(dims.into(), strides.into(), start);
        for (layout, says) in [
            (layout(&[7], &[1], 0), "0..28"),
            (layout(&[3], &[1], 4), "16..28"),
            (layout(&[2], &[6], 0), "0..28"),
            (layout(&[1], &[1], usize::MAX), "18446744073709551615"),
            (layout(&[2], &[usize::MAX], 0), "18446744073709551615"),
            (layout(&[2], &[isize::MAX as usize / 4], 0), "spans more"),
            (layout(&[2], &[], 0), "strides []"),
        ] {
            let error = ArrayView::<f32, 1>::try_from((&storage, &layout)).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            assert!(error.is_bounds() || error.is_overflow() || error.is_shape(), "{error:?}");
            let error = ArrayViewMut::<f32, 1>::try_from((&mut storage, &layout)).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
        }
    }

    // ===== mutable views

    /// Adds to each element ten times the sum of its indices.
    struct Shade;

    impl InplaceOp1 for Shade {
        fn name(&self) -> &'static str {
            "shade"
        }

        fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> candle_core::Result<()> {
            let mut view =
                ArrayViewMut::<i64, 2>::try_from((storage, layout)).map_err(candle_core::Error::wrap)?;
            for ([i, j], element) in view.indexed_iter_mut() {
                *element += 10 * (i + j) as i64;
            }
            Ok(())
        }
    }

    #[test]
    fn an_operation_in_place_is_written_on_views() {
        let tensor = Tensor::from_vec(vec![0i64, 1, 2, 3, 4, 5], (2, 3), &Device::Cpu).unwrap();
        tensor.narrow(1, 1, 2).unwrap().t().unwrap().inplace_op1(&Shade).unwrap();
        assert_eq!(tensor.to_vec2::<i64>().unwrap(), [[0, 1, 12], [3, 14, 25]]);
    }

    #[test]
    fn every_dtype_is_written_and_another_is_refused() {
        macro_rules! written {
            ($($variant:ident($one:expr)),*) => {$(
                let mut storage = CpuStorage::$variant(vec![$one; 2]);
                let layout = Layout::contiguous(2);
                let view = ArrayViewMut::<_, 1>::try_from((&mut storage, &layout));
                view.unwrap()[[1]] = $one + $one;
                let view = ArrayView::<_, 1>::try_from((&storage, &layout)).unwrap();
                assert_eq!((view[[0]], view[[1]]), ($one, $one + $one));
            )*};
        }
        written!(U8(1u8), U32(1u32), I16(1i16), I32(1i32), I64(1i64), F32(1f32), F64(1f64));
        #[cfg(feature = "half-2")]
        written!(F16(half::f16::ONE), BF16(half::bf16::ONE));
        // 4-bit elements are stored in a `Vec<u8>`, but they are not `u8`.
        for mut storage in [CpuStorage::F4(vec![0; 2]), CpuStorage::U32(vec![0; 2])] {
            let error = ArrayViewMut::<u8, 1>::try_from((&mut storage, &Layout::contiguous(2))).unwrap_err();
            assert!(error.is_dtype() && error.to_string().contains("not u8"), "{error}");
            assert!(ArrayView::<u8, 1>::try_from((&storage, &Layout::contiguous(2))).unwrap_err().is_dtype());
        }
    }

    #[test]
    fn elements_that_overlap_are_not_written() {
        let mut storage = CpuStorage::I32(vec![0; 2]);
        let repeated = Layout::new((3, 2).into(), vec![0, 1], 0);
        let error = ArrayViewMut::<i32, 2>::try_from((&mut storage, &repeated)).unwrap_err();
        assert!(error.is_layout() && error.to_string().contains("[0, 4]"), "{error}");
    }

    // ===== tensors

    #[test]
    fn a_vector_becomes_a_tensor() {
        let vec = vec![1f64, 2., 3., 4., 5., 6.];
        let (address, copied) = (vec.as_ptr(), copied_bytes_here());
        let tensor = Tensor::try_from(Array::from_vec(vec, [2, 3]).unwrap()).unwrap();
        assert_eq!((tensor.dims(), tensor.dtype()), (&[2, 3][..], DType::F64));
        {
            let (storage, layout) = tensor.storage_and_layout();
            assert_eq!(ArrayView::<f64, 2>::try_from((&*storage, layout)).unwrap().as_ptr(), address);
        }
        assert_eq!(copied_bytes_here(), copied);
        assert_eq!((tensor + 1.).unwrap().to_vec2::<f64>().unwrap(), [[2., 3., 4.], [5., 6., 7.]]);
    }

    #[test]
    fn vectors_of_any_rank_and_without_elements_become_tensors() {
        let scalar = Tensor::try_from(Array::from_vec(vec![7u32], []).unwrap()).unwrap();
        assert_eq!(scalar.to_scalar::<u32>().unwrap(), 7);
        let empty = Tensor::try_from(Array::from_vec(Vec::<u8>::new(), [3, 0, 2]).unwrap()).unwrap();
        assert_eq!((empty.dims(), empty.elem_count()), (&[3, 0, 2][..], 0));
        let top = Array::from_vec(vec![1i16, 2, 3, 4], [2, 2]).unwrap().slice(s![0, ..]).unwrap();
        assert_eq!(Tensor::try_from(top).unwrap().to_vec1::<i16>().unwrap(), [1, 2]);
    }

    #[test]
    fn what_has_no_vector_of_its_own_comes_back() {
        let array = Array::from_vec(vec![1f32, 2., 3., 4.], [2, 2]).unwrap();
        let other = array.clone();
        let Rejected { value, error } = Tensor::try_from(array).unwrap_err();
        assert!(error.is_conflict() && error.to_string().contains("2 handles"), "{error}");
        drop(other);
        let transposed = value.transpose();
        drop(value);
        let Rejected { value, error } = Tensor::try_from(transposed).unwrap_err();
        assert!(error.is_layout() && error.to_string().contains("[4, 8]"), "{error}");
        let array = value.transpose();
        drop(value);
        assert!(Tensor::try_from(array).is_ok(), "nothing was lost");

        let pool = Array::<f32, 1>::zeros([4]).unwrap();
        let Rejected { value, error } = Tensor::try_from(pool).unwrap_err();
        assert!(error.is_unsupported() && value.shape() == &[4], "{error}");
        let shared = Array::<f32, 1>::from_buffer(Buffer::shared(16).unwrap(), [4]).unwrap();
        assert!(Tensor::try_from(shared).unwrap_err().error.is_conflict());
        let constant = Array::from_static(&[1f32, 2.], [2]).unwrap();
        assert!(Tensor::try_from(constant).unwrap_err().error.is_read_only());
    }
}
