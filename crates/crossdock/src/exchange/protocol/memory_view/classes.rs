//! The registry of classes and their producers.

use core::ffi::{CStr, c_void};
use std::ptr;

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::abi::{Class, Entry};
use crate::exchange::protocol::memory_view::last;
use crate::exchange::protocol::memory_view::object;
use crate::view::{Key, RegistryTable};

/// The limit of classes in a chain of inheritance. A longer chain counts as a cycle.
const DEEPEST: usize = 64;
/// How many bytes of a class's name messages show.
const LONGEST_NAME: usize = 64;

/// The address of a class.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Address(usize);

impl Key for Address {
    #[inline]
    fn hash(&self) -> usize {
        self.0
    }
}

impl Key for Entry {
    fn hash(&self) -> usize {
        self.addresses().into_iter().fold(0, |hash, address| hash.rotate_left(21) ^ address)
    }
}

impl Entry {
    fn addresses(&self) -> [usize; 3] {
        let get = self.get.map_or(0, |get| get as *const () as usize);
        let release = self.release.map_or(0, |release| release as *const () as usize);
        let available = self.available.map_or(0, |available| available as *const () as usize);
        [get, release, available]
    }
}

impl PartialEq for Entry {
    /// Whether all three callbacks have the same address.
    fn eq(&self, other: &Self) -> bool {
        self.addresses() == other.addresses()
    }
}

impl Eq for Entry {}

/// All classes ever registered. A value is the `&'static Entry` of the class's producer, or null.
static CLASSES: RegistryTable<Address> = RegistryTable::new();
/// All producers ever registered: copies, since the caller's struct may move.
static ENTRIES: RegistryTable<Entry> = RegistryTable::new();

/// Registers a producer for the objects of a class, and of the classes that inherit from it without
/// a producer of their own. `entry` is copied.
///
/// # Errors
///
/// `is_conflict` if the class already has a producer, which stays; `is_malformed` if the class is
/// null, or the producer has no `get`.
///
/// # Safety
///
/// 1. `class` is null or points to a class.
/// 2. Until the class is unregistered and no view of its objects is held, the callbacks may be
///    called on any thread with objects of the class, and do what [`Entry`] says.
/// 3. Until `release` is called, `shape`, `strides` and `sub_offsets` of a struct that `get` filled
///    in are each null or point to `ndim` numbers, and `format` is null or a C string.
/// 4. Until then, the elements that shape and strides reach are initialised, valid for reads and,
///    unless `readonly` is true, for writes. Other code writes them only atomically or in ways that
///    this program's memory model does not see.
pub unsafe fn register(class: *const Class, entry: &Entry) -> Result<()> {
    // SAFETY: clauses 1 to 4 of `# Safety` are those of `try_register`, for the same class and
    // producer.
    unsafe { try_register(class, entry) }.inspect_err(last::keep)
}

/// # Safety
///
/// The clauses of [`register`].
unsafe fn try_register(class: *const Class, entry: &Entry) -> Result<()> {
    if class.is_null() {
        return Err(Error::new(Kind::Malformed, "the class is null; a producer is registered for a class"));
    }
    if ptr::eq(class, object::class()) {
        return Err(Error::new(
            Kind::Conflict,
            "the library itself is the producer of its arrays, and cannot be replaced",
        ));
    }
    if entry.get.is_none() {
        // SAFETY: clause 1 of `register`: the class is not null (checked above), so it points to a
        // class.
        let name = unsafe { name(class) };
        return Err(Error::new(
            Kind::Malformed,
            format!("the producer of {name} has no `get`, so it cannot export views"),
        ));
    }
    let entry = ptr::from_ref(ENTRIES.find_or_make(*entry).key());
    if CLASSES.find_or_make(Address(class.addr())).set(entry.cast_mut().cast()) {
        return Ok(());
    }
    // SAFETY: clause 1 of `register`: the class is not null (checked above), so it points to a
    // class.
    let name = unsafe { name(class) };
    Err(Error::new(Kind::Conflict, format!("{name} already has a producer; unregister it first")))
}

/// Removes the producer of a class, and returns whether the class had one of its own. Views that
/// are held stay valid, and are released by the producer that exported them.
pub fn unregister(class: *const Class) -> bool {
    CLASSES.find(&Address(class.addr())).is_some_and(|entry| entry.clear())
}

/// The producer of a class, its own or inherited.
///
/// # Safety
///
/// `class`, and `super_` of each class on the way, are null or point to a class.
#[inline]
pub(super) unsafe fn find(class: *const Class) -> Result<&'static Entry> {
    let mut at = class;
    for _ in 0..DEEPEST {
        if at.is_null() {
            // SAFETY: `# Safety`: `class` is null or points to a class, which is all that `none`
            // requires.
            return Err(unsafe { none(class) });
        }
        let entry = CLASSES.find(&Address(at.addr())).map_or(ptr::null_mut(), |entry| entry.value());
        if !entry.is_null() {
            // SAFETY: `try_register` sets values of `CLASSES` to keys of rows of `ENTRIES`, which
            // are never freed or changed.
            return Ok(unsafe { &*entry.cast::<Entry>() });
        }
        // SAFETY: `# Safety`: `at` is not null (checked above), so it points to a class.
        at = unsafe { (*at).super_ };
    }
    // SAFETY: `# Safety`: the first round found that `class` is not null, so it points to a class.
    Err(unsafe { endless(class) })
}

/// # Safety
///
/// `class` is null or points to a class.
#[cold]
unsafe fn none(class: *const Class) -> Error {
    if class.is_null() {
        return Error::new(Kind::Malformed, "the object has no class: its first word is null");
    }
    // SAFETY: `# Safety`: `class` is not null (checked above), so it points to a class.
    let name = unsafe { name(class) };
    Error::new(
        Kind::Unsupported,
        format!("no producer is registered for {name}, nor for a class that it inherits from"),
    )
}

/// # Safety
///
/// `class` points to a class.
#[cold]
unsafe fn endless(class: *const Class) -> Error {
    // SAFETY: `# Safety`: `class` points to a class, whose name is null or a C string.
    let name = unsafe { name(class) };
    Error::new(Kind::Malformed, format!("{name} inherits from itself, or from more than {DEEPEST} classes"))
}

/// The name of a class for messages.
///
/// # Safety
///
/// `class` is null, or points to a class, whose name is null or a C string.
pub(super) unsafe fn name(class: *const Class) -> String {
    let name = if class.is_null() {
        ptr::null()
    } else {
        // SAFETY: `# Safety`: `class` is not null (checked above), so it points to a class.
        unsafe { (*class).name }
    };
    if name.is_null() {
        return "a class without a name".into();
    }
    // SAFETY: `# Safety`: the name is not null (checked above), so it is a C string, which the
    // lines below copy.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    format!("the class {}", String::from_utf8_lossy(&name[..name.len().min(LONGEST_NAME)]))
}

/// The class of an object.
///
/// # Safety
///
/// `obj` is not null, and points to an object, which begins with a pointer to its class.
#[inline]
pub(super) unsafe fn of(obj: *mut c_void) -> *const Class {
    // SAFETY: `# Safety`: `obj` points to an object, whose first field is the pointer that is read.
    unsafe { obj.cast::<*const Class>().read() }
}
