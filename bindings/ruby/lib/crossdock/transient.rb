# frozen_string_literal: true

module Crossdock
  # Objects that refer to memory of this process: an address or a descriptor means nothing in a
  # file.
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
      remedy =
        case self
        when Table then "save it (`table.save(\"x.arrow\")`), or write its rows (`table.each_row.to_a`)"
        when Column then "write its elements (`column.to_a`), or save a table that has it"
        when Channel then "send its memory (`channel.to_array.share_memory(writable: true)`)"
        else "save the array"
        end
      raise TypeError, "a #{self.class} lends memory of this process, and cannot be written: #{remedy}"
    end
  end
end
