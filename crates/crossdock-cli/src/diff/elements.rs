//! Compares the elements of two arrays of scalars, tile by tile, on several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use crossdock::bindings::threads::num_threads;
use crossdock::buffer::ReadGuard;
use crossdock::element::{DType, ScalarKind, Value};
use crossdock::layout::Order;
use crossdock::view::Request;
use crossdock::{Casting, DArray};

use crate::diff::rule::{Compared, Comparison, Distance, Rule};
use crate::diff::tiles::{Tiles, index_at};
use crate::failure::{Failure, Result};

/// The differences that were found. Each position is the index of an element in row-major order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Differences {
    pub(super) differing: usize,
    /// Elements that are NaN or NaT in one array only.
    pub(super) one_is_nan: usize,
    pub(super) first: Option<usize>,
    pub(super) greatest: Option<(Distance, usize)>,
    pub(super) greatest_relative: Option<(f64, usize)>,
}

impl Differences {
    #[inline]
    pub(super) fn add(&mut self, compared: Compared, position: usize) {
        if compared == Compared::default() {
            return;
        }
        self.differing += usize::from(compared.differs);
        self.one_is_nan += usize::from(compared.one_is_nan);
        if compared.differs && self.first.is_none() {
            self.first = Some(position);
        }
        greater(&mut self.greatest, compared.distance.map(|distance| (distance, position)));
        greater(&mut self.greatest_relative, compared.relative.map(|relative| (relative, position)));
    }

    /// The same with positions in another array.
    fn moved(mut self, to: impl Fn(usize) -> usize) -> Self {
        self.first = self.first.map(&to);
        self.greatest = self.greatest.map(|(distance, position)| (distance, to(position)));
        self.greatest_relative = self.greatest_relative.map(|(relative, position)| (relative, to(position)));
        self
    }

    fn merge(&mut self, other: Self) {
        self.differing += other.differing;
        self.one_is_nan += other.one_is_nan;
        self.first = self.first.into_iter().chain(other.first).min();
        greater(&mut self.greatest, other.greatest);
        greater(&mut self.greatest_relative, other.greatest_relative);
    }
}

/// Keeps the greater number; of equal ones, the first.
fn greater<T: PartialOrd>(kept: &mut Option<(T, usize)>, other: Option<(T, usize)>) {
    let Some((new, at)) = other else { return };
    let replaces = kept.as_ref().is_none_or(|(old, old_at)| new > *old || new == *old && at < *old_at);
    if replaces {
        *kept = Some((new, at));
    }
}

/// A comparison of two arrays of scalars, of one shape.
pub(super) struct Elements<'a> {
    pub(super) a: &'a DArray,
    pub(super) b: &'a DArray,
    pub(super) kinds: (ScalarKind, ScalarKind),
    pub(super) comparison: Comparison,
    pub(super) rule: Rule,
    /// Whether any difference answers the question.
    pub(super) brief: bool,
}

impl Elements<'_> {
    /// Compares all elements. Calls `tick` with the number of elements that were compared, and
    /// stops at its error.
    pub(super) fn compare(&self, tick: &(dyn Fn(usize) -> Result<()> + Sync)) -> Result<Differences> {
        if self.a.is_empty() || self.a.dtype().itemsize() == 0 && self.b.dtype().itemsize() == 0 {
            return Ok(Differences::default());
        }
        let tiles = Tiles::new(self.a, self.b);
        let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let shared: Mutex<Result<Differences>> = Mutex::new(Ok(Differences::default()));
        let work = || {
            let mut tally = Differences::default();
            let mut outcome = Ok(());
            while outcome.is_ok() && !stopped.load(Relaxed) {
                let number = next.fetch_add(1, Relaxed);
                if number >= tiles.len() {
                    break;
                }
                outcome = self.tile(&tiles, number, &mut tally).and_then(tick);
                if outcome.is_err() || self.brief && tally.differing > 0 {
                    stopped.store(true, Relaxed);
                }
            }
            let mut all = shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match (&mut *all, outcome) {
                (Ok(all), Ok(())) => all.merge(tally),
                (Ok(_), Err(failure)) => *all = Err(failure),
                (Err(_), _) => {}
            }
        };
        let threads = num_threads().min(tiles.len());
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| {
                scope.spawn(work);
            });
            work();
        });
        shared.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Compares one tile, and returns the number of its elements.
    fn tile(&self, tiles: &Tiles, number: usize, tally: &mut Differences) -> Result<usize> {
        let origin = tiles.origin(number);
        let (a, b) = (tiles.part(self.a, &origin)?, tiles.part(self.b, &origin)?);
        if !self.is_same(&a, &b)? {
            let found = self.each(&a, &b)?;
            // In both the tile and the whole, the first index is the least position.
            tally.merge(found.moved(|position| {
                let within = index_at(a.shape(), position);
                let parts = origin.iter().zip(within).zip(self.a.shape());
                parts.fold(0, |whole, ((first, within), length)| whole * length + first + within)
            }));
        }
        Ok(a.len())
    }

    /// Whether the tiles have equal elements, by the library's fastest comparison.
    fn is_same(&self, a: &DArray, b: &DArray) -> crossdock::Result<bool> {
        if self.kinds.0 != self.kinds.1 {
            return Ok(false);
        }
        match (self.comparison, self.rule.equal_nan) {
            (Comparison::Real, true) => a.all_close(b, 0.0, 0.0, true),
            _ => match a.equals(b) {
                // Invalid text is compared byte by byte.
                Err(error) if error.is_value() => Ok(false),
                same => same,
            },
        }
    }

    /// Compares the elements of two tiles one by one.
    fn each(&self, a: &DArray, b: &DArray) -> Result<Differences> {
        let mut tally = Differences::default();
        match self.comparison {
            Comparison::Truths => {
                let (a, b) = (bytes(a, &DType::BOOL)?, bytes(b, &DType::BOOL)?);
                for (at, (a, b)) in a.iter().zip(&*b).enumerate() {
                    tally.add(Compared { differs: a != b, ..Compared::default() }, at);
                }
            }
            Comparison::Signed => {
                let (a, b) = (bytes(a, &DType::I64)?, bytes(b, &DType::I64)?);
                let pairs = a.as_chunks().0.iter().zip(b.as_chunks().0);
                for (at, (&a, &b)) in pairs.enumerate() {
                    let (a, b) = (i64::from_ne_bytes(a), i64::from_ne_bytes(b));
                    if a != b {
                        tally.add(self.rule.integer(a.into(), b.into()), at);
                    }
                }
            }
            Comparison::Unsigned => {
                let (a, b) = (bytes(a, &DType::U64)?, bytes(b, &DType::U64)?);
                let pairs = a.as_chunks().0.iter().zip(b.as_chunks().0);
                for (at, (&a, &b)) in pairs.enumerate() {
                    let (a, b) = (u64::from_ne_bytes(a), u64::from_ne_bytes(b));
                    if a != b {
                        tally.add(self.rule.integer(a.into(), b.into()), at);
                    }
                }
            }
            Comparison::Real => {
                let (a, b) = (bytes(a, &DType::F64)?, bytes(b, &DType::F64)?);
                let pairs = a.as_chunks().0.iter().zip(b.as_chunks().0);
                for (at, (&a, &b)) in pairs.enumerate() {
                    tally.add(self.rule.real(f64::from_ne_bytes(a), f64::from_ne_bytes(b)), at);
                }
            }
            Comparison::Complex => {
                let (a, b) = (bytes(a, &DType::C128)?, bytes(b, &DType::C128)?);
                let number = |pair: &[[u8; 8]; 2]| (f64::from_ne_bytes(pair[0]), f64::from_ne_bytes(pair[1]));
                let pairs = a.as_chunks().0.as_chunks().0.iter().zip(b.as_chunks().0.as_chunks().0);
                for (at, (a, b)) in pairs.enumerate() {
                    tally.add(self.rule.complex(number(a), number(b)), at);
                }
            }
            Comparison::Values => {
                let (left, right) = (packed(a)?, packed(b)?);
                for at in 0..a.len() {
                    let (one, other) = (element(a, &left, at), element(b, &right, at));
                    let compared = match (Value::read(a.dtype(), one), Value::read(b.dtype(), other)) {
                        (Ok(one), Ok(other)) => self.rule.values(&one, &other),
                        _ => Compared { differs: one != other, ..Compared::default() },
                    };
                    tally.add(compared, at);
                }
            }
        }
        Ok(tally)
    }
}

/// The elements as another dtype, in row-major order.
fn bytes(array: &DArray, dtype: &DType) -> Result<ReadGuard> {
    let (buffer, _) = array.cast(dtype, Order::RowMajor, Casting::Checked)?.buffer()?;
    Ok(buffer.read()?)
}

fn packed(array: &DArray) -> Result<Vec<u8>> {
    let view =
        array.export(&Request::pin()).map_err(|refusal| Failure::from(crossdock::Error::from(refusal)))?;
    Ok(view.to_bytes()?)
}

fn element<'a>(array: &DArray, packed: &'a [u8], at: usize) -> &'a [u8] {
    let itemsize = array.dtype().itemsize();
    &packed[at * itemsize..][..itemsize]
}
