//! Measures operations beside their peers, in tables.

mod table;

use std::time::Duration;

use crossdock_measure::{Limits, compare};

use crate::Result;

pub(crate) use crossdock_measure::{Case, Reach, Scale};
pub(crate) use table::{Row, Table};

/// For fast operations.
const LIMITS: Limits = Limits { most: 401, least: 9, budget: Duration::from_secs(3) };

/// Measures all cases in turn, round by round. The ratios are to the cases that `against` names; a
/// name without a case has no column.
pub(crate) fn measure(
    title: &'static str,
    scale: Scale,
    against: &[&'static str],
    cases: Vec<Case<'_>>,
) -> Result<Table> {
    measure_within(LIMITS, title, scale, against, cases)
}

/// The same with other limits.
pub(crate) fn measure_within(
    limits: Limits,
    title: &'static str,
    scale: Scale,
    against: &[&'static str],
    cases: Vec<Case<'_>>,
) -> Result<Table> {
    let is_there = |peer: &&str| cases.iter().any(|case| case.name() == *peer);
    let against: Vec<_> = against.iter().copied().filter(is_there).collect();
    let figures = compare(cases, &against, scale, limits)?;
    let rows = figures.into_iter().map(|(name, figure)| Row { name, figure }).collect();
    Ok(Table { title, unit: scale.unit(), against, rows, bars: false })
}

/// A row for each size: the last of its cases, in nanoseconds, with the ratios to the others, which
/// `peers` names.
pub(crate) fn measure_sizes<'a, S, const N: usize>(
    title: &'static str,
    peers: &[&'static str],
    sizes: impl IntoIterator<Item = S>,
    cases: impl Fn(S) -> Result<[Case<'a>; N]>,
) -> Result<Table> {
    let row = |size| -> Result<Row> {
        let mut table = measure(title, Scale::NANOSECONDS, peers, cases(size)?.into())?;
        Ok(table.rows.swap_remove(N - 1))
    };
    let rows = sizes.into_iter().map(row).collect::<Result<Vec<_>>>()?;
    Ok(Table { title, unit: Scale::NANOSECONDS.unit(), against: peers.to_vec(), rows, bars: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_is_absent_has_no_column() {
        let case = |name| Case::new(name, 3, || 3);
        let cases = vec![case("peer"), case("own")];
        let table = measure("title", Scale::NANOSECONDS, &["peer", "absent"], cases).unwrap();
        assert_eq!(table.against, ["peer"]);
        assert!(table.rows.iter().all(|row| row.figure.ratios.len() == 1));
    }

    #[test]
    fn each_size_has_a_row_with_its_own_peer() {
        let cases = |name| Ok([Case::new("peer", 3, || 3), Case::new(name, 4, || 4)]);
        let table = measure_sizes("title", &["peer"], ["few", "many"], cases).unwrap();
        assert_eq!(table.rows.iter().map(|row| row.name).collect::<Vec<_>>(), ["few", "many"]);
        assert!(table.rows.iter().all(|row| row.figure.ratio("peer").is_some()));
    }
}
