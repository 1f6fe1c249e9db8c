/* A Python module whose images lend their pixels by DLPack, with crossdock_producer.h alone:
 *
 *   cc -shared -fPIC -I<folder of the header> $(python3-config --includes) image_python.c -o image.so */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <crossdock_producer.h>

typedef struct image {
  PyObject_HEAD
  int64_t shape[3];
  uint8_t *pixels;
} image;

static PyObject *image_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
  long long height, width;
  image *self;
  static const char *const names[] = {"height", "width", NULL};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "LL:Image", (char **)(uintptr_t)names, &height, &width))
    return NULL;
  if (height < 0 || width < 0 || height > 10000 || width > 10000)
    return PyErr_Format(PyExc_ValueError, "an image has 0 to 10000 rows and columns, not %lld and %lld", height, width);
  self = (image *)type->tp_alloc(type, 0);
  if (self == NULL)
    return NULL;
  self->shape[0] = height, self->shape[1] = width, self->shape[2] = 3;
  self->pixels = (uint8_t *)calloc((size_t)(height * width * 3) + 1, 1);
  if (self->pixels == NULL) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  return (PyObject *)self;
}

static void image_dealloc(PyObject *self)
{
  free(((image *)self)->pixels);
  Py_TYPE(self)->tp_free(self);
}

/* The one description: the image is the owner of the memory. */
static xdp_memory image_memory(PyObject *self)
{
  xdp_memory memory = xdp_describe(((image *)self)->pixels, XDP_UINT8, 3, ((image *)self)->shape);
  memory.owner = self;
  memory.release = xdp_python_release;
  return memory;
}

static PyObject *image_dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
  xdp_memory memory = image_memory(self);
  PyObject *capsule;
  Py_INCREF(self); /* for the export */
  capsule = xdp_python_dlpack(&memory, args, kwargs);
  if (capsule == NULL)
    Py_DECREF(self);
  return capsule;
}

static PyObject *image_dlpack_device(PyObject *self, PyObject *unused)
{
  xdp_memory memory = image_memory(self);
  (void)unused;
  return xdp_python_dlpack_device(&memory);
}

static PyObject *image_address(PyObject *self, void *unused)
{
  (void)unused;
  return PyLong_FromVoidPtr(((image *)self)->pixels);
}

static PyMethodDef image_methods[] = {
  {"__dlpack__", (PyCFunction)(void (*)(void))image_dlpack, METH_VARARGS | METH_KEYWORDS, "The pixels, in place."},
  {"__dlpack_device__", image_dlpack_device, METH_NOARGS, "The CPU."},
  {NULL, NULL, 0, NULL},
};

static PyGetSetDef image_properties[] = {
  {"address", image_address, NULL, "The address of the pixels.", NULL},
  {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject image_type = {
  PyVarObject_HEAD_INIT(NULL, 0)
  .tp_name = "image.Image",
  .tp_basicsize = sizeof(image),
  .tp_flags = Py_TPFLAGS_DEFAULT,
  .tp_new = image_new,
  .tp_dealloc = image_dealloc,
  .tp_methods = image_methods,
  .tp_getset = image_properties,
};

static struct PyModuleDef definition = {
  PyModuleDef_HEAD_INIT, .m_name = "image", .m_doc = "Images that lend their pixels.", .m_size = -1,
};

PyMODINIT_FUNC PyInit_image(void)
{
  PyObject *module;
  if (PyType_Ready(&image_type) < 0)
    return NULL;
  module = PyModule_Create(&definition);
  if (module != NULL && PyModule_AddObjectRef(module, "Image", (PyObject *)&image_type) < 0)
    Py_CLEAR(module);
  return module;
}
