# frozen_string_literal: true

# The member in Ruby of `test_together.rb`, which says what a member does.

require "crossdock"

SENDERS = 4

def refused
  yield
  raise "it was written"
rescue FrozenError
  nil
end

label, fd, text, id, count = ARGV
id, count = Integer(id), Integer(count)
set = Crossdock.connect(label)
squares, rows = set.fetch("squares"), set.fetch("rows")
raise "the set has other values" unless squares.to_a == Array.new(100) { |k| k * k }
raise "the table has other values" unless rows["k"].to_a == Array.new(10) { _1 } && rows["name"].to_a[2..3] == ["größe", nil]

refused { squares[1] = -1 }
refused { rows["k"].array[1] = -1 }
channel = Crossdock::Channel.open(Crossdock::SharedMemory.import(Integer(fd), text))
sender, receiver = channel.sender, channel.receiver
sleep 0.001 until channel.receivers == SENDERS
sent, received = 0, [0] * SENDERS
until sent == count && received == [count] * SENDERS
  if sent < count
    begin
      sender.loan(2 + sent % 3, :int64, timeout: 0) do |array|
        array.fill(sent)
        array[0] = id
      end
      sent += 1
    rescue Errno::ETIMEDOUT
      # Receives meanwhile.
    end
  end
  receiver.receive(timeout: 0.001) do |view|
    from, *rest = view.to_a
    raise "#{from} sent #{rest}" unless rest == [received[from]] * (1 + received[from] % 3)

    refused { view[1] = -1 }
    received[from] += 1
  end
end
puts "ruby #{sent} #{received.inspect} #{receiver.missed}"
