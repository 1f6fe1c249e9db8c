//! `crossdock lend`: another program reads, or writes, an array in place.

pub(crate) mod child;
mod description;
mod process_lease;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;
use crossdock::DArray;
use crossdock::bindings::exported::{Exported, export};
use crossdock::element::DType;
use crossdock::exchange::files::raw::Description;
use crossdock::exchange::files::{Format, OpenOptions};
use crossdock::layout::{Layout, Order};
use crossdock::view::{CopyPolicy, Refusal, Request};

pub(crate) use self::process_lease::ProcessLease;
use crate::failure::Failure;
use crate::open::{self, Archive, Opened, options, split};
use crate::order::Letter;
use crate::source::Source;
use crate::system::signals;
use crate::words::words;
use crate::{out, progress, status, terminal};

const EXAMPLES: &str = concat!(
    "Examples:\n",
    "  crossdock lend photo.npy -- python3 report.py\n",
    "  crossdock lend 'photo.npy[::2, ..., 0]' -- ./histogram    (every second row)\n",
    "  crossdock lend 'trades.npy:.price' -- ruby average.rb     (a field of records)\n",
    "  crossdock lend a.npy --dtype float32 --copy if-needed -- ./solver\n",
    "  crossdock lend -a x=a.npy -a y=b.npz:w -- python3 both.py (several arrays)\n",
    "  crossdock lend trades.arrow -- python3 report.py          (a table)\n",
    "  crossdock lend scan.raw --raw 'dtype=uint16; shape=480,640' -- ./histogram\n",
    "\n",
    "The environment of COMMAND\n",
    "  CROSSDOCK_ARRAY    JSON: fd (on Windows: handle), dtype, itemsize, shape,\n",
    "                     strides, offset, nbytes, span, writable, order (C, F or\n",
    "                     null), table (see below), and the dtype in other\n",
    "                     notations (null if there is none): typestr (NumPy), descr\n",
    "                     (for numpy.dtype), struct (Python's module), io_buffer\n",
    "                     (Ruby's IO::Buffer); strides, offset and span are in\n",
    "                     bytes\n",
    "  CROSSDOCK_FD       the descriptor to map; on Windows CROSSDOCK_HANDLE, the\n",
    "                     number of a handle of the file\n",
    "  CROSSDOCK_OFFSET   the byte offset of element [0, 0, …] in it\n",
    "  CROSSDOCK_END      the byte offset after the last byte of the array in it\n",
    "  CROSSDOCK_NBYTES   the bytes of all elements, without gaps\n",
    "  CROSSDOCK_SHAPE    the lengths of the axes, separated by spaces\n",
    "  CROSSDOCK_STRIDES  the bytes from one element to the next along each axis\n",
    "  CROSSDOCK_ARRAYS   with -a, instead of these: JSON of such objects by name\n",
    "A table is lent as the bytes of its file; `table` is then `file` or `stream`, the\n",
    "kind of Arrow IPC that they are, and null for an array.\n",
    "\n",
    "A few lines of COMMAND read the array in place\n",
    "\nNumPy (any view; `x` is the array)\n\n",
    include_str!("snippets/numpy.py"),
    "\nPython (row-major, if memoryview.cast knows `struct`; `x` is a memoryview)\n\n",
    include_str!("snippets/python.py"),
    "\nPython (any view; `x(i, j)` is an element)\n\n",
    include_str!("snippets/python_strided.py"),
    "\nRuby, from 3.1 on (any view; `x.(i, j)` is an element)\n\n",
    include_str!("snippets/ruby.rb"),
    "\nC, with <stdlib.h> and <sys/mman.h> (any view; `x` is its first address)\n\n",
    include_str!("snippets/c.c"),
    "\nPyArrow (a table)\n\n",
    include_str!("snippets/pyarrow.py"),
    "\nPython on Windows: the line that maps a[\"fd\"] needs these two before it\n\n",
    include_str!("snippets/windows.py"),
    "\nC on Windows, with <stdint.h>, <stdlib.h> and <windows.h>\n\n",
    include_str!("snippets/windows.c"),
    "\nWith --write, map it with ACCESS_WRITE, without READONLY, with PROT_WRITE, or\n",
    "with PAGE_READWRITE and FILE_MAP_WRITE.\n",
    "\n",
    "Exit status: that of COMMAND (128 + n if signal n ended it; after Ctrl-C, lend ends by the same \
     signal); 1 if the array could not be lent, ",
    "126 if COMMAND is not executable, 127 if it does not exist, 74 if FILE shrank meanwhile.",
);

/// Lend an array or a table to a command, in place.
///
/// FILE is mapped and COMMAND inherits the descriptor (on Windows, a handle): both see the same
/// pages, and nothing is copied. An array that cannot be lent in place is refused, unless --copy
/// permits a copy, which is then reported. The lease ends when COMMAND ends. TERM and HUP are
/// forwarded to COMMAND.
///
/// Without --write, the descriptor is open for reading only: a map of it cannot be written. This
/// prevents accidents, not intent: COMMAND runs with your permissions, and can open FILE for
/// writing by its name, or through /proc/self/fd, if you can. To rule that out, lend a file that
/// you may not write, or a copy (--copy always).
///
/// Checksums of an .npz file are not compared, since that reads the whole file; `crossdock inspect`
/// compares them.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// A file (.npy, .npz, .safetensors, …), the name of an array in it after a colon, and a view
    /// of it as in Python: 'a.npz:name[::2, 0].field'. An Arrow IPC file without a NAME is lent
    /// as a table.
    #[arg(value_name = "FILE[:NAME][VIEW]")]
    target: Option<OsString>,
    /// Lend several arrays, each under a name: -a x=a.npy -a y=b.npz:w. COMMAND finds their
    /// descriptions in CROSSDOCK_ARRAYS; there is no FILE then.
    #[arg(short, long = "array", value_name = "NAME=FILE", value_parser = named_target)]
    arrays: Vec<(String, OsString)>,
    /// A view of the array in FILE, as in Python: '::2, ..., .field'.
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true, conflicts_with = "arrays")]
    at: Option<String>,
    /// The description of raw files: dtype and shape, and order, strides or offset if they are not
    /// the defaults.
    #[arg(long, value_name = "DESCRIPTION")]
    raw: Option<Description>,
    /// Lend only elements of this dtype: float32, <f4, >i2, uint8, …
    #[arg(long, value_name = "DTYPE")]
    dtype: Option<DType>,
    /// Lend only elements that are contiguous in this order: C (row-major) or F (column-major).
    #[arg(long, value_enum)]
    order: Option<Letter>,
    /// Whether to copy the elements to shared memory (on Windows, to a temporary file).
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Copying::Never)]
    copy: Copying,
    /// Let COMMAND write FILE through the map.
    #[arg(long = "write")]
    writable: bool,
    /// The command and its arguments. Options of `lend` come before it; `--` may separate them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Copying {
    /// Refuse an array that cannot be lent in place.
    Never,
    /// Copy an array that cannot be lent in place.
    IfNeeded,
    /// Lend a copy, which does not change with FILE.
    Always,
}

/// An array to lend, or the bytes of a table.
struct Lent {
    opened: Opened,
    /// The kind of Arrow IPC that the bytes of a table are.
    table: Option<&'static str>,
}

impl Args {
    /// The command, if the arguments are consistent. With `-a`, the first word is not a file.
    fn command(&self) -> Result<Vec<OsString>, Failure> {
        let wrong = |text: String| Err(Failure::new(text).with_status(status::USAGE));
        let mut command = self.command.clone();
        if !self.arrays.is_empty() {
            command.splice(0..0, self.target.clone());
        }
        if command.first().is_some_and(|first| first == "--") {
            command.remove(0);
        }
        let (first, rest) = match command.split_first() {
            Some(split) => split,
            None if self.target.is_none() && self.arrays.is_empty() => {
                return wrong(
                    "no FILE to lend; write it as in crossdock lend photo.npy -- python3 report.py".into(),
                );
            }
            None => {
                let text =
                    "no COMMAND to lend it to; write it as in crossdock lend photo.npy -- python3 report.py";
                return wrong(text.into());
            }
        };
        let is_between = !self.arrays.is_empty() || rest.iter().any(|word| word == "--");
        if is_between && Format::named(first).is_some() {
            return wrong(format!(
                "{} is not a command; to lend several arrays, give each a name: -a x=a.npy -a y=b.npy -- COMMAND",
                terminal::path(Path::new(first))
            ));
        }
        for (at, (name, _)) in self.arrays.iter().enumerate() {
            if self.arrays[..at].iter().any(|(other, _)| other == name) {
                return wrong(format!("two arrays are named {name:?}; give each a name of its own"));
            }
        }
        Ok(command)
    }

    /// The bytes of an Arrow IPC file; `None` if the target is not one, or more than its name.
    fn table(&self, target: &OsStr) -> Result<Option<Lent>, Failure> {
        let target = split(target)?;
        if !target.rest().is_empty() || self.raw.is_some() {
            return Ok(None);
        }
        let options = OpenOptions::new().writable(self.writable);
        let Some(file) = open::table(target.path(), options)? else { return Ok(None) };
        if self.dtype.is_some() {
            return Err(open::not_of_table(target.path(), "--dtype"));
        }
        let buffer = file.buffer().try_clone()?;
        let layout = Layout::contiguous(&[buffer.nbytes()], 1, Order::RowMajor)?;
        let view = DArray::from_buffer(buffer, DType::U8, layout, 0)?;
        let path = target.path().to_owned();
        let opened = Opened { path, name: String::new(), expr: String::new(), decoded: None, view };
        opened.check()?;
        Ok(Some(Lent { opened, table: Some(if file.is_stream() { "stream" } else { "file" }) }))
    }

    /// Exports one array as requested.
    fn lend(&self, lent: Lent) -> Result<(Lent, Exported), Failure> {
        let opened = &lent.opened;
        let request = self.request();
        let progress = progress::copying(nbytes_to_copy(&opened.view, &request));
        let exported = export(&opened.view, &request).map_err(|refusal| refused(opened, &refusal));
        progress.finish_and_clear();
        // If the file shrank, the copy is invalid, and so is a refusal that depends on its values.
        opened.check()?;
        let exported = exported?;
        report_copy(&exported);
        Ok((lent, exported))
    }

    fn request(&self) -> Request {
        let mut request = if self.writable { Request::share() } else { Request::pin() };
        if let Some(dtype) = &self.dtype {
            request = request.dtype(dtype.clone());
        }
        if let Some(letter) = self.order {
            request = request.order(letter.into());
        }
        request.copy(match self.copy {
            Copying::Never => CopyPolicy::Never,
            Copying::IfNeeded => CopyPolicy::IfNeeded,
            Copying::Always => CopyPolicy::Always,
        })
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    if args.writable && args.copy != Copying::Never {
        let text = "writes to a copy do not reach FILE; give either --write or --copy";
        return Err(Failure::new(text).with_status(status::USAGE));
    }
    let command = args.command()?;
    let all: Vec<(Lent, Exported)> = match &args.target {
        Some(target) if args.arrays.is_empty() => {
            let source = Source { target: target.clone(), at: args.at.clone(), raw: args.raw.clone() };
            let table = if args.at.is_none() { args.table(target)? } else { None };
            let lent = match table {
                Some(table) => table,
                None => Lent { opened: source.open(args.writable)?, table: None },
            };
            vec![args.lend(lent)?]
        }
        _ => {
            let open = |target: &OsString| {
                if let Some(table) = args.table(target)? {
                    return args.lend(table);
                }
                let options = options(target, args.raw.as_ref())?.writable(args.writable);
                args.lend(Lent { opened: Archive::open(target, options)?.one()?, table: None })
            };
            args.arrays.iter().map(|(_, target)| open(target)).collect::<Result<_, Failure>>()?
        }
    };
    let leases = all.iter().map(|(lent, exported)| ProcessLease::of_table(exported, lent.table));
    let leases = leases.collect::<Result<Vec<_>, Failure>>()?;
    let environment: Vec<(&str, String)> = match &leases[..] {
        [lease] if args.arrays.is_empty() => lease.environment()?.into(),
        _ => {
            let names = args.arrays.iter().map(|(name, _)| name.as_str());
            vec![("CROSSDOCK_ARRAYS", process_lease::by_name(names.zip(&leases))?)]
        }
    };
    signals::catch()?;
    let child = child::start(&command, &environment)?;
    let ended = child::wait(child)?;
    let in_place = all.iter().filter(|(_, exported)| exported.copied_nbytes() == 0);
    in_place.map(|(lent, _)| &lent.opened).try_for_each(Opened::check_size)?;
    Ok(signals::exit_code(ended))
}

/// `NAME=FILE[:NAME][VIEW]`.
fn named_target(text: &str) -> Result<(String, OsString), String> {
    match text.split_once('=') {
        Some((name, target)) if !name.is_empty() && !target.is_empty() => Ok((name.into(), target.into())),
        _ => Err(format!("{text} is not NAME=FILE; write it like x=photo.npy")),
    }
}

/// The bytes of the copy that the request will cause, as far as they are known beforehand.
fn nbytes_to_copy(view: &DArray, request: &Request) -> usize {
    match request.copy_policy() {
        CopyPolicy::Always => {
            let dtype = request.wanted_dtype().unwrap_or(view.dtype());
            view.len().saturating_mul(dtype.itemsize())
        }
        CopyPolicy::IfNeeded => {
            let in_place = export(view, &request.clone().copy(CopyPolicy::Never));
            in_place.err().and_then(|refusal| refusal.would_copy()).unwrap_or(0)
        }
        _ => 0,
    }
}

fn refused(opened: &Opened, refusal: &Refusal) -> Failure {
    let path = terminal::path(&opened.path);
    match refusal.would_copy() {
        Some(nbytes) => Failure::new(format_args!(
            "{path}: not lent: {}; --copy if-needed permits a copy of {nbytes} bytes",
            refusal.reason().fact()
        )),
        None => Failure::new(format_args!("{path}: not lent: {}", refusal.in_words(words))),
    }
}

fn report_copy(exported: &Exported) {
    let nbytes = exported.copied_nbytes();
    match exported.copied_because() {
        Some(refusal) => out::note(&format!("copied {nbytes} bytes because {}", refusal.reason().fact())),
        None if nbytes > 0 => out::note(&format!("copied {nbytes} bytes because of --copy always")),
        None => {}
    }
}
