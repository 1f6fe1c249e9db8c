//! Arbitrary text as the name of an array in a file and of a view: an error, or a file that exists,
//! an array of it, and the text of a view, which name the same array again when they are joined.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::LazyLock;

use crossdock::Array;
use crossdock::bindings::files::{Selected, Target};
use crossdock::buffer::Buffer;
use crossdock::exchange::files::{Contents, Format, OpenOptions, SaveOptions};

const FILES: [&str; 5] = ["a", "a.npz", "a.npz:x", "b[0].npz", "folder"];

/// Names that have the syntax of views in them.
const NAMES: [&str; 8] = ["x", "x:0", "x.y", "x[0]", "x y", "layers.0.weight", "größe", ".z"];

static SEVERAL: LazyLock<Contents> = LazyLock::new(|| contents(&NAMES));
static ONE: LazyLock<Contents> = LazyLock::new(|| contents(&NAMES[..1]));

fn contents(names: &[&str]) -> Contents {
    let array = Array::from_vec((0..6).collect::<Vec<i32>>(), [2, 3]).expect("six elements");
    let arrays: Vec<_> = names.iter().map(|name| (*name, array.clone().into())).collect();
    let mut bytes = Vec::new();
    SaveOptions::new().format(Format::Npz).write(&mut bytes, &arrays).expect("into memory");
    OpenOptions::new().read(Buffer::from_vec(bytes).expect("memory")).expect("an archive")
}

fuzz_target!(|text: &str| {
    let exists = |path: &Path| FILES.iter().any(|file| Path::new(file) == path);
    let Ok(target) = Target::split(OsStr::new(text), &exists) else { return };
    let path = target.path().to_str().expect("a part of the text");
    assert!(text.starts_with(path) && text.ends_with(target.rest()));
    assert!(text.len() - path.len() - target.rest().len() <= 1, "more than a colon is lost");
    if FILES.contains(&text) {
        assert_eq!((path, target.rest()), (text, ""), "a file that exists is that file");
    }
    for contents in [&*SEVERAL, &*ONE] {
        match target.select(contents) {
            Ok(Selected::All) => assert!(target.rest().is_empty()),
            Ok(Selected::One(entry, view)) => {
                let opened = entry.open().expect("in place").at(&view);
                let joined = format!("a.npz:{}:{view}", entry.name());
                let again = Target::split(OsStr::new(&joined), &|path| path == Path::new("a.npz"));
                // A longer name can begin with a name and a view of it.
                if let Ok(Selected::One(other, rest)) = again.expect("it is text").select(contents)
                    && other.name() == entry.name()
                {
                    assert_eq!(rest, view);
                    let again = other.open().expect("in place").at(&rest);
                    let shape = |array: crossdock::DArray| array.shape().to_vec();
                    assert_eq!(again.map(shape).ok(), opened.map(shape).ok());
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});
