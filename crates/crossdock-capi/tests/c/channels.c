/* Channels: a child made by fork sends, in place and by copies; this process receives. */

#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static xd_dtype_t *int32;

static int64_t number_in(const xd_array_t *array, ssize_t at)
{
  xd_value value;
  CHECK(xd_array_get(array, &at, &value, &error) && value.kind == XD_VALUE_INT);
  return value.as.i;
}

static void send_number(const xd_sender_t *sender, int64_t number)
{
  ssize_t shape[] = {3};
  xd_loan_t *loan = xd_sender_loan(sender, int32, 1, shape, 20000, &error);
  CHECK(loan != NULL);
  xd_array_t *array = xd_loan_array(loan, &error);
  CHECK(array != NULL && !xd_array_is_readonly(array));
  xd_value value = {XD_VALUE_INT, {0, 0, 0}, 0, {0}};
  value.as.i = number;
  CHECK(xd_array_fill(array, &value, &error));
  /* A handle could write after the array was sent. */
  CHECK(!xd_loan_send(loan, &error));
  CHECK_ERROR(XD_ERROR_CONFLICT, "");
  xd_array_free(array);
  CHECK(xd_loan_send(loan, &error));
  CHECK(!xd_loan_send(loan, &error));
  CHECK_ERROR(XD_ERROR_CLOSED, "loan has ended");
  CHECK(xd_loan_array(loan, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CLOSED, "loan has ended");
  xd_loan_free(loan);
}

/* The child inherits the channel, opens it by its descriptor, and attaches a sender of its own. */
static void child(const xd_channel_t *inherited, const xd_sender_t *parents)
{
  int fd;
  CHECK(xd_channel_fd(inherited, &fd, &error) && fd > 2);
  xd_channel_t *channel = xd_channel_open(fd, &error);
  CHECK(channel != NULL && xd_channel_slots(channel) == 2 && xd_channel_slot_nbytes(channel) == 64);
  CHECK(xd_channel_delivery(channel) == XD_DELIVERY_EACH);
  ssize_t shape[] = {3};
  CHECK(xd_sender_loan(parents, int32, 1, shape, 0, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CONFLICT, "attach again");
  xd_sender_t *sender = xd_sender_new(channel, &error);
  CHECK(sender != NULL);
  for (int64_t number = 0; number < 50; number++)
    send_number(sender, number);
  xd_sender_free(sender);
  xd_channel_free(channel);
  _exit(0);
}

static void a_child_sends(void)
{
  xd_channel_t *channel = xd_channel_new("c-test", 2, 64, XD_DELIVERY_EACH, false, &error);
  CHECK(channel != NULL);
  xd_sender_t *sender = xd_sender_new(channel, &error);
  xd_receiver_t *receiver = xd_receiver_new(channel, &error);
  CHECK(sender != NULL && receiver != NULL);
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0)
    child(channel, sender);
  uint64_t before = xd_copied_bytes();
  for (int64_t number = 0; number < 50; number++) {
    xd_array_t *array = xd_receiver_receive(receiver, XD_FOREVER, &error);
    CHECK(array != NULL && xd_array_ndim(array) == 1 && xd_array_is_readonly(array));
    CHECK(number_in(array, 0) == number && number_in(array, 2) == number);
    xd_value value = {XD_VALUE_INT, {0, 0, 0}, 0, {0}};
    ssize_t index = 0;
    CHECK(!xd_array_set(array, &index, &value, &error));
    CHECK_ERROR(XD_ERROR_READ_ONLY, "read-only");
    xd_array_free(array);
  }
  CHECK(xd_copied_bytes() == before && xd_receiver_missed(receiver) == 0 && xd_channel_sent(channel) == 50);
  int status;
  CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(xd_channel_senders(channel) == 1 && xd_channel_receivers(channel) == 1);

  /* No message, and then none any more. */
  CHECK(xd_receiver_receive(receiver, 0, &error) == NULL && error == NULL);
  CHECK(xd_receiver_receive(receiver, 1, &error) == NULL && error == NULL);
  xd_channel_close(channel);
  CHECK(xd_receiver_receive(receiver, XD_FOREVER, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CLOSED, "closed");
  ssize_t shape[] = {1};
  CHECK(xd_sender_loan(sender, int32, 1, shape, XD_FOREVER, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CLOSED, "closed");
  xd_channel_free(channel);
  xd_sender_free(sender);
  xd_receiver_free(receiver);
}

/* An array that was received keeps its slot, and stays when everything else is freed. */
static void an_array_keeps_its_slot(void)
{
  xd_channel_t *channel = xd_channel_new("", 1, 64, XD_DELIVERY_ONE, false, &error);
  xd_sender_t *sender = xd_sender_new(channel, &error);
  xd_receiver_t *receiver = xd_receiver_new(channel, &error);
  CHECK(sender != NULL && receiver != NULL);
  send_number(sender, 7);
  xd_array_t *array = xd_receiver_receive(receiver, 0, &error);
  CHECK(array != NULL);
  CHECK(!xd_sender_send(sender, array, 0, &error));
  CHECK_ERROR(XD_ERROR_EXHAUSTED, "receivers have views of 1");
  xd_array_t *copy = xd_array_copy(array, XD_ROW_MAJOR, &error);
  CHECK(copy != NULL);
  xd_array_free(array);
  CHECK(xd_sender_send(sender, copy, 0, &error));
  array = xd_receiver_receive(receiver, 0, &error);
  CHECK(array != NULL);
  xd_channel_free(channel);
  xd_sender_free(sender);
  xd_receiver_free(receiver);
  CHECK(number_in(array, 1) == 7);
  xd_array_free(array);
  xd_array_free(copy);
}

/* A child sends tables; this process reads their columns in the slot. Arrays may come between them. */
static void tables_are_messages(void)
{
  xd_channel_t *channel = xd_channel_new("", 2, 4096, XD_DELIVERY_EACH, false, &error);
  xd_sender_t *sender = xd_sender_new(channel, &error);
  xd_receiver_t *receiver = xd_receiver_new(channel, &error);
  xd_array_t *numbers = xd_array_zeros(int32, 1, (ssize_t[]){3}, XD_ROW_MAJOR, &error);
  ssize_t last = 2;
  xd_value value = {XD_VALUE_INT, {0, 0, 0}, 0, {41}};
  CHECK(xd_array_set(numbers, &last, &value, &error));
  const xd_column_t *columns[] = {xd_column_from_array(numbers, "n", &error)};
  xd_batch_t *batch = xd_batch_from_columns(1, columns, &error), *part = xd_batch_slice(batch, 1, 2, &error);
  const xd_batch_t *batches[] = {batch, part, NULL};
  CHECK(batch != NULL && part != NULL);
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    xd_sender_t *own = xd_sender_new(channel, &error);
    CHECK(own != NULL && xd_sender_send_table(own, 2, batches, XD_FOREVER, &error));
    xd_sender_free(own);
    _exit(0);
  }
  xd_reader_t *reader = xd_receiver_receive_table(receiver, XD_FOREVER, &error);
  int status;
  CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const uint64_t before = xd_copied_bytes();
  xd_batch_t *first = xd_reader_next(reader, &error), *second = xd_reader_next(reader, &error);
  CHECK(xd_batch_len(first) == 3 && xd_batch_len(second) == 2 && xd_reader_next(reader, &error) == NULL && error == NULL);
  xd_reader_free(reader);
  xd_column_t *column = xd_batch_column_named(second, "n", &error);
  xd_batch_free(first), xd_batch_free(second);
  CHECK(xd_column_get(column, 1, &value, &error) && value.as.i == 41 && xd_copied_bytes() == before);
  xd_array_t *view = xd_column_array(column, NULL, &error);
  CHECK(view != NULL && xd_array_backing(view) == XD_BACKING_SHARED && number_in(view, 1) == 41);
  xd_array_free(view);

  /* The column keeps its slot: one is left. */
  CHECK(xd_sender_send_table(sender, 1, batches, 0, &error) && xd_copied_bytes() > before);
  CHECK(!xd_sender_send_table(sender, 1, batches, 0, &error));
  CHECK_ERROR(XD_ERROR_EXHAUSTED, "of 2");
  xd_array_t *message = xd_receiver_receive(receiver, 0, &error);
  reader = xd_reader_from_message(message, &error);
  xd_array_free(message);
  first = xd_reader_next(reader, &error);
  CHECK(xd_batch_len(first) == 3);
  xd_batch_free(first), xd_reader_free(reader), xd_column_free(column);
  CHECK(xd_reader_from_message(numbers, &error) == NULL && error == NULL);
  CHECK(xd_receiver_receive_table(receiver, 0, &error) == NULL && error == NULL);
  CHECK(xd_sender_send(sender, numbers, 0, &error) && xd_receiver_receive_table(receiver, 0, &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "receive it as an array");
  CHECK(!xd_sender_send_table(sender, 3, batches, 0, &error));
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`batches[2]`");
  xd_channel_t *small = xd_channel_new("", 1, 64, XD_DELIVERY_EACH, false, &error);
  xd_sender_t *own = xd_sender_new(small, &error);
  CHECK(!xd_sender_send_table(own, 1, batches, 0, &error));
  CHECK_ERROR(XD_ERROR_BOUNDS, "which has 64 bytes");
  xd_sender_free(own), xd_channel_free(small);

  xd_channel_close(channel);
  CHECK(xd_receiver_receive_table(receiver, XD_FOREVER, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CLOSED, "closed");
  xd_batch_free(batch), xd_batch_free(part), xd_column_free((xd_column_t *)columns[0]), xd_array_free(numbers);
  xd_sender_free(sender), xd_receiver_free(receiver), xd_channel_free(channel);
}

static void wrong_arguments_are_refused(void)
{
  CHECK(xd_channel_new("", 0, 8, XD_DELIVERY_EACH, false, &error) == NULL);
  CHECK_ERROR(XD_ERROR_VALUE, "1 to 1024 slots");
  CHECK(xd_channel_new("a b", 2, 8, XD_DELIVERY_EACH, false, &error) == NULL);
  CHECK_ERROR(XD_ERROR_VALUE, "name of a channel");
  CHECK(xd_channel_new("", 2, 8, 4, false, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`delivery` is 4");
  CHECK(xd_channel_open(-1, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`fd` is -1");
  int ends[2];
  CHECK(pipe(ends) == 0 && xd_channel_open(ends[0], &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "");
  CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
  CHECK(xd_channel_open(ends[0], &error) == NULL);
  CHECK_ERROR(XD_ERROR_IO, "duplicated");
}

int main(void)
{
  int32 = xd_dtype_parse("<i4", &error);
  CHECK(int32 != NULL);
  a_child_sends();
  an_array_keeps_its_slot();
  tables_are_messages();
  wrong_arguments_are_refused();
  xd_dtype_free(int32);
  return 0;
}
