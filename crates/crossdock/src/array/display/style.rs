//! Formats the elements of one array, aligned in columns.

use crate::array::display::Options;
use crate::array::display::number::FloatStyle;
use crate::element::{DType, Field, NAT, ScalarKind, Value, digits};

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

const NOT_A_TIME: &str = "'NaT'";

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
        let precision = options.precision;
        match kind {
            ScalarKind::Bool => Self::Truth { padded: !alone.scalar },
            ScalarKind::Bytes(_) | ScalarKind::Text(_) | ScalarKind::Void(_) => Self::Own,
            ScalarKind::DateTime(_) => Self::Moment { width: width_of_moments(values) },
            ScalarKind::TimeDelta(_) | ScalarKind::Pointer => Self::whole(values),
            _ if alone.element && is_float(dtype) => Self::Own,
            ScalarKind::Complex32 => Self::complex(ScalarKind::Float16, values, precision),
            ScalarKind::Complex64 => Self::complex(ScalarKind::Float32, values, precision),
            ScalarKind::Complex128 => Self::complex(ScalarKind::Float64, values, precision),
            ScalarKind::ComplexLongDouble => Self::complex(ScalarKind::LongDouble, values, precision),
            _ if is_float(dtype) => {
                let numbers: Vec<f64> = values.iter().filter_map(|value| value.as_f64()).collect();
                Self::Float(FloatStyle::of(kind, &numbers, precision, false))
            }
            _ => Self::whole(values),
        }
    }

    fn whole(values: &[&Value]) -> Self {
        Self::Whole { width: values.iter().map(|value| whole(value).len()).max().unwrap_or(0) }
    }

    fn complex(part: ScalarKind, values: &[&Value], precision: usize) -> Self {
        let numbers = || values.iter().filter_map(|value| value.as_complex());
        let (re, im): (Vec<f64>, Vec<f64>) = numbers().unzip();
        Self::Complex(FloatStyle::of(part, &re, precision, false), FloatStyle::of(part, &im, precision, true))
    }

    /// Formats one value.
    pub(super) fn word(&self, value: &Value, dtype: &DType, options: &Options) -> String {
        match (self, value) {
            (Self::Truth { padded: true }, Value::Bool(true)) => " True".into(),
            (Self::Whole { width }, value) => format!("{:>width$}", whole(value)),
            (Self::Moment { width }, value) => format!("{:>width$}", moment(value)),
            (Self::Float(style), value) => {
                value.as_f64().map(|number| style.word(number)).unwrap_or_default()
            }
            (Self::Complex(re_style, im_style), value) => {
                let (re, im) = value.as_complex().unwrap_or_default();
                let im = im_style.word(im);
                let number = im.trim_end();
                format!("{}{number}j{}", re_style.word(re), &im[number.len()..])
            }
            (Self::Record(styles), Value::Record(fields)) => {
                let dtypes = dtype.as_record().map(|record| record.fields()).unwrap_or_default();
                let parts: Vec<String> = styles
                    .iter()
                    .zip(fields)
                    .zip(dtypes)
                    .map(|((style, (_, value)), field)| style.word(value, field.dtype(), options))
                    .collect();
                format!("({}{})", parts.join(", "), if parts.len() == 1 { "," } else { "" })
            }
            (Self::Array(style), value) => {
                let Some(subarray) = dtype.as_subarray() else { return String::new() };
                let cut = subarray.len() > options.threshold;
                style.array(value, subarray.base(), options, cut)
            }
            (_, value) => value.display(dtype).to_string(),
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
fn whole(value: &Value) -> String {
    match value {
        Value::TimeDelta { count: NAT, .. } => NOT_A_TIME.into(),
        Value::TimeDelta { count, .. } => count.to_string(),
        other => other.to_string(),
    }
}

fn moment(value: &Value) -> String {
    format!("'{value}'")
}

/// The width of the first, the last and `NaT`: years before 0 and after 9999 are longer.
fn width_of_moments(values: &[&Value]) -> usize {
    let count = |value: &&&Value| match value {
        Value::DateTime { count, .. } if *count != NAT => Some(*count),
        _ => None,
    };
    let known = || values.iter().filter(|value| count(value).is_some());
    let ends = [known().min_by_key(count), known().max_by_key(count)];
    let nat = values.iter().any(|value| count(&value).is_none()).then_some(NOT_A_TIME.len());
    ends.into_iter().flatten().map(|value| moment(value).len()).chain(nat).max().unwrap_or(0)
}
