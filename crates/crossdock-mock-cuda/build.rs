//! Compiles the library's kernels for the host, from the same source that devices compile.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("Cargo says where the package is"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo says where to write"));
    let kernels = package.join("../crossdock/src/device/engine/source");
    let dialect = kernels.join("dialect.h");
    println!("cargo:rerun-if-changed={}", kernels.display());
    println!("cargo:rerun-if-changed={}", package.join("host").display());

    let mut build = cc::Build::new();
    // Tests that run kernels take longest, hence the optimisation. The kernels need no C++ standard
    // library.
    build.cpp(true).std("c++17").opt_level(2).warnings(false).cpp_link_stdlib(None);
    build.flag("-fno-exceptions").flag("-fno-rtti").include(&kernels);

    let (mut table, alone) = (String::new(), build.clone());
    for source in sources(&kernels) {
        let unit = out.join(source.file_stem().expect("a file has a name")).with_extension("cpp");
        let text = format!("#include \"{}\"\n#include \"{}\"\n", dialect.display(), source.display());
        fs::write(&unit, text).expect("the folder for outputs can be written");
        for name in names(&String::from_utf8_lossy(&alone.clone().file(&unit).expand())) {
            writeln!(table, "ENTRY({name})").expect("there is memory");
        }
        build.file(&unit);
    }
    fs::write(out.join("entries.inc"), table).expect("the folder for outputs can be written");
    build.include(&out).file(package.join("host/groups.cpp")).compile("crossdock-mock-cuda-kernels");
}

/// The kernel sources, sorted.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("a folder can be read").path());
    let mut sources: Vec<_> = paths.filter(|path| path.extension().is_some_and(|kind| kind == "c")).collect();
    sources.sort();
    sources
}

/// The names of the kernels in preprocessed text.
fn names(text: &str) -> Vec<&str> {
    let heads = text.split("extern \"C\" void ").skip(1);
    let heads = heads.filter_map(|rest| rest.split_once('('));
    heads.map(|(name, _)| name.trim()).filter(|name| !name.starts_with("crossdock_")).collect()
}
