//! Tables: Arrow IPC files to and from other formats, a batch at a time.
//!
//! ```text
//!   an Arrow IPC file, or a column of it ──> an Arrow IPC file or stream: the columns as they are
//!                                        ──> .npz: an array for each column
//!                                        ──> .npy: a column, or the rows as records
//!   arrays of one length, or of records  ──> an Arrow IPC file or stream
//! ```

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use crossdock::bindings::files::{NewFile, OutgoingRows, RowCounts};
use crossdock::exchange::files::Format;
use crossdock::exchange::files::arrow_ipc::{IpcFile, IpcOptions};
use crossdock::table::ColumnType;

use crate::convert::args::Args;
use crate::convert::plan::Plan;
use crate::convert::table_source::{TableOfArrays, TableSource};
use crate::convert::target::Output;
use crate::failure::{Failure, Result};
use crate::open::TableTarget;
use crate::table::counted;
use crate::words::words;
use crate::{out, terminal};

/// A table on its way into a file.
pub(super) struct TablePlan {
    /// The first source.
    path: PathBuf,
    contents: TableContents,
    rows: usize,
    columns: usize,
    nbytes: u64,
    is_verified: bool,
    /// The Arrow IPC file that is read.
    file: Option<IpcFile>,
    /// The arrays that are read.
    arrays: Option<Plan>,
}

/// What is written.
enum TableContents {
    Arrow { source: TableSource, options: IpcOptions, is_stream: bool, most: Option<usize> },
    Npy(OutgoingRows),
    Npz { columns: Vec<(String, OutgoingRows)>, is_deflated: bool },
}

impl TablePlan {
    /// Plans the conversion of an Arrow IPC file; `None` for other sources, and for formats and
    /// options that apply to arrays.
    pub(super) fn make(args: &Args, format: Format) -> Result<Option<Self>> {
        let [target] = args.targets() else { return Ok(None) };
        if !matches!(format, Format::Arrow | Format::Npy | Format::Npz) || args.raw.is_some() {
            return Ok(None);
        }
        let Some(TableTarget { path, file, column }) = TableTarget::open(target)? else { return Ok(None) };
        match (args.changes(), format) {
            (Some(option), Format::Arrow) if column.is_none() => {
                return Err(crate::open::not_of_table(&path, option));
            }
            (Some(_), _) => return Ok(None),
            (None, _) => {}
        }
        let plan = Self::of_file(args, format, &path, &file, column);
        // If the file shrank, no other result is valid.
        match file.buffer().fault() {
            Some(fault) => Err(Failure::shrank(&path, &fault)),
            None => plan.map(Some),
        }
    }

    fn of_file(
        args: &Args,
        format: Format,
        path: &Path,
        file: &IpcFile,
        column: Option<usize>,
    ) -> Result<Self> {
        let counts = RowCounts::of(file)?;
        let rows = counts.rows();
        let (contents, columns, nbytes) = match format {
            Format::Arrow => {
                let source = TableSource::File { file: file.clone(), column };
                let columns = column.map_or(file.schema().fields().len(), |_| 1);
                (Self::arrow(args, source), columns, file.buffer().nbytes() as u64)
            }
            _ => {
                note_losses(path, file, column);
                let arrays = match column {
                    Some(index) => vec![(index, outgoing(path, file, index, &counts)?)],
                    None => convertible(args, path, file, &counts)?,
                };
                let named = |(index, rows): (usize, OutgoingRows)| {
                    let name = file.schema().fields()[index].name().to_owned();
                    (name, rows.streamed(args.memory, |_| {}))
                };
                let nbytes = arrays.iter().map(|(_, rows)| rows.nbytes() as u64).sum();
                let count = arrays.len();
                let contents = match format {
                    Format::Npz => TableContents::Npz {
                        columns: arrays.into_iter().map(named).collect(),
                        is_deflated: args.deflate,
                    },
                    _ if count == 1 => TableContents::Npy(named(arrays[0].clone()).1),
                    _ => {
                        let indices: Vec<usize> = arrays.iter().map(|&(index, _)| index).collect();
                        let records = OutgoingRows::records(file, &indices, &counts);
                        let records = records.map_err(|error| within(path, &error))?;
                        TableContents::Npy(records.streamed(args.memory, |_| {}))
                    }
                };
                (contents, count, nbytes)
            }
        };
        Ok(Self {
            path: path.to_owned(),
            contents,
            rows,
            columns,
            nbytes,
            is_verified: args.verify,
            file: Some(file.clone()),
            arrays: None,
        })
    }

    /// The arrays of a plan as the columns of an Arrow IPC file.
    pub(super) fn of_arrays(args: &Args, plan: Plan) -> Result<Self> {
        let path = plan.paths().next().map_or_else(PathBuf::new, Path::to_owned);
        let table = TableOfArrays::of_plan(&plan, args.memory, args.compress.is_some());
        let source = TableSource::Arrays(table.map_err(|failure| match plan.paths().count() {
            1 => failure.within(terminal::path(&path)),
            _ => failure,
        })?);
        Ok(Self {
            path,
            rows: source.rows()?,
            columns: source.schema()?.fields().len(),
            nbytes: plan.nbytes(),
            contents: Self::arrow(args, source),
            is_verified: args.verify,
            file: None,
            arrays: Some(plan),
        })
    }

    fn arrow(args: &Args, source: TableSource) -> TableContents {
        let mut options = IpcOptions::new();
        if let Some(codec) = args.compress {
            options = options.compression(codec.into());
        }
        // Compression takes the memory of a batch; without it, a batch is written from its place.
        let most = args.compress.map(|_| args.memory);
        TableContents::Arrow { source, options, is_stream: args.is_stream(), most }
    }

    /// The file that is read.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes that are written, about.
    pub(super) fn nbytes(&self) -> u64 {
        self.nbytes
    }

    /// What is written, for people.
    pub(super) fn what(&self) -> String {
        match &self.contents {
            TableContents::Npz { columns, .. } => counted(columns.len() as u64, "array"),
            TableContents::Npy(_) if self.columns == 1 => "1 array".into(),
            TableContents::Npy(_) => {
                format!(
                    "{} of {}",
                    counted(self.rows as u64, "record"),
                    counted(self.columns as u64, "field")
                )
            }
            TableContents::Arrow { .. } => {
                format!("{} of {}", counted(self.rows as u64, "row"), counted(self.columns as u64, "column"))
            }
        }
    }
}

impl Output for TablePlan {
    fn write(&self, writer: &mut dyn Write) -> crossdock::Result<()> {
        match &self.contents {
            TableContents::Arrow { source, options, is_stream, most } => {
                let mut reader = source.reader(*most)?;
                match is_stream {
                    true => options.write_stream(writer, &mut reader),
                    false => options.write_file(writer, &mut reader),
                }
            }
            TableContents::Npy(rows) => rows.write(writer),
            TableContents::Npz { columns, is_deflated } => {
                OutgoingRows::write_all(writer, columns, *is_deflated)
            }
        }
    }

    fn check(&self) -> Result<()> {
        if let Some(fault) = self.file.as_ref().and_then(|file| file.buffer().fault()) {
            return Err(Failure::shrank(&self.path, &fault));
        }
        self.arrays.as_ref().map_or(Ok(()), Plan::check)
    }

    fn refused(&self, error: &crossdock::Error) -> Option<Failure> {
        match &self.arrays {
            Some(plan) if error.is_value() => plan.refused(error),
            _ => (!error.is_io()).then(|| within(&self.path, error)),
        }
    }

    /// Converts once more, and compares with the bytes of the file.
    fn verify(&self, file: &NewFile) -> Result<()> {
        if !self.is_verified {
            return Ok(());
        }
        let unread = |error: io::Error| {
            let text = crossdock::bindings::system_text(&error);
            Failure::new(format_args!("it could not be read back: {text}"))
        };
        let opened = file.path().and_then(File::open).map_err(unread)?;
        let mut written = Comparing { file: BufReader::with_capacity(1 << 18, opened), differs: false };
        let compared = self.write(&mut written);
        let is_longer = written.file.read(&mut [0]).map_err(unread)? > 0;
        if written.differs || is_longer {
            return Err(Failure::new(
                "it was read back with other bytes than were written; check the disk and its messages in the \
                system's log",
            ));
        }
        Ok(compared?)
    }
}

/// Compares what is written with a file.
struct Comparing {
    file: BufReader<File>,
    differs: bool,
}

impl Write for Comparing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let found = self.file.fill_buf()?;
        let read = found.len().min(bytes.len());
        self.differs |= read == 0 || found[..read] != bytes[..read];
        self.file.consume(read);
        match self.differs {
            false => Ok(read),
            true => Err(io::Error::other("other bytes were read than written")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One column as an array.
fn outgoing(path: &Path, file: &IpcFile, index: usize, counts: &RowCounts) -> Result<OutgoingRows> {
    OutgoingRows::column(file, index, counts).map_err(|error| within(path, &error))
}

/// The columns that are arrays; the others are an error, or a note each.
fn convertible(
    args: &Args,
    path: &Path,
    file: &IpcFile,
    counts: &RowCounts,
) -> Result<Vec<(usize, OutgoingRows)>> {
    let mut found = Vec::new();
    for index in 0..file.schema().fields().len() {
        match OutgoingRows::column(file, index, counts) {
            Ok(rows) => found.push((index, rows)),
            Err(error) if args.skip_refused => {
                let path = terminal::path(path);
                out::note(&format!("not converted from {path}: {}", error.fact()));
            }
            Err(error) => {
                let text = format!("{}: {}", terminal::path(path), error.fact());
                return Err(Failure::new(format_args!(
                    "{text}; use --skip-refused to convert the other columns, name one, as FILE:NAME, or \
                    write .arrow"
                )));
            }
        }
    }
    match found.is_empty() {
        false => Ok(found),
        true => Err(Failure::new(format_args!("{}: no column is an array", terminal::path(path)))),
    }
}

/// Notes what arrays do not hold: the texts of the schema, and time zones.
fn note_losses(path: &Path, file: &IpcFile, column: Option<usize>) {
    let schema = file.schema();
    let mut lost = Vec::new();
    let texts = schema.metadata().iter().count();
    if texts > 0 && column.is_none() {
        lost.push(counted(texts as u64, "text"));
    }
    let is_meant = |index: usize| column.is_none_or(|column| column == index);
    let fields = schema.fields().iter().enumerate().filter(|&(index, _)| is_meant(index));
    let mut of_types = |ty: fn(&ColumnType) -> bool, what: &str| {
        let meant = fields.clone().filter(|(_, field)| ty(field.column_type()));
        let names: Vec<_> = meant.map(|(_, field)| format!("{:?}", field.name())).collect();
        match names.len() {
            0 => {}
            1..=3 => lost.push(format!("{what} of {}", names.join(", "))),
            many => lost.push(format!("{what} of {many} columns")),
        }
    };
    of_types(|ty| matches!(ty, ColumnType::Timestamp { zone: Some(_), .. }), "the time zone");
    of_types(|ty| matches!(ty, ColumnType::Time(_)), "the unit of the times");
    if !lost.is_empty() {
        out::note(&format!("not converted from {}: {}", terminal::path(path), lost.join("; ")));
    }
}

fn within(path: &Path, error: &crossdock::Error) -> Failure {
    Failure::new(format_args!("{}: {}", terminal::path(path), error.in_words(words)))
}
