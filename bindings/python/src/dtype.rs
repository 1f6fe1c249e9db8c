//! Dtypes in Python: read from texts, types, and the dtype objects of other libraries.

use crossdock::bindings::MAX_DEPTH;
use crossdock::bindings::dialect::{self, pep3118};
use crossdock::element::{ByteOrder, DType, Field, ScalarKind};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};

use crate::dtype_object::DTypeObject;
use crate::errors::Raise;
use crate::numbers::{has_method, returned};
use crate::parameters::count;
use crate::records;

/// The single letters that are formats of PEP 3118.
const LETTERS: &str = "?bBhHiIlLqQefdgFDG";

/// Names that NumPy, PyTorch or Polars give to dtypes, beside those of the library.
const ALIASES: &[(&str, DType)] = &[
    ("float", DType::F64),
    ("double", DType::F64),
    ("single", DType::F32),
    ("half", DType::F16),
    ("int", DType::I64),
    ("uint", DType::U64),
    ("long", DType::I64),
    ("ulong", DType::U64),
    ("longlong", DType::I64),
    ("ulonglong", DType::U64),
    ("intp", DType::I64),
    ("uintp", DType::U64),
    ("intc", DType::I32),
    ("uintc", DType::U32),
    ("short", DType::I16),
    ("ushort", DType::U16),
    ("byte", DType::I8),
    ("ubyte", DType::U8),
    ("boolean", DType::BOOL),
    ("bool_", DType::BOOL),
    ("complex", DType::C128),
    ("cdouble", DType::C128),
    ("csingle", DType::C64),
    ("float128", DType::native(ScalarKind::LongDouble)),
    ("complex256", DType::native(ScalarKind::ComplexLongDouble)),
];

/// A dtype from its text, from a list or dictionary of fields, from a type (`float`,
/// `numpy.float32`), or from the dtype object of a library.
pub(crate) fn read_dtype(object: &Bound<'_, PyAny>) -> PyResult<DType> {
    read(object, 0)
}

/// `depth` counts the lists, dictionaries and objects around this one, which may contain itself.
fn read(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<DType> {
    if depth > MAX_DEPTH {
        return Err(PyTypeError::new_err(format!("a dtype is nested more than {MAX_DEPTH} levels deep")));
    }
    if let Ok(own) = object.cast::<DTypeObject>() {
        return Ok(own.get().dtype().clone());
    }
    if let Ok(text) = object.cast::<PyString>() {
        return parse(text.to_str()?);
    }
    if let Ok(fields) = object.cast::<PyList>() {
        return of_list(fields, depth);
    }
    if let Ok(fields) = object.cast::<PyDict>() {
        return of_dict(fields, depth);
    }
    if let Ok(pair) = object.cast::<PyTuple>() {
        return of_pair(pair, depth);
    }
    of_object(object, depth)
}

/// A dtype from its text: a name, a type string, a literal of fields, or type strings with commas
/// between them.
fn parse(text: &str) -> PyResult<DType> {
    // NumPy's letters are those of buffers.
    if text.len() == 1 && LETTERS.contains(text) {
        return pep3118::parse(text.as_bytes()).raise();
    }
    if let Some((order, letter)) = marked(text) {
        return Ok(pep3118::parse(letter.as_bytes()).raise()?.with_byte_order(order));
    }
    if let Some((_, dtype)) = ALIASES.iter().find(|(name, _)| *name == text) {
        return Ok(dtype.clone());
    }
    let parts = match text.contains(',') && !text.trim_start().starts_with(['[', '{']) {
        true => outer_parts(text.trim_end_matches(',')),
        false => Vec::new(),
    };
    if parts.len() > 1 || !parts.is_empty() && text.ends_with(',') {
        let parts = parts.into_iter().map(|part| parse(part.trim())).collect::<PyResult<Vec<_>>>()?;
        return DType::packed_record(
            parts.into_iter().enumerate().map(|(index, part)| (format!("f{index}"), part)),
        )
        .raise();
    }
    match repeated(text) {
        Some((shape, base)) => DType::subarray(&shape, parse(base.trim())?).raise(),
        None => text.parse().raise(),
    }
}

/// The byte order and the letter of `<d`, of C's own width in NumPy whatever the mark. `None` for
/// other texts, such as `<f8`.
fn marked(text: &str) -> Option<(ByteOrder, &str)> {
    let (mark, letter) = text.split_at_checked(1)?;
    let order = match mark {
        "<" => ByteOrder::Little,
        ">" => ByteOrder::Big,
        "=" | "|" => ByteOrder::NATIVE,
        _ => return None,
    };
    (letter.len() == 1 && LETTERS.contains(letter)).then_some((order, letter))
}

/// The parts of a text between commas, except those in parentheses.
fn outer_parts(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = text.split(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    parts.collect()
}

/// The shape and the base of `(2, 3)f4` or `3f4`, which NumPy reads as sub-arrays. `None` for other
/// texts, such as `f4` and `('<f4', (2, 3))`.
fn repeated(text: &str) -> Option<(Vec<usize>, &str)> {
    let text = text.trim();
    let (shape, base) = match text.strip_prefix('(') {
        Some(rest) => rest.split_once(')')?,
        None => text.split_at(text.find(|letter: char| !letter.is_ascii_digit())?),
    };
    let lengths = shape.trim().trim_end_matches(',').split(',').map(|len| len.trim().parse().ok());
    let shape: Vec<usize> = lengths.collect::<Option<_>>()?;
    if base.is_empty() { None } else { Some((shape, base)) }
}

/// `[('x', 'f4'), (('title', 'y'), 'i4', (2,))]`: fields without gaps.
fn of_list(list: &Bound<'_, PyList>, depth: usize) -> PyResult<DType> {
    let mut fields = Vec::with_capacity(list.len());
    let mut offset = 0_usize;
    for (index, item) in list.iter().enumerate() {
        let wrong = || {
            PyTypeError::new_err(format!(
                "field {index} is {item}: write (name, dtype) or (name, dtype, shape)"
            ))
        };
        let parts = item.cast::<PyTuple>().map_err(|_| wrong())?;
        if !(2..=3).contains(&parts.len()) {
            return Err(wrong());
        }
        let mut dtype = read(&parts.get_item(1)?, depth + 1)?;
        if parts.len() == 3 {
            dtype = DType::subarray(&crate::shape::extents(&parts.get_item(2)?)?, dtype).raise()?;
        }
        let (title, name) = match parts.get_item(0)?.extract::<(String, String)>() {
            Ok((title, name)) => (Some(title), name),
            Err(_) => (None, parts.get_item(0)?.extract::<String>().map_err(|_| wrong())?),
        };
        let name = if name.is_empty() { format!("f{index}") } else { name };
        let nbytes = dtype.itemsize();
        let field = Field::new(name, offset, dtype);
        fields.push(match title {
            Some(title) => field.with_title(title),
            None => field,
        });
        offset =
            offset.checked_add(nbytes).ok_or_else(|| PyValueError::new_err("the record is too large"))?;
    }
    DType::record(fields, offset).raise()
}

/// `{'names': …, 'formats': …}` with optional offsets, titles and itemsize, or
/// `{'x': ('f4', 0), …}`.
fn of_dict(dict: &Bound<'_, PyDict>, depth: usize) -> PyResult<DType> {
    let Some(names) = dict.get_item("names")? else { return of_offsets(dict, depth) };
    let names: Vec<String> = names.extract()?;
    let formats =
        dict.get_item("formats")?.ok_or_else(|| PyValueError::new_err("the dictionary has no 'formats'"))?;
    let formats =
        formats.try_iter()?.map(|format| read(&format?, depth + 1)).collect::<PyResult<Vec<_>>>()?;
    if dict.get_item("aligned")?.is_some_and(|aligned| aligned.is_truthy().unwrap_or(true)) {
        return Err(PyValueError::new_err("'aligned' is not supported: give 'offsets' and 'itemsize'"));
    }
    let offsets = dict
        .get_item("offsets")?
        .map(|offsets| offsets.try_iter()?.map(|offset| count(&offset?)).collect::<PyResult<Vec<usize>>>());
    let offsets = offsets.transpose()?;
    let titles: Option<Vec<Option<String>>> =
        dict.get_item("titles")?.map(|titles| titles.extract()).transpose()?;
    let lengths = [Some(formats.len()), offsets.as_ref().map(Vec::len), titles.as_ref().map(Vec::len)];
    if lengths.into_iter().flatten().any(|len| len != names.len()) {
        return Err(PyValueError::new_err(format!(
            "{} names and other numbers of formats, offsets or titles",
            names.len()
        )));
    }
    let (mut end, mut fields) = (0_usize, Vec::with_capacity(names.len()));
    for (index, (name, dtype)) in names.into_iter().zip(formats).enumerate() {
        let offset = offsets.as_ref().map_or(end, |offsets| offsets[index]);
        end = offset.saturating_add(dtype.itemsize()).max(if offsets.is_some() { end } else { 0 });
        let field = Field::new(name, offset, dtype);
        fields.push(match titles.as_ref().and_then(|titles| titles[index].clone()) {
            Some(title) => field.with_title(title),
            None => field,
        });
    }
    let itemsize = dict.get_item("itemsize")?.map_or(Ok(end), |itemsize| count(&itemsize))?;
    DType::record(fields, itemsize).raise()
}

fn of_offsets(dict: &Bound<'_, PyDict>, depth: usize) -> PyResult<DType> {
    let mut fields = Vec::with_capacity(dict.len());
    for (name, entry) in dict.iter() {
        let (format, offset) = entry.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().map_err(|_| {
            PyTypeError::new_err(format!("the entry of {name} is {entry}: write {{name: (dtype, offset)}}"))
        })?;
        fields.push(Field::new(name.extract::<String>()?, count(&offset)?, read(&format, depth + 1)?));
    }
    let end = fields.iter().map(|field| field.offset().saturating_add(field.dtype().itemsize())).max();
    DType::record(fields, end.unwrap_or(0)).raise()
}

/// `('f4', (2, 3))`: a sub-array.
fn of_pair(pair: &Bound<'_, PyTuple>, depth: usize) -> PyResult<DType> {
    let (base, shape) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().map_err(|_| {
        PyTypeError::new_err(format!("{pair} is no dtype: write (dtype, shape), or a list of fields"))
    })?;
    DType::subarray(&crate::shape::extents(&shape)?, read(&base, depth + 1)?).raise()
}

fn of_object(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<DType> {
    let py = object.py();
    // NumPy's dtypes, which say more than their type strings.
    if object.getattr_opt(intern!(py, "subdtype"))?.is_some() {
        return records::of_dtype(object);
    }
    // Dtypes of Paddle and others. The narrow floats occupy a byte each in this library's arrays.
    let name = intern!(py, "__dlpack_data_type__");
    if has_method(object, name)? {
        let (code, bits, lanes) = returned(object, name, "(code, bits, lanes)")?;
        return dialect::dlpack::from_dlpack(code, bits, lanes, true).raise();
    }
    // PyArrow's names are those of C: its `float` has 32 bits.
    if let Some(method) = object.getattr_opt(intern!(py, "to_pandas_dtype"))? {
        return read(&method.call0()?, depth + 1);
    }
    if let Ok(of) = object.cast::<PyType>()
        && let Ok(dtype) = parse(&of.name()?.to_string_lossy().to_lowercase())
    {
        return Ok(dtype);
    }
    // Scalar types of JAX and TensorFlow.
    for name in [intern!(py, "dtype"), intern!(py, "as_numpy_dtype")] {
        if let Some(dtype) = object.getattr_opt(name)?.filter(|dtype| !dtype.is_none() && !dtype.is(object)) {
            return read(&dtype, depth + 1);
        }
    }
    // `torch.float32`, `mlx.core.float32`, `polars.Float32`, and types with NumPy's type string.
    let text = match object.getattr_opt(intern!(py, "str"))?.and_then(|text| text.extract::<String>().ok()) {
        Some(text) => text,
        None => object.str()?.to_string_lossy().rsplit('.').next().unwrap_or_default().to_lowercase(),
    };
    parse(&text).map_err(|_| {
        let of = object.get_type().qualname().map(|name| name.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!(
            "{object} ({of}) is no dtype: give a name ('float64'), a type string ('<f8'), a list of fields \
             ([('x', '<f8')]), or the dtype of a library (numpy.float32, torch.float32)"
        ))
    })
}
