//! The program on channels of the guide's chapter on processes.

include!("../../../docs/guide/programs/06_channel.rs");
