//! From an array to a DLPack struct.

use std::alloc::{Layout as AllocLayout, alloc};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

use crate::array::DArray;
use crate::element::dialect::dlpack::{needs_padded_flag, to_dlpack};
use crate::error::{Error, Kind};
use crate::exchange::protocol::dlpack::abi::{
    self, DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLTensor,
};
use crate::exchange::protocol::dlpack::managed::Managed;
use crate::layout::{INLINE_RANK, MAX_RANK, Order};
use crate::memory::{Lease, LeaseKind, Protocols};
use crate::view::{Copied, CopyPolicy, Reason, Refusal, Request, Source, hand_over};

/// What the caller permits, and vouches for, in an export.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions {
    copy: CopyPolicy,
    trust_readonly: bool,
    trust_legacy: bool,
}

impl ExportOptions {
    /// Nothing is copied, and no consumer is trusted.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a copy may be made.
    pub fn copy(mut self, policy: CopyPolicy) -> Self {
        self.copy = policy;
        self
    }

    /// Lets read-only arrays go out by the versioned struct: flagged `READ_ONLY`, and under a Pin lease.
    ///
    /// # Safety
    ///
    /// No consumer that gets hold of an export of a read-only array with these options writes it. The flag asks for that;
    /// PyTorch up to 2.15, for one, does not heed it.
    pub unsafe fn trust_readonly(mut self) -> Self {
        self.trust_readonly = true;
        self
    }

    /// Lets read-only arrays go out by the legacy struct, which cannot say so: under a Pin lease.
    ///
    /// # Safety
    ///
    /// No consumer that gets hold of an export of a read-only array with these options writes it, though nothing tells it
    /// not to. (JAX, whose arrays are immutable, does not.)
    pub unsafe fn trust_legacy_readonly(mut self) -> Self {
        self.trust_legacy = true;
        self
    }
}

/// Lends an array by the struct of version 1. O(rank), with one heap block; nothing is copied unless the options permit it.
///
/// # Errors
///
/// A [`Refusal`], with [`Reason::Lease`] while somebody holds Read or Write or where the array is read-only,
/// [`Reason::Layout`] for a stride that is no whole number of elements, [`Reason::Unsupported`] for a type or device that
/// DLPack has no word for.
///
/// ```
/// use crossdock::exchange::protocol::dlpack::{self, ExportOptions};
/// use crossdock::memory::Buffer;
/// use crossdock::view::CopyPolicy;
/// use crossdock::Array;
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

/// As [`export_versioned`], by the struct from before version 1.0, for consumers that know no other. It cannot say that an
/// array is read-only, nor that elements narrower than a byte have a byte each.
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
    let request = Request::share().copy(options.copy);
    let words =
        Words::of::<M>(array).map_err(|reason| Refusal::new(&request, reason).with_offer(array.offer()))?;
    hand_over(
        array,
        &request,
        |array, copied| lend(array, &words, options, copied),
        |array| array.to_order(Order::RowMajor).map_err(Reason::Failed),
    )
}

/// Lends an array, or a copy of one.
fn lend<M: Managed>(
    array: &DArray,
    words: &Words,
    options: &ExportOptions,
    copied: Copied,
) -> Result<Exported<M>, Reason> {
    let dims = Dims::of(array)?;
    let lease = lease::<M>(array, options).map_err(Reason::Lease)?;
    let readonly = if lease.kind() == LeaseKind::Pin { abi::READ_ONLY } else { 0 };
    lease.mark_exported(Protocols::DLPACK);
    let tensor = DLTensor {
        data: if array.is_empty() { ptr::null_mut() } else { array.as_ptr().cast_mut().cast() },
        device: words.device,
        ndim: dims.rank as i32,
        dtype: words.dtype,
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    let is_copied = if copied.is_made() { abi::IS_COPIED } else { 0 };
    let flags = words.flags | readonly | is_copied;
    let managed = if dims.rank <= INLINE_RANK {
        Block::<M, INLINE_RANK>::lend(tensor, flags, &dims, lease)
    } else {
        Block::<M, MAX_RANK>::lend(tensor, flags, &dims, lease)
    };
    // Exported 1: a new loan, which nobody else has.
    Ok(Exported { managed: managed.map_err(Reason::Failed)?, copied })
}

/// What DLPack calls the type and the device.
struct Words {
    dtype: DLDataType,
    device: DLDevice,
    flags: u64,
}

impl Words {
    fn of<M: Managed>(array: &DArray) -> Result<Self, Reason> {
        let place = array.place();
        if !place.is_addressed() {
            return Err(Reason::Unsupported(format!("on {place}, DLPack lends handles and not addresses")));
        }
        let (code, bits, lanes) =
            to_dlpack(array.dtype()).map_err(|error| Reason::Unsupported(error.to_string()))?;
        let padded = needs_padded_flag(array.dtype());
        if padded && !M::HAS_FLAGS {
            return Err(Reason::Unsupported(format!(
                "DLPack's legacy struct cannot say that elements of {bits} bits have a byte each: {}",
                array.dtype()
            )));
        }
        Ok(Self {
            dtype: DLDataType { code, bits, lanes },
            device: DLDevice { device_type: place.kind().0, device_id: place.ordinal() },
            flags: if padded { abi::IS_SUBBYTE_TYPE_PADDED } else { 0 },
        })
    }
}

/// The lease for what a consumer of this struct may do. The memory may be on any device, since it is not we who touch it.
fn lease<M: Managed>(array: &DArray, options: &ExportOptions) -> Result<Lease, Error> {
    let trusted = if M::HAS_FLAGS { options.trust_readonly } else { options.trust_legacy };
    let kind = match (array.is_readonly(), trusted) {
        (false, _) => LeaseKind::Share,
        (true, true) => LeaseKind::Pin,
        (true, false) => {
            return Err(Error::new(
                Kind::ReadOnly,
                if M::HAS_FLAGS {
                    "the array is read-only, and DLPack's flag that says so is advisory: copy it, or vouch for the \
                     consumer (`trust_readonly`)"
                } else {
                    "the array is read-only, and DLPack's legacy struct cannot say so: use the versioned one, copy it, \
                     or vouch for the consumer (`trust_legacy_readonly`)"
                },
            ));
        }
    };
    let handle = array.raw().handle();
    handle.await_work(kind)?;
    Ok(handle.lease(kind)?)
}

/// Lengths, and strides in elements.
struct Dims {
    rank: usize,
    shape: [i64; MAX_RANK],
    strides: [i64; MAX_RANK],
}

impl Dims {
    fn of(array: &DArray) -> Result<Self, Reason> {
        if let Some(suboffsets) = array.layout().suboffsets() {
            return Err(Reason::Layout(format!(
                "DLPack has no word for an array that follows pointers (suboffsets {suboffsets:?})"
            )));
        }
        let layout = array.layout().normalized();
        let itemsize = layout.itemsize() as isize;
        let mut dims = Self { rank: layout.rank(), shape: [0; MAX_RANK], strides: [0; MAX_RANK] };
        for (axis, (&len, &stride)) in layout.shape().iter().zip(layout.strides()).enumerate() {
            // Where there is nothing to step to, the stride is never used.
            if stride % itemsize != 0 && len > 1 && !array.is_empty() {
                return Err(Reason::Layout(format!(
                    "DLPack counts strides in elements, and the stride of axis {axis}, {stride} bytes, is no multiple of \
                     the {itemsize} bytes of one"
                )));
            }
            dims.shape[axis] = len as i64;
            dims.strides[axis] = (stride / itemsize) as i64;
        }
        Ok(dims)
    }
}

/// What lies behind the pointer that a consumer gets: the struct, and what it refers to, in one heap block.
///
/// # Invariants
///
/// 1. `managed` comes first, so that its address is the block's, and its deleter is [`Block::delete`] of this very type.
/// 2. The consumer has the address, and calls the deleter once, last of all.
#[repr(C)]
struct Block<M, const N: usize> {
    managed: M,
    shape: [i64; N],
    strides: [i64; N],
    lease: Lease,
}

impl<M: Managed, const N: usize> Block<M, N> {
    /// A block of its own for the tensor, which gets its shape and strides here. `dims.rank` is at most `N`.
    fn lend(mut tensor: DLTensor, flags: u64, dims: &Dims, lease: Lease) -> Result<NonNull<M>, Error> {
        let (mut shape, mut strides) = ([0; N], [0; N]);
        shape.copy_from_slice(&dims.shape[..N]);
        strides.copy_from_slice(&dims.strides[..N]);
        let layout = AllocLayout::new::<Self>();
        // SAFETY: a block is not zero-sized.
        let block = NonNull::new(unsafe { alloc(layout) }.cast::<Self>())
            .ok_or_else(|| Error::out_of_memory(layout.size(), layout.align()))?;
        let address = block.as_ptr();
        // SAFETY: inside of the block that was just allocated.
        tensor.shape = unsafe { &raw mut (*address).shape }.cast();
        // SAFETY: as above.
        tensor.strides = unsafe { &raw mut (*address).strides }.cast();
        let managed = M::new(tensor, address.cast(), Self::delete, flags);
        // SAFETY: as above; the block was made for this type.
        unsafe { address.write(Self { managed, shape, strides, lease }) };
        Ok(block.cast())
    }

    /// Gives the lease back, and with it, perhaps, the memory. That neither unwinds: owners that panic are caught where
    /// they are called.
    ///
    /// # Safety
    ///
    /// `managed` is null, or from [`Block::lend`] of this type, and this is the one call for it.
    unsafe extern "C" fn delete(managed: *mut M) {
        if !managed.is_null() {
            // SAFETY: Block 1, and the caller's word; it was allocated with the layout of a box of this type.
            drop(unsafe { Box::from_raw(managed.cast::<Self>()) });
        }
    }
}

/// An array on loan by DLPack that was not handed over yet. Dropping it calls the deleter; [`Exported::into_raw`] leaves that
/// to the consumer.
///
/// # Invariants
///
/// 1. `managed` is from `Block::lend`, and its deleter was not called.
pub struct Exported<M: Managed> {
    managed: NonNull<M>,
    copied: Copied,
}

// SAFETY: a lease and plain data, which nobody else has and any thread may have.
unsafe impl<M: Managed> Send for Exported<M> {}
// SAFETY: `&Exported` gives nothing but reading of that plain data.
unsafe impl<M: Managed> Sync for Exported<M> {}

impl<M: Managed> Exported<M> {
    /// Hands the tensor over: whoever has the pointer calls its deleter, once, on any thread. If nobody does, the memory stays
    /// on loan for ever, which is a leak and nothing worse.
    pub fn into_raw(self) -> *mut M {
        let mut this = ManuallyDrop::new(self);
        this.copied = Copied::NOTHING;
        this.managed.as_ptr()
    }

    /// The struct, to be looked at.
    pub fn managed(&self) -> &M {
        // SAFETY: Exported 1, and nobody else has the address.
        unsafe { self.managed.as_ref() }
    }

    /// How many bytes were copied for this hand-over.
    pub fn copied_nbytes(&self) -> usize {
        self.copied.nbytes()
    }

    /// The refusal that would have been given had no copy been permitted; `None` where nothing was copied, or where the copy was
    /// asked for.
    pub fn copied_because(&self) -> Option<&Refusal> {
        self.copied.because()
    }
}

impl<M: Managed> Drop for Exported<M> {
    fn drop(&mut self) {
        // SAFETY: Exported 1.
        let deleter = unsafe { M::deleter(self.managed.as_ptr()) };
        if let Some(deleter) = deleter {
            // SAFETY: Exported 1: this is the one call.
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
