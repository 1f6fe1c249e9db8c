//! The machine.

use std::fs;

/// The processor's name, with its family and model, because different ones have the same name, and
/// its cores.
pub fn name() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |wanted: &str| {
        let fields = info.lines().filter_map(|line| line.split_once(':'));
        fields.map(|(name, value)| (name.trim(), value.trim())).find(|(name, _)| *name == wanted)
    };
    let field = |wanted: &str| field(wanted).map_or("unknown", |(_, value)| value).replace(',', "");
    let [name, family, model] = ["model name", "cpu family", "model"].map(field);
    format!("{name} family {family} model {model} ({} cores)", threads())
}

/// Today's date in ISO 8601, from the days since 1970.
pub fn date() -> String {
    let days = std::time::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_secs() / 86_400) as i64;
    let (era, day) = ((days + 719_468) / 146_097, (days + 719_468) % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{:02}", day_of_year - (153 * shifted + 2) / 5 + 1)
}

/// The number of threads that run concurrently.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A cache of the first processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1 for the nearest.
    pub level: u32,
    /// Its size.
    pub nbytes: usize,
}

/// The data caches, nearest first, as the system reports them.
pub fn caches() -> Vec<Cache> {
    let Ok(folders) = fs::read_dir("/sys/devices/system/cpu/cpu0/cache") else { return Vec::new() };
    let read = |folder: &fs::DirEntry, name| fs::read_to_string(folder.path().join(name)).ok();
    let caches = folders.flatten().filter_map(|folder| {
        if read(&folder, "type")?.trim() == "Instruction" {
            return None;
        }
        let level = read(&folder, "level")?.trim().parse().ok()?;
        Some(Cache { level, nbytes: size(read(&folder, "size")?.trim())? })
    });
    let mut caches: Vec<Cache> = caches.collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

/// Parses a size as the system writes it, such as `48K`.
fn size(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_the_system_spells_them() {
        let read = ["48K", "2M", "64", "12X", "K", "99999999999999999999K"].map(size);
        assert_eq!(read, [Some(48 << 10), Some(2 << 20), Some(64), None, None, None]);
    }
}
