//! Each function of the driver fails once, and commands fail, by means of a loader that forwards
//! calls and fails on request.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crossdock::buffer::Buffer;
use crossdock::device::{self, Device};
use crossdock::element::Element;
use crossdock::layout::{Layout, Order};
use crossdock::memory::{Birth, LeaseKind, Place};
use crossdock::{DArray, Error};
use crossdock_opencl as opencl;
use crossdock_testkit::missing;
use opencl_sys::{CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, cl_int};

use crate::conformance::{self, Subject, bytes, host, numbers};
use crate::processes::run_child;
use crate::raw::Library;
use crate::{eventually, first, subject};

/// The error of requested failures, which OpenCL does not define.
const ERROR: cl_int = -4242;

/// The failing loader, as a file; `None` where there is no compiler.
fn failing_loader() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/failing_opencl.c");
    let name = format!("failing_opencl.{}.so", std::process::id());
    let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-pthread", "-o"]);
    match compiler.arg(&object).arg(source).arg("-ldl").status() {
        Ok(status) => assert!(status.success(), "it does not compile"),
        Err(error) => {
            missing(&format!("the compiler `cc` ({error})"));
            return None;
        }
    }
    Some(object)
}

#[test]
fn what_fails_in_the_driver_is_an_error_with_its_number_and_its_function_and_goes_no_further() {
    let (Some(_), Some(loader)) = (first(), failing_loader()) else { return };
    for task in ["every function fails once", "commands end badly", "conforms though releases fail"] {
        run_child(task, &[("CROSSDOCK_OPENCL_DRIVER", loader.as_os_str())]);
    }
    std::fs::remove_file(loader).unwrap();
}

/// The failing loader that this process uses.
struct Failing(libloading::Library);

impl Failing {
    fn open() -> Self {
        let path = std::env::var_os("CROSSDOCK_OPENCL_DRIVER").expect("run by another test");
        // SAFETY: the library was compiled from the source of this test, and has no initialisers.
        Self(unsafe { libloading::Library::new(path) }.unwrap())
    }

    fn fail_next(&self, function: &str, error: cl_int) {
        // SAFETY: the library defines a function of this name with this type (`failing_opencl.c`).
        let fail = unsafe { self.0.get::<unsafe extern "C" fn(*const c_char, cl_int)>("fail_next") }.unwrap();
        let function = CString::new(function).unwrap();
        // SAFETY: the argument is a C string, which the function copies before it returns.
        unsafe { fail(function.as_ptr(), error) }
    }

    fn end_commands_with(&self, status: cl_int) {
        // SAFETY: the library defines a function of this name with this type (`failing_opencl.c`).
        let end = unsafe { self.0.get::<unsafe extern "C" fn(cl_int)>("end_commands_with") }.unwrap();
        // SAFETY: the function stores the number, whatever it is, and accesses no other memory.
        unsafe { end(status) }
    }

    fn failures(&self) -> u32 {
        // SAFETY: the library defines a function of this name with this type (`failing_opencl.c`).
        let count = unsafe { self.0.get::<unsafe extern "C" fn() -> u32>("failures") }.unwrap();
        // SAFETY: the function has no parameters and only reads a counter of the library.
        unsafe { count() }
    }
}

/// Uses every feature of a device.
fn everything(device: &Arc<dyn Device>, library: &Library) -> Result<(), Error> {
    let memory = device.memory();
    let here = Buffer::zeroed(2 << 20)?.slice(..5000)?;
    here.write()?.copy_from_slice(&numbers(5000));
    let there = here.copy_to(&memory)?;
    let copy = there.copy_to(&memory)?;
    assert_eq!(copy.copy_to(&host())?.read()?[..], numbers(5000));
    if let Some(mapped) = there.map_to(&host())? {
        assert_eq!(mapped.pin()?.to_vec(), numbers(5000));
    }
    drop(here.map_to(&memory)?);
    let stream = device.stream()?.unwrap();
    let placed = here.copy_to_in(&memory, &*stream)?;
    let back = placed.buffer.copy_to_in(&host(), &*stream)?;
    let second = device.stream()?.unwrap();
    if let Some(event) = back.event {
        second.wait(&event)?;
    }
    second.synchronize()?;
    assert_eq!(back.buffer.read()?[..], numbers(5000));
    // Rows of 128 KiB are copied by the driver.
    const ROW: usize = 1 << 17;
    let wide = DArray::from_buffer(
        Buffer::on(&memory, 2 * ROW + 1000)?,
        u8::dtype(),
        Layout::new(&[2, ROW], &[ROW as isize + 500, 1], 1)?,
        0,
    )?;
    assert_eq!(wide.to_order(Order::RowMajor)?.nbytes(), 2 * ROW);
    // Objects of another library.
    let foreign = library.context_beside(stream.raw(), 0);
    // SAFETY: `foreign` keeps the queue alive, and is dropped after `theirs`, which was created
    // later.
    let theirs = unsafe { device.wrap_stream(foreign.queue()) }?.unwrap();
    let gate = library.user_event(foreign.queue());
    // SAFETY: `gate` keeps the event alive during the call, which retains it.
    let event = unsafe { device.wrap_event(gate.event()) }.map(|event| event.unwrap());
    let waited = event.and_then(|event| theirs.wait(&event));
    drop(gate);
    waited?;
    let object = foreign.buffer(&numbers(100));
    let imported = import(object, device.place());
    foreign.release(object);
    let imported = imported?;
    assert_eq!(imported.copy_to(&memory)?.copy_to(&host())?.read()?[..], numbers(100));
    imported.copy_to_in(&host(), &*theirs)?.buffer.settle()?;
    drop(opencl::sub_buffer(&copy.slice(..7)?, LeaseKind::Pin)?);
    drop(opencl::sub_buffer(&copy, LeaseKind::Pin)?);
    by_a_kernel(device)
}

/// Copies elements into another order.
fn by_a_kernel(device: &Arc<dyn Device>) -> Result<(), Error> {
    let there = Buffer::from_vec(numbers(6))?.copy_to(&device.memory())?;
    let columns = DArray::from_buffer(there, u8::dtype(), Layout::new(&[2, 3], &[1, 2], 1)?, 0)?;
    let rows = columns.to_order(Order::RowMajor)?;
    let numbers = numbers(6);
    assert_eq!(
        rows.buffer()?.0.copy_to(&host())?.read()?[..],
        [0, 2, 4, 1, 3, 5].map(|index: usize| numbers[index])
    );
    Ok(())
}

fn import(object: *mut std::ffi::c_void, place: Place) -> Result<Buffer, Error> {
    // SAFETY: the callers pass a memory object that is alive, and access it through the buffer only
    // until the release.
    unsafe { opencl::import(object, place, Birth::Sole) }
}

/// A task of a child process, which uses the failing loader.
pub(crate) fn every_function_fails_once() {
    let (failing, library) = (Failing::open(), Library::open());
    // Before a device is opened.
    for function in ["clGetPlatformIDs", "clGetDeviceIDs", "clGetDeviceInfo", "clGetPlatformInfo"] {
        failing.fail_next(function, ERROR);
        assert_told(&opencl::devices().unwrap_err(), function);
    }
    let place = opencl::devices().unwrap()[0].place;
    for function in ["clGetDeviceIDs", "clCreateContext", "clGetDeviceInfo", "clCreateCommandQueue"] {
        failing.fail_next(function, ERROR);
        assert_told(&device::get(place).unwrap_err(), function);
    }
    let device = device::get(place).unwrap();
    let drained = device::take_release_errors();
    assert!(drained.errors.is_empty(), "{drained:?}");
    for function in ["clCreateProgramWithSource", "clBuildProgram", "clCreateKernel"] {
        failing.fail_next(function, ERROR);
        assert_told(&by_a_kernel(&device).unwrap_err(), function);
    }
    everything(&device, &library).unwrap();
    let live = || {
        let usage = device.memory().usage();
        (usage.live_nbytes, usage.live_count)
    };
    let before_all = live();
    for function in [
        "clCreateCommandQueue",
        "clCreateBuffer",
        "clCreateSubBuffer",
        "clGetMemObjectInfo",
        "clGetCommandQueueInfo",
        "clGetContextInfo",
        "clGetEventInfo",
        "clEnqueueReadBuffer",
        "clEnqueueWriteBuffer",
        "clEnqueueCopyBuffer",
        "clEnqueueCopyBufferRect",
        "clEnqueueMapBuffer",
        "clEnqueueUnmapMemObject",
        "clEnqueueMarkerWithWaitList",
        "clEnqueueBarrierWithWaitList",
        "clSetKernelArg",
        "clEnqueueNDRangeKernel",
        "clRetainContext",
        "clRetainCommandQueue",
        "clRetainMemObject",
        "clRetainEvent",
        "clReleaseContext",
        "clReleaseCommandQueue",
        "clReleaseMemObject",
        "clReleaseEvent",
        "clWaitForEvents",
    ] {
        let before = failing.failures();
        failing.fail_next(function, ERROR);
        let outcome = everything(&device, &library);
        // Another thread may drop the last reference.
        assert!(eventually(|| failing.failures() == before + 1), "{function} was not called");
        // An error without a caller to return it to is queued, a moment later.
        let is_queued = function.starts_with("clRelease") || function == "clEnqueueUnmapMemObject";
        let queued = RefCell::new(Vec::new());
        eventually(|| {
            queued.borrow_mut().extend(device::take_release_errors().errors);
            !is_queued || !queued.borrow().is_empty()
        });
        let queued = queued.into_inner();
        assert!(queued.iter().all(|(place, _)| *place == device.place()));
        let errors: Vec<&Error> =
            outcome.as_ref().err().into_iter().chain(queued.iter().map(|(_, error)| error)).collect();
        // A failed wait for an event polls it instead, and a failed poll is repeated; other queries
        // of events are not.
        let is_outlived = matches!(function, "clWaitForEvents" | "clGetEventInfo") && errors.is_empty();
        assert!(errors.len() == 1 || is_outlived, "{function}: {errors:?}");
        errors.iter().for_each(|error| assert_told(error, function));
        assert_eq!(outcome.is_ok(), is_queued || is_outlived, "{function}: {outcome:?}");
        everything(&device, &library).unwrap_or_else(|error| panic!("after {function} had failed: {error}"));
        // The thread that finds finished work may have the last handle for a moment.
        assert!(eventually(|| live() == before_all), "{function}: {:?} of {before_all:?}", live());
    }
    // Exhausted memory is reported as such, and a failed flush is ignored.
    for error in [CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY] {
        failing.fail_next("clCreateBuffer", error);
        assert!(Buffer::on(&device.memory(), 100).unwrap_err().is_out_of_memory());
    }
    failing.fail_next("clFlush", ERROR);
    everything(&device, &library).unwrap();
}

fn assert_told(error: &Error, function: &str) {
    let text = error.to_string();
    assert!(error.is_device() && text.contains(function) && text.contains("-4242"), "{function}: {text}");
}

/// A task of a child process, which uses the failing loader.
pub(crate) fn commands_end_badly() {
    let failing = Failing::open();
    let (_, device) = first().unwrap();
    let stream = device.stream().unwrap().unwrap();
    let (here, back) = (Buffer::from_vec(numbers(100)).unwrap(), Buffer::zeroed(100).unwrap());
    let there = here.copy_to(&device.memory()).unwrap();
    failing.end_commands_with(ERROR);
    let event = there.copy_into_in(&back, &*stream).unwrap().unwrap();
    for error in [
        event.wait().unwrap_err(),
        event.poll().unwrap().unwrap_err(),
        back.read().unwrap_err(),
        back.copy_to(&device.memory()).unwrap_err(),
        stream.synchronize().unwrap_err(),
        stream.wait(&event).unwrap_err(),
        here.copy_to(&device.memory()).unwrap_err(),
    ] {
        let text = error.to_string();
        assert!(error.is_device() && text.contains("-4242") && text.contains("opencl:"), "{text}");
    }
    failing.end_commands_with(0);
    // The leases are released; the destination reports the error until it is settled.
    drop(there.device_lease(LeaseKind::Write).unwrap());
    assert!(back.read().unwrap_err().is_device());
    assert!(back.settle().is_err());
    drop(back.write().unwrap());
    assert_eq!(bytes(&there), numbers(100));
}

/// A task of a child process, which uses the failing loader.
pub(crate) fn conforms_though_releases_fail() {
    let failing = Failing::open();
    let fail_release = move || failing.fail_next("clReleaseMemObject", ERROR);
    let subject = Subject { fail_release: Some(Box::new(fail_release)), ..subject().unwrap() };
    conformance::memory::what_goes_wrong_in_a_release_is_queued_and_readable(&subject);
}
