//! Checkpoints of PyTorch (feature `torch`): tensors under names, mapped in place, read only.
//!
//! ```text
//!   ZIP archive, nothing compressed:  x/data.pkl │ x/byteorder │ x/data/0 │ x/data/1 │ …
//!                                      │                          └── a storage: the elements of tensors
//!                                      └── a pickle: what has which name, and which part of which storage it is
//! ```
//!
//! The pickle is read as data ([`pickle`]): no function of it is called, and no class is made. The
//! name of a tensor is its path through the dictionaries and lists: `model.layers.0.weight`.
//! Numbers and texts are texts of the file. Objects of other classes are refused by name. Tensors
//! that share a storage share its bytes. Values whose paths are the same name are refused.

mod archive;
mod calls;
mod names;
mod pickle;

use std::collections::HashMap;
use std::ops::Range;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::{DType, ScalarKind};
use crate::error::{Advice, Error, Kind, Result, short};
use crate::exchange::files::contents::{Contents, Entry};
use crate::exchange::files::format::Format;
use crate::exchange::files::torch::archive::Archive;
use crate::exchange::files::torch::names::ListedValues;
use crate::exchange::files::torch::pickle::{Pickled, PickledTensor};
use crate::layout::Layout;

/// Types of storages without their module, and of elements.
const STORAGES: [(&str, ScalarKind); 12] = [
    ("DoubleStorage", ScalarKind::Float64),
    ("FloatStorage", ScalarKind::Float32),
    ("HalfStorage", ScalarKind::Float16),
    ("BFloat16Storage", ScalarKind::BFloat16),
    ("LongStorage", ScalarKind::Int64),
    ("IntStorage", ScalarKind::Int32),
    ("ShortStorage", ScalarKind::Int16),
    ("CharStorage", ScalarKind::Int8),
    ("ByteStorage", ScalarKind::UInt8),
    ("BoolStorage", ScalarKind::Bool),
    ("ComplexFloatStorage", ScalarKind::Complex64),
    ("ComplexDoubleStorage", ScalarKind::Complex128),
];
const DTYPES: [(&str, ScalarKind); 9] = [
    ("uint16", ScalarKind::UInt16),
    ("uint32", ScalarKind::UInt32),
    ("uint64", ScalarKind::UInt64),
    ("complex32", ScalarKind::Complex32),
    ("float8_e4m3fn", ScalarKind::Float8E4M3Fn),
    ("float8_e4m3fnuz", ScalarKind::Float8E4M3Fnuz),
    ("float8_e5m2", ScalarKind::Float8E5M2),
    ("float8_e5m2fnuz", ScalarKind::Float8E5M2Fnuz),
    ("float8_e8m0fnu", ScalarKind::Float8E8M0Fnu),
];

/// The name of a tensor that is alone.
const ALONE: &str = "tensor";

/// Opens the tensors. One that repeats elements of its storage may have `limit` bytes.
pub(super) fn read(buffer: Buffer, limit: u64) -> Result<Contents> {
    let archive = Archive::read(&buffer)?;
    let pickle = pickle::read(&archive.pickle)?;
    let alone = if matches!(pickle.root, Pickled::Tensor(_) | Pickled::Object(_) | Pickled::NoTensor(_)) {
        ALONE
    } else {
        ""
    };
    let ListedValues { tensors, mut refused, texts } = names::list(&pickle, alone)?;
    if let ([(_, error)], true) = (refused.as_slice(), tensors.is_empty() && alone == ALONE) {
        return Err(error.again());
    }
    // The storages, each once, and the tensors in them.
    let (mut ranges, mut numbers, mut found) = (Vec::new(), HashMap::new(), Vec::new());
    for (name, tensor) in tensors {
        match described(&tensor, &archive, limit) {
            Ok((dtype, layout, offset, range)) => {
                let next = numbers.len();
                let number = *numbers.entry(tensor.storage.key.clone()).or_insert(next);
                if number == next {
                    ranges.push(range);
                }
                found.push((name, dtype, layout, offset, number));
            }
            Err(error) if error.is_unsupported() => refused.push((name, error)),
            Err(error) => return Err(error.within(format_args!("tensor {}", short(&name)))),
        }
    }
    let parts = buffer.partition(&ranges).map_err(|rejected| match rejected.error {
        error if error.is_bounds() => malformed(format!("two storages overlap: {error}")),
        error => error.within("the file could not be divided into its storages"),
    })?;
    let entries = found.into_iter().map(|(name, dtype, layout, offset, number): (_, _, _, _, usize)| {
        let array = DArray::from_buffer(parts[number].try_clone()?, dtype, layout, offset);
        Ok(Entry::mapped(name, array?))
    });
    let refused = refused.into_iter().map(|(name, error)| {
        let error = error.within(format_args!("value {}", short(&name)));
        (name, error)
    });
    let contents = Contents::new(Format::Torch, entries.collect::<Result<_>>()?, texts);
    Ok(contents.with_refused(refused.collect()))
}

/// The dtype, the layout, the offset in the storage, and the range of the storage in the file.
fn described(
    tensor: &PickledTensor,
    archive: &Archive,
    limit: u64,
) -> Result<(DType, Layout, usize, Range<usize>)> {
    let name = tensor.dtype.as_ref().unwrap_or(&tensor.storage.kind);
    let known = match name.rsplit_once('.') {
        Some(("torch" | "torch.storage", name)) => {
            STORAGES.iter().chain(&DTYPES).find(|row| row.0 == name).map(|row| row.1)
        }
        _ => None,
    };
    let kind = known.ok_or_else(|| {
        Error::new(
            Kind::Unsupported,
            format!("its elements are of the type {}, which no dtype describes", short(name)),
        )
        .advising(Advice::OpenPickle)
    })?;
    let dtype = DType::scalar(kind, archive.order)?;
    let range = archive.storage(&tensor.storage.key)?;
    let damaged = || {
        malformed(format!(
            "its shape {:?} with strides {:?} from element {} on is not within its storage of {} bytes",
            tensor.shape,
            tensor.strides,
            tensor.offset,
            range.len()
        ))
    };
    let itemsize = dtype.itemsize();
    let shape: Option<Vec<usize>> = tensor.shape.iter().map(|&len| usize::try_from(len).ok()).collect();
    let strides: Option<Vec<isize>> = tensor
        .strides
        .iter()
        .map(|&stride| {
            isize::try_from(stride).ok().filter(|&stride| stride >= 0)?.checked_mul(itemsize as isize)
        })
        .collect();
    let offset = usize::try_from(tensor.offset).ok().and_then(|offset| offset.checked_mul(itemsize));
    let (Some(shape), Some(strides), Some(offset)) = (shape, strides, offset) else { return Err(damaged()) };
    let layout = Layout::new(&shape, &strides, itemsize).map_err(|_| damaged())?;
    let end = layout.span().nbytes().checked_add(if layout.is_empty() { 0 } else { offset });
    if end.is_none_or(|end| end > range.len()) {
        return Err(damaged());
    }
    // A stride of 0 repeats an element any number of times.
    let nbytes = layout.nbytes();
    if nbytes > range.len() && nbytes as u64 > limit {
        let text = format!(
            "it repeats the {} bytes of its storage: it takes {nbytes} bytes, and the limit is {limit}",
            range.len()
        );
        return Err(Error::new(Kind::Unsupported, text).advising(Advice::RaiseOpenLimit));
    }
    Ok((dtype, layout, if tensor.shape.contains(&0) { 0 } else { offset }, range))
}

fn malformed(text: String) -> Error {
    Error::new(Kind::Malformed, text)
}
