# frozen_string_literal: true

# Slices a photograph and a table of records, without copying an element.

require "crossdock"

photo = Crossdock.open("data/rocket.npy")
p photo[(-1..0) % -1].strides # upside down
part = photo[100...200, 300.., 0] # an index drops its axis
p part.shape, part.strides
p photo[false, 0].shape # `true` is a whole axis, `false` all that are left
p photo.transpose(2, 0, 1).strides # channels first

trades = Crossdock::Array.new([{ kind: 7, price: 1.5 }, { kind: 8, price: 2.5 }],
                              dtype: { kind: :uint8, price: :">float64" })
prices = trades.field(:price)
prices[-1] = 4.5 # writes into the record
p prices.strides, trades, Crossdock.copied_bytes
