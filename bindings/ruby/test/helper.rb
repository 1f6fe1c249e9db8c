# frozen_string_literal: true

require "test/unit"
require "crossdock"

# Helpers of several tests.
module Helper
  # The message of an error, which must belong to one of these classes.
  def message_of(*errors, &block)
    assert_raise(*errors, &block).message
  end
end
