//! The complex numbers of the `num-complex` crate.

use ::num_complex::Complex;

use crate::element::types::marked::sealed::ByteArrays;
use crate::element::types::marked::{MultiByte, out_of_marked};
use crate::element::{DType, Element, Value};
use crate::memory::Pod;

// SAFETY: two fields of type `T` (`repr(C)`): 1. and 3. hold because they hold for `T`; 2. the
// fields have equal size and alignment, so there is no padding.
unsafe impl<T: Pod> Pod for Complex<T> {}

macro_rules! complex {
    ($($ty:ty = $name:ident),*) => {
        $(
            // SAFETY: 1. and 2. `repr(C)` places the real part before the imaginary part, in native
            // byte order, as the dtype describes.
            unsafe impl Element for Complex<$ty> {
                fn dtype() -> DType {
                    DType::native(crate::element::ScalarKind::$name)
                }
            }

            impl From<Complex<$ty>> for Value {
                fn from(number: Complex<$ty>) -> Self {
                    Self::Complex { re: number.re.into(), im: number.im.into() }
                }
            }

            impl MultiByte for Complex<$ty> {}

            // The parts keep their order; each is byte-swapped separately.
            impl ByteArrays for Complex<$ty> {
                type Bytes = [u8; 2 * size_of::<$ty>()];

                #[inline]
                fn to_big(self) -> Self::Bytes {
                    join(self.re.to_be_bytes(), self.im.to_be_bytes())
                }

                #[inline]
                fn to_little(self) -> Self::Bytes {
                    join(self.re.to_le_bytes(), self.im.to_le_bytes())
                }

                #[inline]
                fn from_big(bytes: Self::Bytes) -> Self {
                    let [re, im] = split(bytes).map(<$ty>::from_be_bytes);
                    Self { re, im }
                }

                #[inline]
                fn from_little(bytes: Self::Bytes) -> Self {
                    let [re, im] = split(bytes).map(<$ty>::from_le_bytes);
                    Self { re, im }
                }
            }

            out_of_marked!(Complex<$ty>);
        )*
    };
}

complex!(f32 = Complex64, f64 = Complex128);

#[cfg(feature = "half-2")]
complex!(::half::f16 = Complex32);

#[inline]
fn join<const HALF: usize, const WHOLE: usize>(re: [u8; HALF], im: [u8; HALF]) -> [u8; WHOLE] {
    std::array::from_fn(|index| if index < HALF { re[index] } else { im[index - HALF] })
}

#[inline]
fn split<const HALF: usize, const WHOLE: usize>(bytes: [u8; WHOLE]) -> [[u8; HALF]; 2] {
    std::array::from_fn(|part| std::array::from_fn(|index| bytes[part * HALF + index]))
}
