//! The hostile exporter of Python's buffers: any content of a `Py_buffer`, true or not.
//!
//! The expected answer of an importer is computed in the most obvious way, in 128 bits:
//! [`Recipe::is_legal`].

use std::ptr;

use crate::dlpack::{BLOCK, Choices, Data, fill};

/// The content of a buffer struct.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The address of element 0, or of the first pointer.
    pub data: Data,
    /// The bytes of all elements.
    pub len: i64,
    /// The bytes of each element.
    pub itemsize: i64,
    /// The index of one of [`FORMATS`], or none.
    pub format: Option<usize>,
    /// The lengths of the axes.
    pub shape: Option<Vec<i64>>,
    /// As many as there are lengths, one more, or none.
    pub strides: Option<Vec<i64>>,
    /// As many as there are lengths. Without rows no pointer is followed, and no suboffset is 0 or
    /// more unless strides are missing.
    pub suboffsets: Option<Vec<i64>>,
    /// The offsets of rows in the block, behind a table of pointers for the first axis. `None` is a
    /// null pointer.
    pub rows: Option<Vec<Option<usize>>>,
}

/// Formats, and the bytes of an item; none for formats that no array can have.
pub const FORMATS: [(&[u8], Option<i64>); 20] = [
    (b"B", Some(1)),
    (b"<i", Some(4)),
    (b"d", Some(8)),
    (b"Zd", Some(16)),
    (b"T{i:a:4xd:b:}", Some(16)),
    (b"h", Some(2)),
    (b"?", Some(1)),
    (b">q", Some(8)),
    (b"3s", Some(3)),
    (b"T{b:a:h:b:}", Some(4)),
    (b"=bh", Some(3)),
    (b"(2,3)f", Some(24)),
    (b"O", None),
    (b"&<i", None),
    (b"T{", None),
    (b"what?", None),
    (b"(2,", None),
    (b"99999999999999999999d", None),
    (b"T{i:a:", None),
    (b"\xff", None),
];

impl Default for Recipe {
    /// A legal buffer: 2 by 3 numbers of 4 bytes at the beginning of the block.
    fn default() -> Self {
        Self {
            data: Data::Block(0),
            len: 24,
            itemsize: 4,
            format: Some(1),
            shape: Some(vec![2, 3]),
            strides: Some(vec![12, 4]),
            suboffsets: None,
            rows: None,
        }
    }
}

impl Recipe {
    /// A buffer chosen by bytes: about half are legal, and most of those stay within the block.
    pub fn choose(choices: &mut Choices<'_>) -> Self {
        let format = usize::from(choices.below(12));
        let itemsize = FORMATS[format].1.unwrap_or(1);
        let rank = choices.below(5);
        let shape: Vec<i64> = (0..rank).map(|_| i64::from(choices.below(4)) + 1).collect();
        let strides = match choices.below(4) {
            0 => None,
            1 => Some(shape.iter().map(|_| i64::from(choices.below(33)) - 16).collect()),
            kind => Some(row_major(&shape, if kind == 2 { itemsize } else { -itemsize })),
        };
        let mut recipe =
            Self { itemsize, format: Some(format), shape: Some(shape), strides, ..Self::default() };
        recipe.len = recipe.product().unwrap_or(0) as i64;
        if choices.below(8) == 7 {
            recipe.follow(choices);
        } else {
            recipe.put(choices);
            recipe.spoil(choices);
        }
        recipe
    }

    /// Places element 0 so that all elements are within the block, if they fit.
    fn put(&mut self, choices: &mut Choices<'_>) {
        let Some((low, high)) = self.reach() else { return };
        let room = BLOCK as i128 - (high - low);
        if room >= 0 {
            self.data = Data::Block((i128::from(choices.byte()) % (room + 1) - low) as usize);
        }
    }

    /// Adds a table of pointers for the first axis, if there is one; some of them are null.
    fn follow(&mut self, choices: &mut Choices<'_>) {
        let Some(shape) = self.shape.as_ref().filter(|shape| !shape.is_empty()) else { return };
        let rank = shape.len();
        let mut strides = row_major(shape, self.itemsize);
        strides[0] = 8;
        let rows = (0..shape[0]).map(|_| Some(usize::from(choices.byte())).filter(|at| *at < 250));
        self.rows = Some(rows.collect());
        self.strides = Some(strides);
        let mut suboffsets = vec![-1; rank];
        suboffsets[0] = i64::from(choices.below(9));
        self.suboffsets = Some(suboffsets);
    }

    /// Sometimes adds one more wrong or unusual property.
    fn spoil(&mut self, choices: &mut Choices<'_>) {
        if choices.byte() < 128 {
            return;
        }
        let rank = self.shape.as_ref().map_or(0, Vec::len);
        let axis = usize::from(choices.byte()) % rank.max(1);
        match choices.below(16) {
            0 => self.itemsize = choices.nasty(),
            1 => self.itemsize = i64::from(choices.below(20)),
            2 => self.len = choices.nasty(),
            3 => self.len += i64::from(choices.below(5)) - 2,
            4 => self.format = None,
            5 => self.format = Some(usize::from(choices.below(FORMATS.len() as u8))),
            6 => self.shape = None,
            7 | 8 => {
                if let Some(len) = self.shape.iter_mut().flatten().nth(axis) {
                    *len = if choices.byte() < 64 { 0 } else { choices.nasty() };
                }
                if choices.byte() < 128 {
                    self.len = self.product().and_then(|len| i64::try_from(len).ok()).unwrap_or(0);
                }
            }
            9 | 10 => {
                if let Some(stride) = self.strides.iter_mut().flatten().nth(axis) {
                    *stride = choices.nasty();
                }
            }
            11 => self.data = Data::Null,
            12 => self.data = Data::Wild(choices.nasty() as usize),
            13 => {
                self.shape = Some(vec![1; 60 + usize::from(choices.below(10))]);
                self.strides = None;
                self.len = self.itemsize;
            }
            14 => {
                if let Some(strides) = &mut self.strides {
                    strides.push(1);
                }
            }
            _ => {
                let followed = self.strides.is_none() && choices.byte() < 128;
                self.suboffsets = Some(vec![if followed { 0 } else { -1 }; rank]);
            }
        }
    }

    /// The bytes of all elements, contiguous.
    fn product(&self) -> Option<i128> {
        let shape = self.shape.as_deref().unwrap_or_default();
        shape
            .iter()
            .try_fold(i128::from(self.itemsize), |product: i128, len| product.checked_mul(i128::from(*len)))
    }

    fn is_empty(&self) -> bool {
        self.shape.as_ref().is_some_and(|shape| shape.contains(&0))
    }

    /// The strides, in bytes.
    fn steps(&self) -> Vec<i128> {
        let shape = self.shape.as_deref().unwrap_or_default();
        let given = match &self.strides {
            Some(strides) => strides.clone(),
            None => row_major(shape, self.itemsize),
        };
        given.into_iter().map(i128::from).collect()
    }

    /// The lowest and the highest (exclusive) byte relative to element 0, if they are below 2¹⁰⁰.
    fn reach(&self) -> Option<(i128, i128)> {
        if self.is_empty() {
            return Some((0, 0));
        }
        let Some(shape) = &self.shape else { return Some((0, i128::from(self.len))) };
        let (mut low, mut high) = (0, i128::from(self.itemsize));
        for (&len, step) in shape.iter().zip(self.steps()) {
            let distance = (i128::from(len) - 1).checked_mul(step)?;
            let end: &mut i128 = if distance < 0 { &mut low } else { &mut high };
            *end = end.checked_add(distance)?;
        }
        Some((low, high)).filter(|_| low > -(1 << 100) && high < 1 << 100)
    }

    /// Whether an importer must accept it. The existence of the bytes cannot be checked.
    pub fn is_legal(&self, block: usize) -> bool {
        let most = i128::from(i64::MAX);
        if !(0..=i64::from(u32::MAX)).contains(&self.itemsize) || self.len < 0 {
            return false;
        }
        if self.format.is_some_and(|number| FORMATS[number].1.is_none()) {
            return false;
        }
        let followed = self.suboffsets.iter().flatten().any(|suboffset| *suboffset >= 0);
        if followed && self.strides.is_none() {
            return false;
        }
        let Some(shape) = &self.shape else {
            // One axis, with as many items as fit in the bytes.
            let items = i128::from(self.len).checked_div(i128::from(self.itemsize)).unwrap_or(0);
            let is_whole = items * i128::from(self.itemsize) == i128::from(self.len);
            return is_whole && self.is_in_reach((0, i128::from(self.len)), block);
        };
        if shape.len() > 64 || shape.iter().any(|len| *len < 0) {
            return false;
        }
        let lengths = shape.iter().filter(|len| **len != 0);
        let nbytes = lengths.copied().try_fold(i128::from(self.itemsize.max(1)), |product: i128, len| {
            product.checked_mul(len.into()).filter(|nbytes| *nbytes <= most)
        });
        if nbytes.is_none() || self.product() != Some(i128::from(self.len)) {
            return false;
        }
        if self.strides.as_ref().is_some_and(|strides| strides.len() != shape.len()) {
            return false;
        }
        match &self.rows {
            Some(rows) if !self.is_empty() => rows.iter().all(Option::is_some),
            _ => self.reach().is_some_and(|reach| self.is_in_reach(reach, block)),
        }
    }

    fn is_in_reach(&self, (low, high): (i128, i128), block: usize) -> bool {
        let first = match self.data {
            Data::Null => 0,
            Data::Block(offset) => block.wrapping_add(offset),
            Data::Wild(address) => address,
        } as i128;
        if first == 0 && high > low {
            return false;
        }
        let (lowest, last) = if high > low { (1, i64::MAX as u64) } else { (0, u64::MAX) };
        high - low <= i128::from(i64::MAX) && first + low >= lowest && first + high <= i128::from(last)
    }

    /// The bytes of the elements in row-major order, if all of them are within the block.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let size = usize::try_from(self.itemsize).ok().filter(|size| *size <= BLOCK)?;
        let Some(shape) = &self.shape else {
            let Data::Block(first) = self.data else { return None };
            let end = first.checked_add(usize::try_from(self.len).ok()?)?;
            return (end <= BLOCK).then(|| (first..end).map(fill).collect());
        };
        let mut places = match (&self.rows, self.data) {
            (None, Data::Block(first)) => vec![first as isize as i128],
            (Some(_), _) => vec![0],
            _ => return None,
        };
        for (axis, (len, step)) in shape.iter().zip(self.steps()).enumerate() {
            if i128::from(*len) * places.len() as i128 > 10_000 {
                return None;
            }
            let along = |at: i128, index: i64| match &self.rows {
                Some(rows) if axis == 0 => {
                    let row = rows[index as usize].unwrap_or(0) as i128;
                    row + i128::from(self.suboffsets.as_ref().map_or(0, |all| all[0]))
                }
                _ => at + i128::from(index) * step,
            };
            places = places.iter().flat_map(|&at| (0..*len).map(move |index| along(at, index))).collect();
        }
        let inside = |at: &i128| *at >= 0 && at + size as i128 <= BLOCK as i128;
        let places = places.iter().all(inside).then_some(places)?;
        Some(places.into_iter().flat_map(|at| (at as usize..at as usize + size).map(fill)).collect())
    }
}

fn row_major(shape: &[i64], itemsize: i64) -> Vec<i64> {
    let mut inner = itemsize;
    let mut strides = vec![0; shape.len()];
    for (stride, len) in strides.iter_mut().zip(shape).rev() {
        *stride = inner;
        inner = inner.wrapping_mul(*len);
    }
    strides
}

/// The memory of an exporter: the block of elements, and the table of pointers to rows.
#[derive(Debug)]
pub struct Exporter {
    block: Box<[u8]>,
    table: Box<[*const u8]>,
}

impl Exporter {
    /// Allocates the memory of a recipe.
    pub fn new(recipe: &Recipe) -> Self {
        let block: Box<[u8]> = (0..BLOCK).map(fill).collect();
        let at = |row: &Option<usize>| row.map_or(ptr::null(), |row| block.as_ptr().wrapping_add(row));
        let table = recipe.rows.iter().flatten().map(at).collect();
        Self { block, table }
    }

    /// The address of the block.
    pub fn block(&self) -> usize {
        self.block.as_ptr().addr()
    }

    /// The value of `buf`.
    pub fn address(&mut self, recipe: &Recipe) -> *mut u8 {
        match recipe.data {
            _ if recipe.rows.is_some() => self.table.as_mut_ptr().cast(),
            Data::Null => ptr::null_mut(),
            Data::Block(offset) => self.block.as_mut_ptr().wrapping_add(offset),
            Data::Wild(address) => ptr::without_provenance_mut(address),
        }
    }
}
