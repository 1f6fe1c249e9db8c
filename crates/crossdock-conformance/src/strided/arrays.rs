//! Operations on arrays in device memory, and the places of their results.

use std::sync::Arc;

use crossdock::array::{ArrayOptions, CopyPolicy};
use crossdock::buffer::Buffer;
use crossdock::device::{self, Device, MemoryManager, Moved, Stream};
use crossdock::element::{ByteOrder, DType, Element as _};
use crossdock::layout::Order;
use crossdock::memory::{Place, copied_bytes_here};
use crossdock::view::{Reason, Request};
use crossdock::{Array, Casting, DArray, s};

use crate::Subject;

fn host() -> Arc<dyn MemoryManager> {
    device::memory(Place::CPU).unwrap()
}

/// 0, 1, 2, … in rows.
fn rows(shape: &[usize]) -> DArray {
    let numbers: Vec<i32> = (0..shape.iter().product::<usize>() as i32).collect();
    let len = numbers.len();
    DArray::from(Array::from_vec(numbers, [len]).unwrap()).reshape(shape).unwrap()
}

fn there(device: &dyn Device, shape: &[usize]) -> DArray {
    rows(shape).copy_to(&device.memory()).unwrap()
}

/// Whether the device enqueues strided work in such a stream, or synchronises it.
fn enqueues(subject: &Subject, stream: &dyn Stream) -> bool {
    subject.memory.clone().engine().unwrap().unwrap().can_enqueue(stream)
}

#[track_caller]
fn assert_equal(device: &DArray, wanted: &DArray) {
    let here = device.copy_to(&host()).unwrap();
    assert!(here.equals(wanted).unwrap(), "{here} is not {wanted}");
}

pub fn what_is_made_of_an_array_stays_where_the_array_is(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let (here, array) = (rows(&[6, 10]), there(&**device, &[6, 10]));
    let view = |array: &DArray| array.slice(s![1..;2, ..;-3]).unwrap();
    let (here, array) = (view(&here), view(&array));
    let before = copied_bytes_here();
    let made = [
        (array.to_order(Order::ColumnMajor), here.to_order(Order::ColumnMajor)),
        (
            array.cast(&DType::F64, Order::RowMajor, Casting::Checked),
            here.cast(&DType::F64, Order::RowMajor, Casting::Checked),
        ),
        (array.to_byte_order(ByteOrder::Big), here.to_byte_order(ByteOrder::Big)),
        (
            array.reshape_with(&[array.len()], Order::RowMajor, CopyPolicy::IfNeeded),
            here.reshape_with(&[here.len()], Order::RowMajor, CopyPolicy::IfNeeded),
        ),
        (
            array.reshape_with(&[4, 3], Order::ColumnMajor, CopyPolicy::IfNeeded),
            here.reshape_with(&[4, 3], Order::ColumnMajor, CopyPolicy::IfNeeded),
        ),
    ];
    let counted = copied_bytes_here() - before;
    let mut nbytes = 0;
    for (array, wanted) in made {
        let (array, wanted) = (array.unwrap(), wanted.unwrap());
        assert_eq!(
            (array.place(), array.dtype(), array.strides()),
            (device.place(), wanted.dtype(), wanted.strides())
        );
        nbytes += 2 * wanted.nbytes();
        assert_equal(&array, &wanted);
    }
    assert_eq!(counted as usize, nbytes, "what both sides copied, and nothing else");
    // The CPU cannot access the elements.
    assert!(array.to_shared(Order::RowMajor).unwrap_err().is_place());
    assert!(array.equals(&array).unwrap_err().is_place());
}

pub fn new_arrays_are_made_by_the_device(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let options = ArrayOptions::from(device.place()).order(Order::ColumnMajor);
    let before = copied_bytes_here();
    let zeros = DArray::zeros(DType::F32, &[30, 7], options).unwrap();
    let sevens = DArray::full(DType::I16, &[30, 7], 7, options).unwrap();
    let typed = Array::<f64, 2>::full(([5, 3], options), 0.1).unwrap();
    let records = DType::packed_record([("a", DType::U8), ("b", DType::F64)]).unwrap();
    let many = DArray::zeros(records, &[100], device.place()).unwrap();
    let none = DArray::full(DType::U8, &[0], 7, options).unwrap();
    assert_eq!(copied_bytes_here(), before, "nothing was copied");
    for array in [&zeros, &sevens, &typed.clone().into(), &many, &none] {
        assert_eq!(array.place(), device.place());
    }
    assert_equal(&zeros, &DArray::zeros(DType::F32, &[30, 7], Order::RowMajor).unwrap());
    assert_equal(&sevens, &DArray::full(DType::I16, &[30, 7], 7, Order::RowMajor).unwrap());
    assert_eq!(typed.get([4, 2]).unwrap(), 0.1);
    typed.slice(s![1..;2, 1]).unwrap().fill(2.5).unwrap();
    let wanted = [0.1, 0.1, 0.1, 0.1, 2.5, 0.1, 0.1, 0.1, 0.1, 0.1, 2.5, 0.1, 0.1, 0.1, 0.1];
    assert_equal(&typed.into(), &Array::from_vec(wanted.to_vec(), [5, 3]).unwrap().into());
    assert_eq!(many.get(&[99]).unwrap().to_string(), "(0, 0.0)");
}

pub fn elements_are_assigned_between_places_whatever_the_strides(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let strided = |array: &DArray| array.slice(s![..;2, 1..;3]).unwrap();
    let crossed =
        |array: &DArray| array.transpose().unwrap().slice(s![1..;3, ..;2]).unwrap().transpose().unwrap();
    for (of_target, of_source) in [(true, true), (true, false), (false, true), (false, false)] {
        let pick =
            |array: &DArray, is_strided: bool| if is_strided { strided(array) } else { crossed(array) };
        for dtype in [DType::I32, DType::F64] {
            let wanted = DArray::full(dtype.clone(), &[8, 9], 5, Order::RowMajor).unwrap();
            pick(&wanted, of_target).assign(&pick(&rows(&[8, 9]), of_source), Casting::Checked).unwrap();
            // To the device, and from the device.
            let target = DArray::full(dtype.clone(), &[8, 9], 5, device.place()).unwrap();
            pick(&target, of_target).assign(&pick(&rows(&[8, 9]), of_source), Casting::Checked).unwrap();
            assert_equal(&target, &wanted);
            let target = DArray::full(dtype.clone(), &[8, 9], 5, Order::RowMajor).unwrap();
            pick(&target, of_target)
                .assign(&pick(&there(&**device, &[8, 9]), of_source), Casting::Checked)
                .unwrap();
            assert_equal(&target, &wanted);
        }
    }
    // Contiguous in the same order at source and destination: one copy.
    let (target, source) = (there(&**device, &[8, 9]), rows(&[8, 9]).to_order(Order::RowMajor).unwrap());
    let before = copied_bytes_here();
    target.assign(&source, Casting::Checked).unwrap();
    assert_eq!(copied_bytes_here() - before, 8 * 9 * 4);
    let error = target.clone().into_readonly().assign(&source, Casting::Checked).unwrap_err();
    assert!(error.is_read_only(), "{error}");
    let error = target.assign(&rows(&[7, 9]), Casting::Checked).unwrap_err();
    assert!(error.is_shape(), "{error}");
    // Within one memory, the result is as if the source were copied first.
    target.slice(s![1.., ..]).unwrap().assign(&target.slice(s![..7, ..]).unwrap(), Casting::Checked).unwrap();
    let wanted = rows(&[8, 9]);
    wanted
        .slice(s![1.., ..])
        .unwrap()
        .assign(&rows(&[8, 9]).slice(s![..7, ..]).unwrap(), Casting::Checked)
        .unwrap();
    assert_equal(&target, &wanted);
}

pub fn arrays_come_to_a_device_and_back_without_their_gaps(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let memory = device.memory();
    let here = rows(&[6, 10]);
    let crossed = here.transpose().unwrap();
    let kept = crossed.copy_to(&memory).unwrap();
    assert_eq!((kept.place(), kept.strides()), (device.place(), crossed.strides()), "it has an order");
    let part = |array: &DArray| array.slice(s![..;-2, 1..4]).unwrap();
    for array in
        [part(&here).copy_to(&memory).unwrap(), part(&there(&**device, &[6, 10])).copy_to(&memory).unwrap()]
    {
        assert_eq!((array.place(), array.strides()), (device.place(), &[12, 4][..]));
        assert_equal(&array, &part(&here));
    }
    let before = copied_bytes_here();
    let back = part(&there(&**device, &[6, 10])).copy_to(&host()).unwrap();
    assert_eq!((back.strides(), copied_bytes_here() - before), (&[12, 4][..], 240 + 2 * 36));
    assert!(back.equals(&part(&here)).unwrap());
    let typed: Array<i32, 2> = part(&here).try_into().unwrap();
    assert_eq!(typed.copy_to(&memory).unwrap().get([2, 2]).unwrap(), 13);
}

pub fn work_in_a_stream_gives_its_event_and_comes_in_order(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let Some(stream) = device.stream().unwrap() else { return };
    let here = rows(&[40, 50]).slice(s![..;2, ..;-5]).unwrap();
    let first = there(&**device, &[40, 50]).slice(s![..;2, ..;-5]).unwrap();
    let second = first.copy_to_in(&device.memory(), &*stream).unwrap();
    assert_eq!(second.moved, Moved::Copied { nbytes: here.nbytes() });
    assert_eq!((second.event.is_some(), second.array.place()), (enqueues(subject, &*stream), device.place()));
    let third =
        second.array.transpose().unwrap().slice(s![1.., ..]).unwrap().copy_to_in(&host(), &*stream).unwrap();
    let wanted = here.transpose().unwrap().slice(s![1.., ..]).unwrap();
    // A lease for the CPU waits for in-flight work.
    assert!(third.array.equals(&wanted).unwrap());
    stream.synchronize().unwrap();
    let typed: Array<i32, 2> = first.try_into().unwrap();
    let placed = typed.copy_to_in(&device.memory(), &*stream).unwrap();
    placed.event.map_or(Ok(()), |event| event.wait()).unwrap();
    assert_equal(&placed.array.into(), &here);
}

pub fn elements_are_assigned_in_a_stream_behind_what_is_in_it(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let Some(stream) = device.stream().unwrap() else { return };
    let (target, wanted) = (there(&**device, &[30, 20]), rows(&[30, 20]));
    let turned = |array: &DArray| array.reshape(&[20, 30]).unwrap().transpose().unwrap();
    // Each reads what the previous one writes, or writes what it reads.
    let scratch = DArray::zeros(DType::F64, &[30, 20], device.place()).unwrap();
    let beside = DArray::zeros(DType::F64, &[30, 20], Order::RowMajor).unwrap();
    for _ in 0..3 {
        let enqueued = scratch.assign_in(&turned(&target), Casting::Saturating, &*stream).unwrap();
        assert_eq!(enqueued.is_some(), enqueues(subject, &*stream));
        let enqueued = target.assign_in(&scratch, Casting::Saturating, &*stream).unwrap();
        assert_eq!(enqueued.is_some(), enqueues(subject, &*stream));
        beside.assign(&turned(&wanted), Casting::Checked).unwrap();
        wanted.assign(&beside, Casting::Checked).unwrap();
    }
    assert_equal(&target, &wanted);
    // Work that no device does by itself is complete when the call returns, after the earlier work.
    let row = rows(&[30, 20]);
    let event = target.assign_in(&row, Casting::Checked, &*stream).unwrap();
    assert!(event.is_none_or(|event| event.is_done()));
    assert_equal(&target, &row);
    let (upper, lower) = (target.slice(s![..29, ..]).unwrap(), target.slice(s![1.., ..]).unwrap());
    assert!(upper.assign_in(&lower, Casting::Checked, &*stream).unwrap().is_none());
    row.slice(s![..29, ..]).unwrap().assign(&row.slice(s![1.., ..]).unwrap(), Casting::Checked).unwrap();
    assert_equal(&target, &row);
    let narrow = DArray::zeros(DType::U8, &[30, 20], device.place()).unwrap();
    let error = narrow.assign_in(&target, Casting::Checked, &*stream).unwrap_err();
    assert!(error.is_value() && error.to_string().contains("element [11, 16]"), "{error}");
}

pub fn a_request_that_names_a_place_is_given_it_where_a_copy_is_permitted(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let (here, array) = (rows(&[6, 10]), there(&**device, &[6, 10]));
    let never = Request::pin().place(Place::CPU);
    let refusal = array.export(&never).unwrap_err();
    assert!(matches!(refusal.reason(), Reason::Place(Place::CPU)), "{refusal}");
    assert_eq!(refusal.would_copy(), Some(240));
    for policy in [CopyPolicy::IfNeeded, CopyPolicy::Always] {
        let view = array.export(&never.clone().copy(policy)).unwrap();
        assert_eq!((view.place(), view.to_bytes().unwrap().len()), (Place::CPU, 240));
        let copied = view.grant().copied_nbytes();
        assert!(copied == 240 || (copied == 0 && policy == CopyPolicy::IfNeeded), "{copied}");
        let read = array.export(&Request::read().place(Place::CPU).copy(policy)).unwrap();
        assert_eq!(read.grant().copied_nbytes(), 240, "others may write what is mapped");
        let columns = Request::pin().place(Place::CPU).order(Order::ColumnMajor).dtype(DType::F64);
        let view = array.export(&columns.copy(policy)).unwrap();
        let wanted = here.cast(&DType::F64, Order::ColumnMajor, Casting::Checked).unwrap();
        assert_eq!(
            (view.strides(), view.to_bytes().unwrap()),
            (wanted.strides(), {
                let rows = wanted.to_order(Order::RowMajor).unwrap();
                rows.buffer().unwrap().0.read().unwrap().to_vec()
            })
        );
    }
    // A view is of memory that the CPU can access.
    let before = copied_bytes_here();
    for source in [&here, &array] {
        let request = Request::pin().place(device.place()).copy(CopyPolicy::IfNeeded);
        assert_eq!(source.export(&request).unwrap_err().would_copy(), None);
    }
    assert_eq!(copied_bytes_here(), before);
    // A request without a place needs memory that the CPU can access. `IfNeeded` alone does not
    // permit a copy from a device for that.
    assert!(array.export(&Request::pin().copy(CopyPolicy::IfNeeded)).is_err());
}

pub fn memory_that_is_mapped_has_the_same_elements(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let array = there(&**device, &[6, 10]).slice(s![.., 2..;3]).unwrap();
    let wanted = rows(&[6, 10]).slice(s![.., 2..;3]).unwrap();
    let placed = array.map_or_copy_to(&host()).unwrap();
    assert!(placed.array.equals(&wanted).unwrap());
    match array.map_to(&host()).unwrap() {
        None => assert_eq!(placed.moved, Moved::Copied { nbytes: wanted.nbytes() }),
        Some(mapped) => {
            assert_eq!((placed.moved, mapped.strides()), (Moved::Mapped, array.strides()));
            mapped.set(&[0, 0], &7.into()).unwrap();
            assert_eq!(placed.array.get(&[0, 0]).unwrap().as_i64(), Some(7));
        }
    }
}

pub fn others_are_kept_off_while_a_device_works(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let array = there(&**device, &[6, 10]);
    let (buffer, _) = array.buffer().unwrap();
    let lease = buffer.device_lease(crossdock::memory::LeaseKind::Read).unwrap();
    assert!(array.fill(&1.into()).unwrap_err().is_conflict());
    assert!(array.to_order(Order::ColumnMajor).is_ok(), "readers stand beside each other");
    drop(lease);
    let lease = buffer.device_lease(crossdock::memory::LeaseKind::Write).unwrap();
    assert!(array.to_order(Order::ColumnMajor).unwrap_err().is_conflict());
    drop(lease);
    array.fill(&1.into()).unwrap();
    assert_equal(&array, &DArray::full(i32::dtype(), &[6, 10], 1, Order::RowMajor).unwrap());
    assert!(array.fill(&"one".into()).unwrap_err().is_value());
    assert!(Buffer::on(&device.memory(), 0).is_ok());
}
