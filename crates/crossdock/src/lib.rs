//! Hand n-dimensional arrays between libraries, languages and processes without copying them.
//!
//! A library that has an array implements [`view::Producer`]; a library that wants one requests a
//! [`view()`] of it. The bytes stay where they are, and a lease defines which access each party
//! has.
//!
//! The layers, in the order in which a byte travels:
//!
//! | layer | contents |
//! |---|---|
//! | [`memory`] | regions of bytes with an owner and a [`Place`], and leases for access to them |
//! | [`pool`] | sources of new memory: [`Pool`]s with limits, caches and statistics |
//! | [`buffer`] | windows of memory: [`Buffer`], its guards and builders |
//! | [`device`] | memory of devices: [`Device`]s, their streams and events, copies and maps |
//! | [`ledger`] | why memory is still alive: the existing allocations and leases |
//! | [`io`] | readers and writers of buffers, on devices too |
//! | [`element`] | the type of an element: [`DType`], [`Value`], [`Element`] |
//! | [`layout`] | from index to offset: shape, strides in bytes, and views of views |
//! | [`array`](mod@array) | buffer, dtype and layout together: [`Array<T, D>`](Array), [`DArray`] |
//! | [`view`](mod@view) | how arrays are passed on: [`Request`], [`MemoryView`], [`Refusal`] |
//! | [`exchange`] | files, protocols (DLPack, shared memory), and the types of other crates |
//!
//! ```
//! use crossdock::view::Request;
//! use crossdock::{Array, s};
//!
//! let image = Array::from_vec((0..24).collect::<Vec<u8>>(), [2, 4, 3])?; // adopted, not copied
//! let green = image.slice(s![.., ..;-1, 1])?; // another handle on the same bytes
//! let view = crossdock::view(&green, Request::read())?; // a lease, held until the view is dropped
//! assert_eq!(view.as_view::<u8, 2>()?[[0, 0]], 10);
//! assert!(image.write().unwrap_err().is_conflict()); // a reader holds a lease
//! # Ok::<(), crossdock::Error>(())
//! ```
//!
//! Each of three pages lists the names that one kind of author needs: `docs/application.md`,
//! `docs/adapter.md` and `docs/device.md`.
//!
//! # Features
//!
//! - `derive`: `#[derive(Element)]` for structs.
//! - `half-2`, `num-complex-0_4`: the 16-bit floats and complex numbers of these crates are
//!   elements.
//! - `bytemuck-1`: types that are plain data to that crate are elements (`element::Plain`), and
//!   this crate's elements are plain data to it.
//! - `ndarray-0_17`, `nalgebra-0_35`, `image-0_25`, `arrow-60`, `candle-0_11`: conversions to and
//!   from these crates' types, in place, by `From` and `TryFrom`; likewise `safetensors-types-0_8`,
//!   for the types of the crate `safetensors`.
//! - `npz`, `safetensors`, `png`, `jpeg`: files of these formats ([`exchange::files`]).
//! - `tracing`: pools with [`Pool::logging`](pool::Pool::logging) report every block to the
//!   `tracing` facade.
//! - `allocator-api2-0_2`: pools as allocators of collections, and pools over any allocator
//!   (`Pool::over`).
//!
//! A feature that exposes types of another crate has the version of that crate in its name: the
//! major version, or `0_` and the minor version before 1.0. A new version of the crate gets a new
//! feature, so both can be on at once.
//!
//! [`Place`]: memory::Place
//! [`Pool`]: pool::Pool
//! [`Buffer`]: buffer::Buffer
//! [`Device`]: device::Device
//! [`DType`]: element::DType
//! [`Value`]: element::Value
//! [`Element`]: element::Element
//! [`Request`]: view::Request
//! [`MemoryView`]: view::MemoryView
//! [`Refusal`]: view::Refusal

mod error;

pub mod array;
#[doc(hidden)]
pub mod bindings;
pub mod buffer;
pub mod device;
pub mod element;
pub mod exchange;
pub mod io;
mod kernel;
#[forbid(unsafe_code)]
pub mod layout;
pub mod ledger;
pub mod memory;
pub mod pool;
pub mod view;

pub use crate::array::{Array, Casting, DArray};
pub use crate::error::{Error, Rejected, Result};
pub use crate::exchange::files::open;
pub use crate::view::view;

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The programs of the page for an application's author run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/application.md")]
struct ApplicationPage;

/// The programs of the page for an adapter's author run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/adapter.md")]
struct AdapterPage;
