//! Finds channels in the processes that have them, and which process each member is in.
//!
//! A channel has no name in the file system. Its memory has a label, which `/proc` shows at each
//! descriptor, and a member's descriptor has the lock that is its number (`member.rs`). So `/proc`
//! says all that an observer needs, and the channel itself has no process identifiers.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Kind, Result, system_text};
use crate::exchange::protocol::channel::member::ChannelEnd;
use crate::exchange::protocol::channel::options::{LABEL, is_name};
use crate::exchange::protocol::channel::slot::MOST_MEMBERS;
use crate::exchange::protocol::channel::tap::Tap;
use crate::memory::os::files;

/// A channel that was found, and the processes that had it then.
#[derive(Clone, Debug)]
pub struct FoundChannel {
    /// The name, if it has one. Any process may choose it.
    pub name: Option<String>,
    /// The inode of the memory: the same number, the same channel.
    pub inode: u64,
    /// The processes that can use the channel, in order.
    pub processes: Vec<u32>,
    /// Its senders and receivers, in order of the processes.
    pub members: Vec<ChannelMember>,
    /// A path in `/proc` that opens the memory.
    path: PathBuf,
}

/// A sender or receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelMember {
    /// The process.
    pub pid: u32,
    /// The name of its program.
    pub program: String,
    /// A sender, or else a receiver.
    pub is_sender: bool,
    /// Its number among the senders or among the receivers.
    pub number: usize,
}

impl FoundChannel {
    /// Observes the channel.
    ///
    /// # Errors
    ///
    /// `is_io` if the process from which it was found no longer has it, and as
    /// [`Channel::open`](super::Channel::open).
    pub fn tap(&self) -> Result<Tap> {
        let failed = |error: std::io::Error| {
            let text = format!("the channel's memory could not be opened: {}", system_text(&error));
            Error::caused(Kind::Io, text, error)
        };
        let file = File::open(&self.path).map_err(failed)?;
        let inode = file.metadata().map_err(failed)?.ino();
        if inode != self.inode {
            let text = format!("{} is no longer the channel", self.path.display());
            return Err(Error::new(Kind::Io, text));
        }
        Tap::open(OwnedFd::from(file))
    }
}

/// The channels of all processes that this one may look into, by name and inode. Costs a few system
/// calls for each process, and opens nothing.
pub fn find() -> Vec<FoundChannel> {
    let mut found: Vec<FoundChannel> = Vec::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        for entry in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(target) = fs::read_link(&path) else { continue };
            let Some(name) = target.to_str().and_then(name_of) else { continue };
            let info = process.path().join("fdinfo").join(entry.file_name());
            let Ok(info) = fs::read_to_string(info) else { continue };
            // A tap has it for reading only.
            let (Some(inode), true) = (inode(&path), is_writable(&info)) else { continue };
            let at = found.iter().position(|channel| channel.inode == inode).unwrap_or_else(|| {
                let (processes, members) = (Vec::new(), Vec::new());
                found.push(FoundChannel { name, inode, processes, members, path });
                found.len() - 1
            });
            if !found[at].processes.contains(&pid) {
                found[at].processes.push(pid);
            }
            found[at].members.extend(locks(&info).filter_map(|byte| member(pid, &process.path(), byte)));
        }
    }
    for channel in &mut found {
        channel.processes.sort_unstable();
        channel.members.sort_by_key(|member| (member.pid, !member.is_sender, member.number));
    }
    found.sort_by(|a, b| (&a.name, a.inode).cmp(&(&b.name, b.inode)));
    found
}

/// The name in the target of a descriptor's link. `None` if the target is no channel, and
/// `Some(None)` for one without a name.
fn name_of(target: &str) -> Option<Option<String>> {
    let rest = target.strip_prefix("/memfd:")?.strip_prefix(LABEL)?.trim_end_matches(" (deleted)");
    if rest.is_empty() {
        return Some(None);
    }
    let name = rest.strip_prefix(' ').filter(|name| is_name(name))?;
    Some(Some(name.to_owned()))
}

fn inode(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|metadata| metadata.ino())
}

/// Whether a descriptor was opened for writing.
fn is_writable(info: &str) -> bool {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(files::reads_and_writes)
}

/// The bytes that a descriptor has locked, one at a time: `lock: 1: OFDLCK ADVISORY WRITE -1
/// 00:01:35 33 33`.
fn locks(info: &str) -> impl Iterator<Item = usize> {
    info.lines().filter_map(|line| {
        let mut words = line.strip_prefix("lock:")?.split_whitespace().rev();
        let (last, first): (usize, usize) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        (first == last).then_some(first)
    })
}

fn member(pid: u32, process: &Path, byte: usize) -> Option<ChannelMember> {
    let (end, number) = [ChannelEnd::Receiver, ChannelEnd::Sender].into_iter().find_map(|end| {
        (0..MOST_MEMBERS).find(|&number| end.lock_byte(number) == byte).map(|number| (end, number))
    })?;
    let program = fs::read_to_string(process.join("comm")).unwrap_or_default().trim_end().to_owned();
    Some(ChannelMember { pid, program, is_sender: end == ChannelEnd::Sender, number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_channels_only() {
        let name = |name: &str| Some(Some(name.to_owned()));
        assert_eq!(name_of("/memfd:crossdock channel (deleted)"), Some(None));
        assert_eq!(name_of("/memfd:crossdock channel a.b-c (deleted)"), name("a.b-c"));
        for other in ["crossdock channels (deleted)", "crossdock channel a b (deleted)", "crossdock hold m@1"]
        {
            assert_eq!(name_of(&format!("/memfd:{other}")), None, "{other}");
        }
        assert_eq!(name_of("/tmp/crossdock channel a"), None);
    }

    #[test]
    fn a_descriptor_says_its_access_and_its_locks() {
        let info = "pos:\t0\nflags:\t02100002\nlock:\t1: OFDLCK  ADVISORY  WRITE -1 00:01:96 33 33\n\
                    lock:\t2: OFDLCK  ADVISORY  WRITE -1 00:01:96 0 EOF\n";
        assert!(is_writable(info) && !is_writable("flags:\t02100000\n") && !is_writable(""));
        assert_eq!(locks(info).collect::<Vec<_>>(), [33]);
    }
}
