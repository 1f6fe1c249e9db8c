//! The crate `safetensors`: its tensors become views and arrays, and arrays become tensors that it
//! writes. Nothing is copied.
//!
//! | from | to | |
//! |---|---|---|
//! | `TensorView` | [`ArrayView`] | same elements, aligned; same dtype and rank |
//! | a [`Buffer`], a `TensorView` of it | [`DArray`] | same elements, at any alignment; keeps it |
//! | [`ArrayView`] | `TensorView` | same elements, C-contiguous |
//! | [`MemoryView`] | [`LeasedTensor`], a `View` | same elements, C-contiguous; keeps the lease |
//!
//! [`LeasedTensor::new`] takes the lease of an array.
//!
//! `F4`, `F6_E2M3` and `F6_E3M2` store several elements in a byte, and are refused by name:
//! `exchange::files::safetensors` unpacks them.
//!
//! A mapped file is read in place. The crate takes `&[u8]`, so the caller must guarantee that no
//! process writes the file (`exchange::files::safetensors` reads the header itself and needs no
//! such guarantee):
//!
//! ```
//! use crossdock::DArray;
//! use crossdock::array::{Array, ArrayView, CopyPolicy};
//! use crossdock::buffer::Buffer;
//! use crossdock::exchange::LeasedTensor;
//! use crossdock::memory::{MapOptions, copied_bytes};
//! use safetensors::SafeTensors;
//!
//! # let path = std::env::temp_dir().join(format!("crossdock-types-{}.safetensors", std::process::id()));
//! let before = copied_bytes();
//! let weights = Array::from_vec(vec![0.5f32, 1.5, 2.5, 3.5], [2, 2])?;
//! let tensor = LeasedTensor::new(&weights, CopyPolicy::Never)?;
//! std::fs::write(&path, safetensors::serialize([("weights", tensor)], None)?)?;
//!
//! let map = Buffer::map(std::fs::File::open(&path)?, MapOptions::new())?;
//! // SAFETY: no process writes this file while it is mapped.
//! let map = unsafe { map.assume_constant() };
//! let bytes = map.read()?; // keeps the map, and the views of it
//! let tensors = SafeTensors::deserialize(&bytes)?;
//! let view = ArrayView::<f32, 2>::try_from(tensors.tensor("weights")?)?;
//! assert_eq!(view[[1, 0]], 2.5);
//!
//! let array = DArray::try_from((&map, &tensors.tensor("weights")?))?;
//! assert_eq!(array.as_ptr(), view.as_ptr().cast());
//! drop((bytes, map)); // the array keeps the map by itself
//! assert_eq!(array.get(&[1, 1])?.as_f64(), Some(3.5));
//! assert_eq!(copied_bytes(), before);
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;
use std::fmt;

use safetensors::tensor::{Dtype, TensorView, View};
use serde::de::value::{Error as NameError, StrDeserializer};
use serde::de::{Deserialize, IntoDeserializer};

use crate::array::{ArrayView, CopyPolicy, DArray, other_dtype};
use crate::buffer::{Buffer, BufferView};
use crate::element::dialect::safetensors::StoredType;
use crate::element::{DType, Element};
use crate::error::{Advice, Error, Kind, Rejected, Result};
use crate::layout::{Layout, Order};
use crate::view::{MemoryView, Producer, Request, view};

/// The dtype for the crate's type, if each element has bytes of its own.
fn dtype_of(theirs: Dtype) -> Result<DType> {
    let stored = StoredType::named(&theirs.to_string())?;
    if stored.is_packed() {
        return Err(Error::new(
            Kind::Unsupported,
            format!("elements of {theirs} have {} bits and no bytes of their own", stored.bits),
        )
        .advising(Advice::OpenAsFile));
    }
    Ok(stored.dtype)
}

/// The crate's type for a dtype that the format stores unchanged.
fn their_dtype(ours: &DType) -> Result<Dtype> {
    let StoredType { name, dtype, bits } = StoredType::of(ours)?;
    if dtype != *ours {
        return Err(Error::new(
            Kind::Unsupported,
            format!("{} is byte-swapped, and the format is little-endian", ours.brief()),
        )
        .advising(Advice::ConvertByteOrder));
    }
    if bits < 8 {
        return Err(Error::new(
            Kind::Unsupported,
            format!("{} has a byte for each element here and {bits} bits in the format", ours.brief()),
        )
        .advising(Advice::OpenAsFile));
    }
    let theirs: StrDeserializer<'_, NameError> = name.into_deserializer();
    Dtype::deserialize(theirs).map_err(|_| {
        Error::new(
            Kind::Unsupported,
            format!("{name} is not a dtype of this version of the crate safetensors"),
        )
    })
}

// ===== from tensors

impl<'a, T: Element, const D: usize> TryFrom<&TensorView<'a>> for ArrayView<'a, T, D> {
    type Error = Error;

    /// The same elements. O(`D`).
    ///
    /// # Errors
    ///
    /// `is_dtype`; `is_shape` for another rank; `is_alignment`, since the format guarantees none (a
    /// type of alignment 1, such as `Le<f32>`, has the same dtype and fits any address);
    /// `is_unsupported` for elements that share bytes and for types without a dtype.
    fn try_from(tensor: &TensorView<'a>) -> Result<Self> {
        let (given, wanted) = (dtype_of(tensor.dtype())?, T::dtype());
        if given != wanted {
            return Err(other_dtype(&given, &wanted));
        }
        let shape = <[usize; D]>::try_from(tensor.shape()).map_err(|_| {
            Error::new(
                Kind::Shape,
                format!("a tensor of shape {:?} has rank {}, not {D}", tensor.shape(), tensor.shape().len()),
            )
        })?;
        ArrayView::from_slice(BufferView::from(tensor.data()).as_slice_of()?, shape)
    }
}

impl<'a, T: Element, const D: usize> TryFrom<TensorView<'a>> for ArrayView<'a, T, D> {
    type Error = Error;

    /// The same elements. O(`D`). Errors: as for a reference to the tensor.
    fn try_from(tensor: TensorView<'a>) -> Result<Self> {
        Self::try_from(&tensor)
    }
}

impl TryFrom<(&Buffer, &TensorView<'_>)> for DArray {
    type Error = Error;

    /// The elements of a tensor within the buffer, in place: the array keeps the memory alive, and
    /// is read-only if the buffer is. O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the tensor is outside the buffer; `is_unsupported` for elements that share
    /// bytes, for types without a dtype, and for more than 64 dimensions; `is_malformed` if the
    /// shape does not match the number of bytes.
    fn try_from((buffer, tensor): (&Buffer, &TensorView<'_>)) -> Result<Self> {
        let dtype = dtype_of(tensor.dtype())?;
        let layout = Layout::contiguous(tensor.shape(), dtype.itemsize(), Order::RowMajor)?;
        let (data, nbytes) = (tensor.data(), layout.nbytes());
        if data.len() != nbytes {
            return Err(Error::new(
                Kind::Malformed,
                format!(
                    "the tensor has {1} bytes, but shape {0:?} takes {nbytes}",
                    tensor.shape(),
                    data.len()
                ),
            ));
        }
        // An empty tensor can have any address.
        let at = if nbytes == 0 { 0 } else { data.as_ptr().addr().wrapping_sub(buffer.address()) };
        let part = buffer.slice(at..at.saturating_add(nbytes)).map_err(|_| {
            Error::new(
                Kind::Bounds,
                format!(
                    "the {nbytes} bytes of the tensor at {:p} are not within the buffer, which has {} bytes \
                    at {:p}; pass the buffer that the tensor was read from",
                    data.as_ptr(),
                    buffer.nbytes(),
                    buffer.as_ptr()
                ),
            )
        })?;
        Self::from_buffer(part, dtype, layout, 0)
    }
}

// ===== to tensors

impl<'a, T: Element, const D: usize> TryFrom<ArrayView<'a, T, D>> for TensorView<'a> {
    type Error = Error;

    /// The same elements, for the crate to write. O(`D`).
    ///
    /// # Errors
    ///
    /// `is_layout` if the view is not C-contiguous (row-major); `is_unsupported` for a dtype that
    /// the format does not have, or non-native byte order.
    fn try_from(view: ArrayView<'a, T, D>) -> Result<Self> {
        let dtype = their_dtype(&T::dtype())?;
        let slice = view.as_slice().ok_or_else(|| {
            Error::new(
                Kind::Layout,
                format!(
                    "shape {:?} with strides {:?} is not C-contiguous (row-major), as a tensor file \
                    requires",
                    view.shape(),
                    view.strides()
                ),
            )
            .advising(Advice::Copy)
        })?;
        Self::new(dtype, view.shape().to_vec(), BufferView::from(slice).as_bytes())
            .map_err(|error| Error::caused(Kind::Unsupported, error.to_string(), error))
    }
}

/// A row-major array under a lease, as a tensor that the crate `safetensors` writes in place
/// (feature `safetensors-types-0_8`).
///
/// It implements the crate's trait `View`: `safetensors::serialize` accepts arrays of any dtypes
/// and ranks by it, and writes their bytes from where they are. An array that cannot be written in
/// place is refused by [`LeasedTensor::new`], or copied there (and counted) if the policy permits
/// it: the crate requests the bytes later, when an error is no longer possible.
///
/// ```
/// use crossdock::array::{Array, CopyPolicy};
/// use crossdock::exchange::LeasedTensor;
///
/// let bias = Array::from_vec(vec![1u8, 2], [2])?;
/// let weights = Array::from_vec(vec![1.0f64, 2.0, 3.0, 4.0], [2, 2])?.transpose();
/// assert!(LeasedTensor::new(&weights, CopyPolicy::Never).is_err()); // column-major
/// let tensors = [
///     ("bias", LeasedTensor::new(&bias, CopyPolicy::Never)?),
///     ("weights", LeasedTensor::new(&weights, CopyPolicy::IfNeeded)?),
/// ];
/// let file = safetensors::serialize(tensors, None)?;
/// assert_eq!(file[file.len() - 2..], [1, 2]); // the widest first
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Invariants
///
/// 1. The view is C-contiguous, under a lease that excludes writes.
pub struct LeasedTensor {
    view: MemoryView,
    dtype: Dtype,
}

impl LeasedTensor {
    /// Takes a Read lease of an array, or from another producer, until the tensor is dropped. In
    /// place, O(rank). If the policy permits it, copies (and counts) elements that are not
    /// C-contiguous or that another process may write (a mapped file).
    ///
    /// # Errors
    ///
    /// `is_refused`, with the reason why the elements are not available in place, or not readable
    /// at all; `is_unsupported` for a dtype that the format does not have, or non-native byte
    /// order.
    pub fn new<P: Producer + ?Sized>(producer: &P, copy: CopyPolicy) -> Result<Self> {
        let request = Request::read().order(Order::RowMajor);
        let in_place = view(producer, request.clone());
        // An array whose dtype the format does not have is refused before it is copied.
        let dtype = match &in_place {
            Ok(view) => Some(view.dtype()),
            Err(refusal) => refusal.offer().map(|offer| &offer.dtype),
        };
        dtype.map(their_dtype).transpose()?;
        let view = match copy {
            CopyPolicy::Never => in_place?,
            CopyPolicy::IfNeeded if in_place.is_ok() => in_place?,
            CopyPolicy::IfNeeded | CopyPolicy::Always => view(producer, request.copy(copy))?,
        };
        Ok(Self::try_from(view)?)
    }

    /// The array under its lease.
    pub fn view(&self) -> &MemoryView {
        &self.view
    }

    /// Returns the array under its lease.
    pub fn into_view(self) -> MemoryView {
        self.view
    }
}

impl TryFrom<MemoryView> for LeasedTensor {
    type Error = Rejected<MemoryView>;

    /// The same elements, under the same lease. O(rank). On failure, the error returns the view and
    /// the reason.
    ///
    /// # Errors
    ///
    /// `is_layout` if the view is not C-contiguous (row-major); `is_conflict` under a Share or Pin
    /// lease; `is_unsupported` for a dtype that the format does not have, or non-native byte order.
    fn try_from(view: MemoryView) -> Result<Self, Rejected<MemoryView>> {
        match view.as_bytes().and_then(|_| their_dtype(view.dtype())) {
            Ok(dtype) => Ok(Self { view, dtype }),
            Err(error) => Err(Rejected { value: view, error }),
        }
    }
}

impl View for LeasedTensor {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        self.view.shape()
    }

    /// The bytes, always borrowed.
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.view.as_bytes().expect("so it was when this was made (LeasedTensor 1)"))
    }

    fn data_len(&self) -> usize {
        self.view.nbytes()
    }
}

impl View for &LeasedTensor {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        View::shape(*self)
    }

    fn data(&self) -> Cow<'_, [u8]> {
        View::data(*self)
    }

    fn data_len(&self) -> usize {
        View::data_len(*self)
    }
}

impl fmt::Debug for LeasedTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeasedTensor({}, {:?})", self.dtype, self.view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;
    use crate::element::{Be, Bool8, Le};
    use crate::memory::copied_bytes_here;
    use crate::s;
    use safetensors::SafeTensors;

    /// The crate's types, each with the number of bits of an element.
    const DTYPES: [Dtype; 22] = [
        Dtype::BOOL,
        Dtype::F4,
        Dtype::F6_E2M3,
        Dtype::F6_E3M2,
        Dtype::U8,
        Dtype::I8,
        Dtype::F8_E5M2,
        Dtype::F8_E4M3,
        Dtype::F8_E8M0,
        Dtype::F8_E4M3FNUZ,
        Dtype::F8_E5M2FNUZ,
        Dtype::I16,
        Dtype::U16,
        Dtype::F16,
        Dtype::BF16,
        Dtype::I32,
        Dtype::U32,
        Dtype::F32,
        Dtype::C64,
        Dtype::F64,
        Dtype::I64,
        Dtype::U64,
    ];

    fn bytes_of<T: Element>(slice: &[T]) -> &[u8] {
        BufferView::from(slice).as_bytes()
    }

    fn tensor<'a, T: Element>(slice: &'a [T], shape: &[usize]) -> TensorView<'a> {
        TensorView::new(their_dtype(&T::dtype()).unwrap(), shape.to_vec(), bytes_of(slice)).unwrap()
    }

    #[test]
    fn every_dtype_of_the_crate_is_ours_or_refused_by_name() {
        let mut refused = Vec::new();
        for theirs in DTYPES {
            match dtype_of(theirs) {
                Ok(ours) => {
                    assert_eq!(8 * ours.itemsize(), theirs.bitsize(), "{theirs}");
                    assert_eq!(their_dtype(&ours).unwrap(), theirs);
                    let turned = their_dtype(&ours.swapped());
                    assert_eq!(turned.is_err_and(|error| error.is_unsupported()), ours.itemsize() > 1);
                }
                Err(error) => {
                    assert!(error.is_unsupported());
                    let (text, bits) = (error.to_string(), theirs.bitsize());
                    assert!(text.contains(&format!("of {theirs} have {bits} bits")), "{text}");
                    let ours = StoredType::named(&theirs.to_string()).unwrap().dtype;
                    assert!(their_dtype(&ours).unwrap_err().is_unsupported());
                    refused.push(theirs);
                }
            }
        }
        assert_eq!(refused, [Dtype::F4, Dtype::F6_E2M3, Dtype::F6_E3M2]);
        assert_eq!(dtype_of(Dtype::F8_E4M3).unwrap().to_string(), "float8_e4m3fn");
        assert!(their_dtype(&DType::C128).unwrap_err().is_unsupported());
    }

    #[test]
    fn tensors_are_seen_in_place() {
        let data = [1.5f32, 2.5, 3.5, 4.5, 5.5, 6.5];
        let view = ArrayView::<f32, 2>::try_from(tensor(&data, &[2, 3])).unwrap();
        assert_eq!((view.as_ptr(), view.shape(), view[[1, 0]]), (data.as_ptr(), &[2, 3], 4.5));
        let view = ArrayView::<f32, 0>::try_from(&tensor(&data[5..], &[])).unwrap();
        assert_eq!((view.as_ptr(), view[[]]), (&raw const data[5], 6.5));
        let view = ArrayView::<f32, 4>::try_from(tensor(&data[..1], &[1, 1, 1, 1])).unwrap();
        assert_eq!(view[[0, 0, 0, 0]], 1.5);
        for shape in [[0, 3], [3, 0], [0, 0]] {
            let view = ArrayView::<f32, 2>::try_from(tensor(&data[..0], &shape)).unwrap();
            assert_eq!((view.shape(), view.iter().next()), (&shape, None));
        }
        let flags = TensorView::new(Dtype::BOOL, vec![3], &[0, 1, 1]).unwrap();
        assert!(ArrayView::<Bool8, 1>::try_from(flags).unwrap()[[2]].get());
    }

    #[test]
    fn tensors_of_another_dtype_rank_or_alignment_are_refused() {
        let data = [1u32, 2, 3, 4];
        let theirs = tensor(&data, &[2, 2]);
        let error = ArrayView::<i32, 2>::try_from(&theirs).unwrap_err();
        assert!(error.is_dtype() && error.to_string().contains("uint32, not int32"), "{error}");
        let error = ArrayView::<u32, 1>::try_from(&theirs).unwrap_err();
        assert!(error.is_shape() && error.to_string().contains("[2, 2] has rank 2, not 1"), "{error}");
        let packed = TensorView::new(Dtype::F4, vec![4], &[0, 1]).unwrap();
        let error = ArrayView::<u8, 1>::try_from(packed).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains("F4"), "{error}");

        let bytes = &bytes_of(&data)[1..13];
        let unaligned = TensorView::new(Dtype::U32, vec![3], bytes).unwrap();
        let error = ArrayView::<u32, 1>::try_from(&unaligned).unwrap_err();
        let address = format!("{:#x}", bytes.as_ptr().addr());
        assert!(error.is_alignment() && error.to_string().contains(&address), "{error}");
        let anywhere = ArrayView::<Le<u32>, 1>::try_from(&unaligned).unwrap();
        assert_eq!(anywhere[[0]].get(), u32::from_le_bytes(bytes[..4].try_into().unwrap()));

        let endless = TensorView::new(Dtype::U8, vec![usize::MAX, 0], &[]).unwrap();
        assert!(ArrayView::<u8, 2>::try_from(&endless).unwrap_err().is_overflow());
    }

    /// A file in memory: an `f32` matrix, a `u8` that misaligns it, and an empty tensor.
    fn file() -> Buffer {
        let (weights, nothing) = ([0.5f32, 1.5, 2.5, 3.5, 4.5, 5.5], [0u16; 0]);
        let tensors = [
            ("weights", tensor(&weights, &[2, 3])),
            ("byte", tensor(&[7u8], &[])),
            ("nothing", tensor(&nothing, &[4, 0])),
        ];
        let mut file = safetensors::serialize(tensors, None).unwrap();
        file.insert(0, 0);
        Buffer::from_vec(file).unwrap().slice(1..).unwrap()
    }

    #[test]
    fn a_tensor_of_a_buffer_is_an_array_that_keeps_the_buffer() {
        let file = file();
        let bytes = file.read().unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let weights = tensors.tensor("weights").unwrap();
        assert!(!weights.data().as_ptr().addr().is_multiple_of(4), "else the next lines try less");
        assert!(ArrayView::<f32, 2>::try_from(&weights).unwrap_err().is_alignment());
        let array = DArray::try_from((&file, &weights)).unwrap();
        let byte = DArray::try_from((&file, &tensors.tensor("byte").unwrap())).unwrap();
        let nothing = DArray::try_from((&file, &tensors.tensor("nothing").unwrap())).unwrap();
        assert_eq!((array.as_ptr(), array.shape()), (weights.data().as_ptr(), &[2, 3][..]));
        assert_eq!((nothing.shape(), nothing.nbytes()), (&[4, 0][..], 0));
        let elsewhere = Buffer::zeroed(1000).unwrap();
        let part = file.slice(..file.nbytes() - 2).unwrap();
        for buffer in [&elsewhere, &part] {
            let error = DArray::try_from((buffer, &weights)).unwrap_err();
            assert!(error.is_bounds() && error.to_string().contains("the 24 bytes"), "{error}");
        }
        assert!(DArray::try_from((&elsewhere, &tensors.tensor("nothing").unwrap())).unwrap().is_empty());
        drop(tensors);
        drop((bytes, file, part));
        assert_eq!(array.get(&[1, 2]).unwrap().as_f64(), Some(5.5));
        assert_eq!(byte.get(&[]).unwrap().as_i64(), Some(7));
    }

    #[test]
    fn views_are_tensors_in_place_where_they_are_row_major() {
        let array = Array::from_vec((0..12i16).collect(), [3, 4]).unwrap();
        let guard = array.read().unwrap();
        let ours = guard.view().slice(s![1.., ..]).unwrap();
        let theirs = TensorView::try_from(ours).unwrap();
        assert_eq!((theirs.dtype(), theirs.shape()), (Dtype::I16, &[2, 4][..]));
        assert_eq!(theirs.data().as_ptr(), ours.as_ptr().cast());
        let back = ArrayView::<i16, 2>::try_from(theirs).unwrap();
        assert_eq!((back.as_ptr(), back.strides()), (ours.as_ptr(), ours.strides()));
        assert_eq!(TensorView::try_from(guard.view().slice(s![3.., ..]).unwrap()).unwrap().shape(), [0, 4]);
        assert_eq!(TensorView::try_from(guard.view().slice(s![2, 3]).unwrap()).unwrap().data(), [11, 0]);

        let broadcast = ours.slice(s![0..1, ..]).unwrap().broadcast_to([5, 4]).unwrap();
        for (view, strides) in [
            (guard.view().transpose(), "[2, 8]"),
            (guard.view().slice(s![..;-1, ..]).unwrap(), "[-8, 2]"),
            (guard.view().slice(s![.., 1..]).unwrap(), "[8, 2]"),
            (broadcast, "[0, 2]"),
        ] {
            let error = TensorView::try_from(view).unwrap_err();
            assert!(error.is_layout() && error.to_string().contains(strides), "{error}");
        }
        let big = [Be::new(1u16)];
        let error = TensorView::try_from(ArrayView::from_slice(&big, [1]).unwrap()).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains("little-endian"), "{error}");
        let pairs = [[1u8, 2]];
        assert!(
            TensorView::try_from(ArrayView::from_slice(&pairs, [1]).unwrap()).unwrap_err().is_unsupported()
        );
    }

    #[test]
    fn arrays_of_any_dtype_and_rank_are_written_from_where_they_lie() {
        let (ids, scale) =
            (Array::from_vec(vec![3u64, 5], [2]).unwrap(), Array::from_vec(vec![0.5f32], []).unwrap());
        let flags = DArray::from(Array::from_vec(vec![1i8, 0, 1, 1], [2, 2]).unwrap());
        let tensors = [
            ("ids", LeasedTensor::new(&ids, CopyPolicy::Never).unwrap()),
            ("scale", LeasedTensor::new(&scale, CopyPolicy::Never).unwrap()),
            ("flags", LeasedTensor::new(&flags, CopyPolicy::Never).unwrap()),
        ];
        for ((_, tensor), address) in tensors.iter().zip([ids.as_ptr().addr(), scale.as_ptr().addr()]) {
            let Cow::Borrowed(bytes) = tensor.data() else { panic!("copied") };
            assert_eq!((bytes.as_ptr().addr(), bytes.len()), (address, tensor.data_len()));
        }
        assert!(ids.write().unwrap_err().is_conflict(), "leased until it is written");
        let file =
            safetensors::serialize(tensors.iter().map(|(name, tensor)| (*name, tensor)), None).unwrap();
        drop(tensors);
        assert!(ids.write().is_ok());

        let theirs = SafeTensors::deserialize(&file).unwrap();
        let back = theirs.tensor("ids").unwrap();
        assert_eq!((back.dtype(), back.shape(), back.data()), (Dtype::U64, &[2][..], bytes_of(&[3u64, 5])));
        assert_eq!(theirs.tensor("scale").unwrap().shape(), [0usize; 0]);
        assert_eq!(theirs.tensor("flags").unwrap().data(), [1, 0, 1, 1]);
    }

    #[test]
    fn what_does_not_lie_so_is_refused_or_copied_where_that_is_permitted() {
        let columns = Array::from_vec(vec![1u16, 2, 3, 4, 5, 6], [2, 3]).unwrap().transpose();
        let error = LeasedTensor::new(&columns, CopyPolicy::Never).unwrap_err();
        assert!(error.is_refused(), "{error}");
        let before = copied_bytes_here();
        let copy = LeasedTensor::new(&columns, CopyPolicy::IfNeeded).unwrap();
        assert!(copied_bytes_here() >= before + 12, "{} bytes are counted", copied_bytes_here() - before);
        assert_eq!((copy.shape(), copy.data().as_ref()), (&[3, 2][..], bytes_of(&[1u16, 4, 2, 5, 3, 6])));
        assert_eq!(copy.view().grant().copied_nbytes(), 12);

        let aliased = Array::<u16, 1>::from_buffer(Buffer::shared(4).unwrap(), [2]).unwrap();
        assert!(LeasedTensor::new(&aliased, CopyPolicy::Never).unwrap_err().is_refused());
        assert_eq!(LeasedTensor::new(&aliased, CopyPolicy::IfNeeded).unwrap().data().as_ref(), [0; 4]);
        let always = LeasedTensor::new(&columns.transpose(), CopyPolicy::Always).unwrap();
        assert_eq!(always.view().grant().copied_nbytes(), 12);

        // An array whose dtype the format does not have is refused for that reason, and not copied
        // first.
        let big = Array::from_vec((0..6).map(Be::<u16>::new).collect(), [2, 3]).unwrap();
        for copy in [CopyPolicy::Never, CopyPolicy::IfNeeded, CopyPolicy::Always] {
            for array in [&big, &big.transpose()] {
                let error = LeasedTensor::new(array, copy).unwrap_err();
                assert!(error.is_unsupported() && error.to_string().contains("little-endian"), "{error}");
            }
        }
    }

    #[test]
    fn a_view_becomes_a_tensor_under_its_lease_or_comes_back() {
        let rows = Array::from_vec(vec![1u16, 2, 3, 4, 5, 6], [2, 3]).unwrap();
        let pinned = rows.export(&Request::pin()).unwrap();
        let Rejected { value, error } = LeasedTensor::try_from(pinned).unwrap_err();
        assert!(error.is_conflict() && value.shape() == [2, 3], "{error}");
        drop(value);
        let columns = rows.transpose();
        let read = columns.export(&Request::read()).unwrap();
        let Rejected { value, error } = LeasedTensor::try_from(read).unwrap_err();
        assert!(error.is_layout() && error.to_string().contains("[2, 6]"), "{error}");
        assert_eq!(value.as_view::<u16, 2>().unwrap()[[1, 1]], 5);
        drop(value);
        let written = LeasedTensor::try_from(rows.export(&Request::write()).unwrap()).unwrap();
        assert_eq!(format!("{written:?}").split(',').next(), Some("LeasedTensor(U16"));
        assert!(rows.read().unwrap_err().is_conflict());
        drop(written.into_view());
        assert!(rows.read().is_ok());
    }

    /// The crate is the reference of the format: each implementation reads the files of the other.
    #[cfg(feature = "safetensors")]
    #[test]
    fn files_of_the_crate_and_ours_are_read_by_each_other() {
        use crate::exchange::files::safetensors::from_buffer;
        use crate::exchange::files::{Format, SaveOptions};

        let arrays = [
            ("f64", DArray::from(Array::from_vec(vec![0.5f64, -1.0, 2.0, 3.0], [2, 2]).unwrap())),
            ("i16", DArray::from(Array::from_vec(vec![-1i16, 2, 3], [3]).unwrap())),
            ("bool", DArray::from(Array::from_vec(vec![Bool8::from(true)], []).unwrap())),
            ("none", DArray::from(Array::<u32, 2>::from_vec(vec![], [0, 7]).unwrap())),
        ];
        let leased = |array| LeasedTensor::new(array, CopyPolicy::Never).unwrap();
        let theirs = safetensors::serialize(arrays.iter().map(|(name, array)| (*name, leased(array))), None);
        let read = from_buffer(Buffer::from_vec(theirs.unwrap()).unwrap()).unwrap();
        let mut ours = Vec::new();
        let options = SaveOptions::new().format(Format::Safetensors).metadata("format", "pt");
        options.write(&mut ours, &arrays).unwrap();
        let file = Buffer::from_vec(ours).unwrap();
        let bytes = file.read().unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!((read.entries().len(), tensors.len()), (arrays.len(), arrays.len()));
        for (name, array) in &arrays {
            assert!(read.get(name).unwrap().open().unwrap().equals(array).unwrap(), "{name}");
            let tensor = tensors.tensor(name).unwrap();
            assert!(DArray::try_from((&file, &tensor)).unwrap().equals(array).unwrap(), "{name}");
        }
    }
}
