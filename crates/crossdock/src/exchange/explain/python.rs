//! An array as Python's libraries see it: what a `crossdock.Array` answers by each protocol.

use crate::array::DArray;
use crate::element::dialect::{arrow::BOOL8, pep3118 as format, typestr};
use crate::element::{DType, ScalarKind};
use crate::error::{Error, Kind, Result};
use crate::exchange::explain::misread::{misread_format, misread_interface};
use crate::exchange::explain::subject::{Answer, ElementType, Protocol, Subject};
use crate::exchange::protocol::array_interface::{self, InterfaceType};
use crate::exchange::protocol::{arrow, dlpack, pep3118};
use crate::layout::Order;
use crate::view::{Reason, Refusal};

/// The description of an array as a `crossdock.Array`, which the profiles judge.
pub fn subject(array: &DArray) -> Subject {
    let described = described(array);
    let mut answers = vec![
        (Protocol::Buffer, buffer_answer(array, &described)),
        (Protocol::Tensor, tensor(array, &described, copied)),
        (Protocol::LegacyTensor, legacy_tensor(array, &described)),
        // The functions in C never copy.
        (Protocol::TensorApi, tensor(array, &described, |refusal, _| refused(refusal.fact()))),
    ];
    let column = |answer: Result<i64, Refusal>| match answer {
        Ok(nulls) => {
            Answer { nulls, extensions: extensions(array), readonly: Some(true), ..described.clone() }
        }
        Err(refusal) => refused(refusal.fact()),
    };
    let options = arrow::ExportOptions::new();
    let lent = arrow::export(array, &options).map(|it| it.array().null_count);
    answers.push((Protocol::Column, column(lent)));
    let lent = arrow::export_device(array, &options).map(|it| it.array().array.null_count);
    answers.push((Protocol::DeviceColumn, column(lent)));
    // If an interface cannot describe an array, a `crossdock.Array` does not have the attribute.
    if let Ok(words) = interface(array) {
        let has_strides = !array.is_contiguous(Order::RowMajor);
        let typestr = words.typestr().to_owned();
        answers.push((Protocol::Interface, Answer { typestr, has_strides, ..described.clone() }));
        if has_struct(array.dtype()) {
            answers.push((Protocol::InterfaceStruct, described.clone()));
        }
    }
    if cuda_interface(array).is_ok() {
        answers.push((Protocol::CudaInterface, described.clone()));
    }
    let is_offered =
        |protocol: &Protocol| answers.iter().any(|(own, answer)| own == protocol && answer.refusal.is_none());
    if ![Protocol::Buffer, Protocol::Interface, Protocol::InterfaceStruct].iter().any(is_offered) {
        let is_aligned = array.dtype().as_scalar().map(|_| is_aligned(array));
        let answer = match pep3118::lend(array) {
            Ok(_) => Answer { address: Some(address(array)), is_aligned, ..described },
            Err(error) => refused(error.fact()),
        };
        answers.push((Protocol::Method, answer));
    }
    Subject {
        answers,
        class: "crossdock.Array".to_owned(),
        is_sequence: array.rank() > 0,
        storage: String::new(),
        item: Some(String::new()),
        is_registered: false,
        methods: ["__dlpack_device__", "__len__", "__iter__", "tobytes"].map(str::to_owned).to_vec(),
        jax_in_64_bits: false,
    }
}

/// The format of a buffer that is exported with these flags.
pub(super) fn buffer(array: &DArray, flags: pep3118::Flags) -> Result<String> {
    let given = flags.given(array.layout(), array.is_readonly())?;
    let dtype = array.dtype();
    let text = match array.is_indirect() || is_aligned(array) {
        true => format::print(dtype)?,
        false => format::print_unaligned(dtype)?,
    };
    if let Some(why) = misread_format(dtype).filter(|_| given.format) {
        return Err(Error::new(
            Kind::Unsupported,
            format!("{why}, and these are elements of {}", dtype.brief()),
        ));
    }
    pep3118::lend(array).map(|_| text)
}

fn address(array: &DArray) -> i64 {
    array.as_ptr().addr().cast_signed() as i64
}

/// Whether every element is aligned as C requires.
fn is_aligned(array: &DArray) -> bool {
    let alignment = array.dtype().alignment();
    array.as_ptr().addr().is_multiple_of(alignment) && array.layout().is_aligned(alignment)
}

/// The elements in the terms of NumPy's array interface.
pub(super) fn interface(array: &DArray) -> Result<InterfaceType> {
    if !array.place().is_host() {
        let text = format!("the array interface names no device, and this array is on {}", array.place());
        return Err(Error::new(Kind::Place, text));
    }
    if misread_interface(array.dtype()) {
        let text = format!(
            "consumers of the array interface take the padding in {} for fields",
            array.dtype().brief()
        );
        return Err(Error::new(Kind::Unsupported, text));
    }
    words(array)
}

/// The elements in the terms of CUDA's array interface.
pub(super) fn cuda_interface(array: &DArray) -> Result<InterfaceType> {
    if !array_interface::cuda::is_for(array.place()) {
        let text = format!("the array is on {}, and not on a device of CUDA", array.place());
        return Err(Error::new(Kind::Place, text));
    }
    words(array)
}

fn words(array: &DArray) -> Result<InterfaceType> {
    let words = InterfaceType::of(array.dtype())?;
    if let Some(suboffsets) = array.layout().suboffsets() {
        let text = format!("the array follows pointers (suboffsets {suboffsets:?})");
        return Err(Error::new(Kind::Layout, text));
    }
    array_interface::lend_ordered(array).map(|_| words)
}

/// Whether the struct of the array interface describes elements of this dtype: consumers read other
/// letters for text, and the struct has no unit for dates.
fn has_struct(dtype: &DType) -> bool {
    dtype.as_scalar().is_some_and(|scalar| {
        !matches!(scalar.kind(), ScalarKind::Text(_) | ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_))
    })
}

/// The properties of an array that all protocols report.
fn described(array: &DArray) -> Answer {
    let layout = array.layout().normalized();
    Answer {
        // Interfaces and tensors without elements have a null address.
        address: Some(if array.is_empty() { 0 } else { address(array) }),
        shape: Some(layout.shape().iter().map(|&length| length as i64).collect()),
        strides: Some(layout.strides().iter().map(|&stride| stride as i64).collect()),
        element: Some(element(array.dtype())),
        readonly: Some(array.is_readonly()),
        is_indirect: layout.suboffsets().is_some(),
        device: array.place().kind().0,
        version: Some((dlpack::abi::VERSION.major, dlpack::abi::VERSION.minor)),
        ..Answer::default()
    }
}

fn buffer_answer(array: &DArray, described: &Answer) -> Answer {
    let plain = |flags, axes| buffer(array, flags).map(|_| axes).map_err(|error| words_of(error.fact()));
    let answer = match buffer(array, pep3118::Flags::FULL_RO) {
        Ok(format) => {
            let mut letters = format.trim_start_matches(['@', '=', '<', '>', '!']).chars();
            let letter = letters.next().filter(|_| letters.as_str().is_empty());
            let is_in = |known: &str| letter.is_some_and(|letter| known.contains(letter));
            Answer {
                struct_size: is_in("?cbBhHiIlLqQnNefdsxpP").then_some(described.itemsize()),
                is_indexable: is_in("?cbBhHiIlLqQnNefdP") && !format.starts_with(['=', '<', '>', '!']),
                item: described.itemsize(),
                format,
                ..described.clone()
            }
        }
        Err(error) => refused(error.fact()),
    };
    Answer {
        simple: plain(pep3118::Flags::SIMPLE, 1),
        any_order: plain(pep3118::Flags::ANY_CONTIGUOUS, array.rank() as i64),
        ..answer
    }
}

fn tensor(array: &DArray, described: &Answer, otherwise: fn(&Refusal, &Answer) -> Answer) -> Answer {
    // SAFETY: `export_versioned` below makes the only export with these options; its tensor is
    // dropped in this function, so no consumer obtains or writes it.
    let options = unsafe { dlpack::ExportOptions::new().ordered().trust_readonly() };
    match dlpack::export_versioned(array, &options) {
        Ok(exported) => {
            Answer { lanes: exported.managed().dl_tensor.dtype.lanes.into(), ..described.clone() }
        }
        Err(refusal) => otherwise(&refusal, described),
    }
}

fn legacy_tensor(array: &DArray, described: &Answer) -> Answer {
    match dlpack::export_legacy(array, &dlpack::ExportOptions::new().ordered()) {
        Ok(exported) => {
            let lanes = exported.managed().dl_tensor.dtype.lanes.into();
            Answer { lanes, version: None, readonly: Some(false), ..described.clone() }
        }
        Err(refusal) => Answer { version: None, ..copied(&refusal, described) },
    }
}

/// The answer of `__dlpack__` where an array is not exported in place: a copy in row-major order if
/// only its strides stand in the way, as the array API standard wants.
fn copied(refusal: &Refusal, described: &Answer) -> Answer {
    if !matches!(refusal.reason(), Reason::Layout(_)) {
        return refused(refusal.fact());
    }
    Answer {
        address: None,
        strides: None,
        readonly: Some(false),
        is_indirect: false,
        is_aligned: Some(true),
        copied: Some(refusal.reason().fact().to_string()),
        ..described.clone()
    }
}

/// The Arrow extension types of a column of this array, among those that profiles test for.
fn extensions(array: &DArray) -> Vec<String> {
    if *array.dtype() == DType::BOOL { vec![BOOL8.to_owned()] } else { Vec::new() }
}

/// A refusal as Python's consumers see it, without advice.
fn refused(why: impl std::fmt::Display) -> Answer {
    Answer::refused(words_of(why))
}

fn words_of(why: impl std::fmt::Display) -> String {
    format!("BufferError: {why}")
}

/// The type of an element in the terms of the profiles.
fn element(dtype: &DType) -> ElementType {
    let itemsize = dtype.itemsize() as i64;
    let opaque = |kind: &str, name: String| ElementType {
        kind: kind.into(),
        itemsize,
        name,
        ..ElementType::default()
    };
    if dtype.as_record().is_some() {
        return opaque("records", format!("records of {itemsize} bytes"));
    }
    let Some(scalar) = dtype.as_scalar() else { return opaque("V", format!("V{itemsize}")) };
    if scalar.kind() == ScalarKind::Pointer {
        return opaque("u", format!("uint{}", itemsize * 8));
    }
    let name = dtype.to_string();
    // NumPy's letter follows the byte order; a type without a letter has its name.
    let letters = typestr::print(dtype).unwrap_or_default();
    let kind = letters.get(1..2).unwrap_or(&name).to_owned();
    let unit = match scalar.kind() {
        ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_) => {
            name.find('[').map(|at| name[at..].to_owned()).unwrap_or_default()
        }
        _ => String::new(),
    };
    ElementType { kind, itemsize, is_swapped: !scalar.is_native(), name, unit }
}
