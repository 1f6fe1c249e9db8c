//! Whether the crate `ndarray` accepts an array as a view of cells, which another party may write.

use ndarray::{ArrayView, Dim};

use crate::array::{Array, DArray};
use crate::dispatch_dtype;
use crate::element::Element;
use crate::error::Error;
use crate::memory::racy::Pinned;
use crate::view::{Reason, Refusal, Request};

/// Requests a view of `ndarray`, which has static types: here for numbers and up to 6 axes. Of the
/// type, only its size and its alignment matter: one number type of each size stands for all.
pub(super) fn view(array: &DArray) -> Result<(), Refusal> {
    match dispatch_dtype!(array.dtype(), T => size_of::<T>()) {
        Ok(1) => of_type::<u8>(array),
        Ok(2) => of_type::<u16>(array),
        Ok(4) => of_type::<u32>(array),
        Ok(_) => of_type::<u64>(array),
        Err(_) => Err(unsupported(format!("{} is not a number type of Rust", array.dtype().brief()))),
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
