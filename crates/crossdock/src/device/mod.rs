//! Devices: memory at other places, its allocation, copies and mappings.
//!
//! ```text
//!   register(driver) ──> get(place) ──> Device ──> stream() ──> Stream ── record() ──> Event
//!                                                │
//!                                            memory() ──> MemoryManager ── allocate ──> Buffer on that place
//!
//!   buffer.copy_to(&memory)          a copy, by the manager of the destination, of the source, or over the host
//!   buffer.map_to(&memory)           the same bytes, reachable from the other place; `None` where that cannot be
//!   buffer.map_or_copy_to(&memory)   the one where it can be, else the other, and which it was
//! ```
//!
//! Unsupported and failed are different results. [`MemoryManager::can_copy`] is queried before a
//! copy, so an error of the copy is always a failure and never selects another route.
//!
//! Work in a [`Stream`] runs asynchronously. It holds leases of its source and its destination
//! until it is done. Its [`Event`] is recorded on both allocations, and every lease for CPU access
//! waits for it. If the work failed, that lease and every later one fails with the device's error,
//! until [`settle`](crate::buffer::Buffer::settle) is called.
//!
//! ```
//! use crossdock::buffer::Buffer;
//! use crossdock::device::fenced::FencedDevice;
//! use crossdock::device::{self, Device};
//! use crossdock::memory::Place;
//!
//! let there = FencedDevice::new(0).memory();
//! let here = device::memory(Place::CPU)?;
//! let sent = Buffer::from_vec(vec![1u8, 2, 3])?.copy_to(&there)?;
//! assert!(sent.read().unwrap_err().is_place()); // the processor cannot address it
//! assert_eq!(&sent.slice(1..)?.copy_to(&here)?.read()?[..], [2, 3]);
//! # Ok::<(), crossdock::Error>(())
//! ```
//!
//! # How to bring a device
//!
//! No driver is built in. A crate with a driver implements [`Driver`], [`Device`] and
//! [`MemoryManager`], and calls [`register`]: `crossdock-cuda` and `crossdock-opencl` do. [`adopt`]
//! makes buffers, charges them to a [`Meter`], and queues errors of freeing them
//! ([`take_release_errors`]). Memory without addresses has the driver's object
//! ([`DeviceRegion::object`]): a [`DeviceLease`] returns the object and the buffer's offset in it.
//! For strided work, implement [`Engine`](engine::Engine). For streams, implement
//! [`Stream`]; [`driver`] has the queue that keeps the values in-flight work needs, and [`Signal`]
//! is an event for devices whose driver has none. The page `docs/device.md` shows a complete device
//! in 200 lines, and how to run the checks of `crossdock-conformance` on it.
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | `manager.rs`, `registry.rs` | the three traits; registered drivers and opened devices |
//! | `copy.rs`, `map.rs` | the only choice of who copies or maps between two places |
//! | `events.rs` | in-flight work that every lease for CPU access waits for |
//! | `engine/` | the trait of engines, and the work that they perform |
//! | `engine/source/` | one text of kernels for OpenCL, CUDA (`cargo xtask ptx`) and the host |
//! | `driver/` | queues and locks for drivers, and the thread that finishes work |

mod adopt;
mod allocate;
mod copy;
mod device_lease;
pub mod driver;
pub mod engine;
mod events;
pub mod fenced;
mod host;
mod manager;
mod map;
mod meter;
mod pages;
mod placed;
mod registry;
mod signal;
mod stream;
mod work;

pub(crate) use adopt::keeping;
pub use adopt::{Alias, DeviceRegion, ReleaseErrors, adopt, adopt_own, take_release_errors};
pub(crate) use device_lease::Orphans;
pub use device_lease::{DeviceLease, Transfer};
pub(crate) use events::noted_at;
pub use events::{Effect, UnderWay};
pub use host::pool_memory;
pub use manager::{Device, Driver, MemoryManager};
pub use meter::{Charge, Meter, Usage};
pub use placed::{Moved, Placed};
pub(crate) use registry::place_of;
pub use registry::{get, kinds, memory, opened, register, shared_memory, unregister, usage};
pub use signal::{Completion, Signal};
pub use stream::{Event, Stream};
pub(crate) use work::{copy_aside, in_order, settle_before};
