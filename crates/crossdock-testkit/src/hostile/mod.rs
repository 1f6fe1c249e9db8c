//! The hostile producer of MemoryView: any struct, legal or not, by callbacks that misbehave on
//! request and count their calls.
//!
//! The structs are declared independently, from the documents, so that the hub's declarations are
//! checked, too. The expected answer of a hub is computed in the most obvious way, in 128 bits:
//! [`Recipe::is_legal`]. [`drive`] runs every switch against a hub.

mod choose;
pub mod drive;
mod legal;
mod switches;

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

pub use self::legal::Flags;
pub use self::switches::Switch;

/// `xd_memory_view_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    obj: *mut c_void,
    data: *mut c_void,
    byte_size: isize,
    readonly: u8,
    format: *const c_char,
    item_size: isize,
    components: *const c_void,
    length: usize,
    ndim: isize,
    shape: *const isize,
    strides: *const isize,
    sub_offsets: *const isize,
    private_data: *mut c_void,
    reserved: *mut c_void,
}

/// `xd_memory_view_entry_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    get: Option<unsafe extern "C" fn(*mut c_void, *mut View, c_int) -> u8>,
    release: Option<unsafe extern "C" fn(*mut c_void, *mut View) -> u8>,
    available: Option<unsafe extern "C" fn(*mut c_void) -> u8>,
}

/// `xd_class`.
#[repr(C)]
#[derive(Debug)]
pub struct Class {
    /// A C string.
    pub name: *const c_char,
    /// The class inherited from, or null.
    pub super_: *const Class,
}

/// The value of `data`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Null.
    Null,
    /// This offset in a block of [`BLOCK`] bytes.
    Block(usize),
    /// The table of pointers to the block: each leads to [`ROW`] bytes of it.
    Table,
    /// This address, whatever is there. Never accessed.
    Wild(usize),
}

/// The size of the block of data.
pub const BLOCK: usize = 1024;
/// The number of bytes behind each pointer of the table.
pub const ROW: usize = 128;

/// The value of `format`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// Null.
    Null,
    /// A C string, and the bytes of an item if it is a valid template.
    Text(Vec<u8>, Option<usize>),
    /// Bytes without a terminating zero, with one that is no letter.
    Unterminated(Vec<u8>),
}

/// The value of `obj`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obj {
    /// The object of the request.
    Own,
    /// Null.
    Null,
    /// Another address.
    Other,
}

/// The part of the struct that `get` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fills {
    /// All.
    All,
    /// The fields before the format.
    Half,
    /// Nothing.
    Nothing,
}

/// The content and the behaviour of the producer.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The number of axes.
    pub ndim: isize,
    /// At least as many as there are axes, or null.
    pub shape: Option<Vec<isize>>,
    /// At least as many as there are axes, or null.
    pub strides: Option<Vec<isize>>,
    /// At least as many as there are axes, or null.
    pub sub_offsets: Option<Vec<isize>>,
    /// The address of element 0.
    pub data: Data,
    /// The size of the memory that the producer guarantees.
    pub byte_size: isize,
    /// C's `bool`.
    pub readonly: u8,
    /// The format.
    pub format: Format,
    /// The bytes of one item.
    pub item_size: isize,
    /// The object exported.
    pub obj: Obj,
    /// Whether the fields that belong to the hub are filled with garbage.
    pub meddles: bool,
    /// The result of `available`, if there is one.
    pub available: Option<u8>,
    /// The part that is filled in.
    pub fills: Fills,
    /// The result of `get`.
    pub answer: u8,
    /// Whether there is a `release`.
    pub has_release: bool,
    /// The number of times that `release` refuses before it succeeds.
    pub declines: usize,
    /// Whether `release` fills the struct with garbage.
    pub scribbles: bool,
    /// Whether the struct is written after `get` has returned.
    pub keeps_struct: bool,
    /// Whether shape and strides change after `get` has returned.
    pub changes_numbers: bool,
}

impl Recipe {
    /// The legal recipe with some switches applied, in order.
    pub fn with(switches: &[Switch]) -> Self {
        let mut recipe = Self::default();
        switches.iter().for_each(|switch| switch.apply(&mut recipe));
        recipe.lengthen();
        recipe
    }

    /// Extends the lists to the maximum rank.
    fn lengthen(&mut self) {
        for numbers in [&mut self.shape, &mut self.strides].into_iter().flatten() {
            numbers.resize(64, 1);
        }
        if let Some(sub_offsets) = &mut self.sub_offsets {
            sub_offsets.resize(64, -1);
        }
    }
}

impl Default for Recipe {
    /// A legal view: 2 by 3 numbers of type `i32` at the beginning of the block.
    fn default() -> Self {
        Self {
            ndim: 2,
            shape: Some(vec![2, 3]),
            strides: Some(vec![12, 4]),
            sub_offsets: None,
            data: Data::Block(0),
            byte_size: 24,
            readonly: 0,
            format: Format::Text(b"l".to_vec(), Some(4)),
            item_size: 4,
            obj: Obj::Own,
            meddles: false,
            available: Some(1),
            fills: Fills::All,
            answer: 1,
            has_release: true,
            declines: 0,
            scribbles: false,
            keeps_struct: false,
            changes_numbers: false,
        }
    }
}

/// An object whose producer follows a recipe.
#[repr(C)]
pub struct Hostile {
    class: *const Class,
    recipe: Recipe,
    block: Box<[u8]>,
    table: Box<[*mut u8]>,
    format: Box<[u8]>,
    numbers: RefCell<[Vec<isize>; 3]>,
    filled: Cell<Option<View>>,
    kept: Cell<*mut View>,
    counts: Cell<Counts>,
    on_release: RefCell<Option<Box<dyn Fn()>>>,
}

/// The numbers of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// `available`.
    pub asked: usize,
    /// `get`.
    pub gets: usize,
    /// `release`, with any result.
    pub releases: usize,
    /// `release` that succeeded.
    pub taken_back: usize,
    /// `release` with another struct than was filled in, or without one.
    pub wrong: usize,
}

thread_local! {
    /// The object that callbacks use, since their arguments may be anything.
    static CURRENT: Cell<*const Hostile> = const { Cell::new(ptr::null()) };
}

/// The byte of the block at an offset.
pub fn fill(at: usize) -> u8 {
    (at * 7 + at / 256) as u8
}

impl Hostile {
    /// An object of a class. The callbacks of a thread use its most recent object.
    pub fn new(class: *const Class, recipe: &Recipe) -> Box<Self> {
        let mut block: Box<[u8]> = (0..BLOCK).map(fill).collect();
        let row = |number: usize| block.as_mut_ptr().wrapping_add(number * ROW);
        let table = (0..BLOCK / ROW).map(row).collect();
        let format = match &recipe.format {
            Format::Null => Box::default(),
            Format::Text(text, _) => [&text[..], b"\0"].concat().into(),
            Format::Unterminated(bytes) => bytes.clone().into(),
        };
        let numbers = [&recipe.shape, &recipe.strides, &recipe.sub_offsets];
        let hostile = Box::new(Self {
            class,
            recipe: recipe.clone(),
            block,
            table,
            format,
            numbers: RefCell::new(numbers.map(|numbers| numbers.clone().unwrap_or_default())),
            filled: Cell::new(None),
            kept: Cell::new(ptr::null_mut()),
            counts: Cell::default(),
            on_release: RefCell::new(None),
        });
        CURRENT.set(&raw const *hostile);
        hostile
    }

    /// The callbacks, to cast to the hub's declaration.
    pub fn callbacks(&self) -> Entry {
        Entry {
            get: Some(get),
            release: self.recipe.has_release.then_some(release),
            available: self.recipe.available.map(|_| available as unsafe extern "C" fn(*mut c_void) -> u8),
        }
    }

    /// The object's pointer for C.
    pub fn as_ptr(&self) -> *mut c_void {
        ptr::from_ref(self).cast_mut().cast()
    }

    /// Sets a function to call within each `release`.
    pub fn on_release(&self, hook: impl Fn() + 'static) {
        *self.on_release.borrow_mut() = Some(Box::new(hook));
    }

    /// The numbers of calls.
    pub fn counts(&self) -> Counts {
        self.counts.get()
    }

    /// The address of the block.
    pub fn block(&self) -> usize {
        self.block.as_ptr().addr()
    }

    /// Misbehaves as the recipe permits after `get` has returned.
    pub fn misbehave_later(&self) {
        if self.recipe.keeps_struct && !self.kept.get().is_null() {
            // SAFETY: `kept` is the hub's struct from `get`, which the hub keeps until the release.
            unsafe { *self.kept.get() = garbage() };
        }
        if self.recipe.changes_numbers {
            self.numbers.borrow_mut().iter_mut().flatten().for_each(|number| *number = -77);
        }
    }

    fn count(&self, count: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        count(&mut counts);
        self.counts.set(counts);
    }

    /// The struct of the recipe.
    fn said(&self) -> View {
        let recipe = &self.recipe;
        let numbers = self.numbers.borrow();
        let pointer = |which: usize, given: &Option<Vec<isize>>| match given {
            Some(_) => numbers[which].as_ptr(),
            None => ptr::null(),
        };
        let data: *mut u8 = match recipe.data {
            Data::Null => ptr::null_mut(),
            Data::Block(offset) => self.block.as_ptr().cast_mut().wrapping_add(offset),
            Data::Table => self.table.as_ptr().cast_mut().cast(),
            Data::Wild(address) => ptr::without_provenance_mut(address),
        };
        let obj = match recipe.obj {
            Obj::Own => self.as_ptr(),
            Obj::Null => ptr::null_mut(),
            Obj::Other => self.block.as_ptr().cast_mut().cast(),
        };
        let meddled = if recipe.meddles { garbage() } else { nothing() };
        let said = View {
            obj,
            data: data.cast(),
            byte_size: recipe.byte_size,
            readonly: recipe.readonly,
            format: if recipe.format == Format::Null { ptr::null() } else { self.format.as_ptr().cast() },
            item_size: recipe.item_size,
            ndim: recipe.ndim,
            shape: pointer(0, &recipe.shape),
            strides: pointer(1, &recipe.strides),
            sub_offsets: pointer(2, &recipe.sub_offsets),
            private_data: self.as_ptr(),
            ..meddled
        };
        match recipe.fills {
            Fills::All => said,
            Fills::Nothing => nothing(),
            Fills::Half => View {
                obj: said.obj,
                data: said.data,
                byte_size: said.byte_size,
                readonly: said.readonly,
                ..nothing()
            },
        }
    }
}

fn nothing() -> View {
    // SAFETY: `View` consists of integers and pointers, for which zero is a valid value.
    unsafe { std::mem::zeroed() }
}

fn garbage() -> View {
    let mut view = nothing();
    // SAFETY: the local variable has `size_of::<View>()` bytes, and any bytes are valid for
    // integers and pointers.
    unsafe { ptr::from_mut(&mut view).cast::<u8>().write_bytes(0xa5, size_of::<View>()) };
    view
}

/// # Safety
///
/// The most recent [`Hostile`] of this thread is alive.
unsafe fn current<'a>() -> &'a Hostile {
    // SAFETY: `# Safety`: the object is alive, and `Hostile::new` stored its address, which its box
    // keeps.
    unsafe { &*CURRENT.get() }
}

/// # Safety
///
/// The most recent [`Hostile`] of this thread is alive.
unsafe extern "C" fn available(_: *mut c_void) -> u8 {
    // SAFETY: `# Safety`: the object of this thread is alive, because the tests keep it until it is
    // unregistered.
    let hostile = unsafe { current() };
    hostile.count(|counts| counts.asked += 1);
    hostile.recipe.available.unwrap_or(1)
}

/// # Safety
///
/// 1. The most recent [`Hostile`] of this thread is alive.
/// 2. `view` points to a struct that the caller has initialised and that stays until the release.
unsafe extern "C" fn get(_: *mut c_void, view: *mut View, _: c_int) -> u8 {
    // SAFETY: clause 1 of `# Safety`: the object of this thread is alive, because the tests keep it
    // until it is unregistered.
    let hostile = unsafe { current() };
    hostile.count(|counts| counts.gets += 1);
    if hostile.recipe.fills != Fills::Nothing {
        // SAFETY: clause 2 of `# Safety`: the struct of the hub is valid for writes during the
        // call.
        unsafe { *view = hostile.said() };
    }
    hostile.kept.set(view);
    // SAFETY: clause 2 of `# Safety`: the struct of the hub is initialised, by the hub or by the
    // write above.
    hostile.filled.set((hostile.recipe.answer != 0).then_some(unsafe { *view }));
    hostile.recipe.answer
}

/// # Safety
///
/// 1. The most recent [`Hostile`] of this thread is alive.
/// 2. `view` points to an initialised struct that stays during the call.
unsafe extern "C" fn release(_: *mut c_void, view: *mut View) -> u8 {
    // SAFETY: clause 1 of `# Safety`: the object of this thread is alive, because the tests keep it
    // until its views are released.
    let hostile = unsafe { current() };
    hostile.count(|counts| counts.releases += 1);
    // SAFETY: clause 2 of `# Safety`: the struct of the hub is initialised, and valid for reads
    // during the call.
    let is_same = hostile.filled.get() == Some(unsafe { *view });
    let may_differ = hostile.recipe.keeps_struct || hostile.recipe.scribbles && hostile.counts().releases > 1;
    if !is_same && !may_differ {
        hostile.count(|counts| counts.wrong += 1);
    }
    if hostile.recipe.scribbles {
        // SAFETY: clause 2 of `# Safety`: the struct of the hub is valid for writes during the
        // call.
        unsafe { *view = garbage() };
    }
    if let Some(hook) = &*hostile.on_release.borrow() {
        hook();
    }
    if hostile.counts().releases <= hostile.recipe.declines {
        return 0;
    }
    hostile.filled.set(None);
    hostile.count(|counts| counts.taken_back += 1);
    0x80
}
