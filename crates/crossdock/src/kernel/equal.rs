//! Whether two arrays have equal, or nearly equal, elements.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::element::exact_number::ExactNumber;
use crate::element::{DType, DTypeKind, NAT, Scalar, ScalarKind, SubArray, Value};
use crate::error::{Error, Kind, Result};
use crate::kernel::block::{BlockReader, LaneBlock};
use crate::kernel::cast::CastPlan;
use crate::kernel::cpu::{Level, at_each_level};
use crate::kernel::indirection::Endpoint;
use crate::kernel::pair::{LayoutPair, PER_PART, SHARED};
use crate::kernel::{Casting, Racy, each_direct, load_bytes, one_of_all, threads};
use crate::layout::{Layout, Order};
use crate::memory::Pod;

/// When two elements count as the same.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EqualityRule {
    /// As NumPy's `==`: NaN is unequal to itself, -0.0 equals 0.0, padding is ignored.
    Equal,
    /// As NumPy's `isclose`: `|a - b| <= atol + rtol * |b|`, in double precision, or exactly with
    /// long doubles.
    Close {
        /// The tolerance relative to `|b|`.
        rtol: f64,
        /// The absolute tolerance.
        atol: f64,
        /// Whether NaN is close to NaN.
        equal_nan: bool,
    },
}

/// One of the two arrays.
#[derive(Clone, Copy)]
pub(crate) struct ComparedArray<'a> {
    pub(crate) src: *const u8,
    pub(crate) dtype: &'a DType,
    pub(crate) layout: &'a Layout,
}

/// The position, in row-major order, of the first element that differs; `None` if there is none.
/// Copies nothing.
///
/// # Errors
///
/// `is_dtype` where the dtypes do not match. For equality, they may differ in byte order and in the
/// offsets of fields. For closeness, they must be numbers.
/// `is_value` for invalid text.
///
/// # Safety
///
/// 1. Each layout, of elements of its dtype, applied at its `src`, reaches only bytes that may be
///    loaded racily. Pointers that it follows are as for [`element_at`](crate::kernel::element_at).
/// 2. The shapes are equal.
pub(crate) unsafe fn first_difference(
    left: ComparedArray<'_>,
    right: ComparedArray<'_>,
    rule: EqualityRule,
) -> Result<Option<usize>> {
    let compare = Compare { rule, level: Level::current() };
    let part = |first, (left_src, left_layout): Endpoint<'_>, (right_src, right_layout): Endpoint<'_>| {
        let left = ComparedArray { src: left_src, dtype: left.dtype, layout: left_layout };
        let right = ComparedArray { src: right_src, dtype: right.dtype, layout: right_layout };
        // SAFETY: clauses 1 and 2 of `# Safety`: `each_direct` passes direct parts of both arrays,
        // which have one shape.
        let found = unsafe { compare.any(left, right) }?;
        Ok(found.map(|position: usize| first + position))
    };
    // SAFETY: clauses 1 and 2 of `# Safety`: both layouts go with their pointers, and their shapes
    // are equal.
    unsafe { each_direct((left.src.cast_mut(), left.layout), (right.src.cast_mut(), right.layout), part) }
}

/// How to compare.
///
/// Invariant 1: `level` is available.
#[derive(Clone, Copy)]
struct Compare {
    rule: EqualityRule,
    level: Level,
}

impl Compare {
    /// # Safety
    ///
    /// Clauses 1 and 2 of [`first_difference`], for direct layouts.
    unsafe fn any(self, left: ComparedArray<'_>, right: ComparedArray<'_>) -> Result<Option<usize>> {
        let differ = || {
            let (left, right) = (left.dtype.brief(), right.dtype.brief());
            Error::new(Kind::DType, format!("{left} and {right} cannot be compared; cast one of them"))
        };
        if left.layout.itemsize() == 0 && right.layout.itemsize() == 0 && left.layout.len() > 1 {
            let (one, other) = (one_of_all(left.layout)?, one_of_all(right.layout)?);
            // SAFETY: the elements have size 0, so `one` and `other` reach no byte; their shapes
            // are equal because the layouts' are (clause 2 of `first_difference`).
            return unsafe {
                self.any(ComparedArray { layout: &one, ..left }, ComparedArray { layout: &other, ..right })
            };
        }
        match (left.dtype.kind(), right.dtype.kind()) {
            (DTypeKind::Scalar(one), DTypeKind::Scalar(other)) => {
                let (first, second) = self.scalars(one, other).ok_or_else(differ)?;
                let (a, b) = (self.plan(one, first), self.plan(other, second));
                match (a, b) {
                    (Some((a, width)), Some((b, _))) => {
                        let numbers = NumberComparison {
                            left: a,
                            right: b,
                            same: self.loop_of(first),
                            rule: self.rule,
                            level: self.level,
                            width,
                        };
                        // SAFETY: clauses 1 and 2 of `first_difference`: both arrays are passed on
                        // unchanged, and the plans load scalars of their dtypes.
                        unsafe { numbers.first(left, right) }
                    }
                    // SAFETY: clauses 1 and 2 of `first_difference`: both arrays are passed on
                    // unchanged, with the dtypes of their elements.
                    _ => unsafe { by_value(left, right, self.rule) },
                }
            }
            (DTypeKind::Record(one), DTypeKind::Record(other)) => {
                let (fields, others) = (one.fields(), other.fields());
                if fields.len() != others.len() {
                    return Err(differ());
                }
                let mut first: Option<usize> = None;
                for (field, other) in fields.iter().zip(others) {
                    if field.name() != other.name() {
                        return Err(differ());
                    }
                    let part = |array: ComparedArray<'_>, dtype: &DType| {
                        Layout::new(array.layout.shape(), array.layout.strides(), dtype.itemsize())
                    };
                    let (a, b) = (part(left, field.dtype())?, part(right, other.dtype())?);
                    let (a_at, b_at) =
                        (left.src.wrapping_add(field.offset()), right.src.wrapping_add(other.offset()));
                    let a = ComparedArray { src: a_at, dtype: field.dtype(), layout: &a };
                    let b = ComparedArray { src: b_at, dtype: other.dtype(), layout: &b };
                    // SAFETY: clauses 1 and 2 of `first_difference`: a field lies within its
                    // record, so both parts reach bytes of the arrays, and they keep the shapes.
                    let found = unsafe { self.any(a, b) }?;
                    first = first.into_iter().chain(found).min();
                }
                Ok(first)
            }
            (DTypeKind::SubArray(one), DTypeKind::SubArray(other)) if one.shape() == other.shape() => {
                let inner = |array: ComparedArray<'_>, part: &SubArray| {
                    let inner = Layout::contiguous(part.shape(), part.base().itemsize(), Order::RowMajor)?;
                    array.layout.with_inner(&inner)
                };
                let (a, b) = (inner(left, one)?, inner(right, other)?);
                let a = ComparedArray { src: left.src, dtype: one.base(), layout: &a };
                let b = ComparedArray { src: right.src, dtype: other.base(), layout: &b };
                // SAFETY: clauses 1 and 2 of `first_difference`: the inner layouts reach the same
                // bytes, as elements of the base dtypes, and both sub-arrays have one shape.
                let found = unsafe { self.any(a, b) }?;
                Ok(found.map(|position| position / one.len()))
            }
            _ => Err(differ()),
        }
    }

    /// The kinds to which two scalars are converted before they are compared; `None` where they do
    /// not match.
    fn scalars(self, one: Scalar, other: Scalar) -> Option<(ScalarKind, ScalarKind)> {
        let both = |kind| Some((kind, kind));
        match self.rule {
            EqualityRule::Equal => {
                (one.kind() == other.kind()).then_some(())?;
                both(match one.kind() {
                    ScalarKind::Bool => ScalarKind::UInt8,
                    ScalarKind::Complex32 => ScalarKind::Complex64,
                    kind if CastPlan::is_narrow(kind) => ScalarKind::Float32,
                    kind => kind,
                })
            }
            EqualityRule::Close { .. } => {
                let complex = |kind| {
                    matches!(kind, ScalarKind::Complex32 | ScalarKind::Complex64 | ScalarKind::Complex128)
                };
                let is_long = |kind| matches!(kind, ScalarKind::LongDouble | ScalarKind::ComplexLongDouble);
                let is_number = |kind| CastPlan::is_number(kind) || is_long(kind);
                (is_number(one.kind()) && is_number(other.kind())).then_some(())?;
                if is_long(one.kind()) || is_long(other.kind()) {
                    // There are no loops for these.
                    return both(ScalarKind::LongDouble);
                }
                both(if complex(one.kind()) || complex(other.kind()) {
                    ScalarKind::Complex128
                } else {
                    ScalarKind::Float64
                })
            }
        }
    }

    /// The steps to the kind that is compared, and its width; `None` if there are no loops for
    /// them.
    fn plan(self, from: Scalar, kind: ScalarKind) -> Option<(CastPlan, usize)> {
        let to = Scalar::new(kind, crate::element::ByteOrder::NATIVE).ok()?;
        let width = kind.itemsize();
        // SAFETY: clause 1 of `new`: Compare 1: the level is available.
        if let Some(plan) = unsafe { CastPlan::new(from, to, Casting::Saturating, self.level) } {
            return Some((plan, width));
        }
        // Scalars that hold no numbers are compared as bytes.
        let bytes = matches!(
            kind,
            ScalarKind::Bytes(_) | ScalarKind::Void(_) | ScalarKind::Text(_) | ScalarKind::Pointer
        );
        (bytes && from == to).then_some(())?;
        // SAFETY: clause 1 of `bytes`: Compare 1: the level is available.
        Some((unsafe { CastPlan::bytes(width, self.level) }?, width))
    }

    fn loop_of(self, kind: ScalarKind) -> Same {
        match (self.rule, kind) {
            (EqualityRule::Close { .. }, ScalarKind::Complex128) => same::<CloseComplex>(self.level),
            (EqualityRule::Close { .. }, _) => same::<Close>(self.level),
            (EqualityRule::Equal, ScalarKind::Float32 | ScalarKind::Complex64) => {
                same::<EqualFloats<f32>>(self.level)
            }
            (EqualityRule::Equal, ScalarKind::Float64 | ScalarKind::Complex128) => {
                same::<EqualFloats<f64>>(self.level)
            }
            (EqualityRule::Equal, ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_)) => {
                same::<EqualDates>(self.level)
            }
            (EqualityRule::Equal, _) => same::<EqualBytes>(self.level),
        }
    }
}

/// A comparison by loops over blocks.
///
/// Invariant 1: `level` is available, and both plans and `same` were made for it.
struct NumberComparison {
    left: CastPlan,
    right: CastPlan,
    same: Same,
    rule: EqualityRule,
    level: Level,
    /// The item size of the kind that is compared.
    width: usize,
}

impl NumberComparison {
    /// # Safety
    ///
    /// Clauses 1 and 2 of [`first_difference`], for direct layouts and scalars that the plans
    /// convert.
    unsafe fn first(&self, left: ComparedArray<'_>, right: ComparedArray<'_>) -> Result<Option<usize>> {
        // First in the order of the memory: most arrays that are compared are equal, and then the
        // order does not matter.
        let parts = threads::parts(left.layout.len(), SHARED, PER_PART);
        let is_run = |array: ComparedArray<'_>| array.layout.is_contiguous(Order::RowMajor);
        if parts == 1 && is_run(left) && is_run(right) {
            // SAFETY: clauses 1 and 2 of `first_difference`: both arrays are contiguous, in one
            // order.
            return Ok(unsafe { self.walk_run(left, right) });
        }
        let pair = LayoutPair::arranged(right.layout, left.layout)?;
        let (left_at, right_at) = (Racy(left.src.cast_mut()), Racy(right.src.cast_mut()));
        let whole = AtomicBool::new(true);
        let walk = |pair: &LayoutPair| {
            let (left, right) = (left_at.at(pair.to_offset), right_at.at(pair.from_offset));
            // SAFETY: clauses 1 and 2 of `first_difference`: a part of a split pair holds elements
            // of both arrays, with one shape.
            let found = unsafe { self.walk(left, &pair.to, right, &pair.from, &whole) };
            if !matches!(found, Ok(None)) {
                whole.store(false, Relaxed);
            }
        };
        if parts == 1 {
            walk(&pair);
        } else {
            let parts = pair.split(parts)?;
            threads::each(parts.len(), |part| walk(&parts[part]));
        }
        if whole.into_inner() {
            return Ok(None);
        }
        // SAFETY: clauses 1 and 2 of `first_difference`: the pointers and the layouts are passed on
        // unchanged.
        unsafe { self.walk(left.src, left.layout, right.src, right.layout, &AtomicBool::new(true)) }
    }

    /// The position of the first difference of two contiguous arrays.
    ///
    /// # Safety
    ///
    /// Clauses 1 and 2 of [`first_difference`], for contiguous arrays of scalars that the plans
    /// convert.
    unsafe fn walk_run(&self, left: ComparedArray<'_>, right: ComparedArray<'_>) -> Option<usize> {
        let (left_size, right_size) = (left.layout.itemsize(), right.layout.itemsize());
        let (numel, mut done) = (left.layout.len(), 0);
        let per_block = self.left.per_block().min(self.right.per_block());
        let widest = left_size.max(right_size).max(self.width);
        let mut room = [const { MaybeUninit::uninit() }; 2];
        let [a, b] = room.each_mut().map(|room| LaneBlock::make(room, numel, widest));
        while done < numel {
            let count = per_block.min(numel - done);
            let (left_at, right_at) = (done * left_size, done * right_size);
            // SAFETY: clause 1 of `first_difference` covers these of the elements of the left
            // array; the level is available (NumberComparison 1).
            unsafe { a[0].load_run(self.level, left.src.wrapping_add(left_at), count * left_size) };
            // SAFETY: clause 1 of `first_difference` covers these of the elements of the right
            // array; the level is available (NumberComparison 1).
            unsafe { b[0].load_run(self.level, right.src.wrapping_add(right_at), count * right_size) };
            let same = self.same_bytes(a, b, count);
            if same < count * self.width {
                return Some(done + same / self.width);
            }
            done += count;
        }
        None
    }

    /// How many bytes of `count` elements of both blocks, converted, are the same up to the first
    /// difference.
    fn same_bytes(&self, a: &mut [LaneBlock; 2], b: &mut [LaneBlock; 2], count: usize) -> usize {
        let (Some(a_at), Some(b_at)) = (self.left.run(a, count), self.right.run(b, count)) else {
            // Only checked conversions refuse elements, and these saturate.
            return 0;
        };
        // SAFETY: `same` accesses only the blocks that it borrows; it was compiled for the level,
        // which is available (NumberComparison 1).
        unsafe { (self.same)(&self.rule, &a[a_at], &b[b_at], count * self.width) }
    }

    /// The position of the first difference; `None` also where another thread makes `whole` false.
    ///
    /// # Safety
    ///
    /// Clauses 1 and 2 of [`first_difference`], for direct layouts and scalars that the plans
    /// convert.
    unsafe fn walk(
        &self,
        left: *const u8,
        left_layout: &Layout,
        right: *const u8,
        right_layout: &Layout,
        whole: &AtomicBool,
    ) -> Result<Option<usize>> {
        let per_block = self.left.per_block().min(self.right.per_block());
        let mut lefts = BlockReader::new(self.level, left, left_layout)?;
        let mut rights = BlockReader::new(self.level, right, right_layout)?;
        let (numel, mut done) = (left_layout.len(), 0);
        let widest = left_layout.itemsize().max(right_layout.itemsize()).max(self.width);
        let mut room = [const { MaybeUninit::uninit() }; 2];
        let [a, b] = room.each_mut().map(|room| LaneBlock::make(room, numel, widest));
        while done < numel && whole.load(Relaxed) {
            let count = per_block.min(numel - done);
            // SAFETY: clause 1 of `first_difference` covers `left_layout` at `left`, from which the
            // reader was made; the level is available (NumberComparison 1).
            unsafe { lefts.load(&mut a[0], count) };
            // SAFETY: clause 1 of `first_difference` covers `right_layout` at `right`, from which
            // the reader was made; the level is available (NumberComparison 1).
            unsafe { rights.load(&mut b[0], count) };
            let (same, bytes) = (self.same_bytes(a, b, count), count * self.width);
            if same < bytes {
                return Ok(Some(done + same / self.width));
            }
            done += count;
        }
        Ok(None)
    }
}

/// # Safety
///
/// Clauses 1 and 2 of [`first_difference`], for direct layouts.
unsafe fn by_value(
    left: ComparedArray<'_>,
    right: ComparedArray<'_>,
    rule: EqualityRule,
) -> Result<Option<usize>> {
    let same = |left: &Value, right: &Value| match rule {
        EqualityRule::Equal => left.equals(right),
        EqualityRule::Close { rtol, atol, equal_nan } => {
            let numbers = ExactNumber::of(left).zip(ExactNumber::of(right));
            numbers.is_some_and(|(left, right)| left.is_close(right, rtol, atol, equal_nan))
        }
    };
    for (position, (a, b)) in left.layout.offsets()?.zip(right.layout.offsets()?).enumerate() {
        let read = |array: ComparedArray<'_>, offset: isize| {
            let src = array.src.wrapping_offset(offset);
            // SAFETY: clause 1 of `first_difference`: `offset` is that of an element, which has the
            // item size of the dtype.
            unsafe { load_bytes(src, array.dtype.itemsize(), |bytes| Value::read(array.dtype, bytes)) }
        };
        if !same(&read(left, a)?, &read(right, b)?) {
            return Ok(Some(position));
        }
    }
    Ok(None)
}

// ===== the loops

/// The length, in bytes, of the equal front of two blocks of so many bytes, in whole lanes.
type Same = unsafe fn(&EqualityRule, &LaneBlock, &LaneBlock, usize) -> usize;

trait CompareLanes {
    type Of: Pod;

    fn same(rule: &EqualityRule, left: Self::Of, right: Self::Of) -> bool;
}

fn same<L: CompareLanes>(level: Level) -> Same {
    #[inline(always)]
    fn body<L: CompareLanes>(
        rule: &EqualityRule,
        left: &LaneBlock,
        right: &LaneBlock,
        nbytes: usize,
    ) -> usize {
        let (len, rule) = (nbytes / size_of::<L::Of>(), *rule);
        let (left, right) = (left.lanes::<L::Of>(len), right.lanes::<L::Of>(len));
        // All lanes without a branch, which compilers vectorise; only then which one differs.
        let all = left.iter().zip(right).fold(true, |all, (&left, &right)| all & L::same(&rule, left, right));
        if all {
            return nbytes;
        }
        let first = left.iter().zip(right).position(|(&left, &right)| !L::same(&rule, left, right));
        first.unwrap_or(len) * size_of::<L::Of>()
    }
    at_each_level!(L: CompareLanes, (rule: &EqualityRule, left: &LaneBlock, right: &LaneBlock, nbytes: usize) -> usize, body);
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => avx512::<L>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => avx2::<L>,
        _ => baseline::<L>,
    }
}

struct EqualBytes;

impl CompareLanes for EqualBytes {
    type Of = u8;

    #[inline(always)]
    fn same(_: &EqualityRule, left: u8, right: u8) -> bool {
        left == right
    }
}

struct EqualDates;

impl CompareLanes for EqualDates {
    type Of = i64;

    #[inline(always)]
    fn same(_: &EqualityRule, left: i64, right: i64) -> bool {
        (left == right) & (left != NAT)
    }
}

struct EqualFloats<T>(std::marker::PhantomData<T>);

impl<T: Pod + PartialEq> CompareLanes for EqualFloats<T> {
    type Of = T;

    #[inline(always)]
    fn same(_: &EqualityRule, left: T, right: T) -> bool {
        left == right
    }
}

/// Whether two numbers are close, from their distance and the size of the second one.
#[inline(always)]
fn close(rule: &EqualityRule, apart: f64, size: f64, equal: bool, nan: bool) -> bool {
    match *rule {
        EqualityRule::Close { rtol, atol, equal_nan } => {
            let near = (apart <= atol + rtol * size) & (size < f64::INFINITY);
            near | equal | (equal_nan & nan)
        }
        EqualityRule::Equal => equal,
    }
}

struct Close;

impl CompareLanes for Close {
    type Of = f64;

    #[inline(always)]
    fn same(rule: &EqualityRule, left: f64, right: f64) -> bool {
        close(rule, (left - right).abs(), right.abs(), left == right, left.is_nan() & right.is_nan())
    }
}

struct CloseComplex;

impl CompareLanes for CloseComplex {
    type Of = [f64; 2];

    #[inline(always)]
    fn same(rule: &EqualityRule, left: [f64; 2], right: [f64; 2]) -> bool {
        let nan = |[re, im]: [f64; 2]| re.is_nan() | im.is_nan();
        let apart = (left[0] - right[0]).hypot(left[1] - right[1]);
        close(rule, apart, right[0].hypot(right[1]), left == right, nan(left) & nan(right))
    }
}
