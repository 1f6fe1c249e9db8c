//! Plain loops without a library, compiled with the compiler's defaults.

use crossdock::memory::Pod;
use crossdock_measure::{Engine, Job, Operation, Result, Task};

use crate::kernels::typed::{dtypes, is_straight, slices};

/// The loops.
pub(crate) struct Plain;

fn convert<'a, T: Pod, U: Pod>(task: &'a Task, convert: impl Fn(T) -> U + 'a) -> Result<Job<'a>> {
    slices(task, move |from: &[T], to: &mut [U]| {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = convert(from);
        }
    })
}

/// The positions of a record's fields, with gaps and without: from, to and size in bytes.
const FIELDS: [(usize, usize, usize); 5] = [(0, 0, 1), (8, 1, 8), (16, 9, 4), (20, 13, 2), (24, 15, 8)];

impl Engine for Plain {
    fn name(&self) -> &'static str {
        "a plain loop"
    }

    fn job<'a>(&'a self, task: &'a Task) -> Result<Option<Job<'a>>> {
        if !is_straight(task)
            || !matches!(task.work().operation, Operation::Assign | Operation::AssignAndRead)
        {
            return Ok(None);
        }
        let widths = (task.source().dtype().itemsize(), task.target().dtype().itemsize());
        let job = match dtypes(task) {
            ("float32", "float64") => convert(task, |x: f32| f64::from(x)),
            ("int16", "float32") => convert(task, |x: i16| f32::from(x)),
            ("uint8", "float32") => convert(task, |x: u8| f32::from(x)),
            (">i4", "int32") => convert(task, i32::from_be),
            _ if widths == (23, 32) => slices(task, |from: &[[u8; 23]], to: &mut [[u8; 32]]| {
                for (to, from) in to.iter_mut().zip(from) {
                    for (gaps, none, len) in FIELDS {
                        to[gaps..gaps + len].copy_from_slice(&from[none..none + len]);
                    }
                }
            }),
            _ if widths == (32, 23) => slices(task, |from: &[[u8; 32]], to: &mut [[u8; 23]]| {
                for (to, from) in to.iter_mut().zip(from) {
                    for (gaps, none, len) in FIELDS {
                        to[none..none + len].copy_from_slice(&from[gaps..gaps + len]);
                    }
                }
            }),
            _ => return Ok(None),
        };
        job.map(Some)
    }
}
