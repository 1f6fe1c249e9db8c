//! Calls that only tests make.

pub(crate) use crate::memory::os::unix::testing::*;

use crate::memory::os::unix::pages;

/// Limits the addresses of this process to `more` bytes beyond those that it has.
pub(crate) fn limit_addresses(more: u64) -> bool {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let used = statm.split(' ').next().unwrap().parse::<u64>().unwrap() * pages::size() as u64;
    let most = libc::rlim_t::try_from(used + more).unwrap();
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: `limit` is a record of the right type, which the call only reads.
    unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) == 0 }
}
