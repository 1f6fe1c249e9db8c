//! Arrow's C structs of any type, chosen by bytes: buffers have the sizes that a consumer must
//! trust, and everything else may lie. An import that compared everything gives every element; one
//! that compared the shape gives each element or an error. Both structs are released exactly once.

use crossdock::exchange::protocol::arrow;
use crossdock::table::{Checks, Column, Field};
use crossdock_testkit::arrow::Choices;
use crossdock_testkit::arrow_columns::HostileColumn;

fuzz_target!(|data: &[u8]| {
    for checks in [Checks::Full, Checks::Shape] {
        let mut hostile = HostileColumn::choose(&mut Choices(data));
        let (schema, array) = (hostile.schema(), hostile.array());
        // SAFETY: the structs follow the specification in what a consumer must trust, and are
        // consumed once.
        if let Ok((field, column)) = unsafe { arrow::import_column(schema, array, checks) } {
            let is_whole = follow(&field, &column);
            assert!(is_whole || checks == Checks::Shape, "{field}");
        }
        assert_eq!(hostile.released(), 2);
    }
});

/// Requests all that a column offers; whether every value was there.
fn follow(field: &Field, column: &Column) -> bool {
    let is_whole = column.values().fold(true, |all, value| value.is_ok() & all);
    let _ = column.to_string();
    let half = column.slice(column.len() / 2..).expect("half of the elements");
    let copy = half.compact();
    assert!(copy.is_ok() || !is_whole || column.check(Checks::Full).is_err(), "{copy:?}");
    if let (Ok(copy), true) = (&copy, is_whole) {
        assert!(copy.values().all(|value| value.is_ok()));
    }
    let (mut schema, mut array) = arrow::export_column(field, &half).expect("constant memory").into_raw();
    // SAFETY: both structs were exported just now, match, and are consumed once.
    match unsafe { arrow::import_column(&mut schema, &mut array, Checks::Shape) } {
        Ok((same, again)) => assert_eq!((&same, again.len()), (field, half.len())),
        // The ends of a slice were not compared before.
        Err(error) => assert!(column.check(Checks::Full).is_err(), "{error}"),
    }
    is_whole
}
