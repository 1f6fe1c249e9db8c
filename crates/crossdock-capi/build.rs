//! Sets the soname of a shared library of the format ELF, and puts links under the installed names
//! into the folder `c` of the profile, so that programs can be linked with the library where it was
//! built.

use std::env;
use std::fs;
use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Incompatible versions change the first number: the minor version while the major one is 0.
    let major = env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    let minor = env::var("CARGO_PKG_VERSION_MINOR").unwrap_or_default();
    let number = if major == "0" { format!("{major}.{minor}") } else { major };
    let soname = format!("libcrossdock.so.{number}");
    let target = |what| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    // Libraries of other formats than ELF have no soname.
    if target("FAMILY") == "unix" && target("VENDOR") != "apple" {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{soname}");
    }
    // `crossdock_capi` is the name of the Rust library: `crossdock` is taken. The folder of the
    // output is `build/crossdock-capi-…/out` in that of the profile. The links are not beside the
    // library: Cargo puts that folder into LD_LIBRARY_PATH, which comes before a program's own
    // path.
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    let Some(profile) = Path::new(&out).ancestors().nth(3) else { return };
    let folder = profile.join("c");
    let _ = fs::create_dir_all(&folder);
    for (name, file) in [
        (&*soname, "../libcrossdock_capi.so"),
        ("libcrossdock.so", "../libcrossdock_capi.so"),
        ("libcrossdock.a", "../libcrossdock_capi.a"),
    ] {
        link(&folder.join(name), file);
    }
}

/// A link, which leads nowhere until the library is built. The build does not need it.
#[cfg(unix)]
fn link(path: &Path, file: &str) {
    let _ = std::os::unix::fs::symlink(file, path);
}

#[cfg(not(unix))]
fn link(_: &Path, _: &str) {}
