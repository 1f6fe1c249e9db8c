//! A file appears when all of it is there.

use std::io::Write;

use crossdock::exchange::files::NewFile;

use crate::common::{Folder, assert_says};

fn names(folder: &Folder) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn it_replaces_what_was_there_only_when_it_is_told_to() {
    let folder = Folder::new("new-file");
    let path = folder.path("a");
    std::fs::write(&path, "old").unwrap();
    let mut file = NewFile::beside(&path).unwrap();
    file.write_all(b"new").unwrap();
    assert_eq!(names(&folder).len(), 2);
    drop(file);
    assert_eq!((names(&folder), std::fs::read(&path).unwrap()), (vec!["a".to_owned()], b"old".to_vec()));

    let mut file = NewFile::beside(&path).unwrap();
    file.write_all(b"new").unwrap();
    let refused = file.create().unwrap_err();
    assert!(refused.is_io());
    assert_says(&refused, &["there is such a file already"]);
    assert_eq!((names(&folder), std::fs::read(&path).unwrap()), (vec!["a".to_owned()], b"old".to_vec()));

    let mut file = NewFile::beside(&path).unwrap();
    file.write_all(b"new").unwrap();
    file.replace().unwrap();
    assert_eq!((names(&folder), std::fs::read(&path).unwrap()), (vec!["a".to_owned()], b"new".to_vec()));

    let mut file = NewFile::beside(folder.path("b")).unwrap();
    file.write_all(b"b").unwrap();
    file.create().unwrap();
    assert_eq!(names(&folder), ["a", "b"]);
}

#[test]
fn a_link_stays_a_link_and_a_folder_is_refused() {
    let folder = Folder::new("new-file-link");
    std::fs::write(folder.path("target"), "old").unwrap();
    std::os::unix::fs::symlink(folder.path("target"), folder.path("link")).unwrap();
    let mut file = NewFile::beside(folder.path("link")).unwrap();
    file.write_all(b"new").unwrap();
    file.replace().unwrap();
    assert!(folder.path("link").is_symlink());
    assert_eq!(std::fs::read(folder.path("target")).unwrap(), b"new");
    assert!(NewFile::beside(&folder.0).unwrap_err().is_unsupported());
    assert!(NewFile::beside(folder.path("missing/a")).unwrap_err().is_io());
}
