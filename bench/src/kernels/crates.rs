//! Crates with a single purpose: `transpose`, `strided-perm`, `half`.

use crossdock::element::Element;
use crossdock::memory::Pod;
use crossdock_measure::{Engine, Job, Operation, Result, Task};
use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
use half::{bf16, f16};
use strided_view::{StridedView, StridedViewMut};
use threadteam::{Exec, Pool};

use crate::kernels::typed::{dtypes, is_straight, slices};

/// Transposes of two axes, or of two groups of axes that act like two.
pub(crate) struct Transpose;

impl Engine for Transpose {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn job<'a>(&'a self, task: &'a Task) -> Result<Option<Job<'a>>> {
        let (axes, shape) = (task.work().axes, task.base().shape());
        // The last axes first, then the first ones, each group in its order.
        let Some(&split) = axes.first() else { return Ok(None) };
        if !axes.iter().copied().eq((split..axes.len()).chain(0..split)) || !task.work().at.is_empty() {
            return Ok(None);
        }
        let (height, width) = (shape[..split].iter().product(), shape[split..].iter().product());
        fn job<T: Pod>(task: &Task, width: usize, height: usize) -> Result<Job<'_>> {
            slices(task, move |from: &[T], to: &mut [T]| transpose::transpose(from, to, width, height))
        }
        let job = match task.work().dtype {
            "float32" => job::<f32>(task, width, height),
            "float64" => job::<f64>(task, width, height),
            "uint8" => job::<u8>(task, width, height),
            _ => return Ok(None),
        };
        job.map(Some)
    }
}

/// Strided copies, on `threads` threads.
pub(crate) struct StridedPerm {
    name: &'static str,
    threads: Option<Pool>,
}

impl StridedPerm {
    pub(crate) fn new(name: &'static str, threads: usize) -> Result<Self> {
        let pool = if threads > 1 { Some(Pool::builder().threads(threads).build()?) } else { None };
        Ok(Self { name, threads: pool })
    }

    fn copy<'a, T: Element>(&'a self, task: &'a Task) -> Result<Job<'a>> {
        let elements = |strides: &[isize]| -> Vec<isize> {
            strides.iter().map(|stride| stride / size_of::<T>() as isize).collect()
        };
        let shape = task.source().shape();
        let (from_strides, to_strides) =
            (elements(task.source().strides()), elements(task.target().strides()));
        let first = task.source().as_ptr().addr() - task.base().as_ptr().addr();
        let first = (first / size_of::<T>()) as isize;
        slices(task, move |from: &[T], to: &mut [T]| {
            let from = StridedView::<T>::new(from, shape, &from_strides, first).expect("a view of the base");
            let mut to = StridedViewMut::new(to, shape, &to_strides, 0).expect("the whole target");
            let exec = match &self.threads {
                Some(pool) => Exec::new(pool, pool.width().get()).expect("as many threads as there are"),
                None => Exec::serial(),
            };
            strided_perm::copy_into(&mut to, &from, exec).expect("equal shapes");
        })
    }
}

impl Engine for StridedPerm {
    fn name(&self) -> &'static str {
        self.name
    }

    fn job<'a>(&'a self, task: &'a Task) -> Result<Option<Job<'a>>> {
        if !matches!(task.work().operation, Operation::Assign | Operation::AssignAndRead) {
            return Ok(None);
        }
        let job = match dtypes(task) {
            ("float32", "float32") => self.copy::<f32>(task),
            ("float64", "float64") => self.copy::<f64>(task),
            ("uint8", "uint8") => self.copy::<u8>(task),
            (_, "int64") => self.copy::<i64>(task),
            _ => return Ok(None),
        };
        job.map(Some)
    }
}

/// Conversions between `f32` and the floats of 16 bits.
pub(crate) struct Half;

impl Engine for Half {
    fn name(&self) -> &'static str {
        "half"
    }

    fn job<'a>(&'a self, task: &'a Task) -> Result<Option<Job<'a>>> {
        if !is_straight(task) {
            return Ok(None);
        }
        let job = match dtypes(task) {
            ("float32", "float16") => slices(task, |from: &[f32], to: &mut [u16]| {
                to.reinterpret_cast_mut::<f16>().convert_from_f32_slice(from);
            }),
            ("float16", "float32") => slices(task, |from: &[u16], to: &mut [f32]| {
                from.reinterpret_cast::<f16>().convert_to_f32_slice(to);
            }),
            ("float32", "bfloat16") => slices(task, |from: &[f32], to: &mut [u16]| {
                to.reinterpret_cast_mut::<bf16>().convert_from_f32_slice(from);
            }),
            ("bfloat16", "float32") => slices(task, |from: &[u16], to: &mut [f32]| {
                from.reinterpret_cast::<bf16>().convert_to_f32_slice(to);
            }),
            _ => return Ok(None),
        };
        job.map(Some)
    }
}
