//! A consumer in C that knows DLPack's struct, and not Crossdock.

use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io};

use crossdock::bindings::system_text;
use libloading::Library;

use crate::failure::{Failure, Result};
use crossdock::DArray;
use crossdock::bindings::dialect::dlpack::from_dlpack;
use crossdock::exchange::protocol::dlpack::abi::DLManagedTensorVersioned;
use crossdock::exchange::protocol::dlpack::{ExportOptions, export_versioned};
use crossdock::memory::copied_bytes;
use crossdock::view::Refusal;

use crate::terminal;
use crate::tour::measure::median_ns;
use crate::tour::report::{Handover, Outcome};

static SOURCE: &str = include_str!("consumer.c");
const MAX_NDIM: usize = 64;

/// `ConsumerReport` of `consumer.c`.
#[repr(C)]
struct ConsumerReport {
    address: u64,
    checksum: u64,
    shape: [i64; MAX_NDIM],
    strides: [i64; MAX_NDIM],
    ndim: i32,
    code: u8,
    bits: u8,
}

type Consume = unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut ConsumerReport, c_int) -> c_int;

/// The compiled and loaded consumer, or why there is none.
pub(crate) struct Consumer(Result<Consume, String>);

impl Consumer {
    /// Compiles the consumer with the machine's C compiler.
    pub(crate) fn compile() -> Self {
        Self(build().map_err(|failure| failure.to_string()))
    }

    /// Lends an array to the consumer.
    pub(crate) fn consume(&self, array: &DArray) -> Result<Outcome> {
        let consume = match &self.0 {
            Ok(consume) => *consume,
            Err(why) => return Ok(Outcome::Declined(why.clone())),
        };
        // SAFETY: every export with these options is dropped here or passed to the consumer, which
        // is compiled from `SOURCE` and never writes the elements.
        let options = unsafe { ExportOptions::new().trust_readonly() };
        if let Err(refusal) = export_versioned(array, &options) {
            return Ok(Outcome::Declined(brief(&refusal)));
        }
        let ns = median_ns(|| lend(consume, array, &options, false).map(drop))?;
        let copied = copied_bytes();
        let report = lend(consume, array, &options, true)?;
        let rank = report.ndim as usize;
        let counts =
            |numbers: &[i64; MAX_NDIM]| numbers[..rank].iter().map(|&number| number as isize).collect();
        Ok(Outcome::Took(Handover {
            dtype: Some(from_dlpack(report.code, report.bits, 1, true)?.to_string()),
            shape: Some(report.shape[..rank].iter().map(|&len| len as usize).collect()),
            strides: Some(counts(&report.strides)),
            address: report.address,
            pages: None,
            checksum: report.checksum,
            bytes_copied: Some(copied_bytes() - copied),
            ns,
        }))
    }
}

/// The reason of a refusal, without the offer, which the table shows.
fn brief(refusal: &Refusal) -> String {
    refusal.reason().fact().to_string()
}

fn lend(
    consume: Consume,
    array: &DArray,
    options: &ExportOptions,
    want_checksum: bool,
) -> Result<ConsumerReport> {
    let tensor = export_versioned(array, options)?.into_raw();
    let mut report = ConsumerReport {
        address: 0,
        checksum: 0,
        shape: [0; MAX_NDIM],
        strides: [0; MAX_NDIM],
        ndim: 0,
        code: 0,
        bits: 0,
    };
    // SAFETY: `tensor` is a live export that this call passes to the consumer, which calls its
    // deleter once; `report` is a local struct with the layout of the C one, which the consumer
    // fills in.
    let refused = unsafe { consume(tensor, &mut report, c_int::from(want_checksum)) };
    match refused {
        0 => Ok(report),
        what => Err(Failure::new(format_args!("the C consumer rejected the tensor with code {what}"))),
    }
}

fn build() -> Result<Consume> {
    // The folder of a process that was killed is still there, and its number returns.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let folder = std::env::temp_dir().join(format!("crossdock-consumer-{}-{now}", std::process::id()));
    let built = build_in(&folder);
    // The loaded library needs no files. If they cannot be removed, the system cleans its temporary
    // folder.
    let _ = fs::remove_dir_all(&folder);
    built
}

fn build_in(folder: &Path) -> Result<Consume> {
    let io =
        |error: io::Error| Failure::new(format_args!("{}: {}", terminal::path(folder), system_text(&error)));
    let (source, library) = (folder.join("consumer.c"), folder.join("consumer.so"));
    fs::create_dir(folder).map_err(io)?;
    fs::write(&source, SOURCE).map_err(io)?;
    let status = Command::new("cc")
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| {
            Failure::new(format_args!("the C compiler `cc` could not be run: {}", system_text(&error)))
        })?;
    if !status.success() {
        return Err(Failure::new("`cc` could not compile the consumer"));
    }
    // SAFETY: the library was compiled from `SOURCE` just now, which has no constructors, so
    // loading it runs no code of its own.
    let library = unsafe { Library::new(&library) }
        .map_err(|_| Failure::new("the compiled consumer could not be loaded"))?;
    // The library is never closed.
    let library = ManuallyDrop::new(library);
    // SAFETY: `crossdock_consume` has the signature of `Consume` in `SOURCE`.
    let consume = unsafe { library.get::<Consume>(c"crossdock_consume") }
        .map_err(|_| Failure::new("the compiled consumer lacks its function"))?;
    Ok(*consume)
}
