//! Whether the crate `ndarray` accepts an array as a view of cells, which another party may write.

use ndarray::{ArrayView, Dim};

use crate::array::{Array, DArray};
use crate::element::{DType, Element};
use crate::error::Error;
use crate::memory::racy::Pinned;
use crate::view::{Reason, Refusal, Request};

/// The number types of Rust.
const NUMBERS: [DType; 10] = [
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::F32,
    DType::F64,
];

/// Requests a view of `ndarray`, which has static types: here for numbers and up to 6 axes. Of the
/// type, only its size and its alignment matter: one number type of each size stands for all.
pub(super) fn view(array: &DArray) -> Result<(), Refusal> {
    if !NUMBERS.contains(array.dtype()) {
        return Err(unsupported(format!("{} is not a number type of Rust", array.dtype().brief())));
    }
    match array.dtype().itemsize() {
        1 => of_type::<u8>(array),
        2 => of_type::<u16>(array),
        4 => of_type::<u32>(array),
        _ => of_type::<u64>(array),
    }
}

fn of_type<T: Element>(array: &DArray) -> Result<(), Refusal> {
    macro_rules! ask {
        ($($rank:literal)*) => {
            match array.rank() {
                $($rank => {
                    let pin = Array::<T, $rank>::try_from(array.view_as(&T::dtype())?).map_err(Error::from)?.pin()?;
                    ArrayView::<Pinned<T>, Dim<[usize; $rank]>>::try_from(&pin)?;
                    Ok(())
                })*
                rank => Err(unsupported(format!("views of ndarray have at most 6 axes here; this array has {rank}"))),
            }
        };
    }
    ask!(0 1 2 3 4 5 6)
}

fn unsupported(why: String) -> Refusal {
    Refusal::new(&Request::pin(), Reason::Unsupported(why.into()))
}
