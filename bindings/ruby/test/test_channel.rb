# frozen_string_literal: true

require_relative "helper"
require "socket"

class TestChannel < Test::Unit::TestCase
  include Helper

  def numbers(*values)
    Crossdock::Array.new(values)
  end

  # A child made by fork, whose block must end without an exception.
  def child
    pid = fork do
      yield
      exit! 0
    rescue Exception => e # rubocop:disable Lint/RescueException
      warn e.full_message
      exit! 1
    end
    -> { assert_predicate Process.wait2(pid)[1], :success? }
  end

  def test_another_process_sends_frames_in_place
    channel = Crossdock::Channel.new(3, 1000)
    receiver = channel.receiver
    ended = child do
      sender = channel.sender
      200.times { |i| sender.loan([3, i % 5], :uint16, timeout: 60) { |frame| frame.fill(i) } }
      channel.close
    end
    before = Crossdock.copied_bytes
    received = 0
    receiver.each do |view|
      assert_equal [:uint16.to_s, [3, received % 5], true], [view.dtype.to_s, view.shape, view.readonly?]
      assert(view.to_a.flatten.all?(received))
      received += 1
    end
    ended.call
    assert_equal [200, 0, 0], [received, receiver.missed, Crossdock.copied_bytes - before]
    assert_nil receiver.receive
    assert_match(/closed/, message_of(IOError) { channel.sender.send([1]) })
  end

  def test_a_slot_is_free_when_its_view_is_released_or_collected
    channel = Crossdock::Channel.new(1, 100)
    receiver, sender = channel.receiver, channel.sender
    sender << [1, 2, 3]
    view = receiver.receive
    assert_equal [1, 2, 3], view.to_a
    assert_match(/no slot/, message_of(Errno::ETIMEDOUT) { sender.send([4], timeout: 0) })
    assert_match(/read-only/, message_of(FrozenError) { view[0] = 1 })
    part = view[1..]
    view.release
    assert_raise(Errno::ETIMEDOUT) { sender.send([4], timeout: 0) }
    part.release
    sender.send([4], timeout: 0)
    assert_equal [4], receiver.receive(&:to_a)
    # A view that nothing refers to is collected when a sender of this process waits.
    sender.send([5], timeout: 0)
    Thread.new { receiver.receive.to_a }.join
    sender.send([6], timeout: 60)
    assert_equal [6], receiver.try_receive(&:to_a)
  end

  def test_a_loan_whose_block_fails_is_given_back
    channel = Crossdock::Channel.new(1, 100)
    receiver, sender = channel.receiver, channel.sender
    kept = nil
    assert_raise(RuntimeError) { sender.loan(2, timeout: 0) { |frame| raise (kept = frame).inspect } }
    assert_predicate kept, :released?
    [1].each { sender.loan(2, timeout: 0) { break } }
    assert_equal 7, (sender.loan(2, :int8, timeout: 0) { |frame| frame.fill(3) && 7 })
    assert_equal [3, 3], receiver.receive(timeout: 0, &:to_a)
    assert_nil receiver.receive(timeout: 0.01)
    assert_equal 1, channel.sent
    assert_raise(ArgumentError) { sender.loan(2) }
    assert_raise(IndexError) { sender.loan(1000) {} }
    [-1, "x"].each { |timeout| assert_raise(ArgumentError, TypeError) { receiver.receive(timeout: timeout) } }
  end

  def test_what_reads_a_table_keeps_no_slot
    channel = Crossdock::Channel.new(1, 2000)
    receiver, sender = channel.receiver, channel.sender
    rows = { "n" => [1, 2, 3], "s" => ["a", nil, "c"] }
    readers = {
      last: ->(table) { assert_equal [[{ "n" => 3, "s" => "c" }], 3, []], [table.last(1), table.last(9).size, table.last(0)] },
      one: ->(table) { assert_equal [3, 1], [table.last["n"], table[0]["n"]] },
      schema: ->(table) { assert_equal [%w[n int64], %w[s string]], table.schema },
      explain: ->(table) { assert_match(/"n", int64: in place/, Crossdock.explain(table)) },
      text: ->(table) { assert_match(/3 rows/, table.inspect) }
    }
    GC.disable
    readers.each do |name, read|
      sender.send(Crossdock.table(rows), timeout: 0)
      receiver.receive(&read)
      assert_nothing_raised(name.to_s) { sender.send([0], timeout: 0) }
      receiver.receive(timeout: 0, &:to_a)
    end
  ensure
    GC.enable
  end

  def test_tables_are_received_in_the_slot
    channel = Crossdock::Channel.new(2, 10_000)
    receiver = channel.receiver
    rows = { "n" => [1, nil, 3], "name" => ["a", "bc", nil] }
    ended = child do
      sender = channel.sender
      20.times { |i| sender.send(Crossdock::Table.new(rows.merge("i" => [i] * 3)), timeout: 60) }
      sender << [7, 8]
      channel.close
    end
    received = []
    receiver.each do |message|
      next assert_equal([7, 8], message.to_a) if message.is_a?(Crossdock::Array)

      received << message["i"].to_a
      assert_equal rows, message.to_h.slice("n", "name")
    end
    ended.call
    assert_equal (0...20).map { |i| [i] * 3 }, received
    assert_nil receiver.receive
  end

  def test_a_table_keeps_its_slot_until_it_is_released_and_a_larger_one_is_refused
    channel = Crossdock::Channel.new(1, 2000)
    receiver, sender = channel.receiver, channel.sender
    sender << Crossdock::Table.new({ "n" => [1.5, 2.5] })
    table = receiver.receive
    column = table["n"]
    table.release
    assert_match(/no slot/, message_of(Errno::ETIMEDOUT) { sender.send([4], timeout: 0) })
    assert_equal [[1.5, 2.5], [1.5, 2.5], [2.5]], [column.to_a, column.each.to_a, column.last(1)]
    column.release
    3.times do |i|
      sender.send(Crossdock::Table.new({ "n" => [i] }), timeout: 0)
      table = receiver.receive
      assert_raise(Errno::ETIMEDOUT) { sender.send([4], timeout: 0) }
      table.release
      sender.send(Crossdock::Table.new({ "n" => [i] }), timeout: 0)
      kept = receiver.receive { |message| message.tap { assert_equal [{ "n" => i }], message.to_a } }
      assert_predicate kept, :released?
      sender.send(Crossdock::Table.new({ "n" => [i] }), timeout: 0)
      assert_equal({ "n" => [i] }, receiver.lazy.map(&:copy).first.to_h)
    end
    large = Crossdock::Table.new({ "n" => [0] * 1000 })
    channel = Crossdock::Channel.new(1, 2000)
    assert_match(/does not fit into a slot, which has 2000 bytes/, message_of(IndexError) { channel.sender << large })
  end

  def test_policies
    latest = Crossdock::Channel.new(2, 100, delivery: :latest)
    sender, receiver = latest.sender, latest.receiver
    3.times { |i| sender.send([i], timeout: 0) }
    assert_equal [[2], nil], [receiver.receive(&:to_a), receiver.try_receive]
    dropping = Crossdock::Channel.new(2, 100, drop_oldest: true)
    sender, receiver = dropping.sender, dropping.receiver
    5.times { |i| sender.send([i], timeout: 0) }
    assert_equal [[3], [4]], Array.new(2) { receiver.receive(&:to_a) }
    assert_equal 3, receiver.missed
    one = Crossdock::Channel.new(3, 100, delivery: :one)
    sender = one.sender
    3.times { |i| sender.send([i], timeout: 0) }
    one.close
    parts = Array.new(2) { one.receiver }.map { |receiver| receiver.lazy.map(&:to_a).to_a }
    assert_equal [[0], [1], [2]], parts.sum([])
    assert_equal "#<Crossdock::Channel 3 slots of 100 bytes, one, 3 sent>", one.inspect
  end

  def test_other_threads_run_while_one_waits_and_may_end_it
    channel = Crossdock::Channel.new(1, 100)
    receiver, sender = channel.receiver, channel.sender
    waiting = Thread.new { receiver.receive(&:to_a) }
    sleep 0.01 until waiting.status == "sleep"
    sender.send([1])
    assert_equal [1], waiting.value
    waiting = Thread.new { receiver.receive }
    sleep 0.01 until waiting.status == "sleep"
    waiting.kill
    assert waiting.join(20)
    waiting = Thread.new { receiver.each { flunk } }
    waiting.report_on_exception = false
    sleep 0.01 until waiting.status == "sleep"
    waiting.raise(Interrupt)
    assert_raise(Interrupt) { waiting.join(20) }
    sender.send([2])
    # Nobody lost the message, and the sender waits as well.
    waiting = Thread.new { sender.send([3]) }
    sleep 0.01 until waiting.status == "sleep"
    waiting.kill
    assert waiting.join(20)
    assert_equal [2], receiver.receive(&:to_a)
  end

  def test_a_forked_child_attaches_its_own_ends
    channel = Crossdock::Channel.new(2, 100)
    receiver, sender = channel.receiver, channel.sender
    sender.send([1])
    child do
      assert_match(/attach again/, message_of(Crossdock::Refusal) { receiver.receive(timeout: 0) })
      assert_match(/attach again/, message_of(Crossdock::Refusal) { sender.send([2]) })
      channel.sender.send([3])
    end.call
    assert_equal [[1], [3]], Array.new(2) { receiver.receive(timeout: 0, &:to_a) }
    assert_equal [1, 2], [channel.receivers, channel.sent]
  end

  def test_a_channel_goes_through_a_socket
    ours, theirs = UNIXSocket.pair
    channel = Crossdock::Channel.new(2, 100, name: "ruby-test")
    channel.to_array.share_memory(writable: true).send_to(ours)
    other = Crossdock::Channel.open(Crossdock::SharedMemory.receive(theirs))
    receiver = other.receiver
    channel.sender.send(numbers(1, 2))
    assert_equal [[1, 2], 2, 100, :each], [receiver.receive(&:to_a), other.slots, other.nbytes, other.delivery]
    assert_raise(Crossdock::Error) { Crossdock::Channel.open(numbers(1).to_shared_memory) }
    assert_raise(TypeError) { Crossdock::Channel.open("x") }
    assert_match(/share_memory/, message_of(TypeError) { Marshal.dump(channel) })
    receiver, sender = channel.receiver, channel.sender
    { receiver => /attach a receiver/, sender => /attach a sender/, sender.__send__(:loan_slot, [1], :int8, 0) => /array\.copy/ }.each do |lent, remedy|
      assert_match(remedy, message_of(TypeError) { Marshal.dump(lent) })
    end
  end

  def test_a_program_that_inherits_the_descriptor_opens_the_channel
    channel = Crossdock::Channel.new(2, 100)
    receiver = channel.receiver
    code = "channel = Crossdock::Channel.open(Integer(ARGV[0])); channel.sender.send([1, 2]); channel.close"
    lib = File.expand_path("../lib", __dir__)
    fd = channel.fileno
    assert system(RbConfig.ruby, "-I#{lib}", "-rcrossdock", "-e", code, fd.to_s, fd => fd)
    assert_equal [[1, 2]], receiver.lazy.map(&:to_a).to_a
    io = IO.for_fd(fd, autoclose: false)
    assert_equal 2, Crossdock::Channel.open(io).slots
    assert_equal fd, channel.fileno
    assert_raise(ArgumentError) { Crossdock::Channel.open(-1) }
    assert_raise_kind_of(SystemCallError, Crossdock::Error) { File.open(__FILE__) { |file| Crossdock::Channel.open(file) } }
  end

  def test_wrong_arguments_are_refused
    assert_match(/\Aslots: -1 is negative/, message_of(RangeError) { Crossdock::Channel.new(-1, 10) })
    assert_match(/\Anbytes: -#{2**70} is negative/, message_of(RangeError) { Crossdock::Channel.new(1, -(2**70)) })
    assert_match(/\Ashape: -1 is negative/, message_of(RangeError) { Crossdock::Channel.new(1, 10).sender.loan(-1) {} })
    assert_raise(RangeError) { Crossdock::Channel.new(0, 10) }
    assert_raise(RangeError) { Crossdock::Channel.new(2, 10, name: "a b") }
    assert_raise(ArgumentError) { Crossdock::Channel.new(2, 10, name: "") }
    assert_match(/:latest/, message_of(ArgumentError) { Crossdock::Channel.new(2, 10, delivery: :all) })
  end
end
