//! The arguments: guards that hold a lease, and what each permits.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;

use crossdock::array::{ArrayPin, ArrayRead, ArrayShare, ArrayView, ArrayViewMut, ArrayWrite};
use crossdock::buffer::Buffer;
use crossdock::element::Element;
use crossdock::layout::FixedLayout;
use crossdock::memory::Birth;
use crossdock::{Array, DArray};
use pyo3::prelude::*;

use crate::AnyArray;
use crate::claims::Claim;
use crate::errors;
use crate::extract::{self, Lend, typed};

/// A lease with its claim and its array, which end while the thread holds the GIL.
struct Held<'py, G> {
    py: Python<'py>,
    parts: ManuallyDrop<(G, Claim, DArray)>,
}

impl<'py, G> Held<'py, G> {
    fn new<T: Element, const D: usize>(
        object: &Bound<'py, PyAny>,
        lend: Lend,
        writes: bool,
        lease: impl FnOnce(&Array<T, D>) -> crossdock::Result<G>,
    ) -> PyResult<Self> {
        let py = object.py();
        let array: Array<T, D> = typed(object, lend)?;
        let taken = lease(&array).map_err(|error| errors::refusal(&error));
        let array = DArray::from(array);
        let parts = taken.and_then(|lease| Ok((lease, Claim::of(py, &array, writes)?)));
        match parts {
            Ok((lease, claim)) => Ok(Self { py, parts: ManuallyDrop::new((lease, claim, array)) }),
            Err(error) => {
                // A refused import ends at once.
                drop(array);
                Err(error)
            }
        }
    }

    fn lease(&self) -> &G {
        &self.parts.0
    }

    fn array(&self) -> &DArray {
        &self.parts.2
    }
}

impl<G> Drop for Held<'_, G> {
    fn drop(&mut self) {
        // SAFETY: the parts are dropped here only, and not used after it.
        unsafe { ManuallyDrop::drop(&mut self.parts) };
    }
}

macro_rules! argument {
    ($(#[$doc:meta])* $name:ident, $lease:ident, $lend:expr, $writes:literal, $method:ident) => {
        $(#[$doc])*
        pub struct $name<'py, T: Element, const D: usize>(Held<'py, $lease<T, D>>);

        impl<T: Element, const D: usize> $name<'_, T, D> {
            /// The lease itself. Other threads may use it while the guard is borrowed, as in
            /// `py.detach(…)`, without the GIL.
            pub fn access(&self) -> &$lease<T, D> {
                self.0.lease()
            }

            /// A handle on the same memory, without a lease, and read-only unless the argument is a
            /// [`Writable`]. It may outlive the call.
            pub fn to_array(&self) -> AnyArray {
                let array = self.0.array().clone();
                AnyArray(if $writes { array } else { array.into_readonly() })
            }
        }

        impl<T: Element, const D: usize> Deref for $name<'_, T, D> {
            type Target = $lease<T, D>;

            fn deref(&self) -> &$lease<T, D> {
                self.0.lease()
            }
        }

        impl<'py, T: Element, const D: usize> FromPyObject<'_, 'py> for $name<'py, T, D> {
            type Error = PyErr;

            fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                Held::new(&object, $lend, $writes, Array::<T, D>::$method).map(Self)
            }
        }
    };
}

argument! {
    /// An array that the function reads. Other parties may write it meanwhile, so elements are
    /// loaded by value.
    Readonly, ArrayPin, extract::any, false, pin
}

argument! {
    /// An array that the function writes, by value, as other parties may do meanwhile.
    Writable, ArrayShare, extract::any, true, share
}

argument! {
    /// An array that no party writes, so elements are accessed by `&T`: `bytes`, memory that
    /// Crossdock allocated and no other library has, sealed shared memory.
    ///
    /// Promises that Python code can break are not enough, such as those of Arrow's columns, of
    /// pandas and Pillow, and of `crossdock.asarray(x, frozen=True)`: take a [`Readonly`], and
    /// vouch with the unsafe [`Readonly::assume_constant`].
    Constant, ArrayRead, extract::constant, false, read
}

impl<T: Element, const D: usize> Readonly<'_, T, D> {
    /// The elements by `&T`, on the caller's word. O(`D`).
    ///
    /// # Errors
    ///
    /// `BufferError` for unaligned elements.
    ///
    /// # Safety
    ///
    /// While the result lives, no party writes the elements: no other thread, process or library,
    /// and no Python code that this function calls.
    pub unsafe fn assume_constant(&self) -> PyResult<Unwritten<'_, T, D>> {
        // SAFETY: `# Safety`: no party writes the elements while the result lives.
        let array = unsafe { again(self.0.array(), Birth::Constant) };
        let lease = array.and_then(|array: Array<T, D>| array.read());
        let lease = lease.map_err(|error| errors::refusal(&error))?;
        Ok(Unwritten { lease, borrow: PhantomData })
    }
}

impl<T: Element, const D: usize> Writable<'_, T, D> {
    /// The elements by `&mut T`, on the caller's word. O(`D` log `D`).
    ///
    /// # Errors
    ///
    /// `BufferError` for unaligned elements, and for elements that overlap, as in a broadcast
    /// array.
    ///
    /// # Safety
    ///
    /// While the result lives, no party reads or writes the elements but through it: no other
    /// thread, process or library, and no Python code that this function calls.
    pub unsafe fn assume_exclusive(&mut self) -> PyResult<Exclusive<'_, T, D>> {
        // SAFETY: `# Safety`: no other party accesses the elements while the result lives.
        let array = unsafe { again(self.0.array(), Birth::Sole) };
        let lease = array.and_then(|array: Array<T, D>| array.write());
        let lease = lease.map_err(|error| errors::refusal(&error))?;
        Ok(Exclusive { lease, borrow: PhantomData })
    }
}

/// The elements of a [`Readonly`] while no party writes them.
pub struct Unwritten<'a, T: Element, const D: usize> {
    lease: ArrayRead<T, D>,
    borrow: PhantomData<&'a ()>,
}

impl<T: Element, const D: usize> Deref for Unwritten<'_, T, D> {
    type Target = ArrayRead<T, D>;

    fn deref(&self) -> &ArrayRead<T, D> {
        &self.lease
    }
}

/// The elements of a [`Writable`] while no other party accesses them.
pub struct Exclusive<'a, T: Element, const D: usize> {
    lease: ArrayWrite<T, D>,
    borrow: PhantomData<&'a mut ()>,
}

impl<T: Element, const D: usize> Exclusive<'_, T, D> {
    /// The elements, by reference.
    pub fn view(&self) -> ArrayView<'_, T, D> {
        self.lease.view()
    }

    /// The elements, by mutable reference.
    pub fn view_mut(&mut self) -> ArrayViewMut<'_, T, D> {
        self.lease.view_mut()
    }
}

/// The same elements as an allocation of their own, whose leases know nothing of other parties.
///
/// # Safety
///
/// While the result and its leases live, no other party writes the elements, and for `Birth::Sole`
/// none reads them.
unsafe fn again<T: Element, const D: usize>(array: &DArray, birth: Birth) -> crossdock::Result<Array<T, D>> {
    let layout: FixedLayout<D> = array.layout().to_fixed()?;
    let span = layout.span(size_of::<T>());
    let start = array.as_ptr().cast_mut().wrapping_byte_offset(span.low());
    let kept = array.clone();
    let release = move || drop(kept);
    // SAFETY: clauses 1 and 2 of `from_foreign`: `kept` keeps the memory of the span, which the
    // array's layout was checked against, and memory on the host is initialised. Clause 3: this
    // function's `# Safety`; gaps between elements are not accessed through the layout.
    let buffer = unsafe { Buffer::from_foreign(start, span.nbytes(), array.place(), birth, release) }?;
    Array::from_buffer_with_layout(buffer, layout, span.low().unsigned_abs())
}
