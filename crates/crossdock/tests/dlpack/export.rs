//! Exports of arrays by DLPack: zero-copy, under the right lease, or refused with the reason.

use std::error::Error as _;
use std::slice;
use std::sync::Arc;
use std::thread;

use crossdock::bindings::dialect::dlpack::from_dlpack;
use crossdock::bindings::dlpack::abi::{
    DLManagedTensorVersioned, DLPackVersion, DLTensor, IS_COPIED, IS_SUBBYTE_TYPE_PADDED, READ_ONLY,
};
use crossdock::bindings::dlpack::{
    ExportOptions, Exported, export_legacy, export_versioned, import_legacy, import_versioned,
};
use crossdock::buffer::Buffer;
use crossdock::element::{DType, ScalarKind, TimeUnit, Value};
use crossdock::layout::{Layout, Order};
use crossdock::memory::copied_bytes_here;
use crossdock::memory::{Birth, Conflict, DeviceKind, LeaseKind, Place, Protocols};
use crossdock::view::{CopyPolicy, Reason, Refusal, Request};
use crossdock::{Array, DArray, s};
use crossdock_testkit::{Coverage, generate, seed};
use fastrand::Rng;

fn options() -> ExportOptions {
    ExportOptions::new()
}

fn trusting() -> ExportOptions {
    // SAFETY: the consumers of this file's exports are imports by this library, which never write
    // read-only memory.
    let options = unsafe { options().trust_readonly() };
    // SAFETY: the consumers of this file's exports are imports by this library, which keep legacy
    // tensors read-only.
    unsafe { options.trust_legacy_readonly() }
}

/// Imports an export of this library.
fn import(exported: Exported<DLManagedTensorVersioned>) -> DArray {
    // SAFETY: the tensor was exported just now, and this import is its only consumer.
    unsafe { import_versioned(exported.into_raw()) }.expect("what we export, we import")
}

fn dims(tensor: &DLTensor) -> (Vec<i64>, Vec<i64>) {
    let rank = tensor.ndim as usize;
    // SAFETY: the library exports `ndim` lengths, which live as long as the tensor.
    let shape = unsafe { slice::from_raw_parts(tensor.shape, rank) };
    // SAFETY: the library always exports strides, `ndim` of them, which live as long as the tensor.
    let strides = unsafe { slice::from_raw_parts(tensor.strides, rank) };
    (shape.to_vec(), strides.to_vec())
}

fn numbers() -> Array<i32, 2> {
    Array::from_vec((0..12).collect(), [3, 4]).unwrap()
}

// ===== what the struct says

#[test]
fn a_tensor_has_the_exact_address_and_strides_in_elements() {
    let array = numbers().slice(s![1.., ..;-2]).unwrap();
    let exported = export_versioned(&array, &options()).unwrap();
    let managed = exported.managed();
    let tensor = &managed.dl_tensor;
    assert_eq!((managed.version.major, managed.version.minor, managed.flags), (1, 3, 0));
    assert_eq!((tensor.data.addr(), tensor.byte_offset), (array.as_ptr().addr(), 0));
    assert_eq!((tensor.device.device_type, tensor.device.device_id), (1, 0));
    assert_eq!((tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes), (0, 32, 1));
    assert_eq!(dims(tensor), (vec![2, 2], vec![4, -2]));
    assert!(managed.deleter.is_some());
}

#[test]
fn axes_of_length_one_have_ordinary_strides() {
    // The distance to the next element is not a multiple of the element size.
    let layout = Layout::new(&[1, 3, 1], &[7, 8, -99], 8).unwrap();
    let array = DArray::from_buffer(Buffer::zeroed(24).unwrap(), DType::F64, layout, 0).unwrap();
    let exported = export_versioned(&array, &options()).unwrap();
    assert_eq!(dims(&exported.managed().dl_tensor), (vec![1, 3, 1], vec![3, 1, 1]));
}

#[test]
fn without_elements_data_is_null_and_strides_are_there() {
    let layout = Layout::new(&[3, 0], &[7, 1], 8).unwrap();
    let array = DArray::from_buffer(Buffer::zeroed(8).unwrap(), DType::F64, layout, 0).unwrap();
    let exported = export_versioned(&array, &options()).unwrap();
    let tensor = &exported.managed().dl_tensor;
    assert!(tensor.data.is_null() && !tensor.strides.is_null());
    assert_eq!(dims(tensor).0, [3, 0]);
    assert_eq!(import(exported).shape(), [3, 0]);
}

#[test]
fn arrays_without_axes_and_with_sixty_four_are_lent() {
    let one = numbers().slice(s![2, 3]).unwrap();
    let back = import(export_versioned(&one, &options()).unwrap());
    assert_eq!((back.rank(), back.get(&[]).unwrap().to_string()), (0, "11".to_owned()));
    let shape = [vec![1; 61], vec![3, 2, 2]].concat();
    let deep = DArray::from(numbers()).reshape(&shape).unwrap();
    let back = import(export_versioned(&deep, &options()).unwrap());
    assert_eq!((back.shape(), back.as_ptr()), (&shape[..], deep.as_ptr()));
}

#[test]
fn every_dtype_that_dlpack_has_goes_out_and_comes_back() {
    let mut types = 0;
    for code in 0..=17 {
        for bits in 1..=128 {
            let Ok(dtype) = from_dlpack(code, bits, 1, true) else { continue };
            let array = DArray::zeros(dtype.clone(), &[2], Order::RowMajor).unwrap();
            let exported = export_versioned(&array, &options()).unwrap();
            let flag = if bits < 8 { IS_SUBBYTE_TYPE_PADDED } else { 0 };
            assert_eq!(exported.managed().flags, flag, "{dtype}");
            assert_eq!(*import(exported).dtype(), dtype);
            // The legacy struct has no flag for padded elements.
            assert_eq!(export_legacy(&array, &options()).is_ok(), bits >= 8, "{dtype}");
            types += 1;
        }
    }
    assert_eq!(types, 28);
}

// ===== what is refused

#[track_caller]
fn assert_unsupported(array: &DArray, part: &str) {
    for policy in [CopyPolicy::Never, CopyPolicy::IfNeeded, CopyPolicy::Always] {
        let refusal = export_versioned(array, &options().copy(policy)).unwrap_err();
        assert!(matches!(refusal.reason(), Reason::Unsupported(_)), "{refusal}");
        assert!(refusal.to_string().contains(part), "{part:?} is not in: {refusal}");
        assert_eq!(refusal.would_copy(), None);
    }
}

#[test]
fn types_that_dlpack_cannot_say_are_named() {
    let copied = copied_bytes_here();
    for (dtype, part) in [
        (DType::F64.swapped(), "byte order"),
        (DType::native(ScalarKind::LongDouble), "no such dtype"),
        (DType::text(3).unwrap(), "no such dtype"),
        (DType::bytes(3).unwrap(), "no such dtype"),
        (DType::datetime(TimeUnit::SECOND), "no such dtype"),
        (DType::packed_record([("x", DType::U8)]).unwrap(), "no records"),
        (DType::subarray(&[2], DType::U8).unwrap(), "no sub-arrays"),
    ] {
        let array = DArray::zeros(dtype.clone(), &[2], Order::RowMajor).unwrap();
        assert_unsupported(&array, part);
        assert_unsupported(&array, &dtype.to_string());
    }
    assert_eq!(copied_bytes_here(), copied, "a refusal copies nothing");
}

#[test]
fn devices_whose_data_is_a_handle_are_named() {
    // SAFETY: the place is an OpenCL device, so the CPU never accesses the address, and nothing
    // frees it.
    let buffer = unsafe { Buffer::non_owned(64 as *mut u8, 8, Place::new(DeviceKind::OPENCL, 2)) }.unwrap();
    let layout = Layout::contiguous(&[1], 8, Order::RowMajor).unwrap();
    assert_unsupported(&DArray::from_buffer(buffer, DType::F64, layout, 0).unwrap(), "opencl:2");
}

fn field() -> DArray {
    let trade = DType::packed_record([("flag", DType::U8), ("price", DType::F64)]).unwrap();
    DArray::zeros(trade, &[5], Order::RowMajor).unwrap().field("price").unwrap()
}

#[test]
fn a_stride_that_is_no_whole_number_of_elements_is_refused_or_copied() {
    let refusal = export_versioned(&field(), &options()).unwrap_err();
    assert!(matches!(refusal.reason(), Reason::Layout(_)), "{refusal}");
    let text = refusal.to_string();
    assert!(text.contains("axis 0, 9 bytes") && text.contains("8 bytes"), "{text}");
    assert_eq!(refusal.would_copy(), Some(40));

    let exported = export_versioned(&field(), &options().copy(CopyPolicy::IfNeeded)).unwrap();
    assert!(matches!(exported.copied_because().unwrap().reason(), Reason::Layout(_)));
    assert_eq!((exported.copied_nbytes(), exported.managed().flags), (40, IS_COPIED));
}

#[test]
fn an_unaligned_field_of_whole_strides_is_lent_in_place() {
    let pair = DType::packed_record([("a", DType::U8), ("b", DType::U16), ("c", DType::U8)]).unwrap();
    let field = DArray::zeros(pair, &[5], Order::RowMajor).unwrap().field("b").unwrap();
    let back = import(export_versioned(&field, &options()).unwrap());
    assert_eq!((back.as_ptr(), back.strides()), (field.as_ptr(), &[4][..]));
    assert!(!back.as_ptr().addr().is_multiple_of(2));
}

// ===== copies

#[test]
fn a_copy_that_was_asked_for_is_the_consumers_alone() {
    let (array, before) = (numbers(), copied_bytes_here());
    let exported = export_versioned(&array.transpose(), &options().copy(CopyPolicy::Always)).unwrap();
    assert_eq!((copied_bytes_here() - before, exported.copied_nbytes()), (48, 48));
    assert!(exported.copied_because().is_none());
    assert_eq!(exported.managed().flags, IS_COPIED);
    assert!(array.write().is_ok(), "the array itself is not leased");
    let back = import(exported);
    assert_eq!((back.birth(), back.strides()), (Birth::Sole, &[12, 4][..]));
    let back = Array::<i32, 2>::try_from(back).unwrap();
    assert_eq!(back.read().unwrap()[[3, 1]], 7);
    back.write().unwrap();
}

#[test]
fn a_lease_that_cannot_be_had_is_reason_enough_for_a_permitted_copy() {
    let array = numbers();
    let reading = array.read().unwrap();
    let exported = export_versioned(&array, &options().copy(CopyPolicy::IfNeeded)).unwrap();
    assert!(matches!(exported.copied_because().unwrap().reason(), Reason::Lease(_)));
    assert_ne!(exported.managed().dl_tensor.data.addr(), array.as_ptr().addr());
    drop(reading);
    let exported = export_versioned(&array, &options().copy(CopyPolicy::IfNeeded)).unwrap();
    assert_eq!((exported.copied_nbytes(), exported.managed().flags), (0, 0));
}

// ===== leases

fn conflict(error: &crossdock::Error) -> &Conflict {
    error.source().unwrap().downcast_ref().unwrap()
}

#[test]
fn while_it_is_exported_nobody_reads_constancy_or_writes_alone() {
    let mut array = numbers();
    assert!(array.as_view_mut().is_ok());
    let tensor = export_versioned(&array, &options()).unwrap().into_raw();
    for error in [array.read().unwrap_err(), array.write().unwrap_err()] {
        assert!(error.is_conflict());
        assert_eq!(conflict(&error).leases(), Some((LeaseKind::Share, 1)));
        assert!(conflict(&error).exported().contains(Protocols::DLPACK));
        assert!(error.to_string().contains("1 share lease held; it was exported by DLPack"), "{error}");
    }
    assert!(array.as_view_mut().err().unwrap().to_string().contains("DLPack"));
    assert!(array.share().is_ok() && array.pin().is_ok());
    // SAFETY: the tensor was exported just now, and this import is its only consumer.
    drop(unsafe { import_versioned(tensor) }.unwrap());
    assert!(array.write().is_ok() && array.as_view_mut().is_ok());
}

#[test]
fn an_export_that_was_not_handed_over_is_given_back() {
    let array = numbers();
    let exported = export_versioned(&array, &options()).unwrap();
    let legacy = export_legacy(&array, &options()).unwrap();
    assert!(array.write().is_err());
    drop(exported);
    assert!(array.write().is_err());
    drop(legacy);
    assert!(array.write().is_ok());
}

#[test]
fn the_deleter_may_be_called_on_any_thread_and_holds_the_memory_until_then() {
    struct Owner(Vec<u8>, std::sync::mpsc::Sender<()>);
    impl std::ops::Deref for Owner {
        type Target = Vec<u8>;
        fn deref(&self) -> &Vec<u8> {
            &self.0
        }
    }
    impl Drop for Owner {
        fn drop(&mut self) {
            self.1.send(()).unwrap();
            panic!("an owner that fails");
        }
    }
    let (sender, dropped) = std::sync::mpsc::channel();
    let array = Array::from_owner(Owner(vec![1, 2, 3], sender), [3]).unwrap();
    let exported = export_versioned(&array, &trusting()).unwrap();
    drop(array);
    assert!(dropped.try_recv().is_err(), "the consumer holds it");
    thread::spawn(move || {
        let tensor = exported.into_raw();
        // SAFETY: the tensor was exported just now and is not deleted yet, so the struct is
        // readable.
        let deleter = unsafe { (*tensor).deleter }.unwrap();
        // SAFETY: the deleter is the library's own, which returns without an access if the pointer
        // is null.
        unsafe { deleter(std::ptr::null_mut()) };
        // SAFETY: the tensor has no other consumer, and this is the only call of its deleter with
        // it.
        unsafe { deleter(tensor) };
    })
    .join()
    .expect("a panic of an owner goes no further");
    assert!(dropped.try_recv().is_ok());
}

#[test]
fn a_read_only_array_is_lent_on_the_callers_word_alone() {
    let array = numbers().into_readonly();
    let check = |refusal: Refusal, word: &str| {
        let Reason::Lease(error) = refusal.reason() else { panic!("{refusal}") };
        assert!(error.is_read_only() && error.to_string().contains(word), "{error}");
        assert_eq!(refusal.would_copy(), Some(48));
        assert!(refusal.offer().unwrap().readonly);
    };
    check(export_versioned(&array, &options()).unwrap_err(), "`trust_readonly`");
    check(export_legacy(&array, &options()).unwrap_err(), "`trust_legacy_readonly`");
    // One word is not the other.
    // SAFETY: no consumer gets a tensor with these options: the legacy export is refused.
    let versioned_only = unsafe { options().trust_readonly() };
    check(export_legacy(&array, &versioned_only).unwrap_err(), "`trust_legacy_readonly`");

    let exported = export_versioned(&array, &trusting()).unwrap();
    assert_eq!(exported.managed().flags, READ_ONLY);
    assert!(array.read().is_ok(), "a Pin lease stands beside Read");
    let writable = numbers();
    assert_eq!(export_versioned(&writable, &trusting()).unwrap().managed().flags, 0);
    assert!(import(exported).is_readonly());

    let legacy = export_legacy(&array, &trusting()).unwrap();
    // SAFETY: the tensor was exported just now, and this import is its only consumer.
    let back = unsafe { import_legacy(legacy.into_raw()) }.unwrap();
    assert_eq!(back.as_ptr(), array.as_ptr().cast());
    assert!(array.read().is_ok());
}

#[test]
fn constant_memory_is_read_only() {
    static CONSTANT: [u8; 3] = [1, 2, 3];
    let array = Array::from_static(&CONSTANT, [3]).unwrap();
    assert!(matches!(export_versioned(&array, &options()).unwrap_err().reason(), Reason::Lease(_)));
    let exported = export_versioned(&array, &trusting()).unwrap();
    assert_eq!(exported.managed().dl_tensor.data.addr(), CONSTANT.as_ptr().addr());
}

#[test]
fn a_view_lends_on_no_more_than_it_has() {
    let array = numbers();
    let shared = array.export(&Request::share()).unwrap();
    assert_eq!(export_versioned(&shared, &options()).unwrap().managed().flags, 0);
    drop(shared);
    let pinned = array.export(&Request::pin()).unwrap();
    let refusal = export_versioned(&pinned, &options()).unwrap_err();
    assert!(matches!(refusal.reason(), Reason::Lease(error) if error.is_read_only()), "{refusal}");
    assert_eq!(export_versioned(&pinned, &trusting()).unwrap().managed().flags, READ_ONLY);
    drop(pinned);
    let written = array.export(&Request::write()).unwrap();
    let refusal = export_versioned(&written, &options()).unwrap_err();
    assert!(matches!(refusal.reason(), Reason::Lease(error) if error.is_conflict()), "{refusal}");
}

#[test]
fn what_the_consumer_writes_the_lender_sees() {
    let array = numbers();
    let back = import(export_versioned(&array, &options()).unwrap());
    back.set(&[1, 1], &Value::Int(-9)).unwrap();
    assert_eq!(array.get([1, 1]).unwrap(), -9);
}

#[test]
fn memory_on_a_device_is_relayed_untouched() {
    let place = Place::new(DeviceKind::CUDA, 1);
    // SAFETY: the place is a CUDA device, so the CPU never accesses the address, and nothing frees
    // it.
    let buffer = unsafe { Buffer::non_owned(0x7000_0000 as *mut u8, 32, place) }.unwrap();
    let layout = Layout::contiguous(&[4], 8, Order::RowMajor).unwrap();
    let array = DArray::from_buffer(buffer, DType::F64, layout, 0).unwrap();
    let back = import(export_versioned(&array.slice(s![1..;2]).unwrap(), &options()).unwrap());
    assert_eq!((back.place(), back.as_ptr().addr(), back.strides()), (place, 0x7000_0008, &[16][..]));
    let refusal = export_versioned(&array, &options().copy(CopyPolicy::Always)).unwrap_err();
    assert!(matches!(refusal.reason(), Reason::Failed(error) if error.is_place()), "{refusal}");
}

// ===== every layout

/// Random layouts against the naive oracle.
#[test]
fn a_place_without_devices_is_named() {
    let here = DArray::from(numbers());
    for policy in [CopyPolicy::Never, CopyPolicy::IfNeeded, CopyPolicy::Always] {
        let nowhere = options().place(Place::new(DeviceKind::METAL, 7)).copy(policy);
        let refusal = export_versioned(&here, &nowhere).unwrap_err();
        assert!(matches!(refusal.reason(), Reason::Failed(_)) && refusal.would_copy().is_none(), "{refusal}");
        assert!(refusal.to_string().contains("metal"), "{refusal}");
    }
}

#[test]
fn whatever_the_layout_it_comes_back_in_place_or_is_refused_for_its_strides() {
    const WINDOW: usize = 1 << 16;
    let cases = crossdock_testkit::cases(12_000);
    let dtypes = [DType::U8, DType::BOOL, DType::BF16, DType::I32, DType::F64, DType::C128];
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    let before = copied_bytes_here();
    while coverage.cases() < cases {
        let rank = if rng.u8(..) < 16 { rng.usize(9..=12) } else { rng.usize(0..=8) };
        let placed = generate::direct(&mut rng, rank);
        let plain = &placed.plain;
        let fitting = dtypes.iter().find(|dtype| dtype.itemsize() == plain.itemsize && rng.bool());
        let Some(dtype) = fitting.filter(|_| placed.window <= WINDOW) else { continue };
        coverage.case();
        let bytes: Vec<u8> = (0..placed.window).map(|_| rng.u8(..)).collect();
        let layout = Layout::new(&plain.shape, &plain.strides, plain.itemsize).unwrap();
        let buffer = Buffer::from_vec(bytes).unwrap();
        let base = buffer.as_ptr().addr() as i128;
        let array = DArray::from_buffer(buffer, dtype.clone(), layout, placed.offset).unwrap();
        let cells = placed.nested().cells;
        let sayable = cells.is_empty() || {
            let mut axes = plain.shape.iter().zip(&plain.strides);
            axes.all(|(&len, &stride)| len == 1 || stride % plain.itemsize as isize == 0)
        };
        match export_versioned(&array, &options()) {
            Err(refusal) => {
                assert!(!sayable && matches!(refusal.reason(), Reason::Layout(_)), "{refusal}: {plain:?}");
                coverage.note("refused");
            }
            Ok(exported) => {
                assert!(sayable, "{plain:?}");
                let back = import(exported);
                assert_eq!((back.shape(), back.dtype()), (&plain.shape[..], dtype));
                assert_eq!(back.to_cells(), cells.iter().map(|cell| base + cell).collect::<Vec<_>>());
                for position in 0..cells.len().min(3) {
                    let index = index_of(&plain.shape, position * (cells.len() - 1) / 2 % cells.len());
                    // As text, since NaN does not equal itself.
                    let (one, other) = (array.get(&index).unwrap(), back.get(&index).unwrap());
                    assert_eq!(one.to_string(), other.to_string());
                }
                let (buffer, _) = array.buffer().unwrap();
                assert!(buffer.write().is_err());
                drop(back);
                assert!(buffer.write().is_ok());
                coverage.note_if(plain.strides.iter().any(|&stride| stride < 0), "negative");
                coverage.note_if(plain.strides.contains(&0), "zero");
                coverage.note_if(cells.is_empty(), "empty");
                coverage.note_if(rank > 8, "many axes");
                coverage.note_if(!array.as_ptr().addr().is_multiple_of(plain.itemsize), "unaligned");
            }
        }
    }
    println!("{coverage}");
    coverage.assert_at_least(0.01, ["refused", "negative", "zero", "empty", "many axes", "unaligned"]);
    assert_eq!(copied_bytes_here(), before, "nothing was copied");
}

fn index_of(shape: &[usize], mut position: usize) -> Vec<usize> {
    let mut index: Vec<usize> = Vec::new();
    for &len in shape.iter().rev() {
        index.insert(0, position % len);
        position /= len;
    }
    index
}

trait Cells {
    /// The addresses of all elements, in row-major order of their indices.
    fn to_cells(&self) -> Vec<i128>;
}

impl Cells for DArray {
    fn to_cells(&self) -> Vec<i128> {
        let indices = (0..self.len()).map(|position| index_of(self.shape(), position));
        let offsets = indices.map(|index| self.layout().offset_of(&index).unwrap());
        offsets.map(|offset| self.as_ptr().addr() as i128 + offset as i128).collect()
    }
}

#[test]
fn the_number_of_pinned_and_managed_memory_is_0() {
    for kind in [DeviceKind::CUDA_HOST, DeviceKind::ROCM_HOST, DeviceKind::CUDA_MANAGED] {
        let mut bytes = [0u8; 8];
        // SAFETY: `bytes` has 8 bytes, outlives the array, and is only accessed through it.
        let buffer = unsafe { Buffer::non_owned(bytes.as_mut_ptr(), 8, Place::new(kind, 2)) }.unwrap();
        let array = DArray::from_buffer_in_order(buffer, DType::U8, &[8], Order::RowMajor).unwrap();
        let exported = export_versioned(&array, &options()).unwrap();
        let device = exported.managed().dl_tensor.device;
        assert_eq!((device.device_type, device.device_id), (kind.0, 0));
        let prepared = crossdock::bindings::dlpack::Prepared::of(&array).unwrap();
        // SAFETY: `prepared` was made from this array, and no thread writes it.
        assert_eq!(unsafe { prepared.describe(&array) }.unwrap().device, device);
    }
}

#[test]
fn a_consumer_of_an_older_version_gets_a_struct_that_says_no_newer_one() {
    let array = DArray::from(Array::from_vec(vec![1u8, 2, 3], [3]).unwrap());
    let said = |major, minor| {
        let options = options().max_version(DLPackVersion { major, minor });
        let exported = export_versioned(&array, &options).unwrap();
        let prepared = crossdock::bindings::dlpack::Prepared::of(&array).unwrap();
        // SAFETY: `prepared` was made from this very array, whose layout and memory have not
        // changed since.
        let again = unsafe { prepared.lend(&array, &options) }.unwrap();
        assert_eq!(again.managed().version, exported.managed().version);
        let version = exported.managed().version;
        (version.major, version.minor)
    };
    assert_eq!(
        [said(1, 0), said(1, 2), said(1, 3), said(1, 9), said(7, 0)],
        [(1, 0), (1, 2), (1, 3), (1, 3), (1, 3)]
    );
    let before = options().max_version(DLPackVersion { major: 0, minor: 9 });
    let refusal = export_versioned(&array, &before).unwrap_err();
    assert!(refusal.to_string().contains("up to 0.9"), "{refusal}");
    assert!(export_legacy(&array, &before).is_ok());
}

#[test]
fn an_array_that_went_to_and_fro_many_times_is_freed_on_a_short_stack() {
    let owner = Arc::new(vec![1i32, 2, 3]);
    let mut array =
        DArray::from(Array::<i32, 1>::from_buffer(Buffer::from_owner(owner.clone()).unwrap(), [3]).unwrap());
    for _ in 0..20_000 {
        array = import(export_versioned(&array, &trusting()).unwrap());
    }
    assert_eq!(Arc::strong_count(&owner), 2);
    thread::spawn(move || drop(array)).join().unwrap();
    assert_eq!(Arc::strong_count(&owner), 1);
}
