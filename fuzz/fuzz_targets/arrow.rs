//! Arrow's C structs, chosen by bytes: columns in lists, tensors and structs, some of which lie. An
//! import succeeds if and only if none lies and no pointer is null. The elements are those of the
//! recipe, and every struct is released exactly once, after the last use.

use crossdock::DArray;
use crossdock::exchange::protocol::arrow::{self, ExportOptions, Imported};
use crossdock::view::CopyPolicy;
use crate::{bytes_of, onward};
use crossdock_testkit::arrow::{Choices, ForeignExport, Recipe};

fuzz_target!(|data: &[u8]| {
    let recipe = Recipe::choose(&mut Choices(data));
    let leaves = if recipe.is_honest() { recipe.leaves() } else { vec![] };
    let has_nulls = leaves.iter().any(|leaf| leaf.has_nulls());

    let export = ForeignExport::new(&recipe);
    let columns = take_over(&export).and_then(Imported::into_columns);
    assert_eq!(columns.is_ok(), recipe.is_honest() && !has_nulls, "{columns:?}");
    for ((name, array), leaf) in columns.unwrap_or_default().into_iter().zip(&leaves) {
        assert_eq!((&name, array.shape()), (&leaf.name, &leaf.shape()[..]));
        let wanted: Vec<u8> = leaf.elements().into_iter().flatten().flatten().collect();
        onward(&array, &wanted);
        relay(array, &wanted);
    }
    assert_all_released(&export);

    let export = ForeignExport::new(&recipe);
    let both = take_over(&export).and_then(Imported::into_array_with_validity);
    if let (Ok((array, valid)), [leaf]) = (&both, &leaves[..]) {
        assert_eq!((array.shape(), valid.is_some()), (&leaf.shape()[..], has_nulls));
        let wanted: Vec<u8> = leaf.elements().iter().map(|element| u8::from(element.is_some())).collect();
        assert!(valid.as_ref().is_none_or(|valid| bytes_of(valid) == wanted));
    }
    drop(both);
    assert_all_released(&export);

    let export = ForeignExport::new(&recipe);
    if let Ok(records) = take_over(&export).and_then(Imported::into_records) {
        assert!(recipe.is_honest() && !has_nulls);
        bytes_of(&records);
    }
    assert_all_released(&export);
});

fn take_over(export: &ForeignExport) -> crossdock::Result<Imported> {
    // SAFETY: a `ForeignExport` has a schema and an array, which outlive the import and are
    // consumed once.
    unsafe { arrow::take_over(export.schema(), export.array()) }
}

/// Exports to the next consumer.
fn relay(array: DArray, wanted: &[u8]) {
    let options = ExportOptions::new().copy(CopyPolicy::IfNeeded);
    let Ok(exported) = arrow::export(&array, &options) else { return };
    drop(array);
    let (mut schema, mut column) = exported.into_raw();
    // SAFETY: both structs were exported just now, match, and are consumed once.
    let array =
        unsafe { arrow::import(&mut schema, &mut column) }.expect("what was exported can be imported");
    assert_eq!(bytes_of(&array), wanted);
}

fn assert_all_released(export: &ForeignExport) {
    let (released, live) = export.released();
    assert_eq!(released, live);
}
