//! What the derive refuses, with the words in which it does. After a change on purpose, `TRYBUILD=overwrite` writes
//! the new words down.

#[test]
fn structs_that_are_no_elements_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
