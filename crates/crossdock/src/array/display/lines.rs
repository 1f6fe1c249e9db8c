//! Selects the elements to show, and lays out their words in brackets and lines.

/// The indices to show: all, or the edges of every long axis.
pub(super) struct Grid<'a> {
    shape: &'a [usize],
    /// The number of elements shown at either end of a shortened axis; `None` if no axis is
    /// shortened.
    edge: Option<usize>,
}

/// The text for elements that are left out.
pub(super) const CUT: &str = "...";

/// The page on which the words are laid out.
#[derive(Clone, Copy)]
pub(super) struct Page {
    /// The maximum number of characters in a line, from its left edge.
    pub(super) width: usize,
    /// The column of the first line.
    pub(super) column: usize,
    /// The text between elements; without the space, between lines.
    pub(super) separator: &'static str,
}

impl<'a> Grid<'a> {
    /// Shortens axes above `threshold` elements, or if more than `most` would be shown; then it
    /// also shortens the edges.
    pub(super) fn new(shape: &'a [usize], threshold: usize, edge: usize, most: usize) -> Self {
        let whole = Self { shape, edge: None };
        let shown = whole.shown();
        if shown <= threshold && shown <= most {
            return whole;
        }
        let longest = shape.iter().copied().max().unwrap_or(0);
        let mut cut = Self { shape, edge: Some(edge.min(longest)) };
        while let Some(edge) = cut.edge.filter(|&edge| edge > 0 && cut.shown() > most) {
            cut.edge = Some(edge / 2);
        }
        cut
    }

    /// The edge of an axis, if it is shortened.
    fn edge_of(&self, axis: usize) -> Option<usize> {
        self.edge.filter(|edge| edge.saturating_mul(2) < self.shape[axis])
    }

    fn shown(&self) -> usize {
        let shown = |axis| self.edge_of(axis).map_or(self.shape[axis], |edge| 2 * edge);
        (0..self.shape.len()).map(shown).fold(1, usize::saturating_mul)
    }

    /// All shown indices, in row-major order.
    pub(super) fn indices(&self) -> impl Iterator<Item = Vec<usize>> {
        let mut next = (self.shown() > 0).then(|| vec![0; self.shape.len()]);
        std::iter::from_fn(move || {
            let index = next.take()?;
            let mut after = index.clone();
            for axis in (0..after.len()).rev() {
                after[axis] += 1;
                if let Some(edge) = self.edge_of(axis).filter(|&edge| after[axis] == edge) {
                    after[axis] = self.shape[axis] - edge;
                }
                if after[axis] < self.shape[axis] {
                    next = Some(after);
                    break;
                }
                after[axis] = 0;
            }
            Some(index)
        })
    }

    /// Lays out the words, one for each index, in lines.
    pub(super) fn write(&self, words: &mut dyn Iterator<Item = String>, page: &Page) -> String {
        self.axis(0, words, *page)
    }

    /// The text for one index of each of the first `axis` axes. It is indented by one space per
    /// open bracket, including its own, and leaves room for as many closing brackets.
    fn axis(&self, axis: usize, words: &mut dyn Iterator<Item = String>, page: Page) -> String {
        let rank = self.shape.len();
        if axis == rank {
            return words.next().unwrap_or_default();
        }
        let (first, last, is_cut) = match self.edge_of(axis) {
            Some(edge) => (edge, edge, true),
            None => (self.shape[axis], 0, false),
        };
        let Page { width, column, separator } = page;
        let indent = " ".repeat(column + axis + 1);
        let inner = axis + 1;
        let narrower = Page { width: width.saturating_sub(1), ..page };
        let mut part = || self.axis(inner, words, narrower);
        let mut parts: Vec<String> = (0..first).map(|_| part()).collect();
        parts.extend(is_cut.then(|| CUT.to_owned()));
        parts.extend((0..last).map(|_| part()));
        let text = if inner == rank {
            let mut row = WrappedRow { done: String::new(), line: indent.clone(), letters: indent.len() };
            let most = width.saturating_sub(1);
            for (position, part) in parts.iter().enumerate() {
                if position > 0 {
                    row.push(separator);
                }
                row.add(part, most, &indent);
            }
            row.done + &row.line
        } else {
            let between = separator.trim_end().to_owned() + &"\n".repeat(rank - inner);
            parts.iter().map(|part| format!("{indent}{part}")).collect::<Vec<_>>().join(&between)
        };
        format!("[{}]", &text[indent.len()..])
    }
}

/// The words of the last axis, broken into lines.
struct WrappedRow {
    done: String,
    line: String,
    letters: usize,
}

impl WrappedRow {
    fn push(&mut self, word: &str) {
        self.line += word;
        self.letters += word.chars().count();
    }

    /// Starts a new line if the word does not fit, unless it does not fit there either.
    fn add(&mut self, word: &str, most: usize, indent: &str) {
        if self.letters + word.chars().count() > most && self.letters > indent.len() {
            self.done += self.line.trim_end_matches(' ');
            self.done.push('\n');
            self.line = indent.to_owned();
            self.letters = indent.len();
        }
        self.push(word);
    }
}
