//! Arrays in shared memory: closed to writers, and on their way through sockets.

mod kinds;
mod round_trip;
mod sealing;
mod socket;
