//! Against the real NumPy: records that become other records, and columns, by the names of their fields.
//!
//! `CROSSDOCK_PYTHON` names a Python that has NumPy. Without it nothing is run, unless `CROSSDOCK_REQUIRE_COUNTERPARTS`
//! is set: then that is a failure.

use std::path::{Path, PathBuf};
use std::process::Command;

use crossdock::exchange::files::npy;
use crossdock::layout::Order;
use crossdock::{Casting, DArray};

struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_dir_all(&self.0);
    }
}

/// How many cases there are.
fn write_cases(python: &Path, directory: &Path) -> usize {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/records.py");
    let output = Command::new(python).arg(script).arg(directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

fn bytes(array: &DArray) -> Vec<u8> {
    array.to_order(Order::RowMajor).unwrap().buffer().unwrap().0.pin().unwrap().to_vec()
}

#[test]
fn records_become_what_they_become_in_numpy() {
    let Some(python) = std::env::var_os("CROSSDOCK_PYTHON").map(PathBuf::from) else {
        let required = std::env::var_os("CROSSDOCK_REQUIRE_COUNTERPARTS").is_some_and(|value| value != "0");
        assert!(!required, "CROSSDOCK_PYTHON must name a Python with NumPy, since counterparts are required");
        return println!("not run: CROSSDOCK_PYTHON names no Python with NumPy");
    };
    let directory = Directory(std::env::temp_dir().join(format!("crossdock-records-{}", std::process::id())));
    std::fs::create_dir_all(&directory.0).unwrap();
    let cases = write_cases(&python, &directory.0);
    assert!(cases >= 60, "{cases}");
    for case in 0..cases {
        let open = |what: &str| npy::open(directory.0.join(format!("{case}.{what}.npy"))).unwrap();
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
