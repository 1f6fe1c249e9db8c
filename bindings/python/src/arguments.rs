//! The arguments of a method: `METH_FASTCALL | METH_KEYWORDS`.

use std::ffi::CStr;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

/// What a method was called with.
///
/// # Invariants
///
/// 1. `args` points to `count` objects, and to one more for each of `names`, as long as the call lasts.
pub(crate) struct Arguments<'py> {
    py: Python<'py>,
    method: &'static CStr,
    args: *const *mut ffi::PyObject,
    count: usize,
    /// How many without a name are taken.
    next: usize,
    names: Option<Bound<'py, PyTuple>>,
    /// Which of those with a name are taken, by bits.
    taken: u64,
}

impl<'py> Arguments<'py> {
    /// # Safety
    ///
    /// As the interpreter hands them to a method of this kind: Arguments 1, where `names` is null or a tuple of strings.
    pub(crate) unsafe fn new(
        py: Python<'py>,
        method: &'static CStr,
        args: *const *mut ffi::PyObject,
        count: isize,
        names: *mut ffi::PyObject,
    ) -> Self {
        // SAFETY: null or an object (the caller's word).
        let names = unsafe { Bound::from_borrowed_ptr_or_opt(py, names) };
        let names = names.and_then(|names| names.cast_into().ok());
        Self { py, method, args, count: count.unsigned_abs(), next: 0, names, taken: 0 }
    }

    fn argument(&self, index: usize) -> Bound<'py, PyAny> {
        let argument = self.args.wrapping_add(index);
        // SAFETY: Arguments 1.
        let object = unsafe { argument.read() };
        // SAFETY: an object that the interpreter holds for the time of the call.
        unsafe { Bound::from_borrowed_ptr(self.py, object) }
    }

    /// Those without a name; whoever takes them looks at how many there are.
    pub(crate) fn positional(&mut self) -> Vec<Bound<'py, PyAny>> {
        let all = (self.next..self.count).map(|index| self.argument(index)).collect();
        self.next = self.count;
        all
    }

    /// The next one without a name, or the one of this name.
    pub(crate) fn take(&mut self, name: &str) -> Option<Bound<'py, PyAny>> {
        if self.next < self.count {
            self.next += 1;
            return Some(self.argument(self.next - 1));
        }
        self.named(name)
    }

    /// Where the one of this name stands among those with one.
    fn position(&self, name: &str) -> Option<usize> {
        let is_it = |given: Bound<'_, PyAny>| given.cast::<PyString>().is_ok_and(|given| given == name);
        self.names.as_ref()?.iter().position(is_it)
    }

    /// Whether one of this name was given, if as `None`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    /// Those of these names, unless they are `None`. The interpreter has most names once, and so have we: these are told by their
    /// addresses.
    #[inline]
    pub(crate) fn all_named<const N: usize>(
        &mut self,
        names: [&Bound<'py, PyString>; N],
    ) -> [Option<Bound<'py, PyAny>>; N] {
        let mut found = [const { None }; N];
        let Some(given) = &self.names else { return found };
        for position in 0..given.len() {
            // SAFETY: fewer than there are.
            let name = unsafe { given.get_borrowed_item_unchecked(position) };
            let known = names.iter().position(|known| known.is(name));
            let known = known.or_else(|| names.iter().position(|known| name.eq(known).unwrap_or(false)));
            if let Some(known) = known {
                self.taken |= 1_u64.checked_shl(position as u32).unwrap_or(0);
                found[known] = Some(self.argument(self.count + position)).filter(|value| !value.is_none());
            }
        }
        found
    }

    /// The one of this name, unless it is `None`.
    pub(crate) fn named(&mut self, name: &str) -> Option<Bound<'py, PyAny>> {
        let position = self.position(name)?;
        self.taken |= 1_u64.checked_shl(position as u32).unwrap_or(0);
        Some(self.argument(self.count + position)).filter(|value| !value.is_none())
    }

    /// The names that are left, unless what they name is `None`.
    pub(crate) fn others(&self) -> impl Iterator<Item = String> {
        let left = |position: &usize| self.taken >> (*position).min(63) & 1 == 0;
        let given = |position: &usize| !self.argument(self.count + position).is_none();
        let names = self.names.iter().flat_map(|names| names.iter().enumerate());
        names.filter(move |(position, _)| left(position) && given(position)).map(|(_, name)| name.to_string())
    }

    /// Takes all that have a name.
    pub(crate) fn forgive_names(&mut self) {
        self.names = None;
    }

    /// Nothing may be left.
    pub(crate) fn finish(self) -> PyResult<()> {
        // Not before something is wrong: it looks at every letter.
        let method = || self.method.to_string_lossy();
        if self.next < self.count {
            let text =
                format!("{}() was given {} positional arguments too many", method(), self.count - self.next);
            return Err(PyTypeError::new_err(text));
        }
        let Some(names) = &self.names else { return Ok(()) };
        let is_left = |position: usize| self.taken >> position.min(63) & 1 == 0;
        match (0..names.len()).find(|&position| is_left(position)) {
            Some(position) => {
                let name = names.get_item(position)?;
                Err(PyTypeError::new_err(format!("{}() has no argument {name}, or has it twice", method())))
            }
            None => Ok(()),
        }
    }
}
