//! The shared library, loaded at run time: its functions by the names and types of the header.

use std::ffi::{CString, c_void};
use std::sync::OnceLock;

use crate::toolchain::shared_library;

/// The address of a function of the library, which stays loaded.
pub(crate) fn address(name: &str) -> *mut c_void {
    static HANDLE: OnceLock<usize> = OnceLock::new();
    let handle = *HANDLE.get_or_init(|| {
        let path = shared_library();
        let path = CString::new(path.to_str().expect("a path in UTF-8")).expect("no zero in it");
        // SAFETY: the library has no constructors but those of the standard library.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "{path:?} does not load");
        handle.expose_provenance()
    });
    let name = CString::new(name).expect("no zero in it");
    // SAFETY: the library stays loaded.
    let address = unsafe { libc::dlsym(std::ptr::with_exposed_provenance_mut(handle), name.as_ptr()) };
    assert!(!address.is_null(), "{name:?}");
    address
}

/// A struct of functions, with a function `load` that finds them.
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
                    // SAFETY: the type in the header, which is compared with that of the library.
                    unsafe { std::mem::transmute_copy(&address) }
                },)* }
            }
        }
    };
}
pub(crate) use library;
