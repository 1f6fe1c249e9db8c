//! The queries that every array answers without touching an element: one list for static ranks, one
//! for dynamic ranks, and one for handles, which know their memory.
//!
//! Each macro expands in an `impl` block and takes the fields with the layout and the address of
//! element 0. All queries are O(1) or O(rank), read only the handle, and work on any place.

/// The queries of [`Array`](crate::Array), of its guards, and of borrowed views: `D` and `T` are in
/// scope.
macro_rules! typed_queries {
    ($this:ident: $layout:expr, $ptr:expr) => {
        /// The number of axes, `D`.
        #[inline]
        pub const fn rank(&$this) -> usize {
            D
        }

        /// The lengths of the axes.
        #[inline]
        pub fn shape(&$this) -> &[usize; D] {
            $layout.shape()
        }

        /// The distance between neighbours along each axis, in bytes.
        #[inline]
        pub fn strides(&$this) -> &[isize; D] {
            $layout.strides()
        }

        /// Shape and strides.
        #[inline]
        pub fn layout(&$this) -> &crate::layout::FixedLayout<D> {
            &$layout
        }

        /// The number of elements.
        #[inline]
        pub fn len(&$this) -> usize {
            $layout.len()
        }

        /// Whether there are no elements.
        #[inline]
        pub fn is_empty(&$this) -> bool {
            $layout.is_empty()
        }

        /// The number of bytes of all elements, without gaps.
        #[inline]
        pub fn nbytes(&$this) -> usize {
            $layout.nbytes(size_of::<T>())
        }

        /// The type of the elements.
        #[inline]
        pub fn dtype(&$this) -> crate::element::DType {
            T::dtype()
        }

        /// Whether the elements are contiguous in this order. Axes of length 1 do not matter, and
        /// an empty array is contiguous in both orders.
        #[inline]
        pub fn is_contiguous(&$this, order: crate::layout::Order) -> bool {
            $layout.is_contiguous(size_of::<T>(), order)
        }

        /// The order in which the elements are contiguous; row-major if they are in both.
        #[inline]
        pub fn order(&$this) -> Option<crate::layout::Order> {
            $layout.order(size_of::<T>())
        }

        /// The address of element 0 on its device. It carries no permission to access it.
        #[inline]
        pub fn as_ptr(&$this) -> *const T {
            $ptr.as_ptr().cast_const().cast()
        }
    };
}

/// The queries of [`DArray`](crate::DArray) and of [`MemoryView`](crate::view::MemoryView), which
/// have a field `dtype`.
macro_rules! dynamic_queries {
    ($this:ident: $layout:expr, $ptr:expr) => {
        /// The number of axes.
        #[inline]
        pub fn rank(&$this) -> usize {
            $layout.rank()
        }

        /// The lengths of the axes.
        #[inline]
        pub fn shape(&$this) -> &[usize] {
            $layout.shape()
        }

        /// The distance between neighbours along each axis, in bytes.
        #[inline]
        pub fn strides(&$this) -> &[isize] {
            $layout.strides()
        }

        /// Shape, strides and item size.
        #[inline]
        pub fn layout(&$this) -> &crate::layout::Layout {
            &$layout
        }

        /// The number of elements.
        #[inline]
        pub fn len(&$this) -> usize {
            $layout.len()
        }

        /// Whether there are no elements.
        #[inline]
        pub fn is_empty(&$this) -> bool {
            $layout.is_empty()
        }

        /// The number of bytes of all elements, without gaps.
        #[inline]
        pub fn nbytes(&$this) -> usize {
            $layout.nbytes()
        }

        /// The type of the elements.
        #[inline]
        pub fn dtype(&$this) -> &crate::element::DType {
            &$this.dtype
        }

        /// Whether the elements are contiguous in this order. Axes of length 1 do not matter, and
        /// an empty array is contiguous in both orders.
        #[inline]
        pub fn is_contiguous(&$this, order: crate::layout::Order) -> bool {
            $layout.is_contiguous(order)
        }

        /// The order in which the elements are contiguous; row-major if they are in both.
        #[inline]
        pub fn order(&$this) -> Option<crate::layout::Order> {
            $layout.order()
        }

        /// The address of element 0 on its device. It carries no permission to access it.
        #[inline]
        pub fn as_ptr(&$this) -> *const u8 {
            $ptr.as_ptr()
        }
    };
}

/// The properties of a handle's memory: [`Array`](crate::Array) and [`DArray`](crate::DArray),
/// which have a field `raw`.
macro_rules! memory_queries {
    ($this:ident) => {
        /// The device.
        #[inline]
        pub fn place(&$this) -> crate::memory::Place {
            $this.raw.place()
        }

        /// The kind of memory.
        #[inline]
        pub fn backing(&$this) -> crate::memory::Backing {
            $this.raw.handle().header().backing()
        }

        /// The number of leases on the memory, of any kind and by any array.
        #[doc(hidden)]
        pub fn lease_count(&$this) -> u64 {
            $this.raw.handle().header().reading().lease_count()
        }

        /// Who else may access the memory.
        #[inline]
        pub fn birth(&$this) -> crate::memory::Birth {
            $this.raw.handle().header().birth()
        }

        /// Whether `&T` of the memory relies on a promise that a Python program can break.
        #[doc(hidden)]
        pub fn relies_on_promise(&$this) -> bool {
            $this.raw.handle().header().is_promised()
        }

        /// Whether this handle is read-only.
        #[inline]
        pub fn is_readonly(&$this) -> bool {
            $this.raw.is_readonly()
        }

        /// The protocols by which the memory was ever exported.
        #[inline]
        pub fn exported(&$this) -> crate::memory::Protocols {
            $this.raw.handle().header().exported()
        }

        /// The fault of the memory, if any: for a guarded file map, that its file shrank.
        #[inline]
        pub fn fault(&$this) -> Option<crate::error::Error> {
            $this.raw.handle().fault()
        }
    };
}

pub(crate) use {dynamic_queries, memory_queries, typed_queries};
