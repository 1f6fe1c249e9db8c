//! The pickles that `torch.save` writes, read as data: no function of a pickle is ever called.
//!
//! A pickle is a program for a stack of values. Only the instructions that describe texts, numbers,
//! lists, dictionaries and tensors are known. An object of any other class is kept as its name.

use std::collections::HashMap;
use std::rc::Rc;

use crate::error::{Advice, Error, Kind, Result};

/// A value. Containers are numbers in [`Pickle`], so that a deeply nested one is dropped flat.
#[derive(Clone, Debug)]
pub(super) enum Pickled {
    Nothing,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Rc<str>),
    Tuple(usize),
    List(usize),
    Dict(usize),
    /// A class or a function, as `module.name`.
    Global(Rc<str>),
    Storage(Rc<PickledStorage>),
    Tensor(Rc<PickledTensor>),
    /// An object of this class, or the result of this function.
    Object(Rc<str>),
    /// A tensor that cannot be opened, with the reason.
    NoTensor(Rc<str>),
}

/// The elements of one or more tensors: a record of the archive.
#[derive(Debug)]
pub(super) struct PickledStorage {
    /// The name of its type, as `torch.FloatStorage`.
    pub(super) kind: Rc<str>,
    /// The name of the record.
    pub(super) key: Rc<str>,
}

/// A tensor: a view of a storage.
#[derive(Debug)]
pub(super) struct PickledTensor {
    pub(super) storage: Rc<PickledStorage>,
    /// The type of its elements, as `torch.uint16`, if the storage has none.
    pub(super) dtype: Option<Rc<str>>,
    /// In elements, here and below.
    pub(super) offset: i64,
    pub(super) shape: Vec<i64>,
    pub(super) strides: Vec<i64>,
}

/// A pickle that was read.
#[derive(Debug)]
pub(super) struct Pickle {
    /// Lists and tuples.
    pub(super) lists: Vec<Vec<Pickled>>,
    pub(super) dicts: Vec<Vec<(Pickled, Pickled)>>,
    pub(super) root: Pickled,
}

/// The newest protocol.
const NEWEST: u8 = 5;

/// Each instruction takes memory: longer pickles are refused.
const MOST_INSTRUCTIONS: usize = 1 << 22;

/// Each list, tuple and dictionary takes memory, even an empty one: more are refused.
const MOST_CONTAINERS: usize = 1 << 20;

/// The longest name of a class, and the most bytes of all that are made of two texts: a text that
/// is kept once can be used by many instructions.
const MOST_NAMED: usize = 1 << 12;
const MOST_NAMES: usize = 64 << 20;

/// Reads a pickle.
///
/// # Errors
///
/// `is_malformed`; `is_unsupported` for an instruction that `torch.save` does not write for
/// tensors.
pub(super) fn read(bytes: &[u8]) -> Result<Pickle> {
    let mut machine = PickleMachine {
        bytes,
        at: 0,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
        lists: Vec::new(),
        dicts: Vec::new(),
        named: 0,
    };
    let mut left = MOST_INSTRUCTIONS;
    while !machine.step()? {
        left = left.checked_sub(1).ok_or_else(|| {
            let at = machine.at;
            let text = format!("its pickle has more than {MOST_INSTRUCTIONS} instructions, up to byte {at}");
            Error::new(Kind::Unsupported, text).advising(Advice::OpenPickle)
        })?;
    }
    let root = machine.pop()?;
    Ok(Pickle { lists: machine.lists, dicts: machine.dicts, root })
}

pub(super) struct PickleMachine<'a> {
    bytes: &'a [u8],
    at: usize,
    stack: Vec<Pickled>,
    /// The lengths of the stack at the marks.
    marks: Vec<usize>,
    memo: HashMap<u32, Pickled>,
    pub(super) lists: Vec<Vec<Pickled>>,
    pub(super) dicts: Vec<Vec<(Pickled, Pickled)>>,
    /// The bytes of all names of classes.
    named: usize,
}

impl PickleMachine<'_> {
    /// Runs one instruction, and tells whether it was the last.
    fn step(&mut self) -> Result<bool> {
        let at = self.at;
        let [code] = self.array()?;
        match code {
            b'.' => return Ok(true),
            0x80 => {
                let [protocol] = self.array()?;
                if protocol > NEWEST {
                    let text =
                        format!("its pickle is of protocol {protocol}, and {NEWEST} is the newest one");
                    return Err(Error::new(Kind::Unsupported, text));
                }
            }
            // The length of a frame.
            0x95 => drop(self.array::<8>()?),
            b'(' => self.marks.push(self.stack.len()),
            b'N' => self.stack.push(Pickled::Nothing),
            0x88 | 0x89 => self.stack.push(Pickled::Bool(code == 0x88)),
            b'J' | b'K' | b'M' | 0x8a => {
                let number = self.integer(code)?;
                self.stack.push(number);
            }
            b'G' => {
                let number = f64::from_be_bytes(self.array()?);
                self.stack.push(Pickled::Float(number));
            }
            b'X' | 0x8c => {
                let nbytes = self.length(code == 0x8c)?;
                let text = self.text(nbytes)?;
                self.stack.push(Pickled::Text(text));
            }
            b'B' | b'C' => {
                let nbytes = self.length(code == b'C')?;
                self.take(nbytes)?;
                self.stack.push(Pickled::Object("bytes".into()));
            }
            b'}' => self.push_dict()?,
            b']' | 0x8f => self.push_list(Vec::new(), Pickled::List)?,
            b')' => self.push_list(Vec::new(), Pickled::Tuple)?,
            // POP and POP_MARK: Python writes them for a tuple that contains itself.
            b'0' => drop(self.pop()?),
            b'1' => drop(self.pop_mark()?),
            b't' => {
                let items = self.pop_mark()?;
                self.push_list(items, Pickled::Tuple)?;
            }
            0x85..=0x87 => {
                let items = self.pop_many(usize::from(code - 0x84))?;
                self.push_list(items, Pickled::Tuple)?;
            }
            b'a' => {
                let items = self.pop_many(1)?;
                self.append(items)?;
            }
            b'e' | 0x90 => {
                let items = self.pop_mark()?;
                self.append(items)?;
            }
            b's' => {
                let items = self.pop_many(2)?;
                self.set(items)?;
            }
            b'u' => {
                let items = self.pop_mark()?;
                self.set(items)?;
            }
            b'q' | b'r' | b'h' | b'j' | 0x94 => self.memo(code)?,
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.push_global(&module, &name)?;
            }
            0x93 => match <[Pickled; 2]>::try_from(self.pop_many(2)?) {
                Ok([Pickled::Text(module), Pickled::Text(name)]) => {
                    self.push_global(&module, &name)?;
                }
                _ => return Err(malformed("the name of a class is no text")),
            },
            b'Q' => {
                let id = self.pop()?;
                let storage = self.storage(&id)?;
                self.stack.push(storage);
            }
            b'R' | 0x81 => {
                let arguments = self.pop()?;
                let callee = self.pop()?;
                let made = self.made(callee, &arguments, code == b'R')?;
                self.stack.push(made);
            }
            // The state of an object, such as the `_metadata` of a dictionary.
            b'b' => drop(self.pop()?),
            code => {
                let text = format!(
                    "its pickle has the instruction {code:#04x} at byte {at}, which describes no tensor; a pickle \
                    is never executed"
                );
                return Err(Error::new(Kind::Unsupported, text).advising(Advice::OpenPickle));
            }
        }
        Ok(false)
    }

    fn take(&mut self, nbytes: usize) -> Result<&[u8]> {
        let end = self.at.checked_add(nbytes).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| malformed("it ends within an instruction"))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| malformed("it ends within an instruction"))
    }

    /// A length of one byte, or of four.
    fn length(&mut self, is_short: bool) -> Result<usize> {
        Ok(if is_short { self.array::<1>()?[0].into() } else { u32::from_le_bytes(self.array()?) as usize })
    }

    fn text(&mut self, nbytes: usize) -> Result<Rc<str>> {
        let text = std::str::from_utf8(self.take(nbytes)?);
        text.map(Into::into).map_err(|_| malformed("a text is not UTF-8"))
    }

    /// The text up to the end of the line.
    fn line(&mut self) -> Result<Rc<str>> {
        let nbytes = self.bytes[self.at..].iter().position(|&byte| byte == b'\n');
        let text = self.text(nbytes.ok_or_else(|| malformed("it ends within the name of a class"))?)?;
        self.at += 1;
        Ok(text)
    }

    fn integer(&mut self, code: u8) -> Result<Pickled> {
        Ok(Pickled::Int(match code {
            b'J' => i32::from_le_bytes(self.array()?).into(),
            b'K' => self.array::<1>()?[0].into(),
            b'M' => u16::from_le_bytes(self.array()?).into(),
            _ => {
                let nbytes = self.length(true)?;
                let bytes = self.take(nbytes)?;
                let fill = if bytes.last().is_some_and(|&byte| byte >= 0x80) { 0xff } else { 0 };
                let (low, high) = bytes.split_at(bytes.len().min(8));
                let mut number = [fill; 8];
                number[..low.len()].copy_from_slice(low);
                // More bytes may only repeat the sign.
                if high.iter().any(|&byte| byte != fill) || number[7] >> 7 != fill >> 7 {
                    return Ok(Pickled::Object("int".into()));
                }
                i64::from_le_bytes(number)
            }
        }))
    }

    /// The length of the stack below which instructions up to the next mark may not take values.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    pub(super) fn pop(&mut self) -> Result<Pickled> {
        let popped = if self.stack.len() > self.floor() { self.stack.pop() } else { None };
        popped.ok_or_else(|| malformed("an instruction lacks an operand"))
    }

    fn pop_many(&mut self, count: usize) -> Result<Vec<Pickled>> {
        let first = self.stack.len().checked_sub(count).filter(|&first| first >= self.floor());
        Ok(self.stack.split_off(first.ok_or_else(|| malformed("an instruction lacks an operand"))?))
    }

    fn pop_mark(&mut self) -> Result<Vec<Pickled>> {
        let mark = self.marks.pop().ok_or_else(|| malformed("a mark is missing"))?;
        Ok(self.stack.split_off(mark))
    }

    fn push_list(&mut self, items: Vec<Pickled>, value: impl Fn(usize) -> Pickled) -> Result<()> {
        self.check_containers()?;
        self.stack.push(value(self.lists.len()));
        self.lists.push(items);
        Ok(())
    }

    /// Fails if there may be no more lists and dictionaries.
    fn check_containers(&self) -> Result<()> {
        if self.lists.len() + self.dicts.len() < MOST_CONTAINERS {
            return Ok(());
        }
        let text = format!(
            "its pickle has more than {MOST_CONTAINERS} lists, tuples and dictionaries, up to byte {}",
            self.at
        );
        Err(Error::new(Kind::Unsupported, text).advising(Advice::OpenPickle))
    }

    fn push_global(&mut self, module: &str, name: &str) -> Result<()> {
        let nbytes = module.len() + 1 + name.len();
        self.named += nbytes;
        if nbytes > MOST_NAMED || self.named > MOST_NAMES {
            let text = format!(
                "the name of a class has {nbytes} bytes, and all of them {}; at most {MOST_NAMED} and {MOST_NAMES} \
                are read",
                self.named
            );
            return Err(Error::new(Kind::Unsupported, text));
        }
        self.stack.push(Pickled::Global(format!("{module}.{name}").into()));
        Ok(())
    }

    pub(super) fn push_dict(&mut self) -> Result<()> {
        self.check_containers()?;
        self.stack.push(Pickled::Dict(self.dicts.len()));
        self.dicts.push(Vec::new());
        Ok(())
    }

    /// Adds items to the list on the stack; those of another object are dropped.
    fn append(&mut self, items: Vec<Pickled>) -> Result<()> {
        match self.top()? {
            Pickled::List(list) => self.lists[list].extend(items),
            Pickled::Object(_) => {}
            _ => return Err(malformed("it appends to what is no list")),
        }
        Ok(())
    }

    /// Adds pairs to the dictionary on the stack; those of another object are dropped.
    fn set(&mut self, items: Vec<Pickled>) -> Result<()> {
        let (pairs, rest) = items.as_chunks::<2>();
        match self.top()? {
            Pickled::Dict(dict) if rest.is_empty() => {
                self.dicts[dict].extend(pairs.iter().map(|[key, value]| (key.clone(), value.clone())));
            }
            Pickled::Object(_) => {}
            _ => return Err(malformed("it sets an item of what is no dictionary")),
        }
        Ok(())
    }

    fn top(&self) -> Result<Pickled> {
        let top = self.stack.last().filter(|_| self.stack.len() > self.floor());
        top.cloned().ok_or_else(|| malformed("an instruction lacks an operand"))
    }

    fn memo(&mut self, code: u8) -> Result<()> {
        let index = match code {
            0x94 => self.memo.len() as u32,
            _ => self.length(code == b'q' || code == b'h')? as u32,
        };
        if code == b'h' || code == b'j' {
            let value = self.memo.get(&index).cloned();
            self.stack.push(value.ok_or_else(|| malformed("it uses a value that it did not keep"))?);
        } else {
            let top = self.top()?;
            self.memo.insert(index, top);
        }
        Ok(())
    }

    /// `("storage", type, key, place, length)`.
    fn storage(&self, id: &Pickled) -> Result<Pickled> {
        match self.items(id) {
            [Pickled::Text(what), Pickled::Global(kind), Pickled::Text(key), ..] if &**what == "storage" => {
                Ok(Pickled::Storage(Rc::new(PickledStorage { kind: kind.clone(), key: key.clone() })))
            }
            _ => Err(malformed("what it names outside of itself is no storage")),
        }
    }

    /// The items of a tuple; none of another value.
    pub(super) fn items(&self, value: &Pickled) -> &[Pickled] {
        match value {
            Pickled::Tuple(list) => &self.lists[*list],
            _ => &[],
        }
    }
}

pub(super) fn malformed(text: &str) -> Error {
    Error::new(Kind::Malformed, format!("its pickle is damaged: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_nothing_is_called() {
        let Pickle { lists, dicts, root } =
            read(b"\x80\x02}q\0(X\x01\0\0\0aK\x05X\x01\0\0\0b]q\x01(J\xff\xff\xff\xff\x8a\x02\0\x80NeX\x01\0\0\0ccos\nsystem\nX\x02\0\0\0ls\x85Ru.")
                .unwrap();
        let Pickled::Dict(0) = root else { panic!("{root:?}") };
        let [(_, Pickled::Int(5)), (_, Pickled::List(list)), (_, Pickled::Object(class))] =
            dicts[0].as_slice()
        else {
            panic!("{dicts:?}")
        };
        assert!(matches!(
            lists[*list].as_slice(),
            [Pickled::Int(-1), Pickled::Int(-32768), Pickled::Nothing]
        ));
        assert_eq!(&**class, "os.system");
    }

    #[test]
    fn a_tuple_that_contains_itself_is_read_as_python_writes_it() {
        // t = ([],); t[0].append(t), with protocol 2.
        let Pickle { lists, root, .. } = read(b"\x80\x02]q\0h\0\x85q\x01a0h\x01.").unwrap();
        let Pickled::Tuple(tuple) = root else { panic!("{root:?}") };
        let [Pickled::List(list)] = lists[tuple].as_slice() else { panic!("{lists:?}") };
        assert!(matches!(lists[*list].as_slice(), [Pickled::Tuple(same)] if *same == tuple));
        // The marked form drops the items that the mark precedes.
        let root = read(b"\x80\x02K\x05(K\x01K\x021.").unwrap().root;
        assert!(matches!(root, Pickled::Int(5)), "{root:?}");
    }

    #[test]
    fn damaged_pickles_are_refused_with_the_reason() {
        for (bytes, words) in [
            (&b""[..], "it ends within an instruction"),
            (b"\x80\x06.", "is of protocol 6"),
            (b".", "lacks an operand"),
            (b"(.", "lacks an operand"),
            (b"K", "it ends within"),
            (b"X\xff\xff\xff\xff", "it ends within"),
            (b"X\x01\0\0\0\xff.", "not UTF-8"),
            (b"t", "a mark is missing"),
            (b"h\x01.", "did not keep"),
            (b"NNa.", "appends to what is no list"),
            (b"NNNs.", "sets an item"),
            (b"}(Nu.", "sets an item"),
            (b"NQ.", "is no storage"),
            (b"N)R.", "it calls what"),
            (b"cos\nsystem", "it ends within the name"),
            (b"NN\x93.", "no text"),
            (b"I1\n.", "the instruction 0x49 at byte 0"),
        ] {
            let error = read(bytes).unwrap_err();
            assert!(error.is_malformed() || error.is_unsupported());
            assert!(error.to_string().contains(words), "{bytes:?}: {error}");
        }
    }

    #[test]
    fn long_pickles_are_refused_before_they_are_built() {
        let mut bytes = b"\x80\x02](".to_vec();
        bytes.resize(MOST_INSTRUCTIONS + (1 << 10), b'N');
        let error = read(&[&bytes, &b"e."[..]].concat()).unwrap_err();
        assert!(error.is_unsupported(), "{error}");
        // Byte 0 has an operand.
        let words =
            format!("more than {MOST_INSTRUCTIONS} instructions, up to byte {}", MOST_INSTRUCTIONS + 2);
        assert!(error.to_string().contains(&words), "{error}");
        let nested = [&b"\x80\x02)"[..], &[0x85].repeat(MOST_CONTAINERS), b"."].concat();
        let error = read(&nested).unwrap_err();
        assert!(error.is_unsupported(), "{error}");
        let words =
            format!("{MOST_CONTAINERS} lists, tuples and dictionaries, up to byte {}", nested.len() - 1);
        assert!(error.to_string().contains(&words), "{error}");
    }

    #[test]
    fn names_of_classes_are_limited() {
        // A text of 3000 bytes, which is kept once.
        let kept = [&b"X\xb8\x0b\0\0"[..], "k".repeat(3000).as_bytes(), b"q\x01"].concat();
        let error = read(&[&kept, &b"h\x01\x93."[..]].concat()).unwrap_err();
        assert!(error.to_string().contains("the name of a class has 6001 bytes"), "{error}");
        let used = b"X\x01\0\0\0ah\x01\x93".repeat(MOST_NAMES / 3000);
        let error = read(&[&kept, &used[..], b"."].concat()).unwrap_err();
        let words = format!("has 3002 bytes, and all of them {}", (MOST_NAMES / 3002 + 1) * 3002);
        assert!(error.to_string().contains(&words), "{error}");
    }

    #[test]
    fn integers_may_have_more_bytes_than_they_need() {
        for (bytes, wanted) in [
            (&b"\x8a\x09\x05\0\0\0\0\0\0\0\0."[..], Some(5)),
            (b"\x8a\x09\xfe\xff\xff\xff\xff\xff\xff\xff\xff.", Some(-2)),
            (b"\x8a\x09\0\0\0\0\0\0\0\x80\0.", None),
            (b"\x8a\x09\0\0\0\0\0\0\0\0\x01.", None),
        ] {
            let root = read(bytes).unwrap().root;
            assert!(
                match &root {
                    Pickled::Int(number) => Some(*number) == wanted,
                    Pickled::Object(class) => &**class == "int" && wanted.is_none(),
                    _ => false,
                },
                "{root:?}"
            );
        }
    }
}
