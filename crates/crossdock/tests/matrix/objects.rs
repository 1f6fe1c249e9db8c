//! C objects: a producer that lends specimens, and a consumer of views.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Once;

use crossdock::DArray;
use crossdock::bindings::memory_view::{self, ArrayObject, Class, Entry, Flags, View};
use crossdock::layout::Layout;
use crossdock::view::CopyPolicy;

use crate::classes::{ExportedMemory, Kind, Specimen, addresses, walk};
use crate::exporters::{self, At, ConsumerView, Inspect};
use crate::importers::{self, Brought, at_address};

static CLASS: Class = Class { name: c"Specimen".as_ptr(), super_: ptr::null() };

/// An object that lends a specimen.
#[repr(C)]
struct Object<'a> {
    class: *const Class,
    specimen: &'a Specimen,
    /// The address of element 0 of the last view.
    address: usize,
}

/// The producer's data until the view is released.
struct Context {
    shape: Vec<isize>,
    strides: Vec<isize>,
    sub_offsets: Vec<isize>,
    memory: ExportedMemory,
}

unsafe extern "C" fn lend(obj: *mut c_void, view: *mut View, _: c_int) -> u8 {
    // SAFETY: the hub calls this only for objects of `CLASS`: `import` below passes the address of
    // a live, mutable `Object`.
    let object = unsafe { &mut *obj.cast::<Object<'_>>() };
    let specimen = object.specimen;
    let mut context = Box::new(Context {
        shape: specimen.shape.iter().map(|&len| len as isize).collect(),
        strides: specimen.strides.clone(),
        sub_offsets: Vec::new(),
        memory: specimen.lend(),
    });
    object.address = context.memory.first(specimen.offset);
    let mut data = context.memory.base();
    if specimen.is_indirect {
        context.strides[0] = size_of::<*mut u8>() as isize;
        context.sub_offsets = vec![0, -1];
    } else {
        data = data.wrapping_add(specimen.offset);
    }
    let item_size = specimen.kind.itemsize();
    // SAFETY: the hub passes a writable struct, which no other code accesses during the call.
    unsafe {
        *view = View {
            obj,
            data: data.cast(),
            byte_size: (specimen.expected.len() * item_size) as isize,
            readonly: u8::from(specimen.is_readonly),
            format: if specimen.kind == Kind::Number { c"S" } else { c"S>" }.as_ptr(),
            item_size: item_size as isize,
            ndim: context.shape.len() as isize,
            shape: context.shape.as_ptr(),
            strides: context.strides.as_ptr(),
            sub_offsets: if specimen.is_indirect { context.sub_offsets.as_ptr() } else { ptr::null() },
            private_data: Box::into_raw(context).cast(),
            ..View::EMPTY
        };
    }
    1
}

unsafe extern "C" fn take_back(_: *mut c_void, view: *mut View) -> u8 {
    // SAFETY: the hub passes the struct that `lend` filled in, which is readable.
    let context = unsafe { (*view).private_data };
    // SAFETY: `lend` made the context with `Box::into_raw`, and the hub releases a view once.
    drop(unsafe { Box::from_raw(context.cast::<Context>()) });
    1
}

/// Imports a specimen that a C object lends.
pub(crate) fn import(specimen: &Specimen) -> Result<Brought, importers::No> {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let entry = Entry { get: Some(lend), release: Some(take_back), available: None };
        // SAFETY: `CLASS` is a static, and the callbacks accept its objects, which are the
        // `Object`s of this module.
        unsafe { memory_view::register(&CLASS, &entry) }.unwrap();
    });
    if specimen.device.is_some() {
        return Err(importers::DEVICE);
    }
    if specimen.kind == Kind::Record {
        return Err(importers::No::CannotSay("fields without names"));
    }
    let mut object = Object { class: &CLASS, specimen, address: 0 };
    // SAFETY: `object` is a live `Object` of the class; the memory that it lends is kept, and its
    // pointers lead to rows.
    let array = unsafe { memory_view::import((&raw mut object).cast(), Flags::INDIRECT) }?;
    at_address(array, object.address)
}

/// Exports an array to a C consumer.
pub(crate) fn export(array: &DArray, _: CopyPolicy, inspect: Inspect<'_>) -> Result<(), exporters::No> {
    let object = ArrayObject::new(array.clone());
    let mut view = View::EMPTY;
    // SAFETY: `object` is a live object of a class of this library, and `view` is a writable
    // struct.
    unsafe { memory_view::get(object.as_ptr(), &mut view, Flags::INDIRECT) }?;
    let layout = layout(&view);
    // SAFETY: the held view keeps the pointers that its layout follows.
    let addresses = unsafe { addresses(view.data.cast(), &layout) };
    inspect(ConsumerView {
        at: At::Address(addresses.first().copied().unwrap_or(view.data.cast_const().cast()).addr()),
        because: None,
        // SAFETY: clauses 1 and 2 of `walk`: the held view keeps the pointers and the elements of
        // its layout.
        elements: &|| unsafe { walk(view.data.cast(), &layout) },
    });
    // SAFETY: `get` filled in the view, which is released once, after its last use.
    assert!(unsafe { memory_view::release(&mut view) });
    Ok(())
}

/// The layout that a consumer derives from the numbers of a view.
fn layout(view: &View) -> Layout {
    // SAFETY: the caller holds the view, whose shape and strides have `ndim` numbers until the
    // release.
    let numbers = |numbers: *const isize| unsafe { std::slice::from_raw_parts(numbers, view.ndim as usize) };
    let shape: Vec<usize> = numbers(view.shape).iter().map(|&len| len as usize).collect();
    let (strides, item_size) = (numbers(view.strides), view.item_size as usize);
    if view.sub_offsets.is_null() {
        return Layout::new(&shape, strides, item_size).unwrap();
    }
    let suboffsets: Vec<_> =
        numbers(view.sub_offsets).iter().map(|&jump| (jump >= 0).then_some(jump)).collect();
    Layout::with_suboffsets(&shape, strides, &suboffsets, item_size).unwrap()
}
