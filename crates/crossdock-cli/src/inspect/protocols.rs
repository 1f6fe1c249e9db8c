//! Which protocols export an array, and what other libraries do with it: the library's answers as
//! rows of the report.

use crossdock::DArray;
use crossdock::exchange::{self, Consumer, Offered};
use serde::Serialize;

/// The part of a report that `--protocols` adds.
#[derive(Debug, Serialize)]
pub(super) struct Exchange {
    pub(super) protocols: Vec<ProtocolRow>,
    pub(super) consumers: Vec<ConsumerRow>,
}

/// One protocol, and its answer.
#[derive(Debug, Serialize)]
pub(super) struct ProtocolRow {
    pub(super) protocol: &'static str,
    pub(super) in_place: bool,
    /// The reason of a refusal.
    pub(super) reason: Option<String>,
    /// The bytes of a copy, if a copy would help.
    pub(super) would_copy: Option<usize>,
}

/// A function of another library, and what it does with the array.
#[derive(Debug, Serialize)]
pub(super) struct ConsumerRow {
    pub(super) name: &'static str,
    pub(super) library: &'static str,
    /// The version of the library whose behaviour this is.
    pub(super) measured_on: &'static str,
    pub(super) outcome: &'static str,
    pub(super) reason: String,
}

/// Calls every exporter, and evaluates the profile of every consumer.
pub(super) fn ask(array: &DArray) -> Exchange {
    let protocol = |Offered { protocol, refusal, would_copy, .. }| ProtocolRow {
        protocol,
        in_place: refusal.is_none(),
        reason: refusal,
        would_copy,
    };
    let consumer = |Consumer { name, library, measured_on, outcome, reason, .. }| ConsumerRow {
        name,
        library,
        measured_on,
        outcome: outcome.name(),
        reason,
    };
    Exchange {
        protocols: exchange::offers(array).into_iter().map(protocol).collect(),
        consumers: exchange::explain(array, None).into_iter().map(consumer).collect(),
    }
}
