//! What known consumers do with an object: the library's profiles, over the description that the
//! package's `_explain` makes of the object.

use crossdock::bindings::explain::{self, Answer, ElementType, Protocol, Subject};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::object::downcast;

/// A protocol's answer as `_explain.facts` writes it: the fields of `Answer`. Fields with their
/// default value are missing.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Facts {
    protocol: String,
    #[pyo3(default)]
    refusal: Option<String>,
    #[pyo3(default)]
    address: Option<i64>,
    #[pyo3(default)]
    shape: Option<Vec<i64>>,
    #[pyo3(default)]
    strides: Option<Vec<i64>>,
    /// Kind, itemsize, whether it is byte-swapped, name, unit.
    #[pyo3(default)]
    element: Option<(String, i64, bool, String, String)>,
    #[pyo3(default)]
    readonly: Option<bool>,
    #[pyo3(default)]
    lost: Option<String>,
    #[pyo3(default)]
    is_indirect: bool,
    #[pyo3(default = 1)]
    device: i32,
    #[pyo3(default)]
    is_odd: bool,
    #[pyo3(default)]
    format: String,
    #[pyo3(default)]
    item: i64,
    #[pyo3(default)]
    struct_size: Option<i64>,
    #[pyo3(default)]
    is_indexable: bool,
    #[pyo3(default)]
    simple: Option<AxesOrRefusal>,
    #[pyo3(default)]
    any_order: Option<AxesOrRefusal>,
    #[pyo3(default)]
    version: Option<(u32, u32)>,
    #[pyo3(default = 1)]
    lanes: u32,
    #[pyo3(default = true)]
    has_deleter: bool,
    #[pyo3(default)]
    has_offset: bool,
    #[pyo3(default)]
    nulls: i64,
    #[pyo3(default)]
    is_alone: bool,
    #[pyo3(default)]
    extensions: Vec<String>,
    #[pyo3(default)]
    typestr: String,
    #[pyo3(default = true)]
    has_strides: bool,
    #[pyo3(default)]
    is_bytes: bool,
    #[pyo3(default)]
    is_old: bool,
    #[pyo3(default)]
    is_aligned: Option<bool>,
}

/// The axes of a buffer of bytes, or the text of the refusal.
#[derive(FromPyObject)]
enum AxesOrRefusal {
    Axes(i64),
    Refusal(String),
}

impl AxesOrRefusal {
    fn into_result(this: Option<Self>) -> Result<i64, String> {
        match this {
            Some(Self::Axes(axes)) => Ok(axes),
            Some(Self::Refusal(refusal)) => Err(refusal),
            None => Err("it was not called".to_owned()),
        }
    }
}

impl Facts {
    fn into_answer(self) -> PyResult<(Protocol, Answer)> {
        let unknown = || PyValueError::new_err(format!("there is no protocol {:?}", self.protocol));
        let protocol = Protocol::named(&self.protocol).ok_or_else(unknown)?;
        let element =
            |(kind, itemsize, is_swapped, name, unit)| ElementType { kind, itemsize, is_swapped, name, unit };
        let answer = Answer {
            refusal: self.refusal,
            address: self.address,
            shape: self.shape,
            strides: self.strides,
            element: self.element.map(element),
            readonly: self.readonly,
            copied: None,
            lost: self.lost,
            is_indirect: self.is_indirect,
            device: self.device,
            is_odd: self.is_odd,
            format: self.format,
            item: self.item,
            struct_size: self.struct_size,
            is_indexable: self.is_indexable,
            simple: AxesOrRefusal::into_result(self.simple),
            any_order: AxesOrRefusal::into_result(self.any_order),
            version: self.version,
            lanes: self.lanes,
            has_deleter: self.has_deleter,
            has_offset: self.has_offset,
            nulls: self.nulls,
            is_alone: self.is_alone,
            extensions: self.extensions,
            typestr: self.typestr,
            has_strides: self.has_strides,
            is_bytes: self.is_bytes,
            is_old: self.is_old,
            is_aligned: self.is_aligned,
        };
        Ok((protocol, answer))
    }
}

/// Name, library, the version measured, and whether tests check that version.
type Known = (&'static str, &'static str, &'static str, bool);

/// The known consumers.
#[pyfunction]
pub(crate) fn _consumers() -> Vec<Known> {
    explain::profiles()
        .map(|profile| (profile.name, profile.library, profile.measured_on, profile.is_tested))
        .collect()
}

/// The names of the protocols, in display order.
#[pyfunction]
pub(crate) fn _protocols() -> Vec<&'static str> {
    Protocol::NAMES.into_iter().map(|(_, name)| name).collect()
}

/// What each known consumer does with an object of this description, as outcome and reason.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the fields of a subject")]
pub(crate) fn _judge(
    answers: Vec<Facts>,
    class_name: String,
    storage: String,
    is_sequence: bool,
    item: Option<String>,
    is_registered: bool,
    methods: Vec<String>,
    jax_in_64_bits: bool,
) -> PyResult<Vec<(&'static str, String)>> {
    let answers = answers.into_iter().map(Facts::into_answer).collect::<PyResult<_>>()?;
    let subject = Subject {
        answers,
        class: class_name,
        storage,
        is_sequence,
        item,
        is_registered,
        methods,
        jax_in_64_bits,
    };
    Ok(judged(&subject))
}

/// What each known consumer does with an array of this type, as outcome and reason, by the
/// library's own description; `None` for other objects.
#[pyfunction]
pub(crate) fn _judge_array(
    object: &Bound<'_, PyAny>,
    jax_in_64_bits: bool,
) -> Option<Vec<(&'static str, String)>> {
    let mut subject = explain::subject_of(&downcast(object)?.array);
    subject.jax_in_64_bits = jax_in_64_bits;
    if object.py().version_info() < (3, 12) {
        // Its memoryview reads no floats of 16 bits.
        for (_, answer) in &mut subject.answers {
            answer.is_indexable &= answer.format != "e";
        }
    }
    Some(judged(&subject))
}

fn judged(subject: &Subject) -> Vec<(&'static str, String)> {
    let judged = explain::profiles().map(|profile| explain::judge(profile, subject));
    judged.map(|(outcome, reason)| (outcome.name(), reason)).collect()
}
