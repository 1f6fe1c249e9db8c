//! Exports: requests, grants, and refusals, as data and as text.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use crossdock::buffer::Buffer;
use crossdock::element::{DType, Value};
use crossdock::layout::Order;
use crossdock::memory::copied_bytes_here;
use crossdock::memory::{Birth, DeviceKind, LeaseKind, Place};
use crossdock::view::{CopyPolicy, MemoryView, Offer, Producer, Reason, Refusal, Request};
use crossdock::{Array, Casting, DArray, Error, s};

const KINDS: [LeaseKind; 4] = [LeaseKind::Read, LeaseKind::Write, LeaseKind::Share, LeaseKind::Pin];
const POLICIES: [CopyPolicy; 3] = [CopyPolicy::Never, CopyPolicy::IfNeeded, CopyPolicy::Always];

fn request(kind: LeaseKind) -> Request {
    match kind {
        LeaseKind::Read => Request::read(),
        LeaseKind::Write => Request::write(),
        LeaseKind::Share => Request::share(),
        LeaseKind::Pin => Request::pin(),
    }
}

#[track_caller]
fn assert_says(text: impl ToString, words: &[&str]) {
    let text = text.to_string();
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
}

/// Six numbers in two rows.
fn rows() -> DArray {
    Array::from_vec(vec![1i32, 2, 3, 4, 5, 6], [2, 3]).unwrap().into()
}

/// The same numbers as [`rows`], in memory of another birth or in another order.
fn born(birth: Birth, readonly: bool, order: Order) -> DArray {
    let array = match birth {
        Birth::Sole => rows().to_order(order).unwrap(),
        Birth::Aliased => rows().to_shared(order).unwrap(),
        Birth::Constant => {
            static ROWS: [i32; 6] = [1, 2, 3, 4, 5, 6];
            static COLUMNS: [i32; 6] = [1, 4, 2, 5, 3, 6];
            match order {
                Order::RowMajor => Array::from_static(&ROWS, [2, 3]).unwrap().into(),
                Order::ColumnMajor => {
                    DArray::from(Array::from_static(&COLUMNS, [3, 2]).unwrap()).transpose().unwrap()
                }
            }
        }
    };
    if readonly { array.into_readonly() } else { array }
}

#[derive(Debug, PartialEq)]
enum Expected {
    InPlace,
    Copied,
    /// A copy was requested; nothing else was in the way.
    CopiedOnRequest,
    Refused,
}

/// The whole table by an independent rule: what prevents a zero-copy export, in the order in which
/// it is found.
fn obstacle(kind: LeaseKind, birth: Birth, readonly: bool, order: bool, dtype: bool) -> Option<&'static str> {
    let writes = matches!(kind, LeaseKind::Write | LeaseKind::Share);
    if dtype {
        Some("dtype")
    } else if order {
        Some("order")
    } else if writes && (readonly || birth == Birth::Constant) {
        Some("read-only")
    } else if birth == Birth::Aliased && matches!(kind, LeaseKind::Read | LeaseKind::Write) {
        Some("aliased")
    } else {
        None
    }
}

#[test]
fn every_request_is_met_in_place_or_by_a_copy_or_refused_with_the_reason() {
    let (mut in_place, mut copies, mut refusals) = (0, 0, 0);
    for kind in KINDS {
        for birth in [Birth::Sole, Birth::Constant, Birth::Aliased] {
            for readonly in [false, true] {
                for (lies, wanted) in [
                    (Order::RowMajor, None),
                    (Order::RowMajor, Some(Order::RowMajor)),
                    (Order::RowMajor, Some(Order::ColumnMajor)),
                    (Order::ColumnMajor, Some(Order::ColumnMajor)),
                    (Order::ColumnMajor, Some(Order::RowMajor)),
                ] {
                    for dtype in [None, Some(DType::I32), Some(DType::F64)] {
                        for policy in POLICIES {
                            let array = born(birth, readonly, lies);
                            let mut request = request(kind).copy(policy);
                            if let Some(order) = wanted {
                                request = request.order(order);
                            }
                            if let Some(dtype) = &dtype {
                                request = request.dtype(dtype.clone());
                            }
                            let other_order = wanted.is_some_and(|order| order != lies);
                            let other_dtype = dtype == Some(DType::F64);
                            let obstacle = obstacle(kind, birth, readonly, other_order, other_dtype);
                            match check(&array, &request, obstacle) {
                                Expected::InPlace => in_place += 1,
                                Expected::Copied | Expected::CopiedOnRequest => copies += 1,
                                Expected::Refused => refusals += 1,
                            }
                        }
                    }
                }
            }
        }
    }
    println!("{in_place} in place, {copies} copied, {refusals} refused");
    assert_eq!(in_place + copies + refusals, 4 * 3 * 2 * 5 * 3 * 3);
    assert!(in_place > 150 && copies > 500 && refusals > 200);
}

fn check(array: &DArray, request: &Request, obstacle: Option<&str>) -> Expected {
    let context = format!("{request:?} of {array:?} born {:?}", array.birth());
    let expected = match (request.copy_policy(), obstacle) {
        (CopyPolicy::Always, _) => Expected::CopiedOnRequest,
        (_, None) => Expected::InPlace,
        (CopyPolicy::IfNeeded, Some(_)) => Expected::Copied,
        (CopyPolicy::Never, Some(_)) => Expected::Refused,
    };
    let dtype = request.wanted_dtype().unwrap_or(&DType::I32);
    let needed = 6 * dtype.itemsize();
    let before = copied_bytes_here();
    match crossdock::view(array, request.clone()) {
        Ok(mut view) => {
            let copied = copied_bytes_here() - before;
            assert_ne!(expected, Expected::Refused, "{context}");
            let in_place = expected == Expected::InPlace;
            assert_eq!(copied, if in_place { 0 } else { needed as u64 }, "{context}");
            assert_eq!(view.grant().copied_nbytes() as u64, copied, "{context}");
            assert_eq!(view.as_ptr() == array.as_ptr(), in_place, "{context}");
            assert_eq!(view.grant().lease(), request.lease(), "{context}");
            let because = view.grant().copied_because();
            assert_eq!(because.is_some(), expected == Expected::Copied, "{context}");
            if let (Some(refusal), Some(obstacle)) = (because, obstacle) {
                check_refusal(refusal, request, obstacle, needed, &context);
            }
            check_fulfilled(&mut view, request, &context);
        }
        Err(refusal) => {
            assert_eq!(expected, Expected::Refused, "{context}: {refusal}");
            assert_eq!(copied_bytes_here(), before, "{context}");
            check_refusal(&refusal, request, obstacle.unwrap_or("nothing"), needed, &context);
            // The stated reason for a copy is true.
            let view = crossdock::view(array, request.clone().copy(CopyPolicy::IfNeeded)).expect(&context);
            assert_eq!(view.grant().copied_nbytes(), needed, "{context}");
        }
    }
    expected
}

fn check_fulfilled(view: &mut MemoryView, request: &Request, context: &str) {
    assert_eq!(view.shape(), [2, 3], "{context}");
    assert!(request.wanted_order().is_none_or(|order| view.layout().is_contiguous(order)), "{context}");
    assert!(request.wanted_dtype().is_none_or(|dtype| dtype == view.dtype()), "{context}");
    let writes = matches!(request.lease(), LeaseKind::Write | LeaseKind::Share);
    assert_eq!(view.is_readonly(), !writes, "{context}");
    for (index, number) in [([0, 0], 1.0), ([0, 2], 3.0), ([1, 0], 4.0), ([1, 2], 6.0)] {
        assert_eq!(view.get(&index).expect(context).as_f64(), Some(number), "{context}");
    }
    let set = view.set(&[1, 1], &Value::from(7));
    assert_eq!(set.is_ok(), writes, "{context}");
    assert!(set.is_ok() || set.unwrap_err().is_read_only(), "{context}");
    if view.dtype() == &DType::I32 {
        let constant = matches!(request.lease(), LeaseKind::Read | LeaseKind::Write);
        assert_eq!(view.as_view::<i32, 2>().is_ok(), constant, "{context}");
        let rows = view.layout().is_contiguous(Order::RowMajor);
        assert_eq!(view.as_slice::<i32>().is_ok(), constant && rows, "{context}");
        assert_eq!(view.as_view_mut::<i32, 2>().is_ok(), request.lease() == LeaseKind::Write, "{context}");
    } else {
        assert!(view.as_view::<i32, 2>().is_err(), "{context}");
    }
}

fn check_refusal(refusal: &Refusal, request: &Request, obstacle: &str, would_copy: usize, context: &str) {
    assert_eq!(refusal.would_copy(), Some(would_copy), "{context}: {refusal}");
    let asked = refusal.asked().expect(context);
    assert_eq!(asked.lease(), request.lease(), "{context}");
    assert_eq!(asked.wanted_order(), request.wanted_order(), "{context}");
    let offer = refusal.offer().expect(context);
    assert_eq!((&offer.dtype, &offer.shape[..]), (&DType::I32, &[2, 3][..]), "{context}");
    assert_says(refusal, &["int32", "[2, 3]", &format!("a copy of {would_copy} bytes would do")]);
    match (obstacle, refusal.reason()) {
        ("dtype", Reason::DType(dtype)) => {
            assert_eq!(dtype, &DType::F64, "{context}");
            assert_says(refusal, &["are not float64"]);
        }
        ("order", Reason::Order(order)) => {
            assert_eq!(Some(*order), request.wanted_order(), "{context}");
            let name = if *order == Order::RowMajor { "row-major" } else { "column-major" };
            assert_says(refusal, &[name]);
        }
        ("read-only", Reason::Lease(error)) => {
            assert!(error.is_read_only(), "{context}");
            assert_says(refusal, &["read-only"]);
        }
        ("aliased", Reason::Lease(error)) => {
            assert!(error.is_conflict(), "{context}");
            assert_says(refusal, &["another owner"]);
        }
        (_, reason) => panic!("{context}: {obstacle} is refused as {reason:?}"),
    }
    let error = Error::from(rebuild(refusal));
    assert!(error.is_refused(), "{context}");
}

/// A refusal as a producer would build it.
fn rebuild(refusal: &Refusal) -> Refusal {
    let reason = Reason::Unsupported(refusal.to_string().into());
    Refusal::new(refusal.asked().unwrap(), reason).with_offer(refusal.offer().unwrap().clone())
}

// ===== conflicts

#[test]
fn a_lease_that_somebody_holds_is_named_and_a_copy_helps_unless_it_is_being_written() {
    let array = rows();
    let sharing = array.export(&Request::share()).unwrap();
    let refusal = crossdock::view(&array, Request::read()).unwrap_err();
    assert_says(&refusal, &["a read lease was refused", "1 share lease", "MemoryView", "24 bytes would do"]);
    let copy = crossdock::view(&array, Request::read().copy(CopyPolicy::IfNeeded)).unwrap();
    assert_eq!(copy.as_slice::<i32>().unwrap(), [1, 2, 3, 4, 5, 6]);
    drop((sharing, copy));

    let writing = array.export(&Request::write()).unwrap();
    for kind in KINDS {
        for policy in [CopyPolicy::Never, CopyPolicy::IfNeeded] {
            let refusal = crossdock::view(&array, request(kind).copy(policy)).unwrap_err();
            assert!(matches!(refusal.reason(), Reason::Lease(_)), "{refusal:?}");
            assert_says(&refusal, &[&format!("a {kind} lease was refused"), "1 write lease"]);
            assert_eq!(
                refusal.would_copy(),
                None,
                "elements that are being written cannot be read: {refusal}"
            );
        }
        let refusal = crossdock::view(&array, request(kind).copy(CopyPolicy::Always)).unwrap_err();
        assert!(matches!(refusal.reason(), Reason::Failed(_)), "{refusal:?}");
    }
    drop(writing);
    assert!(crossdock::view(&array, Request::write()).is_ok());
}

#[test]
fn no_copy_is_promised_where_no_more_holders_can_be_counted() {
    let array = Array::from_vec(vec![7u8], []).unwrap();
    let mut pins = Vec::new();
    let full = loop {
        match array.pin() {
            Ok(pin) => pins.push(pin),
            Err(error) => break error,
        }
    };
    assert_says(&full, &[&pins.len().to_string(), "the most that can be counted"]);
    let refusal = crossdock::view(&array, Request::pin().copy(CopyPolicy::IfNeeded)).unwrap_err();
    assert!(matches!(refusal.reason(), Reason::Lease(_)), "{refusal:?}");
    assert_eq!(refusal.would_copy(), None, "{refusal}");
    pins.pop();
    assert!(crossdock::view(&array, Request::pin()).is_ok());
}

#[test]
fn elements_that_overlap_are_not_lent_for_writing() {
    let array = rows().slice(s![0, ..]).unwrap().broadcast_to(&[4, 3]).unwrap();
    let refusal = crossdock::view(&array, Request::write()).unwrap_err();
    assert!(matches!(refusal.reason(), Reason::Layout(_)), "{refusal:?}");
    assert_says(&refusal, &["[4, 3]", "[0, 4]", "overlap", "48 bytes"]);
    let mut view = crossdock::view(&array, Request::write().copy(CopyPolicy::IfNeeded)).unwrap();
    view.as_view_mut::<i32, 2>().unwrap()[[3, 2]] = 9;
    assert_eq!(view.to_bytes().unwrap()[..4], 1i32.to_ne_bytes());
    assert_eq!(array.get(&[3, 2]).unwrap().as_i64(), Some(3));
    assert!(crossdock::view(&array, Request::share()).is_ok());
}

fn on_device() -> DArray {
    let place = Place::new(DeviceKind::CUDA, 0);
    let nowhere = std::ptr::without_provenance_mut(0x1000);
    // SAFETY: the place is a CUDA device, so the CPU never accesses the address, and the release
    // does nothing.
    let buffer = unsafe { Buffer::from_foreign(nowhere, 64, place, Birth::Sole, || {}) }.unwrap();
    Array::<f32, 1>::from_buffer(buffer, [16]).unwrap().into()
}

#[test]
fn memory_on_another_device_is_refused_and_no_copy_is_promised_or_made() {
    let device = Place::new(DeviceKind::CUDA, 0);
    let before = copied_bytes_here();
    for policy in POLICIES {
        for request in KINDS.map(|kind| request(kind).copy(policy)) {
            for (array, request, wanted) in [
                (on_device(), request.clone(), Place::CPU),
                (on_device(), request.clone().place(Place::CPU), Place::CPU),
                (rows(), request.clone().place(device), device),
                (rows(), request.clone().place(device).dtype(DType::F64), device),
            ] {
                let refusal = crossdock::view(&array, request).unwrap_err();
                assert_eq!(refusal.would_copy(), None, "{refusal}");
                match refusal.reason() {
                    Reason::Place(place) => assert_eq!(*place, wanted),
                    Reason::DType(_) => assert_ne!(policy, CopyPolicy::Always),
                    reason => panic!("{reason:?}"),
                }
            }
        }
    }
    let refusal = crossdock::view(&on_device(), Request::pin().place(device)).unwrap_err();
    assert!(matches!(refusal.reason(), Reason::Unsupported(_)), "{refusal:?}");
    assert_says(&refusal, &["cuda:0", "copy it to the CPU"]);
    assert_eq!(copied_bytes_here(), before);
}

#[test]
fn pinned_host_memory_is_copied_to_ordinary_memory_where_that_was_asked_for() {
    static BYTES: [u8; 8] = [5; 8];
    let place = Place::new(DeviceKind::CUDA_HOST, 0);
    let ptr = BYTES.as_ptr().cast_mut();
    // SAFETY: `BYTES` is a static of 8 bytes, which lives as long as the program and is never
    // written.
    let buffer = unsafe { Buffer::from_foreign(ptr, 8, place, Birth::Constant, || {}) }.unwrap();
    let array = Array::<u8, 1>::from_buffer(buffer, [8]).unwrap();
    assert_eq!(crossdock::view(&array, Request::read()).unwrap().place(), place);
    let request = Request::read().place(Place::CPU);
    let refusal = crossdock::view(&array, request.clone()).unwrap_err();
    assert!(matches!(refusal.reason(), Reason::Place(Place::CPU)), "{refusal:?}");
    assert_eq!(refusal.would_copy(), Some(8));
    let view = crossdock::view(&array, request.copy(CopyPolicy::IfNeeded)).unwrap();
    assert_eq!((view.place(), view.as_slice::<u8>().unwrap()), (Place::CPU, &[5u8; 8][..]));
}

#[test]
fn a_copy_that_fails_says_why_and_leaves_nothing() {
    let array = rows();
    array.set(&[1, 0], &Value::from(-4)).unwrap();
    let request = Request::read().dtype(DType::U8).copy(CopyPolicy::IfNeeded);
    let before = copied_bytes_here();
    let refusal = crossdock::view(&array, request).unwrap_err();
    assert!(matches!(refusal.reason(), Reason::Failed(error) if error.is_value()), "{refusal:?}");
    assert_says(&refusal, &["-4", "[1, 0]", "uint8"]);
    assert_eq!((refusal.would_copy(), copied_bytes_here()), (None, before));
    assert!(array.export(&Request::write()).is_ok(), "no lease was left");
}

// ===== producers that are not arrays

/// A producer that returns what a function makes of a request.
struct Makes<F>(F);

impl<F: Fn(&Request) -> Result<MemoryView, Refusal>> Producer for Makes<F> {
    fn export(&self, request: &Request) -> Result<MemoryView, Refusal> {
        (self.0)(request)
    }
}

#[test]
fn what_a_producer_gives_is_held_against_the_request() {
    let lies = |request: Request, given: Request| {
        crossdock::view(&Makes(move |_: &Request| rows().export(&given)), request).unwrap_err()
    };
    let refusal = lies(Request::read(), Request::pin());
    assert!(matches!(refusal.reason(), Reason::Unsupported(_)), "{refusal:?}");
    assert_says(&refusal, &["a read lease was requested", "granted a pin lease"]);
    assert_eq!(refusal.would_copy(), None);
    let refusal = lies(Request::pin().order(Order::ColumnMajor), Request::pin());
    assert!(matches!(refusal.reason(), Reason::Order(Order::ColumnMajor)), "{refusal:?}");
    let refusal = lies(Request::pin().dtype(DType::F64), Request::pin());
    assert!(matches!(refusal.reason(), Reason::DType(wanted) if *wanted == DType::F64), "{refusal:?}");
    assert_eq!(refusal.offer().unwrap().dtype, DType::I32);
    let refusal = lies(Request::read(), Request::read().copy(CopyPolicy::Always));
    assert!(matches!(refusal.reason(), Reason::Unsupported(_)), "{refusal:?}");
    assert_says(&refusal, &["no copy was permitted", "24 bytes"]);
    let refusal = lies(Request::read().place(Place::new(DeviceKind::CUDA, 3)), Request::read());
    assert_says(&refusal, &["cuda:3"]);
    // A view that was lent by mistake is released.
    let array = rows();
    let other = array.clone();
    let wrong = Makes(move |_: &Request| other.export(&Request::pin()));
    assert!(crossdock::view(&wrong, Request::write()).is_err());
    assert!(array.export(&Request::write()).is_ok());
}

#[test]
fn a_producer_that_fails_half_way_is_told_what_it_was_asked() {
    let short =
        Makes(|request: &Request| Array::from_owner(Arc::new(vec![0u8; 10]), [4, 4])?.export(request));
    let request = Request::read().order(Order::ColumnMajor).dtype(DType::U8);
    // By itself it does not know the request.
    assert!(short.export(&request).unwrap_err().asked().is_none());
    let refusal = crossdock::view(&short, request).unwrap_err();
    let asked = refusal.asked().unwrap();
    assert_eq!((asked.lease(), asked.wanted_order()), (LeaseKind::Read, Some(Order::ColumnMajor)));
    assert!(matches!(refusal.reason(), Reason::Failed(error) if error.is_bounds()), "{refusal:?}");
    assert_says(&refusal, &["it failed", "0..16", "10 bytes"]);
    assert!(refusal.offer().is_none() && refusal.would_copy().is_none());
    let error = Error::from(refusal);
    assert!(error.is_refused());
    let source = std::error::Error::source(&error).unwrap().downcast_ref::<Refusal>().unwrap();
    assert!(std::error::Error::source(source).unwrap().is::<Error>());
}

#[test]
fn a_producer_may_refuse_with_an_offer_of_its_own() {
    let never = Makes(|request: &Request| {
        let reason = Reason::Unsupported("photographs are never written".into());
        Err(Refusal::new(request, reason).with_offer(Offer::from(&rows())))
    });
    let producer: &dyn Producer = &never;
    let refusal = crossdock::view(producer, Request::write()).unwrap_err();
    assert_says(&refusal, &["photographs are never written", "on offer is int32 of shape [2, 3]"]);
    assert_eq!(refusal.asked().unwrap().lease(), LeaseKind::Write);
}

// ===== views

#[test]
fn what_was_lent_to_be_read_does_not_become_writable() {
    for (kind, writable) in [
        (LeaseKind::Read, false),
        (LeaseKind::Pin, false),
        (LeaseKind::Share, true),
        (LeaseKind::Write, true),
    ] {
        let view = crossdock::view(&rows(), request(kind)).unwrap();
        let beside = view.to_array().unwrap();
        assert_eq!(beside.is_readonly(), !writable, "{kind:?}");
        drop(beside);
        let array = view.into_array().unwrap();
        assert_eq!(array.is_readonly(), !writable, "{kind:?}");
        assert_eq!(array.export(&Request::write()).is_ok(), writable, "{kind:?}");
        assert!(array.export(&Request::read()).is_ok(), "the lease was given back");
    }
}

#[test]
fn elements_by_reference_are_asked_for_by_their_own_type_rank_and_lease() {
    let view = crossdock::view(&rows(), Request::read()).unwrap();
    assert_eq!(view.as_view::<i32, 2>().unwrap()[[1, 2]], 6);
    let error = view.as_view::<f32, 2>().unwrap_err();
    assert!(error.is_dtype());
    assert_says(error, &["int32", "float32"]);
    let error = view.as_view::<i32, 3>().unwrap_err();
    assert!(error.is_shape());
    assert_says(error, &["rank 2", "3"]);
    let turned = crossdock::view(&rows().transpose().unwrap(), Request::read()).unwrap();
    let error = turned.as_slice::<i32>().unwrap_err();
    assert!(error.is_layout());
    assert_says(error, &["[3, 2]", "[4, 12]"]);
    let pinned = crossdock::view(&rows(), Request::pin()).unwrap();
    for error in [pinned.as_view::<i32, 2>().unwrap_err(), pinned.as_slice::<i32>().unwrap_err()] {
        assert!(error.is_conflict());
        assert_says(error, &["pin lease"]);
    }
    assert!(view.get(&[2, 0]).unwrap_err().is_bounds());

    let odd = Buffer::from_vec(vec![0u64; 4]).unwrap().slice(1..29).unwrap();
    let layout = crossdock::layout::Layout::contiguous(&[3], 8, Order::RowMajor).unwrap();
    let unaligned = DArray::from_buffer(odd, DType::U64, layout, 0).unwrap();
    let mut view = crossdock::view(&unaligned, Request::write()).unwrap();
    for error in [
        view.as_view::<u64, 1>().unwrap_err(),
        view.as_slice::<u64>().unwrap_err(),
        view.as_view_mut::<u64, 1>().unwrap_err(),
    ] {
        assert!(error.is_alignment());
        assert_says(error, &["8", "by value, or copy"]);
    }
    view.set(&[2], &Value::from(7)).unwrap();
    assert_eq!(view.get(&[2]).unwrap().as_u64(), Some(7));
}

#[test]
fn a_view_keeps_the_memory_when_the_producer_is_gone_and_releases_it_once_on_any_thread() {
    struct Told(Vec<u8>, Arc<AtomicUsize>);
    impl std::ops::Deref for Told {
        type Target = Vec<u8>;
        fn deref(&self) -> &Vec<u8> {
            &self.0
        }
    }
    impl Drop for Told {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let array = Array::from_owner(Told(vec![1, 2, 3], drops.clone()), [3]).unwrap();
    let views =
        [Request::read(), Request::read(), Request::pin()].map(|r| crossdock::view(&array, r).unwrap());
    drop(array);
    let start = Barrier::new(views.len());
    std::thread::scope(|scope| {
        for view in views {
            let start = &start;
            scope.spawn(move || {
                assert_eq!(view.get(&[2]).unwrap().as_u64(), Some(3));
                start.wait();
                drop(view);
            });
        }
    });
    assert_eq!(drops.load(Ordering::SeqCst), 1);
}

#[test]
fn a_write_view_excludes_all_others_until_it_is_dropped() {
    let array = rows();
    let mut view = crossdock::view(&array, Request::write()).unwrap();
    view.as_view_mut::<i32, 2>().unwrap().fill(8);
    assert!(array.get(&[0, 0]).unwrap_err().is_conflict());
    std::thread::spawn(move || drop(view)).join().unwrap();
    assert_eq!(array.get(&[0, 0]).unwrap().as_i64(), Some(8));
}

#[test]
fn every_copy_is_counted_once_and_what_is_no_copy_is_not() {
    let array = Array::from_vec(vec![1i32, 2, 3, 4, 5, 6], [2, 3]).unwrap();
    let dynamic = DArray::from(array.clone());
    let counted = |copy: &dyn Fn()| {
        let before = copied_bytes_here();
        copy();
        copied_bytes_here() - before
    };
    let copies: [(&str, &dyn Fn()); 9] = [
        ("of a guard", &|| drop(array.read().unwrap().to_vec())),
        ("of a view", &|| drop(array.write().unwrap().view().to_vec())),
        ("of a strided view", &|| drop(array.read().unwrap().view().transpose().to_vec())),
        ("under Share", &|| drop(array.share().unwrap().to_vec())),
        ("under Pin", &|| drop(array.pin().unwrap().to_vec())),
        ("typed", &|| drop(array.to_order(Order::ColumnMajor).unwrap())),
        ("in order", &|| drop(dynamic.to_order(Order::RowMajor).unwrap())),
        ("shared", &|| drop(dynamic.to_shared(Order::RowMajor).unwrap())),
        ("bytes", &|| drop(array.export(&Request::share()).unwrap().to_bytes().unwrap())),
    ];
    for (name, copy) in copies {
        assert_eq!(counted(copy), 24, "{name}");
    }
    assert_eq!(counted(&|| drop(dynamic.cast(&DType::F64, Order::RowMajor, Casting::Checked).unwrap())), 48);
    let nothing = counted(&|| {
        array.set([0, 0], array.get([0, 1]).unwrap()).unwrap();
        array.write().unwrap().view_mut().fill(3);
        assert_eq!(array.pin().unwrap().values().sum::<i32>(), 18);
        let view = array.slice(s![.., 1]).unwrap().export(&Request::read()).unwrap();
        let typed = Array::<i32, 1>::try_from(view).unwrap();
        assert_eq!(DArray::from(typed).reshape(&[2, 1]).unwrap().get(&[1, 0]).unwrap().as_i64(), Some(3));
        assert!(
            dynamic
                .cast(&DType::packed_record([("x", DType::I32)]).unwrap(), Order::RowMajor, Casting::Checked)
                .is_err()
        );
    });
    assert_eq!(nothing, 0);
}

// ===== the example

#[expect(dead_code, reason = "its main is not called here")]
#[path = "../../examples/padded_image.rs"]
mod padded_image;

#[test]
fn an_image_with_padded_rows_becomes_a_producer_in_ten_lines() {
    let source = include_str!("../../examples/padded_image.rs");
    let begin = source.find("impl Producer for Photo").unwrap();
    let end = begin + source[begin..].find("\n}\n").unwrap();
    let lines = source[begin..end + 2].lines().count();
    assert!(lines <= 10, "{lines} lines");

    let (height, width, pitch) = (3, 2, 8);
    let pixels = Arc::new((0..22).collect::<Vec<u8>>());
    let photo = padded_image::Photo { pixels: pixels.clone(), height, width, pitch };
    let before = copied_bytes_here();
    let view = crossdock::view(&photo, Request::read()).unwrap();
    assert_eq!((view.as_ptr(), copied_bytes_here()), (pixels.as_ptr(), before));
    assert_eq!((view.shape(), view.strides()), (&[3, 2, 3][..], &[8, 3, 1][..]));
    assert_eq!(view.as_view::<u8, 3>().unwrap()[[2, 1, 2]], 21);
    let refusal = crossdock::view(&photo, Request::share()).unwrap_err();
    assert_says(&refusal, &["read-only", "18 bytes would do"]);
    let short = padded_image::Photo { pixels: Arc::new(vec![0; 21]), height, width, pitch };
    assert_says(crossdock::view(&short, Request::read()).unwrap_err(), &["0..22", "21 bytes"]);
    assert!(padded_image::Photo { pitch: usize::MAX, ..photo }.export(&Request::pin()).is_err());
}

#[test]
fn a_typed_array_is_lent_in_place_unless_a_copy_is_demanded() {
    let array = Array::from_vec(vec![1i32, 2, 3], [3]).unwrap();
    for (policy, copied) in [(CopyPolicy::Never, 0), (CopyPolicy::IfNeeded, 0), (CopyPolicy::Always, 12)] {
        let view = array.export(&Request::read().copy(policy)).unwrap();
        assert_eq!(view.grant().copied_nbytes(), copied, "{policy:?}");
        assert_eq!(view.as_slice::<i32>().unwrap(), [1, 2, 3]);
        assert_eq!(view.as_slice::<i32>().unwrap().as_ptr() == array.as_ptr(), copied == 0, "{policy:?}");
    }
}

#[test]
fn a_producer_that_lends_its_own_where_a_copy_was_asked_for_is_refused() {
    struct Careless(Array<u8, 1>);
    impl Producer for Careless {
        fn export(&self, request: &Request) -> Result<MemoryView, Refusal> {
            let copy = if self.0.is_empty() { request.copy_policy() } else { CopyPolicy::Never };
            self.0.export(&Request::write().copy(copy))
        }
    }
    let request = || Request::write().copy(CopyPolicy::Always);
    let careless = Careless(Array::from_vec(vec![1, 2, 3], [3]).unwrap());
    let refusal = crossdock::view(&careless, request()).unwrap_err();
    assert!(refusal.to_string().contains("a copy was requested"), "{refusal}");
    assert!(careless.0.write().is_ok(), "its lease was given back");
    let empty = Careless(Array::from_vec(vec![], [0]).unwrap());
    assert!(crossdock::view(&empty, request()).is_ok(), "a copy of nothing is one");
}
