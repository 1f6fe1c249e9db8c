# frozen_string_literal: true

# Opens a photograph and looks at it.

require "crossdock"

photo = Crossdock.open("data/rocket.npy")
p photo.dtype, photo.shape, photo.strides, photo.readonly?
p photo[200, 500, 0]
p photo[200, 500]
p photo.max, Crossdock.copied_bytes # Array is Enumerable
