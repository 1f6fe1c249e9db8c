//! Tables: columns and batches exchanged, their bits, text and records.

mod bits;
mod columns;
mod exchange;
mod records;
mod text;

use crate::Measure;

const GROUP: &str = "tables";

/// Names in several tables.
const ARROW: &str = "arrow-rs";

#[rustfmt::skip]
pub(crate) const MEASURES: &[Measure] = &[
    Measure { group: GROUP, name: "import-fixed", run: exchange::import_fixed },
    Measure { group: GROUP, name: "import-mixed", run: exchange::import_mixed },
    Measure { group: GROUP, name: "export-fixed", run: exchange::export_fixed },
    Measure { group: GROUP, name: "export-mixed", run: exchange::export_mixed },
    Measure { group: GROUP, name: "column-slice", run: exchange::slice },
    Measure { group: GROUP, name: "null-count", run: bits::count },
    Measure { group: GROUP, name: "bits-and", run: bits::and },
    Measure { group: GROUP, name: "bits-to-mask", run: bits::to_mask },
    Measure { group: GROUP, name: "mask-to-bits", run: bits::from_mask },
    Measure { group: GROUP, name: "utf8-ascii", run: text::check_ascii },
    Measure { group: GROUP, name: "utf8-words", run: text::check_words },
    Measure { group: GROUP, name: "utf8-paragraphs", run: text::check_paragraphs },
    Measure { group: GROUP, name: "text-iterate", run: text::iterate },
    Measure { group: GROUP, name: "records-to-columns", run: records::to_columns },
    Measure { group: GROUP, name: "columns-to-records", run: records::from_columns },
];
