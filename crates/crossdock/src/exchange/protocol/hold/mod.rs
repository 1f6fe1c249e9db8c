//! Sets of arrays and tables that one process holds for others: loaded once, mapped by each reader,
//! and there until the last of them ends.
//!
//! ```text
//!   writer                            holder (descriptors, no map)                 reader
//!   publish("m") ── writer's place ──> m: m@2, m@3 ──────────── connect("m") ────> Set ── get("w") ──> DArray
//!   SetBuilder ─ DraftSet ─ SealedSet ── commit ──> m@4 is the newest, at once        (constant memory, in place)
//! ```
//!
//! | task | call |
//! |---|---|
//! | hold names for other processes | [`SetHolder`] |
//! | read a set, of the newest version or of one | [`connect`], [`Set::get`] |
//! | read a table of a set, publish one (feature `arrow-ipc`) | `Set::table`, `DraftSet::write_table` |
//! | publish a version | [`publish`], [`SetBuilder`], [`Publisher::commit`] |
//! | load files into a set | [`files::load_set`](crate::exchange::files::load_set) |
//! | let readers map the files themselves | [`files::map_set`](crate::exchange::files::map_set) |
//! | see what is held, and by whom it is used | [`list`], [`who`] |
//! | drop a version or a name | [`drop_set`] |
//!
//! [`SetHolder`] has a complete example. The command does the same: `crossdock hold FILE --name m`,
//! `connect`, `who`, `ls` and `drop`.
//!
//! # Guarantees
//!
//! - **A loaded set is constant.** Its memory is sealed against writing, resizing and further seals
//!   before a reader can open it. A reader's write faults, in any language, and the kernel lets no
//!   process map the memory for writing again. So Read leases (`&[T]`) can be taken.
//! - **A mapped set is its files.** Other processes may write and shorten them, so no Read lease
//!   can be taken, and a guard keeps a reader alive. Descriptors are open for reading only.
//! - **A connection is a lease.** The holder keeps a version while a reader's connection is open.
//!   However a process ends, its connection ends with it. An old version goes with its last reader;
//!   the newest stays.
//! - **One writer.** A name has one writer at a time. `commit` makes its version the newest in one
//!   step: a reader gets all of the former version, or all of the new one.
//! - **No holder, no harm.** If the holder is killed, sets stay in the processes that map them, and
//!   [`SetHolder::claim`] finds the newest version there. [`SetHolder::take_over`] moves a name,
//!   its versions and all connections from a living holder to a new one.
//! - **Nothing stays behind.** The memory has no name in any file system. The socket of a name is
//!   removed when its holder ends; after a kill, [`list`] or the next holder removes it. One file
//!   of 21 bytes stays, which keeps version numbers from being given twice.
//!
//! # Whom each party trusts
//!
//! Sockets lie in a folder that only their user can enter (`$XDG_RUNTIME_DIR/crossdock`, or
//! `/tmp/crossdock-UID`), and both ends compare the user of their peer. Within one user, no party
//! trusts another one's bytes: a holder checks seals, sizes and heads of what a writer commits, and
//! serves each client one request at a time within [`Limits`]; a reader checks each entry of a
//! manifest when it opens the array. `docs/hold.md` has the messages.

mod builder;
pub(crate) mod caller;
mod client;
mod folder;
mod holder;
mod label;
mod limits;
mod manifest;
mod memory;
mod message;
pub(crate) mod parts;
mod set;
mod socket;
mod table_memory;

pub use builder::{DraftSet, SealedSet, SetBuilder};
pub use client::{HeldSet, ListedName, Publisher, Role, User, connect, drop_set, list, publish, who};
pub use holder::SetHolder;
pub use label::Label;
pub use limits::Limits;
pub(in crate::exchange) use manifest::{EntryContents, MOST_REGIONS, SetEntry, TableExtent};
pub use set::Set;
pub(in crate::exchange) use table_memory::TableMemory;
