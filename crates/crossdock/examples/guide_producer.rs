//! The program of the guide's chapter on producers.

include!("../../../docs/guide/programs/08_producer.rs");
