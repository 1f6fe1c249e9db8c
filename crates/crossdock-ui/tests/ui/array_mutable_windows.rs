//! Windows overlap, so a mutable view has none.

use crossdock::array::ArrayViewMut;

fn main() {
    let mut data = [0; 4];
    let view = ArrayViewMut::from_slice(&mut data, [4]).unwrap();
    let _windows = view.windows::<2>([2]).unwrap();
}
