//! Arbitrary text as an Arrow format string: an error, or a type that is printed the same way. And
//! lines of text as the schema of a column and its children (depth, format, name, and pairs of
//! metadata, separated by tabs), over a column as long as the schema says: an error, or arrays that
//! the next consumer imports unchanged.

use std::ffi::{CString, c_void};
use std::ptr;

use crossdock::DArray;
use crossdock::bindings::dialect::arrow::{ArrowFormat, to_format};
use crossdock::exchange::protocol::arrow::abi::{ArrowArray, ArrowSchema};
use crossdock::exchange::protocol::arrow::{self, ExportOptions, Imported};
use crossdock::layout::Order;
use crossdock::view::CopyPolicy;

/// All buffers begin here; longer columns are not read.
static BLOCK: [u64; 1 << 10] = [0x0101_0101_0101_0101; 1 << 10];

const ROWS: i64 = 2;
const MOST_ROWS: i64 = 1 << 12;

/// A column and its children, at stable addresses.
#[derive(Default)]
struct Node {
    format: CString,
    name: Option<CString>,
    metadata: Option<Vec<u8>>,
    children: Vec<Node>,
    schemas: Vec<*mut ArrowSchema>,
    arrays: Vec<*mut ArrowArray>,
    buffers: Vec<*const c_void>,
}

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = str::from_utf8(data) {
        format(text.lines().next().unwrap_or_default());
    }
    let mut root = tree(data);
    for take in [columns as fn(_), names] {
        let (mut schemas, mut arrays) = (Vec::new(), Vec::new());
        let (schema, array) = root.lend(ROWS, &mut schemas, &mut arrays);
        // SAFETY: the schema and the column on export match, and live until the imported arrays are
        // dropped.
        take(unsafe { arrow::take_over(schema, array) });
        // The consumer releases the roots; the children belong to the roots.
        assert!(schemas.last().is_some_and(|schema| schema.release.is_none()));
        assert!(arrays.last().is_some_and(|array| array.release.is_none()));
    }
});

fn format(text: &str) {
    match ArrowFormat::parse(text) {
        Ok(ArrowFormat::Scalar(dtype)) => {
            let again = to_format(&dtype).expect("what was read");
            assert_eq!(ArrowFormat::parse(&again).expect("what was printed"), ArrowFormat::Scalar(dtype), "{text:?}");
        }
        Ok(ArrowFormat::List(len)) => {
            assert_eq!(ArrowFormat::parse(&format!("+w:{len}")).ok(), Some(ArrowFormat::List(len)))
        }
        Ok(ArrowFormat::Struct) => assert_eq!(text, "+s"),
        Err(error) => {
            let said = error.to_string().len();
            assert!((1..600).contains(&said), "{error}");
        }
    }
}

fn columns(taken: crossdock::Result<Imported>) {
    let Ok(columns) = taken.and_then(Imported::into_columns) else { return };
    for (_, array) in columns {
        if array.nbytes() > size_of_val(&BLOCK) || array.len() > size_of_val(&BLOCK) {
            continue;
        }
        let bytes = elements(&array);
        assert!(bytes.iter().all(|&byte| byte == 1));
        let options = ExportOptions::new().copy(CopyPolicy::IfNeeded);
        let Ok(exported) = arrow::export(&array, &options) else { continue };
        let (mut schema, mut column) = exported.into_raw();
        // SAFETY: both structs were exported just now, match, and are consumed once.
        let again = unsafe { arrow::import(&mut schema, &mut column) }.expect("what was exported");
        assert_eq!((again.dtype(), again.shape()), (array.dtype(), array.shape()));
        assert_eq!(elements(&again), bytes);
    }
}

fn names(taken: crossdock::Result<Imported>) {
    let Ok(taken) = taken else { return };
    assert!(!format!("{taken:?}").is_empty() && taken.child_names().is_none_or(|names| names.len() < 100));
}

fn elements(array: &DArray) -> Vec<u8> {
    let copy = array.to_order(Order::RowMajor).expect("few bytes");
    copy.buffer().expect("one more handle").0.pin().expect("no Write lease").to_vec()
}

/// The columns that the lines describe, each below the last line of less depth.
fn tree(data: &[u8]) -> Node {
    let mut path: Vec<Node> = Vec::new();
    for line in data.split(|&byte| byte == b'\n').take(24) {
        let (depth, line) = match line.split_first() {
            Some((digit @ b'0'..=b'9', rest)) => (usize::from(digit - b'0'), rest),
            _ => (0, line),
        };
        let mut parts = line.split(|&byte| byte == b'\t');
        let text = |part: &[u8]| CString::new(part.split(|&byte| byte == 0).next().unwrap_or_default()).ok();
        let format = parts.next().and_then(text).unwrap_or_default();
        let name = parts.next().and_then(text);
        let pairs: Vec<&[u8]> = parts.collect();
        let metadata = (!pairs.is_empty()).then(|| metadata(&pairs));
        let node = Node { format, name, metadata, ..Node::default() };
        // There is one root.
        while path.len() > depth.clamp(1, path.len().max(1)) {
            close(&mut path);
        }
        path.push(node);
    }
    while path.len() > 1 {
        close(&mut path);
    }
    path.pop().expect("there is a first line")
}

fn close(path: &mut Vec<Node>) {
    if let Some(node) = path.pop()
        && let Some(above) = path.last_mut()
    {
        above.children.push(node);
    }
}

/// Keys and values in turns, in the metadata encoding; a number that stands for a length may be
/// negative.
fn metadata(texts: &[&[u8]]) -> Vec<u8> {
    let known = |text: &[u8]| match text {
        b"N" => b"ARROW:extension:name".to_vec(),
        b"M" => b"ARROW:extension:metadata".to_vec(),
        b"T" => b"arrow.fixed_shape_tensor".to_vec(),
        b"B" => b"arrow.bool8".to_vec(),
        other => other.to_vec(),
    };
    let mut bytes = ((texts.len() / 2) as i32).to_ne_bytes().to_vec();
    for text in texts {
        if *text == b"-" {
            // The consumer reads nothing after it.
            bytes.extend((-1i32).to_ne_bytes());
            return bytes;
        }
        let text = known(text);
        bytes.extend((text.len() as i32).to_ne_bytes());
        bytes.extend(text);
    }
    bytes
}

impl Node {
    /// Puts the structs into the lists, children first, and returns their addresses.
    #[expect(clippy::vec_box, reason = "a struct stays where it is while its list grows")]
    fn lend(
        &mut self,
        rows: i64,
        schemas: &mut Vec<Box<ArrowSchema>>,
        arrays: &mut Vec<Box<ArrowArray>>,
    ) -> (*mut ArrowSchema, *mut ArrowArray) {
        let format = self.format.to_str().unwrap_or_default();
        let each = match format.strip_prefix("+w:").map(str::parse::<i64>) {
            Some(Ok(len)) => len.clamp(0, MOST_ROWS),
            _ => 1,
        };
        let below = rows.saturating_mul(each).min(MOST_ROWS);
        let pairs: Vec<_> =
            self.children.iter_mut().map(|child| child.lend(below, schemas, arrays)).collect();
        (self.schemas, self.arrays) = pairs.into_iter().unzip();
        self.buffers = vec![ptr::null(), BLOCK.as_ptr().cast(), ptr::null()];
        schemas.push(Box::new(ArrowSchema {
            format: self.format.as_ptr(),
            name: self.name.as_ref().map_or(ptr::null(), |name| name.as_ptr()),
            metadata: self.metadata.as_ref().map_or(ptr::null(), |bytes| bytes.as_ptr().cast()),
            n_children: self.schemas.len() as i64,
            children: self.schemas.as_mut_ptr(),
            release: Some(release_schema),
            ..ArrowSchema::empty()
        }));
        arrays.push(Box::new(ArrowArray {
            length: rows,
            n_buffers: if format.starts_with('+') { 1 } else { 2 },
            buffers: self.buffers.as_mut_ptr(),
            n_children: self.arrays.len() as i64,
            children: self.arrays.as_mut_ptr(),
            release: Some(release_array),
            ..ArrowArray::empty()
        }));
        let (schema, array) = (schemas.last_mut(), arrays.last_mut());
        (&raw mut **schema.expect("just put there"), &raw mut **array.expect("just put there"))
    }
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: `schema` is the struct being released, possibly moved, which its owner keeps
    // writable.
    unsafe { (*schema).release = None };
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: `array` is the struct being released, possibly moved, which its owner keeps writable.
    unsafe { (*array).release = None };
}
