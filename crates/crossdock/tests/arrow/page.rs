//! The page and the tests have the same rows.

use crate::pages::{Page, Table};

const NAMES: Table = ("N", 5);
const NOTHING: Table = ("X", 3);
const SURPRISES: Table = ("S", 4);
const THEIRS: Table = ("T", 4);

const PAGE: Page = Page { name: "arrow", tables: &[NAMES, SURPRISES, THEIRS], not_rows: &["main", "page"] };

#[test]
fn every_row_names_tests_that_run() {
    let count = PAGE.check_that_every_row_names_tests_that_run();
    assert!(count >= 150, "{count} tests were looked for");
}

#[test]
fn every_test_of_this_folder_is_named_by_a_row() {
    let count = PAGE.check_that_every_test_of_the_folder_is_named();
    assert!(count >= 100, "{count} tests were seen");
}

#[test]
fn every_name_has_one_test_of_its_own_which_uses_the_item() {
    let count = PAGE.check_that_every_name_has_a_test_of_its_own_which_uses_the_item(NAMES);
    assert!(count >= 80, "{count} names were seen");
}

#[test]
fn what_is_not_here_has_a_reason_and_no_test() {
    assert!(PAGE.check_that_what_is_not_here_has_a_reason(NOTHING) >= 5);
}
