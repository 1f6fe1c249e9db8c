//! Arrays filled with one value, and byte order conversion.

use crate::array::{Array, DArray, overlap};
use crate::element::{ByteOrder, Element, Value};
use crate::error::{Advice, Error, Kind, Rejected, Result};
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
    /// `is_value` if the value does not fit; `is_layout` if elements overlap, including repeated
    /// (broadcast) elements: fill the array before broadcasting it; `is_conflict` while a Read or
    /// Write lease is held; `is_read_only`; `is_place`; `is_out_of_memory` for a list of the rows
    /// behind pointers.
    pub fn fill(&self, value: &Value) -> Result<()> {
        let itemsize = self.dtype().itemsize();
        let (mut few, mut many) = ([0; 64], Vec::new());
        let bytes = if itemsize <= few.len() {
            &mut few[..itemsize]
        } else {
            many.resize(itemsize, 0);
            &mut many[..]
        };
        value.write(self.dtype(), bytes)?;
        self.fill_bytes(bytes)
    }

    /// Writes one element's bytes to every element, by the CPU or the device.
    fn fill_bytes(&self, bytes: &[u8]) -> Result<()> {
        self.check_apart()?;
        if let Some(engine) = self.engine()? {
            return self.filled_by(&*engine, bytes);
        }
        let _lease = self.lease(LeaseKind::Share)?;
        // SAFETY: `layout` reaches only bytes of this array's elements (DArray 1), each of
        // `bytes.len()` bytes (DArray 2), writable under the Share lease `_lease`.
        unsafe { kernel::fill(self.as_ptr().cast_mut(), self.layout(), bytes) }?;
        self.check_fault()
    }

    /// Converts every number to a byte order, in new memory as for [`DArray::to_order`],
    /// C-contiguous (row-major). Copies, and counts, [`DArray::nbytes`]. See
    /// [`DArray::into_byte_order`], which copies nothing.
    ///
    /// # Errors
    ///
    /// As [`DArray::to_order`]; `is_value` for invalid text, with its index.
    pub fn to_byte_order(&self, order: ByteOrder) -> Result<Self> {
        self.cast(&self.dtype().with_byte_order(order), Order::RowMajor, Casting::Checked)
    }

    /// Converts every number to a byte order in place: the bytes are swapped without a lease,
    /// because this is the only handle. If no byte needs swapping, the array is returned unchanged.
    /// Counted as a copy of [`DArray::nbytes`].
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
    /// `is_conflict` if leases or other handles exist, or another owner shares the memory;
    /// `is_layout` if elements overlap; `is_unsupported` for records with overlapping fields, for
    /// elements that are not numbers, and for indirect arrays (see [`DArray::to_byte_order`]);
    /// `is_read_only`; `is_place`. The unchanged array is returned with the error.
    #[expect(clippy::result_large_err, reason = "what comes back is the array, in place")]
    pub fn into_byte_order(self, order: ByteOrder) -> Result<Self, Rejected<Self>> {
        let dtype = self.dtype().with_byte_order(order);
        if dtype == *self.dtype() {
            return Ok(self);
        }
        let (mut raw, own, layout) = self.into_raw();
        let turned = match () {
            () if layout.suboffsets().is_some() => {
                Err(Error::new(Kind::Unsupported, "an array with suboffsets cannot be byte-swapped in place")
                    .advising(Advice::ConvertByteOrder))
            }
            () if !layout.is_injective() => {
                Err(Error::new(Kind::Layout, overlap(layout.shape(), layout.strides())))
            }
            () if !kernel::turns_in_place(&own) => Err(Error::new(
                Kind::Unsupported,
                format!("elements of {} cannot be byte-swapped in place", own.brief()),
            )
            .advising(Advice::ConvertByteOrder)),
            () => raw.exclusive().and_then(|()| {
                let ptr = raw.ptr().as_ptr();
                // SAFETY: `ptr`, `own` and `layout` are those of one array (DArray 1 and 2), and
                // `exclusive` found this to be the only access to it. Source and destination are
                // the same elements, item sizes are equal, and each element is replaced in its
                // place.
                unsafe { kernel::cast(ptr, &own, &layout, ptr, &dtype, &layout, Casting::Checked) }
            }),
        };
        let dtype = if turned.is_ok() { dtype } else { own };
        // SAFETY: 1. `raw` and `layout` are unchanged (DArray 1); 2. dtypes that differ in byte
        // order only have the same item size (DArray 2).
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
    /// `is_layout` if elements overlap; `is_conflict` while a Read or Write lease is held;
    /// `is_read_only`; `is_place`.
    pub fn fill(&self, value: T) -> Result<()> {
        // SAFETY: `value` has `size_of::<T>()` bytes, all initialised since `T` has no padding (Pod
        // 2), and lives until the end of the call.
        let bytes = unsafe { std::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) };
        if !self.place().is_host() {
            return DArray::from(self.clone()).fill_bytes(bytes);
        }
        let layout = self.layout().to_dynamic_trusted(size_of::<T>());
        if !layout.is_injective() {
            return Err(Error::new(Kind::Layout, overlap(layout.shape(), layout.strides())));
        }
        let _lease = self.raw().lease(LeaseKind::Share)?;
        // SAFETY: `layout` reaches only bytes of this array's elements (Array 1), each of
        // `size_of::<T>()` bytes, writable under the Share lease `_lease`.
        unsafe { kernel::fill(self.raw().ptr().as_ptr(), &layout, bytes) }?;
        self.raw().handle().header().check_fault()
    }

    /// Converts the elements to another type in new memory of the default pool, C-contiguous
    /// (row-major). Copies, and counts, the bytes of the result.
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
