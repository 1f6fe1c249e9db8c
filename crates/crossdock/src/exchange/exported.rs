//! Exports an array as a descriptor: of a file, or of shared memory.
//!
//! Where the system has no descriptors (Windows), a handle takes its place, which leaves the
//! library only as the number that a child process inherits.

use std::{fmt, io};

use crate::array::DArray;
use crate::error::{Advice, Error, Explanation, Kind, Result, system_text};
use crate::exchange::description::Description;
use crate::memory::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use crate::memory::os::files;
use crate::memory::{Backing, Birth, Lease, LeaseKind, Protocols};
use crate::view::{Access, Copied, Copies, Reason, Refusal, Request, Terms, negotiate};

/// An array exported to another process.
///
/// While this lives, so do the memory and the lease: no code in this process can seal the memory,
/// partition it, or get exclusive access to it. Dropping this ends the lease. The other process
/// keeps what it has mapped, and a message in flight keeps the memory: the kernel frees it after
/// its last user. The caller decides whether to wait for the other process before the drop.
pub struct Exported {
    // Ends the lease when it is dropped, and keeps the memory until then.
    lease: Lease,
    fd: OwnedFd,
    description: Description,
    backing: Backing,
    copied: Copied,
}

impl Exported {
    /// The descriptor, a duplicate, which child processes do not inherit unless the caller arranges
    /// that. It is open for writing only if [`Description::is_writable`].
    #[cfg(unix)]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The descriptor, which the caller owns. Ends the lease.
    #[cfg(unix)]
    #[doc(hidden)]
    pub fn into_fd(self) -> OwnedFd {
        self.fd
    }

    /// A duplicate of the descriptor that every child process inherits, with the same access. One
    /// system call.
    ///
    /// # Errors
    ///
    /// Those of the system, for example if this process may open no more descriptors.
    #[doc(hidden)]
    pub fn to_inherited(&self) -> io::Result<InheritedFd> {
        files::inheritable(self.fd.as_fd()).map(InheritedFd)
    }

    /// The array behind the descriptor.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The kind of memory behind the descriptor: shared memory, or a file, which can shrink.
    #[doc(hidden)]
    pub fn backing(&self) -> Backing {
        self.backing
    }

    /// The number of bytes that this export copied.
    pub fn copied_nbytes(&self) -> usize {
        self.copied.nbytes()
    }

    /// The reason why the export copied: the refusal without permission to copy. `None` if nothing
    /// was copied, or if the copy was requested.
    pub fn copied_because(&self) -> Option<&Refusal> {
        self.copied.because()
    }
}

/// A descriptor that child processes inherit while this lives, under the same number.
#[derive(Debug)]
pub struct InheritedFd(OwnedFd);

impl InheritedFd {
    /// The number of the descriptor, or, on Windows, of the handle.
    pub fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// Exports an array to another process under the requested lease: Pin for reading, Share for
/// reading and writing, Read for memory that no process can write any more (sealed memory).
/// Zero-copy in O(rank), with a system call. If the request permits a copy, the copy is in shared
/// memory.
///
/// # Errors
///
/// A [`Refusal`]: a dtype, order or place other than requested, memory without a descriptor, a
/// lease that conflicts, Share of memory closed to new writers, Read of memory that is not sealed.
pub fn export(array: &DArray, request: &Request) -> Result<Exported, Refusal> {
    let reaches = match request.lease() {
        LeaseKind::Pin | LeaseKind::Share => true,
        LeaseKind::Read => array.birth() == Birth::Constant,
        LeaseKind::Write => false,
    };
    if !reaches {
        let text = format!("a {} lease does not bind another process", request.lease());
        let reason = Reason::Unsupported(Explanation::new(text, Advice::PinShareOrSeal));
        return Err(Refusal::of(array, request, reason));
    }
    let terms = Terms {
        copies: Copies::Shared,
        ..Terms::new(Protocols::SHARED_MEMORY, Access::Only(request.lease()))
    };
    let writable = request.lease() == LeaseKind::Share;
    let (exported, copied) = negotiate(
        array,
        request,
        &terms,
        |array| descriptor(array, writable),
        |array, (fd, offset), lease, _| {
            let (dtype, layout) = (array.dtype().clone(), array.layout().normalized());
            let description = Description::from_layout(dtype, layout, offset, writable)?;
            Ok(Exported { lease, fd, description, backing: array.backing(), copied: Copied::NOTHING })
        },
    )?;
    Ok(Exported { copied, ..exported })
}

/// A descriptor of this export's own on the array's memory, opened with the permitted access, and
/// the byte where element 0 begins.
fn descriptor(array: &DArray, writable: bool) -> Result<(OwnedFd, u64), Reason> {
    let (buffer, within) = array.buffer().map_err(|error| match error.is_layout() {
        true => Reason::Layout(error.to_explanation()),
        false => Reason::Failed(error),
    })?;
    // A copy helps a reader, whereas other processes cannot have what a holder here relies on.
    let published = buffer.publish().map_err(|error| match error.is_conflict() {
        true => Reason::Layout(error.to_explanation()),
        false => Reason::Failed(error),
    })?;
    let Some((fd, start)) = published else {
        let text = format!("{} has no descriptor that another process can map", array.backing().described());
        return Err(Reason::Layout(text.into()));
    };
    if writable && buffer.is_closed_to_writers() {
        let text = "the shared memory accepts no new writers; export it read-only";
        return Err(Reason::Lease(Error::new(Kind::ReadOnly, text)));
    }
    // A duplicate shares the open file, and so its write access; a read-only descriptor needs
    // another opening of the file.
    let opened = if writable || !buffer.is_descriptor_writable() {
        fd.try_clone_to_owned()
    } else {
        files::reopen(fd, false)
    };
    match opened {
        Ok(fd) => Ok((fd, start + within as u64)),
        Err(error) => {
            let text = format!("the descriptor could not be reopened: {}", system_text(&error));
            Err(Reason::Failed(Error::caused(Kind::Io, text, error)))
        }
    }
}

impl fmt::Debug for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.lease.kind();
        write!(f, "Exported({:?} under a {kind:?} lease, {:?})", self.fd, self.description)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::array::Array;
    use crate::element::DType;
    use crate::exchange::protocol::shm::import;
    use crate::layout::Order;
    use crate::view::CopyPolicy;

    fn sample() -> DArray {
        Array::from_vec((0..12i32).collect(), [3, 4]).unwrap().into()
    }

    fn reopened(exported: &Exported) -> DArray {
        import(exported.fd().try_clone_to_owned().unwrap(), exported.description()).unwrap()
    }

    #[test]
    fn views_of_shared_memory_go_out_in_place() {
        let array = sample().to_shared(Order::RowMajor).unwrap();
        for expr in ["", "::2", "::-1, ::-2", "1", "1, 2", "2:2", ":, 3", "newaxis, ..."] {
            let view = array.at(expr).unwrap();
            let exported = export(&view, &Request::pin()).unwrap();
            assert_eq!(exported.copied_nbytes(), 0);
            let theirs = reopened(&exported);
            assert_eq!(theirs.shape(), view.shape(), "{expr:?}");
            let bytes = |array: &DArray| array.export(&Request::pin()).unwrap().to_bytes().unwrap();
            assert_eq!(bytes(&theirs), bytes(&view), "{expr:?}");
        }
        assert!(array.exported().contains(Protocols::SHARED_MEMORY));
    }

    #[test]
    fn a_reader_gets_a_descriptor_that_cannot_write_and_a_sharer_one_that_can() {
        let array = sample().to_shared(Order::RowMajor).unwrap();
        let pinned = export(&array, &Request::pin()).unwrap();
        let forged =
            Description::from_layout(array.dtype().clone(), array.layout().clone(), 0, true).unwrap();
        assert!(import(pinned.fd().try_clone_to_owned().unwrap(), &forged).unwrap_err().is_io());
        let shared = export(&array, &Request::share()).unwrap();
        reopened(&shared).set(&[2, 3], &99.into()).unwrap();
        assert_eq!(reopened(&pinned).get(&[2, 3]).unwrap().as_i64(), Some(99));
        assert!(reopened(&pinned).set(&[0, 0], &1.into()).unwrap_err().is_read_only());
    }

    #[test]
    fn a_reader_cannot_write_where_the_map_is_read_only_but_its_descriptor_is_not() {
        let memory = sample().to_shared(Order::RowMajor).unwrap();
        let shared = export(&memory, &Request::share()).unwrap();
        let described = Description::from_layout(DType::I32, memory.layout().clone(), 0, false).unwrap();
        let readonly = import(shared.fd().try_clone_to_owned().unwrap(), &described).unwrap();
        assert!(readonly.is_readonly());
        let pinned = export(&readonly, &Request::pin()).unwrap();
        let forged = Description::from_layout(DType::I32, memory.layout().clone(), 0, true).unwrap();
        assert!(import(pinned.fd().try_clone_to_owned().unwrap(), &forged).unwrap_err().is_io());
    }

    #[test]
    fn what_cannot_go_in_place_is_refused_or_copied_once_into_shared_memory() {
        let (heap, shared) = (sample(), sample().to_shared(Order::RowMajor).unwrap());
        let refused = export(&heap, &Request::pin()).unwrap_err();
        assert!(refused.to_string().contains("descriptor") && refused.would_copy() == Some(48), "{refused}");
        for (array, request, value) in [
            (&heap, Request::pin(), "6"),
            (&shared, Request::pin().order(Order::ColumnMajor), "6"),
            (&shared, Request::pin().dtype(DType::F64), "6.0"),
        ] {
            assert!(export(array, &request).is_err());
            let exported = export(array, &request.clone().copy(CopyPolicy::IfNeeded)).unwrap();
            let theirs = reopened(&exported);
            assert_eq!(exported.copied_nbytes(), theirs.nbytes());
            assert!(exported.copied_because().is_some());
            assert_eq!(theirs.get(&[1, 2]).unwrap().to_string(), value);
        }
        let always = export(&shared, &Request::pin().copy(CopyPolicy::Always)).unwrap();
        assert!(always.copied_nbytes() == 48 && always.copied_because().is_none());
        assert!(export(&shared, &Request::read()).unwrap_err().would_copy().is_none());
    }

    #[test]
    fn an_export_is_a_lease() {
        let array = sample().to_shared(Order::RowMajor).unwrap();
        let (buffer, _) = array.buffer().unwrap();
        // SAFETY: `to_shared` created the memory above, and no other process gets its descriptor:
        // the export below stays in this process.
        let sole = unsafe { buffer.assume_sole() };
        let array = DArray::from_buffer(sole, DType::I32, array.layout().clone(), 0).unwrap();
        let exported = export(&array, &Request::pin()).unwrap();
        let conflict = array.export(&Request::write()).unwrap_err().to_string();
        assert!(conflict.contains("shared memory"), "{conflict}");
        drop(exported);
        assert!(array.export(&Request::write()).is_ok());
    }
}

#[cfg(test)]
mod inheritance {
    use std::fs::File;
    use std::io::Write;

    use crossdock_testkit::not_run;

    use super::*;
    use crate::array::Array;
    use crate::buffer::Buffer;
    use crate::element::DType;
    use crate::layout::{Layout, Order};
    use crate::memory::MapOptions;
    use crate::memory::os::pages;
    use crate::view::CopyPolicy;

    /// Maps what a child process would inherit, and returns the array as the child sees it.
    fn as_inherited(exported: &Exported) -> DArray {
        let inherited = exported.to_inherited().unwrap();
        assert_ne!(inherited.number(), exported.fd.as_raw_fd());
        let (file, described) = (File::from(inherited.0), exported.description());
        assert!(described.is_writable() || (&file).write_all(b"x").is_err(), "it can be written");
        let buffer = Buffer::map(file, MapOptions::new()).unwrap();
        let offset = usize::try_from(described.offset()).unwrap();
        DArray::from_buffer(buffer, described.dtype().clone(), described.layout().clone(), offset).unwrap()
    }

    #[test]
    fn a_child_process_inherits_the_mapped_file_itself() {
        if !pages::HAS_MAPPINGS {
            return not_run("the system maps no files");
        }
        let path = std::env::temp_dir().join(format!("crossdock-inherited-{}.raw", std::process::id()));
        std::fs::write(&path, [9, 9, 1, 2, 3, 4, 5, 6]).unwrap();
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let buffer = Buffer::map(file, MapOptions::new().writable(true)).unwrap();
        let layout = Layout::contiguous(&[2, 3], 1, Order::RowMajor).unwrap();
        let array = DArray::from_buffer(buffer, DType::U8, layout, 2).unwrap();
        let exported = export(&array.at("::-1").unwrap(), &Request::pin()).unwrap();
        assert_eq!((exported.copied_nbytes(), exported.description().offset()), (0, 5));
        let theirs = as_inherited(&exported);
        array.set(&[1, 2], &7.into()).unwrap();
        assert_eq!(theirs.to_string(), "[[4 5 7]\n [1 2 3]]");
        drop((theirs, exported, array));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_child_process_inherits_a_copy_of_other_memory() {
        if !pages::HAS_MAPPINGS {
            return not_run("the system maps no files");
        }
        let array = DArray::from(Array::from_vec((0..6i16).collect(), [2, 3]).unwrap());
        assert_eq!(export(&array, &Request::pin()).unwrap_err().would_copy(), Some(12));
        let exported = export(&array, &Request::pin().copy(CopyPolicy::IfNeeded)).unwrap();
        assert_eq!(exported.copied_nbytes(), 12);
        assert_eq!(as_inherited(&exported).to_string(), array.to_string());
    }
}
