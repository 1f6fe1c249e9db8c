//! Compared with sets of bytes.

use std::collections::BTreeSet;
use std::ptr::{self, NonNull};

use super::*;
use crate::memory::handle::Handle;
use crate::memory::header::DeviceMapping;
use crate::memory::place::{DeviceKind, Place};

fn host(start: usize, nbytes: usize) -> Extent {
    Extent::of_host(start, nbytes)
}

const FILE: (u64, u64) = (8, 77);

#[test]
fn extents_meet_where_they_have_a_byte_in_common() {
    for (one, other, expected) in [
        ((100, 8), (100, 8), true),
        ((100, 8), (107, 1), true),
        ((100, 8), (108, 8), false),
        ((100, 8), (92, 8), false),
        ((100, 8), (92, 9), true),
        ((100, 8), (0, 1000), true),
        ((100, 0), (90, 100), false),
        ((90, 100), (100, 0), false),
        ((0, 1), (0, 1), true),
        ((usize::MAX - 8, 8), (usize::MAX - 1, 1), true),
    ] {
        let (one, other) = (host(one.0, one.1), host(other.0, other.1));
        assert_eq!(meet(one, other), expected, "{one:?} and {other:?}");
        assert_eq!(any_meet([other], [one]), expected, "{other:?} and {one:?}, in lists");
    }
}

#[test]
fn addresses_of_another_device_and_bytes_of_a_file_are_no_addresses_of_the_host() {
    let spaces = [
        Space::Unified,
        Space::Of(Place::new(DeviceKind::EXT_DEV, 0)),
        Space::Of(Place::new(DeviceKind::EXT_DEV, 1)),
        Space::Object(DeviceKind::OPENCL, 100),
        Space::Object(DeviceKind::OPENCL, 101),
        Space::File(8, 77),
        Space::File(77, 8),
    ];
    let extents = spaces.map(|space| Extent { space, start: 100, nbytes: 8 });
    for (i, one) in extents.iter().enumerate() {
        for (j, other) in extents.iter().enumerate() {
            assert_eq!(meet(*one, *other), i == j, "{one:?} and {other:?}");
        }
    }
}

#[test]
fn the_processor_and_the_devices_of_one_address_space_share_it() {
    for kind in [
        DeviceKind::CPU,
        DeviceKind::CUDA,
        DeviceKind::CUDA_HOST,
        DeviceKind::CUDA_MANAGED,
        DeviceKind::ROCM,
        DeviceKind::ROCM_HOST,
        DeviceKind::ONEAPI,
    ] {
        assert_eq!(Space::of(Place::new(kind, 1)), Space::Unified, "{kind}");
    }
    for kind in [DeviceKind::OPENCL, DeviceKind::METAL, DeviceKind::EXT_DEV, DeviceKind(77)] {
        assert_eq!(Space::of(Place::new(kind, 1)), Space::Of(Place::new(kind, 1)), "{kind}");
    }
}

#[test]
fn memory_of_a_device_without_addresses_is_known_by_its_object() {
    let base = NonNull::new(ptr::without_provenance_mut::<u8>(4096)).unwrap();
    let at = |kind, object: usize| {
        let object = ptr::without_provenance_mut(object);
        let attached = DeviceMapping { manager: &(), object, base, is_addressed: true };
        Extent::at(Place::new(kind, 0), || Some(attached), 4196, 8)
    };
    let of_object = Extent { space: Space::Object(DeviceKind::OPENCL, 7), start: 100, nbytes: 8 };
    assert_eq!(at(DeviceKind::OPENCL, 7), of_object);
    assert_eq!(Extent::of_object(DeviceKind::OPENCL, 7, 100, 8), of_object);
    // Without an object its addresses count, and on the host they always do.
    let place = Place::new(DeviceKind::OPENCL, 0);
    assert_eq!(at(DeviceKind::OPENCL, 0), Extent { space: Space::Of(place), start: 4196, nbytes: 8 });
    assert_eq!(at(DeviceKind::CPU, 7), host(4196, 8));
}

#[test]
fn only_memory_with_a_row_is_elsewhere() {
    let here = NOWHERE + 0x400_0000;
    let row = Elsewhere::new(host(here, 4096), Extent::of_file(FILE, 0, 4096)).unwrap();
    assert!(is_elsewhere(host(here + 4095, 8)) && is_elsewhere(host(here - 7, 8)));
    assert!(!is_elsewhere(host(here + 4096, 8)) && !is_elsewhere(host(here - 8, 8)));
    drop(row);
    assert!(!is_elsewhere(host(here, 8)));
}

/// Addresses at which no test of this process maps anything.
const NOWHERE: usize = 1 << (usize::BITS / 8 * 7);

#[test]
fn two_mappings_of_a_file_meet_where_their_bytes_do() {
    let (here, there) = (NOWHERE, NOWHERE + 0x10_0000);
    let first = Elsewhere::new(host(here, 8192), Extent::of_file(FILE, 0, 8192)).unwrap();
    let second = Elsewhere::new(host(there, 4096), Extent::of_file(FILE, 4096, 4096)).unwrap();
    let other = Elsewhere::new(host(there + 8192, 4096), Extent::of_file((8, 78), 4096, 4096)).unwrap();
    assert!(meet(host(here + 4096, 1), host(there, 1)));
    assert!(meet(host(here, 8192), host(there + 4095, 1)));
    assert!(!meet(host(here + 4095, 1), host(there, 4096)));
    assert!(!meet(host(here + 4097, 1), host(there, 1)));
    assert!(!meet(host(here, 8192), host(there + 8192, 4096)), "another file");
    // An extent that reaches beyond a mapping at both ends.
    assert!(meet(host(here - 10, 9000), host(there - 10, 11)));
    drop(first);
    assert!(!meet(host(here + 4096, 1), host(there, 1)), "the mapping is gone");
    drop((second, other));
}

#[test]
fn what_a_device_sees_is_found_over_the_memory_to_the_file_behind_it() {
    let object =
        |offset, nbytes| Extent { space: Space::Object(DeviceKind::EXT_DEV, NOWHERE), start: offset, nbytes };
    let (here, there) = (NOWHERE + 0x100_0000, NOWHERE + 0x200_0000);
    let file = (8, 79);
    let rows = [
        Elsewhere::new(host(here, 4096), Extent::of_file(file, 0, 4096)).unwrap(),
        Elsewhere::new(host(there, 4096), Extent::of_file(file, 0, 4096)).unwrap(),
        Elsewhere::new(object(0, 100), host(here + 1000, 100)).unwrap(),
    ];
    assert!(meet(object(10, 1), host(here + 1010, 1)));
    assert!(!meet(object(10, 1), host(here + 1011, 1)));
    assert!(meet(host(there + 1010, 1), object(10, 1)), "over two rows");
    assert!(!meet(host(there + 1009, 1), object(10, 1)));
    drop(rows);
}

/// Pseudo-random numbers, determined by the seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

#[test]
fn lists_of_extents_and_rows_of_the_table_agree_with_sets_of_bytes() {
    let mut numbers = Numbers(1);
    let (mut met, mut apart) = (0, 0);
    for round in 0..2000u64 {
        // Eight windows on one file, which may overlap in both spaces; each round uses new
        // addresses.
        let base = (NOWHERE as u64) * 2 + (round << 20);
        let file = (9, round);
        let windows: Vec<(u64, u64, u64)> = (0..numbers.below(8))
            .map(|_| (numbers.below(300), numbers.below(40), numbers.below(60)))
            .collect();
        let rows: Vec<Elsewhere> = windows
            .iter()
            .map(|&(at, nbytes, offset)| {
                let from = host((base + at) as usize, nbytes as usize);
                Elsewhere::new(from, Extent::of_file(file, offset, nbytes as usize)).unwrap()
            })
            .collect();
        let mut list = || -> Vec<(u64, u64)> {
            (0..1 + numbers.below(4)).map(|_| (numbers.below(330), numbers.below(8))).collect()
        };
        let (one, other) = (list(), list());
        let bytes = |list: &[(u64, u64)]| -> BTreeSet<(bool, u64)> {
            let addresses = list.iter().flat_map(|&(at, nbytes)| at..at + nbytes);
            addresses
                .flat_map(|address| {
                    let inside = windows.iter().filter(move |w| (w.0..w.0 + w.1).contains(&address));
                    inside.map(move |w| (true, w.2 + address - w.0)).chain([(false, address)])
                })
                .collect()
        };
        let extents = |list: &[(u64, u64)]| -> Vec<Extent> {
            list.iter().map(|&(at, nbytes)| host((base + at) as usize, nbytes as usize)).collect()
        };
        let expected = bytes(&one).intersection(&bytes(&other)).next().is_some();
        assert_eq!(any_meet(extents(&one), extents(&other)), expected, "{windows:?}: {one:?}, {other:?}");
        if let ([one], [other]) = (&extents(&one)[..], &extents(&other)[..]) {
            assert_eq!(meet(*one, *other), expected);
        }
        if expected {
            met += 1
        } else {
            apart += 1
        }
        drop(rows);
    }
    assert!(met > 200 && apart > 200, "{met} met, {apart} did not");
}

#[test]
fn imported_memory_is_asked_for_once_and_known_to_be_private_from_then_on() {
    let mut blocks = [vec![1u8; 100], vec![2u8; 100_000], vec![0u8; 32 << 20]];
    let imported: Vec<Handle> = blocks
        .iter_mut()
        .map(|block| {
            let (ptr, nbytes) = (block.as_mut_ptr(), block.len());
            // SAFETY: the block outlives the handles, is initialised and neither moves nor is
            // accessed while they live.
            let buffer = unsafe {
                crate::buffer::Buffer::from_foreign(
                    ptr,
                    nbytes,
                    Place::CPU,
                    crate::memory::Birth::Aliased,
                    || {},
                )
            };
            buffer.unwrap().into_parts().0
        })
        .collect();
    let operand = |handle: &Handle| {
        let header = handle.header();
        Extent::of_host(header.ptr().addr().get(), header.nbytes())
    };
    let operands: Vec<OverlapOperand<'_>> = imported
        .iter()
        .map(|handle| OverlapOperand { header: handle.header(), extent: operand(handle) })
        .collect();
    // The system is not asked if one operand is the library's own, on a device, or empty.
    let own = crate::buffer::Buffer::from_vec(vec![0u8; 100]).unwrap().into_parts().0;
    let own = OverlapOperand { header: own.header(), extent: operand(&own) };
    let device = {
        let at = ptr::without_provenance_mut(4096);
        let place = Place::new(DeviceKind::CUDA, 0);
        // SAFETY: the memory belongs to a device, so this library never dereferences its address;
        // the test makes no copy of it.
        let buffer = unsafe {
            crate::buffer::Buffer::from_foreign(at, 64, place, crate::memory::Birth::Aliased, || {})
        };
        buffer.unwrap().into_parts().0
    };
    let on_device = OverlapOperand { header: device.header(), extent: operand(&device) };
    let empty = OverlapOperand { extent: host(operands[0].extent.start as usize, 0), ..operands[0] };
    for (operand, origin) in [(own, Origin::Private), (on_device, Origin::Private), (empty, Origin::Private)]
    {
        assert_eq!(operand.origin(), origin, "{:?}", operand.extent);
        assert!(!meet_by_mapping(operands[0], operand) && !meet_by_mapping(operand, operands[0]));
    }
    assert_eq!(operands[0].origin(), Origin::Foreign, "it was not asked for");
    if !TELLS_MAPPINGS {
        return crossdock_testkit::not_run("this system has no list of mappings");
    }
    if crossdock_testkit::emulated("pages that were never touched") {
        return;
    }
    // One private operand is enough. The third has pages that were never touched, and more of them
    // than are looked at one by one.
    assert!(!meet_by_mapping(operands[2], operands[1]));
    assert_eq!(
        operands.iter().map(OverlapOperand::origin).collect::<Vec<_>>(),
        [Origin::Foreign, Origin::Private, Origin::Foreign]
    );
    assert!(!meet_by_mapping(operands[2], operands[0]));
    assert_eq!(operands[0].origin(), Origin::Private);
    let found = maps::find([operands[2], operands[0]].map(|o| maps::Asked::new(o.asked(), o.extent)));
    assert!(found.unwrap().iter().all(|found| found.is_private));
    assert!(imported.iter().all(|handle| handle.header().exported().is_empty()));
}
