//! Files that use each other in a cycle, and the shortest cycle.
//!
//! Reasons: `DESIGN.md`, "At most three files form a cycle".

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::edges::Edges;
use crate::modules::Source;

/// The most files that may use each other in a cycle.
pub(crate) const MOST: usize = 3;

/// A component in the list of the remaining ones: the common folder of its files, and their number.
pub(crate) type Named = (String, usize);

/// The components of a crate with more than [`MOST`] files, the largest first, each with a text
/// that says how to break it.
pub(crate) fn too_large(sources: &[Source], edges: &Edges) -> Vec<(Named, String)> {
    let large = components(edges).into_iter().filter(|component| component.len() > MOST);
    let named = large.map(|component| {
        let files = component.iter().map(|&file| sources[file].file.as_path());
        ((common_folder(files), component.len()), described(sources, edges, &component))
    });
    named.collect()
}

/// The innermost common folder of all files; empty for the root.
fn common_folder<'a>(files: impl Iterator<Item = &'a Path>) -> String {
    let folders = files.map(|file| file.parent().unwrap_or(Path::new("")).to_owned());
    let shared = |one: PathBuf, other: PathBuf| {
        let parts = one.iter().zip(other.iter()).take_while(|(one, other)| one == other);
        parts.map(|(part, _)| part).collect()
    };
    folders.reduce(shared).unwrap_or_default().to_string_lossy().into_owned()
}

/// The files of a component, and its shortest cycle with the line of each edge.
fn described(sources: &[Source], edges: &Edges, component: &BTreeSet<usize>) -> String {
    let name = |file: usize| sources[file].file.display();
    let files: Vec<String> = component.iter().map(|&file| name(file).to_string()).collect();
    let mut text = format!("{} files use each other: {}\n", files.len(), files.join(", "));
    text += "the shortest cycle among them:\n";
    let cycle = shortest(edges, component);
    for (at, &file) in cycle.iter().enumerate() {
        let next = cycle[(at + 1) % cycle.len()];
        let mention = &edges[&file][&next];
        let _ =
            writeln!(text, "  {}:{} names `{}` of {}", name(file), mention.line, mention.path, name(next));
    }
    text
}

/// Files of which each uses all others, directly or through more of them: the components of the
/// graph that have more than one file.
pub(crate) fn components(edges: &Edges) -> Vec<BTreeSet<usize>> {
    let (order, low) = (BTreeMap::new(), BTreeMap::new());
    let mut search = Search { edges, order, low, stack: Vec::new(), found: Vec::new() };
    for &file in edges.keys() {
        if !search.order.contains_key(&file) {
            search.visit(file);
        }
    }
    search.found.sort_by_key(|component| (usize::MAX - component.len(), component.first().copied()));
    search.found
}

/// Tarjan's search.
struct Search<'a> {
    edges: &'a Edges,
    /// When each file was visited.
    order: BTreeMap<usize, usize>,
    /// The earliest file that each reaches among those on the stack.
    low: BTreeMap<usize, usize>,
    stack: Vec<usize>,
    found: Vec<BTreeSet<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, file: usize) {
        let number = self.order.len();
        self.order.insert(file, number);
        self.stack.push(file);
        let (edges, mut low) = (self.edges, number);
        for &next in edges.get(&file).into_iter().flat_map(BTreeMap::keys) {
            if !self.order.contains_key(&next) {
                self.visit(next);
                low = low.min(self.low[&next]);
            } else if self.stack.contains(&next) {
                low = low.min(self.order[&next]);
            }
        }
        self.low.insert(file, low);
        if low == number {
            let start = self.stack.iter().rposition(|&on_stack| on_stack == file).unwrap();
            let component: BTreeSet<usize> = self.stack.split_off(start).into_iter().collect();
            if component.len() > 1 {
                self.found.push(component);
            }
        }
    }
}

/// The shortest cycle among the files of a component.
pub(crate) fn shortest(edges: &Edges, component: &BTreeSet<usize>) -> Vec<usize> {
    let cycles = component.iter().filter_map(|&file| around(edges, component, file));
    cycles.min_by_key(Vec::len).unwrap_or_default()
}

/// The shortest path from a file back to it.
fn around(edges: &Edges, component: &BTreeSet<usize>, start: usize) -> Option<Vec<usize>> {
    let mut came_from = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(file) = waiting.pop_front() {
        for &next in edges.get(&file)?.keys().filter(|&next| component.contains(next)) {
            if next == start {
                let mut cycle = vec![file];
                while let Some(&before) = came_from.get(cycle.last()?) {
                    cycle.push(before);
                }
                cycle.reverse();
                return Some(cycle);
            }
            if let Entry::Vacant(way) = came_from.entry(next) {
                way.insert(file);
                waiting.push_back(next);
            }
        }
    }
    None
}

/// Differences between the list of known cycles and those found: the texts of new ones, and entries
/// without a component.
pub(crate) fn compared(known: &[Named], found: &[(Named, String)]) -> Result<(), String> {
    let mut left = known.to_vec();
    let mut text = String::new();
    for (named, description) in found {
        match left.iter().position(|entry| entry == named) {
            Some(at) => drop(left.remove(at)),
            None => {
                let (folder, count) = named;
                let _ = write!(text, "\nnot in the list of cycles: ({folder:?}, {count})\n{description}");
            }
        }
    }
    for (folder, count) in left {
        let _ = write!(text, "\nno longer there, lower the list of cycles: ({folder:?}, {count})");
    }
    if text.is_empty() { Ok(()) } else { Err(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edges::Mention;

    /// A graph with these edges; files are called `f/0.rs`, `f/1.rs` and so on.
    fn graph(pairs: &[(usize, usize)]) -> (Vec<Source>, Edges) {
        let mut edges = Edges::new();
        for &(from, to) in pairs {
            let mention = Mention { line: 10 * from + to, path: format!("crate::f{to}") };
            edges.entry(from).or_default().insert(to, mention);
        }
        let source = |file: usize| Source { file: format!("f/{file}.rs").into(), text: String::new() };
        ((0..10).map(source).collect(), edges)
    }

    #[test]
    fn components_are_files_that_reach_each_other() {
        let (_, edges) = graph(&[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (5, 0), (6, 6)]);
        assert_eq!(components(&edges), [BTreeSet::from([0, 1, 2]), BTreeSet::from([3, 4])]);
        assert_eq!(components(&graph(&[(0, 1), (0, 2), (1, 2)]).1), []);
    }

    #[test]
    fn the_shortest_cycle_is_named_with_its_lines() {
        let (files, edges) = graph(&[(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (4, 2)]);
        let found = too_large(&files, &edges);
        let [((folder, count), text)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((folder.as_str(), *count), ("f", 5));
        let last: Vec<&str> = text.lines().rev().take(2).collect();
        assert_eq!(
            last,
            ["  f/4.rs:42 names `crate::f2` of f/2.rs", "  f/2.rs:24 names `crate::f4` of f/4.rs"]
        );
    }

    #[test]
    fn three_files_may_use_each_other() {
        let (files, edges) = graph(&[(0, 1), (1, 2), (2, 0)]);
        assert_eq!(too_large(&files, &edges), []);
    }

    #[test]
    fn the_list_fails_if_a_cycle_grows_or_shrinks() {
        let found = [(("a".to_owned(), 5), "text".to_owned())];
        let known = |count| [("a".to_owned(), count)];
        assert_eq!(compared(&known(5), &found), Ok(()));
        let grown = compared(&known(4), &found).unwrap_err();
        assert!(grown.contains("not in the list of cycles: (\"a\", 5)\ntext"), "{grown}");
        let shrunk = compared(&known(5), &[]).unwrap_err();
        assert!(shrunk.contains("lower the list of cycles: (\"a\", 5)"), "{shrunk}");
    }

    #[test]
    fn the_common_folder_is_the_innermost() {
        let folder = |files: &[&str]| common_folder(files.iter().map(Path::new));
        assert_eq!(folder(&["a/b/c.rs", "a/b/d/e.rs", "a/b/mod.rs"]), "a/b");
        assert_eq!(folder(&["a/b.rs", "c.rs"]), "");
    }
}
