# frozen_string_literal: true

# Sends an array to a Python process, which changes it in place and sends its own array back. Both
# processes map the same pages, so nothing is copied.
#
#   ruby examples/neighbour.rb python3

require "crossdock"
require "socket"

python = ARGV.fetch(0, "python3")
ours, theirs = UNIXSocket.pair

# Memory that other processes can map. `to_shared_memory` copies an array there once.
table = Crossdock::Array.zeros(3, 4).to_shared_memory
table[0..] = Crossdock::Array.new([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]])

neighbour = spawn(python, File.join(__dir__, "neighbour.py"), theirs.fileno.to_s, theirs.fileno => theirs.fileno)
theirs.close

# A part of it is only a description: every second column, from the last row up.
part = table[(2..).step(-1), (0..).step(2)]
part.share_memory(writable: true).send_to(ours)

# The neighbour has written the array, and sends its own memory.
sums = Crossdock::SharedMemory.receive(ours) or abort "the neighbour went without an answer"
Process.wait(neighbour)

puts "the table, of which the neighbour has doubled a part:", table.inspect
puts "the neighbour's sums, in its memory, which outlives it:", sums.inspect
