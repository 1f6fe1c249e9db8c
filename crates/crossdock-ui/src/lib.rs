//! Nothing but a name for the programs in `tests/ui`, which do not compile.
