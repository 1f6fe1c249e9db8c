//! Arrays in every kind of memory, made without an adapter: each imported array has a twin among
//! them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crossdock::DArray;
use crossdock::buffer::Buffer;
use crossdock::layout::Layout;
use crossdock::memory::{Backing, Birth, MapOptions};

use crate::classes::{Kind, Specimen, Swapped, Trade, block};
use crate::files::{scratch, with_file};

/// A kind of memory.
pub(crate) struct Memory {
    pub(crate) name: &'static str,
    pub(crate) backing: Backing,
    pub(crate) birth: Birth,
    pub(crate) make: fn(&Specimen) -> DArray,
}

const POOL: &str = "a pool's";

/// All of them; the first one is the default memory of arrays.
pub(crate) const MEMORIES: &[Memory] = &[
    Memory { name: "a vector", backing: Backing::Heap, birth: Birth::Sole, make: vector },
    Memory { name: POOL, backing: Backing::Heap, birth: Birth::Sole, make: pooled },
    Memory {
        name: "a vector that is shared",
        backing: Backing::Heap,
        birth: Birth::Constant,
        make: shared_vector,
    },
    Memory {
        name: "another's, handed over",
        backing: Backing::Foreign,
        birth: Birth::Sole,
        make: handed_over,
    },
    Memory { name: "another's, constant", backing: Backing::Foreign, birth: Birth::Constant, make: constant },
    Memory { name: "another's, who may write", backing: Backing::Foreign, birth: Birth::Aliased, make: lent },
    Memory { name: "a mapped file", backing: Backing::File, birth: Birth::Aliased, make: mapped },
    Memory {
        name: "a mapped file, unchanging",
        backing: Backing::File,
        birth: Birth::Sole,
        make: mapped_constant,
    },
    Memory { name: "shared memory", backing: Backing::Shared, birth: Birth::Aliased, make: shared },
    Memory { name: "sealed shared memory", backing: Backing::Shared, birth: Birth::Constant, make: sealed },
    Memory { name: "a device's", backing: Backing::Device, birth: Birth::Sole, make: device },
];

/// The memory of an array, as the page names it.
pub(crate) fn described(array: &DArray) -> String {
    let is_always_readonly = array.birth() == Birth::Constant || array.backing() == Backing::File;
    let readonly = if array.is_readonly() && !is_always_readonly { ", read-only" } else { "" };
    format!("{}{readonly}", memory_of(array).name)
}

fn memory_of(array: &DArray) -> &'static Memory {
    let is_pools = array.buffer().is_ok_and(|(buffer, _)| buffer.pool_name().is_some());
    let is_like = |memory: &&Memory| {
        (memory.backing, memory.birth) == (array.backing(), array.birth())
            && is_pools == (memory.name == POOL)
    };
    MEMORIES.iter().find(is_like).unwrap_or_else(|| panic!("no memory is like that of {array:?}"))
}

/// The twin of an array: the same layout, and memory of the same kind.
pub(crate) fn twin(array: &DArray, specimen: &Specimen) -> DArray {
    let specimen = if specimen.is_indirect {
        specimen.clone()
    } else {
        let first = array.as_ptr().addr().wrapping_add_signed(array.layout().span().low());
        specimen.lying_so(array.shape(), array.strides(), first % array.dtype().alignment())
    };
    let twin = (memory_of(array).make)(&specimen);
    if array.is_readonly() { twin.into_readonly() } else { twin }
}

/// An array of this class, made by the library.
pub(crate) fn own(specimen: &Specimen) -> DArray {
    let array = match () {
        () if specimen.is_indirect => handed_over(specimen),
        () if specimen.device.is_some() => device(specimen),
        () => vector(specimen),
    };
    if specimen.is_readonly { array.into_readonly() } else { array }
}

fn over(buffer: Buffer, specimen: &Specimen) -> DArray {
    DArray::from_buffer(buffer, specimen.kind.dtype(), specimen.layout(), specimen.offset).unwrap()
}

/// A vector of the elements, if they are aligned like those of a vector.
fn vector(specimen: &Specimen) -> DArray {
    let buffer = match specimen.kind {
        _ if !specimen.is_aligned() => Buffer::from_vec(block(&specimen.bytes)),
        Kind::Number => Buffer::from_vec(specimen.vector::<u16>()),
        Kind::Swapped => Buffer::from_vec(specimen.vector::<Swapped>()),
        Kind::Record => Buffer::from_vec(specimen.vector::<Trade>()),
    };
    over(buffer.unwrap(), specimen)
}

fn pooled(specimen: &Specimen) -> DArray {
    over(Buffer::copy_from_slice(&specimen.bytes).unwrap(), specimen)
}

fn shared_vector(specimen: &Specimen) -> DArray {
    over(Buffer::from_owner(Arc::new(block(&specimen.bytes))).unwrap(), specimen)
}

fn handed_over(specimen: &Specimen) -> DArray {
    foreign(specimen, Birth::Sole).0
}

fn constant(specimen: &Specimen) -> DArray {
    foreign(specimen, Birth::Constant).0
}

fn lent(specimen: &Specimen) -> DArray {
    foreign(specimen, Birth::Aliased).0
}

fn mapped(specimen: &Specimen) -> DArray {
    over(Buffer::map(scratch(&specimen.bytes).unwrap(), MapOptions::new()).unwrap(), specimen)
}

/// A file whose only remaining descriptor is read-only.
fn mapped_constant(specimen: &Specimen) -> DArray {
    let (file, _) = with_file(&specimen.bytes, |path| File::open(path).unwrap()).unwrap();
    let map = Buffer::map(file, MapOptions::new()).unwrap();
    // SAFETY: the file has lost its name, and the only descriptor that could write it is closed, so
    // its bytes are constant.
    over(unsafe { map.assume_constant() }, specimen)
}

fn shared(specimen: &Specimen) -> DArray {
    let buffer = Buffer::shared(specimen.bytes.len()).unwrap();
    let (fd, _) = buffer.descriptor().unwrap();
    File::from(fd.try_clone_to_owned().unwrap()).write_all_at(&specimen.bytes, 0).unwrap();
    over(buffer, specimen)
}

fn sealed(specimen: &Specimen) -> DArray {
    shared(specimen).into_sealed().unwrap()
}

fn device(specimen: &Specimen) -> DArray {
    over(specimen.on_device(), specimen)
}

/// An array in memory that was lent by a pointer, and the address of its element 0.
pub(crate) fn foreign(specimen: &Specimen, birth: Birth) -> (DArray, usize) {
    let mut memory = specimen.lend();
    let (base, first, place) = (memory.base(), memory.first(specimen.offset), memory.place());
    let dtype = specimen.kind.dtype();
    let release = move || drop(memory);
    let array = if specimen.is_indirect {
        let strides = [size_of::<*mut u8>() as isize, specimen.strides[1]];
        let layout =
            Layout::with_suboffsets(&specimen.shape, &strides, &[Some(0), None], dtype.itemsize()).unwrap();
        // SAFETY: the table has a pointer for each row, and each leads to one until the release. No
        // other code accesses them.
        unsafe { DArray::from_indirect(base, dtype, &layout, birth, release) }.unwrap()
    } else {
        // SAFETY: the memory keeps `specimen.bytes.len()` bytes at that place until the release,
        // and no other code accesses them.
        let buffer = unsafe { Buffer::from_foreign(base, specimen.bytes.len(), place, birth, release) };
        over(buffer.unwrap(), specimen)
    };
    (array, first)
}
