//! Times short operations beside a peer: rounds of all cases in turn, so that noise meets them alike.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How many rounds; each gives every case one sample.
const ROUNDS: usize = 61;
/// How long one sample takes.
const SAMPLE: Duration = Duration::from_micros(500);

/// One operation.
pub(crate) struct Case<'a> {
    name: &'static str,
    answer: usize,
    reach: Option<f64>,
    run: Box<dyn FnMut(usize) -> (Duration, usize) + 'a>,
}

impl<'a> Case<'a> {
    /// An operation that returns `answer`, and the ratio to the peer that it should stay within.
    pub(crate) fn new(
        name: &'static str,
        answer: usize,
        reach: Option<f64>,
        mut operation: impl FnMut() -> usize + 'a,
    ) -> Self {
        let run = move |count: usize| {
            let mut sum = 0usize;
            let start = Instant::now();
            for _ in 0..count {
                sum = sum.wrapping_add(operation());
            }
            (start.elapsed(), sum)
        };
        Self { name, answer, reach, run: Box::new(run) }
    }

    /// The operation that the others are compared with.
    pub(crate) fn peer(name: &'static str, answer: usize, operation: impl FnMut() -> usize + 'a) -> Self {
        Self::new(name, answer, None, operation)
    }

    /// Nanoseconds for each of `count` runs.
    ///
    /// # Panics
    ///
    /// Where the operation gave a wrong answer.
    fn sample(&mut self, count: usize) -> f64 {
        let (elapsed, sum) = (self.run)(count);
        assert_eq!(sum, self.answer.wrapping_mul(count), "{}: wrong answer", self.name);
        elapsed.as_nanos() as f64 / count as f64
    }
}

struct Row {
    name: &'static str,
    ns: f64,
    /// The median over the rounds of this case's time divided by the peer's in the same round.
    ratio: f64,
    reach: Option<f64>,
}

/// The medians of one group of cases; the first is the peer.
pub(crate) struct Table {
    title: &'static str,
    rows: Vec<Row>,
}

impl Table {
    /// Measures all cases in turn, round by round.
    pub(crate) fn measure(title: &'static str, mut cases: Vec<Case<'_>>) -> Self {
        let counts: Vec<usize> = cases
            .iter_mut()
            .map(|case| {
                case.sample(1000);
                (SAMPLE.as_nanos() as f64 / case.sample(1000).max(0.1)) as usize
            })
            .collect();
        let mut samples = vec![Vec::with_capacity(ROUNDS); cases.len()];
        for _ in 0..ROUNDS {
            for ((case, &count), samples) in cases.iter_mut().zip(&counts).zip(&mut samples) {
                samples.push(case.sample(count.max(1)));
            }
        }
        let peer = samples.first().cloned().unwrap_or_default();
        let rows = cases
            .iter()
            .zip(samples)
            .map(|(case, samples)| Row {
                name: case.name,
                ratio: median(samples.iter().zip(&peer).map(|(own, peer)| own / peer).collect()),
                ns: median(samples),
                reach: case.reach,
            })
            .collect();
        Self { title, rows }
    }

    /// Appends the table to `bench/record/<title>.csv`, with date and machine.
    pub(crate) fn record(&self) -> io::Result<PathBuf> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("record");
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{}.csv", self.title));
        let fresh = !path.exists();
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        if fresh {
            writeln!(file, "date,machine,case,ns,ratio to {}", self.rows[0].name)?;
        }
        let (date, machine) = (date(), machine());
        for row in &self.rows {
            // Names have commas: types do.
            writeln!(file, "{date},{machine},\"{}\",{:.2},{:.3}", row.name, row.ns, row.ratio)?;
        }
        Ok(path)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<44} {:>9} {:>7} {:>7}", self.title, "ns", "ratio", "reach")?;
        for row in &self.rows {
            let reach = row.reach.map_or(String::new(), |reach| format!("{reach:.2}"));
            let mark = match row.reach {
                Some(reach) if row.ratio > reach => " missed",
                _ => "",
            };
            writeln!(f, "{:<44} {:>9.2} {:>7.2} {reach:>7}{mark}", row.name, row.ns, row.ratio)?;
        }
        Ok(())
    }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{} ({cores} cores)", model.trim_start_matches([' ', '\t', ':']).replace(',', ""))
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
