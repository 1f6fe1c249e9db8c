//! Arrays as text: fixed texts that NumPy printed, and the texts of arrays that cannot be read.

use crossdock::array::ArrayView;
use crossdock::buffer::Buffer;
use crossdock::device::fenced::FencedDevice;
use crossdock::device::{Device, Effect, Signal};
use crossdock::element::{DType, Element, ScalarKind, TimeUnit, Value};
use crossdock::layout::{Layout, Order};
use crossdock::memory::copied_bytes_here;
use crossdock::view::Request;
use crossdock::{Array, DArray, s};

fn array<T: Element, const D: usize>(items: Vec<T>, shape: [usize; D]) -> Array<T, D> {
    Array::from_vec(items, shape).unwrap()
}

fn filled(dtype: &DType, values: &[Value]) -> DArray {
    let array = DArray::zeros(dtype.clone(), &[values.len()], Order::RowMajor).unwrap();
    for (index, value) in values.iter().enumerate() {
        array.set(&[index], value).unwrap();
    }
    array
}

#[test]
fn debug_tells_the_address_of_the_elements() {
    let array = array(vec![1_u8, 2], [2]);
    let address = format!(" at {:p} on cpu", array.as_ptr());
    assert!(format!("{array:?}").contains(&address), "{array:?}");
    assert!(format!("{:?}", DArray::from(array.clone())).contains(&address));
    assert!(format!("{:?}", array.read().unwrap()).contains(&address));
    assert!(format!("{:?}", crossdock::view(&array, Request::read()).unwrap()).contains(&address));
}

#[test]
fn numbers_stand_below_each_other() {
    assert_eq!(array(vec![1, -20, 300, 4], [2, 2]).to_string(), "[[  1 -20]\n [300   4]]");
    assert_eq!(
        array(vec![1.0, -0.5, 1.0 / 3.0, 100.0], [4]).to_string(),
        "[  1.          -0.5          0.33333333 100.        ]"
    );
    assert_eq!(array(vec![1.0, 1e-5, f64::NAN], [3]).to_string(), "[1.e+00 1.e-05    nan]");
    assert_eq!(array(vec![f64::NAN, f64::NEG_INFINITY, -0.0], [3]).to_string(), "[ nan -inf  -0.]");
    assert_eq!(array(vec![0.1f32, 1e6], [2]).to_string(), "[1.e-01 1.e+06]");
    assert_eq!(
        array(vec![1u8, 2, 3, 4, 5, 6, 7, 8], [2, 2, 2]).to_string(),
        "[[[1 2]\n  [3 4]]\n\n [[5 6]\n  [7 8]]]"
    );
    assert_eq!(array(Vec::<f32>::new(), [0]).to_string(), "[]");
    assert_eq!(array(Vec::<f32>::new(), [3, 0]).to_string(), "[]");
    assert_eq!(array(vec![0.1f32], []).to_string(), "0.1");
    assert_eq!(array(vec![[1u8, 2], [3, 40]], [2]).to_string(), "[[ 1  2]\n [ 3 40]]", "sub-arrays are axes");
}

#[test]
fn elements_of_other_dtypes_are_printed_too() {
    let truths = filled(&DType::BOOL, &[true.into(), false.into()]);
    assert_eq!(truths.to_string(), "[ True False]");
    let complex =
        filled(&DType::C128, &[Value::Complex { re: 1.0, im: -2.5 }, Value::Complex { re: -0.5, im: 10.0 }]);
    assert_eq!(complex.to_string(), "[ 1.  -2.5j -0.5+10.j ]");
    let bytes = filled(
        &DType::bytes(3).unwrap(),
        &[Value::Bytes(b"it's".to_vec()[..3].to_vec()), Value::Bytes(vec![0xff])],
    );
    assert_eq!(bytes.to_string(), r"[b'it\'' b'\xff']".replace(r"b'it\''", "b\"it'\""));
    let texts = filled(&DType::text(3).unwrap(), &["ab".into(), "é\n".into()]);
    assert_eq!(texts.to_string(), r"['ab' 'é\n']");
    assert_eq!(texts.slice(s![0]).unwrap().to_string(), "ab");
    let void = filled(&DType::void(2).unwrap(), &[Value::Void(vec![1, 0xab])]);
    assert_eq!(void.to_string(), r"[b'\x01\xAB']");
    let moment = |count| Value::DateTime { count, unit: TimeUnit::DAY };
    let dates = filled(&DType::datetime(TimeUnit::DAY), &[moment(0), moment(i64::MIN)]);
    assert_eq!(dates.to_string(), "['1970-01-01'        'NaT']");
    assert_eq!(dates.slice(s![0]).unwrap().to_string(), "1970-01-01");
    let length = |count| Value::TimeDelta { count, unit: TimeUnit::DAY };
    let lengths = filled(&DType::timedelta(TimeUnit::DAY), &[length(-3), length(i64::MIN)]);
    assert_eq!(lengths.to_string(), "[   -3 'NaT']");
    // Types that NumPy lacks print the digits of their own format.
    let brain = filled(&DType::BF16, &[0.1.into(), 2.5.into(), (-100.0).into()]);
    assert_eq!(brain.to_string(), "[   0.1    2.5 -100. ]");
    let eighth =
        filled(&DType::native(ScalarKind::Float8E4M3Fn), &[0.1.into(), 448.0.into(), f64::NAN.into()]);
    assert_eq!(eighth.to_string(), "[1.0e-01 4.5e+02     nan]");
    let scale = filled(&DType::native(ScalarKind::Float8E8M0Fnu), &[0.5.into(), 4.0.into()]);
    assert_eq!(scale.to_string(), "[0.5 4. ]");
    let pointers = filled(&DType::native(ScalarKind::Pointer), &[Value::Pointer(16), Value::Pointer(0)]);
    assert_eq!(pointers.to_string(), "[0x10  0x0]");
}

#[test]
fn records_are_tuples_whose_fields_stand_below_each_other() {
    let pair = DType::subarray(&[2], DType::I16).unwrap();
    let dtype = DType::packed_record([("x", DType::F32), ("on", DType::BOOL), ("n", pair)]).unwrap();
    let record = |x: f64, on: bool, n: i64| {
        let n = Value::Array(vec![n.into(), (-n).into()]);
        Value::Record(vec![("x".into(), x.into()), ("on".into(), on.into()), ("n".into(), n)])
    };
    let records = filled(&dtype, &[record(0.1, true, 5), record(-20.5, false, 100)]);
    assert_eq!(records.to_string(), "[(  0.1,  True, [   5,   -5]) (-20.5, False, [ 100, -100])]");
    assert_eq!(records.slice(s![0]).unwrap().to_string(), "(0.1, True, [ 5, -5])");
    let one = filled(
        &DType::packed_record([("a", DType::U8)]).unwrap(),
        &[Value::Record(vec![("a".into(), 1.into())])],
    );
    assert_eq!(one.to_string(), "[(1,)]");
}

#[test]
fn long_arrays_are_cut_and_long_lines_broken() {
    let long = array((0..1001).collect::<Vec<u16>>(), [1001]);
    assert_eq!(long.to_string(), "[   0    1    2 ...  998  999 1000]");
    let lines = array((0..30).collect::<Vec<u16>>(), [30]).to_string();
    assert_eq!(
        lines,
        "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n 24 25 26 27 28 29]"
    );
    let square = array((0..36).collect::<Vec<u8>>(), [6, 6]);
    let small = square.display().threshold(10).edge_items(1).to_string();
    assert_eq!(small, "[[ 0 ...  5]\n ...\n [30 ... 35]]");
    assert_eq!(square.display().threshold(10).edge_items(0).to_string(), "[...]");
    assert_eq!(square.display().line_width(6).to_string().lines().next(), Some("[[ 0"));
    let thirds = array(vec![1.0 / 3.0, 2.0], [2]);
    assert_eq!(thirds.display().precision(2).to_string(), "[0.33 2.  ]");
    assert_eq!(format!("{thirds:.3} {:.1}", thirds.display().precision(2)), "[0.333 2.   ] [0.3 2. ]");
}

#[test]
fn only_what_is_shown_is_looked_at_however_large_the_array_is() {
    let one = array(vec![7u8], [1]);
    let huge = one.broadcast_to([1 << 40]).unwrap();
    assert_eq!(huge.to_string(), "[7 7 7 ... 7 7 7]");
    // The edges of this many axes would be too much to print.
    let deep = DArray::from(one.clone()).broadcast_to(&[7; 15]).unwrap();
    assert_eq!(deep.to_string().matches('7').count(), 1 << 15);
    let deeper = DArray::from(one).broadcast_to(&[3; 39]).unwrap();
    assert_eq!(deeper.to_string(), "[...]");
    let wide = |len| DType::packed_record([("bytes", DType::subarray(&[len], DType::U8).unwrap())]).unwrap();
    let images = DArray::zeros(wide(10_000), &[7], Order::RowMajor).unwrap();
    let before = copied_bytes_here();
    assert_eq!(
        images.slice(s![..2]).unwrap().to_string(),
        "[([0, 0, 0, ..., 0, 0, 0],) ([0, 0, 0, ..., 0, 0, 0],)]"
    );
    let large = DArray::zeros(wide(1 << 21), &[7], Order::RowMajor).unwrap();
    assert_eq!(
        (large.to_string().as_str(), large.slice(s![0]).unwrap().to_string().as_str()),
        ("[...]", "...")
    );
    assert_eq!(copied_bytes_here(), before, "looking at elements copies nothing");
}

#[test]
fn guards_and_views_print_what_they_give() {
    let numbers = array(vec![1, 2, 3, 4], [2, 2]);
    let text = "[[1 2]\n [3 4]]";
    assert_eq!(numbers.read().unwrap().to_string(), text);
    assert_eq!(numbers.read().unwrap().view().to_string(), text);
    assert_eq!(numbers.share().unwrap().to_string(), text);
    assert_eq!(numbers.pin().unwrap().display().to_string(), text);
    assert_eq!(numbers.write().unwrap().to_string(), text);
    assert_eq!(numbers.write().unwrap().view_mut().to_string(), text);
    assert_eq!(numbers.export(&Request::write()).unwrap().to_string(), text);
    assert_eq!(ArrayView::from_slice(&[1u8, 2], [2]).unwrap().to_string(), "[1 2]");
    for debug in [
        format!("{:?}", numbers.read().unwrap()),
        format!("{:?}", numbers.pin().unwrap().display()),
        format!("{:?}", numbers.read().unwrap().view()),
        format!("{:?}", numbers.export(&Request::read()).unwrap()),
        format!("{:?}", DArray::from(numbers.clone())),
    ] {
        let (head, preview) = debug.split_once('\n').unwrap();
        assert!(
            head.contains("(int32, shape [2, 2], strides [8, 4] bytes, at 0x") && head.contains(" on cpu"),
            "{head}"
        );
        assert_eq!(preview, text);
    }
    assert!(format!("{:?}", numbers.into_readonly()).contains(", read-only)"));
    let long = array((0..101).collect::<Vec<u8>>(), [101]);
    assert!(format!("{long:?}").ends_with("\n[  0   1   2 ...  98  99 100]"), "a preview is short");
}

#[test]
fn where_no_lease_can_be_had_the_text_says_what_it_is_and_why() {
    let numbers = array(vec![1, 2], [2]);
    let writer = numbers.write().unwrap();
    for text in [numbers.to_string(), format!("{numbers:?}"), DArray::from(numbers.clone()).to_string()] {
        assert!(text.contains("rray(int32, shape [2]") && text.contains("1 write lease"), "{text}");
    }
    drop(writer);
    assert_eq!(numbers.to_string(), "[1 2]");

    let there = FencedDevice::new(0);
    let (buffer, at) = numbers.buffer().unwrap();
    let moved = buffer.copy_to(&there.memory()).unwrap();
    let moved = Array::<i32, 1>::from_buffer(moved.slice(at..).unwrap(), [2]).unwrap();
    let text = moved.to_string();
    assert!(
        text.starts_with("Array(int32, shape [2]") && text.contains("memory on ext_dev:0 is not accessible"),
        "{text}"
    );

    // Only a lease waits for work: a text states that work is in flight.
    let (signal, completion) = Signal::new();
    buffer.note_event(signal, Effect::Writes).unwrap();
    let text = format!("{numbers} {numbers:?}");
    assert!(text.contains("work of devices on the memory is in flight: 1 in all"), "{text}");
    completion.finish(Ok(()));
    assert_eq!(numbers.to_string(), "[1 2]");
}

#[test]
fn an_element_that_is_no_value_says_so_in_its_place() {
    let buffer = Buffer::from_vec(vec![u32::from('a'), 0xd800]).unwrap();
    let dtype = DType::text(1).unwrap();
    assert_eq!(dtype.as_scalar().unwrap().kind(), ScalarKind::Text(1));
    let layout = Layout::contiguous(&[2], 4, Order::RowMajor).unwrap();
    let texts = DArray::from_buffer(buffer, dtype, layout, 0).unwrap();
    let printed = texts.to_string();
    assert!(
        printed.starts_with("['a'") && printed.contains("0xd800, which is not a Unicode character>"),
        "{printed}"
    );
}
