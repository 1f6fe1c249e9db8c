//! Places of memory: the device that can address it, and the kind of memory.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Kind, Result};

/// The kind of a device, with DLPack's numbers. Open: an unknown number is kept unchanged.
///
/// Source: `DLDeviceType` of DLPack 1.3.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct DeviceKind(pub i32);

impl DeviceKind {
    /// Memory that the processor addresses: heap, file map, shared memory.
    pub const CPU: Self = Self(1);
    /// CUDA device memory.
    pub const CUDA: Self = Self(2);
    /// Host memory pinned by CUDA; the processor addresses it too.
    pub const CUDA_HOST: Self = Self(3);
    /// OpenCL buffers.
    pub const OPENCL: Self = Self(4);
    /// Vulkan buffers.
    pub const VULKAN: Self = Self(7);
    /// Metal buffers.
    pub const METAL: Self = Self(8);
    /// ROCm device memory.
    pub const ROCM: Self = Self(10);
    /// Host memory pinned by ROCm; the processor addresses it too.
    pub const ROCM_HOST: Self = Self(11);
    /// A device that DLPack has no number for. Here: the [fenced](crate::device::fenced) test
    /// device.
    pub const EXT_DEV: Self = Self(12);
    /// Memory that CUDA moves between host and device by itself.
    pub const CUDA_MANAGED: Self = Self(13);
    /// Intel oneAPI unified shared memory.
    pub const ONEAPI: Self = Self(14);

    /// The name used in text (`cpu`, `cuda`, …), or `None` for a number without one.
    pub fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|&&(number, _)| number == self.0).map(|&(_, name)| name)
    }

    /// The kind that [`Display`](fmt::Display) writes as `text`.
    fn of_text(text: &str) -> Option<Self> {
        if let Some(number) = text.strip_prefix(UNNAMED) {
            return number.parse().ok().map(Self);
        }
        NAMES.iter().find(|&&(_, known)| known == text).map(|&(number, _)| Self(number))
    }
}

/// The kinds that have names.
const NAMES: &[(i32, &str)] = &[
    (1, "cpu"),
    (2, "cuda"),
    (3, "cuda_host"),
    (4, "opencl"),
    (7, "vulkan"),
    (8, "metal"),
    (9, "vpi"),
    (10, "rocm"),
    (11, "rocm_host"),
    (12, "ext_dev"),
    (13, "cuda_managed"),
    (14, "oneapi"),
    (15, "webgpu"),
    (16, "hexagon"),
    (17, "maia"),
    (18, "trainium"),
];

/// Precedes the number of a kind without a name.
const UNNAMED: &str = "kind";

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{UNNAMED}{}", self.0),
        }
    }
}

impl fmt::Debug for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A device: its kind, and which one of that kind.
///
/// ```
/// use crossdock::memory::{DeviceKind, Place};
///
/// assert!(Place::CPU.is_host());
/// assert_eq!(Place::new(DeviceKind::CUDA, 1).to_string(), "cuda:1");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(C)]
pub struct Place {
    kind: DeviceKind,
    ordinal: i32,
}

impl Place {
    /// The host.
    pub const CPU: Self = Self { kind: DeviceKind::CPU, ordinal: 0 };

    /// The device number `ordinal` of a kind.
    pub const fn new(kind: DeviceKind, ordinal: i32) -> Self {
        Self { kind, ordinal }
    }

    /// The kind of device.
    pub const fn kind(self) -> DeviceKind {
        self.kind
    }

    /// Which device of its kind.
    pub const fn ordinal(self) -> i32 {
        self.ordinal
    }

    /// Whether memory there is reached by address, to which offsets can be added. `false` for
    /// places that use handles of buffer objects (OpenCL, Vulkan, Metal, WebGPU).
    #[doc(hidden)]
    pub const fn is_addressed(self) -> bool {
        const WEBGPU: DeviceKind = DeviceKind(15);
        !matches!(self.kind, DeviceKind::OPENCL | DeviceKind::VULKAN | DeviceKind::METAL | WEBGPU)
    }

    /// Whether the CPU may dereference addresses of this place.
    ///
    /// Pinned and managed memory count as host memory here: the CPU can address them, and only
    /// their protocols distinguish them.
    #[inline]
    pub const fn is_host(self) -> bool {
        matches!(
            self.kind,
            DeviceKind::CPU | DeviceKind::CUDA_HOST | DeviceKind::ROCM_HOST | DeviceKind::CUDA_MANAGED
        )
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::CPU { f.write_str("cpu") } else { write!(f, "{}:{}", self.kind, self.ordinal) }
    }
}

impl FromStr for Place {
    type Err = Error;

    /// Parses a place as [`Display`](fmt::Display) writes it: `cuda:1`, or `kind77:1` for a kind
    /// without a name. Without an ordinal it is the first of its kind.
    ///
    /// ```
    /// use crossdock::memory::{DeviceKind, Place};
    ///
    /// assert_eq!("cuda:1".parse::<Place>()?, Place::new(DeviceKind::CUDA, 1));
    /// assert_eq!("cpu".parse::<Place>()?, Place::CPU);
    /// assert!("cuda:first".parse::<Place>().unwrap_err().is_malformed());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_malformed` for an unknown kind and for an invalid device number.
    fn from_str(text: &str) -> Result<Self> {
        let (name, ordinal) = text.split_once(':').unwrap_or((text, "0"));
        let number = || ordinal.parse().ok().filter(|&number: &i32| number >= 0);
        match (DeviceKind::of_text(name), number()) {
            (Some(kind), Some(ordinal)) => Ok(Self::new(kind, ordinal)),
            (None, _) => {
                let known = NAMES.iter().map(|&(_, name)| name).collect::<Vec<_>>().join(", ");
                Err(malformed(format!("`{text}` is not a place; kinds of devices are {known}")))
            }
            (_, None) => {
                Err(malformed(format!("`{text}` is not a place: `{ordinal}` is not a device number")))
            }
        }
    }
}

fn malformed(text: String) -> Error {
    Error::new(Kind::Malformed, text)
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The kind of memory of an allocation. All of these are device `cpu` to every protocol, except
/// `Device`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backing {
    /// Private memory of this process.
    Heap,
    /// Memory that lives as long as the program.
    Static,
    /// A mapped file.
    File,
    /// Memory shared with other processes through a descriptor.
    Shared,
    /// Memory that another library lent, with or without a release callback.
    Foreign,
    /// Memory that a device's [`MemoryManager`](crate::device::MemoryManager) allocated.
    Device,
}

impl Backing {
    /// The memory, for an error.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Self::Heap => "heap memory",
            Self::Static => "static memory",
            Self::File => "a mapped file",
            Self::Shared => "shared memory",
            Self::Foreign => "foreign memory",
            Self::Device => "device memory",
        }
    }
}

impl fmt::Display for Backing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Heap => "heap",
            Self::Static => "static",
            Self::File => "file map",
            Self::Shared => "shared memory",
            Self::Foreign => "foreign",
            Self::Device => "device",
        })
    }
}

/// Kind and ordinal of the default place, in one word.
static DEFAULT_PLACE: AtomicU64 = AtomicU64::new(pack(Place::CPU));

const fn pack(place: Place) -> u64 {
    (place.kind().0 as u32 as u64) << 32 | place.ordinal() as u32 as u64
}

const fn unpack(word: u64) -> Place {
    Place::new(DeviceKind((word >> 32) as i32), word as u32 as i32)
}

/// The place that a program passes by default: at first, the host. Every function that allocates
/// takes its place as an argument, so this default changes only calls that pass it.
pub fn default_place() -> Place {
    unpack(DEFAULT_PLACE.load(Ordering::Relaxed))
}

/// Sets what [`default_place`] returns in this process, and returns the place before. Memory that
/// exists stays where it is. A place without a device is accepted; allocating there fails.
pub fn set_default_place(place: Place) -> Place {
    unpack(DEFAULT_PLACE.swap(pack(place), Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_survives_being_packed() {
        for place in [Place::CPU, Place::new(DeviceKind(-7), i32::MIN), Place::new(DeviceKind::CUDA, 3)] {
            assert_eq!(unpack(pack(place)), place);
        }
    }

    #[test]
    fn unknown_device_kinds_are_kept_and_named_by_number() {
        let place = Place::new(DeviceKind(77), 2);
        assert_eq!(place.kind(), DeviceKind(77));
        assert_eq!(place.to_string(), "kind77:2");
        assert_eq!("kind77:2".parse::<Place>().unwrap(), place);
        assert_eq!("kind-5".parse::<Place>().unwrap(), Place::new(DeviceKind(-5), 0));
        assert!("kind".parse::<Place>().is_err() && "kind 77:2".parse::<Place>().is_err());
        assert!(!place.is_host());
    }

    #[test]
    fn a_place_is_read_as_it_is_written() {
        for &(number, name) in NAMES {
            let place = Place::new(DeviceKind(number), 3);
            assert_eq!(place.to_string().parse::<Place>().unwrap(), place);
            assert_eq!(name.parse::<Place>().unwrap(), Place::new(DeviceKind(number), 0));
        }
        for wrong in ["", ":0", "gpu", "cuda:", "cuda:-1", "cuda:0x1", "cuda:99999999999", "CUDA", "cuda :0"]
        {
            let error = wrong.parse::<Place>().unwrap_err();
            assert!(error.is_malformed() && error.to_string().contains(&format!("`{wrong}`")), "{error}");
        }
    }

    #[test]
    fn pinned_host_memory_is_addressable() {
        assert!(Place::new(DeviceKind::CUDA_HOST, 0).is_host());
        assert!(!Place::new(DeviceKind::CUDA, 0).is_host());
    }
}
