import json, mmap, os, pyarrow as pa
a = json.loads(os.environ["CROSSDOCK_ARRAY"])
m = mmap.mmap(a["fd"], 0, access=mmap.ACCESS_READ)
opened = pa.ipc.open_file if a["table"] == "file" else pa.ipc.open_stream
x = opened(pa.py_buffer(m)).read_all()
