# frozen_string_literal: true

require "io/wait"

module Crossdock
  # An array on its way to another process: a descriptor of the memory, and a text that describes
  # the position of the elements in it. {Array#share_memory} creates it. It keeps a lease on the
  # memory until it is closed.
  #
  # @example To a child, by inheritance
  #   shared = array.to_shared_memory.share_memory(writable: true)
  #   spawn("ruby", "child.rb", shared.fileno.to_s, shared.description, shared.fileno => shared.fileno)
  # @example In the child
  #   array = Crossdock::SharedMemory.import(Integer(ARGV[0]), ARGV[1])
  class SharedMemory
    include Transient

    # The array in the memory of a descriptor.
    #
    # @param descriptor [Integer, IO] stays open, and still belongs to the caller
    # @param description [String] from {#description}, received in any way
    # @return [Array]
    def self.import(descriptor, description)
      import_fd(descriptor.respond_to?(:fileno) ? descriptor.fileno : descriptor, description)
    end

    # The next array from a Unix socket, to which another process sends it by {#send_to}, or by the
    # library in another language.
    #
    # @param socket [UNIXSocket]
    # @return [Array, nil] nil at the end of the stream
    def self.receive(socket)
      # Other threads can interrupt this one here.
      socket.wait_readable
      receive_by(socket.fileno)
    end

    # Sends the descriptor and the description through a Unix socket.
    #
    # @param socket [UNIXSocket]
    # @return [self]
    def send_to(socket)
      # Other threads can interrupt this one here.
      socket.wait_writable
      send_by(socket.fileno)
      self
    end

    private_class_method :import_fd, :receive_by

    private

    def instead_of_writing
      "send it through a Unix socket (`memory.send_to(socket)`), or write the array of which it was made"
    end
  end
end
