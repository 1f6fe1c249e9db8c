//! Offers and consumers as text, for bindings that display them unchanged.

use std::fmt::Write as _;

use crate::array::DArray;
use crate::exchange::explain::{Offered, explain, offers};

/// A line for each protocol, and for each consumer in one library or in all: name, outcome, reason.
pub fn text(array: &DArray, library: Option<&str>) -> String {
    let mut text = String::from("by protocol\n");
    for Offered { protocol, refusal, would_copy } in offers(array) {
        let outcome = match (&refusal, would_copy) {
            (None, _) => "in place",
            (Some(_), Some(_)) => "by a copy",
            (Some(_), None) => "refused",
        };
        line(&mut text, protocol, outcome, refusal.as_deref().unwrap_or_default());
    }
    text += "by consumer\n";
    for consumer in explain(array, library) {
        line(&mut text, consumer.name, consumer.outcome.name(), &consumer.reason);
    }
    text.truncate(text.trim_end().len());
    text
}

fn line(text: &mut String, name: &str, outcome: &str, reason: &str) {
    let line = format!("  {name:<33} {outcome:<9} {reason}");
    _ = writeln!(text, "{}", line.trim_end());
}
