//! PTX modules and their functions: the library's kernels, compiled for the host.

use std::ffi::{CString, c_char, c_int, c_void};

use crate::memory::{Side, Use, unlocked};
use crate::queue::Work;
use crate::state::{Locked, State};
use crate::status::{Result, Status};

/// A loaded module.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) context: usize,
    /// The entries in the text.
    pub(crate) entries: Vec<String>,
}

/// A function of a module.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) context: usize,
    pub(crate) module: usize,
    /// The number of the host kernel.
    pub(crate) kernel: c_int,
}

/// The size of a launch in groups and items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) groups: [u32; 3],
    pub(crate) items: [u32; 3],
    pub(crate) shared_nbytes: u32,
}

unsafe extern "C" {
    safe static crossdock_mock_job_nbytes: usize;

    /// The number of a kernel, or -1.
    fn crossdock_mock_find(name: *const c_char) -> c_int;

    /// Runs all groups of a launch, one after the other.
    fn crossdock_mock_run(
        kernel: c_int,
        to: *mut u8,
        from: *const u8,
        refused: *mut u8,
        job: *const u8,
        groups: u32,
        items: u32,
    ) -> c_int;
}

/// The directives at the start of PTX that this driver checks.
struct Head {
    /// The version of the language: major and minor.
    version: (i32, i32),
    /// The minimum compute capability, times ten.
    target: i32,
}

impl Head {
    fn of(text: &str) -> Option<Self> {
        let directive =
            |name: &str| text.lines().find_map(|line| line.trim().strip_prefix(name)).map(str::trim);
        let (major, minor) = directive(".version ")?.split_once('.')?;
        let target = directive(".target sm_")?;
        let digits = target.find(|c: char| !c.is_ascii_digit()).unwrap_or(target.len());
        let version = (major.parse().ok()?, minor.trim().parse().ok()?);
        let is_64_bit = directive(".address_size ")? == "64";
        is_64_bit.then_some(Self { version, target: target[..digits].parse().ok()? })
    }
}

fn entries(text: &str) -> Vec<String> {
    let heads = text.split(".entry").skip(1);
    let names = heads.filter_map(|rest| rest.split_once('('));
    names.map(|(name, _)| name.trim().to_owned()).collect()
}

impl State {
    /// Loads a module into a context; the text must be PTX that this driver and this device
    /// support.
    pub(crate) fn load(&mut self, context: usize, device: i32, text: &str) -> Result<usize> {
        let (Some(head), entries) = (Head::of(text), entries(text)) else {
            return Err(self.misuse(Status::INVALID_PTX, "no version, target and size of addresses"));
        };
        if entries.is_empty() {
            return Err(self.misuse(Status::INVALID_PTX, "no entries"));
        }
        // CUDA 11.0 introduced PTX 7.0, and 12.0 introduced 8.0.
        let version = self.config.driver_version;
        if head.version > (version / 1000 - 4, version % 1000 / 10) {
            return Err(Status::UNSUPPORTED_PTX_VERSION);
        }
        let capability = |number| self.config.attribute(device, number).unwrap_or(0);
        if head.target > 10 * capability(75) + capability(76) {
            return Err(Status::NO_BINARY_FOR_GPU);
        }
        let module = self.handle();
        self.modules.insert(module, Module { context, entries });
        Ok(module)
    }

    /// A function of a module.
    pub(crate) fn entry(&mut self, module: usize, name: String) -> Result<usize> {
        let Some(of) = self.modules.get(&module) else {
            return Err(self.misuse(Status::INVALID_HANDLE, format!("{module:#x} is no module")));
        };
        if !of.entries.contains(&name) {
            return Err(Status::NOT_FOUND);
        }
        let context = of.context;
        let c_name = CString::new(name.as_str()).map_err(|_| Status::NOT_FOUND)?;
        // SAFETY: the argument is a C string, which the function compares with the kernels' names
        // during the call.
        let kernel = unsafe { crossdock_mock_find(c_name.as_ptr()) };
        if kernel < 0 {
            return Err(self.misuse(Status::NOT_FOUND, format!("the host has no kernel {name}")));
        }
        let function = self.handle();
        self.functions.insert(function, Function { context, module, kernel });
        Ok(function)
    }
}

/// The size of the last parameter of every kernel, in bytes.
pub(crate) fn job_nbytes() -> usize {
    crossdock_mock_job_nbytes
}

/// The arguments of a launch: three addresses, and the job.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) addresses: [usize; 3],
    pub(crate) job: Vec<u8>,
}

/// What kernels do with the three addresses.
const USES: [Use; 3] = [Use::Writes, Use::Reads, Use::Writes];

/// Enqueues a launch.
pub(crate) fn launch(
    mut state: Locked,
    function: usize,
    shape: Shape,
    stream: usize,
    arguments: Arguments,
) -> Result {
    let stream = state.stream(stream)?;
    let context = state.streams.get(&stream).map_or(0, |stream| stream.context);
    let Some(found) = state.functions.get(&function) else {
        return Err(state.misuse(Status::INVALID_HANDLE, format!("{function:#x} is no function")));
    };
    if found.context != context {
        return Err(
            state.misuse(Status::INVALID_HANDLE, "the function and the stream are of different contexts")
        );
    }
    let kernel = found.kernel;
    let ([groups, 1, 1], [items @ 1..=1024, 1, 1], 0) = (shape.groups, shape.items, shape.shared_nbytes)
    else {
        return Err(state.misuse(Status::INVALID_VALUE, format!("a launch of {shape:?}")));
    };
    if groups == 0 || groups > i32::MAX.cast_unsigned() {
        return Err(state.misuse(Status::INVALID_VALUE, format!("a launch of {shape:?}")));
    }
    for (address, used) in arguments.addresses.into_iter().zip(USES) {
        if address != 0 {
            state.check(address, 1, Side::Device, used)?;
        }
    }
    let work = Work::run(move |state| run(state, kernel, groups, items, &arguments));
    state.put(stream, Vec::new(), work)?;
    Ok(())
}

fn run(mut state: Locked, kernel: c_int, groups: u32, items: u32, arguments: &Arguments) -> Result {
    let mut kept = Vec::new();
    let mut pointers = [std::ptr::null_mut(); 3];
    for ((pointer, &address), used) in pointers.iter_mut().zip(&arguments.addresses).zip(USES) {
        if address != 0 {
            let reached = state.reach(address, 1, Side::Device, used)?;
            *pointer = reached.pointer;
            kept.push(reached);
        }
    }
    let [to, from, refused] = pointers;
    let job = arguments.job.as_ptr();
    // SAFETY: `State::entry` found the number of the kernel, the job has the size that the kernel
    // reads, and `kept` keeps the pages of each pointer. The program guarantees that the job stays
    // within its own allocations, as on a GPU.
    let outcome =
        unlocked(state, || unsafe { crossdock_mock_run(kernel, to, from, refused, job, groups, items) });
    match outcome {
        0 => Ok(()),
        1 => Err(Status::OUT_OF_MEMORY),
        _ => {
            let what = "some items of a group came to a barrier, and others to their ends";
            Err(crate::state::lock().misuse(Status::LAUNCH_FAILED, what))
        }
    }
}

/// The arguments of a launch, as C passes them.
pub(crate) fn arguments(parameters: &crate::abi::In<*const c_void>) -> Result<Arguments> {
    let mut addresses = [0; 3];
    for (index, address) in addresses.iter_mut().enumerate() {
        *address = crate::abi::In::at(parameters.get(index)?.cast::<usize>()).get(0)?;
    }
    let job = crate::abi::In::at(parameters.get(3)?.cast::<u8>());
    let job = (0..job_nbytes()).map(|index| job.get(index)).collect::<Result<_>>()?;
    Ok(Arguments { addresses, job })
}
