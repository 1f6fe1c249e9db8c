//! `crossdock hold`: keeps the arrays and tables of files for other processes; and the commands
//! that use what is held.
//!
//! ```text
//!   hold ── claims the name ──> run: serves clients until a signal ──> removes the socket
//!            └─ loading thread: loads FILE, and publishes it as any other process would
//! ```

pub(crate) mod connect;
pub(crate) mod drop;
pub(crate) mod ls;
pub(crate) mod who;

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, Sender};
use std::thread;

use crossdock::bindings::files::Target;
use crossdock::bindings::hold::{load_set_of, map_set_of};
use crossdock::bindings::system_text;
use crossdock::exchange::protocol::hold::{self, Label, Limits, SetHolder};
use indicatif::BinaryBytes;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::{Failure, Result};
use crate::system::is_ignored;
use crate::table::counted;
use crate::{out, progress, status, terminal};

const EXAMPLES: &str = "\
Examples:
  crossdock hold model.safetensors --name m  (holds m@1 until it is stopped)
  crossdock hold shards/ --name m            (all files of a folder, as a set)
  crossdock hold a.safetensors b.npz --name m  (several files as a set)
  crossdock hold trades.arrow --name t       (a table, named trades)
  crossdock hold model.safetensors --map     (readers map the file itself)
  crossdock hold new.safetensors --name m --replace     (m@2: takes m over)
  crossdock hold --name m                    (what other processes publish as m)
  crossdock connect m -- python3 worker.py
  crossdock who m
  crossdock ls
  crossdock drop m

Exit status: 0 when it is stopped (INT, TERM or HUP), when the name is dropped, or when another \
command takes over; 1 if FILE could not be loaded, or another process holds the name.";

/// Hold the arrays or the table of a file for other processes of this user, in memory that stays
/// constant.
///
/// Each FILE is loaded once. Each process that connects maps the same pages, whatever it is written
/// in. The command runs until it is stopped, and prints a line when the set is ready. Processes
/// that read it keep it after that.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files (.safetensors, .npz, .npy, .gguf, .arrow, …) and folders of them, as one set. Without
    /// them, or with `-`, holds what other processes publish.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The name for other processes: letters, digits, `.`, `_` and `-`. By default, that of the
    /// only FILE without its ending.
    #[arg(long)]
    name: Option<Label>,
    /// Let readers map FILE itself, without loading it: they share the pages of the file. They see
    /// what other processes write to it. If it shrinks, what it lost reads as zeros, and each copy
    /// is an error. For formats whose arrays lie in the file as in memory (.safetensors, .npy,
    /// stored .npz, .arrow without compression).
    #[arg(long, requires = "files")]
    map: bool,
    /// Skip the arrays of FILE that cannot be opened, such as those of Python objects, with a note
    /// for each.
    #[arg(long, requires = "files")]
    skip_refused: bool,
    /// Publish FILE as the next version of a name that is held, and take the name over: readers
    /// notice nothing.
    #[arg(long)]
    replace: bool,
    /// The most connections at a time.
    #[arg(long, value_name = "N", default_value_t = 512)]
    clients: usize,
    /// The most connections of one process: sets that it reads.
    #[arg(long, value_name = "N", default_value_t = 64)]
    clients_of_process: usize,
    /// The most bytes of all sets, such as 64G (K, M, G and T are powers of 1024).
    #[arg(long, value_name = "BYTES", value_parser = nbytes)]
    limit: Option<u64>,
    /// The most bytes of the sets that one process published.
    #[arg(long, value_name = "BYTES", value_parser = nbytes)]
    limit_of_process: Option<u64>,
    /// The most versions of a name that exist at a time.
    #[arg(long, value_name = "N", default_value_t = 16)]
    versions: usize,
}

/// A number of bytes: digits, and perhaps a unit.
fn nbytes(text: &str) -> std::result::Result<u64, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        Some((at, 'T' | 't')) => (&text[..at], 40),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| "write digits, and K, M, G or T for a unit".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| format!("more than {} bytes cannot be held", u64::MAX))
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let files = match &args.files[..] {
        [only] if only == Path::new("-") => &[],
        files => files,
    };
    if files.iter().any(|file| file == Path::new("-")) {
        let text = "`-` holds what other processes publish; give it without FILE, or FILE without it";
        return Err(Failure::new(text).with_status(status::USAGE));
    }
    files.iter().try_for_each(|file| check_is_whole(file))?;
    let name = name(args, files)?;
    let limits = Limits::new()
        .clients(args.clients)
        .clients_of_process(args.clients_of_process)
        .nbytes(args.limit.unwrap_or(u64::MAX))
        .nbytes_of_process(args.limit_of_process.unwrap_or(u64::MAX))
        .versions(args.versions);
    let mut holder = SetHolder::new(limits)?;
    let (stop, stopped) = stream()?;
    catch(&stop)?;
    let (sender, failures) = mpsc::channel();
    let how = Loading { map: args.map, skip_refused: args.skip_refused };
    let former = args.replace.then(|| hold::who(&name));
    if matches!(former, Some(Ok(_))) {
        // The former holder serves until this one has everything.
        let text = if files.is_empty() { None } else { Some(load(files, &name, how)?) };
        holder.take_over(&name)?;
        out::print(&text.unwrap_or_else(|| empty_or_newest(&holder, &name)))?;
        holder.run(Some(stopped.as_fd()))?;
        return Ok(ExitCode::SUCCESS);
    }
    claim(&mut holder, &name, former.and_then(std::result::Result::err))?;
    if files.is_empty() {
        out::print(&empty_or_newest(&holder, &name))?;
    } else {
        if let Some(found) = holder.labels().last() {
            out::note(&format!("found {found} in processes that read it"));
        }
        let (files, stop) = (files.to_vec(), twin(&stop)?);
        let publishing = thread::Builder::new().name("load".into());
        publishing.spawn(move || publish(&files, &name, how, &sender, stop)).map_err(|error| {
            Failure::new(format_args!("no thread could be started: {}", system_text(&error)))
        })?;
    }
    holder.run(Some(stopped.as_fd()))?;
    // A thread that failed has sent why before it stopped the holder.
    failures.try_recv().map_or(Ok(ExitCode::SUCCESS), Err)
}

/// The line that says what is held, without a file.
fn empty_or_newest(holder: &SetHolder, name: &Label) -> String {
    match holder.labels().last() {
        Some(newest) => format!("holding {newest}\n"),
        None => format!("holding {name}, of which nothing is published yet\n"),
    }
}

/// The name to hold.
fn name(args: &Args, files: &[PathBuf]) -> Result<Label> {
    let name = match (&args.name, files) {
        (Some(name), _) => name.clone(),
        (None, [file]) => {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            stem.parse().map_err(|error: crossdock::Error| {
                Failure::new(format_args!("{error}; choose one with --name")).with_status(status::USAGE)
            })?
        }
        (None, []) => {
            return Err(Failure::new("name FILE, or give --name").with_status(status::USAGE));
        }
        (None, _) => {
            let text = format!("{} files are one set, which needs a name; give --name", files.len());
            return Err(Failure::new(text).with_status(status::USAGE));
        }
    };
    match name.version() {
        None => Ok(name),
        Some(_) => {
            let text = format!("{name} has a version, which the holder chooses; give --name {}", name.name());
            Err(Failure::new(text).with_status(status::USAGE))
        }
    }
}

/// Claims the name. `unanswered` is why its holder could not be asked, if it was.
fn claim(holder: &mut SetHolder, name: &Label, unanswered: Option<crossdock::Error>) -> Result<()> {
    let Err(error) = holder.claim(name) else { return Ok(()) };
    if !error.is_conflict() {
        return Err(error.into());
    }
    let users = unanswered.map_or_else(|| hold::who(name), Err)?;
    let pid = users.first().map(|holder| holder.pid);
    let process = pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
    Err(Failure::new(format_args!("{process} holds {name}; give --replace, or another --name")))
}

/// Refuses a FILE that names an array or a view.
fn check_is_whole(file: &Path) -> Result<()> {
    let target = Target::new(file.as_os_str())?;
    if target.rest().is_empty() || file.exists() || !target.path().exists() {
        return Ok(());
    }
    let [file, whole] = [file, target.path()].map(terminal::path);
    let text =
        format!("{file}: a set has all arrays of whole files; hold {whole}, and select in its readers");
    Err(Failure::new(text).with_status(status::USAGE))
}

/// How files are loaded, as the options of the same names say.
#[derive(Clone, Copy)]
struct Loading {
    map: bool,
    skip_refused: bool,
}

/// Loads the files in a thread, while clients are served. A failure stops the command.
fn publish(files: &[PathBuf], name: &Label, how: Loading, failures: &Sender<Failure>, stop: UnixStream) {
    if let Err(failure) = load(files, name, how).and_then(|text| out::print(&text)) {
        // The receiver waits for the end of `run`, which the shutdown causes.
        let _ = failures.send(failure);
        let _ = stop.shutdown(std::net::Shutdown::Both);
    }
}

/// Publishes the files as the next version of the name. Returns the line that says so.
fn load(files: &[PathBuf], name: &Label, how: Loading) -> Result<String> {
    let publisher = hold::publish(name)?;
    let label = publisher.label().clone();
    let mut bar = None;
    let mut is_refused = false;
    let refused = |path: &Path, error: crossdock::Error| {
        if !how.skip_refused {
            is_refused = true;
            return Err(error);
        }
        let why = Failure::from(error);
        out::note(&format!("not held from {}: {why}", terminal::shown(&terminal::path(path))));
        Ok(())
    };
    let set = if how.map {
        map_set_of(files, &label, refused)
    } else {
        let progress = |done, all| {
            bar.get_or_insert_with(|| progress::reading(usize::try_from(all).unwrap_or(usize::MAX)))
                .set_position(done);
        };
        load_set_of(files, &label, progress, refused)
    };
    let set = set.map_err(|error| match is_refused {
        true => Failure::new(format_args!(
            "{}; use --skip-refused to hold the other arrays",
            Failure::from(error)
        )),
        false => error.into(),
    })?;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    publisher.commit(&set)?;
    let parts = entries((set.len() - set.tables()) as u64, set.tables() as u64);
    let of = match files {
        [file] => terminal::shown(&terminal::path(file)),
        files => format!("{} files", files.len()),
    };
    let mapped = if how.map { ", mapped" } else { "" };
    Ok(format!("holding {label}: {parts} of {of}, {}{mapped}\n", BinaryBytes(set.nbytes())))
}

/// "2 arrays", "1 table", or "2 arrays and 1 table".
fn entries(arrays: u64, tables: u64) -> String {
    match (arrays, tables) {
        (_, 0) => counted(arrays, "array"),
        (0, _) => counted(tables, "table"),
        _ => format!("{} and {}", counted(arrays, "array"), counted(tables, "table")),
    }
}

fn twin(stream: &UnixStream) -> Result<UnixStream> {
    stream
        .try_clone()
        .map_err(|error| Failure::new(format_args!("no socket could be made: {}", system_text(&error))))
}

fn stream() -> Result<(UnixStream, UnixStream)> {
    UnixStream::pair()
        .map_err(|error| Failure::new(format_args!("no socket could be made: {}", system_text(&error))))
}

/// Signals that end the command write to the stream.
fn catch(stop: &UnixStream) -> Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal)) {
        let registered =
            stop.try_clone().and_then(|twin| signal_hook::low_level::pipe::register(signal, twin));
        registered.map_err(|error| {
            Failure::new(format_args!(
                "a handler for signal {signal} could not be installed: {}",
                system_text(&error)
            ))
        })?;
    }
    Ok(())
}
