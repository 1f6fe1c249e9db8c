//! A C program's consumer: it knows DLPack's struct, and nothing of Crossdock.

use std::ffi::{CString, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use crossdock::DArray;
use crossdock::element::dialect::dlpack::from_dlpack;
use crossdock::exchange::protocol::dlpack::{DLManagedTensorVersioned, ExportOptions, export_versioned};
use crossdock::memory::copied_bytes;
use crossdock::view::Refusal;

use crate::tour::Outcome;
use crate::tour::measure::median_ns;
use crate::tour::report::Handover;

static SOURCE: &str = include_str!("consumer.c");
const MAX_NDIM: usize = 64;

/// `Report` of `consumer.c`.
#[repr(C)]
struct Report {
    address: u64,
    checksum: u64,
    shape: [i64; MAX_NDIM],
    strides: [i64; MAX_NDIM],
    ndim: i32,
    code: u8,
    bits: u8,
}

type Consume = unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut Report, c_int) -> c_int;

/// The consumer, compiled and loaded, or why there is none.
pub struct Consumer(Result<Consume, String>);

impl Consumer {
    /// Compiles it with the machine's C compiler.
    pub fn compile() -> Self {
        Self(build().map_err(|error| format!("{error:#}")))
    }

    /// Lends to it.
    pub fn consume(&mut self, array: &DArray) -> Result<Outcome> {
        let consume = match &self.0 {
            Ok(consume) => *consume,
            Err(why) => return Ok(Outcome::Declined(why.clone())),
        };
        // SAFETY: the consumer's source is above, and does not write.
        let options = unsafe { ExportOptions::new().trust_readonly() };
        if let Err(refusal) = export_versioned(array, &options) {
            return Ok(Outcome::Declined(brief(&refusal)));
        }
        let ns = median_ns(|| lend(consume, array, &options, false).map(drop))?;
        let copied = copied_bytes();
        let report = lend(consume, array, &options, true)?;
        let rank = report.ndim as usize;
        let counts = |numbers: &[i64; MAX_NDIM]| numbers[..rank].iter().map(|&number| number as isize).collect();
        Ok(Outcome::Took(Handover {
            dtype: from_dlpack(report.code, report.bits, 1, true)?.to_string(),
            shape: report.shape[..rank].iter().map(|&len| len as usize).collect(),
            strides: counts(&report.strides),
            address: report.address,
            checksum: report.checksum,
            bytes_copied: copied_bytes() - copied,
            ns,
        }))
    }
}

/// The reason of a refusal, without the offer that the table shows anyway.
fn brief(refusal: &Refusal) -> String {
    let text = refusal.to_string();
    text.split("; on offer").next().unwrap_or(&text).to_owned()
}

fn lend(consume: Consume, array: &DArray, options: &ExportOptions, want_checksum: bool) -> Result<Report> {
    let tensor = export_versioned(array, options)?.into_raw();
    let mut report = Report {
        address: 0,
        checksum: 0,
        shape: [0; MAX_NDIM],
        strides: [0; MAX_NDIM],
        ndim: 0,
        code: 0,
        bits: 0,
    };
    // SAFETY: a live tensor, which the consumer gives back by its deleter, and a report for it to fill in.
    let refused = unsafe { consume(tensor, &mut report, c_int::from(want_checksum)) };
    match refused {
        0 => Ok(report),
        what => bail!("the C consumer did not understand the tensor (answer {what})"),
    }
}

fn build() -> Result<Consume> {
    let folder = tempfile::tempdir().context("no temporary folder for the C consumer")?;
    let (source, library) = (folder.path().join("consumer.c"), folder.path().join("consumer.so"));
    std::fs::write(&source, SOURCE)?;
    let status = Command::new("cc")
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("no C compiler (`cc`) on this machine")?;
    if !status.success() {
        bail!("`cc` could not compile the consumer");
    }
    let path = CString::new(library.as_os_str().as_bytes())?;
    // SAFETY: a library of ours, whose loading runs no code.
    let handle: *mut c_void = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        bail!("the compiled consumer could not be loaded");
    }
    // SAFETY: the handle is open, and stays so until the process ends.
    let symbol = unsafe { libc::dlsym(handle, c"crossdock_consume".as_ptr()) };
    if symbol.is_null() {
        bail!("the compiled consumer lacks its function");
    }
    // SAFETY: the symbol is the function of this signature in the source above.
    Ok(unsafe { std::mem::transmute::<*mut c_void, Consume>(symbol) })
}
