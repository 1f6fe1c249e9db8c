//! The table of leases on real memory: which leases coexist, which are refused, and the text of the
//! refusal.

use std::error::Error as _;
use std::sync::mpsc;

use crossdock::Error;
use crossdock::buffer::{Buffer, PinGuard, ReadGuard, ShareGuard, WriteGuard};
use crossdock::memory::{Birth, Conflict, DeviceKind, LeaseKind, Place, Protocols, Wanted};

const KINDS: [LeaseKind; 4] = [LeaseKind::Read, LeaseKind::Write, LeaseKind::Share, LeaseKind::Pin];

#[derive(Debug)]
#[expect(dead_code, reason = "a guard does its work by being there")]
enum Guard {
    Read(ReadGuard),
    Write(WriteGuard),
    Share(ShareGuard),
    Pin(PinGuard),
}

fn take(buffer: &Buffer, kind: LeaseKind) -> Result<Guard, Error> {
    match kind {
        LeaseKind::Read => buffer.read().map(Guard::Read),
        LeaseKind::Write => buffer.write().map(Guard::Write),
        LeaseKind::Share => buffer.share().map(Guard::Share),
        LeaseKind::Pin => buffer.pin().map(Guard::Pin),
    }
}

/// The table of the design, pair by pair.
fn coexist(first: LeaseKind, second: LeaseKind) -> bool {
    use LeaseKind::{Pin, Read, Share};
    matches!((first, second), (Read | Pin, Read) | (Share | Pin, Share) | (Read | Share | Pin, Pin))
}

fn conflict(error: &Error) -> &Conflict {
    error.source().and_then(|source| source.downcast_ref()).expect("the source of a refusal is the conflict")
}

/// Eight bytes of foreign memory, which its release frees.
fn foreign(place: Place, birth: Birth) -> Buffer {
    let ptr = Box::into_raw(Box::new([5u8; 8]));
    let address = ptr.expose_provenance();
    let release = move || {
        // SAFETY: `address` is that of the box leaked above, and a release is called once.
        drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<[u8; 8]>(address)) });
    };
    // SAFETY: the leaked box has 8 initialised bytes, which live until the release and are only
    // accessed through the buffer.
    unsafe { Buffer::from_foreign(ptr.cast(), 8, place, birth, release) }.unwrap()
}

/// Eight bytes that another owner could write, but does not.
fn aliased() -> Buffer {
    foreign(Place::CPU, Birth::Aliased)
}

/// A writable buffer for every birth and owner that is sole.
fn sole() -> Vec<(&'static str, Buffer)> {
    let part = Buffer::from_vec(vec![5u8; 20]).unwrap().partition(&[4..12]).unwrap().remove(0);
    vec![
        ("pool", Buffer::copy_from_slice(&[5u8; 8]).unwrap()),
        ("vec", Buffer::from_vec(vec![5u8; 8]).unwrap()),
        ("foreign", foreign(Place::CPU, Birth::Sole)),
        ("part", part),
    ]
}

fn constant() -> Vec<(&'static str, Buffer)> {
    let bytes: &'static [u8; 8] = &[5; 8];
    // SAFETY: `bytes` has 8 bytes, is a constant of the program, and is never written.
    let foreign =
        unsafe { Buffer::from_foreign(bytes.as_ptr().cast_mut(), 8, Place::CPU, Birth::Constant, || {}) };
    vec![
        ("static", Buffer::from_static(bytes).unwrap()),
        ("owner", Buffer::from_owner(std::sync::Arc::new(vec![5u8; 8])).unwrap()),
        ("foreign", foreign.unwrap()),
        ("part", Buffer::from_static(bytes).unwrap().partition(&[2..6]).unwrap().remove(0)),
    ]
}

#[test]
fn every_pair_of_leases_coexists_or_excludes_on_sole_memory_of_every_owner() {
    for (owner, buffer) in sole() {
        let slice = buffer.slice(3..).unwrap();
        for first in KINDS {
            for second in KINDS {
                let held = take(&buffer, first).unwrap();
                match take(&slice, second) {
                    Ok(_) => {
                        assert!(coexist(first, second), "{owner}: {second:?} was given beside {first:?}")
                    }
                    Err(error) => {
                        assert!(!coexist(first, second), "{owner}: {second:?} beside {first:?}: {error}");
                        assert!(error.is_conflict(), "{owner}: {error}");
                    }
                }
                drop(held);
                drop(take(&slice, second).unwrap_or_else(|error| panic!("{owner}: {error}")));
            }
        }
    }
}

#[test]
fn constant_memory_is_read_and_pinned_and_never_written() {
    for (owner, mut buffer) in constant() {
        assert_eq!(buffer.birth(), Birth::Constant, "{owner}");
        let held = (buffer.read().unwrap(), buffer.pin().unwrap(), buffer.read().unwrap());
        for kind in [LeaseKind::Write, LeaseKind::Share] {
            assert!(take(&buffer, kind).unwrap_err().is_read_only(), "{owner}: {kind:?}");
        }
        drop(held);
        assert!(buffer.as_mut_slice().unwrap_err().is_read_only(), "{owner}");
    }
}

#[test]
fn aliased_memory_is_never_behind_a_slice() {
    let shared = Buffer::shared(8).unwrap();
    let part = aliased().partition(&[0..4, 4..8]).unwrap().remove(1);
    for (owner, mut buffer) in [("foreign", aliased()), ("shared memory", shared), ("part", part)] {
        assert_eq!(buffer.birth(), Birth::Aliased, "{owner}");
        for kind in [LeaseKind::Read, LeaseKind::Write] {
            let error = take(&buffer, kind).unwrap_err();
            assert!(error.is_conflict(), "{owner}: {error}");
            assert!(conflict(&error).is_aliased(), "{owner}");
            assert_eq!(conflict(&error).wanted(), Wanted::Lease(kind));
            assert!(error.to_string().contains("another owner"), "{owner}: {error}");
        }
        assert!(!buffer.is_exclusive(), "{owner}: an only handle is not an only owner");
        let error = buffer.as_mut_slice().unwrap_err();
        assert!(error.is_conflict() && conflict(&error).is_aliased(), "{owner}: {error}");
        let _held = (buffer.share().unwrap(), buffer.pin().unwrap(), buffer.share().unwrap());
    }
}

#[test]
fn a_refusal_tells_kind_count_pins_and_handles() {
    let buffer = Buffer::from_vec(vec![0u8; 8]).unwrap();
    let reads: Vec<_> = (0..3).map(|_| buffer.read().unwrap()).collect();
    let pins: Vec<_> = (0..2).map(|_| buffer.pin().unwrap()).collect();

    let error = buffer.write().unwrap_err();
    let found = conflict(&error);
    assert_eq!(found.wanted(), Wanted::Lease(LeaseKind::Write));
    assert_eq!((found.leases(), found.pins(), found.handles()), (Some((LeaseKind::Read, 3)), 2, 1));
    assert_eq!(found.exported(), Protocols::NONE);
    assert!(!found.is_aliased() && !found.is_full());
    assert_eq!(error.to_string(), "a write lease was refused: 3 read leases, 2 pin leases held");

    let error = buffer.share().unwrap_err();
    assert_eq!(conflict(&error).leases(), Some((LeaseKind::Read, 3)));
    drop((reads, pins));

    let _write = buffer.write().unwrap();
    for kind in KINDS {
        let error = take(&buffer, kind).unwrap_err();
        assert_eq!(conflict(&error).leases(), Some((LeaseKind::Write, 1)), "{kind:?}");
        assert_eq!(error.to_string(), format!("a {kind} lease was refused: 1 write lease held"));
    }
}

#[test]
fn mutable_access_is_refused_while_anything_is_held_and_given_afterwards() {
    for (owner, mut buffer) in sole() {
        let clone = buffer.clone();
        let error = buffer.as_mut_slice().unwrap_err();
        assert_eq!(
            (conflict(&error).handles(), conflict(&error).wanted()),
            (2, Wanted::Exclusive),
            "{owner}"
        );
        assert_eq!(error.to_string(), "exclusive access was refused: 2 handles held", "{owner}");
        drop(clone);
        for kind in KINDS {
            let held = take(&buffer, kind).unwrap();
            assert!(!buffer.is_exclusive());
            let error = buffer.as_mut_slice().unwrap_err();
            let text = format!("exclusive access was refused: 1 {kind} lease, 1 handle held");
            assert_eq!(error.to_string(), text, "{owner}");
            drop(held);
            assert!(buffer.is_exclusive(), "{owner}");
            buffer.as_mut_slice().unwrap()[0] += 1;
        }
        assert_eq!(buffer.read().unwrap()[0], 9, "{owner}");
    }
}

#[test]
fn partition_is_refused_while_anything_is_held_and_says_what() {
    let mut buffers = sole();
    buffers.retain(|(owner, _)| *owner != "part");
    buffers.push(("aliased", aliased()));
    for (owner, buffer) in buffers {
        let slice = buffer.slice(1..3).unwrap();
        let pin = slice.pin().unwrap();
        let refused = buffer.partition(&[0..4, 4..8]).unwrap_err();
        let found = conflict(&refused.error);
        assert_eq!(found.wanted(), Wanted::OnlyHandle, "{owner}");
        assert_eq!((found.handles(), found.pins()), (2, 1), "{owner}");
        let text =
            "memory must have one handle and no lease to be divided or sealed: 1 pin lease, 2 handles held";
        assert_eq!(refused.error.to_string(), text, "{owner}");
        drop((slice, pin));
        assert_eq!(refused.value.partition(&[0..4, 4..8]).unwrap().len(), 2, "{owner}");
    }
}

#[test]
fn a_part_cannot_be_divided_again() {
    let part = Buffer::from_vec(vec![0u8; 8]).unwrap().partition(&[0..4]).unwrap().remove(0);
    let refused = part.partition(&[0..2]).unwrap_err();
    assert!(refused.error.is_bounds());
    assert_eq!(refused.value.nbytes(), 4);
}

#[test]
fn partition_checks_every_range() {
    let mut buffer = Buffer::from_vec(vec![0u8; 10]).unwrap();
    let backwards = std::ops::Range { start: 6, end: 4 };
    for ranges in [
        vec![0..11],
        vec![backwards],
        vec![0..5, 4..6],
        vec![4..6, 0..5],
        vec![0..10, 3..4],
        vec![usize::MAX..usize::MAX],
        vec![2..4, 2..4],
    ] {
        let refused = buffer.partition(&ranges).unwrap_err();
        assert!(refused.error.is_bounds(), "{ranges:?}: {}", refused.error);
        buffer = refused.value;
    }
    let parts = buffer.partition(&[5..10, 0..5, 5..5, 10..10]).unwrap();
    let mut guards: Vec<_> = parts.iter().map(|part| part.write().unwrap()).collect();
    for (number, guard) in guards.iter_mut().enumerate() {
        guard.fill(number as u8 + 1);
    }
    drop(guards);
    let seen: Vec<Vec<u8>> = parts.iter().map(|part| part.read().unwrap().to_vec()).collect();
    assert_eq!(seen, [vec![1; 5], vec![2; 5], vec![], vec![]]);
    assert_eq!(parts[0].as_ptr(), parts[1].as_ptr().wrapping_add(5));
}

#[test]
fn leases_of_parts_do_not_know_each_other() {
    let whole = Buffer::from_vec(vec![1u8; 9]).unwrap();
    // Only the window is divided.
    let window = whole.slice(1..9).unwrap();
    drop(whole);
    let parts = window.partition(&[0..4, 4..8]).unwrap();
    let _left = parts[0].write().unwrap();
    let _right = (parts[1].share().unwrap(), parts[1].pin().unwrap());
    assert!(parts[0].pin().unwrap_err().is_conflict());
    // Each part keeps the whole alive, the byte in front of the window included.
    assert_eq!(parts[0].retained_nbytes(), 9);
}

#[test]
fn the_callers_word_turns_aliased_memory_into_sole_or_constant() {
    let buffer = aliased();
    let clone = buffer.clone();
    // SAFETY: the two handles of this test are the only users of the memory.
    let buffer = unsafe { buffer.assume_sole() };
    assert_eq!(buffer.birth(), Birth::Sole);
    buffer.write().unwrap()[0] = 6;
    assert_eq!(clone.read().unwrap()[0], 6, "the word is of the memory, not of the handle");

    // SAFETY: the memory belongs to this buffer alone, so no code writes it.
    let mut buffer = unsafe { aliased().assume_constant() };
    assert!(buffer.is_readonly());
    assert_eq!(buffer.read().unwrap()[..], [5; 8]);
    assert!(buffer.write().unwrap_err().is_read_only());
    assert!(buffer.share().unwrap_err().is_read_only());
    assert!(buffer.as_mut_slice().unwrap_err().is_read_only());
}

#[test]
fn assuming_does_not_end_leases_that_are_held() {
    let buffer = aliased();
    let share = buffer.share().unwrap();
    // SAFETY: the buffer and its lease are the only users of the memory.
    let buffer = unsafe { buffer.assume_sole() };
    assert_eq!(conflict(&buffer.read().unwrap_err()).leases(), Some((LeaseKind::Share, 1)));
    drop(share);
    drop(buffer.write().unwrap());
}

#[test]
fn guards_outlive_every_handle() {
    for (owner, buffer) in sole() {
        let slice = buffer.slice(2..5).unwrap();
        let (read, pin) = (slice.read().unwrap(), buffer.pin().unwrap());
        drop((buffer, slice));
        assert_eq!(read[..], [5; 3], "{owner}");
        assert_eq!(pin.to_vec(), [5; 8], "{owner}");
    }
    for (owner, buffer) in sole() {
        let mut write = buffer.write().unwrap();
        drop(buffer);
        write.fill(8);
        assert_eq!(write[..], [8; 8], "{owner}");
    }
}

#[test]
fn a_forgotten_guard_refuses_for_ever() {
    let mut buffer = Buffer::from_vec(vec![5u8; 8]).unwrap();
    std::mem::forget(buffer.read().unwrap());
    assert!(buffer.write().unwrap_err().is_conflict());
    assert!(buffer.as_mut_slice().unwrap_err().is_conflict());
    assert_eq!(buffer.read().unwrap()[..], [5; 8]);
}

#[test]
fn what_is_made_from_a_readonly_handle_is_readonly() {
    let writable = Buffer::from_vec(vec![5u8; 8]).unwrap();
    let readonly = writable.clone().into_readonly();
    let made = [
        readonly.clone(),
        readonly.try_clone().unwrap(),
        readonly.slice(1..).unwrap(),
        readonly.slice(1..).unwrap().into_readonly(),
    ];
    for buffer in &made {
        assert!(buffer.is_readonly());
        assert!(buffer.write().unwrap_err().is_read_only());
        assert!(buffer.share().unwrap_err().is_read_only());
        drop((buffer.read().unwrap(), buffer.pin().unwrap()));
    }
    drop(writable.write().unwrap());
    drop((writable, made));
    let mut parts = readonly.partition(&[0..4]).unwrap();
    assert!(parts[0].is_readonly());
    assert!(parts[0].as_mut_slice().unwrap_err().is_read_only());
}

#[test]
fn memory_of_a_device_is_not_touched_by_the_processor() {
    let place = Place::new(DeviceKind::CUDA, 1);
    let address = std::ptr::without_provenance_mut::<u8>(0x7000_0000);
    for birth in [Birth::Sole, Birth::Constant, Birth::Aliased] {
        // SAFETY: the place is a CUDA device, so the CPU never accesses the address, and the
        // release does nothing.
        let mut buffer = unsafe { Buffer::from_foreign(address, 256, place, birth, || {}) }.unwrap();
        for kind in KINDS {
            let error = take(&buffer, kind).unwrap_err();
            assert!(error.is_place(), "{birth:?} {kind:?}: {error}");
            assert!(error.to_string().contains("cuda:1"), "{error}");
        }
        assert!(buffer.as_mut_slice().unwrap_err().is_place());
        let slice = buffer.slice(16..).unwrap();
        assert_eq!((slice.place(), slice.as_ptr().addr()), (place, 0x7000_0010));
    }
}

#[test]
fn pinned_host_memory_is_touched_by_the_processor() {
    let buffer = foreign(Place::new(DeviceKind::CUDA_HOST, 0), Birth::Sole);
    assert_eq!(buffer.read().unwrap()[..], [5; 8]);
}

#[test]
fn slices_obey_their_bounds() {
    let buffer = Buffer::from_vec((0u8..10).collect()).unwrap();
    let slice = buffer.slice(2..=7).unwrap();
    assert_eq!(slice.read().unwrap()[..], [2, 3, 4, 5, 6, 7]);
    assert_eq!(slice.slice(1..3).unwrap().read().unwrap()[..], [3, 4]);
    assert_eq!(slice.slice(6..).unwrap().nbytes(), 0);
    assert!(slice.slice(..7).unwrap_err().is_bounds(), "a slice does not reach past its window");
    assert!(buffer.slice(..=usize::MAX).unwrap_err().is_bounds());
    let after_last = (std::ops::Bound::Excluded(usize::MAX), std::ops::Bound::Unbounded);
    assert!(buffer.slice(after_last).unwrap_err().is_bounds());
    let backwards = std::ops::Range { start: 3, end: 2 };
    assert!(buffer.slice(backwards).unwrap_err().is_bounds());
}

#[test]
fn elements_are_seen_where_size_and_alignment_permit() {
    let buffer = Buffer::copy_from_slice(&[0x0101_0101u32, 0x0202_0202, 0x0303_0303]).unwrap();
    assert_eq!(buffer.read().unwrap().as_slice_of::<u32>().unwrap(), [0x0101_0101, 0x0202_0202, 0x0303_0303]);
    assert_eq!(buffer.read().unwrap().as_slice_of::<[u32; 3]>().unwrap().len(), 1);
    assert!(buffer.read().unwrap().as_slice_of::<u64>().unwrap_err().is_bounds());
    assert!(buffer.read().unwrap().as_slice_of::<[u8; 0]>().unwrap_err().is_bounds());
    let unaligned = buffer.slice(1..5).unwrap();
    assert!(unaligned.read().unwrap().as_slice_of::<u32>().unwrap_err().is_alignment());
    assert_eq!(unaligned.share().unwrap().load::<u32>(0).unwrap().to_ne_bytes(), [1, 1, 1, 2]);
    let empty = buffer.slice(1..1).unwrap();
    assert!(empty.read().unwrap().as_slice_of::<u64>().unwrap().is_empty());
    assert!(empty.share().unwrap().as_cells_of::<u64>().unwrap().is_empty());
    assert!(empty.write().unwrap().as_mut_slice_of::<u64>().unwrap().is_empty());
}

#[test]
fn racy_access_stays_inside_and_is_seen_by_all() {
    let buffer = Buffer::from_vec(vec![0u8; 10]).unwrap();
    let (one, other) = (buffer.share().unwrap(), buffer.pin().unwrap());
    one.store(3, 0x0403_0201u32).unwrap();
    assert_eq!(other.to_vec(), [0, 0, 0, 1, 2, 3, 4, 0, 0, 0]);
    for offset in [7, 10, usize::MAX] {
        assert!(one.store(offset, 0u32).unwrap_err().is_bounds(), "{offset}");
        assert!(other.load::<u32>(offset).unwrap_err().is_bounds(), "{offset}");
    }
    assert!(one.copy_from_slice(&[1; 9]).unwrap_err().is_bounds());
    assert!(other.copy_to_slice(&mut [0; 11]).unwrap_err().is_bounds());
}

#[test]
fn memory_without_bytes_can_be_held_in_every_way() {
    let empty = [
        Buffer::zeroed(0).unwrap(),
        Buffer::from_vec(Vec::<u64>::new()).unwrap(),
        Buffer::from_vec(vec![[0u8; 0]; 5]).unwrap(),
        Buffer::from_vec(vec![1u8]).unwrap().slice(1..).unwrap(),
    ];
    for mut buffer in empty {
        assert_eq!(buffer.nbytes(), 0);
        for kind in KINDS {
            drop(take(&buffer, kind).unwrap());
        }
        assert!(buffer.as_mut_slice().unwrap().is_empty());
        assert_eq!(buffer.slice(..).unwrap().nbytes(), 0);
        assert_eq!(buffer.partition(&[0..0, 0..0]).unwrap().len(), 2);
    }
}

#[test]
fn a_full_count_of_leases_is_exhausted_and_recovers() {
    let buffer = Buffer::from_vec(vec![0u8; 1]).unwrap();
    let mut shares: Vec<_> = (0..(1 << 18) - 1).map(|_| buffer.share().unwrap()).collect();
    let error = buffer.share().unwrap_err();
    assert!(error.is_exhausted(), "{error}");
    assert!(conflict(&error).is_full());
    assert!(error.to_string().contains("262143"), "{error}");
    assert!(buffer.read().unwrap_err().is_conflict(), "what is excluded is not short of numbers");
    let _pin = buffer.pin().unwrap();
    shares.pop();
    drop(buffer.share().unwrap());
}

#[test]
fn what_was_written_under_a_lease_is_read_by_the_next_on_another_thread() {
    let buffer = Buffer::from_vec(vec![0u64; 16]).unwrap();
    let (send, receive) = mpsc::channel();
    let reader = {
        let buffer = buffer.clone();
        std::thread::spawn(move || {
            // No message orders the two accesses: only the lease does.
            send.send(()).unwrap();
            let mut last = 0;
            while last < 100 {
                if let Ok(guard) = buffer.read() {
                    let values = guard.as_slice_of::<u64>().unwrap();
                    assert!(values.iter().all(|&value| value == values[0]), "{values:?}");
                    assert!(values[0] >= last);
                    last = values[0];
                }
                // A tool that switches threads after a fixed number of instructions may always
                // switch while a reader that never yields holds a lease.
                std::thread::yield_now();
            }
        })
    };
    receive.recv().unwrap();
    let mut written = 0;
    while written < 100 {
        if let Ok(mut guard) = buffer.write() {
            written += 1;
            guard.as_mut_slice_of::<u64>().unwrap().fill(written);
        }
        std::thread::yield_now();
    }
    reader.join().unwrap();
}

#[test]
fn memory_that_is_not_owned_is_used_and_left_alone() {
    let mut bytes = [5u8; 8];
    // SAFETY: `bytes` has 8 bytes, outlives the buffer, and is only accessed through it meanwhile.
    let buffer = unsafe { Buffer::non_owned(bytes.as_mut_ptr(), 8, Place::CPU) }.unwrap();
    assert_eq!((buffer.birth(), buffer.as_ptr()), (Birth::Aliased, bytes.as_ptr()));
    buffer.share().unwrap().store(1, 9u8).unwrap();
    drop(buffer);
    assert_eq!(bytes, [5, 9, 5, 5, 5, 5, 5, 5]);
}

#[test]
fn forgotten_handles_run_into_an_error_and_never_wrap() {
    let buffer = Buffer::from_vec(vec![5u8; 4]).unwrap();
    let mut made = 1u64;
    let error = loop {
        match buffer.try_clone() {
            Ok(clone) => std::mem::forget(clone),
            Err(error) => break error,
        }
        made += 1;
    };
    assert_eq!(made, (1 << 23) - 1);
    assert!(error.is_exhausted(), "{error}");
    assert_eq!((conflict(&error).wanted(), conflict(&error).is_full()), (Wanted::Handle, true));
    assert_eq!(conflict(&error).handles(), made, "the one that was refused is not counted");
    assert!(error.to_string().contains("8388607 handles held, the most that can be counted"), "{error}");
    // Handles of refused requests on other threads do not count, either.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2000 {
                    assert_eq!(conflict(&buffer.try_clone().unwrap_err()).handles(), made);
                }
            });
        }
    });
    assert!(buffer.slice(1..2).unwrap_err().is_exhausted());
    assert!(std::panic::catch_unwind(|| buffer.clone()).is_err(), "`clone` has no other way to say it");
    assert_eq!(buffer.read().unwrap()[..], [5; 4], "leases have a count of their own");
    assert!(buffer.try_clone().unwrap_err().is_exhausted());
}

#[test]
fn a_full_count_of_forgotten_handles_recovers_when_one_is_dropped() {
    let buffer = Buffer::from_vec(vec![5u8; 4]).unwrap();
    let one = buffer.try_clone().unwrap();
    for _ in 2..(1 << 23) - 1 {
        std::mem::forget(buffer.try_clone().unwrap());
    }
    let pin = buffer.pin().unwrap();
    assert!(buffer.try_clone().unwrap_err().is_exhausted());
    drop(one);
    let other = buffer.try_clone().unwrap();
    assert!(buffer.try_clone().unwrap_err().is_exhausted());
    drop((other, pin));
    drop(buffer.slice(..).unwrap());
}

#[test]
fn a_full_count_of_pins_is_exhausted_and_says_so() {
    let buffer = Buffer::from_vec(vec![0u8; 1]).unwrap();
    let most = (1 << 19) - 1;
    let mut pins: Vec<_> = (0..most).map(|_| buffer.pin().unwrap()).collect();
    let error = buffer.pin().unwrap_err();
    assert!(error.is_exhausted() && conflict(&error).is_full(), "{error}");
    assert_eq!(conflict(&error).pins(), most);
    assert!(error.to_string().contains("524287"), "{error}");
    let refused = buffer.write().unwrap_err();
    assert!(refused.is_conflict() && !conflict(&refused).is_full(), "{refused}");
    drop(buffer.read().unwrap());
    pins.pop();
    drop(buffer.pin().unwrap());
    drop(pins);
    drop(buffer.write().unwrap());
}

#[test]
fn handles_and_guards_cross_threads() {
    fn assert_crosses<T: Send + Sync + 'static>() {}
    assert_crosses::<Buffer>();
    assert_crosses::<ReadGuard>();
    assert_crosses::<WriteGuard>();
    assert_crosses::<ShareGuard>();
    assert_crosses::<PinGuard>();
    assert_crosses::<Conflict>();
}
