//! `ndarray`, on one thread and by its `rayon` feature.

use std::hint::black_box;
use std::time::Instant;

use crossdock::Array;
use crossdock::element::Element;
use crossdock_measure::{Engine, Job, Operation, Result, Task};
use half::{bf16, f16};
use ndarray::{ArrayView, ArrayViewMut, Dim, Dimension, IntoDimension, Zip};

use crate::kernels::typed::{arrays, dtypes};

/// The peer, on `threads` threads.
pub(crate) struct NdArray {
    name: &'static str,
    threads: rayon::ThreadPool,
}

impl NdArray {
    pub(crate) fn new(name: &'static str, threads: usize) -> Result<Self> {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        Ok(Self { name, threads })
    }

    /// Copies of one type.
    fn copy<'a, T: Element + PartialEq, const D: usize>(&'a self, task: &'a Task) -> Result<Job<'a>>
    where
        Dim<[usize; D]>: Dimension,
        [usize; D]: IntoDimension<Dim = Dim<[usize; D]>>,
    {
        let (source, target) = arrays::<T, T, D>(task)?;
        match task.work().operation {
            Operation::Assign | Operation::AssignAndRead if self.is_parallel() => {
                self.convert::<T, T, D>(task, |element| element)
            }
            Operation::Assign | Operation::AssignAndRead => {
                Ok(on::<T, T, D>(task, source, target, |from, mut to| to.assign(&from)))
            }
            Operation::Fill => Ok(on::<T, T, D>(task, source, target, |from, mut to| {
                from.first().into_iter().for_each(|&element| to.fill(element));
            })),
            Operation::New => {
                let expected: Array<T, D> = Array::try_from(task.expected().clone())?;
                let again = source.clone();
                let owned = |source: &Array<T, D>| -> Result<ndarray::Array<T, Dim<[usize; D]>>> {
                    let from = source.read()?;
                    Ok(ArrayView::try_from(from.view())?.to_owned())
                };
                let run = move |count| {
                    let start = Instant::now();
                    for _ in 0..count {
                        black_box(owned(&source)?);
                    }
                    Ok(start.elapsed())
                };
                Ok(Job::timed(run, move || Ok(owned(&again)? == owned(&expected)?)))
            }
        }
    }

    /// Element by element.
    fn convert<'a, T: Element, U: Element, const D: usize>(
        &'a self,
        task: &'a Task,
        convert: impl Fn(T) -> U + Sync + Send + Copy + 'a,
    ) -> Result<Job<'a>>
    where
        Dim<[usize; D]>: Dimension,
        [usize; D]: IntoDimension<Dim = Dim<[usize; D]>>,
    {
        let (source, target) = arrays::<T, U, D>(task)?;
        if self.is_parallel() {
            return Ok(on::<T, U, D>(task, source, target, move |from, to| {
                self.threads.install(|| {
                    Zip::from(to).and(from).par_for_each(|to, &from| *to = convert(from));
                });
            }));
        }
        Ok(on::<T, U, D>(task, source, target, move |from, to| {
            Zip::from(to).and(from).for_each(|to, &from| *to = convert(from));
        }))
    }

    fn is_parallel(&self) -> bool {
        self.threads.current_num_threads() > 1
    }
}

/// A job on `ndarray`'s views of the same memory.
fn on<'a, T: Element, U: Element, const D: usize>(
    task: &'a Task,
    source: Array<T, D>,
    target: Array<U, D>,
    operation: impl Fn(ArrayView<'_, T, Dim<[usize; D]>>, ArrayViewMut<'_, U, Dim<[usize; D]>>) + 'a,
) -> Job<'a>
where
    Dim<[usize; D]>: Dimension,
    [usize; D]: IntoDimension<Dim = Dim<[usize; D]>>,
{
    Job::new(task, move || {
        let (from, mut to) = (source.read()?, target.write()?);
        operation(from.view().try_into()?, to.view_mut().try_into()?);
        Ok(())
    })
}

impl Engine for NdArray {
    fn name(&self) -> &'static str {
        self.name
    }

    fn job<'a>(&'a self, task: &'a Task) -> Result<Option<Job<'a>>> {
        if self.is_parallel()
            && !matches!(task.work().operation, Operation::Assign | Operation::AssignAndRead)
        {
            return Ok(None);
        }
        let job = match (dtypes(task), task.source().rank()) {
            (("float32", "float32"), 1) => self.copy::<f32, 1>(task),
            (("float32", "float32"), 2) => self.copy::<f32, 2>(task),
            (("float64", "float64"), 3) => self.copy::<f64, 3>(task),
            (("uint8", "uint8"), 3) => self.copy::<u8, 3>(task),
            (("float32", "float16"), 1) => self.convert::<f32, u16, 1>(task, |x| f16::from_f32(x).to_bits()),
            (("float16", "float32"), 1) => self.convert::<u16, f32, 1>(task, |x| f16::from_bits(x).to_f32()),
            (("float32", "bfloat16"), 1) => {
                self.convert::<f32, u16, 1>(task, |x| bf16::from_f32(x).to_bits())
            }
            (("bfloat16", "float32"), 1) => {
                self.convert::<u16, f32, 1>(task, |x| bf16::from_bits(x).to_f32())
            }
            (("float32", "float64"), 1) => self.convert::<f32, f64, 1>(task, f64::from),
            (("int16", "float32"), 1) => self.convert::<i16, f32, 1>(task, f32::from),
            (("uint8", "float32"), 1) => self.convert::<u8, f32, 1>(task, f32::from),
            ((">i4", "int32"), 1) => self.convert::<i32, i32, 1>(task, i32::from_be),
            ((_, "int64"), 1) => self.copy::<i64, 1>(task),
            _ => return Ok(None),
        };
        job.map(Some)
    }
}
