//! The struct that a producer filled in, before it is checked.
//!
//! Reasons: `DESIGN.md`, "Numbers of a producer are checked, its pointers are trusted".

use std::ffi::{c_char, c_void};

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::abi::{ItemDesc, View};
use crate::exchange::protocol::memory_view::flags::Flags;
use crate::exchange::protocol::memory_view::format::{self, BytesFormat};
use crate::exchange::protocol::memory_view::view_lease::{ViewLease, ViewNumbers};
use crate::layout::{FEW_AXES, Layout, MAX_RANK, Order, Span, fill_contiguous};

/// A producer's description. Nothing in it is checked yet.
///
/// Each field is read once and by itself. So nothing changes between a check and its use, and no
/// load of several fields waits for the stores of each.
pub(super) struct ForeignView {
    data: *mut c_void,
    byte_size: isize,
    readonly: u8,
    format: *const c_char,
    item_size: isize,
    ndim: isize,
    shape: *const isize,
    strides: *const isize,
    sub_offsets: *const isize,
    private_data: *mut c_void,
}

/// A parsed format.
pub(super) struct ParsedFormat {
    format: *const c_char,
    desc: ItemDesc,
}

impl ForeignView {
    /// # Safety
    ///
    /// 1. A producer filled in `filled`, and exports what it describes until its `release` is
    ///    called.
    /// 2. Until then, `shape`, `strides` and `sub_offsets` are each null or point to `ndim`
    ///    numbers, and `format` is null or a C string.
    #[inline(always)]
    pub(super) unsafe fn read(filled: &View) -> Self {
        macro_rules! read {
            ($($field:ident),*) => {
                // SAFETY: the field belongs to `filled`, a reference to an initialised struct, so
                // it is aligned and can be read.
                Self { $($field: unsafe { (&raw const filled.$field).read_volatile() },)* }
            };
        }
        read!(data, byte_size, readonly, format, item_size, ndim, shape, strides, sub_offsets, private_data)
    }

    /// Checks a foreign struct: the only such function. It stores in `view_lease` what a consumer's
    /// view will point to.
    ///
    /// # Errors
    ///
    /// `is_malformed`, `is_overflow` and `is_unsupported` for contradictions and unknown values,
    /// with both numbers; `is_read_only` and `is_layout` if the view does not meet the flags.
    #[inline(always)]
    pub(super) fn check(&self, flags: Flags, view_lease: &mut ViewLease) -> Result<ParsedFormat> {
        let item_size = self.item_size()?;
        let items = self.check_format(item_size, view_lease)?;
        match self.ndim.cast_unsigned() {
            rank if rank <= FEW_AXES && flags.is_modest() && self.sub_offsets.is_null() => {
                // SAFETY: clause 1 of `check_plain`: `rank` is `ndim`.
                unsafe { self.check_plain(rank, item_size, flags, view_lease) }?;
            }
            _ => self.check_any(item_size, flags, view_lease)?,
        }
        Ok(items)
    }

    /// The consumer's view of an object, of checked values. The hub's private field is null.
    #[inline(always)]
    pub(super) fn view(&self, obj: *mut c_void, items: &ParsedFormat, view_lease: &ViewLease) -> View {
        let ViewNumbers { shape, strides, sub_offsets } = view_lease.numbers();
        View {
            obj,
            data: self.data,
            byte_size: self.byte_size,
            // C compilers take a `bool` to be one or zero.
            readonly: u8::from(self.readonly != 0),
            format: items.format,
            item_size: self.item_size,
            item_desc: items.desc,
            ndim: self.ndim,
            shape,
            strides,
            sub_offsets,
            private_data: self.private_data,
            reserved: std::ptr::null_mut(),
        }
    }

    /// For few axes, without pointers to follow and in any order: without a layout, which costs
    /// more.
    ///
    /// # Safety
    ///
    /// 1. `rank` is `ndim`.
    #[inline(always)]
    unsafe fn check_plain(
        &self,
        rank: usize,
        item_size: usize,
        flags: Flags,
        view_lease: &mut ViewLease,
    ) -> Result<()> {
        let (shape, strides) = view_lease.axes(rank);
        // SAFETY: clause 1 of `read_lengths`: `shape` has `rank` numbers, which is `ndim` (clause 1
        // of `# Safety`).
        unsafe { self.read_lengths(item_size, shape) }?;
        // SAFETY: clause 1 of `read_strides`: `strides` has `rank` numbers, which is `ndim` (clause
        // 1 of `# Safety`).
        unsafe { self.read_strides(item_size, shape, strides) }?;
        let (nbytes, span) = Span::measure(shape, strides, item_size)?;
        self.check_extent(nbytes, span, (shape, strides))?;
        self.check_writable(flags)
    }

    /// For any number of axes and any flags.
    #[cold]
    #[inline(never)]
    fn check_any(&self, item_size: usize, flags: Flags, view_lease: &mut ViewLease) -> Result<()> {
        let layout = self.layout(item_size)?;
        self.check_extent(layout.nbytes(), layout.span(), (layout.shape(), layout.strides()))?;
        self.check_writable(flags)?;
        flags.check_layout(&layout)?;
        view_lease.keep_layout(&layout);
        if let Some(suboffsets) = layout.suboffsets() {
            let in_c = |suboffset: &Option<isize>| suboffset.unwrap_or(-1);
            view_lease.keep_suboffsets(suboffsets.iter().map(in_c).collect());
        }
        Ok(())
    }

    #[inline]
    fn item_size(&self) -> Result<usize> {
        let item_size = self.item_size;
        usize::try_from(item_size).map_err(|_| malformed(format!("its item_size is {item_size}")))
    }

    /// The layout of shape, strides and suboffsets.
    fn layout(&self, item_size: usize) -> Result<Layout> {
        let rank = usize::try_from(self.ndim).map_err(|_| malformed(format!("its ndim is {}", self.ndim)))?;
        if rank > MAX_RANK {
            return Err(unsupported(format!("its ndim is {rank}; at most {MAX_RANK} is supported")));
        }
        let (mut lengths, mut distances) = (vec![0; rank], vec![0; rank]);
        // SAFETY: clause 1 of `read_lengths`: `rank` is `ndim`, and `lengths` has as many.
        unsafe { self.read_lengths(item_size, &mut lengths) }?;
        // SAFETY: clause 2 of `ForeignView::read`: `sub_offsets` is null or points to `ndim`
        // numbers, and `rank` is `ndim`.
        match unsafe { suboffsets(self.sub_offsets, rank) }? {
            Some(suboffsets) if self.strides.is_null() => Err(malformed(format!(
                "it follows pointers (suboffsets {suboffsets:?}), but its strides are null"
            ))),
            suboffsets => {
                // SAFETY: clause 1 of `read_strides`: `rank` is `ndim`, and `distances` has as
                // many.
                unsafe { self.read_strides(item_size, &lengths, &mut distances) }?;
                match suboffsets {
                    None => Layout::new(&lengths, &distances, item_size),
                    Some(suboffsets) => Layout::with_suboffsets(&lengths, &distances, &suboffsets, item_size),
                }
            }
        }
    }

    /// The lengths of all axes. Without a shape: one axis of as many items as the bytes hold.
    ///
    /// # Safety
    ///
    /// 1. `lengths` has at most `ndim` numbers.
    #[inline(always)]
    unsafe fn read_lengths(&self, item_size: usize, lengths: &mut [usize]) -> Result<()> {
        if self.shape.is_null() {
            return self.count(item_size, lengths);
        }
        for (axis, len) in lengths.iter_mut().enumerate() {
            // SAFETY: clause 2 of `ForeignView::read`: `shape` is not null (checked above), so it
            // points to `ndim` numbers, and by clause 1 of `# Safety` `axis` is below `ndim`.
            *len = length(axis, unsafe { self.shape.wrapping_add(axis).read_unaligned() })?;
        }
        Ok(())
    }

    #[inline(never)]
    fn count(&self, item_size: usize, lengths: &mut [usize]) -> Result<()> {
        let byte_size = self.byte_size;
        let nbytes = usize::try_from(byte_size).map_err(|_| negative(byte_size))?;
        match lengths {
            [] => Ok(()),
            [len] => match nbytes.checked_div(item_size) {
                Some(count) => {
                    *len = count;
                    Ok(())
                }
                None => Err(malformed(format!(
                    "its shape is null, and its {byte_size} bytes are not a number of items of 0 bytes"
                ))),
            },
            _ => Err(malformed(format!("its shape is null, but it has {} axes", lengths.len()))),
        }
    }

    /// The strides of all axes; row-major ones if they are null.
    ///
    /// # Safety
    ///
    /// 1. `strides` has at most `ndim` numbers.
    #[inline(always)]
    unsafe fn read_strides(&self, item_size: usize, lengths: &[usize], strides: &mut [isize]) -> Result<()> {
        if self.strides.is_null() {
            return fill_contiguous(lengths, item_size, Order::RowMajor, strides);
        }
        for (axis, stride) in strides.iter_mut().enumerate() {
            // SAFETY: clause 2 of `ForeignView::read`: `strides` is not null (checked above), so it
            // points to `ndim` numbers, and by clause 1 of `# Safety` `axis` is below `ndim`.
            *stride = unsafe { self.strides.wrapping_add(axis).read_unaligned() };
        }
        Ok(())
    }

    /// The producer's byte size must cover the items: their whole extent, or, as producers of
    /// strided arrays count, exactly the bytes of the items. The extent must be in the address
    /// space.
    ///
    /// A number between the two contradicts the description. If it is the bytes of the items, the
    /// strides cannot be checked, and the producer is trusted.
    #[inline]
    fn check_extent(&self, nbytes: usize, span: Span, axes: (&[usize], &[isize])) -> Result<()> {
        let said = usize::try_from(self.byte_size).map_err(|_| negative(self.byte_size))?;
        if said < span.nbytes() && said != nbytes {
            return Err(lied(said, nbytes, span, axes));
        }
        if !self.data.is_null() && span.is_addressable(self.data.addr()) {
            return Ok(());
        }
        self.check_address(span, axes.0)
    }

    #[cold]
    fn check_address(&self, span: Span, shape: &[usize]) -> Result<()> {
        if span.nbytes() == 0 {
            return Ok(());
        }
        if self.data.is_null() {
            let len: usize = shape.iter().product();
            return Err(malformed(format!("its data is null, but it has {len} items")));
        }
        span.check_address(self.data.addr()).map(drop)
    }

    #[inline]
    fn check_writable(&self, flags: Flags) -> Result<()> {
        if flags.is_writable() && self.readonly != 0 {
            return Err(Error::new(
                Kind::ReadOnly,
                format!("{flags} requests writable elements, but the producer exports them read-only"),
            ));
        }
        Ok(())
    }

    /// Parses the format, or makes one if it is null, and compares it with the item size.
    #[inline(always)]
    fn check_format(&self, said: usize, view_lease: &mut ViewLease) -> Result<ParsedFormat> {
        let mut format = self.format;
        if format.is_null() {
            format = match said {
                0 => {
                    return Err(malformed(
                        "its format is null and its item_size is 0, so it was not filled in",
                    ));
                }
                1 => c"C".as_ptr(),
                _ => view_lease.keep_bytes(BytesFormat::new(said)).as_ptr(),
            };
        }
        // SAFETY: the format is not null here: it is the producer's C string (clause 2 of
        // `ForeignView::read`), a literal, or text that `view_lease` just stored, with a zero
        // behind it.
        let text = unsafe { format::read(format) }?;
        if let Some((_, component)) = format::known(text) {
            check_item_size(said, component.size, text)?;
            return Ok(ParsedFormat { format, desc: ItemDesc { components: component, length: 1 } });
        }
        Ok(ParsedFormat { format, desc: parse(text, said, view_lease)? })
    }
}

#[inline(never)]
fn parse(text: &[u8], said: usize, view_lease: &mut ViewLease) -> Result<ItemDesc> {
    let template = format::parse(text)?;
    check_item_size(said, template.item_size(), text)?;
    let components = match template.as_static() {
        Some(components) => components,
        None => view_lease.keep_template(template).components(),
    };
    Ok(ItemDesc { components: components.as_ptr(), length: components.len() })
}

#[inline]
fn check_item_size(said: usize, parsed: usize, format: &[u8]) -> Result<()> {
    if said == parsed {
        return Ok(());
    }
    let format = format.escape_ascii();
    Err(malformed(format!(
        "its item_size is {said}, but an item of its format '{format}' has {parsed} bytes"
    )))
}

fn length(axis: usize, len: isize) -> Result<usize> {
    usize::try_from(len).map_err(|_| malformed(format!("axis {axis} has length {len}")))
}

/// The suboffsets of an indirect array; `None` for a direct one, with or without suboffsets.
///
/// # Safety
///
/// `sub_offsets` is null or points to `rank` numbers.
unsafe fn suboffsets(sub_offsets: *const isize, rank: usize) -> Result<Option<Vec<Option<isize>>>> {
    if sub_offsets.is_null() {
        return Ok(None);
    }
    // SAFETY: `# Safety`: `sub_offsets` is not null (checked above), so it points to `rank`
    // numbers, and `axis < rank`.
    let number = |axis| unsafe { sub_offsets.wrapping_add(axis).read_unaligned() };
    let numbers: Vec<_> =
        (0..rank).map(number).map(|suboffset| (suboffset >= 0).then_some(suboffset)).collect();
    let is_indirect = numbers.iter().any(Option::is_some);
    Ok(is_indirect.then_some(numbers))
}

#[cold]
fn lied(said: usize, nbytes: usize, span: Span, (shape, strides): (&[usize], &[isize])) -> Error {
    let covered = span.nbytes();
    malformed(format!(
        "its byte_size is {said}, but it must be {nbytes} (the bytes of its items) or at least {covered} \
        (the bytes they span), for shape {shape:?} with strides {strides:?}"
    ))
}

#[cold]
fn negative(byte_size: isize) -> Error {
    malformed(format!("its byte_size is {byte_size}"))
}

#[cold]
fn malformed(text: impl Into<String>) -> Error {
    Error::new(Kind::Malformed, text)
}

#[cold]
fn unsupported(text: impl Into<String>) -> Error {
    Error::new(Kind::Unsupported, text)
}
