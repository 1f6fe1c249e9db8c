//! Files loaded into sets.

use std::path::PathBuf;

use crossdock::exchange::files;
use crossdock::memory::copied_bytes_here;
use crossdock::{Array, DArray};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("crossdock-hold-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn numbers(from: i32) -> DArray {
    Array::from_vec((from..from + 12).collect(), [3, 4]).unwrap().into()
}

#[test]
fn an_npy_file_is_a_set_of_one_array() {
    let folder = Folder::new("npy");
    let path = folder.0.join("numbers.npy");
    files::save(&path, &numbers(5)).unwrap();
    let (copied, mut told) = (copied_bytes_here(), Vec::new());
    let set = files::load_set(&path, &"m@1".parse().unwrap(), |done, all| told.push((done, all))).unwrap();
    assert_eq!(copied_bytes_here(), copied);
    let nbytes = path.metadata().unwrap().len();
    assert_eq!(told, [(nbytes, nbytes)]);
    assert!(set.open().unwrap().get("numbers").unwrap().equals(&numbers(5)).unwrap());
    assert!(
        files::load_set(folder.0.join("none.npy"), &"m@1".parse().unwrap(), |_, _| {}).unwrap_err().is_io()
    );
    assert!(files::load_set(&path, &"m".parse().unwrap(), |_, _| {}).unwrap_err().is_malformed());
}

#[cfg(feature = "safetensors")]
#[test]
fn shards_of_a_folder_are_one_set_with_shared_weights() {
    let folder = Folder::new("shards");
    let label = "m@1".parse().unwrap();
    let empty = files::load_set(&folder.0, &label, |_, _| {}).unwrap_err();
    assert!(empty.is_unsupported() && empty.to_string().contains(".safetensors"), "{empty}");
    for shard in 0..3 {
        let arrays = [(format!("a.{shard}"), numbers(shard)), (format!("b.{shard}"), numbers(10 * shard))];
        let options = files::SaveOptions::new()
            .metadata("format", "pt")
            .metadata(format!("c.{shard}"), format!("b.{shard}"));
        options.save_all(folder.0.join(format!("model-{shard}.safetensors")), &arrays).unwrap();
    }
    files::save(folder.0.join("bias.npy"), &numbers(7)).unwrap();
    std::fs::write(folder.0.join("config.json"), "{}").unwrap();
    let set = files::load_set(&folder.0, &label, |_, _| {}).unwrap().open().unwrap();
    assert_eq!(set.len(), 10);
    for shard in 0..3 {
        let shared = set.get(&format!("c.{shard}")).unwrap();
        assert!(shared.equals(&numbers(10 * shard)).unwrap());
        assert_eq!(shared.as_ptr(), set.get(&format!("b.{shard}")).unwrap().as_ptr());
        assert_eq!(set.get(&format!("a.{shard}")).unwrap().as_ptr().addr() % 64, 0);
    }
    assert!(set.get("bias").unwrap().equals(&numbers(7)).unwrap());
    assert_eq!(set.metadata().unwrap(), [("format", "pt")]);
    files::save(folder.0.join("a.0.npy"), &numbers(7)).unwrap();
    assert!(files::load_set(&folder.0, &label, |_, _| {}).unwrap_err().is_conflict());
}

#[cfg(feature = "npz")]
#[test]
fn deflated_arrays_are_decoded_into_the_set_and_damaged_ones_refused() {
    let folder = Folder::new("npz");
    let path = folder.0.join("both.npz");
    let arrays = [("one", numbers(1)), ("two", numbers(2))];
    files::SaveOptions::new().deflated(true).save_all(&path, &arrays).unwrap();
    let copied = copied_bytes_here();
    let set = files::load_set(&path, &"m@1".parse().unwrap(), |_, _| {}).unwrap();
    assert!(copied_bytes_here() - copied >= 2 * 48);
    let set = set.open().unwrap();
    for (name, array) in &arrays {
        assert!(set.get(name).unwrap().equals(array).unwrap());
    }
    let path = folder.0.join("stored.npz");
    files::SaveOptions::new().save_all(&path, &arrays).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(4).position(|window| window == 12i32.to_le_bytes()).unwrap();
    bytes[at] = 99;
    std::fs::write(&path, bytes).unwrap();
    let damaged = files::load_set(&path, &"m@1".parse().unwrap(), |_, _| {}).unwrap_err();
    assert!(damaged.is_malformed() && damaged.to_string().contains("stored.npz"), "{damaged}");
}
