//! Finds the sets of a killed holder in the processes that still have their memory.
//!
//! Memory is found by its label, which anyone may choose, in processes of this user; what it is,
//! the kernel says: the seals, the inodes, and the hash of the manifest decide.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::exchange::protocol::hold::label::Label;
use crate::exchange::protocol::hold::manifest::{HASH_END, Head, Sum, check_hash};
use crate::exchange::protocol::hold::memory::{ManifestHead, PREFIX, SetMemory, is_committed, read_head};
use crate::exchange::protocol::hold::socket::user;

/// The bytes that are read at a time, a multiple of 8.
const CHUNK: usize = 1 << 16;

/// How often the processes are searched: one that closes a version and opens another meanwhile can
/// be missed.
const SEARCHES: usize = 4;

/// What a search of the processes of this user found of a name.
#[derive(Default)]
pub(super) struct FoundSets {
    /// The newest version that was committed and is complete.
    pub(super) newest: Option<SetMemory>,
    /// Whether there is memory of any version, so that numbers were given.
    pub(super) has_memory: bool,
}

/// Finds the newest version of a name in the memory of processes of this user.
pub(super) fn find(name: &Label) -> FoundSets {
    let mut sets = FoundSets::default();
    for count in 0..SEARCHES {
        if count > 0 {
            thread::sleep(Duration::from_millis(1));
        }
        let found = search(name);
        sets.has_memory |= !found.is_empty();
        sets.newest = newest(name, &found);
        if sets.newest.is_some() {
            break;
        }
    }
    sets
}

fn newest(name: &Label, found: &FoundMemory) -> Option<SetMemory> {
    // One process may have the manifest, and another the regions.
    let mut manifests: Vec<(u64, &PathBuf)> = found
        .iter()
        .filter_map(|(_, (text, path))| {
            let label: Label = text.strip_suffix(" manifest")?.parse().ok()?;
            Some((label.version()?, path))
        })
        .collect();
    manifests.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    manifests
        .into_iter()
        .find_map(|(_, path)| open(path, found).ok().filter(|set| set.label.name() == name.name()))
}

/// Memory and files by device and inode, each with its label and a path in `/proc` that opens it.
/// The device of memory is 0, and the label of a file is empty.
type FoundMemory = HashMap<(u64, u64), (String, PathBuf)>;

/// The memory of this name, and the files that the processes with such memory have open: they may
/// be regions of a mapped set.
fn search(name: &Label) -> FoundMemory {
    let mut found = FoundMemory::new();
    let wanted = format!("/memfd:{PREFIX}{}@", name.name());
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let is_process =
            process.file_name().to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_process || process.metadata().map_or(true, |found| found.uid() != user()) {
            continue;
        }
        let mut others = Vec::new();
        let mut has_memory = false;
        for entry in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(target) = fs::read_link(&path) else { continue };
            let text = target.to_string_lossy();
            if !text.starts_with(&wanted) {
                // Sockets and pipes have names such as `socket:[7]`.
                others.extend(text.starts_with('/').then_some(path));
                continue;
            }
            let label = text["/memfd:".len() + PREFIX.len()..].trim_end_matches(" (deleted)").to_owned();
            if let Ok(metadata) = fs::metadata(&path) {
                has_memory = true;
                found.insert((0, metadata.ino()), (label, path));
            }
        }
        for path in others.into_iter().filter(|_| has_memory) {
            match fs::metadata(&path) {
                Ok(file) if file.is_file() => {
                    found.insert((file.dev(), file.ino()), (String::new(), path));
                }
                _ => {}
            }
        }
    }
    found
}

/// Opens a manifest and its regions for reading, and checks all of them.
fn open(manifest: &PathBuf, found: &FoundMemory) -> Result<SetMemory> {
    let opened = |path: &PathBuf| {
        File::open(path).map(OwnedFd::from).map_err(|error| {
            crate::exchange::protocol::hold::folder::failed(path, "could not be opened", error)
        })
    };
    let manifest = opened(manifest)?;
    if !is_committed(&manifest) {
        return Err(Error::malformed("the set was not committed"));
    }
    let ManifestHead { head, regions, .. } = read_head(&manifest)?;
    verify(&manifest, &head)?;
    let regions = regions.iter().map(|region| {
        let path = found.get(&(region.device, region.inode)).map(|(_, path)| path);
        path.map_or_else(|| Err(Error::bounds("a region of the set is in no process")), opened)
    });
    SetMemory::check(manifest, regions.collect::<Result<_>>()?)
}

/// Compares the hash of a manifest with its bytes, without a map.
fn verify(manifest: &OwnedFd, head: &Head) -> Result<()> {
    let unread = |error: std::io::Error| Error::malformed(format!("the manifest could not be read: {error}"));
    let file = File::from(manifest.try_clone().map_err(unread)?);
    let (mut sum, mut at, mut room) = (Sum::new(), HASH_END, [0; CHUNK]);
    while at < head.nbytes {
        let count = CHUNK.min(head.nbytes - at);
        file.read_exact_at(&mut room[..count], at as u64).map_err(unread)?;
        sum.add(&room[..count]);
        at += count;
    }
    check_hash(head, sum)
}
