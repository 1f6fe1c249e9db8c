//! The classes of layouts: each is a specimen of foreign data, as plain numbers and bytes, from
//! which an importer builds the type of its producer.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crossdock::buffer::Buffer;
use crossdock::device::Device;
use crossdock::device::fenced::FencedDevice;
use crossdock::element::{DType, Element};
use crossdock::layout::{Layout, Order};
use crossdock::memory::Place;
use crossdock_testkit::Nested;

use crate::twice;

/// The type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `uint16`.
    Number,
    /// Byte-swapped `uint16`.
    Swapped,
    /// A packed record of a byte and a number.
    Record,
}

/// [`Kind::Record`], as a Rust type.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C, packed)]
pub(crate) struct Trade {
    pub(crate) kind: u8,
    pub(crate) price: u16,
}

/// [`Kind::Swapped`], as a Rust type.
#[cfg(target_endian = "little")]
pub(crate) type Swapped = crossdock::element::Be<u16>;
#[cfg(target_endian = "big")]
pub(crate) type Swapped = crossdock::element::Le<u16>;

impl Kind {
    pub(crate) fn dtype(self) -> DType {
        match self {
            Self::Number => DType::U16,
            Self::Swapped => DType::U16.swapped(),
            Self::Record => Trade::dtype(),
        }
    }

    pub(crate) fn itemsize(self) -> usize {
        match self {
            Self::Number | Self::Swapped => 2,
            Self::Record => 3,
        }
    }

    /// Its type string in NumPy.
    pub(crate) fn descr(self) -> &'static str {
        match (self, cfg!(target_endian = "little")) {
            (Self::Number, true) | (Self::Swapped, false) => "'<u2'",
            (Self::Number, false) | (Self::Swapped, true) => "'>u2'",
            (Self::Record, true) => "[('kind', '|u1'), ('price', '<u2')]",
            (Self::Record, false) => "[('kind', '|u1'), ('price', '>u2')]",
        }
    }
}

/// Foreign data: bytes, and the positions of the elements in them.
#[derive(Clone)]
pub(crate) struct Specimen {
    pub(crate) kind: Kind,
    pub(crate) shape: Vec<usize>,
    /// In bytes; within a row, if the rows are behind pointers.
    pub(crate) strides: Vec<isize>,
    /// The position of element 0 in the bytes.
    pub(crate) offset: usize,
    pub(crate) bytes: Vec<u8>,
    /// Each row has a separate block, and a table has their addresses.
    pub(crate) is_indirect: bool,
    pub(crate) is_readonly: bool,
    /// The same bytes in memory of the fenced device.
    pub(crate) device: Option<Buffer>,
    /// The bytes of each element, in row-major order of the indices, for any layout.
    pub(crate) expected: Vec<Vec<u8>>,
    /// Referenced by every memory of these data that is not released.
    alive: Arc<()>,
}

impl Specimen {
    /// Distinct numbers, except along axes with stride 0. Element 0 is `lead` bytes behind a
    /// multiple of 64, unless a stride is negative.
    pub(crate) fn new(kind: Kind, shape: &[usize], strides: &[isize], lead: usize) -> Self {
        let elements = Nested::from_fn(shape, |index| {
            let moving = index.iter().zip(strides).map(|(&i, &stride)| if stride == 0 { 0 } else { i });
            moving.zip(shape).fold(0, |number, (i, &len)| number * len as i128 + i as i128)
        });
        let byte = |number: i128, k: usize| (17 + 31 * number as usize + 101 * k) as u8;
        let expected = elements.cells.iter().map(|&n| (0..kind.itemsize()).map(|k| byte(n, k)).collect());
        Self::lying(kind, expected.collect(), shape, strides, lead)
    }

    /// A specimen with these elements and strides.
    fn lying(kind: Kind, expected: Vec<Vec<u8>>, shape: &[usize], strides: &[isize], lead: usize) -> Self {
        let at = |index: &[usize]| index.iter().zip(strides).map(|(&i, &s)| i as i128 * s as i128).sum();
        let cells = Nested::from_fn(shape, at);
        let (low, high) = cells.bytes(kind.itemsize()).unwrap_or((0, 0));
        let offset = lead + (-low) as usize;
        let mut bytes = vec![0xee; offset + high as usize];
        for (cell, element) in cells.cells.iter().zip(&expected) {
            let start = (offset as i128 + cell) as usize;
            bytes[start..start + element.len()].copy_from_slice(element);
        }
        Self {
            kind,
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            offset,
            bytes,
            is_indirect: false,
            is_readonly: false,
            device: None,
            expected,
            alive: Arc::new(()),
        }
    }

    /// The same elements with the layout of an array that begins `lead` bytes behind a multiple of
    /// 64.
    pub(crate) fn lying_so(&self, shape: &[usize], strides: &[isize], lead: usize) -> Self {
        let lies = Self::lying(self.kind, self.expected.clone(), shape, strides, lead);
        let device = self.device.as_ref().map(|_| lies.on_device());
        Self { is_indirect: self.is_indirect, is_readonly: self.is_readonly, device, ..lies }
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout::new(&self.shape, &self.strides, self.kind.itemsize()).unwrap()
    }

    /// The order in which the elements are contiguous in host memory, if they are.
    pub(crate) fn order(&self) -> Option<Order> {
        let cells = Nested::from_fn(&self.shape, |index| {
            index.iter().zip(&self.strides).map(|(&i, &s)| i as i128 * s as i128).sum()
        });
        let is = |row_major| cells.is_contiguous(self.kind.itemsize(), row_major);
        match () {
            () if self.is_indirect || self.device.is_some() => None,
            () if is(true) => Some(Order::RowMajor),
            () if is(false) => Some(Order::ColumnMajor),
            () => None,
        }
    }

    /// Strides in elements, if they are whole.
    pub(crate) fn strides_in_elements(&self) -> Option<Vec<isize>> {
        let itemsize = self.kind.itemsize() as isize;
        let whole = |&stride: &isize| (stride % itemsize == 0).then_some(stride / itemsize);
        self.strides.iter().map(whole).collect()
    }

    /// Whether element 0 is aligned.
    pub(crate) fn is_aligned(&self) -> bool {
        self.kind == Kind::Record || self.offset.is_multiple_of(2)
    }

    /// The elements in memory order, gaps included.
    pub(crate) fn vector<T: Element>(&self) -> Vec<T> {
        // SAFETY: `chunks_exact` yields `size_of::<T>()` bytes, `Pod` makes every bit pattern a
        // value, and the read is unaligned.
        let read = |bytes: &[u8]| unsafe { bytes.as_ptr().cast::<T>().read_unaligned() };
        self.bytes.chunks_exact(size_of::<T>()).map(read).collect()
    }

    /// The data in borrowed memory.
    pub(crate) fn lend(&self) -> ExportedMemory {
        let device = self.device.clone();
        let common = twice::lent(self);
        let is_common = common.is_some();
        let mut memory =
            ExportedMemory { blocks: vec![], table: vec![], common, device, alive: self.alive.clone() };
        if is_common {
            // No memory of its own.
        } else if self.is_indirect {
            let row = self.bytes.len() / self.shape[0];
            memory.blocks = self.bytes.chunks(row).map(block).collect();
            memory.table = memory.blocks.iter_mut().map(|block| block.as_mut_ptr().cast()).collect();
        } else {
            memory.blocks = vec![block(&self.bytes)];
        }
        memory
    }

    /// The bytes in memory of the fenced device.
    pub(crate) fn on_device(&self) -> Buffer {
        let buffer = Buffer::from_vec(self.bytes.clone()).unwrap().copy_to(&fenced().memory()).unwrap();
        fenced_buffers().push(buffer.clone());
        buffer
    }

    /// The number of live_exports of these data that are not released.
    pub(crate) fn live_exports(&self) -> usize {
        Arc::strong_count(&self.alive) - 1
    }
}

/// The memory of a memory, which is released when this is dropped.
pub(crate) struct ExportedMemory {
    blocks: Vec<Vec<[u64; 8]>>,
    /// Invariant 1: points into the blocks.
    table: Vec<*mut u8>,
    /// The beginning of the data, if they are in memory that another importer can import as well.
    common: Option<*mut u8>,
    device: Option<Buffer>,
    #[expect(dead_code, reason = "counted, as long as it is there")]
    alive: Arc<()>,
}

// SAFETY: the pointers lead to memory that the struct owns and that moves with it.
unsafe impl Send for ExportedMemory {}

impl ExportedMemory {
    /// The first byte of the data, or of the table.
    pub(crate) fn base(&mut self) -> *mut u8 {
        match &self.device {
            Some(buffer) => buffer.as_ptr().cast_mut(),
            None if self.table.is_empty() => {
                self.common.unwrap_or_else(|| self.blocks[0].as_mut_ptr().cast())
            }
            None => self.table.as_mut_ptr().cast(),
        }
    }

    /// The address of element 0, which is `offset` bytes behind the beginning.
    pub(crate) fn first(&mut self, offset: usize) -> usize {
        self.table.first().copied().unwrap_or(self.base().wrapping_add(offset)).addr()
    }

    pub(crate) fn place(&self) -> Place {
        self.device.as_ref().map_or(Place::CPU, Buffer::place)
    }
}

/// A copy of bytes that begins at a multiple of 8. It is larger than the bytes, so that empty data
/// have an address.
pub(crate) fn block(bytes: &[u8]) -> Vec<[u64; 8]> {
    let mut block = vec![[0; 8]; bytes.len() / 64 + 1];
    // SAFETY: `block` has more than `bytes.len()` bytes, is plain numbers, and does not overlap
    // `bytes`.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), block.as_mut_ptr().cast(), bytes.len()) };
    block
}

/// The device whose memory faults on a CPU access.
pub(crate) fn fenced() -> &'static FencedDevice {
    static DEVICE: OnceLock<Arc<FencedDevice>> = OnceLock::new();
    DEVICE.get_or_init(|| FencedDevice::new(0))
}

/// All its memory, for lookups by address.
fn fenced_buffers() -> std::sync::MutexGuard<'static, Vec<Buffer>> {
    static BUFFERS: Mutex<Vec<Buffer>> = Mutex::new(Vec::new());
    BUFFERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The bytes at an address, of any memory.
///
/// # Safety
///
/// `nbytes` bytes at `address` are readable, by the CPU or by the fenced device.
pub(crate) unsafe fn bytes_at(address: *const u8, nbytes: usize) -> Vec<u8> {
    let inside =
        |buffer: &&Buffer| (buffer.address()..buffer.address() + buffer.nbytes()).contains(&address.addr());
    if let Some(buffer) = fenced_buffers().iter().find(inside) {
        let host = buffer.copy_to(&crossdock::device::memory(Place::CPU).unwrap()).unwrap();
        let at = address.addr() - buffer.address();
        return host.pin().unwrap().to_vec()[at..at + nbytes].to_vec();
    }
    // SAFETY: `# Safety`: `nbytes` bytes are readable there; they are not fenced (checked above),
    // so the CPU may read them.
    (0..nbytes).map(|k| unsafe { address.wrapping_add(k).read_volatile() }).collect()
}

/// The naive reader: the address of each element, in row-major order of the indices, from a base
/// address.
///
/// # Safety
///
/// All pointers that the layout follows from `base` are readable.
pub(crate) unsafe fn addresses(base: *const u8, layout: &Layout) -> Vec<*const u8> {
    let cells = Nested::from_fn(layout.shape(), |index| {
        let mut at = base;
        for (axis, (&i, &stride)) in index.iter().zip(layout.strides()).enumerate() {
            at = at.wrapping_offset(i as isize * stride);
            if let Some(suboffset) = layout.suboffsets().and_then(|suboffsets| suboffsets[axis]) {
                // SAFETY: `# Safety`: the layout follows a pointer along this axis, so the pointer
                // at `at` is readable.
                at = unsafe { at.cast::<*const u8>().read_unaligned() }.wrapping_offset(suboffset);
            }
        }
        at.expose_provenance() as i128
    });
    cells.cells.iter().map(|&cell| std::ptr::with_exposed_provenance(cell as usize)).collect()
}

/// The bytes of each element.
///
/// # Safety
///
/// 1. All pointers that the layout follows from `base` are readable.
/// 2. The bytes of each element are readable, by the CPU or by the fenced device.
pub(crate) unsafe fn walk(base: *const u8, layout: &Layout) -> Vec<Vec<u8>> {
    // SAFETY: clause 1 of `# Safety`: all pointers that the layout follows from `base` are
    // readable.
    let addresses = unsafe { addresses(base, layout) };
    // SAFETY: clause 2 of `# Safety`: the `itemsize` bytes of the element at this address are
    // readable.
    addresses.into_iter().map(|address| unsafe { bytes_at(address, layout.itemsize()) }).collect()
}

/// A class of layout.
pub(crate) struct Class {
    pub(crate) name: &'static str,
    pub(crate) make: fn() -> Specimen,
}

/// All classes: a new one is one more entry.
pub(crate) const CLASSES: &[Class] = &[
    Class { name: "row-major", make: row_major },
    Class { name: "column-major", make: || Specimen::new(Kind::Number, &[3, 4], &[2, 6], 0) },
    Class { name: "gaps", make: || Specimen::new(Kind::Number, &[3, 4], &[16, 4], 0) },
    Class { name: "negative strides", make: || Specimen::new(Kind::Number, &[3, 4], &[-8, -2], 0) },
    Class { name: "zero strides", make: || Specimen::new(Kind::Number, &[3, 4], &[0, 2], 0) },
    Class { name: "unaligned", make: || Specimen::new(Kind::Number, &[3, 4], &[8, 2], 1) },
    Class { name: "records", make: || Specimen::new(Kind::Record, &[3, 4], &[12, 3], 0) },
    Class { name: "field of packed records", make: || Specimen::new(Kind::Number, &[3, 4], &[12, 3], 1) },
    Class { name: "other byte order", make: || Specimen::new(Kind::Swapped, &[3, 4], &[8, 2], 0) },
    Class { name: "suboffsets", make: || Specimen { is_indirect: true, ..row_major() } },
    Class { name: "0-d", make: || Specimen::new(Kind::Number, &[], &[], 0) },
    Class { name: "empty", make: || Specimen::new(Kind::Number, &[0, 4], &[8, 2], 0) },
    Class { name: "read-only", make: || Specimen { is_readonly: true, ..row_major() } },
    Class { name: "device memory", make: on_device },
];

fn row_major() -> Specimen {
    Specimen::new(Kind::Number, &[3, 4], &[8, 2], 0)
}

fn on_device() -> Specimen {
    let specimen = row_major();
    Specimen { device: Some(specimen.on_device()), ..specimen }
}
