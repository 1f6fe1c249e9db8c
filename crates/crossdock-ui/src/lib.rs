//! Empty: the programs in `tests/ui` do not compile.
