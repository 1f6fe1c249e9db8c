//! Producers for foreign types.

use std::any::{Any, TypeId};
use std::hash::{Hash, Hasher};

use crate::error::{Advice, Error, Explanation, Kind, Result};
use crate::view::registry_table::{Key, RegistryTable};
use crate::view::{MemoryView, Producer, Reason, Refusal, Request, view};

/// Exports the memory of a value, like [`Producer::export`].
pub type ProducerFn<T> = fn(&T, &Request) -> Result<MemoryView, Refusal>;

/// A type, and the function that calls its registered producer.
struct Kinded {
    id: TypeId,
    call: unsafe fn(*mut (), &dyn Any, &Request) -> Result<MemoryView, Refusal>,
}

impl PartialEq for Kinded {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Kinded {}

impl Key for Kinded {
    fn hash(&self) -> usize {
        let mut bits = TypeIdHasher(0);
        self.id.hash(&mut bits);
        bits.0 as usize
    }
}

/// The identity of a type is already a hash.
struct TypeIdHasher(u64);

impl Hasher for TypeIdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = self.0.rotate_left(7) ^ word;
    }
}

/// The types that were ever registered. A value is the `ProducerFn` of the key's type.
static TYPES: RegistryTable<Kinded> = RegistryTable::new();

fn kinded<T: Any>() -> Kinded {
    Kinded { id: TypeId::of::<T>(), call: call::<T> }
}

/// # Safety
///
/// `producer` is a [`ProducerFn<T>`] that was cast to a pointer.
unsafe fn call<T: Any>(producer: *mut (), value: &dyn Any, request: &Request) -> Result<MemoryView, Refusal> {
    // SAFETY: `producer` is a `ProducerFn<T>` that was cast to a pointer (`# Safety`), and function
    // pointers have the size of data pointers.
    let producer = unsafe { std::mem::transmute::<*mut (), ProducerFn<T>>(producer) };
    match value.downcast_ref::<T>() {
        Some(value) => producer(value, request),
        None => Err(unknown(request)),
    }
}

/// Registers a producer for a type, such as one of another crate, that cannot implement
/// [`Producer`]. Afterwards [`view_any`] exports its values.
///
/// ```
/// use std::any::Any;
///
/// use crossdock::view::{self, Request};
/// use crossdock::Array;
///
/// // As if `std::sync::Arc<Vec<u8>>` were a type of a library for sounds.
/// type Sound = std::sync::Arc<Vec<u8>>;
///
/// view::register::<Sound>(|sound, request| Array::from_owner(sound.clone(), [sound.len()])?.export(request))?;
/// let anything: Box<dyn Any> = Box::new(Sound::new(vec![1, 2, 3]));
/// let view = view::view_any(&*anything, Request::read())?;
/// assert_eq!(view.as_slice::<u8>()?, [1, 2, 3]);
/// # assert!(view::unregister::<Sound>());
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Errors
///
/// `is_conflict` if the type already has a producer, which stays registered.
pub fn register<T: Any>(producer: ProducerFn<T>) -> Result<()> {
    if TYPES.find_or_make(kinded::<T>()).set(producer as *mut ()) {
        return Ok(());
    }
    let name = std::any::type_name::<T>();
    Err(Error::new(Kind::Conflict, format!("{name} already has a producer; unregister it first")))
}

/// Removes the producer of a type. Returns whether there was one. Existing views stay valid.
pub fn unregister<T: Any>() -> bool {
    TYPES.find(&kinded::<T>()).is_some_and(|entry| entry.clear())
}

/// Requests the memory of a value of any type from its registered producer. As with [`view`], the
/// result is checked against the request. Takes no lock.
///
/// # Errors
///
/// The producer's refusal; [`Reason::Unsupported`] if none is registered.
pub fn view_any(value: &dyn Any, request: Request) -> Result<MemoryView, Refusal> {
    view(&Registered(value), request)
}

/// A value whose type may have a registered producer.
struct Registered<'a>(&'a dyn Any);

impl Producer for Registered<'_> {
    fn export(&self, request: &Request) -> Result<MemoryView, Refusal> {
        // Only the identity is compared.
        let key = Kinded { id: self.0.type_id(), call: call::<()> };
        let entry = TYPES.find(&key).ok_or_else(|| unknown(request))?;
        let producer = entry.value();
        if producer.is_null() {
            return Err(unknown(request));
        }
        // SAFETY: `register` stored the `ProducerFn` of the entry's type as `producer`, and
        // `kinded` made the entry's `call` for the same type.
        unsafe { (entry.key().call)(producer, self.0, request) }
    }
}

#[cold]
fn unknown(request: &Request) -> Refusal {
    let text = "no producer is registered for the type of this value";
    Refusal::new(request, Reason::Unsupported(Explanation::new(text, Advice::RegisterProducer)))
}
