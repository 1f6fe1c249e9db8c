//! Peers in a program whose global allocator is mimalloc; a companion of `crossdock-bench`.

#[global_allocator]
static MIMALLOC: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    crossdock_bench::serve()
}
