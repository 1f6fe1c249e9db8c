//! The hostile producer of Arrow's C structs: columns of any shape, with a switch for each way in
//! which a column can lie. Its release functions count their calls and free the exported memory.
//!
//! The structs are declared independently, from the header, so that the importer's declarations are
//! checked, too. The expected elements of an honest column are computed in the most obvious way:
//! [`Recipe::leaves`] lists them one by one.

use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::{Mutex, OnceLock};

/// `ArrowSchema`.
#[repr(C)]
#[derive(Debug)]
pub struct Schema {
    pub(crate) format: *const c_char,
    pub(crate) name: *const c_char,
    pub(crate) metadata: *const c_char,
    pub(crate) flags: i64,
    pub(crate) n_children: i64,
    pub(crate) children: *mut *mut Schema,
    pub(crate) dictionary: *mut Schema,
    pub(crate) release: Option<unsafe extern "C" fn(*mut Schema)>,
    pub(crate) private: *mut c_void,
}

/// `ArrowArray`.
#[repr(C)]
#[derive(Debug)]
pub struct Array {
    pub(crate) length: i64,
    pub(crate) null_count: i64,
    pub(crate) offset: i64,
    pub(crate) n_buffers: i64,
    pub(crate) n_children: i64,
    pub(crate) buffers: *mut *const c_void,
    pub(crate) children: *mut *mut Array,
    pub(crate) dictionary: *mut Array,
    pub(crate) release: Option<unsafe extern "C" fn(*mut Array)>,
    pub(crate) private: *mut c_void,
}

/// `ArrowDeviceArray`.
#[repr(C)]
#[derive(Debug)]
pub struct DeviceArray {
    array: Array,
    device_id: i64,
    device_type: i32,
    sync_event: *mut c_void,
    reserved: [i64; 3],
}

/// Bytes that make choices; 0 once they have run out.
pub use crate::dlpack::Choices;

/// The size of the block with all buffers.
pub const BLOCK: usize = 16 << 10;

/// The byte of the block at an offset.
pub fn fill(at: usize) -> u8 {
    (at * 7 + at / 256) as u8
}

/// The types of columns without children, and their widths in bytes.
const FORMATS: [(&str, usize); 13] = [
    ("c", 1),
    ("C", 1),
    ("s", 2),
    ("i", 4),
    ("l", 8),
    ("L", 8),
    ("e", 2),
    ("f", 4),
    ("g", 8),
    ("w:3", 3),
    ("w:0", 0),
    ("tsn:", 8),
    ("tDm", 8),
];

/// The kind of a column.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Elements of a format and a width.
    Values(&'static str, usize),
    /// A byte for each truth value.
    Bool8,
    /// Fixed-size lists of this length.
    List(usize),
    /// Tensors of a shape, with a permutation of its axes.
    Tensor(Vec<usize>, Option<Vec<usize>>),
    /// A struct of columns.
    Struct,
}

/// The nulls of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// No nulls, and no bitmap.
    None,
    /// No nulls, and a bitmap whose content does not matter.
    Zero,
    /// Not counted, without a bitmap.
    Unknown,
    /// Not counted, with a bitmap at this offset in the block.
    Uncounted(usize),
    /// Counted, with a bitmap at this offset in the block.
    Counted(usize),
}

/// One way in which a column can be wrong or unusual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// The schema's `release` is null.
    ReleasedSchema,
    /// The array's `release` is null.
    ReleasedArray,
    /// The format is null.
    NullFormat,
    /// A format that is not UTF-8.
    GarbledFormat,
    /// A name that is not UTF-8.
    GarbledName,
    /// Bits.
    Bits,
    /// An unknown format.
    UnknownFormat,
    /// A schema with a dictionary.
    DictionarySchema,
    /// An array with a dictionary, although the schema has none.
    DictionaryArray,
    /// The schema claims this number of children.
    SchemaChildren(i64),
    /// The array claims this number of children.
    ArrayChildren(i64),
    /// The array claims this number of buffers.
    Buffers(i64),
    /// The pointer to the buffers is null.
    NullBuffers,
    /// The pointer to the schema's children is null, with a count of 1.
    NullSchemaChildren,
    /// The pointer to the array's children is null, with a count of 1.
    NullArrayChildren,
    /// The schema is its own only child.
    Circle,
    /// The schema is its own two children.
    Fork,
    /// Another length.
    Length(i64),
    /// Another offset.
    Offset(i64),
    /// Another number of nulls, without a bitmap.
    NullCount(i64),
    /// Metadata that claims this number of pairs.
    Pairs(i32),
    /// The metadata of a tensor of another shape.
    OtherTensor,
}

impl Lie {
    /// All of them.
    pub const ALL: [Self; 31] = [
        Self::ReleasedSchema,
        Self::ReleasedArray,
        Self::NullFormat,
        Self::GarbledFormat,
        Self::GarbledName,
        Self::Bits,
        Self::UnknownFormat,
        Self::DictionarySchema,
        Self::DictionaryArray,
        Self::SchemaChildren(-1),
        Self::SchemaChildren(7),
        Self::SchemaChildren(i64::MAX),
        Self::ArrayChildren(-1),
        Self::ArrayChildren(7),
        Self::ArrayChildren(i64::MAX),
        Self::Buffers(-1),
        Self::Buffers(0),
        Self::Buffers(3),
        Self::NullBuffers,
        Self::NullSchemaChildren,
        Self::NullArrayChildren,
        Self::Circle,
        Self::Fork,
        Self::Length(-1),
        Self::Length(i64::MIN),
        Self::Offset(-1),
        Self::Offset(i64::MIN),
        Self::NullCount(-2),
        Self::NullCount(i64::MAX),
        Self::Pairs(-1),
        Self::OtherTensor,
    ];
}

/// A column and its children.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name, if it has one.
    pub name: Option<&'static str>,
    /// What it is.
    pub kind: Kind,
    /// The number of its elements.
    pub length: usize,
    /// The number of elements before them.
    pub offset: usize,
    /// Its nulls.
    pub nulls: Nulls,
    /// The offset of the elements in the block; `None` for a null pointer.
    pub data: Option<usize>,
    /// The children.
    pub children: Vec<Column>,
    /// The ways in which it lies.
    pub lies: Vec<Lie>,
}

impl Default for Column {
    /// Three numbers of type `i32`.
    fn default() -> Self {
        Self {
            name: Some("n"),
            kind: Kind::Values("i", 4),
            length: 3,
            offset: 0,
            nulls: Nulls::None,
            data: Some(0),
            children: vec![],
            lies: vec![],
        }
    }
}

impl Column {
    /// A column chosen by bytes, with at least `least` elements and at most `levels` levels below
    /// it.
    fn choose(choices: &mut Choices<'_>, levels: usize, least: usize) -> Self {
        let mut column = Self {
            name: [Some("a"), Some("b.c"), Some(""), None][usize::from(choices.below(4))],
            length: least + usize::from(choices.below(4)),
            offset: usize::from(choices.below(4)),
            ..Self::default()
        };
        let end = column.offset + column.length;
        let below = if levels == 0 { 0 } else { choices.below(8) };
        let size = match below {
            4 => {
                let size = usize::from(choices.below(4));
                column.kind = Kind::List(size);
                Some(size)
            }
            5 | 6 => {
                let shape: Vec<usize> =
                    (0..choices.below(4)).map(|_| usize::from(choices.below(3)) + 1).collect();
                let mut axes: Vec<usize> = (0..shape.len()).collect();
                for axis in (1..axes.len()).rev() {
                    axes.swap(axis, usize::from(choices.below(axis as u8 + 1)));
                }
                let size = shape.iter().product();
                column.kind = Kind::Tensor(shape, (choices.byte() >= 64).then_some(axes));
                Some(size)
            }
            _ => None,
        };
        match size {
            // At most as many elements as fit in the block.
            Some(size) if end * size < 200 => {
                column.children = vec![Self::choose(choices, levels - 1, end * size)]
            }
            Some(_) => column.kind = Kind::Bool8,
            None if below == 7 => {
                column.kind = Kind::Struct;
                column.children =
                    (0..choices.below(4)).map(|_| Self::choose(choices, levels - 1, end)).collect();
            }
            None => {
                let (format, width) = FORMATS[usize::from(choices.below(13))];
                column.kind = Kind::Values(format, width);
            }
        }
        column.data = Some(usize::from(choices.byte()));
        let at = usize::from(choices.byte());
        column.nulls = match choices.below(16) {
            0..=7 => Nulls::None,
            8 | 9 => Nulls::Zero,
            10..=12 => Nulls::Unknown,
            13 => Nulls::Uncounted(at),
            _ => Nulls::Counted(at),
        };
        column
    }

    /// The number of columns, including this one.
    fn count(&self) -> usize {
        1 + self.children.iter().map(Self::count).sum::<usize>()
    }

    /// The column at an index, in depth-first order.
    fn nth(&mut self, n: usize) -> &mut Self {
        let mut left = n.wrapping_sub(1);
        if n == 0 {
            return self;
        }
        let mut found = 0;
        for (k, child) in self.children.iter().enumerate() {
            found = k;
            if left < child.count() {
                break;
            }
            left -= child.count();
        }
        self.children[found].nth(left)
    }

    fn is_null(&self, element: usize) -> bool {
        match self.nulls {
            Nulls::None | Nulls::Zero | Nulls::Unknown => false,
            Nulls::Uncounted(at) | Nulls::Counted(at) => fill(at + element / 8) >> (element % 8) & 1 == 0,
        }
    }

    fn null_count(&self) -> i64 {
        match self.nulls {
            Nulls::None | Nulls::Zero => 0,
            Nulls::Unknown | Nulls::Uncounted(_) => -1,
            Nulls::Counted(_) => (self.offset..self.offset + self.length)
                .filter(|&element| self.is_null(element))
                .count() as i64,
        }
    }

    fn format(&self) -> String {
        match &self.kind {
            Kind::Values(format, _) => (*format).to_owned(),
            Kind::Bool8 => "c".to_owned(),
            Kind::List(size) => format!("+w:{size}"),
            Kind::Tensor(shape, _) => format!("+w:{}", shape.iter().product::<usize>()),
            Kind::Struct => "+s".to_owned(),
        }
    }

    fn metadata(&self) -> Option<Vec<u8>> {
        for lie in &self.lies {
            if let Lie::Pairs(pairs) = lie {
                return Some(pairs.to_ne_bytes().to_vec());
            }
        }
        let pairs = match &self.kind {
            Kind::Bool8 => [
                ("ARROW:extension:name", "arrow.bool8".to_owned()),
                ("ARROW:extension:metadata", String::new()),
            ],
            Kind::Tensor(shape, permutation) => {
                let mut shape = shape.clone();
                if self.lies.contains(&Lie::OtherTensor) {
                    shape.push(5);
                }
                let axes = permutation.as_ref().map_or("null".to_owned(), |axes| format!("{axes:?}"));
                let text =
                    format!("{{ \"dim_names\": null, \"permutation\": {axes}, \"shape\": {shape:?} }}");
                // In reverse order, since the order of pairs has no meaning.
                [
                    ("ARROW:extension:metadata", text),
                    ("ARROW:extension:name", "arrow.fixed_shape_tensor".to_owned()),
                ]
            }
            _ => return None,
        };
        let mut bytes = (pairs.len() as i32).to_ne_bytes().to_vec();
        for text in pairs.iter().flat_map(|(key, value)| [*key, value]) {
            bytes.extend((text.len() as i32).to_ne_bytes());
            bytes.extend(text.as_bytes());
        }
        Some(bytes)
    }

    /// Collects the leaves of the wanted rows, which are counted without this column's offset.
    fn walk(&self, wanted: &[(usize, bool)], above: &Leaf, leaves: &mut Vec<Leaf>) {
        let rows: Vec<(usize, bool)> = wanted
            .iter()
            .map(|&(row, null)| (self.offset + row, null || self.is_null(self.offset + row)))
            .collect();
        let mut leaf = above.clone();
        leaf.has_nulls |= rows.iter().any(|&(_, null)| null);
        let width = match &self.kind {
            Kind::Values(_, width) => *width,
            Kind::Bool8 => 1,
            Kind::Struct => {
                for child in &self.children {
                    let mut leaf = leaf.clone();
                    if !leaf.name.is_empty() {
                        leaf.name.push('.');
                    }
                    leaf.name.push_str(child.name.unwrap_or_default());
                    child.walk(&rows, &leaf, leaves);
                }
                return;
            }
            Kind::List(_) | Kind::Tensor(..) => {
                let (shape, axes) = match &self.kind {
                    Kind::List(size) => (vec![*size], None),
                    Kind::Tensor(shape, axes) => (shape.clone(), axes.clone()),
                    _ => unreachable!("lists and tensors"),
                };
                let size: usize = shape.iter().product();
                let axes = axes.unwrap_or_else(|| (0..shape.len()).collect());
                leaf.order.extend(axes.iter().map(|axis| leaf.shape.len() + axis));
                leaf.shape.extend(shape);
                let items: Vec<(usize, bool)> = rows
                    .iter()
                    .flat_map(|&(row, null)| (row * size..row * size + size).map(move |item| (item, null)))
                    .collect();
                for child in &self.children {
                    child.walk(&items, &leaf, leaves);
                }
                return;
            }
        };
        let start = self.data.unwrap_or_default();
        let element = |&(row, null): &(usize, bool)| {
            let at = start + row * width;
            (!null).then(|| (at..at + width).map(fill).collect())
        };
        leaf.elements = rows.iter().map(element).collect();
        leaves.push(leaf);
    }
}

/// The elements of a column without children.
#[derive(Clone, Debug, Default)]
pub struct Leaf {
    /// The names of the path to it, except the first.
    pub name: String,
    /// The lengths of its axes, in memory order.
    shape: Vec<usize>,
    /// The permutation from indices to memory order.
    order: Vec<usize>,
    /// In memory order; `None` for a null.
    elements: Vec<Option<Vec<u8>>>,
    /// Whether a row is null on any level, even if it has no elements.
    has_nulls: bool,
}

impl Leaf {
    /// The lengths of the axes.
    pub fn shape(&self) -> Vec<usize> {
        self.order.iter().map(|&axis| self.shape[axis]).collect()
    }

    /// The elements in row-major order of the indices; `None` for a null.
    pub fn elements(&self) -> Vec<Option<Vec<u8>>> {
        let shape = self.shape();
        let place = |mut number: usize| {
            let mut index = vec![0; shape.len()];
            for axis in (0..shape.len()).rev() {
                index[self.order[axis]] = number % shape[axis];
                number /= shape[axis];
            }
            index.iter().zip(&self.shape).fold(0, |place, (index, len)| place * len + index)
        };
        (0..self.elements.len()).map(|number| self.elements[place(number)].clone()).collect()
    }

    /// Whether an element is null, or a list that would have elements.
    pub fn has_nulls(&self) -> bool {
        self.has_nulls
    }
}

/// Everything that is exported.
#[derive(Clone, Debug, Default)]
pub struct Recipe {
    /// The column.
    pub root: Column,
    /// Kind and ordinal of the device, and the address of an event.
    pub device: Option<(i32, i64, usize)>,
}

impl Recipe {
    /// Columns chosen by bytes: most of them honest.
    pub fn choose(choices: &mut Choices<'_>) -> Self {
        let mut root = Column::choose(choices, 3, 0);
        if choices.byte() >= 160 {
            for _ in 0..=choices.below(2) {
                let lie = Lie::ALL[usize::from(choices.below(Lie::ALL.len() as u8))];
                let n = usize::from(choices.byte()) % root.count();
                root.nth(n).lies.push(lie);
            }
        }
        Self { root, device: None }
    }

    /// Whether no column lies.
    pub fn is_honest(&self) -> bool {
        fn honest(column: &Column) -> bool {
            let is_tensor = matches!(column.kind, Kind::Tensor(..));
            let is_lie = |lie: &Lie| is_tensor || *lie != Lie::OtherTensor;
            !column.lies.iter().any(is_lie) && column.children.iter().all(honest)
        }
        honest(&self.root)
    }

    /// The elements of honest columns, below lists and structs.
    pub fn leaves(&self) -> Vec<Leaf> {
        let mut leaves = vec![];
        let rows: Vec<(usize, bool)> = (0..self.root.length).map(|row| (row, false)).collect();
        let above = Leaf { shape: vec![self.root.length], order: vec![0], ..Leaf::default() };
        self.root.walk(&rows, &above, &mut leaves);
        leaves
    }
}

/// An export and its state. Must be dropped after its last consumer.
#[derive(Debug)]
pub struct ForeignExport {
    schema: *mut Schema,
    array: *mut DeviceArray,
    state: *const Mutex<State>,
    /// Every struct, so that pointers to them stay valid until the end.
    parts: Parts,
}

#[derive(Debug, Default)]
struct State {
    /// The memory that the schema refers to, until it is released.
    words: Option<Words>,
    /// The memory that the array refers to, until it is released.
    block: Option<Box<[u8]>>,
    schemas: usize,
    arrays: usize,
}

#[derive(Debug, Default)]
struct Words {
    texts: Vec<CString>,
    metadata: Vec<Box<[u8]>>,
}

#[derive(Debug, Default)]
struct Parts {
    schemas: Vec<*mut Schema>,
    arrays: Vec<*mut DeviceArray>,
    of_schemas: Vec<Box<[*mut Schema]>>,
    of_arrays: Vec<Box<[*mut Array]>>,
    buffers: Vec<Box<[*const c_void]>>,
    owners: Vec<*mut Owner>,
    /// The number of structs to be released.
    live: (usize, usize),
}

/// The `private_data` of a struct.
#[derive(Debug)]
struct Owner {
    state: *const Mutex<State>,
    is_root: bool,
    schemas: Vec<*mut Schema>,
    arrays: Vec<*mut Array>,
}

/// The most pointers that are laid out, whatever a struct claims.
const MOST_CHILDREN: usize = 16;

impl ForeignExport {
    /// Exports the columns of a recipe.
    pub fn new(recipe: &Recipe) -> Self {
        let state = Box::into_raw(Box::new(Mutex::new(State::default())));
        // Created once, because only the structs vary.
        static FILLED: OnceLock<Box<[u8]>> = OnceLock::new();
        let block = FILLED.get_or_init(|| (0..BLOCK).map(fill).collect()).clone();
        let mut export =
            Self { schema: ptr::null_mut(), array: ptr::null_mut(), state, parts: Parts::default() };
        let mut words = Words::default();
        (export.schema, export.array) = export.build(&recipe.root, None, block.as_ptr(), &mut words);
        if let Some((kind, id, event)) = recipe.device {
            // SAFETY: `build` created the struct by `Box::into_raw`, and its pointer has not left
            // this function.
            let array = unsafe { &mut *export.array };
            (array.device_type, array.device_id) = (kind, id);
            array.sync_event = ptr::without_provenance_mut(event);
        }
        let mut state = export.state();
        (state.words, state.block) = (Some(words), Some(block));
        drop(state);
        export
    }

    fn build(
        &mut self,
        column: &Column,
        above: Option<(bool, bool)>,
        block: *const u8,
        words: &mut Words,
    ) -> (*mut Schema, *mut DeviceArray) {
        // A struct that is already released is not released again with its parent, and neither are
        // its children.
        let (schema_is, array_is) = above.unwrap_or((true, true));
        let live = (
            schema_is && !column.lies.contains(&Lie::ReleasedSchema),
            array_is && !column.lies.contains(&Lie::ReleasedArray),
        );
        let below: Vec<_> =
            column.children.iter().map(|child| self.build(child, Some(live), block, words)).collect();
        let mut schemas: Vec<*mut Schema> = below.iter().map(|&(schema, _)| schema).collect();
        let mut arrays: Vec<*mut Array> = below.iter().map(|&(_, array)| array.cast()).collect();
        let is_root = above.is_none();
        let owner = Owner { state: self.state, is_root, schemas: schemas.clone(), arrays: arrays.clone() };
        let owner = Box::into_raw(Box::new(owner));
        self.parts.owners.push(owner);
        let lies = |lie| column.lies.contains(&lie);

        let mut text = |text: Vec<u8>| {
            words.texts.push(CString::new(text).expect("no NUL in it"));
            words.texts[words.texts.len() - 1].as_ptr()
        };
        let format = text(match () {
            () if lies(Lie::GarbledFormat) => vec![0xff],
            () if lies(Lie::Bits) => b"b".to_vec(),
            () if lies(Lie::UnknownFormat) => b"?".to_vec(),
            () => column.format().into_bytes(),
        });
        let name = match column.name {
            _ if lies(Lie::GarbledName) => text(vec![b'n', 0xff]),
            Some(name) => text(name.into()),
            None => ptr::null(),
        };
        let metadata = column.metadata().map_or(ptr::null(), |bytes| {
            words.metadata.push(bytes.into());
            words.metadata[words.metadata.len() - 1].as_ptr().cast()
        });
        let (mut n_schemas, mut n_arrays) = (schemas.len() as i64, arrays.len() as i64);
        let (mut length, mut offset) = (column.length as i64, column.offset as i64);
        let mut n_buffers = if matches!(column.kind, Kind::Values(..) | Kind::Bool8) { 2 } else { 1 };
        let mut null_count = column.null_count();
        let mut bitmap = match column.nulls {
            Nulls::None | Nulls::Unknown => ptr::null(),
            Nulls::Zero => block,
            Nulls::Uncounted(at) | Nulls::Counted(at) => block.wrapping_add(at),
        };
        for lie in &column.lies {
            match *lie {
                Lie::SchemaChildren(count) => n_schemas = count,
                Lie::ArrayChildren(count) => n_arrays = count,
                Lie::NullSchemaChildren => n_schemas = 1,
                Lie::NullArrayChildren => n_arrays = 1,
                Lie::Circle => n_schemas = 1,
                Lie::Fork => n_schemas = 2,
                Lie::Buffers(count) => n_buffers = count,
                Lie::Length(other) => length = other,
                Lie::Offset(other) => offset = other,
                Lie::NullCount(other) => (null_count, bitmap) = (other, ptr::null()),
                _ => {}
            }
        }
        schemas.resize(schemas.len().max(MOST_CHILDREN), ptr::null_mut());
        arrays.resize(arrays.len().max(MOST_CHILDREN), ptr::null_mut());
        let mut schemas = schemas.into_boxed_slice();
        let mut arrays = arrays.into_boxed_slice();
        let data = column.data.map_or(ptr::null(), |at| block.wrapping_add(at));
        let mut buffers: Box<[*const c_void]> =
            Box::new([bitmap.cast(), data.cast(), ptr::null(), ptr::null()]);
        let schema = Schema {
            format: if lies(Lie::NullFormat) { ptr::null() } else { format },
            name,
            metadata,
            flags: 2,
            n_children: n_schemas,
            children: if lies(Lie::NullSchemaChildren) { ptr::null_mut() } else { schemas.as_mut_ptr() },
            dictionary: ptr::null_mut(),
            release: (!lies(Lie::ReleasedSchema)).then_some(release_schema),
            private: owner.cast(),
        };
        let array = Array {
            length,
            null_count,
            offset,
            n_buffers,
            n_children: n_arrays,
            buffers: if lies(Lie::NullBuffers) { ptr::null_mut() } else { buffers.as_mut_ptr() },
            children: if lies(Lie::NullArrayChildren) { ptr::null_mut() } else { arrays.as_mut_ptr() },
            dictionary: ptr::null_mut(),
            release: (!lies(Lie::ReleasedArray)).then_some(release_array),
            private: owner.cast(),
        };
        self.parts.live.0 += usize::from(live.0);
        self.parts.live.1 += usize::from(live.1);
        let schema = Box::into_raw(Box::new(schema));
        let array = Box::into_raw(Box::new(DeviceArray {
            array,
            device_id: -1,
            device_type: 1,
            sync_event: ptr::null_mut(),
            reserved: [0; 3],
        }));
        if lies(Lie::DictionarySchema) {
            // SAFETY: `into_raw` above created the struct, and its pointer has not left this
            // function.
            unsafe { (*schema).dictionary = schema };
        }
        if lies(Lie::DictionaryArray) {
            // SAFETY: `into_raw` above created the struct, and its pointer has not left this
            // function.
            unsafe { (*array).array.dictionary = array.cast() };
        }
        if lies(Lie::Circle) || lies(Lie::Fork) {
            schemas[..2].fill(schema);
        }
        self.parts.schemas.push(schema);
        self.parts.arrays.push(array);
        self.parts.of_schemas.push(schemas);
        self.parts.of_arrays.push(arrays);
        self.parts.buffers.push(buffers);
        (schema, array)
    }

    fn state(&self) -> std::sync::MutexGuard<'static, State> {
        // SAFETY: `new` created the state by `Box::into_raw`, and only the drop of `self` frees it.
        let state = unsafe { &*self.state };
        state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The pointer for a consumer, to cast to its own declaration.
    pub fn schema<T>(&self) -> *mut T {
        self.schema.cast()
    }

    /// The pointer for a consumer, to cast to its own declaration: an `ArrowDeviceArray`, which
    /// begins with the `ArrowArray`.
    pub fn array<T>(&self) -> *mut T {
        self.array.cast()
    }

    /// The numbers of released schemas and arrays, and of those that should be. The root's release
    /// frees the memory that it refers to, so that the address sanitizer detects a later access.
    pub fn released(&self) -> ((usize, usize), (usize, usize)) {
        let state = self.state();
        ((state.schemas, state.arrays), self.parts.live)
    }

    /// The address of the block; 0 once it is freed.
    pub fn block(&self) -> usize {
        self.state().block.as_ref().map_or(0, |block| block.as_ptr().addr())
    }
}

impl Drop for ForeignExport {
    fn drop(&mut self) {
        for &schema in &self.parts.schemas {
            // SAFETY: `build` created the struct by `Box::into_raw`, and only this drop frees it,
            // after its last consumer.
            drop(unsafe { Box::from_raw(schema) });
        }
        for &array in &self.parts.arrays {
            // SAFETY: `build` created the struct by `Box::into_raw`, and only this drop frees it,
            // after its last consumer.
            drop(unsafe { Box::from_raw(array) });
        }
        for &owner in &self.parts.owners {
            // SAFETY: `build` created the owner by `Box::into_raw`, and only this drop frees it,
            // after its last consumer.
            drop(unsafe { Box::from_raw(owner) });
        }
        // SAFETY: `new` created the state by `Box::into_raw`, and only this drop frees it, after
        // its last consumer.
        drop(unsafe { Box::from_raw(self.state.cast_mut()) });
    }
}

/// The owner in a struct's `private_data`, and its state.
///
/// # Safety
///
/// `private` is the `private_data` of a struct of a [`ForeignExport`] that is not dropped.
unsafe fn owner<'a>(private: *mut c_void) -> (&'a Owner, &'a Mutex<State>) {
    // SAFETY: `# Safety`: `private` points to an `Owner` of a `ForeignExport` that is not dropped,
    // which keeps it.
    let owner = unsafe { &*private.cast::<Owner>() };
    // SAFETY: `# Safety`: the `ForeignExport` is not dropped, and it keeps the state that all its
    // owners point to.
    (owner, unsafe { &*owner.state })
}

/// # Safety
///
/// `schema` points to a struct of a [`ForeignExport`] that is not dropped, or to where its consumer
/// moved it, and it is not released.
unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: `# Safety`: the struct is valid, in its `ForeignExport` or where the consumer moved
    // it, and the consumer releases it on one thread.
    let schema = unsafe { &mut *schema };
    schema.release = None;
    // SAFETY: `build` set `private` to an owner, which the `ForeignExport` keeps until it is
    // dropped.
    let (owner, state) = unsafe { owner(schema.private) };
    for &child in &owner.schemas {
        // SAFETY: the children are structs of the same `ForeignExport`, which keeps them until it
        // is dropped.
        if let Some(release) = unsafe { (*child).release } {
            // SAFETY: the child is a struct of the same `ForeignExport`, and its `release` is not
            // null, so it is not released.
            unsafe { release(child) };
        }
    }
    let mut state = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    state.schemas += 1;
    if owner.is_root {
        state.words = None;
    }
}

/// # Safety
///
/// `array` points to a struct of a [`ForeignExport`] that is not dropped, or to where its consumer
/// moved it, and it is not released.
unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: `# Safety`: the struct is valid, in its `ForeignExport` or where the consumer moved
    // it, and the consumer releases it on one thread.
    let array = unsafe { &mut *array };
    array.release = None;
    // SAFETY: `build` set `private` to an owner, which the `ForeignExport` keeps until it is
    // dropped.
    let (owner, state) = unsafe { owner(array.private) };
    for &child in &owner.arrays {
        // SAFETY: the children are structs of the same `ForeignExport`, which keeps them until it
        // is dropped.
        if let Some(release) = unsafe { (*child).release } {
            // SAFETY: the child is a struct of the same `ForeignExport`, and its `release` is not
            // null, so it is not released.
            unsafe { release(child) };
        }
    }
    let mut state = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    state.arrays += 1;
    if owner.is_root {
        state.block = None;
    }
}
