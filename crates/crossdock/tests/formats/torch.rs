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
        b"cos\nsystem\nX\x10\x00\x00\x00touch /tmp/harm.N",
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
