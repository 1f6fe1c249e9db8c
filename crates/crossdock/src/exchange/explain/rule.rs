//! Profiles of consumers: tables of rules over a description, and the function that evaluates them.

use crate::error::shown;
use crate::exchange::explain::subject::{Answer, Protocol, Subject};

/// What a consumer does with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// It uses the object's memory.
    InPlace,
    /// It has the right elements in its own memory.
    Copies,
    /// It raises an error.
    Refuses,
    /// It reads other elements than those offered, breaks a rule of the protocol, or ends the
    /// process.
    Misreads,
    /// The description does not tell; the reason names what decides.
    Unknown,
}

impl Outcome {
    /// `in place`, `copies`, `refuses`, `misreads`, `unknown`. For bindings.
    #[doc(hidden)]
    pub fn name(self) -> &'static str {
        match self {
            Self::InPlace => "in place",
            Self::Copies => "copies",
            Self::Refuses => "refuses",
            Self::Misreads => "misreads",
            Self::Unknown => "unknown",
        }
    }
}

/// A function that accepts arrays, described by data alone.
#[derive(Debug)]
pub struct Profile {
    /// The function, such as `numpy.asarray`.
    pub name: &'static str,
    /// The distribution that it is part of.
    pub library: &'static str,
    /// The version whose behaviour the rules state.
    pub measured_on: &'static str,
    /// Whether the tests of the Python package compare the rules with the library.
    pub is_tested: bool,
    /// The rules; the first one that decides is the verdict.
    pub(super) rules: &'static [ProfileRule],
}

/// One step of a profile.
#[derive(Debug)]
pub(super) enum ProfileRule {
    /// Decides if all conditions hold.
    If(&'static [Is], Outcome, &'static str),
    /// Continues with the first of these protocols by which the object offers its memory.
    By(&'static [Protocol], &'static [ProfileRule]),
    /// Continues with the first of these protocols that the object has, even if it refuses.
    Asks(&'static [Protocol], &'static [ProfileRule]),
    /// Continues with a table if all conditions hold.
    When(&'static [Is], &'static [ProfileRule]),
    /// Continues with a table for consumers that look beyond the protocol, such as at masks.
    Heeds(&'static [ProfileRule]),
}

/// A condition on the object, or on the answer that [`ProfileRule::By`] or [`ProfileRule::Asks`]
/// selected.
#[derive(Debug)]
pub(super) enum Is {
    Not(&'static Is),
    // Conditions on the object.
    Class(&'static [&'static str]),
    ClassBegins(&'static str),
    Sequence,
    RegisteredSequence,
    /// The storage of a column of pandas is one of these.
    Storage(&'static [&'static str]),
    /// The class of the items is one of these.
    Item(&'static [&'static str]),
    ItemLike(&'static str, &'static str),
    ItemUnknown,
    HasMethod(&'static [&'static str]),
    Has(Protocol),
    Given(Protocol),
    RefusedBy(Protocol),
    /// Refused, as by producers that do not know a version.
    RefusesVersions(Protocol),
    /// Refused with an error of this name.
    RefusedWith(Protocol, &'static str),
    OtherVersion(Protocol),
    /// A buffer of bytes is refused in row-major order; or in either order.
    NoBytes,
    NoBytesInAnyOrder,
    /// Several axes, although the request was for a buffer without a shape.
    BytesWithAxes,
    OnDevice,
    /// JAX has types of 64 bits in this process (`jax_enable_x64`).
    JaxIn64Bits,
    // Conditions on the answer.
    Refused,
    Untyped,
    Kind(&'static [&'static str]),
    DType(&'static [&'static str]),
    /// Like `DType`, in either byte order.
    Type(&'static [&'static str]),
    Number,
    Itemsize(i64),
    /// The unit of dates, without a multiple such as that of `[25us]`.
    Unit(&'static [&'static str]),
    /// The unit of dates has a multiple.
    Multiple,
    Swapped,
    Indirect,
    Backwards,
    RowMajor,
    Dense,
    Whole,
    Falling,
    WithoutStrides,
    Aligned,
    AlignedTo(i64),
    ReadOnly,
    /// On one of these kinds of devices, in DLPack's numbers.
    Device(&'static [i32]),
    Host,
    Empty,
    Rank(usize),
    RankAbove(usize),
    FirstLength(i64),
    LastLength(i64),
    /// The length of an axis after the first.
    LaterLength(i64),
    /// An axis of at most this many channels, with gaps between the pixels.
    PixelGaps(i64),
    /// The number of channels (0: no such axis) and the type string.
    Pixels(&'static [(i64, &'static str)]),
    NullStrides,
    Format(&'static [&'static str]),
    FormatBegins(&'static str),
    FormatHas(&'static str),
    FormatLength(usize),
    /// One of the letters stands alone, after any of the first characters.
    FormatLetter(&'static str, &'static str),
    /// Outside the names of fields there are only these characters.
    FormatOf(&'static str),
    FormatForNumPy,
    FormatIndexable,
    FormatForStruct,
    /// The format describes as many bytes as an item has.
    FormatFits,
    ItemAsElement,
    Odd,
    Lanes,
    NoDeleter,
    ByteOffset,
    Versioned,
    Extension(&'static str),
    Nulls,
    /// A stream of one array.
    Alone,
    Bytes,
    Old,
    NoAddress,
    /// At another address than the one of the first protocol.
    Elsewhere,
    /// At the address that another protocol names.
    Shared,
    /// The protocol does not say everything about the elements.
    Lossy,
}

/// A subclass of NumPy's arrays that some consumers treat specially.
pub(super) const MASKED: &str = "numpy.ma.MaskedArray";

/// An object, and the selected answer.
#[derive(Clone, Copy)]
struct Scene<'a> {
    subject: &'a Subject,
    at: Option<(Protocol, &'a Answer)>,
    /// Whether the consumer finds what the protocol does not say.
    heeds: bool,
}

/// What the consumer does with the object, and why. O(rules).
pub fn judge(profile: &Profile, subject: &Subject) -> (Outcome, String) {
    let verdict = Scene { subject, at: None, heeds: false }.decide(profile.rules);
    verdict.unwrap_or_else(|| (Outcome::Refuses, "no rule of the profile decides".to_owned()))
}

impl Scene<'_> {
    fn decide(self, rules: &[ProfileRule]) -> Option<(Outcome, String)> {
        rules.iter().find_map(|rule| match rule {
            ProfileRule::If(conditions, outcome, reason) => {
                conditions.iter().all(|is| self.holds(is)).then(|| self.verdict(*outcome, reason))
            }
            ProfileRule::By(protocols, rules) => self.look_at(protocols, rules, Subject::given),
            ProfileRule::Asks(protocols, rules) => self.look_at(protocols, rules, Subject::answer),
            ProfileRule::When(conditions, rules) if conditions.iter().all(|is| self.holds(is)) => {
                self.decide(rules)
            }
            ProfileRule::When(..) => None,
            ProfileRule::Heeds(rules) => Scene { heeds: true, ..self }.decide(rules),
        })
    }

    /// Memory of a copy that the producer made is none of the producer's, and elements of which the
    /// protocol does not say everything are read wrongly.
    fn verdict(self, outcome: Outcome, reason: &str) -> (Outcome, String) {
        let lost = self.at.and_then(|(_, answer)| answer.lost.as_deref());
        if let Some(lost) = lost
            && !self.heeds
            && matches!(outcome, Outcome::InPlace | Outcome::Copies)
        {
            return (Outcome::Misreads, shown(lost).to_string());
        }
        match self.at.and_then(|(_, answer)| answer.copied.as_deref()) {
            Some(why) if outcome == Outcome::InPlace => {
                (Outcome::Copies, format!("the producer copies: {}", shown(why)))
            }
            _ => (outcome, self.fill_in(reason)),
        }
    }

    fn look_at(
        self,
        protocols: &[Protocol],
        rules: &[ProfileRule],
        find: fn(&Subject, Protocol) -> Option<&Answer>,
    ) -> Option<(Outcome, String)> {
        let at =
            protocols.iter().find_map(|&protocol| find(self.subject, protocol).map(|it| (protocol, it)))?;
        Scene { at: Some(at), ..self }.decide(rules)
    }

    fn holds(self, is: &Is) -> bool {
        match is {
            Is::Not(is) => !self.holds(is),
            _ => self.object_is(is).or_else(|| self.answer_is(is)).unwrap_or(false),
        }
    }

    /// Conditions on the object; `None` for other conditions.
    fn object_is(self, is: &Is) -> Option<bool> {
        let subject = self.subject;
        let answer = |&protocol: &Protocol| subject.answer(protocol);
        let refusal = |protocol: &Protocol| answer(protocol).and_then(|answer| answer.refusal.as_deref());
        let buffer = || subject.answer(Protocol::Buffer);
        Some(match is {
            Is::Class(classes) => {
                let is_numpys = subject.class == MASKED && classes.contains(&"numpy.ndarray");
                is_numpys || classes.contains(&subject.class.as_str())
            }
            Is::JaxIn64Bits => subject.jax_in_64_bits,
            Is::ClassBegins(begin) => subject.class.starts_with(begin),
            Is::Sequence => subject.is_sequence,
            Is::RegisteredSequence => subject.is_registered,
            Is::Storage(storages) => storages.contains(&subject.storage.as_str()),
            Is::Item(classes) => subject.item.as_deref().is_some_and(|item| classes.contains(&item)),
            Is::ItemLike(begin, end) => {
                subject.item.as_deref().is_some_and(|item| item.starts_with(begin) && item.ends_with(end))
            }
            Is::ItemUnknown => subject.item.is_none(),
            Is::HasMethod(names) => subject.methods.iter().any(|method| names.contains(&method.as_str())),
            Is::Has(protocol) => answer(protocol).is_some(),
            Is::Given(protocol) => subject.given(*protocol).is_some(),
            Is::RefusedBy(protocol) => refusal(protocol).is_some(),
            Is::RefusesVersions(protocol) => {
                refusal(protocol).is_some() && answer(protocol).is_some_and(|answer| answer.is_old)
            }
            Is::RefusedWith(protocol, error) => refusal(protocol).is_some_and(|it| it.starts_with(error)),
            Is::OtherVersion(protocol) => {
                refusal(protocol).is_some()
                    && answer(protocol).and_then(|it| it.version).is_some_and(|(major, _)| major != 1)
            }
            Is::NoBytes => subject.refusal_of_bytes(false).is_some(),
            Is::NoBytesInAnyOrder => subject.refusal_of_bytes(true).is_some(),
            Is::BytesWithAxes => {
                buffer().and_then(|it| it.simple.as_ref().ok()).is_some_and(|&axes| axes > 1)
            }
            Is::OnDevice => {
                subject.answers.iter().any(|(_, answer)| answer.refusal.is_none() && !answer.is_on_host())
            }
            _ => return None,
        })
    }

    /// Conditions on the selected answer; `None` without one.
    fn answer_is(self, is: &Is) -> Option<bool> {
        let (protocol, it) = self.at?;
        let element = it.element.as_ref();
        let text = it.format.as_str();
        Some(match is {
            Is::Refused => it.refusal.is_some(),
            Is::Untyped => element.is_none(),
            Is::Kind(kinds) => element.is_some_and(|element| kinds.contains(&element.kind.as_str())),
            Is::DType(names) => element.is_some_and(|element| names.contains(&element.name.as_str())),
            Is::Type(names) => {
                element.is_some_and(|element| names.contains(&element.name.trim_start_matches(['<', '>'])))
            }
            Is::Number => element.is_some_and(super::subject::ElementType::is_number),
            Is::Itemsize(size) => it.itemsize() == *size,
            Is::Unit(units) => {
                let unit = element.map_or("", |element| element.base_unit());
                units.contains(&unit)
            }
            Is::Multiple => element.is_some_and(|element| element.base_unit().len() + 2 < element.unit.len()),
            Is::Swapped => element.is_some_and(|element| element.is_swapped),
            Is::Indirect => it.is_indirect,
            Is::Backwards => it.is_backwards(),
            Is::RowMajor => it.is_row_major(),
            Is::Dense => it.is_dense(),
            Is::Whole => it.is_whole(),
            Is::Falling => it.falls(),
            Is::WithoutStrides => !it.has_strides,
            Is::Aligned => it.is_aligned(),
            Is::AlignedTo(boundary) => it.is_multiple_of(*boundary),
            Is::ReadOnly => it.readonly == Some(true),
            Is::Device(kinds) => kinds.contains(&it.device),
            Is::Host => it.is_on_host(),
            Is::Empty => it.is_empty(),
            Is::Rank(rank) => it.rank() == *rank,
            Is::RankAbove(rank) => it.rank() > *rank,
            Is::FirstLength(length) => it.shape().first() == Some(length),
            Is::LaterLength(length) => it.shape().iter().skip(1).any(|own| own == length),
            Is::LastLength(length) => it.shape().last() == Some(length),
            Is::PixelGaps(most) => match (it.shape(), it.strides.as_deref()) {
                ([_, _, channels], Some([_, pixel, _])) => {
                    channels <= most && *pixel != it.itemsize().saturating_mul(*channels)
                }
                _ => false,
            },
            Is::Pixels(known) => {
                let channels = match it.shape() {
                    [_] | [_, _] => 0,
                    [_, _, channels] if *channels > 0 => *channels,
                    _ => return Some(false),
                };
                known.contains(&(channels, it.typestr.as_str()))
            }
            Is::NullStrides => it.strides.is_none(),
            Is::Format(formats) => formats.contains(&text),
            Is::FormatBegins(letters) => text.starts_with(|letter| letters.contains(letter)),
            Is::FormatHas(part) => text.contains(part),
            Is::FormatLength(length) => text.chars().count() == *length,
            Is::FormatLetter(before, letters) => {
                let mut rest = text.trim_start_matches(|letter| before.contains(letter)).chars();
                matches!((rest.next(), rest.next()), (Some(letter), None) if letters.contains(letter))
            }
            Is::FormatOf(letters) => {
                text.split(':').step_by(2).all(|part| part.chars().all(|letter| letters.contains(letter)))
            }
            Is::FormatForNumPy => super::formats::numpy_reads(text),
            Is::FormatIndexable => it.is_indexable,
            Is::FormatForStruct => it.struct_size.is_some(),
            Is::FormatFits => it.struct_size == Some(it.item),
            Is::ItemAsElement => it.itemsize() == it.item,
            Is::Odd => it.is_odd,
            Is::Lanes => it.lanes != 1,
            Is::NoDeleter => !it.has_deleter,
            Is::ByteOffset => it.has_offset,
            Is::Versioned => it.version.is_some(),
            Is::Extension(name) => it.extensions.iter().any(|own| own == name),
            Is::Nulls => it.nulls != 0,
            Is::Alone => it.is_alone,
            Is::Bytes => it.is_bytes,
            Is::Old => it.is_old,
            Is::NoAddress => it.address.is_none(),
            Is::Elsewhere => it.address != self.subject.address(),
            Is::Lossy => it.lost.is_some(),
            Is::Shared => {
                let others = self.subject.answers.iter().filter(|(other, _)| *other != protocol);
                it.address.is_some_and(|own| own != 0)
                    && others.into_iter().any(|(_, other)| other.address == it.address)
            }
            _ => return None,
        })
    }

    /// Replaces the placeholders of a reason, including those for names of fields from outside.
    fn fill_in(self, reason: &str) -> String {
        let mut text = String::new();
        let mut rest = reason;
        while let Some((before, behind)) = rest.split_once('{') {
            let Some((name, after)) = behind.split_once('}') else { break };
            text += before;
            text += &shown(&self.value(name));
            rest = after;
        }
        text + rest
    }

    fn value(self, name: &str) -> String {
        let subject = self.subject;
        if let Some(protocol) = name.strip_prefix("refusal of ").and_then(Protocol::named) {
            return subject.refusal(protocol);
        }
        match name {
            "refusal of bytes" => return subject.refusal_of_bytes(false).unwrap_or_default(),
            "refusal of bytes in any order" => return subject.refusal_of_bytes(true).unwrap_or_default(),
            "item" => return subject.item.clone().unwrap_or_else(|| "an unknown class".to_owned()),
            "storage" => return subject.storage.clone(),
            _ => {}
        }
        let Some((protocol, it)) = self.at else { return String::new() };
        let readonly = if it.readonly == Some(true) { "read-only" } else { "" };
        match name {
            "protocol" => protocol.name().to_owned(),
            "refusal" => it.refusal.clone().unwrap_or_default(),
            "dtype" => it.element.as_ref().map_or("no known type", |element| &element.name).to_owned(),
            "itemsize" => it.itemsize().to_string(),
            "struct size" => it.struct_size.unwrap_or_default().to_string(),
            "format" => it.format.clone(),
            "rank" => it.rank().to_string(),
            "shape" => format!("{:?}", it.shape()),
            "strides" => format!("{:?}", it.strides.as_deref().unwrap_or_default()),
            "access" => readonly.to_owned(),
            "; access" if readonly.is_empty() => String::new(),
            "; access" => format!("; {readonly}"),
            "access, alignment" => {
                let unaligned = if it.is_aligned() { "" } else { "unaligned" };
                let words = [readonly, unaligned];
                words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
            }
            "nulls" if it.nulls == 0 => String::new(),
            "nulls" => format!("nulls: {}", it.nulls),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::explain::profiles;

    const PLACEHOLDERS: [&str; 17] = [
        "refusal of bytes",
        "refusal of bytes in any order",
        "item",
        "storage",
        "protocol",
        "refusal",
        "dtype",
        "itemsize",
        "struct size",
        "format",
        "rank",
        "shape",
        "strides",
        "access",
        "; access",
        "access, alignment",
        "nulls",
    ];

    fn walk(rules: &[ProfileRule], see: &mut dyn FnMut(&str)) {
        for rule in rules {
            match rule {
                ProfileRule::If(_, _, reason) => see(reason),
                ProfileRule::By(protocols, rules) | ProfileRule::Asks(protocols, rules) => {
                    assert!(!protocols.is_empty());
                    walk(rules, see);
                }
                ProfileRule::When(_, rules) | ProfileRule::Heeds(rules) => walk(rules, see),
            }
        }
    }

    fn always_decides(rules: &[ProfileRule]) -> bool {
        match rules.last() {
            Some(ProfileRule::If(conditions, ..)) => conditions.is_empty(),
            Some(ProfileRule::When(conditions, rules)) => conditions.is_empty() && always_decides(rules),
            _ => false,
        }
    }

    #[test]
    fn every_profile_decides_in_the_end_and_names_known_values() {
        for profile in profiles::all() {
            assert!(always_decides(profile.rules), "{}", profile.name);
            walk(profile.rules, &mut |reason| {
                let mut rest = reason;
                while let Some((_, behind)) = rest.split_once('{') {
                    let (name, after) = behind.split_once('}').unwrap();
                    let of = name.strip_prefix("refusal of ").and_then(Protocol::named);
                    assert!(of.is_some() || PLACEHOLDERS.contains(&name), "{}: {reason}", profile.name);
                    rest = after;
                }
            });
        }
    }

    #[test]
    fn protocols_stand_at_their_numbers() {
        for (number, (protocol, name)) in Protocol::NAMES.into_iter().enumerate() {
            assert_eq!((protocol as usize, protocol.name()), (number, name));
            assert_eq!(Protocol::named(name), Some(protocol));
        }
    }
}
