//! Arrays of records from columns, and columns from arrays of records.

use std::collections::HashSet;

use crate::array::DArray;
use crate::buffer::UninitBuffer;
use crate::element::DType;
use crate::error::{Error, Kind, Result};
use crate::kernel::{self, Casting, ColumnCopy, Gaps};
use crate::layout::{Layout, Order};
use crate::memory::LeaseKind;
use crate::pool::Pool;

impl DArray {
    /// Combines columns into records, in new memory of the default pool: packed, row-major, in this
    /// order. Copies, and counts, the bytes of all columns. For records with another layout, use
    /// [`DArray::zeros`] and [`DArray::assign_columns`].
    ///
    /// ```
    /// use crossdock::{Array, DArray};
    ///
    /// let price = DArray::from(Array::from_vec(vec![1.5f64, 2.5], [2])?);
    /// let kind = DArray::from(Array::from_vec(vec![7u8, 8], [2])?);
    /// let trades = DArray::from_columns(&[("price", &price), ("kind", &kind)])?;
    /// assert_eq!(trades.dtype().to_string(), "{price: float64 @0, kind: uint8 @8; 9}");
    /// assert_eq!(trades.get(&[1])?.to_string(), "(2.5, 8)");
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// The records have the shape of the column with the fewest axes, and the shapes of all other
    /// columns must begin with it. The remaining axes of a column become a sub-array, the inverse
    /// of [`DArray::to_columns`].
    ///
    /// ```
    /// # use crossdock::{Array, DArray};
    /// let label = DArray::from(Array::from_vec(vec![7u8, 8], [2])?);
    /// let place = DArray::from(Array::from_vec(vec![0.0f32; 6], [2, 3])?);
    /// let points = DArray::from_columns(&[("label", &label), ("place", &place)])?;
    /// assert_eq!(points.dtype().to_string(), "{label: uint8 @0, place: (3,)float32 @1; 13}");
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_shape` if the shapes of the columns do not begin alike, or there are no columns;
    /// `is_dtype` for an empty or repeated name; `is_out_of_memory`; `is_conflict` while another
    /// holder has a Write lease of a column; `is_place`.
    pub fn from_columns(columns: &[(&str, &Self)]) -> Result<Self> {
        let Some((_, shortest)) = columns.iter().min_by_key(|(_, column)| column.rank()) else {
            return Err(Error::new(
                Kind::Shape,
                "no columns were given, so the shape of the records is unknown; give at least one column",
            ));
        };
        Self::from_columns_of_shape(shortest.shape(), columns)
    }

    /// Like [`DArray::from_columns`], for records of the given shape: if every column has more axes
    /// than that, each column becomes a sub-array.
    ///
    /// ```
    /// use crossdock::element::DType;
    /// use crossdock::layout::Order;
    /// use crossdock::{Array, DArray};
    ///
    /// let place = DArray::from(Array::from_vec(vec![0.0f32; 6], [2, 3])?);
    /// let points = DArray::from_columns_of_shape(&[2], &[("place", &place)])?;
    /// assert_eq!((points.shape(), points.dtype().itemsize()), (&[2][..], 12));
    /// assert_eq!(DArray::from_columns(&[("place", &place)])?.shape(), [2, 3]);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`DArray::from_columns`].
    pub fn from_columns_of_shape(shape: &[usize], columns: &[(&str, &Self)]) -> Result<Self> {
        if let Some((name, column)) = columns.iter().find(|(_, column)| !column.shape().starts_with(shape)) {
            return Err(Error::new(
                Kind::Shape,
                format!(
                    "column {name:?} has shape {:?}, but the records have shape {shape:?}; all columns must \
                    have the same shape",
                    column.shape()
                ),
            ));
        }
        let fields = columns.iter().map(|&(name, column)| {
            Ok((name, DType::subarray(&column.shape()[shape.len()..], column.dtype().clone())?))
        });
        let fields = fields.collect::<Result<Vec<(&str, DType)>>>()?;
        let dtype = DType::packed_record(fields.iter().map(|(name, dtype)| (*name, dtype.clone())))?;
        let layout = Layout::contiguous(shape, dtype.itemsize(), Order::RowMajor)?;
        let mut fresh = Pool::default().uninit(layout.nbytes())?;
        let dst: *mut u8 = fresh.as_uninit_mut().as_mut_ptr().cast();
        let _leases =
            columns.iter().map(|(_, column)| column.lease(LeaseKind::Pin)).collect::<Result<Vec<_>>>()?;
        let place = |((_, column), (_, field)): (&(&str, &Self), &(&str, DType))| {
            let inner = &column.shape()[shape.len()..];
            let inner = Layout::contiguous(inner, column.dtype().itemsize(), Order::RowMajor)?;
            Layout::new(layout.shape(), layout.strides(), field.itemsize())?.with_inner(&inner)
        };
        let places = columns.iter().zip(&fields).map(place).collect::<Result<Vec<_>>>()?;
        let mut end = 0;
        let pairs = columns.iter().zip(&places).zip(&fields).map(|(((_, column), layout), (_, field))| {
            let offset = end;
            end += field.itemsize();
            ColumnCopy {
                src: column.as_ptr(),
                from: column.dtype(),
                from_layout: column.layout(),
                dst: dst.wrapping_add(offset),
                to: column.dtype(),
                to_layout: layout,
            }
        });
        let pairs: Vec<ColumnCopy<'_>> = pairs.collect();
        // SAFETY: the columns are arrays (DArray 1 and 2) under the Pin leases `_leases`, whose
        // shapes begin with `shape`. Each destination is its own field of packed records in new
        // memory of `layout.nbytes()` bytes.
        unsafe { kernel::copy_columns(shape, &pairs, Casting::Checked, Gaps::Fill) }?;
        columns.iter().try_for_each(|(_, column)| column.check_fault())?;
        // SAFETY: `copy_columns` wrote every field of every record, and packed records have no
        // other bytes.
        let buffer = unsafe { fresh.assume_init() };
        Self::from_buffer(buffer, dtype, layout, 0)
    }

    /// Writes columns to the fields of these names, under a Share lease held for the call; other
    /// fields keep their values. A column is broadcast to the shape of its field (which is this
    /// array's, followed by the axes of a sub-array), and converted to its dtype. Copies, and
    /// counts, the bytes of these fields, all of them in one pass over the memory. A column that
    /// may share bytes with this array is copied first, as by [`DArray::assign`], so two columns
    /// can be swapped.
    ///
    /// # Errors
    ///
    /// `is_dtype` if a field does not exist or is named twice; `is_shape` if a column cannot be
    /// broadcast; `is_layout` if elements of this array, or two of the fields, overlap; `is_value`
    /// if an element does not fit (other elements may have been written); `is_conflict` while a
    /// Read or Write lease of this array, or a Write lease of a column, is held; `is_read_only`;
    /// `is_place`.
    pub fn assign_columns(&self, columns: &[(&str, &Self)], casting: Casting) -> Result<()> {
        self.check_apart()?;
        self.check_disjoint(columns)?;
        let mut pairs = Vec::with_capacity(columns.len());
        for &(name, column) in columns {
            let field = self.field(name)?;
            let within = |error: Error| error.within(format_args!("column {name:?}"));
            let mut wide = column.broadcast_to(field.shape()).map_err(within)?;
            // A column may be another field of this array, which could be overwritten before it is
            // read.
            if column.may_overlap(self)? {
                wide = column.to_order(Order::RowMajor)?.broadcast_to(field.shape())?;
            }
            pairs.push((wide, field));
        }
        let _ours = self.lease(LeaseKind::Share)?;
        let _theirs =
            pairs.iter().map(|(column, _)| column.lease(LeaseKind::Pin)).collect::<Result<Vec<_>>>()?;
        let columns: Vec<ColumnCopy<'_>> = pairs
            .iter()
            .map(|(column, field)| ColumnCopy {
                src: column.as_ptr(),
                from: column.dtype(),
                from_layout: column.layout(),
                dst: field.as_ptr().cast_mut(),
                to: field.dtype(),
                to_layout: field.layout(),
            })
            .collect();
        // SAFETY: DArray 1 and 2, under the Share lease `_ours` and the Pin leases `_theirs`; each
        // column has its field's shape. No byte of a column belongs to this array: `may_overlap`
        // compared their addresses, or the column is new memory. The fields have no bytes in common
        // (`check_disjoint`).
        unsafe { kernel::copy_columns(self.shape(), &columns, casting, Gaps::Keep) }?;
        pairs.iter().try_for_each(|(column, _)| column.check_fault())
    }

    /// Copies the fields of an array of records, with their names, each to new memory of the
    /// default pool, C-contiguous (row-major). The axes of a sub-array field follow the array's.
    /// [`DArray::field`] returns one field in place. Copies, and counts, the bytes of all fields,
    /// in one pass over the memory.
    ///
    /// ```
    /// use crossdock::{DArray, element::DType, layout::Order};
    ///
    /// let trade = DType::packed_record([("price", DType::F64), ("kind", DType::U8)])?;
    /// let columns = DArray::zeros(trade, &[100], Order::RowMajor)?.to_columns()?;
    /// let (name, price) = &columns[0];
    /// assert_eq!((name.as_str(), price.strides()), ("price", &[8][..]));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_dtype` if the elements are not records; `is_unsupported` if a sub-array's axes exceed
    /// the greatest rank; `is_out_of_memory`; `is_conflict` while a Write lease is held;
    /// `is_place`.
    pub fn to_columns(&self) -> Result<Vec<(String, Self)>> {
        let Some(record) = self.dtype().as_record() else {
            return Err(Error::new(
                Kind::DType,
                format!("{} is not a record, so it has no columns", self.dtype().brief()),
            ));
        };
        let names: Vec<&str> = record.fields().iter().map(|field| field.name()).collect();
        let fields = names.iter().map(|name| self.field(name)).collect::<Result<Vec<_>>>()?;
        let _lease = self.lease(LeaseKind::Pin)?;
        let fresh = |field: &Self| {
            let layout = Layout::contiguous(field.shape(), field.dtype().itemsize(), Order::RowMajor)?;
            Ok((Pool::default().uninit(layout.nbytes())?, layout))
        };
        let mut fresh = fields.iter().map(fresh).collect::<Result<Vec<_>>>()?;
        let columns: Vec<ColumnCopy<'_>> = fields
            .iter()
            .zip(&mut fresh)
            .map(|(field, (memory, layout))| ColumnCopy {
                src: field.as_ptr(),
                from: field.dtype(),
                from_layout: field.layout(),
                dst: memory.as_uninit_mut().as_mut_ptr().cast(),
                to: field.dtype(),
                to_layout: layout,
            })
            .collect();
        // SAFETY: the fields are views of this array (DArray 1 and 2), under the Pin lease
        // `_lease`, whose shapes begin with this shape. Each destination is new memory of its own
        // layout's size.
        unsafe { kernel::copy_columns(self.shape(), &columns, Casting::Checked, Gaps::Fill) }?;
        self.check_fault()?;
        drop(columns);
        let wrap = |((name, field), (memory, layout)): ((&&str, &Self), (UninitBuffer, Layout))| {
            // SAFETY: `copy_columns` with `Gaps::Fill` wrote every element and its padding, hence
            // every byte of the contiguous layout.
            let buffer = unsafe { memory.assume_init() };
            Ok(((*name).to_owned(), Self::from_buffer(buffer, field.dtype().clone(), layout, 0)?))
        };
        names.iter().zip(&fields).zip(fresh).map(wrap).collect()
    }

    /// Fails if two columns would write the same bytes.
    fn check_disjoint(&self, columns: &[(&str, &Self)]) -> Result<()> {
        let mut names = HashSet::new();
        let mut places = Vec::with_capacity(columns.len());
        for &(name, _) in columns {
            if !names.insert(name) {
                return Err(Error::new(
                    Kind::DType,
                    format!("field {name:?} is named twice; name each field once"),
                ));
            }
            // `field` refuses names that do not exist.
            if let Some(field) = self.dtype().field(name).filter(|field| field.dtype().itemsize() > 0) {
                places.push((field.offset(), field.end(), name));
            }
        }
        places.sort_unstable();
        match places.windows(2).find(|pair| pair[0].1 > pair[1].0) {
            None => Ok(()),
            Some(pair) => Err(Error::new(
                Kind::Layout,
                format!(
                    "fields {:?} and {:?} overlap in each record; assign one of them",
                    pair[0].2, pair[1].2
                ),
            )),
        }
    }
}
