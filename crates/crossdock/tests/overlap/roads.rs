//! Memory of three kinds, and the ways in which the same bytes of it become arrays.

use std::ffi::c_void;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crossdock::DArray;
use crossdock::bindings::memory_view::{self, ArrayObject, Flags};
use crossdock::bindings::{array_interface, pep3118, shm};
use crossdock::buffer::Buffer;
use crossdock::element::{DType, Field};
use crossdock::exchange::protocol::dlpack::{self, abi};
use crossdock::layout::Layout;
use crossdock::memory::{Birth, MapOptions, Place};
use crossdock::view::Request;
use fastrand::Rng;

/// Bytes that are reachable at one address or at several.
pub(crate) struct Memory {
    pub(crate) name: &'static str,
    pub(crate) nbytes: usize,
    /// All of the bytes, once for each mapping.
    mappings: Vec<Buffer>,
    /// The file to map once more.
    path: Option<PathBuf>,
    is_shared: bool,
}

impl Memory {
    pub(crate) fn heap(nbytes: usize) -> Self {
        // Allocated by an owner unknown to the library.
        let block = Box::into_raw(vec![0u64; nbytes / 8].into_boxed_slice());
        let (address, len) = (block.cast::<u64>().expose_provenance(), block.len());
        let release = move || {
            let block = std::ptr::with_exposed_provenance_mut::<u64>(address);
            // SAFETY: `address` and `len` are those of the boxed slice leaked above, which is
            // released once, after the last access.
            drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(block, len)) });
        };
        // SAFETY: the leaked block has at least `nbytes` bytes, lives until `release`, and is only
        // accessed through this pointer.
        let buffer =
            unsafe { Buffer::from_foreign(block.cast(), nbytes, Place::CPU, Birth::Aliased, release) };
        Self { name: "heap", nbytes, mappings: vec![buffer.unwrap()], path: None, is_shared: false }
    }

    pub(crate) fn file(nbytes: usize) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("crossdock-overlap-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, vec![0; nbytes]).unwrap();
        let mappings = (0..3).map(|_| mapped(&path)).collect();
        Self { name: "file", nbytes, mappings, path: Some(path), is_shared: false }
    }

    pub(crate) fn shared(nbytes: usize) -> Self {
        let first = Buffer::shared(nbytes).unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", first.descriptor().unwrap().0.as_raw_fd()));
        let mappings = vec![mapped(&path), first];
        Self { name: "shared memory", nbytes, mappings, path: Some(path), is_shared: true }
    }

    pub(crate) fn write(&self, bytes: &[u8]) {
        self.mappings[0].share().unwrap().copy_from_slice(bytes).unwrap();
    }

    pub(crate) fn read(&self) -> Vec<u8> {
        self.mappings[0].pin().unwrap().to_vec()
    }

    /// One of its addresses.
    fn address(&self, rng: &mut Rng) -> *mut u8 {
        self.mappings[rng.usize(..self.mappings.len())].as_ptr().cast_mut()
    }

    pub(crate) fn is_in_a_file(&self) -> bool {
        self.path.is_some()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(path) = self.path.as_ref().filter(|_| !self.is_shared) {
            std::fs::remove_file(path).unwrap();
        }
    }
}

fn open(path: &PathBuf) -> File {
    File::options().read(true).write(true).open(path).unwrap()
}

fn mapped(path: &PathBuf) -> Buffer {
    Buffer::map(open(path), MapOptions::new().writable(true)).unwrap()
}

/// Elements of a memory, as their producer describes them. All strides are positive.
pub(crate) struct Base {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<isize>,
    /// The position of element 0.
    pub(crate) offset: usize,
    /// For an indirect array, the row of the memory for each row.
    pub(crate) rows: Vec<usize>,
}

impl Base {
    fn layout(&self) -> Layout {
        Layout::new(&self.shape, &self.strides, self.dtype.itemsize()).unwrap()
    }

    fn span(&self) -> usize {
        let reach: isize =
            self.shape.iter().zip(&self.strides).map(|(&len, &s)| (len as isize - 1) * s).sum();
        reach as usize + self.dtype.itemsize()
    }
}

/// A road: its name, and a function that imports an array; `None` if its producers cannot describe
/// such elements.
pub(crate) struct Road {
    pub(crate) name: &'static str,
    pub(crate) is_indirect: bool,
    pub(crate) bring: fn(&Memory, &Base, &mut Rng) -> Option<DArray>,
}

const fn road(name: &'static str, bring: fn(&Memory, &Base, &mut Rng) -> Option<DArray>) -> Road {
    Road { name, is_indirect: false, bring }
}

pub(crate) const ROADS: &[Road] = &[
    road("pointer", pointer),
    road("window", window),
    road("PEP 3118", buffer_protocol),
    road("array interface", interface),
    road("DLPack", tensor),
    road("DLPack, an export that came back", tensor_back),
    road("MemoryView, an export that came back", view_back),
    road("producer", |memory, base, rng| {
        let lent = pointer(memory, base, rng)?;
        Some(lent.export(&Request::share()).unwrap().into_array().unwrap())
    }),
    road("field of records", field),
    Road { name: "rows behind pointers", is_indirect: true, bring: rows },
    road("mapping", mapping),
    road("shared memory", described),
];

/// All of the memory as one buffer.
pub(crate) fn whole(memory: &Memory, rng: &mut Rng) -> Buffer {
    // SAFETY: the memory outlives the arrays of a case, and is only accessed between operations.
    unsafe { Buffer::from_foreign(memory.address(rng), memory.nbytes, Place::CPU, Birth::Aliased, || {}) }
        .unwrap()
}

fn pointer(memory: &Memory, base: &Base, rng: &mut Rng) -> Option<DArray> {
    let whole = whole(memory, rng);
    Some(DArray::from_buffer(whole, base.dtype.clone(), base.layout(), base.offset).unwrap())
}

/// A buffer that begins and ends with the elements.
fn window(memory: &Memory, base: &Base, rng: &mut Rng) -> Option<DArray> {
    let at = memory.address(rng).wrapping_add(base.offset);
    // SAFETY: within the memory, which outlives the arrays of a case, and is only accessed between
    // operations.
    let buffer = unsafe { Buffer::from_foreign(at, base.span(), Place::CPU, Birth::Aliased, || {}) };
    Some(DArray::from_buffer(buffer.unwrap(), base.dtype.clone(), base.layout(), 0).unwrap())
}

fn buffer_protocol(memory: &Memory, base: &Base, rng: &mut Rng) -> Option<DArray> {
    let format = crossdock::bindings::dialect::pep3118::print(&base.dtype).ok()?;
    let shape: Vec<isize> = base.shape.iter().map(|&len| len as isize).collect();
    let described = pep3118::Described {
        buf: memory.address(rng).wrapping_add(base.offset).cast(),
        len: (base.shape.iter().product::<usize>() * base.dtype.itemsize()) as isize,
        itemsize: base.dtype.itemsize() as isize,
        format: Some(format.as_bytes()),
        shape: Some(&shape),
        strides: Some(&base.strides),
        suboffsets: None,
    };
    // SAFETY: within the memory, which outlives the arrays of a case, and is only accessed between
    // operations.
    let array = unsafe { pep3118::import(&described, false, Birth::Aliased, || {}) }.unwrap();
    (*array.dtype() == base.dtype).then_some(array)
}

fn interface(memory: &Memory, base: &Base, rng: &mut Rng) -> Option<DArray> {
    let words =
        array_interface::InterfaceType::of(&base.dtype).ok().filter(|words| words.descr().is_none())?;
    let shape: Vec<isize> = base.shape.iter().map(|&len| len as isize).collect();
    let described = array_interface::Described {
        typestr: words.typestr(),
        descr: None,
        name: None,
        data: memory.address(rng).wrapping_add(base.offset).cast(),
        shape: &shape,
        strides: Some(&base.strides),
    };
    // SAFETY: within the memory, which outlives the arrays of a case, and is only accessed between
    // operations.
    let array = unsafe { array_interface::import(&described, false, Birth::Aliased, || {}) }.unwrap();
    (*array.dtype() == base.dtype).then_some(array)
}

/// The shape and strides that the tensor points to.
type Numbers = (Vec<i64>, Vec<i64>);

unsafe extern "C" fn delete(managed: *mut abi::DLManagedTensorVersioned) {
    // SAFETY: `tensor` made it with `Box::into_raw`, and a deleter is called once.
    let managed = unsafe { Box::from_raw(managed) };
    // SAFETY: `tensor` made `manager_ctx` with `Box::into_raw`, too, and this is the only call of
    // the deleter.
    drop(unsafe { Box::from_raw(managed.manager_ctx.cast::<Numbers>()) });
}

fn tensor(memory: &Memory, base: &Base, rng: &mut Rng) -> Option<DArray> {
    let itemsize = base.dtype.itemsize() as isize;
    let (code, bits, lanes) = crossdock::bindings::dialect::dlpack::to_dlpack(&base.dtype).ok()?;
    if base.strides.iter().any(|stride| stride % itemsize != 0) {
        return None;
    }
    let numbers: Numbers = (
        base.shape.iter().map(|&len| len as i64).collect(),
        base.strides.iter().map(|&stride| (stride / itemsize) as i64).collect(),
    );
    let mut numbers = Box::new(numbers);
    let dl_tensor = abi::DLTensor {
        data: memory.address(rng).cast(),
        device: abi::DLDevice { device_type: 1, device_id: 0 },
        ndim: base.shape.len() as i32,
        dtype: abi::DLDataType { code, bits, lanes },
        shape: numbers.0.as_mut_ptr(),
        strides: numbers.1.as_mut_ptr(),
        byte_offset: base.offset as u64,
    };
    let manager_ctx: *mut c_void = Box::into_raw(numbers).cast();
    let managed = Box::into_raw(Box::new(abi::DLManagedTensorVersioned {
        version: abi::VERSION,
        manager_ctx,
        deleter: Some(delete),
        flags: 0,
        dl_tensor,
    }));
    // SAFETY: the struct describes existing memory, and has no other consumer.
    Some(unsafe { dlpack::import_versioned(managed) }.unwrap())
}

fn tensor_back(memory: &Memory, base: &Base, rng: &mut Rng) -> Option<DArray> {
    let array = mapping(memory, base, rng).or_else(|| pointer(memory, base, rng))?;
    let exported = dlpack::export_versioned(&array, &dlpack::ExportOptions::new()).ok()?;
    // SAFETY: the struct was exported just now, and has no other consumer.
    Some(unsafe { dlpack::import_versioned(exported.into_raw()) }.unwrap())
}

fn view_back(memory: &Memory, base: &Base, rng: &mut Rng) -> Option<DArray> {
    let array = mapping(memory, base, rng).or_else(|| pointer(memory, base, rng))?;
    let object = ArrayObject::new(array);
    // SAFETY: `object` is alive during the call, and exports existing memory.
    let back = unsafe { memory_view::import(object.as_ptr(), Flags::INDIRECT | Flags::WRITABLE) }.ok()?;
    (*back.dtype() == base.dtype).then_some(back)
}

/// The elements as a field of records whose size is the smallest stride.
fn field(memory: &Memory, base: &Base, rng: &mut Rng) -> Option<DArray> {
    let apart = base.strides.iter().copied().min().unwrap() as usize;
    let room = apart.checked_sub(base.dtype.itemsize())?;
    let before = rng.usize(..=room).min(base.offset);
    let record = DType::record([Field::new("it", before, base.dtype.clone())], apart).unwrap();
    let layout = Layout::new(&base.shape, &base.strides, apart).ok()?;
    let array = DArray::from_buffer(whole(memory, rng), record, layout, base.offset - before).ok()?;
    Some(array.field("it").unwrap())
}

/// Rows behind pointers, in any order.
fn rows(memory: &Memory, base: &Base, rng: &mut Rng) -> Option<DArray> {
    if base.shape.len() < 2 {
        return None;
    }
    let first = memory.address(rng).wrapping_add(base.offset);
    let table: Vec<*mut u8> =
        base.rows.iter().map(|&row| first.wrapping_offset(row as isize * base.strides[0])).collect();
    let mut strides = base.strides.clone();
    strides[0] = size_of::<*mut u8>() as isize;
    let suboffsets: Vec<Option<isize>> = (0..base.shape.len()).map(|axis| (axis == 0).then_some(0)).collect();
    let layout = Layout::with_suboffsets(&base.shape, &strides, &suboffsets, base.dtype.itemsize()).unwrap();
    let dtype = base.dtype.clone();
    // SAFETY: the pointers lead to rows of the memory; the table is only read during this call.
    Some(
        unsafe { DArray::from_indirect(table.as_ptr().cast(), dtype, &layout, Birth::Aliased, || {}) }
            .unwrap(),
    )
}

/// The file or the shared memory, mapped once more.
fn mapping(memory: &Memory, base: &Base, rng: &mut Rng) -> Option<DArray> {
    let path = memory.path.as_ref()?;
    if rng.bool() {
        let all = mapped(path);
        return Some(DArray::from_buffer(all, base.dtype.clone(), base.layout(), base.offset).unwrap());
    }
    let options = MapOptions::new().writable(true).range(base.offset as u64, base.span());
    let part = Buffer::map(open(path), options).unwrap();
    Some(DArray::from_buffer(part, base.dtype.clone(), base.layout(), 0).unwrap())
}

/// Shared memory as it is imported from another process.
fn described(memory: &Memory, base: &Base, _: &mut Rng) -> Option<DArray> {
    let path = memory.path.as_ref().filter(|_| memory.is_shared)?;
    let (dtype, offset) = (base.dtype.clone(), base.offset as u64);
    let described = shm::Description::new(dtype, &base.shape, &base.strides, offset, true).unwrap();
    Some(shm::import(open(path).into(), &described).unwrap())
}
