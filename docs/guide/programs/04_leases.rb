# frozen_string_literal: true

# Leases in Ruby: a column of Arrow holds a read lease until it is released.

require "crossdock"

heights = Crossdock::Array.new([483, 484, 490], dtype: :int16)

column = heights.to_arrow
begin
  heights[0] = 0
rescue Crossdock::Refusal => error
  puts error.message
end

column.release
heights[0] = 500
p heights.to_a
