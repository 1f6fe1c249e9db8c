import ast, json, mmap, os, numpy
a = json.loads(os.environ["CROSSDOCK_ARRAY"])
m = mmap.mmap(a["fd"], 0, access=mmap.ACCESS_READ)
dtype = ast.literal_eval(a["descr"])
x = numpy.ndarray(a["shape"], dtype, m, a["offset"], a["strides"])
