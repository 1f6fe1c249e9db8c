//! A file appears when it is complete; pipes and devices are written directly.

use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use crossdock::bindings::files::NewFile;
use crossdock::exchange::files::{self, Format, SaveOptions};
use crossdock::{Array, DArray};

use crate::common::{Folder, assert_says};

fn names(folder: &Folder) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn written(file: crossdock::Result<NewFile>, text: &str) -> crossdock::Result<()> {
    let mut file = file?;
    file.write_all(text.as_bytes()).unwrap();
    file.finish()
}

fn text(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn array() -> DArray {
    Array::from_vec(vec![1u8, 2, 3], [3]).unwrap().into()
}

/// An array for each format that this build writes.
fn saved() -> Vec<(Format, DArray)> {
    let image = || array().reshape(&[3, 1]).unwrap();
    let mut saved = vec![(Format::Npy, array()), (Format::Raw, array())];
    if cfg!(feature = "npz") {
        saved.push((Format::Npz, array()));
    }
    if cfg!(feature = "safetensors") {
        saved.push((Format::Safetensors, array()));
    }
    if cfg!(feature = "png") {
        saved.push((Format::Png, image()));
    }
    if cfg!(feature = "jpeg") {
        saved.push((Format::Jpeg, image()));
    }
    saved
}

#[test]
fn a_file_appears_whole_and_replaces_only_when_it_is_told_to() {
    let folder = Folder::new("new-file");
    let path = folder.path("a");
    std::fs::write(&path, "old").unwrap();
    let mut file = NewFile::create(&path).unwrap();
    file.write_all(b"new").unwrap();
    assert_eq!(text(&path), "old");
    drop(file);
    assert_eq!((names(&folder), text(&path)), (vec!["a".to_owned()], "old".to_owned()));

    let refused = NewFile::create_new(&path).unwrap_err();
    assert!(refused.is_io());
    assert_says(&refused, &["it already exists"]);

    written(NewFile::create(&path), "new").unwrap();
    assert_eq!((names(&folder), text(&path)), (vec!["a".to_owned()], "new".to_owned()));

    // Another process creates the file in the meantime.
    let file = NewFile::create_new(folder.path("b")).unwrap();
    std::fs::write(folder.path("b"), "theirs").unwrap();
    assert_says(&file.finish().unwrap_err(), &["it already exists"]);
    assert_eq!(text(folder.path("b")), "theirs");
    written(NewFile::create_new(folder.path("c")), "c").unwrap();
    assert_eq!(names(&folder), ["a", "b", "c"]);
}

#[test]
fn nothing_has_a_name_if_the_file_is_forgotten_before_it_is_whole() {
    let folder = Folder::new("new-file-unnamed");
    let mut file = NewFile::create(folder.path("a")).unwrap();
    file.write_all(&[1; 100_000]).unwrap();
    if file.part().is_none() {
        assert_eq!(names(&folder), [""; 0]);
    } else {
        crossdock_testkit::not_run("unnamed files: this file system has none");
    }
    // Like SIGKILL: the process runs no more code.
    std::mem::forget(file);
    assert_eq!(names(&folder), [""; 0]);
}

#[test]
fn a_link_stays_a_link_wherever_it_leads() {
    let folder = Folder::new("new-file-link");
    std::fs::create_dir(folder.path("there")).unwrap();
    std::fs::write(folder.path("there/target"), "old").unwrap();
    symlink("there/target", folder.path("link")).unwrap();
    written(NewFile::create(folder.path("link")), "new").unwrap();
    assert_eq!(text(folder.path("there/target")), "new");
    assert!(NewFile::create_new(folder.path("link")).unwrap_err().is_io());
    // Dangling links, through another folder and back.
    symlink("there/second", folder.path("first")).unwrap();
    symlink("../third", folder.path("there/second")).unwrap();
    written(NewFile::create(folder.path("first")), "made").unwrap();
    assert_eq!(text(folder.path("third")), "made");
    symlink(folder.path("there/absolute"), folder.path("fourth")).unwrap();
    written(NewFile::create_new(folder.path("fourth")), "made").unwrap();
    assert_eq!(text(folder.path("there/absolute")), "made");
    assert!(["link", "first", "there/second", "fourth"].iter().all(|name| folder.path(name).is_symlink()));
    // Circles, and missing folders.
    symlink("b", folder.path("a")).unwrap();
    symlink("a", folder.path("b")).unwrap();
    assert!(NewFile::create(folder.path("a")).unwrap_err().is_io());
    symlink("missing/a", folder.path("c")).unwrap();
    for name in ["c", "missing/a", "new/"] {
        let error = NewFile::create(folder.path(name)).unwrap_err();
        assert!(error.is_io());
        assert_says(&error, &["no such directory"]);
    }
    assert!(NewFile::create("").unwrap_err().is_io());
}

#[test]
fn folders_and_sockets_are_refused() {
    let folder = Folder::new("new-file-kinds");
    let _socket = UnixListener::bind(folder.path("socket")).unwrap();
    symlink(".", folder.path("here")).unwrap();
    for name in ["", "here", "..", "socket"] {
        assert!(NewFile::create(folder.path(name)).unwrap_err().is_unsupported(), "{name}");
    }
    for (format, array) in saved() {
        let refused = SaveOptions::new().format(format).save(&folder.0, &array);
        assert!(refused.unwrap_err().is_unsupported(), "{format}");
    }
    assert_eq!(names(&folder), ["here", "socket"]);
}

#[test]
fn devices_and_pipes_are_written_through_by_every_writer() {
    let folder = Folder::new("new-file-through");
    for (format, array) in saved() {
        let name = format.ending();
        // The array has the same name in an archive, whatever the file is called.
        let save = |path: &Path| SaveOptions::new().format(format).save_all(path, &[("a", array.clone())]);
        let (plain, pipe) = (folder.path(name), folder.path(&format!("{name}.pipe")));
        save(&plain).unwrap();
        let wanted = std::fs::read(&plain).unwrap();
        save(Path::new("/dev/null")).unwrap();
        assert!(std::fs::metadata("/dev/null").unwrap().rdev() > 0, "{name} replaced /dev/null");
        let full = save(Path::new("/dev/full")).unwrap_err();
        assert!(full.is_io(), "{name}: {full}");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let bytes = std::thread::scope(|scope| {
            let reader = scope.spawn(|| std::fs::read(&pipe).unwrap());
            save(&pipe).unwrap();
            reader.join().unwrap()
        });
        assert_eq!(bytes, wanted, "{name}");
        assert!(!std::fs::metadata(&pipe).unwrap().is_file());
    }
    // No file is replaced, so no permission is needed.
    written(NewFile::create_new("/dev/null"), "lost").unwrap();
}

#[test]
fn a_descriptor_is_written_from_where_it_stands() {
    let folder = Folder::new("new-file-descriptor");
    let mut log = File::options().read(true).append(true).create_new(true).open(folder.path("log")).unwrap();
    log.write_all(b"before ").unwrap();
    symlink(format!("/dev/fd/{}", log.as_raw_fd()), folder.path("link")).unwrap();
    for path in [format!("/proc/self/fd/{}", log.as_raw_fd()).into(), folder.path("link")] {
        let mut file = NewFile::create_new(path).unwrap();
        assert!(file.written_through().is_some());
        file.write_all(b"between ").unwrap();
        file.finish().unwrap();
    }
    log.write_all(b"after").unwrap();
    assert_eq!(text(folder.path("log")), "before between between after");
    let (mut reader, writer) = std::io::pipe().unwrap();
    SaveOptions::new().format(Format::Npy).save(format!("/dev/fd/{}", writer.as_raw_fd()), &array()).unwrap();
    drop(writer);
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len(), 128 + 3);
}

#[test]
fn what_is_replaced_keeps_its_mode_and_what_is_new_has_that_of_the_umask() {
    let folder = Folder::new("new-file-mode");
    for (format, array) in saved() {
        let path = folder.path(&format!("a.{}", format.ending()));
        files::save(&path, &array).unwrap();
        // Like every other new file of this process.
        std::fs::write(folder.path("plain"), "").unwrap();
        let usual = std::fs::metadata(folder.path("plain")).unwrap().mode();
        assert_eq!(std::fs::metadata(&path).unwrap().mode(), usual, "{format}");
        for mode in [0o600, 0o640, 0o777] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let before = std::fs::metadata(&path).unwrap();
            files::save(&path, &array).unwrap();
            let after = std::fs::metadata(&path).unwrap();
            assert_eq!(after.mode() & 0o7777, mode, "{format}");
            assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
            assert_ne!(after.ino(), before.ino(), "{format}: written in place");
        }
    }
}

#[test]
fn what_is_replaced_keeps_its_owner() {
    let folder = Folder::new("new-file-owner");
    let path = folder.path("a");
    std::fs::write(&path, "old").unwrap();
    if std::os::unix::fs::chown(&path, Some(65534), Some(65534)).is_err() {
        return crossdock_testkit::not_run("a file of another owner: only root can make one");
    }
    written(NewFile::create(&path), "new").unwrap();
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!((after.uid(), after.gid(), text(&path).as_str()), (65534, 65534, "new"));
}

#[test]
fn what_users_noted_of_a_file_stays() {
    let folder = Folder::new("new-file-attributes");
    let path = folder.path("a");
    std::fs::write(&path, "old").unwrap();
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    let (note, mut read) = (b"kept", [0u8; 16]);
    // SAFETY: both names are C strings, and the value is passed with its length.
    let set =
        unsafe { libc::setxattr(name.as_ptr(), c"user.note".as_ptr(), note.as_ptr().cast(), note.len(), 0) };
    if set != 0 {
        return crossdock_testkit::not_run("user attributes of files: this file system has none");
    }
    written(NewFile::create(&path), "new").unwrap();
    // SAFETY: both names are C strings, and the buffer is passed with its length.
    let count =
        unsafe { libc::getxattr(name.as_ptr(), c"user.note".as_ptr(), read.as_mut_ptr().cast(), read.len()) };
    assert_eq!((usize::try_from(count), &read[..4]), (Ok(4), &note[..]));
    assert_eq!(text(&path), "new");
}

#[test]
fn a_hard_link_is_cut_and_a_map_of_the_old_file_keeps_its_bytes() {
    let folder = Folder::new("new-file-hard");
    let (a, b) = (folder.path("a.npy"), folder.path("b.npy"));
    files::save(&a, &array()).unwrap();
    std::fs::hard_link(&a, &b).unwrap();
    symlink("b.npy", folder.path("c.npy")).unwrap();
    let old = files::open(&a).unwrap();
    files::save(folder.path("c.npy"), &old.reverse(0).unwrap()).unwrap();
    assert_eq!(files::open(&b).unwrap().get(&[0]).unwrap().as_i64(), Some(3));
    files::save(&a, &old.reverse(0).unwrap()).unwrap();
    assert_eq!(old.get(&[0]).unwrap().as_i64(), Some(1));
    assert_eq!(files::open(&a).unwrap().get(&[0]).unwrap().as_i64(), Some(3));
}

#[test]
fn a_name_may_be_as_long_as_the_file_system_permits() {
    let folder = Folder::new("new-file-long");
    for length in [250, 255] {
        written(NewFile::create_new(folder.path(&"n".repeat(length))), "all").unwrap();
        written(NewFile::create(folder.path(&"n".repeat(length))), "again").unwrap();
    }
    assert_says(&NewFile::create(folder.path(&"n".repeat(256))).unwrap_err(), &["shorten"]);
    assert_eq!(names(&folder).len(), 2);
}

#[test]
fn two_that_save_one_name_at_once_leave_one_whole_file() {
    let folder = Folder::new("new-file-race");
    let path = folder.path("a.npy");
    std::thread::scope(|scope| {
        for byte in 0..4u8 {
            let path = &path;
            scope.spawn(move || {
                let array = Array::from_vec(vec![byte; 10_000], [10_000]).unwrap().into();
                (0..25).for_each(|_| files::save(path, &array).unwrap());
            });
        }
    });
    let array = files::open(&path).unwrap();
    let first = array.get(&[0]).unwrap();
    assert!((0..10_000).all(|at| array.get(&[at]).unwrap() == first));
    assert_eq!(names(&folder), ["a.npy"]);
}
