//! Importers: ways to import foreign data as an array. Each builds the producer's type from a
//! specimen, if it exists, and imports it.

mod arrow_c;
mod crates;

use std::ffi::c_void;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crossdock::buffer::Buffer;
use crossdock::element::Element;
use crossdock::exchange::files::{self, OpenOptions, raw};
use crossdock::exchange::protocol::dlpack::{self, abi};
use crossdock::exchange::protocol::shm;
use crossdock::layout::Order;
use crossdock::memory::Birth;
use crossdock::view::{MemoryView, Producer, Refusal, Request};
use crossdock::{Array, DArray, Error};

use crate::classes::{ExportedMemory, Kind, Specimen, Swapped, Trade};
use crate::files::{npy_header, npz, png, safetensors as safetensors_file, shared_memory, with_file};
use crate::memories::foreign;
use crate::objects;

/// An importer.
pub(crate) struct Importer {
    pub(crate) name: &'static str,
    pub(crate) bring: fn(&Specimen) -> Result<Brought, No>,
}

/// The result of an import.
pub(crate) struct Brought {
    pub(crate) array: DArray,
    pub(crate) origin: Origin,
    /// Why it is a copy, in the library's words.
    pub(crate) because: Option<String>,
}

/// The position of element 0 before the import.
pub(crate) enum Origin {
    /// At an address.
    Address(usize),
    /// At a byte of a file, or of shared memory.
    Position(File, u64),
    /// Nowhere: it was encoded.
    Encoded,
}

/// Why nothing was imported.
pub(crate) enum No {
    /// The producer has no such data.
    CannotSay(&'static str),
    /// The library refused the producer's data.
    Refused(String),
}

impl From<Error> for No {
    fn from(error: Error) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<Refusal> for No {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal.reason().to_string())
    }
}

const INDIRECT: No = No::CannotSay("no tables of pointers");
pub(crate) const DEVICE: No = No::CannotSay("memory of the processor only");
const GAPLESS: No = No::CannotSay("elements without gaps only");
const ALIGNED: No = No::CannotSay("aligned elements only");
const ELEMENTS: No = No::CannotSay("strides are whole numbers of elements");
const ROW_MAJOR: No = No::CannotSay("row-major elements only");
const COLUMN_MAJOR: No = No::CannotSay("column-major elements only");
const ROWS_AND_COLUMNS: No = No::CannotSay("rows and columns");
const FORWARDS: No = No::CannotSay("no stride is negative");
const NUMBERS: No = No::CannotSay("no such type of elements");
const READONLY: No = No::CannotSay("any holder may write it");
const PICTURE: No = No::CannotSay("height and width, of one pixel at least");

/// All importers: a new one is one more entry.
pub(crate) const IMPORTERS: &[Importer] = &[
    Importer { name: "`Vec`", bring: vec },
    Importer { name: "`Arc<Vec>`", bring: arc },
    Importer { name: "pointer", bring: pointer },
    Importer { name: "producer", bring: producer },
    Importer { name: "DLPack", bring: dlpack_versioned },
    Importer { name: "DLPack before 1.0", bring: dlpack_legacy },
    Importer { name: "Arrow's C structs", bring: arrow_c::lists },
    Importer { name: "MemoryView of C", bring: objects::import },
    Importer { name: "Arrow", bring: crates::arrow_column },
    Importer { name: "`ndarray::Array`", bring: crates::nd_owned },
    Importer { name: "`ndarray::ArcArray`", bring: crates::nd_shared },
    Importer { name: "`nalgebra::DMatrix`", bring: crates::na_owned },
    Importer { name: "`nalgebra::DMatrixView`", bring: crates::na_view },
    Importer { name: "`image`", bring: crates::image_buffer },
    Importer { name: "shared memory", bring: |specimen| shared(specimen, false) },
    Importer { name: "sealed memory", bring: |specimen| shared(specimen, true) },
    Importer { name: "raw file", bring: raw_file },
    Importer { name: "`.npy`", bring: npy_file },
    Importer { name: "`.npz`", bring: |specimen| npz_file(specimen, false) },
    Importer { name: "`.npz`, deflated", bring: |specimen| npz_file(specimen, true) },
    Importer { name: "`.safetensors`", bring: safetensors_of },
    Importer { name: "`safetensors::TensorView`", bring: crates::tensor_view },
    Importer { name: "PNG", bring: png_of },
];

pub(crate) fn at_address(array: impl Into<DArray>, address: usize) -> Result<Brought, No> {
    Ok(Brought { array: array.into(), origin: Origin::Address(address), because: None })
}

/// The order in which the elements are contiguous, which files and vectors require.
fn gapless(specimen: &Specimen) -> Result<Order, No> {
    match specimen.order() {
        Some(order) => Ok(order),
        None if specimen.device.is_some() => Err(DEVICE),
        None if specimen.is_indirect => Err(INDIRECT),
        None => Err(GAPLESS),
    }
}

/// `f` for the specimen's element type and rank.
macro_rules! typed {
    ($specimen:ident, $f:ident) => {
        match ($specimen.kind, $specimen.shape.len()) {
            (Kind::Number, 0) => $f::<u16, 0>($specimen),
            (Kind::Number, _) => $f::<u16, 2>($specimen),
            (Kind::Record, _) => $f::<Trade, 2>($specimen),
            (Kind::Swapped, _) => $f::<Swapped, 2>($specimen),
        }
    };
}
use typed;

// ===== vectors, pointers, producers

fn vec(specimen: &Specimen) -> Result<Brought, No> {
    fn bring<T: Element, const D: usize>(specimen: &Specimen) -> Result<Brought, No> {
        let order = gapless(specimen)?;
        if !specimen.is_aligned() {
            return Err(ALIGNED);
        }
        let vec = specimen.vector::<T>();
        let address = vec.as_ptr().addr();
        let shape: [usize; D] = specimen.shape[..].try_into().unwrap();
        at_address(Array::<T, D>::from_buffer_in_order(Buffer::from_vec(vec)?, shape, order)?, address)
    }
    if specimen.is_readonly {
        return Err(READONLY);
    }
    if specimen.is_indirect {
        let rows: Vec<Vec<u16>> =
            specimen.vector::<u16>().chunks(specimen.shape[1]).map(<[u16]>::to_vec).collect();
        let address = rows[0].as_ptr().addr();
        return at_address(DArray::from_rows(rows)?, address);
    }
    typed!(specimen, bring)
}

fn arc(specimen: &Specimen) -> Result<Brought, No> {
    fn bring<T: Element, const D: usize>(specimen: &Specimen) -> Result<Brought, No> {
        let order = gapless(specimen)?;
        if !specimen.is_aligned() {
            return Err(ALIGNED);
        }
        let vec = Arc::new(specimen.vector::<T>());
        let address = vec.as_ptr().addr();
        let shape: [usize; D] = specimen.shape[..].try_into().unwrap();
        at_address(Array::<T, D>::from_buffer_in_order(Buffer::from_owner(vec)?, shape, order)?, address)
    }
    typed!(specimen, bring)
}

fn pointer(specimen: &Specimen) -> Result<Brought, No> {
    let (array, address) = foreign(specimen, Birth::Aliased);
    at_address(if specimen.is_readonly { array.into_readonly() } else { array }, address)
}

/// A producer that exports its array by a [`MemoryView`].
struct Lender(DArray);

impl Producer for Lender {
    fn export(&self, request: &Request) -> Result<MemoryView, Refusal> {
        self.0.export(request)
    }
}

fn producer(specimen: &Specimen) -> Result<Brought, No> {
    let (array, address) = foreign(specimen, Birth::Constant);
    let request = Request::pin().indirect().place(array.place());
    at_address(crossdock::view(&Lender(array), request)?.into_array()?, address)
}

// ===== DLPack

/// The producer's data until its deleter is called.
struct Context {
    shape: Vec<i64>,
    strides: Vec<i64>,
    memory: ExportedMemory,
}

/// The tensor in the struct, the producer's context, and the address of element 0.
fn tensor(specimen: &Specimen) -> Result<(abi::DLTensor, *mut c_void, usize), No> {
    if specimen.is_indirect {
        return Err(INDIRECT);
    }
    if specimen.kind != Kind::Number {
        return Err(NUMBERS);
    }
    let strides = specimen.strides_in_elements().ok_or(ELEMENTS)?;
    let mut context = Box::new(Context {
        shape: specimen.shape.iter().map(|&len| len as i64).collect(),
        strides: strides.iter().map(|&stride| stride as i64).collect(),
        memory: specimen.lend(),
    });
    let address = context.memory.first(specimen.offset);
    let place = context.memory.place();
    let tensor = abi::DLTensor {
        data: context.memory.base().cast(),
        device: abi::DLDevice { device_type: place.kind().0, device_id: place.ordinal() },
        ndim: specimen.shape.len() as i32,
        dtype: abi::DLDataType { code: 1, bits: 16, lanes: 1 },
        shape: context.shape.as_mut_ptr(),
        strides: context.strides.as_mut_ptr(),
        byte_offset: specimen.offset as u64,
    };
    Ok((tensor, Box::into_raw(context).cast(), address))
}

/// The deleter of one of the two structs.
macro_rules! deleter {
    ($name:ident, $managed:ty) => {
        unsafe extern "C" fn $name(managed: *mut $managed) {
            // SAFETY: the exporters below made the struct with `Box`, and a consumer calls the
            // deleter once.
            let managed = unsafe { Box::from_raw(managed) };
            // SAFETY: `tensor` made the context with `Box::into_raw`, and this is its only user.
            drop(unsafe { Box::from_raw(managed.manager_ctx.cast::<Context>()) });
        }
    };
}

deleter!(delete_versioned, abi::DLManagedTensorVersioned);
deleter!(delete_legacy, abi::DLManagedTensor);

fn dlpack_versioned(specimen: &Specimen) -> Result<Brought, No> {
    let (dl_tensor, manager_ctx, address) = tensor(specimen)?;
    let managed = Box::into_raw(Box::new(abi::DLManagedTensorVersioned {
        version: abi::VERSION,
        manager_ctx,
        deleter: Some(delete_versioned),
        flags: if specimen.is_readonly { abi::READ_ONLY } else { 0 },
        dl_tensor,
    }));
    // SAFETY: the struct describes memory that its context keeps, and this import is its only
    // consumer.
    at_address(unsafe { dlpack::import_versioned(managed) }?, address)
}

fn dlpack_legacy(specimen: &Specimen) -> Result<Brought, No> {
    let (dl_tensor, manager_ctx, address) = tensor(specimen)?;
    let managed = Box::new(abi::DLManagedTensor { dl_tensor, manager_ctx, deleter: Some(delete_legacy) });
    // SAFETY: the struct describes memory that its context keeps, and this import is its only
    // consumer.
    at_address(unsafe { dlpack::import_legacy(Box::into_raw(managed)) }?, address)
}

// ===== shared memory and files

fn shared(specimen: &Specimen, is_sealed: bool) -> Result<Brought, No> {
    if specimen.device.is_some() {
        return Err(DEVICE);
    }
    if specimen.is_indirect {
        return Err(INDIRECT);
    }
    let file = shared_memory(&specimen.bytes, is_sealed).unwrap();
    let (dtype, offset) = (specimen.kind.dtype(), specimen.offset as u64);
    let writable = !is_sealed && !specimen.is_readonly;
    let described = shm::Description::new(dtype, &specimen.shape, &specimen.strides, offset, writable)?;
    let array = shm::import(file.try_clone().unwrap().into(), &described)?;
    Ok(Brought { array, origin: Origin::Position(file, offset), because: None })
}

/// The import of a file of these bytes, with element 0 at a position.
fn opened<E: Into<No>>(
    bytes: &[u8],
    position: usize,
    open: impl FnOnce(&Path) -> Result<DArray, E>,
) -> Result<Brought, No> {
    let (array, file) = with_file(bytes, |path| open(path)).unwrap();
    let origin = Origin::Position(file, position as u64);
    Ok(Brought { array: array.map_err(Into::into)?, origin, because: None })
}

fn raw_file(specimen: &Specimen) -> Result<Brought, No> {
    if specimen.device.is_some() {
        return Err(DEVICE);
    }
    if specimen.is_indirect {
        return Err(INDIRECT);
    }
    let described = raw::Description::new(specimen.kind.dtype(), &specimen.shape);
    let described = described.strides(&specimen.strides).offset(specimen.offset);
    opened(&specimen.bytes, specimen.offset, |path| OpenOptions::new().raw(described.clone()).open(path))
}

fn npy_file(specimen: &Specimen) -> Result<Brought, No> {
    let mut file = npy_header(specimen, gapless(specimen)?, 0);
    let position = file.len();
    file.extend(&specimen.bytes[specimen.offset..]);
    opened(&file, position, |path| crossdock::open(path))
}

fn npz_file(specimen: &Specimen, is_deflated: bool) -> Result<Brought, No> {
    let (file, position) = npz(specimen, gapless(specimen)?, is_deflated);
    named(&file, position)
}

fn safetensors_of(specimen: &Specimen) -> Result<Brought, No> {
    let (file, position) = tensors(specimen)?;
    named(&file, position)
}

/// A file of one tensor, and the position of its elements.
fn tensors(specimen: &Specimen) -> Result<(Vec<u8>, usize), No> {
    match (gapless(specimen)?, specimen.kind) {
        (Order::RowMajor, Kind::Number) => Ok(safetensors_file(specimen)),
        (Order::RowMajor, _) => Err(NUMBERS),
        (Order::ColumnMajor, _) => Err(ROW_MAJOR),
    }
}

/// The only array of a file whose arrays have names, or are encoded.
fn named(file: &[u8], position: usize) -> Result<Brought, No> {
    let mut because = None;
    let brought = opened(file, position, |path| {
        let contents = files::open_all(path)?;
        let entry = contents.single()?;
        because = entry.copied_because();
        entry.open()
    })?;
    Ok(match because {
        None => brought,
        Some(what) => Brought { origin: Origin::Encoded, because: Some(what.to_owned()), ..brought },
    })
}

fn png_of(specimen: &Specimen) -> Result<Brought, No> {
    named(&png(&crates::pixels(specimen)?), 0)
}
