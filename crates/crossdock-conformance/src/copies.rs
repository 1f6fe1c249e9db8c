//! Copies: all bytes arrive, from every source, and no other bytes change.

use std::fs::File;
use std::sync::Arc;

use crossdock::buffer::Buffer;
use crossdock::device::{self};
use crossdock::memory::{DeviceKind, MapOptions, Place, copied_bytes};

use crate::{Subject, bytes, host, numbers, sizes};

pub fn bytes_arrive_unchanged_from_every_kind_of_memory(subject: &Subject) {
    static CONSTANT: [u8; 5000] = [9; 5000];
    let path = std::env::temp_dir().join(format!("crossdock-devices-{}", std::process::id()));
    for &nbytes in sizes() {
        let content = numbers(nbytes);
        std::fs::write(&path, &content).unwrap();
        let map = Buffer::map(File::open(&path).unwrap(), MapOptions::new()).unwrap();
        let shared = Buffer::from_vec(content.clone()).unwrap().copy_to(&device::shared_memory()).unwrap();
        let owned = Buffer::from_owner(Arc::new(content.clone())).unwrap();
        let there = subject.sent(&content);
        for source in [Buffer::from_vec(content.clone()).unwrap(), map, shared, owned, there] {
            let copy = source.copy_to(&subject.memory).unwrap();
            assert_eq!(copy.place(), subject.memory.place());
            assert_ne!(copy.as_ptr(), source.as_ptr());
            assert!(!copy.is_readonly(), "a copy is ours, whatever the source was");
            assert!(bytes(&copy) == content, "{nbytes} bytes of {source:?}");
        }
    }
    std::fs::remove_file(path).unwrap();
    let copy = Buffer::from_static(&CONSTANT).unwrap().copy_to(&subject.memory).unwrap();
    assert!(bytes(&copy) == CONSTANT);
}

pub fn a_range_is_copied_into_a_range_and_nothing_beside(subject: &Subject) {
    let (mut expected, source) = (numbers(1000), subject.sent(&[0xEE; 300]));
    let there = subject.sent(&expected);
    let here = Buffer::copy_from_slice(&[0xDDu8; 300]).unwrap();
    // Odd offsets; from the host, from the same place, and within one allocation.
    here.slice(1..100).unwrap().copy_into(&there.slice(13..112).unwrap()).unwrap();
    expected[13..112].fill(0xDD);
    source.slice(7..8).unwrap().copy_into(&there.slice(500..501).unwrap()).unwrap();
    expected[500] = 0xEE;
    there.slice(0..40).unwrap().copy_into(&there.slice(960..).unwrap()).unwrap();
    expected.copy_within(0..40, 960);
    assert!(bytes(&there) == expected);
    let window = Buffer::copy_from_slice(&[0u8; 10]).unwrap();
    there.slice(958..968).unwrap().copy_into(&window).unwrap();
    assert_eq!(window.read().unwrap()[..], expected[958..968]);
}

pub fn sizes_that_differ_and_ranges_that_overlap_are_refused(subject: &Subject) {
    let content = numbers(100);
    let there = subject.sent(&content);
    let here = Buffer::zeroed(99).unwrap();
    for (source, destination) in [(&here, &there), (&there, &here)] {
        let error = source.copy_into(destination).unwrap_err();
        assert!(error.is_bounds() && error.to_string().contains("99") && error.to_string().contains("100"));
    }
    for (from, to) in [(0..50, 49..99), (0..100, 0..100), (30..80, 10..60)] {
        let (from, to) = (there.slice(from).unwrap(), there.slice(to).unwrap());
        assert!(from.copy_into(&to).unwrap_err().is_bounds());
    }
    assert_eq!(bytes(&there), content);
}

pub fn nothing_is_copied_mapped_and_sliced_too(subject: &Subject) {
    let empty = Buffer::on(&subject.memory, 0).unwrap();
    assert_eq!((empty.nbytes(), empty.place()), (0, subject.memory.place()));
    assert!(!empty.as_ptr().is_null());
    let here = empty.copy_to(&host()).unwrap();
    here.copy_into(&empty).unwrap();
    assert_eq!(empty.slice(..).unwrap().copy_to(&subject.memory).unwrap().nbytes(), 0);
    assert_eq!(empty.map_or_copy_to(&host()).unwrap().buffer.nbytes(), 0);
    let full = subject.sent(&numbers(10));
    full.slice(10..).unwrap().copy_into(&empty).unwrap();
    if let Some(stream) = &subject.stream {
        empty.copy_into_in(&here, &**stream).unwrap();
        here.settle().unwrap();
    }
}

pub fn every_byte_that_is_copied_is_counted_and_no_other(subject: &Subject) {
    let here = Buffer::from_vec(numbers(3000)).unwrap();
    let before = copied_bytes();
    let there = here.copy_to(&subject.memory).unwrap();
    assert_eq!(copied_bytes() - before, 3000);
    there.slice(0..1000).unwrap().copy_into(&there.slice(1000..2000).unwrap()).unwrap();
    assert_eq!(copied_bytes() - before, 4000);
    there.copy_into(&here).unwrap();
    assert_eq!(copied_bytes() - before, 7000);
    let mapped = there.map_to(&host()).unwrap();
    drop((there.slice(5..), there.clone(), mapped, Buffer::on(&subject.memory, 500)));
    assert!(here.copy_into(&there.slice(1..).unwrap()).is_err());
    assert_eq!(copied_bytes() - before, 7000);
    if let Some(stream) = &subject.stream {
        here.copy_into_in(&there, &**stream).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(copied_bytes() - before, 10_000);
    }
}

pub fn bytes_arrive_unchanged_at_another_device(subject: &Subject) {
    let Some(second) = &subject.second else { return };
    assert_ne!(second.place(), subject.memory.place());
    for &nbytes in sizes() {
        let content = numbers(nbytes);
        let there = subject.sent(&content);
        let other = there.copy_to(second).unwrap();
        assert_eq!(other.place(), second.place());
        assert!(bytes(&other) == content, "{nbytes} bytes to another device");
        let changed: Vec<u8> = content.iter().map(|byte| !byte).collect();
        Buffer::copy_from_slice(&changed).unwrap().copy_into(&other).unwrap();
        assert!(bytes(&there) == content, "the devices have their own bytes");
        other.copy_into(&there).unwrap();
        assert!(bytes(&there) == changed, "{nbytes} bytes from another device");
        if let Some(stream) = &subject.stream {
            let back = there.copy_to_in(second, &**stream).unwrap().buffer;
            assert!(bytes(&back) == changed, "{nbytes} bytes to another device in a stream");
        }
    }
}

pub fn places_of_other_devices_are_not_copied_between(subject: &Subject) {
    // Kinds that no driver has registered.
    let (first, second) = (Place::new(DeviceKind(i32::MAX), 0), Place::new(DeviceKind(i32::MAX - 1), 0));
    let (memory, own) = (&subject.memory, subject.memory.place());
    assert!(memory.can_copy(own, own));
    for (from, to) in [(own, first), (first, own), (first, first), (first, second)] {
        assert!(!memory.can_copy(from, to), "{memory:?} says that it copies from {from} to {to}");
    }
}

pub fn many_threads_copy_at_once(subject: &Subject) {
    let shared = subject.sent(&numbers(4096));
    std::thread::scope(|scope| {
        for thread in 0..4usize {
            let (memory, stream, shared) = (&subject.memory, &subject.stream, &shared);
            scope.spawn(move || {
                for round in 0..20usize {
                    let content: Vec<u8> = numbers(1 + thread * 1000 + round).into_iter().rev().collect();
                    let here = Buffer::from_vec(content.clone()).unwrap();
                    let there = match stream {
                        Some(stream) if round % 2 == 0 => here.copy_to_in(memory, &**stream).unwrap().buffer,
                        _ => here.copy_to(memory).unwrap(),
                    };
                    assert_eq!(bytes(&there), content);
                    assert_eq!(bytes(shared), numbers(4096));
                    // Released on another thread than the one that created it.
                    std::thread::spawn(move || drop(there)).join().unwrap();
                }
            });
        }
    });
}
