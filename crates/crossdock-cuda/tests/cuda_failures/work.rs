//! Work that fails in a stream, after it was enqueued.

use std::sync::Arc;

use crossdock::buffer::Buffer;
use crossdock::device::Event;
use crossdock::memory::LeaseKind;
use crossdock_mock_cuda::Status;

use crate::process::{alone, mock};
use crate::scenario::{Devices, at_rest, queued};

#[test]
fn work_that_fails_is_told_to_everyone_who_asks_and_gives_its_leases_back() {
    alone("work::work_that_fails_is_told_to_everyone_who_asks_and_gives_its_leases_back", || {
        let mock = mock();
        let devices = Devices::open();
        let stream = devices.first.stream().unwrap().unwrap();
        let source = Buffer::from_vec(vec![7u8; 5000]).unwrap();
        let there = source.copy_to(&devices.device).unwrap();
        let back = Buffer::zeroed(5000).unwrap();
        mock.fail_work(1, Status::ILLEGAL_ADDRESS);
        let held_back = mock.hold_back();
        let event = there.copy_into_in(&back, &*stream).unwrap().expect("it is under way");
        drop(held_back);
        for _ in 0..2 {
            let error = event.wait().unwrap_err();
            assert!(error.is_device() && error.to_string().contains("failed with error 700"), "{error}");
            assert!(back.read().unwrap_err().is_device(), "bytes that were not written cannot be read");
        }
        assert!(matches!(event.poll(), Some(Err(_))));
        drop(there.device_lease(LeaseKind::Write).expect("the leases have been given back"));
        assert!(back.settle().unwrap_err().is_device());
        assert_eq!(back.read().unwrap()[..], [0; 5000], "nothing arrived");
        // Every call in a broken context fails, and errors of frees are queued.
        let error = source.copy_to(&devices.device).unwrap_err();
        assert!(
            error.is_device() && error.to_string().contains("error 700 (CUDA_ERROR_ILLEGAL_ADDRESS"),
            "{error}"
        );
        let refused = stream.record().map(|event: Arc<dyn Event>| event.wait());
        assert!(refused.is_err() || refused.is_ok_and(|outcome| outcome.is_err()));
        drop(there);
        assert!(queued().iter().any(|error| error.to_string().contains("failed with error 700")));
        mock.reset();
        assert_eq!(mock.misuses(), [""; 0]);
        drop(stream);
        at_rest(mock, "a context that was mended", |live| live.nbytes == 0);
    });
}

/// Each piece of work in a round fails, which breaks the context until the driver is reset.
#[test]
fn whichever_work_fails_the_round_ends_with_an_error_and_nothing_stays() {
    alone("work::whichever_work_fails_the_round_ends_with_an_error_and_nothing_stays", || {
        let mock = mock();
        let devices = Devices::open();
        let begin = || {
            mock.reset();
            mock.set("opens_own", 1);
        };
        begin();
        devices.round().unwrap();
        begin();
        devices.round().unwrap();
        let count = mock.count("work");
        assert!(count > 20, "{count} pieces of work");
        let rest = at_rest(mock, "the first rounds", |live| live.nbytes == 0);
        for nth in 1..=count {
            begin();
            mock.fail_work(nth, Status::ILLEGAL_ADDRESS);
            let outcome = devices.round();
            let at = format!("work {nth} of {count}: {outcome:?}");
            assert_eq!(mock.failures_left(), 0, "{at}");
            assert!(
                outcome.is_err_and(|error| error.is_device() && error.to_string().contains("error 700")),
                "{at}"
            );
            assert_eq!((mock.misuses(), mock.count("current")), (vec![], 0), "{at}");
            // A broken context skips work that is still queued. After the reset, it would run on
            // memory that is freed.
            mock.settle();
            begin();
            at_rest(mock, &at, |live| *live == rest);
            assert!(queued().iter().all(|error| error.to_string().contains("failed with error 700")), "{at}");
            devices.round().unwrap_or_else(|error| panic!("after {at}: {error}"));
        }
    });
}

#[test]
fn a_device_without_memory_for_more_says_so_and_goes_on() {
    alone("work::a_device_without_memory_for_more_says_so_and_goes_on", || {
        let mock = mock();
        mock.set("memory", 1 << 20);
        let devices = Devices::open();
        let kept = Buffer::from_vec(vec![7u8; 1 << 19]).unwrap().copy_to(&devices.device).unwrap();
        for memory in [&devices.device, &devices.exportable, &devices.managed] {
            let error = Buffer::on(memory, (1 << 19) + 1).unwrap_err();
            assert!(error.is_out_of_memory() && error.to_string().contains("524289"), "{error}");
        }
        // The host's memory is limited separately.
        mock.fail("cuMemHostAlloc", 1, Status::OUT_OF_MEMORY);
        mock.fail("cuMemHostAlloc", 2, Status::OUT_OF_MEMORY);
        assert!(Buffer::on(&devices.pinned, 100).unwrap_err().is_out_of_memory());
        assert!(Buffer::on(&devices.pinned, 100).is_ok());
        assert_eq!(kept.copy_to(&devices.host).unwrap().read().unwrap()[..], vec![7; 1 << 19]);
        drop(kept);
        assert_eq!(Buffer::on(&devices.device, 1 << 20).unwrap().nbytes(), 1 << 20);
        assert_eq!((mock.misuses(), queued().len()), (vec![], 0));
    });
}
