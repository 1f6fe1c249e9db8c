//! Buffers under leases, and as readers and writers, by example and against an oracle.

mod io;
mod io_devices;
mod io_oracle;
#[expect(clippy::single_range_in_vec_init, reason = "a partition may have one part")]
mod leases;
