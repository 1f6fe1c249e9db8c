//! The hostile producer of DLPack: any struct, legal or not, with a deleter that counts its calls
//! and frees the exported memory.
//!
//! The structs are declared independently, from the header, so that the importer's declarations are
//! checked, too. The expected answer of an importer is computed in the most obvious way, in 128
//! bits: [`Recipe::is_legal`].

use std::ffi::c_void;
use std::ptr;
use std::sync::Mutex;

/// `DLTensor`.
#[repr(C)]
#[derive(Debug)]
pub struct Tensor {
    data: *mut c_void,
    device: [i32; 2],
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
#[derive(Debug)]
pub struct Versioned {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
}

/// `DLManagedTensor`.
#[repr(C)]
#[derive(Debug)]
pub struct Legacy {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Legacy)>,
}

/// The value of `data`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Null.
    Null,
    /// This offset in a block of [`BLOCK`] bytes (or, as a wrapped number, before it).
    Block(usize),
    /// This address, whatever is there. Never accessed.
    Wild(usize),
}

/// The size of the block of data.
pub const BLOCK: usize = 1024;

/// The content of a struct.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Major and minor. (The legacy struct has none.)
    pub version: [u32; 2],
    /// Read-only 1, copied 2, sub-byte padded 4. (The legacy struct has none.)
    pub flags: u64,
    /// Kind and ordinal.
    pub device: [i32; 2],
    /// The number of axes.
    pub ndim: i32,
    /// Code, bits, lanes.
    pub dtype: (u8, u8, u16),
    /// As many as [`Recipe::rank`] says, or null.
    pub shape: Option<Vec<i64>>,
    /// As many as [`Recipe::rank`] says, or null.
    pub strides: Option<Vec<i64>>,
    /// The address of the data.
    pub data: Data,
    /// The offset of element 0, in bytes.
    pub byte_offset: u64,
    /// Whether there is a deleter.
    pub deleter: bool,
}

impl Default for Recipe {
    /// A legal tensor: 2 by 3 numbers of type `i32` at the beginning of the block.
    fn default() -> Self {
        Self {
            version: [1, 3],
            flags: 0,
            device: [1, 0],
            ndim: 2,
            dtype: (0, 32, 1),
            shape: Some(vec![2, 3]),
            strides: Some(vec![3, 1]),
            data: Data::Block(0),
            byte_offset: 0,
            deleter: true,
        }
    }
}

/// Bytes that make choices; 0 once they have run out.
#[derive(Debug)]
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// A number below a bound, which is not 0.
    pub fn below(&mut self, bound: u8) -> u8 {
        self.byte() % bound
    }

    fn word(&mut self) -> u64 {
        let bytes: [u8; 8] = std::array::from_fn(|_| self.byte());
        u64::from_le_bytes(bytes)
    }

    /// One time in sixteen.
    pub(crate) fn rarely(&mut self) -> bool {
        self.byte() >= 0xf0
    }

    /// A number that often causes overflow.
    pub(crate) fn nasty(&mut self) -> i64 {
        let near = i64::from(self.below(5)) - 2;
        let around = match self.below(8) {
            0 => 0,
            1 => i64::MAX,
            2 => i64::MIN,
            3 => 1 << 32,
            4 => 1 << 31,
            5 => 1 << (56 + self.below(7)),
            6 => i64::MAX / i64::from(self.byte().max(1)),
            _ => self.word() as i64,
        };
        around.wrapping_add(near)
    }
}

/// The types of DLPack 1.3, by code and bits. Types below 8 bits are padded to bytes.
const TYPES: [(u8, &[u8]); 18] = [
    (0, &[8, 16, 32, 64]),
    (1, &[8, 16, 32, 64]),
    (2, &[16, 32, 64]),
    (3, &[64]),
    (4, &[16]),
    (5, &[32, 64, 128]),
    (6, &[8]),
    (7, &[8]),
    (8, &[8]),
    (9, &[8]),
    (10, &[8]),
    (11, &[8]),
    (12, &[8]),
    (13, &[8]),
    (14, &[8]),
    (15, &[6]),
    (16, &[6]),
    (17, &[4]),
];

/// Devices whose `data` is a handle.
const HANDLES: [i32; 3] = [7, 8, 15];

/// The producer is trusted for this one: its driver dereferences the handle, and only a valid
/// handle can be checked.
const OPENCL: i32 = 4;

impl Recipe {
    /// A struct chosen by bytes: about half are legal, and most of those stay within the block.
    pub fn choose(choices: &mut Choices<'_>) -> Self {
        let (code, widths) = TYPES[usize::from(choices.below(18))];
        let bits = widths[usize::from(choices.below(4)) % widths.len()];
        let mut recipe = Self {
            flags: u64::from(choices.below(8)),
            dtype: (code, bits, 1),
            ndim: i32::from(choices.below(6)),
            ..Self::default()
        };
        if choices.rarely() {
            recipe.ndim = match choices.below(8) {
                0 => -1,
                1 => 65,
                2 => 64,
                3 => i32::MIN,
                4 => i32::MAX,
                _ => i32::from(choices.below(60)),
            };
        }
        let rank = recipe.rank();
        recipe.shape = Some((0..rank).map(|_| i64::from(choices.below(5).min(3)) + 1).collect());
        recipe.strides = match choices.below(4) {
            0 => None,
            1 => Some((0..rank).map(|_| i64::from(choices.below(17)) - 8).collect()),
            kind => Some(recipe.row_major(kind == 2)),
        };
        if let Some(shape) = &mut recipe.shape {
            for len in shape.iter_mut() {
                if choices.rarely() {
                    *len = if choices.byte() < 128 { 0 } else { choices.nasty() };
                }
            }
        }
        if let Some(strides) = &mut recipe.strides {
            for stride in strides.iter_mut() {
                if choices.rarely() {
                    *stride = choices.nasty();
                }
            }
        }
        recipe.put(choices);
        recipe.spoil(choices);
        recipe
    }

    /// Contiguous strides, forwards or backwards.
    fn row_major(&self, forwards: bool) -> Vec<i64> {
        let mut inner: i64 = if forwards { 1 } else { -1 };
        let shape = self.shape.as_deref().unwrap_or_default();
        let mut strides = vec![0; shape.len()];
        for (stride, len) in strides.iter_mut().zip(shape).rev() {
            *stride = inner;
            inner = inner.wrapping_mul(*len);
        }
        strides
    }

    /// Places element 0 so that all elements are within the block, if they fit.
    fn put(&mut self, choices: &mut Choices<'_>) {
        let Some((low, high)) = self.reach() else { return };
        let room = BLOCK as i128 - (high - low);
        if room < 0 {
            return;
        }
        let at = (i128::from(choices.byte()) % (room + 1) - low) as usize;
        // Split between pointer and offset; a pointer before the block is valid as long as it is
        // not dereferenced.
        let byte_offset = if choices.byte() < 128 { 0 } else { usize::from(choices.byte()) };
        self.data = Data::Block(at.wrapping_sub(byte_offset));
        self.byte_offset = byte_offset as u64;
    }

    /// Sometimes adds one more wrong or unusual property.
    fn spoil(&mut self, choices: &mut Choices<'_>) {
        if choices.byte() < 160 {
            return;
        }
        match choices.below(16) {
            0 => self.version = [choices.below(4).into(), choices.word() as u32],
            1 => self.version = [choices.word() as u32, 0],
            2 => self.flags = choices.word(),
            3 => self.device = [choices.byte().into(), choices.word() as i32],
            4 => self.device = [choices.word() as i32, choices.nasty() as i32],
            5 => self.dtype.2 = choices.word() as u16,
            6 => self.dtype.1 = choices.byte(),
            7 => self.dtype.0 = choices.byte(),
            8 => self.shape = None,
            9 => self.data = Data::Null,
            10 => self.data = Data::Wild(choices.nasty() as usize),
            11 => self.byte_offset = choices.nasty() as u64,
            12 => self.deleter = false,
            13 => self.version[1] = choices.word() as u32,
            14 => self.strides = None,
            _ => self.data = Data::Block(choices.byte().into()),
        }
        if self.device[0] == OPENCL {
            self.device[0] = HANDLES[0];
        }
    }

    /// The number of lengths and strides that a consumer may read.
    pub fn rank(&self) -> usize {
        usize::try_from(self.ndim).map_or(0, |rank| rank.min(64))
    }

    fn itemsize(&self) -> i128 {
        i128::from(self.dtype.1).max(8) / 8
    }

    fn is_empty(&self) -> bool {
        self.rank() > 0 && self.shape.as_ref().is_some_and(|shape| shape.contains(&0))
    }

    /// The strides, in bytes.
    fn byte_strides(&self) -> Vec<i128> {
        let strides = match &self.strides {
            Some(strides) => strides.clone(),
            None => self.row_major(true),
        };
        strides.iter().map(|&stride| i128::from(stride) * self.itemsize()).collect()
    }

    /// The lowest and the highest (exclusive) byte relative to element 0, if they are below 2¹⁰⁰.
    fn reach(&self) -> Option<(i128, i128)> {
        let (mut low, mut high) = (0, self.itemsize());
        if self.is_empty() {
            return Some((0, 0));
        }
        for (&len, stride) in self.shape.as_ref()?.iter().zip(self.byte_strides()) {
            let distance = (i128::from(len) - 1).checked_mul(stride)?;
            let end: &mut i128 = if distance < 0 { &mut low } else { &mut high };
            *end = end.checked_add(distance)?;
        }
        // Beyond this, sums would overflow, and the layout is too large in any case.
        Some((low, high)).filter(|_| low > -(1 << 100) && high < 1 << 100)
    }

    /// Whether an importer must accept it. The existence of the bytes cannot be checked.
    pub fn is_legal(&self, is_versioned: bool, block: usize) -> bool {
        let (code, bits, lanes) = self.dtype;
        let padded = is_versioned && self.flags & 4 != 0;
        let has_type = TYPES.iter().any(|(known, widths)| *known == code && widths.contains(&bits));
        if is_versioned && self.version[0] != 1 || lanes != 1 || !has_type || bits < 8 && !padded {
            return false;
        }
        if HANDLES.contains(&self.device[0]) || !(0..=64).contains(&self.ndim) {
            return false;
        }
        let shape = match &self.shape {
            Some(shape) => &shape[..],
            None if self.ndim == 0 => &[],
            None => return false,
        };
        if shape.iter().any(|len| *len < 0) {
            return false;
        }
        let most = i128::from(i64::MAX);
        let lengths = shape.iter().filter(|len| **len != 0);
        let nbytes = lengths
            .copied()
            .try_fold(self.itemsize(), |product: i128, len| product.checked_mul(len.into()))
            .filter(|nbytes| *nbytes <= most);
        if nbytes.is_none() {
            return false;
        }
        let Some((low, high)) = (if shape.is_empty() { Some((0, self.itemsize())) } else { self.reach() })
        else {
            return false;
        };
        let address = match self.data {
            Data::Null => 0,
            Data::Block(offset) => block.wrapping_add(offset),
            Data::Wild(address) => address,
        };
        if address == 0 && !self.is_empty() {
            return false;
        }
        let first = address as i128 + i128::from(self.byte_offset);
        // Without elements, only the address itself must be valid.
        let (lowest, last) = if self.is_empty() { (0, u64::MAX) } else { (1, i64::MAX as u64) };
        high - low <= most && first + low >= lowest && first + high <= i128::from(last)
    }

    /// The offsets of the elements in the block, in row-major order of their indices, if all of
    /// them are within it.
    pub fn elements(&self) -> Option<Vec<usize>> {
        let Data::Block(offset) = self.data else { return None };
        let first = i128::from(offset as isize as i64) + i128::from(self.byte_offset);
        let (low, high) = if self.rank() == 0 { (0, self.itemsize()) } else { self.reach()? };
        if first + low < 0 || first + high > BLOCK as i128 {
            return None;
        }
        let mut elements = vec![first];
        let strides = self.byte_strides();
        for (axis, len) in self.shape.iter().flatten().enumerate() {
            // Strides of 0 can make many elements from few bytes.
            if *len as i128 * elements.len() as i128 > 10_000 {
                return None;
            }
            let along = |&at: &i128| (0..*len).map(move |index| (at, index));
            elements = elements
                .iter()
                .flat_map(along)
                .map(|(at, index)| at + i128::from(index) * strides[axis])
                .collect();
        }
        Some(elements.into_iter().map(|at| at as usize).collect())
    }

    /// The bytes of the elements in row-major order, if all of them are within the block.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let size = self.itemsize() as usize;
        Some(self.elements()?.into_iter().flat_map(|at| (at..at + size).map(fill)).collect())
    }
}

/// The byte of the block at an offset.
pub fn fill(at: usize) -> u8 {
    (at * 7 + at / 256) as u8
}

/// An exported struct and its state. Must be dropped after its last consumer.
#[derive(Debug)]
pub struct ForeignExport {
    versioned: *mut Versioned,
    legacy: *mut Legacy,
    state: *const Mutex<State>,
}

/// The memory that the deleter frees, and the number of its calls.
#[derive(Debug)]
struct State {
    memory: Option<ExportedMemory>,
    calls: usize,
}

#[derive(Debug)]
struct ExportedMemory {
    block: Box<[u8]>,
    shape: Option<Box<[i64]>>,
    strides: Option<Box<[i64]>>,
}

impl ForeignExport {
    /// Exports a recipe, by both structs.
    pub fn new(recipe: &Recipe) -> Self {
        let mut memory = ExportedMemory {
            block: (0..BLOCK).map(fill).collect(),
            shape: recipe.shape.clone().map(Vec::into_boxed_slice),
            strides: recipe.strides.clone().map(Vec::into_boxed_slice),
        };
        let pointer = |numbers: &mut Option<Box<[i64]>>| {
            numbers.as_mut().map_or(ptr::null_mut(), |numbers| numbers.as_mut_ptr())
        };
        let (code, bits, lanes) = recipe.dtype;
        let data = match recipe.data {
            Data::Null => ptr::null_mut(),
            Data::Block(offset) => memory.block.as_mut_ptr().wrapping_add(offset),
            Data::Wild(address) => ptr::without_provenance_mut(address),
        };
        let (shape, strides) = (pointer(&mut memory.shape), pointer(&mut memory.strides));
        let tensor = || Tensor {
            data: data.cast(),
            device: recipe.device,
            ndim: recipe.ndim,
            code,
            bits,
            lanes,
            shape,
            strides,
            byte_offset: recipe.byte_offset,
        };
        let state = Box::into_raw(Box::new(Mutex::new(State { memory: None, calls: 0 })));
        let versioned = Versioned {
            version: recipe.version,
            context: state.cast(),
            deleter: recipe.deleter.then_some(delete_versioned),
            flags: recipe.flags,
            tensor: tensor(),
        };
        let legacy = Legacy {
            tensor: tensor(),
            context: state.cast(),
            deleter: recipe.deleter.then_some(delete_legacy),
        };
        let export = Self {
            versioned: Box::into_raw(Box::new(versioned)),
            legacy: Box::into_raw(Box::new(legacy)),
            state,
        };
        export.state().memory = Some(memory);
        export
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // SAFETY: `new` created the state by `Box::into_raw`, and only the drop of `self` frees it.
        let state = unsafe { &*self.state };
        state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The pointer for a consumer, to cast to its own declaration.
    pub fn versioned<T>(&self) -> *mut T {
        self.versioned.cast()
    }

    /// The pointer for a consumer, to cast to its own declaration.
    pub fn legacy<T>(&self) -> *mut T {
        self.legacy.cast()
    }

    /// The number of calls of the deleter. It frees the exported memory, so that the address
    /// sanitizer detects a later access.
    pub fn deleted(&self) -> usize {
        self.state().calls
    }

    /// The address of the block; 0 once it is freed.
    pub fn block(&self) -> usize {
        self.state().memory.as_ref().map_or(0, |memory| memory.block.as_ptr().addr())
    }
}

impl Drop for ForeignExport {
    fn drop(&mut self) {
        // SAFETY: `new` created the struct by `Box::into_raw`, and only this drop frees it, after
        // its last consumer.
        drop(unsafe { Box::from_raw(self.versioned) });
        // SAFETY: `new` created the struct by `Box::into_raw`, and only this drop frees it, after
        // its last consumer.
        drop(unsafe { Box::from_raw(self.legacy) });
        // SAFETY: `new` created the state by `Box::into_raw`, and only this drop frees it, after
        // its last consumer.
        drop(unsafe { Box::from_raw(self.state.cast_mut()) });
    }
}

/// # Safety
///
/// `context` is the context of a struct of a [`ForeignExport`] that is not dropped.
unsafe fn delete(context: *mut c_void) {
    // SAFETY: `# Safety`: `context` points to the state of a `ForeignExport` that is not dropped,
    // which keeps it.
    let state = unsafe { &*context.cast::<Mutex<State>>() };
    let mut state = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    state.calls += 1;
    state.memory = None;
}

/// # Safety
///
/// `managed` points to a struct of a [`ForeignExport`] that is not dropped.
unsafe extern "C" fn delete_versioned(managed: *mut Versioned) {
    // SAFETY: `# Safety`: the struct belongs to a `ForeignExport` that is not dropped, which keeps
    // it.
    let context = unsafe { (*managed).context };
    // SAFETY: `new` set the context to the state of the `ForeignExport`, which `# Safety` says is
    // not dropped.
    unsafe { delete(context) }
}

/// # Safety
///
/// `managed` points to a struct of a [`ForeignExport`] that is not dropped.
unsafe extern "C" fn delete_legacy(managed: *mut Legacy) {
    // SAFETY: `# Safety`: the struct belongs to a `ForeignExport` that is not dropped, which keeps
    // it.
    let context = unsafe { (*managed).context };
    // SAFETY: `new` set the context to the state of the `ForeignExport`, which `# Safety` says is
    // not dropped.
    unsafe { delete(context) }
}
