//! Tests that need a separate process: missing loaders, forks, and the end of a process.

use std::ffi::OsStr;
use std::process::Command;

use crossdock::buffer::Buffer;
use crossdock::device;
use crossdock::memory::{DeviceKind, LeaseKind, Place};
use crossdock_opencl as opencl;

use crate::conformance::{bytes, host, numbers};
use crate::raw::Library;
use crate::{failures, first};
use crossdock_testkit::status_of_child;

/// Runs the test [`child`] of this program in a new process, with a task, and returns its output.
pub(crate) fn run_child(task: &str, environment: &[(&str, &OsStr)]) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "processes::child", "--quiet", "--nocapture"]).env("CROSSDOCK_TEST_TASK", task);
    // Objects that a driver fails to release, or that are forgotten, leak.
    child.env("LSAN_OPTIONS", "detect_leaks=0");
    let output = child.envs(environment.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{task}: {}: {said}", output.status);
    said.into_owned()
}

/// Not a test by itself: the task that [`run_child`] runs.
#[test]
fn child() {
    let Ok(task) = std::env::var("CROSSDOCK_TEST_TASK") else { return };
    opencl::register().unwrap();
    match task.as_str() {
        "every function fails once" => failures::every_function_fails_once(),
        "commands end badly" => failures::commands_end_badly(),
        "conforms though releases fail" => failures::conforms_though_releases_fail(),
        "tell what is missing" => tell_what_is_missing(),
        "end with work under way" => end_with_work_under_way(),
        "fork" => a_child_is_refused(),
        task => panic!("unknown task: {task}"),
    }
    println!("the task is done");
}

fn tell_what_is_missing() {
    let place = Place::new(DeviceKind::OPENCL, 0);
    // Each call looks for the loader again.
    for _ in 0..2 {
        let (listing, getting) = (opencl::devices().unwrap_err(), device::get(place).unwrap_err());
        assert!(listing.is_unsupported() && getting.is_unsupported(), "{listing} / {getting}");
        assert_eq!(format!("opencl:0 cannot be opened: {listing}"), getting.to_string());
        println!("told: {listing}");
    }
    let here = Buffer::from_vec(numbers(10)).unwrap();
    // SAFETY: the address is on a device place, so no code dereferences it.
    let lost = unsafe { Buffer::non_owned(std::ptr::without_provenance_mut(4096), 10, place) }.unwrap();
    assert!(lost.copy_to(&host()).unwrap_err().is_unsupported());
    assert!(here.copy_into(&lost).unwrap_err().is_unsupported());
    // SAFETY: the object is null, which clause 1 of the contract of `import` permits; the call is
    // refused.
    let import = unsafe { opencl::import(std::ptr::null_mut(), place, crossdock::memory::Birth::Sole) };
    assert!(import.unwrap_err().is_unsupported());
}

#[test]
fn a_machine_without_opencl_says_what_is_missing() {
    let told = |environment: &[(&str, &str)]| {
        let environment: Vec<_> =
            environment.iter().map(|(name, value)| (*name, OsStr::new(value))).collect();
        let said = run_child("tell what is missing", &environment);
        assert!(said.contains("the task is done"), "{said}");
        said
    };
    let no_loader = told(&[("CROSSDOCK_OPENCL_DRIVER", "libnothing-of-the-sort.so")]);
    assert!(no_loader.contains("libnothing-of-the-sort.so") && no_loader.contains("ocl-icd-libopencl1"));
    let another = told(&[("CROSSDOCK_OPENCL_DRIVER", "libc.so.6")]);
    assert!(another.contains("clGetPlatformIDs"), "{another}");
    if first().is_some() {
        // The variables of Debian's loader, and of Khronos's.
        let nowhere = env!("CARGO_TARGET_TMPDIR");
        let no_platform = told(&[("OCL_ICD_VENDORS", nowhere), ("OCL_ICD_FILENAMES", "")]);
        assert!(
            no_platform.contains("-1001") && no_platform.contains("CL_PLATFORM_NOT_FOUND_KHR"),
            "{no_platform}"
        );
    }
}

#[test]
fn a_device_that_is_not_there_is_told_with_the_numbers_that_are() {
    let Some((description, device)) = first() else { return };
    assert_eq!(description.place, Place::new(DeviceKind::OPENCL, 0));
    assert!(!description.name.is_empty() && !description.platform.is_empty());
    assert!(description.version.starts_with("OpenCL "), "{description:?}");
    assert!(description.largest_nbytes > 0 && description.largest_nbytes <= description.nbytes);
    assert_eq!(device.name(), description.name);
    // PoCL's device is the CPU.
    let is_the_processor = description.platform == "Portable Computing Language";
    assert!(!is_the_processor || description.is_unified && description.is_mappable, "{description:?}");
    let count = opencl::devices().unwrap().len();
    for ordinal in [count as i32, 7777, -1, i32::MIN] {
        let error = device::get(Place::new(DeviceKind::OPENCL, ordinal)).unwrap_err();
        let text = error.to_string();
        assert!(error.is_bounds() && text.contains(&ordinal.to_string()), "{text}");
        assert!(text.contains(&format!("0 to {}", count - 1)), "{text}");
    }
}

/// Memory, mappings, streams and events are alive when the process ends, and a copy waits for an
/// event that never completes.
fn end_with_work_under_way() {
    let (_, device) = first().unwrap();
    let stream = device.stream().unwrap().unwrap();
    let gate = Library::open().user_event(stream.raw());
    // SAFETY: `gate` keeps the event alive during the call, which retains it.
    let event = unsafe { device.wrap_event(gate.event()) }.unwrap().unwrap();
    let done = Buffer::from_vec(numbers(100)).unwrap().copy_to(&device.memory()).unwrap();
    let mapped = done.map_to(&host()).unwrap();
    stream.wait(&event).unwrap();
    let placed = Buffer::from_vec(numbers(100)).unwrap().copy_to_in(&device.memory(), &*stream).unwrap();
    assert!(!placed.event.as_ref().unwrap().is_done());
    // Some are dropped at the end of the thread, some never.
    thread_local! {
        static LEFT: std::cell::RefCell<Vec<Buffer>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    LEFT.with_borrow_mut(|left| left.extend([done, placed.buffer]));
    std::mem::forget((mapped, stream, event, gate, placed.event));
}

#[test]
fn a_process_ends_well_whatever_is_under_way() {
    if first().is_some() {
        let said = run_child("end with work under way", &[]);
        assert!(said.contains("the task is done"), "{said}");
    }
}

fn a_child_is_refused() {
    let (description, device) = first().unwrap();
    let stream = device.stream().unwrap().unwrap();
    let there = Buffer::from_vec(numbers(100)).unwrap().copy_to(&device.memory()).unwrap();
    let (raw, _) = there.device_lease(LeaseKind::Pin).unwrap().object().unwrap();
    let mapped = there.map_to(&host()).unwrap();
    let gate = Library::open().user_event(stream.raw());
    // SAFETY: `gate` keeps the event alive during the call, which retains it.
    let event = unsafe { device.wrap_event(gate.event()) }.unwrap().unwrap();
    stream.wait(&event).unwrap();
    let under_way = there.copy_to_in(&host(), &*stream).unwrap();
    let mut kept = Some((there.try_clone().unwrap(), mapped, under_way.buffer.try_clone().unwrap()));
    let status = status_of_child(|| {
        let here = Buffer::from_vec(numbers(100)).unwrap();
        let refused = [
            opencl::devices().err(),
            there.copy_to(&host()).err(),
            here.copy_to(&device.memory()).err(),
            there.map_to(&host()).err(),
            Buffer::on(&device.memory(), 10).err(),
            device.stream().err(),
            stream.record().err(),
            stream.wait(&event).err(),
            here.copy_to_in(&device.memory(), &*stream).err(),
            under_way.event.as_ref().and_then(|event| event.wait().err()),
            under_way.buffer.read().err(),
            opencl::sub_buffer(&there, LeaseKind::Pin).err(),
            // SAFETY: the memory object is the parent's, and the call is refused in the child
            // before any access.
            unsafe { opencl::import(raw.as_ptr(), description.place, crossdock::memory::Birth::Aliased) }
                .err(),
        ];
        let told = |error: &Option<crossdock::Error>| error.as_ref().is_some_and(crossdock::Error::is_device);
        let all = refused.iter().all(told);
        if !all {
            eprintln!("{refused:?}");
        }
        // Inherited objects can be dropped, and host memory still works.
        drop((kept.take(), opencl::devices()));
        all && device::take_release_errors().errors.is_empty() && here.copy_to(&host()).is_ok()
    });
    assert_eq!(status, 0, "the child ended with status {status:#x}");
    drop(gate);
    assert_eq!(under_way.buffer.read().unwrap()[..], numbers(100), "the parent's work goes on");
    assert_eq!(bytes(&there), numbers(100));
}

#[test]
fn a_forked_child_is_refused_and_drops_what_it_inherited() {
    if first().is_some() {
        let said = run_child("fork", &[]);
        assert!(said.contains("the task is done"), "{said}");
    }
}
