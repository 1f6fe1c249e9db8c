//! Peers compiled for the machine at hand: in a second build of this program, with `-C
//! target-cpu=native`.
//!
//! Crossdock is not measured there: it chooses its instructions at run time.

use std::ffi::OsString;
use std::process::Command;

use crossdock_measure::{Engine, Job, Operation, Result, Task, WORKS};

use crate::kernels::crates::{Half, StridedPerm, Transpose};
use crate::kernels::ndarray::NdArray;
use crate::kernels::plain::Plain;
use crate::kernels::process::{self, Peer};

/// The environment variable with the path of that program.
const PROGRAM: &str = "CROSSDOCK_BENCH_NATIVE";

/// The argument that makes it serve works.
pub(crate) const ARGUMENT: &str = "--native";

/// A peer in that program.
pub(super) struct Native {
    name: &'static str,
    peer: &'static str,
    program: OsString,
}

/// All of them, if the environment variable is set.
pub(super) fn all() -> impl Iterator<Item = Native> {
    let program = std::env::var_os(PROGRAM);
    let peers = [
        ("a plain loop, native", "a plain loop"),
        ("transpose, native", "transpose"),
        ("strided-perm, native", "strided-perm"),
        ("half, native", "half"),
        ("ndarray, native", "ndarray"),
    ];
    program
        .into_iter()
        .flat_map(move |program| peers.map(|(name, peer)| Native { name, peer, program: program.clone() }))
}

/// The name for people.
pub(crate) fn told() -> &'static str {
    match std::env::var_os(PROGRAM) {
        Some(_) => "peers compiled for this machine",
        None => {
            "no peers compiled for this machine (CROSSDOCK_BENCH_NATIVE is not set: type `cargo xtask bench`)"
        }
    }
}

impl Engine for Native {
    fn name(&self) -> &'static str {
        self.name
    }

    fn job<'a>(&'a self, task: &'a Task) -> Result<Option<Job<'a>>> {
        if task.work().operation == Operation::AssignAndRead {
            return Ok(None); // the read would happen in another process
        }
        let mut command = Command::new(&self.program);
        let peer = Peer::start(command.args([ARGUMENT, self.peer, task.work().name]))?;
        Ok(peer.map(Peer::job))
    }
}

/// The serving side: runs a work of full size with one of the peers, in its own memory.
pub(crate) fn serve(peer: &str, work: &str) -> Result {
    let engine: Box<dyn Engine> = match peer {
        "a plain loop" => Box::new(Plain),
        "transpose" => Box::new(Transpose),
        "strided-perm" => Box::new(StridedPerm::new("strided-perm", 1)?),
        "half" => Box::new(Half),
        "ndarray" => Box::new(NdArray::new("ndarray", 1)?),
        _ => return Err(format!("there is no peer `{peer}`").into()),
    };
    let work = WORKS.iter().find(|known| known.name == work).ok_or("there is no such work")?;
    let task = Task::new(work, 1)?;
    process::serve(engine.job(&task)?)
}
