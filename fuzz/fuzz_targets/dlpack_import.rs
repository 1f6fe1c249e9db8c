//! DLPack structs that are chosen by bytes. Whatever one says: it is taken if and only if it is legal, its elements are the
//! ones that the recipe names, and its deleter is called exactly once, after the last use.
//!
//! That the memory exists is the producer's word. The recipe knows whether it keeps to its block of data; if it does not,
//! the elements are left alone.

use crossdock::DArray;
use crossdock::exchange::protocol::dlpack::{
    ExportOptions, export_versioned, import_legacy, import_versioned,
};
use crossdock_fuzz::{bytes_of, onward};
use crossdock_testkit::dlpack::{Choices, Loan, Recipe};

fuzz_target!(|data: &[u8]| {
    let recipe = Recipe::choose(&mut Choices(data));
    for versioned in [true, false] {
        let loan = Loan::new(&recipe);
        let legal = recipe.is_legal(versioned, loan.block());
        let result = if versioned {
            // SAFETY: a struct on loan, consumed once; elements are touched only where the recipe keeps to the block.
            unsafe { import_versioned(loan.versioned()) }
        } else {
            // SAFETY: as above.
            unsafe { import_legacy(loan.legacy()) }
        };
        assert_eq!(result.is_ok(), legal, "{result:?}");
        if let Ok(array) = result {
            use_it(array, &recipe, &loan);
        }
        assert_eq!(loan.deleted(), usize::from(recipe.deleter));
    }
});

fn use_it(array: DArray, recipe: &Recipe, loan: &Loan) {
    let kept = recipe.bytes();
    if let Some(bytes) = kept.as_ref().filter(|_| array.place().is_host()) {
        onward(&array, bytes);
        assert_eq!(bytes_of(&array.transpose().unwrap().transpose().unwrap()), *bytes);
    }
    // On to the next consumer, from any device, by nothing but numbers.
    let relayed = export_versioned(&array, &ExportOptions::new()).map(|exported| exported.into_raw());
    assert_eq!(relayed.is_err(), array.is_readonly());
    drop(array);
    if let Ok(tensor) = relayed {
        assert_eq!(loan.deleted(), 0, "the next consumer holds it");
        // SAFETY: just exported, consumed once; elements as above.
        let array = unsafe { import_versioned(tensor) }.expect("what was exported can be imported");
        if let Some(bytes) = kept.as_ref().filter(|_| array.place().is_host()) {
            assert_eq!(bytes_of(&array), *bytes);
        }
    }
}
