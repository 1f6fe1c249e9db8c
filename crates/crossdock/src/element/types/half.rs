//! The 16-bit floats of the `half` crate.

use ::half::{bf16, f16};

use crate::element::types::marked::multi_byte;
use crate::element::{DType, Element, Value};
use crate::memory::Pod;

macro_rules! half {
    ($($ty:ty = $name:ident),*) => {
        $(
            // SAFETY: a transparent `u16`: 1. every bit pattern is a value, 2. it has one part and
            // no padding, 3. no pointers and no interior mutability.
            unsafe impl Pod for $ty {}

            // SAFETY: 1. and 2. the dtype is the scalar of the same width and format, in native
            // byte order, like the `u16` inside.
            unsafe impl Element for $ty {
                fn dtype() -> DType {
                    DType::$name
                }
            }

            impl From<$ty> for Value {
                fn from(number: $ty) -> Self {
                    number.to_f64().into()
                }
            }
        )*
    };
}

half!(f16 = F16, bf16 = BF16);

multi_byte!(f16, bf16);
