import json, mmap, os, struct; from operator import mul
a = json.loads(os.environ["CROSSDOCK_ARRAY"]); m = mmap.mmap(a["fd"], 0, access=mmap.ACCESS_READ)
x = lambda *i: struct.unpack_from(a["struct"], m, a["offset"] + sum(map(mul, i, a["strides"])))[0]
