//! Exports an array as a DLPack struct.

use core::ffi::c_void;
use std::alloc::{Layout as AllocLayout, alloc, dealloc};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::{self, NonNull};
use std::{fmt, slice};

use crate::array::DArray;
use crate::element::dialect::dlpack::{needs_padded_flag, to_dlpack};
use crate::error::{Advice, Error, Explanation};
use crate::exchange::protocol::dlpack::abi::{
    self, DLDataType, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, VERSION,
};
use crate::exchange::protocol::dlpack::managed::Managed;
use crate::layout::Layout;
use crate::memory::{Lease, LeaseKind, Place, Protocols};
use crate::view::{
    Access, Copied, CopyPolicy, Reach, Reason, Refusal, Request, Source, Strides, Terms, negotiate,
};

/// What the caller of an export permits, and vouches for.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions {
    copy: CopyPolicy,
    trust_readonly: bool,
    trust_legacy: bool,
    is_ordered: bool,
    place: Option<Place>,
    max_version: Option<DLPackVersion>,
}

impl ExportOptions {
    /// Permits no copy, and trusts no consumer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a copy may be made.
    pub fn copy(mut self, policy: CopyPolicy) -> Self {
        self.copy = policy;
        self
    }

    /// Exports the elements on another place: mapped there if possible, else copied, if the options
    /// permit it.
    ///
    /// ```
    /// use crossdock::device::Device;
    /// use crossdock::device::fenced::FencedDevice;
    /// use crossdock::exchange::protocol::dlpack::{self, ExportOptions};
    /// use crossdock::memory::Place;
    /// use crossdock::view::CopyPolicy;
    /// use crossdock::{Array, DArray};
    ///
    /// let there = DArray::from(Array::from_vec(vec![1u8, 2, 3], [3])?).copy_to(&FencedDevice::new(0).memory())?;
    /// let here = ExportOptions::new().place(Place::CPU);
    /// assert!(dlpack::export_versioned(&there, &here).is_err());
    /// let exported = dlpack::export_versioned(&there, &here.copy(CopyPolicy::IfNeeded))?;
    /// assert_eq!((exported.managed().dl_tensor.device.device_type, exported.copied_nbytes()), (1, 3));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    pub fn place(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// The newest version that the consumer knows: the struct has no newer version. (Its element
    /// type may still be one that a newer version added; the consumer recognises it by its code.) A
    /// consumer of a version before 1.0 needs [`export_legacy`].
    ///
    /// ```
    /// use crossdock::exchange::protocol::dlpack::abi::DLPackVersion;
    /// use crossdock::exchange::protocol::dlpack::{self, ExportOptions};
    /// use crossdock::{Array, DArray};
    ///
    /// let array = DArray::from(Array::from_vec(vec![1u8, 2, 3], [3])?);
    /// let knows = |major, minor| ExportOptions::new().max_version(DLPackVersion { major, minor });
    /// let exported = dlpack::export_versioned(&array, &knows(1, 1))?;
    /// assert_eq!(exported.managed().version, DLPackVersion { major: 1, minor: 1 });
    /// assert_eq!(dlpack::export_versioned(&array, &knows(2, 0))?.managed().version.minor, 3);
    /// assert!(dlpack::export_versioned(&array, &knows(0, 8)).is_err());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    pub fn max_version(mut self, version: DLPackVersion) -> Self {
        self.max_version = Some(version);
        self
    }

    /// The request of a consumer with these options.
    fn request(&self, array: &DArray) -> Request {
        let request = Request::share().copy(self.copy);
        match self.place.filter(|&place| place != array.place()) {
            Some(elsewhere) => request.place(elsewhere),
            None => request,
        }
    }

    /// What the struct can describe, and what its consumers may do.
    #[inline]
    pub(super) fn terms<M: Managed>(&self) -> Terms {
        let is_trusted = if M::HAS_FLAGS { self.trust_readonly } else { self.trust_legacy };
        Terms {
            reach: if self.is_ordered { Reach::Ordered } else { Reach::Anywhere },
            strides: Strides::Elements,
            ..Terms::new(
                Protocols::DLPACK,
                if is_trusted {
                    Access::AsFlagged
                } else {
                    Access::Writable(M::READ_ONLY, M::READ_ONLY_ADVICE)
                },
            )
        }
    }

    /// The version in the struct.
    pub(super) fn version<M: Managed>(&self) -> Result<DLPackVersion, Reason> {
        match self.max_version {
            Some(most) if M::HAS_FLAGS && most.major < VERSION.major => Err(Reason::Unsupported(format!(
                "the consumer supports DLPack up to {}.{}, which has no versioned struct; export the legacy \
                struct",
                most.major, most.minor
            ).into())),
            Some(most) if most.major == VERSION.major => {
                Ok(DLPackVersion { minor: most.minor.min(VERSION.minor), ..VERSION })
            }
            _ => Ok(VERSION),
        }
    }

    /// Does not wait for in-flight work of devices on the memory: the caller orders the consumer
    /// after it ([`Synchronization::order`](crate::view::Synchronization::order),
    /// [`Buffer::await_in`](crate::buffer::Buffer::await_in)). A copy made for the export has no
    /// in-flight work.
    ///
    /// ```
    /// use crossdock::buffer::Buffer;
    /// use crossdock::device::Device;
    /// use crossdock::device::fenced::FencedDevice;
    /// use crossdock::exchange::protocol::dlpack::{self, ExportOptions};
    /// use crossdock::memory::LeaseKind;
    /// use crossdock::{Array, DArray};
    ///
    /// let device = FencedDevice::new(0);
    /// let stream = device.stream()?.expect("it has streams");
    /// let paused = device.pause(); // what is in the stream waits
    /// let sent = Buffer::from_vec(vec![1u8, 2, 3])?.copy_to_in(&device.memory(), &*stream)?.buffer;
    ///
    /// sent.await_in(&*stream, LeaseKind::Share)?; // in whose order the consumer goes on
    /// let array = Array::<u8, 1>::from_buffer(sent, [3])?;
    /// let exported = dlpack::export_versioned(&array, &ExportOptions::new().ordered())?;
    /// # drop((exported, paused));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    pub fn ordered(mut self) -> Self {
        self.is_ordered = true;
        self
    }

    /// Permits exports of read-only arrays by the versioned struct, flagged `READ_ONLY`, under a
    /// Pin lease.
    ///
    /// # Safety
    ///
    /// No consumer of a read-only array exported with these options writes it. The flag requests
    /// that; PyTorch up to 2.15, for one, ignores the flag.
    pub unsafe fn trust_readonly(mut self) -> Self {
        self.trust_readonly = true;
        self
    }

    /// Permits exports of read-only arrays by the legacy struct, which has no read-only flag, under
    /// a Pin lease.
    ///
    /// # Safety
    ///
    /// No consumer of a read-only array exported with these options writes it, though nothing in
    /// the struct forbids it. (JAX, whose arrays are immutable, does not write.)
    pub unsafe fn trust_legacy_readonly(mut self) -> Self {
        self.trust_legacy = true;
        self
    }
}

/// Exports an array by the struct of version 1. O(rank), with one heap block. Copies only if the
/// options permit it.
///
/// # Errors
///
/// A [`Refusal`], with [`Reason::Lease`] while another party holds Read or Write, or if the array
/// is read-only; [`Reason::Layout`] for a stride that is not a whole number of elements;
/// [`Reason::Unsupported`] for a type or device that DLPack cannot describe.
///
/// ```
/// use crossdock::Array;
/// use crossdock::buffer::Buffer;
/// use crossdock::exchange::protocol::dlpack::{self, ExportOptions};
/// use crossdock::view::CopyPolicy;
///
/// let constant = Array::from_vec(vec![1u8, 2, 3], [3])?.into_readonly();
/// let refusal = dlpack::export_versioned(&constant, &ExportOptions::new()).unwrap_err();
/// assert!(refusal.to_string().contains("read-only"));
///
/// let options = ExportOptions::new().copy(CopyPolicy::IfNeeded);
/// let exported = dlpack::export_versioned(&constant, &options)?;
/// assert_eq!(exported.copied_nbytes(), 3);
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn export_versioned(
    source: &impl Source,
    options: &ExportOptions,
) -> Result<Exported<DLManagedTensorVersioned>, Refusal> {
    source.lend(|array| export(array, options))
}

/// As [`export_versioned`], by the struct from before version 1.0, for consumers that know no
/// other. That struct has no flag for read-only arrays, nor for elements narrower than a byte that
/// take a byte each.
///
/// # Errors
///
/// As [`export_versioned`].
pub fn export_legacy(
    source: &impl Source,
    options: &ExportOptions,
) -> Result<Exported<DLManagedTensor>, Refusal> {
    source.lend(|array| export(array, options))
}

fn export<M: Managed>(array: &DArray, options: &ExportOptions) -> Result<Exported<M>, Refusal> {
    let request = options.request(array);
    let refuse = |reason| Refusal::of(array, &request, reason);
    let words = TensorType::of::<M>(array).map_err(refuse)?;
    let version = options.version::<M>().map_err(refuse)?;
    let (managed, copied) = negotiate(
        array,
        &request,
        &options.terms::<M>(),
        |array| words.tensor(array),
        |array, tensor, lease, is_copy| {
            let is_copied = if is_copy { abi::IS_COPIED } else { 0 };
            let fill = |numbers: &mut AxisNumbers| write_numbers(array.layout(), numbers);
            ManagedBlock::<M>::lend((tensor, version), words.flags | is_copied, lease, fill)
        },
    )?;
    // Exported 1: `ManagedBlock::lend` just returned it.
    Ok(Exported { managed, copied })
}

/// The lengths of all axes, then their strides, to be written; then room that no consumer reads.
pub(super) type AxisNumbers = [MaybeUninit<i64>];

/// The room for the numbers of few axes. A copy of this many is a few instructions; one of as many
/// as an array has would be a call of the C library.
pub(super) const FEW_NUMBERS: usize = 8;

/// How many numbers a block holds for an array of this rank.
#[inline]
pub(super) fn room_for(rank: usize) -> usize {
    rank.saturating_mul(2).max(FEW_NUMBERS)
}

/// The type of an array as DLPack describes it.
pub(super) struct TensorType {
    dtype: DLDataType,
    pub(super) flags: u64,
}

impl TensorType {
    pub(super) fn of<M: Managed>(array: &DArray) -> Result<Self, Reason> {
        if !array.place().is_addressed() {
            object(array)?;
        }
        let (code, bits, lanes) =
            to_dlpack(array.dtype()).map_err(|error| Reason::Unsupported(error.to_explanation()))?;
        let padded = needs_padded_flag(array.dtype());
        if padded && !M::HAS_FLAGS {
            return Err(Reason::Unsupported(
                format!(
                    "DLPack's legacy struct cannot express that elements of {bits} bits are padded to a byte each: {}",
                    array.dtype()
                )
                .into(),
            ));
        }
        Ok(Self {
            dtype: DLDataType { code, bits, lanes },
            flags: if padded { abi::IS_SUBBYTE_TYPE_PADDED } else { 0 },
        })
    }

    /// The tensor, without lengths and strides.
    ///
    /// # Errors
    ///
    /// `Unsupported` for memory of a device without addresses, if this library has no handle of it.
    pub(super) fn tensor(&self, array: &DArray) -> Result<DLTensor, Reason> {
        let place = array.place();
        let (data, byte_offset) = if array.is_empty() { (ptr::null_mut(), 0) } else { location(array)? };
        Ok(DLTensor {
            data,
            device: place.into(),
            ndim: array.rank() as i32,
            dtype: self.dtype,
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset,
        })
    }
}

/// Where element 0 is: an address, or a byte offset in the driver's object.
#[inline]
fn location(array: &DArray) -> Result<(*mut c_void, u64), Reason> {
    let place = array.place();
    if place.is_host() || place.is_addressed() && array.raw().has_addresses() {
        return Ok((array.as_ptr().cast_mut().cast(), 0));
    }
    if place.is_addressed() {
        let text =
            format!("DLPack exports addresses on {place}, but this memory is a driver object without one");
        return Err(Reason::Unsupported(Explanation::new(text, Advice::CopyToCpu)));
    }
    object(array)
}

/// The driver's object behind memory without addresses, and the byte offset of element 0 in it: no
/// offset can be added to a handle.
fn object(array: &DArray) -> Result<(*mut c_void, u64), Reason> {
    match array.raw().handle().device() {
        Some(attached) if !attached.object.is_null() => {
            Ok((attached.object, (array.as_ptr().addr() - attached.base.addr().get()) as u64))
        }
        _ => Err(Reason::Unsupported(
            format!(
                "DLPack exports handles on {}, but Crossdock has no handle of this memory",
                array.place()
            )
            .into(),
        )),
    }
}

/// Converts strides from bytes to elements. A division costs more than all other work for an axis,
/// so powers of two are shifted.
struct StrideDivisor {
    itemsize: isize,
    shift: u32,
    is_power: bool,
}

impl StrideDivisor {
    /// DLPack has no type of zero bytes.
    #[inline]
    fn of(layout: &Layout) -> Self {
        let itemsize = layout.itemsize().max(1);
        let is_power = itemsize.is_power_of_two();
        Self { itemsize: itemsize.cast_signed(), shift: itemsize.trailing_zeros(), is_power }
    }

    #[inline]
    fn count(&self, stride: isize) -> i64 {
        (if self.is_power { stride >> self.shift } else { stride / self.itemsize }) as i64
    }
}

/// One heap block behind the pointer that a consumer gets: the struct, the lease, and the numbers
/// to which the struct points, a length and a stride for each axis ([`room_for`]).
///
/// # Invariants
///
/// 1. `managed` is the first field, so its address is the block's, and its deleter is
///    [`ManagedBlock::delete`] of this same type.
/// 2. The consumer has the address. It calls the deleter once, as its last use of the block.
/// 3. `rank` is the number of axes for which numbers were allocated, even if the consumer changes
///    the struct.
#[repr(C)]
pub(super) struct ManagedBlock<M> {
    managed: M,
    lease: Lease,
    rank: usize,
}

impl<M: Managed> ManagedBlock<M> {
    /// The memory layout of a block with its numbers, which begin at its end.
    fn layout(rank: usize) -> Result<AllocLayout, Error> {
        let numbers = AllocLayout::array::<i64>(room_for(rank));
        let both = numbers.and_then(|numbers| AllocLayout::new::<Self>().extend(numbers));
        match both {
            Ok((layout, begin)) if begin == size_of::<Self>() => Ok(layout),
            _ => Err(Error::out_of_memory(size_of::<Self>(), align_of::<Self>())),
        }
    }

    /// A block for a tensor, with the numbers that `fill` writes, which must write one for each
    /// length and stride. Under a Pin lease the tensor is read-only.
    #[inline]
    pub(super) fn lend(
        tensor: (DLTensor, DLPackVersion),
        flags: u64,
        lease: Lease,
        fill: impl FnOnce(&mut AxisNumbers),
    ) -> Result<NonNull<M>, Error> {
        Ok(Self::unleased(tensor, flags, fill)?.under(lease))
    }

    /// As [`ManagedBlock::lend`], up to the lease.
    #[inline(always)]
    pub(super) fn unleased(
        (mut tensor, version): (DLTensor, DLPackVersion),
        flags: u64,
        fill: impl FnOnce(&mut AxisNumbers),
    ) -> Result<UnleasedBlock<M>, Error> {
        let rank = tensor.ndim as usize;
        let layout = Self::layout(rank)?;
        // SAFETY: the layout begins with a `Self`, which holds a lease, so its size is not zero.
        let block = NonNull::new(unsafe { alloc(layout) }.cast::<Self>())
            .ok_or_else(|| Error::out_of_memory(layout.size(), layout.align()))?;
        // SAFETY: `Self::layout` checks that the numbers begin `size_of::<Self>()` bytes into the
        // block, so one `Self` further is inside of this allocation or at its end.
        let numbers = unsafe { block.add(1) }.cast::<MaybeUninit<i64>>();
        // SAFETY: `Self::layout` reserves this many aligned numbers from there in a block just
        // allocated, so no other reference exists; they need no initialisation as `MaybeUninit`.
        let numbers = unsafe { slice::from_raw_parts_mut(numbers.as_ptr(), room_for(rank)) };
        fill(numbers);
        tensor.shape = numbers.as_mut_ptr().cast();
        tensor.strides = tensor.shape.wrapping_add(rank);
        let mut managed = M::new(tensor, block.as_ptr().cast(), Self::delete, flags);
        managed.set_version(version);
        // SAFETY: the block was just allocated with `Self::layout`, so the field is in bounds.
        let to = unsafe { &raw mut (*block.as_ptr()).managed };
        // SAFETY: the aligned field of a block that no other code has.
        unsafe { to.write(managed) };
        Ok(UnleasedBlock { block, rank })
    }

    /// Releases the lease, and with the last one the memory. Neither unwinds: panics of owners are
    /// caught where they are called.
    ///
    /// # Safety
    ///
    /// 1. `managed` is null, or comes from [`ManagedBlock::lend`] of this type.
    /// 2. This is the only call for it, and no other code uses it afterwards.
    unsafe extern "C" fn delete(managed: *mut M) {
        let Some(block) = NonNull::new(managed.cast::<Self>()) else { return };
        // SAFETY: clause 1 of `# Safety` and ManagedBlock 1: `managed` is the address of a block
        // that `ManagedBlock::lend` wrote; clause 2: it is read out only once.
        let Self { lease, rank, .. } = unsafe { block.read() };
        if let Ok(layout) = Self::layout(rank) {
            // SAFETY: `ManagedBlock::lend` allocated it with the layout of this rank
            // (ManagedBlock 3), and the lines above read it for the last time (clause 2 of
            // `# Safety`).
            unsafe { dealloc(block.as_ptr().cast(), layout) };
        }
        drop(lease);
    }
}

/// A [`ManagedBlock`] before it has its lease. The lease comes last: an atomic step waits for the
/// stores before it and holds up the loads after it. Dropping the value frees the block.
///
/// # Invariants
///
/// 1. `block` was allocated with [`ManagedBlock::layout`] of `rank`. Its struct is initialised, its
///    other fields are not, and no other code has its address.
pub(super) struct UnleasedBlock<M: Managed> {
    block: NonNull<ManagedBlock<M>>,
    rank: usize,
}

impl<M: Managed> UnleasedBlock<M> {
    /// The block for one consumer. Under a Pin lease the tensor is read-only.
    #[inline(always)]
    pub(super) fn under(self, lease: Lease) -> NonNull<M> {
        let this = ManuallyDrop::new(self);
        let block = this.block.as_ptr();
        // SAFETY: UnleasedBlock 1: the block is allocated and its struct initialised, and no other
        // code refers to it.
        let managed = unsafe { &mut (*block).managed };
        if lease.kind() == LeaseKind::Pin {
            managed.mark_readonly();
        }
        // SAFETY: UnleasedBlock 1: the field is in bounds of the block.
        let to = unsafe { &raw mut (*block).lease };
        // SAFETY: the aligned, uninitialised field of a block that no other code has.
        unsafe { to.write(lease) };
        // SAFETY: UnleasedBlock 1: the field is in bounds of the block.
        let to = unsafe { &raw mut (*block).rank };
        // SAFETY: the aligned, uninitialised field of a block that no other code has.
        unsafe { to.write(this.rank) };
        this.block.cast()
    }
}

impl<M: Managed> Drop for UnleasedBlock<M> {
    fn drop(&mut self) {
        if let Ok(layout) = ManagedBlock::<M>::layout(self.rank) {
            // SAFETY: UnleasedBlock 1: allocated with this layout, and no other code has it.
            unsafe { dealloc(self.block.as_ptr().cast(), layout) };
        }
    }
}

/// Writes lengths, and strides in elements.
pub(super) fn write_numbers(layout: &Layout, numbers: &mut AxisNumbers) {
    let (shape, strides) = numbers.split_at_mut(layout.rank());
    let elements = StrideDivisor::of(layout);
    // Consumers check strides of axes of length 1, too, so those get ordinary values.
    let normal = layout.shape().iter().any(|&len| len <= 1).then(|| layout.normalized());
    let from = normal.as_ref().unwrap_or(layout);
    for (to, &len) in shape.iter_mut().zip(from.shape()) {
        to.write(len as i64);
    }
    for (to, &stride) in strides.iter_mut().zip(from.strides()) {
        to.write(elements.count(stride));
    }
}

/// An array exported by DLPack, before a consumer has it. Dropping it calls the deleter;
/// [`Exported::into_raw`] leaves that to the consumer.
///
/// # Invariants
///
/// 1. `managed` is from `ManagedBlock::lend`, its deleter was not called, and no other party has
///    the address.
pub struct Exported<M: Managed> {
    managed: NonNull<M>,
    copied: Copied,
}

// SAFETY: Exported 1: no other party has the block, which holds plain numbers and a `Lease`, itself
// `Send`; its deleter may run on any thread.
unsafe impl<M: Managed> Send for Exported<M> {}
// SAFETY: the methods of `&Exported` only read the struct and the refusal; nothing writes either
// before `into_raw` or drop, which need the value itself.
unsafe impl<M: Managed> Sync for Exported<M> {}

impl<M: Managed> Exported<M> {
    /// A new export without a copy (Exported 1: `ManagedBlock::lend` just returned `managed`).
    pub(super) fn in_place(managed: NonNull<M>) -> Self {
        Self { managed, copied: Copied::NOTHING }
    }

    /// Exports the tensor: the consumer of the pointer calls its deleter, once, on any thread. If
    /// it never does, the lease is leaked.
    pub fn into_raw(self) -> *mut M {
        let mut this = ManuallyDrop::new(self);
        this.copied = Copied::NOTHING;
        this.managed.as_ptr()
    }

    /// The struct, for inspection.
    pub fn managed(&self) -> &M {
        // SAFETY: Exported 1: the block from `ManagedBlock::lend` is initialised and not yet
        // released, and no other party has its address to write it.
        unsafe { self.managed.as_ref() }
    }

    /// The number of bytes that this export copied.
    pub fn copied_nbytes(&self) -> usize {
        self.copied.nbytes()
    }

    /// The reason why the export copied: the refusal without permission to copy. `None` if nothing
    /// was copied, or if the copy was requested.
    pub fn copied_because(&self) -> Option<&Refusal> {
        self.copied.because()
    }
}

impl<M: Managed> Drop for Exported<M> {
    fn drop(&mut self) {
        // SAFETY: Exported 1: `managed` is from `ManagedBlock::lend`, which wrote a struct of this
        // kind, and it is not released yet.
        let deleter = unsafe { M::deleter(self.managed.as_ptr()) };
        if let Some(deleter) = deleter {
            // SAFETY: Exported 1: `ManagedBlock::delete` gets a block of its own type, and this
            // drop makes the only call.
            unsafe { deleter(self.managed.as_ptr()) }
        }
    }
}

impl<M: Managed> fmt::Debug for Exported<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tensor = self.managed().tensor();
        write!(f, "Exported(DLPack tensor of {} axes at {:p})", tensor.ndim, tensor.data)
    }
}
