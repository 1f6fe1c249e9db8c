//! `crossdock cat`: elements as text, as CSV and as bytes.

use std::io::Read;
use std::process::{Command, Stdio};

use crossdock::DArray;
use crossdock::element::DType;
use crossdock::layout::Order;

use crate::common::{Folder, answer, crossdock, data, npy, python, python_with_numpy, refusal, run, target};

fn cat(arguments: &[&str]) -> String {
    answer(&run([&["cat"], arguments].concat()))
}

#[test]
fn elements_are_lines_rows_and_blocks() {
    let folder = Folder::new("cat");
    let counted: Vec<u8> = (0..12).collect();
    let file = |name, shape| folder.file(name, npy("'|u1'", false, shape, &counted)).display().to_string();
    assert_eq!(cat(&[&file("flat.npy", "(12,)")]), (0..12).map(|n| format!("{n}\n")).collect::<String>());
    let rows = file("rows.npy", "(3, 4)");
    assert_eq!(cat(&[&rows]), "0 1 2 3\n4 5 6 7\n8 9 10 11\n");
    assert_eq!(cat(&[&rows, "--at", "::-2, 1:"]), "9 10 11\n1 2 3\n");
    assert_eq!(cat(&[&format!("{rows}:..., 0")]), "0\n4\n8\n");
    assert_eq!(cat(&[&rows, "--csv"]), "0,1,2,3\n4,5,6,7\n8,9,10,11\n");
    let blocks = file("blocks.npy", "(2, 3, 2)");
    assert_eq!(cat(&[&blocks]), "0 1\n2 3\n4 5\n\n6 7\n8 9\n10 11\n");
    assert_eq!(cat(&[&blocks, "--csv"]), "0,1\n2,3\n4,5\n6,7\n8,9\n10,11\n");
    assert_eq!(cat(&[&file("one.npy", "(12, 1, 1)"), "--at", "5, 0, 0"]), "5\n");
    assert_eq!(
        cat(&[&folder.file("none.npy", npy("'<f8'", false, "(3, 0)", b"")).display().to_string()]),
        ""
    );
    let columns = folder.file("columns.npy", npy("'|u1'", true, "(2, 3)", &counted[..6]));
    let columns = columns.to_str().unwrap();
    assert_eq!(cat(&[columns]), "0 2 4\n1 3 5\n");
    assert_eq!(run(["cat", columns, "--bytes"]).stdout, [0, 2, 4, 1, 3, 5]);
    let raw = folder.file("a.raw", &counted);
    assert_eq!(
        cat(&[raw.to_str().unwrap(), "--raw", "dtype=>u2; shape=2,3"]),
        "1 515 1029\n1543 2057 2571\n"
    );
    assert_eq!(cat(&[&target(&data("elevation.npy"), "0, :3")]).lines().count(), 3);
}

#[test]
fn records_are_lines_of_csv_that_python_reads() {
    let Some(python) = python() else { return };
    let folder = Folder::new("cat-csv");
    let path = folder.path("records.npy");
    let dtype: DType = "[('id', '<i2'), ('at', [('x', '<f4'), ('v', '|b1', (2,))]), ('name', '<U4'), ('b', '|S3'), ('t', '<M8[D]')]"
        .parse()
        .unwrap();
    let records = DArray::zeros(dtype, &[3], Order::RowMajor).unwrap();
    records.field("id").unwrap().set(&[1], &(-7).into()).unwrap();
    records.field("at").unwrap().field("x").unwrap().set(&[1], &0.1.into()).unwrap();
    records.field("at").unwrap().field("v").unwrap().set(&[2, 1], &true.into()).unwrap();
    for (index, name) in ["a,\"b", " ö\n", "c\u{1b}d"].into_iter().enumerate() {
        records.field("name").unwrap().set(&[index], &name.into()).unwrap();
    }
    let bytes = crossdock::element::Value::Bytes(b"a\xffb".to_vec());
    records.field("b").unwrap().set(&[0], &bytes).unwrap();
    crossdock::exchange::files::save(&path, &records).unwrap();
    let csv = cat(&[path.to_str().unwrap(), "--csv"]);
    let read = "import csv, sys; print(list(csv.reader(open(sys.argv[1], newline='', encoding='utf-8'))))";
    let file = folder.file("records.csv", &csv);
    let output = Command::new(python).args(["-c", read]).arg(file).env("PYTHONUTF8", "1").output().unwrap();
    assert_eq!(
        answer(&output),
        "[['id', 'at.x', 'at.v[0]', 'at.v[1]', 'name', 'b', 't'], \
         ['0', '0.0', 'False', 'False', 'a,\"b', 'a\\\\xffb', '1970-01-01'], \
         ['-7', '0.1', 'False', 'False', ' ö\\n', '', '1970-01-01'], \
         ['0', '0.0', 'False', 'True', 'c\\x1bd', '', '1970-01-01']]\n"
    );
    assert_eq!(
        cat(&[path.to_str().unwrap(), "--csv", "--no-header"]).lines().count(),
        csv.lines().count() - 1
    );
    let text = cat(&[path.to_str().unwrap()]);
    assert_eq!(text.lines().next_back(), Some(r"0 0.0 False True 'c\x1bd' b'' 1970-01-01"));
}

#[test]
fn numpy_reads_the_same_numbers_from_the_text() {
    let Some(python) = python_with_numpy() else { return };
    let folder = Folder::new("cat-numpy");
    let program = "import numpy as np, subprocess, sys\n\
        rng = np.random.default_rng(7)\n\
        for dtype in ['<f8', '>f4', '<f2', '<i8', '>u2', '|i1']:\n\
        \x20   bits = rng.integers(0, 256, 4000 * np.dtype(dtype).itemsize, 'u1')\n\
        \x20   x = bits.view(dtype).reshape(100, 40)[::3, ::-1]\n\
        \x20   x = np.nan_to_num(x, nan=5) if x.dtype.kind == 'f' else x\n\
        \x20   np.save(sys.argv[1], np.asfortranarray(x) if dtype == '<f8' else x)\n\
        \x20   def cat(*options): return subprocess.run([sys.argv[2], 'cat', sys.argv[1], *options], \
        check=True, capture_output=True).stdout\n\
        \x20   text = cat().decode().splitlines()\n\
        \x20   assert (np.loadtxt(text, x.dtype) == x).all(), dtype\n\
        \x20   assert (np.loadtxt(cat('--csv').decode().splitlines(), x.dtype, delimiter=',') == x).all(), dtype\n\
        \x20   assert cat('--bytes') == x.tobytes(), dtype\n";
    let file = folder.path("x.npy");
    let arguments = ["-c", program, file.to_str().unwrap(), env!("CARGO_BIN_EXE_crossdock")];
    answer(&Command::new(python).args(arguments).output().unwrap());
}

#[test]
fn a_reader_that_ends_early_ends_the_command_without_a_word() {
    let folder = Folder::new("cat-pipe");
    // Sparse: 64 GiB of zeros.
    let file = folder.path("huge.raw");
    std::fs::File::create(&file).unwrap().set_len(64 << 30).unwrap();
    for option in ["--csv", "--bytes"] {
        let mut child =
            crossdock(["cat", file.to_str().unwrap(), "--raw", "dtype=uint8; shape=68719476736", option])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
        let mut first = [0; 64];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(output.stderr, b"");
    }
}

#[test]
fn a_file_that_describes_itself_takes_no_description() {
    let said =
        refusal(&run(["cat", data("rocket.npy").to_str().unwrap(), "--raw", "dtype=uint8; shape=4"]), 2);
    assert!(said.contains("rocket.npy: it is a .npy file") && said.contains("leave --raw out"), "{said}");
    let folder = Folder::new("cat-raw");
    // Not if its own description is broken.
    let broken = folder.file("broken.npy", b"\x93NUMPY\x01\x00\xff\xffab");
    assert_eq!(cat(&[broken.to_str().unwrap(), "--raw", "dtype=S1; shape=2; offset=10"]), "b'a'\nb'b'\n");
    refusal(&run(["cat", broken.to_str().unwrap()]), 1);
    refusal(&run(["cat", broken.to_str().unwrap(), "--no-header"]), 2);
    refusal(&run(["cat", broken.to_str().unwrap(), "--csv", "--bytes"]), 2);
}
