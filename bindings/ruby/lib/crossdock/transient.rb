# frozen_string_literal: true

module Crossdock
  # Objects that refer to memory of this process: an address or a descriptor means nothing in a
  # file. (Marshal itself refuses such objects.)
  # @api private
  module Transient
    # For YAML, which would write an object without content.
    # @raise [TypeError]
    def encode_with(_coder)
      raise TypeError, "a #{self.class} lends memory of this process, and cannot be written: save the array"
    end
  end
end
