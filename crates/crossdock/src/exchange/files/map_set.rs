//! Describes files as a set, so that other processes map the files themselves.

use std::fs::File;
use std::path::Path;

use crate::error::{Error, Kind, Result, short, system_text};
use crate::exchange::files::load_set::{FileContents, Loaded, SourceFile, sources, within};
use crate::exchange::files::set_tables;
use crate::exchange::files::{OpenOptions, shown};
use crate::exchange::protocol::hold::{Label, MOST_REGIONS, SealedSet};
use crate::table::Checks;

/// Describes a file, or a folder of files, as a set for a
/// [`SetHolder`](crate::exchange::protocol::hold::SetHolder), without loading it: readers map the
/// file, and share the pages that the system keeps of it. Reads only headers, and copies nothing.
///
/// Names are those of [`load_set`](crate::exchange::files::load_set). Unlike a loaded set, a mapped
/// one is not constant: what a process writes to the file is seen by its readers, and bytes that
/// the file loses read as zeros. To change a file under its readers, replace it (write another file
/// and rename it): they keep the old one.
///
/// ```
/// use crossdock::{Array, exchange::files};
/// # let path = std::env::temp_dir().join(format!("crossdock-mapped-{}.npy", std::process::id()));
/// files::save(&path, &Array::from_vec(vec![1.5f32, 2.5], [2])?.into())?;
/// let set = files::map_set(&path, &"m@1".parse()?)?;
/// let (name, set) = (path.file_stem().unwrap().to_str().unwrap(), set.open()?);
/// assert_eq!(set.get(name)?.get(&[1])?.as_f64(), Some(2.5));
/// assert!(set.is_mapped());
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`load_set`](crate::exchange::files::load_set); `is_unsupported` for arrays and tables that
/// must be decoded, and for more than 64 files; `is_fault` if a file shrinks meanwhile.
pub fn map_set(path: impl AsRef<Path>, label: &Label) -> Result<SealedSet> {
    map_set_of(&[path], label, |_, error| Err(error))
}

/// As [`map_set`], of several files and folders, with `refused` as in
/// [`load_set_of`](crate::exchange::files::load_set::load_set_of).
///
/// # Errors
///
/// As [`map_set`].
pub fn map_set_of(
    paths: &[impl AsRef<Path>],
    label: &Label,
    mut refused: impl FnMut(&Path, Error) -> Result<()>,
) -> Result<SealedSet> {
    let within = |error: Error| within(paths, error);
    let mut sources = sources(paths)?;
    if sources.len() > MOST_REGIONS {
        let text = format!(
            "there are {} files, and a set maps at most {MOST_REGIONS}; load them into memory, or divide them",
            sources.len()
        );
        return Err(within(Error::new(Kind::Unsupported, text)));
    }
    let mut contents = Vec::with_capacity(sources.len());
    for (region, source) in sources.iter_mut().enumerate() {
        (source.region, source.start) = (region, 0);
        contents.push(open(source, &mut refused).map_err(|error| error.within(shown(&source.path)))?);
    }
    let mut loaded = Loaded::default();
    for (source, contents) in sources.iter().zip(&contents) {
        loaded.add(source, contents).map_err(|error| error.within(shown(&source.path)))?;
    }
    let Loaded { entries, metadata, .. } = loaded;
    // The maps of the files end here.
    drop(contents);
    let files = sources.into_iter().map(|source| source.file).collect();
    SealedSet::from_files(label, files, &entries, &metadata).map_err(within)
}

/// The contents of a file, of which every array, or the table, lies there as it is in memory.
fn open(source: &SourceFile, refused: &mut dyn FnMut(&Path, Error) -> Result<()>) -> Result<FileContents> {
    let file: File = source.file.try_clone().map_err(|error| {
        Error::caused(Kind::Io, format!("a descriptor could not be made: {}", system_text(&error)), error)
    })?;
    let options = OpenOptions::new().guarded(true);
    let bytes = options.load(file)?;
    if let Some(table) = set_tables::opened(&options, &bytes, Checks::Shape)? {
        return match table.encoded_because {
            Some(what) => Err(encoded(what)),
            None => Ok(FileContents::Table(table)),
        };
    }
    let contents = source.without_refused(options.read(bytes)?, refused)?;
    for entry in contents.entries() {
        if let Some(what) = entry.copied_because() {
            return Err(match entry.name() {
                "" => encoded(what),
                name => encoded(what).within(format_args!("array {}", short(name))),
            });
        }
    }
    Ok(FileContents::Arrays(contents))
}

#[cold]
fn encoded(what: &str) -> Error {
    let text = format!(
        "it is {what}, so a map of the file does not have its elements; load the file into memory instead"
    );
    Error::new(Kind::Unsupported, text)
}
