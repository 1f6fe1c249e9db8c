"""Slices a photograph and a table of records. Every result is a view of the same memory."""

import crossdock

photo = crossdock.open("data/rocket.npy")
views = {
    "photo": photo,
    "photo[::-1]": photo[::-1],  # upside down
    "photo[:, ::2]": photo[:, ::2],  # every second column
    "photo[100:200, 300:, 0]": photo[100:200, 300:, 0],  # one channel of a part
    "photo.transpose(2, 0, 1)": photo.transpose(2, 0, 1),  # channels first
}
for text, view in views.items():
    print(f"{text:25} {str(view.shape):14} {str(view.strides):14} from byte {view.ptr - photo.ptr}")

# A packed record of 9 bytes: the prices are unaligned, and big-endian.
trades = crossdock.array([(7, 1.5), (8, 2.5), (9, 3.5)], "[('kind', 'u1'), ('price', '>f8')]")
prices = trades["price"]
print(prices.dtype, prices.shape, prices.strides, "aligned:", prices.flags.aligned)
prices[-1] = 4.5  # writes into the record
print(trades[-1], prices[::-1])
print(crossdock.copied_bytes(), "bytes copied")

column = prices.astype("float64")  # a column in native byte order, without gaps
print(column.dtype, column.strides, crossdock.copied_bytes(), "bytes copied")
