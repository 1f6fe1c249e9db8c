//! The manifest of a set: arbitrary bytes, over one sealed region, in which two Arrow IPC files
//! lie. The result is an error, or a set whose arrays and tables lie in the region. The region that
//! the manifest lists is replaced by the one that there is, and its size by its own.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::LazyLock;

use crossdock::bindings::hold;
use crossdock::memory::Birth;
use crate::onward;

const NBYTES: usize = 5000;

/// Sets of more names, and arrays of more elements, are not walked.
const FEW: usize = 1 << 8;

/// Tables, and where they begin in the region.
const TABLES: [(usize, &[u8]); 2] = [
    (2048, include_bytes!("../corpus/arrow_ipc/numbers.arrow")),
    (3968, include_bytes!("../corpus/arrow_ipc/dictionary.arrow")),
];

static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut bytes: Vec<u8> = (0..NBYTES).map(|at| (at * 7 % 251) as u8).collect();
    for (start, table) in TABLES {
        bytes[start..start + table.len()].copy_from_slice(table);
    }
    bytes
});

static REGION: LazyLock<OwnedFd> = LazyLock::new(|| sealed(&BYTES));

fn sealed(bytes: &[u8]) -> OwnedFd {
    // SAFETY: the name ends in NUL, and the call opens a new descriptor.
    let fd = unsafe { libc::memfd_create(c"fuzz".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    assert!(fd >= 0, "few descriptors are open");
    // SAFETY: `memfd_create` opened the descriptor, and nothing else owns it.
    let mut file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    file.write_all(bytes).expect("few bytes");
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE;
    // SAFETY: the descriptor is open; the call takes an integer.
    assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) }, 0);
    file.into()
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    let nbytes = bytes.len() as u64;
    if let Some(size) = bytes.get_mut(24..32) {
        size.copy_from_slice(&nbytes.to_le_bytes());
    }
    if let Some(region) = bytes.get_mut(96..112) {
        let file = File::from(REGION.try_clone().expect("few descriptors"));
        let inode = file.metadata().expect("it is open").ino();
        region[..8].copy_from_slice(&inode.to_le_bytes());
        region[8..].copy_from_slice(&(NBYTES as u64).to_le_bytes());
    }
    let region = REGION.try_clone().expect("few descriptors");
    let set = match hold::open(sealed(&bytes), vec![region]) {
        Ok(set) => set,
        Err(error) => return assert!(error.is_malformed() || error.is_unsupported(), "{error:?}"),
    };
    for name in set.names().take(FEW).map(|name| name.map(str::to_owned)) {
        let Ok(name) = name else { continue };
        if let Ok(table) = set.table(&name) {
            let range = table.buffer().address()..table.buffer().address() + table.buffer().nbytes();
            let extent = (table.rows().expect("it was read"), table.schema().fields().len());
            assert_eq!(set.table_shape(&name).expect("it is a table"), Some(extent));
            for column in (0..table.len()).flat_map(|batch| table.batch(batch)).flat_map(|batch| {
                batch.columns().flatten().collect::<Vec<_>>()
            }) {
                for buffer in column.buffers().iter().filter(|buffer| buffer.nbytes() > 0) {
                    assert!(range.contains(&buffer.address()), "{column:?}");
                }
            }
        }
        let Ok(array) = set.get(&name) else { continue };
        assert_eq!(array.birth(), Birth::Constant);
        let (buffer, offset) = array.buffer().expect("few handles");
        let start = buffer.descriptor().expect("of shared memory").1 as usize;
        assert!(offset <= buffer.nbytes() && start + buffer.nbytes() <= NBYTES, "{array:?}");
        let read = buffer.read().expect("it is constant");
        assert_eq!(*read, BYTES[start..start + read.len()]);
        if array.len() <= FEW && array.nbytes() <= FEW {
            let request = crossdock::view::Request::pin();
            let bytes = array.export(&request).expect("no writer").to_bytes().expect("few bytes");
            onward(&array, &bytes);
        }
    }
    assert!(set.get("a name that no seed has").is_err());
    let _ = set.metadata();
});
