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
use crate::exchange::protocol::hold::memory::{ManifestHead, PREFIX, SealedMemory, read_head};
use crate::exchange::protocol::hold::socket::user;

/// The bytes that are read at a time, a multiple of 8.
const CHUNK: usize = 1 << 16;

/// How often the processes are searched: one that closes a version and opens another meanwhile can
/// be missed.
const SEARCHES: usize = 4;

/// The newest version of a name that is complete in the memory of processes of this user.
pub(super) fn newest(name: &Label) -> Option<SealedMemory> {
    (0..SEARCHES).find_map(|search| {
        if search > 0 {
            thread::sleep(Duration::from_millis(1));
        }
        newest_at_once(name)
    })
}

fn newest_at_once(name: &Label) -> Option<SealedMemory> {
    let found = search(name);
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
        .find_map(|(_, path)| open(path, &found).ok().filter(|set| set.label.name() == name.name()))
}

/// The labels of the memory of this name, each with a path in `/proc` that opens it, by inode.
fn search(name: &Label) -> HashMap<u64, (String, PathBuf)> {
    let mut found = HashMap::new();
    let wanted = format!("/memfd:{PREFIX}{}@", name.name());
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let is_process =
            process.file_name().to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_process || process.metadata().map_or(true, |found| found.uid() != user()) {
            continue;
        }
        for entry in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(target) = fs::read_link(&path) else { continue };
            let Some(text) = target.to_str().filter(|text| text.starts_with(&wanted)) else { continue };
            let label = text["/memfd:".len() + PREFIX.len()..].trim_end_matches(" (deleted)").to_owned();
            if let Ok(metadata) = fs::metadata(&path) {
                found.insert(metadata.ino(), (label, path));
            }
        }
    }
    found
}

/// Opens a manifest and its regions for reading, and checks all of them.
fn open(manifest: &PathBuf, found: &HashMap<u64, (String, PathBuf)>) -> Result<SealedMemory> {
    let opened = |path: &PathBuf| {
        File::open(path).map(OwnedFd::from).map_err(|error| {
            crate::exchange::protocol::hold::folder::failed(path, "could not be opened", error)
        })
    };
    let manifest = opened(manifest)?;
    let ManifestHead { head, regions, .. } = read_head(&manifest)?;
    verify(&manifest, &head)?;
    let regions = regions.iter().map(|(inode, _)| {
        let path = found.get(inode).map(|(_, path)| path);
        path.map_or_else(|| Err(Error::bounds("a region of the set is in no process")), opened)
    });
    SealedMemory::check(manifest, regions.collect::<Result<_>>()?)
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
