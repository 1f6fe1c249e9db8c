# frozen_string_literal: true

require "io/wait"

module Crossdock
  # An array on its way to another process: a descriptor of the memory, and a text that says where in it the elements lie. It comes from
  # {Array#share_memory}, and keeps a lease on the memory until it is closed.
  #
  # @example To a child, by inheritance
  #   shared = array.to_shared_memory.share_memory(writable: true)
  #   spawn("ruby", "child.rb", shared.fileno.to_s, shared.description, shared.fileno => shared.fileno)
  # @example In the child
  #   array = Crossdock::SharedMemory.import(Integer(ARGV[0]), ARGV[1])
  class SharedMemory
    include Transient

    # The array behind a descriptor.
    #
    # @param descriptor [Integer, IO] stays open, and stays the caller's
    # @param description [String] from {#description}, in whatever way it came
    # @return [Array]
    def self.import(descriptor, description)
      import_fd(descriptor.respond_to?(:fileno) ? descriptor.fileno : descriptor, description)
    end

    # The next array that comes through a Unix socket, to which another process has sent it by {#send_to}, or by the library in another
    # language.
    #
    # @param socket [UNIXSocket]
    # @return [Array, nil] nil at the end of the stream
    def self.receive(socket)
      # Here other threads can interrupt this one.
      socket.wait_readable
      receive_by(socket.fileno)
    end

    # Sends the descriptor and the description through a Unix socket.
    #
    # @param socket [UNIXSocket]
    # @return [self]
    def send_to(socket)
      # Here other threads can interrupt this one.
      socket.wait_writable
      send_by(socket.fileno)
      self
    end

    private_class_method :import_fd, :receive_by
  end
end
