//! The library's declarations of DLPack's structs against the header of `apache-tvm-ffi`.

use std::fmt::Write as _;

use crossdock::bindings::dialect::dlpack::code;
use crossdock::bindings::dlpack::abi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, IS_COPIED,
    IS_SUBBYTE_TYPE_PADDED, READ_ONLY, VERSION,
};
use crossdock::bindings::dlpack::{DLPackExchangeAPI, DLPackExchangeAPIHeader};
use crossdock::memory::DeviceKind;

use crate::c_header::{Header, structs};

/// The assertions, one per line.
fn assertions() -> String {
    let mut text = structs! { "":
        DLPackVersion { major, minor }
        DLDevice { device_type, device_id }
        DLDataType { code, bits, lanes }
        DLTensor { data, device, ndim, dtype, shape, strides, byte_offset }
        DLManagedTensor { dl_tensor, manager_ctx, deleter }
        DLManagedTensorVersioned { version, manager_ctx, deleter, flags, dl_tensor }
        DLPackExchangeAPIHeader { version, prev_api }
        DLPackExchangeAPI {
            header, managed_tensor_allocator, managed_tensor_from_py_object_no_sync,
            managed_tensor_to_py_object_no_sync, dltensor_from_py_object_no_sync, current_work_stream
        }
    };
    let codes = [
        ("kDLInt", code::INT),
        ("kDLUInt", code::UINT),
        ("kDLFloat", code::FLOAT),
        ("kDLOpaqueHandle", code::OPAQUE_HANDLE),
        ("kDLBfloat", code::BFLOAT),
        ("kDLComplex", code::COMPLEX),
        ("kDLBool", code::BOOL),
        ("kDLFloat8_e3m4", code::FLOAT8_E3M4),
        ("kDLFloat8_e4m3", code::FLOAT8_E4M3),
        ("kDLFloat8_e4m3b11fnuz", code::FLOAT8_E4M3B11FNUZ),
        ("kDLFloat8_e4m3fn", code::FLOAT8_E4M3FN),
        ("kDLFloat8_e4m3fnuz", code::FLOAT8_E4M3FNUZ),
        ("kDLFloat8_e5m2", code::FLOAT8_E5M2),
        ("kDLFloat8_e5m2fnuz", code::FLOAT8_E5M2FNUZ),
        ("kDLFloat8_e8m0fnu", code::FLOAT8_E8M0FNU),
        ("kDLFloat6_e2m3fn", code::FLOAT6_E2M3FN),
        ("kDLFloat6_e3m2fn", code::FLOAT6_E3M2FN),
        ("kDLFloat4_e2m1fn", code::FLOAT4_E2M1FN),
    ];
    let devices = [
        ("kDLCPU", DeviceKind::CPU),
        ("kDLCUDA", DeviceKind::CUDA),
        ("kDLCUDAHost", DeviceKind::CUDA_HOST),
        ("kDLOpenCL", DeviceKind::OPENCL),
        ("kDLVulkan", DeviceKind::VULKAN),
        ("kDLMetal", DeviceKind::METAL),
        ("kDLROCM", DeviceKind::ROCM),
        ("kDLROCMHost", DeviceKind::ROCM_HOST),
        ("kDLCUDAManaged", DeviceKind::CUDA_MANAGED),
        ("kDLOneAPI", DeviceKind::ONEAPI),
        ("kDLWebGPU", DeviceKind(15)),
    ];
    let flags = [
        ("DLPACK_FLAG_BITMASK_READ_ONLY", READ_ONLY),
        ("DLPACK_FLAG_BITMASK_IS_COPIED", IS_COPIED),
        ("DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED", IS_SUBBYTE_TYPE_PADDED),
        ("DLPACK_MAJOR_VERSION", VERSION.major.into()),
    ];
    for (name, code) in codes {
        writeln!(text, "SAME({name}, {code});").unwrap();
    }
    for (name, DeviceKind(number)) in devices {
        writeln!(text, "SAME({name}, {number});").unwrap();
    }
    for (name, number) in flags {
        writeln!(text, "SAME({name}, {number});").unwrap();
    }
    text
}

#[test]
fn our_structs_and_numbers_are_the_installed_headers() {
    let header = Header { path: "dlpack/dlpack.h", package: "tvm_ffi", variable: "CROSSDOCK_DLPACK_INCLUDE" };
    header.assert_same(&assertions(), "SAME(sizeof(DLTensor), 49);");
}
