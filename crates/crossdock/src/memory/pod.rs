//! Types whose bytes are their value.
//!
//! Reasons: `DESIGN.md`, "`Pod` and `Element` are two traits".

/// Plain old data: every bit pattern of `size_of::<Self>()` bytes is a value, and no byte of a
/// value is padding.
///
/// It makes a view of bytes as `&[T]`, and of `&[T]` as bytes, sound. Excluded are `bool`, `char`
/// and enums (not every pattern is a value), structs with padding (their bytes may be
/// uninitialised), references, and types with interior mutability. `#[derive(Element)]` (feature
/// `derive`) implements it for structs and proves both halves.
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
            // SAFETY: a primitive number. Clause 1: every bit pattern is a value. Clause 2: it has
            // one part, hence no padding. Clause 3: it is neither a cell nor a pointer.
            unsafe impl Pod for $ty {}
        )*
    };
}

pod!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64);

// SAFETY: clauses 1 and 3 hold because `T: Pod`. Clause 2: an array has no bytes beside those of
// its elements.
unsafe impl<T: Pod, const N: usize> Pod for [T; N] {}
