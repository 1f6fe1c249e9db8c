//! Numbers with the byte order in their type.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::element::{ByteOrder, DType, Element, Value};
use crate::memory::Pod;

/// A number of more than one byte, which [`Be`] and [`Le`] can hold: the integers and floats of the
/// machine, and those of the features `half-2` and `num-complex-0_4`. Sealed.
pub trait MultiByte: Element + sealed::ByteArrays {}

pub(super) mod sealed {
    use crate::memory::Pod;

    pub trait ByteArrays: Sized {
        /// A byte array of the number's size.
        type Bytes: Pod + AsRef<[u8]>;

        fn to_big(self) -> Self::Bytes;
        fn to_little(self) -> Self::Bytes;
        fn from_big(bytes: Self::Bytes) -> Self;
        fn from_little(bytes: Self::Bytes) -> Self;
    }
}

/// For types that have `to_be_bytes` and its relatives.
macro_rules! multi_byte {
    ($($ty:ty),*) => {
        $(
            impl $crate::element::types::marked::MultiByte for $ty {}

            impl $crate::element::types::marked::sealed::ByteArrays for $ty {
                type Bytes = [u8; size_of::<$ty>()];

                #[inline]
                fn to_big(self) -> Self::Bytes {
                    self.to_be_bytes()
                }

                #[inline]
                fn to_little(self) -> Self::Bytes {
                    self.to_le_bytes()
                }

                #[inline]
                fn from_big(bytes: Self::Bytes) -> Self {
                    Self::from_be_bytes(bytes)
                }

                #[inline]
                fn from_little(bytes: Self::Bytes) -> Self {
                    Self::from_le_bytes(bytes)
                }
            }

            $crate::element::types::marked::out_of_marked!($ty);
        )*
    };
}
#[cfg(feature = "half-2")]
pub(super) use multi_byte;

/// From the marked number to the number, for one type at a time: Rust permits no `impl From<Be<T>>
/// for T`.
macro_rules! out_of_marked {
    ($ty:ty) => {
        impl From<$crate::element::Be<$ty>> for $ty {
            #[inline]
            fn from(number: $crate::element::Be<$ty>) -> Self {
                number.get()
            }
        }

        impl From<$crate::element::Le<$ty>> for $ty {
            #[inline]
            fn from(number: $crate::element::Le<$ty>) -> Self {
                number.get()
            }
        }
    };
}
pub(super) use out_of_marked;

multi_byte!(u16, u32, u64, i16, i32, i64, f32, f64);

macro_rules! marked {
    ($(#[$doc:meta])* $name:ident, $order:ident, $to:ident, $from:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub struct $name<T: MultiByte>(T::Bytes);

        impl<T: MultiByte> $name<T> {
            /// The number, in this byte order.
            #[inline]
            pub fn new(number: T) -> Self {
                Self(number.$to())
            }

            /// The number, in the machine's byte order.
            #[inline]
            pub fn get(self) -> T {
                T::$from(self.0)
            }

            /// The bytes in memory order.
            #[inline]
            pub fn as_bytes(&self) -> &[u8] {
                self.0.as_ref()
            }
        }

        // SAFETY: a transparent `T::Bytes`, which is Pod: clauses 1 to 3 hold for it, and the
        // wrapper adds no bytes.
        unsafe impl<T: MultiByte> Pod for $name<T> {}

        // SAFETY: 1. `T::Bytes` has the size of `T`, hence of its dtype; 2. the bytes are in the
        // byte order of the dtype, in which `get` reads them.
        unsafe impl<T: MultiByte> Element for $name<T> {
            fn dtype() -> DType {
                let native = T::dtype();
                if ByteOrder::NATIVE == ByteOrder::$order { native } else { native.swapped() }
            }
        }

        impl<T: MultiByte> From<T> for $name<T> {
            #[inline]
            fn from(number: T) -> Self {
                Self::new(number)
            }
        }

        impl<T: MultiByte + Into<Value>> From<$name<T>> for Value {
            fn from(number: $name<T>) -> Self {
                number.get().into()
            }
        }

        impl<T: MultiByte + Default> Default for $name<T> {
            fn default() -> Self {
                Self::new(T::default())
            }
        }

        /// Compares the numbers: a NaN is unequal to itself.
        impl<T: MultiByte + PartialEq> PartialEq for $name<T> {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                self.get() == other.get()
            }
        }

        impl<T: MultiByte + Eq> Eq for $name<T> {}

        impl<T: MultiByte + PartialEq> PartialEq<T> for $name<T> {
            #[inline]
            fn eq(&self, other: &T) -> bool {
                self.get() == *other
            }
        }

        impl<T: MultiByte + PartialOrd> PartialOrd for $name<T> {
            #[inline]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                self.get().partial_cmp(&other.get())
            }
        }

        impl<T: MultiByte + Ord> Ord for $name<T> {
            #[inline]
            fn cmp(&self, other: &Self) -> Ordering {
                self.get().cmp(&other.get())
            }
        }

        impl<T: MultiByte + Hash> Hash for $name<T> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.get().hash(state);
            }
        }

        impl<T: MultiByte + fmt::Debug> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.get().fmt(f)
            }
        }

        impl<T: MultiByte + fmt::Display> fmt::Display for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.get().fmt(f)
            }
        }
    };
}

marked! {
    /// A number whose most significant byte comes first, at any address: network order, NumPy's
    /// `>`.
    ///
    /// Its alignment is 1, so headers and packed records are plain `#[repr(C)]` structs of such
    /// fields, which can be referenced in place. `get` costs a load and at most a byte swap. (For
    /// unaligned numbers in native byte order, use [`Le`] on a little-endian machine and [`Be`] on
    /// a big-endian one: the dtype is the same.)
    ///
    /// ```
    /// use crossdock::element::{Be, DType};
    /// use crossdock::{Array, DArray, buffer::Buffer, layout::Layout};
    ///
    /// let wire = Buffer::from_vec(vec![0u8, 0, 1, 2, 0xff, 0xff, 0xff, 0xfe, 9])?; // from a socket, say
    /// let layout = Layout::new(&[2], &[4], 4)?;
    /// let array = DArray::from_buffer(wire, DType::I32.swapped(), layout, 0)?;
    /// # if cfg!(target_endian = "little") {
    /// let numbers = Array::<Be<i32>, 1>::try_from(array)?;
    /// assert_eq!(numbers.read()?.iter().map(|number| number.get()).collect::<Vec<_>>(), [258, -2]);
    /// # }
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    Be, Big, to_big, from_big
}

marked! {
    /// A number whose least significant byte comes first, at any address: most file formats,
    /// NumPy's `<`.
    ///
    /// The little-endian counterpart of [`Be`]: the alignment is 1.
    Le, Little, to_little, from_little
}
