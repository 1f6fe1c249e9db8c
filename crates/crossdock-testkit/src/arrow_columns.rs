//! Columns of every type through Arrow's C structs, chosen by bytes. Each buffer has the size that
//! the type, the lengths and the offsets require, which a consumer must trust; everything else may
//! lie: numbers, counts, pointers, offsets, views, indices, run ends, identifiers and text.

use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::arrow::{Array, Choices, Schema};

/// A column before it is exported.
#[derive(Debug, Default)]
struct Node {
    format: String,
    flags: i64,
    length: i64,
    offset: i64,
    null_count: i64,
    /// The bytes behind each pointer; `None` for null.
    buffers: Vec<Option<Vec<u8>>>,
    children: Vec<Node>,
    dictionary: Option<Box<Node>>,
    /// The number of buffers and of children that are claimed beyond those that exist.
    more: (i64, i64),
}

const FIXED: [(&str, usize); 14] = [
    ("c", 1),
    ("S", 2),
    ("i", 4),
    ("L", 8),
    ("g", 8),
    ("w:0", 0),
    ("w:5", 5),
    ("tdD", 4),
    ("tts", 4),
    ("tsn:UTC", 8),
    ("tDm", 8),
    ("tin", 16),
    ("d:38,2", 16),
    ("d:76,-3,256", 32),
];

/// The classes of types, for counts of what was covered.
pub const CLASSES: [&str; 17] = [
    "null",
    "bool",
    "fixed",
    "text",
    "large text",
    "views",
    "list",
    "large list",
    "list view",
    "fixed list",
    "struct",
    "map",
    "dictionary",
    "runs",
    "dense union",
    "sparse union",
    "unknown",
];

/// A small number, rarely negative or large.
fn small(choices: &mut Choices<'_>) -> i64 {
    match choices.byte() {
        0xff => -1,
        0xfe => 1000,
        byte => i64::from(byte % 6),
    }
}

fn numbers(count: usize, nbytes: usize, mut number: impl FnMut(usize) -> i64) -> Vec<u8> {
    (0..count).flat_map(|k| number(k).to_le_bytes()[..nbytes].to_vec()).collect()
}

/// Increasing numbers, unless they lie.
fn offsets(choices: &mut Choices<'_>, count: usize, nbytes: usize) -> Vec<u8> {
    let mut sum = 0;
    numbers(count, nbytes, |_| {
        sum += small(choices).min(20);
        sum
    })
}

fn last(bytes: &[u8], nbytes: usize) -> usize {
    let mut number = [0; 8];
    let Some(start) = bytes.len().checked_sub(nbytes) else { return 0 };
    number[..nbytes].copy_from_slice(&bytes[start..]);
    let number = i64::from_le_bytes(number);
    // Sign-extended by hand: a negative offset requires no bytes.
    if number >> (8 * nbytes - 1) & 1 != 0 { 0 } else { number as usize }
}

fn text(choices: &mut Choices<'_>, nbytes: usize) -> Vec<u8> {
    (0..nbytes).map(|_| if choices.byte() == 0xff { 0xc3 } else { b'a' + choices.byte() % 26 }).collect()
}

impl Node {
    /// A column whose parent uses its first `wanted` elements, if it does not lie.
    fn choose(
        choices: &mut Choices<'_>,
        wanted: usize,
        depth: usize,
        classes: &mut Vec<&'static str>,
    ) -> Self {
        let count = if depth == 0 { 6 } else { CLASSES.len() as u8 };
        let class = CLASSES[usize::from(choices.below(count))];
        classes.push(class);
        let is_short = choices.byte() == 0xff;
        let len = wanted.saturating_sub(usize::from(is_short));
        let offset = usize::from(choices.below(4));
        let end = len + offset;
        let mut child =
            |choices: &mut Choices<'_>, wanted: usize| Self::choose(choices, wanted, depth - 1, classes);
        let nbytes = if class.starts_with("large") { 8 } else { 4 };
        let mut node = Self { length: len as i64, offset: offset as i64, ..Self::default() };
        let mut has_validity = true;
        match class {
            "null" => {
                (node.format, has_validity) = ("n".to_owned(), false);
                node.null_count = len as i64;
            }
            "bool" => {
                node.format = "b".to_owned();
                node.buffers.push(Some(text(choices, end.div_ceil(8))));
            }
            "fixed" => {
                let (format, nbytes) = FIXED[usize::from(choices.below(FIXED.len() as u8))];
                node.format = format.to_owned();
                node.buffers.push(Some((0..end * nbytes).map(|_| choices.byte()).collect()));
            }
            "text" | "large text" => {
                let letters = if class == "text" { ["u", "z"] } else { ["U", "Z"] };
                node.format = letters[usize::from(choices.below(2))].to_owned();
                let offsets = offsets(choices, end + 1, nbytes);
                let data = text(choices, last(&offsets, nbytes));
                node.buffers.extend([Some(offsets), Some(data)]);
            }
            "views" => {
                node.format = ["vu", "vz"][usize::from(choices.below(2))].to_owned();
                let data: Vec<Vec<u8>> = (0..choices.below(3)).map(|_| text(choices, 30)).collect();
                let view = |choices: &mut Choices<'_>| {
                    let len = if choices.byte() & 1 == 0 { small(choices) } else { 13 + small(choices) };
                    let (buffer, at) = (small(choices) % 3, small(choices));
                    let prefix =
                        data.get(buffer.max(0) as usize).and_then(|data| data.get(at.max(0) as usize..));
                    let prefix = prefix.and_then(|data| data.get(..4)).unwrap_or(b"abcd");
                    let prefix = if choices.byte() == 0xff { b"????" } else { prefix };
                    let number = |number: i64| (number as i32).to_le_bytes();
                    [&number(len)[..], prefix, &number(buffer), &number(at)].concat()
                };
                let views = (0..end).flat_map(|_| view(choices)).collect();
                let lie = choices.byte() == 0xff;
                let sizes = numbers(data.len(), 8, |k| if lie { -1 } else { data[k].len() as i64 });
                node.buffers.push(Some(views));
                node.buffers.extend(data.into_iter().map(Some));
                node.buffers.push(Some(sizes));
            }
            "list" | "large list" | "map" => {
                let offsets = offsets(choices, end + 1, nbytes);
                let below = last(&offsets, nbytes);
                node.buffers.push(Some(offsets));
                node.format = match class {
                    "list" => "+l",
                    "large list" => "+L",
                    _ => "+m",
                }
                .to_owned();
                node.children.push(match class {
                    "map" if depth > 1 => {
                        let pair = vec![child(choices, below), child(choices, below)];
                        let (length, buffers) = (below as i64, vec![None]);
                        Self { format: "+s".to_owned(), length, buffers, children: pair, ..Self::default() }
                    }
                    _ => child(choices, below),
                });
            }
            "list view" => {
                node.format = "+vl".to_owned();
                let numbers_of = |choices: &mut Choices<'_>| numbers(end, 4, |_| small(choices));
                let (offsets, sizes) = (numbers_of(choices), numbers_of(choices));
                node.buffers.extend([Some(offsets), Some(sizes)]);
                node.children.push(child(choices, 10));
            }
            "fixed list" => {
                let size = usize::from(choices.below(4));
                node.format = format!("+w:{size}");
                node.children.push(child(choices, end * size));
            }
            "struct" => {
                node.format = "+s".to_owned();
                node.children = (0..choices.below(3)).map(|_| child(choices, end)).collect();
            }
            "dictionary" => {
                node.format = ["c", "C", "i", "L"][usize::from(choices.below(4))].to_owned();
                let nbytes = [("c", 1), ("C", 1), ("i", 4), ("L", 8)];
                let nbytes = nbytes.iter().find(|(format, _)| *format == node.format).map_or(1, |(_, n)| *n);
                node.buffers.push(Some(numbers(end, nbytes, |_| small(choices))));
                node.flags |= i64::from(choices.byte() & 1);
                node.dictionary = Some(Box::new(child(choices, 6)));
            }
            "runs" => {
                has_validity = false;
                node.format = "+r".to_owned();
                let count = end + usize::from(choices.below(2));
                let mut sum = 0;
                let ends = numbers(count, 4, |_| {
                    sum += 1 + small(choices);
                    sum
                });
                let run_ends = Self {
                    format: "i".to_owned(),
                    length: count as i64,
                    buffers: vec![None, Some(ends)],
                    ..Self::default()
                };
                node.children.extend([run_ends, child(choices, count)]);
            }
            "dense union" | "sparse union" => {
                has_validity = false;
                let is_dense = class == "dense union";
                node.format = if is_dense { "+ud:0,2" } else { "+us:0,2" }.to_owned();
                let ids = (0..end).map(|_| if choices.byte() == 0xff { 1 } else { choices.below(2) * 2 });
                node.buffers.push(Some(ids.collect()));
                if is_dense {
                    node.buffers.push(Some(numbers(end, 4, |_| small(choices))));
                }
                let below = if is_dense { 6 } else { end };
                node.children.extend([child(choices, below), child(choices, below)]);
            }
            _ => node.format = text(choices, 2).iter().map(|&byte| byte as char).collect(),
        }
        if has_validity {
            let bits = (choices.byte() & 1 != 0).then(|| text(choices, end.div_ceil(8)));
            node.null_count = if bits.is_some() { -1 } else { 0 };
            node.buffers.insert(0, bits);
        }
        match choices.byte() {
            0xff => node.length = [-1, i64::MIN, i64::MAX][usize::from(choices.below(3))],
            0xfe => node.offset = [-1, i64::MIN, i64::MAX][usize::from(choices.below(3))],
            0xfd => node.null_count = [-2, i64::MIN, i64::MAX, 1][usize::from(choices.below(4))],
            0xfc => node.more.0 = [-1, 1, i64::MIN][usize::from(choices.below(3))],
            0xfb => node.more.1 = [-1, i64::MIN, i64::MAX][usize::from(choices.below(3))],
            0xfa => drop(node.buffers.last_mut().map(|buffer| buffer.take())),
            0xf9 => node.dictionary = None,
            _ => {}
        }
        node
    }
}

/// What one struct and those below it refer to.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "pointers to the structs stay valid while the vectors grow")]
struct Tree {
    schemas: Vec<Box<Schema>>,
    arrays: Vec<Box<Array>>,
    texts: Vec<CString>,
    buffers: Vec<Vec<u8>>,
    pointers: Vec<Box<[*const c_void]>>,
    of_schemas: Vec<Box<[*mut Schema]>>,
    of_arrays: Vec<Box<[*mut Array]>>,
    released: Arc<AtomicUsize>,
}

unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: the consumer passes the root's struct, which is not released, wherever it moved it.
    let schema = unsafe { &mut *schema };
    schema.release = None;
    // SAFETY: `export` stored a box there, and this release is the only one.
    let tree = unsafe { Box::from_raw(schema.private.cast::<Tree>()) };
    tree.released.fetch_add(1, Ordering::Relaxed);
}

unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: the consumer passes the root's struct, which is not released, wherever it moved it.
    let array = unsafe { &mut *array };
    array.release = None;
    // SAFETY: `export` stored a box there, and this release is the only one.
    let tree = unsafe { Box::from_raw(array.private.cast::<Tree>()) };
    tree.released.fetch_add(1, Ordering::Relaxed);
}

unsafe extern "C" fn release_no_schema(_: *mut Schema) {}
unsafe extern "C" fn release_no_array(_: *mut Array) {}

impl Tree {
    fn schema(&mut self, node: &Node) -> Schema {
        let children: Vec<*mut Schema> = node.children.iter().map(|child| self.boxed_schema(child)).collect();
        let dictionary = node.dictionary.as_ref().map_or(ptr::null_mut(), |values| self.boxed_schema(values));
        let mut children = children.into_boxed_slice();
        let pointer = children.as_mut_ptr();
        self.of_schemas.push(children);
        let format = CString::new(node.format.clone()).unwrap_or_default();
        self.texts.push(format);
        Schema {
            format: self.texts[self.texts.len() - 1].as_ptr(),
            name: c"x".as_ptr(),
            metadata: ptr::null(),
            flags: 2 | node.flags,
            n_children: node.children.len() as i64,
            children: pointer,
            dictionary,
            release: Some(release_no_schema),
            private: ptr::null_mut(),
        }
    }

    fn boxed_schema(&mut self, node: &Node) -> *mut Schema {
        let schema = Box::new(self.schema(node));
        self.schemas.push(schema);
        let last = self.schemas.len() - 1;
        &raw mut *self.schemas[last]
    }

    fn array(&mut self, node: &Node) -> Array {
        let children: Vec<*mut Array> = node.children.iter().map(|child| self.boxed_array(child)).collect();
        let dictionary = node.dictionary.as_ref().map_or(ptr::null_mut(), |values| self.boxed_array(values));
        let mut children = children.into_boxed_slice();
        let pointer = children.as_mut_ptr();
        self.of_arrays.push(children);
        let pointers = node.buffers.iter().map(|buffer| match buffer {
            None => ptr::null(),
            Some(bytes) => {
                let bytes = bytes.clone();
                let pointer = bytes.as_ptr().cast::<c_void>();
                self.buffers.push(bytes);
                pointer
            }
        });
        let pointers: Box<[*const c_void]> = pointers.collect();
        self.pointers.push(pointers);
        let last = self.pointers.len() - 1;
        Array {
            length: node.length,
            null_count: node.null_count,
            offset: node.offset,
            n_buffers: self.pointers[last].len() as i64 + node.more.0.min(0),
            n_children: (node.children.len() as i64).wrapping_add(node.more.1),
            buffers: self.pointers[last].as_mut_ptr(),
            children: pointer,
            dictionary,
            release: Some(release_no_array),
            private: ptr::null_mut(),
        }
    }

    fn boxed_array(&mut self, node: &Node) -> *mut Array {
        let array = Box::new(self.array(node));
        self.arrays.push(array);
        let last = self.arrays.len() - 1;
        &raw mut *self.arrays[last]
    }
}

/// A hostile column, before a consumer has it. Its structs leak if they are not consumed.
pub struct HostileColumn {
    schema: Box<Schema>,
    array: Box<Array>,
    released: Arc<AtomicUsize>,
    /// The class of each type in it.
    pub classes: Vec<&'static str>,
}

impl HostileColumn {
    /// The column that bytes choose.
    pub fn choose(choices: &mut Choices<'_>) -> Self {
        let len = usize::from(choices.below(12));
        let mut classes = Vec::new();
        let node = Node::choose(choices, len, 3, &mut classes);
        let released = Arc::new(AtomicUsize::new(0));
        let tree = || Box::new(Tree { released: released.clone(), ..Tree::default() });
        let (mut of_schema, mut of_array) = (tree(), tree());
        let (mut schema, mut array) = (Box::new(of_schema.schema(&node)), Box::new(of_array.array(&node)));
        schema.release = Some(release_schema);
        schema.private = Box::into_raw(of_schema).cast();
        array.release = Some(release_array);
        array.private = Box::into_raw(of_array).cast();
        Self { schema, array, released, classes }
    }

    /// The pointer for a consumer, to cast to its own declaration.
    pub fn schema<T>(&mut self) -> *mut T {
        (&raw mut *self.schema).cast()
    }

    /// The pointer for a consumer, to cast to its own declaration.
    pub fn array<T>(&mut self) -> *mut T {
        (&raw mut *self.array).cast()
    }

    /// How many of the two structs were released.
    pub fn released(&self) -> usize {
        self.released.load(Ordering::Relaxed)
    }
}
