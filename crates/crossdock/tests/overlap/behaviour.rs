//! One behaviour per test, by example.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};

use crossdock::buffer::Buffer;
use crossdock::device::fenced::FencedDevice;
use crossdock::device::{self, Device};
use crossdock::element::DType;
use crossdock::layout::{Layout, Order};
use crossdock::memory::copied_bytes_here;
use crossdock::memory::{Birth, MapOptions, Place};
use crossdock::{Array, Casting, DArray, s};

use crate::{Block, numbers, over};

fn assign(to: &DArray, from: &DArray) {
    to.assign(from, Casting::Checked).unwrap();
}

/// The number of bytes that `assign` copies.
fn copied(to: &DArray, from: &DArray) -> u64 {
    let before = copied_bytes_here();
    assign(to, from);
    copied_bytes_here() - before
}

#[test]
fn two_imports_of_one_memory_are_shifted_as_if_copied_before() {
    let mut block = Block::counting(4000);
    let (one, two) = (block.import(), block.import());
    let (one, two) = (over(&one, DType::U32, &[1000]), over(&two, DType::U32, &[1000]));
    for (to, from, len) in [(1, 0, 999), (0, 1, 999), (700, 0, 300), (5, 0, 995), (0, 300, 700)] {
        let part = |array: &DArray, start: isize| array.slice(s![start..start + len]).unwrap();
        let (mut expected, values) = (numbers(&one), numbers(&part(&two, from)));
        expected[to as usize..][..len as usize].copy_from_slice(&values);
        assign(&part(&one, to), &part(&two, from));
        assert!(numbers(&one) == expected, "{len} from {from} to {to}");
    }
}

#[test]
fn two_imports_of_one_memory_are_reversed_transposed_and_cast_as_if_copied_before() {
    let mut block = Block::counting(64 * 64 * 4);
    let (one, two) = (block.import(), block.import());
    let (square, again) = (over(&one, DType::U32, &[64, 64]), over(&two, DType::U32, &[64, 64]));
    let before = numbers(&square);
    assign(&square, &again.transpose().unwrap());
    let transposed: Vec<u32> = (0..64 * 64).map(|k| before[k % 64 * 64 + k / 64]).collect();
    assert!(numbers(&square) == transposed);

    let (line, again) = (over(&one, DType::U32, &[4096]), over(&two, DType::U32, &[4096]));
    assign(&line, &again.slice(s![..;-1]).unwrap());
    assert!(numbers(&line).iter().eq(transposed.iter().rev()));

    // Each byte becomes a number four times as wide, in the same memory.
    let bytes = block.bytes();
    assign(&line, &over(&two, DType::U8, &[16384]).slice(s![12288..]).unwrap());
    assert!(
        numbers(&line).iter().eq(bytes[12288..]
            .iter()
            .map(|&byte| u32::from(byte))
            .collect::<Vec<_>>()
            .iter())
    );
    let swapped = numbers(&line);
    assign(&line, &over(&two, DType::U32.swapped(), &[4096]));
    assert!(
        numbers(&line).iter().eq(swapped.iter().map(|number| number.swap_bytes()).collect::<Vec<_>>().iter())
    );
}

#[test]
fn columns_change_places_through_a_second_import() {
    let record = DType::packed_record([("a", DType::U16), ("b", DType::U16), ("c", DType::U8)]).unwrap();
    let mut block = Block::counting(5 * 800);
    let (one, two) = (over(&block.import(), record.clone(), &[800]), over(&block.import(), record, &[800]));
    let before = block.bytes();
    let (a, b) = (two.field("a").unwrap(), two.field("b").unwrap());
    one.assign_columns(&[("a", &b), ("b", &a)], Casting::Checked).unwrap();
    for (old, new) in before.chunks(5).zip(block.bytes().chunks(5)) {
        assert_eq!([old[2], old[3], old[0], old[1], old[4]], new[..5]);
    }
}

#[test]
fn columns_that_lie_between_each_other_are_copied_once() {
    let record = DType::packed_record([("a", DType::U16), ("b", DType::U16), ("c", DType::U8)]).unwrap();
    let mut block = Block::counting(5 * 800);
    let (one, two) = (over(&block.import(), record.clone(), &[800]), over(&block.import(), record, &[800]));
    let field = |array: &DArray, name: &str| array.field(name).unwrap();
    let before = block.bytes();
    assert_eq!(copied(&field(&one, "a"), &field(&two, "b")), 1600);
    assert_eq!(copied(&field(&one, "b"), &field(&two, "c").slice(s![..;-1]).unwrap()), 1600);
    for (number, (old, new)) in before.chunks(5).zip(block.bytes().chunks(5)).enumerate() {
        assert_eq!(new[..5], [old[2], old[3], before[5 * (799 - number) + 4], 0, old[4]]);
    }
    assert_eq!(
        copied(&field(&one, "a").slice(s![1..]).unwrap(), &field(&two, "a").slice(s![..-1]).unwrap()),
        3196
    );
}

#[test]
fn a_copy_into_the_same_bytes_by_a_second_import_is_refused() {
    let mut block = Block::counting(4000);
    let (one, two) = (block.import(), block.import());
    let before = block.bytes();
    for (from, to) in [(0..3000, 1000..4000), (1000..4000, 0..3000), (0..4000, 0..4000)] {
        let error = one.slice(from).unwrap().copy_into(&two.slice(to).unwrap()).unwrap_err();
        assert!(error.is_bounds() && error.to_string().contains("overlap"), "{error}");
    }
    assert!(block.bytes() == before);
    one.slice(0..2000).unwrap().copy_into(&two.slice(2000..).unwrap()).unwrap();
    assert!(block.bytes()[2000..] == before[..2000]);
}

#[test]
fn what_does_not_meet_is_copied_once_and_what_does_once_more() {
    let mut block = Block::counting(4000);
    let (one, two) = (block.import(), block.import());
    let (one, two) = (over(&one, DType::U32, &[1000]), over(&two, DType::U32, &[1000]));
    let part = |array: &DArray, start: isize, end: isize| array.slice(s![start..end]).unwrap();
    assert_eq!(copied(&part(&one, 0, 500), &part(&two, 500, 1000)), 2000);
    assert_eq!(copied(&part(&one, 0, 500), &part(&two, 499, 999)), 4000);
    assert_eq!(copied(&one, &two), 0, "the very same elements");
    // A repeated element is copied once.
    assert_eq!(copied(&one, &part(&two, 3, 4)), 4004);
    let empty = part(&two, 7, 7);
    assert_eq!(copied(&part(&one, 7, 7), &empty), 0);
    let other = DArray::from(Array::from_vec(vec![7u32; 1000], [1000]).unwrap());
    assert_eq!(copied(&one, &other), 4000);
}

/// Rows of the block as an indirect array.
fn rows(block: &mut Block, starts: &[usize], columns: usize) -> DArray {
    let base = block.bytes_mut().as_mut_ptr();
    let table: Vec<*mut u8> = starts.iter().map(|&start| base.wrapping_add(start)).collect();
    let layout = Layout::with_suboffsets(&[starts.len(), columns], &[8, 4], &[Some(0), None], 4).unwrap();
    // SAFETY: the table points to rows within the block, which the tests keep for longer than the
    // arrays.
    unsafe { DArray::from_indirect(table.as_ptr().cast(), DType::U32, &layout, Birth::Aliased, || {}) }
        .unwrap()
}

#[test]
fn rows_behind_pointers_are_compared_with_a_direct_import_of_the_same_memory() {
    let mut block = Block::counting(8 * 40);
    let rows = rows(&mut block, &[0, 80, 240], 10);
    let direct = over(&block.import(), DType::U32, &[8, 10]);
    let before = numbers(&direct);
    // Rows 0 and 6 of the block are exchanged, which no order of copies does without a temporary.
    assign(&rows, &direct.slice(s![..7;-3, ..]).unwrap());
    let mut expected = before.clone();
    for (row, from) in [(0, 6), (2, 3), (6, 0)] {
        expected[10 * row..][..10].copy_from_slice(&before[10 * from..][..10]);
    }
    assert!(numbers(&direct) == expected);

    assign(&direct.slice(s![..3, ..]).unwrap(), &rows.slice(s![..;-1, ..]).unwrap());
    let mut again = expected.clone();
    for (row, from) in [(0, 6), (1, 2), (2, 0)] {
        again[10 * row..][..10].copy_from_slice(&expected[10 * from..][..10]);
    }
    assert!(numbers(&direct) == again);
    // Rows 1 and 3 are between those of the indirect array, and do not belong to it.
    assert_eq!(copied(&rows.slice(s![..2, ..]).unwrap(), &direct.slice(s![3..5, ..]).unwrap()), 80);
    assert_eq!(copied(&direct.slice(s![3..6, ..]).unwrap(), &rows), 120);
    assert_eq!(copied(&direct.slice(s![4..7, ..]).unwrap(), &rows), 240, "row 6 is of both");
}

#[test]
fn rows_behind_pointers_are_compared_with_rows_behind_others() {
    let mut block = Block::counting(2000 * 8);
    let starts: Vec<usize> = (0..1000).map(|row| row * 16).collect();
    let even = rows(&mut block, &starts, 2);
    let moved: Vec<usize> = starts.iter().map(|start| (start + 16 * 37) % 16000).collect();
    let others = rows(&mut block, &moved, 2);
    let odd: Vec<usize> = starts.iter().map(|start| start + 8).collect();
    let odd = rows(&mut block, &odd, 2);
    let before = block.bytes();
    assert_eq!(copied(&even, &odd), 8000, "rows that lie between each other");
    let mut expected = before.clone();
    starts.iter().for_each(|&start| expected.copy_within(start + 8..start + 16, start));
    assert!(block.bytes() == expected);
    assert_eq!(copied(&even, &others), 16000);
    let values = expected.clone();
    for (&to, &from) in starts.iter().zip(&moved) {
        expected[to..to + 8].copy_from_slice(&values[from..from + 8]);
    }
    assert!(block.bytes() == expected);
    // Any number of rows, if they repeat one row.
    let one = even.slice(s![..1, ..]).unwrap().broadcast_to(&[1 << 40, 1, 2]).unwrap();
    assert!(one.slice(s![..1000, 0, ..]).unwrap().is_indirect());
    assign(&even, &one.slice(s![..1000, 0, ..]).unwrap());
}

#[test]
fn rows_behind_pointers_that_share_bytes_are_not_assigned_to() {
    let mut block = Block::counting(400);
    let before = block.bytes();
    let other = over(&block.import(), DType::U32, &[2, 10]);
    for starts in [[40, 40], [40, 76], [76, 40]] {
        let rows = rows(&mut block, &starts, 10);
        let error = rows.assign(&other, Casting::Checked).unwrap_err();
        assert!(error.is_layout() && error.to_string().contains("overlap"), "{starts:?}: {error}");
        // Every second element of a row is between those of the other, or is the same element.
        let every_other = rows.slice(s![.., ..;2]).unwrap();
        let is_assigned = every_other.assign(&other.slice(s![.., ..5]).unwrap(), Casting::Checked).is_ok();
        assert_eq!(is_assigned, starts[0] != starts[1], "{starts:?}");
        block.bytes_mut().copy_from_slice(&before);
    }
    let row = rows(&mut block, &[40], 10);
    let again = row.broadcast_to(&[2, 10]).unwrap();
    assert!(again.assign(&other, Casting::Checked).unwrap_err().is_layout());
    assert!(block.bytes() == before);
}

/// A folder for the test, removed when this is dropped.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("crossdock-overlap-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn open(path: &std::path::Path) -> File {
    File::options().read(true).write(true).open(path).unwrap()
}

fn map(file: File) -> Buffer {
    Buffer::map(file, MapOptions::new().writable(true)).unwrap()
}

/// Shifts 40,000 bytes through two buffers at different addresses.
fn check_shifted(one: &Buffer, two: &Buffer, how: &str) {
    assert_ne!(one.as_ptr(), two.as_ptr(), "{how}: one mapping shows nothing");
    let (one, two) = (over(one, DType::U32, &[10000]), over(two, DType::U32, &[10000]));
    let counting = Array::from_vec((0..10000u32).collect(), [10000]).unwrap();
    assign(&one, &counting.into());
    assign(&one.slice(s![1..]).unwrap(), &two.slice(s![..-1]).unwrap());
    assert!(numbers(&two).iter().enumerate().all(|(k, &n)| n as usize == k.saturating_sub(1)), "{how}");
    assign(&one, &two.slice(s![..;-1]).unwrap());
    assert!(numbers(&two).iter().rev().enumerate().all(|(k, &n)| n as usize == k.saturating_sub(1)), "{how}");
    let error = one.buffer().unwrap().0.copy_into(&two.buffer().unwrap().0).unwrap_err();
    assert!(error.is_bounds(), "{how}: {error}");
    let apart = copied(&one.slice(s![..5000]).unwrap(), &two.slice(s![5000..]).unwrap());
    assert_eq!(apart, 20000, "{how}: what does not meet");
}

#[test]
fn a_file_that_is_mapped_twice_is_one_memory() {
    let folder = Folder::new("twice");
    let (path, link) = (folder.0.join("numbers"), folder.0.join("link"));
    std::fs::write(&path, vec![0; 40000]).unwrap();
    std::fs::hard_link(&path, &link).unwrap();
    let first = open(&path);
    let again = first.try_clone().unwrap();
    let one = map(first);
    check_shifted(&one, &map(open(&path)), "opened by the same path");
    check_shifted(&one, &map(again), "the descriptor, duplicated");
    check_shifted(&one, &map(open(&link)), "a hard link");
    std::fs::rename(&path, folder.0.join("other")).unwrap();
    check_shifted(&one, &map(open(&folder.0.join("other"))), "another name meanwhile");

    // A mapping that was exported and imported again has a header without a file.
    let two = map(open(&link));
    let at = two.as_ptr().cast_mut();
    // SAFETY: `two` maps 40000 bytes at this address, and the closure keeps it until the release.
    let back = unsafe { Buffer::from_foreign(at, 40000, Place::CPU, Birth::Aliased, move || drop(two)) };
    check_shifted(&one, &back.unwrap(), "an export that came back");
}

#[test]
fn windows_on_a_file_are_compared_by_their_bytes_of_it() {
    let folder = Folder::new("windows");
    let path = folder.0.join("numbers");
    std::fs::write(&path, vec![0; 100_000]).unwrap();
    let window = |offset, nbytes| {
        let options = MapOptions::new().writable(true).range(offset, nbytes);
        over(&Buffer::map(open(&path), options).unwrap(), DType::U32, &[nbytes / 4])
    };
    let (low, high, apart) = (window(400, 8000), window(4400, 8000), window(8400, 8000));
    let other = folder.0.join("others");
    std::fs::write(&other, vec![0; 100_000]).unwrap();
    let other = over(&map(open(&other)), DType::U32, &[25000]);
    assign(&low, &Array::from_vec((0..2000u32).collect(), [2000]).unwrap().into());
    assert_eq!(copied(&high, &low), 16000, "they share 4000 bytes");
    assert!(numbers(&high).iter().enumerate().all(|(k, &number)| number as usize == k));
    assert_eq!(copied(&apart, &low), 8000, "they share none");
    assert_eq!(copied(&other.slice(s![..2000]).unwrap(), &low), 8000, "another file");
}

#[test]
fn shared_memory_that_is_mapped_twice_is_one_memory() {
    let one = Buffer::shared(40000).unwrap();
    let (fd, _) = one.descriptor().unwrap();
    let file = File::from(fd.as_fd().try_clone_to_owned().unwrap());
    check_shifted(&one, &map(file), "as a file");
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    check_shifted(&one, &map(open(path.as_ref())), "opened anew");
}

#[test]
fn what_a_device_sees_of_the_hosts_memory_is_that_memory() {
    let there = FencedDevice::new(5);
    there.set_mappable(true);
    let here = device::memory(Place::CPU).unwrap();
    // Host memory, as the device sees it.
    let host = Buffer::from_vec(vec![1u8; 4000]).unwrap();
    let seen = host.map_to(&there.memory()).unwrap().unwrap();
    let error = host.slice(..3000).unwrap().copy_into(&seen.slice(1000..).unwrap()).unwrap_err();
    assert!(error.is_bounds(), "{error}");
    let error = seen.slice(..3000).unwrap().copy_into(&host.slice(1000..).unwrap()).unwrap_err();
    assert!(error.is_bounds(), "{error}");
    host.slice(..1000).unwrap().copy_into(&seen.slice(3000..).unwrap()).unwrap();
    // Device memory, as the host sees it; twice.
    let far = Buffer::from_vec((0..1000u32).collect::<Vec<_>>()).unwrap().copy_to(&there.memory()).unwrap();
    let (one, two) = (far.map_to(&here).unwrap().unwrap(), far.map_to(&here).unwrap().unwrap());
    let (one, two) = (over(&one, DType::U32, &[1000]), over(&two, DType::U32, &[1000]));
    assign(&one.slice(s![1..]).unwrap(), &two.slice(s![..-1]).unwrap());
    assert!(numbers(&two).iter().enumerate().all(|(k, &n)| n as usize == k.saturating_sub(1)));
    let all = one.buffer().unwrap().0;
    assert!(far.copy_into(&all).unwrap_err().is_bounds());
    assert!(all.copy_into(&far).unwrap_err().is_bounds());
    // And as the device sees it again, through the host.
    let back = all.map_to(&there.memory()).unwrap().unwrap();
    assert!(back.copy_into(&far).unwrap_err().is_bounds());
    assert!(far.slice(..2000).unwrap().copy_into(&back.slice(2000..).unwrap()).is_ok());
}

#[test]
fn fields_sub_arrays_and_other_views_of_the_same_bytes_are_assigned_as_if_copied_before() {
    let point = DType::subarray(&[3], DType::U16).unwrap();
    let record = DType::packed_record([("kind", DType::U8), ("at", point), ("rest", DType::U8)]).unwrap();
    let mut block = Block::counting(8 * 500);
    let (one, two) = (over(&block.import(), record, &[500]), over(&block.import(), DType::U16, &[500, 4]));
    let before = block.bytes();
    // The three numbers of a record begin at odd bytes, and are assigned from the overlapping ones
    // at even bytes.
    let at = one.field("at").unwrap();
    assert_eq!(at.shape(), [500, 3]);
    assign(&at, &two.slice(s![.., 1..]).unwrap());
    let mut expected = before.clone();
    expected.chunks_mut(8).zip(before.chunks(8)).for_each(|(new, old)| new[1..7].copy_from_slice(&old[2..8]));
    assert!(block.bytes() == expected);
    // Backwards along both axes, from the next record.
    let flipped = two.slice(s![1.., 1..]).unwrap().slice(s![..;-1, ..;-1]).unwrap();
    let values = expected.clone();
    assign(&at.slice(s![..-1, ..]).unwrap(), &flipped);
    for row in 0..499 {
        for column in 0..3 {
            let from = 8 * (499 - row) + 2 * (3 - column);
            expected[8 * row + 1 + 2 * column..][..2].copy_from_slice(&values[from..from + 2]);
        }
    }
    assert!(block.bytes() == expected);
}

#[test]
fn records_with_fields_in_another_order_are_assigned_in_the_same_memory() {
    let narrow = DType::packed_record([("a", DType::U8), ("b", DType::U16)]).unwrap();
    let wide = DType::packed_record([("b", DType::U32.swapped()), ("a", DType::U16)]).unwrap();
    let mut block = Block::counting(6 * 400);
    let before = block.bytes();
    let (from, to) = (over(&block.import(), narrow, &[400]), over(&block.import(), wide, &[400]));
    assign(&to, &from);
    for (number, record) in block.bytes().chunks(6).enumerate() {
        let [a, low, high] = before[3 * number..][..3].try_into().unwrap();
        assert_eq!(record, [0, 0, high, low, a, 0], "record {number}");
    }
}

#[test]
fn a_layout_in_which_one_memory_is_read_again_and_again_is_copied_before() {
    let mut block = Block::counting(4000);
    let (one, two) = (block.import(), block.import());
    let (one, bytes) = (over(&one, DType::U32, &[100, 10]), block.bytes());
    // Windows: each row begins one element later, so they share bytes.
    let layout = Layout::new(&[100, 10], &[4, 4], 4).unwrap();
    let windows = DArray::from_buffer(two, DType::U32, layout, 0).unwrap();
    assign(&one, &windows);
    let number = |k: usize| u32::from_ne_bytes(bytes[4 * k..][..4].try_into().unwrap());
    assert!(numbers(&one).iter().enumerate().all(|(k, &n)| n == number(k / 10 + k % 10)));
}

#[test]
fn a_value_is_not_written_over_elements_that_overlap_as_an_array_is_not() {
    let mut block = Block::counting(400);
    let memory = block.import();
    let of = |shape: &[usize], strides: &[isize]| {
        let layout = Layout::new(shape, strides, 4).unwrap();
        DArray::from_buffer(memory.clone(), DType::U32, layout, 0).unwrap()
    };
    let row = of(&[1, 10], &[40, 4]);
    let (broadcast, bytes) = (row.broadcast_to(&[3, 10]).unwrap(), of(&[8], &[1]));
    let shared = rows(&mut block, &[40, 40], 10);
    let every_other = rows(&mut block, &[40, 42], 10).slice(s![.., ..;2]).unwrap();
    let before = block.bytes();
    let zero = DArray::zeros(DType::U32, &[], Order::RowMajor).unwrap();
    for array in [broadcast.clone(), bytes, of(&[3, 4], &[8, 4]), shared, every_other] {
        let assigned = array.assign(&zero, Casting::Checked).unwrap_err();
        let filled = array.fill(&0.into()).unwrap_err();
        assert!(filled.is_layout() && filled.to_string().contains("overlap"), "{filled}");
        assert_eq!(filled.to_string(), assigned.to_string());
    }
    let typed = Array::<u32, 2>::try_from(broadcast).unwrap();
    assert!(typed.fill(0).unwrap_err().is_layout());
    assert!(block.bytes() == before);
    // Skipped or missing elements overlap with nothing.
    of(&[0, 10], &[0, 4]).fill(&0.into()).unwrap();
    of(&[1], &[1]).fill(&7.into()).unwrap();
    row.slice(s![.., ..;-2]).unwrap().fill(&7.into()).unwrap();
    rows(&mut block, &[200, 240], 10).fill(&7.into()).unwrap();
    assert_eq!(numbers(&of(&[2], &[4]))[0], 7);
}

/// A mapping that the library did not make, imported from its address.
fn foreign_map(file: &File, nbytes: usize, flags: i32) -> Buffer {
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: `mmap` creates a new mapping at an address that the system chooses, so it replaces
    // none.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), nbytes, prot, flags, file.as_raw_fd(), 0) };
    assert_ne!(base, libc::MAP_FAILED);
    let address = base.addr();
    let release = move || {
        // SAFETY: `release` unmaps the mapping made above, once, after the last access.
        unsafe { libc::munmap(std::ptr::without_provenance_mut(address), nbytes) };
    };
    // SAFETY: `base` is a mapping of `nbytes` readable and writable bytes, which stays until
    // `release`.
    unsafe { Buffer::from_foreign(base.cast(), nbytes, Place::CPU, Birth::Aliased, release) }.unwrap()
}

#[test]
fn mappings_of_a_file_that_another_library_made_are_one_memory() {
    let folder = Folder::new("foreign");
    let path = folder.0.join("numbers");
    std::fs::write(&path, vec![0; 40000]).unwrap();
    let (file, again) = (open(&path), open(&path));
    let [one, two] = [&file, &again].map(|file| foreign_map(file, 40000, libc::MAP_SHARED));
    check_shifted(&one, &two, "both by another library");
    check_shifted(&one, &map(open(&path)), "beside a mapping of this library");
    check_shifted(&map(open(&path)), &two, "the other way");
    // A few elements of each, which an importer knows by address alone.
    let few = |buffer: &Buffer, at: usize| {
        let keep = buffer.clone();
        let at = buffer.as_ptr().wrapping_add(at).cast_mut();
        // SAFETY: the 32 bytes lie within the mapping, which the closure keeps until the release.
        let few = unsafe { Buffer::from_foreign(at, 32, Place::CPU, Birth::Aliased, move || drop(keep)) };
        over(&few.unwrap(), DType::U32, &[8])
    };
    assign(&few(&one, 0), &crossdock::Array::from_vec((0..8u32).collect(), [8]).unwrap().into());
    assert_eq!(copied(&few(&two, 4), &few(&one, 0)), 64);
    assert_eq!(numbers(&few(&one, 4)), (0..8).collect::<Vec<u32>>());
    assert_eq!(copied(&few(&two, 32), &few(&one, 0)), 32, "bytes of the file that do not meet");
    // A private mapping shows writes to the file until it is written itself.
    let private = foreign_map(&file, 40000, libc::MAP_PRIVATE);
    let [shown, all] = [&private, &one].map(|buffer| over(buffer, DType::U32, &[10000]));
    assign(&all, &Array::from_vec((0..10000u32).collect(), [10000]).unwrap().into());
    assign(&all.slice(s![1..]).unwrap(), &shown.slice(s![..-1]).unwrap());
    assert!(numbers(&all).iter().enumerate().all(|(k, &n)| n as usize == k.saturating_sub(1)));
    let others = foreign_map(&file, 40000, libc::MAP_PRIVATE);
    assert_eq!(copied(&few(&private, 4), &few(&others, 0)), 32, "neither shows what the other writes");

    std::fs::write(folder.0.join("others"), vec![0; 40000]).unwrap();
    let other = foreign_map(&open(&folder.0.join("others")), 40000, libc::MAP_SHARED);
    assert_eq!(copied(&few(&one, 0), &few(&other, 0)), 32, "another file");
    assert!(one.copy_into(&other).is_ok());
}

#[test]
fn rows_in_a_mapping_that_another_library_made_are_compared_with_another_mapping() {
    let folder = Folder::new("foreign-rows");
    let path = folder.0.join("numbers");
    std::fs::write(&path, vec![0; 320]).unwrap();
    let [one, two] = [open(&path), open(&path)].map(|file| foreign_map(&file, 320, libc::MAP_SHARED));
    let direct = over(&two, DType::U32, &[8, 10]);
    assign(&direct, &Array::from_vec((0..80u32).collect(), [8, 10]).unwrap().into());
    let table: Vec<*const u8> = [0, 80, 240].map(|start| one.as_ptr().wrapping_add(start)).to_vec();
    let layout = Layout::with_suboffsets(&[3, 10], &[8, 4], &[Some(0), None], 4).unwrap();
    // SAFETY: the table points to rows within the first mapping, which outlives the arrays of this
    // test.
    let rows =
        unsafe { DArray::from_indirect(table.as_ptr().cast(), DType::U32, &layout, Birth::Aliased, || {}) };
    let rows = rows.unwrap();
    // Rows 0 and 6 are exchanged, which no order of copies does without a temporary.
    assign(&rows, &direct.slice(s![..7;-3, ..]).unwrap());
    let first: Vec<u32> = numbers(&direct).into_iter().step_by(10).collect();
    assert_eq!(first, [60, 10, 30, 30, 40, 50, 0, 70]);
    assert_eq!(copied(&rows, &over(&Block::counting(120).import(), DType::U32, &[3, 10])), 120);
}

#[test]
fn shared_memory_that_another_library_mapped_twice_is_one_memory() {
    let shared = Buffer::shared(40000).unwrap();
    let file = File::from(shared.descriptor().unwrap().0.try_clone_to_owned().unwrap());
    let [one, two] = [(); 2].map(|()| foreign_map(&file, 40000, libc::MAP_SHARED));
    check_shifted(&one, &two, "both by another library");
    check_shifted(&shared, &two, "beside the memory itself");
}

#[test]
fn imports_of_ordinary_memory_are_copied_once_whatever_their_size() {
    let sizes = [64, 40_000, 3 << 20, 40 << 20];
    // The C library maps the largest one. A tool may have an allocator of its own.
    let own_allocator = usize::from(crossdock_testkit::rounds(100) < 100);
    for &nbytes in &sizes[..sizes.len() - own_allocator] {
        let (mut block, mut other) = (Block::counting(nbytes), Block::counting(nbytes));
        let len = nbytes / 4;
        let (one, two) = (block.import(), other.import());
        for _ in 0..2 {
            assert_eq!(
                copied(&over(&one, DType::U32, &[len]), &over(&two, DType::U32, &[len])),
                nbytes as u64
            );
        }
        assert!(one.exported().is_empty());
        // Pages that were never accessed.
        let fresh = foreign_map(&File::open("/dev/zero").unwrap(), nbytes, libc::MAP_PRIVATE);
        assert_eq!(copied(&over(&fresh, DType::U32, &[len]), &over(&two, DType::U32, &[len])), nbytes as u64);
    }
}
