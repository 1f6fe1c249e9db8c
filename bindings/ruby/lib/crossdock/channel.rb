# frozen_string_literal: true

module Crossdock
  # A stream of arrays and tables between processes.
  #
  # A sender borrows one of the channel's slots as a writable array, fills it and sends it. A receiver
  # gets a read-only array on the same memory, without a copy, and the slot is free again when that
  # array and all views of it are released or collected. Each message may have another dtype and
  # shape. A {Table} is copied once, into its slot, and received in place.
  #
  # A child made by `fork` inherits the channel and attaches ends of its own; it cannot use those that
  # it inherited. To any other process, a channel goes as the descriptor or the array of its memory.
  # If a process is killed, its slots come back.
  #
  # @example
  #   channel = Crossdock::Channel.new(4, 1 << 20)
  #   receiver = channel.receiver
  #   fork do
  #     channel.sender.loan([2, 3], :float32) { |frame| frame.fill(1.5) }
  #     channel.close
  #   end
  #   receiver.each { |frame| p frame.to_a } # [[1.5, 1.5, 1.5], [1.5, 1.5, 1.5]]
  # @example To another process, through a Unix socket
  #   channel.to_array.share_memory(writable: true).send_to(socket)
  #   # and there
  #   channel = Crossdock::Channel.open(Crossdock::SharedMemory.receive(socket))
  class Channel
    include Transient

    # @param slots [Integer] the number of slots, 1 to 1024. Views keep slots, so there must be more
    #   of them than all receivers together keep views
    # @param nbytes [Integer] the most bytes of a message
    # @param delivery [Symbol] `:each`: each receiver that is attached gets a message; `:one`: one
    #   receiver gets it, and it waits for one; `:latest`: each receiver gets the newest message that
    #   it has not seen
    # @param drop_oldest [Boolean] whether a sender that finds no free slot takes that of the oldest
    #   message that waits, instead of waiting
    # @param name [String, nil] the name by which the command `crossdock tap` finds the channel
    # @return [Channel]
    def self.new(slots, nbytes, delivery: :each, drop_oldest: false, name: nil)
      make(slots, nbytes, delivery, drop_oldest, name)
    end

    # @!scope class
    # @!method open(memory)
    #   The channel of another process.
    #   @param memory [Array, Integer, IO] the array of its memory, from {#to_array}, sent with
    #     `writable: true`; or its descriptor, from {#fileno}, which stays open and still belongs to
    #     the caller
    #   @return [Channel]
    #   @example In a child that inherits the descriptor
    #     # spawn("ruby", "child.rb", channel.fileno.to_s, channel.fileno => channel.fileno)
    #     channel = Crossdock::Channel.open(Integer(ARGV[0]))
    # @!scope instance
    # @!method fileno
    #   The descriptor of the channel's memory, which belongs to the channel: for a program that
    #   inherits it, also in another language.
    #   @return [Integer]
    # @!method to_array
    #   All of the channel's memory, by which it goes to another process.
    #   @return [Array]
    # @!method sender
    #   Attaches a sender.
    #   @return [Sender]
    # @!method receiver
    #   Attaches a receiver.
    #   @return [Receiver]
    # @!method close
    #   Ends the stream: senders fail from now on, and receivers get what was sent before.
    #   @return [nil]

    # @return [String]
    def inspect
      "#<#{self.class} #{slots} slots of #{nbytes} bytes, #{delivery}, #{sent} sent>"
    end

    private_class_method :make

    private

    def instead_of_writing
      "send its memory (`channel.to_array.share_memory(writable: true)`)"
    end

    # The end of a channel that sends. {Channel#sender} returns it.
    class Sender
      include Transient

      # Borrows a slot as a writable array, which is sent at the end of the block, unless the block is
      # left by an exception, `break` or `throw`. The array is released then. Keep no part of it after the
      # block: nothing stops writes by it, and receivers would see them.
      #
      # @param shape [Integer, ::Array<Integer>]
      # @param dtype [Symbol, String, Hash]
      # @param timeout [Numeric, nil] the most seconds to wait for a free slot
      # @yieldparam array [Array] with the elements of an earlier message, or zeros
      # @return [Object] the result of the block
      # @raise [Errno::ETIMEDOUT] if no slot became free in time
      # @raise [IOError] if the channel is closed
      def loan(shape, dtype = :float64, timeout: nil)
        raise ArgumentError, "loan needs a block, after which the array is sent" unless block_given?

        loan = loan_slot(Kernel.Array(shape), dtype, timeout)
        begin
          array = loan.array
          result = yield array
          loan.deliver
          result
        ensure
          loan.give_back
          array&.release
        end
      end

      # Copies an array or a table into a slot, and sends it.
      #
      # @param object [Array, ::Array, Table, Object] also nested lists, and any object that
      #   {Crossdock.view} accepts. All of a table must fit into a slot; those of other libraries go
      #   through {Table.new}
      # @param timeout [Numeric, nil] the most seconds to wait for a free slot
      # @return [self]
      # @raise [Errno::ETIMEDOUT] if no slot became free in time
      # @raise [IOError] if the channel is closed
      def send(object, timeout: nil)
        case object
        when Table then send_table(object, timeout)
        when Array then send_array(object, timeout)
        when ::Array then send_array(Array.new(object), timeout)
        else send_array(Crossdock.view(object), timeout)
        end
        self
      end
      alias << send

      private

      def instead_of_writing
        "send the memory of the channel, and attach a sender there (`channel.sender`)"
      end
    end

    # The end of a channel that receives. {Channel#receiver} returns it.
    class Receiver
      include Enumerable
      include Transient

      # The next message, for which it waits. Other threads run meanwhile, and may interrupt it.
      #
      # Release the array or the table (or pass a block) as soon as it is done with: it keeps the slot,
      # and so do parts and columns of it.
      #
      # @param timeout [Numeric, nil] the most seconds to wait
      # @yieldparam message [Array, Table] a read-only view, or a table, which is released after the
      #   block
      # @return [Array, Table, nil] nil if no message came in time, or the channel is closed; with a
      #   block, its result
      def receive(timeout: nil, &block)
        lent(next_view(timeout), &block)
      end

      # The next message, if it is there. Never waits: call it in a loop to poll.
      #
      # @yieldparam message [Array, Table] as of {#receive}
      # @return [Array, Table, nil] with a block, its result
      def try_receive(&block)
        lent(next_view_now, &block)
      end

      # The messages until the channel is closed. Each is released after its block: to keep the
      # elements, copy them there, as in `receiver.lazy.map(&:copy).first(2)`.
      #
      # @yieldparam message [Array, Table] as of {#receive}
      # @return [self, Enumerator] an Enumerator without a block
      def each(&block)
        return enum_for(:each) unless block

        while (view = next_view(nil))
          lent(view, &block)
        end
        self
      end

      # @!method missed
      #   The number of messages that were dropped before this receiver received them: at least so many if there are
      #   several senders, and always 0 for the delivery :one.
      #   @return [Integer]

      private

      def instead_of_writing
        "send the memory of the channel, and attach a receiver there (`channel.receiver`)"
      end

      def lent(message)
        return message || nil unless message && block_given?

        begin
          yield message
        ensure
          message.release
        end
      end
    end

    # @api private
    class Loan
      include Transient

      private

      def instead_of_writing
        "copy its array in the block (`array.copy`), and write the copy"
      end
    end
    private_constant :Loan
  end
end
