import ast, json, mmap, os, numpy
a = json.loads(os.environ["CROSSDOCK_ARRAY"])
x = numpy.ndarray(a["shape"], ast.literal_eval(a["descr"]), mmap.mmap(a["fd"], 0, access=mmap.ACCESS_READ), a["offset"], a["strides"])
