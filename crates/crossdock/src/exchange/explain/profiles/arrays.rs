//! What profiles share whose functions were measured with arrays of NumPy and of this library.

use crate::exchange::explain::rule::Is::{self, Not};
use crate::exchange::explain::rule::Outcome::Unknown;
use crate::exchange::explain::rule::ProfileRule::{self, If};
use crate::exchange::explain::subject::Protocol::{self, Buffer, Interface, Method, Tensor};

/// The class of NumPy's arrays.
pub(super) const NUMPY: &[&str] = &["numpy.ndarray"];

/// The protocols of which one describes each array, with the name of its dtype.
pub(super) const DESCRIBED: &[Protocol] = &[Interface, Buffer, Tensor, Method];

/// Classes of arrays that their library holds constant, while their tensors say that they may be
/// written.
pub(super) const CONSTANT: &[&str] = &["jax.Array", "tensorflow.Tensor"];
pub(super) const WRITES_CONSTANT: &str =
    "the consumer may write memory that its owner holds constant, which the tensor does not say";

pub(super) const MASKED: &[&str] = &[crate::exchange::explain::rule::MASKED];
/// What a description calls the items of a sequence whose classes or lengths differ, or that were
/// not read.
pub(super) const MIXED: &[&str] = &["several classes", "several lengths", "unread classes"];

/// What consumers make of a producer that ignores the request for a contiguous buffer.
pub(super) const GAPPED: &str =
    "the producer grants a contiguous buffer with strides {strides}: other memory is read";
pub(super) const NOT_NUMPY: &str = "it is not a numpy.ndarray";
pub(super) const NO_TYPE: &str = "no type for elements of {dtype}";

/// The first rule of a profile: other objects were not measured.
pub(super) const ARRAYS: ProfileRule = If(
    &[Not(&Is::Class(&["numpy.ndarray", "crossdock.Array"]))],
    Unknown,
    "measured with arrays of NumPy and Crossdock only",
);
