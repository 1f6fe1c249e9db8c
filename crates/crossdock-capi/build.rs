//! Sets the soname of the shared library, independent of its file name in the target folder.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Incompatible versions change the first number: the minor version while the major one is 0.
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    let minor = std::env::var("CARGO_PKG_VERSION_MINOR").unwrap_or_default();
    let number = if major == "0" { format!("{major}.{minor}") } else { major };
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcrossdock.so.{number}");
}
