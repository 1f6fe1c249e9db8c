//! The numbers of one item: reading and writing them.

use crate::element::dialect::pack::component::Component;
use crate::element::dialect::pack::letters::{LetterClass, letter};
use crate::element::value::RegisterKind;
use crate::element::{ByteOrder, Member};
use crate::error::{Error, Kind, Result};

impl Component {
    /// The type of its letter, and whether its bytes are swapped (in non-native order). `None` if
    /// the letter is unknown, or has another size.
    #[inline(always)]
    fn word(&self) -> Option<(RegisterKind, bool)> {
        let letter = letter(self.format);
        let width = &letter.widths[usize::from(self.native_size)];
        let fits = letter.class == LetterClass::Number && usize::from(width.size) == self.size;
        fits.then_some((width.word, self.byte_order() != ByteOrder::NATIVE))
    }

    /// Like `word`, for a component all of whose numbers lie within an item of `nbytes` bytes.
    #[inline(always)]
    pub(super) fn within(&self, nbytes: usize) -> Result<(RegisterKind, bool)> {
        self.find_within(nbytes).ok_or_else(|| self.misplaced(nbytes))
    }

    #[inline(always)]
    fn find_within(&self, nbytes: usize) -> Option<(RegisterKind, bool)> {
        let end = self.size.checked_mul(self.repeat).and_then(|own| own.checked_add(self.offset));
        if end? <= nbytes { self.word() } else { None }
    }

    /// A reader of this component's numbers from items of `nbytes` bytes; `None` if they do not lie
    /// inside, or no template makes such a component.
    #[inline(always)]
    pub fn reader(&self, nbytes: usize) -> Option<MemberReader> {
        let (word, swapped) = self.find_within(nbytes)?;
        Some(MemberReader { word, swapped, offset: self.offset, size: self.size })
    }

    /// Like [`Component::reader`], for a component of exactly one number.
    #[inline(always)]
    pub fn reader_of_one(&self, nbytes: usize) -> Option<MemberReader> {
        let is_inside = self.offset <= nbytes && self.size <= nbytes - self.offset;
        if self.repeat != 1 || !is_inside {
            return None;
        }
        let (word, swapped) = self.word()?;
        Some(MemberReader { word, swapped, offset: self.offset, size: self.size })
    }

    #[cold]
    fn misplaced(&self, nbytes: usize) -> Error {
        let Self { format, size, offset, repeat, .. } = *self;
        let letter = format.escape_ascii();
        match self.word() {
            None => {
                Error::new(Kind::Malformed, format!("no template has a component '{letter}' of {size} bytes"))
            }
            Some(_) => Error::new(
                Kind::Bounds,
                format!(
                    "a component of {repeat} numbers '{letter}' of {size} bytes at offset {offset} exceeds \
                    the item of {nbytes} bytes"
                ),
            ),
        }
    }
}

/// Reads the numbers of one component at known offsets in an item.
#[derive(Clone, Copy, Debug)]
pub struct MemberReader {
    word: RegisterKind,
    swapped: bool,
    offset: usize,
    size: usize,
}

impl MemberReader {
    /// A reader of one number at the start of the item.
    #[inline(always)]
    pub(super) fn at_start(word: RegisterKind, swapped: bool) -> Self {
        Self { word, swapped, offset: 0, size: word.size() }
    }

    /// Loads the number at an index racily, at any address.
    ///
    /// # Safety
    ///
    /// 1. `index` is less than the component's `repeat`.
    /// 2. The bytes of one item from `ptr` satisfy the contract of
    ///    [`racy::load`](crate::memory::racy::load).
    #[inline(always)]
    pub unsafe fn load(&self, ptr: *const u8, index: usize) -> Member {
        // SAFETY: a `MemberReader` is made only for a component whose `repeat` numbers lie inside
        // the item, so number `index` (clause 1 of `# Safety`) does; the item's bytes may be loaded
        // racily (clause 2).
        unsafe { self.word.load(ptr.wrapping_add(self.offset + index * self.size), self.swapped) }
    }
}

/// Reads the numbers of one item, at any address: those of each component in order, each repetition
/// separately. O(numbers); allocates nothing. The components need not cover all bytes of the item.
///
/// # Errors
///
/// `is_bounds` for a component that does not lie inside the bytes, `is_malformed` for one that no
/// template has. Members passed before the error are void.
///
/// ```
/// use crossdock::bindings::dialect::pack;
/// use crossdock::bindings::dialect::pack::Member;
///
/// let template = pack::parse(b"s>2d")?;
/// let mut item = vec![0x01, 0x02, 0xff, 0xfe];
/// item.extend(1.5_f64.to_ne_bytes());
/// let mut members = Vec::new();
/// pack::read_members(&item, template.components(), |member| members.push(member))?;
/// assert_eq!(members, [Member::Int(0x0102), Member::Int(-2), Member::Float(1.5)]);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[inline]
pub fn read_members(bytes: &[u8], components: &[Component], found: impl FnMut(Member)) -> Result<()> {
    // SAFETY: `bytes` is a shared slice of `bytes.len()` initialised bytes, which are not written
    // during the call.
    unsafe { load_members(bytes.as_ptr(), bytes.len(), components, found) }
}

/// Reads the numbers of one item whose bytes other threads or processes may be writing. Each number
/// is loaded separately; one that is being written may be a mixture of old and new bytes. Otherwise
/// as [`read_members`].
///
/// # Errors
///
/// As [`read_members`].
///
/// # Safety
///
/// The `nbytes` bytes from `ptr` satisfy the contract of [`racy::load`](crate::memory::racy::load).
#[inline]
pub unsafe fn load_members(
    ptr: *const u8,
    nbytes: usize,
    components: &[Component],
    mut found: impl FnMut(Member),
) -> Result<()> {
    for component in components {
        let number = component.reader(nbytes).ok_or_else(|| component.misplaced(nbytes))?;
        for index in 0..component.repeat {
            // SAFETY: 1. the loop keeps `index` below `repeat`; 2. `reader` was made for items of
            // `nbytes` bytes, which may be loaded racily from `ptr` (`# Safety`).
            found(unsafe { number.load(ptr, index) });
        }
    }
    Ok(())
}

/// Writes the numbers of one item, in the order of [`read_members`]. Bytes outside of components
/// keep their values. On an error nothing is written. O(numbers); allocates nothing.
///
/// Conversion is checked, as by [`Value::write`](crate::element::Value::write): integers become any
/// type that represents them, floats round to the nearest but never to infinity, and a float
/// becomes an integer only if it is one.
///
/// # Errors
///
/// `is_value` for a number that does not fit, and for more or fewer numbers than the components
/// have; otherwise as [`read_members`].
///
/// ```
/// use crossdock::bindings::dialect::pack;
/// use crossdock::bindings::dialect::pack::Member;
///
/// let template = pack::parse(b"xCs>")?;
/// let mut item = [9; 4];
/// pack::write_members(&mut item, template.components(), &[Member::Int(7), Member::Int(-2)])?;
/// assert_eq!(item, [9, 7, 0xff, 0xfe]);
/// let error = pack::write_members(&mut item, template.components(), &[Member::Int(8), Member::Int(40_000)]);
/// assert!(error.unwrap_err().is_value());
/// assert_eq!(item, [9, 7, 0xff, 0xfe]);
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn write_members(bytes: &mut [u8], components: &[Component], members: &[Member]) -> Result<()> {
    // SAFETY: `bytes` is an exclusive slice of `bytes.len()` bytes, which no other code accesses
    // during the call.
    unsafe { store_members(bytes.as_mut_ptr(), bytes.len(), components, members) }
}

/// Writes the numbers of one item whose bytes other threads or processes may be accessing, each
/// number separately. Otherwise as [`write_members`].
///
/// # Errors
///
/// As [`write_members`].
///
/// # Safety
///
/// The `nbytes` bytes from `ptr` satisfy the contract of
/// [`racy::store`](crate::memory::racy::store).
pub unsafe fn store_members(
    ptr: *mut u8,
    nbytes: usize,
    components: &[Component],
    members: &[Member],
) -> Result<()> {
    // Converted twice instead of stored, because an item may have any number of members.
    convert(nbytes, components, members, |_, _, _, _| {})?;
    convert(nbytes, components, members, |word, swapped, offset, bits| {
        // SAFETY: `Component::within` found all numbers of the component inside the `nbytes` bytes
        // from `ptr`, which may be stored racily (`# Safety`).
        unsafe { word.store(ptr.wrapping_add(offset), swapped, bits) }
    })
}

/// Calls `found` with each number's type, whether its bytes are swapped, its offset and its bits.
fn convert(
    nbytes: usize,
    components: &[Component],
    members: &[Member],
    mut found: impl FnMut(RegisterKind, bool, usize, u64),
) -> Result<()> {
    let mut rest = members;
    for component in components {
        let (word, swapped) = component.within(nbytes)?;
        let Some((own, behind)) = rest.split_at_checked(component.repeat) else {
            return Err(miscounted(components, members));
        };
        for (index, member) in own.iter().enumerate() {
            let bits = word.bits(*member).map_err(|error| {
                error.within(format_args!("member {}", members.len() - rest.len() + index))
            })?;
            found(word, swapped, component.offset + index * component.size, bits);
        }
        rest = behind;
    }
    if rest.is_empty() { Ok(()) } else { Err(miscounted(components, members)) }
}

#[cold]
fn miscounted(components: &[Component], members: &[Member]) -> Error {
    let wanted = components.iter().fold(0_usize, |sum, component| sum.saturating_add(component.repeat));
    Error::new(Kind::Value, format!("the item has {wanted} numbers, but {} values were given", members.len()))
}
