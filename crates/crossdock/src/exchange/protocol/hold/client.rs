//! What a process asks of holders.

use std::os::fd::AsFd;
use std::time::Duration;

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::hold::builder::SealedSet;
use crate::exchange::protocol::hold::caller::{Caller, MOST_ROWS, Unreachable};
use crate::exchange::protocol::hold::folder::{self, Folder};
use crate::exchange::protocol::hold::label::Label;
use crate::exchange::protocol::hold::message::{ClientRow, HoldRequest, Reply, VersionRow};
use crate::exchange::protocol::hold::set::Set;

/// Opens the newest version of a set that a process of this user holds, or the version that the
/// label names. Nothing is copied: all readers map the same pages.
///
/// The set is a lease: the holder keeps the version until this set and all its arrays are dropped,
/// or this process ends. If the holder ends, the set stays as it is.
///
/// # Errors
///
/// `is_io` if no process holds the name, or it does not answer; `is_bounds` for a version that is
/// not held; `is_refused` beyond a limit of the holder. Nothing that the holder sends is trusted:
/// as [`Set::get`], also `is_malformed` and `is_unsupported`.
pub fn connect(label: &Label) -> Result<Set> {
    let caller = Caller::connect(label)?;
    let (reply, mut fds) = caller.call(&HoldRequest::Connect { version: label.number() }, &[])?;
    match reply {
        Reply::Set { regions, version } if fds.len() as u64 == regions.saturating_add(1) => {
            let manifest = fds.remove(0);
            let set = Set::open(manifest, fds, caller)?;
            if *set.label() != label.at(version) {
                let text = format!("the holder of {label} sent {} as {}", set.label(), label.at(version));
                return Err(Error::new(Kind::Malformed, text));
            }
            Ok(set)
        }
        other => Err(caller.unexpected(&other)),
    }
}

/// Takes the writer's place of a name: one process at a time can publish its next version.
///
/// ```no_run
/// use crossdock::element::DType;
/// use crossdock::exchange::protocol::hold::{self, SetBuilder};
///
/// let publisher = hold::publish(&"m".parse()?)?;
/// let mut builder = SetBuilder::new();
/// builder.array("w", DType::F32, &[1000])?;
/// let draft = builder.allocate(publisher.label())?; // m@4, if m@3 was the newest
/// draft.get("w")?.fill(&0.5f32.into())?;
/// publisher.commit(&draft.seal()?)?; // `connect("m")` opens this version from now on
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Errors
///
/// `is_conflict`, with its process, while there is another writer; `is_malformed` for a name with a
/// version; `is_io`, `is_refused` as [`connect`].
pub fn publish(name: &Label) -> Result<Publisher> {
    name.check_is_name("publishing")?;
    let caller = Caller::connect(name)?;
    match caller.call(&HoldRequest::Publish, &[])? {
        (Reply::Writer { version }, _) => Ok(Publisher { caller, label: name.at(version) }),
        (other, _) => Err(caller.unexpected(&other)),
    }
}

/// The writer's place of a name. Dropping it gives the place back, and publishes nothing.
#[derive(Debug)]
pub struct Publisher {
    caller: Caller,
    label: Label,
}

impl Publisher {
    /// The name and the version to be published.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// Hands the memory over: the version becomes the newest one, at once for all. Readers of other
    /// versions keep what they have.
    ///
    /// # Errors
    ///
    /// `is_refused` beyond a limit of the holder; `is_malformed` for a set with another label;
    /// `is_io`.
    pub fn commit(self, set: &SealedSet) -> Result<()> {
        let memory = &set.0;
        let fds: Vec<_> = std::iter::once(&memory.manifest)
            .chain(memory.regions.iter().map(AsRef::as_ref))
            .map(|fd| fd.as_fd())
            .collect();
        let request = HoldRequest::Commit { regions: memory.regions.len() as u64 };
        match self.caller.call(&request, &fds)? {
            (Reply::Done { .. }, _) => Ok(()),
            (other, _) => Err(self.caller.unexpected(&other)),
        }
    }
}

/// What a process does with a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// It holds the name, and all versions.
    Holder,
    /// It reads a version.
    Reader,
    /// It writes the next version.
    Writer,
}

/// A process that uses a name.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct User {
    /// Its number; 0 if the holder cannot see it.
    pub pid: u64,
    /// The name of its program, which it can choose.
    pub program: String,
    /// What it does.
    pub role: Role,
    /// The version that it reads or writes; of a holder, the newest.
    pub label: Label,
    /// For how long.
    pub age: Duration,
    /// The bytes of the version; of a holder, those of all versions.
    pub nbytes: u64,
    /// Whether the version lies in mapped files, as [`Set::is_mapped`] says.
    pub is_mapped: bool,
}

/// The processes that use a name: the holder first.
///
/// # Errors
///
/// As [`connect`].
pub fn who(name: &Label) -> Result<Vec<User>> {
    let rows = rows(&Caller::connect(name)?, &HoldRequest::Who)?;
    Ok(rows
        .into_iter()
        .filter_map(|row| match row {
            Reply::Client(ClientRow { pid, role, version, age_ms, nbytes, is_mapped, program }) => {
                Some(User {
                    pid,
                    program,
                    is_mapped,
                    role: [Role::Holder, Role::Reader, Role::Writer].get(role as usize).copied()?,
                    label: name.at(version),
                    age: Duration::from_millis(age_ms),
                    nbytes,
                })
            }
            _ => None,
        })
        .collect())
}

/// A version that a process holds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HeldSet {
    /// The name and version.
    pub label: Label,
    /// The number of arrays.
    pub arrays: u64,
    /// The number of tables.
    pub tables: u64,
    /// The number of readers.
    pub readers: u64,
    /// The time since it was published.
    pub age: Duration,
    /// The bytes of its memory.
    pub nbytes: u64,
    /// Whether it lies in mapped files, as [`Set::is_mapped`] says.
    pub is_mapped: bool,
}

/// A name that a process holds.
#[derive(Debug)]
#[non_exhaustive]
pub struct ListedName {
    /// The name, without a version.
    pub name: Label,
    /// Its versions, the newest last; or why its holder does not tell them.
    pub versions: Result<Vec<HeldSet>>,
}

/// Everything that is held for this user. Removes the sockets of killed holders.
///
/// # Errors
///
/// `is_io` if the folder of sockets is not this user's own, or cannot be read.
pub fn list() -> Result<Vec<ListedName>> {
    let mut listed = Vec::new();
    let Some(folder) = Folder::find()? else { return Ok(listed) };
    for name in folder.names()? {
        let versions = match Caller::reach(&folder, &name) {
            Ok(caller) => rows(&caller, &HoldRequest::List).map(|rows| held_sets(&name, rows)),
            Err(Unreachable::Missing) => continue,
            Err(Unreachable::Dead) => match remove_dead(&folder, &name) {
                Ok(()) => continue,
                Err(error) => Err(error),
            },
            Err(Unreachable::Failed(error)) => Err(error),
        };
        listed.push(ListedName { name, versions });
    }
    Ok(listed)
}

fn held_sets(name: &Label, rows: Vec<Reply>) -> Vec<HeldSet> {
    let set = |row| match row {
        Reply::Version(VersionRow { version, arrays, tables, readers, age_ms, nbytes, is_mapped }) => {
            Some(HeldSet {
                label: name.at(version),
                arrays,
                tables,
                readers,
                age: Duration::from_millis(age_ms),
                nbytes,
                is_mapped,
            })
        }
        _ => None,
    };
    rows.into_iter().filter_map(set).collect()
}

/// Removes a dead socket, unless a holder listens there meanwhile.
fn remove_dead(folder: &Folder, name: &Label) -> Result<()> {
    let lock = folder.lock()?;
    let path = folder.socket(name);
    let inode = folder::inode(&path);
    match Caller::reach(folder, name) {
        Err(Unreachable::Dead) => lock.remove(&path, inode),
        _ => Ok(()),
    }
}

/// Drops a version, or without one the name with all its versions. Readers keep what they have. A
/// holder without names ends.
///
/// # Errors
///
/// `is_bounds` for a version that is not held; `is_io` as [`connect`].
pub fn drop_set(label: &Label) -> Result<()> {
    let caller = Caller::connect(label)?;
    match caller.call(&HoldRequest::Drop { version: label.number() }, &[])? {
        (Reply::Done { .. }, _) => Ok(()),
        (other, _) => Err(caller.unexpected(&other)),
    }
}

/// The rows of a list.
fn rows(caller: &Caller, request: &HoldRequest) -> Result<Vec<Reply>> {
    let mut rows = Vec::new();
    caller.send(request, &[])?;
    loop {
        match caller.receive()?.0 {
            Reply::End { rows: count } if count == rows.len() as u64 => return Ok(rows),
            _ if rows.len() as u64 >= MOST_ROWS => return Err(caller.endless()),
            row @ (Reply::Client(_) | Reply::Version(_)) => rows.push(row),
            other => return Err(caller.unexpected(&other)),
        }
    }
}
