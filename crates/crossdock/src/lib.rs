//! Shares n-dimensional arrays between libraries, languages, devices and processes without copying
//! them.
//!
//! A *producer* lends an array: a decoded image, a mapped file, a tensor on a device. A *consumer*
//! requests it and gets a view of the same bytes, with dtype, shape and strides. The view holds a
//! *lease*, a counted permission to read or write, which keeps the memory alive. A request that
//! cannot be fulfilled in place is refused with the reason. A copy is made only if the request
//! permits it, and every copied byte is counted.
//!
//! Use this crate
//!
//! - in an application that passes arrays between files, crates, Python, Ruby, C and devices;
//! - in a library that wants to accept and return the arrays of any other library;
//! - as the array and buffer types of both: any dtype, any strides, pools with limits.
//!
//! # Lend
//!
//! An array adopts memory that you own. Its slices are further handles on the same bytes.
//!
//! ```
//! use crossdock::view::{Producer, Request};
//! use crossdock::{Array, s};
//!
//! // A function of another crate. It accepts the arrays of every producer.
//! fn brightest(image: &dyn Producer) -> crossdock::Result<Option<u8>> {
//!     let view = crossdock::view(image, Request::read())?;
//!     Ok(view.as_view::<u8, 2>()?.iter().copied().max())
//! }
//!
//! let photo = Array::from_vec((0..24).collect::<Vec<u8>>(), [2, 4, 3])?; // adopted, not copied
//! let green = photo.slice(s![.., .., 1])?; // the same bytes, with strides
//! assert_eq!(brightest(&green)?, Some(22));
//! # Ok::<(), crossdock::Error>(())
//! ```
//!
//! A type of your own lends its memory by implementing [`Producer`].
//!
//! # Borrow
//!
//! A view keeps the memory alive, even after the producer is dropped. Its lease excludes
//! conflicting access: while a consumer reads, the elements are constant.
//!
//! ```
//! use crossdock::Array;
//! use crossdock::view::Request;
//!
//! let samples = Array::from_fn([2, 3], |[row, column]| (row * 3 + column) as f32)?;
//! let view = crossdock::view(&samples, Request::read())?; // a Read lease
//! assert_eq!(view.as_view::<f32, 2>()?[[1, 2]], 5.0);
//! assert!(samples.write().unwrap_err().is_conflict()); // the view reads
//! drop(samples);
//! assert_eq!(view.as_slice::<f32>()?, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]); // the memory is alive
//! # Ok::<(), crossdock::Error>(())
//! ```
//!
//! # Refuse
//!
//! A [`Refusal`] is data: the request, the offer, the reason, and the cost of a copy.
//!
//! ```
//! use crossdock::layout::Order;
//! use crossdock::view::{CopyPolicy, Reason, Request};
//! use crossdock::{Array, s};
//!
//! let image = Array::<u8, 2>::zeros([480, 640])?;
//! let left = image.slice(s![.., ..320])?; // its rows have gaps between them
//! let request = Request::read().order(Order::RowMajor);
//!
//! let refusal = crossdock::view(&left, request.clone()).unwrap_err();
//! assert!(matches!(refusal.reason(), Reason::Order(Order::RowMajor)));
//! assert_eq!(refusal.would_copy(), Some(480 * 320)); // bytes
//!
//! let view = crossdock::view(&left, request.copy(CopyPolicy::IfNeeded))?; // permits the copy
//! assert_eq!(view.grant().copied_nbytes(), 480 * 320);
//! # Ok::<(), crossdock::Error>(())
//! ```
//!
//! # The main types
//!
//! ```text
//!   Vec, file, other library ──adopted──> Buffer ┐
//!   Pool ──────────allocates────────────> Buffer ┴ + DType + Layout = Array<T, D> or DArray
//!                                                                          │ slice, permute, …
//!   consumer ── view(&array, Request) ──> MemoryView or Refusal <──────────┘
//! ```
//!
//! | type | what it is |
//! |---|---|
//! | [`Array<T, D>`](Array) | an array whose element type and rank the compiler knows |
//! | [`DArray`] | an array of any dtype and rank, as files and other libraries yield it |
//! | [`Buffer`] | bytes without dtype or shape: adopted, sliced, shared, grown |
//! | [`Pool`] | a source of new memory, with a limit and statistics |
//! | [`DType`], [`Element`], [`Value`] | an element's type at run time, at compile time; one element |
//! | [`Request`] | what a consumer needs: lease, dtype, order, place, copy policy |
//! | [`MemoryView`] | a borrowed array, under its lease |
//! | [`Refusal`] | why a request was not fulfilled, and what a copy would cost |
//! | [`Place`], [`Device`] | where memory is, and the device that works on it |
//! | [`Error`] | what went wrong, tested by predicates such as [`Error::is_conflict`] |
//!
//! An array gives its elements under one of four kinds of lease:
//!
//! | method | access | excluded meanwhile |
//! |---|---|---|
//! | [`Array::read`] | `&T`, constant | `write`, `share` |
//! | [`Array::write`] | `&mut T` | every other lease |
//! | [`Array::share`] | racy loads and stores, by value | `read`, `write` |
//! | [`Array::pin`] | racy loads, by value | `write` |
//!
//! # Where to go next
//!
//! - Create, slice, convert and compare arrays: [`array`](mod@array).
//! - Open and save files (`.npy`, raw, and more by features): [`open()`] and [`exchange::files`].
//! - Lend to and borrow from another library: [`exchange`] lists the protocols (DLPack, Arrow's C
//!   interfaces, shared memory) and the conversions to and from types of other crates.
//! - Find out which consumer takes an array in place: [`exchange::explain()`].
//! - Memory with limits and statistics: [`pool`]; bytes without shape: [`buffer`] and [`io`].
//! - Find out why memory is still alive: [`ledger`].
//! - Arrays on CUDA and OpenCL: [`device`], with the crates `crossdock-cuda` and
//!   `crossdock-opencl`.
//! - The layers below: [`memory`], [`element`], [`layout`] and [`view`](mod@view).
//!
//! The repository has a page for each kind of author: `docs/application.md` for applications,
//! `docs/adapter.md` for libraries that lend and borrow, `docs/device.md` for drivers of devices.
//!
//! # Limits
//!
//! - The tests run on Linux on x86-64. The library compiles for other systems too, and lacks there
//!   what they lack: `docs/platforms.md` has the tables.
//! - Elements are plain data of a fixed size, and an array has at most [`MAX_RANK`] axes. There are
//!   no missing values and no arithmetic.
//! - A lease covers the whole allocation, which may be larger than the slice. To write two parts at
//!   once, take one lease and split its view.
//! - Another process may write a mapped file, so its elements are loaded by value under
//!   [`Array::pin`] or [`Array::share`]. If the file shrinks, access to the missing part ends the
//!   process, unless it was opened by [`OpenOptions`] with `guarded(true)` or `mapped(false)`.
//! - Leases bind users of this crate. A library in another language can ignore them; [`exchange`]
//!   states the lease under which each protocol exports.
//!
//! # Features
//!
//! | feature | adds | crates | default |
//! |---|---|---|---|
//! | `derive` | `#[derive(Element)]` for structs | `crossdock-derive` | off |
//! | `threads` | large copies, casts, fills and comparisons use several threads; the variable `CROSSDOCK_THREADS` limits them | none | off |
//! | `rayon` | parts of views are parallel iterators of `rayon` | `rayon` | off |
//! | `npz` | `.npz` files | `flate2`, `rawzip` | off |
//! | `safetensors` | `.safetensors` files | `serde`, `serde_json` | off |
//! | `png` | PNG images | `image` | off |
//! | `jpeg` | JPEG images | `image` | off |
//! | `torch` | checkpoints of `torch.save`, opened and not written | `rawzip` | off |
//! | `arrow-ipc` | tables in Arrow IPC files and streams | `lz4_flex`, `ruzstd` | off |
//! | `ndarray-0_17` | conversions to and from arrays and views of `ndarray` | `ndarray` | off |
//! | `nalgebra-0_35` | conversions to and from matrices and vectors of `nalgebra` | `nalgebra` | off |
//! | `image-0_25` | conversions to and from images of `image` | `image` | off |
//! | `arrow-60` | conversions to and from buffers, columns and batches of Arrow | `arrow-array`, `arrow-buffer`, `arrow-data`, `arrow-schema` | off |
//! | `candle-0_11` | conversions to and from tensors of `candle` in CPU memory | `candle-core` | off |
//! | `safetensors-types-0_8` | conversions to and from tensors of the crate `safetensors` | `safetensors`, `serde` | off |
//! | `half-2` | the 16-bit floats of `half` are elements | `half` | off |
//! | `num-complex-0_4` | the complex numbers of `num-complex` are elements | `num-complex` | off |
//! | `bytemuck-1` | types that are plain data to `bytemuck` are elements (`element::Plain`), and this crate's elements are plain data to it | `bytemuck` | off |
//! | `allocator-api2-0_2` | pools are allocators of collections; pools over any allocator (`Pool::over`) | `allocator-api2` | off |
//! | `tracing` | pools with [`Pool::logging`](pool::Pool::logging) report every block to the `tracing` facade | `tracing` | off |
//!
//! Conversions are implementations of `From` and `TryFrom`, and are zero-copy; [`exchange`] has
//! their table. The other formats of files need no crates, and so no feature.
//!
//! Without features, the crate depends on `libc`, `faster-hex` and `simdutf8`, and on Windows also
//! on `windows-sys`. A stripped program that opens a file then has at most 1 MiB.
//!
//! A feature that exposes types of another crate has the version of that crate in its name: the
//! major version, or `0_` and the minor version before 1.0. A new version of the crate gets a new
//! feature, so both can be on at once.
//!
//! [`Buffer`]: buffer::Buffer
//! [`DType`]: element::DType
//! [`Device`]: device::Device
//! [`Element`]: element::Element
//! [`MAX_RANK`]: layout::MAX_RANK
//! [`MemoryView`]: view::MemoryView
//! [`OpenOptions`]: exchange::files::OpenOptions
//! [`Place`]: memory::Place
//! [`Pool`]: pool::Pool
//! [`Producer`]: view::Producer
//! [`Refusal`]: view::Refusal
//! [`Request`]: view::Request
//! [`Value`]: element::Value

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(unix),
    expect(
        dead_code,
        unused_imports,
        reason = "what serves only shared memory and channels between processes"
    )
)]

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
pub mod table;
pub mod view;

#[doc(inline)]
pub use crate::array::{Array, Casting, DArray};
pub use crate::error::{Error, Rejected, Result};
#[doc(inline)]
pub use crate::exchange::files::open;
#[doc(inline)]
pub use crate::view::view;

/// The programs of the page for an application's author run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/application.md")]
struct ApplicationPage;

/// The programs of the page for an adapter's author run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/adapter.md")]
struct AdapterPage;
