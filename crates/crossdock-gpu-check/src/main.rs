//! Everything that needs a GPU, in one table: the test suites that every device must pass, a tour,
//! memory that is sent as a descriptor, and the figures.
//!
//! The program is in one folder with the programs that it runs, and needs only the driver. Without
//! a device it reports that, which is no failure.

mod descriptors;
mod figures;
mod peer;
mod programs;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use crossdock::device;
use crossdock::memory::{DeviceKind, Place};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Checks and measures the library on the first CUDA device.
#[derive(Debug, Parser)]
#[command(name = "gpu-check", version, max_term_width = 120)]
struct Arguments {
    /// Where the programs are that it runs; its own folder where nothing is said
    #[arg(long)]
    programs: Option<PathBuf>,
    /// A Python with the wheel installed, and with PyTorch for the figures that need it
    #[arg(long)]
    python: Option<PathBuf>,
    /// Append the figures to this file, in the form of bench/record/
    #[arg(long)]
    record: Option<PathBuf>,
    /// How many seconds all of it may take: what would begin later is left out, and said to be
    #[arg(long, default_value_t = 290)]
    seconds: u64,
    /// Say which device there is, or that there is none, and end
    #[arg(long)]
    probe: bool,
    /// Divide the extents of all arrays by this
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    shrink: u32,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let deadline = Instant::now() + Duration::from_secs(arguments.seconds);
    let place = Place::new(DeviceKind::CUDA, 0);
    let device = match crossdock_cuda::register().and_then(|()| device::get(place)) {
        Ok(device) => device,
        Err(error) => {
            println!("no device: {error}");
            return ExitCode::SUCCESS;
        }
    };
    println!("{place}: {}", device.name());
    if arguments.probe {
        return ExitCode::SUCCESS;
    }
    let mut rows = programs::run(&arguments, deadline);
    rows.push(descriptors::check(place));
    rows.extend(figures::take(&*device, arguments.shrink as usize, deadline));
    println!("{}", table::draw(&rows));
    if let Some(path) = &arguments.record
        && let Err(error) = table::record(&rows, &device.name(), path)
    {
        eprintln!("{}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    let failed = rows.iter().filter(|row| row.is_failed()).count();
    println!("{} checks, {failed} failed", rows.len());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
