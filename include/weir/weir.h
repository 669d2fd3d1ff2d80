#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Weir for C: the verbs of weir.hpp, which says what each does and what is collective (also docs/calls.md).
 *
 * Functions return 0 or one of the codes below; weir_last_message() then tells what went wrong. A null handle, or a
 * null pointer where a result goes, is WEIR_INVALID, told before any other rank is involved. Handles are independent of
 * each other: a file may be freed before its steps. */

#ifdef __cplusplus
extern "C" {
#endif

enum weir_code {
  WEIR_OK = 0,
  WEIR_INVALID,
  WEIR_MISMATCH,
  WEIR_SETTINGS,
  WEIR_FINALIZED,
  WEIR_NO_SPACE,
  WEIR_QUOTA,
  WEIR_TOO_LARGE,
  WEIR_READ_ONLY,
  WEIR_ACCESS,
  WEIR_NOT_FOUND,
  WEIR_EXISTS,
  WEIR_TOO_MANY_FILES,
  WEIR_NO_MEMORY,
  WEIR_END_OF_FILE,
  WEIR_CORRUPT,
  WEIR_UNSUPPORTED,
  WEIR_IO,
  WEIR_INTERNAL
};

typedef struct weir_context weir_context;
typedef struct weir_file weir_file;
typedef struct weir_step weir_step;
typedef struct weir_plan weir_plan;
typedef struct weir_declaration weir_declaration;
typedef struct weir_drain weir_drain;

/* A setting's name and value. Arrays of them end with {NULL, NULL}; a null array is an empty one. */
typedef struct weir_setting {
  const char* name;
  const char* value;
} weir_setting;

/* `count` pieces of `length` bytes, the first at `offset`, each `stride` after the one before. */
typedef struct weir_run {
  uint64_t offset;
  uint64_t length;
  uint64_t stride;
  uint64_t count;
} weir_run;

/* What a step did, on this rank; as weir::Report. */
typedef struct weir_step_report {
  uint64_t bytes;
  uint64_t stored_bytes;
  uint64_t stored_while_aggregating;
  uint64_t buffer_bytes;
  uint64_t list_bytes;
  uint64_t remote_bytes;
  uint64_t storage_calls;
  uint64_t messages;
  double plan_s;
  double copy_s;
  double storage_s;
  double wait_s;
  double meeting_s;
  double leaving_s;
} weir_step_report;

const char* weir_version(void);
const char* weir_code_name(int code);
/* Of the last call of this thread, "" and 0 when there is nothing to tell. Valid until the thread's next call. */
const char* weir_last_message(void);
uint64_t weir_last_bytes(void);
/* For bindings of other languages: makes `what` the last message and returns WEIR_INVALID. */
int weir_refuse(const char* what);

int weir_context_create(MPI_Comm communicator, const weir_setting* settings, weir_context** context);
/* Frees a handle and sets it to NULL; a null handle stays one. */
int weir_context_free(weir_context** context);

int weir_create(weir_context* context, const char* path, const weir_setting* settings, weir_file** file);
int weir_open(weir_context* context, const char* path, const weir_setting* settings, weir_file** file);
int weir_update(weir_context* context, const char* path, const weir_setting* settings, weir_file** file);
/* The same for a file whose steps all have one plan, made earlier; weir_file_step gives them. What goes wrong may be told
 * only when the step is finished. */
int weir_create_planned(weir_context* context, const char* path, const weir_plan* plan, const weir_setting* settings,
                        weir_file** file);
int weir_open_planned(weir_context* context, const char* path, const weir_plan* plan, const weir_setting* settings,
                      weir_file** file);
int weir_update_planned(weir_context* context, const char* path, const weir_plan* plan, const weir_setting* settings,
                        weir_file** file);
int weir_file_step(weir_file* file, uint64_t shift, weir_step** step);
int weir_sync(weir_file* file);
/* Closes, and frees the handle whatever the outcome. */
int weir_close(weir_file** file);
/* weir_finish and weir_close in one: the ranks meet once instead of twice. The step's handle stays. */
int weir_close_step(weir_file** file, weir_step* step);

/* Begins to copy a file from storage of the nodes to the file system, in the background. */
int weir_drain_start(weir_context* context, const char* path, const weir_setting* settings, weir_drain** drain);
/* Bytes of this node, known to its first rank; 0 of 0 elsewhere. */
int weir_drain_progress(const weir_drain* drain, uint64_t* done, uint64_t* total);
/* Waits for all nodes, and frees the handle whatever the outcome. */
int weir_drain_wait(weir_drain** drain);

int weir_declaration_new(weir_declaration** declaration);
int weir_declaration_free(weir_declaration** declaration);
/* Decompositions and variables are numbered from 0 in the order in which they are given. */
int weir_declaration_runs(weir_declaration* declaration, size_t count, const weir_run* runs, int* decomposition);
int weir_declaration_box(weir_declaration* declaration, int dimensions, const uint64_t* array, const uint64_t* start,
                         const uint64_t* size, uint64_t element, uint64_t at, int* decomposition);
int weir_declaration_variable(weir_declaration* declaration, int decomposition, uint64_t at, int* variable);

int weir_declare(weir_file* file, const weir_declaration* declaration, weir_step** step);
int weir_write(weir_step* step, int variable, const void* data, uint64_t bytes);
int weir_read(weir_step* step, int variable, void* data, uint64_t bytes);
int weir_finish(weir_step* step);
int weir_start(weir_step* step);
int weir_absorb(weir_step* step);
int weir_test(weir_step* step, int* done);
int weir_wait(weir_step* step);
/* The text is valid until the next call with this handle. */
int weir_explain(weir_step* step, const char** text);
int weir_report(const weir_step* step, weir_step_report* report);
int weir_step_free(weir_step** step);

int weir_step_plan(const weir_step* step, weir_plan** plan);
/* A step of an existing plan, all offsets moved by `shift` bytes. */
int weir_plan_step(weir_file* file, const weir_plan* plan, uint64_t shift, weir_step** step);
int weir_plan_hash(const weir_plan* plan, uint64_t* hash);
int weir_plan_text(weir_plan* plan, const char** text);
int weir_plan_explain(weir_plan* plan, const char** text);
int weir_plan_save(const weir_plan* plan, const char* path);
int weir_load_plan(weir_context* context, const char* path, weir_plan** plan);
int weir_plan_free(weir_plan** plan);

#ifdef __cplusplus
}
#endif

#endif
