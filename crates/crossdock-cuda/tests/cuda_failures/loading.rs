//! No driver, no device, or an unusable driver: every function of the crate returns one clear
//! error.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::ptr::NonNull;

use crossdock::buffer::Buffer;
use crossdock::device;
use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::memory::{Birth, DeviceKind, Place};
use crossdock::{DArray, Error};
use crossdock_cuda::{self as cuda, IpcHandle};
use crossdock_mock_cuda::{Mock, Status};

use crate::process::{Scratch, alone, mock, set_driver};
use crate::table::{self, TO_OPEN, TO_START, TO_UNDO};

const PLACES: [DeviceKind; 3] = [DeviceKind::CUDA, DeviceKind::CUDA_HOST, DeviceKind::CUDA_MANAGED];

/// The error of each function of the crate, for the device of this ordinal.
fn all_errors(ordinal: i32) -> Vec<(&'static str, Option<Error>)> {
    let memory = NonNull::<[u8; 8]>::dangling();
    let buffer = Buffer::zeroed(8).unwrap();
    let handle = IpcHandle::from_bytes(&[0; IpcHandle::LEN]).unwrap();
    let mut errors = vec![
        ("devices", cuda::devices().err()),
        ("driver_version", cuda::driver_version().err()),
        ("place_of", cuda::place_of(memory.as_ptr().cast()).err()),
        // SAFETY: the driver does not know the dangling address, so the import is refused without
        // an access.
        ("import", unsafe { cuda::import(memory.cast(), 8, Birth::Aliased, || ()) }.err()),
    ];
    errors.extend(of_device(ordinal, &buffer, &handle));
    errors
}

/// The functions that name a device.
fn of_device(ordinal: i32, buffer: &Buffer, handle: &IpcHandle) -> Vec<(&'static str, Option<Error>)> {
    let mut errors = vec![
        ("free_nbytes", cuda::free_nbytes(ordinal).err()),
        ("trim", cuda::trim(ordinal, 0).err()),
        ("exportable_memory", cuda::exportable_memory(ordinal).err()),
        ("shareable_memory", cuda::shareable_memory(ordinal).err()),
        ("pin", cuda::pin(buffer, ordinal).err()),
        // SAFETY: no allocation was exported with this handle, so the call is refused and accesses
        // no memory.
        ("open_ipc", unsafe { cuda::open_ipc(handle, ordinal) }.err()),
    ];
    errors.extend(PLACES.map(|kind| ("get", device::get(Place::new(kind, ordinal)).err())));
    errors
}

/// All functions are refused for one reason, whose text contains `mentioned`, on both attempts.
#[track_caller]
fn assert_refused(mentioned: &str, is_it: fn(&Error) -> bool) {
    for (name, error) in all_errors(0).into_iter().chain(all_errors(0)) {
        let error = error.unwrap_or_else(|| panic!("{name} succeeded, where {mentioned} was to be said"));
        assert!(is_it(&error) && error.to_string().contains(mentioned), "{name}: {error:?}");
    }
}

/// The same library by another name, so that loading is attempted again.
fn another(name: &str) -> Scratch {
    let link = Scratch::new(name);
    std::os::unix::fs::symlink(Mock::path(), link.path()).unwrap();
    set_driver(link.path());
    link
}

#[test]
fn without_a_library_everything_says_that_there_is_no_driver() {
    alone("loading::without_a_library_everything_says_that_there_is_no_driver", || {
        set_driver(Path::new("/nowhere/libcuda.so.1"));
        assert_refused("no CUDA driver: /nowhere/libcuda.so.1", Error::is_unsupported);
        let text = Scratch::new("text.so");
        fs::write(text.path(), "no library").unwrap();
        set_driver(text.path());
        assert_refused("text.so cannot be loaded", Error::is_unsupported);
        // A driver that is installed later works without a restart.
        let mock = mock();
        assert_eq!(device::get(Place::new(DeviceKind::CUDA, 0)).unwrap().name(), "mock device 0");
        assert_eq!(mock.misuses(), [""; 0]);
    });
}

#[test]
fn each_function_that_a_driver_lacks_is_named() {
    alone("loading::each_function_that_a_driver_lacks_is_named", || {
        let names = table::functions();
        for name in &names {
            let copy = Scratch::new(name);
            Mock::without(&[name.as_str()], copy.path()).unwrap();
            set_driver(copy.path());
            let error = cuda::devices().unwrap_err();
            assert!(error.is_unsupported(), "{error}");
            assert!(error.to_string().contains(&format!("has no function {name}")), "{error}");
        }
        assert_refused(names.last().unwrap(), Error::is_unsupported);
        mock();
        assert_eq!(cuda::devices().unwrap().len(), 2);
    });
}

#[test]
fn a_driver_without_virtual_memory_calls_has_the_rest_and_the_error_names_the_other_way() {
    alone(
        "loading::a_driver_without_virtual_memory_calls_has_the_rest_and_the_error_names_the_other_way",
        || {
            let copy = Scratch::new("no-virtual-memory.so");
            Mock::without(&["cuMemMap"], copy.path()).unwrap();
            set_driver(copy.path());
            let error = cuda::shareable_memory(0).unwrap_err();
            let text = error.to_string();
            assert!(error.is_unsupported() && text.contains("has no function cuMemMap"), "{text}");
            assert!(text.contains("legacy IPC") && text.contains("export_ipc"), "{text}");
            assert!(Buffer::on(&cuda::exportable_memory(0).unwrap(), 10).is_ok());
            assert!(table::optional().contains("cuMemMap"));
        },
    );
}

#[test]
fn a_device_that_exports_no_descriptors_says_so_and_names_the_other_way() {
    alone("loading::a_device_that_exports_no_descriptors_says_so_and_names_the_other_way", || {
        let mock = mock();
        for attribute in [102, 103] {
            mock.reset();
            mock.set_attribute(0, attribute, 0);
            let error = cuda::shareable_memory(0).unwrap_err();
            let text = error.to_string();
            assert!(
                error.is_unsupported() && text.contains(&format!("attribute {attribute} is 0")),
                "{text}"
            );
            assert!(text.contains("cuda:0") && text.contains("legacy IPC"), "{text}");
        }
        assert!(cuda::shareable_memory(1).is_ok());
        assert_eq!(mock.misuses(), [""; 0]);
    });
}

#[test]
fn a_driver_that_is_too_old_or_does_not_start_is_not_used() {
    alone("loading::a_driver_that_is_too_old_or_does_not_start_is_not_used", || {
        let mock = Mock::get();
        let _old = another("old.so");
        mock.set("driver_version", 10_020);
        assert_refused("is a driver for CUDA 10.2", Error::is_unsupported);
        mock.reset();
        let _silent = another("silent.so");
        let [version, init] = TO_START else { panic!("two functions start the driver") };
        mock.fail(version, 1, Status::UNKNOWN);
        assert_refused("cuDriverGetVersion", Error::is_device);
        let _none = another("none.so");
        mock.set("device_count", 0);
        assert_refused(
            "error 100 (CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected)",
            Error::is_unsupported,
        );
        mock.reset();
        let _broken = another("broken.so");
        (1..100).for_each(|nth| mock.fail(init, nth, Status::UNKNOWN));
        assert_refused("cuInit failed with error 999 (CUDA_ERROR_UNKNOWN: unknown error)", Error::is_device);
        mock.reset();
        assert_eq!(cuda::driver_version().unwrap(), (12, 4));
        assert_eq!(mock.misuses(), [""; 0]);
    });
}

#[test]
fn a_device_that_the_driver_does_not_have_is_out_of_bounds() {
    alone("loading::a_device_that_the_driver_does_not_have_is_out_of_bounds", || {
        let mock = mock();
        let handle = IpcHandle::from_bytes(&[0; IpcHandle::LEN]).unwrap();
        for ordinal in [2, -1, i32::MAX, i32::MIN] {
            for (name, error) in of_device(ordinal, &Buffer::zeroed(8).unwrap(), &handle) {
                let error = error.unwrap_or_else(|| panic!("{name} of device {ordinal} succeeded"));
                assert!(error.is_bounds(), "{name}: {error}");
                let text = error.to_string();
                assert!(text.contains(&ordinal.to_string()) && text.contains("2 devices"), "{name}: {error}");
            }
        }
        assert_eq!((mock.misuses(), mock.count("contexts")), (vec![], 0));
    });
}

#[test]
fn a_device_without_pools_or_managed_memory_has_the_rest() {
    alone("loading::a_device_without_pools_or_managed_memory_has_the_rest", || {
        let mock = mock();
        let (managed, pools) = (83, 115);
        mock.set_attribute(1, pools, 0);
        mock.set_attribute(1, managed, 0);
        let at = |kind| device::memory(Place::new(kind, 1));
        let buffer =
            Buffer::from_vec(vec![7u8; 100]).unwrap().copy_to(&at(DeviceKind::CUDA).unwrap()).unwrap();
        assert_eq!((mock.calls("cuMemAlloc_v2"), mock.count("pools")), (1, 0));
        drop(buffer);
        let error = Buffer::on(&at(DeviceKind::CUDA_MANAGED).unwrap(), 10).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains("83"), "{error}");
        assert!(Buffer::on(&at(DeviceKind::CUDA_HOST).unwrap(), 10).is_ok());
        assert_eq!((mock.misuses(), mock.count("device_memory")), (vec![], 0));
    });
}

/// The kernels are PTX, which the driver compiles at the first launch.
#[test]
fn what_is_too_old_for_the_kernels_says_so() {
    alone("loading::what_is_too_old_for_the_kernels_says_so", || {
        let mock = mock();
        let memory = device::memory(Place::new(DeviceKind::CUDA, 0)).unwrap();
        let there = DArray::zeros(DType::F32, &[9], Order::RowMajor).unwrap().copy_to(&memory).unwrap();
        let (capability, old) = (75, 5);
        let make_old: [(&dyn Fn(), Status); 2] = [
            (&|| mock.set_attribute(0, capability, old), Status::NO_BINARY_FOR_GPU),
            (&|| mock.set("driver_version", 11_000), Status::UNSUPPORTED_PTX_VERSION),
        ];
        for (make_old, status) in make_old {
            make_old();
            let error = there.fill(&1.into()).unwrap_err();
            let expected = format!("cuModuleLoadData failed with error {}", status.0);
            assert!(error.is_device() && error.to_string().contains(&expected), "{error}");
            mock.reset();
        }
        there.fill(&1.into()).unwrap();
        assert_eq!(mock.misuses(), [""; 0]);
    });
}

/// Opening a device fails at each of its calls: nothing is left of the attempt, and the next one
/// succeeds.
#[test]
fn a_device_that_does_not_open_leaves_nothing_behind() {
    alone("loading::a_device_that_does_not_open_leaves_nothing_behind", || {
        let mock = mock();
        mock.set("device_count", 100);
        assert_eq!(cuda::devices().unwrap().len(), 100);
        let (mut opened, mut failed) = (0, Vec::new());
        loop {
            mock.fail("*", failed.len() as u64 + 1, Status::UNKNOWN);
            let before = mock.live();
            let place = Place::new(DeviceKind::CUDA, opened);
            let error = match device::get(place) {
                Err(error) => {
                    assert_eq!(mock.live(), before, "after {error}");
                    assert!(
                        device::take_release_errors().errors.is_empty(),
                        "what was told is not told again"
                    );
                    error
                }
                Ok(_) if mock.failures_left() > 0 => break,
                // The failed call destroyed or released an object.
                Ok(_) => {
                    opened += 1;
                    let (of, error) = device::take_release_errors().errors.pop().expect("a call failed");
                    assert_eq!(of, place);
                    error
                }
            };
            let text = error.to_string();
            assert!(error.is_device() && text.contains("failed with error 999"), "{text}");
            // The function's name follows the place, which contains a colon.
            let is_function = |word: &&str| word.starts_with("cu") && !word.contains(':');
            failed.extend(text.split_whitespace().find(is_function).map(str::to_owned));
            assert_eq!((mock.misuses(), mock.count("current")), (vec![], 0), "after {text}");
        }
        mock.reset();
        mock.set("device_count", 100);
        println!("opening failed at {failed:?}");
        let functions: BTreeSet<_> = failed.into_iter().collect();
        assert_eq!(functions, table::of(&[TO_OPEN]));
        // A failure during clean-up is queued, since the attempt returns its own error.
        let other = Place::new(DeviceKind::CUDA, 99);
        for &function in TO_UNDO {
            mock.fail("cuMemPoolSetAttribute", 1, Status::UNKNOWN);
            mock.fail(function, 1, Status::LAUNCH_FAILED);
            assert!(device::get(other).unwrap_err().to_string().contains("cuMemPoolSetAttribute"));
            let queued = device::take_release_errors().errors;
            assert_eq!(queued.len(), 1, "{function}: {queued:?}");
            let (place, error) = &queued[0];
            assert!(
                *place == other && error.to_string().contains(&format!("{function} failed with error 719")),
                "{error}"
            );
            assert_eq!(mock.failures_left(), 0);
        }
        assert!(device::get(other).is_ok());
    });
}
