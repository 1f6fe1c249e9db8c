//! The coverage of a property test.

use std::collections::BTreeMap;
use std::fmt;

/// Counts the cases of a test by class.
///
/// ```
/// use crossdock_testkit::Coverage;
///
/// let mut coverage = Coverage::default();
/// for number in 0..100 {
///     coverage.case();
///     coverage.note_if(number % 2 == 0, "even");
/// }
/// println!("{coverage}");
/// coverage.assert_at_least(0.4, ["even"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    cases: usize,
    classes: BTreeMap<String, usize>,
}

impl Coverage {
    /// Begins a new case.
    pub fn case(&mut self) {
        self.cases += 1;
    }

    /// Adds the current case to a class; call it once per class and case.
    pub fn note(&mut self, class: impl Into<String>) {
        *self.classes.entry(class.into()).or_default() += 1;
    }

    /// Adds the current case to a class if a condition holds.
    pub fn note_if(&mut self, condition: bool, class: &str) {
        if condition {
            self.note(class);
        }
    }

    /// The number of cases.
    pub fn cases(&self) -> usize {
        self.cases
    }

    /// The number of cases of a class.
    pub fn count(&self, class: &str) -> usize {
        self.classes.get(class).copied().unwrap_or(0)
    }

    /// Asserts that each of the classes holds at least this fraction of all cases.
    ///
    /// # Panics
    ///
    /// If one does not, or if there were no cases.
    #[track_caller]
    pub fn assert_at_least<S: AsRef<str>>(&self, fraction: f64, classes: impl IntoIterator<Item = S>) {
        assert!(self.cases > 0, "no cases were run");
        for class in classes {
            let (class, count) = (class.as_ref(), self.count(class.as_ref()));
            assert!(
                count as f64 >= fraction * self.cases as f64,
                "only {count} of {} cases are {class:?}, wanted {fraction}\n{self}",
                self.cases
            );
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>8}  cases", self.cases)?;
        for (class, count) in &self.classes {
            let percent = 100.0 * *count as f64 / self.cases.max(1) as f64;
            writeln!(f, "{count:>8}  {percent:>5.1} %  {class}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "only 1 of 2 cases are \"rare\"")]
    fn a_class_that_is_too_rare_is_found() {
        let mut coverage = Coverage::default();
        coverage.case();
        coverage.case();
        coverage.note("rare");
        coverage.assert_at_least(0.6, ["rare"]);
    }
}
