//! Arrow's PyCapsule interface, imports and exports: capsules around the library's structs.

mod export;
pub(crate) mod import;

use std::ffi::CStr;

use crossdock::bindings::arrow::abi::{ArrowArray, ArrowDeviceArray, ArrowSchema};
use crossdock::bindings::arrow::{ArrowArrayStream, ArrowDeviceArrayStream};

pub(crate) use export::{ArrowColumn, array, device_array, schema};
pub(crate) use import::{Elements, Failure, Wanted, copied, is_offered, is_read_once, lend, take};
pub(crate) use import::{has_python_objects, joined, pair, spent};

use crate::capsule::Boxed;

macro_rules! boxed {
    ($($name:literal $ty:ty, $released:expr;)*) => {
        $(impl Boxed for $ty {
            const NAME: &'static CStr = $name;

            fn release(&mut self) {
                let released = $released(self);
                if let Some(release) = released.release {
                    // SAFETY: `release` is not null, so the struct was neither released nor moved.
                    // `Boxed::release` is called once, when the capsule goes.
                    unsafe { release(released) }
                }
            }
        })*
    };
}

boxed! {
    c"arrow_schema" ArrowSchema, std::convert::identity::<&mut Self>;
    c"arrow_array" ArrowArray, std::convert::identity::<&mut Self>;
    c"arrow_array_stream" ArrowArrayStream, std::convert::identity::<&mut Self>;
    c"arrow_device_array" ArrowDeviceArray, device_column;
    c"arrow_device_array_stream" ArrowDeviceArrayStream, std::convert::identity::<&mut Self>;
}

fn device_column(it: &mut ArrowDeviceArray) -> &mut ArrowArray {
    &mut it.array
}
