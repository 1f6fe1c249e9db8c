//! A description of an object: its answer by each protocol, and what else consumers test.

/// A protocol by which an object of Python can offer its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// PEP 3118.
    Buffer,
    /// DLPack's versioned struct.
    Tensor,
    /// DLPack's struct from before 1.0.
    LegacyTensor,
    /// DLPack's C exchange API.
    TensorApi,
    /// Arrow's C Data interface.
    Column,
    /// Arrow's C Device interface.
    DeviceColumn,
    /// Arrow's C Stream interface.
    ColumnStream,
    /// Arrow's schema without an array.
    ColumnSchema,
    /// NumPy's array interface, as a dictionary.
    Interface,
    /// NumPy's array interface, as a struct.
    InterfaceStruct,
    /// CUDA's array interface.
    CudaInterface,
    /// NumPy's method `__array__`.
    Method,
}

impl Protocol {
    /// All protocols with their names, in display order.
    pub const NAMES: [(Self, &'static str); 12] = [
        (Self::Buffer, "PEP 3118"),
        (Self::Tensor, "DLPack"),
        (Self::LegacyTensor, "DLPack before 1.0"),
        (Self::TensorApi, "DLPack C exchange API"),
        (Self::Column, "Arrow array"),
        (Self::DeviceColumn, "Arrow device array"),
        (Self::ColumnStream, "Arrow stream"),
        (Self::ColumnSchema, "Arrow schema"),
        (Self::Interface, "__array_interface__"),
        (Self::InterfaceStruct, "__array_struct__"),
        (Self::CudaInterface, "__cuda_array_interface__"),
        (Self::Method, "__array__"),
    ];

    /// The name for users.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }

    /// The protocol of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, own)| *own == name).map(|(protocol, _)| *protocol)
    }
}

/// The type of an element, in terms that all protocols share.
#[derive(Clone, Debug, Default)]
pub struct ElementType {
    /// NumPy's letter (`i`, `u`, `f`, `c`, `b`, `S`, `U`, `V`, `M`, `m`, `O`), or a name
    /// (`records`, `bit`, `bfloat16`, …).
    pub kind: String,
    /// Bytes of one element.
    pub itemsize: i64,
    /// Whether the bytes are in non-native order.
    pub is_swapped: bool,
    /// The name for users, such as `float64` or `>int32`.
    pub name: String,
    /// The unit of dates and durations, such as `[ns]`.
    pub unit: String,
}

impl ElementType {
    /// The unit of dates without brackets and without a multiple: `us` of `[25us]`.
    pub(super) fn base_unit(&self) -> &str {
        self.unit
            .trim_matches(|it: char| it == '[' || it == ']')
            .trim_start_matches(|it: char| it.is_ascii_digit())
    }

    /// Whether NumPy has it as a number or boolean of at most the size of C's `double`.
    pub(super) fn is_number(&self) -> bool {
        let sizes: &[i64] = match self.kind.as_str() {
            "b" => &[1],
            "i" | "u" => &[1, 2, 4, 8],
            "f" => &[2, 4, 8],
            "c" => &[8, 16],
            _ => &[],
        };
        sizes.contains(&self.itemsize)
    }
}

/// What an object answers by one protocol. With a `refusal`, the rest may be empty.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The producer's words, if it refuses.
    pub refusal: Option<String>,
    /// The address of element 0.
    pub address: Option<i64>,
    /// Lengths of the axes.
    pub shape: Option<Vec<i64>>,
    /// Strides in bytes; `None` if the protocol has a null for row-major order.
    pub strides: Option<Vec<i64>>,
    /// The type of an element, if the protocol names one.
    pub element: Option<ElementType>,
    /// Whether the memory is read-only, if the protocol says so.
    pub readonly: Option<bool>,
    /// Whether the producer copies the elements for each consumer, and why.
    pub copied: Option<String>,
    /// What the protocol does not say about the elements, so that consumers read wrong ones: a
    /// mask, a lazy negation, a null address.
    pub lost: Option<String>,
    /// Whether the elements are reached through pointers.
    pub is_indirect: bool,
    /// The kind of the device, in DLPack's numbers.
    pub device: i32,
    /// Whether the answer contradicts itself or needs a remark.
    pub is_odd: bool,
    /// The format of a buffer, or of an Arrow column that another library describes.
    pub format: String,
    /// The item size that a buffer names beside its format.
    pub item: i64,
    /// The bytes that Python's module `struct` finds in the format; `None` if it cannot read the
    /// format.
    pub struct_size: Option<i64>,
    /// Whether Python's `memoryview` reads elements of the format.
    pub is_indexable: bool,
    /// The axes of a buffer of bytes in row-major order, or the producer's refusal.
    pub simple: Result<i64, String>,
    /// Likewise in row-major or column-major order.
    pub any_order: Result<i64, String>,
    /// The version in a DLPack struct.
    pub version: Option<(u32, u32)>,
    /// A tensor's lanes.
    pub lanes: u32,
    /// Whether a tensor has a deleter.
    pub has_deleter: bool,
    /// Whether a tensor has a byte offset.
    pub has_offset: bool,
    /// The number of nulls in a column; negative if they are not counted.
    pub nulls: i64,
    /// Whether a stream has one array; false if that is not known.
    pub is_alone: bool,
    /// Names of Arrow's extension types.
    pub extensions: Vec<String>,
    /// The type string of an array interface.
    pub typestr: String,
    /// Whether an array interface names strides.
    pub has_strides: bool,
    /// Whether the data of an array interface are bytes that were created for the consumer.
    pub is_bytes: bool,
    /// Whether the producer follows an earlier version: it raises a `TypeError` for a version or
    /// `copy`.
    pub is_old: bool,
    /// Whether the elements are aligned, if the producer knows more than address and strides.
    pub is_aligned: Option<bool>,
}

impl Default for Answer {
    fn default() -> Self {
        let unknown = || Err("it was not called".to_owned());
        Self {
            refusal: None,
            address: None,
            shape: None,
            strides: None,
            element: None,
            readonly: None,
            copied: None,
            lost: None,
            is_indirect: false,
            device: 1,
            is_odd: false,
            format: String::new(),
            item: 0,
            struct_size: None,
            is_indexable: false,
            simple: unknown(),
            any_order: unknown(),
            version: None,
            lanes: 1,
            has_deleter: true,
            has_offset: false,
            nulls: 0,
            is_alone: false,
            extensions: Vec::new(),
            typestr: String::new(),
            has_strides: true,
            is_bytes: false,
            is_old: false,
            is_aligned: None,
        }
    }
}

impl Answer {
    /// An answer that is a refusal.
    pub fn refused(refusal: impl Into<String>) -> Self {
        Self { refusal: Some(refusal.into()), ..Self::default() }
    }

    pub(super) fn shape(&self) -> &[i64] {
        self.shape.as_deref().unwrap_or_default()
    }

    pub(super) fn rank(&self) -> usize {
        self.shape().len()
    }

    pub(super) fn itemsize(&self) -> i64 {
        self.element.as_ref().map_or(0, |element| element.itemsize)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shape().contains(&0)
    }

    /// Whether the CPU can address the memory: host, pinned or managed memory.
    pub(super) fn is_on_host(&self) -> bool {
        matches!(self.device, 1 | 3 | 11 | 13)
    }

    /// Length and stride of each axis with more than one element.
    fn steps(&self) -> Vec<(i64, i64)> {
        let strides = self.strides.as_deref().filter(|_| !self.is_empty()).unwrap_or_default();
        let steps = self.shape().iter().copied().zip(strides.iter().copied());
        steps.filter(|&(length, _)| length > 1).collect()
    }

    fn follow_each_other(&self, steps: impl IntoIterator<Item = (i64, i64)>) -> bool {
        let mut expected = self.itemsize();
        let follows = |(length, stride): (i64, i64)| {
            let is_next = stride == expected;
            expected = expected.saturating_mul(length);
            is_next
        };
        steps.into_iter().all(follows) && !self.is_indirect
    }

    /// C-contiguous (row-major).
    pub(super) fn is_row_major(&self) -> bool {
        self.strides.is_none() || self.follow_each_other(self.steps().into_iter().rev())
    }

    /// Contiguous in some order of the axes.
    pub(super) fn is_dense(&self) -> bool {
        let mut steps = self.steps();
        steps.sort_by_key(|&(_, stride)| stride);
        self.is_row_major() || self.follow_each_other(steps)
    }

    pub(super) fn is_backwards(&self) -> bool {
        self.steps().iter().any(|&(_, stride)| stride < 0)
    }

    /// Whether strides are multiples of the element size.
    pub(super) fn is_whole(&self) -> bool {
        let itemsize = self.itemsize().max(1);
        self.steps().iter().all(|&(_, stride)| stride % itemsize == 0)
    }

    pub(super) fn is_multiple_of(&self, boundary: i64) -> bool {
        self.address.unwrap_or(0) % boundary == 0
    }

    /// Whether address and strides are multiples of the element's alignment.
    pub(super) fn is_aligned(&self) -> bool {
        let natural = match &self.element {
            Some(ElementType { kind, itemsize, .. }) => match kind.as_str() {
                "b" | "i" | "u" | "f" | "M" | "m" => (*itemsize).clamp(1, 16),
                "c" => (itemsize / 2).clamp(1, 16),
                _ => 1,
            },
            None => 1,
        };
        let by_numbers =
            || self.is_multiple_of(natural) && self.steps().iter().all(|&(_, stride)| stride % natural == 0);
        self.is_aligned.unwrap_or_else(by_numbers)
    }

    /// Whether the strides are those of an image: the last axis steps from element to element, and
    /// no other axis is reversed or steps by less than the next.
    pub(super) fn falls(&self) -> bool {
        let (shape, strides) = (self.shape(), self.strides.as_deref().unwrap_or_default());
        (0..shape.len().min(strides.len())).all(|axis| {
            let follows = match strides.get(axis + 1) {
                Some(&next) => strides[axis] >= next,
                None => strides[axis] == self.itemsize(),
            };
            shape[axis] <= 1 || follows
        })
    }
}

/// An object as consumers see it.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// Its answers, in the order of [`Protocol`].
    pub answers: Vec<(Protocol, Answer)>,
    /// The class, among those that consumers treat specially, such as `numpy.ndarray`; empty for
    /// others.
    pub class: String,
    /// Whether it has a length and items by position.
    pub is_sequence: bool,
    /// The memory of a column of pandas: `numpy`, `dates`, `masked`, `masked booleans` (each
    /// perhaps ` with gaps`), `arrow`, or the class of the array; empty for other objects.
    pub storage: String,
    /// The class of its items, or of the first one of a typed array; empty without items, `None`
    /// if it cannot be determined. For items of several classes, a name that no class has.
    pub item: Option<String>,
    /// Whether its class is registered with `collections.abc.Sequence`.
    pub is_registered: bool,
    /// The names of its methods, among those that consumers look for.
    pub methods: Vec<String>,
    /// Whether JAX has types of 64 bits (`jax_enable_x64`), which it does not by default.
    pub jax_in_64_bits: bool,
}

impl Subject {
    /// Its answer by a protocol; `None` if it does not have the protocol.
    pub(super) fn answer(&self, protocol: Protocol) -> Option<&Answer> {
        self.answers.iter().find(|(own, _)| *own == protocol).map(|(_, answer)| answer)
    }

    /// Its answer by a protocol, unless that is a refusal.
    pub(super) fn given(&self, protocol: Protocol) -> Option<&Answer> {
        self.answer(protocol).filter(|answer| answer.refusal.is_none())
    }

    /// The address of element 0, by the first protocol that names it.
    pub(super) fn address(&self) -> Option<i64> {
        self.answers.iter().find_map(|(_, answer)| answer.address.filter(|&address| address != 0))
    }

    /// Why a protocol offers nothing.
    pub(super) fn refusal(&self, protocol: Protocol) -> String {
        let refusal = self.answer(protocol).and_then(|answer| answer.refusal.clone());
        refusal.unwrap_or_else(|| format!("it offers no {}", protocol.name()))
    }

    /// Why there is no buffer of plain bytes.
    pub(super) fn refusal_of_bytes(&self, any_order: bool) -> Option<String> {
        let Some(buffer) = self.answer(Protocol::Buffer) else {
            return Some(self.refusal(Protocol::Buffer));
        };
        let answer = if any_order { &buffer.any_order } else { &buffer.simple };
        answer.as_ref().err().map(|refusal| format!("the producer: {refusal}"))
    }
}
