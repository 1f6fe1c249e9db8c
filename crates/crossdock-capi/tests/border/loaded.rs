//! The shared library, loaded at run time: its functions by the names and types in the header.

use std::ffi::{CString, c_void};
use std::sync::OnceLock;

use crate::toolchain::shared_library;

/// The address of a function in the library, which stays loaded.
pub(crate) fn address(name: &str) -> *mut c_void {
    static HANDLE: OnceLock<usize> = OnceLock::new();
    let handle = *HANDLE.get_or_init(|| {
        let path = shared_library();
        let path = CString::new(path.to_str().expect("a path in UTF-8")).expect("no zero in it");
        // SAFETY: the path is a C string, and the library's only constructors are those of the
        // standard library.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "{path:?} does not load");
        handle.expose_provenance()
    });
    let name = CString::new(name).expect("no zero in it");
    // SAFETY: the handle is from `dlopen` and never closed, and the name is a C string.
    let address = unsafe { libc::dlsym(std::ptr::with_exposed_provenance_mut(handle), name.as_ptr()) };
    assert!(!address.is_null(), "{name:?}");
    address
}

/// Defines a struct of functions, with a function `load` that looks them up.
macro_rules! library {
    ($library:ident: $($name:ident: fn($($parameter:ty),*) $(-> $result:ty)?;)*) => {
        /// Functions of the loaded library.
        struct $library {
            $($name: unsafe extern "C" fn($($parameter),*) $(-> $result)?,)*
        }

        impl $library {
            fn load() -> Self {
                Self { $($name: {
                    let address = $crate::loaded::address(stringify!($name));
                    // SAFETY: both are of pointer size, and the type is the Rust form of the
                    // prototype that the header declares under this name.
                    unsafe { std::mem::transmute_copy(&address) }
                },)* }
            }
        }
    };
}
pub(crate) use library;
