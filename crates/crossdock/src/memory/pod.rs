//! Types whose bytes are their value.

/// Plain old data: every bit pattern of `size_of::<Self>()` bytes is a value, and no byte of a value is padding.
///
/// It is what makes a view of bytes as `&[T]`, and of `&[T]` as bytes, sound. `bool`, `char` and enums are not (not
/// every pattern is a value), neither are structs with padding (their bytes may be uninitialised), references, or
/// anything with interior mutability. `#[derive(Element)]` (feature `derive`) implements it for structs and proves
/// both halves.
///
/// # Safety
///
/// 1. Every bit pattern of `size_of::<Self>()` bytes is a valid value.
/// 2. There is no padding: `size_of::<Self>()` is the sum of the sizes of the parts.
/// 3. There is no interior mutability, and no pointer whose validity matters.
pub unsafe trait Pod: Copy + Send + Sync + 'static {}

macro_rules! pod {
    ($($ty:ty),*) => {
        $(
            // SAFETY: a primitive number: 1. every pattern is a value, 2. one part, 3. a plain value.
            unsafe impl Pod for $ty {}
        )*
    };
}

pod!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64);

// SAFETY: 1. and 3. hold as they hold for `T`; 2. an array has no bytes but those of its elements.
unsafe impl<T: Pod, const N: usize> Pod for [T; N] {}
