/* The loops that only C can run: a buffer, or a tensor by DLPack's C exchange API, requested and
   released. Returns nanoseconds of thread time for each; a negative number if it was refused. */
#include <Python.h>
#include <dlpack/dlpack.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

double buffer(PyObject *object, int flags, long times) {
    Py_buffer view;
    double start = now();
    for (long i = 0; i < times; i++) {
        if (PyObject_GetBuffer(object, &view, flags)) return -1;
        PyBuffer_Release(&view);
    }
    return (now() - start) / times;
}

double tensor(PyObject *object, int owned, long times) {
    PyObject *capsule = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__dlpack_c_exchange_api__");
    DLPackExchangeAPI *api = capsule ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
    Py_XDECREF(capsule);
    if (!api) return -1;
    double start = now();
    for (long i = 0; i < times; i++) {
        DLTensor tensor;
        DLManagedTensorVersioned *managed;
        if (!owned) {
            if (api->dltensor_from_py_object_no_sync(object, &tensor)) return -1;
        } else {
            if (api->managed_tensor_from_py_object_no_sync(object, &managed)) return -1;
            managed->deleter(managed);
        }
    }
    return (now() - start) / times;
}
