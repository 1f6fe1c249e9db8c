//! Apache Arrow's crates `arrow-array`, `arrow-buffer`, `arrow-data` and `arrow-schema`: buffers,
//! columns and batches, zero-copy.
//!
//! | from | to | |
//! |---|---|---|
//! | `MutableBuffer` | [`Buffer`] | adopted; sole |
//! | `arrow_buffer::Buffer` | [`Buffer`] | adopted if it is Arrow's own; else kept, read-only |
//! | `ScalarBuffer<T>` | [`Array`] of rank 1 | likewise |
//! | `&ArrayData` | [`DArray`] | kept, read-only; lists of a fixed size are further axes |
//! | [`&Buffer`](Buffer) | `arrow_buffer::Buffer` | same bytes, under a Read lease |
//! | [`&Array`](Array) of rank 1 | `ScalarBuffer<T>` | likewise, if aligned and without gaps |
//! | [`&DArray`](DArray) | `ArrayData` | likewise, if row-major, of any rank but 0 |
//! | `&dyn Array`, `&RecordBatch` | [`Column`](crate::table::Column), [`RecordBatch`](crate::table::RecordBatch) | kept, read-only; any type |
//! | [`&Column`](crate::table::Column), [`&RecordBatch`](crate::table::RecordBatch) | `Arc<dyn Array>`, `RecordBatch` | under one Read lease; arrow-rs checks the elements |
//!
//! Arrow's buffers are constant by contract. An export therefore holds a Read lease until the last
//! of Arrow's clones is dropped, and the memory cannot be written until then. Memory that another
//! process or library may write at any time (shared memory, mapped files, DLPack imports) has no
//! Read lease and is refused, as is memory on a device. A lease keeps the memory alive by itself,
//! so exports take a reference, and a refusal loses nothing.
//!
//! ```
//! use arrow_buffer::ScalarBuffer;
//! use arrow_data::ArrayData;
//! use arrow_schema::DataType;
//! use crossdock::{Array, DArray};
//!
//! let array = Array::from_vec(vec![1.5f32, 2.5, 3.5, 4.5, 5.5, 6.5], [3, 2])?;
//! let column = ArrayData::try_from(&DArray::from(array.clone()))?;
//! assert_eq!((column.len(), column.child_data()[0].buffer::<f32>(0)[4]), (3, 5.5));
//! assert!(array.write().is_err()); // Arrow relies on it
//! drop(column);
//! assert!(array.write().is_ok());
//!
//! let theirs = ArrayData::builder(DataType::Int64).len(2).add_buffer(vec![7i64, 8].into()).build()?;
//! let ours = DArray::try_from(&theirs)?;
//! assert_eq!(ours.as_ptr(), theirs.buffers()[0].as_ptr());
//! let ours = Array::<i64, 1>::try_from(ScalarBuffer::from(vec![7i64, 8]))?;
//! assert!(ours.set([0], 9).is_ok()); // no other handle shares it
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An exported array is aligned for its elements. A buffer of bytes keeps its address:
//! `ScalarBuffer::new` panics if that is not aligned for the element type.
//!
//! [`Buffer`]: crate::buffer::Buffer
//! [`Array`]: crate::Array
//! [`DArray`]: crate::DArray

mod buffer;
mod data;
mod dtype;
mod table;
