//! The hostile producer of DLPack: any struct, legal or not, with a deleter that counts its calls and frees what it lent.
//!
//! The structs are declared here once more, from the header, so that the importer's own declarations are checked, too. So
//! is what an importer has to answer: [`Recipe::is_legal`] asks in the most obvious way, in 128 bits.

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

/// What `data` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Null.
    Null,
    /// This far into a block of [`BLOCK`] bytes (or, as a wrapped number, in front of it).
    Block(usize),
    /// This address, whatever is there. Not to be touched.
    Wild(usize),
}

/// The size of the block of data.
pub const BLOCK: usize = 1024;

/// Everything that a struct says.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Major and minor. (The legacy struct has none.)
    pub version: [u32; 2],
    /// Read-only 1, copied 2, sub-byte padded 4. (The legacy struct has none.)
    pub flags: u64,
    /// Kind and number.
    pub device: [i32; 2],
    /// The number of axes.
    pub ndim: i32,
    /// Code, bits, lanes.
    pub dtype: (u8, u8, u16),
    /// As many as [`Recipe::rank`] says, or null.
    pub shape: Option<Vec<i64>>,
    /// As many as [`Recipe::rank`] says, or null.
    pub strides: Option<Vec<i64>>,
    /// Where the data is.
    pub data: Data,
    /// Bytes from there to element 0.
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

/// Bytes that choose; 0 once they have run out.
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

    /// A number that is likely to hurt.
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

/// What DLPack 1.3 calls by code and bits, and how many bytes an element has. Those below 8 bits are padded.
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

/// Of this one a producer's word is taken: its driver follows the handle, and nothing but a good one can be told from others.
const OPENCL: i32 = 4;

impl Recipe {
    /// A struct chosen by bytes: every second one or so is legal, and most of these keep to the block.
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

    /// Strides without gaps, forwards or backwards.
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

    /// Puts element 0 where all elements lie in the block, if they can.
    fn put(&mut self, choices: &mut Choices<'_>) {
        let Some((low, high)) = self.reach() else { return };
        let room = BLOCK as i128 - (high - low);
        if room < 0 {
            return;
        }
        let at = (i128::from(choices.byte()) % (room + 1) - low) as usize;
        // Split between pointer and offset; a pointer in front of the block is fine as long as it is not followed.
        let byte_offset = if choices.byte() < 128 { 0 } else { usize::from(choices.byte()) };
        self.data = Data::Block(at.wrapping_sub(byte_offset));
        self.byte_offset = byte_offset as u64;
    }

    /// Now and then, one more thing that is wrong or odd.
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

    /// How many lengths and strides there are for a consumer to look at.
    pub fn rank(&self) -> usize {
        usize::try_from(self.ndim).map_or(0, |rank| rank.min(64))
    }

    fn itemsize(&self) -> i128 {
        i128::from(self.dtype.1).max(8) / 8
    }

    fn is_empty(&self) -> bool {
        self.rank() > 0 && self.shape.as_ref().is_some_and(|shape| shape.contains(&0))
    }

    /// The distances between neighbours, in bytes.
    fn byte_strides(&self) -> Vec<i128> {
        let strides = match &self.strides {
            Some(strides) => strides.clone(),
            None => self.row_major(true),
        };
        strides.iter().map(|&stride| i128::from(stride) * self.itemsize()).collect()
    }

    /// The lowest and the highest (exclusive) byte relative to element 0, if it is below 2¹⁰⁰.
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
        // Beyond that it is too far anyway, and sums would no longer fit.
        Some((low, high)).filter(|_| low > -(1 << 100) && high < 1 << 100)
    }

    /// Whether an importer must take it; what is left to trust then is that the bytes exist.
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
        // Without elements, the address alone has to be one.
        let (lowest, last) = if self.is_empty() { (0, u64::MAX) } else { (1, i64::MAX as u64) };
        high - low <= most && first + low >= lowest && first + high <= i128::from(last)
    }

    /// Where in the block the elements begin, in row-major order of their indices, if all of them lie in it.
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
            // Strides of 0 can make many elements of few bytes.
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

    /// The bytes of the elements in row-major order, if all of them lie in the block.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let size = self.itemsize() as usize;
        Some(self.elements()?.into_iter().flat_map(|at| (at..at + size).map(fill)).collect())
    }
}

/// What the block has at a byte.
pub fn fill(at: usize) -> u8 {
    (at * 7 + at / 256) as u8
}

/// A struct on loan, and what became of it. To be dropped when whoever has the struct is done with it.
#[derive(Debug)]
pub struct Loan {
    versioned: *mut Versioned,
    legacy: *mut Legacy,
    state: *const Mutex<State>,
}

/// What the deleter frees, and how often it was called.
#[derive(Debug)]
struct State {
    lent: Option<Lent>,
    calls: usize,
}

#[derive(Debug)]
struct Lent {
    block: Box<[u8]>,
    shape: Option<Box<[i64]>>,
    strides: Option<Box<[i64]>>,
}

impl Loan {
    /// Lends what the recipe says, by one or the other struct.
    pub fn new(recipe: &Recipe) -> Self {
        let mut lent = Lent {
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
            Data::Block(offset) => lent.block.as_mut_ptr().wrapping_add(offset),
            Data::Wild(address) => ptr::without_provenance_mut(address),
        };
        let (shape, strides) = (pointer(&mut lent.shape), pointer(&mut lent.strides));
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
        let state = Box::into_raw(Box::new(Mutex::new(State { lent: None, calls: 0 })));
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
        let loan = Self {
            versioned: Box::into_raw(Box::new(versioned)),
            legacy: Box::into_raw(Box::new(legacy)),
            state,
        };
        loan.state().lent = Some(lent);
        loan
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // SAFETY: from `Box::into_raw` in `new`; freed when `self` is dropped.
        let state = unsafe { &*self.state };
        state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The pointer for a consumer, to be cast to its own declaration.
    pub fn versioned<T>(&self) -> *mut T {
        self.versioned.cast()
    }

    /// The pointer for a consumer, to be cast to its own declaration.
    pub fn legacy<T>(&self) -> *mut T {
        self.legacy.cast()
    }

    /// How often the deleter was called. It frees what was lent: whoever looks at it later is seen by the address sanitizer.
    pub fn deleted(&self) -> usize {
        self.state().calls
    }

    /// The address of the block; 0 once it is freed.
    pub fn block(&self) -> usize {
        self.state().lent.as_ref().map_or(0, |lent| lent.block.as_ptr().addr())
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        // SAFETY: from `Box::into_raw` in `new`, and whoever had the struct is done with it.
        drop(unsafe { Box::from_raw(self.versioned) });
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(self.legacy) });
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(self.state.cast_mut()) });
    }
}

/// # Safety
///
/// The context of a loan that was not dropped.
unsafe fn delete(context: *mut c_void) {
    // SAFETY: the caller's word.
    let state = unsafe { &*context.cast::<Mutex<State>>() };
    let mut state = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    state.calls += 1;
    state.lent = None;
}

unsafe extern "C" fn delete_versioned(managed: *mut Versioned) {
    // SAFETY: the struct outlives its consumers.
    let context = unsafe { (*managed).context };
    // SAFETY: as above.
    unsafe { delete(context) }
}

unsafe extern "C" fn delete_legacy(managed: *mut Legacy) {
    // SAFETY: the struct outlives its consumers.
    let context = unsafe { (*managed).context };
    // SAFETY: as above.
    unsafe { delete(context) }
}
