//! Each function of the driver fails, at each of its calls.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::{DArray, Error};
use crossdock_mock_cuda::{Live, Mock, Status};

use crate::process::{alone, mock};
use crate::scenario::{Devices, at_rest, queued};
use crate::table::{self, IN_A_ROUND, OF_MANY_EVENTS, OF_WORDS, TO_LAUNCH, TO_MEET};

/// Functions by which the polling thread queries whether work is over. If another thread finds that
/// out first, their answer is not used.
const ASKING: &[&str] = &["cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuEventQuery", "cuEventSynchronize"];

/// Functions that must succeed before anything can be freed: where one fails, one object is lost.
const ENTERING: &[&str] = &["cuCtxGetCurrent", "cuCtxPushCurrent_v2"];

/// How many of a function's calls in a round fail, at most: the first ones, since the same code
/// makes the later ones.
const MOST: u64 = 40;

/// Functions that destroy or free. No caller waits for their result, so errors are queued.
const DESTROYERS: &[&str] = &[
    "cuCtxPopCurrent_v2",
    "cuEventDestroy_v2",
    "cuIpcCloseMemHandle",
    "cuMemAddressFree",
    "cuMemFreeAsync",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemHostUnregister",
    "cuMemRelease",
    "cuMemUnmap",
    "cuStreamDestroy_v2",
];

fn names(error: &Error, function: &str, status: Status) -> bool {
    error.to_string().contains(&format!("{function} failed with error {}", status.0))
}

/// Whether all but one object is left.
fn may_be_lost(function: &str, live: &Live, rest: &Live) -> bool {
    let count = |live: &Live| live.device_memory + live.host_memory + live.registered + live.managed;
    ENTERING.contains(&function) && count(live) == count(rest) + 1
}

fn begin(mock: &Mock) {
    mock.reset();
    mock.set("opens_own", 1);
}

/// The functions that a round calls, and how often.
fn functions(mock: &Mock, devices: &Devices) -> BTreeMap<String, u64> {
    for _ in 0..2 {
        begin(mock);
        devices.round().unwrap();
    }
    let mut called = mock.called();
    // Names of errors are queried after an error; a failure to return one is no error of its own.
    called.retain(|function, _| !function.starts_with("cuGetError"));
    called
}

#[test]
fn an_error_without_a_name_has_its_number() {
    alone("calls::an_error_without_a_name_has_its_number", || {
        let mock = mock();
        let devices = Devices::open();
        let [name, text] = OF_WORDS else { panic!("an error has two words") };
        for (function, expected) in [
            (name, "cuMemHostAlloc failed with error 719 (: unspecified launch failure)"),
            (text, "cuMemHostAlloc failed with error 719 (CUDA_ERROR_LAUNCH_FAILED: )"),
        ] {
            mock.fail("cuMemHostAlloc", 1, Status::LAUNCH_FAILED);
            mock.fail(function, 1, Status::UNKNOWN);
            let error = Buffer::on(&devices.pinned, 10).unwrap_err();
            assert!(error.is_device() && error.to_string().contains(expected), "{error}");
        }
        mock.fail("cuMemHostAlloc", 1, Status(12345));
        let error = Buffer::on(&devices.pinned, 10).unwrap_err();
        assert!(error.to_string().ends_with("cuMemHostAlloc failed with error 12345"), "{error}");
    });
}

/// How a failure was reported.
struct Told {
    returned: bool,
    queued: bool,
}

/// A round in which one call of a function fails, the clean-up after it, and a round that succeeds.
/// `rest` is what is live before and after.
fn fail_once(mock: &Mock, devices: &Devices, function: &str, nth: u64, rest: &mut Live) -> Told {
    begin(mock);
    mock.fail(function, nth, Status::LAUNCH_FAILED);
    let outcome = devices.round();
    let at = format!("call {nth} of {function}: {outcome:?}");
    // The polling thread makes some calls, at times that this test does not control.
    let has_happened = mock.take_failures() == 0;
    *rest = at_rest(mock, &at, |live| live == rest || may_be_lost(function, live, rest));
    let in_queue = queued();
    let is_it = |error: &Error| error.is_device() && names(error, function, Status::LAUNCH_FAILED);
    let told = Told { returned: outcome.as_ref().is_err_and(is_it), queued: in_queue.iter().any(is_it) };
    assert!(outcome.is_ok() || told.returned, "{at}");
    if has_happened && !ASKING.contains(&function) {
        assert!(told.returned || told.queued, "{at}, and queued: {in_queue:?}");
        assert!(told.queued || !DESTROYERS.contains(&function), "{at}");
    }
    assert_eq!((mock.misuses(), mock.count("current")), (vec![], 0), "{at}");
    devices.round().unwrap_or_else(|error| panic!("after {at}: {error}"));
    told
}

#[test]
fn each_call_that_fails_is_an_error_that_names_it_and_the_next_round_succeeds() {
    alone("calls::each_call_that_fails_is_an_error_that_names_it_and_the_next_round_succeeds", || {
        let mock = mock();
        let devices = Devices::open();
        let functions = functions(mock, &devices);
        assert_eq!(functions.keys().cloned().collect::<BTreeSet<_>>(), table::of(&[IN_A_ROUND]));
        assert_eq!((mock.misuses(), queued().len()), (vec![], 0));
        let mut rest = at_rest(mock, "the first rounds", |live| live.nbytes == 0);
        let idle = |mock: &Mock| mock.count("events") + mock.count("streams");
        let kept = idle(mock);
        for (function, &count) in &functions {
            let (mut returned, mut queued) = (0, 0);
            // With a fifth of the rounds, each fifth call fails, including the first call of each
            // function.
            let step = 100 / crossdock_testkit::rounds(100);
            for nth in (1..=count.min(MOST)).step_by(step) {
                let told = fail_once(mock, &devices, function, nth, &mut rest);
                returned += u64::from(told.returned);
                queued += u64::from(told.queued);
            }
            // Whether a round makes a call can depend on the polling thread.
            for _ in 0..20 {
                if returned + queued > 0 {
                    break;
                }
                let told = fail_once(mock, &devices, function, 1, &mut rest);
                returned += u64::from(told.returned);
                queued += u64::from(told.queued);
            }
            println!("{function}: {returned} returned and {queued} queued of {count} calls");
            assert!(returned + queued > 0, "{function} never failed");
        }
        // A device keeps up to 64 idle events, as many as were in use at once. If each failed call
        // lost one, there would be hundreds more.
        assert!(idle(mock) <= kept + 64, "{kept} events and streams were kept, and now {}", idle(mock));
    });
}

/// State that is queried once, and cached.
#[test]
fn devices_that_fail_to_meet_try_again() {
    alone("calls::devices_that_fail_to_meet_try_again", || {
        let mock = mock();
        let devices = Devices::open();
        let there = Buffer::from_vec(vec![7u8; 100]).unwrap().copy_to(&devices.device).unwrap();
        for function in TO_MEET {
            mock.fail(function, 1, Status::LAUNCH_FAILED);
            let error = there.copy_to(&devices.other).unwrap_err();
            assert!(error.is_device() && names(&error, function, Status::LAUNCH_FAILED), "{error}");
        }
        let met = there.copy_to(&devices.other).unwrap();
        assert_eq!(met.copy_to(&devices.host).unwrap().read().unwrap()[..], [7; 100]);
        let asked = TO_MEET.iter().map(|function| mock.calls(function)).sum::<u64>();
        there.copy_to(&devices.other).unwrap();
        assert_eq!(
            asked,
            TO_MEET.iter().map(|function| mock.calls(function)).sum::<u64>(),
            "they know each other"
        );
        assert_eq!((mock.misuses(), queued().len()), (vec![], 0));
    });
}

/// State that is loaded once, and cached.
#[test]
fn kernels_that_fail_to_load_are_loaded_by_the_next_launch() {
    alone("calls::kernels_that_fail_to_load_are_loaded_by_the_next_launch", || {
        let mock = mock();
        let devices = Devices::open();
        let there =
            DArray::zeros(DType::F32, &[9], Order::RowMajor).unwrap().copy_to(&devices.device).unwrap();
        for function in TO_LAUNCH {
            mock.fail(function, 1, Status::LAUNCH_FAILED);
            let error = there.fill(&1.into()).unwrap_err();
            assert!(error.is_device() && names(&error, function, Status::LAUNCH_FAILED), "{error}");
        }
        there.fill(&1.into()).unwrap();
        let asked = TO_LAUNCH.iter().map(|function| mock.calls(function)).sum::<u64>();
        there.fill(&2.into()).unwrap();
        assert_eq!(
            asked,
            TO_LAUNCH.iter().map(|function| mock.calls(function)).sum::<u64>(),
            "they are there"
        );
        assert_eq!(there.get(&[8]).unwrap().as_f64(), Some(2.0));
        assert_eq!((mock.misuses(), queued().len()), (vec![], 0));
    });
}

/// More events than a device keeps for reuse.
#[test]
fn an_event_that_cannot_be_made_or_destroyed_is_told_and_the_others_go_on() {
    alone("calls::an_event_that_cannot_be_made_or_destroyed_is_told_and_the_others_go_on", || {
        let mock = mock();
        let devices = Devices::open();
        let stream = devices.first.stream().unwrap().unwrap();
        let [create, destroy] = OF_MANY_EVENTS else { panic!("an event is made and destroyed") };
        let held_back = mock.hold_back();
        mock.fail(create, 50, Status::LAUNCH_FAILED);
        let mut events = Vec::new();
        for number in 1..=100 {
            match stream.record() {
                Ok(event) => events.push(event),
                Err(error) => {
                    assert!(
                        number == 50 && names(&error, create, Status::LAUNCH_FAILED),
                        "{number}: {error}"
                    );
                    assert_eq!(mock.failures_left(), 0);
                }
            }
        }
        assert_eq!((events.len(), mock.count("events")), (99, 99));
        mock.fail(destroy, 3, Status::LAUNCH_FAILED);
        drop(held_back);
        events.iter().for_each(|event| event.wait().unwrap());
        drop((events, stream));
        // The thread that receives the failure reports it after the driver has counted it.
        let reported = RefCell::new(Vec::new());
        at_rest(mock, "many events", |_| {
            reported.borrow_mut().extend(queued());
            mock.failures_left() == 0 && !reported.borrow().is_empty()
        });
        let reported = reported.into_inner();
        assert!(reported.len() == 1 && names(&reported[0], destroy, Status::LAUNCH_FAILED), "{reported:?}");
        assert!(mock.count("events") < 99, "{} are kept", mock.count("events"));
        assert_eq!(mock.misuses(), [""; 0]);
    });
}
