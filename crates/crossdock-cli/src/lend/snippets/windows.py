import msvcrt
a["fd"] = msvcrt.open_osfhandle(a["handle"], 0)
