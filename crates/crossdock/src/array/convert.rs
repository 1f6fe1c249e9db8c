//! Conversions between typed and dynamic arrays, and copies into new memory.

use std::sync::Arc;

use crate::array::{Array, ArrayOptions, DArray, RawArray};
use crate::buffer::Buffer;
use crate::device::{self, Event, Stream};
use crate::element::{DType, Element};
use crate::error::{Error, Kind, Rejected, Result};
use crate::kernel::{self, Casting, Gaps};
use crate::layout::{Layout, Order};
use crate::memory::LeaseKind;
use crate::pool::Pool;

impl<T: Element, const D: usize> From<Array<T, D>> for DArray {
    /// O(`D`).
    fn from(array: Array<T, D>) -> Self {
        let (raw, layout) = array.into_raw();
        // SAFETY: DArray 1: the same layout at the same element 0 (Array 1). DArray 2: `T::dtype()`
        // has the size of `T` (Element 1), as the layout.
        unsafe { Self::from_raw(raw, T::dtype(), layout.to_dynamic_trusted(size_of::<T>())) }
    }
}

impl<T: Element, const D: usize> TryFrom<DArray> for Array<T, D> {
    type Error = Rejected<DArray>;

    /// O(`D`). Fails if the dtype or the rank differs; the array is returned with the reason.
    fn try_from(array: DArray) -> Result<Self, Rejected<DArray>> {
        let wanted = T::dtype();
        if *array.dtype() != wanted {
            let error = other_dtype(array.dtype(), &wanted);
            return Err(Rejected { value: array, error });
        }
        match array.layout().to_fixed::<D>() {
            Ok(layout) => {
                let (raw, ..) = array.into_raw();
                // SAFETY: Array 1: the same layout at the same element 0 (DArray 1); the dtype
                // equals `T::dtype()`, so the item size is that of `T` (DArray 2, Element 1).
                Ok(unsafe { Self::from_raw(raw, layout) })
            }
            Err(error) => Err(Rejected { value: array, error }),
        }
    }
}

#[cold]
#[inline(never)]
pub(crate) fn other_dtype(given: &DType, wanted: &DType) -> Error {
    let (given, wanted) = (given.brief(), wanted.brief());
    Error::new(Kind::DType, format!("the elements are {given}, not {wanted}; cast them, or request {given}"))
}

/// The memory that a copy is written to.
#[derive(Clone, Copy)]
enum CopyTarget<'a> {
    /// The memory of the array's device, or of the default pool.
    Beside,
    Pool(&'a Pool),
    Shared,
}

impl DArray {
    /// Copies the elements, contiguous, to new memory: of the array's device, or of the default
    /// pool, unless the options (usually just an [`Order`]) name a pool or another device. Copies,
    /// and counts, [`DArray::nbytes`].
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; `is_conflict` while another lease is Write; `is_place` on a device
    /// without strided work; the errors of the device.
    pub fn to_order<'a>(&self, options: impl Into<ArrayOptions<'a>>) -> Result<Self> {
        self.copied_with(options.into(), self.dtype(), Casting::Checked)
    }

    /// Copies the elements, contiguous, to shared memory for other processes. Copies, and counts,
    /// [`DArray::nbytes`].
    ///
    /// # Errors
    ///
    /// `is_io`; `is_conflict` while another lease is Write; `is_place`.
    pub fn to_shared(&self, order: Order) -> Result<Self> {
        self.copied(CopyTarget::Shared, self.dtype(), order, Casting::Checked)
    }

    /// Converts the elements to another dtype, contiguous, in new memory as for
    /// [`DArray::to_order`]. Copies, and counts, the bytes of the result. Records are converted by
    /// field name, in any order. Fields that the result lacks are left out, and bytes that none of
    /// its fields covers are zero.
    ///
    /// ```
    /// use crossdock::element::{DType, Field};
    /// use crossdock::{Casting, DArray, layout::Order};
    ///
    /// let packed = DType::packed_record([("kind", DType::U8), ("at", DType::I64), ("price", DType::F64)])?;
    /// let aligned = DType::record([Field::new("price", 0, DType::F64), Field::new("kind", 8, DType::U16)], 16)?;
    /// let trades = DArray::zeros(packed, &[100], Order::RowMajor)?;
    /// assert_eq!(trades.cast(&aligned, Order::RowMajor, Casting::Checked)?.nbytes(), 1600);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// Numbers become floats by rounding once, to the nearest, ties to even. A value that does not
    /// fit (an integer or a float out of range, a fraction or a NaN converted to an integer, …) is
    /// an error or is made to fit (a fraction is truncated): [`Casting`] decides, for each pair of
    /// kinds. Between numbers of at most 64 bits, in either byte order and at any strides, the
    /// conversion runs at memory bandwidth.
    ///
    /// ```
    /// use crossdock::{Array, Casting, DArray, element::DType, layout::Order};
    ///
    /// let wide = DArray::from(Array::from_vec(vec![0.1f32, -3.0, 1e6], [3])?);
    /// let half = wide.cast(&DType::F16, Order::RowMajor, Casting::Saturating)?;
    /// assert_eq!(half.get(&[2])?.as_f64(), Some(f64::INFINITY));
    /// let error = wide.cast(&DType::F16, Order::RowMajor, Casting::Checked).unwrap_err();
    /// assert_eq!(error.to_string(), "element [2]: 1000000.0 does not fit float16");
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_value` if an element does not fit, with its index; `is_dtype` if a record has no field
    /// of a name; `is_out_of_memory`; `is_conflict` while another lease is Write; on a device as
    /// [`DArray::to_order`], and `is_unsupported` for dtypes that its kernels do not convert.
    pub fn cast<'a>(
        &self,
        dtype: &DType,
        options: impl Into<ArrayOptions<'a>>,
        casting: Casting,
    ) -> Result<Self> {
        self.copied_with(options.into(), dtype, casting)
    }

    /// As [`DArray::cast`], in shared memory, for other processes.
    ///
    /// # Errors
    ///
    /// As [`DArray::cast`], and `is_io`.
    #[doc(hidden)]
    pub fn cast_shared(&self, dtype: &DType, order: Order, casting: Casting) -> Result<Self> {
        self.copied(CopyTarget::Shared, dtype, order, casting)
    }

    /// A copy in the memory that the options name: beside this array, in a pool, or on another
    /// device. The copy to another device is packed first.
    fn copied_with(&self, options: ArrayOptions<'_>, dtype: &DType, casting: Casting) -> Result<Self> {
        let target = options.chosen_pool().map_or(CopyTarget::Beside, CopyTarget::Pool);
        let copy = self.copied(target, dtype, options.order, casting)?;
        match options.chosen_place() {
            Some(place) if place != copy.place() => copy.copy_to(&device::memory(place)?),
            _ => Ok(copy),
        }
    }

    /// All copies into new memory: allocate, fill, wrap.
    fn copied(&self, target: CopyTarget<'_>, dtype: &DType, order: Order, casting: Casting) -> Result<Self> {
        if let (CopyTarget::Beside, Some(engine)) = (target, self.engine()?) {
            return self.copied_by(&*engine, dtype, order, casting);
        }
        let _lease = self.lease(LeaseKind::Pin)?;
        let layout = Layout::contiguous(self.shape(), dtype.itemsize(), order)?;
        let default;
        let pool = match target {
            CopyTarget::Beside => {
                default = Pool::default();
                Some(&default)
            }
            CopyTarget::Pool(pool) => Some(pool),
            CopyTarget::Shared => None,
        };
        let buffer = match pool {
            Some(pool) => {
                let mut fresh = pool.uninit(layout.nbytes())?;
                let dst = fresh.as_uninit_mut().as_mut_ptr().cast();
                // SAFETY: 1. the Pin lease `_lease`; 2. `dst` is new memory of the
                // `layout.nbytes()` bytes that the contiguous layout reaches.
                unsafe { self.write_to(dst, dtype, &layout, casting, Gaps::Fill) }?;
                // SAFETY: `write_to` with `Gaps::Fill` returned `Ok`: it wrote every element and
                // all padding, hence every byte of the contiguous layout.
                unsafe { fresh.assume_init() }
            }
            None => {
                let buffer = Buffer::shared(layout.nbytes())?;
                let shared = buffer.share()?;
                // SAFETY: 1. the Pin lease `_lease`; 2. `shared` is a Share lease of new memory of
                // the `layout.nbytes()` bytes that the contiguous layout reaches.
                unsafe { self.write_to(shared.as_ptr().cast_mut(), dtype, &layout, casting, Gaps::Fill) }?;
                drop(shared);
                buffer
            }
        };
        Self::from_buffer(buffer, dtype.clone(), layout, 0)
    }

    /// Assigns the elements of another array to this one's, converted if the dtypes differ, under a
    /// Share lease held for the call. The source is broadcast to this shape. Copies, and counts,
    /// the bytes of this array. If the two arrays may have bytes in common, the source is copied
    /// first (and that copy is counted), so the result never depends on the overlap. If the source
    /// is this very array, nothing is copied. Of records, the fields of this array are written,
    /// matched by name, and the bytes between them keep their values. Between two places the
    /// elements are packed at the source and unpacked at the destination, each a counted copy,
    /// unless both are contiguous in the same order.
    ///
    /// Overlap is detected by addresses, by the driver's object, and by the file or shared memory
    /// behind mappings that this library made (see [`Buffer::map`](crate::buffer::Buffer::map)). A
    /// mapping made by another library is known by its addresses alone: another mapping of the same
    /// file counts as different memory.
    ///
    /// ```
    /// use crossdock::{Array, Casting, DArray};
    ///
    /// let rows = DArray::from(Array::<f32, 2>::zeros([2, 3])?);
    /// rows.assign(&Array::from_vec(vec![1u8, 2, 3], [3])?.into(), Casting::Checked)?;
    /// assert_eq!(rows.get(&[1, 2])?.as_f64(), Some(3.0));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_shape` if the source cannot be broadcast; `is_layout` if elements of this array overlap;
    /// `is_value` if an element does not fit, with its index (any of the others may have been
    /// written); `is_fault` if the source is a guarded map whose file shrank (this array was
    /// written then); `is_conflict` while this array has another Read or Write lease, or the source
    /// has a Write lease; `is_read_only`; `is_place`.
    pub fn assign(&self, source: &Self, casting: Casting) -> Result<()> {
        if let Some(done) = self.assign_run(source) {
            return done;
        }
        if let Some(done) = self.assign_numbers(source, casting) {
            return done;
        }
        if let Some(done) = self.assign_over(source) {
            return done;
        }
        match self.assign_apart(source, casting) {
            Some(done) => done,
            None => self.assign_any(source, casting),
        }
    }

    /// [`DArray::assign`] of any two arrays.
    #[cold]
    #[inline(never)]
    fn assign_any(&self, source: &Self, casting: Casting) -> Result<()> {
        let wide = self.assigned(source)?;
        let source = if !source.may_overlap(self)? {
            wide
        } else if self.place().is_host() && self.is_same_view(&wide) {
            // The bytes to write are already there.
            let _leases = (self.lease(LeaseKind::Share)?, wide.lease(LeaseKind::Pin)?);
            return Ok(());
        } else {
            // Copied before the broadcast, so each existing element is copied once.
            source.to_order(Order::RowMajor)?.broadcast_to(self.shape())?
        };
        if !self.place().is_host() || !source.place().is_host() {
            return self.assign_across(&source, casting);
        }
        let (_ours, _theirs) = (self.lease(LeaseKind::Share)?, source.lease(LeaseKind::Pin)?);
        // SAFETY: 1. the Pin lease of the source; 2. DArray 1 and 2 under the Share lease of this
        // array, to whose shape the source was broadcast. No byte belongs to both: `may_overlap`
        // compared their addresses, or the source is new memory.
        unsafe { source.write_to(self.as_ptr().cast_mut(), self.dtype(), self.layout(), casting, Gaps::Keep) }
    }

    /// Like [`DArray::assign`], in a stream: it returns when the work is queued, and the event
    /// signals its end. Until then the work holds a Pin lease of the source and a Share lease of
    /// this array, and the event is recorded on both. Arrays on the host, on two places, or that
    /// may overlap are assigned synchronously, after the work in the stream, and return no event.
    ///
    /// # Errors
    ///
    /// As [`DArray::assign`]. The event, and every lease for CPU access to this array, reports a
    /// later failure. Values that [`Casting::Checked`] refuses are reported by this call, which
    /// waits for that.
    pub fn assign_in(
        &self,
        source: &Self,
        casting: Casting,
        stream: &dyn Stream,
    ) -> Result<Option<Arc<dyn Event>>> {
        let wide = self.assigned(source)?;
        if !source.may_overlap(self)?
            && let Some(engine) = self.common_engine(&wide)?
            && engine.can_enqueue(stream)
        {
            return self.written_by(&*engine, &wide, casting, Gaps::Keep, Some(stream));
        }
        stream.synchronize()?;
        self.assign(source, casting).map(|()| None)
    }

    /// The source of an assignment, broadcast to this array's shape.
    fn assigned(&self, source: &Self) -> Result<Self> {
        self.check_apart()?;
        source.broadcast_to(self.shape())
    }

    /// Fails if a guarded file map shrank: it reads as zeros, which are not its elements.
    pub(super) fn check_fault(&self) -> Result<()> {
        self.raw().handle().header().check_fault()
    }

    /// # Safety
    ///
    /// 1. The caller holds a lease of this array.
    /// 2. `layout`, of elements of `dtype` and of this array's shape, reaches from `dst` only bytes
    ///    that may be stored racily and are not this array's.
    unsafe fn write_to(
        &self,
        dst: *mut u8,
        dtype: &DType,
        layout: &Layout,
        casting: Casting,
        gaps: Gaps,
    ) -> Result<()> {
        let (src, from, own) = (self.as_ptr(), self.dtype(), self.layout());
        // SAFETY: DArray 1 and 2, under a lease (clause 1 of `# Safety`), make the source loadable;
        // clause 2 makes `dst` storable, of the same shape, and without overlap.
        let written = unsafe { kernel::convert(src, from, own, dst, dtype, layout, casting, gaps) };
        self.check_fault()?;
        written
    }

    /// The same array on sealed memory: no process can write it any more, so Read leases are
    /// possible. Copies nothing. [`Buffer::into_sealed`](crate::buffer::Buffer::into_sealed) has
    /// the rules.
    ///
    /// # Errors
    ///
    /// As [`Buffer::into_sealed`](crate::buffer::Buffer::into_sealed); the array is returned with
    /// the error.
    #[expect(clippy::result_large_err, reason = "what comes back is the array, in place")]
    pub fn into_sealed(self) -> Result<Self, Rejected<Self>> {
        let (buffer, offset) = match self.buffer() {
            Ok(parts) => parts,
            Err(error) => return Err(Rejected { value: self, error }),
        };
        let (raw, dtype, layout) = self.into_raw();
        drop(raw);
        let again = |buffer: Buffer| {
            let (handle, ptr, _, readonly) = buffer.into_parts();
            // SAFETY: the buffer, sealed or not, is the layout's span from `self.buffer()`, and
            // `offset` is the offset of element 0 in it.
            let ptr = unsafe { ptr.add(offset) };
            // SAFETY: 1. the layout's span is the buffer, which lies in the handle's region (Buffer
            // 1); 2. a constant buffer is read-only (Buffer 2).
            let raw = unsafe { RawArray::from_parts(handle, ptr, readonly) };
            // SAFETY: 1. `raw` covers the span of `layout` from element 0; 2. `dtype` and `layout`
            // are those of one array (DArray 2).
            unsafe { Self::from_raw(raw, dtype, layout) }
        };
        match buffer.into_sealed() {
            Ok(buffer) => Ok(again(buffer)),
            Err(Rejected { value, error }) => Err(Rejected { value: again(value), error }),
        }
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// Copies the elements, contiguous, to new memory of the default pool. Copies, and counts,
    /// [`Array::nbytes`].
    ///
    /// # Errors
    ///
    /// As [`DArray::to_order`].
    pub fn to_order<'a>(&self, options: impl Into<ArrayOptions<'a>>) -> Result<Self> {
        Ok(Self::try_from(DArray::from(self.clone()).to_order(options)?)?)
    }
}
