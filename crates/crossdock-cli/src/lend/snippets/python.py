import json, mmap, os
a = json.loads(os.environ["CROSSDOCK_ARRAY"])
x = memoryview(mmap.mmap(a["fd"], 0, access=mmap.ACCESS_READ))[a["offset"]:][:a["nbytes"]].cast(a["struct"], a["shape"])
