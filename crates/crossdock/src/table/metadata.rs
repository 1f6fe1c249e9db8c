//! Pairs of keys and values beside a field or a schema.

use std::fmt;
use std::sync::Arc;

/// The key of a field's extension type.
pub(crate) const EXTENSION_NAME: &str = "ARROW:extension:name";
/// The key of that type's own parameters.
pub(crate) const EXTENSION_METADATA: &str = "ARROW:extension:metadata";

/// A key or a value: bytes, usually text.
type Bytes = Box<[u8]>;

/// Pairs of keys and values, kept byte for byte and in their order. Keys need not be unique.
/// Cloning is O(1).
///
/// ```
/// use crossdock::table::Metadata;
///
/// let metadata = Metadata::new([("unit", "kelvin"), ("source", "probe 7")]);
/// assert_eq!(metadata.get("unit"), Some(&b"kelvin"[..]));
/// assert_eq!(metadata.iter().count(), 2);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Metadata(Option<Arc<[(Bytes, Bytes)]>>);

impl Metadata {
    /// These pairs. O(n).
    pub fn new<K: AsRef<[u8]>, V: AsRef<[u8]>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        let pair = |(key, value): (K, V)| (key.as_ref().into(), value.as_ref().into());
        let pairs: Arc<[_]> = pairs.into_iter().map(pair).collect();
        Self((!pairs.is_empty()).then_some(pairs))
    }

    /// The value of the first pair with this key. O(n).
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        self.iter().find(|(known, _)| *known == key.as_bytes()).map(|(_, value)| value)
    }

    /// The pairs, in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        self.0.as_deref().unwrap_or_default().iter().map(|(key, value)| (&**key, &**value))
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The name and the parameters of an extension type, if the name is text.
    pub(crate) fn extension(&self) -> Option<(&str, &[u8])> {
        let name = std::str::from_utf8(self.get(EXTENSION_NAME)?).ok()?;
        Some((name, self.get(EXTENSION_METADATA).unwrap_or_default()))
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes| String::from_utf8_lossy(bytes);
        f.debug_map().entries(self.iter().map(|(key, value)| (text(key), text(value)))).finish()
    }
}
