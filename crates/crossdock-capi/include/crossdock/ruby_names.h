/* The names of Ruby's ruby/memory_view.h for the functions of crossdock.h, so that code for
 * Ruby's header compiles against Crossdock. It must not be linked with Ruby: one file cannot
 * include both headers.
 *
 * Differences: an object (VALUE) is a pointer to memory that begins with a pointer to its class,
 * and the class argument of rb_memory_view_register is an `xd_class *`. Functions that return
 * VALUE in Ruby return an `xd_value`. Functions that raise in Ruby return false or nil, with
 * xd_last_refusal().
 *
 * A view from rb_memory_view_get always has a format, a shape, strides, an item size and components,
 * whatever the flags. In Ruby, a producer may leave the format NULL for bytes, the shape NULL for
 * one axis, and the strides NULL for row-major items, and components are there only after
 * rb_memory_view_prepare_item_desc. Suboffsets are there with RUBY_MEMORY_VIEW_INDIRECT only.
 * Structs that you fill in yourself may have the NULLs of Ruby's. */

#ifndef CROSSDOCK_RUBY_NAMES_H
#define CROSSDOCK_RUBY_NAMES_H

#ifdef RUBY_MEMORY_VIEW_H
#error "crossdock/ruby_names.h stands in for ruby/memory_view.h: include one of them"
#endif
#define RUBY_MEMORY_VIEW_H 1

#include "../crossdock.h"

typedef void *VALUE;

#define rb_memory_view_t xd_memory_view_t
#define rb_memory_view_item_component_t xd_memory_view_item_component_t
#define rb_memory_view_entry_t xd_memory_view_entry_t
#define rb_memory_view_get_func_t xd_memory_view_get_func_t
#define rb_memory_view_release_func_t xd_memory_view_release_func_t
#define rb_memory_view_available_p_func_t xd_memory_view_available_p_func_t
#define _memory_view_entry reserved

enum ruby_memory_view_flags {
  RUBY_MEMORY_VIEW_SIMPLE = XD_MEMORY_VIEW_SIMPLE,
  RUBY_MEMORY_VIEW_WRITABLE = XD_MEMORY_VIEW_WRITABLE,
  RUBY_MEMORY_VIEW_FORMAT = XD_MEMORY_VIEW_FORMAT,
  RUBY_MEMORY_VIEW_MULTI_DIMENSIONAL = XD_MEMORY_VIEW_MULTI_DIMENSIONAL,
  RUBY_MEMORY_VIEW_STRIDES = XD_MEMORY_VIEW_STRIDES,
  RUBY_MEMORY_VIEW_ROW_MAJOR = XD_MEMORY_VIEW_ROW_MAJOR,
  RUBY_MEMORY_VIEW_COLUMN_MAJOR = XD_MEMORY_VIEW_COLUMN_MAJOR,
  RUBY_MEMORY_VIEW_ANY_CONTIGUOUS = XD_MEMORY_VIEW_ANY_CONTIGUOUS,
  RUBY_MEMORY_VIEW_INDIRECT = XD_MEMORY_VIEW_INDIRECT
};

#define rb_memory_view_register xd_memory_view_register
#define rb_memory_view_available_p xd_memory_view_available_p
#define rb_memory_view_get xd_memory_view_get
#define rb_memory_view_release xd_memory_view_release
#define rb_memory_view_parse_item_format xd_memory_view_parse_item_format
#define rb_memory_view_item_size_from_format xd_memory_view_item_size_from_format
#define rb_memory_view_get_item_pointer xd_memory_view_get_item_pointer
#define rb_memory_view_prepare_item_desc xd_memory_view_prepare_item_desc
#define rb_memory_view_get_item xd_memory_view_get_item
#define rb_memory_view_extract_item_members xd_memory_view_extract_item_members
#define rb_memory_view_fill_contiguous_strides xd_memory_view_fill_contiguous_strides
#define rb_memory_view_init_as_byte_array xd_memory_view_init_as_byte_array
/* As in Ruby, free components from rb_memory_view_parse_item_format, and memory from malloc, by
 * xfree. */
#ifndef xfree
#define xfree(ptr) xd_memory_view_free_components((const xd_memory_view_item_component_t *)(ptr), 0)
#endif

/* By Ruby's rules, in which every stride counts. */
#define rb_memory_view_is_row_major_contiguous xd_memory_view_is_row_major_contiguous_strictly
#define rb_memory_view_is_column_major_contiguous xd_memory_view_is_column_major_contiguous_strictly
#define rb_memory_view_is_contiguous(view)                                                                             \
  (xd_memory_view_is_row_major_contiguous_strictly(view) || xd_memory_view_is_column_major_contiguous_strictly(view))

#endif
