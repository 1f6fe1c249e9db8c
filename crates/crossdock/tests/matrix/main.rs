//! The matrix: every importer with every exporter, over every class of layout, in one run, which
//! `docs/evidence/matrix.md` records.
//!
//! An adapter knows only its own library and the array in the middle; no test here knows two
//! adapters. The run shows that this suffices: an exporter treats an imported array like its twin,
//! an array of this library in memory of the same kind. Every zero-copy transfer is verified at the
//! foreign address, and no byte was counted as copied.
//!
//! A new adapter is an entry in [`importers`] or [`exporters`], a new class one in [`classes`].
//! `CROSSDOCK_BLESS=1` rewrites the page.
//!
//! Reasons: `DESIGN.md`, "The matrix compares with a twin".

mod classes;
mod exporters;
mod files;
mod importers;
mod memories;
mod objects;
mod page;
mod twice;
mod verdict;

use std::sync::OnceLock;

use crossdock::DArray;

use crate::classes::{CLASSES, Class, Specimen};
use crate::exporters::{EXPORTERS, Exporter, Hand};
use crate::importers::{IMPORTERS, Importer, Origin};
use crate::memories::{MEMORIES, own, twin};
use crate::verdict::{Verdict, bring, hand};

/// The results of the run; the outer index is the row of a table.
struct Matrix {
    /// The kind of memory of imported data, by importer.
    into: Vec<String>,
    /// Class by importer.
    imports: Vec<Vec<Verdict>>,
    /// Class by exporter, for arrays of this library.
    exports: Vec<Vec<Verdict>>,
    /// Memory by exporter, for arrays in the order of [`home`].
    memories: Vec<Vec<Verdict>>,
    /// Importer by exporter, for each class.
    pairs: Vec<Vec<Vec<Verdict>>>,
    /// Pairs of importers, over memory that both import.
    twice: Vec<Vec<Verdict>>,
}

impl Matrix {
    /// Importer by exporter, for row-major data; or for column-major data, if either accepts only
    /// those.
    fn each_to_each(&self) -> Vec<Vec<Verdict>> {
        let (from, to) = (home(&self.imports), home(&self.exports));
        let row = |(i, &from): (usize, &usize)| {
            to.iter().enumerate().map(|(j, &to)| self.pairs[from.max(to)][i][j].clone()).collect()
        };
        from.iter().enumerate().map(row).collect()
    }

    /// The number of transfers with this result.
    fn count(&self, wanted: fn(&Verdict) -> bool) -> usize {
        self.pairs.iter().flatten().flatten().filter(|verdict| wanted(verdict)).count()
    }
}

/// One run for all tests: the counter of copied bytes counts for the whole process.
fn matrix() -> &'static Matrix {
    static MATRIX: OnceLock<Matrix> = OnceLock::new();
    MATRIX.get_or_init(|| {
        // Each exporter gets a separate array, since memory remembers which protocols exported it.
        let half = |exporter: &Exporter, specimen: &Specimen, make: fn(&Specimen) -> DArray| {
            hand(exporter, make(specimen), &specimen.expected, &Origin::Encoded).0
        };
        let imports = table(CLASSES, |class| table(IMPORTERS, |importer| bring(importer, &(class.make)()).1));
        let exports =
            table(CLASSES, |class| table(EXPORTERS, |exporter| half(exporter, &(class.make)(), own)));
        let homes = home(&imports).into_iter().zip(IMPORTERS);
        let into = homes.map(|(class, importer)| match bring(importer, &(CLASSES[class].make)()).0 {
            Some(brought) => memories::described(&brought.array),
            None => panic!("{} brings nothing in", importer.name),
        });
        let into = into.collect();
        let memories = table(MEMORIES, |memory| {
            let homes = home(&exports).into_iter().zip(EXPORTERS);
            homes.map(|(class, exporter)| half(exporter, &(CLASSES[class].make)(), memory.make)).collect()
        });
        let pairs = table(CLASSES, |class| {
            table(IMPORTERS, |importer| table(EXPORTERS, |exporter| triple(class, importer, exporter)))
        });
        let twice = twice::each_with_each();
        Matrix { into, imports, exports, memories, pairs, twice }
    })
}

/// Whether the data arrive, zero-copy or not.
fn goes(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::InPlace | Verdict::Copies(_))
}

/// The class that stands for each adapter, from these results by class: row-major, or column-major
/// if it accepts only that.
fn home(answers: &[Vec<Verdict>]) -> Vec<usize> {
    (0..answers[0].len()).map(|adapter| usize::from(!goes(&answers[0][adapter]))).collect()
}

fn table<T, R>(rows: &[T], row: impl FnMut(&T) -> R) -> Vec<R> {
    rows.iter().map(row).collect()
}

/// The whole path of data of one class: through the importer, and through the exporter.
fn triple(class: &Class, importer: &Importer, exporter: &Exporter) -> Verdict {
    let way = format!("{}, from {} to {}", class.name, importer.name, exporter.name);
    let specimen = (class.make)();
    let (brought, inward) = bring(importer, &specimen);
    let Some(brought) = brought else { return inward };
    let ours = twin(&brought.array, &specimen);
    let (outward, is_origin) = hand(exporter, brought.array, &specimen.expected, &brought.origin);
    let (expected, _) = hand(exporter, ours, &specimen.expected, &Origin::Encoded);
    match (&exporter.hand, &outward, &expected) {
        // A consumer that takes the memory itself may refuse it for its other content.
        (Hand::Give(_), Verdict::Refused(_), Verdict::Refused(_)) => {}
        _ => assert_eq!(outward, expected, "{way}: another answer than to an array of our own"),
    }

    let whole = inward.worse(outward);
    assert_eq!(is_origin, whole == Verdict::InPlace, "{way}: {whole:?}");
    assert_eq!(specimen.live_exports(), 0, "{way}: what was lent was not given back");
    whole
}

#[test]
fn every_way_in_goes_with_every_way_out_and_no_copy_is_silent() {
    let matrix = matrix();
    let in_place = matrix.count(|verdict| *verdict == Verdict::InPlace);
    let copies = matrix.count(|verdict| matches!(verdict, Verdict::Copies(_)));
    assert!(in_place >= 500 && copies >= 1000, "{in_place} in place, {copies} copied");
    // Every adapter and every class succeeds at least once.
    for (column, importer) in IMPORTERS.iter().enumerate() {
        assert!(
            matrix.imports[..2].iter().any(|row| goes(&row[column])),
            "{} brings nothing in",
            importer.name
        );
    }
    for (column, exporter) in EXPORTERS.iter().enumerate() {
        assert!(matrix.exports.iter().any(|row| goes(&row[column])), "{} gives nothing out", exporter.name);
    }
    for (class, row) in CLASSES.iter().zip(&matrix.imports) {
        assert!(row.contains(&Verdict::InPlace), "no importer imports {}", class.name);
    }
}

#[test]
fn one_memory_that_two_importers_bring_in_is_assigned_to_itself_as_if_copied_before() {
    let twice = &matrix().twice;
    let assigned = twice.iter().flatten().filter(|verdict| **verdict == Verdict::Assigned).count();
    assert!(assigned >= 40, "only {assigned} pairs were assigned");
    // Importers of writable memory must meet all other importers.
    let row = |name: &str| IMPORTERS.iter().position(|importer| importer.name == name).unwrap();
    for (into, from) in [
        ("pointer", "DLPack"),
        ("DLPack", "DLPack"),
        ("MemoryView of C", "DLPack before 1.0"),
        ("MemoryView of C", "pointer"),
        ("pointer", "shared memory"),
        ("shared memory", "DLPack"),
        ("shared memory", "shared memory"),
        ("pointer", "`.npy`"),
        ("DLPack", "`.safetensors`"),
        ("shared memory", "raw file"),
    ] {
        assert_eq!(twice[row(into)][row(from)], Verdict::Assigned, "{into} from {from}");
    }
}

#[test]
#[cfg_attr(not(feature = "candle-0_11"), ignore = "the page has a column for `candle`, too")]
fn the_page_says_what_the_run_found() {
    page::check(matrix());
}
