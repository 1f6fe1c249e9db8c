//! Compares two arrays: their shapes, their dtypes, and the elements of each field.

use crossdock::DArray;
use crossdock::element::{DType, DTypeKind};

use crate::diff::elements::{Differences, Elements};
use crate::diff::rule::{Comparison, Rule};
use crate::failure::Result;

/// Two arrays, compared.
#[derive(Debug)]
pub(super) struct ArrayDiff {
    pub(super) shapes: [Vec<usize>; 2],
    pub(super) dtypes: [DType; 2],
    /// The types of the columns, as text, if the arrays are columns of tables.
    pub(super) types: Option<[String; 2]>,
    pub(super) differs: bool,
    /// The fields of one array only.
    pub(super) only: [Vec<String>; 2],
    /// The elements, or those of each field that both have.
    pub(super) fields: Vec<FieldDiff>,
}

/// The scalars of two arrays, or of a field of both.
#[derive(Debug)]
pub(super) struct FieldDiff {
    /// The path of the field: `.position.x`; empty without fields.
    pub(super) path: String,
    pub(super) arrays: [DArray; 2],
    /// `None` if the elements were not compared, since the shapes or the kinds of values differ.
    pub(super) tally: Option<Differences>,
}

impl ArrayDiff {
    /// Whether the dtypes differ in more than byte orders and the offsets of fields.
    pub(super) fn dtypes_differ(&self) -> bool {
        !same_type(&self.dtypes[0], &self.dtypes[1])
    }

    /// The dtypes, or the types of the columns, as text.
    pub(super) fn types(&self) -> [String; 2] {
        self.types.clone().unwrap_or_else(|| self.dtypes.each_ref().map(ToString::to_string))
    }

    pub(super) fn shapes_differ(&self) -> bool {
        self.shapes[0] != self.shapes[1]
    }
}

/// How arrays are compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct DiffPlan {
    pub(super) rule: Rule,
    /// Whether numbers of different dtypes may be equal.
    pub(super) any_dtype: bool,
    /// Whether any difference answers the question.
    pub(super) brief: bool,
}

impl DiffPlan {
    /// Compares two arrays. Calls `tick` with the number of bytes that were compared.
    pub(super) fn compare(
        self,
        a: &DArray,
        b: &DArray,
        tick: &(dyn Fn(usize) -> Result<()> + Sync),
    ) -> Result<ArrayDiff> {
        let mut diff = ArrayDiff {
            shapes: [a.shape().to_vec(), b.shape().to_vec()],
            dtypes: [a.dtype().clone(), b.dtype().clone()],
            types: None,
            differs: false,
            only: [Vec::new(), Vec::new()],
            fields: Vec::new(),
        };
        let (ours, mut theirs) = (fields(a)?, fields(b)?);
        for (path, a) in ours {
            let Some(at) = theirs.iter().position(|(other, _)| *other == path) else {
                diff.only[0].push(path);
                continue;
            };
            let (_, b) = theirs.remove(at);
            diff.fields.push(FieldDiff { path, arrays: [a, b], tally: None });
        }
        diff.only[1] = theirs.into_iter().map(|(path, _)| path).collect();
        diff.differs = diff.shapes_differ()
            || !self.any_dtype && diff.dtypes_differ()
            || diff.only.iter().any(|only| !only.is_empty());
        // The path of an array without fields is empty.
        diff.only.iter_mut().for_each(|only| only.retain(|path| !path.is_empty()));
        if diff.shapes_differ() {
            diff.fields.clear();
        }
        let mut fields = std::mem::take(&mut diff.fields);
        for field in &mut fields {
            if self.brief && diff.differs {
                break;
            }
            field.tally = self.field(&field.arrays, tick)?;
            diff.differs |= field.tally.as_ref().is_none_or(|tally| tally.differing > 0);
        }
        diff.fields = fields;
        Ok(diff)
    }

    /// Compares arrays of scalars, if they can be compared.
    fn field(
        self,
        [a, b]: &[DArray; 2],
        tick: &(dyn Fn(usize) -> Result<()> + Sync),
    ) -> Result<Option<Differences>> {
        let (Some(one), Some(other)) = (a.dtype().as_scalar(), b.dtype().as_scalar()) else {
            return Ok(None);
        };
        let kinds = (one.kind(), other.kind());
        let comparison = Comparison::of(kinds.0, kinds.1).filter(|_| a.shape() == b.shape());
        let Some(comparison) = comparison else { return Ok(None) };
        let nbytes = a.dtype().itemsize() + b.dtype().itemsize();
        let elements = Elements { a, b, kinds, comparison, rule: self.rule, brief: self.brief };
        elements.compare(&|count| tick(count * nbytes)).map(Some)
    }
}

/// The scalar fields, with their paths. The axes of sub-arrays follow those of the array.
fn fields(array: &DArray) -> Result<Vec<(String, DArray)>> {
    fn descend(path: &str, array: DArray, found: &mut Vec<(String, DArray)>) -> Result<()> {
        let DTypeKind::Record(record) = array.dtype().kind() else {
            found.push((path.to_owned(), array));
            return Ok(());
        };
        record.fields().iter().try_for_each(|field| {
            descend(&format!("{path}.{}", field.name()), array.field(field.name())?, found)
        })
    }
    let mut found = Vec::new();
    descend("", array.clone(), &mut found)?;
    Ok(found)
}

/// Whether two dtypes differ at most in byte orders and in the offsets of fields.
fn same_type(a: &DType, b: &DType) -> bool {
    match (a.kind(), b.kind()) {
        (DTypeKind::Scalar(a), DTypeKind::Scalar(b)) => a.kind() == b.kind(),
        (DTypeKind::SubArray(a), DTypeKind::SubArray(b)) => {
            a.shape() == b.shape() && same_type(a.base(), b.base())
        }
        (DTypeKind::Record(a), DTypeKind::Record(b)) => {
            let (a, b) = (a.fields(), b.fields());
            a.len() == b.len()
                && a.iter().zip(b).all(|(a, b)| a.name() == b.name() && same_type(a.dtype(), b.dtype()))
        }
        _ => false,
    }
}
