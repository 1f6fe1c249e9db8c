//! The scalars in an element: one column for each.

use crossdock::element::{DType, DTypeKind};

use crate::failure::{Failure, Result};

/// The columns, at most: a sub-array has one for each of its elements.
const MOST: usize = 1 << 16;

/// A scalar at a place in every element.
#[derive(Debug)]
pub(super) struct Column {
    /// The path: `position.x`, `weights[1]`; empty for an element without fields.
    pub(super) name: String,
    pub(super) dtype: DType,
    pub(super) offset: usize,
}

impl Column {
    /// The bytes of the scalar.
    pub(super) fn of<'a>(&self, element: &'a [u8]) -> &'a [u8] {
        &element[self.offset..][..self.dtype.itemsize()]
    }
}

/// The columns of a dtype.
pub(super) fn columns(dtype: &DType) -> Result<Vec<Column>> {
    let mut found = Vec::new();
    descend(dtype, "", 0, &mut found)?;
    Ok(found)
}

fn descend(dtype: &DType, path: &str, offset: usize, found: &mut Vec<Column>) -> Result<()> {
    match dtype.kind() {
        DTypeKind::Scalar(_) => {
            if found.len() == MOST {
                let text = format!("the elements have more than {MOST} scalars; pick a field by a view");
                return Err(Failure::new(text));
            }
            found.push(Column { name: path.to_owned(), dtype: dtype.clone(), offset });
            Ok(())
        }
        DTypeKind::Record(record) => record.fields().iter().try_for_each(|field| {
            let dot = if path.is_empty() { "" } else { "." };
            let path = format!("{path}{dot}{}", field.name());
            descend(field.dtype(), &path, offset + field.offset(), found)
        }),
        DTypeKind::SubArray(subarray) => {
            let mut index = vec![0; subarray.shape().len()];
            (0..subarray.len()).try_for_each(|position| {
                let mut rest = position;
                for (part, &length) in index.iter_mut().zip(subarray.shape()).rev() {
                    (*part, rest) = (rest % length, rest / length);
                }
                let parts: Vec<String> = index.iter().map(ToString::to_string).collect();
                let at = offset + position * subarray.base().itemsize();
                descend(subarray.base(), &format!("{path}[{}]", parts.join(",")), at, found)
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_sub_arrays_become_columns() {
        let dtype: DType = "[('id', '|u1'), ('at', [('x', '<f4'), ('v', '<i2', (2, 2))])]".parse().unwrap();
        let all = columns(&dtype).unwrap();
        let told: Vec<_> = all.iter().map(|column| (column.name.as_str(), column.offset)).collect();
        let expected =
            [("id", 0), ("at.x", 1), ("at.v[0,0]", 5), ("at.v[0,1]", 7), ("at.v[1,0]", 9), ("at.v[1,1]", 11)];
        assert_eq!(told, expected);
        assert_eq!(columns(&DType::F64).unwrap()[0].name, "");
        let huge = DType::packed_record([("v", DType::subarray(&[1 << 30], DType::U8).unwrap())]).unwrap();
        assert!(columns(&huge).is_err());
    }
}
