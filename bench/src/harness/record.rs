//! What was measured, kept: with the date and the machine.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

use crate::harness::Table;

const HEADER: &str = "date,machine,table,case,figure,unit,ratios,reach,met";

impl Table {
    /// Appends the table to `bench/record/<group>.csv`, one line for each case. Names have commas (types do), and so
    /// they are quoted.
    pub(crate) fn record(&self) -> io::Result<PathBuf> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("record");
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{}.csv", self.group));
        let fresh = !path.exists();
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        if fresh {
            writeln!(file, "{HEADER}")?;
        }
        file.write_all(self.lines(&date(), &machine()).as_bytes())?;
        Ok(path)
    }

    fn lines(&self, date: &str, machine: &str) -> String {
        let lines = self.rows.iter().map(|row| {
            let ratios = self.against.iter().zip(&row.ratios);
            let ratios: Vec<_> = ratios.map(|(peer, ratio)| format!("{ratio:.3} x {peer}")).collect();
            let met = self.verdict(row).map_or("", |(_, met)| if met { "yes" } else { "no" });
            format!(
                "{date},{machine},\"{}\",\"{}\",{:.3},{},\"{}\",\"{}\",{met}\n",
                self.title,
                row.name,
                row.figure,
                self.unit.symbol(),
                ratios.join("; "),
                self.reach(row).unwrap_or_default(),
            )
        });
        lines.collect()
    }
}

/// The processor as it names itself, with its family and model, because different ones have the same name.
fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |wanted: &str| {
        let fields = info.lines().filter_map(|line| line.split_once(':'));
        fields.map(|(name, value)| (name.trim(), value.trim())).find(|(name, _)| *name == wanted)
    };
    let field = |wanted: &str| field(wanted).map_or("unknown", |(_, value)| value).replace(',', "");
    let [name, family, model] = ["model name", "cpu family", "model"].map(field);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{name} family {family} model {model} ({cores} cores)")
}

/// Today, as in ISO 8601, from the days since 1970.
fn date() -> String {
    let days = std::time::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_secs() / 86_400) as i64;
    let (era, day) = ((days + 719_468) / 146_097, (days + 719_468) % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{:02}", day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use crate::harness::{Reach, Row, Table, Unit};

    #[test]
    fn a_line_has_what_the_header_names() {
        let row =
            Row { name: "own", figure: 12.0, ratios: vec![1.25], reach: Some(Reach::Ratio(1.2, "peer")) };
        let unit = Unit::Nanoseconds;
        let table = Table { group: "group", title: "title", unit, against: vec!["peer"], rows: vec![row] };
        let expected =
            "2026-01-02,a machine,\"title\",\"own\",12.000,ns,\"1.250 x peer\",\"<= 1.20 x peer\",no\n";
        assert_eq!(table.lines("2026-01-02", "a machine"), expected);
        assert_eq!(expected.split(',').count(), super::HEADER.split(',').count());
    }
}
