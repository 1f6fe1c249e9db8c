//! No CPU path dereferences an address of a device: every public function is called on memory that
//! would fault.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::Arc;

use crossdock::array::{ArrayOptions, Native, PairVisitor, Visitor};
use crossdock::bindings::description::Frame;
use crossdock::bindings::{array_interface, arrow, dlpack, memory_view, pep3118, shm};
use crossdock::buffer::{Buffer, MutableBuffer};
use crossdock::device::fenced::FencedDevice;
use crossdock::device::{self, Device, Effect, Signal};
use crossdock::element::{ByteOrder, DType, Element as _, FieldOf, Value};
use crossdock::exchange::files::{Format, SaveOptions, npy};
use crossdock::layout::{FixedLayout, Layout, Order};
use crossdock::ledger;
use crossdock::memory::{Birth, LeaseKind, Place};
use crossdock::pool::Pool;
use crossdock::view::{CopyPolicy, Request, Synchronization};
use crossdock::{Array, Casting, DArray, Error, s};
use crossdock_testkit::status_of_child;

/// The bytes of 2 × 3 × 4 numbers, behind the fence.
fn fenced() -> (Arc<FencedDevice>, Buffer) {
    let device = FencedDevice::new(0);
    let buffer = Buffer::from_vec((0..24).collect::<Vec<i32>>()).unwrap().copy_to(&device.memory()).unwrap();
    assert_eq!(buffer.nbytes(), 96);
    (device, buffer)
}

fn is_about_the_place(error: &Error) -> bool {
    (error.is_place() || error.is_unsupported() || error.is_refused())
        && error.to_string().contains("ext_dev:0")
}

#[track_caller]
fn refused<T, E: Into<Error>>(result: Result<T, E>) {
    match result {
        Ok(_) => panic!("it was given"),
        Err(error) => {
            let error = error.into();
            assert!(is_about_the_place(&error), "{error}");
        }
    }
}

// ===== the fence is there

#[test]
fn whoever_touches_a_fenced_byte_dies_of_it() {
    let (device, buffer) = fenced();
    let empty = Buffer::on(&device.memory(), 0).unwrap();
    let touched = [
        buffer.as_ptr(),
        buffer.as_ptr().wrapping_add(95),
        buffer.slice(40..41).unwrap().as_ptr(),
        empty.as_ptr(),
    ];
    for address in touched {
        for writes in [false, true] {
            let status = status_of_child(|| {
                if writes {
                    // SAFETY: the fenced page is inaccessible, so this write faults and ends the
                    // child process before it changes anything.
                    unsafe { address.cast_mut().write_volatile(1) };
                } else {
                    // SAFETY: the fenced page is inaccessible, so this read faults and ends the
                    // child process before it returns a value.
                    std::hint::black_box(unsafe { address.read_volatile() });
                }
                true
            });
            assert!(libc::WIFSIGNALED(status), "the child went on after it touched {address:p}: {status:#x}");
            assert_eq!(libc::WTERMSIG(status), libc::SIGSEGV);
        }
    }
    assert_eq!(status_of_child(|| true), 0, "a child that touches nothing ends well");
}

// ===== all methods of a buffer

/// The methods of these types that are called below. A new method must be added, with its behaviour
/// on a device.
const BUFFER: &[&str] = &[
    "nbytes",
    "retained_nbytes",
    "as_ptr",
    "place",
    "backing",
    "birth",
    "is_readonly",
    "is_exclusive",
    "exported",
    "descriptor",
    "fault",
    "slice",
    "into_readonly",
    "try_clone",
    "address",
    "mutable_address",
    "is_host",
    "deny_new_writers",
    "into_sealed",
    "try_into_mut",
    "try_into_vec",
    "equals",
    "equals_prefix",
    "to_hex_string",
    "to_text",
    "copy_slice",
    "is_aligned_to",
    "alignment",
    "ensure_alignment",
    "compact",
    "capacity",
    "pool_name",
    "zero_padding",
    "resize",
    "partition",
    "read",
    "write",
    "share",
    "pin",
    "as_mut_slice",
    "assume_sole",
    "assume_constant",
    "device_lease",
    "memory_manager",
    "copy_to",
    "copy_to_in",
    "copy_into",
    "copy_into_in",
    "map_to",
    "map_or_copy_to",
    "await_in",
    "note_event",
    "events",
    "settle",
];

#[test]
fn every_method_of_a_buffer_refuses_or_leaves_the_bytes_alone() {
    let (device, mut buffer) = fenced();
    let memory = device.memory();
    // Known without access.
    assert_eq!((buffer.nbytes(), buffer.retained_nbytes(), buffer.place()), (96, 96, device.place()));
    assert!(!buffer.as_ptr().is_null() && !buffer.is_readonly() && buffer.is_exclusive());
    assert_eq!((buffer.birth(), buffer.backing().to_string().as_str()), (Birth::Sole, "device"));
    assert!(buffer.exported().is_empty() && buffer.descriptor().is_none() && buffer.fault().is_none());
    assert!(format!("{buffer:?} {buffer:#?}").contains("96 bytes"));
    assert!(buffer.slice(3..97).is_err() && buffer.slice(3..90).unwrap().nbytes() == 87);
    let more = (buffer.clone(), buffer.try_clone().unwrap(), buffer.clone().into_readonly());
    drop(more);

    assert_eq!(
        (buffer.address(), buffer.mutable_address().unwrap()),
        (buffer.as_ptr().addr(), buffer.address())
    );
    assert!(!buffer.is_host());

    // Needs access.
    refused(buffer.read());
    refused(buffer.write());
    refused(buffer.share());
    refused(buffer.pin());
    refused(buffer.as_mut_slice());
    let readonly = buffer.clone().into_readonly();
    refused(readonly.read());
    refused(readonly.write());
    let rejected = buffer.clone().try_into_mut().unwrap_err();
    assert!(rejected.error.is_unsupported() && rejected.value.nbytes() == 96);
    assert!(MutableBuffer::try_from(rejected.value).is_err());
    refused(buffer.clone().try_into_vec::<i32>());

    // Comparison, printing, copies by the CPU, and resizing.
    let (pool, other) = (Pool::default(), Buffer::zeroed(96).unwrap());
    refused(buffer.equals(&other));
    refused(other.equals(&buffer));
    refused(buffer.equals_prefix(&other, 1));
    assert!(buffer.equals(&buffer.clone()).unwrap() && !buffer.equals(&Buffer::zeroed(5).unwrap()).unwrap());
    refused(buffer.to_hex_string());
    refused(buffer.to_text());
    refused(buffer.copy_slice(1..3, &pool));
    assert!(buffer.is_aligned_to(4096) && buffer.alignment() >= 4096);
    assert_eq!(buffer.ensure_alignment(64, &pool).unwrap().as_ptr(), buffer.as_ptr());
    refused(buffer.slice(1..).unwrap().ensure_alignment(64, &pool));
    refused(buffer.slice(1..3).unwrap().compact(&pool));
    assert_eq!((buffer.capacity(), buffer.pool_name()), (96, None));
    refused(buffer.zero_padding());
    for nbytes in [0, 95, 96, 97] {
        refused(buffer.resize(nbytes));
    }

    assert!(buffer.deny_new_writers().unwrap_err().is_unsupported());

    // Operations of the device.
    drop(readonly);
    let unsealed = buffer.into_sealed().unwrap_err();
    assert!(unsealed.error.is_unsupported(), "{}", unsealed.error);
    buffer = unsealed.value;
    assert_eq!(buffer.device_lease(LeaseKind::Write).unwrap().place(), device.place());
    assert!(format!("{:?}", buffer.device_lease(LeaseKind::Read)).contains("ext_dev:0"));
    assert!(Arc::ptr_eq(&buffer.memory_manager().unwrap().unwrap(), &memory));
    let host = device::memory(Place::CPU).unwrap();
    let stream = device.stream().unwrap().unwrap();
    assert_eq!(buffer.copy_to(&host).unwrap().read().unwrap()[4], 1);
    buffer.copy_into(&Buffer::on(&memory, 96).unwrap()).unwrap();
    let placed = buffer.copy_to_in(&memory, &*stream).unwrap();
    assert!(format!("{placed:?} {stream:?} {memory:?} {device:?}").contains("ext_dev:0"));
    buffer.copy_into_in(&placed.buffer, &*stream).unwrap();
    assert!(buffer.map_to(&host).unwrap().is_none());
    assert_eq!(buffer.map_or_copy_to(&host).unwrap().buffer.place(), Place::CPU);
    let (signal, completion) = Signal::new();
    buffer.note_event(signal, Effect::Writes).unwrap();
    buffer.await_in(&*stream, LeaseKind::Share).unwrap();
    refused(buffer.read());
    assert!(format!("{:?}", buffer.events().unwrap()).contains("not yet"));
    completion.finish(Ok(()));
    buffer.settle().unwrap();

    // Promises about it change nothing.
    // SAFETY: no other code has the address of the fenced memory, and the CPU never accesses it.
    let buffer = unsafe { buffer.assume_sole() };
    refused(buffer.write());
    let parts = buffer.partition(&[0..8, 8..96]).unwrap();
    refused(parts[1].pin());
    // SAFETY: no other code has the address of the fenced memory, so no code writes it.
    let constant = unsafe { parts[0].clone().assume_constant() };
    refused(constant.read());
}

// ===== all methods of an array

const DARRAY: &[&str] = &[
    "slice_axis",
    "split_at",
    "swap_axes",
    "move_axis",
    "diagonal",
    "windows",
    "blocks",
    "reshape_with",
    "flatten",
    "view_as",
    "axis_iter",
    "axis_chunks",
    "is_contiguous",
    "order",
    "dtype",
    "layout",
    "rank",
    "shape",
    "strides",
    "len",
    "is_empty",
    "nbytes",
    "as_ptr",
    "place",
    "backing",
    "birth",
    "is_readonly",
    "exported",
    "fault",
    "buffer",
    "slice",
    "at",
    "into_sealed",
    "slice_numpy",
    "slice_numpy_to",
    "field",
    "permute",
    "transpose",
    "reverse",
    "broadcast_to",
    "reshape",
    "drop_axis",
    "insert_axis",
    "squeeze",
    "into_readonly",
    "get",
    "get_as",
    "set",
    "reference",
    "to_order",
    "to_shared",
    "cast",
    "options",
    "visit",
    "visit_with",
    "cast_shared",
    "fill",
    "to_byte_order",
    "into_byte_order",
    "equals",
    "first_difference",
    "all_close",
    "first_not_close",
    "assign",
    "assign_in",
    "assign_columns",
    "to_columns",
    "is_indirect",
    "copy_to",
    "copy_to_in",
    "map_to",
    "map_or_copy_to",
    "lease_count",
    "may_overlap",
    "relies_on_promise",
];

struct WhereIs;

impl Visitor for WhereIs {
    type Output = Place;

    fn visit<T: Native, const D: usize>(self, array: Array<T, D>) -> Place {
        array.place()
    }
}

impl PairVisitor for WhereIs {
    type Output = Place;

    fn visit<T: Native, const D: usize>(self, _: Array<T, D>, array: Array<T, D>) -> Place {
        array.place()
    }
}

#[test]
fn every_method_of_an_array_refuses_or_leaves_the_elements_alone() {
    let (device, buffer) = fenced();
    let stream = device.stream().unwrap().unwrap();
    let int = i32::dtype();
    let layout = Layout::contiguous(&[2, 3, 4], 4, Order::RowMajor).unwrap();
    let array = DArray::from_buffer(buffer, int.clone(), layout, 0).unwrap();
    assert_eq!((array.rank(), array.shape(), array.strides()), (3, &[2, 3, 4][..], &[48, 16, 4][..]));
    assert_eq!((array.len(), array.nbytes(), array.is_empty()), (24, 96, false));
    assert_eq!((array.place(), array.birth()), (device.place(), Birth::Sole));
    assert_eq!((array.dtype(), array.layout().itemsize()), (&int, 4));
    assert!(!array.as_ptr().is_null() && !array.is_readonly() && array.exported().is_empty());
    assert!(array.fault().is_none() && array.backing().to_string() == "device");
    assert!(array.is_contiguous(Order::RowMajor) && array.order() == Some(Order::RowMajor));
    assert!(array.lease_count() == 0 && !array.relies_on_promise() && array.may_overlap(&array).unwrap());
    assert!(format!("{array:?} {array:#?}").contains("ext_dev:0"));

    // Views of it.
    let mut place = MaybeUninit::uninit();
    let made_in_place = array.slice_numpy_to(s![.., 1..], &mut place).unwrap().clone();
    // SAFETY: `slice_numpy_to` succeeded, so it initialised `place`, and its result was cloned.
    unsafe { place.assume_init_drop() };
    let views = [
        made_in_place,
        array.slice(s![.., 1.., ..;-1]).unwrap(),
        array.at("1:, ::-1").unwrap(),
        array.slice_numpy(s![.., 1.., ..;-1]).unwrap(),
        array.permute(&[2, 0, 1]).unwrap(),
        array.transpose().unwrap(),
        array.reverse(1).unwrap(),
        array.broadcast_to(&[5, 2, 3, 4]).unwrap(),
        array.reshape(&[4, 6]).unwrap(),
        array.drop_axis(0, 1).unwrap(),
        array.insert_axis(1).unwrap().squeeze().unwrap(),
        array.clone().into_readonly(),
        array.slice_axis(2, 1..).unwrap(),
        array.split_at(1, 1).unwrap().1,
        array.swap_axes(0, 2).unwrap(),
        array.move_axis(0, 2).unwrap(),
        array.diagonal(0, 1, 0).unwrap(),
        array.windows(&[2, 2, 2]).unwrap(),
        array.blocks(&[2, 3, 2]).unwrap(),
        array.reshape_with(&[6, 4], Order::RowMajor, CopyPolicy::Never).unwrap(),
        array.reshape_with(&[6, 4], Order::RowMajor, CopyPolicy::IfNeeded).unwrap(),
        array.flatten().unwrap(),
        array.reshape_with(&[array.len()], Order::RowMajor, CopyPolicy::Never).unwrap(),
        array.view_as(&u16::dtype()).unwrap().view_as(&int).unwrap(),
        array.axis_iter(1).unwrap().next_back().unwrap(),
        array.axis_chunks(2, 3).unwrap().next_back().unwrap(),
    ];
    assert!(array.field("x").is_err());
    refused(array.reshape_with(&[24], Order::ColumnMajor, CopyPolicy::IfNeeded));
    refused(array.reshape_with(&[array.len()], Order::RowMajor, CopyPolicy::Always));
    let pair = DType::packed_record([("x", int.clone()), ("y", int.clone())]).unwrap();
    let records =
        DArray::from_buffer(array.buffer().unwrap().0, pair, Layout::new(&[12], &[8], 8).unwrap(), 0);
    let records = records.unwrap();
    let column = DArray::zeros(int.clone(), &[12], Order::RowMajor).unwrap();
    refused(records.to_columns());
    refused(records.assign_columns(&[("x", &column)], Casting::Checked));
    refused(records.assign_columns(&[("x", &records.field("y").unwrap())], Casting::Checked));
    refused(DArray::from_columns(&[("x", &column), ("y", &records.field("y").unwrap())]));
    for view in views.iter().chain([&array]) {
        // The device copies one element.
        let zero = vec![0; view.rank()];
        let number = view.get(&zero).unwrap();
        assert_eq!(view.get_as::<i32>(&zero).unwrap(), number.as_i64().unwrap() as i32);
        assert!(view.reference(&zero).unwrap() == number);
        match view.set(&zero, &number) {
            Err(error) => assert!(view.is_readonly() && error.is_read_only(), "{error}"),
            Ok(()) => assert!(!view.is_readonly()),
        }
        assert!(format!("{view} {:?}", view.display()).contains("ext_dev:0"));
        refused(view.to_order(Order::RowMajor));
        refused(view.to_order(Order::ColumnMajor));
        refused(view.to_shared(Order::RowMajor));
        refused(view.cast(&f64::dtype(), Order::RowMajor, Casting::Checked));
        refused(view.cast_shared(&f64::dtype(), Order::RowMajor, Casting::Checked));
        refused(view.to_byte_order(ByteOrder::NATIVE.swapped()));
        let unturned = view.clone().into_byte_order(ByteOrder::NATIVE.swapped()).unwrap_err();
        assert!(
            unturned.error.is_place()
                || unturned.error.is_conflict()
                || unturned.error.is_layout()
                || unturned.error.is_read_only()
        );
        refused(view.equals(view));
        refused(view.first_difference(view));
        refused(view.all_close(view, 0.0, 0.0, false));
        refused(view.first_not_close(view, 0.0, 0.0, false));
        match view.fill(&Value::Int(5)) {
            Err(error) if !view.layout().is_injective() => assert!(error.is_layout(), "{error}"),
            filled if !view.is_readonly() => refused(filled),
            _ => {}
        }
        let pool = Pool::default();
        refused(view.to_order(ArrayOptions::from(&pool).order(Order::RowMajor)));
        refused(view.cast(&f64::dtype(), ArrayOptions::from(&pool).order(Order::RowMajor), Casting::Checked));
        if !view.is_readonly() && view.layout().is_injective() {
            let host = DArray::zeros(view.dtype().clone(), view.shape(), Order::RowMajor).unwrap();
            refused(view.assign_in(&host, Casting::Checked, &*stream));
            refused(view.assign(&host, Casting::Checked));
            refused(host.assign(view, Casting::Checked));
        }
        assert!(!view.is_indirect());
        // The device has no kernels: it copies whole byte ranges, gaps included.
        let (host, stream) = (device::memory(Place::CPU).unwrap(), device.stream().unwrap().unwrap());
        let number = view.get(&zero).unwrap();
        let (beside, back) = (view.copy_to(&device.memory()).unwrap(), view.copy_to(&host).unwrap());
        assert_eq!((beside.place(), beside.strides()), (device.place(), view.strides()));
        assert!(back.place() == Place::CPU && back.get(&zero).unwrap() == number);
        let placed = view.copy_to_in(&device.memory(), &*stream).unwrap();
        assert_eq!(placed.array.place(), device.place());
        placed.event.unwrap().wait().unwrap();
        assert!(view.map_to(&host).unwrap().is_none());
        assert_eq!(view.map_or_copy_to(&host).unwrap().array.shape(), view.shape());
        assert_eq!(view.buffer().unwrap().0.place(), device.place());
        assert_eq!(view.clone().visit(WhereIs).unwrap(), device.place());
        assert_eq!(view.clone().visit_with(view.clone(), WhereIs).unwrap(), device.place());
        // No driver is registered for the place, so no new memory can be allocated there.
        assert!(format!("{:?}", view.options()).contains("ext_dev:0"));
        assert!(
            DArray::zeros(view.dtype().clone(), view.shape(), view.options()).unwrap_err().is_unsupported()
        );
        assert!(
            DArray::full(view.dtype().clone(), view.shape(), 1, view.options()).unwrap_err().is_unsupported()
        );
        // Exported by every request, zero-copy or as a copy, at every place.
        for request in [Request::read(), Request::write(), Request::share(), Request::pin()] {
            for policy in [CopyPolicy::Never, CopyPolicy::IfNeeded, CopyPolicy::Always] {
                let request = request.clone().copy(policy);
                refused(view.export(&request).map_err(Error::from));
                refused(view.export(&request.clone().place(device.place())).map_err(Error::from));
                refused(shm::export(view, &request).map_err(Error::from));
            }
        }
        match Frame::new(view) {
            Ok(frame) => assert_eq!(frame.bytes().unwrap().place(), device.place()),
            Err(error) => assert!(is_about_the_place(&error), "{error}"),
        }
        let unsealed = view.clone().into_sealed().unwrap_err();
        assert!(unsealed.error.is_conflict() || unsealed.error.is_unsupported(), "{}", unsealed.error);
        let mut file = Vec::new();
        refused(npy::write(&mut file, view));
        file.flush().unwrap();
    }
}

const ARRAY: &[&str] = &[
    "lease_count",
    "relies_on_promise",
    "slice_axis",
    "split_at",
    "swap_axes",
    "move_axis",
    "diagonal",
    "windows",
    "blocks",
    "reshape_with",
    "flatten",
    "view_as",
    "axis_iter",
    "axis_chunks",
    "squeeze",
    "rank",
    "order",
    "backing",
    "exported",
    "fault",
    "with_row_stride",
    "shape",
    "strides",
    "layout",
    "len",
    "is_empty",
    "nbytes",
    "dtype",
    "as_ptr",
    "place",
    "birth",
    "is_readonly",
    "is_contiguous",
    "slice",
    "permute",
    "transpose",
    "reverse",
    "broadcast_to",
    "reshape",
    "drop_axis",
    "insert_axis",
    "field",
    "into_readonly",
    "buffer",
    "read",
    "write",
    "share",
    "pin",
    "get",
    "set",
    "reference",
    "as_view_mut",
    "try_into_vec",
    "to_order",
    "cast",
    "fill",
    "equals",
    "first_difference",
    "all_close",
    "first_not_close",
    "options",
    "copy_to",
    "copy_to_in",
    "map_to",
    "map_or_copy_to",
];

#[test]
fn every_method_of_a_typed_array_refuses_or_leaves_the_elements_alone() {
    let (device, buffer) = fenced();
    let layout = FixedLayout::contiguous([2, 12], 4, Order::RowMajor).unwrap();
    let flat = Array::<i32, 2>::from_buffer_with_layout(buffer.clone(), layout, 0).unwrap();
    let mut array = Array::<i32, 2>::from_buffer(buffer, [6, 4]).unwrap();
    assert_eq!((array.shape(), array.strides(), array.len()), (&[6, 4], &[16, 4], 24));
    assert_eq!((array.nbytes(), array.is_empty(), array.place()), (96, false, device.place()));
    assert!(array.is_contiguous(Order::RowMajor) && !array.as_ptr().is_null() && !array.is_readonly());
    assert_eq!((array.birth(), array.dtype().itemsize()), (Birth::Sole, 4));
    assert_eq!((array.rank(), array.order()), (2, Some(Order::RowMajor)));
    // The two arrays have one lease word, and neither has a lease.
    assert!(array.lease_count() == 0 && !array.relies_on_promise());
    assert!(
        array.exported().is_empty() && array.fault().is_none() && array.backing().to_string() == "device"
    );
    assert_eq!(array.layout().shape(), array.shape());
    assert!(format!("{array:?} {flat:?}").contains("ext_dev:0"));
    let tall = Array::<i32, 2>::from_buffer(array.buffer().unwrap().0.slice(..48).unwrap(), [3, 4]).unwrap();
    let views = [
        array.slice(s![1.., ..;-1]).unwrap(),
        array.permute([1, 0]).unwrap(),
        array.transpose(),
        array.reverse(0).unwrap(),
        array.reshape([2, 12]).unwrap(),
        array.drop_axis::<1>(0, 0).unwrap().broadcast_to([3, 4]).unwrap(),
        array.drop_axis::<1>(1, 0).unwrap().insert_axis::<2>(0).unwrap(),
        array.field(FieldOf::new(0, |number: i32| number)).unwrap(),
        array.clone().into_readonly(),
        flat,
        tall.with_row_stride(32).unwrap(),
        array.slice_axis(1, 1..).unwrap(),
        array.split_at(0, 2).unwrap().1,
        array.swap_axes(0, 1).unwrap(),
        array.move_axis(0, 1).unwrap(),
        array.diagonal::<1>(0, 1, 1).unwrap().insert_axis(0).unwrap(),
        array.blocks::<4>([3, 2]).unwrap().drop_axis::<3>(0, 1).unwrap().drop_axis(0, 1).unwrap(),
        array.windows::<4>([3, 2]).unwrap().drop_axis::<3>(0, 1).unwrap().drop_axis(0, 1).unwrap(),
        array.reshape_with([2, 12], Order::RowMajor, CopyPolicy::Never).unwrap(),
        array.reshape_with([2, 12], Order::RowMajor, CopyPolicy::IfNeeded).unwrap(),
        array.flatten().unwrap().insert_axis(1).unwrap(),
        array.reshape_with([24], Order::RowMajor, CopyPolicy::Never).unwrap().insert_axis(1).unwrap(),
        array.view_as::<[u8; 4]>().unwrap().view_as().unwrap(),
        array.insert_axis::<3>(1).unwrap().squeeze().unwrap(),
        array.axis_iter::<1>(0).unwrap().next_back().unwrap().insert_axis(0).unwrap(),
        array.axis_chunks(0, 4).unwrap().next_back().unwrap(),
    ];
    refused(array.reshape_with([24], Order::ColumnMajor, CopyPolicy::IfNeeded));
    refused(array.reshape_with([24], Order::RowMajor, CopyPolicy::Always));
    for view in &views {
        refused(view.read());
        // Elements that share their bytes have no `&mut` anywhere.
        if !view.strides().contains(&0) {
            refused(view.write());
        }
        refused(view.share());
        refused(view.pin());
        // The device copies one element.
        let number = view.get([0, 0]).unwrap();
        assert!(view.reference([0, 0]).unwrap() == number);
        assert!(view.is_readonly() || view.set([0, 0], number).is_ok());
        assert!(view.to_string().contains("ext_dev:0"));
        let (host, stream) = (device::memory(Place::CPU).unwrap(), device.stream().unwrap().unwrap());
        assert_eq!(view.copy_to(&host).unwrap().get([0, 0]).unwrap(), number);
        view.copy_to_in(&host, &*stream).unwrap().event.unwrap().wait().unwrap();
        assert!(view.map_to(&host).unwrap().is_none());
        assert_eq!(view.map_or_copy_to(&host).unwrap().array.place(), Place::CPU);
        refused(view.to_order(Order::ColumnMajor));
        refused(view.cast::<f64>(Casting::Checked));
        refused(view.equals(view));
        refused(view.first_difference(view));
        refused(view.all_close(view, 0.0, 0.0, false));
        refused(view.first_not_close(view, 0.0, 0.0, false));
        match view.fill(5) {
            Err(error) if !view.layout().is_injective(size_of::<i32>()) => {
                assert!(error.is_layout(), "{error}")
            }
            filled if !view.is_readonly() => refused(filled),
            _ => {}
        }
        refused(view.export(&Request::read()).map_err(Error::from));
        refused(Array::<f32, 2>::uninit((*view.shape(), view.options())));
        assert!(Array::<f32, 2>::zeros((*view.shape(), view.options())).unwrap_err().is_unsupported());
        assert!(Array::<f32, 2>::full((*view.shape(), view.options()), 0.5).unwrap_err().is_unsupported());
        assert!(Array::<f32, 2>::zeros(([2, 2], view.options())).unwrap_err().is_unsupported());
    }
    drop(views);
    refused(array.as_view_mut().map(|_| ()));
    refused(array.try_into_vec());
}

#[test]
fn protocols_that_name_the_device_lend_it_in_place_and_others_refuse() {
    let (device, buffer) = fenced();
    let layout = Layout::contiguous(&[24], 4, Order::RowMajor).unwrap();
    let array = DArray::from_buffer(buffer, i32::dtype(), layout, 0).unwrap();
    let lent = dlpack::export_versioned(&array, &dlpack::ExportOptions::new()).unwrap();
    assert_eq!(lent.copied_nbytes(), 0);
    let tensor = lent.managed().dl_tensor;
    assert_eq!((tensor.device.device_type, tensor.device.device_id), (12, device.place().ordinal()));
    assert_eq!(tensor.data.cast_const().cast(), array.as_ptr());
    // And back, still without an access.
    // SAFETY: the tensor was exported just now, and this import is its only consumer.
    let back = unsafe { dlpack::import_versioned(lent.into_raw()) }.unwrap();
    assert_eq!(back.place(), device.place());
    refused(back.get(&[0]));
    assert!(format!("{back:?}").contains("ext_dev:0"));
    drop(array);
    assert_eq!(device.memory().usage().live_count, 1, "what was lent keeps the memory");
    drop(back);
    assert_eq!(device.memory().usage().live_count, 0);
}

#[test]
fn exporters_to_the_processor_name_the_place_and_nobody_looks() {
    let (_device, buffer) = fenced();
    let whole = Layout::contiguous(&[2, 3, 4], 4, Order::RowMajor).unwrap();
    let array = DArray::from_buffer(buffer, i32::dtype(), whole, 0).unwrap();
    let bytes = array.view_as(&u8::dtype()).unwrap();
    let pixels = Layout::contiguous(&[4, 8, 3], 1, Order::RowMajor).unwrap();
    for view in [&array, &array.reverse(1).unwrap(), &bytes, &bytes.clone().into_readonly()] {
        refused(pep3118::lend(view).map(|_| ()));
        refused(npy::write(&mut Vec::new(), view));
        for order in [Order::RowMajor, Order::ColumnMajor] {
            refused(
                SaveOptions::new()
                    .format(Format::Raw)
                    .order(order)
                    .write(&mut Vec::new(), &[("", view.clone())]),
            );
        }
        for policy in [CopyPolicy::Never, CopyPolicy::IfNeeded, CopyPolicy::Always] {
            let options = arrow::ExportOptions::new().copy(policy);
            refused(arrow::export(view, &options).map_err(Error::from));
            refused(arrow::export(view, &options.whole()).map_err(Error::from));
        }
        let object = memory_view::ArrayObject::new(view.clone());
        let mut lent = memory_view::View::default();
        // SAFETY: `object` is a live object of a class of this library, and `lent` is a writable
        // struct.
        refused(unsafe { memory_view::get(object.as_ptr(), &mut lent, memory_view::Flags::SIMPLE) });
        let pixels = DArray::from_buffer(view.buffer().unwrap().0, u8::dtype(), pixels.clone(), 0).unwrap();
        #[cfg(feature = "png")]
        refused(crossdock::exchange::files::png::write(&mut Vec::new(), &pixels));
        #[cfg(feature = "jpeg")]
        refused(crossdock::exchange::files::jpeg::write(&mut Vec::new(), &pixels));
        drop(pixels);
        #[cfg(feature = "npz")]
        {
            use crossdock::exchange::files::npz;
            let arrays = [("x", view.clone())];
            refused(npz::write(std::io::Cursor::new(Vec::new()), &arrays));
        }
        #[cfg(feature = "safetensors")]
        {
            use crossdock::exchange::files::safetensors;
            refused(safetensors::write(&mut Vec::new(), &[("x", view.clone())]));
        }
    }
    // A description of the memory does not access it.
    assert!(!array_interface::lend(&array).unwrap().is_readonly());
    assert!(!array_interface::cuda::is_for(array.place()));
    let lent = dlpack::export_legacy(&array, &dlpack::ExportOptions::new()).unwrap();
    assert_eq!(lent.managed().dl_tensor.data.cast_const().cast(), array.as_ptr());
    drop(lent);
    let prepared = dlpack::Prepared::of(&array).unwrap();
    // SAFETY: `prepared` was made from this array, and no thread accesses it.
    assert_eq!(unsafe { prepared.describe(&array) }.unwrap().device.device_type, 12);
    let column = arrow::export_device(&array, &arrow::ExportOptions::new()).unwrap();
    assert_eq!((column.array().device_type, column.copied_nbytes()), (12, 0));
    // SAFETY: `Synchronization::Host` contains no stream handle, so none can be invalid.
    unsafe { Synchronization::Host.order(&array, LeaseKind::Share) }.unwrap();
}

#[test]
fn the_ledger_lists_fenced_memory_without_looking_into_it() {
    ledger::switch_on();
    let (device, buffer) = fenced();
    let listed = ledger::live().into_iter().find(|entry| entry.address == buffer.as_ptr().addr()).unwrap();
    assert_eq!((listed.nbytes, listed.place), (96, device.place()));
    assert!(format!("{listed:?}").contains("ext_dev:0"));
    ledger::switch_off();
}

// ===== the lists above are whole

/// The public methods of `self` in the blocks of the sources that begin with one of these lines,
/// and in the macros in those blocks.
fn methods(folder: &str, headers: &[&str]) -> BTreeSet<String> {
    let (mut blocks, mut macros) = (Vec::new(), Vec::new());
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let mut lines = text.lines();
            while let Some(line) = lines.next() {
                let name = line.strip_prefix("macro_rules! ").and_then(|line| line.strip_suffix(" {"));
                if name.is_none() && !headers.contains(&line) {
                    continue;
                }
                let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "}").collect();
                let block = block.join("\n");
                match name {
                    Some(name) => macros.push((format!("\n    {name}! {{"), block)),
                    None => blocks.push(format!("\n{block}")),
                }
            }
        }
    }
    let used = macros.iter().filter(|(call, _)| blocks.iter().any(|block| block.contains(call)));
    let found = used.flat_map(|(_, block)| methods_in(block)).collect();
    blocks.iter().flat_map(|block| methods_in(block)).fold(found, |mut found: BTreeSet<String>, name| {
        found.insert(name);
        found
    })
}

fn methods_in(block: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in block.lines().filter_map(|line| line.trim_start().strip_prefix("pub ")) {
        // The whole signature, which may span several lines.
        let start = line.as_ptr().addr() - block.as_ptr().addr();
        let signature = block[start..].split('{').next().unwrap_or(line);
        let words = ["const ", "unsafe ", "fn "];
        let name = words.iter().fold(line, |line, word| line.strip_prefix(word).unwrap_or(line));
        let name = name.split(['(', '<']).next().unwrap_or(name);
        let arguments =
            signature.split_once('(').map_or("", |(_, arguments)| arguments).replace("$($by)? ", "");
        let arguments = arguments.trim_start();
        let receiver = arguments.split([',', ')']).next().unwrap_or(arguments).trim_end();
        if receiver.ends_with("self") || receiver.ends_with("$this") {
            found.push(name.to_owned());
        }
    }
    found
}

#[track_caller]
fn assert_whole(listed: &[&str], found: BTreeSet<String>) {
    let listed: BTreeSet<String> = listed.iter().map(|&name| name.to_owned()).collect();
    let missing: Vec<_> = found.difference(&listed).collect();
    assert!(missing.is_empty(), "call these on fenced memory, too, and list them: {missing:?}");
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(gone.is_empty(), "there are no such methods: {gone:?}");
}

#[test]
fn no_public_method_is_left_out() {
    assert_whole(BUFFER, methods("", &["impl Buffer {"]));
    assert_whole(DARRAY, methods("array", &["impl DArray {"]));
    assert_whole(ARRAY, methods("array", &["impl<T: Element, const D: usize> Array<T, D> {"]));
}
