# frozen_string_literal: true

module Crossdock
  # Objects that refer to memory of this process: an address or a descriptor means nothing in a
  # file. Each class says in `instead_of_writing` what to do instead.
  # @api private
  module Transient
    # For YAML, which would write an object without content.
    # @raise [TypeError]
    def encode_with(_coder)
      refuse_to_write
    end

    # For Marshal.
    # @raise [TypeError]
    def marshal_dump
      refuse_to_write
    end

    private

    def refuse_to_write
      raise TypeError, "a #{self.class} lends memory of this process, and cannot be written: #{instead_of_writing}"
    end
  end
end
