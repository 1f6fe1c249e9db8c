//! NumPy in its own process, with the same bytes and views: `peers/works.py`.

use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;

use crossdock::DArray;
use crossdock::bindings::dialect::typestr;
use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock_measure::{Engine, Job, Operation, Result, Task};
use serde_json::json;

use crate::kernels::process::Peer;

/// The environment variable with the path of the interpreter that has NumPy.
pub(crate) const PYTHON: &str = "CROSSDOCK_BENCH_PYTHON";

/// The peer, if the environment names one.
pub(crate) struct NumPy {
    python: OsString,
}

impl NumPy {
    pub(crate) fn find() -> Option<Self> {
        Some(Self { python: std::env::var_os(PYTHON)? })
    }

    /// Its version, and that of the package with the narrow floats.
    pub(crate) fn version(&self) -> Result<String> {
        let program = "import numpy, ml_dtypes; print('NumPy', numpy.__version__, 'with ml_dtypes', ml_dtypes.__version__, end='')";
        let output = Command::new(&self.python).args(["-c", program]).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}

impl Engine for NumPy {
    fn name(&self) -> &'static str {
        "NumPy"
    }

    fn job<'a>(&'a self, task: &'a Task) -> Result<Option<Job<'a>>> {
        let operation = match task.work().operation {
            Operation::Assign => "assign",
            Operation::New => "new",
            Operation::Fill => "fill",
            Operation::AssignAndRead => return Ok(None), // the read would happen in another process
        };
        let ((base, _), (source, first)) = (task.base().buffer()?, task.source().buffer()?);
        let offset = source.address() - base.address() + first;
        let base = task.base().to_shared(Order::RowMajor)?;
        let expected = task.expected().to_shared(Order::RowMajor)?;
        let question = json!({
            "operation": operation,
            "base": path(&base)?,
            "from": spelt(task.source().dtype()),
            "shape": task.source().shape(),
            "strides": task.source().strides(),
            "offset": offset,
            "into": spelt(task.target().dtype()),
            "expected": path(&expected)?,
        });
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/works.py");
        let peer = Peer::start(Command::new(&self.python).arg(script).arg(question.to_string()))?;
        // The process has read them.
        drop((base, expected));
        Ok(peer.map(Peer::job))
    }
}

/// NumPy's spelling, or the package that adds the dtype.
fn spelt(dtype: &DType) -> String {
    typestr::print(dtype).unwrap_or_else(|_| dtype.to_string())
}

/// The file in which another process finds the bytes.
fn path(array: &DArray) -> Result<String> {
    let (buffer, _) = array.buffer()?;
    let (descriptor, _) = buffer.descriptor().ok_or("memory without a descriptor")?;
    Ok(format!("/proc/{}/fd/{}", std::process::id(), descriptor.as_raw_fd()))
}
