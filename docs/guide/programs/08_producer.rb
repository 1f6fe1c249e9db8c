# frozen_string_literal: true

# A library lends its scans in place: rows of 16-bit levels, with padding behind each row.

require "crossdock"

# The bytes of all rows in a frozen String; a row and its padding take `pitch` levels.
Scan = Struct.new(:bytes, :rows, :columns, :pitch)

Crossdock.register(Scan) do |scan, request|
  request.refuse("a Scan is read-only") if request.writable?

  padded = Crossdock::Array.from_string(scan.bytes, dtype: :uint16, shape: [scan.rows, scan.pitch])
  padded[true, 0...scan.columns]
end

# A consumer that does not know scans.
scan = Scan.new([10, 11, 12, 0, 20, 21, 22, 0].pack("S*").freeze, 2, 3, 4)
array = Crossdock.view(scan)
puts array.inspect, "strides #{array.strides}, #{Crossdock.copied_bytes} bytes copied"
begin
  Crossdock.view(scan, writable: true)
rescue Crossdock::Refusal => refusal
  puts "refused: #{refusal.message}"
end
