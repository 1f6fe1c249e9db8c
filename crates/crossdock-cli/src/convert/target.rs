//! The file that is written: beside its place until all of it is there, and gone where a signal ends this.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crossdock::exchange::files::{Format, NewFile, jpeg, npy, npz, png, raw, safetensors};
use indicatif::ProgressBar;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::convert::plan::Plan;
use crate::failure::{Failure, Result};

/// Whether a signal asked for the end. The file beside the place of the new one is removed on the way;
/// a second signal ends this at once.
pub(super) struct Stop(Arc<AtomicUsize>);

impl Stop {
    pub(super) fn on_signals() -> Result<Self> {
        let (stop, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the first one asks, the second one is not asked about.
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, asked.clone())
                .and_then(|_| signal_hook::flag::register(signal, asked.clone()))
                .and_then(|_| signal_hook::flag::register_usize(signal, stop.clone(), signal as usize))
                .map_err(|error| {
                    Failure::new(format_args!("signal {signal} could not be caught: {error}"))
                })?;
        }
        Ok(Self(stop))
    }

    /// The signal that came.
    fn signal(&self) -> Option<usize> {
        Some(self.0.load(Ordering::Relaxed)).filter(|&signal| signal > 0)
    }

    pub(super) fn check(&self) -> Result<()> {
        match self.signal() {
            None => Ok(()),
            Some(signal) => Err(Failure::new(format_args!("ended by signal {signal}: nothing was written"))
                .with_status(u8::try_from(128 + signal).unwrap_or(crate::status::FAILED))),
        }
    }
}

/// Refuses where there is such a file, unless it may be replaced.
pub(super) fn check_free(path: &Path, force: bool) -> Result<()> {
    if !force && path.symlink_metadata().is_ok() {
        return Err(Failure::new(format_args!(
            "{}: there is such a file already: give --force to replace it",
            path.display()
        )));
    }
    Ok(())
}

/// Writes all of it, and says how many bytes those were.
pub(super) fn write(plan: &Plan, path: &Path, force: bool, stop: &Stop, bar: &ProgressBar) -> Result<u64> {
    let named = |error: crossdock::Error| Failure::new(format_args!("{}: {error}", path.display()));
    let mut file = NewFile::beside(path).map_err(named)?;
    let mut counted = Counted { file: &mut file, stop, bar, nbytes: 0 };
    // Small, so that a signal is soon seen where much becomes little.
    let written = encode(plan, BufWriter::with_capacity(16 << 10, &mut counted));
    let nbytes = counted.nbytes;
    // Where it was stopped, or the file shrank, whatever else went wrong came of that.
    stop.check()?;
    plan.check()?;
    written.map_err(named)?;
    if force {
        file.replace().map_err(named)?;
    } else {
        // Somebody may have made one meanwhile.
        check_free(path, force)?;
        file.create().map_err(named)?;
    }
    Ok(nbytes)
}

fn encode(plan: &Plan, writer: impl Write) -> crossdock::Result<()> {
    let all = plan.arrays();
    match (plan.format(), all) {
        (Format::Npz, _) => npz::write(writer, all, plan.compression),
        (Format::Safetensors, _) => safetensors::write(writer, all, plan.metadata()),
        (Format::Npy, [(_, array)]) => npy::write(writer, array),
        (Format::Png, [(_, array)]) => png::write(writer, array),
        (Format::Jpeg, [(_, array)]) => jpeg::write(writer, array, plan.quality),
        (Format::Raw, [(_, array)]) => raw::write(writer, array, plan.order()),
        // The plan has one array for each format but those two.
        (format, _) => Err(crossdock::Error::unsupported(format!("{} arrays in a {format} file", all.len()))),
    }
}

/// Counts what is written, tells the bar, and fails once a signal came.
struct Counted<'a> {
    file: &'a mut NewFile,
    stop: &'a Stop,
    bar: &'a ProgressBar,
    nbytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.stop.signal().is_some() {
            // Not `Interrupted`, which is tried again.
            return Err(std::io::Error::other("ended by a signal"));
        }
        let count = self.file.write(bytes)?;
        self.nbytes += count as u64;
        self.bar.inc(count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
