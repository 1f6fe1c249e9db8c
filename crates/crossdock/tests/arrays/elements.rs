//! Elements that Rust's own types cannot represent, and fields of structs: typed, by name and by
//! token.

use crossdock::bindings::dialect::typestr;
use crossdock::buffer::Buffer;
use crossdock::element::{Be, Bool8, ByteOrder, DType, Element, Le, ScalarKind, Value};
use crossdock::layout::{Layout, Order};
use crossdock::{Array, DArray};

#[track_caller]
fn is_called<T: Element>(typestr: &str, name: &str) {
    assert_eq!(size_of::<T>(), T::dtype().itemsize());
    assert_eq!(typestr::print(&T::dtype()).unwrap(), typestr);
    assert_eq!(T::dtype().to_string().trim_start_matches(['<', '>']), name);
}

#[test]
fn dtypes_are_those_of_numpy() {
    is_called::<Bool8>("|b1", "bool");
    is_called::<Be<i32>>(">i4", "int32");
    is_called::<Le<u16>>("<u2", "uint16");
    is_called::<Be<f64>>(">f8", "float64");
    #[cfg(feature = "half-2")]
    {
        is_called::<Be<half::f16>>(">f2", "float16");
        is_called::<Le<half::f16>>("<f2", "float16");
        assert_eq!(half::f16::dtype(), DType::F16);
        assert_eq!(half::bf16::dtype(), DType::BF16);
    }
    #[cfg(feature = "num-complex-0_4")]
    {
        is_called::<Le<num_complex::Complex<f32>>>("<c8", "complex64");
        is_called::<Be<num_complex::Complex<f64>>>(">c16", "complex128");
        assert_eq!(num_complex::Complex::<f64>::dtype(), DType::C128);
    }
    #[cfg(all(feature = "num-complex-0_4", feature = "half-2"))]
    assert_eq!(num_complex::Complex::<half::f16>::dtype(), DType::native(ScalarKind::Complex32));
}

/// Writes the number to memory of its dtype and reads it back, through the library's element
/// interpreter.
fn goes_through_memory<T: Element + PartialEq + std::fmt::Debug + Into<Value>>(number: T) {
    let array = DArray::zeros(T::dtype(), &[3], Order::RowMajor).unwrap();
    array.set(&[1], &number.into()).unwrap();
    let typed = Array::<T, 1>::try_from(array).unwrap();
    assert_eq!(typed.get([1]).unwrap(), number);
    assert_eq!(DArray::from(typed).get(&[1]).unwrap(), number.into());
}

#[test]
fn marked_numbers_are_read_as_the_interpreter_reads_them() {
    macro_rules! both {
        ($($number:expr),*) => {
            $(
                goes_through_memory(Be::new($number));
                goes_through_memory(Le::new($number));
            )*
        };
    }
    both!(
        0x1234u16,
        0x1234_5678u32,
        u64::MAX - 5,
        -2i16,
        i32::MIN + 1,
        -0x1234_5678_9abci64,
        1.5e-30f32,
        -0.1f64
    );
    #[cfg(feature = "half-2")]
    both!(half::f16::from_f32(0.333), half::bf16::from_f32(-3e38));
    #[cfg(feature = "num-complex-0_4")]
    both!(num_complex::Complex { re: 0.5f32, im: -7.25 }, num_complex::Complex { re: f64::MIN, im: 1e-300 });
    goes_through_memory(Bool8::from(true));
}

#[cfg(feature = "half-2")]
#[test]
fn halves_are_read_as_the_interpreter_reads_them() {
    for bits in (0..=u16::MAX).step_by(7) {
        let array = DArray::from(Array::from_vec(vec![half::f16::from_bits(bits)], [1]).unwrap());
        let theirs = half::f16::from_bits(bits).to_f64();
        let ours = array.get(&[0]).unwrap().as_f64().unwrap();
        assert!(ours == theirs || ours.is_nan() && theirs.is_nan(), "{bits:#x}: {ours} {theirs}");
    }
    goes_through_memory(half::f16::from_f32(0.333));
    goes_through_memory(half::bf16::from_f32(-3e38));
}

#[cfg(feature = "num-complex-0_4")]
#[test]
fn vectors_of_complex_numbers_are_adopted() {
    use num_complex::Complex;
    let vec = vec![Complex::new(1.0f32, 2.0), Complex::new(3.0, -4.0)];
    let address = vec.as_ptr();
    let array = Array::from_vec(vec, [2]).unwrap();
    assert_eq!((array.as_ptr(), array.dtype()), (address, DType::C64));
    let value = DArray::from(array).get(&[1]).unwrap();
    assert_eq!(value.as_complex(), Some((3.0, -4.0)));
    goes_through_memory(Complex::new(1e300, -0.5));
}

#[test]
fn numbers_in_either_order_compare_and_print_as_numbers() {
    let (one, two) = (Be::new(1i32), Be::new(256i32));
    assert!(one < two && one != two && two == 256 && one == Be::from(1));
    assert_eq!((one.as_bytes(), Le::new(1i32).as_bytes()), (&[0, 0, 0, 1][..], &[1, 0, 0, 0][..]));
    assert_eq!(format!("{two} {two:?} {}", Le::new(0.5f32)), "256 256 0.5");
    assert_eq!((i32::from(two), Be::<u64>::default().get()), (256, 0));
    assert_ne!(Be::new(f64::NAN), Be::new(f64::NAN));
    assert_eq!((align_of::<Be<f64>>(), align_of::<Le<u16>>()), (1, 1));
}

#[test]
fn any_byte_is_a_truth_value() {
    let bytes = Buffer::from_vec((0..=255u8).collect()).unwrap();
    let layout = Layout::contiguous(&[256], 1, Order::RowMajor).unwrap();
    let array = DArray::from_buffer(bytes, DType::BOOL, layout, 0).unwrap();
    let flags = Array::<Bool8, 1>::try_from(array).unwrap();
    for (index, &flag) in flags.read().unwrap().iter().enumerate() {
        assert_eq!((flag.get(), flag == Bool8::from(index != 0)), (index != 0, true));
        assert_eq!((usize::from(u8::from(flag)), !flag == true), (index, index == 0));
    }
    assert_eq!(format!("{} {:?}", Bool8::from(7u8), Bool8::from(false)), "true false");
}

#[test]
fn unaligned_numbers_are_had_by_reference_as_marked_ones() {
    let bytes = Buffer::from_vec((0..14u8).collect()).unwrap();
    let order = ByteOrder::Little;
    let dtype = DType::scalar(ScalarKind::UInt32, order).unwrap();
    let array = DArray::from_buffer(bytes, dtype, Layout::new(&[3], &[5], 4).unwrap(), 0).unwrap();
    let numbers = Array::<Le<u32>, 1>::try_from(array).unwrap();
    assert_eq!(numbers.read().unwrap()[[1]].get(), 0x0807_0605);
}

#[cfg(feature = "bytemuck-1")]
#[test]
fn plain_types_of_other_crates_are_elements_and_ours_are_plain_to_them() {
    use bytemuck::TransparentWrapperAlloc as _;
    use crossdock::element::Plain;

    #[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(C)]
    struct Theirs(u32, f32);

    let vec = vec![Theirs(1, 0.5), Theirs(2, 1.5), Theirs(3, 2.5)];
    let address = vec.as_ptr();
    let array = Array::from_vec(Plain::wrap_vec(vec), [3]).unwrap();
    assert_eq!(array.as_ptr().cast(), address);
    assert_eq!(array.dtype(), DType::void(8).unwrap());
    assert_eq!(array.reverse(0).unwrap().get([0]).unwrap().0, Theirs(3, 2.5));

    let numbers: &[Be<u16>] = bytemuck::cast_slice(&[1u8, 2, 3, 4]);
    assert_eq!(numbers, [Be::new(0x0102), Be::new(0x0304)]);
    let flags: &[Bool8] = bytemuck::cast_slice(&[0u8, 9]);
    assert_eq!(flags, [Bool8::from(false), Bool8::from(true)]);
}

#[cfg(feature = "derive")]
mod fields {
    use super::*;
    use crossdock::element::FieldOf;
    use crossdock::{field, s};

    #[derive(Clone, Copy, Debug, PartialEq, Element)]
    #[repr(C)]
    struct Point {
        x: f32,
        y: f32,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Element)]
    #[repr(C, packed)]
    struct Wire {
        kind: u8,
        at: Point,
        #[element(name = "the price")]
        price: f64,
        flags: [Bool8; 3],
        length: Be<u32>,
    }

    const Y: FieldOf<Wire, f32> = field!(Wire, at.y);

    fn wires(count: u8) -> Array<Wire, 1> {
        let wire = |kind: u8| Wire {
            kind,
            at: Point { x: f32::from(kind), y: -f32::from(kind) },
            price: f64::from(kind) * 1.5,
            flags: [true.into(), false.into(), Bool8::from(kind)],
            length: u32::from(kind).into(),
        };
        Array::from_vec((0..count).map(wire).collect(), [usize::from(count)]).unwrap()
    }

    #[test]
    fn a_field_is_the_same_by_name_by_token_and_dynamically() {
        let wires = wires(5).reverse(0).unwrap();
        let base = wires.as_ptr().addr();
        let by_name = wires.field::<f64>("the price").unwrap();
        let by_token = wires.field(field!(Wire, price)).unwrap();
        let dynamic = DArray::from(wires.clone()).field("the price").unwrap();
        assert_eq!((by_name.as_ptr().addr(), by_name.strides()), (base + 9, &[-24]));
        assert_eq!((by_token.as_ptr().addr(), by_token.strides()), (base + 9, &[-24]));
        assert_eq!((dynamic.as_ptr().addr(), dynamic.strides()), (base + 9, &[-24][..]));
        assert!(by_token.pin().unwrap().values().eq([6.0, 4.5, 3.0, 1.5, 0.0]));
        assert!(wires.field(Y).unwrap().share().unwrap().values().eq([-4.0, -3.0, -2.0, -1.0, 0.0]));

        // References to them need a type of alignment 1.
        assert!(by_token.read().unwrap_err().is_alignment());
        assert!(by_token.write().unwrap_err().is_alignment());
        let lengths = wires.field(field!(Wire, length)).unwrap();
        assert_eq!(lengths.read().unwrap()[[0]], 4);
        by_token.set([4], 0.25).unwrap();
        assert_eq!({ wires.get([4]).unwrap().price }, 0.25);
    }

    #[test]
    fn a_field_that_is_an_array_is_typed_whole_and_dynamic_as_axes() {
        let wires = wires(4);
        let flags = wires.field::<[Bool8; 3]>("flags").unwrap();
        assert_eq!((flags.shape(), flags.read().unwrap()[[2]][2]), (&[4], Bool8::from(true)));
        let axes = DArray::from(wires).field("flags").unwrap();
        assert_eq!((axes.shape(), axes.strides()), (&[4, 3][..], &[24, 1][..]));
        assert!(axes.get(&[2, 2]).unwrap().as_bool().unwrap());
    }

    #[test]
    fn views_give_aligned_fields_and_refuse_the_others() {
        let points = Array::<Point, 2>::zeros([2, 3]).unwrap();
        let mut guard = points.write().unwrap();
        let mut heights = guard.view_mut().field(field!(Point, y)).unwrap();
        heights[[1, 2]] = 0.5;
        assert!(guard.view_mut().field::<f64>("y").unwrap_err().is_dtype());
        drop(guard);
        let guard = points.read().unwrap();
        let heights = guard.view().field::<f32>("y").unwrap();
        assert_eq!((heights[[1, 2]], heights.strides()), (0.5, &[24, 8]));

        let wires = wires(3);
        let guard = wires.read().unwrap();
        let error = guard.view().field(field!(Wire, price)).unwrap_err();
        assert!(error.is_alignment() && error.to_string().contains("by value"), "{error}");
        assert!(guard.view().field(field!(Wire, kind)).unwrap().iter().eq(&[0, 1, 2]));
        // Without elements, alignment and strides do not matter.
        let empty = guard.view().slice(s![3..]).unwrap();
        assert!(empty.field(field!(Wire, price)).unwrap().is_empty());
        assert_eq!(wires.slice(s![3..]).unwrap().field(Y).unwrap().len(), 0);
    }

    #[test]
    fn names_and_types_that_are_not_there_are_refused_with_what_is() {
        let wires = wires(1);
        for (error, part) in [
            (wires.field::<f64>("price").unwrap_err(), "the fields are kind, at, the price, flags, length"),
            (wires.field::<f32>("the price").unwrap_err(), "is float64, not float32"),
            (wires.field::<u32>("length").unwrap_err(), "uint32"),
            (Array::<f32, 1>::zeros([2]).unwrap().field::<f32>("x").unwrap_err(), "float32 has no fields"),
        ] {
            assert!(error.is_dtype() && error.to_string().contains(part), "{error}");
        }
        let point = DType::record(
            [
                crossdock::element::Field::new("x", 0, DType::F32),
                crossdock::element::Field::new("y", 4, DType::F32),
            ],
            8,
        )
        .unwrap();
        assert_eq!(wires.field::<Point>("at").unwrap().dtype(), point);
    }

    #[test]
    fn fields_of_arrays_of_rank_0_are_there_too() {
        let one = wires(3).drop_axis::<0>(0, 2).unwrap();
        assert_eq!(one.field(Y).unwrap().get([]).unwrap(), -2.0);
    }
}
