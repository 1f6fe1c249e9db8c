//! Internal names that the project's own bindings (the wheel, the gem, the C library and the
//! command) and tests of internals use.
//!
//! **Outside semantic versioning.** A name here can change or disappear in any release. Those
//! bindings are released together with the library, from the same sources. Other crates find what
//! they need in the documented modules.
//!
//! To add a name, make it `pub` where it is defined, in a module that is `pub(crate)`, and
//! re-export it here. A method that only bindings call is `#[doc(hidden)]` at its type.
//!
//! Reasons: `DESIGN.md`, "Internal names of the bindings are hidden".

pub use crate::element::record::MAX_DEPTH;
pub use crate::error::advice::{Advice, Explanation, Words};
pub use crate::error::similar::similar;
pub use crate::error::system_text;
pub use crate::memory::copied::count_copied;

/// Readers and writers of a dtype in the notations of other systems.
pub mod dialect {
    pub use crate::element::dialect::{arrow, dlpack, pack, pep3118, typestr};
}

/// How consumers handle an object that a binding describes.
pub mod explain {
    pub use crate::exchange::explain::misread::{misread_format, misread_interface};
    pub use crate::exchange::explain::{
        Answer, ElementType, Profile, Protocol, Subject, judge, profiles, subject_of, text,
    };
}

/// A file that appears once it is complete, the header of `.npy` files, the texts that name an
/// array in a file, and the path of a descriptor.
pub mod files {
    #[cfg(feature = "arrow-ipc")]
    pub use crate::exchange::files::arrow_ipc::outgoing_rows::{OutgoingRows, RowCounts};
    pub use crate::exchange::files::elements::release_pages;
    pub use crate::exchange::files::mapped::{mapped_nbytes, mapped_offset};
    pub use crate::exchange::files::new_file::NewFile;
    pub use crate::exchange::files::npy::header::NpyHeader;
    pub use crate::exchange::files::outgoing::OutgoingArray;
    pub use crate::exchange::files::target::{Selected, Target};
    pub use crate::kernel::Rounding;
}

/// Loads, stores and copies of bytes that another thread, process or library may write meanwhile.
pub mod racy {
    #[cfg(target_arch = "x86_64")]
    pub use crate::memory::racy::vector::load64;
    pub use crate::memory::racy::{copy, load, store};
}

/// Blocks of a shareable pool that another library owns.
pub mod shareable {
    pub use crate::pool::raw::{allocate, nbytes, release};
}

/// Columns in chunks, tables as text, days of NumPy, and zones as offsets.
pub mod table {
    pub use crate::table::chunks::{addresses, batches, chunk_of, nbytes, parts};
    pub use crate::table::days::with_days;
    pub use crate::table::grid::{cut, displayed, grid};
    pub use crate::table::reader::remaining;
    pub use crate::table::zone::offset_minutes;
}

/// The number of threads that share large work.
#[cfg(feature = "threads")]
pub mod threads {
    pub use crate::kernel::threads::number::{num_threads, set_num_threads};
}

/// Python's array interface, for objects of an interpreter.
pub mod array_interface {
    pub use crate::exchange::protocol::array_interface::*;
}

/// Arrow, with its streams and the `requested_schema` of a capsule.
pub mod arrow {
    pub use crate::exchange::protocol::arrow::column_stream::{
        export_chunks, export_device_chunks, import_chunks, import_device_chunks,
    };
    pub use crate::exchange::protocol::arrow::requested::requested;
    pub use crate::exchange::protocol::arrow::schema_bytes::{field_from_bytes, field_to_bytes};
    pub use crate::exchange::protocol::arrow::stream::ArrowStream;
    pub use crate::exchange::protocol::arrow::stream_abi::ArrowDeviceArrayStream;
    pub use crate::exchange::protocol::arrow::table_device::{
        export_device_batch, export_device_column, import_device_batch, import_device_column,
    };
    pub use crate::exchange::protocol::arrow::table_stream::{
        export_device_stream, export_stream_in_words, import_device_stream,
    };
    pub use crate::exchange::protocol::arrow::*;
}

/// DLPack, with its C exchange API for Python types.
pub mod dlpack {
    pub use crate::exchange::protocol::dlpack::exchange_api::{
        DLPackExchangeAPI, DLPackExchangeAPIHeader, SetError,
    };
    pub use crate::exchange::protocol::dlpack::import::import_legacy_writable;
    pub use crate::exchange::protocol::dlpack::prepared::Prepared;
    pub use crate::exchange::protocol::dlpack::*;
}

/// MemoryView, with the hub that the C functions and Ruby's extension call.
pub mod memory_view {
    pub use crate::exchange::protocol::memory_view::abi::{Available, Get, Release};
    pub use crate::exchange::protocol::memory_view::cached_export::{CachedExport, take_back};
    pub use crate::exchange::protocol::memory_view::contiguous::fill_contiguous_strides;
    pub use crate::exchange::protocol::memory_view::hub::{available, exports, get, release};
    pub use crate::exchange::protocol::memory_view::import::adopt;
    pub use crate::exchange::protocol::memory_view::last::{keep_refusal, last_refusal, last_refusal_ptr};
    pub use crate::exchange::protocol::memory_view::object::class as array_class;
    pub use crate::exchange::protocol::memory_view::*;
}

/// Python's buffer protocol, for objects of an interpreter.
pub mod pep3118 {
    pub use crate::exchange::protocol::pep3118::*;
}

/// Sets that a process holds for others, and how the bytes of another process are read.
#[cfg(unix)]
pub mod hold {
    pub use crate::exchange::files::load_set::load_set_of;
    pub use crate::exchange::files::map_set::map_set_of;
    pub use crate::exchange::protocol::hold::caller::set_patience;
    pub use crate::exchange::protocol::hold::parts::{memory, open, rewritten};
    pub use crate::exchange::protocol::hold::*;
}

/// Channels, and how they are observed from outside.
#[cfg(unix)]
pub mod channel {
    #[cfg(feature = "arrow-ipc")]
    pub use crate::exchange::files::channel_tables::{is_table, loan_for_table, send_table_in, table};
    pub use crate::exchange::protocol::channel::find::{ChannelMember, FoundChannel, find};
    pub use crate::exchange::protocol::channel::tap::{ChannelState, Tap, TappedMessage};
}

/// Frames for transports that carry only bytes, such as pickles, and the descriptions in them.
pub mod description {
    pub use crate::exchange::description::Description;
    pub use crate::exchange::description::frame::Frame;
}

/// The bits of C's `long double`, and numbers of any type without rounding.
pub mod long_double {
    pub use crate::element::exact::ExactReal;
    pub use crate::element::exact_number::ExactNumber;
    pub use crate::element::long_double::{LongDoubleFormat, NATIVE};
    pub use crate::element::wide_float::WideFloat;
}

/// Arrays for child processes, which inherit a descriptor or a handle.
pub mod exported {
    pub use crate::exchange::exported::{Exported, InheritedFd, export};
}

/// Shared memory, and tickets for transports that carry only bytes.
#[cfg(unix)]
pub mod shm {
    pub use crate::exchange::protocol::shm::offer::{TICKET_NBYTES, Ticket, offer, take};
    pub use crate::exchange::protocol::shm::*;
}
