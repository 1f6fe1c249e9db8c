//! Which test makes which function of the driver's table fail.

use std::collections::BTreeSet;
use std::path::Path;

/// Fails while the driver is loaded (`loading`).
pub(crate) const TO_START: &[&str] = &["cuDriverGetVersion", "cuInit"];

/// Fails while a device is opened.
pub(crate) const TO_OPEN: &[&str] = &[
    "cuCtxGetCurrent",
    "cuCtxPopCurrent_v2",
    "cuCtxPushCurrent_v2",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuMemPoolCreate",
    "cuMemPoolSetAttribute",
    "cuStreamCreate",
];

/// Fails while an attempt to open a device is undone.
pub(crate) const TO_UNDO: &[&str] =
    &["cuDevicePrimaryCtxRelease_v2", "cuMemPoolDestroy", "cuStreamDestroy_v2"];

/// Fails at the first copy between two devices (`calls`).
pub(crate) const TO_MEET: &[&str] = &["cuCtxEnablePeerAccess", "cuDeviceCanAccessPeer", "cuMemPoolSetAccess"];

/// Fails in a round through the functions of the crate.
pub(crate) const IN_A_ROUND: &[&str] = &[
    "cuCtxGetCurrent",
    "cuCtxPopCurrent_v2",
    "cuCtxPushCurrent_v2",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceTotalMem_v2",
    "cuEventQuery",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuIpcCloseMemHandle",
    "cuIpcGetMemHandle",
    "cuIpcOpenMemHandle_v2",
    "cuLaunchHostFunc",
    "cuLaunchKernel",
    "cuMemAddressFree",
    "cuMemAddressReserve",
    "cuMemAllocFromPoolAsync",
    "cuMemAllocManaged",
    "cuMemAlloc_v2",
    "cuMemCreate",
    "cuMemExportToShareableHandle",
    "cuMemFreeAsync",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemGetAddressRange_v2",
    "cuMemGetAllocationGranularity",
    "cuMemGetAllocationPropertiesFromHandle",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemHostGetDevicePointer_v2",
    "cuMemHostRegister_v2",
    "cuMemHostUnregister",
    "cuMemImportFromShareableHandle",
    "cuMemMap",
    "cuMemPoolTrimTo",
    "cuMemRelease",
    "cuMemSetAccess",
    "cuMemUnmap",
    "cuMemcpy2DAsync_v2",
    "cuMemcpy3DAsync_v2",
    "cuMemcpyAsync",
    "cuMemcpyPeerAsync",
    "cuMemsetD8Async",
    "cuPointerGetAttributes",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamGetCtx",
    "cuStreamQuery",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
];

/// Fails when more events are in use than are kept.
pub(crate) const OF_MANY_EVENTS: &[&str] = &["cuEventCreate", "cuEventDestroy_v2"];

/// Fails after another function failed.
pub(crate) const OF_WORDS: &[&str] = &["cuGetErrorName", "cuGetErrorString"];

/// Fails at the first launch of a kernel (`calls`).
pub(crate) const TO_LAUNCH: &[&str] = &["cuModuleLoadData", "cuModuleGetFunction"];

/// Called by no test: programs are unloaded with their device, which stays open.
const NOT_REACHED: &[&str] = &["cuModuleUnload"];

/// The names of all functions without which a driver is refused: string literals of the sources.
pub(crate) fn functions() -> BTreeSet<String> {
    let names = literals(&["driver.rs", "load.rs"]);
    assert!(names.len() > 50 && names.contains("cuInit"), "{names:?}");
    names
}

/// The names of the functions that a driver may lack.
pub(crate) fn optional() -> BTreeSet<String> {
    let names = literals(&["virtual_calls.rs"]);
    assert!(names.len() > 10 && names.contains("cuMemMap"), "{names:?}");
    names
}

fn literals(sources: &[&str]) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let is_name = |text: &&str| {
        let rest = text.strip_prefix("cu").unwrap_or_default();
        rest.starts_with(char::is_uppercase) && rest.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let mut names = BTreeSet::new();
    for source in sources {
        let text = std::fs::read_to_string(folder.join(source)).unwrap();
        names.extend(text.split('"').filter(is_name).map(str::to_owned));
    }
    names
}

/// The functions of some lists.
pub(crate) fn of(lists: &[&[&str]]) -> BTreeSet<String> {
    lists.iter().flat_map(|list| list.iter().map(|&name| name.to_owned())).collect()
}

#[test]
fn each_function_of_the_table_is_made_to_fail() {
    let lists =
        [TO_START, TO_OPEN, TO_UNDO, TO_MEET, IN_A_ROUND, OF_MANY_EVENTS, OF_WORDS, TO_LAUNCH, NOT_REACHED];
    assert_eq!(&functions() | &optional(), of(&lists));
}
