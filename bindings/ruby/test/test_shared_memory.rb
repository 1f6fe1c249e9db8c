# frozen_string_literal: true

require_relative "helper"
require "timeout"
require "rbconfig"
require "socket"

class TestSharedMemory < Test::Unit::TestCase
  include Helper

  def child(code, *arguments, **options)
    lib = File.expand_path("../lib", __dir__)
    spawn(RbConfig.ruby, "-I#{lib}", "-rcrossdock", "-rsocket", "-e", code, *arguments.map(&:to_s), **options)
  end

  def test_a_child_that_inherits_the_descriptor_writes_the_same_memory
    array = Crossdock::Array.new([[1, 2, 3], [4, 5, 6]]).to_shared_memory
    shared = array[true, (-1..0) % -1].share_memory(writable: true)
    pid = child("array = Crossdock::SharedMemory.import(Integer(ARGV[0]), ARGV[1]); array[1, 0] *= 10", shared.fileno, shared.description,
                shared.fileno => shared.fileno)
    Process.wait(pid)
    assert_predicate $?, :success?
    assert_equal [[1, 2, 3], [4, 5, 60]], array.to_a
    shared.close
    assert_match(/closed/, message_of(Crossdock::Error) { shared.fileno })
  end

  def test_arrays_come_through_a_socket
    ours, theirs = UNIXSocket.pair
    pid = child("array = Crossdock::SharedMemory.receive(UNIXSocket.for_fd(3)); array.fill(array.sum)", 3 => theirs, close_others: true)
    array = Crossdock::Array.new([1.0, 2.0, 3.5]).to_shared_memory
    array.share_memory(writable: true).send_to(ours)
    Process.wait(pid)
    assert_equal [6.5] * 3, array.to_a
    theirs.close
    assert_nil Crossdock::SharedMemory.receive(ours)
  end

  def test_an_array_that_was_made_shareable_goes_in_place
    array = Crossdock::Array.zeros(2000, dtype: :int32, shareable: true)
    assert_equal "shared memory", array.backing if array.respond_to?(:backing)
    array[0] = 5
    before = Crossdock.copied_bytes
    ours, theirs = UNIXSocket.pair
    pid = child("array = Crossdock::SharedMemory.receive(UNIXSocket.for_fd(3)); array[1] = array[0] + 1", 3 => theirs, close_others: true)
    shared = array.share_memory(writable: true)
    assert_equal 0, shared.copied_nbytes
    shared.send_to(ours)
    Process.wait(pid)
    assert_equal [5, 6, 0], array[0..2].to_a
    assert_equal before, Crossdock.copied_bytes
    assert_equal [7, 7], Crossdock::Array.full(2, 7, shareable: true).share_memory.then { |lent|
      Crossdock::SharedMemory.import(lent.fileno, lent.description).to_a
    }
    assert_raise(Crossdock::Refusal) { Crossdock::Array.zeros(3).share_memory }
  end

  def test_who_waits_for_an_array_lets_others_run_and_can_be_interrupted
    ours, theirs = UNIXSocket.pair
    waiting = Thread.new { Crossdock::SharedMemory.receive(theirs) }
    Thread.pass until waiting.stop?
    Crossdock::Array.zeros(3).to_shared_memory.share_memory.send_to(ours)
    received = waiting.value
    assert_equal [[0.0] * 3, true], [received.to_a, received.readonly?]
    waiting = Thread.new { Crossdock::SharedMemory.receive(theirs) }
    Thread.pass until waiting.stop?
    waiting.kill
    assert_same waiting, waiting.join(10)
  end

  def test_memory_of_the_heap_goes_as_a_copy_only
    array = Crossdock::Array[1, 2, 3]
    refusal = assert_raise(Crossdock::Refusal) { array.share_memory }
    assert_equal [24, { lease: :pin }, [3], "int64"],
                 [refusal.would_copy, refusal.asked, refusal.offer[:shape], refusal.offer[:dtype]]
    shared = array.share_memory(copy: true)
    assert_equal 24, shared.copied_nbytes
    assert_equal [1, 2, 3], Crossdock::SharedMemory.import(shared.fileno, shared.description).to_a
    assert_raise(Errno::EBADF) { Crossdock::SharedMemory.import(9999, shared.description) }
    assert_raise(Crossdock::Error) { Crossdock::SharedMemory.import(shared.fileno, "nonsense") }
  end

  def test_sending_to_a_peer_that_does_not_read_is_interrupted
    ours, theirs = UNIXSocket.pair
    shared = Crossdock::Array[1, 2].to_shared_memory.share_memory
    nil while ours.write_nonblock("x" * 10_000, exception: false) != :wait_writable
    thread = Thread.new { shared.send_to(ours) }
    Thread.pass until thread.stop?
    assert_same thread, thread.kill.join(20)
    assert_raise(Timeout::Error) { Timeout.timeout(0.1) { shared.send_to(ours) } }
    theirs.close
  end
end
