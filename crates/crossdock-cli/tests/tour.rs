//! The tour checks what it reports: on the photograph, on other arrays, and without some consumers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crossdock::device;
use crossdock::element::DType;
use crossdock::exchange::files;
use crossdock::layout::Order;
use crossdock::{Array, DArray};
use crossdock_testkit::{counterparts_are_required, missing};
use serde_json::Value;

fn tour(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_crossdock")).arg("tour").args(args).output().unwrap()
}

fn tour_json(file: &Path) -> Value {
    let output = tour(&["--json", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The tour on an OpenCL device, if one exists.
fn tour_on_a_device(file: &Path) -> Option<Value> {
    let place = "opencl:0";
    if let Err(error) = crossdock_opencl::register().and_then(|()| device::get(place.parse().unwrap())) {
        missing(&error.to_string());
        return None;
    }
    let output = tour(&["--json", "--place", place, file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name)
}

/// A folder for one test, removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("crossdock-tour-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn save(&self, array: &DArray) -> PathBuf {
        let path = self.0.join("array.npy");
        files::save(&path, array).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn rows(report: &Value) -> &Vec<Value> {
    report["handovers"].as_array().unwrap()
}

#[test]
fn the_photograph_goes_to_a_device_once_and_is_handed_over_there_in_place() {
    let Some(report) = tour_on_a_device(&data("rocket.npy")) else { return };
    assert_eq!(
        (&report["moved"]["place"], &report["moved"]["nbytes"]),
        (&"opencl:0".into(), &819_840.into())
    );
    let views: Vec<_> = rows(&report).iter().filter(|row| row["to"] == "DLPack, and back").collect();
    assert_eq!(views.len(), 4, "{report}");
    for row in rows(&report) {
        assert_eq!(row["bytes_copied"], 0, "{row}");
    }
    let declined = report["declined"].as_array().unwrap();
    let host = declined.iter().find(|one| one["to"] == "MemoryView of the host").unwrap();
    assert_eq!(host["views"].as_array().unwrap().len(), 4);
    assert!(host["why"].as_str().unwrap().contains("not on cpu"), "{host}");
    assert_eq!(report["alive_after"], 0);
}

#[test]
fn arrays_of_records_and_of_one_axis_go_to_a_device_too() {
    let folder = Folder::new("device");
    let record = DType::packed_record([("kind", DType::U8), ("price", DType::F64)]).unwrap();
    let trades = DArray::zeros(record, &[7], Order::RowMajor).unwrap();
    trades.field("price").unwrap().fill(&1.5.into()).unwrap();
    let Some(report) = tour_on_a_device(&folder.save(&trades)) else { return };
    let views: Vec<_> = rows(&report).iter().map(|row| row["view"].as_str().unwrap()).collect();
    assert!(views.contains(&"one field") && views.contains(&"whole"), "{views:?}");
}

#[test]
fn the_photograph_goes_to_every_consumer_in_place() {
    let report = tour_json(&data("rocket.npy"));
    for row in rows(&report) {
        assert!(row["ns"].as_f64().unwrap() > 0.0 && row["address"].as_u64().unwrap() != 0, "{row}");
        let is_python = row["to"] == "python3, its stdlib";
        // Python has no copy counter, and its standard library has no strided views: without a
        // measurement, the report claims nothing.
        assert_eq!(row["bytes_copied"], if is_python { Value::Null } else { 0.into() }, "{row}");
        let has_no_view = is_python && row["view"] != "whole";
        assert_eq!(row["dtype"], if has_no_view { Value::Null } else { "uint8".into() }, "{row}");
    }
    assert_eq!(report["alive_after"], 0);
    let views = ["whole", "every second row", "channels first", "one channel"];
    let shapes = [vec![427, 640, 3], vec![214, 640, 3], vec![3, 427, 640], vec![427, 640]];
    let strides = [vec![1920, 3, 1], vec![3840, 3, 1], vec![1, 1920, 3], vec![1920, 3]];
    for ((view, shape), strides) in views.iter().zip(shapes).zip(strides) {
        let of_view: Vec<_> = rows(&report).iter().filter(|row| row["view"] == *view).collect();
        let took: Vec<_> = of_view.iter().map(|row| row["to"].as_str().unwrap()).collect();
        for to in ["Array<T, D>", "ndarray", "MemoryView", "another process"] {
            assert!(took.contains(&to), "{view}: {took:?}");
        }
        if counterparts_are_required() {
            assert_eq!(took.len(), 6, "{view}: {took:?}");
        }
        for row in of_view.into_iter().filter(|row| !row["shape"].is_null()) {
            assert_eq!(
                (&row["shape"], &row["strides"]),
                (&shape.clone().into(), &strides.clone().into()),
                "{row}"
            );
        }
    }
}

#[test]
fn consumers_in_this_process_see_one_address_and_the_same_bytes() {
    let report = tour_json(&data("elevation.npy"));
    let whole: Vec<_> = rows(&report).iter().filter(|row| row["view"] == "whole").collect();
    let inside = ["Array<T, D>", "ndarray", "MemoryView", "a C program (DLPack)"];
    let addresses: Vec<_> = whole
        .iter()
        .filter(|row| inside.contains(&row["to"].as_str().unwrap()))
        .map(|row| row["address"].as_u64().unwrap())
        .collect();
    assert!(
        addresses.len() >= 3 && addresses.iter().all(|&address| address == addresses[0]),
        "{addresses:x?}"
    );
    // The same sum, computed here from the file's bytes.
    let bytes = fs::read(data("elevation.npy")).unwrap();
    let elements = &bytes[bytes.len() - 344 * 403 * 2..];
    let sum: u64 = elements.iter().zip(1..).map(|(&byte, position)| u64::from(byte) * position).sum();
    assert!(whole.iter().all(|row| row["checksum"] == sum), "{sum} {whole:?}");
}

#[test]
fn other_processes_have_the_same_bytes_of_the_same_file_at_their_addresses() {
    use std::os::unix::fs::MetadataExt;
    let file = data("elevation.npy");
    let (report, metadata) = (tour_json(&file), fs::metadata(&file).unwrap());
    let header = metadata.len() - 344 * 403 * 2;
    let elsewhere: Vec<_> = rows(&report).iter().filter(|row| !row["pages"].is_null()).collect();
    let to: Vec<_> = elsewhere.iter().map(|row| row["to"].as_str().unwrap()).collect();
    assert!(to.contains(&"another process"), "{to:?}");
    assert!(to.contains(&"python3, its stdlib") || !counterparts_are_required(), "{to:?}");
    for row in elsewhere {
        assert_eq!(row["pages"]["inode"], metadata.ino(), "{row}");
        assert_eq!(row["pages"]["offset"], header, "{row}");
    }
}

#[test]
fn the_others_see_what_one_writes_and_more_is_refused() {
    let sharing = &tour_json(&data("rocket.npy"))["sharing"];
    assert_ne!(sharing["before"], sharing["written"]);
    assert_eq!(sharing["seen_by_share"], sharing["written"]);
    assert_eq!(sharing["seen_by_pin"], sharing["written"]);
    for refused in ["read_refused", "write_refused"] {
        let text = sharing[refused].as_str().unwrap();
        // The ledger is on, so the report lists the holders of each, by protocol.
        assert!(
            text.contains("2 share leases (MemoryView, ") && text.contains("1 pin lease (MemoryView, "),
            "{text}"
        );
    }
}

#[test]
fn arrays_of_other_kinds_are_taken_or_declined_with_the_reason() {
    let record = DType::packed_record([("a", DType::I32), ("b", DType::F64.swapped())]).unwrap();
    let cases = [
        (DArray::zeros(record, &[5, 4], Order::RowMajor).unwrap(), "DLPack has no records"),
        (DArray::zeros(DType::F64, &[2, 3, 4], Order::ColumnMajor).unwrap(), ""),
        (DArray::zeros(DType::F64, &[], Order::RowMajor).unwrap(), ""),
        (DArray::zeros(DType::F32, &[0, 3], Order::RowMajor).unwrap(), ""),
        (
            DArray::zeros(DType::F32, &[2; 8], Order::RowMajor).unwrap(),
            "at most rank 4; the array has rank 8",
        ),
        (DArray::zeros(DType::BOOL, &[7], Order::RowMajor).unwrap(), "Rust has no number type for bool"),
        (DArray::zeros(DType::text(3).unwrap(), &[7], Order::RowMajor).unwrap(), "DLPack has no such dtype"),
        (DArray::zeros(DType::I32.swapped(), &[7], Order::RowMajor).unwrap(), "no non-native byte order"),
        // More elements than a loop can visit, in 0 bytes.
        (
            DArray::zeros(DType::bytes(0).unwrap(), &[1 << 50], Order::RowMajor).unwrap(),
            "Rust has no number type for S0",
        ),
    ];
    let folder = Folder::new("kinds");
    for (array, why) in cases {
        let report = tour_json(&folder.save(&array));
        assert!(rows(&report).iter().any(|row| row["to"] == "another process"), "{array:?}: {report}");
        assert!(rows(&report).iter().all(|row| row["bytes_copied"].as_u64().unwrap_or(0) == 0), "{array:?}");
        assert_eq!(report["alive_after"], 0);
        let reasons = report["declined"].to_string();
        if why.is_empty() || why.contains("DLPack") && !counterparts_are_required() {
            continue;
        }
        assert!(reasons.contains(why), "{array:?}: {reasons}");
    }
}

#[test]
fn without_bytes_there_is_nothing_to_share() {
    let folder = Folder::new("nothing");
    let without_elements = DArray::zeros(DType::F32, &[0, 3], Order::RowMajor).unwrap();
    let without_width = DArray::zeros(DType::bytes(0).unwrap(), &[3], Order::RowMajor).unwrap();
    for array in [without_elements, without_width] {
        let file = folder.save(&array);
        let output = tour(&[file.to_str().unwrap()]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("nothing to share") && !text.contains("holder writes"), "{array:?}: {text}");
        assert_eq!(tour_json(&file)["sharing"]["written"], "", "{array:?}");
    }
}

#[test]
fn a_view_of_a_file_can_be_toured() {
    let folder = Folder::new("view");
    let file = folder.save(&Array::from_vec((0..40u16).collect(), [8, 5]).unwrap().into());
    let report = tour_json(&PathBuf::from(format!("{}:::-2, 1:", file.display())));
    assert_eq!(
        (&report["shape"], &report["strides"]),
        (&[4, 4].into_iter().collect(), &[-20, 2].into_iter().collect())
    );
}

#[test]
fn missing_consumers_are_named_and_the_others_go_on() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_crossdock")).arg("tour").env("PATH", "/nowhere").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        text.contains("the C compiler `cc` could not be run") && text.contains("python3 is not installed"),
        "{text}"
    );
    assert!(
        text.contains("16 exports; 16 of them counted copied bytes: 0 in all. 0 allocations are alive"),
        "{text}"
    );
}

#[test]
fn without_a_file_it_shows_the_photograph_as_the_page_of_the_command_prints_it() {
    let output = tour(&[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/command.md")).unwrap();
    let printed: Vec<_> = page.lines().filter(|line| line.contains("0x7f")).map(steady).collect();
    assert!(printed.len() >= 6, "the page shows what the tour prints");
    assert!(text.contains("how long mapping the descriptor takes"), "{text}");
    let now: Vec<_> = text.lines().map(steady).collect();
    for line in printed {
        let measured_here = line.contains(&"python3,".to_owned()) || line.contains(&"C".to_owned());
        assert!(
            now.contains(&line) || measured_here && !counterparts_are_required(),
            "{line:?} is not in\n{text}"
        );
    }
}

/// A line without the addresses and durations, which vary.
fn steady(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut steady = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let unit = words.get(at + 1).is_some_and(|next| ["ns", "µs", "ms", "s"].contains(next));
        if !word.starts_with("0x") && !unit {
            steady.push(if ["ns", "µs", "ms", "s"].contains(word) {
                "time".to_owned()
            } else {
                (*word).to_owned()
            });
        }
    }
    steady
}

#[test]
fn a_file_that_is_no_array_ends_the_tour_with_one_sentence() {
    let folder = Folder::new("bad");
    let file = folder.0.join("bad.npy");
    fs::write(&file, b"no array").unwrap();
    let output = tour(&[file.to_str().unwrap()]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.starts_with("crossdock: ") && words.lines().count() == 1, "{words}");
}
