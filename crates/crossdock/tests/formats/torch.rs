//! Checkpoints of PyTorch, which `torch.save` wrote.

use std::path::{Path, PathBuf};

use crossdock::exchange::files::{self, Contents, Format, OpenOptions};
use crossdock::memory::{Backing, copied_bytes_here};
use crossdock::{DArray, Error};

use crate::common::{assert_says, buffer, values};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/torch").join(name)
}

fn read(bytes: &[u8]) -> Result<Contents, Error> {
    OpenOptions::new().read(buffer(bytes))
}

fn tensor(contents: &Contents, name: &str) -> DArray {
    contents.get(name).unwrap().open().unwrap()
}

/// The bytes of a seed, with a text in them replaced by another one of the same length.
fn replaced(name: &str, old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut bytes = std::fs::read(path(name)).unwrap();
    assert_eq!(old.len(), new.len());
    let at = bytes.windows(old.len()).position(|window| window == old).unwrap();
    bytes[at..at + new.len()].copy_from_slice(new);
    bytes
}

#[test]
fn tensors_are_mapped_under_their_paths_and_share_their_storage() {
    let before = copied_bytes_here();
    let contents = files::open_all(path("checkpoint")).unwrap();
    assert_eq!((contents.format(), contents.format().has_names()), (Format::Torch, true));
    let names = ["model.w", "model.w_t", "model.row", "model.bias", "steps.0", "steps.1"];
    assert_eq!(contents.names().collect::<Vec<_>>(), names);
    for (name, dtype, shape, elements) in [
        ("model.w", "<f4", &[2, 3][..], "0.0 1.0 2.0 3.0 4.0 5.0"),
        ("model.w_t", "<f4", &[3, 2], "0.0 3.0 1.0 4.0 2.0 5.0"),
        ("model.row", "<f4", &[3], "3.0 4.0 5.0"),
        ("model.bias", "bfloat16", &[2], "0.5 -1.0"),
        ("steps.0", "<i8", &[], "7"),
        ("steps.1", "bool", &[2], "True False"),
    ] {
        let array = tensor(&contents, name);
        assert_eq!((array.dtype(), array.shape()), (&dtype.parse().unwrap(), shape), "{name}");
        assert_eq!(
            (values(&array).join(" "), array.backing()),
            (elements.to_owned(), Backing::File),
            "{name}"
        );
    }
    let (whole, row) = (tensor(&contents, "model.w"), tensor(&contents, "model.row"));
    assert_eq!(row.as_ptr(), whole.at("1").unwrap().as_ptr());
    assert_eq!(copied_bytes_here(), before);
    let texts: Vec<_> = contents.metadata().iter().map(|(name, text)| format!("{name}={text}")).collect();
    assert_eq!(texts, ["epoch=3", "name=tiny"]);
}

#[test]
fn a_tensor_alone_and_types_without_a_storage_of_their_own_are_opened() {
    let contents = files::open_all(path("tensor")).unwrap();
    let array = tensor(&contents, "tensor");
    assert_eq!(
        (array.dtype().to_string(), values(&array).join(" ")),
        ("<u2".parse::<crossdock::element::DType>().unwrap().to_string(), "0 1 2".into())
    );
    let contents = files::open_all(path("protocol_5")).unwrap();
    assert_eq!(contents.names().collect::<Vec<_>>(), ["a", "f8"]);
    assert_eq!(tensor(&contents, "f8").dtype().to_string(), "float8_e4m3fn");
    // Its elements are not those of its storage.
    assert_eq!(contents.refused().map(|(name, _)| name).collect::<Vec<_>>(), ["conj"]);
}

#[test]
fn nothing_of_a_pickle_is_executed() {
    let error = files::open_all(path("module")).unwrap_err();
    assert!(error.is_unsupported());
    assert_says(
        &error,
        &["it is what Python makes of \"torch.nn.modules.linear.Linear\", which is never called"],
    );
    let bytes = replaced(
        "checkpoint",
        b"ctorch._utils\n_rebuild_tensor_v2\n",
        b"cos\nsystem\nX\x10\x00\x00\x00touch was-calledN",
    );
    assert!(read(&bytes).is_err());
    let bytes = replaced("checkpoint", b"_rebuild_tensor_v2", b"_rebuild_tensor_vX");
    let contents = read(&bytes).unwrap();
    assert_eq!((contents.entries().len(), contents.refused().len()), (0, 6));
    let (name, error) = contents.refused().next().unwrap();
    assert_eq!(name, "model.w");
    assert_says(error, &["torch._utils._rebuild_tensor_vX", "never called"]);
    let contents = read(&replaced("checkpoint", b"FloatStorage", b"QInt8Storage")).unwrap();
    assert_says(contents.refused().next().unwrap().1, &["\"torch.QInt8Storage\", which no dtype describes"]);
}

#[test]
fn damaged_checkpoints_are_refused_with_the_reason() {
    for (old, new, words) in [
        (&b"storageq"[..], &b"storagXq"[..], "what it names outside of itself is no storage"),
        (b"littlePK", b"bottomPK", "its byte order is \"bottom\""),
        (b"\x80\x02}q", b"\x80\x09}q", "is of protocol 9"),
    ] {
        assert_says(&read(&replaced("checkpoint", old, new)).unwrap_err(), &[words]);
    }
    // The shape of the first tensor, whose storage has six elements.
    let bytes = replaced("checkpoint", b"K\x02K\x03\x86q\x0aK\x03K\x01", b"K\x03K\x03\x86q\x0aK\x03K\x01");
    assert_says(
        &read(&bytes).unwrap_err(),
        &["[3, 3] with strides [3, 1] from element 0 on is not within its storage of 24"],
    );
    // The bias repeats its first element 255 times.
    let bytes = replaced("checkpoint", b"K\x02\x85q#K\x01", b"K\xff\x85q#K\x00");
    assert_eq!(tensor(&read(&bytes).unwrap(), "model.bias").shape(), [255]);
    let limited = OpenOptions::new().limit(100).read(buffer(&bytes)).unwrap();
    let (_, error) = limited.refused().next().unwrap();
    assert_says(error, &["value \"model.bias\": it repeats the 4 bytes of its storage: it takes 510 bytes"]);
    let whole = std::fs::read(path("checkpoint")).unwrap();
    for len in (100..whole.len()).step_by(7) {
        assert!(read(&whole[..len]).unwrap_err().is_malformed(), "{len}");
    }
}

/// A checkpoint with this pickle, and a storage `0` of 48 bytes.
fn checkpoint(pickle: &[u8]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    let records = [("x/data.pkl", pickle), ("x/data/0", &[0; 48][..])];
    for (name, bytes) in records {
        let (place, nbytes) = (archive.len() as u32, bytes.len() as u32);
        // Stored, so both sizes are the same; checksums are not read.
        let mut fields = [20_u16, 0, 0, 0, 0, 0, 0].map(u16::to_le_bytes).concat();
        fields.extend([nbytes, nbytes].map(u32::to_le_bytes).concat());
        fields.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
        archive.extend([b"PK\x03\x04", &fields[..], name.as_bytes(), bytes].concat());
        let last = [&[0; 10][..], &place.to_le_bytes()].concat();
        directory.extend([b"PK\x01\x02\x14\0", &fields[..], &last, name.as_bytes()].concat());
    }
    let place = (archive.len() as u32).to_le_bytes();
    let nbytes = (directory.len() as u32).to_le_bytes();
    let count = [records.len() as u16; 2].map(u16::to_le_bytes).concat();
    let end = [&b"PK\x05\x06\0\0\0\0"[..], &count, &nbytes, &place, &[0; 2]].concat();
    [archive, directory, end].concat()
}

/// Instructions that push a text.
fn text(text: &str) -> Vec<u8> {
    [&b"X"[..], &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
}

/// Instructions that push the arguments of a tensor of `<f4`, with this offset, shape and strides.
fn arguments(view: &[u8], metadata: &[u8]) -> Vec<u8> {
    let id = [text("storage"), b"ctorch\nFloatStorage\n".to_vec(), text("0"), text("cpu")].concat();
    [b"((", &id[..], b"K\x0ctQ", view, b"\x89N", metadata, b"t"].concat()
}

/// Instructions that push a tensor.
fn pushed(view: &[u8], metadata: &[u8]) -> Vec<u8> {
    [&b"ctorch._utils\n_rebuild_tensor_v2\n"[..], &arguments(view, metadata), b"R"].concat()
}

/// Offset 0, shape (3, 4), strides (4, 1).
const VIEW: &[u8] = b"K\0K\x03K\x04\x86K\x04K\x01\x86";

/// Instructions that push a dictionary.
fn dict(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let pairs = pairs.iter().flat_map(|(key, value)| [&key[..], value].concat());
    [&b"}("[..], &pairs.collect::<Vec<_>>(), b"u"].concat()
}

fn read_pickle(instructions: &[u8]) -> Result<Contents, Error> {
    read(&checkpoint(&[b"\x80\x02", instructions, b"."].concat()))
}

#[test]
fn names_have_limits() {
    // A list of a tensor, a key, and dictionaries that use both.
    let shared = |len: usize, count: usize| {
        let kept = [&pushed(VIEW, b"")[..], b"q\x02", &text(&"k".repeat(len)), b"q\x01"].concat();
        read_pickle(&[&b"]("[..], &kept, &b"}h\x01h\x02s".repeat(count), b"e"].concat())
    };
    assert_eq!(shared(4000, 3).unwrap().entries().len(), 4);
    let error = shared(5000, 1).unwrap_err();
    assert!(error.is_unsupported());
    assert_says(&error, &["(5000 bytes) in \"2\" makes a name of more than 4096 bytes"]);
    let most = "its names and texts have more than 67108864 bytes";
    assert_says(&shared(4000, 17_000).unwrap_err(), &[most]);
    let texts = [&b"]("[..], &text(&"v".repeat(1000)), b"q\x01", &b"h\x01".repeat(68_000), b"e"];
    assert_says(&read_pickle(&texts.concat()).unwrap_err(), &[most]);
}

#[test]
fn values_with_the_same_name_are_refused() {
    let tensor = || pushed(VIEW, b"");
    let contents = read_pickle(&dict(&[
        (text("a.b"), tensor()),
        (text("a"), dict(&[(text("b"), tensor()), (text("c"), tensor())])),
        (b"K\0".to_vec(), tensor()),
        (text("0"), b"K\x05".to_vec()),
        (text("d"), b"cos\nsystem\n".to_vec()),
        (text("d"), tensor()),
        (text("e"), b"K\x05".to_vec()),
    ]));
    let contents = contents.unwrap();
    assert_eq!(contents.names().collect::<Vec<_>>(), ["a.c"]);
    assert_eq!(contents.metadata(), [("e".to_owned(), "5".to_owned())]);
    assert_eq!(contents.refused().map(|(name, _)| name).collect::<Vec<_>>(), ["0", "a.b", "d"]);
    let error = contents.get("a.b").unwrap_err();
    assert!(error.is_unsupported());
    assert_says(&error, &["value \"a.b\": 2 values have this name", "rename a key"]);
}

#[test]
fn keys_are_written_as_python_writes_them() {
    let tensor = || pushed(VIEW, b"");
    let contents = read_pickle(&dict(&[
        ([&b"G"[..], &2.5_f64.to_be_bytes()].concat(), tensor()),
        ([&b"G"[..], &1e22_f64.to_be_bytes()].concat(), tensor()),
        (b"K\x01K\x02\x86".to_vec(), tensor()),
        ([&text("a")[..], b"\x85"].concat(), tensor()),
        (b")".to_vec(), tensor()),
        (b"N".to_vec(), tensor()),
        (b"\x88".to_vec(), tensor()),
        ([&text("it's")[..], b"\x85"].concat(), tensor()),
        ([&text("a\"'\n")[..], b"\x85"].concat(), tensor()),
    ]));
    let contents = contents.unwrap();
    let names = ["2.5", "1e+22", "(1, 2)", "('a',)", "()", "None", "True", "(\"it's\",)", r#"('a"\'\n',)"#];
    assert_eq!(contents.names().collect::<Vec<_>>(), names);
}

#[test]
fn tensors_that_cannot_be_opened_say_why() {
    let metadata = |key: &str| dict(&[(text(key), b"\x88".to_vec())]);
    for (view, metadata, words) in [
        (VIEW, metadata("conj"), &["it is conjugated", "tensor.resolve_conj()"][..]),
        (VIEW, metadata("neg"), &["it is negated", "tensor.resolve_neg()"]),
        (VIEW, metadata("other"), &["it has metadata that are not known"]),
        (b"K\0\x8a\x09\0\0\0\0\0\0\0\0\x01\x85K\x01\x85", Vec::new(), &["no integers of 64 bits"]),
        (
            &[&b"K\0"[..], &[&b"("[..], &b"K\x01".repeat(65), b"t"].concat().repeat(2)].concat(),
            Vec::new(),
            &["it has 65 axes; at most 64"],
        ),
    ] {
        let tensor = pushed(view, &metadata);
        let contents = read_pickle(&dict(&[(text("a"), tensor.clone())])).unwrap();
        assert_says(contents.refused().next().unwrap().1, words);
        // So it does alone.
        let error = read_pickle(&tensor).unwrap_err();
        assert!(error.is_unsupported());
        assert_says(&error, words);
    }
    // Without elements, any offset is inside.
    let empty = pushed(b"\x8a\x09\0\0\0\0\0\x01\0\0\0K\0K\x04\x86K\x04K\x01\x86", b"");
    assert_eq!(tensor(&read_pickle(&empty).unwrap(), "tensor").shape(), [0, 4]);
}

#[test]
fn dictionaries_with_a_default_and_tensors_with_attributes_are_opened() {
    let default =
        [&b"ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R"[..], &text("a"), &pushed(VIEW, b""), b"s"];
    let contents = read_pickle(&default.concat()).unwrap();
    assert_eq!(contents.names().collect::<Vec<_>>(), ["a"]);
    let with_class = |class: &[u8]| {
        let function = b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\n";
        let state = dict(&[(text("note"), b"K\x01".to_vec())]);
        read_pickle(&[&function[..], class, &arguments(VIEW, b""), &state, b"tR"].concat())
    };
    assert_eq!(tensor(&with_class(b"ctorch\nTensor\n").unwrap(), "tensor").shape(), [3, 4]);
    // Another class may give the elements another meaning.
    assert_says(
        &with_class(b"cmine\nTensor\n").unwrap_err(),
        &["_rebuild_from_type_v2\", which is never called"],
    );
}
