//! One value everywhere, and bytes in another order.

use crate::array::{Array, DArray, overlap};
use crate::element::{ByteOrder, Element, Value};
use crate::error::{Error, Kind, Rejected, Result};
use crate::kernel::{self, Casting};
use crate::layout::Order;
use crate::memory::LeaseKind;

impl DArray {
    /// Writes a value to every element, converted with a check, under a Share lease held for the
    /// call. Padding of records becomes zeros. Writes [`DArray::nbytes`], at the speed of memory.
    ///
    /// ```
    /// use crossdock::{Array, DArray, s};
    ///
    /// let image = DArray::from(Array::<f32, 2>::zeros([480, 640])?);
    /// image.slice(s![.., ..;2])?.fill(&1.into())?;
    /// assert_eq!((image.get(&[7, 8])?.as_f64(), image.get(&[7, 9])?.as_f64()), (Some(1.0), Some(0.0)));
    /// assert!(image.fill(&"one".into()).unwrap_err().is_value());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_value` where the value does not fit; `is_layout` where elements overlap, a repeated
    /// (broadcast) element among them: fill the array before it is broadcast; `is_conflict` while a
    /// Read or Write lease is held; `is_read_only`; `is_place`; `is_out_of_memory` for a list of
    /// the rows behind pointers.
    pub fn fill(&self, value: &Value) -> Result<()> {
        let mut bytes = vec![0; self.dtype().itemsize()];
        value.write(self.dtype(), &mut bytes)?;
        self.fill_bytes(&bytes)
    }

    /// One element's bytes everywhere, by whoever writes such memory.
    fn fill_bytes(&self, bytes: &[u8]) -> Result<()> {
        self.check_apart()?;
        if let Some(engine) = self.engine()? {
            return self.filled_by(&*engine, bytes);
        }
        let _lease = self.lease(LeaseKind::Share)?;
        // SAFETY: DArray 1 and 2, under a Share lease.
        unsafe { kernel::fill(self.as_ptr().cast_mut(), self.layout(), bytes) }
    }

    /// The elements with every number in a byte order, in new memory as that of
    /// [`DArray::to_order`], row-major without gaps. Copies, and counts, [`DArray::nbytes`]. See
    /// [`DArray::into_byte_order`], which copies nothing.
    ///
    /// # Errors
    ///
    /// As [`DArray::to_order`]; `is_value` for a text that is none, with its index.
    pub fn to_byte_order(&self, order: ByteOrder) -> Result<Self> {
        self.cast(&self.dtype().with_byte_order(order), Order::RowMajor, Casting::Checked)
    }

    /// The same memory with every number in a byte order: the bytes are turned around in place,
    /// under no lease, since this is the only handle. Where nothing is to be turned the array comes
    /// back as it is. Counted as a copy of [`DArray::nbytes`].
    ///
    /// ```
    /// use crossdock::{Array, DArray, element::ByteOrder};
    ///
    /// let array = DArray::from(Array::from_vec(vec![1_i32, 2, 3], [3])?).into_byte_order(ByteOrder::Big)?;
    /// assert_eq!(array.dtype().byte_order(), Some(ByteOrder::Big));
    /// assert_eq!(array.get(&[2])?.as_i64(), Some(3));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_conflict` where there are leases or other handles, or others have the memory;
    /// `is_layout` where elements overlap; `is_unsupported` for records with overlapping fields,
    /// for what is no number, and for indirect arrays (see [`DArray::to_byte_order`]);
    /// `is_read_only`; `is_place`. The array is returned with the error, as it was.
    #[expect(clippy::result_large_err, reason = "what comes back is the array, in place")]
    pub fn into_byte_order(self, order: ByteOrder) -> Result<Self, Rejected<Self>> {
        let dtype = self.dtype().with_byte_order(order);
        if dtype == *self.dtype() {
            return Ok(self);
        }
        let (mut raw, own, layout) = self.into_raw();
        let turned = match () {
            () if layout.suboffsets().is_some() => Err(Error::new(
                Kind::Unsupported,
                "the bytes of rows behind pointers cannot be turned around in place: copy them",
            )),
            () if !layout.is_injective() => {
                Err(Error::new(Kind::Layout, overlap(layout.shape(), layout.strides())))
            }
            () if !kernel::turns_in_place(&own) => Err(Error::new(
                Kind::Unsupported,
                format!("the bytes of {} cannot be turned around in place: copy them", own.brief()),
            )),
            () => raw.exclusive().and_then(|()| {
                let ptr = raw.ptr().as_ptr();
                // SAFETY: DArray 1 and 2, and the only handle; what is read and what is written are
                // the same elements, of which each part becomes what lies in its place.
                unsafe { kernel::cast(ptr, &own, &layout, ptr, &dtype, &layout, Casting::Checked) }
            }),
        };
        let dtype = if turned.is_ok() { dtype } else { own };
        // SAFETY: layout and memory as they were, and dtypes that differ in their byte orders have
        // the same size.
        let array = unsafe { Self::from_raw(raw, dtype, layout) };
        match turned {
            Ok(()) => Ok(array),
            Err(error) => Err(Rejected { value: array, error }),
        }
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// Writes a value to every element, under a Share lease held for the call. Writes
    /// [`Array::nbytes`], at the speed of memory.
    ///
    /// # Errors
    ///
    /// `is_layout` where elements overlap; `is_conflict` while a Read or Write lease is held;
    /// `is_read_only`; `is_place`.
    pub fn fill(&self, value: T) -> Result<()> {
        // SAFETY: a value of as many bytes, all initialised (Pod 2), which lives until the end of
        // the call.
        let bytes = unsafe { std::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) };
        if !self.place().is_host() {
            return DArray::from(self.clone()).fill_bytes(bytes);
        }
        let layout = self.layout().to_dynamic_trusted(size_of::<T>());
        if !layout.is_injective() {
            return Err(Error::new(Kind::Layout, overlap(layout.shape(), layout.strides())));
        }
        let _lease = self.raw().lease(LeaseKind::Share)?;
        // SAFETY: Array 1, under a Share lease.
        unsafe { kernel::fill(self.raw().ptr().as_ptr(), &layout, bytes) }
    }

    /// The elements converted to another type in new memory of the default pool, row-major without
    /// gaps. Copies, and counts, the bytes of the result.
    ///
    /// ```
    /// use crossdock::{Array, Casting};
    ///
    /// let array = Array::from_vec(vec![1.5f32, 300.0, -7.0], [3])?;
    /// assert_eq!(array.cast::<u8>(Casting::Saturating)?.read()?.to_vec(), [1, 255, 0]);
    /// assert!(array.cast::<u8>(Casting::Checked).unwrap_err().is_value()); // 1.5 is no integer
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`DArray::cast`].
    pub fn cast<U: Element>(&self, casting: Casting) -> Result<Array<U, D>> {
        let array = DArray::from(self.clone()).cast(&U::dtype(), Order::RowMajor, casting)?;
        Ok(Array::try_from(array)?)
    }
}
