//! Exporters: ways to export an array. Each exports one to a consumer, which reads it naively, and
//! releases it.

#![expect(clippy::result_large_err, reason = "what comes back is the array, in place")]

mod arrow_c;
mod crates;

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use crossdock::element::{ByteOrder, DType, Element};
use crossdock::exchange::files::{Format, SaveOptions, npy, png};
use crossdock::exchange::protocol::dlpack::{self, ExportOptions, abi};
use crossdock::exchange::protocol::shm;
use crossdock::layout::{Layout, Order};
use crossdock::view::{CopyPolicy, Refusal, Request};
use crossdock::{Array, DArray, Error, Rejected};

use crate::classes::{Swapped, Trade, addresses, walk};
use crate::files::{elements, npy_elements, npz_elements, png_elements, safetensors_elements};
use crate::objects;

/// An exporter.
pub(crate) struct Exporter {
    pub(crate) name: &'static str,
    pub(crate) hand: Hand,
}

/// Lets a consumer read what it gets of an array, or returns why it gets nothing.
#[derive(Clone, Copy)]
pub(crate) enum Hand {
    /// Lends the array. An exporter without a policy always copies, like a file writer, or never.
    Lend(fn(&DArray, CopyPolicy, Inspect<'_>) -> Result<(), No>),
    /// Moves the array out, or returns it.
    Give(fn(DArray, Inspect<'_>) -> Result<(), Rejected<DArray>>),
}

pub(crate) type Inspect<'a> = &'a mut dyn FnMut(ConsumerView<'_>);

/// What a consumer has during its access.
pub(crate) struct ConsumerView<'a> {
    pub(crate) at: At<'a>,
    /// Why it is a copy, in the library's words.
    pub(crate) because: Option<String>,
    /// The elements, in row-major order of the indices.
    pub(crate) elements: &'a dyn Fn() -> Vec<Vec<u8>>,
}

/// The consumer's position of element 0.
pub(crate) enum At<'a> {
    /// At an address.
    Address(usize),
    /// At a byte of the memory of a descriptor.
    Position(BorrowedFd<'a>, u64),
    /// In a separate file.
    Written,
}

/// Why nothing was exported, in the library's words.
pub(crate) struct No(pub(crate) String);

impl From<Error> for No {
    /// A refusal that is an error says more than its reason.
    fn from(error: Error) -> Self {
        let refusal = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<Refusal>());
        Self(reason(refusal).unwrap_or_else(|| error.to_string()))
    }
}

impl From<Refusal> for No {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.reason().to_string())
    }
}

fn reason(refusal: Option<&Refusal>) -> Option<String> {
    refusal.map(|refusal| refusal.reason().to_string())
}

/// All exporters: a new one is one more entry.
pub(crate) const EXPORTERS: &[Exporter] = &[
    Exporter {
        name: "`MemoryView`",
        hand: Hand::Lend(|array, policy, inspect| memory_view(array, Request::pin().copy(policy), inspect)),
    },
    Exporter {
        name: "`MemoryView`, indirect",
        hand: Hand::Lend(|array, policy, inspect| {
            memory_view(array, Request::pin().indirect().copy(policy), inspect)
        }),
    },
    Exporter { name: "MemoryView of C", hand: Hand::Lend(objects::export) },
    Exporter {
        name: "`&[T]`",
        hand: Hand::Lend(|array, policy, inspect| {
            let request = Request::read().order(Order::RowMajor).copy(policy);
            typed!(array, slice(request, inspect))
        }),
    },
    Exporter {
        name: "`&mut [T]`",
        hand: Hand::Lend(|array, policy, inspect| {
            let request = Request::write().order(Order::RowMajor).copy(policy);
            typed!(array, slice(request, inspect))
        }),
    },
    Exporter { name: "`Vec`", hand: Hand::Give(|array, inspect| typed!(array, vec(inspect))) },
    Exporter { name: "DLPack", hand: Hand::Lend(dlpack_versioned) },
    Exporter { name: "DLPack before 1.0", hand: Hand::Lend(dlpack_legacy) },
    Exporter { name: "Arrow's C structs", hand: Hand::Lend(arrow_c::column) },
    Exporter {
        name: "`ndarray::Array`",
        hand: Hand::Give(|array, inspect| typed!(array, crates::nd_owned(inspect))),
    },
    Exporter {
        name: "`ndarray::ArrayView`",
        hand: Hand::Lend(|array, _, inspect| typed!(array, crates::nd_view(inspect))),
    },
    Exporter {
        name: "`nalgebra::DMatrix`",
        hand: Hand::Give(|array, inspect| typed!(array, crates::na_owned(inspect))),
    },
    Exporter {
        name: "`nalgebra::DMatrixView`",
        hand: Hand::Lend(|array, _, inspect| typed!(array, crates::na_view(inspect))),
    },
    Exporter { name: "`image`", hand: Hand::Lend(crates::flat_samples) },
    Exporter { name: "Arrow", hand: Hand::Lend(crates::arrow_column) },
    #[cfg(feature = "candle-0_11")]
    Exporter { name: "`candle`", hand: Hand::Give(crates::tensor) },
    Exporter { name: "`safetensors::View`", hand: Hand::Lend(crates::leased_tensor) },
    Exporter {
        name: "shared memory, to read",
        hand: Hand::Lend(|array, policy, inspect| shared(array, Request::pin().copy(policy), inspect)),
    },
    Exporter {
        name: "shared memory, to write",
        hand: Hand::Lend(|array, policy, inspect| shared(array, Request::share().copy(policy), inspect)),
    },
    Exporter { name: "raw file", hand: Hand::Lend(raw_file) },
    Exporter { name: "`.npy`", hand: Hand::Lend(npy_file) },
    Exporter { name: "`.npz`", hand: Hand::Lend(|array, _, inspect| npz_file(array, false, inspect)) },
    Exporter {
        name: "`.npz`, deflated",
        hand: Hand::Lend(|array, _, inspect| npz_file(array, true, inspect)),
    },
    Exporter { name: "`.safetensors`", hand: Hand::Lend(safetensors_file) },
    Exporter { name: "PNG", hand: Hand::Lend(png_file) },
];

/// A function of the array for its element type and its rank.
macro_rules! typed {
    ($array:ident, $($f:ident)::+($($arg:ident),*)) => {
        match $array.rank() {
            0 => $($f)::+::<u16, 0>($array, $($arg),*),
            _ if *$array.dtype() == DType::U16 => $($f)::+::<u16, 2>($array, $($arg),*),
            _ if *$array.dtype() == Swapped::dtype() => $($f)::+::<Swapped, 2>($array, $($arg),*),
            _ => $($f)::+::<Trade, 2>($array, $($arg),*),
        }
    };
}
use typed;

// ===== in this process

fn memory_view(array: &DArray, request: Request, inspect: Inspect<'_>) -> Result<(), No> {
    let view = crossdock::view(array, request)?;
    // SAFETY: the view leases the array, which keeps the pointers that its layout follows.
    let addresses = unsafe { addresses(view.as_ptr(), view.layout()) };
    inspect(ConsumerView {
        at: At::Address(addresses.first().copied().unwrap_or(view.as_ptr()).addr()),
        because: reason(view.grant().copied_because()),
        // SAFETY: clauses 1 and 2 of `walk`: the view leases the array, which keeps the pointers
        // and the elements of the layout.
        elements: &|| unsafe { walk(view.as_ptr(), view.layout()) },
    });
    Ok(())
}

/// Elements that a consumer gets by reference, in order.
fn slice<T: Element, const D: usize>(
    array: &DArray,
    request: Request,
    inspect: Inspect<'_>,
) -> Result<(), No> {
    let view = crossdock::view(array, request)?;
    let slice = view.as_slice::<T>()?;
    inspect(ConsumerView {
        at: At::Address(slice.as_ptr().addr()),
        because: reason(view.grant().copied_because()),
        elements: &|| slice.iter().map(bytes_of).collect(),
    });
    Ok(())
}

fn bytes_of<T: Element>(element: &T) -> Vec<u8> {
    // SAFETY: `T: Element` implies `Pod`: no padding, so all its bytes are initialised.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(element).cast(), size_of::<T>()) }.to_vec()
}

/// The vector that the array was made of.
fn vec<T: Element, const D: usize>(array: DArray, inspect: Inspect<'_>) -> Result<(), Rejected<DArray>> {
    let vec = Array::<T, D>::try_from(array)?.try_into_vec().map_err(again)?;
    inspect(ConsumerView {
        at: At::Address(vec.as_ptr().addr()),
        because: None,
        elements: &|| vec.iter().map(bytes_of).collect(),
    });
    Ok(())
}

fn again<T: Element, const D: usize>(rejected: Rejected<Array<T, D>>) -> Rejected<DArray> {
    Rejected { value: rejected.value.into(), error: rejected.error }
}

/// What a C consumer reads from the struct.
fn tensor_elements(tensor: &abi::DLTensor) -> Vec<Vec<u8>> {
    let rank = tensor.ndim as usize;
    let itemsize = usize::from(tensor.dtype.bits / 8) * usize::from(tensor.dtype.lanes);
    let axes = |numbers: *mut i64| {
        // SAFETY: the library exports `ndim` lengths and strides, and `axis < rank`, which is
        // `ndim`.
        (0..rank).map(move |axis| unsafe { numbers.wrapping_add(axis).read() } as isize)
    };
    let shape: Vec<usize> = axes(tensor.shape).map(|len| len as usize).collect();
    let strides: Vec<isize> = axes(tensor.strides).map(|stride| stride * itemsize as isize).collect();
    let first = tensor.data.cast::<u8>().wrapping_add(tensor.byte_offset as usize);
    // SAFETY: clause 2 of `walk`: the tensor describes readable elements until it is deleted;
    // clause 1: DLPack has no pointers.
    unsafe { walk(first, &Layout::new(&shape, &strides, itemsize).unwrap()) }
}

fn dlpack_versioned(array: &DArray, policy: CopyPolicy, inspect: Inspect<'_>) -> Result<(), No> {
    let exported = dlpack::export_versioned(array, &ExportOptions::new().copy(policy))?;
    tensor(&exported.managed().dl_tensor, reason(exported.copied_because()), inspect);
    Ok(())
}

fn dlpack_legacy(array: &DArray, policy: CopyPolicy, inspect: Inspect<'_>) -> Result<(), No> {
    let exported = dlpack::export_legacy(array, &ExportOptions::new().copy(policy))?;
    tensor(&exported.managed().dl_tensor, reason(exported.copied_because()), inspect);
    Ok(())
}

fn tensor(tensor: &abi::DLTensor, because: Option<String>, inspect: Inspect<'_>) {
    let at = At::Address(tensor.data.addr() + tensor.byte_offset as usize);
    inspect(ConsumerView { at, because, elements: &|| tensor_elements(tensor) });
}

// ===== to another process

fn shared(array: &DArray, request: Request, inspect: Inspect<'_>) -> Result<(), No> {
    let exported = shm::export(array, &request)?;
    let described = exported.description();
    let elements = || {
        let span = described.span();
        let file = std::fs::File::from(exported.fd().try_clone_to_owned().unwrap());
        let mut bytes = vec![0; (span.end - span.start) as usize];
        file.read_exact_at(&mut bytes, span.start).unwrap();
        let first = bytes.as_ptr().wrapping_add((described.offset() - span.start) as usize);
        // SAFETY: clause 2 of `walk`: all bytes of the span were read into `bytes`; clause 1: a
        // description has no pointers.
        unsafe { walk(first, described.layout()) }
    };
    inspect(ConsumerView {
        at: At::Position(exported.fd().as_fd(), described.offset()),
        because: reason(exported.copied_because()),
        elements: &elements,
    });
    Ok(())
}

// ===== files

/// A file has a copy of the elements. (There is no refusal to quote, since no policy changes that.)
fn written(inspect: Inspect<'_>, elements: &dyn Fn() -> Vec<Vec<u8>>) {
    inspect(ConsumerView { at: At::Written, because: Some("a file is written".to_owned()), elements });
}

fn raw_file(array: &DArray, _: CopyPolicy, inspect: Inspect<'_>) -> Result<(), No> {
    let mut file = Vec::new();
    SaveOptions::new()
        .format(Format::Raw)
        .order(Order::ColumnMajor)
        .write(&mut file, &[("", array.clone())])?;
    written(inspect, &|| elements(&file, array.shape(), array.dtype().itemsize(), true));
    Ok(())
}

fn npy_file(array: &DArray, _: CopyPolicy, inspect: Inspect<'_>) -> Result<(), No> {
    let mut file = Vec::new();
    npy::write(&mut file, array)?;
    written(inspect, &|| npy_elements(&file, array.shape(), array.dtype().itemsize()));
    Ok(())
}

fn npz_file(array: &DArray, deflated: bool, inspect: Inspect<'_>) -> Result<(), No> {
    let mut file = Vec::new();
    SaveOptions::new().format(Format::Npz).deflated(deflated).write(&mut file, &[("a", array.clone())])?;
    written(inspect, &|| npz_elements(&file, array.shape(), array.dtype().itemsize()));
    Ok(())
}

fn safetensors_file(array: &DArray, _: CopyPolicy, inspect: Inspect<'_>) -> Result<(), No> {
    let mut file = Vec::new();
    SaveOptions::new()
        .format(Format::Safetensors)
        .metadata("made", "here")
        .write(&mut file, &[("a", array.clone())])?;
    written(inspect, &|| {
        let mut elements = safetensors_elements(&file, array.shape(), array.dtype().itemsize());
        // The format has one byte order.
        if array.dtype().byte_order() == Some(ByteOrder::Big) {
            elements.iter_mut().for_each(|bytes| bytes.reverse());
        }
        elements
    });
    Ok(())
}

fn png_file(array: &DArray, _: CopyPolicy, inspect: Inspect<'_>) -> Result<(), No> {
    let mut file = Vec::new();
    png::write(&mut file, array)?;
    let swapped = !array.dtype().is_native();
    written(inspect, &|| {
        let mut elements = png_elements(&file);
        // Samples are native-endian.
        elements.iter_mut().for_each(|bytes| {
            if swapped {
                bytes.reverse()
            }
        });
        elements
    });
    Ok(())
}
