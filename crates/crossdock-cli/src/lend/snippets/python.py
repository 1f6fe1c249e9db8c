import json, mmap, os
a = json.loads(os.environ["CROSSDOCK_ARRAY"])
m = mmap.mmap(a["fd"], 0, access=mmap.ACCESS_READ)
x = memoryview(m)[a["offset"]:][:a["nbytes"]].cast(a["struct"], a["shape"])
