//! The bytes of a file behind an address: the same in every process that maps them.

use std::fs;

use crossdock::bindings::system_text;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};

/// What the kernel has mapped at an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pages {
    /// `major:minor`, as in `/proc/self/maps`.
    device: String,
    inode: u64,
    /// The offset in the file of that address.
    offset: u64,
}

impl Pages {
    /// Looks up an address of this process in `/proc/self/maps`; `None` if nothing is mapped there.
    pub(super) fn at(address: u64) -> Result<Option<Self>> {
        let maps = fs::read_to_string("/proc/self/maps")
            .map_err(|error| Failure::new(format_args!("/proc/self/maps: {}", system_text(&error))))?;
        Ok(find(&maps, address))
    }
}

/// The line of `/proc/self/maps` that covers the address: `start-stop permissions offset device
/// inode path`.
fn find(maps: &str, address: u64) -> Option<Pages> {
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    maps.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (start, stop) = words.next()?.split_once('-')?;
        let (start, stop) = (hex(start)?, hex(stop)?);
        if !(start..stop).contains(&address) {
            return None;
        }
        let offset = hex(words.nth(1)?)? + (address - start);
        Some(Pages { device: words.next()?.to_owned(), inode: words.next()?.parse().ok()?, offset })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_the_mapping_that_has_it() {
        let maps = "1000-2000 r--p 00000000 08:01 7 /a file\n\
                    3000-5000 r--s 00001000 00:01 42 /memfd:x (deleted)\n";
        let pages = |offset| Pages { device: "00:01".to_owned(), inode: 42, offset };
        assert_eq!(find(maps, 0x3000), Some(pages(0x1000)));
        assert_eq!(find(maps, 0x4fff), Some(pages(0x2fff)));
        assert_eq!((find(maps, 0x2000), find(maps, 0x5000)), (None, None));
    }
}
