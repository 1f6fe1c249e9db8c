//! The arguments of a method: `METH_FASTCALL | METH_KEYWORDS`.

use std::ffi::CStr;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::signature::Signature;

/// The arguments of one call of a method.
///
/// # Invariants
///
/// 1. `args` points to `count` positional arguments, followed by one value for each of `names`. All
///    are live objects for the duration of the call.
pub(crate) struct Arguments<'py> {
    py: Python<'py>,
    /// The signature is its first line.
    docstring: &'static CStr,
    args: *const *mut ffi::PyObject,
    count: usize,
    /// How many positional arguments have been taken.
    next: usize,
    names: Option<Bound<'py, PyTuple>>,
    /// The named arguments that have been taken, as a bit set.
    taken: u64,
}

impl<'py> Arguments<'py> {
    /// # Safety
    ///
    /// 1. Arguments 1 holds for `args`, `count` and `names` while the result lives, as the
    ///    vectorcall protocol guarantees.
    /// 2. `names` is null or a live tuple of strings.
    pub(crate) unsafe fn new(
        py: Python<'py>,
        docstring: &'static CStr,
        args: *const *mut ffi::PyObject,
        count: isize,
        names: *mut ffi::PyObject,
    ) -> Self {
        // SAFETY: clause 2 of `# Safety`: `names` is null or a live tuple, and `py` proves that
        // this thread holds the GIL.
        let names = unsafe { Bound::from_borrowed_ptr_or_opt(py, names) };
        let names = names.and_then(|names| names.cast_into().ok());
        Self { py, docstring, args, count: count.unsigned_abs(), next: 0, names, taken: 0 }
    }

    fn argument(&self, index: usize) -> Bound<'py, PyAny> {
        let argument = self.args.wrapping_add(index);
        // SAFETY: Arguments 1: every caller passes an index below `count` plus the number of names,
        // so the entry exists.
        let object = unsafe { argument.read() };
        // SAFETY: Arguments 1: the entry is a live object for the duration of the call, and
        // `self.py` proves that the GIL is held.
        unsafe { Bound::from_borrowed_ptr(self.py, object) }
    }

    /// The remaining positional arguments; the caller checks their number.
    pub(crate) fn positional(&mut self) -> Vec<Bound<'py, PyAny>> {
        let all = (self.next..self.count).map(|index| self.argument(index)).collect();
        self.next = self.count;
        all
    }

    /// The next positional argument, or the argument of this name.
    pub(crate) fn take(&mut self, name: &str) -> Option<Bound<'py, PyAny>> {
        if self.next < self.count {
            self.next += 1;
            return Some(self.argument(self.next - 1));
        }
        self.named(name)
    }

    /// The index of a name among the named arguments.
    fn position(&self, name: &str) -> Option<usize> {
        let is_it = |given: Bound<'_, PyAny>| given.cast::<PyString>().is_ok_and(|given| given == name);
        self.names.as_ref()?.iter().position(is_it)
    }

    /// Whether the call names this argument, even if its value is `None`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    /// The arguments of these names, except those that are `None`. Names are compared by address
    /// first, since the interpreter interns most of them and so does this module.
    #[inline]
    pub(crate) fn all_named<const N: usize>(
        &mut self,
        names: [&Bound<'py, PyString>; N],
    ) -> [Option<Bound<'py, PyAny>>; N] {
        let mut found = [const { None }; N];
        let Some(given) = &self.names else { return found };
        for position in 0..given.len() {
            // SAFETY: `position` runs over `0..given.len()`, so the tuple has this item; tuples
            // never change their length.
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

    /// The argument of this name, unless it is `None`.
    pub(crate) fn named(&mut self, name: &str) -> Option<Bound<'py, PyAny>> {
        let position = self.position(name)?;
        self.taken |= 1_u64.checked_shl(position as u32).unwrap_or(0);
        Some(self.argument(self.count + position)).filter(|value| !value.is_none())
    }

    /// The names that have not been taken, except those whose value is `None`.
    pub(crate) fn others(&self) -> impl Iterator<Item = String> {
        let left = |position: &usize| self.taken >> (*position).min(63) & 1 == 0;
        let given = |position: &usize| !self.argument(self.count + position).is_none();
        let names = self.names.iter().flat_map(|names| names.iter().enumerate());
        names.filter(move |(position, _)| left(position) && given(position)).map(|(_, name)| name.to_string())
    }

    /// Accepts all remaining named arguments.
    pub(crate) fn forgive_names(&mut self) {
        self.names = None;
    }

    /// The next positional argument, or the argument of this name. It has no default.
    pub(crate) fn need(&mut self, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = self.take(name);
        found
            .ok_or_else(|| self.unknown_name().unwrap_or_else(|| self.signature(|known| known.missing(name))))
    }

    /// Runs `f` with the signature of the method, which only errors need.
    #[cold]
    fn signature(&self, f: impl FnOnce(&Signature<'_>) -> PyErr) -> PyErr {
        f(&Signature::of_docstring(&self.docstring.to_string_lossy()))
    }

    /// The error for a name that the method does not have, if there is one.
    #[cold]
    fn unknown_name(&self) -> Option<PyErr> {
        let mut names = self.names.iter().flat_map(|names| names.iter()).map(|name| name.to_string());
        let docstring = self.docstring.to_string_lossy();
        let signature = Signature::of_docstring(&docstring);
        names.find(|name| !signature.has(name)).map(|name| signature.unexpected(&name))
    }

    /// Fails if an argument has not been taken.
    pub(crate) fn finish(self) -> PyResult<()> {
        if self.next < self.count {
            return Err(self.signature(|known| known.too_many(self.count)));
        }
        let Some(names) = &self.names else { return Ok(()) };
        let is_left = |position: usize| self.taken >> position.min(63) & 1 == 0;
        match (0..names.len()).find(|&position| is_left(position)) {
            Some(position) => {
                let name = names.get_item(position)?.to_string();
                Err(self.unknown_name().unwrap_or_else(|| self.signature(|known| known.twice(&name))))
            }
            None => Ok(()),
        }
    }
}
