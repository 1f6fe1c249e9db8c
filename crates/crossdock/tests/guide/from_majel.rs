//! The table of "Coming from Majel": the cell of each row that has Rust is run.

use crossdock::array::{Native, Visitor};
use crossdock::element::DType;
use crossdock::layout::{FixedLayout, Order};
use crossdock::memory::{Place, set_default_place};
use crossdock::{Array, Casting, DArray, s};

macro_rules! row {
    ($rows:ident, $here:expr, |$b:ident| $is_expected:expr) => {{
        $rows.push(vec![stringify!($here)]);
        match $here {
            $b => assert!($is_expected, "{}", stringify!($here)),
        }
    }};
}

struct Rank;

impl Visitor for Rank {
    type Output = usize;

    fn visit<T: Native, const D: usize>(self, _: Array<T, D>) -> usize {
        D
    }
}

#[test]
fn every_row_of_the_table_was_run() -> Result<(), Box<dyn std::error::Error>> {
    let vector = vec![0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0];
    let a = Array::from_vec(vector.clone(), [2, 3])?;
    let (buffer, _) = a.buffer()?;
    let layout = FixedLayout::new([2, 3], [4, 8], 4)?;
    let visitor = Rank;
    let mut rows = Vec::new();

    row!(rows, Array::<f32, 2>::zeros([2, 3])?, |array| array.strides() == &[12, 4]);
    row!(rows, Array::<f32, 2>::zeros(([2, 3], Order::ColumnMajor))?, |array| array.strides() == &[4, 8]);
    row!(rows, Array::from_vec(vector, [6])?, |array| array.len() == 6);
    row!(rows, Array::<f32, 2>::from_buffer_with_layout(buffer, layout, 0)?, |array| array.get([1, 1])?
        == 3.0);
    row!(rows, a.get([0, 1])?, |element| element == 1.0);
    row!(rows, a.set([0, 1], 5.0)?, |_done| a.get([0, 1])? == 5.0);
    row!(rows, a.reference([0, 1])?, |reference| reference.get()? == 5.0);
    row!(rows, a.shape(), |shape| shape == &[2, 3]);
    row!(rows, a.strides(), |strides| strides == &[12, 4]);
    row!(rows, a.len(), |len| len == 6);
    row!(rows, a.reshape([3, 2])?, |array| array.as_ptr() == a.as_ptr());
    row!(rows, a.slice(s![.., ..;2])?, |array| array.shape() == &[2, 2] && array.as_ptr() == a.as_ptr());
    row!(rows, DArray::from(a), |array| array.dtype() == &DType::F32);
    let d = DArray::from_vec(vec![1.0_f32, 2.0], &[2])?;
    row!(rows, DArray::zeros(DType::F32, &[2, 3], Order::RowMajor)?, |array| array.rank() == 2);
    row!(rows, d.cast(&DType::F64, Order::RowMajor, Casting::Checked)?, |array| array.dtype() == &DType::F64);
    row!(rows, Array::<f32, 1>::try_from(d.clone())?, |array| array.get([1])? == 2.0);
    row!(rows, d.visit(visitor)?, |rank| rank == 1);
    row!(rows, set_default_place(Place::CPU), |before| before == Place::CPU);

    super::table_is("majel", &[1], &rows);
    Ok(())
}
