//! Ruby's recorded answers, compared with those of the shared library, which is loaded at run time.

use std::ffi::{CString, c_char, c_void};
use std::ptr;

use crossdock::bindings::dialect::pack::Component;
use crossdock::bindings::memory_view::View;
use crossdock_capi::value::{
    XD_VALUE_FLOAT, XD_VALUE_INT, XD_VALUE_LIST, XD_VALUE_NIL, XD_VALUE_UINT, XdValue,
};
use crossdock_testkit::layouts::{self, Recorded};
use crossdock_testkit::vectors::{self, Answer, Extracted, Number};

use crate::loaded::library;

library! {
    Library:
    xd_memory_view_parse_item_format: fn(*const c_char, *mut *mut Component, *mut usize, *mut *const c_char) -> isize;
    xd_memory_view_free_components: fn(*const Component, usize);
    xd_memory_view_item_size_from_format: fn(*const c_char, *mut *const c_char) -> isize;
    xd_memory_view_extract_item_members: fn(*const c_void, *const Component, usize) -> XdValue;
    xd_memory_view_get_item: fn(*const View, *const isize) -> XdValue;
    xd_memory_view_read_item: fn(*const View, *const isize, *mut XdValue, usize) -> isize;
    xd_memory_view_get_item_pointer: fn(*const View, *const isize) -> *mut c_void;
    xd_memory_view_fill_contiguous_strides: fn(isize, isize, *const isize, bool, *mut isize) -> bool;
    xd_memory_view_is_contiguous: fn(*const View) -> bool;
    xd_memory_view_is_row_major_contiguous: fn(*const View) -> bool;
    xd_memory_view_is_column_major_contiguous: fn(*const View) -> bool;
    xd_memory_view_is_row_major_contiguous_strictly: fn(*const View) -> bool;
    xd_memory_view_is_column_major_contiguous_strictly: fn(*const View) -> bool;
    xd_value_free: fn(*mut XdValue);
}

/// A format as the library parses it: its size, and its components, which the library frees.
struct Parsed<'a> {
    library: &'a Library,
    size: isize,
    components: *mut Component,
    n: usize,
    error_at: Option<usize>,
}

impl Library {
    fn parse(&self, format: &CString) -> Parsed<'_> {
        let (mut components, mut n, mut err) = (ptr::null_mut(), 0, ptr::null());
        let (out, count, place) = (&raw mut components, &raw mut n, &raw mut err);
        // SAFETY: the format is a C string, and the three outputs are local variables of the
        // declared types.
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
        // SAFETY: the pointer is not null here; the library returned `n` components, which `drop`
        // frees after this borrow ends.
        unsafe { std::slice::from_raw_parts(self.components, self.n) }
    }
}

impl Drop for Parsed<'_> {
    fn drop(&mut self) {
        // SAFETY: the library returned the components, or null, and this drop alone frees them.
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
        // SAFETY: the format is a C string, and the output is a local variable of the declared
        // type.
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
        XD_VALUE_LIST if value.is_empty() => Extracted::List(Vec::new()),
        XD_VALUE_LIST => {
            // SAFETY: the kind is a list, so the library's payload points to `len` values, which
            // live until the call below frees them.
            let items = unsafe { std::slice::from_raw_parts(value.payload.cast::<XdValue>(), value.len()) };
            Extracted::List(items.iter().map(number).collect())
        }
        _ => Extracted::One(number(&value)),
    };
    // SAFETY: the library returned the value, and it is freed only here; `items` is not used any
    // more.
    unsafe { (library.xd_value_free)(&raw mut value) };
    read
}

#[test]
fn items_are_read_as_by_ruby() {
    let library = Library::load();
    for vectors::Item { format, mut bytes, value } in vectors::items() {
        let text = CString::new(&*format).expect("no zero in it");
        let parsed = library.parse(&text);
        // SAFETY: the library returned `n` components of the format, and the recorded bytes are one
        // whole item.
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
            // SAFETY: the view describes the recorded bytes of one item; without axes, the index
            // may be null.
            let item = unsafe { (library.xd_memory_view_get_item)(&raw const view, ptr::null()) };
            assert_eq!(extracted(&library, item), value, "{format:?} of {bytes:02x?}");
            let mut list = [XdValue::NIL; 64];
            // SAFETY: the view describes the recorded bytes of one item without axes, and `list`
            // has room for `list.len()` values.
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

/// A view of this layout over an address that is never dereferenced.
fn view(layout: &Recorded) -> View {
    let pointer =
        |numbers: &Option<Vec<isize>>| numbers.as_ref().map_or(ptr::null(), |numbers| numbers.as_ptr());
    let data = ptr::without_provenance_mut(layouts::ADDRESS);
    View {
        item_size: layout.item_size,
        ndim: layout.ndim,
        shape: pointer(&layout.shape),
        strides: pointer(&layout.strides),
        ..View::of_bytes(ptr::null_mut(), data, 0, true).expect("a view")
    }
}

#[test]
fn strides_are_filled_in_as_recorded() {
    let library = Library::load();
    layouts::check_strides(|shape, item_size, row_major| {
        let mut strides = vec![-7; shape.len()];
        let (ndim, fill) = (shape.len() as isize, library.xd_memory_view_fill_contiguous_strides);
        // SAFETY: `shape` and `strides` both have `ndim` numbers, and `strides` is writable.
        assert!(unsafe { fill(ndim, item_size, shape.as_ptr(), row_major, strides.as_mut_ptr()) });
        strides
    });
}

#[test]
fn contiguity_is_numpys_rule_and_strictly_the_originals() {
    let library = Library::load();
    let ask = |layout: &Recorded, question: unsafe extern "C" fn(*const View) -> bool| {
        // SAFETY: the recorded shape and strides are null or have `ndim` numbers, and they outlive
        // the view.
        unsafe { question(&view(layout)) }
    };
    let usually =
        [library.xd_memory_view_is_column_major_contiguous, library.xd_memory_view_is_row_major_contiguous];
    layouts::check_contiguity(|layout, row_major| {
        let either = usually.iter().any(|&question| ask(layout, question));
        assert_eq!(ask(layout, library.xd_memory_view_is_contiguous), either);
        ask(layout, usually[usize::from(row_major)])
    });
    let strictly = [
        library.xd_memory_view_is_column_major_contiguous_strictly,
        library.xd_memory_view_is_row_major_contiguous_strictly,
    ];
    layouts::check_strict_contiguity(|layout, row_major| ask(layout, strictly[usize::from(row_major)]));
}

#[test]
fn items_are_where_ruby_finds_them_and_nowhere_outside() {
    let library = Library::load();
    layouts::check_item_pointers(|layout, index| {
        let view = view(layout);
        // SAFETY: the recorded layout has `ndim` lengths and strides or null, the index has `ndim`
        // numbers, and the result is only compared.
        let item = unsafe { (library.xd_memory_view_get_item_pointer)(&raw const view, index.as_ptr()) };
        (!item.is_null()).then(|| item.addr().wrapping_sub(view.data.addr()) as isize)
    });
}
