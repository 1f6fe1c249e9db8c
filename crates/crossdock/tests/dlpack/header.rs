//! Our declarations of DLPack's structs against the header that is installed with `apache-tvm-ffi`: a C file with our
//! offsets and numbers as static assertions, which must compile.

use std::fmt::Write as _;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;

use crossdock::element::dialect::dlpack::code;
use crossdock::exchange::protocol::dlpack::abi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, IS_COPIED,
    IS_SUBBYTE_TYPE_PADDED, READ_ONLY, VERSION,
};
use crossdock::memory::DeviceKind;

/// The folder from which `dlpack/dlpack.h` is included, or why there is none.
fn include() -> Result<PathBuf, String> {
    if let Some(folder) = std::env::var_os("CROSSDOCK_DLPACK_INCLUDE") {
        return Ok(folder.into());
    }
    let python = std::env::var_os("CROSSDOCK_PYTHON").unwrap_or_else(|| "python3".into());
    let script = "import importlib.util, os, sys
found = importlib.util.find_spec('tvm_ffi')
sys.exit('there is no package apache-tvm-ffi') if found is None else print(os.path.dirname(found.origin))";
    let output = Command::new(&python)
        .args(["-c", script])
        .output()
        .map_err(|error| format!("{python:?}: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let folder = Path::new(String::from_utf8_lossy(&output.stdout).trim()).join("include");
    let header = folder.join("dlpack/dlpack.h");
    if header.is_file() { Ok(folder) } else { Err(format!("{} is missing", header.display())) }
}

macro_rules! structs {
    ($($name:ident { $($field:ident),* })*) => {{
        let mut text = String::new();
        $(
            writeln!(text, "SAME(sizeof({0}), {1});", stringify!($name), size_of::<$name>()).unwrap();
            $(
                let offset = offset_of!($name, $field);
                writeln!(text, "SAME(offsetof({}, {}), {offset});", stringify!($name), stringify!($field)).unwrap();
            )*
        )*
        text
    }};
}

/// The assertions, one a line.
fn assertions() -> String {
    let mut text = structs! {
        DLPackVersion { major, minor }
        DLDevice { device_type, device_id }
        DLDataType { code, bits, lanes }
        DLTensor { data, device, ndim, dtype, shape, strides, byte_offset }
        DLManagedTensor { dl_tensor, manager_ctx, deleter }
        DLManagedTensorVersioned { version, manager_ctx, deleter, flags, dl_tensor }
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

/// Whether the C file compiles, and what the compiler says.
fn compiles(include: &Path, assertions: &str, name: &str) -> Result<bool, String> {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let text = format!(
        "#include <stddef.h>\n#include <dlpack/dlpack.h>\n\
         #define SAME(a, b) _Static_assert((a) == (b), #a)\n{assertions}"
    );
    std::fs::write(&source, text).map_err(|error| error.to_string())?;
    let output =
        Command::new("cc").args(["-std=c11", "-fsyntax-only", "-I"]).arg(include).arg(&source).output();
    let output = output.map_err(|error| format!("cc: {error}"))?;
    eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    Ok(output.status.success())
}

#[test]
fn our_structs_and_numbers_are_the_installed_headers() {
    let checked = include().and_then(|include| {
        let good = compiles(&include, &assertions(), "dlpack_header.c")?;
        // A check that cannot fail would be none.
        let spoilt = format!("{}SAME(sizeof(DLTensor), 49);\n", assertions());
        Ok((good, compiles(&include, &spoilt, "dlpack_header_spoilt.c")?))
    });
    match checked {
        Ok(answers) => assert_eq!(answers, (true, false)),
        Err(reason) => {
            let required =
                std::env::var_os("CROSSDOCK_REQUIRE_COUNTERPARTS").is_some_and(|value| value == "1");
            assert!(!required, "the header of DLPack is required: {reason}");
            eprintln!("not run: {reason}");
        }
    }
}
