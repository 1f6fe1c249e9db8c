//! Programs that would break a rule do not compile. The expected messages are next to the programs;
//! after an intended change, `TRYBUILD=overwrite` writes the new ones.

#[test]
fn programs_that_break_a_rule_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

#[test]
fn structs_that_are_no_elements_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/derive/*.rs");
}
