//! Arrays in shared memory: sealed against writing, and sent through sockets.

mod kinds;
mod round_trip;
mod sealing;
mod socket;
