//! Raw files with a description.

use crossdock::DArray;
use crossdock::element::{DType, Value};
use crossdock::exchange::files::raw::{self, Description};
use crossdock::exchange::files::{self, Format, OpenOptions, SaveOptions};
use crossdock::layout::Order;
use crossdock::memory::Backing;
use crossdock::memory::copied_bytes_here;

use crate::common::{Folder, assert_same, assert_says, buffer, pattern, values};

#[test]
fn what_is_written_comes_back_in_place_in_both_orders() {
    let folder = Folder::new("raw");
    for shape in [&[3, 4, 5][..], &[7], &[], &[0, 3], &[2, 1]] {
        for (dtype, order) in
            [("<i4", Order::RowMajor), (">f8", Order::ColumnMajor), ("S3", Order::ColumnMajor)]
        {
            let array = pattern(dtype, shape, order);
            let path = folder.path("a.raw");
            SaveOptions::new().order(order).save(&path, &array).unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().len(), array.nbytes() as u64);
            let said = Description::new(array.dtype().clone(), array.shape()).order(order);
            let copied = copied_bytes_here();
            let opened = OpenOptions::new().raw(said.clone()).open(&path).unwrap();
            assert_eq!((copied_bytes_here(), opened.backing()), (copied, Backing::File));
            assert_same(&opened, &array);
            assert_same(
                &OpenOptions::new().raw(said.to_string().parse().unwrap()).open(&path).unwrap(),
                &array,
            );
        }
    }
}

#[test]
fn what_lies_apart_is_written_piece_by_piece_in_both_orders() {
    let number = |row: usize, column: usize| (row * 700 + column) as u32;
    let rows: Vec<Vec<u32>> = (0..300).map(|i| (0..700).map(|j| number(i, j)).collect()).collect();
    let indirect = DArray::from_rows(rows).unwrap();
    let reversed = indirect.to_order(Order::RowMajor).unwrap().at("::-1, ::-1").unwrap();
    for (array, is_reversed) in [(&indirect, false), (&reversed, true)] {
        for order in [Order::RowMajor, Order::ColumnMajor] {
            let (mut file, before) = (Vec::new(), copied_bytes_here());
            SaveOptions::new()
                .format(Format::Raw)
                .order(order)
                .write(&mut file, &[("", array.clone())])
                .unwrap();
            assert_eq!(copied_bytes_here() - before, array.nbytes() as u64);
            assert_eq!(file.len(), array.nbytes());
            for (at, bytes) in file.chunks_exact(4).enumerate() {
                let (row, column) = match order {
                    Order::RowMajor => (at / 700, at % 700),
                    Order::ColumnMajor => (at % 300, at / 300),
                };
                let (row, column) = if is_reversed { (299 - row, 699 - column) } else { (row, column) };
                assert_eq!(bytes, number(row, column).to_ne_bytes(), "element {at}, {order:?}");
            }
        }
    }
}

#[test]
fn strides_and_offsets_are_heeded() {
    let bytes: Vec<u8> = (0..24).collect();
    let said: Description = "dtype=u1; shape=2,3; strides=-8,2; offset=12".parse().unwrap();
    let array = raw::from_buffer(buffer(&bytes), &said).unwrap();
    assert_eq!(values(&array), ["12", "14", "16", "4", "6", "8"]);
    assert_eq!(said, Description::new(DType::U8, &[2, 3]).strides(&[-8, 2]).offset(12));
    let folder = Folder::new("raw-offset");
    std::fs::write(folder.path("a"), &bytes).unwrap();
    let opened = OpenOptions::new().raw(said.clone()).open(folder.path("a")).unwrap();
    let (buffer, within) = opened.buffer().unwrap();
    assert_eq!(buffer.descriptor().unwrap().1 + within as u64, 12);
    let written = OpenOptions::new().raw(said.clone()).writable(true).open(folder.path("a")).unwrap();
    written.set(&[1, 2], &Value::from(99u8)).unwrap();
    assert_eq!(std::fs::read(folder.path("a")).unwrap()[8], 99);
}

#[test]
fn what_does_not_fit_is_refused_with_numbers() {
    let bytes = buffer(&[0; 100]);
    for (said, words) in [
        ("dtype=f8; shape=13", &["100", "104"][..]),
        ("dtype=f8; shape=12; offset=5", &["100"]),
        ("dtype=u1; shape=2; strides=-1", &["100"]),
        ("dtype=u1; shape=2; strides=100", &["100"]),
        ("dtype=u1; shape=1; offset=18446744073709551615", &["18446744073709551615"]),
    ] {
        let error = raw::from_buffer(bytes.clone(), &said.parse().unwrap()).unwrap_err();
        assert!(error.is_bounds(), "{said}: {error:?}");
        assert_says(&error, words);
    }
    let huge = "dtype=f8; shape=4294967296,4294967296,4294967296".parse().unwrap();
    assert!(raw::from_buffer(bytes.clone(), &huge).unwrap_err().is_overflow());
    let strides = "dtype=u1; shape=2,2; strides=1".parse().unwrap();
    assert!(raw::from_buffer(bytes, &strides).unwrap_err().is_shape());
    let folder = Folder::new("raw-missing");
    let missing =
        OpenOptions::new().raw("dtype=u1; shape=".parse().unwrap()).open(folder.path("none")).unwrap_err();
    assert_says(&missing, &["none: no such file"]);
}

#[test]
fn a_bad_description_is_told_apart() {
    for (text, words) in [
        ("", "dtype is missing"),
        ("dtype=u1", "shape is missing"),
        ("dtype=u1; shape=3; shape=4", "shape is given twice"),
        ("dtype=u1; shape=three", "three"),
        ("dtype=u1; shape=-3", "-3"),
        ("dtype=u1; shape=3; order=A", "\"A\""),
        ("dtype=u1; shape=3; order=C; strides=1", "order and strides are both given"),
        ("dtype=u1; shape=3; offset=-1", "-1"),
        ("dtype=q9; shape=3", "q9"),
        ("dtype=u1; shape=3; sign=1", "\"sign\""),
        ("uint8 3", "is not NAME=VALUE"),
    ] {
        assert_says(&text.parse::<Description>().unwrap_err(), &[words]);
    }
}

#[test]
fn a_raw_file_is_never_told_by_its_bytes() {
    let folder = Folder::new("raw-told");
    std::fs::write(folder.path("a.raw"), [1, 2, 3, 4]).unwrap();
    let error = files::open_all(folder.path("a.raw")).unwrap_err();
    assert!(error.is_unsupported());
    assert_says(&error, &["a.raw: ", "01 02 03 04"]);
}

#[test]
fn a_description_of_a_record_is_read_back_whatever_its_names_hold() {
    for dtype in [
        "[('a', '<i4'), ('b', '>f8', (2, 3))]",
        "[('a;b', '<i4'), ('c=d', '|u1')]",
        r#"[("it's; \\", '<i4'), ('"quoted";', '<M8[ns]')]"#,
        "{'names': ['x', 'y'], 'formats': ['|u1', '<f8'], 'offsets': [8, 0], 'itemsize': 24}",
        "[('größe', '<U4'), ('tab\\t', 'S3'), ('inner', [('x;', '<f2')])]",
        "('<f4', (2, 3))",
        "<M8[25us]",
        ">c16",
        "V7",
        "longdouble",
    ] {
        let dtype: DType = dtype.parse().unwrap();
        let said = Description::new(dtype, &[2, 3]).order(Order::ColumnMajor).offset(7);
        let text = said.to_string();
        assert_eq!(text.parse::<Description>().unwrap_or_else(|error| panic!("{text}: {error}")), said);
    }
}
