//! Tables: `convert` between Arrow IPC files and arrays, and `lend`.

use std::path::Path;

use crossdock::buffer::Buffer;
use crossdock::element::{DType, TimeUnit, Value};
use crossdock::exchange::files::arrow_ipc::{IpcCompression, IpcOptions};
use crossdock::exchange::files::{OpenOptions, open, open_all};
use crossdock::table::{
    Batches, Checks, Column, ColumnParts, ColumnType, OffsetWidth, RecordBatch, RecordBatchReader,
};
use crossdock::{Array, DArray};

use crate::common::{Folder, answer, counterpart, refusal, run, stderr, stdout};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn convert(from: &str, to: &Path, options: &[&str]) -> String {
    answer(&run([&["convert", from, text(to)], options].concat()))
}

/// Rows of numbers from `start` on.
fn numbers(start: i32, len: i32) -> RecordBatch {
    let of = |values: DArray| Column::from_array(values).unwrap();
    let range = start..start + len;
    let price = Array::from_vec(range.clone().map(|k| f64::from(k) / 2.0).collect(), [len as usize]).unwrap();
    let count = Array::from_vec(range.clone().collect(), [len as usize]).unwrap();
    let bits = Buffer::from_vec(range.clone().map(|_| 0b101u8).collect::<Vec<_>>()).unwrap();
    let parts = ColumnParts { len: len as usize, buffers: vec![bits], ..ColumnParts::default() };
    let odd = Column::new(ColumnType::Boolean, parts, Checks::Full).unwrap();
    let days = Buffer::from_vec(range.collect()).unwrap();
    let parts = ColumnParts { len: len as usize, buffers: vec![days], ..ColumnParts::default() };
    let day = Column::new(ColumnType::Date32, parts, Checks::Full).unwrap();
    let columns = [("price", of(price.into())), ("count", of(count.into())), ("odd", odd), ("day", day)];
    RecordBatch::from_columns(columns).unwrap()
}

/// A column of text with a null, beside one of numbers.
fn mixed() -> RecordBatch {
    let buffers =
        vec![Buffer::from_vec(vec![0i32, 3, 3, 6]).unwrap(), Buffer::from_static(b"onetwo").unwrap()];
    let validity = Some(Buffer::from_static(&[0b101u8]).unwrap());
    let parts = ColumnParts { len: 3, buffers, validity, ..ColumnParts::default() };
    let name = Column::new(ColumnType::utf8(), parts, Checks::Full).unwrap();
    let price = Column::from_array(Array::from_vec(vec![2.5f64, -1.0, 0.5], [3]).unwrap()).unwrap();
    RecordBatch::from_columns([("price", price), ("name", name)]).unwrap()
}

fn saved(folder: &Folder, name: &str, batches: &[RecordBatch], options: IpcOptions) -> String {
    let path = folder.path(name);
    options.save(&path, &mut Batches::from_iter(batches.iter().cloned())).unwrap();
    text(&path).to_owned()
}

/// The rows of all batches, as text.
fn rows(path: &Path) -> Vec<String> {
    let file = OpenOptions::new().open_table(path).unwrap();
    let mut reader = file.reader();
    let mut rows = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        for row in 0..batch.len() {
            let cells = batch.columns().map(|column| format!("{:?}", column.unwrap().value(row).unwrap()));
            rows.push(cells.collect::<Vec<_>>().join(" "));
        }
    }
    rows
}

#[test]
fn files_streams_and_compressed_ones_become_each_other() {
    let folder = Folder::new("tables-ipc");
    let batches = [mixed(), mixed(), mixed().slice(1..2).unwrap()];
    let first = saved(&folder, "a.arrow", &batches, IpcOptions::new());
    let expected = rows(Path::new(&first));
    assert_eq!(expected.len(), 7);
    let mut from = first;
    for (name, options) in [
        ("b.arrows", &[][..]),
        ("c.arrow", &["--compress", "zstd"]),
        ("d.arrows", &["--compress", "lz4", "--memory", "1M"]),
        ("e", &["--to", "arrow", "--verify"]),
        ("f", &["--to", "arrows", "--verify"]),
    ] {
        let to = folder.path(name);
        let report = convert(&from, &to, options);
        assert!(report.contains(": 7 rows of 2 columns, "), "{report}");
        assert_eq!(rows(&to), expected, "{name}");
        let is_stream = OpenOptions::new().open_table(&to).unwrap().is_stream();
        assert_eq!(is_stream, ["b.arrows", "d.arrows", "f"].contains(&name), "{name}");
        from = text(&to).to_owned();
    }
    // A column by its name, text and nulls too.
    for name in ["name", ".name"] {
        let to = folder.path("name.arrow");
        convert(&format!("{from}:{name}"), &to, &["--force"]);
        assert_eq!(
            rows(&to),
            ["Element(Text(\"one\"))", "Null", "Element(Text(\"two\"))"]
                .repeat(2)
                .iter()
                .copied()
                .chain(["Null"])
                .collect::<Vec<_>>()
        );
    }
}

#[test]
fn columns_become_the_arrays_of_an_archive_and_records() {
    let folder = Folder::new("tables-arrays");
    let batches = [numbers(0, 5), numbers(5, 0), numbers(5, 3)];
    for (name, options) in [
        ("a.arrow", IpcOptions::new()),
        ("b.arrows", IpcOptions::new()),
        ("c.arrow", IpcOptions::new().compression(IpcCompression::Lz4)),
    ] {
        let from = saved(&folder, name, &batches, options);
        let (archive, records) = (folder.path("out.npz"), folder.path("out.npy"));
        let report = convert(&from, &archive, &["--force", "--verify", "--memory", "1M"]);
        assert!(report.contains(": 4 arrays, "), "{report}");
        let contents = open_all(&archive).unwrap();
        assert_eq!(contents.names().collect::<Vec<_>>(), ["price", "count", "odd", "day"]);
        let array = |name: &str| contents.get(name).unwrap().open().unwrap();
        assert_eq!(array("price").to_string(), "[0.  0.5 1.  1.5 2.  2.5 3.  3.5]");
        assert_eq!(array("count").to_string(), "[0 1 2 3 4 5 6 7]");
        assert_eq!(array("odd").to_string(), "[ True False  True False False  True False  True]");
        assert_eq!(*array("day").dtype(), DType::datetime(TimeUnit::DAY));
        assert_eq!(array("day").get(&[7]).unwrap(), Value::DateTime { count: 7, unit: TimeUnit::DAY });

        let report = convert(&from, &records, &["--force", "--verify"]);
        assert!(report.contains(": 8 records of 4 fields, "), "{report}");
        let records = open(&records).unwrap();
        assert_eq!(records.shape(), [8]);
        for name in ["price", "count", "odd", "day"] {
            assert!(records.at(&format!(".{name}")).unwrap().equals(&array(name)).unwrap(), "{name}");
        }

        for column in ["price", ".price"] {
            let price = folder.path("price.npy");
            convert(&format!("{from}:{column}"), &price, &["--force"]);
            assert!(open(&price).unwrap().equals(&array("price")).unwrap());
        }
        let every_second = folder.path("second.npy");
        convert(&format!("{from}:.count[::2]"), &every_second, &["--force"]);
        assert_eq!(open(&every_second).unwrap().to_string(), "[0 2 4 6]");
    }
}

#[test]
fn arrays_and_fields_of_records_become_columns_and_come_back() {
    let folder = Folder::new("tables-back");
    let from = saved(&folder, "a.arrow", &[numbers(0, 300), numbers(300, 100)], IpcOptions::new());
    let expected = rows(Path::new(&from));
    let (archive, records) = (folder.path("a.npz"), folder.path("a.npy"));
    convert(&from, &archive, &[]);
    convert(&from, &records, &[]);
    for from in [&archive, &records] {
        let to = folder.path("back.arrow");
        let report = convert(text(from), &to, &["--force", "--verify"]);
        assert!(report.contains(": 400 rows of 4 columns, "), "{report}");
        // Booleans are bytes in arrays, and bits in Arrow.
        assert_eq!(rows(&to), expected, "{}", from.display());
        let file = OpenOptions::new().open_table(&to).unwrap();
        assert_eq!(file.len(), 1);
        assert_eq!(
            file.schema().to_string(),
            "price: double not null\ncount: int32 not null\nodd: bool not null\nday: date32[day]"
                .replace("double", "float64")
        );
    }
    // Further axes are lists of a fixed size, which are arrays again.
    let matrix: DArray = Array::from_vec((0..24u8).collect(), [4, 3, 2]).unwrap().into();
    let (path, to, back) = (folder.path("m.npy"), folder.path("m.arrow"), folder.path("back.npy"));
    crossdock::exchange::files::save(&path, &matrix).unwrap();
    convert(text(&path), &to, &[]);
    convert(text(&to), &back, &[]);
    assert!(open(&back).unwrap().equals(&matrix).unwrap());
    // Rows that must be converted come in batches of the memory.
    let wide: DArray = Array::from_vec(vec![1.5f32; 1 << 20], [1 << 20]).unwrap().into();
    crossdock::exchange::files::save(&path, &wide).unwrap();
    convert(text(&path), &to, &["--force", "--memory", "2M", "--dtype", "float64"]);
    let file = OpenOptions::new().open_table(&to).unwrap();
    assert_eq!((file.len(), file.rows().unwrap()), (4, 1 << 20));
    let truths: DArray = Array::from_vec(vec![1u8; 1 << 22], [1 << 22]).unwrap().into();
    crossdock::exchange::files::save(&path, &truths.view_as(&DType::BOOL).unwrap()).unwrap();
    convert(text(&path), &to, &["--force", "--memory", "1M"]);
    assert_eq!(OpenOptions::new().open_table(&to).unwrap().len(), 4);
    // Dates that are no time are null, in lists too.
    let times: DArray = Array::from_vec(vec![0i64, i64::MIN, 2, 3], [2, 2]).unwrap().into();
    let times = times.view_as(&DType::datetime(TimeUnit::NANOSECOND)).unwrap();
    crossdock::exchange::files::save(&path, &times).unwrap();
    convert(text(&path), &to, &["--force"]);
    let file = OpenOptions::new().open_table(&to).unwrap();
    let lists = file.column(0, 0).unwrap().to_string();
    assert!(
        lists.starts_with("[[1970-01-01T00:00:00.000000000, null], [1970-") && !lists.ends_with("null]]")
    );
    file.column(0, 0).unwrap().check(Checks::Full).unwrap();
}

#[test]
fn a_batch_that_is_compressed_is_divided_into_equal_parts() {
    let folder = Folder::new("tables-parts");
    let numbers: DArray = Array::from_vec(vec![1u32; 1 << 20], [1 << 20]).unwrap().into();
    let batch = RecordBatch::from_columns([("n", Column::from_array(numbers).unwrap())]).unwrap();
    let from = saved(&folder, "whole.arrow", &[batch], IpcOptions::new());
    let to = folder.path("parts.arrow");
    convert(&from, &to, &["--compress", "lz4", "--memory", "1M"]);
    let file = OpenOptions::new().open_table(&to).unwrap();
    let lens: Vec<usize> = (0..file.len()).map(|index| file.batch(index).unwrap().len()).collect();
    assert_eq!(lens, [1 << 18; 4]);
}

#[test]
fn what_no_array_expresses_is_refused_or_skipped_by_name() {
    let folder = Folder::new("tables-refused");
    let from = saved(&folder, "mixed.arrow", &[mixed(), mixed()], IpcOptions::new());
    let to = folder.path("out.npz");
    let refused = |to: &Path, options: &[&str], status| {
        refusal(&run([&["convert", &from, text(to)], options].concat()), status)
    };
    let said = refused(&to, &[], 1);
    assert!(said.contains(r#"column "name""#) && said.contains("--skip-refused"), "{said}");
    assert!(!to.exists());
    // A quiet conversion says nothing of its file either.
    let quiet = folder.path("quiet.arrow");
    assert_eq!(convert(&from, &quiet, &["-q"]), "");
    assert_eq!(rows(&quiet).len(), 6);
    let skipped = run(["convert", &from, text(&to), "--skip-refused"]);
    assert!(stderr(&skipped).contains(r#"column "name": it is a column of string"#), "{}", stderr(&skipped));
    assert!(stdout(&skipped).contains("1 array"), "{}", stdout(&skipped));
    assert_eq!(open(&to).unwrap().to_string(), "[ 2.5 -1.   0.5  2.5 -1.   0.5]");

    let said = refused(&folder.path("out.arrow"), &["--dtype", "float32"], 2);
    assert!(said.contains("--dtype applies to arrays"), "{said}");
    let said = refused(&folder.path("other.npz"), &["--compress", "lz4"], 2);
    assert!(said.contains("--compress is for Arrow IPC files"), "{said}");
    let arrays = [
        ("a", Array::from_vec(vec![1u8, 2], [2]).unwrap().into()),
        ("b", Array::from_vec(vec![1u8], [1]).unwrap().into()),
    ];
    let uneven = folder.path("uneven.npz");
    crossdock::exchange::files::SaveOptions::new().save_all(&uneven, &arrays).unwrap();
    let said = refusal(&run(["convert", text(&uneven), text(&folder.path("u.arrow"))]), 1);
    assert!(said.contains(r#"array "a" has 2 rows, but "b" has 1"#), "{said}");
}

#[test]
fn a_table_is_lent_as_the_bytes_of_its_file() {
    let Some(python) = counterpart("CROSSDOCK_PYTHON", "python3", &["-c", "import pyarrow"]) else { return };
    let folder = Folder::new("tables-lent");
    let program = format!(
        "{}print(a['table'], x.num_rows, x['name'].to_pylist())\n\
        print(any({:?} in line for line in open('/proc/self/maps')))",
        include_str!("../../src/lend/snippets/pyarrow.py"),
        "a.arrow"
    );
    let lend = |from: &str, options: &[&str]| {
        run([&["lend"], options, &[from, "--", python.as_str(), "-c", program.as_str()]].concat())
    };
    for (name, kind) in [("a.arrow", "file"), ("a.arrows", "stream")] {
        let from = saved(&folder, name, &[mixed(), mixed()], IpcOptions::new());
        let told = format!("{kind} 6 ['one', None, 'two', 'one', None, 'two']\n");
        assert_eq!(answer(&lend(&from, &[])), format!("{told}True\n"));
        let copied = lend(&from, &["--copy", "always"]);
        assert_eq!(stdout(&copied), format!("{told}False\n"), "{}", stderr(&copied));
    }
    // A column is an array, and several are lent by their names.
    let from = text(&folder.path("a.arrow")).to_owned();
    let said = refusal(&lend(&from, &["--dtype", "float32", "--copy", "if-needed"]), 2);
    assert!(said.contains("--dtype applies to arrays, but the file holds a table"), "{said}");
    let program = "import json, os; a = json.loads(os.environ['CROSSDOCK_ARRAYS']); \
        print(a['t']['table'], a['t']['dtype'], a['p']['table'], a['p']['dtype'], a['p']['shape'])";
    let (table, column) = (format!("t={from}"), format!("p={from}:.price"));
    let both =
        run(["lend", "--copy", "if-needed", "-a", &table, "-a", &column, "--", &python, "-c", program]);
    assert_eq!(stdout(&both), "file uint8 None float64 [6]\n", "{}", stderr(&both));
}

#[test]
fn a_table_with_offsets_that_lie_is_not_written_again() {
    let folder = Folder::new("tables-lies");
    let path = saved(&folder, "a.arrow", &[mixed()], IpcOptions::new());
    let mut bytes = std::fs::read(&path).unwrap();
    let offsets: Vec<u8> = [0i32, 3, 3, 6].iter().flat_map(|offset| offset.to_le_bytes()).collect();
    let at = bytes.windows(offsets.len()).position(|found| found == offsets).unwrap() + 4;
    bytes[at..at + 4].copy_from_slice(&2_000_000_000i32.to_le_bytes());
    std::fs::write(&path, &bytes).unwrap();
    for (to, options) in [("b.arrow", &[][..]), ("b.arrows", &[]), ("c.arrow", &["--compress", "lz4"])] {
        let to = folder.path(to);
        let refused = refusal(&run([&["convert", &path, text(&to)], options].concat()), 1);
        assert!(refused.contains("column \"name\": offset 2000000000 at index 1"), "{refused}");
        assert!(!to.exists());
    }
}

#[test]
fn rows_of_tables_are_lines_of_text_and_csv() {
    let folder = Folder::new("tables-cat");
    let batches = [mixed(), mixed().slice(2..).unwrap()];
    for (name, options) in
        [("a.arrow", IpcOptions::new()), ("b.arrow", IpcOptions::new().compression(IpcCompression::Zstd))]
    {
        let from = saved(&folder, name, &batches, options);
        let cat = |rest: &str, options: &[&str]| {
            let target = format!("{from}{rest}");
            answer(&run([&["cat", &target], options].concat()))
        };
        assert_eq!(cat("", &[]), "2.5 'one'\n-1.0 null\n0.5 'two'\n0.5 'two'\n");
        assert_eq!(cat("", &["--csv"]), "price,name\n2.5,one\n-1.0,\n0.5,two\n0.5,two\n");
        assert_eq!(cat(":name", &[]), "'one'\nnull\n'two'\n'two'\n");
        assert_eq!(cat(":.name", &["--csv", "--no-header"]), "one\nnull\ntwo\ntwo\n");
        for quoted in [":.\"price\"", "['price']", ":['name']", ":.'name'"] {
            let plain = if quoted.contains("price") { ":price" } else { ":name" };
            assert_eq!(cat(quoted, &[]), cat(plain, &[]), "{quoted}");
        }
        // Columns of numbers are arrays.
        assert_eq!(cat(":price", &["--csv"]), "2.5\n-1.0\n0.5\n0.5\n");
        assert_eq!(cat(":.price[::2]", &[]), "2.5\n0.5\n");
        let named = answer(&run(["complete", "--", "cat", &format!("{from}:n")]));
        assert_eq!(named, format!("{from}:name\n"));
        let said = refusal(&run(["cat", &from, "--bytes"]), 2);
        assert!(said.contains("--bytes applies to arrays") && said.contains("name a column"), "{said}");
        assert_eq!(run(["cat", &format!("{from}:price"), "--bytes"]).stdout.len(), 4 * 8);
    }
    // Lists have all their items, and are one field of CSV.
    let lists = Column::from_array(Array::from_vec((0..24u8).collect(), [24]).unwrap()).unwrap();
    let item =
        std::sync::Arc::new(crossdock::table::Field::new("item", lists.column_type().clone()).unwrap());
    let parts = ColumnParts { len: 2, children: vec![lists], ..ColumnParts::default() };
    let lists = Column::new(ColumnType::FixedList { item, len: 12 }, parts, Checks::Full).unwrap();
    let name = mixed().column(1).unwrap().slice(..2).unwrap();
    let batch = RecordBatch::from_columns([("l", lists), ("n", name)]).unwrap();
    let from = saved(&folder, "lists.arrows", &[batch], IpcOptions::new());
    let first = (0..12).map(|k| k.to_string()).collect::<Vec<_>>().join(", ");
    let found = answer(&run(["cat", &from, "--csv"]));
    assert_eq!(found.lines().nth(1), Some(&*format!("\"[{first}]\",one")));
}

#[test]
fn a_column_without_a_name_takes_no_name_in_brackets() {
    let folder = Folder::new("tables-unnamed");
    let column = |numbers: Vec<i64>| {
        let len = numbers.len();
        Column::from_array(Array::from_vec(numbers, [len]).unwrap()).unwrap()
    };
    let batch = RecordBatch::from_columns([("", column(vec![1, 2])), ("a,b", column(vec![3, 4]))]).unwrap();
    let from = saved(&folder, "odd.arrow", &[batch], IpcOptions::new());
    assert_eq!(answer(&run(["cat", &format!("{from}['a,b']")])), "3\n4\n");
}

#[test]
fn csv_of_one_column_has_no_empty_lines_and_tells_nulls_from_text() {
    let folder = Folder::new("tables-nulls");
    let texts = b"nullx";
    let buffers =
        vec![Buffer::from_vec(vec![0i32, 0, 0, 4, 5]).unwrap(), Buffer::from_static(texts).unwrap()];
    let validity = Some(Buffer::from_static(&[0b1110u8]).unwrap());
    let parts = ColumnParts { len: 4, buffers, validity, ..ColumnParts::default() };
    let column = Column::new(ColumnType::utf8(), parts, Checks::Full).unwrap();
    let batch = RecordBatch::from_columns([("s", column.clone())]).unwrap();
    let from = saved(&folder, "one.arrow", &[batch], IpcOptions::new());
    let expected = "s\nnull\n\"\"\n\"null\"\nx\n";
    assert_eq!(answer(&run(["cat", &from, "--csv"])), expected);
    assert_eq!(answer(&run(["cat", &format!("{from}:s"), "--csv"])), expected);
    let batch = RecordBatch::from_columns([("s", column.clone()), ("t", column)]).unwrap();
    let from = saved(&folder, "two.arrow", &[batch], IpcOptions::new());
    assert_eq!(answer(&run(["cat", &from, "--csv"])), "s,t\n,\n\"\",\"\"\nnull,null\nx,x\n");
    let none = RecordBatch::new(crossdock::table::Schema::default(), [], 2).unwrap();
    let from = saved(&folder, "none.arrow", &[none], IpcOptions::new());
    assert_eq!(answer(&run(["cat", &from, "--csv"])), "");
}

#[test]
fn times_are_those_of_iso_8601_and_bytes_have_one_notation_in_csv() {
    let folder = Folder::new("tables-times");
    let zone = ColumnType::Timestamp { unit: TimeUnit::MILLISECOND, zone: Some("America/New_York".into()) };
    let types = [("zone", zone), ("time", ColumnType::Time(TimeUnit::MICROSECOND))];
    let from = of_types(&folder, "times.arrow", &types, &[0, 86_399_999_999]);
    assert_eq!(
        answer(&run(["cat", &from, "--csv"])),
        "zone,time\n1970-01-01T00:00:00.000Z,00:00:00.000000\n1972-09-26T23:59:59.999Z,23:59:59.999999\n"
    );
    let text = answer(&run(["cat", &format!("{from}:time")]));
    assert_eq!(text, "00:00:00.000000\n23:59:59.999999\n");
    // What no day has remains a count.
    let from = of_types(&folder, "late.arrow", &types[1..], &[86_400_000_000, -1]);
    let text = answer(&run(["cat", &from]));
    assert_eq!(text, "86400000000 microseconds\n-1 microseconds\n");
    // A terminal does not act on what a file calls its zone.
    let zone = ColumnType::Timestamp { unit: TimeUnit::SECOND, zone: Some("\x1b]0;x\x07".into()) };
    let from = of_types(&folder, "hostile.arrow", &[("zone", zone)], &[0]);
    assert_eq!(answer(&run(["cat", &from])), "1970-01-01T00:00:00Z[\\x1b]0;x\\x07]\n");

    let bytes = Buffer::from_static(b"\x00\xffa\\\n\x7fbc").unwrap();
    let parts = ColumnParts { len: 4, buffers: vec![bytes.clone()], ..ColumnParts::default() };
    let fixed = Column::new(ColumnType::FixedBinary(2), parts, Checks::Full).unwrap();
    let offsets = Buffer::from_vec(vec![0i32, 2, 4, 6, 8]).unwrap();
    let parts = ColumnParts { len: 4, buffers: vec![offsets, bytes], ..ColumnParts::default() };
    let any = Column::new(ColumnType::Binary(OffsetWidth::I32), parts, Checks::Full).unwrap();
    let batch = RecordBatch::from_columns([("fixed", fixed), ("any", any)]).unwrap();
    let from = saved(&folder, "bytes.arrow", &[batch], IpcOptions::new());
    let csv = answer(&run(["cat", &from, "--csv", "--no-header"]));
    let cells = ["\\x00\\xff", "a\\x5c", "\\x0a\\x7f", "bc"];
    assert_eq!(csv, cells.map(|cell| format!("{cell},{cell}\n")).concat());
    let text = answer(&run(["cat", &from]));
    for line in text.lines() {
        let (one, other) = line.split_once(' ').unwrap();
        assert!(one == other && one.starts_with("b'"), "{line}");
    }
}

#[test]
fn tables_are_compared_by_column_whatever_their_batches() {
    let folder = Folder::new("tables-diff");
    let of = |name, batches: &[RecordBatch]| saved(&folder, name, batches, IpcOptions::new());
    let part = |rows: std::ops::Range<usize>| mixed().slice(rows).unwrap();
    let (a, parts) = (of("a.arrow", &[mixed()]), of("b.arrow", &[part(0..2), part(2..2), part(2..3)]));
    let other = of("c.arrow", &[part(1..3), part(0..1)]);
    let diff = |a: &str, b: &str, options: &[&str]| run([&["diff", a, b], options].concat());
    let name = |path: &str| format!("{path}:name");
    for output in [diff(&a, &parts, &[]), diff(&name(&a), &name(&parts), &[])] {
        assert_eq!((output.status.code(), stdout(&output), stderr(&output)), (Some(0), "".into(), "".into()));
    }
    let output = diff(&a, &other, &[]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(1), String::new()));
    assert_eq!(
        stdout(&output),
        "price: different\n  elements       3 of 3 differ (100.00 %)\n  first          [0]: 2.5, -1.0\n  \
         max abs error  3.5 at [0]: 2.5, -1.0\n  max rel error  3.5 at [0]: 2.5, -1.0\n\
         name: different\n  elements       3 of 3 differ (100.00 %)\n  first          [0]: 'one', null\n\
         2 of 2 common columns differ\n"
    );
    let output = diff(&a, &other, &["--json"]);
    let json: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let field = &json["arrays"][1]["fields"][0];
    assert_eq!((&field["differing"], &field["first"]["b"]), (&3.into(), &"null".into()));
    assert_eq!(diff(&name(&a), &name(&other), &["-q"]).status.code(), Some(1));
    let longer = of("d.arrow", &[mixed(), mixed()]);
    let found = stdout(&diff(&name(&a), &name(&longer), &[]));
    assert!(found.ends_with(": different\n  shape          [3], [6]\n"), "{found}");
    // Columns are listed in the order of the table, and called so if all of them are arrays.
    let turned = |name, from: RecordBatch| {
        let columns = [("name", from.column(1).unwrap()), ("price", from.column(0).unwrap())];
        of(name, &[RecordBatch::from_columns(columns).unwrap()])
    };
    let (one, two) = (turned("one.arrow", mixed()), turned("two.arrow", mixed().slice(1..).unwrap()));
    let found = stdout(&diff(&one, &two, &[]));
    assert!(found.starts_with("name: different\n") && found.contains("\nprice: different\n"), "{found}");
    let prices = |name, from: RecordBatch| {
        let column = || from.column(0).unwrap();
        of(name, &[RecordBatch::from_columns([("p", column()), ("q", column())]).unwrap()])
    };
    let (one, two) = (prices("one.arrow", mixed()), prices("two.arrow", mixed().slice(1..).unwrap()));
    let found = stdout(&diff(&one, &two, &[]));
    assert!(found.ends_with("2 of 2 common columns differ\n"), "{found}");
    // The elements that are shown are those of the row, whatever its batch.
    let last = of("e.arrow", &[part(0..2), part(2..2), part(0..1)]);
    let found = stdout(&diff(&name(&parts), &name(&last), &[]));
    assert!(found.ends_with("  first          [2]: 'two', 'one'\n"), "{found}");
    // Numbers with nulls have the tolerances of arrays.
    let numbers = |name, numbers: [f64; 3]| {
        let buffers = vec![Buffer::from_vec(numbers.to_vec()).unwrap()];
        let validity = Some(Buffer::from_static(&[0b101u8]).unwrap());
        let parts = ColumnParts { len: 3, buffers, validity, ..ColumnParts::default() };
        let column = Column::new(ColumnType::Fixed(DType::F64), parts, Checks::Full).unwrap();
        of(name, &[RecordBatch::from_columns([("n", column)]).unwrap()])
    };
    let (one, near) = (numbers("one.arrow", [1.0, 5.0, 2.0]), numbers("near.arrow", [1.0, 6.0, 2.5]));
    assert_eq!(diff(&one, &near, &["--atol", "0.5"]).status.code(), Some(0));
    let found = stdout(&diff(&one, &near, &[]));
    assert!(
        found.contains("1 of 3 differ") && found.contains("max abs error  0.5 at [2]: 2.0, 2.5"),
        "{found}"
    );
}

/// A table of one column of 8 bytes an element with each of these types, over the same numbers.
fn of_types(folder: &Folder, name: &str, types: &[(&str, ColumnType)], numbers: &[i64]) -> String {
    let column = |(name, ty): &(&str, ColumnType)| {
        let buffers = vec![Buffer::from_vec(numbers.to_vec()).unwrap()];
        let parts = ColumnParts { len: numbers.len(), buffers, ..ColumnParts::default() };
        ((*name).to_owned(), Column::new(ty.clone(), parts, Checks::Full).unwrap())
    };
    let batch = RecordBatch::from_columns(types.iter().map(column)).unwrap();
    saved(folder, name, &[batch], IpcOptions::new())
}

#[test]
fn columns_of_other_types_differ_though_their_elements_are_the_same() {
    let folder = Folder::new("tables-types");
    let zone = |zone: &str| ColumnType::Timestamp { unit: TimeUnit::MICROSECOND, zone: Some(zone.into()) };
    let naive = ColumnType::Timestamp { unit: TimeUnit::MICROSECOND, zone: None };
    let table = |name: &str, ty: &ColumnType| of_types(&folder, name, &[("t", ty.clone())], &[1, 2]);
    let int = ColumnType::Fixed(DType::I64);
    for (a, b, told) in [
        (zone("UTC"), naive, "timestamp[us, tz=UTC], timestamp[us]"),
        (zone("UTC"), zone("Asia/Tokyo"), "timestamp[us, tz=UTC], timestamp[us, tz=Asia/Tokyo]"),
        (ColumnType::Time(TimeUnit::MICROSECOND), int.clone(), "time64[us], int64"),
        (
            ColumnType::Time(TimeUnit::MICROSECOND),
            ColumnType::Time(TimeUnit::NANOSECOND),
            "time64[us], time64[ns]",
        ),
    ] {
        let (a, b) = (table("a.arrow", &a), table("b.arrow", &b));
        for (a, b) in [(a.clone(), b.clone()), (format!("{a}:t"), format!("{b}:t"))] {
            for options in [&[][..], &["--rtol", "1"]] {
                let output = run([&["diff", &a, &b], options].concat());
                assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), ""), "{told}");
                assert!(
                    stdout(&output).contains(&format!("  dtype          {told}\n")),
                    "{}",
                    stdout(&output)
                );
            }
        }
    }
    // The type of a column is told, also where its elements are compared as those of an array.
    let time = ColumnType::Time(TimeUnit::MICROSECOND);
    let a = table("a.arrow", &time);
    let b = of_types(&folder, "b.arrow", &[("t", time)], &[1, 3]);
    let output = run(["diff", &a, &b, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(json["arrays"][0]["a"]["dtype"], "time64[us]");
    assert_eq!(json["arrays"][0]["fields"][0]["differing"], 1);
    // Numbers may have other dtypes if there is a tolerance.
    let (int, double) = (table("a.arrow", &int), folder.path("b.arrow"));
    let column = Column::from_array(Array::from_vec(vec![1.0, 2.0], [2]).unwrap()).unwrap();
    let batch = RecordBatch::from_columns([("t", column)]).unwrap();
    IpcOptions::new().save(&double, &mut Batches::from_iter([batch])).unwrap();
    assert_eq!(run(["diff", &int, text(&double)]).status.code(), Some(1));
    assert_eq!(run(["diff", &int, text(&double), "--rtol", "0"]).status.code(), Some(0));
}

#[test]
fn columns_of_one_name_are_compared_in_their_order_and_no_name_of_one() {
    let folder = Folder::new("tables-twice");
    let table = |name: &str, numbers: &[i32]| {
        let column = |number| Column::from_array(Array::from_vec(vec![number], [1]).unwrap()).unwrap();
        let columns = numbers.iter().map(|&number| ("a", column(number)));
        saved(&folder, name, &[RecordBatch::from_columns(columns).unwrap()], IpcOptions::new())
    };
    let (a, b, c) = (table("a.arrow", &[1, 2]), table("b.arrow", &[1, 5]), table("c.arrow", &[1]));
    assert_eq!(run(["diff", &a, &a]).status.code(), Some(0));
    let output = run(["diff", &a, &b]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let told = stdout(&output);
    assert!(told.starts_with("a (2 of 2): different\n") && told.contains("[0]: 2, 5\n"), "{told}");
    assert!(told.ends_with("1 of 2 common columns differ\n"), "{told}");
    let output = run(["diff", &a, &c]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), format!("only in {a}: a\n")));
    let named = format!("{a}:a");
    let out = [folder.path("out.npy"), folder.path("out.arrow")];
    for arguments in [
        vec!["cat", &named],
        vec!["inspect", &named],
        vec!["cat", &format!("{named}[0]")],
        vec!["convert", &named, text(&out[0])],
        vec!["convert", &named, text(&out[1])],
    ] {
        let said = refusal(&run(&arguments), 1);
        assert!(said.contains("are named \"a\"; rename them apart"), "{arguments:?}: {said}");
    }
    let said = refusal(&run(["diff", &named, &named]), 2);
    assert!(said.contains("2 columns are named"), "{said}");
}

#[test]
fn streams_one_after_the_other_are_refused() {
    let folder = Folder::new("tables-two");
    let one = std::fs::read(saved(&folder, "a.arrows", &[mixed()], IpcOptions::new())).unwrap();
    let without_end = one.len() - 8;
    for (bytes, at) in
        [([&one[..], &one].concat(), one.len()), ([&one[..without_end], &one].concat(), without_end)]
    {
        let path = folder.file("two.arrows", bytes);
        let said = refusal(&run(["inspect", text(&path)]), 1);
        assert!(said.contains(&format!("another stream begins at byte {at}; write each stream")), "{said}");
    }
    // Zeros behind the end are padding.
    let path = folder.file("padded.arrows", [&one[..], &[0; 64]].concat());
    assert_eq!(rows(&path).len(), 3);
}
