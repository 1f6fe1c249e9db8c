//! A context on one device, which owns memory, queues and events.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, MutexGuard, Weak};

use opencl_sys::*;

use crate::description::Description;
use crate::driver::Driver;
use crate::event::ClEvent;
use crate::object::{Object, OfContext, OfQueue};
use crate::platforms::Identity;
use crate::programs::{Programs, Target};
use crate::query::{Subject, all};
use crate::queue::wait_list;
use crossdock::device::driver::ForkLock;
use crossdock::device::{Event, MemoryManager, Meter};
use crossdock::memory::Place;
use crossdock::{Error, Result};

/// A context of this library, or one of another library whose object was imported; and the memory
/// in it.
pub(crate) struct Context {
    own: Weak<Self>,
    driver: &'static Driver,
    place: Place,
    identity: Identity,
    object: Object<OfContext>,
    /// For synchronous commands.
    queue: Object<OfQueue>,
    description: Description,
    meter: Arc<Meter>,
    programs: Programs,
}

/// The contexts in use, so that all objects of a context share one.
static KNOWN: ForkLock<Vec<Weak<Context>>> = ForkLock::new(Vec::new());

fn known() -> MutexGuard<'static, Vec<Weak<Context>>> {
    KNOWN.lock()
}

impl Context {
    /// A new context on a device.
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub(crate) fn new(driver: &'static Driver, identity: Identity, place: Place) -> Result<Arc<Self>> {
        let properties =
            [CL_CONTEXT_PLATFORM as cl_context_properties, identity.platform() as cl_context_properties, 0];
        let (device, mut status) = (identity.device(), CL_SUCCESS);
        // SAFETY: the properties end with a zero, the device belongs to the platform (Identity 1),
        // there is no callback, and the pointers are to local variables (Driver 1).
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
        // SAFETY: `clCreateContext` returned `raw` with `status`; on success the reference is this
        // caller's to pass on.
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
        // SAFETY: clause 1 of `new_queue`: both callers pass the context's own device.
        let queue = unsafe { new_queue(driver, &object, identity, place) }?;
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

    /// The context with this handle, on the device of `like`: `like` itself, another context in
    /// use, or a new wrapper of the handle.
    ///
    /// # Errors
    ///
    /// `is_place` where the context does not have the device; the driver's error.
    ///
    /// # Safety
    ///
    /// `raw` is a context of the driver of `like`, and is alive.
    pub(crate) unsafe fn known(raw: cl_context, like: &Arc<Self>) -> Result<Arc<Self>> {
        let is_it = |context: &Arc<Self>| context.raw() == raw && context.identity == like.identity;
        if is_it(like) {
            return Ok(like.clone());
        }
        // Contexts whose last handle these become are dropped without the lock.
        let in_use: Vec<Arc<Self>> = known().iter().filter_map(Weak::upgrade).collect();
        if let Some(found) = in_use.iter().find(|context| is_it(context)) {
            return Ok(found.clone());
        }
        // SAFETY: `# Safety`: `raw` is a context of this driver that is alive, which is the
        // contract of `Object::retained`.
        let object = unsafe { Object::retained(raw, like.driver, like.place) }?;
        // SAFETY: `object` holds a reference to `raw` (Object 1), so the context is alive.
        let devices = unsafe { all::<cl_device_id>(like.driver, Subject::Context(raw), CL_CONTEXT_DEVICES) }?;
        if !devices.contains(&like.identity.device()) {
            return Err(Error::place(format!(
                "the object's context does not contain {}; it contains {} other devices",
                like.place,
                devices.len()
            )));
        }
        Self::over(object, like.driver, like.identity, like.description.clone())
    }

    /// The context of a memory manager.
    pub(crate) fn of(manager: Arc<dyn MemoryManager>) -> Option<Arc<Self>> {
        let manager: Arc<dyn Any + Send + Sync> = manager;
        manager.downcast().ok()
    }

    /// A counted handle on this context.
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

    /// The kernels that the context has compiled. Only for the process that loaded the driver.
    pub(crate) fn programs(&self) -> &Programs {
        &self.programs
    }

    /// What kernels are compiled for.
    pub(crate) fn target(&self) -> Target<'_> {
        // SAFETY: clause 1 of `Target::new`: the context was made for its device, by this driver.
        unsafe { Target::new(self.driver, self.place, &self.object, self.device()) }
    }

    /// Whether objects of both can be used together.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.raw() == other.raw()
    }

    /// # Errors
    ///
    /// `is_place` for a device of another context.
    pub(crate) fn check_device(&self, device: cl_device_id, whose: &str) -> Result<()> {
        if device == self.device() {
            return Ok(());
        }
        Err(Error::place(format!("{whose} belongs to another device, not to {}", self.place)))
    }

    pub(crate) fn new_queue(&self) -> Result<Object<OfQueue>> {
        self.driver.check_process()?;
        // SAFETY: clause 1 of `new_queue`: the context was made for its device.
        unsafe { new_queue(self.driver, &self.object, self.identity, self.place) }
    }

    /// Waits for the work that `enqueue` puts into the queue it is passed, which is of this context
    /// and alive.
    ///
    /// # Errors
    ///
    /// Those of `enqueue` and of the work; `is_device` in a forked child.
    pub(crate) fn now(&self, enqueue: impl FnOnce(cl_command_queue) -> Result<ClEvent>) -> Result<()> {
        self.driver.check_process()?;
        enqueue(self.queue.raw())?.wait()
    }

    /// An event that completes after all commands in a queue, and after these events.
    ///
    /// # Safety
    ///
    /// 1. The queue and the events are of this context, and alive during the call.
    pub(crate) unsafe fn marker(
        self: &Arc<Self>,
        queue: cl_command_queue,
        events: &[cl_event],
    ) -> Result<ClEvent> {
        let (mut end, (count, list)) = (std::ptr::null_mut(), wait_list(events));
        // SAFETY: clause 1 of `# Safety`: the queue and the events are of this context, and alive
        // (Driver 1).
        let status = unsafe { (self.driver.enqueue_marker)(queue, count, list, &raw mut end) };
        // SAFETY: `clEnqueueMarkerWithWaitList` returned `end` with `status`; on success the
        // reference is this caller's to pass on.
        unsafe { ClEvent::made(end, status, self, "clEnqueueMarkerWithWaitList") }
    }
}

/// An in-order queue.
///
/// # Safety
///
/// 1. The device is one of the context.
unsafe fn new_queue(
    driver: &'static Driver,
    context: &Object<OfContext>,
    identity: Identity,
    place: Place,
) -> Result<Object<OfQueue>> {
    let mut status = CL_SUCCESS;
    // SAFETY: the context is alive (Object 1), the device is one of it (clause 1 of `# Safety`),
    // and `status` is a local variable (Driver 1).
    let raw = unsafe { (driver.create_queue)(context.raw(), identity.device(), 0, &raw mut status) };
    // SAFETY: `clCreateCommandQueue` returned `raw` with `status`; on success the reference is this
    // caller's to pass on.
    unsafe { Object::made(raw, status, driver, place, "clCreateCommandQueue") }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({:?})", self.object)
    }
}
