//! The blocks that are taken in debug mode, and those that were freed recently.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::ptr::NonNull;
use std::sync::MutexGuard;

use crate::memory::fork::ForkLock;
use crate::pool::account::Account;
use crate::pool::debug::Damage;

/// The number of freed blocks that are remembered. They distinguish a block that is freed twice
/// from one that was never taken.
const REMEMBERED: usize = 1024;

/// The pool of a block: an account, by its address and name.
#[derive(Clone, Copy)]
pub(super) struct Whose {
    address: usize,
    name: &'static str,
}

impl From<&Account> for Whose {
    fn from(account: &Account) -> Self {
        Self { address: std::ptr::from_ref(account).addr(), name: account.name() }
    }
}

/// How a block was taken, or is freed.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    pub(super) pool: Whose,
    pub(super) nbytes: usize,
    pub(super) align: usize,
}

struct TakenBlocks {
    taken: HashMap<usize, Taken, BuildHasherDefault<DefaultHasher>>,
    /// Addresses and sizes, in a ring.
    gone: [(usize, usize); REMEMBERED],
    next_gone: usize,
}

static TABLE: ForkLock<TakenBlocks> = ForkLock::new(TakenBlocks {
    taken: HashMap::with_hasher(BuildHasherDefault::new()),
    gone: [(0, 0); REMEMBERED],
    next_gone: 0,
});

fn table() -> MutexGuard<'static, TakenBlocks> {
    TABLE.lock()
}

/// Records a block. `false`: out of memory.
pub(super) fn note(bytes: NonNull<u8>, taken: Taken) -> bool {
    let mut table = table();
    let has_room = table.taken.try_reserve(1).is_ok();
    if has_room {
        table.taken.insert(bytes.addr().get(), taken);
    }
    has_room
}

/// Whether a block at this address is recorded.
pub(super) fn is_noted(bytes: NonNull<u8>) -> bool {
    table().taken.contains_key(&bytes.addr().get())
}

/// Removes the record of a block that is freed as it was taken. Otherwise the record stays, and the
/// error describes the mismatch.
pub(super) fn strike(bytes: NonNull<u8>, given: Taken) -> Result<(), Damage> {
    let address = bytes.addr().get();
    let mut table = table();
    let Some(taken) = table.taken.get(&address).copied() else {
        return Err(Damage::NotTaken { address, given: given.nbytes, once: table.once(address) });
    };
    if taken.pool.address != given.pool.address {
        let (taken, given) = (taken.pool.name, given.pool.name);
        return Err(Damage::WrongPool { address, taken, given });
    }
    if taken.nbytes != given.nbytes {
        return Err(Damage::WrongSize { address, taken: taken.nbytes, given: given.nbytes });
    }
    if taken.align != given.align {
        return Err(Damage::WrongAlignment { address, taken: taken.align, given: given.align });
    }
    table.taken.remove(&address);
    table.remember(address, taken.nbytes);
    Ok(())
}

/// Removes the record of a block that no caller received.
pub(super) fn strike_whatever(bytes: NonNull<u8>) -> bool {
    table().taken.remove(&bytes.addr().get()).is_some()
}

impl TakenBlocks {
    fn remember(&mut self, address: usize, nbytes: usize) {
        let at = self.next_gone % REMEMBERED;
        self.gone[at] = (address, nbytes);
        self.next_gone = self.next_gone.wrapping_add(1);
    }

    /// The last size of a block at this address, if it was freed recently.
    fn once(&self, address: usize) -> Option<usize> {
        let newest_first = (1..=REMEMBERED).map(|back| self.next_gone.wrapping_sub(back) % REMEMBERED);
        newest_first.map(|at| self.gone[at]).find(|&(at, _)| at == address).map(|(_, nbytes)| nbytes)
    }
}
