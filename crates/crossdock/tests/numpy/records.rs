//! Comparison with NumPy: conversions of records to other records, and to columns, by field names.

use crossdock::layout::Order;
use crossdock::{Casting, DArray};
use crossdock_testkit::python;

use crate::{Folder, run};

fn bytes(array: &DArray) -> Vec<u8> {
    array.to_order(Order::RowMajor).unwrap().buffer().unwrap().0.pin().unwrap().to_vec()
}

#[test]
fn records_become_what_they_become_in_numpy() {
    let Some(python) = python() else { return };
    let folder = Folder::new("records");
    let cases: usize = run(&python, "records.py", &folder.0).trim().parse().unwrap();
    assert!(cases >= 60, "{cases}");
    for case in 0..cases {
        let open = |what: &str| crossdock::open(folder.0.join(format!("{case}.{what}.npy"))).unwrap();
        let (from, to) = (open("from"), open("to"));
        let context = format!("case {case}: {} -> {}, shape {:?}", from.dtype(), to.dtype(), from.shape());
        for order in [Order::RowMajor, Order::ColumnMajor] {
            let cast = from.cast(to.dtype(), order, Casting::Checked).unwrap();
            assert!(bytes(&cast) == bytes(&to), "{context}");
        }
        let target = DArray::zeros(to.dtype().clone(), to.shape(), Order::RowMajor).unwrap();
        target.assign(&from, Casting::Checked).unwrap();
        assert!(bytes(&target) == bytes(&to), "{context}: assigned");

        let columns = from.to_columns().unwrap();
        assert_eq!(columns.len(), 10);
        for (name, column) in &columns {
            let numpy = open(name);
            assert_eq!((column.shape(), column.dtype()), (numpy.shape(), numpy.dtype()), "{context}: {name}");
            assert!(bytes(column) == bytes(&numpy), "{context}: {name}");
        }
        let wanted: Vec<(&str, &DArray)> = columns
            .iter()
            .filter(|(name, _)| to.dtype().field(name).is_some())
            .map(|(name, column)| (name.as_str(), column))
            .collect();
        let target = DArray::zeros(to.dtype().clone(), to.shape(), Order::ColumnMajor).unwrap();
        target.assign_columns(&wanted, Casting::Checked).unwrap();
        assert!(bytes(&target) == bytes(&to), "{context}: from columns");
    }
}
