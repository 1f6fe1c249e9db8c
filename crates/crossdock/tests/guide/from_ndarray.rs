//! The table of "Coming from ndarray": both cells of each row are run, and their values compared.

use crossdock::array::ArrayView;
use crossdock::element::Element;
use crossdock::layout::Order;
use crossdock::{Array, Casting, s};
use ndarray::{Array2, ArrayView2, Axis, Dim, Dimension, array};

fn equal<T: Element + PartialEq, const D: usize>(
    theirs: &ndarray::ArrayView<'_, T, Dim<[usize; D]>>,
    here: &Array<T, D>,
) -> bool
where
    Dim<[usize; D]>: Dimension,
{
    theirs.shape() == here.shape() && theirs.iter().eq(here.read().unwrap().iter())
}

/// A variable behind a row is moved by both cells, so each has a clone.
macro_rules! row {
    ($rows:ident, $theirs:expr, $here:expr, |$a:ident, $b:ident| $is_same:expr $(, $v:ident)?) => {{
        $rows.push(vec![stringify!($theirs), stringify!($here)]);
        let $a = {
            $(let $v = $v.clone();)?
            // Both crates have an `s!`. Most rows do not use it, so it is used here.
            use ndarray::s;
            let _ = s![..];
            $theirs
        };
        let $b = $here;
        assert!($is_same, "{}", stringify!($here));
    }};
}

#[test]
fn every_row_of_the_table_was_run() -> Result<(), Box<dyn std::error::Error>> {
    let v = vec![0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0];
    let slice = v.clone();
    let mut a = Array2::from_shape_vec((2, 3), v.clone())?;
    let mut x = Array::from_vec(v.clone(), [2, 3])?;
    let mut rows = Vec::new();

    row!(rows, Array2::<f32>::zeros((2, 3)), Array::<f32, 2>::zeros([2, 3])?, |a, x| equal(&a.view(), &x));
    row!(
        rows,
        Array2::from_shape_vec((2, 3), v)?,
        Array::from_vec(v, [2, 3])?,
        |a, x| equal(&a.view(), &x),
        v
    );
    row!(rows, ArrayView2::from_shape((2, 3), &slice)?, ArrayView::from_slice(&slice, [2, 3])?, |a, x| {
        (a.as_ptr(), a.len()) == (x.as_ptr(), x.len())
    });
    row!(rows, array![[1, 2], [3, 4]], Array::from_nested([[1, 2], [3, 4]])?, |a, x| equal(&a.view(), &x));
    row!(rows, a[[0, 1]], x.get([0, 1])?, |a, x| a == x);
    row!(rows, a[[0, 1]] = 5.0, x.set([0, 1], 5.0)?, |_a, _x| true);
    assert!(equal(&a.view(), &x) && a[[0, 1]] == 5.0);
    row!(rows, a.view(), x.read()?, |a, x| a.iter().eq(&x));
    row!(rows, a.view_mut(), x.as_view_mut()?, |a, x| a.iter().eq(&x));
    row!(rows, a.slice(s![.., ..;2]), x.slice(s![.., ..;2])?, |a, x| equal(&a, &x));
    row!(rows, a.index_axis(Axis(0), 1), x.drop_axis(0, 1)?, |a, x| equal(&a, &x));
    row!(rows, a.t(), x.transpose(), |a, x| equal(&a, &x));
    row!(rows, a.to_shape((3, 2))?, x.reshape([3, 2])?, |a, x| equal(&a.view(), &x));
    row!(rows, a.broadcast((4, 2, 3)), x.broadcast_to([4, 2, 3])?, |a, x| equal(&a.unwrap(), &x));
    row!(rows, a.strides(), x.strides(), |a, x| a == [3, 1] && x == &[12, 4]);
    row!(rows, a.sum(), x.read()?.iter().sum::<f32>(), |a, x| a == x);
    row!(rows, a.mapv(f64::from), x.cast::<f64>(Casting::Checked)?, |a, x| equal(&a.view(), &x));
    let address = x.as_ptr();
    row!(rows, a.clone(), x.to_order(Order::RowMajor)?, |a, x| equal(&a.view(), &x) && x.as_ptr() != address);
    row!(rows, a.into_raw_vec_and_offset().0, x.try_into_vec()?, |a, x| a == x && x.as_ptr() == address);

    super::table_is("ndarray", &[0, 1], &rows);
    Ok(())
}

#[test]
fn the_differences_are_as_the_page_says() -> Result<(), Box<dyn std::error::Error>> {
    let x = Array::<f32, 2>::zeros([2, 3])?;
    let other = x.clone();
    x.set([1, 2], 7.0)?;
    assert_eq!(other.get([1, 2])?, 7.0);

    // Only a vector goes back; a view of any array is copied by `ndarray`.
    drop(other);
    let back = Array2::try_from(x).unwrap_err();
    assert!(back.error.is_unsupported());
    let view = back.value.read()?;
    let owned: ndarray::ArrayD<f32> = ArrayView2::try_from(view.view())?.to_owned().into_dyn();
    assert_eq!(owned[[1, 2]], 7.0);

    let file = crossdock::open(super::root().join("data/rocket.npy"))?;
    assert!(
        Array::<u8, 2>::try_from(file.clone()).is_err() && Array::<f32, 3>::try_from(file.clone()).is_err()
    );
    let photo = Array::<u8, 3>::try_from(file)?;
    assert!(photo.read().unwrap_err().is_conflict());
    Ok(())
}
