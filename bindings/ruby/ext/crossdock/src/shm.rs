//! Arrays for other processes: a descriptor, and a text that describes its memory.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossdock::DArray;
use crossdock::exchange::protocol::shm::{self, Exported};
use crossdock::view::{CopyPolicy, Request};
use magnus::{DataTypeFunctions, RClass, RModule, Ruby, TypedData, Value, function, method, prelude::*};

use crate::blocking::without_lock;
use crate::error::{Failure, Result};
use crate::handle::Wrapped;
use crate::make::order;
use crate::pressure::{self, ReportedMemory, again};

/// `Crossdock::SharedMemory`: an array on its way to another process.
#[derive(TypedData)]
#[magnus(class = "Crossdock::SharedMemory", free_immediately, size)]
struct SharedExport(Mutex<Option<ExportContent>>);

/// The export, and the report of its memory to the collector.
struct ExportContent {
    exported: Arc<Exported>,
    kept: Option<Arc<ReportedMemory>>,
}

impl SharedExport {
    fn lock(&self) -> MutexGuard<'_, Option<ExportContent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The export. The mutex is unlocked before its use, which may wait for Ruby's lock.
    fn exported(&self, ruby: &Ruby) -> Result<Arc<Exported>> {
        let exported = self.lock().as_ref().map(|content| content.exported.clone());
        exported.ok_or_else(|| Failure::ours(ruby, "the shared memory was closed"))
    }

    /// Moves the content out.
    fn close(&self) {
        let content = self.lock().take();
        if let Some(kept) = content.as_ref().and_then(|content| content.kept.as_ref()) {
            kept.leave(ptr::from_ref(self).addr());
        }
        drop(content);
    }
}

impl Drop for SharedExport {
    fn drop(&mut self) {
        self.close();
    }
}

impl DataTypeFunctions for SharedExport {
    fn size(&self) -> usize {
        let content = self.lock();
        let kept = content.as_ref().and_then(|content| content.kept.as_ref());
        size_of::<Self>() + pressure::told(kept, ptr::from_ref(self).addr())
    }
}

/// Shared memory with the elements: the same memory if it is shared already, or a copy.
fn to_shared(ruby: &Ruby, this: Wrapped, wanted: Value) -> Result<Wrapped> {
    let (array, order) = (this.array()?, order(ruby, wanted)?);
    this.made(ruby, again(ruby, || Ok(array.to_shared(order)?))?)
}

fn lend(ruby: &Ruby, this: Wrapped, writable: bool, copy: bool) -> Result<SharedExport> {
    let request = if writable { Request::share() } else { Request::pin() };
    let policy = if copy { CopyPolicy::IfNeeded } else { CopyPolicy::Never };
    let (array, request) = (this.array()?, request.copy(policy));
    let exported = again(ruby, || Ok(shm::export(&array, &request)?))?;
    let kept = pressure::of_export(this, exported.copied_nbytes())?;
    Ok(SharedExport(Mutex::new(Some(ExportContent { exported: Arc::new(exported), kept }))))
}

fn fileno(ruby: &Ruby, this: &SharedExport) -> Result<i32> {
    Ok(this.exported(ruby)?.fd().as_raw_fd())
}

fn description(ruby: &Ruby, this: &SharedExport) -> Result<String> {
    Ok(this.exported(ruby)?.description().to_text()?)
}

fn copied_nbytes(ruby: &Ruby, this: &SharedExport) -> Result<usize> {
    Ok(this.exported(ruby)?.copied_nbytes())
}

fn close(this: &SharedExport) {
    this.close();
}

fn send_to(ruby: &Ruby, this: &SharedExport, socket: i32) -> Result<()> {
    let socket = stream(ruby, socket)?;
    let exported = this.exported(ruby)?;
    Ok(without_lock(|| shm::send(&socket, &exported))??)
}

fn receive(ruby: &Ruby, socket: i32) -> Result<Option<Wrapped>> {
    let socket = stream(ruby, socket)?;
    // If the process has no free descriptor, the message is lost: reserve one, and free it just
    // before the receive.
    let spare = again(ruby, || duplicate(ruby, socket.as_raw_fd()))?;
    let received = without_lock(move || {
        drop(spare);
        shm::receive(&socket)
    })?;
    match received? {
        Some(array) => Wrapped::new(ruby, array).map(Some),
        None => Ok(None),
    }
}

/// Another descriptor for a socket that Ruby has open.
fn stream(ruby: &Ruby, fd: i32) -> Result<UnixStream> {
    Ok(UnixStream::from(again(ruby, || duplicate(ruby, fd))?))
}

pub(crate) fn duplicate(ruby: &Ruby, fd: i32) -> Result<OwnedFd> {
    if fd < 0 {
        return Err(Failure::argument(ruby, format!("{fd} is no descriptor")));
    }
    // SAFETY: `fd` is not negative (checked above) and is only used for `dup` in this function,
    // which fails with an error if the number is not open.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    fd.try_clone_to_owned().map_err(|error| Failure::System(error, "the descriptor could not be duplicated"))
}

fn import(ruby: &Ruby, fd: i32, text: String) -> Result<Wrapped> {
    let description = text.parse()?;
    let array: DArray = again(ruby, || Ok(shm::import(duplicate(ruby, fd)?, &description)?))?;
    Wrapped::new(ruby, array)
}

pub(crate) fn init(ruby: &Ruby, module: RModule, class: RClass) -> std::result::Result<(), magnus::Error> {
    class.define_private_method("copy_to_shared", method!(to_shared, 1))?;
    class.define_private_method("lend_shared", method!(lend, 2))?;
    let shared = module.define_class("SharedMemory", ruby.class_object())?;
    shared.undef_default_alloc_func();
    // Looked up once, here: later, several Ractors may need it at the same time.
    let _class = SharedExport::class(ruby);
    shared.define_method("fileno", method!(fileno, 0))?;
    shared.define_method("description", method!(description, 0))?;
    shared.define_method("copied_nbytes", method!(copied_nbytes, 0))?;
    shared.define_method("close", method!(close, 0))?;
    shared.define_private_method("send_by", method!(send_to, 1))?;
    shared.define_singleton_method("receive_by", function!(receive, 1))?;
    shared.define_singleton_method("import_fd", function!(import, 2))
}
