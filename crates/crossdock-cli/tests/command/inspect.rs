//! `crossdock inspect`: what it prints for an array.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use crate::common::{Folder, answer, crossdock, data, npy, refusal, run, target};
use crossdock::DArray;
use serde_json::{Value, json};

fn inspect(target: &str, options: &[&str]) -> String {
    answer(&run([&["inspect", target], options].concat()))
}

fn as_json(target: &str, options: &[&str]) -> Value {
    serde_json::from_str(&inspect(target, &[&["--json"], options].concat())).unwrap()
}

#[test]
fn the_photograph_is_told_in_full() {
    let text = inspect(data("rocket.npy").to_str().unwrap(), &["--stats"]);
    let bytes = &std::fs::read(data("rocket.npy")).unwrap()[128..];
    let mean = bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>() as f64 / bytes.len() as f64;
    for line in [
        "  dtype      uint8",
        "  shape      427 x 640 x 3",
        "  strides    1920 B, 3 B, 1 B",
        "  order      C (row-major), contiguous",
        "  size       819840 elements of 1 B: 819840 B (800.62 KiB)",
        "  place      cpu, file map, read-only, aliased (other processes may write it)",
        "  axis 0 > 427 x 1920 B  |########################|  no gap",
        "  contiguous: 819840 B without gaps",
        "  min 0, 25 % 40, median 60, 75 % 84, max 255",
        &format!("  mean {mean:.4}, standard deviation "),
        " quartiles and histogram of a sample of ",
    ] {
        assert!(text.lines().any(|found| found.contains(line)), "{line:?} is missing in\n{text}");
    }
    // Without an option, the facts fit on a small terminal, and no element is read.
    let facts = inspect(data("rocket.npy").to_str().unwrap(), &[]);
    assert!(text.starts_with(&facts) && facts.lines().count() <= 24, "{facts}");
}

#[test]
fn a_view_is_told_as_it_lies() {
    let view = as_json(&target(&data("elevation.npy"), "::-2, 3::5"), &["--stats"]);
    let bytes = std::fs::read(data("elevation.npy")).unwrap();
    let all: Vec<i64> =
        bytes[128..].as_chunks().0.iter().map(|&pair| i16::from_le_bytes(pair).into()).collect();
    let rows = (0..344).rev().step_by(2);
    let values: Vec<i64> = rows
        .flat_map(|row| (3..403).step_by(5).map(|column| all[row * 403 + column]).collect::<Vec<_>>())
        .collect();
    assert_eq!(view["offset"], json!(128 + 343 * 806 + 6));
    assert_eq!(view["shape"], json!([172, 80]));
    assert_eq!(view["strides"], json!([-1612, 10]));
    assert_eq!(view["orders"], json!([]));
    let statistics = &view["statistics"][0];
    assert_eq!(statistics["min"], json!(values.iter().min()));
    assert_eq!(statistics["max"], json!(values.iter().max()));
    assert_eq!(statistics["mean"], json!(values.iter().sum::<i64>() as f64 / values.len() as f64));
}

#[test]
fn records_are_told_field_by_field() {
    let folder = Folder::new("inspect-records");
    let mut bytes = Vec::new();
    for (price, when, ok) in [(1.5f64, 0i64, 1u8), (f64::NAN, i64::MIN, 0), (-2.5, 86_400, 7)] {
        bytes.push(ok);
        bytes.extend_from_slice(&price.to_be_bytes());
        bytes.extend_from_slice(&when.to_le_bytes());
        bytes.extend_from_slice(b"ab");
    }
    let descr = "[('ok', '|b1'), ('price', '>f8'), ('when', '<M8[s]'), ('code', '|S2')]";
    let file = folder.file("a.npy", npy(descr, false, "(3,)", &bytes));
    let told = as_json(file.to_str().unwrap(), &["--stats", "--values=2"]);
    assert_eq!(told["schema"], "crossdock.array/1");
    assert_eq!(
        told["values"],
        json!([
            {"ok": true, "price": 1.5, "when": "1970-01-01T00:00:00", "code": "ab"},
            {"ok": false, "price": "NaN", "when": "NaT", "code": "ab"},
        ])
    );
    assert_eq!(
        told["dtype"]["fields"][1],
        json!({"name": "price", "title": null, "offset": 1, "dtype": ">float64"})
    );
    assert_eq!(
        told["statistics"],
        json!([
            {"field": ".ok", "dtype": "bool", "false": 1, "true": 2},
            {"field": ".price", "dtype": ">float64", "min": -2.5, "max": 1.5, "mean": -0.5, "std": 2.0,
             "nan": 1, "zeros": 0, "quartiles": [-1.5, -0.5, 0.5], "sampled": null,
             "histogram": {"from": -2.5, "to": 1.5, "counts": two_of(0, 23)}},
            {"field": ".when", "dtype": "datetime64[s]", "min": "1970-01-01T00:00:00",
             "max": "1970-01-02T00:00:00", "mean": null, "std": null, "nan": 1, "zeros": 1,
             "quartiles": ["1970-01-01T06:00:00", "1970-01-01T12:00:00", "1970-01-01T18:00:00"],
             "histogram": {"from": 0.0, "to": 86400.0, "counts": two_of(0, 23)}, "sampled": null},
            {"field": ".code", "dtype": "S2"},
        ])
    );
    let text = inspect(file.to_str().unwrap(), &["--stats", "--values"]);
    assert!(text.contains("  2   True   -2.5  1970-01-02T00:00:00"), "{text}");
    assert!(text.contains("record of 19 B | ok 1 B | price 8 B | when 8 B | code 2 B |"), "{text}");
    assert!(text.contains("1 NaN") && text.contains("1 NaT") && text.contains("2 True, 1 False"), "{text}");
}

/// The counts of a histogram with one value in each of two bars.
fn two_of(first: usize, second: usize) -> Vec<u64> {
    (0..24).map(|bar| u64::from(bar == first || bar == second)).collect()
}

#[test]
fn a_huge_file_is_told_from_its_header() {
    let folder = Folder::new("inspect-huge");
    const NBYTES: u64 = 100 << 30;
    let path = folder.file("huge.npy", npy("'<f4'", false, &format!("(1048576, {})", NBYTES >> 22), &[]));
    File::options().write(true).open(&path).unwrap().set_len(128 + NBYTES).unwrap();
    let arguments = ["inspect", path.to_str().unwrap(), "--values=1", "--protocols"];
    let told = answer(&run(&arguments[..2]));
    assert!(told.contains("107374182400 B (100.00 GiB)"), "{told}");
    let coloured = crate::terminal::on_terminal(&mut crossdock(&arguments[..2])).0;
    assert!(coloured.contains("1048576 × 25600"), "{coloured}");
    // Pages of the file that were read, also ahead, stay in the page cache, and are counted.
    let cached = crate::common::cached_nbytes(&path);
    assert!(cached.is_none_or(|nbytes| nbytes <= 1 << 20), "{cached:?} bytes were read");
    let told = answer(&run(arguments));
    assert!(told.contains("[[0. 0. 0. "), "{told}");
    let most = (1 << 20).max(crate::common::readahead_nbytes(&path));
    let cached = crate::common::cached_nbytes(&path);
    assert!(
        cached.is_none_or(|nbytes| nbytes <= most),
        "{cached:?} bytes were read, at most {most} expected"
    );
    let listed = as_json(path.to_str().unwrap(), &[]);
    assert!(listed.get("statistics").is_none() && listed.get("values").is_none());
}

#[test]
fn a_checkpoint_of_300_tensors_is_told_from_its_header() {
    let folder = Folder::new("inspect-checkpoint");
    let path = folder.path("model.safetensors");
    let weight = DArray::from_vec(vec![1f32; 64 * 128], &[64, 128]).unwrap();
    let arrays: Vec<_> =
        (0..300).map(|n| (format!("model.layers.{}.w{}", n / 10, n % 10), weight.clone())).collect();
    crossdock::exchange::files::SaveOptions::new().save_all(&path, &arrays).unwrap();
    let file = File::open(&path).unwrap();
    file.sync_all().unwrap();
    // SAFETY: it drops clean pages of the file from the page cache, and takes no pointer.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    let before = crate::common::cached_nbytes(&path);
    if before.is_some_and(|nbytes| nbytes > 0) {
        crossdock_testkit::not_run("the count of bytes read: this file system has no page cache of its own");
    }
    let told = inspect(path.to_str().unwrap(), &[]);
    assert!(told.contains("300 arrays of 9830400 B"), "{told}");
    let cached = crate::common::cached_nbytes(&path).filter(|_| before == Some(0));
    assert!(cached.is_none_or(|nbytes| (1..=1 << 20).contains(&nbytes)), "{cached:?} bytes were read");
}

#[test]
fn what_is_compressed_is_told_without_decoding_it() {
    let folder = Folder::new("inspect-deflated");
    let path = folder.path("a.npz");
    let array = crossdock::open(data("elevation.npy")).unwrap();
    let save = crossdock::exchange::files::SaveOptions::new().deflated(true);
    save.save_all(&path, &[("a", array.clone()), ("b", array)]).unwrap();
    // The elements of one array are damaged, so that it cannot be decoded.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[1000..1100].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let damaged = target(&path, "a[::2].");
    let damaged = damaged.trim_end_matches('.');
    let told = inspect(damaged, &[]);
    assert!(told.contains("shape      172 x 403") && told.contains("stored     deflated"), "{told}");
    let told = as_json(damaged, &[]);
    assert_eq!((&told["nbytes"], &told["decoded"]), (&json!(172 * 403 * 2), &json!("deflated")));
    for option in ["--stats", "--values", "--picture", "--verify", "--protocols"] {
        assert!(refusal(&run(["inspect", damaged, option]), 1).contains("a.npz"), "{option}");
    }
    let whole = as_json(&target(&path, "b"), &["--stats"]);
    let original = as_json(data("elevation.npy").to_str().unwrap(), &["--stats"]);
    assert_eq!(whole["statistics"], original["statistics"]);
}

#[test]
fn values_are_printed_as_rows() {
    let elevation = data("elevation.npy");
    let text = inspect(elevation.to_str().unwrap(), &["--values=2"]);
    assert!(text.contains("values, the first 2 of 344 along axis 0\n  [["), "{text}");
    let told = as_json(&target(&elevation, ":3, :2"), &["--values"]);
    let bytes = std::fs::read(&elevation).unwrap();
    let at = |row: usize, column: usize| {
        let start = 128 + (row * 403 + column) * 2;
        i16::from_le_bytes([bytes[start], bytes[start + 1]])
    };
    assert_eq!(told["values"], json!([[at(0, 0), at(0, 1)], [at(1, 0), at(1, 1)], [at(2, 0), at(2, 1)]]));
}

#[test]
fn orders_and_alignment_are_told() {
    let folder = Folder::new("inspect-orders");
    let columns = folder.file("f.npy", npy("'<i4'", true, "(2, 3)", &[0; 24]));
    assert!(inspect(columns.to_str().unwrap(), &[]).contains("order      F (column-major), contiguous"));
    let line = folder.file("l.npy", npy("'<i4'", false, "(6,)", &[0; 24]));
    assert!(
        inspect(line.to_str().unwrap(), &[]).contains("order      both C (row-major) and F (column-major)")
    );
    let packed = folder.file("p.npy", npy("[('a', '|u1'), ('b', '<i4')]", false, "(2,)", &[0; 10]));
    let field = as_json(&target(&packed, ".b"), &[]);
    assert_eq!((&field["offset"], &field["is_aligned"]), (&json!(129), &json!(false)));
    let single = folder.file("s.npy", npy("'<f8'", false, "()", &3.5f64.to_le_bytes()));
    assert!(inspect(single.to_str().unwrap(), &[]).contains("(), a single element"));
    let empty = folder.file("e.npy", npy("'<f8'", false, "(0, 3)", &[]));
    assert!(inspect(empty.to_str().unwrap(), &[]).contains("no elements (of 8 B each)"));
}

#[test]
fn a_header_of_odd_length_is_no_error_but_told() {
    let folder = Folder::new("inspect-odd");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }\n";
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend([5i32, 7].iter().flat_map(|value| value.to_le_bytes()));
    let file = folder.file("odd.npy", bytes);
    let told = as_json(file.to_str().unwrap(), &["--stats"]);
    let offset = 10 + header.len();
    assert_eq!((&told["offset"], &told["is_aligned"]), (&json!(offset), &json!(offset.is_multiple_of(4))));
    assert_eq!(told["statistics"][0]["mean"], json!(6.0));
}

#[test]
fn protocols_say_how_or_why_not() {
    let told = as_json(data("rocket.npy").to_str().unwrap(), &["--protocols", "--stats"]);
    let rows = told["protocols"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["protocol"].as_str().unwrap().contains(name)).unwrap();
    assert_eq!(row("MemoryView (Pin)")["in_place"], json!(true));
    assert_eq!(row("shared memory (Pin)")["in_place"], json!(true));
    let read = row("MemoryView (Read)");
    assert!(read["reason"].as_str().unwrap().contains("another owner"), "{read}");
    assert!(!told["protocols"].to_string().contains("was exported by"), "the probes count as exports");
    assert_eq!(read["would_copy"], json!(819_840));
    assert!(row("DLPack")["reason"].as_str().unwrap().contains("read-only"));
    assert_eq!(row("ndarray")["in_place"], json!(true));
    let consumers = told["consumers"].as_array().unwrap();
    let asarray = consumers.iter().find(|row| row["name"] == "numpy.asarray").unwrap();
    assert_eq!(
        (&asarray["library"], &asarray["outcome"], &asarray["reason"]),
        (&json!("numpy"), &json!("in place"), &json!("read-only"))
    );
    let reversed = as_json(&target(&data("elevation.npy"), "::-2, ::3"), &["--protocols"]);
    assert!(
        reversed["protocols"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["protocol"] == "ndarray (Pin)" && row["in_place"] == true)
    );
    let folder = Folder::new("inspect-protocols");
    let packed = folder.file("p.npy", npy("[('a', '|u1'), ('b', '<i4')]", false, "(2,)", &[0; 10]));
    let told = inspect(&target(&packed, ".b"), &["--protocols"]);
    assert!(told.lines().any(|line| line.contains("ndarray") && line.contains(" not ")), "{told}");
    let text = folder.file("u.npy", npy("'<U2'", false, "(1,)", &[0; 8]));
    let told = inspect(text.to_str().unwrap(), &["--protocols"]);
    assert!(told.lines().any(|line| line.contains("  DLPack  ") && line.contains("U2")), "{told}");
    assert!(as_json(data("rocket.npy").to_str().unwrap(), &[])["protocols"].is_null());
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_named_and_nothing_is_printed() {
    let folder = Folder::new("inspect-shrink");
    let path = folder.file("a.npy", npy("'|u1'", false, "(68719476736,)", &[]));
    // A sparse file that is too large to be read during the test.
    File::options().write(true).open(&path).unwrap().set_len(128 + (64 << 30)).unwrap();
    let mut child = crossdock(["inspect", "--stats", path.to_str().unwrap()])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let maps = format!("/proc/{}/maps", child.id());
    let patience = Instant::now() + Duration::from_secs(60);
    while !std::fs::read_to_string(&maps).is_ok_and(|text| text.contains("a.npy")) {
        assert!(child.try_wait().unwrap().is_none() && Instant::now() < patience, "it never mapped the file");
        std::thread::sleep(Duration::from_millis(1));
    }
    File::options().write(true).open(&path).unwrap().set_len(4096).unwrap();
    let said = refusal(&child.wait_with_output().unwrap(), 74);
    assert!(said.contains(path.to_str().unwrap()) && said.contains("shrank"), "{said}");
}

#[test]
fn a_table_is_told_by_columns() {
    use crossdock::Array;
    use crossdock::buffer::Buffer;
    use crossdock::exchange::files::arrow_ipc::IpcOptions;
    use crossdock::table::{Batches, Checks, Column, ColumnParts, ColumnType, RecordBatch};

    let folder = Folder::new("inspect-table");
    let path = folder.path("trades.arrow");
    let buffers =
        vec![Buffer::from_vec(vec![0i32, 3, 3, 6]).unwrap(), Buffer::from_static(b"onetwo").unwrap()];
    let validity = Some(Buffer::from_static(&[0b101u8]).unwrap());
    let parts = ColumnParts { len: 3, buffers, validity, ..ColumnParts::default() };
    let name = Column::new(ColumnType::utf8(), parts, Checks::Full).unwrap();
    let price = Column::from_array(Array::from_vec(vec![2.5f64, -1.0, f64::NAN], [3]).unwrap()).unwrap();
    let batch = RecordBatch::from_columns([("price", price), ("name", name)]).unwrap();
    IpcOptions::new().save(&path, &mut Batches::from_iter([batch.clone(), batch])).unwrap();
    let file = path.to_str().unwrap();

    let text = inspect(file, &["--stats", "--values=4"]);
    for line in [
        "Arrow IPC file, 6 rows of 2 columns in 2 batches",
        "  price   float64      0  -1.0  2.5",
        "  name    string       2  one   two",
        "  1   -1.0  null",
        "  3    2.5   one",
    ] {
        assert!(text.lines().any(|found| found.contains(line)), "{line:?} is missing in\n{text}");
    }
    let json = as_json(file, &["--values=1"]);
    assert_eq!((&json["schema"], &json["rows"]), (&json!("crossdock.table/1"), &json!(6)));
    assert_eq!(json["columns"][1], json!({ "name": "name", "type": "string", "nulls": 2 }));
    assert_eq!(json["values"], json!([["2.5", "one"]]));
    // Columns of fixed width without nulls are arrays, joined from both batches.
    let array = as_json(&format!("{file}:price"), &["--values=2"]);
    assert_eq!((&array["shape"], &array["values"]), (&json!([6]), &json!([2.5, -1.0])));
    let refused = refusal(&run(["inspect", &format!("{file}:name")]), 1);
    assert!(refused.contains("no array"), "{refused}");

    // Beside other files, on standard input, filtered and sorted, a table is a table, too.
    let other = folder.file("a.npy", npy("'<f8'", false, "(2,)", &[0; 16]));
    let other = other.to_str().unwrap();
    let many = answer(&run(["inspect", other, file]));
    assert!(many.lines().any(|line| line.contains("Arrow IPC") && line.contains("6 x 2 columns")), "{many}");
    assert!(many.contains("2 files, 14 elements, "), "{many}");
    let many: Value = serde_json::from_str(&answer(&run(["inspect", "--json", other, file]))).unwrap();
    assert_eq!(many["files"][1]["schema"], "crossdock.table/1");
    let many = answer(&run(["inspect", "--stats", other, file]));
    assert!(many.contains("  name    string       2  one   two"), "{many}");
    let stdin = crossdock(["inspect", "-"]).stdin(File::open(&path).unwrap()).output().unwrap();
    assert!(answer(&stdin).contains("6 rows of 2 columns"), "{}", answer(&stdin));
    let names = |options: &[&str]| {
        let columns = as_json(file, options)["columns"].as_array().unwrap().clone();
        columns.iter().map(|column| column["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&["--filter", "n*"]), ["name"]);
    assert_eq!(names(&["--sort", "name"]), ["name", "price"]);
    assert_eq!(names(&["--sort", "bytes"]), ["price", "name"]);
    let filtered = as_json(file, &["--filter", "n*", "--values=1"]);
    assert_eq!(filtered["values"], json!([["one"]]));
    let refused = refusal(&run(["inspect", file, "--filter", "nome"]), 1);
    assert!(
        refused.contains("no name of the 2 columns matches \"nome\"; did you mean \"name\"?"),
        "{refused}"
    );
}

#[test]
fn an_archive_without_arrays_is_a_listing_of_none() {
    let folder = Folder::new("inspect-none");
    // The end of an archive of no members.
    let path = folder.file("none.npz", [b"PK\x05\x06", &[0; 18][..]].concat());
    let path = path.to_str().unwrap();
    assert!(inspect(path, &[]).contains("0 arrays of 0 B"), "{}", inspect(path, &[]));
    assert_eq!(as_json(path, &[])["arrays"], json!([]));
}

#[test]
fn extremes_are_those_of_decimals_and_of_single_floats_and_empty_texts() {
    use crossdock::Array;
    use crossdock::buffer::Buffer;
    use crossdock::exchange::files::arrow_ipc::IpcOptions;
    use crossdock::table::{Batches, Checks, Column, ColumnParts, ColumnType, RecordBatch};

    let folder = Folder::new("inspect-extremes");
    let path = folder.path("a.arrow");
    let integers = Buffer::from_vec(vec![-5i128, 1234, -123, 99]).unwrap();
    let parts = ColumnParts { len: 4, buffers: vec![integers], ..ColumnParts::default() };
    let ty = ColumnType::Decimal { bits: 128, precision: 10, scale: 2 };
    let decimals = Column::new(ty, parts, Checks::Full).unwrap();
    let floats = Array::from_vec(vec![0.1f32, 3.4e38, 1.0, 2.0], [4]).unwrap();
    let floats = Column::from_array(floats).unwrap();
    let buffers =
        vec![Buffer::from_vec(vec![0i32, 0, 1, 2, 3]).unwrap(), Buffer::from_static(b"abc").unwrap()];
    let parts = ColumnParts { len: 4, buffers, ..ColumnParts::default() };
    let texts = Column::new(ColumnType::utf8(), parts, Checks::Full).unwrap();
    let batch = RecordBatch::from_columns([("d", decimals), ("f", floats), ("t", texts)]).unwrap();
    IpcOptions::new().save(&path, &mut Batches::from_iter([batch])).unwrap();
    let file = path.to_str().unwrap();
    let json = as_json(file, &["--stats"]);
    let extremes = |index: usize| {
        let column = &json["columns"][index];
        (column["min"].as_str().unwrap().to_owned(), column["max"].as_str().unwrap().to_owned())
    };
    assert_eq!(extremes(0), ("-1.23".into(), "12.34".into()));
    assert_eq!(extremes(1), ("0.1".into(), "3.4e+38".into()));
    assert_eq!(extremes(2), (String::new(), "c".into()));
    let text = inspect(file, &["--stats"]);
    let told = text.lines().find(|line| line.trim_start().starts_with("t ")).unwrap();
    assert!(told.contains(" \"\" ") && told.ends_with('c'), "{text}");
}
