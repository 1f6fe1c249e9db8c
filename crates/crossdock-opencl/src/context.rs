//! A context on one device: what memory, queues and events belong to, and are used within.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, MutexGuard, Weak};

use opencl_sys::*;

use crate::description::Description;
use crate::driver::Driver;
use crate::event::ClEvent;
use crate::object::{Object, OfContext, OfQueue};
use crate::platforms::Identity;
use crate::programs::Programs;
use crate::query::{Subject, all};
use crate::queue::wait_list;
use crossdock::device::driver::ForkLock;
use crossdock::device::{Event, MemoryManager, Meter};
use crossdock::memory::Place;
use crossdock::{Error, Result};

/// A context that this library made, or one of another library whose object was imported; and the
/// memory in it.
pub(crate) struct Context {
    own: Weak<Self>,
    driver: &'static Driver,
    place: Place,
    identity: Identity,
    object: Object<OfContext>,
    /// For what is done while the caller waits.
    queue: Object<OfQueue>,
    description: Description,
    meter: Arc<Meter>,
    programs: Programs,
}

/// The contexts that are in use, so that objects of one have one.
static KNOWN: ForkLock<Vec<Weak<Context>>> = ForkLock::new(Vec::new());

fn known() -> MutexGuard<'static, Vec<Weak<Context>>> {
    KNOWN.lock()
}

impl Context {
    /// A new context on a device.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub(crate) fn new(driver: &'static Driver, identity: Identity, place: Place) -> Result<Arc<Self>> {
        let properties =
            [CL_CONTEXT_PLATFORM as cl_context_properties, identity.platform() as cl_context_properties, 0];
        let (device, mut status) = (identity.device(), CL_SUCCESS);
        // SAFETY: the properties end with a zero, the device is one of the platform (Identity 1),
        // and the driver tells of nothing later (Driver 1).
        let raw = unsafe {
            (driver.create_context)(
                properties.as_ptr(),
                1,
                &raw const device,
                None,
                std::ptr::null_mut(),
                &raw mut status,
            )
        };
        // SAFETY: the driver gave it.
        let object = unsafe { Object::made(raw, status, driver, place, "clCreateContext") }?;
        let description = identity.description(driver, place)?;
        Self::over(object, driver, identity, description)
    }

    fn over(
        object: Object<OfContext>,
        driver: &'static Driver,
        identity: Identity,
        description: Description,
    ) -> Result<Arc<Self>> {
        let place = description.place;
        let queue = new_queue(driver, &object, identity, place)?;
        let meter = Arc::new(Meter::new(description.nbytes));
        let context = Arc::new_cyclic(|own| Self {
            own: own.clone(),
            driver,
            place,
            identity,
            object,
            queue,
            description,
            meter,
            programs: Programs::default(),
        });
        let mut known = known();
        known.retain(|context| context.strong_count() > 0);
        if known.try_reserve(1).is_ok() {
            known.push(Arc::downgrade(&context));
        }
        drop(known);
        Ok(context)
    }

    /// The context with this handle, on the device of `like`: `like` itself, another one that is in
    /// use, or a new wrapper of the handle.
    ///
    /// # Errors
    ///
    /// `is_place` where the context does not have the device; what the driver says.
    ///
    /// # Safety
    ///
    /// `raw` is a context that is alive.
    pub(crate) unsafe fn known(raw: cl_context, like: &Arc<Self>) -> Result<Arc<Self>> {
        let is_it = |context: &Arc<Self>| context.raw() == raw && context.identity == like.identity;
        if is_it(like) {
            return Ok(like.clone());
        }
        // Dropped, should they be the last by then, without the lock.
        let in_use: Vec<Arc<Self>> = known().iter().filter_map(Weak::upgrade).collect();
        if let Some(found) = in_use.iter().find(|context| is_it(context)) {
            return Ok(found.clone());
        }
        // SAFETY: `raw` is a context that is alive (`# Safety`).
        let object = unsafe { Object::retained(raw, like.driver, like.place) }?;
        // SAFETY: retained just now.
        let devices = unsafe { all::<cl_device_id>(like.driver, Subject::Context(raw), CL_CONTEXT_DEVICES) }?;
        if !devices.contains(&like.identity.device()) {
            return Err(Error::place(format!(
                "the object's context has no {}: it has {} other devices",
                like.place,
                devices.len()
            )));
        }
        Self::over(object, like.driver, like.identity, like.description.clone())
    }

    /// The context behind a manager of memory.
    pub(crate) fn of(manager: Arc<dyn MemoryManager>) -> Option<Arc<Self>> {
        let manager: Arc<dyn Any + Send + Sync> = manager;
        manager.downcast().ok()
    }

    /// For those who have a reference, and need a count.
    pub(crate) fn counted(&self) -> Option<Arc<Self>> {
        self.own.upgrade()
    }

    pub(crate) fn driver(&self) -> &'static Driver {
        self.driver
    }

    pub(crate) fn place(&self) -> Place {
        self.place
    }

    pub(crate) fn raw(&self) -> cl_context {
        self.object.raw()
    }

    pub(crate) fn device(&self) -> cl_device_id {
        self.identity.device()
    }

    pub(crate) fn description(&self) -> &Description {
        &self.description
    }

    pub(crate) fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// The kernels that it has compiled. Only for the process whose the driver is.
    pub(crate) fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Whether objects of the one can be used with the other's.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.raw() == other.raw()
    }

    /// # Errors
    ///
    /// `is_place` where it is not this context's.
    pub(crate) fn check_device(&self, device: cl_device_id, whose: &str) -> Result<()> {
        if device == self.device() {
            return Ok(());
        }
        Err(Error::place(format!("{whose} is another device's, not that of {}", self.place)))
    }

    pub(crate) fn new_queue(&self) -> Result<Object<OfQueue>> {
        self.driver.check_process()?;
        new_queue(self.driver, &self.object, self.identity, self.place)
    }

    /// Does what `enqueue` puts into the queue that it is given, and waits for it.
    ///
    /// # Errors
    ///
    /// Of `enqueue`, and of the work; `is_device` in a forked child.
    pub(crate) fn now(&self, enqueue: impl FnOnce(cl_command_queue) -> Result<ClEvent>) -> Result<()> {
        self.driver.check_process()?;
        enqueue(self.queue.raw())?.wait()
    }

    /// An event that happens when all that is in a queue, and these events, are over.
    pub(crate) fn marker(self: &Arc<Self>, queue: cl_command_queue, events: &[cl_event]) -> Result<ClEvent> {
        let (mut end, (count, list)) = (std::ptr::null_mut(), wait_list(events));
        // SAFETY: a queue of this context and events of it that are alive, by those who call this
        // from within `put` (Driver 1).
        let status = unsafe { (self.driver.enqueue_marker)(queue, count, list, &raw mut end) };
        // SAFETY: the driver gave it.
        unsafe { ClEvent::made(end, status, self, "clEnqueueMarkerWithWaitList") }
    }
}

/// A queue whose commands are done in their order.
fn new_queue(
    driver: &'static Driver,
    context: &Object<OfContext>,
    identity: Identity,
    place: Place,
) -> Result<Object<OfQueue>> {
    let mut status = CL_SUCCESS;
    // SAFETY: a context that is alive (Object 1) and a device of it (Driver 1).
    let raw = unsafe { (driver.create_queue)(context.raw(), identity.device(), 0, &raw mut status) };
    // SAFETY: the driver gave it.
    unsafe { Object::made(raw, status, driver, place, "clCreateCommandQueue") }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({:?})", self.object)
    }
}
