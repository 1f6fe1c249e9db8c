//! Hostile columns of every type: an error or a column, all of whose elements can be requested.

use std::collections::BTreeMap;

use crossdock::exchange::protocol::arrow;
use crossdock::table::{Checks, Column, Field};
use crossdock_testkit::arrow::Choices;
use crossdock_testkit::arrow_columns::{CLASSES, HostileColumn};
use crossdock_testkit::seed;

fn import(hostile: &mut HostileColumn, checks: Checks) -> crossdock::Result<(Field, Column)> {
    let (schema, array) = (hostile.schema(), hostile.array());
    // SAFETY: the structs follow the specification in what a consumer must trust, and are consumed
    // once.
    unsafe { arrow::import_column(schema, array, checks) }
}

/// Requests all that a column offers; whether every value was there.
fn follow(field: &Field, column: &Column) -> bool {
    let is_complete = column.values().map(|value| value.is_ok()).fold(true, |all, one| all & one);
    let text = column.to_string();
    assert!(is_complete || text.contains('<') || column.len() > 10, "{text}");
    let half = column.slice(column.len() / 2..).unwrap();
    if let Ok(copy) = half.compact() {
        assert_eq!(copy.len(), half.len());
        if half.values().all(|value| value.is_ok()) {
            assert!(copy.values().all(|value| value.is_ok()), "{copy:?}");
        }
    }
    let (mut schema, mut array) = arrow::export_column(field, &half).unwrap().into_raw();
    // SAFETY: just exported, and not consumed yet.
    let again = unsafe { arrow::import_column(&mut schema, &mut array, Checks::Shape) };
    match again {
        Ok((same, again)) => assert_eq!((&same, again.len()), (field, half.len())),
        // The ends of a slice were not compared before.
        Err(error) => assert!(column.check(Checks::Full).is_err(), "{error}"),
    }
    is_complete
}

#[test]
fn hostile_columns_are_refused_or_every_element_is_a_value_or_an_error() {
    let mut random = fastrand::Rng::with_seed(seed());
    let (mut full, mut shape, mut broken) = (0, 0, 0);
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    let cases = crossdock_testkit::cases(1500);
    for _ in 0..cases {
        let mut bytes: Vec<u8> = (0..600).map(|_| random.u8(..)).collect();
        if random.bool() {
            // Fewer lies.
            bytes.iter_mut().for_each(|byte| *byte &= 0x7f);
        }
        for checks in [Checks::Full, Checks::Shape] {
            let mut hostile = HostileColumn::choose(&mut Choices(&bytes));
            for &class in &hostile.classes {
                *classes.entry(class).or_default() += 1;
            }
            match import(&mut hostile, checks) {
                Ok((field, column)) => {
                    let is_complete = follow(&field, &column);
                    match checks {
                        Checks::Full => {
                            assert!(is_complete, "{field}");
                            full += 1;
                        }
                        Checks::Shape => {
                            shape += 1;
                            broken += usize::from(!is_complete);
                        }
                    }
                    // Columns without buffers hold nothing.
                    assert!(hostile.released() >= 1);
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
            assert_eq!(hostile.released(), 2);
        }
    }
    println!(
        "{cases} columns: {full} whole, {shape} of the right shape, {broken} of these broken; {classes:?}"
    );
    let all: usize = classes.values().sum();
    assert!(
        CLASSES.iter().all(|class| 50 * classes.get(class).copied().unwrap_or_default() >= all),
        "{classes:?}"
    );
    assert!(
        20 * full > cases && shape > full && broken * 50 > cases && shape < cases,
        "{full} {shape} {broken}"
    );
}
