//! DLPack structs, chosen by bytes. An import succeeds if and only if the struct is legal. The
//! elements are those of the recipe, and the deleter is called exactly once, after the last use.
//!
//! The producer guarantees that the memory exists. The recipe knows whether it stays within its
//! block of data; if not, the target does not access the elements.

use crossdock::DArray;
use crossdock::exchange::protocol::dlpack::{
    ExportOptions, export_versioned, import_legacy, import_versioned,
};
use crate::{bytes_of, onward};
use crossdock_testkit::dlpack::{Choices, ForeignExport, Recipe};

fuzz_target!(|data: &[u8]| {
    let recipe = Recipe::choose(&mut Choices(data));
    for versioned in [true, false] {
        let export = ForeignExport::new(&recipe);
        let legal = recipe.is_legal(versioned, export.block());
        let result = if versioned {
            // SAFETY: the export keeps a versioned struct, consumed once. Elements are accessed
            // only if the recipe stays within its block.
            unsafe { import_versioned(export.versioned()) }
        } else {
            // SAFETY: the export keeps a legacy struct, consumed once. Elements are accessed only
            // if the recipe stays within its block.
            unsafe { import_legacy(export.legacy()) }
        };
        assert_eq!(result.is_ok(), legal, "{result:?}");
        if let Ok(array) = result {
            use_it(array, &recipe, &export);
        }
        assert_eq!(export.deleted(), usize::from(recipe.deleter));
    }
});

fn use_it(array: DArray, recipe: &Recipe, export: &ForeignExport) {
    let kept = recipe.bytes();
    if let Some(bytes) = kept.as_ref().filter(|_| array.place().is_host()) {
        onward(&array, bytes);
        assert_eq!(bytes_of(&array.transpose().unwrap().transpose().unwrap()), *bytes);
    }
    // Exports to the next consumer, from any device, which only sees numbers.
    let relayed = export_versioned(&array, &ExportOptions::new()).map(|exported| exported.into_raw());
    assert_eq!(relayed.is_err(), array.is_readonly());
    drop(array);
    if let Ok(tensor) = relayed {
        assert_eq!(export.deleted(), 0, "the next consumer holds it");
        // SAFETY: the tensor was exported just now and is consumed once. Elements are accessed only
        // if the recipe stays within its block.
        let array = unsafe { import_versioned(tensor) }.expect("what was exported can be imported");
        if let Some(bytes) = kept.as_ref().filter(|_| array.place().is_host()) {
            assert_eq!(bytes_of(&array), *bytes);
        }
    }
}
