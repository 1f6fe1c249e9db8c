//! The library's declarations of Arrow's C structs against the header of `pyarrow`.

use std::fmt::Write as _;

use crossdock::bindings::arrow::abi::{
    ArrowArray, ArrowDeviceArray, ArrowSchema, DICTIONARY_ORDERED, MAP_KEYS_SORTED, NULLABLE,
};
use crossdock::bindings::arrow::{ArrowArrayStream, ArrowDeviceArrayStream};
use crossdock::memory::DeviceKind;

use crate::c_header::{Header, structs};

#[test]
fn our_structs_and_numbers_are_the_installed_headers() {
    let mut text = structs! { "struct ":
        ArrowSchema { format, name, metadata, flags, n_children, children, dictionary, release, private_data }
        ArrowArray {
            length, null_count, offset, n_buffers, n_children, buffers, children, dictionary, release, private_data
        }
        ArrowArrayStream { get_schema, get_next, get_last_error, release, private_data }
        ArrowDeviceArrayStream { device_type, get_schema, get_next, get_last_error, release, private_data }
        ArrowDeviceArray { array, device_id, device_type, sync_event, reserved }
    };
    for (name, number) in [
        ("ARROW_FLAG_DICTIONARY_ORDERED", DICTIONARY_ORDERED),
        ("ARROW_FLAG_NULLABLE", NULLABLE),
        ("ARROW_FLAG_MAP_KEYS_SORTED", MAP_KEYS_SORTED),
        ("ARROW_DEVICE_CPU", DeviceKind::CPU.0.into()),
        ("ARROW_DEVICE_CUDA", DeviceKind::CUDA.0.into()),
        ("ARROW_DEVICE_CUDA_HOST", DeviceKind::CUDA_HOST.0.into()),
        ("ARROW_DEVICE_OPENCL", DeviceKind::OPENCL.0.into()),
        ("ARROW_DEVICE_VULKAN", DeviceKind::VULKAN.0.into()),
        ("ARROW_DEVICE_METAL", DeviceKind::METAL.0.into()),
        ("ARROW_DEVICE_ROCM", DeviceKind::ROCM.0.into()),
        ("ARROW_DEVICE_ROCM_HOST", DeviceKind::ROCM_HOST.0.into()),
        ("ARROW_DEVICE_EXT_DEV", DeviceKind::EXT_DEV.0.into()),
        ("ARROW_DEVICE_CUDA_MANAGED", DeviceKind::CUDA_MANAGED.0.into()),
        ("ARROW_DEVICE_ONEAPI", DeviceKind::ONEAPI.0.into()),
    ] {
        writeln!(text, "SAME({name}, {number});").unwrap();
    }
    let header = Header { path: "arrow/c/abi.h", package: "pyarrow", variable: "CROSSDOCK_ARROW_INCLUDE" };
    header.assert_same(&text, "SAME(sizeof(struct ArrowArray), 81);");
}
