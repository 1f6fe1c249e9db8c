//! Formats that are generated with the dtype that they mean, by laying out the items one by one.

use crossdock::element::{ByteOrder, DType, Field, ScalarKind};
use crossdock_testkit::Coverage;
use fastrand::Rng;

/// Letters of a fixed width, and their meanings behind `<` and behind `@`, on 64-bit Linux.
const NUMBERS: &[(&str, DType, DType)] = &[
    ("?", DType::BOOL, DType::BOOL),
    ("b", DType::I8, DType::I8),
    ("B", DType::U8, DType::U8),
    ("h", DType::I16, DType::I16),
    ("H", DType::U16, DType::U16),
    ("i", DType::I32, DType::I32),
    ("I", DType::U32, DType::U32),
    ("l", DType::I32, DType::I64),
    ("L", DType::U32, DType::U64),
    ("q", DType::I64, DType::I64),
    ("Q", DType::U64, DType::U64),
    ("e", DType::F16, DType::F16),
    ("f", DType::F32, DType::F32),
    ("d", DType::F64, DType::F64),
    ("Zf", DType::C64, DType::C64),
    ("Zd", DType::C128, DType::C128),
];

/// Letters that NumPy does not support, or not everywhere.
const RARE: &[(&str, DType, DType)] = &[
    ("g", DType::native(ScalarKind::LongDouble), DType::native(ScalarKind::LongDouble)),
    ("Zg", DType::native(ScalarKind::ComplexLongDouble), DType::native(ScalarKind::ComplexLongDouble)),
    ("F", DType::C64, DType::C64),
    ("D", DType::C128, DType::C128),
    ("G", DType::native(ScalarKind::ComplexLongDouble), DType::native(ScalarKind::ComplexLongDouble)),
];

/// A generator of formats.
pub(crate) struct Maker<'a> {
    pub(crate) rng: Rng,
    pub(crate) coverage: &'a mut Coverage,
    /// Whether NumPy must support it, too.
    pub(crate) common: bool,
    mark: char,
    names: usize,
}

/// Items, one after another.
struct Laid {
    fields: Vec<(Option<String>, usize, DType)>,
    end: usize,
    alignment: usize,
}

fn up(offset: usize, alignment: usize) -> usize {
    (0..alignment).map(|more| offset + more).find(|offset| offset % alignment == 0).unwrap()
}

/// The part of C's alignment rules that these letters need.
fn alignment(dtype: &DType) -> usize {
    match dtype.to_string().trim_start_matches(['<', '>']) {
        "longdouble" | "clongdouble" => 16,
        "complex64" => 4,
        "complex128" => 8,
        text if text.starts_with('U') => 4,
        text if text.starts_with(['S', 'V']) => 1,
        _ => dtype.itemsize(),
    }
}

impl<'a> Maker<'a> {
    pub(crate) fn new(rng: Rng, coverage: &'a mut Coverage, common: bool) -> Self {
        Self { rng, coverage, common, mark: '@', names: 0 }
    }

    /// A format, its meaning, and the sizes that an item of it may have.
    pub(crate) fn format(&mut self) -> (String, DType, Vec<usize>) {
        loop {
            (self.mark, self.names) = ('@', 0);
            let mut text = String::new();
            let laid = self.items(&mut text, 0);
            // NumPy takes padding alone for an empty record.
            if laid.fields.is_empty() {
                continue;
            }
            let mut sizes = vec![laid.end];
            if self.mark == '@' {
                sizes.push(up(laid.end, laid.alignment));
                self.note(sizes[0] != sizes[1], "items with padding behind them");
            }
            let dtype = match laid.fields.as_slice() {
                [(None, 0, only)] if only.itemsize() == laid.end => only.clone(),
                _ => record(&laid.fields, laid.end),
            };
            return (text, dtype, sizes);
        }
    }

    fn note(&mut self, condition: bool, class: &str) {
        self.coverage.note_if(condition, class);
    }

    fn items(&mut self, text: &mut String, depth: usize) -> Laid {
        let mut laid = Laid { fields: Vec::new(), end: 0, alignment: 1 };
        let count = if depth == 0 && self.rng.bool() { 1 } else { self.rng.usize(0..5) };
        for _ in 0..count {
            if !self.common && self.rng.u8(0..10) == 0 {
                text.push([' ', '\t', '\n'][self.rng.usize(0..3)]);
                self.note(true, "white space");
            }
            self.item(text, depth, &mut laid);
        }
        self.note(depth == 0 && laid.fields.len() > 1, "several items outside of a record");
        laid
    }

    fn item(&mut self, text: &mut String, depth: usize, laid: &mut Laid) {
        let shape: Vec<usize> = match self.rng.u8(0..5) {
            0 => (0..self.rng.usize(1..4)).map(|_| self.rng.usize(0..4)).collect(),
            _ => vec![],
        };
        if !shape.is_empty() {
            let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
            text.push_str(&format!("({})", extents.join(",")));
            self.note(true, "a shape");
        }
        if self.rng.u8(0..4) == 0 {
            self.mark = ['@', '^', '=', '<', '>', '!'][self.rng.usize(0..6)];
            text.push(self.mark);
            self.coverage.note(format!("behind {}", self.mark));
        }
        let count = if self.rng.u8(0..4) == 0 { Some(self.rng.usize(0..12)) } else { None };
        text.push_str(&count.map(|count| count.to_string()).unwrap_or_default());
        let many = count.unwrap_or(1);
        let repeated = |base: DType| if many == 1 { base } else { DType::subarray(&[many], base).unwrap() };
        let mut padding = false;
        let (base, align) = match self.rng.u8(0..12) {
            0 if depth < 3 => {
                text.push_str("T{");
                let inner = self.items(text, depth + 1);
                text.push('}');
                let size = if self.mark == '@' { up(inner.end, inner.alignment) } else { inner.end };
                self.note(depth > 0, "a record in a record");
                self.note(size != inner.end, "a record with padding behind its items");
                (repeated(record(&inner.fields, size)), inner.alignment)
            }
            1 | 2 => {
                padding = true;
                text.push('x');
                (DType::void(many).unwrap(), 1)
            }
            3 => {
                text.push('s');
                (DType::bytes(many).unwrap(), 1)
            }
            4 => {
                text.push('w');
                (self.ordered(DType::text(many).unwrap()), 4)
            }
            5 => {
                text.push('c');
                (repeated(DType::bytes(1).unwrap()), 1)
            }
            6 if !self.common => {
                let (letter, dtype, _) = self.rng.choice(RARE).unwrap().clone();
                text.push_str(letter);
                let align = alignment(&dtype);
                (repeated(self.ordered(dtype)), align)
            }
            7 if !self.common => {
                text.push('p');
                (DType::void(many).unwrap(), 1)
            }
            8 if !self.common && matches!(self.mark, '@' | '^') => {
                let letter = ['n', 'N', 'P'][self.rng.usize(0..3)];
                text.push(letter);
                let dtype = match letter {
                    'n' => DType::I64,
                    'N' => DType::U64,
                    _ => DType::native(ScalarKind::Pointer),
                };
                (repeated(dtype), 8)
            }
            _ => {
                let (letter, standard, native) = self.rng.choice(NUMBERS).unwrap().clone();
                text.push_str(letter);
                let dtype = if matches!(self.mark, '@' | '^') { native } else { standard };
                let align = alignment(&dtype);
                (repeated(self.ordered(dtype)), align)
            }
        };
        let name = if self.rng.u8(0..3) == 0 {
            self.names += 1;
            let name =
                ["é", "f", "a b", "x}y", "T{"][self.rng.usize(0..5)].to_owned() + &self.names.to_string();
            text.push_str(&format!(":{name}:"));
            self.note(true, "a name");
            Some(name)
        } else {
            None
        };
        let dtype = DType::subarray(&shape, base).unwrap();
        if self.mark == '@' {
            laid.alignment = laid.alignment.max(align);
            let offset = up(laid.end, align);
            self.note(offset != laid.end, "padding between items");
            laid.end = offset;
        }
        let (offset, end) = (laid.end, laid.end + dtype.itemsize());
        if !padding || name.is_some() {
            laid.fields.push((name, offset, dtype));
        }
        laid.end = end;
    }

    fn ordered(&self, dtype: DType) -> DType {
        match self.mark {
            '<' => dtype.with_byte_order(ByteOrder::Little),
            '>' | '!' => dtype.with_byte_order(ByteOrder::Big),
            _ => dtype.with_byte_order(ByteOrder::NATIVE),
        }
    }
}

/// Unnamed items are `f0`, `f1`, …, except for names that are taken.
fn record(fields: &[(Option<String>, usize, DType)], itemsize: usize) -> DType {
    let mut number = 0;
    let mut named = Vec::new();
    for (name, offset, dtype) in fields {
        let name = name.clone().unwrap_or_else(|| {
            while fields.iter().any(|(name, ..)| name.as_deref() == Some(&format!("f{number}"))) {
                number += 1;
            }
            number += 1;
            format!("f{}", number - 1)
        });
        named.push(Field::new(name, *offset, dtype.clone()));
    }
    DType::record(named, itemsize).unwrap()
}
