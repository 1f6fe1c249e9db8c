//! Files loaded into sets.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crossdock::exchange::files;
use crossdock::exchange::protocol::hold::{self, Limits, SetHolder};
use crossdock::memory::{Birth, copied_bytes_here};
use crossdock::{Array, DArray};

use crate::common::{Running, unique};

pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
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

pub(crate) fn numbers(from: i32) -> DArray {
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

#[cfg(feature = "safetensors")]
#[test]
fn a_mapped_set_is_the_files_themselves_and_never_constant() {
    let folder = Folder::new("mapped");
    let name = unique();
    for shard in 0..3 {
        let arrays = [(format!("a.{shard}"), numbers(shard)), (format!("b.{shard}"), numbers(10 * shard))];
        let options = files::SaveOptions::new()
            .metadata("format", "pt")
            .metadata(format!("c.{shard}"), format!("b.{shard}"));
        options.save_all(folder.0.join(format!("model-{shard}.safetensors")), &arrays).unwrap();
    }
    files::save(folder.0.join("bias.npy"), &numbers(7)).unwrap();
    let mut holder = SetHolder::new(Limits::new()).unwrap();
    holder.claim(&name).unwrap();
    let copied = copied_bytes_here();
    let made = files::map_set(&folder.0, &holder.next(&name).unwrap()).unwrap();
    assert!(made.is_mapped());
    holder.commit(made).unwrap();
    let _holder = Running::start(holder);

    let set = hold::connect(&name).unwrap();
    assert!(set.is_mapped() && set.len() == 10);
    for shard in 0..3 {
        let shared = set.get(&format!("c.{shard}")).unwrap();
        assert!(shared.equals(&numbers(10 * shard)).unwrap());
        assert_eq!(shared.as_ptr(), set.get(&format!("b.{shard}")).unwrap().as_ptr());
    }
    let bias = set.get("bias").unwrap();
    assert!(bias.equals(&numbers(7)).unwrap());
    assert_eq!(copied_bytes_here(), copied);
    assert_eq!(set.metadata().unwrap(), [("format", "pt")]);
    assert_eq!((bias.birth(), bias.is_readonly()), (Birth::Aliased, true));
    assert!(bias.set(&[0, 0], &9.into()).unwrap_err().is_read_only());
    let bias = Array::<i32, 2>::try_from(bias).unwrap();
    assert!(bias.read().is_err());
    let rows = [hold::list().unwrap().into_iter().find(|row| row.name == name).unwrap()];
    assert!(rows[0].versions.as_ref().unwrap()[0].is_mapped);
    assert!(hold::who(&name).unwrap().iter().all(|user| user.is_mapped));

    // What another process writes to the file is there at once.
    let file = File::options().write(true).open(folder.0.join("bias.npy")).unwrap();
    file.write_all_at(&77i32.to_le_bytes(), file.metadata().unwrap().len() - 4).unwrap();
    assert_eq!(set.get("bias").unwrap().get(&[2, 3]).unwrap().as_i64(), Some(77));
    // A replaced file leaves the former one to its readers.
    files::save(folder.0.join("bias.npy"), &numbers(1)).unwrap();
    assert_eq!(set.get("bias").unwrap().get(&[2, 3]).unwrap().as_i64(), Some(77));
}

#[test]
fn the_descriptor_of_a_mapped_file_cannot_write() {
    let folder = Folder::new("mapped-readonly");
    let path = folder.0.join("x.npy");
    files::save(&path, &numbers(0)).unwrap();
    let set = files::map_set(&path, &"m@1".parse().unwrap()).unwrap().open().unwrap();
    let array = set.get("x").unwrap();
    let (buffer, _) = array.buffer().unwrap();
    let (fd, _) = buffer.descriptor().unwrap();
    let file = File::from(fd.try_clone_to_owned().unwrap());
    let refused = file.write_all_at(b"x", 0).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::EBADF));
    let options = crossdock::memory::MapOptions::new().writable(true);
    assert!(crossdock::buffer::Buffer::map(file, options).unwrap_err().is_io());
}

#[test]
fn a_mapped_file_that_shrinks_is_an_error_of_its_readers_and_of_later_ones() {
    const LEN: usize = 1 << 16;
    let folder = Folder::new("mapped-shrinks");
    let (path, name) = (folder.0.join("x.npy"), unique());
    files::save(&path, &Array::from_vec((0..LEN as i64).collect(), [LEN]).unwrap().into()).unwrap();
    let mut holder = SetHolder::new(Limits::new()).unwrap();
    holder.claim(&name).unwrap();
    let label = holder.next(&name).unwrap();
    holder.commit(files::map_set(&path, &label).unwrap()).unwrap();
    let _holder = Running::start(holder);
    let set = hold::connect(&name).unwrap();
    let array = set.get("x").unwrap();
    assert_eq!(array.get(&[LEN - 1]).unwrap().as_i64(), Some(LEN as i64 - 1));
    File::options().write(true).open(&path).unwrap().set_len(4096).unwrap();
    let fault = array.to_order(crossdock::layout::Order::RowMajor).unwrap_err();
    assert!(fault.is_fault() && fault.to_string().contains("shrank"), "{fault}");
    assert!(array.buffer().unwrap().0.fault().is_some());
    let late = hold::connect(&name).unwrap_err();
    assert!(late.is_fault() && late.to_string().contains("it has 4096 bytes, and had"), "{late}");
    assert_eq!(hold::list().unwrap().iter().filter(|row| row.name == name).count(), 1);
}

#[cfg(feature = "npz")]
#[test]
fn arrays_that_must_be_decoded_cannot_be_mapped() {
    let folder = Folder::new("mapped-npz");
    let label = "m@1".parse().unwrap();
    let arrays = [("one", numbers(1)), ("two", numbers(2))];
    let path = folder.0.join("stored.npz");
    files::SaveOptions::new().save_all(&path, &arrays).unwrap();
    let set = files::map_set(&path, &label).unwrap().open().unwrap();
    for (name, array) in &arrays {
        assert!(set.get(name).unwrap().equals(array).unwrap());
    }
    let path = folder.0.join("deflated.npz");
    files::SaveOptions::new().deflated(true).save_all(&path, &arrays).unwrap();
    let refused = files::map_set(&path, &label).unwrap_err();
    assert!(refused.is_unsupported() && refused.to_string().contains("it is deflated"), "{refused}");
}
