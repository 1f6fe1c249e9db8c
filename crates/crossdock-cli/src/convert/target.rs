//! The file or pipe that is written.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

use crossdock::bindings::files::NewFile;
use indicatif::ProgressBar;

use crate::failure::{Failure, Result};
use crate::words::words;
use crate::{out, system, terminal};

/// What is written to the output.
pub(super) trait Output {
    /// Writes the whole file.
    fn write(&self, writer: &mut dyn Write) -> crossdock::Result<()>;

    /// Checks that the source files did not shrink.
    fn check(&self) -> Result<()>;

    /// The failure of elements of a source; `None` for any other error.
    fn refused(&self, error: &crossdock::Error) -> Option<Failure>;

    /// Compares the complete file with the sources, if the user requested it.
    fn verify(&self, file: &NewFile) -> Result<()>;
}

/// The output, under the name that the user gave.
pub(super) struct Target<'a> {
    path: &'a Path,
    file: NewFile,
}

impl<'a> Target<'a> {
    /// Opens the output before anything is read, so that errors come early. For a pipe, waits for
    /// its reader.
    pub(super) fn open(path: &'a Path, force: bool) -> Result<Self> {
        if path == "-" {
            system::check_stdout().map_err(|error| out::unwritten(&error))?;
        }
        let opened = match path.to_str() {
            Some("-") => NewFile::create("/dev/stdout"),
            _ if force => NewFile::create(path),
            _ => NewFile::create_new(path),
        };
        let file = opened.map_err(|error| named(path, &error))?;
        if !force && file.written_through().is_some_and(IsTerminal::is_terminal) {
            return Err(Failure::new(format_args!(
                "{}: it is a terminal, which cannot show binary data; write to a file or a pipe, or use \
                --force",
                terminal::path(path)
            )));
        }
        if let Some(part) = file.part() {
            system::remove_when_ended(part)?;
        }
        Ok(Self { path, file })
    }

    /// Refuses to write to the file that is being read.
    pub(super) fn check_source(&self, source: &Path) -> Result<()> {
        let through = self.file.written_through().and_then(|file| file.metadata().ok());
        match (through, std::fs::metadata(source)) {
            (Some(through), Ok(source)) if through.is_file() && system::is_same(&through, &source) => {
                Err(Failure::new(format_args!(
                    "{}: it is also the input; write to another file",
                    terminal::path(self.path)
                )))
            }
            _ => Ok(()),
        }
    }

    /// Whether the output goes to standard output.
    pub(super) fn is_stdout(&self) -> bool {
        self.file.written_through().is_some_and(system::is_stdout)
    }

    /// Writes the whole output, and returns the number of bytes. They move the bar, if one is
    /// given.
    pub(super) fn write(mut self, output: &dyn Output, bar: Option<&ProgressBar>) -> Result<u64> {
        let is_stdout = self.is_stdout();
        let mut counted = Counted { file: &mut self.file, bar, nbytes: 0, has_no_reader: false };
        let written = output.write(&mut counted);
        let Counted { nbytes, has_no_reader, .. } = counted;
        // If the source shrank, that is the cause of any other error.
        output.check()?;
        if has_no_reader && is_stdout {
            // A reader of standard output that stops early, such as `head`, is not a failure.
            return Ok(nbytes);
        }
        let failed = |error: crossdock::Error| named(self.path, &error);
        written.map_err(|error| output.refused(&error).unwrap_or_else(|| failed(error)))?;
        self.file.sync().map_err(failed)?;
        let compared = output.verify(&self.file);
        output.check()?;
        compared.map_err(|failure| failure.within(terminal::path(self.path)))?;
        let _hold = system::defer_signals()?;
        self.file.finish().map_err(failed)?;
        Ok(nbytes)
    }
}

fn named(path: &Path, error: &crossdock::Error) -> Failure {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<std::io::Error>());
    let shown = terminal::path(path);
    match source.map(std::io::Error::kind) {
        Some(ErrorKind::AlreadyExists) => {
            Failure::new(format_args!("{shown} already exists; use --force to replace it"))
        }
        _ => Failure::new(format_args!("{shown}: {}", error.in_words(words))),
    }
}

/// Counts the bytes written, and moves the progress bar.
struct Counted<'a> {
    file: &'a mut NewFile,
    /// The bar, if the bytes of the file are its steps.
    bar: Option<&'a ProgressBar>,
    nbytes: u64,
    has_no_reader: bool,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes);
        self.has_no_reader |= written.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
        let count = written?;
        self.nbytes += count as u64;
        if let Some(bar) = self.bar {
            bar.inc(count as u64);
        }
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
