//! Producers for types of other crates, by their `TypeId`.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crossdock::Array;
use crossdock::memory::LeaseKind;
use crossdock::view::{self, CopyPolicy, MemoryView, Reason, Refusal, Request};

/// Stands for a type of another crate.
struct Sound(Arc<Vec<i16>>);

fn export(sound: &Sound, request: &Request) -> Result<MemoryView, Refusal> {
    Array::from_owner(sound.0.clone(), [sound.0.len()])?.export(request)
}

#[test]
fn a_value_of_any_type_is_lent_by_the_producer_that_is_registered_for_it() {
    let sound = Sound(Arc::new(vec![1, -2, 3]));
    let refused = view::view_any(&sound, Request::read()).unwrap_err();
    assert!(matches!(refused.reason(), Reason::Unsupported(_)), "{refused}");
    assert_eq!(refused.asked().unwrap().lease(), LeaseKind::Read);

    view::register::<Sound>(export).unwrap();
    let twice =
        view::register::<Sound>(|_, request| Err(Refusal::new(request, Reason::Unsupported("no".into()))));
    let error = twice.unwrap_err();
    assert!(error.is_conflict() && error.to_string().contains("Sound already has a producer"), "{error}");
    let lent = view::view_any(&sound as &dyn Any, Request::read()).unwrap();
    assert_eq!((lent.as_slice::<i16>().unwrap(), lent.as_ptr()), (&[1, -2, 3][..], sound.0.as_ptr().cast()));

    // Views outlive the producer's registration.
    assert!(view::unregister::<Sound>() && !view::unregister::<Sound>());
    assert!(view::view_any(&sound, Request::pin()).is_err());
    assert_eq!(lent.get(&[1]).unwrap().as_i64(), Some(-2));
}

#[test]
fn what_a_registered_producer_gives_is_held_against_the_request() {
    struct Liar(Array<u8, 1>);
    view::register::<Liar>(|liar, _| liar.0.export(&Request::pin())).unwrap();
    let liar = Liar(Array::from_vec(vec![1, 2], [2]).unwrap());
    assert!(view::view_any(&liar, Request::pin()).is_ok());
    let refused = view::view_any(&liar, Request::share().copy(CopyPolicy::Never)).unwrap_err();
    assert!(
        refused.to_string().contains("a share lease") && refused.to_string().contains("a pin lease"),
        "{refused}"
    );
    assert!(view::unregister::<Liar>());
}

#[test]
fn producers_come_and_go_while_others_ask() {
    struct Flickering(Array<u8, 1>);
    let value = Flickering(Array::from_vec(vec![1, 2], [2]).unwrap());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let asker = scope.spawn(|| {
            let (mut lent, mut refused) = (0, 0);
            while !done.load(Ordering::Relaxed) {
                match view::view_any(&value, Request::pin()) {
                    Ok(view) => lent += usize::from(view.shape() == [2]),
                    Err(_) => refused += 1,
                }
            }
            (lent, refused)
        });
        for _ in 0..2000 {
            view::register::<Flickering>(|value, request| value.0.export(request)).unwrap();
            assert!(view::view_any(&value, Request::pin()).is_ok());
            assert!(view::unregister::<Flickering>());
            assert!(view::view_any(&value, Request::pin()).is_err());
        }
        done.store(true, Ordering::Relaxed);
        asker.join().unwrap();
    });
}
