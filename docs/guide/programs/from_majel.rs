// A program of Majel, line by line: the comments have the C++.

use crossdock::array::{Native, Visitor};
use crossdock::layout::Order;
use crossdock::memory::copied_bytes;
use crossdock::{Array, DArray, Result, s};

// struct Sum : boost::static_visitor<double> { template <...> double operator()(Array<T, D> a) ... };
struct Sum;

impl Visitor for Sum {
    type Output = Result<f64>;

    fn visit<T: Native, const D: usize>(self, array: Array<T, D>) -> Result<f64> {
        Ok(array.read()?.iter().filter_map(|&element| element.into().as_f64()).sum())
    }
}

fn main() -> Result<()> {
    // auto alloc = std::make_shared<Allocation>(6 * sizeof(float), CpuPlace());
    // Array<float, 2> a(alloc, make_dim(2, 3));
    let a = Array::<f32, 2>::zeros(([2, 3], Order::ColumnMajor))?;
    for i in 0..2 {
        for j in 0..3 {
            // set(a, make_dim(i, j), 10 * i + j);
            a.set([i, j], (10 * i + j) as f32)?;
        }
    }
    // a.place(), a.stride() // CpuPlace, (1, 2)
    println!("{}, strides of {:?} bytes\n{a}", a.place(), a.strides());

    // auto b = slice(a, {0, 0}, {2, 3}, {1, 2});
    let b = a.slice(s![.., ..;2])?;
    // b[make_dim(1, 1)] = 7; // an element of a, too
    b.reference([1, 1])?.set(7.0)?;
    println!("a[1, 2] is {}", a.get([1, 2])?);

    // DArray d = b; double sum = apply_visitor(Sum(), d);
    let d = DArray::from(b);
    println!("{} of rank {}: sum {}", d.dtype(), d.rank(), d.clone().visit(Sum)??);

    // auto e = boost::get<Array<double, 2>>(d); // throws bad_get
    if let Err(rejected) = Array::<f64, 2>::try_from(d) {
        println!("refused: {}; the array of shape {:?} comes back", rejected.error, rejected.value.shape());
    }
    println!("{} bytes copied", copied_bytes());
    Ok(())
}
