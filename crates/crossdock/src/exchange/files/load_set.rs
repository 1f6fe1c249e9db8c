//! Loads files into the memory of a set, which other processes map.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::error::{Error, Kind, Result, short, system_text};
use crate::exchange::files::contents::{Contents, Entry};
use crate::exchange::files::set_tables::{self, HeldTable};
use crate::exchange::files::{Format, OpenOptions, shown, source};
use crate::exchange::protocol::hold::{EntryContents, Label, SealedSet, SetEntry, TableExtent, TableMemory};
use crate::kernel::Casting;
use crate::layout::{Layout, Order};
use crate::table::Checks;

/// The bytes that are read between two calls of the progress.
const PIECE: u64 = 64 << 20;

/// The elements of a file begin at a multiple of this many bytes: a cache line.
const ALIGN: u64 = 64;

/// Loads a file of any format, or a folder of files, into sealed shared memory: a set for a
/// [`SetHolder`](crate::exchange::protocol::hold::SetHolder). Each file is read once, straight into
/// the memory of the set, in which its arrays then lie in place; only those that must be decoded
/// (deflated, packed, an image) are copied there, and counted.
///
/// An Arrow IPC file is one table, which lies there as it is in the file; a compressed one is
/// decoded. Arrays keep the names that the file has; a table, or an array without a name, gets that
/// of its file, without the ending. Of a folder, all files are loaded whose endings name a format
/// that is opened. A text beside the tensors of a `.safetensors` file whose key is no tensor, and
/// whose value is one, is a second name of that tensor: so PyTorch's writers store shared weights.
///
/// `progress` is called with the bytes read so far, and all bytes.
///
/// ```
/// use crossdock::{Array, exchange::files};
/// # let path = std::env::temp_dir().join(format!("crossdock-load-{}.npy", std::process::id()));
/// files::save(&path, &Array::from_vec(vec![1.5f32, 2.5], [2])?.into())?;
/// let set = files::load_set(&path, &"m@1".parse()?, |_, _| {})?;
/// let name = path.file_stem().unwrap().to_str().unwrap();
/// assert_eq!(set.open()?.get(name)?.get(&[1])?.as_f64(), Some(2.5));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`OpenOptions::open_all`], and each reason for which an array of a file cannot be opened;
/// `is_conflict` if two arrays have one name; `is_unsupported` for a folder without a file of
/// arrays or tables, and for a dtype that a manifest cannot spell; `is_overflow` for files that
/// exceed the address space together; `is_io` without memory for the set.
pub fn load_set(path: impl AsRef<Path>, label: &Label, progress: impl FnMut(u64, u64)) -> Result<SealedSet> {
    let path = path.as_ref();
    load_set_of(&[path], label, progress, |_, error| Err(error))
}

/// As [`load_set`], of several files and folders. `refused` is called with each array that cannot
/// be opened, and the path of its file: an error ends the load, and otherwise the array is left
/// out.
///
/// # Errors
///
/// As [`load_set`].
pub fn load_set_of(
    paths: &[impl AsRef<Path>],
    label: &Label,
    mut progress: impl FnMut(u64, u64),
    mut refused: impl FnMut(&Path, Error) -> Result<()>,
) -> Result<SealedSet> {
    let within = |error: Error| within(paths, error);
    let sources = sources(paths)?;
    let total: u64 = sources.iter().map(|source| source.nbytes).sum();
    let end = sources.last().map_or(0, |source| source.start + source.nbytes);
    let memory = SealedSet::region(usize::try_from(end).unwrap_or(usize::MAX), label, 0)?;
    let mut done = 0;
    for source in &sources {
        let mut told = |nbytes| progress(done + nbytes, total);
        source.read_into(&memory, &mut told).map_err(|error| error.within(shown(&source.path)))?;
        done += source.nbytes;
    }

    let mut contents = Vec::with_capacity(sources.len());
    for source in &sources {
        let opened = source.open(&memory, &mut refused);
        contents.push(opened.map_err(|error| error.within(shown(&source.path)))?);
    }
    let mut loaded = Loaded::default();
    for (source, contents) in sources.iter().zip(&contents) {
        loaded.add(source, contents).map_err(|error| error.within(shown(&source.path)))?;
    }
    let mut regions = vec![memory];
    regions.extend(loaded.decode(label).map_err(within)?);
    regions.extend(loaded.decode_tables(label, regions.len()).map_err(within)?);
    let Loaded { entries, metadata, .. } = loaded;
    // The maps of the files end here: only the regions are left.
    drop(contents);
    SealedSet::from_regions(label, regions, &entries, &metadata).map_err(within)
}

/// An error of a set as a whole, with the path if there is one.
pub(super) fn within(paths: &[impl AsRef<Path>], error: Error) -> Error {
    match paths {
        [path] => error.within(shown(path.as_ref())),
        _ => error,
    }
}

/// What a file holds.
pub(super) enum FileContents {
    Arrays(Contents),
    Table(HeldTable),
}

/// A file, and its place in the memory.
pub(super) struct SourceFile {
    pub(super) path: PathBuf,
    pub(super) file: File,
    nbytes: u64,
    /// Where the file begins in its region.
    pub(super) start: u64,
    /// The region of its arrays that need no decoding.
    pub(super) region: usize,
}

/// The files, and those of folders in the order of their names.
pub(super) fn sources(paths: &[impl AsRef<Path>]) -> Result<Vec<SourceFile>> {
    let (mut sources, mut end) = (Vec::new(), 0);
    for path in paths {
        let path = path.as_ref();
        add_sources(path, &mut sources, &mut end).map_err(|error| error.within(shown(path)))?;
    }
    Ok(sources)
}

/// Adds a file, or those of a folder, behind the byte `end` of the memory.
fn add_sources(path: &Path, sources: &mut Vec<SourceFile>, end: &mut u64) -> Result<()> {
    let unread = |error: io::Error| {
        Error::caused(Kind::Io, format!("it could not be read: {}", system_text(&error)), error)
    };
    let mut paths = vec![path.to_owned()];
    if path.is_dir() {
        paths = fs::read_dir(path)
            .map_err(unread)?
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_file() && Format::named(path).is_some_and(|format| format != Format::Raw))
            .collect();
        paths.sort();
        if paths.is_empty() {
            let text = "no file in the folder has an ending of a format of arrays or tables, such as .safetensors or .arrow";
            return Err(Error::new(Kind::Unsupported, text));
        }
    }
    for path in paths {
        let mut file = source::open(&path, false)?;
        let nbytes = file.metadata().map_err(unread)?.len();
        let lead = lead(&mut file, &path, nbytes).map_err(unread)?;
        let start = end.checked_next_multiple_of(ALIGN).and_then(|end| end.checked_add(lead));
        let behind = start.and_then(|start| start.checked_add(nbytes));
        let (Some(start), Some(behind)) = (start, behind) else {
            return Err(too_many(nbytes));
        };
        *end = behind;
        sources.push(SourceFile { path, file, nbytes, start, region: 0 });
    }
    Ok(())
}

#[cold]
fn too_many(nbytes: u64) -> Error {
    Error::new(Kind::Overflow, format!("with {nbytes} more bytes, the set exceeds the address space"))
}

/// The bytes before a file, with which the tensors of a `.safetensors` file begin at a multiple of
/// [`ALIGN`].
fn lead(file: &mut File, path: &Path, nbytes: u64) -> io::Result<u64> {
    if Format::named(path) != Some(Format::Safetensors) || nbytes < 8 {
        return Ok(0);
    }
    let mut head = [0; 8];
    file.read_exact(&mut head)?;
    file.rewind()?;
    let begin = u64::from_le_bytes(head).wrapping_add(8);
    Ok(begin.wrapping_neg() % ALIGN)
}

impl SourceFile {
    /// Reads the file into its place.
    fn read_into(&self, memory: &OwnedFd, progress: &mut dyn FnMut(u64)) -> Result<()> {
        let unread = |error: io::Error| {
            let text = format!("it could not be read into shared memory: {}", system_text(&error));
            Error::caused(Kind::Io, text, error)
        };
        let mut target = File::from(memory.try_clone().map_err(unread)?);
        target.seek(SeekFrom::Start(self.start)).map_err(unread)?;
        let mut done = 0;
        while done < self.nbytes {
            // From file to file, the system copies the bytes without a buffer between them.
            let piece = io::copy(&mut (&self.file).take(PIECE.min(self.nbytes - done)), &mut target);
            match piece.map_err(unread)? {
                0 => {
                    let text =
                        format!("it shrank to {done} bytes while it was read; load it when it is complete");
                    return Err(Error::new(Kind::Io, text));
                }
                nbytes => done += nbytes,
            }
            progress(done);
        }
        Ok(())
    }

    /// The contents of the file, over a map of its place.
    fn open(
        &self,
        memory: &OwnedFd,
        refused: &mut dyn FnMut(&Path, Error) -> Result<()>,
    ) -> Result<FileContents> {
        let nbytes = usize::try_from(self.nbytes).unwrap_or(usize::MAX);
        let memory = memory.try_clone().map_err(|error| {
            Error::caused(Kind::Io, format!("a descriptor could not be made: {}", system_text(&error)), error)
        })?;
        let bytes = Buffer::map_shared(memory, self.start, nbytes, false)?;
        let options = OpenOptions::new().verified(true);
        if let Some(table) = set_tables::opened(&options, &bytes, Checks::Full)? {
            return Ok(FileContents::Table(table));
        }
        self.without_refused(options.read(bytes)?, refused).map(FileContents::Arrays)
    }

    /// The contents of the file, unless `refused` does not let go of an array that cannot be
    /// opened.
    pub(super) fn without_refused(
        &self,
        contents: Contents,
        refused: &mut dyn FnMut(&Path, Error) -> Result<()>,
    ) -> Result<Contents> {
        for (name, error) in contents.refused() {
            refused(&self.path, error.again().within(format_args!("array {}", short(name))))?;
        }
        Ok(contents)
    }

    /// The name of the file without its ending.
    fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The description of a set, as far as its files are known.
#[derive(Default)]
pub(super) struct Loaded<'a> {
    pub(super) entries: Vec<SetEntry>,
    pub(super) metadata: Vec<(String, String)>,
    /// The arrays that must be decoded, each with its index in `entries`.
    encoded: Vec<(usize, &'a Entry)>,
    /// The tables that must be decoded, each with its index in `entries`.
    encoded_tables: Vec<(usize, &'a HeldTable)>,
    /// The bytes of the arrays to be decoded.
    decoded_nbytes: u64,
}

impl<'a> Loaded<'a> {
    /// Adds the arrays of a file, or its table.
    pub(super) fn add(&mut self, source: &SourceFile, contents: &'a FileContents) -> Result<()> {
        match contents {
            FileContents::Arrays(contents) => self.add_arrays(source, contents),
            FileContents::Table(table) => {
                if table.encoded_because.is_some() {
                    self.encoded_tables.push((self.entries.len(), table));
                }
                let contents = EntryContents::Table(table.extent);
                let (region, offset) = (source.region, source.start);
                self.entries.push(SetEntry { name: source.stem(), contents, region, offset });
                Ok(())
            }
        }
    }

    fn add_arrays(&mut self, source: &SourceFile, contents: &'a Contents) -> Result<()> {
        let first = self.entries.len();
        for entry in contents.entries() {
            let name = match entry.name() {
                "" => source.stem(),
                name => name.to_owned(),
            };
            let entry = self.describe(source, name, entry)?;
            self.entries.push(entry);
        }
        for (key, text) in contents.metadata() {
            let named = |name: &str| self.entries[first..].iter().position(|entry| entry.name == name);
            match (named(key), named(text)) {
                (None, Some(index)) if contents.format() == Format::Safetensors => {
                    let alias = SetEntry { name: key.clone(), ..self.entries[first + index].clone() };
                    self.entries.push(alias);
                }
                _ if self.metadata.iter().any(|known| known.0 == *key && known.1 == *text) => {}
                _ => self.metadata.push((key.clone(), text.clone())),
            }
        }
        Ok(())
    }

    fn describe(&mut self, source: &SourceFile, name: String, entry: &'a Entry) -> Result<SetEntry> {
        if entry.copied_because().is_none() {
            let array = entry.open()?;
            let (buffer, within) = array.buffer()?;
            let begin = buffer.descriptor().map_or(source.start, |(_, offset)| offset);
            let contents = EntryContents::Array(array.dtype().clone(), array.layout().normalized());
            let (region, offset) = (source.region, begin + within as u64);
            return Ok(SetEntry { name, contents, region, offset });
        }
        let dtype = entry.dtype().clone();
        let layout = Layout::contiguous(entry.shape(), dtype.itemsize(), Order::RowMajor)?;
        let offset = self.decoded_nbytes.checked_next_multiple_of(ALIGN);
        let end = offset.and_then(|offset| offset.checked_add(layout.nbytes() as u64));
        let (Some(offset), Some(end)) = (offset, end) else { return Err(too_many(layout.nbytes() as u64)) };
        self.decoded_nbytes = end;
        self.encoded.push((self.entries.len(), entry));
        Ok(SetEntry { name, contents: EntryContents::Array(dtype, layout), region: 1, offset })
    }

    /// Decodes arrays into a region of their own, one after the other.
    fn decode(&self, label: &Label) -> Result<Option<OwnedFd>> {
        if self.encoded.is_empty() {
            return Ok(None);
        }
        let nbytes = usize::try_from(self.decoded_nbytes).unwrap_or(usize::MAX);
        let memory = SealedSet::region(nbytes, label, 1)?;
        let twin = memory.try_clone().map_err(|error| {
            Error::caused(Kind::Io, format!("a descriptor could not be made: {}", system_text(&error)), error)
        })?;
        let bytes = Buffer::map_shared(twin, 0, nbytes, true)?;
        for &(index, entry) in &self.encoded {
            let SetEntry { contents, offset, .. } = &self.entries[index];
            // Only arrays were added to `encoded`.
            let EntryContents::Array(dtype, layout) = contents else { continue };
            DArray::from_buffer(bytes.try_clone()?, dtype.clone(), layout.clone(), *offset as usize)?
                .assign(&entry.open()?, Casting::Checked)?;
        }
        Ok(Some(memory))
    }

    /// Writes tables without compression into the region of this number.
    fn decode_tables(&mut self, label: &Label, region: usize) -> Result<Option<OwnedFd>> {
        let mut memory = None;
        for &(index, table) in &self.encoded_tables {
            let tables = match &mut memory {
                Some(tables) => tables,
                none => none.insert(TableMemory::new(label, region)?),
            };
            let entry = &mut self.entries[index];
            let (offset, nbytes, (rows, columns)) = tables
                .append(|writer| set_tables::write(writer, table))
                .map_err(|error| error.within(format_args!("table {}", short(&entry.name))))?;
            let contents = EntryContents::Table(TableExtent { nbytes, rows, columns });
            *entry = SetEntry { name: std::mem::take(&mut entry.name), contents, region, offset };
        }
        Ok(memory.map(TableMemory::into_region))
    }
}
