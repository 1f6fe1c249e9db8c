//! The program of all fuzz targets. `CROSSDOCK_FUZZ_TARGET` names the one that libFuzzer runs. With
//! `--cfg fuzzing`, which `cargo xtask fuzz` sets, libFuzzer is linked.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
static TARGET: std::sync::LazyLock<fn(&[u8])> = std::sync::LazyLock::new(|| {
    let wanted = std::env::var("CROSSDOCK_FUZZ_TARGET").expect("CROSSDOCK_FUZZ_TARGET names a target");
    let found = crossdock_fuzz::TARGETS.iter().find(|(name, _)| *name == wanted);
    found.unwrap_or_else(|| panic!("there is no target `{wanted}`")).1
});

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| TARGET(bytes));

#[cfg(not(fuzzing))]
fn main() {
    eprintln!("`cargo xtask fuzz run` builds the targets for libFuzzer, and runs them");
}
