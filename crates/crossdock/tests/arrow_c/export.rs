//! Arrays lent by Arrow's structs: in place, as they are, or refused with the reason.

use crossdock::exchange::protocol::arrow;
use crossdock::{Array, DArray};

use crate::{described, options, take_over};

#[test]
fn one_axis_is_a_column_in_place() {
    let array = Array::from_vec(vec![1i32, 2, 3], [3]).unwrap();
    let exported = arrow::export(&array, &options().name("n")).unwrap();
    assert_eq!(described(exported.schema()), "n:i");
    let column = exported.array();
    assert_eq!((column.length, column.null_count, column.offset, column.n_buffers), (3, 0, 0, 2));
    let imported = take_over(exported);
    let back = imported.into_array().unwrap();
    assert_eq!(back.as_ptr(), array.as_ptr().cast());
    assert!(array.write().is_err());
    drop(back);
    assert!(array.write().is_ok());
    let _: DArray = array.into();
}
