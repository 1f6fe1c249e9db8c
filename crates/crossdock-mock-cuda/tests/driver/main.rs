//! The mock driver behaves as documented: to programs like the real driver, and to tests.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossdock_mock_cuda::{Live, Mock, Status};
use libloading::Library;

/// Calls a function of the driver with arguments of the types in its reference.
macro_rules! cu {
    ($name:ident($($argument:expr => $kind:ty),* $(,)?)) => {{
        let driver = driver();
        // SAFETY: the callers of this macro pass the argument types of the driver's reference, and
        // pointers to live variables of the test.
        unsafe { driver.get::<unsafe extern "C" fn($($kind),*) -> Status>(stringify!($name)).unwrap()($($argument),*) }
    }};
}

mod virtual_memory;

fn driver() -> &'static Library {
    static DRIVER: std::sync::OnceLock<Library> = std::sync::OnceLock::new();
    // SAFETY: the file is the mock driver, which has no initialisers of its own.
    DRIVER.get_or_init(|| unsafe { Library::new(Mock::path()) }.unwrap())
}

/// The driver with a current context in this thread, used by one test at a time.
struct Use {
    mock: &'static Mock,
    before: Live,
    _alone: MutexGuard<'static, ()>,
}

impl Use {
    fn new() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mock = Mock::get();
        mock.reset();
        assert_eq!(cu!(cuInit(0 => u32)), Status::SUCCESS);
        let before = mock.live();
        let used = Self { mock, before, _alone: alone };
        used.enter(0);
        used
    }

    /// Makes a device's primary context current.
    fn enter(&self, device: c_int) -> usize {
        let mut context = 0usize;
        assert_eq!(
            cu!(cuDevicePrimaryCtxRetain(&raw mut context => *mut usize, device => c_int)),
            Status::SUCCESS
        );
        assert_eq!(cu!(cuCtxPushCurrent_v2(context => usize)), Status::SUCCESS);
        context
    }

    fn leave(&self, device: c_int) {
        assert_eq!(cu!(cuCtxPopCurrent_v2(null_mut() => *mut usize)), Status::SUCCESS);
        assert_eq!(cu!(cuDevicePrimaryCtxRelease_v2(device => c_int)), Status::SUCCESS);
    }

    /// Releases everything, and checks that nothing is left and nothing was misused.
    fn end(self) {
        self.leave(0);
        assert_eq!(self.mock.misuses(), [""; 0]);
        assert_eq!(self.mock.live(), self.before);
    }

    /// Checks that there was one misuse, and that it mentions this text.
    #[track_caller]
    fn assert_misuse(&self, mentioned: &str) {
        let misuses = self.mock.misuses();
        assert!(misuses.len() == 1 && misuses[0].contains(mentioned), "{misuses:?}");
    }
}

fn memory(nbytes: usize) -> u64 {
    let mut address = 0;
    assert_eq!(cu!(cuMemAlloc_v2(&raw mut address => *mut u64, nbytes => usize)), Status::SUCCESS);
    address
}

fn free(address: u64) -> Status {
    cu!(cuMemFree_v2(address => u64))
}

fn stream() -> usize {
    const NON_BLOCKING: u32 = 1;
    let mut stream = 0;
    assert_eq!(cu!(cuStreamCreate(&raw mut stream => *mut usize, NON_BLOCKING => u32)), Status::SUCCESS);
    stream
}

fn event() -> usize {
    let mut event = 0;
    assert_eq!(cu!(cuEventCreate(&raw mut event => *mut usize, 2 => u32)), Status::SUCCESS);
    event
}

fn send(address: u64, bytes: &[u8]) -> Status {
    cu!(cuMemcpyHtoD_v2(address => u64, bytes.as_ptr() => *const u8, bytes.len() => usize))
}

fn fetch(address: u64, nbytes: usize) -> Vec<u8> {
    let mut bytes = vec![0; nbytes];
    let to = bytes.as_mut_ptr();
    assert_eq!(cu!(cuMemcpyDtoH_v2(to => *mut u8, address => u64, nbytes => usize)), Status::SUCCESS);
    bytes
}

fn copy_in(stream: usize, to: u64, from: u64, nbytes: usize) -> Status {
    cu!(cuMemcpyAsync(to => u64, from => u64, nbytes => usize, stream => usize))
}

fn synchronize(stream: usize) -> Status {
    cu!(cuStreamSynchronize(stream => usize))
}

#[test]
fn bytes_go_to_a_device_and_come_back() {
    let used = Use::new();
    let (first, second) = (memory(100), memory(100));
    assert_eq!(send(first, &[7; 100]), Status::SUCCESS);
    assert_eq!(cu!(cuMemcpyDtoD_v2(second + 10 => u64, first => u64, 50 => usize)), Status::SUCCESS);
    assert_eq!(fetch(second + 10, 50), [7; 50]);
    assert_ne!(fetch(second, 10), [0; 10], "new memory is not zeroed");
    assert_eq!(
        cu!(cuMemsetD32Async(first => u64, 0x0102_0304 => u32, 25 => usize, 0 => usize)),
        Status::SUCCESS
    );
    assert_eq!(fetch(first, 4), 0x0102_0304u32.to_ne_bytes());
    assert_eq!((free(first), free(second)), (Status::SUCCESS, Status::SUCCESS));
    used.end();
}

#[test]
fn the_processor_faults_at_addresses_of_a_device() {
    let used = Use::new();
    let address = memory(100);
    // SAFETY: the child performs only the calls below, which allocate nothing and take no lock, and
    // ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // Restores the default action, in case the harness or a sanitizer installed a handler.
        // SAFETY: the call sets the default action of a signal, in this child only, and takes no
        // pointer.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        // SAFETY: the read is expected to fault, because the address is in a mapping without access
        // rights; it cannot reach other memory.
        let _byte = unsafe { std::ptr::with_exposed_provenance::<u8>(address as usize).read_volatile() };
        // SAFETY: `_exit` ends the child at once, without running handlers or destructors.
        unsafe { libc::_exit(0) }
    }
    let mut status = 0;
    // SAFETY: `status` is a live local variable, and `child` is the process that the fork above
    // created.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV, "{status:#x}");
    assert_eq!(free(address), Status::SUCCESS);
    used.end();
}

#[test]
fn a_child_of_a_fork_is_told_that_nothing_is_initialised() {
    let used = Use::new();
    // SAFETY: the child calls the driver, which takes no lock in a forked child, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut count: c_int = 0;
        let told = cu!(cuDeviceGetCount(&raw mut count => *mut c_int)) == Status::NOT_INITIALIZED;
        let counted = used.mock.count("calls_after_fork") == 1;
        // SAFETY: `_exit` ends the child at once, without running handlers or destructors.
        unsafe { libc::_exit(c_int::from(!(told && counted))) }
    }
    let mut status = 0;
    // SAFETY: `status` is a live local variable, and `child` is the process that the fork above
    // created.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    used.end();
}

#[test]
fn streams_work_beside_the_program_and_wait_for_each_other_by_events() {
    let used = Use::new();
    let (first, second, done) = (stream(), stream(), event());
    let (from, to) = (memory(8), memory(8));
    assert_eq!(send(from, &[1; 8]), Status::SUCCESS);
    assert_eq!(send(to, &[0; 8]), Status::SUCCESS);
    let paused = used.mock.pause(first);
    assert_eq!(cu!(cuMemsetD8Async(from => u64, 9 => u8, 8 => usize, first => usize)), Status::SUCCESS);
    assert_eq!(cu!(cuEventRecord(done => usize, first => usize)), Status::SUCCESS);
    assert_eq!(cu!(cuStreamWaitEvent(second => usize, done => usize, 0 => u32)), Status::SUCCESS);
    assert_eq!(copy_in(second, to, from, 8), Status::SUCCESS);
    for query in [cu!(cuStreamQuery(second => usize)), cu!(cuEventQuery(done => usize))] {
        assert_eq!(query, Status::NOT_READY);
    }
    drop(paused);
    assert_eq!(synchronize(second), Status::SUCCESS);
    assert_eq!(cu!(cuEventQuery(done => usize)), Status::SUCCESS);
    assert_eq!(fetch(to, 8), [9; 8]);
    for stream in [first, second] {
        assert_eq!(cu!(cuStreamDestroy_v2(stream => usize)), Status::SUCCESS);
    }
    assert_eq!(cu!(cuEventDestroy_v2(done => usize)), Status::SUCCESS);
    assert_eq!((free(from), free(to)), (Status::SUCCESS, Status::SUCCESS));
    used.end();
}

#[test]
fn streams_that_are_held_back_work_while_somebody_waits() {
    let used = Use::new();
    let (own, address) = (stream(), memory(8));
    let held_back = used.mock.hold_back();
    assert_eq!(cu!(cuMemsetD8Async(address => u64, 9 => u8, 8 => usize, own => usize)), Status::SUCCESS);
    assert_eq!(cu!(cuStreamQuery(own => usize)), Status::NOT_READY);
    assert_eq!(synchronize(own), Status::SUCCESS);
    drop(held_back);
    assert_eq!(fetch(address, 8), [9; 8]);
    assert_eq!(cu!(cuStreamDestroy_v2(own => usize)), Status::SUCCESS);
    assert_eq!(free(address), Status::SUCCESS);
    used.end();
}

#[test]
fn the_default_stream_waits_for_streams_that_are_not_told_otherwise() {
    let used = Use::new();
    let mut blocking = 0usize;
    assert_eq!(cu!(cuStreamCreate(&raw mut blocking => *mut usize, 0 => u32)), Status::SUCCESS);
    let address = memory(4);
    let paused = used.mock.pause(blocking);
    assert_eq!(cu!(cuMemsetD8Async(address => u64, 1 => u8, 4 => usize, blocking => usize)), Status::SUCCESS);
    assert_eq!(cu!(cuMemsetD8Async(address => u64, 2 => u8, 2 => usize, 0 => usize)), Status::SUCCESS);
    // The thread's own default stream waits for the legacy stream.
    assert_eq!(cu!(cuMemsetD8Async(address => u64, 3 => u8, 1 => usize, 2 => usize)), Status::SUCCESS);
    assert_eq!(cu!(cuStreamQuery(0 => usize)), Status::NOT_READY);
    drop(paused);
    assert_eq!(synchronize(2), Status::SUCCESS);
    assert_eq!(fetch(address, 4), [3, 2, 1, 1]);
    assert_eq!(cu!(cuStreamDestroy_v2(blocking => usize)), Status::SUCCESS);
    assert_eq!(free(address), Status::SUCCESS);
    used.end();
}

#[test]
fn a_function_of_the_program_is_called_in_the_streams_order_and_must_not_call_the_driver() {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    unsafe extern "C" fn called(data: *mut c_void) {
        SEEN.store(data.addr() as u64, Ordering::Relaxed);
        assert_eq!(cu!(cuCtxSynchronize()), Status::NOT_PERMITTED);
    }
    let used = Use::new();
    let own = stream();
    let data = std::ptr::without_provenance_mut::<c_void>(42);
    let launched =
        cu!(cuLaunchHostFunc(own => usize, called => unsafe extern "C" fn(*mut c_void), data => *mut c_void));
    assert_eq!((launched, synchronize(own)), (Status::SUCCESS, Status::SUCCESS));
    assert_eq!(SEEN.load(Ordering::Relaxed), 42);
    assert_eq!(cu!(cuStreamDestroy_v2(own => usize)), Status::SUCCESS);
    used.assert_misuse("must not call the driver");
    used.leave(0);
}

#[test]
fn memory_of_a_stream_is_used_after_it_was_allocated_and_before_it_is_freed() {
    let used = Use::new();
    let (own, other) = (stream(), stream());
    let mut address = 0u64;
    let paused = used.mock.pause(own);
    assert_eq!(
        cu!(cuMemAllocAsync(&raw mut address => *mut u64, 64 => usize, own => usize)),
        Status::SUCCESS
    );
    assert_eq!(cu!(cuMemsetD8Async(address => u64, 5 => u8, 64 => usize, own => usize)), Status::SUCCESS);
    drop(paused);
    assert_eq!(synchronize(own), Status::SUCCESS);
    assert_eq!(fetch(address, 64), [5; 64]);
    assert_eq!(cu!(cuMemFreeAsync(address => u64, own => usize)), Status::SUCCESS);
    assert_eq!(used.mock.misuses(), [""; 0]);
    let late = cu!(cuMemsetD8Async(address => u64, 5 => u8, 64 => usize, own => usize));
    assert_eq!(late, Status::INVALID_VALUE);
    used.assert_misuse("was freed");
    used.mock.reset();
    // Another stream must not use the memory before the first stream has allocated it.
    let paused = used.mock.pause(own);
    assert_eq!(
        cu!(cuMemAllocAsync(&raw mut address => *mut u64, 64 => usize, own => usize)),
        Status::SUCCESS
    );
    assert_eq!(cu!(cuMemsetD8Async(address => u64, 5 => u8, 64 => usize, other => usize)), Status::SUCCESS);
    assert_eq!(synchronize(other), Status::ILLEGAL_ADDRESS);
    used.assert_misuse("has come so far");
    drop(paused);
    used.mock.reset();
    assert_eq!(cu!(cuMemFreeAsync(address => u64, own => usize)), Status::SUCCESS);
    for stream in [own, other] {
        assert_eq!(synchronize(stream), Status::SUCCESS);
        assert_eq!(cu!(cuStreamDestroy_v2(stream => usize)), Status::SUCCESS);
    }
    used.end();
}

#[test]
fn what_is_used_wrongly_is_an_error_and_noted() {
    let used = Use::new();
    let address = memory(100);
    let wrong: [(&dyn Fn() -> Status, Status, &str); 9] = [
        (&|| send(address + 1, &[0; 100]), Status::INVALID_VALUE, "99 bytes"),
        (&|| free(address + 8), Status::INVALID_VALUE, "begins no allocation"),
        (&|| cu!(cuMemFreeHost(address => u64)), Status::INVALID_VALUE, "Device"),
        (&|| cu!(cuStreamDestroy_v2(0x1234 => usize)), Status::INVALID_HANDLE, "no stream"),
        (&|| cu!(cuEventQuery(0x1234 => usize)), Status::INVALID_HANDLE, "no event"),
        (&|| cu!(cuCtxPushCurrent_v2(0x1234 => usize)), Status::INVALID_CONTEXT, "no context"),
        (
            &|| cu!(cuMemHostUnregister(0x1234 => usize)),
            Status::HOST_MEMORY_NOT_REGISTERED,
            "was not registered",
        ),
        (&|| cu!(cuIpcCloseMemHandle(address => u64)), Status::INVALID_VALUE, "was not opened"),
        (&|| (free(address), free(address)).1, Status::INVALID_VALUE, "was freed already"),
    ];
    for (call, status, mentioned) in wrong {
        used.mock.reset();
        assert_eq!(call(), status, "{mentioned}");
        used.assert_misuse(mentioned);
    }
    used.leave(0);
    used.mock.reset();
    let mut none = 0u64;
    assert_eq!(cu!(cuMemAlloc_v2(&raw mut none => *mut u64, 1 => usize)), Status::INVALID_CONTEXT);
    used.assert_misuse("no context is current");
    used.mock.reset();
    used.enter(0);
    used.end();
}

#[test]
fn a_context_that_goes_with_something_in_it_is_noted() {
    let used = Use::new();
    let mut own = 0usize;
    assert_eq!(cu!(cuCtxCreate_v2(&raw mut own => *mut usize, 0 => u32, 1 => c_int)), Status::SUCCESS);
    let (left, _stream) = (memory(10), stream());
    assert_eq!(cu!(cuCtxDestroy_v2(own => usize)), Status::SUCCESS);
    let misuses = used.mock.misuses();
    assert!(
        misuses.len() == 2 && misuses[0].contains("1 streams") && misuses[1].contains("1 allocations"),
        "{misuses:?}"
    );
    used.mock.reset();
    assert_eq!(free(left), Status::INVALID_VALUE);
    used.mock.reset();
    used.end();
}

#[test]
fn a_device_has_as_much_memory_as_it_was_told() {
    let used = Use::new();
    used.mock.set("memory", 1 << 20);
    let (mut free_nbytes, mut total, mut address) = (0usize, 0usize, 0u64);
    let held = memory(1 << 19);
    let info = cu!(cuMemGetInfo_v2(&raw mut free_nbytes => *mut usize, &raw mut total => *mut usize));
    assert_eq!((info, free_nbytes, total), (Status::SUCCESS, 1 << 19, 1 << 20));
    let more = cu!(cuMemAlloc_v2(&raw mut address => *mut u64, (1 << 19) + 1 => usize));
    assert_eq!(more, Status::OUT_OF_MEMORY);
    let pooled = cu!(cuMemAllocAsync(&raw mut address => *mut u64, (1 << 19) + 1 => usize, 0 => usize));
    assert_eq!(pooled, Status::OUT_OF_MEMORY);
    assert_eq!(free(held), Status::SUCCESS);
    used.end();
}

#[test]
fn a_pool_keeps_what_is_freed_up_to_its_threshold() {
    let used = Use::new();
    let own = stream();
    let (mut pool, mut address) = (0usize, 0u64);
    assert_eq!(cu!(cuDeviceGetDefaultMemPool(&raw mut pool => *mut usize, 0 => c_int)), Status::SUCCESS);
    let mut threshold = 100u64;
    assert_eq!(
        cu!(cuMemPoolSetAttribute(pool => usize, 4 => c_int, &raw mut threshold => *mut u64)),
        Status::SUCCESS
    );
    let before = used.mock.count("reserved");
    assert_eq!(
        cu!(cuMemAllocAsync(&raw mut address => *mut u64, 300 => usize, own => usize)),
        Status::SUCCESS
    );
    assert_eq!(used.mock.count("reserved"), before + 300);
    assert_eq!(cu!(cuMemFreeAsync(address => u64, own => usize)), Status::SUCCESS);
    assert_eq!(synchronize(own), Status::SUCCESS);
    assert_eq!(used.mock.count("reserved"), before + 100);
    assert_eq!(cu!(cuMemPoolTrimTo(pool => usize, 0 => usize)), Status::SUCCESS);
    assert_eq!(used.mock.count("reserved"), before);
    assert_eq!(cu!(cuStreamDestroy_v2(own => usize)), Status::SUCCESS);
    used.end();
}

#[test]
fn it_fails_when_it_is_told_to_and_what_frees_has_freed() {
    let used = Use::new();
    let mut address = 0u64;
    used.mock.fail("cuMemAlloc_v2", 2, Status::UNKNOWN);
    let kept = memory(10);
    let failed = cu!(cuMemAlloc_v2(&raw mut address => *mut u64, 10 => usize));
    assert_eq!((failed, address), (Status::UNKNOWN, 0));
    // Two requested failures of one function happen in two calls.
    used.mock.fail("*", 1, Status::LAUNCH_FAILED);
    used.mock.fail("*", 2, Status::ILLEGAL_ADDRESS);
    assert_eq!(free(kept), Status::LAUNCH_FAILED);
    assert_eq!(free(0), Status::ILLEGAL_ADDRESS);
    assert_eq!(free(kept), Status::INVALID_VALUE, "it was freed");
    assert_eq!((used.mock.calls("cuMemAlloc_v2"), used.mock.calls("cuMemFree_v2")), (2, 3));
    assert_eq!(used.mock.called()["cuMemFree_v2"], 3);
    used.mock.fail("cuMemAlloc_v2", 7, Status::UNKNOWN);
    assert_eq!((used.mock.take_failures(), used.mock.failures_left()), (1, 0));
    used.mock.reset();
    used.mock.set("gone", 1);
    assert_eq!(free(0), Status::DEINITIALIZED);
    used.mock.reset();
    used.end();
}

#[test]
fn work_that_fails_spoils_its_context_until_it_is_mended() {
    let used = Use::new();
    let (own, address) = (stream(), memory(8));
    assert_eq!(send(address, &[1; 8]), Status::SUCCESS);
    used.mock.fail_work(2, Status::ILLEGAL_ADDRESS);
    for value in [2u8, 3, 4] {
        cu!(cuMemsetD8Async(address => u64, value => u8, 8 => usize, own => usize));
    }
    assert_eq!(synchronize(own), Status::ILLEGAL_ADDRESS);
    assert_eq!(cu!(cuEventQuery(0x1234 => usize)), Status::ILLEGAL_ADDRESS, "whatever is asked for");
    used.mock.reset();
    assert_eq!(fetch(address, 8), [2; 8], "nothing was done after it");
    assert_eq!(cu!(cuStreamDestroy_v2(own => usize)), Status::SUCCESS);
    assert_eq!(free(address), Status::SUCCESS);
    used.end();
}

#[test]
fn errors_have_names_and_texts() {
    let _session = Use::new();
    let mut text: *const c_char = std::ptr::null();
    assert_eq!(cu!(cuGetErrorName(700 => c_int, &raw mut text => *mut *const c_char)), Status::SUCCESS);
    // SAFETY: the driver returned a static C string, and the library stays loaded.
    assert_eq!(unsafe { CStr::from_ptr(text) }, c"CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_eq!(cu!(cuGetErrorString(2 => c_int, &raw mut text => *mut *const c_char)), Status::SUCCESS);
    // SAFETY: the driver returned a static C string, and the library stays loaded.
    assert_eq!(unsafe { CStr::from_ptr(text) }, c"out of memory");
    assert_eq!(cu!(cuGetErrorName(-5 => c_int, &raw mut text => *mut *const c_char)), Status::INVALID_VALUE);
}

#[test]
fn memory_of_one_process_is_opened_by_another() {
    let used = Use::new();
    let address = memory(5000);
    assert_eq!(send(address, &[7; 5000]), Status::SUCCESS);
    let (mut handle, mut opened) = (Handle([0; 64]), 0u64);
    assert_eq!(cu!(cuIpcGetMemHandle(&raw mut handle => *mut Handle, address + 10 => u64)), Status::SUCCESS);
    let mut open = || cu!(cuIpcOpenMemHandle_v2(&raw mut opened => *mut u64, handle => Handle, 1 => u32));
    assert_eq!(open(), Status::INVALID_CONTEXT, "its own");
    used.mock.set("opens_own", 1);
    assert_eq!((open(), open()), (Status::SUCCESS, Status::SUCCESS));
    assert_eq!(fetch(opened, 5000), [7; 5000]);
    assert_eq!(send(opened + 4999, &[8]), Status::SUCCESS);
    assert_eq!(fetch(address + 4999, 1), [8]);
    for _ in 0..2 {
        assert_eq!(cu!(cuIpcCloseMemHandle(opened => u64)), Status::SUCCESS);
    }
    assert_eq!(free(address), Status::SUCCESS);
    used.end();
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Handle([u8; 64]);

/// The last parameter of the library's kernels, as in their source.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Job {
    from: u64,
    to: u64,
    pattern: [u64; 2],
    width: u64,
    count: u32,
    rank: u32,
    rest: [u32; 6],
    axes: [Axis; 16],
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Axis {
    len: u32,
    steps: u32,
    magic: u32,
    shift: u32,
    from: i64,
    to: i64,
}

fn load(ptx: &CStr, module: &mut usize) -> Status {
    cu!(cuModuleLoadData(module => &mut usize, ptx.as_ptr() => *const c_char))
}

fn entry(module: usize, name: &CStr, function: &mut usize) -> Status {
    cu!(cuModuleGetFunction(function => &mut usize, module => usize, name.as_ptr() => *const c_char))
}

fn launch(function: usize, to: u64, from: u64, job: &Job) -> Status {
    let refused = 0u64;
    let mut parameters: [*const c_void; 4] = [
        (&raw const to).cast(),
        (&raw const from).cast(),
        (&raw const refused).cast(),
        std::ptr::from_ref(job).cast(),
    ];
    cu!(cuLaunchKernel(
        function => usize, 1 => u32, 1 => u32, 1 => u32, 256 => u32, 1 => u32, 1 => u32, 0 => u32, 0 => usize,
        parameters.as_mut_ptr() => *mut *const c_void, null_mut() => *mut *const c_void,
    ))
}

const PTX: &CStr = c".version 7.0
.target sm_70
.address_size 64
.visible .entry tiles_4(.param .u64 to)
{ ret; }
.visible .entry no_kernel(.param .u64 to)
{ ret; }
";

#[test]
fn a_kernel_of_the_library_runs_over_memory_of_a_device() {
    const SIDE: usize = 64;
    let used = Use::new();
    let (mut module, mut function) = (0, 0);
    assert_eq!(load(PTX, &mut module), Status::SUCCESS);
    assert_eq!(entry(module, c"tiles_4", &mut function), Status::SUCCESS);
    let content: Vec<u8> = (0..SIDE * SIDE).flat_map(|number| (number as u32).to_ne_bytes()).collect();
    let (from, to) = (memory(content.len()), memory(content.len()));
    assert_eq!(send(from, &content), Status::SUCCESS);
    // A transposition through memory shared by the group, with a barrier between.
    let axis = |from, to| Axis { len: SIDE as u32, steps: 1, from, to, ..Axis::default() };
    let mut job = Job { width: 4, count: 1, rank: 2, ..Job::default() };
    (job.axes[0], job.axes[1]) = (axis(4 * SIDE as i64, 4), axis(4, 4 * SIDE as i64));
    assert_eq!(launch(function, to, from, &job), Status::SUCCESS);
    let turned = fetch(to, content.len());
    let number = |row: usize, column: usize| &turned[4 * (row * SIDE + column)..][..4];
    for (row, column) in [(0, 0), (0, 1), (1, 0), (17, 42), (63, 62), (63, 63)] {
        assert_eq!(number(row, column), ((column * SIDE + row) as u32).to_ne_bytes(), "{row}, {column}");
    }
    assert_eq!(launch(function, to, 0x1234, &job), Status::INVALID_VALUE);
    used.assert_misuse("is no device's");
    used.mock.reset();
    assert_eq!((free(from), free(to)), (Status::SUCCESS, Status::SUCCESS));
    assert_eq!(cu!(cuModuleUnload(module => usize)), Status::SUCCESS);
    used.end();
}

#[test]
fn what_is_no_kernel_is_not_loaded() {
    let used = Use::new();
    let (mut module, mut none) = (0, 0);
    let head = |version: &str, target: &str| {
        let text =
            format!(".version {version}\n.target sm_{target}\n.address_size 64\n.visible .entry fill()\n");
        load(&std::ffi::CString::new(text).unwrap(), &mut 0)
    };
    assert_eq!(head("9.9", "70"), Status::UNSUPPORTED_PTX_VERSION);
    assert_eq!(head("7.0", "100"), Status::NO_BINARY_FOR_GPU);
    assert_eq!(used.mock.misuses(), [""; 0]);
    assert_eq!(load(c"\x7fELF", &mut none), Status::INVALID_PTX);
    used.assert_misuse("no version");
    used.mock.reset();
    assert_eq!(load(PTX, &mut module), Status::SUCCESS);
    assert_eq!(entry(module, c"tiles_8", &mut none), Status::NOT_FOUND);
    assert_eq!(used.mock.misuses(), [""; 0]);
    assert_eq!(entry(module, c"no_kernel", &mut none), Status::NOT_FOUND);
    used.assert_misuse("the host has no kernel no_kernel");
    used.mock.reset();
    assert_eq!(cu!(cuModuleUnload(module => usize)), Status::SUCCESS);
    used.end();
}

#[test]
fn a_copy_lacks_the_functions_that_it_is_to_lack() {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lacking-{}.so", std::process::id()));
    Mock::without(&["cuEventQuery", "cuInit"], &copy).unwrap();
    // SAFETY: the file is a copy of the mock driver, which has no initialisers of its own.
    let library = unsafe { Library::new(&copy) }.unwrap();
    let has = |name: &str| {
        // SAFETY: the symbol is looked up as a plain pointer, which is neither called nor
        // dereferenced.
        unsafe { library.get::<*mut c_void>(name) }.is_ok()
    };
    assert_eq!((has("cuEventQuery"), has("cuInit")), (false, false));
    assert!(has("cuEventRecord") && has("cuDriverGetVersion") && has("cuEventSynchronize"));
    std::fs::remove_file(copy).unwrap();
}
