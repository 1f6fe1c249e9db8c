//! Names with dots and slashes in them as a tree: groups with their totals, and of alike groups in
//! a row, which are the layers of a model, only the first.

use std::collections::HashMap;

use crate::inspect::listing::ArrayRow;

/// A line of the tree.
#[derive(Debug)]
pub(super) enum Branch<'a> {
    /// A group of arrays.
    Group { label: String, depth: usize, arrays: usize, nbytes: u64 },
    /// An array.
    Leaf { label: String, depth: usize, row: &'a ArrayRow },
}

#[derive(Default)]
struct Node<'a> {
    /// The part of the name, with its separator in front unless it is the first.
    label: &'a str,
    children: Vec<Node<'a>>,
    /// Where each child is, by its label.
    places: HashMap<&'a str, usize>,
    /// Several of one name, which archives permit, are drawn one below the other.
    rows: Vec<&'a ArrayRow>,
}

/// Separates the parts of names.
const SEPARATORS: [char; 2] = ['.', '/'];

/// The most parts of a name that become levels.
const DEEPEST: usize = 32;

/// The lines of the tree.
pub(super) fn branches(rows: &[ArrayRow]) -> Vec<Branch<'_>> {
    let mut root = Node::default();
    for row in rows {
        root.insert(&row.name, row, 0);
    }
    let mut lines = Vec::new();
    root.children.iter().for_each(|child| child.draw("", 0, &mut lines));
    lines
}

impl<'a> Node<'a> {
    fn insert(&mut self, rest: &'a str, row: &'a ArrayRow, depth: usize) {
        if rest.is_empty() && depth > 0 {
            self.rows.push(row);
            return;
        }
        let from = usize::from(rest.starts_with(SEPARATORS));
        let end = rest[from..].find(SEPARATORS).map_or(rest.len(), |at| from + at);
        let end = if depth < DEEPEST { end } else { rest.len() };
        let (label, rest) = rest.split_at(end);
        let place = *self.places.entry(label).or_insert_with(|| {
            self.children.push(Node { label, ..Node::default() });
            self.children.len() - 1
        });
        self.children[place].insert(rest, row, depth + 1);
    }

    /// Adds the lines of this node. A group with a single child is one line with it.
    fn draw(&self, before: &str, depth: usize, lines: &mut Vec<Branch<'a>>) {
        let label = format!("{before}{}", self.label);
        if let ([], [only]) = (self.rows.as_slice(), self.children.as_slice()) {
            return only.draw(&label, depth, lines);
        }
        // Deeper lines are indented, so the separator in front is not needed.
        let label = match depth {
            0 => label,
            _ => label.strip_prefix(SEPARATORS).unwrap_or(&label).to_owned(),
        };
        lines.extend(self.rows.iter().map(|row| Branch::Leaf { label: label.clone(), depth, row }));
        if self.children.is_empty() {
            return;
        }
        let ((arrays, nbytes), own) = (self.totals(), self.own());
        lines.push(Branch::Group { label, depth, arrays: arrays - own.0, nbytes: nbytes - own.1 });
        let mut at = 0;
        while at < self.children.len() {
            let child = &self.children[at];
            let alike = 1 + self.children[at + 1..].iter().take_while(|other| other.is_like(child)).count();
            if alike > 2 {
                let last = &self.children[at + alike - 1];
                let label = format!("{} … {}", child.bare(), last.bare());
                let (arrays, nbytes) = child.totals();
                let times = alike as u64;
                let label = format!("{label} ({alike} alike)");
                let arrays = arrays * alike;
                lines.push(Branch::Group { label, depth: depth + 1, arrays, nbytes: nbytes * times });
                child.children.iter().for_each(|child| child.draw("", depth + 2, lines));
                at += alike;
            } else {
                child.draw("", depth + 1, lines);
                at += 1;
            }
        }
    }

    fn bare(&self) -> &'a str {
        self.label.strip_prefix(SEPARATORS).unwrap_or(self.label)
    }

    /// The number and the bytes of the arrays that have the name of this group.
    fn own(&self) -> (usize, u64) {
        (self.rows.len(), self.rows.iter().map(|row| row.nbytes as u64).sum())
    }

    fn totals(&self) -> (usize, u64) {
        let children = self.children.iter().map(Node::totals);
        children.fold(self.own(), |sum, one| (sum.0 + one.0, sum.1.saturating_add(one.1)))
    }

    /// Whether two groups have numbers as their names, and the same arrays under them.
    fn is_like(&self, other: &Self) -> bool {
        let is_number =
            |node: &Self| !node.bare().is_empty() && node.bare().bytes().all(|byte| byte.is_ascii_digit());
        is_number(self) && is_number(other) && !self.children.is_empty() && self.is_same(other)
    }

    fn is_same(&self, other: &Self) -> bool {
        let kind = |row: &'a ArrayRow| (&row.dtype, &row.shape);
        self.rows.iter().map(|row| kind(row)).eq(other.rows.iter().map(|row| kind(row)))
            && self.children.len() == other.children.len()
            && self.children.iter().zip(&other.children).all(|(a, b)| a.label == b.label && a.is_same(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(names: &[&str]) -> Vec<String> {
        let rows: Vec<ArrayRow> = names.iter().map(|name| ArrayRow::for_tests(name)).collect();
        let line = |branch: &Branch<'_>| match branch {
            Branch::Group { label, depth, arrays, nbytes } => {
                format!("{}{label}: {arrays} arrays, {nbytes} B", "  ".repeat(*depth))
            }
            Branch::Leaf { label, depth, .. } => format!("{}{label}", "  ".repeat(*depth)),
        };
        branches(&rows).iter().map(line).collect()
    }

    #[test]
    fn names_without_separators_are_a_list() {
        assert_eq!(drawn(&["a", "b c", "", "a"]).len(), 4);
        assert_eq!(drawn(&["b", "a"]), ["b", "a"]);
    }

    #[test]
    fn layers_that_are_alike_are_drawn_once() {
        let names = [
            "m.embed.w",
            "m.l.0.q.w",
            "m.l.0.k.w",
            "m.l.1.q.w",
            "m.l.1.k.w",
            "m.l.2.q.w",
            "m.l.2.k.w",
            "m.norm",
        ];
        assert_eq!(
            drawn(&names),
            [
                "m: 8 arrays, 32 B",
                "  embed.w",
                "  l: 6 arrays, 24 B",
                "    0 … 2 (3 alike): 6 arrays, 24 B",
                "      q.w",
                "      k.w",
                "  norm",
            ]
        );
    }

    #[test]
    fn an_array_may_have_the_name_of_a_group() {
        assert_eq!(drawn(&["a", "a.b", "a.c"]), ["a", "a: 2 arrays, 8 B", "  b", "  c"]);
        assert_eq!(drawn(&["/x/y", "/x/z", ".", ".."]).len(), 6);
        drawn(&[&".".repeat(100_000)]);
    }
}
