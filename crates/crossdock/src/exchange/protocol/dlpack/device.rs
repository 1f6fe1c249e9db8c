//! Conversions between places and DLPack's device numbers.

use crate::exchange::protocol::dlpack::abi::DLDevice;
use crate::memory::{DeviceKind, Place};

/// Whether devices of this kind have no id: "for vanilla CPU memory, pinned memory, or managed
/// memory, this is set to 0" (`dlpack.h`, `DLDevice::device_id`).
fn is_unnumbered(kind: DeviceKind) -> bool {
    matches!(kind, DeviceKind::CPU | DeviceKind::CUDA_HOST | DeviceKind::ROCM_HOST | DeviceKind::CUDA_MANAGED)
}

/// ```
/// use crossdock::exchange::protocol::dlpack::abi::DLDevice;
/// use crossdock::memory::{DeviceKind, Place};
///
/// let pinned = Place::new(DeviceKind::CUDA_HOST, 1); // by the driver's device 1
/// assert_eq!(DLDevice::from(pinned), DLDevice { device_type: 3, device_id: 0 });
/// ```
impl From<Place> for DLDevice {
    /// The id is 0 for CPU memory, pinned memory and managed memory.
    fn from(place: Place) -> Self {
        let device_id = if is_unnumbered(place.kind()) { 0 } else { place.ordinal() };
        Self { device_type: place.kind().0, device_id }
    }
}

impl From<DLDevice> for Place {
    /// The id of CPU memory, pinned memory and managed memory means nothing, and becomes 0.
    /// Importers query CUDA's driver for the device of managed memory.
    fn from(device: DLDevice) -> Self {
        let kind = DeviceKind(device.device_type);
        Self::new(kind, if is_unnumbered(kind) { 0 } else { device.device_id })
    }
}
