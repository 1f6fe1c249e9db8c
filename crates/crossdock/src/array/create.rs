//! Arrays in new memory: of zeros, of one value, or computed by a function.

use std::mem::MaybeUninit;
use std::sync::Arc;

use crate::array::from_memory::check_layout;
use crate::array::uninit::UninitArray;
use crate::array::{Array, DArray, ShapeSpec};
use crate::buffer::{Buffer, UninitBuffer};
use crate::device::{self, MemoryManager};
use crate::element::{DType, Element, Value};
use crate::error::{Advice, Error, Kind, Result};
use crate::kernel::device::{self as engines, DeviceOperand};
use crate::layout::{FixedLayout, Layout, Order};
use crate::memory::Place;
use crate::pool::{ALIGNMENT, AllocOptions, Pool};

/// Options for a new array: the order of its elements and its memory.
///
/// The default is row-major, in the default pool. An [`Order`], a `&`[`Pool`] or a [`Place`] alone
/// converts to options.
///
/// ```
/// use crossdock::array::ArrayOptions;
/// use crossdock::layout::Order;
/// use crossdock::memory::default_place;
/// use crossdock::pool::Pool;
/// use crossdock::{Array, DArray, element::DType};
///
/// let columns = Array::<f32, 2>::zeros(([2, 3], Order::ColumnMajor))?;
/// assert_eq!(columns.strides(), &[4, 8]);
/// let here = DArray::zeros(DType::F32, &[2, 3], default_place())?;
/// let pool = Pool::default().capped("thumbnails", 1 << 20)?;
/// let both = Array::<u8, 2>::full(([2, 3], ArrayOptions::new().order(Order::ColumnMajor).pool(&pool)), 7)?;
/// assert_eq!(both.get([1, 2])?, 7);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ArrayOptions<'a> {
    pub(super) order: Order,
    home: Home<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Home<'a> {
    DefaultPool,
    /// The default pool, even for an array on a device.
    Host,
    Pool(&'a Pool),
    /// Any place but `cpu`.
    Device(Place),
}

impl Default for ArrayOptions<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl From<Order> for ArrayOptions<'_> {
    fn from(order: Order) -> Self {
        Self::new().order(order)
    }
}

impl<'a> From<&'a Pool> for ArrayOptions<'a> {
    fn from(pool: &'a Pool) -> Self {
        Self::new().pool(pool)
    }
}

impl From<Place> for ArrayOptions<'_> {
    fn from(place: Place) -> Self {
        Self::new().place(place)
    }
}

impl<'a> ArrayOptions<'a> {
    /// Row-major, in the default pool.
    pub const fn new() -> Self {
        Self { order: Order::RowMajor, home: Home::DefaultPool }
    }

    /// The order of the elements.
    pub const fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// In memory of a pool, and hence on the host.
    pub const fn pool(mut self, pool: &'a Pool) -> Self {
        self.home = Home::Pool(pool);
        self
    }

    /// On a place: in the default pool for [`Place::CPU`], in the memory of the registered device
    /// elsewhere. A device with strided work writes zeros or one value itself. Other elements are
    /// written on the host and copied, because the CPU does not write device memory.
    pub fn place(mut self, place: Place) -> Self {
        self.home = if place == Place::CPU { Home::Host } else { Home::Device(place) };
        self
    }

    /// The requested pool.
    pub(super) fn chosen_pool(&self) -> Option<&'a Pool> {
        if let Home::Pool(pool) = self.home { Some(pool) } else { None }
    }

    /// The requested place.
    pub(super) fn chosen_place(&self) -> Option<Place> {
        match self.home {
            Home::Device(place) => Some(place),
            Home::Host => Some(Place::CPU),
            Home::DefaultPool | Home::Pool(_) => None,
        }
    }

    /// Zeroed bytes.
    fn zeroed(self, nbytes: usize, align: usize) -> Result<Buffer> {
        match self.home {
            Home::DefaultPool | Home::Host if align <= ALIGNMENT => Buffer::zeroed(nbytes),
            Home::DefaultPool | Home::Host => {
                AllocOptions::new().align(align).zeroed(&Pool::try_default()?, nbytes)
            }
            Home::Pool(pool) => AllocOptions::new().align(align.max(ALIGNMENT)).zeroed(pool, nbytes),
            Home::Device(place) => device_zeroed(place, nbytes),
        }
    }

    /// Uninitialised host memory.
    pub(super) fn uninit(self, nbytes: usize, align: usize) -> Result<UninitBuffer> {
        match self.home {
            Home::DefaultPool | Home::Host if align <= ALIGNMENT => UninitBuffer::new(nbytes),
            Home::DefaultPool | Home::Host => {
                AllocOptions::new().align(align).uninit(&Pool::try_default()?, nbytes)
            }
            Home::Pool(pool) => AllocOptions::new().align(align.max(ALIGNMENT)).uninit(pool, nbytes),
            Home::Device(place) => {
                Err(Error::new(Kind::Place, format!("the CPU cannot write memory on {place}"))
                    .advising(Advice::CreateOnCpu))
            }
        }
    }

    /// Repeats one element, if a device does that.
    fn repeated(self, element: &[u8], nbytes: usize) -> Result<Option<Buffer>> {
        let Home::Device(place) = self.home else { return Ok(None) };
        repeated_by_device(&device::memory(place)?, element, nbytes)
    }

    /// Calls `make` for host memory, and copies the result to the device if one is chosen.
    fn placed(self, make: impl FnOnce(Self) -> Result<Buffer>) -> Result<Buffer> {
        match self.home {
            Home::Device(place) => make(Self::from(self.order))?.copy_to(&device::memory(place)?),
            _ => make(self),
        }
    }
}

/// The greatest number of host bytes that stage zeros for a device.
const STAGE: usize = 1 << 20;

/// Repeats one element, in copies of doubling size.
fn repeat(element: &[u8], bytes: &mut [MaybeUninit<u8>]) {
    let mut done = bytes.len().min(element.len());
    for (byte, &value) in bytes.iter_mut().zip(element) {
        byte.write(value);
    }
    while done < bytes.len() {
        let more = done.min(bytes.len() - done);
        bytes.copy_within(..more, done);
        done += more;
    }
}

/// `None` if the device does not support that.
fn repeated_by_device(
    memory: &Arc<dyn MemoryManager>,
    element: &[u8],
    nbytes: usize,
) -> Result<Option<Buffer>> {
    let Some(engine) = memory.clone().engine()? else { return Ok(None) };
    let fresh = Buffer::on(memory, nbytes)?;
    let count = nbytes.checked_div(element.len()).unwrap_or(0);
    let dtype = DType::void(element.len())?;
    let layout = Layout::contiguous(&[count], element.len(), Order::RowMajor)?;
    engines::fill(
        &*engine,
        DeviceOperand { buffer: &fresh, offset: 0, dtype: &dtype, layout: &layout },
        element,
    )?;
    Ok(Some(fresh))
}

fn device_zeroed(place: Place, nbytes: usize) -> Result<Buffer> {
    let memory = device::memory(place)?;
    if let Some(fresh) = repeated_by_device(&memory, &[0], nbytes)? {
        return Ok(fresh);
    }
    let fresh = Buffer::on(&memory, nbytes)?;
    let zeros = Buffer::zeroed(nbytes.min(STAGE))?;
    for start in (0..nbytes).step_by(STAGE) {
        let end = nbytes.min(start.saturating_add(STAGE));
        zeros.slice(..end - start)?.copy_into(&fresh.slice(start..end)?)?;
    }
    Ok(fresh)
}

impl<T: Element, const D: usize> Array<T, D> {
    /// Zeros: `zeros([2, 3])`, or with options `zeros(([2, 3], Order::ColumnMajor))`.
    ///
    /// # Errors
    ///
    /// `is_overflow`, `is_out_of_memory`; for a device also its own errors, and that it does not
    /// exist.
    pub fn zeros<'a>(shape: impl ShapeSpec<'a, D>) -> Result<Self> {
        let (shape, options) = shape.resolve();
        let layout = FixedLayout::contiguous(shape, size_of::<T>(), options.order)?;
        Self::zeros_with_layout(layout, options)
    }

    /// Zeros in a given layout: as many bytes as it spans from the lowest to the highest, gaps
    /// included. The order of the options is ignored.
    ///
    /// # Errors
    ///
    /// As [`Array::zeros`]; `is_overflow` also if the layout was made for a narrower element and
    /// overflows for this one.
    pub fn zeros_with_layout<'a>(
        layout: FixedLayout<D>,
        options: impl Into<ArrayOptions<'a>>,
    ) -> Result<Self> {
        let layout = FixedLayout::new(*layout.shape(), *layout.strides(), size_of::<T>())?;
        let span = layout.span(size_of::<T>());
        let buffer = options.into().zeroed(span.nbytes(), align_of::<T>())?;
        Self::from_buffer_with_layout(buffer, layout, span.low().unsigned_abs())
    }

    /// An array filled with one value.
    ///
    /// # Errors
    ///
    /// As [`Array::zeros`].
    pub fn full<'a>(shape: impl ShapeSpec<'a, D>, value: T) -> Result<Self> {
        let (shape, options) = shape.resolve();
        let layout = FixedLayout::contiguous(shape, size_of::<T>(), options.order)?;
        // SAFETY: `value` has `size_of::<T>()` bytes, all initialised since `T` has no padding (Pod
        // 2), and lives until the end of the call.
        let bytes = unsafe { std::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) };
        match options.repeated(bytes, layout.len() * size_of::<T>())? {
            Some(buffer) => Self::from_buffer_with_layout(buffer, layout, 0),
            None => Self::made(shape, options, |fresh| fresh.fill(value)),
        }
    }

    /// The results of a function, which is called once for each index, in memory order.
    ///
    /// ```
    /// use crossdock::Array;
    ///
    /// let table = Array::from_fn([3, 3], |[row, column]| (row * column) as u32)?;
    /// assert_eq!(table.get([2, 2])?, 4);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Array::zeros`].
    pub fn from_fn<'a>(shape: impl ShapeSpec<'a, D>, value: impl FnMut([usize; D]) -> T) -> Result<Self> {
        let (shape, options) = shape.resolve();
        Self::made(shape, options, |fresh| fresh.fill_with(value))
    }

    /// The options that place and order a new array like this one: its place, and its order if it
    /// has one, else row-major. With them `zeros` is NumPy's `zeros_like`, and `full` its
    /// `full_like`.
    pub fn options(&self) -> ArrayOptions<'static> {
        let order = self.layout().order(size_of::<T>()).unwrap_or(Order::RowMajor);
        ArrayOptions::from(self.place()).order(order)
    }

    fn made(
        shape: [usize; D],
        options: ArrayOptions<'_>,
        write: impl FnOnce(UninitArray<T, D>) -> Self,
    ) -> Result<Self> {
        let layout = FixedLayout::contiguous(shape, size_of::<T>(), options.order)?;
        let buffer = options.placed(|options| Ok(write(Self::uninit((shape, options))?).buffer()?.0))?;
        Self::from_buffer_with_layout(buffer, layout, 0)
    }
}

impl DArray {
    /// Zeros, in an order and at a place.
    ///
    /// # Errors
    ///
    /// `is_overflow`, `is_out_of_memory`, `is_unsupported` for too many dimensions; for a device
    /// also its own errors, and that it does not exist.
    pub fn zeros<'a>(dtype: DType, shape: &[usize], options: impl Into<ArrayOptions<'a>>) -> Result<Self> {
        let options = options.into();
        let layout = Layout::contiguous(shape, dtype.itemsize(), options.order)?;
        Self::zeros_with_layout(dtype, layout, options)
    }

    /// Zeros in a given layout: as many bytes as it spans from the lowest to the highest, gaps
    /// included. The order of the options is ignored.
    ///
    /// ```
    /// use crossdock::layout::Layout;
    /// use crossdock::memory::Place;
    /// use crossdock::{DArray, element::DType};
    ///
    /// let padded = Layout::new(&[3, 5], &[-16, 2], 2)?; // rows of 16 bytes, the last one first
    /// let array = DArray::zeros_with_layout(DType::I16, padded, Place::CPU)?;
    /// assert_eq!(array.buffer()?.0.nbytes(), 16 + 16 + 10);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`DArray::zeros`]; `is_dtype` if dtype and layout have different item sizes;
    /// `is_unsupported` for a layout that follows pointers.
    pub fn zeros_with_layout<'a>(
        dtype: DType,
        layout: Layout,
        options: impl Into<ArrayOptions<'a>>,
    ) -> Result<Self> {
        check_layout(&dtype, &layout)?;
        let span = layout.span();
        let buffer = options.into().zeroed(span.nbytes(), dtype.alignment())?;
        Self::from_buffer(buffer, dtype, layout, span.low().unsigned_abs())
    }

    /// An array filled with one value, in an order and at a place.
    ///
    /// ```
    /// use crossdock::layout::Order;
    /// use crossdock::{DArray, element::DType};
    ///
    /// let ones = DArray::full(DType::F32, &[2, 3], 1, Order::RowMajor)?;
    /// assert_eq!(ones.get(&[1, 2])?.as_f64(), Some(1.0));
    /// assert!(DArray::full(DType::U8, &[2, 3], 300, Order::RowMajor).unwrap_err().is_value());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`DArray::zeros`]; `is_value` if the value does not fit the dtype.
    pub fn full<'a>(
        dtype: DType,
        shape: &[usize],
        value: impl Into<Value>,
        options: impl Into<ArrayOptions<'a>>,
    ) -> Result<Self> {
        let (value, options) = (value.into(), options.into());
        let layout = Layout::contiguous(shape, dtype.itemsize(), options.order)?;
        // A record's padding is zero.
        let mut element = vec![0; dtype.itemsize()];
        value.write(&dtype, &mut element)?;
        if let Some(buffer) = options.repeated(&element, layout.nbytes())? {
            return Self::from_buffer(buffer, dtype, layout, 0);
        }
        let buffer = options.placed(|options| {
            let mut fresh = options.uninit(layout.nbytes(), dtype.alignment())?;
            repeat(&element, fresh.as_uninit_mut());
            // SAFETY: `repeat` wrote every byte: `layout.nbytes()` is a multiple of the element's
            // length, and 0 if that is 0.
            Ok(unsafe { fresh.assume_init() })
        })?;
        Self::from_buffer(buffer, dtype, layout, 0)
    }

    /// The results of a function, converted with a check, in an order and at a place. The function
    /// is called once for each index, in memory order.
    ///
    /// ```
    /// use crossdock::element::{DType, Value};
    /// use crossdock::layout::Order;
    /// use crossdock::DArray;
    ///
    /// let sums = DArray::from_fn(DType::I32, &[2, 3], Order::RowMajor, |index| {
    ///     Value::from((index[0] + index[1]) as u64)
    /// })?;
    /// assert_eq!(sums.get(&[1, 2])?.as_i64(), Some(3));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`DArray::zeros`]; `is_value`, with the index, if a value does not fit the dtype.
    pub fn from_fn<'a>(
        dtype: DType,
        shape: &[usize],
        options: impl Into<ArrayOptions<'a>>,
        mut value: impl FnMut(&[usize]) -> Value,
    ) -> Result<Self> {
        let options = options.into();
        let layout = Layout::contiguous(shape, dtype.itemsize(), options.order)?;
        let buffer = options.placed(|options| {
            let mut buffer = options.zeroed(layout.nbytes(), dtype.alignment())?;
            let bytes = buffer.as_mut_slice()?;
            let mut index = vec![0; shape.len()];
            for number in 0..layout.len() {
                let at = number * dtype.itemsize();
                let element = &mut bytes[at..at + dtype.itemsize()];
                let written = value(&index).write(&dtype, element);
                written.map_err(|error| error.within(format!("element {index:?}")))?;
                options.order.advance(&mut index, shape);
            }
            Ok(buffer)
        })?;
        Self::from_buffer(buffer, dtype, layout, 0)
    }

    /// The options that place and order a new array like this one: its place, and its order if it
    /// has one, else row-major. With them `zeros` is NumPy's `zeros_like`, and `full` its
    /// `full_like`.
    pub fn options(&self) -> ArrayOptions<'static> {
        ArrayOptions::from(self.place()).order(self.layout().order().unwrap_or(Order::RowMajor))
    }
}
