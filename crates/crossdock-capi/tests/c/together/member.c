/* The member in C of the test of all languages, bindings/ruby/test/test_together.rb, which says what
 * a member does. Writes to memory of others fault. */

#include "../check.h"
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SENDERS = 4 };

static int64_t number_in(const xd_array_t *array, ssize_t at)
{
  xd_value value;
  CHECK(xd_array_get(array, &at, &value, &error) && value.kind == XD_VALUE_INT);
  return value.as.i;
}

static xd_value integer(int64_t number)
{
  xd_value value = {XD_VALUE_INT, {0, 0, 0}, 0, {0}};
  value.as.i = number;
  return value;
}

/* A program that ignores the flags is ended by the processor, before its write lands. */
static void a_write_faults(const xd_array_t *array)
{
  int64_t before = number_in(array, 1);
  xd_value value = integer(-1);
  ssize_t at = 1;
  CHECK(!xd_array_set(array, &at, &value, &error));
  CHECK_ERROR(XD_ERROR_READ_ONLY, "read-only");
  volatile int64_t *elements = (volatile int64_t *)xd_array_address(array);
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    signal(SIGSEGV, SIG_DFL);
    elements[1] = -1;
    _exit(0);
  }
  int status;
  CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  CHECK(number_in(array, 1) == before);
}

int main(int argc, char **argv)
{
  CHECK(argc == 6);
  int64_t id = atoll(argv[4]), count = atoll(argv[5]);
  xd_set_t *set = xd_set_connect(argv[1], &error);
  CHECK(set != NULL);
  xd_array_t *squares = xd_set_get(set, "squares", &error);
  CHECK(squares != NULL);
  for (ssize_t k = 0; k < 100; k++)
    CHECK(number_in(squares, k) == k * k);
  a_write_faults(squares);
  xd_reader_t *reader = xd_set_table(set, "rows", &error);
  CHECK(reader != NULL);
  xd_batch_t *rows = xd_reader_next(reader, &error);
  CHECK(rows != NULL && xd_batch_len(rows) == 10 && xd_batch_column_count(rows) == 2);
  xd_column_t *column = xd_batch_column(rows, 0, &error);
  xd_array_t *numbers = xd_column_array(column, NULL, &error);
  CHECK(numbers != NULL);
  for (ssize_t k = 0; k < 10; k++)
    CHECK(number_in(numbers, k) == k);
  a_write_faults(numbers);
  xd_array_free(numbers);
  xd_column_free(column);
  xd_batch_free(rows);
  xd_reader_free(reader);

  xd_channel_t *channel = xd_channel_open(atoi(argv[2]), &error);
  CHECK(channel != NULL);
  xd_sender_t *sender = xd_sender_new(channel, &error);
  xd_receiver_t *receiver = xd_receiver_new(channel, &error);
  xd_dtype_t *dtype = xd_dtype_parse("<i8", &error);
  CHECK(sender != NULL && receiver != NULL && dtype != NULL);
  while (xd_channel_receivers(channel) < SENDERS)
    nanosleep(&(struct timespec){0, 1000000}, NULL);

  int64_t sent = 0, received[SENDERS] = {0}, all = 0;
  while (sent < count || all < SENDERS * count) {
    ssize_t shape[] = {(ssize_t)(2 + sent % 3)}, first = 0;
    xd_loan_t *loan = sent < count ? xd_sender_loan(sender, dtype, 1, shape, 0, &error) : NULL;
    if (loan != NULL) {
      xd_array_t *array = xd_loan_array(loan, &error);
      xd_value number = integer(sent), mine = integer(id);
      CHECK(xd_array_fill(array, &number, &error) && xd_array_set(array, &first, &mine, &error));
      xd_array_free(array);
      CHECK(xd_loan_send(loan, &error));
      xd_loan_free(loan);
      sent++;
    } else if (sent < count) {
      CHECK_ERROR(XD_ERROR_EXHAUSTED, "no slot");
    }
    xd_array_t *view = xd_receiver_receive(receiver, 1, &error);
    CHECK(error == NULL);
    if (view != NULL) {
      int64_t from = number_in(view, 0);
      CHECK(from >= 0 && from < SENDERS && number_in(view, -1 + xd_array_shape(view)[0]) == received[from]);
      CHECK(xd_array_shape(view)[0] == 2 + received[from] % 3);
      if (all == 0)
        a_write_faults(view);
      received[from]++, all++;
      xd_array_free(view);
    }
  }
  printf("c %lld [%lld, %lld, %lld, %lld] %llu\n", (long long)sent, (long long)received[0], (long long)received[1],
         (long long)received[2], (long long)received[3], (unsigned long long)xd_receiver_missed(receiver));
  xd_receiver_free(receiver);
  xd_sender_free(sender);
  xd_channel_free(channel);
  xd_dtype_free(dtype);
  xd_array_free(squares);
  xd_set_free(set);
  return 0;
}
