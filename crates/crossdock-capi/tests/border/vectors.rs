//! What Ruby answered, asked of the shared library: loaded at run time, by the names and types of the header.

use std::ffi::{CString, c_char, c_void};
use std::mem::transmute_copy;
use std::ptr;

use crossdock::element::dialect::pack::Component;
use crossdock::exchange::protocol::memory_view::View;
use crossdock_capi::value::{
    XD_VALUE_FLOAT, XD_VALUE_INT, XD_VALUE_LIST, XD_VALUE_NIL, XD_VALUE_UINT, XdValue,
};
use crossdock_testkit::vectors::{self, Answer, Extracted, Number};
use serde_json::Value;

use crate::toolchain::shared_library;

macro_rules! library {
    ($($name:ident: fn($($parameter:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of the loaded library.
        struct Library {
            $($name: unsafe extern "C" fn($($parameter),*) $(-> $result)?,)*
        }

        impl Library {
            fn load() -> Self {
                let path = CString::new(shared_library().to_str().expect("a path in UTF-8")).expect("no zero in it");
                // SAFETY: the library has no constructors but those of the standard library.
                let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
                assert!(!handle.is_null(), "{path:?} does not load");
                Self { $($name: {
                    let name = concat!(stringify!($name), "\0");
                    // SAFETY: the library stays loaded.
                    let address = unsafe { libc::dlsym(handle, name.as_ptr().cast()) };
                    assert!(!address.is_null(), "{name}");
                    // SAFETY: the type in the header, which is compared with that of the library.
                    unsafe { transmute_copy(&address) }
                },)* }
            }
        }
    };
}

library! {
    xd_memory_view_parse_item_format: fn(*const c_char, *mut *mut Component, *mut usize, *mut *const c_char) -> isize;
    xd_memory_view_free_components: fn(*const Component, usize);
    xd_memory_view_item_size_from_format: fn(*const c_char, *mut *const c_char) -> isize;
    xd_memory_view_extract_item_members: fn(*const c_void, *const Component, usize) -> XdValue;
    xd_memory_view_get_item: fn(*const View, *const isize) -> XdValue;
    xd_memory_view_read_item: fn(*const View, *const isize, *mut XdValue, usize) -> isize;
    xd_memory_view_get_item_pointer: fn(*const View, *const isize) -> *mut c_void;
    xd_memory_view_fill_contiguous_strides: fn(isize, isize, *const isize, bool, *mut isize) -> bool;
    xd_memory_view_is_row_major_contiguous: fn(*const View) -> bool;
    xd_memory_view_is_column_major_contiguous: fn(*const View) -> bool;
    xd_memory_view_is_row_major_contiguous_strictly: fn(*const View) -> bool;
    xd_memory_view_is_column_major_contiguous_strictly: fn(*const View) -> bool;
    xd_value_free: fn(*mut XdValue);
}

/// A format as the library reads it: its size, and its components, which are freed by the library.
struct Parsed<'a> {
    library: &'a Library,
    size: isize,
    components: *mut Component,
    n: usize,
    error_at: Option<usize>,
}

impl Library {
    /// Row-major, column-major, as NumPy asks.
    fn usually(&self) -> [unsafe extern "C" fn(*const View) -> bool; 2] {
        [self.xd_memory_view_is_row_major_contiguous, self.xd_memory_view_is_column_major_contiguous]
    }

    /// Row-major, column-major, as the original asks.
    fn strictly(&self) -> [unsafe extern "C" fn(*const View) -> bool; 2] {
        [
            self.xd_memory_view_is_row_major_contiguous_strictly,
            self.xd_memory_view_is_column_major_contiguous_strictly,
        ]
    }

    fn parse(&self, format: &CString) -> Parsed<'_> {
        let (mut components, mut n, mut err) = (ptr::null_mut(), 0, ptr::null());
        let (out, count, place) = (&raw mut components, &raw mut n, &raw mut err);
        // SAFETY: a C string, and three places.
        let size = unsafe { (self.xd_memory_view_parse_item_format)(format.as_ptr(), out, count, place) };
        let error_at = (size < 0).then(|| err.addr() - format.as_ptr().addr());
        assert_eq!(error_at.is_some(), !err.is_null());
        Parsed { library: self, size, components, n, error_at }
    }
}

impl Parsed<'_> {
    fn components(&self) -> &[Component] {
        if self.components.is_null() {
            return &[];
        }
        // SAFETY: so many, until they are freed.
        unsafe { std::slice::from_raw_parts(self.components, self.n) }
    }
}

impl Drop for Parsed<'_> {
    fn drop(&mut self) {
        // SAFETY: given by the library, and freed once.
        unsafe { (self.library.xd_memory_view_free_components)(self.components, self.n) };
    }
}

fn component(component: &Component) -> vectors::Component {
    let Component { format, native_size, little_endian, offset, size, repeat } = *component;
    vectors::Component { format, native_size, little_endian, offset, size, repeat }
}

#[test]
fn formats_are_answered_as_by_ruby_where_it_is_right() {
    let library = Library::load();
    vectors::check_formats(|format| {
        let text = CString::new(format).expect("no zero in it");
        let parsed = library.parse(&text);
        let mut err = ptr::null();
        // SAFETY: a C string, and a place.
        let size = unsafe { (library.xd_memory_view_item_size_from_format)(text.as_ptr(), &raw mut err) };
        assert_eq!((size, err.is_null()), (parsed.size, parsed.error_at.is_none()), "{format:?}");
        match parsed.error_at {
            Some(offset) => Answer::ErrorAt(offset),
            None => {
                Answer::Item(parsed.size as i128, Some(parsed.components().iter().map(component).collect()))
            }
        }
    });
}

fn number(value: &XdValue) -> Number {
    match value.kind() {
        XD_VALUE_INT => Number::Int(value.signed().into()),
        XD_VALUE_UINT => Number::Int(value.bits().into()),
        XD_VALUE_FLOAT => Number::Float(value.bits()),
        kind => panic!("kind {kind} is no number"),
    }
}

fn extracted(library: &Library, mut value: XdValue) -> Extracted {
    let read = match value.kind() {
        XD_VALUE_NIL => Extracted::Nil,
        XD_VALUE_LIST if value.len() == 0 => Extracted::List(Vec::new()),
        XD_VALUE_LIST => {
            // SAFETY: a list of so many, until it is freed.
            let items = unsafe { std::slice::from_raw_parts(value.payload.cast::<XdValue>(), value.len()) };
            Extracted::List(items.iter().map(number).collect())
        }
        _ => Extracted::One(number(&value)),
    };
    // SAFETY: given by the library, and freed once.
    unsafe { (library.xd_value_free)(&raw mut value) };
    read
}

#[test]
fn items_are_read_as_by_ruby() {
    let library = Library::load();
    for vectors::Item { format, mut bytes, value } in vectors::items() {
        let text = CString::new(&*format).expect("no zero in it");
        let parsed = library.parse(&text);
        // SAFETY: the components of the format, and the bytes of one item.
        let members = unsafe {
            (library.xd_memory_view_extract_item_members)(bytes.as_ptr().cast(), parsed.components, parsed.n)
        };
        assert_eq!(extracted(&library, members), value, "{format:?} of {bytes:02x?}");

        // The same through a view, with the components and without.
        let data = bytes.as_mut_ptr().cast();
        let mut view = View::of_bytes(ptr::null_mut(), data, bytes.len() as isize, true).expect("a view");
        (view.format, view.item_size, view.ndim) = (text.as_ptr(), parsed.size, 0);
        for components in [ptr::null(), parsed.components.cast_const()] {
            (view.item_desc.components, view.item_desc.length) = (components, parsed.n);
            // SAFETY: a view of one item, without axes.
            let item = unsafe { (library.xd_memory_view_get_item)(&raw const view, ptr::null()) };
            assert_eq!(extracted(&library, item), value, "{format:?} of {bytes:02x?}");
            let mut list = [XdValue::NIL; 64];
            // SAFETY: as above, and a list of so many.
            let read = unsafe {
                (library.xd_memory_view_read_item)(
                    &raw const view,
                    ptr::null(),
                    list.as_mut_ptr(),
                    list.len(),
                )
            };
            let read = list[..read as usize].iter().map(number).collect::<Vec<_>>();
            let expected = match &value {
                Extracted::Nil => Vec::new(),
                Extracted::One(number) => vec![*number],
                Extracted::List(numbers) => numbers.clone(),
            };
            assert_eq!(read, expected, "{format:?}");
        }
    }
}

fn numbers(value: &Value) -> Vec<isize> {
    value
        .as_array()
        .expect("a list")
        .iter()
        .map(|number| number.as_i64().expect("a number") as isize)
        .collect()
}

/// A view of such a layout over an address that nobody follows.
fn view(shape: &[isize], strides: Option<&[isize]>, item_size: isize) -> View {
    let data = ptr::without_provenance_mut(1 << 62);
    let mut view = View::of_bytes(ptr::null_mut(), data, 0, true).expect("a view");
    (view.ndim, view.shape, view.item_size) = (shape.len() as isize, shape.as_ptr(), item_size);
    view.strides = strides.map_or(ptr::null(), <[isize]>::as_ptr);
    view
}

/// Asks whether a view lies row-major, and column-major.
fn ask(view: &View, questions: [unsafe extern "C" fn(*const View) -> bool; 2]) -> [bool; 2] {
    // SAFETY: a view with as many lengths and strides as it has axes.
    questions.map(|question| unsafe { question(view) })
}

fn layouts() -> Value {
    serde_json::from_str(vectors::LAYOUTS).expect("the record")
}

#[test]
fn strides_are_filled_in_as_by_ruby() {
    let library = Library::load();
    let layouts = layouts();
    for vector in layouts["fill_contiguous_strides"].as_array().unwrap() {
        let (shape, item_size) = (numbers(&vector["shape"]), vector["item_size"].as_i64().unwrap() as isize);
        for (row_major, name) in [(true, "row_major_strides"), (false, "column_major_strides")] {
            let mut strides = vec![-7; shape.len()];
            // SAFETY: as many numbers on both sides.
            let filled = unsafe {
                (library.xd_memory_view_fill_contiguous_strides)(
                    shape.len() as isize,
                    item_size,
                    shape.as_ptr(),
                    row_major,
                    strides.as_mut_ptr(),
                )
            };
            assert!(filled && strides == numbers(&vector[name]), "{vector}: {strides:?}");
        }
    }
}

/// Whether items lie without gaps, by NumPy's rules.
fn lies(shape: &[isize], strides: &[isize], item_size: isize, is_row_major: bool) -> bool {
    let axes = shape.iter().zip(strides);
    let axes: Vec<_> = if is_row_major { axes.rev().collect() } else { axes.collect() };
    let mut expected = i128::from(item_size as i64);
    let mut steps = axes.into_iter().filter(|(len, _)| **len != 1);
    shape.contains(&0)
        || steps.all(|(&len, &stride)| {
            let fits = stride as i128 == expected;
            expected *= len as i128;
            fits
        })
}

/// What the original says for want of a wider word.
const WRAPS: &str = "product wraps to 0 in ssize_t: false positive";

#[test]
fn contiguity_is_answered_as_by_ruby_and_as_by_numpy() {
    let library = Library::load();
    let (mut wrapped, mut differing) = (0, 0);
    for vector in layouts()["contiguity"].as_array().unwrap() {
        let (shape, strides) = (numbers(&vector["shape"]), numbers(&vector["strides"]));
        let item_size = vector["item_size"].as_i64().unwrap() as isize;
        let view = view(&shape, Some(&strides), item_size);
        let strict = ask(&view, library.strictly());
        let usual = ask(&view, library.usually());
        let theirs = ["row_major", "column_major"].map(|name| vector[name].as_bool().unwrap());
        let sound = if vector["tag"] == WRAPS { [false; 2] } else { theirs };
        wrapped += usize::from(sound != theirs);
        differing += usize::from(usual != strict);
        assert_eq!(strict, sound, "{vector}");
        assert_eq!(usual, [true, false].map(|is| lies(&shape, &strides, item_size, is)), "{vector}");
    }
    assert!(wrapped == 1 && differing > 20, "{wrapped} wrap, {differing} differ by the rule");
}

#[test]
fn null_strides_are_row_major() {
    let library = Library::load();
    for vector in layouts()["null_strides_4_1dev_only"].as_array().unwrap() {
        let shape = vector["shape"].as_array().map(|_| numbers(&vector["shape"]));
        let mut view =
            view(shape.as_deref().unwrap_or(&[]), None, vector["item_size"].as_i64().unwrap() as isize);
        if let Some(ndim) = vector["ndim"].as_i64() {
            (view.ndim, view.shape) = (ndim as isize, ptr::null());
        }
        let strict = ask(&view, library.strictly());
        assert_eq!(
            strict,
            ["row_major", "column_major"].map(|name| vector[name].as_bool().unwrap()),
            "{vector}"
        );
    }
}

/// How far an item is from element 0, without a limit.
fn offset(shape: &[isize], strides: Option<&[isize]>, item_size: isize, index: &[isize]) -> i128 {
    let (mut sum, mut row_major) = (0, item_size as i128);
    for axis in (0..shape.len()).rev() {
        sum += index[axis] as i128 * strides.map_or(row_major, |strides| strides[axis] as i128);
        row_major *= shape[axis] as i128;
    }
    sum
}

#[test]
fn items_are_where_ruby_finds_them_and_nowhere_outside() {
    let library = Library::load();
    let (mut found, mut outside, mut wrapped) = (0, 0, 0);
    for vector in layouts()["item_pointer"].as_array().unwrap() {
        let (shape, index) = (numbers(&vector["shape"]), numbers(&vector["indices"]));
        let strides = vector["strides"].as_array().map(|_| numbers(&vector["strides"]));
        let item_size = vector["item_size"].as_i64().unwrap() as isize;
        let view = view(&shape, strides.as_deref(), item_size);
        // SAFETY: a view of such a layout, and as many indices.
        let item = unsafe { (library.xd_memory_view_get_item_pointer)(&raw const view, index.as_ptr()) };
        if !index.iter().zip(&shape).all(|(index, len)| (0..*len).contains(index)) {
            assert!(item.is_null(), "{vector}");
            outside += 1;
            continue;
        }
        let offset = offset(&shape, strides.as_deref(), item_size, &index);
        // Of an array that is larger than memory, the original's offset wraps around.
        wrapped += usize::from(offset != vector["offset"].as_i64().unwrap().into());
        match isize::try_from(offset) {
            Ok(offset) => assert_eq!(item.addr(), view.data.addr().wrapping_add_signed(offset), "{vector}"),
            Err(_) => assert!(item.is_null(), "{vector}"),
        }
        found += 1;
    }
    assert!(
        found > 100 && outside > 100 && wrapped < 10,
        "{found} inside, {outside} outside, {wrapped} wrap"
    );
}
