//! Parts of views, shared among the threads of `rayon`: rows, the indices of an axis, and chunks of one.
//!
//! Whatever [`Views`] and [`ViewsMut`] go through in turn goes to several threads by `into_par_iter()`; the methods here are short
//! for that. The work is divided by the number of parts, so parts that are short want `with_min_len`.

use rayon::iter::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge};
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use crate::array::{ArrayRead, ArrayView, ArrayViewMut, ArrayWrite, Views, ViewsMut};
use crate::element::Element;
use crate::error::Result;
use crate::layout::{self, Parts};

macro_rules! parallel {
    ($(#[$doc:meta])* $name:ident of $views:ident gives $view:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<'a, T: Element, P: Parts<E>, const E: usize>($views<'a, T, P, E>);

        impl<'a, T: Element, P: Parts<E>, const E: usize> IntoParallelIterator for $views<'a, T, P, E> {
            type Item = $view<'a, T, E>;
            type Iter = $name<'a, T, P, E>;

            fn into_par_iter(self) -> $name<'a, T, P, E> {
                $name(self)
            }
        }

        impl<'a, T: Element, P: Parts<E>, const E: usize> ParallelIterator for $name<'a, T, P, E> {
            type Item = $view<'a, T, E>;

            fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
                bridge(self, consumer)
            }

            fn opt_len(&self) -> Option<usize> {
                Some(self.0.len())
            }
        }

        impl<'a, T: Element, P: Parts<E>, const E: usize> IndexedParallelIterator for $name<'a, T, P, E> {
            fn len(&self) -> usize {
                self.0.len()
            }

            fn drive<C: Consumer<Self::Item>>(self, consumer: C) -> C::Result {
                bridge(self, consumer)
            }

            fn with_producer<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output {
                callback.callback(self)
            }
        }

        impl<'a, T: Element, P: Parts<E>, const E: usize> Producer for $name<'a, T, P, E> {
            type Item = $view<'a, T, E>;
            type IntoIter = $views<'a, T, P, E>;

            fn into_iter(self) -> $views<'a, T, P, E> {
                self.0
            }

            fn split_at(self, index: usize) -> (Self, Self) {
                let (before, behind) = self.0.split(index);
                (Self(before), Self(behind))
            }
        }
    };
}

parallel! {
    /// Parts of an [`ArrayView`], for several threads.
    ParViews of Views gives ArrayView
}

parallel! {
    /// Parts of an [`ArrayViewMut`], for several threads: they are disjoint.
    ParViewsMut of ViewsMut gives ArrayViewMut
}

macro_rules! par_access {
    ($lifetime:lifetime) => {
        /// The lines along the last axis, for several threads: `rows()` in parallel.
        pub fn par_rows(&self) -> ParViews<$lifetime, T, layout::Lanes<D>, 1> {
            ParViews(self.rows())
        }

        /// What each index of an axis leaves, for several threads: `axis_iter()` in parallel.
        ///
        /// # Errors
        ///
        /// `is_bounds` where there is no such axis.
        pub fn par_axis_iter<const OUT: usize>(
            &self,
            axis: usize,
        ) -> Result<ParViews<$lifetime, T, layout::AxisParts<OUT>, OUT>> {
            Ok(ParViews(self.axis_iter(axis)?))
        }

        /// Ranges of `chunk` indices of an axis, for several threads: `axis_chunks()` in parallel.
        ///
        /// # Errors
        ///
        /// `is_bounds` where there is no such axis, `is_shape` for chunks of 0.
        pub fn par_axis_chunks(
            &self,
            axis: usize,
            chunk: usize,
        ) -> Result<ParViews<$lifetime, T, layout::AxisChunks<D>, D>> {
            Ok(ParViews(self.axis_chunks(axis, chunk)?))
        }
    };
}

macro_rules! par_access_mut {
    () => {
        /// The lines along the last axis, to be written by several threads: `rows_mut()` in parallel.
        pub fn par_rows_mut(&mut self) -> ParViewsMut<'_, T, layout::Lanes<D>, 1> {
            ParViewsMut(self.rows_mut())
        }

        /// What each index of an axis leaves, to be written by several threads: `axis_iter_mut()` in parallel.
        ///
        /// # Errors
        ///
        /// `is_bounds` where there is no such axis.
        pub fn par_axis_iter_mut<const OUT: usize>(
            &mut self,
            axis: usize,
        ) -> Result<ParViewsMut<'_, T, layout::AxisParts<OUT>, OUT>> {
            Ok(ParViewsMut(self.axis_iter_mut(axis)?))
        }

        /// Ranges of `chunk` indices of an axis, to be written by several threads: `axis_chunks_mut()` in parallel.
        ///
        /// # Errors
        ///
        /// `is_bounds` where there is no such axis, `is_shape` for chunks of 0.
        pub fn par_axis_chunks_mut(
            &mut self,
            axis: usize,
            chunk: usize,
        ) -> Result<ParViewsMut<'_, T, layout::AxisChunks<D>, D>> {
            Ok(ParViewsMut(self.axis_chunks_mut(axis, chunk)?))
        }
    };
}

impl<'a, T: Element, const D: usize> ArrayView<'a, T, D> {
    par_access! { 'a }
}

impl<T: Element, const D: usize> ArrayViewMut<'_, T, D> {
    par_access! { '_ }
    par_access_mut! {}
}

impl<T: Element, const D: usize> ArrayRead<T, D> {
    par_access! { '_ }
}

impl<T: Element, const D: usize> ArrayWrite<T, D> {
    par_access! { '_ }
    par_access_mut! {}
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use crate::{Array, s};

    #[test]
    fn threads_meet_every_row_once_and_in_order() {
        let array = Array::from_vec((0..7 * 5 * 3).collect::<Vec<i64>>(), [7, 5, 3]).unwrap();
        let view = array.slice(s![..;-1, .., 1..]).unwrap();
        let guard = view.read().unwrap();
        let in_turn: Vec<i64> = guard.rows().map(|row| row.iter().sum()).collect();
        let together: Vec<i64> = guard.par_rows().map(|row| row.iter().sum()).collect();
        assert_eq!((together.len(), &together), (35, &in_turn));
        let planes: i64 =
            guard.view().par_axis_iter::<2>(1).unwrap().map(|plane| plane.iter().sum::<i64>()).sum();
        let chunks: i64 = guard.par_axis_chunks(0, 3).unwrap().map(|chunk| chunk.iter().sum::<i64>()).sum();
        assert_eq!((planes, chunks), (in_turn.iter().sum(), in_turn.iter().sum()));
        let zipped: usize = guard.par_rows().zip(guard.par_rows().rev()).with_min_len(4).count();
        assert_eq!(zipped, 35);
        assert!(guard.par_axis_iter::<2>(3).unwrap_err().is_bounds());
        assert!(guard.par_axis_chunks(0, 0).unwrap_err().is_shape());
    }

    #[test]
    fn threads_write_disjoint_parts() {
        let array = Array::<u32, 3>::zeros([6, 4, 5]).unwrap();
        let mut guard = array.write().unwrap();
        guard.par_rows_mut().enumerate().for_each(|(number, mut row)| row.fill(number as u32));
        guard
            .par_axis_iter_mut::<2>(1)
            .unwrap()
            .for_each(|mut plane| plane.iter_mut().for_each(|x| *x += 100));
        guard.view_mut().par_axis_chunks_mut(2, 2).unwrap().for_each(|mut chunk| {
            chunk.iter_mut().for_each(|x| *x *= 2);
        });
        assert!(guard.indexed_iter().all(|([i, j, _], &x)| x == 2 * (100 + (4 * i + j) as u32)));
    }
}
