//! `crossdock lend` for Windows: a program of C inherits a handle, maps the file by the lines in
//! the help, and reads the elements that the same program reads by a descriptor here.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::wine::write;
use crate::run::Run;

/// The lines of the help that map the file.
const LINES: &str = "crates/crossdock-cli/src/lend/snippets";

/// Maps the file, and prints the shape and a sum of all bytes that depends on their order. With an
/// argument, stores 0 in the first byte, if it may, and ends with that status. Of several arrays,
/// it finds only the variable.
const SOURCE: &str = r#"
int main(int count, char **words) {
    if (getenv("CROSSDOCK_ARRAYS")) return 9;
#ifdef _WIN32
#include "windows.c"
    if (!m) return 10;
#else
#include "c.c"
    if (m == MAP_FAILED) return 10;
#endif
    long shape[8], strides[8], index[8] = {0}, rank = 0, total = 1;
    char *lens = getenv("CROSSDOCK_SHAPE"), *steps = getenv("CROSSDOCK_STRIDES");
    for (; *lens; rank++) {
        shape[rank] = strtol(lens, &lens, 10), strides[rank] = strtol(steps, &steps, 10);
        printf("%ld ", shape[rank]), total *= shape[rank];
    }
    long itemsize = total ? atol(getenv("CROSSDOCK_NBYTES")) / total : 0;
    unsigned long long sum = 0;
    for (long n = 0; n < total; n++) {
        long at = 0;
        for (long axis = 0; axis < rank; axis++) at += index[axis] * strides[axis];
        for (long byte = 0; byte < itemsize; byte++) sum = sum * 31 + (unsigned char)x[at + byte];
        for (long axis = rank; axis-- > 0 && ++index[axis] == shape[axis];) index[axis] = 0;
    }
    printf("%llu\n", sum);
    if (count < 2) return 0;
#ifdef _WIN32
    section = CreateFileMappingA(file, NULL, PAGE_READWRITE, 0, 0, NULL);
    m = section ? MapViewOfFile(section, FILE_MAP_WRITE, 0, 0, 0) : NULL;
#else
    m = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    m = m == MAP_FAILED ? NULL : m;
#endif
    if (m) m[atoll(getenv("CROSSDOCK_OFFSET"))] = 0;
    return m ? atoi(words[1]) : 8;
}
"#;

const HEADERS: &str = "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
    #ifdef _WIN32\n#include <windows.h>\n#else\n#include <sys/mman.h>\n#endif\n";

/// Stands for the program.
pub(super) const BORROWER: &str = "{borrower}";

/// The commands, each with its exit status, after those that write the files.
#[rustfmt::skip]
pub(super) const CALLS: &[(i32, &[&str])] = &[
    (0, &["lend", "elevation.npy", BORROWER]),
    (0, &["lend", "rocket.npy[::4, ::-3, 1]", "--", BORROWER]),
    (0, &["lend", "hills.npz", "--copy", "if-needed", "--", BORROWER]),
    (0, &["lend", "rocket.npy", "--order", "F", "--copy", "if-needed", "--", BORROWER]),
    (0, &["lend", "elevation.npy", "--dtype", "float64", "--copy", "if-needed", "--", BORROWER]),
    (0, &["lend", "damaged.npy", "--raw", "dtype=uint16; shape=3; offset=1", "--", BORROWER]),
    (9, &["lend", "-a", "x=rocket.npy", "-a", "y=elevation.npy", "--", BORROWER]),
    // Without permission to write, the program ends with 8.
    (8, &["lend", "picture.npy", "--", BORROWER, "7"]),
    (8, &["lend", "picture.npy", "--copy", "always", "--", BORROWER, "7"]),
    (7, &["lend", "picture.npy[::-1]", "--write", "--", BORROWER, "7"]),
    // Refused before a program starts.
    (1, &["lend", "elevation.npy", "--dtype", "float64", "--", BORROWER]),
    (1, &["lend", "none.npy", "--", BORROWER]),
    (2, &["lend", "picture.npy", "--write", "--copy", "always", "--", BORROWER]),
    (127, &["lend", "picture.npy", "--", "no-such-program"]),
];

/// Compiles the program with a compiler.
pub(super) fn build(run: &mut Run<'_>, mut cc: Command, program: &Path) -> Result<()> {
    let source = program.with_file_name("borrower.c");
    write(&source, &format!("{HEADERS}{SOURCE}"))?;
    cc.args(["-Wall", "-Wextra", "-Werror", "-I"]).arg(run.door.root.join(LINES));
    run.exec(cc.arg("-o").arg(program).arg(&source))
}
