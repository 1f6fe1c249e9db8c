#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

template <typename Array> nb::tuple describe(Array array) {
    nb::list shape, strides;
    for (size_t axis = 0; axis < array.ndim(); axis++) {
        shape.append(array.shape(axis));
        strides.append(array.stride(axis));
    }
    auto type = array.dtype();
    return nb::make_tuple((size_t) array.data(), nb::tuple(shape), nb::tuple(strides), type.code, type.bits, type.lanes);
}

// A producer that grants a full buffer to every request, as MLX does.
struct Granting {
    nb::object source;
};

int lend(PyObject *self, Py_buffer *view, int) {
    return PyObject_GetBuffer(nb::inst_ptr<Granting>(self)->source.ptr(), view, PyBUF_FULL_RO);
}

void end(PyObject *, Py_buffer *) {}

PyType_Slot slots[] = {{Py_bf_getbuffer, (void *) lend}, {Py_bf_releasebuffer, (void *) end}, {0, nullptr}};

NB_MODULE(peer, module) {
    nb::class_<Granting>(module, "Granting", nb::type_slots(slots)).def("__init__", [](Granting *self, nb::object source) {
        new (self) Granting{source};
    });
    module.def("read", [](nb::ndarray<nb::ro> array) { return describe(array); });
    module.def("write", [](nb::ndarray<> array) { return describe(array); });
    module.def("make", [](size_t count) {
        float *numbers = new float[count];
        for (size_t k = 0; k < count; k++) numbers[k] = (float) k;
        nb::capsule owner(numbers, [](void *pointer) noexcept { delete[] (float *) pointer; });
        return nb::ndarray<nb::array_api, float>(numbers, {count}, owner);
    });
}
