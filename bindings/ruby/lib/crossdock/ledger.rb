# frozen_string_literal: true

module Crossdock
  # The memory that was alive at one moment, the largest first: see {Crossdock.ledger}.
  class Ledger
    include Enumerable

    # One live allocation: its address and size in bytes, the device (`place`), the kind of memory
    # (`backing`: "heap", "file map", …), the name of its pool, the age in seconds (nil if it is older
    # than the list), the number of handles, the number of leases of each kind, the protocols that
    # ever exported it, and its {Holder}s.
    Entry = Struct.new(:address, :nbytes, :place, :backing, :pool, :age, :handles, :leases, :exported, :holders)

    # One active lease: `:read`, `:share`, `:write` or `:pin`, the protocols that exported it, its age
    # in seconds, and a text.
    Holder = Struct.new(:kind, :protocols, :age, :text)

    # @return [Integer] the bytes of all entries
    attr_reader :nbytes
    # @return [String] a table
    attr_reader :to_s

    # @api private
    def initialize(is_on, nbytes, text, rows)
      @is_on, @nbytes, @to_s = is_on, nbytes, text.freeze
      @entries = rows.map do |*row, holders|
        Entry.new(*row, holders.map { |holder| Holder.new(*holder).freeze }.freeze).freeze
      end.freeze
      freeze
    end

    # @return [Boolean] whether the list was on at that moment
    def on?
      @is_on
    end

    # @yieldparam entry [Entry]
    # @return [self, Enumerator]
    def each(&block)
      return @entries.each unless block

      @entries.each(&block)
      self
    end

    # @return [Integer] the number of entries
    def size
      @entries.size
    end

    alias length size
    alias inspect to_s
  end

  class << self
    # The live memory and its holders: why is this memory still alive?
    #
    # The list costs a lock and a clock read for each allocation and each export, so it is off by
    # default. This method or the environment variable `CROSSDOCK_LEDGER=1` turns it on. It has what
    # was allocated and exported since then.
    #
    # @param on [Boolean, nil] `true` turns the list on, `false` turns it off
    # @return [Ledger]
    # @example
    #   Crossdock.ledger(on: true)
    #   array = Crossdock::Array.zeros(1000)
    #   capsule = array.to_dlpack
    #   Crossdock.ledger.find { |entry| entry.address == array.address }.leases #=> {:share=>1}
    def ledger(on: nil)
      raise TypeError, "on: #{on.inspect} is neither true nor false" unless [nil, true, false].include?(on)

      Ledger.new(*ledger_report(on))
    end

    private :ledger_report
  end
end
