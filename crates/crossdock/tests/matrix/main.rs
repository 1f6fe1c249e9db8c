//! The matrix: every importer beside every exporter, over every class of layout, in one run, which
//! `docs/matrix.md` tells.
//!
//! An adapter knows its own side, and the array in the middle; no test here knows two adapters. So
//! the run shows what that is worth: an exporter gives an array that somebody brought in the answer
//! that it gives its twin, an array of our own in memory of the same kind. Whatever is called in
//! place is seen where the foreign side had it, and not one byte was counted as copied.
//!
//! A new adapter is an entry in [`importers`] or [`exporters`], a new class one in [`classes`].
//! `CROSSDOCK_BLESS=1` writes the page anew.

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

/// What the run found; the outer index is the row of a table.
struct Matrix {
    /// In which memory data are then, by importer.
    into: Vec<String>,
    /// Class by importer.
    imports: Vec<Vec<Verdict>>,
    /// Class by exporter, of arrays of our own.
    exports: Vec<Vec<Verdict>>,
    /// Memory by exporter, of arrays in the order that [`home`] tells.
    memories: Vec<Vec<Verdict>>,
    /// Importer by exporter, for each class.
    pairs: Vec<Vec<Vec<Verdict>>>,
    /// Pairs of importers, over memory that both import.
    twice: Vec<Vec<Verdict>>,
}

impl Matrix {
    /// Importer by exporter, of row-major data; or of column-major data, where either takes them
    /// alone.
    fn each_to_each(&self) -> Vec<Vec<Verdict>> {
        let (from, to) = (home(&self.imports), home(&self.exports));
        let row = |(i, &from): (usize, &usize)| {
            to.iter().enumerate().map(|(j, &to)| self.pairs[from.max(to)][i][j].clone()).collect()
        };
        from.iter().enumerate().map(row).collect()
    }

    /// How many of all ways came out so.
    fn count(&self, wanted: fn(&Verdict) -> bool) -> usize {
        self.pairs.iter().flatten().flatten().filter(|verdict| wanted(verdict)).count()
    }
}

/// One run for all tests: the counter of copied bytes counts for the whole process.
fn matrix() -> &'static Matrix {
    static MATRIX: OnceLock<Matrix> = OnceLock::new();
    MATRIX.get_or_init(|| {
        // Each exporter has an array of its own, since memory remembers by whom it was handed out.
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

/// Whether it arrives, in place or not.
fn goes(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::InPlace | Verdict::Copies(_))
}

/// The class that stands for each adapter where one has to, of these answers by class: row-major,
/// or column-major where it takes that alone.
fn home(answers: &[Vec<Verdict>]) -> Vec<usize> {
    (0..answers[0].len()).map(|adapter| usize::from(!goes(&answers[0][adapter]))).collect()
}

fn table<T, R>(rows: &[T], row: impl FnMut(&T) -> R) -> Vec<R> {
    rows.iter().map(row).collect()
}

/// The whole way of data of one class: in by the one, out by the other.
fn triple(class: &Class, importer: &Importer, exporter: &Exporter) -> Verdict {
    let way = format!("{}, from {} to {}", class.name, importer.name, exporter.name);
    let specimen = (class.make)();
    let (brought, inward) = bring(importer, &specimen);
    let Some(brought) = brought else { return inward };
    let ours = twin(&brought.array, &specimen);
    let (outward, is_origin) = hand(exporter, brought.array, &specimen.expected, &brought.origin);
    let (expected, _) = hand(exporter, ours, &specimen.expected, &Origin::Encoded);
    match (&exporter.hand, &outward, &expected) {
        // Who wants the memory itself may refuse it for what else lies in it.
        (Hand::Give(_), Verdict::Refused(_), Verdict::Refused(_)) => {}
        _ => assert_eq!(outward, expected, "{way}: another answer than to an array of our own"),
    }

    let whole = inward.worse(outward);
    assert_eq!(is_origin, whole == Verdict::InPlace, "{way}: {whole:?}");
    assert_eq!(specimen.loans(), 0, "{way}: what was lent was not given back");
    whole
}

#[test]
fn every_way_in_goes_with_every_way_out_and_no_copy_is_silent() {
    let matrix = matrix();
    let in_place = matrix.count(|verdict| *verdict == Verdict::InPlace);
    let copies = matrix.count(|verdict| matches!(verdict, Verdict::Copies(_)));
    assert!(in_place >= 500 && copies >= 1000, "{in_place} in place, {copies} copied");
    // No adapter is there for nothing, and no class.
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
        assert!(row.contains(&Verdict::InPlace), "nobody brings {} in", class.name);
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
fn the_page_says_what_the_run_found() {
    page::check(matrix());
}
