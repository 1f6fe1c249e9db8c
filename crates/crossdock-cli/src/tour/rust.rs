//! Consumers in this process that know a Rust type: a typed array, `ndarray`, a view.

use crossdock::element::Element;
use crossdock::memory::Pinned;
use crossdock::memory::copied_bytes;
use crossdock::view::Request;
use crossdock::{Array, DArray};
use ndarray::{Dim, Dimension, IntoDimension};

use crate::failure::Result;
use crate::tour::checksum::Checksum;
use crate::tour::measure::median_ns;
use crate::tour::report::{Handover, Outcome};

/// Elements whose bytes can be summed.
trait Bytes: Element {
    fn add_to(self, checksum: &mut Checksum);
}

/// A consumer that is generic over element type and rank.
trait Typed {
    fn take<T: Bytes, const D: usize>(&self, array: DArray) -> Result<Outcome>
    where
        Dim<[usize; D]>: Dimension,
        [usize; D]: IntoDimension<Dim = Dim<[usize; D]>>;
}

macro_rules! typed {
    ($($ty:ident)*) => {
        $(
            impl Bytes for $ty {
                fn add_to(self, checksum: &mut Checksum) {
                    checksum.add(&self.to_ne_bytes());
                }
            }
        )*

        /// Calls the consumer with the Rust type of the elements.
        fn dispatch(array: &DArray, consumer: &impl Typed) -> Result<Outcome> {
            $(
                if *array.dtype() == $ty::dtype() {
                    return dispatch_rank::<$ty>(array, consumer);
                }
            )*
            Ok(Outcome::Declined(format!("Rust has no number type for {}", array.dtype())))
        }
    };
}

typed!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);

fn dispatch_rank<T: Bytes>(array: &DArray, consumer: &impl Typed) -> Result<Outcome> {
    let array = array.clone();
    match array.rank() {
        0 => consumer.take::<T, 0>(array),
        1 => consumer.take::<T, 1>(array),
        2 => consumer.take::<T, 2>(array),
        3 => consumer.take::<T, 3>(array),
        4 => consumer.take::<T, 4>(array),
        rank => {
            Ok(Outcome::Declined(format!("this consumer supports at most rank 4; the array has rank {rank}")))
        }
    }
}

/// A consumer that takes `Array<T, D>`.
struct TakesArray;

impl Typed for TakesArray {
    fn take<T: Bytes, const D: usize>(&self, array: DArray) -> Result<Outcome> {
        let ns = median_ns(|| Ok(Array::<T, D>::try_from(array.clone()).map_err(crossdock::Error::from)?))?;
        let copied = copied_bytes();
        let typed = Array::<T, D>::try_from(array).map_err(crossdock::Error::from)?;
        let mut checksum = Checksum::default();
        typed.pin()?.values().for_each(|element| element.add_to(&mut checksum));
        Ok(Outcome::Took(Handover {
            dtype: Some(typed.dtype().to_string()),
            shape: Some(typed.shape().to_vec()),
            strides: Some(typed.strides().to_vec()),
            address: typed.as_ptr().addr() as u64,
            pages: None,
            checksum: checksum.finish(),
            bytes_copied: Some(copied_bytes() - copied),
            ns,
        }))
    }
}

/// Lends to a typed array.
pub(crate) fn typed(array: &DArray) -> Result<Outcome> {
    dispatch(array, &TakesArray)
}

/// A consumer that takes `ndarray::ArrayView`. Its elements are cells, since another process may
/// write the file.
struct TakesNdarray;

impl Typed for TakesNdarray {
    fn take<T: Bytes, const D: usize>(&self, array: DArray) -> Result<Outcome>
    where
        Dim<[usize; D]>: Dimension,
        [usize; D]: IntoDimension<Dim = Dim<[usize; D]>>,
    {
        let typed = Array::<T, D>::try_from(array).map_err(crossdock::Error::from)?;
        let lend = |pin: &crossdock::array::ArrayPin<T, D>| -> Result<usize> {
            Ok(ndarray::ArrayView::<Pinned<T>, Dim<[usize; D]>>::try_from(pin)?.len())
        };
        // Declines what `ndarray` cannot express: unaligned elements, and strides that are not
        // multiples of the element size.
        if let Err(refused) = lend(&typed.pin()?) {
            return Ok(Outcome::Declined(refused.to_string()));
        }
        let ns = median_ns(|| lend(&typed.pin()?))?;
        let copied = copied_bytes();
        let pin = typed.pin()?;
        let view = ndarray::ArrayView::<Pinned<T>, Dim<[usize; D]>>::try_from(&pin)?;
        let mut checksum = Checksum::default();
        view.iter().for_each(|cell| cell.load().add_to(&mut checksum));
        let itemsize = size_of::<T>() as isize;
        Ok(Outcome::Took(Handover {
            dtype: Some(T::dtype().to_string()),
            shape: Some(view.shape().to_vec()),
            strides: Some(view.strides().iter().map(|stride| stride * itemsize).collect()),
            address: view.as_ptr().addr() as u64,
            pages: None,
            checksum: checksum.finish(),
            bytes_copied: Some(copied_bytes() - copied),
            ns,
        }))
    }
}

/// Lends to `ndarray`.
pub(crate) fn ndarray(array: &DArray) -> Result<Outcome> {
    dispatch(array, &TakesNdarray)
}

/// Lends to a consumer that knows only `MemoryView`.
pub(crate) fn memory_view(array: &DArray) -> Result<Outcome> {
    let ns = median_ns(|| Ok(crossdock::view(array, Request::pin())?))?;
    let copied = copied_bytes();
    let view = crossdock::view(array, Request::pin())?;
    Ok(Outcome::Took(Handover {
        dtype: Some(view.dtype().to_string()),
        shape: Some(view.shape().to_vec()),
        strides: Some(view.strides().to_vec()),
        address: view.as_ptr().addr() as u64,
        pages: None,
        checksum: Checksum::of_view(&view)?,
        bytes_copied: Some(copied_bytes() - copied),
        ns,
    }))
}
