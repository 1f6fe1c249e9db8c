//! Implements the traits of the `bytemuck` crate.

use std::fmt;

use crate::element::{Be, Bool8, DType, Element, Le, MultiByte, ScalarKind};
use crate::memory::Pod;

// SAFETY: `Bool8` is a transparent `u8`, for which every bit pattern, zero included, is a valid
// value.
unsafe impl ::bytemuck::Zeroable for Bool8 {}
// SAFETY: `Bool8` is a transparent `u8`: every bit pattern is valid, without padding, pointers or
// interior mutability (Pod 1 to 3).
unsafe impl ::bytemuck::Pod for Bool8 {}

// SAFETY: `Be<T>` is a transparent `T::Bytes`, which is an array of `u8` for every `MultiByte`
// (sealed), so zero bytes are a value.
unsafe impl<T: MultiByte> ::bytemuck::Zeroable for Be<T> {}
// SAFETY: `Be<T>` is a transparent array of `u8`: every bit pattern is valid, without padding,
// pointers or interior mutability (Pod 1 to 3).
unsafe impl<T: MultiByte> ::bytemuck::Pod for Be<T> {}

// SAFETY: `Le<T>` is a transparent `T::Bytes`, which is an array of `u8` for every `MultiByte`
// (sealed), so zero bytes are a value.
unsafe impl<T: MultiByte> ::bytemuck::Zeroable for Le<T> {}
// SAFETY: `Le<T>` is a transparent array of `u8`: every bit pattern is valid, without padding,
// pointers or interior mutability (Pod 1 to 3).
unsafe impl<T: MultiByte> ::bytemuck::Pod for Le<T> {}

/// A foreign type as an element: any type that `bytemuck` declares as plain data. Its dtype gives
/// only the number of bytes (`V12`), so consumers can pass it on but not interpret it.
///
/// `TransparentWrapper` and `TransparentWrapperAlloc` of that crate wrap and unwrap slices and
/// vectors in place. If a dtype can describe the bytes, cast to that instead
/// (`bytemuck::cast_vec::<Vec3, [f32; 3]>`), so consumers can interpret them.
///
/// ```
/// use bytemuck::{TransparentWrapper as _, TransparentWrapperAlloc as _};
/// use crossdock::{Array, element::Plain};
///
/// #[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
/// #[repr(C)]
/// struct Vec3 { x: f32, y: f32, z: f32 } // of a crate that does not know this one
///
/// let corners = vec![Vec3 { x: 0.0, y: 1.0, z: 2.0 }, Vec3 { x: 3.0, y: 4.0, z: 5.0 }];
/// let array = Array::from_vec(Plain::wrap_vec(corners), [2])?; // adopted, not copied
/// assert_eq!(array.dtype().to_string(), "V12");
/// let guard = array.read()?;
/// let corners: &[Vec3] = Plain::peel_slice(guard.as_slice().unwrap());
/// assert_eq!(corners[1].y, 4.0);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Plain<T>(pub T);

// SAFETY: `Plain<T>` is `#[repr(transparent)]` with a single field of type `T`.
unsafe impl<T> ::bytemuck::TransparentWrapper<T> for Plain<T> {}

// SAFETY: `Plain<T>` is a transparent `T`, and `bytemuck::Pod` guarantees for `T`: 1. every bit
// pattern is a value, 2. no padding, 3. no pointers and no interior mutability.
unsafe impl<T: ::bytemuck::Pod + Send + Sync> Pod for Plain<T> {}

// SAFETY: 1. the dtype has `size_of::<T>()` bytes; 2. it describes them as opaque, which every `T`
// is.
unsafe impl<T: ::bytemuck::Pod + Send + Sync> Element for Plain<T> {
    fn dtype() -> DType {
        const { assert!(size_of::<T>() <= ScalarKind::MAX_NBYTES, "wider than one scalar may be") };
        match DType::void(size_of::<T>()) {
            Ok(dtype) => dtype,
            Err(error) => panic!("{} has no dtype: {error}", std::any::type_name::<T>()),
        }
    }
}

// SAFETY: `Plain<T>` is a transparent `T`, for which zero bytes are a valid value (`T: Zeroable`).
unsafe impl<T: ::bytemuck::Zeroable> ::bytemuck::Zeroable for Plain<T> {}
// SAFETY: `Plain<T>` is a transparent `T`, so it has every property that `bytemuck` requires of `T:
// Pod`.
unsafe impl<T: ::bytemuck::Pod> ::bytemuck::Pod for Plain<T> {}

impl<T> From<T> for Plain<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T: fmt::Debug> fmt::Debug for Plain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
