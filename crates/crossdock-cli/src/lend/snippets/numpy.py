import ast, json, mmap, os, numpy
a = json.loads(os.environ["CROSSDOCK_ARRAY"]); m = mmap.mmap(a["fd"], 0, access=mmap.ACCESS_READ)
x = numpy.ndarray(a["shape"], ast.literal_eval(a["descr"]), m, a["offset"], a["strides"])
