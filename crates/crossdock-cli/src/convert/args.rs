//! The arguments of `crossdock convert`, and whether they are consistent.

use std::ffi::OsString;
use std::path::Path;

use clap::ValueEnum;
use crossdock::bindings::files::Rounding;
use crossdock::element::DType;
use crossdock::exchange::files::Format;
use crossdock::exchange::files::arrow_ipc::IpcCompression;
use crossdock::exchange::files::raw::Description;

use crate::convert::select::is_integer;
use crate::failure::Failure;
use crate::order::Letter;
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  crossdock convert photo.png photo.npy
  crossdock convert 'photo.npy[::2, ::2]' small.jpg --quality 80
  crossdock convert trades.npz trades.safetensors    (all arrays)
  crossdock convert trades.npz:prices prices.npy --dtype float32
  crossdock convert trades.arrow trades.npz          (an array for each column)
  crossdock convert trades.npy trades.arrow          (a column for each field)
  crossdock convert trades.arrow:.price price.npy
  crossdock convert trades.arrows trades.arrow --compress zstd
  crossdock convert mask.npy mask.png --dtype uint8 --round rint
  crossdock convert volume.npy volume.raw --order F
  crossdock convert a.npy b.npy both.npz             (several files)
  crossdock convert m.safetensors n.safetensors --dtype bfloat16 --only '*.w'
  crossdock convert photo.npy - --to png | display
  crossdock convert scan.raw scan.npy --raw 'dtype=uint16; shape=480,640'

Exit status: 0 on success, 1 on failure or refusal, 2 for wrong arguments, 74 if FILE shrank \
meanwhile, 128 + n if signal n ended it. OUT appears when all of it is on disk; after a failure or a \
signal, no part of it is left.";

/// Options may stand between the files, so the parser has one list of FILEs and OUT.
const USAGE: &str = "crossdock convert [OPTIONS] <FILE[:NAME][VIEW]>... <OUT>";

/// Write arrays to a file of another format.
///
/// Arrays are converted in parts as they are written, so that an array of any size takes the memory
/// of --memory, and some for the command itself. Images and compressed arrays are an exception.
/// Tables are converted a batch at a time: between Arrow IPC files and streams as they are, to .npy
/// as records, and to .npz as an array for each column. Arrays of one length, and the fields of
/// records, become the columns of a table.
///
/// FILE is mapped if its format permits it, and the arrays of an .npz file are compared with their
/// checksums. The parts of FILE that OUT cannot hold (texts, names, other files of an archive) are
/// listed on stderr. Of an image, only the pixels are read: texts, colour profile and EXIF data are
/// dropped without a note. Elements keep their dtype unless --dtype is given; of several arrays, a
/// float --dtype converts those of floats, unless --only names others. An existing OUT is an error
/// unless --force is given.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
pub(crate) struct Args {
    /// A file (.npy, .npz, .arrow, .safetensors, .gguf, .pt, .mat, PNG, JPEG, TIFF, NIfTI), the
    /// name of an array in it after a colon, and a view of it as in Python: 'a.npz:name[::2]'. `-`
    /// is standard input, a file and not a pipe; --at selects a view of it. Arrays of several files
    /// need distinct names; an array without a name has that of its file.
    ///
    /// The last one is OUT, the file to write. Its ending selects the format: npy, npz, arrow,
    /// arrows (a stream), safetensors, png, jpg, raw. A pipe or a device is written directly; `-`
    /// is standard output.
    #[arg(value_names = ["FILE[:NAME][VIEW]", "OUT"], required = true, num_args = 1..)]
    files: Vec<OsString>,
    /// The view to write, as in Python: '::2, ..., .field'.
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub(super) at: Option<String>,
    /// The dtype to write: float32, <f4, uint8, … Floats are rounded to the nearest; any other
    /// value that does not fit is an error.
    #[arg(long, value_name = "DTYPE")]
    pub(super) dtype: Option<DType>,
    /// With --dtype: convert values that do not fit. To integers, fractions are truncated towards
    /// zero, a number out of range becomes the nearest limit, and NaN becomes 0. Floats out of
    /// range become ±inf, dates are rounded down, and integers are rounded to the nearest float.
    #[arg(long, requires = "dtype")]
    pub(super) saturate: bool,
    /// With an integer --dtype: how fractions become whole, under NumPy's names. rint is to the
    /// nearest, ties to even. Without it, fractions are an error, or truncated with --saturate. A
    /// number out of range stays an error unless --saturate is given.
    #[arg(long, value_enum, value_name = "MODE", requires = "dtype")]
    pub(super) round: Option<Round>,
    /// With --dtype: convert only the arrays whose names match, where * stands for any text and ?
    /// for one character. The other arrays are written as they are.
    #[arg(long, value_name = "PATTERN", requires = "dtype")]
    pub(super) only: Option<String>,
    /// The order to write: C (row-major) or F (column-major). By default, npy and npz keep the
    /// order of the array, and other formats are row-major; safetensors and images refuse F.
    #[arg(long, value_enum)]
    pub(super) order: Option<Letter>,
    /// The format to write, whatever the ending of OUT.
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<To>,
    /// The description of a raw FILE: dtype and shape, and order, strides or offset if they are not
    /// the defaults.
    #[arg(long, value_name = "DESCRIPTION")]
    pub(super) raw: Option<Description>,
    /// The memory for elements that are put into another order, and for a batch of a new table:
    /// 256M, 1G, … (at least 1M). More is faster if the array is much larger.
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = memory)]
    pub(super) memory: usize,
    /// Read OUT back before it gets its name, and compare it with FILE. Not for JPEG images and
    /// pipes.
    #[arg(long)]
    pub(super) verify: bool,
    /// Deflate the arrays of an .npz file. Deflated arrays cannot be opened in place.
    #[arg(long)]
    pub(super) deflate: bool,
    /// Compress the columns of an Arrow IPC file. Compressed columns cannot be opened in place.
    #[arg(long, value_enum, value_name = "CODEC")]
    pub(super) compress: Option<Codec>,
    /// The quality of a JPEG image, from 1 to 100.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(super) quality: Option<u8>,
    /// Replace OUT if it exists. Its mode and owner stay; a file that you may not write is refused.
    #[arg(short, long)]
    pub(super) force: bool,
    /// Skip the arrays of FILE that cannot be opened, such as those of Python objects, and the
    /// columns of a table that no array can hold, with a note for each.
    #[arg(long)]
    pub(super) skip_refused: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Round {
    Rint,
    Floor,
    Ceil,
    Trunc,
}

impl From<Round> for Rounding {
    fn from(round: Round) -> Self {
        match round {
            Round::Rint => Self::Rint,
            Round::Floor => Self::Floor,
            Round::Ceil => Self::Ceil,
            Round::Trunc => Self::Trunc,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Codec {
    Lz4,
    Zstd,
}

impl From<Codec> for IpcCompression {
    fn from(codec: Codec) -> Self {
        match codec {
            Codec::Lz4 => Self::Lz4,
            Codec::Zstd => Self::Zstd,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum To {
    Npy,
    Npz,
    Safetensors,
    Png,
    Jpeg,
    Raw,
    /// An Arrow IPC file.
    Arrow,
    /// An Arrow IPC stream.
    Arrows,
}

impl From<To> for Format {
    fn from(to: To) -> Self {
        match to {
            To::Npy => Self::Npy,
            To::Npz => Self::Npz,
            To::Safetensors => Self::Safetensors,
            To::Png => Self::Png,
            To::Jpeg => Self::Jpeg,
            To::Raw => Self::Raw,
            To::Arrow | To::Arrows => Self::Arrow,
        }
    }
}

/// A number of bytes, with a unit of 1024: K, M or G.
fn memory(text: &str) -> Result<usize, String> {
    let number = text.trim_end_matches("iB").trim_end_matches('B');
    let (digits, unit) = match number.char_indices().last() {
        Some((at, 'k' | 'K')) => (&number[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&number[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&number[..at], 1 << 30),
        _ => (number, 1),
    };
    let nbytes = digits.parse::<usize>().ok().and_then(|count| count.checked_mul(unit));
    match nbytes {
        Some(nbytes) if nbytes >= 1 << 20 => Ok(nbytes),
        _ => Err(format!("{text} is not a size of at least 1M; write it like 256M or 2G")),
    }
}

impl Args {
    /// The files to read.
    pub(super) fn targets(&self) -> &[OsString] {
        self.files.split_last().map_or(&[], |(_, targets)| targets)
    }

    /// The file to write.
    pub(super) fn out(&self) -> &Path {
        self.files.last().map_or(Path::new(""), Path::new)
    }

    /// Whether a table is written as a stream.
    pub(super) fn is_stream(&self) -> bool {
        let ending = self.out().extension().is_some_and(|ending| ending.eq_ignore_ascii_case("arrows"));
        self.to.map_or(ending, |to| to == To::Arrows)
    }

    /// The first option that changes elements, if there is one.
    pub(super) fn changes(&self) -> Option<&'static str> {
        let all = [
            ("--at", self.at.is_some()),
            ("--dtype", self.dtype.is_some()),
            ("--order", self.order.is_some()),
        ];
        all.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }

    /// The format to write, if the arguments are consistent.
    pub(super) fn format(&self) -> Result<Format, Failure> {
        let wrong = |text: String| Err(Failure::new(text).with_status(crate::status::USAGE));
        if self.targets().is_empty() {
            let only = terminal::path(self.out());
            return wrong(format!("the name of OUT is missing after {only}; usage: {USAGE}; try --help"));
        }
        let Some(format) = self.to.map(Format::from).or_else(|| Format::named(self.out())) else {
            if self.out().as_os_str() == "-" {
                return wrong("standard output has no ending that selects a format; give --to FORMAT".into());
            }
            if self.out().is_dir() {
                let out = terminal::path(self.out());
                return wrong(format!("{out}: it is a directory, not a file; name a file in it"));
            }
            return wrong(format!(
                "{}: its ending is not that of a format; use .npy, .npz, .arrow, .safetensors, .png, .jpg or \
                .raw, or give --to FORMAT",
                terminal::path(self.out())
            ));
        };
        if !format.is_written() && format != Format::Arrow {
            return wrong(format!(
                "{}: {} {format} file can be opened, but not written; use .npy, .npz, .arrow, .safetensors, \
                .png, .jpg or .raw",
                terminal::path(self.out()),
                format.article()
            ));
        }
        if let (Some(_), Some(dtype)) = (self.round, self.dtype.as_ref().filter(|&dtype| !is_integer(dtype)))
        {
            return wrong(format!("--round is for integers, but --dtype is {dtype}; leave it out"));
        }
        if self.order == Some(Letter::F) && !matches!(format, Format::Npy | Format::Npz | Format::Raw) {
            let article = format.article();
            return wrong(format!(
                "{article} {format} file stores its elements in rows; leave --order F out"
            ));
        }
        if self.compress.is_some() && format != Format::Arrow {
            let text = format!("--compress is for Arrow IPC files, but the output is {format}; leave it out");
            return wrong(text);
        }
        if self.deflate && format != Format::Npz {
            return wrong(format!("--deflate is for npz files, but the output is {format}; leave it out"));
        }
        if self.targets().len() > 1 && !format.has_names() {
            let count = self.targets().len();
            return wrong(format!(
                "a {format} file holds one array, but {count} files are given; write .npz or .safetensors"
            ));
        }
        if self.targets().len() > 1 && self.at.is_some() {
            return wrong("--at selects a view of one array; append a view to each FILE instead".into());
        }
        if self.verify && format == Format::Jpeg {
            return wrong("a JPEG image does not keep its elements exactly; leave --verify out".into());
        }
        if self.quality.is_some() && format != Format::Jpeg {
            return wrong(format!("--quality is for JPEG images, but the output is {format}; leave it out"));
        }
        Ok(format)
    }
}
