//! Which classes have a producer.

use core::ffi::{CStr, c_void};
use std::ptr;

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::abi::{Class, Entry};
use crate::exchange::protocol::memory_view::last;
use crate::exchange::protocol::memory_view::object;
use crate::view::{Key, Rows};

/// How many classes a class can inherit from, one after the other. More is taken for a cycle.
const DEEPEST: usize = 64;
/// How much of a class's name is shown, in bytes.
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

/// The classes that were ever registered. A value is the `&'static Entry` of its producer.
static CLASSES: Rows<Address> = Rows::new();
/// The producers that were ever registered: copies of what was given, since that need not stay where it is.
static ENTRIES: Rows<Entry> = Rows::new();

/// Registers a producer for the objects of a class, and of the classes that inherit from it and have none of their own. What `entry`
/// says is copied.
///
/// # Errors
///
/// Where the class has a producer already (`is_conflict`: the first stays), where the class is null, or the producer has no `get`
/// (`is_malformed`).
///
/// # Safety
///
/// Until the class is unregistered, and no view of its objects is held any more, the callbacks may be called on any thread with objects of the class,
/// and do what [`Entry`] says; what `get` lends is as the struct says, until `release` is called:
///
/// - `shape`, `strides` and `sub_offsets`, unless they are null, point to `ndim` numbers, and `format`, unless it is null, to a C string;
/// - the elements that shape and strides reach are initialised, valid for reads, and unless `readonly` for writes. Who else
///   writes them does so in ways that this program's memory model does not see or that are atomic.
pub unsafe fn register(class: *const Class, entry: &Entry) -> Result<()> {
    // SAFETY: the caller's word.
    unsafe { try_register(class, entry) }.inspect_err(last::keep)
}

/// # Safety
///
/// As for [`register`].
unsafe fn try_register(class: *const Class, entry: &Entry) -> Result<()> {
    if class.is_null() {
        return Err(Error::new(
            Kind::Malformed,
            "the class is null: a producer is registered for the objects of one",
        ));
    }
    if ptr::eq(class, object::class()) {
        return Err(Error::new(
            Kind::Conflict,
            "the arrays of this library have a producer already: the library",
        ));
    }
    if entry.get.is_none() {
        // SAFETY: a class (the caller's word).
        let name = unsafe { name(class) };
        return Err(Error::new(
            Kind::Malformed,
            format!("the producer of {name} has no `get`: it could lend nothing"),
        ));
    }
    let entry = ptr::from_ref(ENTRIES.find_or_make(*entry).key());
    if CLASSES.find_or_make(Address(class.addr())).set(entry.cast_mut().cast()) {
        return Ok(());
    }
    // SAFETY: a class (the caller's word).
    let name = unsafe { name(class) };
    Err(Error::new(
        Kind::Conflict,
        format!("{name} has a producer already, which stays: unregister it before"),
    ))
}

/// Takes the producer of a class out: whether it had one of its own. Views that are held stay valid, and are released by the producer that
/// gave them.
pub fn unregister(class: *const Class) -> bool {
    CLASSES.find(&Address(class.addr())).is_some_and(|row| row.clear())
}

/// The producer of a class, its own or inherited.
///
/// # Safety
///
/// The class is null, or one, and so are those that it inherits from.
#[inline]
pub(super) unsafe fn find(class: *const Class) -> Result<&'static Entry> {
    let mut at = class;
    for _ in 0..DEEPEST {
        if at.is_null() {
            // SAFETY: the caller's word.
            return Err(unsafe { none(class) });
        }
        let entry = CLASSES.find(&Address(at.addr())).map_or(ptr::null_mut(), |row| row.value());
        if !entry.is_null() {
            // SAFETY: what is registered is a row's key, which stays for ever.
            return Ok(unsafe { &*entry.cast::<Entry>() });
        }
        // SAFETY: the caller's word.
        at = unsafe { (*at).super_ };
    }
    // SAFETY: the caller's word.
    Err(unsafe { endless(class) })
}

/// # Safety
///
/// A class, or null.
#[cold]
unsafe fn none(class: *const Class) -> Error {
    if class.is_null() {
        return Error::new(Kind::Malformed, "the object has no class: its first word is null");
    }
    // SAFETY: the caller's word.
    let name = unsafe { name(class) };
    Error::new(
        Kind::Unsupported,
        format!("no producer is registered for {name}, nor for a class that it inherits from"),
    )
}

/// # Safety
///
/// A class.
#[cold]
unsafe fn endless(class: *const Class) -> Error {
    // SAFETY: the caller's word.
    let name = unsafe { name(class) };
    Error::new(
        Kind::Malformed,
        format!("{name} inherits from itself, or from more than the {DEEPEST} classes that are looked at"),
    )
}

/// What a class is called in messages.
///
/// # Safety
///
/// A class, or null; its name is null, or a C string.
pub(super) unsafe fn name(class: *const Class) -> String {
    let name = if class.is_null() {
        ptr::null()
    } else {
        // SAFETY: the caller's word.
        unsafe { (*class).name }
    };
    if name.is_null() {
        return "a class without a name".into();
    }
    // SAFETY: the caller's word.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    format!("the class {}", String::from_utf8_lossy(&name[..name.len().min(LONGEST_NAME)]))
}

/// The class of an object.
///
/// # Safety
///
/// The object is not null, and begins with a pointer to its class.
#[inline]
pub(super) unsafe fn of(obj: *mut c_void) -> *const Class {
    // SAFETY: the caller's word.
    unsafe { obj.cast::<*const Class>().read() }
}
