//! `cargo xtask bench` starts this; see `bench/README.md`.

fn main() -> std::process::ExitCode {
    crossdock_bench::run()
}
