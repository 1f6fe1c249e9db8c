# frozen_string_literal: true

module Crossdock
  # The arrays and tables that another process of this user holds under a name, such as the command
  # `crossdock hold model.safetensors --name m`. {Crossdock.connect} gives them.
  #
  # All processes that connect map the same memory, which no process can write; or, of a set that is
  # `mapped?`, the files themselves. An array, or a {Table}, is opened, in place, when its name is
  # looked up. The holder keeps this version until this object and all its arrays and tables are
  # gone; if the holder ends, they stay.
  #
  # @example
  #   weights = Crossdock.connect("m")
  #   weights["layers.0.w"].shape # => [4096, 4096]
  #   weights.keys.grep(/\Alayers\.0\./)
  class HeldArrays
    include Enumerable
    include Transient

    # @return [Array, Table, nil] the array or table of a name, nil if there is none
    def [](name)
      key?(name) ? part(name) : nil
    end

    # The array or table of a name.
    #
    # @return [Array, Table]
    # @raise [KeyError] if there is none
    def fetch(name)
      return part(name) if key?(name)

      what = tables.zero? ? "array" : "array or table"
      raise KeyError.new("#{label} has no #{what} #{name.inspect}", receiver: self, key: name)
    end

    # Opens the arrays and tables one after the other.
    #
    # @yieldparam name [String]
    # @yieldparam part [Array, Table]
    # @return [self, Enumerator] an Enumerator without a block
    def each
      return enum_for(:each) { size } unless block_given?

      keys.each { |name| yield name, part(name) }
      self
    end

    # @return [String]
    def inspect
      counts = { "array" => size - tables, "table" => tables }
      counts.reject! { |what, count| count.zero? && (what == "table" || tables.positive?) }
      parts = counts.map { |what, count| "#{count} #{what}#{"s" unless count == 1}" }
      "#<#{self.class} #{label} of #{parts.join(" and ")}>"
    end

    private_class_method :connect_to, :publish_as

    private

    def instead_of_writing
      "connect to its name there (`Crossdock.connect`), or write its arrays (`held.to_h`)"
    end
  end

  class << self
    # The arrays and tables that another process of this user holds under a name.
    #
    # @param name [String] for the newest version "m", or "m@3"; by default, what `crossdock connect`
    #   named to this program
    # @return [HeldArrays]
    # @raise [IOError] if no process holds the name
    # @raise [IndexError] if the version is not held
    def connect(name = nil)
      name ||= ENV.fetch("CROSSDOCK_SET") do
        raise ArgumentError, "name a set, or run the program by `crossdock connect NAME -- ...`, which sets CROSSDOCK_SET"
      end
      HeldArrays.send(:connect_to, name)
    end

    # Publishes arrays and tables as the next version of a name that another process holds. The
    # elements are copied once, into shared memory that is then sealed.
    #
    # @param name [String] without a version
    # @param arrays [Hash{String, Symbol => Array, Table}] braces may be left out; a name that is
    #   `metadata:` needs them
    # @param metadata [Hash{String => String}] texts beside the arrays
    # @return [String] the name with the new version, such as "m@3"
    # @raise [Refusal] if another process is publishing the name
    # @example
    #   Crossdock.publish("m", weights: weights, bias: bias)
    def publish(name, arrays = nil, metadata: {}, **more)
      raise ArgumentError, "publish #{name}: give its arrays, as in publish(name, weights: array)" unless arrays || !more.empty?

      arrays ||= {}
      raise TypeError, "arrays: an instance of #{arrays.class} is no Hash: name the arrays, as in publish(name, weights: array)" unless arrays.is_a?(Hash)

      arrays = arrays.merge(more)
      HeldArrays.send(:publish_as, name, arrays.keys.map(&:to_s), arrays.values, metadata.to_a)
    end
  end
end
