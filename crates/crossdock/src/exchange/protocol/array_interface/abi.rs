//! The C struct of NumPy's array interface, as a capsule from `__array_struct__` holds it. Source:
//! `numpy/ndarraytypes.h` of NumPy 2.4, on a machine with 64-bit pointers.
//!
//! The names are the header's. In the wheel's tests, NumPy fills in such structs and reads those of
//! this library.

use core::ffi::{c_char, c_int, c_void};

/// In [`PyArrayInterface::flags`]: the elements are C-contiguous (row-major).
pub const C_CONTIGUOUS: c_int = 1;
/// The elements are Fortran-contiguous (column-major).
pub const F_CONTIGUOUS: c_int = 2;
/// The elements are aligned.
pub const ALIGNED: c_int = 0x100;
/// The byte order is native.
pub const NOTSWAPPED: c_int = 0x200;
/// The elements are writable.
pub const WRITEABLE: c_int = 0x400;
/// `descr` describes the type further.
pub const HAS_DESCR: c_int = 0x800;

/// An array of a producer. The struct has no release function: the consumer keeps the object from
/// which it came.
#[derive(Debug)]
#[repr(C)]
pub struct PyArrayInterface {
    /// 2: consumers check it first.
    pub two: c_int,
    /// The number of axes.
    pub nd: c_int,
    /// The letter of a type string.
    pub typekind: c_char,
    /// The number of bytes of one element.
    pub itemsize: c_int,
    /// [`WRITEABLE`], [`NOTSWAPPED`] and the others.
    pub flags: c_int,
    /// `nd` lengths.
    pub shape: *mut isize,
    /// `nd` strides in bytes, or null for row-major order.
    pub strides: *mut isize,
    /// The address of element 0.
    pub data: *mut c_void,
    /// A Python object, with [`HAS_DESCR`]; otherwise undefined.
    pub descr: *mut c_void,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<PyArrayInterface>() == 56 && offset_of!(PyArrayInterface, nd) == 4);
    assert!(offset_of!(PyArrayInterface, typekind) == 8 && offset_of!(PyArrayInterface, itemsize) == 12);
    assert!(offset_of!(PyArrayInterface, flags) == 16 && offset_of!(PyArrayInterface, shape) == 24);
    assert!(offset_of!(PyArrayInterface, strides) == 32 && offset_of!(PyArrayInterface, data) == 40);
    assert!(offset_of!(PyArrayInterface, descr) == 48);
};
