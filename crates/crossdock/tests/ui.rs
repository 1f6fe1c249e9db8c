//! Programs that would break a rule of the memory layer do not compile. The expected messages lie beside the programs.

#[test]
fn programs_that_break_a_rule_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
