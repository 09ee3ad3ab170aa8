/* A PJRT plugin for tests: passes another plugin, which drives the CPU, off as a TPU's.

   TorchTPU accepts only a plugin whose platform is "tpu", gives it options that only a TPU knows,
   and copies through the extension RawBuffer, which plugins of the CPU lack. This one forwards
   every call but those. ACTUAL_PLUGIN names the plugin that it forwards to.

   The declarations follow xla/pjrt/c/pjrt_c_api.h of OpenXLA, API 0.115, as far as they are
   needed; what is not there in the forwarded plugin's table, by its size, ends the process. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Error Error;
typedef Error *(*Function)(void *arguments);

/* Positions of functions in the table. */
enum {
  EVENT_DESTROY = 5,
  EVENT_IS_READY = 6,
  EVENT_ERROR = 7,
  EVENT_AWAIT = 8,
  EVENT_ON_READY = 9,
  CLIENT_CREATE = 10,
  CLIENT_PLATFORM_NAME = 12,
  CLIENT_COMPILE = 20,
  BUFFER_SIZE = 64,
  BUFFER_MEMORY = 66,
  BUFFER_READY_EVENT = 72,
  BUFFER_POINTER = 73,
  BUFFER_REFERENCE = 74,
  TOPOLOGY_PLATFORM_NAME = 84,
  MOST_FUNCTIONS = 512
};

typedef struct Extension {
  size_t size;
  int type;
  struct Extension *next;
} Extension;

typedef struct {
  size_t size;
  Extension *extensions;
  struct {
    size_t size;
    void *extensions;
    int major, minor;
  } version;
  Function functions[MOST_FUNCTIONS];
} Api;

/* All arguments begin with their size and a list of extensions. */
#define HEAD size_t size; void *extensions

static Api *actual;
static Api own;

static Error *call(int function, void *arguments) { return actual->functions[function](arguments); }

/* -- a TPU by its name ------------------------------------------------------------------------ */

typedef struct {
  HEAD;
  void *of;
  const char *name;
  size_t length;
} PlatformName;

static Error *named(int function, PlatformName *arguments) {
  Error *error = call(function, arguments);
  if (!error) {
    arguments->name = "tpu";
    arguments->length = 3;
  }
  return error;
}

static Error *platform_name(void *arguments) { return named(CLIENT_PLATFORM_NAME, arguments); }
static Error *topology_name(void *arguments) { return named(TOPOLOGY_PLATFORM_NAME, arguments); }

/* -- options that only a TPU knows -------------------------------------------------------------- */

enum { INTEGER = 1 };

typedef struct {
  HEAD;
  const char *name;
  size_t name_length;
  int type;
  int64_t integer;
  size_t length;
} Option;

typedef struct {
  HEAD;
  Option *options;
  size_t options_count;
} Create;

/* ACTUAL_DEVICES is how many devices there are, if it is set; a process group takes one. */
static Error *create(void *given) {
  Create *arguments = given, before = *arguments;
  const char *devices = getenv("ACTUAL_DEVICES"), name[] = "cpu_device_count";
  Option option = {sizeof option, NULL, name, sizeof name - 1, INTEGER, devices ? atoi(devices) : 0, 1};
  arguments->options = &option;
  arguments->options_count = devices != NULL;
  Error *error = call(CLIENT_CREATE, arguments);
  arguments->options = before.options;
  arguments->options_count = before.options_count;
  return error;
}

typedef struct {
  HEAD;
  void *client, *program;
  const char *options;
  size_t options_size;
} Compile;

enum { OVERRIDES = 7 }; /* CompileOptionsProto.env_option_overrides */

static uint64_t varint(const uint8_t **at, const uint8_t *end) {
  uint64_t value = 0;
  for (int shift = 0; *at < end && shift < 64; shift += 7) {
    uint8_t byte = *(*at)++;
    value |= (uint64_t)(byte & 127) << shift;
    if (!(byte & 128)) break;
  }
  return value;
}

/* Copies a serialized message without its overrides; returns the copy's size. */
static size_t without_overrides(const uint8_t *at, size_t size, uint8_t *copy) {
  const uint8_t *end = at + size;
  size_t copied = 0;
  while (at < end) {
    const uint8_t *field = at;
    uint64_t key = varint(&at, end);
    uint64_t kind = key & 7;
    uint64_t skip = kind == 1 ? 8 : kind == 5 ? 4 : 0;
    if (kind == 0) varint(&at, end);
    if (kind == 2) skip = varint(&at, end);
    at = skip < (uint64_t)(end - at) ? at + skip : end;
    if (key >> 3 != OVERRIDES) {
      memcpy(copy + copied, field, at - field);
      copied += at - field;
    }
  }
  return copied;
}

static Error *compile(void *given) {
  Compile changed = *(Compile *)given;
  Compile *arguments = given, before = *arguments;
  uint8_t *options = malloc(before.options_size + 1);
  arguments->options_size =
      without_overrides((const uint8_t *)changed.options, changed.options_size, options);
  arguments->options = (const char *)options;
  Error *error = call(CLIENT_COMPILE, arguments);
  arguments->options = before.options;
  arguments->options_size = before.options_size;
  free(options);
  return error;
}

/* -- copies, which are done when they return ------------------------------------------------------ */

typedef struct {
  HEAD;
  void *event;
  char ready;
} IsReady;

typedef struct {
  HEAD;
  void *event;
  void (*callback)(Error *error, void *argument);
  void *argument;
} OnReady;

static int done; /* its address stands for an event that has happened */

static Error *unless_done(int function, IsReady *arguments) {
  return arguments->event == &done ? NULL : call(function, arguments);
}

static Error *event_destroy(void *arguments) { return unless_done(EVENT_DESTROY, arguments); }
static Error *event_error(void *arguments) { return unless_done(EVENT_ERROR, arguments); }
static Error *event_await(void *arguments) { return unless_done(EVENT_AWAIT, arguments); }

static Error *event_is_ready(void *given) {
  IsReady *arguments = given;
  if (arguments->event == &done) arguments->ready = 1;
  return unless_done(EVENT_IS_READY, arguments);
}

static Error *event_on_ready(void *given) {
  OnReady *arguments = given;
  if (arguments->event != &done) return call(EVENT_ON_READY, arguments);
  arguments->callback(NULL, arguments->argument);
  return NULL;
}

typedef struct {
  char *address;
  size_t bytes;
  void *memory;
} Raw;

/* Of all calls of the extension: the result's place, or the copy's host, offset and bytes. */
typedef struct {
  HEAD;
  Raw *raw;
  union {
    size_t bytes;
    void *pointer;
    char *host;
  };
  int64_t offset, length;
  void *event;
} RawArguments;

typedef struct {
  HEAD;
  void *buffer;
  union {
    void *pointer;
    size_t bytes;
  };
} OfBuffer;

typedef struct {
  HEAD;
  void *buffer;
  Raw *raw;
} Alias;

static Error *of_buffer(int function, OfBuffer *arguments) {
  arguments->size = sizeof *arguments;
  return call(function, arguments);
}

/* Waits until the buffer has been computed. */
static Error *await_buffer(void *buffer) {
  OfBuffer ready = {.buffer = buffer};
  Error *error = of_buffer(BUFFER_READY_EVENT, &ready);
  if (error) return error;
  IsReady event = {.size = offsetof(IsReady, ready), .event = ready.pointer};
  error = call(EVENT_AWAIT, &event);
  call(EVENT_DESTROY, &event);
  return error;
}

static Error *raw_alias(void *given) {
  Alias *arguments = given;
  OfBuffer address = {.buffer = arguments->buffer}, bytes = address, memory = address;
  OfBuffer reference = {.size = offsetof(OfBuffer, pointer), .buffer = arguments->buffer};
  Error *error = await_buffer(arguments->buffer);
  if (!error) error = of_buffer(BUFFER_POINTER, &address);
  if (!error) error = of_buffer(BUFFER_SIZE, &bytes);
  if (!error) error = of_buffer(BUFFER_MEMORY, &memory);
  if (!error) error = call(BUFFER_REFERENCE, &reference);
  if (error) return error;
  arguments->raw = malloc(sizeof *arguments->raw);
  *arguments->raw = (Raw){address.pointer, bytes.bytes, memory.pointer};
  return NULL;
}

static Error *raw_destroy(void *given) {
  free(((RawArguments *)given)->raw);
  return NULL;
}

static Error *raw_bytes(void *given) {
  RawArguments *arguments = given;
  arguments->bytes = arguments->raw->bytes;
  return NULL;
}

static Error *raw_memory(void *given) {
  RawArguments *arguments = given;
  arguments->pointer = arguments->raw->memory;
  return NULL;
}

static Error *raw_address(void *given) {
  RawArguments *arguments = given;
  arguments->pointer = arguments->raw->address;
  return NULL;
}

static Error *raw_from_host(void *given) {
  RawArguments *arguments = given;
  memcpy(arguments->raw->address + arguments->offset, arguments->host, arguments->length);
  arguments->event = &done;
  return NULL;
}

static Error *raw_to_host(void *given) {
  RawArguments *arguments = given;
  memcpy(arguments->host, arguments->raw->address + arguments->offset, arguments->length);
  arguments->event = &done;
  return NULL;
}

enum { RAW_BUFFER = 8 };

static struct {
  Extension base;
  Function functions[7];
} raw_buffer = {
    {sizeof raw_buffer, RAW_BUFFER, NULL},
    {raw_alias, raw_destroy, raw_bytes, raw_memory, raw_from_host, raw_to_host, raw_address}};

/* -- the plugin ------------------------------------------------------------------------------------ */

const Api *GetPjrtApi(void) {
  const char *path = getenv("ACTUAL_PLUGIN");
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  Api *(*api)(void) = library ? (Api * (*)(void)) dlsym(library, "GetPjrtApi") : NULL;
  if (!api) {
    fprintf(stderr, "ACTUAL_PLUGIN is no PJRT plugin: %s\n", path ? dlerror() : "not set");
    exit(1);
  }
  actual = api();
  size_t needed = offsetof(Api, functions) + sizeof(Function) * (TOPOLOGY_PLATFORM_NAME + 1);
  if (actual->size < needed || actual->size > sizeof own) {
    fprintf(stderr, "%s has a table of %zu bytes; at least %zu, at most %zu are expected\n", path,
            actual->size, needed, sizeof own);
    exit(1);
  }
  memcpy(&own, actual, actual->size);
  own.functions[CLIENT_PLATFORM_NAME] = platform_name;
  own.functions[TOPOLOGY_PLATFORM_NAME] = topology_name;
  own.functions[CLIENT_CREATE] = create;
  own.functions[CLIENT_COMPILE] = compile;
  own.functions[EVENT_DESTROY] = event_destroy;
  own.functions[EVENT_ERROR] = event_error;
  own.functions[EVENT_AWAIT] = event_await;
  own.functions[EVENT_IS_READY] = event_is_ready;
  own.functions[EVENT_ON_READY] = event_on_ready;
  raw_buffer.base.next = own.extensions;
  own.extensions = &raw_buffer.base;
  return &own;
}
