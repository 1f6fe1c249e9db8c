# frozen_string_literal: true

# Copies in Ruby: `copy: true` permits one.

require "crossdock"

red = Crossdock.open("data/rocket.npy")[true, true, 0]
begin
  red.to_arrow
rescue Crossdock::Refusal => refusal
  puts "refused: a copy would take #{refusal.would_copy} bytes"
end

column = red.to_arrow(copy: true)
puts "copied: #{column.copied_nbytes} bytes"
puts "in all: #{Crossdock.copied_bytes} bytes"
