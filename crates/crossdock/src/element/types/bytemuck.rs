//! To and from the traits of the `bytemuck` crate.

use std::fmt;

use crate::element::{Be, Bool8, DType, Element, Le, MultiByte, ScalarKind};
use crate::memory::Pod;

// SAFETY: one byte, of which every pattern is a value.
unsafe impl ::bytemuck::Zeroable for Bool8 {}
// SAFETY: as above: `Pod` says the same as ours.
unsafe impl ::bytemuck::Pod for Bool8 {}

// SAFETY: an array of bytes, as transparent as it.
unsafe impl<T: MultiByte> ::bytemuck::Zeroable for Be<T> {}
// SAFETY: as above: `Pod` says the same as ours.
unsafe impl<T: MultiByte> ::bytemuck::Pod for Be<T> {}

// SAFETY: an array of bytes, as transparent as it.
unsafe impl<T: MultiByte> ::bytemuck::Zeroable for Le<T> {}
// SAFETY: as above: `Pod` says the same as ours.
unsafe impl<T: MultiByte> ::bytemuck::Pod for Le<T> {}

/// A type of another crate as an element: whatever `bytemuck` knows to be plain data is one. Its
/// dtype says only how many bytes there are (`V12`), so that others can pass it on but not read it.
///
/// `TransparentWrapper` and `TransparentWrapperAlloc` of that crate wrap and peel slices and
/// vectors in place. Where the bytes have a meaning that a dtype can say, cast to that instead
/// (`bytemuck::cast_vec::<Vec3, [f32; 3]>`), and others can read them, too.
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

// SAFETY: as transparent as `T`.
unsafe impl<T> ::bytemuck::TransparentWrapper<T> for Plain<T> {}

// SAFETY: `bytemuck` says of `T` what is asked here: 1. every pattern is a value, 2. no padding, 3.
// no pointers and no interior mutability.
unsafe impl<T: ::bytemuck::Pod + Send + Sync> Pod for Plain<T> {}

// SAFETY: 1. and 2. as many bytes as `T` has, of which the dtype says nothing.
unsafe impl<T: ::bytemuck::Pod + Send + Sync> Element for Plain<T> {
    fn dtype() -> DType {
        const { assert!(size_of::<T>() <= ScalarKind::MAX_NBYTES, "wider than one scalar may be") };
        match DType::void(size_of::<T>()) {
            Ok(dtype) => dtype,
            Err(error) => panic!("{} has no dtype: {error}", std::any::type_name::<T>()),
        }
    }
}

// SAFETY: as transparent as `T`.
unsafe impl<T: ::bytemuck::Zeroable> ::bytemuck::Zeroable for Plain<T> {}
// SAFETY: as transparent as `T`.
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
