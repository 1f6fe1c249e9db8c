//! `crossdock lend`: what the borrower sees, in every language of the help.

use std::fmt::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{
    Folder, answer, cc, data, npy, python, python_with_numpy, refusal, ruby, run, stderr, stdout, target,
};

// ===== the elements, computed from the bytes of the files =====

/// The lengths of the axes, and the elements in row-major order.
struct Elements {
    shape: Vec<usize>,
    values: Vec<i64>,
}

impl Elements {
    /// A sum that depends on the order.
    fn checksum(&self) -> i64 {
        self.values
            .iter()
            .enumerate()
            .map(|(at, value)| ((at as i64 + 1) * value).rem_euclid(1_000_003))
            .sum()
    }

    /// What every borrower prints: the shape and the checksum.
    fn printed(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        format!("{} {}\n", shape.join("x"), self.checksum())
    }
}

/// The elements of `rocket.npy` with these rows, columns and channels.
fn rocket(rows: &[usize], columns: &[usize], channels: &[usize]) -> Vec<i64> {
    let bytes = std::fs::read(data("rocket.npy")).unwrap();
    let mut values = Vec::new();
    for row in rows {
        for column in columns {
            values.extend(
                channels.iter().map(|channel| i64::from(bytes[128 + (row * 640 + column) * 3 + channel])),
            );
        }
    }
    values
}

fn elevation() -> Vec<i64> {
    let bytes = std::fs::read(data("elevation.npy")).unwrap();
    bytes[128..].as_chunks().0.iter().map(|&pair| i64::from(i16::from_le_bytes(pair))).collect()
}

/// Packed records: a byte, an `int32` at byte 1, three bytes of text.
const RECORD: &str = "[('kind', '|u1'), ('price', '<i4'), ('code', '|S3')]";

fn prices() -> Vec<i64> {
    (0..50).map(|n| n * n * 37 - 20_000).collect()
}

fn records(folder: &Folder) -> PathBuf {
    let mut bytes = Vec::new();
    for price in prices() {
        bytes.push(7);
        bytes.extend_from_slice(&i32::try_from(price).unwrap().to_le_bytes());
        bytes.extend_from_slice(b"abc");
    }
    folder.file("records.npy", npy(RECORD, false, "(50,)", &bytes))
}

/// Column-major and big-endian: element (row, column) is 100 row + column.
fn columns(folder: &Folder) -> PathBuf {
    let mut bytes = Vec::new();
    for column in 0..4i16 {
        (0..3i16).for_each(|row| bytes.extend_from_slice(&(100 * row + column).to_be_bytes()));
    }
    folder.file("columns.npy", npy("'>i2'", true, "(3, 4)", &bytes))
}

/// A view, its C type if C can read it without byte swaps, and its elements.
struct Case {
    target: String,
    c_type: Option<&'static str>,
    elements: Elements,
}

fn cases(folder: &Folder) -> Vec<Case> {
    let every = |len: usize, step: usize| (0..len).step_by(step).collect::<Vec<_>>();
    let back = |len: usize, step: usize| (0..len).rev().step_by(step).collect::<Vec<_>>();
    let case = |file: &Path, expr: &str, c_type, shape: &[usize], values: Vec<i64>| {
        assert_eq!(shape.iter().product::<usize>(), values.len(), "{expr}");
        Case { target: target(file, expr), c_type, elements: Elements { shape: shape.to_vec(), values } }
    };
    let (photo, heights) = (data("rocket.npy"), data("elevation.npy"));
    let (byte, short, int) = (Some("uint8_t"), Some("int16_t"), Some("int32_t"));
    let mut backwards = prices();
    backwards.reverse();
    let halved = elevation().chunks(403 * 2).flat_map(|rows| rows[..403].to_vec()).collect();
    vec![
        case(&heights, "", short, &[344, 403], elevation()),
        case(&heights, "::2", short, &[172, 403], halved),
        case(
            &photo,
            "40:60",
            byte,
            &[20, 640, 3],
            rocket(&every(427, 1)[40..60], &every(640, 1), &[0, 1, 2]),
        ),
        case(&photo, "::4, ::-3, 1", byte, &[107, 214], rocket(&every(427, 4), &back(640, 3), &[1])),
        case(&photo, "5, :, ::-1", byte, &[640, 3], rocket(&[5], &every(640, 1), &[2, 1, 0])),
        case(&records(folder), ".price", int, &[50], prices()),
        case(&records(folder), ".price, ::-1", int, &[50], backwards),
        case(&records(folder), "3, .price", int, &[], prices()[3..4].to_vec()),
        case(&columns(folder), "", None, &[3, 4], vec![0, 1, 2, 3, 100, 101, 102, 103, 200, 201, 202, 203]),
    ]
}

// ===== the borrowers: the lines in the help, and code that prints shape and checksum =====

const NUMPY: &str = concat!(
    include_str!("../../src/lend/snippets/numpy.py"),
    "v = x.astype('i8').ravel()\n",
    "s = int((v * numpy.arange(1, v.size + 1) % 1000003).sum())\n",
    "print('x'.join(map(str, x.shape)), s)\n",
);
const PYTHON: &str = concat!(
    include_str!("../../src/lend/snippets/python.py"),
    "flat = x.cast('B').cast(a['struct'])\n",
    "print('x'.join(map(str, x.shape)), sum((n + 1) * v % 1000003 for n, v in enumerate(flat)))\n",
);
const PYTHON_STRIDED: &str = concat!(
    include_str!("../../src/lend/snippets/python_strided.py"),
    "import itertools\n",
    "every = itertools.product(*map(range, a['shape']))\n",
    "print('x'.join(map(str, a['shape'])), sum((n + 1) * x(*i) % 1000003 for n, i in enumerate(every)))\n",
);
const RUBY: &str = concat!(
    include_str!("../../src/lend/snippets/ruby.rb"),
    "every = [[]]\n",
    "a[:shape].each { |len| every = every.flat_map { |i| (0...len).map { |n| i + [n] } } }\n",
    "puts \"#{a[:shape].join('x')} #{every.each_with_index.sum { |i, n| (n + 1) * x.(*i) % 1000003 }}\"\n",
);
const C: &str = concat!(
    "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n",
    "int main(void) {\n",
    include_str!("../../src/lend/snippets/c.c"),
    r#"
    if (m == MAP_FAILED) return 9;
    long shape[8], strides[8], index[8] = {0}, rank = 0, total = 1;
    char *lens = getenv("CROSSDOCK_SHAPE"), *steps = getenv("CROSSDOCK_STRIDES");
    for (; *lens; rank++) {
        shape[rank] = strtol(lens, &lens, 10), strides[rank] = strtol(steps, &steps, 10);
        printf(rank ? "x%ld" : "%ld", shape[rank]), total *= shape[rank];
    }
    long long sum = 0;
    for (long n = 0; n < total; n++) {
        long at = 0;
        for (long axis = 0; axis < rank; axis++) at += index[axis] * strides[axis];
        ELEMENT value;
        memcpy(&value, x + at, sizeof value);
        long long term = (n + 1) * (long long)value % 1000003;
        sum += term < 0 ? term + 1000003 : term;
        for (long axis = rank; axis-- > 0 && ++index[axis] == shape[axis];) index[axis] = 0;
    }
    printf(" %lld\n", sum);
}
"#
);

/// Lends `target` to a command.
fn lend(target: &str, options: &[&str], command: &[&str]) -> Output {
    run([&["lend", target][..], options, &["--"], command].concat())
}

#[test]
fn numpy_reads_every_view_in_place() {
    let Some(python) = python_with_numpy() else { return };
    let folder = Folder::new("numpy");
    for case in cases(&folder) {
        let got = answer(&lend(&case.target, &[], &[&python, "-c", NUMPY]));
        assert_eq!(got, case.elements.printed(), "{}", case.target);
    }
}

#[test]
fn numpy_makes_the_records_of_what_it_is_told() {
    let Some(python) = python_with_numpy() else { return };
    let folder = Folder::new("numpy-records");
    let program = format!(
        "{}print(x.dtype, x[3].tolist(), x.flags.owndata)",
        include_str!("../../src/lend/snippets/numpy.py")
    );
    let got = answer(&lend(&target(&records(&folder), "::2"), &[], &[&python, "-c", &program]));
    assert_eq!(
        got,
        format!("{RECORD} (7, {}, b'abc') False\n", prices()[6]).replace("|u1", "u1").replace("|S3", "S3")
    );
}

#[test]
fn plain_python_reads_every_view_in_place() {
    let Some(python) = python() else { return };
    let folder = Folder::new("python");
    for case in cases(&folder) {
        let got = answer(&lend(&case.target, &[], &[&python, "-c", PYTHON_STRIDED]));
        assert_eq!(got, case.elements.printed(), "{}", case.target);
    }
}

#[test]
fn plain_python_has_row_major_arrays_as_a_memoryview() {
    let Some(python) = python() else { return };
    let folder = Folder::new("memoryview");
    for case in cases(&folder).into_iter().take(3).filter(|case| !case.target.ends_with("::2")) {
        let got = answer(&lend(&case.target, &[], &[&python, "-c", PYTHON]));
        assert_eq!(got, case.elements.printed(), "{}", case.target);
    }
}

#[test]
fn ruby_reads_every_view_in_place() {
    let Some(ruby) = ruby() else { return };
    let folder = Folder::new("ruby");
    for case in cases(&folder) {
        let got = answer(&lend(&case.target, &[], &[&ruby, "-W:no-experimental", "-e", RUBY]));
        assert_eq!(got, case.elements.printed(), "{}", case.target);
    }
}

#[test]
fn c_reads_every_view_in_place() {
    let Some(cc) = cc() else { return };
    let folder = Folder::new("c");
    let source = folder.file("borrower.c", C);
    for case in cases(&folder) {
        let Some(c_type) = case.c_type else { continue };
        let program = folder.path(c_type);
        if !program.exists() {
            let compiled = Command::new(&cc)
                .args(["-Wall", "-Werror", &format!("-DELEMENT={c_type}"), "-o"])
                .args([&program, &source])
                .output()
                .unwrap();
            assert!(compiled.status.success(), "{}", stderr(&compiled));
        }
        let got = answer(&lend(&case.target, &[], &[program.to_str().unwrap()]));
        assert_eq!(got, case.elements.printed(), "{}", case.target);
    }
}

#[test]
fn the_help_and_the_page_show_the_lines_that_were_run() {
    let help = answer(&run(["lend", "--help"]));
    let page = include_str!("../../../../docs/command.md");
    for lines in [
        include_str!("../../src/lend/snippets/numpy.py"),
        include_str!("../../src/lend/snippets/python.py"),
        include_str!("../../src/lend/snippets/python_strided.py"),
        include_str!("../../src/lend/snippets/ruby.rb"),
        include_str!("../../src/lend/snippets/pyarrow.py"),
        include_str!("../../src/lend/snippets/c.c"),
        include_str!("../../src/lend/snippets/windows.py"),
        include_str!("../../src/lend/snippets/windows.c"),
    ] {
        // A terminal of 80 columns does not break them.
        assert!(lines.lines().count() <= 5 && lines.lines().all(|line| line.len() <= 80), "{lines}");
        assert!(help.contains(lines), "{lines}");
        assert!(page.contains(lines), "{lines}");
    }
}

// ===== the map is the file =====

/// Prints the variables of the borrower, one per line.
const TELL: [&str; 3] = [
    "sh",
    "-c",
    "for name in FD OFFSET END NBYTES SHAPE STRIDES ARRAY; do eval \"printf '%s\\\\n' \\\"\\$CROSSDOCK_$name\\\"\"; done",
];

#[test]
fn the_environment_tells_where_the_elements_lie() {
    let told = answer(&lend(&target(&data("elevation.npy"), "::-2, 3::5"), &[], &TELL));
    let lines: Vec<&str> = told.lines().collect();
    // Rows 343 to 1, of 806 bytes each; from column 3 on, of 2 bytes; after a header of 128 bytes.
    let (first, offset) = (128 + 806 + 6, 128 + 343 * 806 + 6);
    let end = offset + 2 * 5 * 79 + 2;
    assert_eq!(lines[1..4], [offset, end, 172 * 80 * 2].map(|number| number.to_string()));
    assert_eq!(lines[4..6], ["172 80", "-1612 10"]);
    let array: serde_json::Value = serde_json::from_str(lines[6]).unwrap();
    assert_eq!(lines[0], array["fd"].to_string());
    assert_eq!(array["span"], serde_json::json!([first, end]));
    assert_eq!((&array["dtype"], &array["typestr"]), (&"int16".into(), &"<i2".into()));
    assert_eq!((&array["writable"], &array["order"]), (&false.into(), &serde_json::Value::Null));
}

#[test]
fn what_is_mapped_is_the_file_itself() {
    let Some(python) = python() else { return };
    let program = "import os, sys; f = os.fstat(int(os.environ['CROSSDOCK_FD'])); s = os.stat(sys.argv[1]); print(os.path.samestat(f, s))";
    let file = data("rocket.npy");
    let got = answer(&lend(&target(&file, "::2"), &[], &[&python, "-c", program, file.to_str().unwrap()]));
    assert_eq!(got, "True\n");
}

/// Stores 99 in the first element, if it may.
const WRITE: &str = "
import json, mmap, os
a = json.loads(os.environ['CROSSDOCK_ARRAY'])
try:
    m = mmap.mmap(a['fd'], 0, access=mmap.ACCESS_WRITE)
    m[a['offset']] = 99
    print('written')
except PermissionError:
    print('refused')
";

#[test]
fn the_file_is_written_only_where_that_is_permitted() {
    let Some(python) = python() else { return };
    let folder = Folder::new("write");
    let original = npy("'|u1'", false, "(3,)", &[1, 2, 3]);
    let file = folder.file("a.npy", &original);
    let command = [python.as_str(), "-c", WRITE];
    assert_eq!(answer(&lend(&target(&file, "::-1"), &[], &command)), "refused\n");
    assert_eq!(std::fs::read(&file).unwrap(), original);
    // A copy is read-only, too.
    assert_eq!(stdout(&lend(&target(&file, "::-1"), &["--copy", "always"], &command)), "refused\n");
    assert_eq!(std::fs::read(&file).unwrap(), original);
    assert_eq!(answer(&lend(&target(&file, "::-1"), &["--write"], &command)), "written\n");
    let written = std::fs::read(&file).unwrap();
    assert_eq!((&written[..128], &written[128..]), (&original[..128], &[1, 2, 99][..]));
}

/// The help states this behaviour.
#[test]
fn a_command_that_may_write_the_file_can_open_it_anew_and_a_copy_protects_it() {
    let folder = Folder::new("reopen");
    let original = npy("'|u1'", false, "(3,)", &[1, 2, 3]);
    let file = folder.file("a.npy", &original);
    let reopen = "printf x 1<>/proc/self/fd/$CROSSDOCK_FD";
    assert!(lend(&target(&file, ""), &["--copy", "always"], &["sh", "-c", reopen]).status.success());
    assert_eq!(std::fs::read(&file).unwrap(), original);
    assert!(lend(&target(&file, ""), &[], &["sh", "-c", reopen]).status.success());
    assert_eq!(std::fs::read(&file).unwrap()[0], b'x');
    assert!(answer(&run(["lend", "--help"])).contains("through /proc/self/fd, if you can"));
}

// ===== refusals, and permitted copies =====

#[test]
fn what_cannot_be_lent_in_place_is_refused_and_says_what_a_copy_would_take() {
    for (options, reason) in [
        (&["--order", "F"][..], "column-major"),
        (&["--dtype", "float32"], "not float32"),
        (&["--dtype", ">i2"], "not >int16"),
    ] {
        let nbytes = if options[1] == "float32" { 344 * 403 * 4 } else { 344 * 403 * 2 };
        let said = refusal(&lend(&target(&data("elevation.npy"), ""), options, &["echo", "ran"]), 1);
        assert!(said.contains(reason), "{said}");
        assert!(said.contains(&format!("{nbytes} bytes")) && said.contains("--copy if-needed"), "{said}");
    }
    let in_place =
        lend(&target(&data("elevation.npy"), ""), &["--order", "C", "--dtype", "<i2"], &["echo", "ran"]);
    assert_eq!(answer(&in_place), "ran\n");
}

#[test]
fn a_permitted_copy_is_made_once_and_reported() {
    let Some(python) = python() else { return };
    let elements = Elements { shape: vec![344, 403], values: elevation() };
    for (options, nbytes) in [
        (&["--copy", "if-needed", "--order", "F"][..], 344 * 403 * 2),
        (&["--copy", "if-needed", "--dtype", ">i4"], 344 * 403 * 4),
        (&["--copy", "always"], 344 * 403 * 2),
    ] {
        let lent = lend(&target(&data("elevation.npy"), ""), options, &[&python, "-c", PYTHON_STRIDED]);
        assert!(lent.status.success());
        assert_eq!(stdout(&lent), elements.printed());
        let mut expected = String::new();
        write!(expected, "crossdock: copied {nbytes} bytes because ").unwrap();
        let said = stderr(&lent);
        assert!(said.starts_with(&expected) && said.lines().count() == 1, "{said}");
    }
    let needless = lend(&target(&data("elevation.npy"), ""), &["--copy", "if-needed"], &["true"]);
    assert_eq!(answer(&needless), "");
}

#[test]
fn an_empty_array_can_be_lent_and_copied() {
    let Some(python) = python() else { return };
    let folder = Folder::new("empty");
    let file = folder.file("empty.npy", npy("'<f4'", false, "(3, 0, 2)", &[]));
    for options in [&[][..], &["--copy", "always"], &["--dtype", "<f8", "--copy", "if-needed"]] {
        let lent = lend(&target(&file, ""), options, &[&python, "-c", PYTHON_STRIDED]);
        assert_eq!((stdout(&lent).as_str(), lent.status.code()), ("3x0x2 0\n", Some(0)), "{}", stderr(&lent));
    }
}

#[test]
fn a_value_that_does_not_fit_is_refused_with_its_place() {
    let options = ["--dtype", "uint8", "--copy", "if-needed"];
    let said = refusal(&lend(&target(&data("elevation.npy"), ""), &options, &["echo", "ran"]), 1);
    assert!(said.contains("element [0, 0]") && said.contains("uint8"), "{said}");
}

#[test]
fn writing_a_copy_makes_no_sense_and_is_refused() {
    let said =
        refusal(&lend(&target(&data("elevation.npy"), ""), &["--write", "--copy", "always"], &["true"]), 2);
    assert!(said.contains("--write"), "{said}");
}

#[test]
fn several_arrays_are_lent_by_name_and_written() {
    let Some(python) = python() else { return };
    let folder = Folder::new("lend-many");
    let first = folder.file("a.npy", npy("'|u1'", false, "(3,)", &[1, 2, 3]));
    let second = folder.file("b.raw", [4, 5, 6, 7]);
    let program = "import json, mmap, os\n\
        for name, a in json.loads(os.environ['CROSSDOCK_ARRAYS']).items():\n\
        \x20   m = mmap.mmap(a['fd'], 0)\n\
        \x20   print(name, a['shape'], [m[a['offset'] + i * a['strides'][0]] for i in range(a['shape'][0])])\n\
        \x20   m[a['offset']] = 9\n\
        print('CROSSDOCK_ARRAY' in os.environ)\n";
    let (x, y) = (format!("x={}", target(&first, "::-1")), format!("y=1={}", second.display()));
    let y = y.replacen("y=1=", "y=", 1);
    let arguments = ["lend", "-a", &x, "-a", &y, "--raw", "dtype=uint8; shape=2; offset=1", "--write", "--"];
    let output = run([&arguments[..], &[&python, "-c", program]].concat());
    assert_eq!(answer(&output), "x [3] [3, 2, 1]\ny [2] [5, 6]\nFalse\n");
    assert_eq!(std::fs::read(&first).unwrap()[128..], [1, 2, 9]);
    assert_eq!(std::fs::read(&second).unwrap(), [4, 9, 6, 7]);
    let wrong = |arguments: &[&str]| refusal(&run([&["lend"], arguments].concat()), 2);
    assert!(wrong(&["-a", &x, "-a", &x, "--", "true"]).contains("two arrays are named \"x\""));
    assert!(wrong(&["-a", "x", "--", "true"]).contains("x is not NAME=FILE"));
    assert!(wrong(&["-a", &x]).contains("no COMMAND"));
    let file = first.to_str().unwrap();
    assert!(wrong(&[file, file, "--", "true"]).contains("-a x=a.npy -a y=b.npy"));
}

#[test]
fn a_view_a_raw_file_and_a_command_without_dashes_are_understood() {
    let folder = Folder::new("lend-raw");
    let raw = folder.file("a.raw", [1, 0, 2, 0, 3, 0]);
    let raw = raw.to_str().unwrap();
    let show = ["sh", "-c", "echo $CROSSDOCK_SHAPE $CROSSDOCK_STRIDES $CROSSDOCK_OFFSET $0 $1", "-x", "--"];
    let described = ["lend", raw, "--raw", "dtype=uint16; shape=3", "--at", "::-2"];
    assert_eq!(answer(&run([&described[..], &["--"], &show].concat())), "2 -4 4 -x --\n");
    assert_eq!(answer(&run([&described[..], &show].concat())), "2 -4 4 -x --\n");
    let elevation = data("elevation.npy");
    let elevation = elevation.to_str().unwrap();
    assert_eq!(answer(&run(["lend", elevation, "sh", "-c", "echo $CROSSDOCK_SHAPE"])), "344 403\n");
    let said = refusal(&run(["lend", elevation, "--raw", "dtype=uint8; shape=3", "--", "true"]), 2);
    assert!(said.contains("leave --raw out"), "{said}");
    assert!(refusal(&run(["lend", elevation]), 2).contains("crossdock lend photo.npy -- python3 report.py"));
    assert!(refusal(&run(["lend"]), 2).contains("no FILE"));
    let photo = folder.path("photo.png");
    answer(&run(["convert", data("rocket.npy").to_str().unwrap(), photo.to_str().unwrap()]));
    let said = refusal(&run(["lend", photo.to_str().unwrap(), "--write", "--", "true"]), 1);
    assert!(said.contains("photo.png") && said.contains("crossdock convert"), "{said}");
}

// ===== exit status and signals =====

#[test]
fn the_exit_status_is_that_of_the_command() {
    let file = target(&data("elevation.npy"), "");
    assert_eq!(lend(&file, &[], &["sh", "-c", "exit 3"]).status.code(), Some(3));
    assert_eq!(lend(&file, &[], &["sh", "-c", "kill -TERM $$"]).status.code(), Some(128 + 15));
    let said = refusal(&lend(&file, &[], &["crossdock-no-such-command"]), 127);
    assert!(said.contains("crossdock-no-such-command"), "{said}");
    refusal(&lend(&file, &[], &[data("elevation.npy").to_str().unwrap()]), 126);
    refusal(&run(["lend", &file]), 2);
}

#[test]
fn the_exit_status_is_kept_where_the_ends_of_processes_are_ignored() {
    let mut shell = Command::new("bash");
    shell.args(["-c", r#"trap '' CHLD; exec "$0" lend "$1" -- sh -c 'exit 5'"#]);
    let file = target(&data("elevation.npy"), "");
    let lent = shell.arg(env!("CARGO_BIN_EXE_crossdock")).arg(&file).output().unwrap();
    assert_eq!((lent.status.code(), stderr(&lent).as_str()), (Some(5), ""));
}

#[test]
fn after_an_interrupt_of_the_command_the_lender_ends_by_the_same_signal() {
    let lent = lend(&target(&data("elevation.npy"), ""), &[], &["sh", "-c", "kill -INT $$"]);
    assert_eq!((lent.status.signal(), stderr(&lent).as_str()), (Some(2), ""));
}

#[test]
fn a_file_beside_named_arrays_is_no_command() {
    let file = target(&data("elevation.npy"), "");
    let named = format!("x={file}");
    for arguments in
        [["lend", "-a", &named, &file, "--", "true"], ["lend", &file, "-a", &named, "--", "true"]]
    {
        let said = refusal(&run(arguments), 2);
        assert!(said.contains("is not a command") && said.contains("-a x=a.npy"), "{said}");
    }
}

#[test]
fn a_file_that_shrinks_meanwhile_is_named() {
    let folder = Folder::new("shrink");
    let file = folder.file("a.npy", npy("'|u1'", false, "(5000,)", &[1; 5000]));
    let name = file.to_str().unwrap();
    // Reported even if the command itself notices nothing.
    let said = refusal(&lend(name, &[], &["truncate", "-s", "200", name]), 74);
    assert!(said.contains(name) && said.contains("5128 to 200"), "{said}");
}

#[test]
fn records_of_more_fields_than_can_be_described_are_refused_in_a_sentence() {
    let folder = Folder::new("fields");
    let fields: Vec<String> =
        (0..5000).map(|index| format!("('field_with_a_name_{index}', '<f4')")).collect();
    let header = format!("{{'descr': [{}], 'fortran_order': False, 'shape': (1,), }}\n", fields.join(", "));
    let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
    bytes.extend(u32::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + 4 * 5000, 0);
    let file = target(&folder.file("fields.npy", bytes), "");
    for (arguments, says) in
        [(&[][..], "FILE:.field"), (&["--dtype", "float32"], "not lent"), (&["--order", "F"], "FILE:.field")]
    {
        let said = refusal(&lend(&file, arguments, &["true"]), 1);
        assert!(said.contains(says) && said.len() < 1000, "{said}");
    }
    let said = refusal(&lend(&(file.clone() + ":.none"), &[], &["true"]), 1);
    assert!(said.contains("and 4980 more"), "{said}");
}

#[test]
fn a_signal_from_the_keyboard_ends_the_command_and_not_the_lender() {
    // The command interrupts its parent and itself, as the terminal would, and outlives it.
    let script = "kill -INT $PPID; kill -QUIT $PPID; exit 7";
    assert_eq!(lend(&target(&data("elevation.npy"), ""), &[], &["sh", "-c", script]).status.code(), Some(7));
}

#[test]
fn a_signal_to_the_lender_alone_reaches_the_command_and_the_lender_waits_for_it() {
    let file = target(&data("elevation.npy"), "");
    // The command signals its parent, and ends by itself if no signal comes back.
    let patient = "i=0; while [ $i -lt 200 ]; do sleep 0.05; i=$((i + 1)); done; exit 9";
    for (signal, number) in [("TERM", 15), ("HUP", 1)] {
        let traps = format!("trap 'sleep 0.1; echo done; exit 7' {signal}; kill -{signal} $PPID; {patient}");
        let lent = lend(&file, &[], &["sh", "-c", &traps]);
        assert_eq!((lent.status.code(), stdout(&lent).as_str()), (Some(7), "done\n"), "{signal}");
        let does_not = format!("kill -{signal} $PPID; exec sleep 10");
        let lent = lend(&file, &[], &["sh", "-c", &does_not]);
        assert_eq!((lent.status.code(), stderr(&lent).as_str()), (Some(128 + number), ""), "{signal}");
    }
    // Signals are forwarded more than once.
    let counts = format!(
        "n=0; trap 'n=$((n + 1)); [ $n = 2 ] && exit 7; kill -HUP $PPID' HUP; kill -HUP $PPID; {patient}"
    );
    assert_eq!(lend(&file, &[], &["sh", "-c", &counts]).status.code(), Some(7));
}

#[test]
fn an_ignored_signal_stays_ignored_and_a_plain_one_plain() {
    // The ignored signals that the command inherits, as the kernel reports them: bits 0, 1, 2 and
    // 14 are those of HUP, INT, QUIT and TERM.
    let file = target(&data("elevation.npy"), "");
    let script = |trap: &str| format!("{trap} exec \"$0\" lend \"$1\" -- grep -E ^SigIgn /proc/self/status");
    let mask =
        |line: &str| u64::from_str_radix(line.trim_start_matches("SigIgn:").trim(), 16).unwrap() & 0x4007;
    let inherited = |trap: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &script(trap), env!("CARGO_BIN_EXE_crossdock"), &file]);
        mask(&answer(&command.output().unwrap()))
    };
    let ours = std::fs::read_to_string("/proc/self/status").unwrap();
    let ours = mask(ours.lines().find(|line| line.starts_with("SigIgn:")).unwrap());
    assert_eq!(inherited(""), ours);
    for (signal, bit) in [("INT", 0x0002), ("HUP", 0x0001), ("TERM", 0x4000)] {
        assert_eq!(inherited(&format!("trap '' {signal};")), ours | bit, "{signal}");
    }
}
