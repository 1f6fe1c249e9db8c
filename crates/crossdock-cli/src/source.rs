//! The arguments that select one array: a file, a view of it, and a description if it is raw.

use std::ffi::OsString;

use crossdock::exchange::files::raw::Description;
use crossdock::exchange::files::{Format, OpenOptions};

use crate::failure::{Failure, Result};
use crate::open::{Archive, Opened, path_of};
use crate::words::words;
use crate::{status, terminal};

/// One array in a file.
#[derive(Debug, clap::Args)]
pub(crate) struct Source {
    /// A file (.npy, .npz, .arrow, .safetensors, .gguf, .pt, .mat, PNG, JPEG, TIFF, NIfTI) and,
    /// after colons, the name of an array or a column in it and a view as in Python:
    /// '::2, ..., .field'. `-` is standard input, which must be a file and not a pipe.
    #[arg(value_name = "FILE[:NAME][VIEW]")]
    pub(crate) target: OsString,
    /// A view of the array, as in Python: '::2, ..., .field'.
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
    /// The description of a raw FILE: dtype and shape, and order, strides or offset if they are not
    /// the defaults.
    #[arg(long, value_name = "DESCRIPTION")]
    pub(crate) raw: Option<Description>,
}

impl Source {
    /// Opens the array, also for writing if requested.
    pub(crate) fn open(&self, writable: bool) -> Result<Opened> {
        let options = self.options()?.writable(writable);
        let mut opened = Archive::open(&self.target, options)?.one()?;
        if let Some(expr) = &self.at {
            opened.view = opened.view.at(expr).map_err(|error| {
                let path = terminal::path(&opened.path);
                Failure::new(format_args!("{path}: {}", error.in_words(words)))
            })?;
        }
        Ok(opened)
    }

    /// How to open the file. A description is refused for a file that describes itself.
    fn options(&self) -> Result<OpenOptions> {
        let Some(raw) = &self.raw else { return Ok(OpenOptions::new()) };
        let path = path_of(&self.target)?;
        if let Some(format) = Format::named(&path).filter(|&format| format != Format::Raw)
            && OpenOptions::new().open_all(&path).is_ok()
        {
            let text = format!("{}: it is a {format} file, which describes itself", terminal::path(&path));
            return Err(Failure::new(text + "; leave --raw out").with_status(status::USAGE));
        }
        Ok(OpenOptions::new().raw(raw.clone()))
    }
}
