//! Conversion of numbers on a device, and which of them do not fit.

use crate::device::engine::{AT_ONCE, Job, Kernel, MOST_AXES, MOST_STEPS, Start, Step};
use crate::element::{Scalar, ScalarKind};
use crate::kernel::copy::{CopyAxis as Loop, CopyPlan};
use crate::kernel::device::job_loops::JobLoops;
use crate::kernel::device::steps::{job, launch};
use crate::layout::Layout;

/// A conversion that the kernel supports, of one number or of both parts of a complex one.
#[derive(Clone, Copy)]
pub(super) struct DeviceCast {
    from: Number,
    to: Number,
    parts: usize,
}

#[derive(Clone, Copy)]
struct Number {
    code: u32,
    width: usize,
    is_native: bool,
}

impl Number {
    fn of(scalar: Scalar, kind: ScalarKind) -> Option<Self> {
        let what = match kind {
            ScalarKind::Int8 | ScalarKind::Int16 | ScalarKind::Int32 | ScalarKind::Int64 => 1,
            ScalarKind::UInt8 | ScalarKind::UInt16 | ScalarKind::UInt32 | ScalarKind::UInt64 => 2,
            ScalarKind::Bool => 3,
            ScalarKind::Float16 | ScalarKind::Float32 | ScalarKind::Float64 => 4,
            ScalarKind::BFloat16 => 5,
            _ => return None,
        };
        let width = kind.itemsize();
        Some(Self { code: what | (width as u32) << 8, width, is_native: scalar.is_native() })
    }
}

impl DeviceCast {
    /// `None` where the kernel does not support one of the scalars.
    pub(super) fn new(from: Scalar, to: Scalar) -> Option<Self> {
        let part = |kind| match kind {
            ScalarKind::Complex32 => (ScalarKind::Float16, 2),
            ScalarKind::Complex64 => (ScalarKind::Float32, 2),
            ScalarKind::Complex128 => (ScalarKind::Float64, 2),
            one => (one, 1),
        };
        let ((source, parts), (target, to_parts)) = (part(from.kind()), part(to.kind()));
        (parts == to_parts).then_some(())?;
        Some(Self { from: Number::of(from, source)?, to: Number::of(to, target)?, parts })
    }

    /// The strides of the numbers: those of the elements, with the two parts as one more axis.
    fn strides(&self, layout: &Layout, width: usize) -> Vec<isize> {
        let inner = if self.parts > 1 { Some(width as isize) } else { None };
        layout.strides().iter().copied().chain(inner).collect()
    }

    fn shape(&self, layout: &Layout) -> Vec<usize> {
        layout.shape().iter().copied().chain((self.parts > 1).then_some(self.parts)).collect()
    }

    /// The launches, in the order of the destination.
    pub(super) fn steps(&self, from: (&Layout, Start), to: (&Layout, Start), checked: bool) -> Vec<Step> {
        let (source, target) = (self.strides(from.0, self.from.width), self.strides(to.0, self.to.width));
        let mut steps = Vec::new();
        if let Some(plan) = CopyPlan::apart(&self.shape(to.0), &source, &target, self.to.width) {
            let loops = JobLoops::of(&plan, from.1, to.1);
            self.add(&loops, checked, &mut |step, _| steps.push(step));
        }
        steps
    }

    /// The launches in row-major order, each with the position of its first number.
    pub(super) fn in_order(&self, from: (&Layout, Start), to: (&Layout, Start)) -> Vec<(Step, usize)> {
        let (source, target) = (self.strides(from.0, self.from.width), self.strides(to.0, self.to.width));
        let axes = self.shape(to.0).into_iter().zip(source.into_iter().zip(target));
        let axes = axes.map(|(len, (from, to))| Loop { len, from, to }).filter(|axis| axis.len > 1).collect();
        let loops = JobLoops { axes, from: from.1, to: to.1 };
        let (mut steps, mut position) = (Vec::new(), 0);
        self.add(&loops, true, &mut |step, len| {
            steps.push((step, position));
            position += len;
        });
        steps
    }

    /// The position of the element to which the number at a position belongs.
    pub(super) fn element_at(&self, number: usize) -> usize {
        number / self.parts
    }

    fn add(&self, loops: &JobLoops, checked: bool, f: &mut impl FnMut(Step, usize)) {
        let aligned = u32::from(loops.source_is_aligned(self.from.width))
            | u32::from(loops.target_is_aligned(self.to.width)) << 1;
        let swap = u32::from(!self.from.is_native) | u32::from(!self.to.is_native) << 1;
        let whole = Job {
            swap,
            aligned,
            from_type: self.from.code,
            to_type: self.to.code,
            checked: checked.into(),
            ..Job::default()
        };
        loops.for_each_part(MOST_AXES, MOST_STEPS, 0, &mut |part| {
            let Job { from, to, rank, axes, .. } = job(part);
            let len = part.axes.iter().map(|axis| axis.len).product();
            f(launch(Kernel::CAST, Kernel::ITEMS * AT_ONCE, Job { from, to, rank, axes, ..whole }), len);
        });
    }
}
