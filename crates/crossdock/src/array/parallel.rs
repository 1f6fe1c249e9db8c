//! Parts of views, distributed over the threads of `rayon`: rows, the indices of an axis, and
//! chunks of an axis.
//!
//! `into_par_iter()` distributes the parts that [`Views`] and [`ViewsMut`] yield over several
//! threads. The work is divided by the number of parts, so short parts need `with_min_len`.

use rayon::iter::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge};
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use crate::array::{ArrayView, ArrayViewMut, Views, ViewsMut};
use crate::element::Element;
use crate::layout::Parts;

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
        let together: Vec<i64> = guard.rows().into_par_iter().map(|row| row.iter().sum()).collect();
        assert_eq!((together.len(), &together), (35, &in_turn));
        let planes: i64 = guard
            .view()
            .axis_iter::<2>(1)
            .unwrap()
            .into_par_iter()
            .map(|plane| plane.iter().sum::<i64>())
            .sum();
        let chunks: i64 =
            guard.axis_chunks(0, 3).unwrap().into_par_iter().map(|chunk| chunk.iter().sum::<i64>()).sum();
        assert_eq!((planes, chunks), (in_turn.iter().sum(), in_turn.iter().sum()));
        let zipped: usize =
            guard.rows().into_par_iter().zip(guard.rows().into_par_iter().rev()).with_min_len(4).count();
        assert_eq!(zipped, 35);
        assert!(guard.axis_iter::<2>(3).unwrap_err().is_bounds());
        assert!(guard.axis_chunks(0, 0).unwrap_err().is_shape());
    }

    #[test]
    fn threads_write_disjoint_parts() {
        let array = Array::<u32, 3>::zeros([6, 4, 5]).unwrap();
        let mut guard = array.write().unwrap();
        guard.rows_mut().into_par_iter().enumerate().for_each(|(number, mut row)| row.fill(number as u32));
        guard
            .axis_iter_mut::<2>(1)
            .unwrap()
            .into_par_iter()
            .for_each(|mut plane| plane.iter_mut().for_each(|x| *x += 100));
        guard.view_mut().axis_chunks_mut(2, 2).unwrap().into_par_iter().for_each(|mut chunk| {
            chunk.iter_mut().for_each(|x| *x *= 2);
        });
        assert!(guard.indexed_iter().all(|([i, j, _], &x)| x == 2 * (100 + (4 * i + j) as u32)));
    }
}
