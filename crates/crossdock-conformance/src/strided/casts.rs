//! Conversions of numbers on a device: bytes and refusals equal the CPU's.

use crossdock::device;
use crossdock::element::{ByteOrder, DType, ScalarKind};
use crossdock::layout::Order;
use crossdock::memory::Place;
use crossdock::{Array, Casting, DArray, s};
use crossdock_testkit::{Coverage, seed};
use fastrand::Rng;

use crate::Subject;

const KINDS: [ScalarKind; 13] = [
    ScalarKind::Bool,
    ScalarKind::Int8,
    ScalarKind::Int16,
    ScalarKind::Int32,
    ScalarKind::Int64,
    ScalarKind::UInt8,
    ScalarKind::UInt16,
    ScalarKind::UInt32,
    ScalarKind::UInt64,
    ScalarKind::Float16,
    ScalarKind::BFloat16,
    ScalarKind::Float32,
    ScalarKind::Float64,
];

/// Numbers near the limits and the ties of some format.
fn special() -> Vec<f64> {
    let mut numbers =
        vec![0.0, 0.5, 1.0, 1.5, 2.5, f64::INFINITY, f64::NAN, f64::MIN_POSITIVE, 5e-324, 1e-320];
    for power in [-1074, -150, -149, -134, -133, -127, -126, -25, -24, -15, -14, -1] {
        let power = 2f64.powi(power);
        numbers.extend([power, power * 1.5, power * (1.0 + f64::EPSILON), power * (1.0 - f64::EPSILON)]);
    }
    for power in [7, 8, 11, 15, 16, 23, 24, 31, 32, 52, 53, 63, 64, 127, 128] {
        let power = 2f64.powi(power);
        numbers.extend([power, power.next_down(), power.next_up(), power - 1.0, power - 0.5, power + 0.5]);
    }
    numbers.extend([65504.0, 65519.999, 65520.0, 65536.0, f64::from(f32::MAX), f64::MAX]);
    numbers.iter().flat_map(|&number| [number, -number]).collect()
}

/// Numbers of a kind: special ones, as close as the kind permits, and random ones.
fn numbers(rng: &mut Rng, kind: ScalarKind, order: ByteOrder) -> DArray {
    let dtype = DType::scalar(kind, order).unwrap();
    let special = special();
    let len = special.len();
    let special = DArray::from(Array::from_vec(special, [len]).unwrap());
    let special = special.cast(&dtype, Order::RowMajor, Casting::Saturating).unwrap();
    let mut random = vec![0; 60 * dtype.itemsize()];
    rng.fill(&mut random);
    let random = DArray::from_buffer(
        crossdock::buffer::Buffer::from_vec(random).unwrap(),
        dtype.clone(),
        crossdock::layout::Layout::contiguous(&[60], dtype.itemsize(), Order::RowMajor).unwrap(),
        0,
    )
    .unwrap();
    let all = DArray::zeros(dtype, &[len + 60], Order::RowMajor).unwrap();
    all.slice(s![..len]).unwrap().assign(&special, Casting::Checked).unwrap();
    all.slice(s![len..]).unwrap().assign(&random, Casting::Checked).unwrap();
    all
}

fn bytes(array: &DArray) -> Vec<u8> {
    let host = array.copy_to(&device::memory(Place::CPU).unwrap()).unwrap();
    host.buffer().unwrap().0.read().unwrap().to_vec()
}

/// The numbers that a checked conversion accepts.
fn that_fit(array: &DArray, dtype: &DType) -> DArray {
    let fits = |index: &usize| {
        array.slice(s![*index..*index + 1]).unwrap().cast(dtype, Order::RowMajor, Casting::Checked).is_ok()
    };
    let chosen: Vec<usize> = (0..array.len()).filter(fits).collect();
    let some = DArray::zeros(array.dtype().clone(), &[chosen.len()], Order::RowMajor).unwrap();
    for (place, index) in chosen.into_iter().enumerate() {
        let one = array.slice(s![index..index + 1]).unwrap();
        some.slice(s![place..place + 1]).unwrap().assign(&one, Casting::Checked).unwrap();
    }
    some
}

pub fn numbers_become_the_same_bytes_as_on_the_processor_and_the_same_ones_are_refused(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let (mut rng, mut coverage) = (Rng::with_seed(seed()), Coverage::default());
    for from in KINDS {
        for to in KINDS {
            coverage.case();
            let order = |rng: &mut Rng| if rng.usize(0..4) == 0 { ByteOrder::Big } else { ByteOrder::Little };
            let (from_order, to_order) = (order(&mut rng), order(&mut rng));
            let (source, dtype) = (numbers(&mut rng, from, from_order), DType::scalar(to, to_order).unwrap());
            let there = source.copy_to(&device.memory()).unwrap();
            let what = format!("{} to {}", source.dtype(), dtype);

            let wanted = source.cast(&dtype, Order::RowMajor, Casting::Saturating).unwrap();
            let got = there.cast(&dtype, Order::RowMajor, Casting::Saturating).unwrap();
            assert_eq!(got.place(), device.place());
            assert_eq!(bytes(&got), bytes(&wanted), "{what}");

            let fitting = that_fit(&source, &dtype);
            let wanted = fitting.cast(&dtype, Order::RowMajor, Casting::Checked).unwrap();
            let got =
                fitting.copy_to(&device.memory()).unwrap().cast(&dtype, Order::RowMajor, Casting::Checked);
            assert_eq!(bytes(&got.unwrap()), bytes(&wanted), "{what}");

            // Reversed and with a second axis: the error names the first number in row-major order.
            let (len, half) = (source.len(), source.len() / 2);
            let square = |array: &DArray| {
                array
                    .slice(s![..half * 2])
                    .unwrap()
                    .reshape(&[half, 2])
                    .unwrap()
                    .transpose()
                    .unwrap()
                    .reverse(1)
                    .unwrap()
            };
            let wanted = square(&source).cast(&dtype, Order::RowMajor, Casting::Checked);
            let got = square(&there).cast(&dtype, Order::RowMajor, Casting::Checked);
            match (wanted, got) {
                (Ok(wanted), Ok(got)) => assert_eq!(bytes(&got), bytes(&wanted), "{what}"),
                (Err(wanted), Err(got)) => {
                    coverage.note("refused");
                    assert!(
                        got.is_value() && wanted.to_string() == got.to_string(),
                        "{what}: {got}, not {wanted}"
                    );
                }
                (wanted, got) => panic!("{what}: {got:?}, not {wanted:?}"),
            }
            coverage.note_if(fitting.len() > len / 2, "most fit");
            coverage.note_if(from_order != to_order, "another byte order");
        }
    }
    println!("{}: {coverage}", device.name());
    coverage.assert_at_least(0.2, ["refused", "most fit", "another byte order"]);
}

pub fn complex_numbers_are_cast_part_by_part(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let narrow = DType::scalar(ScalarKind::Complex64, ByteOrder::NATIVE).unwrap();
    let wide = DType::scalar(ScalarKind::Complex128, ByteOrder::NATIVE.swapped()).unwrap();
    let pairs = DArray::from(Array::from_vec(vec![1.5f32, -2.0, 1e30, f32::MAX, 0.25, -0.0], [6]).unwrap());
    let source = pairs.view_as(&narrow).unwrap();
    let there = source.copy_to(&device.memory()).unwrap();
    let (here, back) = (
        source.cast(&wide, Order::RowMajor, Casting::Checked).unwrap(),
        there.cast(&wide, Order::RowMajor, Casting::Checked).unwrap(),
    );
    assert_eq!(bytes(&back), bytes(&here));
    let half = DType::scalar(ScalarKind::Complex32, ByteOrder::NATIVE).unwrap();
    let wanted = source.cast(&half, Order::RowMajor, Casting::Checked).unwrap_err();
    let got = there.cast(&half, Order::RowMajor, Casting::Checked).unwrap_err();
    assert!(got.is_value());
    assert_eq!(got.to_string(), wanted.to_string());
}

pub fn what_no_kernel_converts_is_unsupported_and_says_so(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let text = DArray::zeros(DType::text(3).unwrap(), &[2], Order::RowMajor).unwrap();
    let there = text.copy_to(&device.memory()).unwrap();
    for to in [DType::F32, DType::text(3).unwrap().swapped()] {
        let error = there.cast(&to, Order::RowMajor, Casting::Saturating).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains("copy it to the CPU"), "{error}");
    }
}
