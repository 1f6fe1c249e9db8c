//! Formats the elements of one array, aligned in columns.

use crate::array::display::Options;
use crate::array::display::notation::Notation;
use crate::array::display::number::FloatStyle;
use crate::element::digits::{self, Real};
use crate::element::{DType, Field, NAT, ScalarKind, Value};

/// The format for a dtype and all shown values.
pub(super) enum Style {
    /// The format of a single value.
    Own,
    /// `" True"` and `False`, unless there is only one value.
    Truth {
        padded: bool,
    },
    /// Numbers without a point, right-aligned.
    Whole {
        width: usize,
    },
    /// Moments in quotes, right-aligned.
    Moment {
        width: usize,
    },
    Float(FloatStyle),
    Complex(FloatStyle, FloatStyle),
    Record(Vec<Style>),
    Array(Box<Style>),
}

/// Whether the value needs no alignment.
#[derive(Clone, Copy)]
pub(super) struct Alone {
    /// The array has no axes: floats are formatted as single values.
    pub(super) element: bool,
    /// The value is not in a sub-array either.
    pub(super) scalar: bool,
}

impl Style {
    pub(super) fn of(dtype: &DType, values: &[&Value], options: &Options, alone: Alone) -> Self {
        if let Some(record) = dtype.as_record() {
            let style = |(position, field): (usize, &Field)| {
                let part = |&value| part(value, position);
                let parts: Vec<&Value> = values.iter().filter_map(part).collect();
                Self::of(field.dtype(), &parts, options, alone)
            };
            return Self::Record(record.fields().iter().enumerate().map(style).collect());
        }
        if let Some(subarray) = dtype.as_subarray() {
            let mut items = Vec::new();
            values.iter().for_each(|value| leaves(value, &mut items));
            let base = Self::of(subarray.base(), &items, options, Alone { scalar: false, ..alone });
            return Self::Array(Box::new(base));
        }
        let Some(kind) = dtype.as_scalar().map(|scalar| scalar.kind()) else { return Self::Own };
        match kind {
            ScalarKind::Bool => Self::Truth { padded: !alone.scalar },
            ScalarKind::Bytes(_) | ScalarKind::Text(_) | ScalarKind::Void(_) => Self::Own,
            ScalarKind::DateTime(_) => Self::Moment { width: width_of_moments(values, options.notation) },
            ScalarKind::TimeDelta(_) | ScalarKind::Pointer => Self::whole(values, options.notation),
            _ if alone.element && is_float(dtype) => Self::Own,
            ScalarKind::Complex32 => Self::complex(ScalarKind::Float16, values, options),
            ScalarKind::Complex64 => Self::complex(ScalarKind::Float32, values, options),
            ScalarKind::Complex128 => Self::complex(ScalarKind::Float64, values, options),
            ScalarKind::ComplexLongDouble => Self::complex(ScalarKind::LongDouble, values, options),
            _ if is_float(dtype) => {
                let numbers: Vec<Real> = values.iter().filter_map(|value| Real::of(value)).collect();
                Self::Float(FloatStyle::of(kind, &numbers, options, false))
            }
            _ => Self::whole(values, options.notation),
        }
    }

    fn whole(values: &[&Value], notation: Notation) -> Self {
        Self::Whole { width: values.iter().map(|value| whole(value, notation).len()).max().unwrap_or(0) }
    }

    fn complex(part: ScalarKind, values: &[&Value], options: &Options) -> Self {
        let numbers = || values.iter().filter_map(|value| Real::parts(value));
        let (re, im): (Vec<Real>, Vec<Real>) = numbers().unzip();
        Self::Complex(FloatStyle::of(part, &re, options, false), FloatStyle::of(part, &im, options, true))
    }

    /// Formats one value.
    pub(super) fn word(&self, value: &Value, dtype: &DType, options: &Options) -> String {
        match (self, value) {
            (Self::Truth { padded: true }, Value::Bool(true)) => format!(" {}", options.notation.truth(true)),
            (Self::Whole { width }, value) => format!("{:>width$}", whole(value, options.notation)),
            (Self::Moment { width }, value) => format!("{:>width$}", moment(value, options.notation)),
            (Self::Float(style), value) => {
                Real::of(value).map(|number| style.word(number)).unwrap_or_default()
            }
            (Self::Complex(re_style, im_style), value) => {
                let (re, im) = Real::parts(value).unwrap_or((0.0.into(), 0.0.into()));
                options.notation.complex(&re_style.word(re), &im_style.word(im))
            }
            (Self::Record(styles), Value::Record(fields)) => {
                let dtypes = dtype.as_record().map(|record| record.fields()).unwrap_or_default();
                let parts = styles.iter().zip(fields).zip(dtypes);
                options.notation.record(parts.map(|((style, (name, value)), field)| {
                    (name.as_str(), style.word(value, field.dtype(), options))
                }))
            }
            (Self::Array(style), value) => {
                let Some(subarray) = dtype.as_subarray() else { return String::new() };
                let cut = subarray.len() > options.threshold;
                style.array(value, subarray.base(), options, cut)
            }
            (_, value) => options.notation.value(value, dtype),
        }
    }

    /// Formats a sub-array in one line, with only the edges of each shortened axis.
    fn array(&self, value: &Value, base: &DType, options: &Options, cut: bool) -> String {
        let Value::Array(items) = value else { return self.word(value, base, options) };
        let one = |item: &Value| self.array(item, base, options, cut);
        let edge = options.edge_items;
        let parts: Vec<String> = if cut && items.len() > edge.saturating_mul(2) {
            let (first, last) = (&items[..edge], &items[items.len() - edge..]);
            let (first, last) = (first.iter().map(one), last.iter().map(one));
            first.chain(["...".to_owned()]).chain(last).collect()
        } else {
            items.iter().map(one).collect()
        };
        format!("[{}]", parts.join(", "))
    }
}

fn part(value: &Value, position: usize) -> Option<&Value> {
    match value {
        Value::Record(fields) => fields.get(position).map(|(_, value)| value),
        _ => None,
    }
}

/// Collects the elements of a sub-array of any rank.
fn leaves<'a>(value: &'a Value, into: &mut Vec<&'a Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| leaves(item, into)),
        element => into.push(element),
    }
}

fn is_float(dtype: &DType) -> bool {
    dtype.as_scalar().is_some_and(|scalar| digits::is_float(scalar.kind()))
}

/// Formats a number without a point: durations as counts, without their unit.
fn whole(value: &Value, notation: Notation) -> String {
    match value {
        Value::TimeDelta { count: NAT, .. } => notation.not_a_time().into(),
        Value::TimeDelta { count, .. } => count.to_string(),
        other => other.to_string(),
    }
}

fn moment(value: &Value, notation: Notation) -> String {
    match value {
        Value::DateTime { count: NAT, .. } => notation.not_a_time().into(),
        _ => format!("'{value}'"),
    }
}

/// The width of the first, the last and `NaT`: years before 0 and after 9999 are longer.
fn width_of_moments(values: &[&Value], notation: Notation) -> usize {
    let count = |value: &&&Value| match value {
        Value::DateTime { count, .. } if *count != NAT => Some(*count),
        _ => None,
    };
    let known = || values.iter().filter(|value| count(value).is_some());
    let ends = [known().min_by_key(count), known().max_by_key(count)];
    let nat = values.iter().any(|value| count(&value).is_none()).then_some(notation.not_a_time().len());
    ends.into_iter().flatten().map(|value| moment(value, notation).len()).chain(nat).max().unwrap_or(0)
}
