//! All mutants of a file in one text, each behind its number: one build can act as any of them.
//!
//! Reasons: `DESIGN.md`, "All mutants of a file are compiled at once".

use std::ops::{Range, RangeInclusive};

use anyhow::{Context, Result};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::list::{Mutation, Place};

/// The environment variable with the number of the mutant that a program acts as.
pub(super) const CHOICE: &str = "CROSSDOCK_MUTANT";

/// The number of the mutant, read once per function. In a function's body it refers to nothing
/// outside.
const CHOSEN: &str = "{ static CHOSEN: ::std::sync::atomic::AtomicUsize = \
    ::std::sync::atomic::AtomicUsize::new(usize::MAX); \
    match CHOSEN.load(::std::sync::atomic::Ordering::Relaxed) { \
    usize::MAX => { let chosen = ::std::env::var(\"CROSSDOCK_MUTANT\").ok() \
    .and_then(|text| text.parse::<usize>().ok()).unwrap_or(0); \
    CHOSEN.store(chosen, ::std::sync::atomic::Ordering::Relaxed); chosen } chosen => chosen } }";

/// A file with its mutants behind a switch.
#[derive(Debug)]
pub(super) struct Switched {
    pub(super) text: String,
    /// The lines of each mutant in the text.
    arms: Vec<(usize, RangeInclusive<usize>)>,
    /// The lines of each function with a switch, and its mutants.
    functions: Vec<(RangeInclusive<usize>, Vec<usize>)>,
    /// The mutants that no switch can choose: of constants, and of functions that are constant or
    /// return a type without a name.
    pub(super) alone: Vec<usize>,
}

impl Switched {
    /// Puts each numbered mutant of `source` behind its number.
    pub(super) fn new(source: &str, mutants: &[(usize, &Mutation)]) -> Result<Self> {
        let lines = Lines::new(source);
        let mut bodies = bodies(source, &lines)?;
        bodies.sort_by_key(|body| body.start);
        let mut text = String::new();
        let mut switched =
            Self { text: String::new(), arms: Vec::new(), functions: Vec::new(), alone: Vec::new() };
        let mut taken = 0;
        let spans: Vec<(usize, Range<usize>, &Mutation)> = mutants
            .iter()
            .map(|&(number, mutation)| Ok((number, lines.range(mutation)?, mutation)))
            .collect::<Result<_>>()?;
        let mut placed = Vec::new();
        for body in bodies {
            let own: Vec<_> = spans
                .iter()
                .filter(|(number, span, _)| {
                    body.start <= span.start && span.end <= body.end && !placed.contains(number)
                })
                .collect();
            // A function within one that already has a switch.
            if own.is_empty() || body.start < taken {
                continue;
            }
            placed.extend(own.iter().map(|(number, ..)| *number));
            text.push_str(&source[taken..body.start]);
            let first = line_count(&text);
            text.push_str(&format!("{{ match {CHOSEN} {{\n"));
            for (number, span, mutation) in &own {
                let begin = line_count(&text);
                let (before, after) = (&source[body.start..span.start], &source[span.end..body.end]);
                text.push_str(&format!("{number} => {before}{}{after}\n", mutation.replacement));
                switched.arms.push((*number, begin..=line_count(&text) - 1));
            }
            text.push_str(&format!("_ => {}\n}} }}", &source[body.clone()]));
            let numbers = own.iter().map(|(number, ..)| *number).collect();
            switched.functions.push((first..=line_count(&text), numbers));
            taken = body.end;
        }
        text.push_str(&source[taken..]);
        switched.text = text;
        let numbers = mutants.iter().map(|(number, _)| *number);
        switched.alone = numbers.filter(|number| !placed.contains(number)).collect();
        Ok(switched)
    }

    /// The mutants to blame for an error of the compiler in this line: the one whose line it is, or
    /// all of the function.
    pub(super) fn to_blame(&self, line: usize) -> Blame<'_> {
        if let Some((number, _)) = self.arms.iter().find(|(_, lines)| lines.contains(&line)) {
            return Blame::Mutant(*number);
        }
        let function = self.functions.iter().find(|(lines, _)| lines.contains(&line));
        function.map_or(Blame::Nothing, |(_, numbers)| Blame::Switch(numbers))
    }
}

/// The cause of a line that does not compile.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Blame<'a> {
    Mutant(usize),
    /// The switch between these mutants.
    Switch(&'a [usize]),
    Nothing,
}

/// The file with one mutant.
pub(super) fn mutated(source: &str, mutation: &Mutation) -> Result<String> {
    let span = Lines::new(source).range(mutation)?;
    Ok([&source[..span.start], &mutation.replacement, &source[span.end..]].concat())
}

/// The number of the line that follows.
fn line_count(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'\n').count() + 1
}

/// The beginnings of the lines of a text.
struct Lines<'a> {
    source: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(source: &'a str) -> Self {
        let breaks = source.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        Self { source, starts: std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect() }
    }

    fn at(&self, place: Place) -> Option<usize> {
        let start = *self.starts.get(place.line.checked_sub(1)?)?;
        let rest = &self.source[start..];
        let skipped = place.column.checked_sub(1)?;
        let mut ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
        Some(start + ends.nth(skipped)?)
    }

    fn range(&self, mutation: &Mutation) -> Result<Range<usize>> {
        let range = self.at(mutation.start).zip(self.at(mutation.end));
        let (start, end) = range.filter(|(start, end)| start <= end).with_context(|| {
            format!("`{}` lies outside of the file: it has changed meanwhile", mutation.what)
        })?;
        Ok(start..end)
    }
}

/// The bodies, with their braces, of the functions that can have a switch.
fn bodies(source: &str, lines: &Lines<'_>) -> Result<Vec<Range<usize>>> {
    let file = syn::parse_file(source).context("the file is not Rust")?;
    let mut bodies = Bodies { lines, found: Vec::new() };
    bodies.visit_file(&file);
    Ok(bodies.found)
}

struct Bodies<'a> {
    lines: &'a Lines<'a>,
    found: Vec<Range<usize>>,
}

impl Bodies<'_> {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let mut nameless = Nameless(false);
        nameless.visit_return_type(&signature.output);
        if signature.constness.is_some() || nameless.0 {
            return;
        }
        let span = block.span();
        let place = |at: proc_macro2::LineColumn| Place { line: at.line, column: at.column + 1 };
        if let (Some(start), Some(end)) =
            (self.lines.at(place(span.start())), self.lines.at(place(span.end())))
        {
            self.found.push(start..end);
        }
    }
}

impl<'ast> Visit<'ast> for Bodies<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.add(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

/// Whether an unnamed type, `impl Trait`, was found: each branch of a switch would have a different
/// one.
struct Nameless(bool);

impl<'ast> Visit<'ast> for Nameless {
    fn visit_type_impl_trait(&mut self, _: &'ast syn::TypeImplTrait) {
        self.0 = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
const A: u8 = 1 << 2;
impl Low {
    pub fn ü(&self) -> bool {
        1 < 2 && self.0
    }
}
const fn shift() -> u8 { 1 << 3 }
fn odd() -> impl Iterator<Item = u8> { (1..2).filter(|i| i % 2 == 1) }
";

    fn mutation(text: &str, nth: usize, replacement: &str) -> Mutation {
        let at = SOURCE.match_indices(text).nth(nth).unwrap().0;
        let place = |at: usize| {
            let line = line_count(&SOURCE[..at]);
            let start = SOURCE[..at].rfind('\n').map_or(0, |at| at + 1);
            Place { line, column: SOURCE[start..at].chars().count() + 1 }
        };
        let (start, end) = (place(at), place(at + text.len()));
        Mutation { what: format!("replace {text}"), start, end, replacement: replacement.into() }
    }

    #[test]
    fn a_function_becomes_the_mutant_with_the_chosen_number() {
        let (less, and) = (mutation(" < ", 0, " == "), mutation("&&", 0, "||"));
        let switched = Switched::new(SOURCE, &[(7, &less), (8, &and)]).unwrap();
        assert!(switched.text.contains("7 => {\n        1 == 2 && self.0\n    }\n"), "{}", switched.text);
        assert!(switched.text.contains("8 => {\n        1 < 2 || self.0\n    }\n"), "{}", switched.text);
        assert!(
            switched.text.contains("_ => {\n        1 < 2 && self.0\n    }\n} }\n}\n"),
            "{}",
            switched.text
        );
        assert!(switched.text.contains(CHOICE) && switched.alone.is_empty());
        syn::parse_file(&switched.text).unwrap();
    }

    #[test]
    fn an_error_is_blamed_on_the_mutant_of_its_line() {
        let (less, and) = (mutation(" < ", 0, " == "), mutation("&&", 0, "||"));
        let switched = Switched::new(SOURCE, &[(7, &less), (8, &and)]).unwrap();
        let blamed = |text: &str| {
            let at = switched.text.find(text).unwrap();
            switched.to_blame(line_count(&switched.text[..at]))
        };
        assert_eq!(blamed("1 == 2"), Blame::Mutant(7));
        assert_eq!(blamed("||"), Blame::Mutant(8));
        assert_eq!(blamed("1 < 2 && self.0"), Blame::Switch(&[7, 8]));
        assert_eq!(blamed("const A"), Blame::Nothing);
    }

    #[test]
    fn what_no_switch_can_choose_stands_alone() {
        let alone = [mutation("<<", 0, ">>"), mutation("<<", 1, ">>"), mutation("==", 0, "!=")];
        let numbered: Vec<_> = alone.iter().enumerate().collect();
        let switched = Switched::new(SOURCE, &numbered).unwrap();
        assert_eq!((switched.alone, switched.text.as_str()), (vec![0, 1, 2], SOURCE));
        assert!(mutated(SOURCE, &alone[1]).unwrap().contains("{ 1 >> 3 }"));
        let beyond = Mutation { end: Place { line: 99, column: 1 }, ..alone[0].clone() };
        assert!(mutated(SOURCE, &beyond).is_err());
    }
}
