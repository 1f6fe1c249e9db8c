//! What a producer filled in, until it has been checked.

use std::ptr;

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::abi::{ItemDesc, View};
use crate::exchange::protocol::memory_view::flags::Flags;
use crate::exchange::protocol::memory_view::format::{self, BytesFormat};
use crate::exchange::protocol::memory_view::loan::Loan;
use crate::layout::{INLINE_RANK, Layout, MAX_RANK, Order};

/// A copy of a struct that a producer filled in, about which nothing is known yet.
pub(super) struct Foreign<'a>(&'a mut View);

impl<'a> Foreign<'a> {
    /// # Safety
    ///
    /// A producer filled the struct in, and lends what it says until it is told otherwise: what is not null points to as many numbers as
    /// there are axes, or is a C string.
    #[inline]
    pub(super) unsafe fn new(view: &'a mut View) -> Self {
        Self(view)
    }

    /// The one function that makes a foreign struct ours: leaves in it what a consumer gets, and what that points to in `loan`.
    ///
    /// # Errors
    ///
    /// `is_malformed`, `is_overflow` and `is_unsupported` for what contradicts itself or has no meaning here, with both numbers;
    /// `is_read_only` and `is_layout` where it is not what the flags ask for.
    pub(super) fn check(self, flags: Flags, loan: &mut Loan) -> Result<()> {
        let item_size = self.item_size()?;
        check_format(item_size, loan, self.0)?;
        let layout = self.layout(item_size)?;
        self.check_byte_size(&layout)?;
        self.check_address(&layout)?;
        if flags.is_writable() && self.0.is_readonly() {
            return Err(Error::new(
                Kind::ReadOnly,
                format!(
                    "{flags} asks for elements that may be written, and the producer lends them read-only"
                ),
            ));
        }
        flags.check_layout(&layout)?;
        let view = self.0;
        loan.keep_layout(&layout, view);
        view.sub_offsets = ptr::null();
        if let Some(suboffsets) = layout.suboffsets() {
            let in_c = |suboffset: &Option<isize>| suboffset.unwrap_or(-1);
            loan.keep_suboffsets(suboffsets.iter().map(in_c).collect(), view);
        }
        Ok(())
    }

    fn item_size(&self) -> Result<usize> {
        let item_size = self.0.item_size;
        usize::try_from(item_size).map_err(|_| malformed(format!("its item_size is {item_size}")))
    }

    /// Shape, strides and suboffsets.
    #[inline]
    fn layout(&self, item_size: usize) -> Result<Layout> {
        let View { ndim, shape, strides, sub_offsets, .. } = *self.0;
        let rank = usize::try_from(ndim).map_err(|_| malformed(format!("its ndim is {ndim}")))?;
        if rank > MAX_RANK {
            return Err(unsupported(format!("its ndim is {rank}, and {MAX_RANK} is the most")));
        }
        let lengths = if shape.is_null() {
            self.flat(rank, item_size)?
        } else {
            // SAFETY: as many numbers as there are axes (Foreign::new).
            unsafe { Numbers::read(shape, rank, length) }?
        };
        let lengths = lengths.as_slice();
        // SAFETY: as many numbers as there are axes, unless it is null (Foreign::new).
        let suboffsets = unsafe { suboffsets(sub_offsets, rank) }?;
        if strides.is_null() {
            return match suboffsets {
                None => Layout::contiguous(lengths, item_size, Order::RowMajor),
                Some(suboffsets) => Err(malformed(format!(
                    "it follows pointers (suboffsets {:?}) and its strides are null",
                    suboffsets.as_slice()
                ))),
            };
        }
        // SAFETY: as many numbers as there are axes (Foreign::new).
        let strides = unsafe { Numbers::read(strides, rank, |_, stride| Ok(stride)) }?;
        match suboffsets {
            None => Layout::new(lengths, strides.as_slice(), item_size),
            Some(suboffsets) => {
                Layout::with_suboffsets(lengths, strides.as_slice(), suboffsets.as_slice(), item_size)
            }
        }
    }

    /// Without a shape: one item, or as many as the bytes are.
    fn flat(&self, rank: usize, item_size: usize) -> Result<Numbers<usize>> {
        let View { byte_size, .. } = *self.0;
        let nbytes = usize::try_from(byte_size).map_err(|_| negative(byte_size))?;
        let mut lengths = Numbers::zero(rank);
        match (rank, nbytes.checked_div(item_size)) {
            (0, _) => {}
            (1, Some(len)) => lengths.as_mut_slice()[0] = len,
            (1, None) => {
                return Err(malformed(format!(
                    "its shape is null, and {byte_size} bytes are no number of items of 0 bytes"
                )));
            }
            _ => return Err(malformed(format!("its shape is null, for {rank} axes"))),
        }
        Ok(lengths)
    }

    /// What is vouched for has to have the items, or, as producers of strided arrays count it, as many bytes.
    fn check_byte_size(&self, layout: &Layout) -> Result<()> {
        let byte_size = self.0.byte_size;
        let said = usize::try_from(byte_size).map_err(|_| negative(byte_size))?;
        let (nbytes, span) = (layout.nbytes(), layout.span().nbytes());
        if said >= nbytes.min(span) {
            return Ok(());
        }
        Err(malformed(format!(
            "its byte_size is {said}, and its items have {nbytes} bytes and cover {span}: shape {:?}, strides {:?}, {} bytes \
             each",
            layout.shape(),
            layout.strides(),
            layout.itemsize()
        )))
    }

    /// What it covers has to lie in the address space.
    fn check_address(&self, layout: &Layout) -> Result<()> {
        let (first, span) = (self.0.data.addr(), layout.span());
        if span.nbytes() == 0 {
            return Ok(());
        }
        if first == 0 {
            return Err(malformed(format!("its data is null, for {} items", layout.len())));
        }
        let lowest = first.checked_add_signed(span.low()).filter(|&lowest| lowest != 0);
        if lowest.is_some() && first.checked_add_signed(span.high()).is_some() {
            return Ok(());
        }
        Err(Error::new(
            Kind::Overflow,
            format!(
                "address {:p} with bytes {}..{} from there leaves the address space",
                self.0.data,
                span.low(),
                span.high()
            ),
        ))
    }
}

/// The numbers of all axes, read once: of few axes in place.
struct Numbers<T> {
    few: [T; INLINE_RANK],
    many: Vec<T>,
    rank: usize,
}

impl<T: Copy + Default> Numbers<T> {
    fn zero(rank: usize) -> Self {
        let many = if rank > INLINE_RANK { vec![T::default(); rank] } else { Vec::new() };
        Self { few: [T::default(); INLINE_RANK], many, rank }
    }

    /// # Safety
    ///
    /// There are so many numbers.
    unsafe fn read(
        numbers: *const isize,
        rank: usize,
        convert: impl Fn(usize, isize) -> Result<T>,
    ) -> Result<Self> {
        // SAFETY: the caller's word.
        let number = |axis| unsafe { numbers.wrapping_add(axis).read_unaligned() };
        let mut read = Self::zero(rank);
        for (axis, place) in read.as_mut_slice().iter_mut().enumerate() {
            *place = convert(axis, number(axis))?;
        }
        Ok(read)
    }

    fn as_slice(&self) -> &[T] {
        if self.rank > INLINE_RANK { &self.many } else { &self.few[..self.rank] }
    }

    fn as_mut_slice(&mut self) -> &mut [T] {
        if self.rank > INLINE_RANK { &mut self.many } else { &mut self.few[..self.rank] }
    }
}

/// Reads the format, or says what there is without one, and compares it with the item size.
fn check_format(said: usize, loan: &mut Loan, view: &mut View) -> Result<()> {
    if view.format.is_null() {
        view.format = match said {
            0 => return Err(malformed("it has no format and an item_size of 0: it was not filled in")),
            1 => c"C".as_ptr(),
            _ => loan.keep_bytes(BytesFormat::new(said)).as_ptr(),
        };
    }
    // SAFETY: a C string (Foreign::new), or the hub's own.
    let text = unsafe { format::read(view.format) }?;
    if let Some((_, component)) = format::known(text) {
        check_item_size(said, component.size, text)?;
        view.item_desc = ItemDesc { components: component, length: 1 };
        return Ok(());
    }
    let template = format::parse(text)?;
    check_item_size(said, template.item_size(), text)?;
    let components = match template.as_static() {
        Some(components) => components,
        None => loan.keep_template(template).components(),
    };
    view.item_desc = ItemDesc { components: components.as_ptr(), length: components.len() };
    Ok(())
}

fn check_item_size(said: usize, parsed: usize, format: &[u8]) -> Result<()> {
    if said == parsed {
        return Ok(());
    }
    let format = format.escape_ascii();
    Err(malformed(format!(
        "its item_size is {said}, and an item of its format '{format}' has {parsed} bytes"
    )))
}

fn length(axis: usize, len: isize) -> Result<usize> {
    usize::try_from(len).map_err(|_| malformed(format!("axis {axis} has the length {len}")))
}

/// The suboffsets of an indirect array; `None` of a direct one, whatever way it says so.
///
/// # Safety
///
/// There are so many numbers, or none where it is null.
unsafe fn suboffsets(sub_offsets: *const isize, rank: usize) -> Result<Option<Numbers<Option<isize>>>> {
    if sub_offsets.is_null() {
        return Ok(None);
    }
    let convert = |_, suboffset: isize| Ok((suboffset >= 0).then_some(suboffset));
    // SAFETY: the caller's word.
    let numbers = unsafe { Numbers::read(sub_offsets, rank, convert) }?;
    let is_indirect = numbers.as_slice().iter().any(Option::is_some);
    Ok(is_indirect.then_some(numbers))
}

fn negative(byte_size: isize) -> Error {
    malformed(format!("its byte_size is {byte_size}"))
}

fn malformed(text: impl Into<String>) -> Error {
    Error::new(Kind::Malformed, text)
}

fn unsupported(text: impl Into<String>) -> Error {
    Error::new(Kind::Unsupported, text)
}
