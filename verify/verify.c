/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/verify.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/util/bytes.h"
#include "base/util/file.h"
#include "base/util/text.h"
#include "verify/folder.h"
#include "verify/structure.h"

int verify_kind(const char *path, enum verify_kind *kind, struct error *err)
{
    struct file f = FILE_INIT;
    uint8_t head[9] = { 0 };
    int code;

    *kind = VERIFY_UNKNOWN;
    if (file_is_dir(path)) {
        *kind = VERIFY_FOLDER;
        return 0;
    }
    if ((code = file_open(&f, path, 0, err)))
        return code;
    code = file_read_at(&f, head, f.size < sizeof head ? (size_t)f.size : sizeof head, 0, err);
    if (!code) {
        if (!memcmp(head, "GGUF", 4) || text_ends(path, ".gguf"))
            *kind = VERIFY_GGUF;
        else if (text_ends(path, ".safetensors") || (head[8] == '{' && bytes_get_u64(head) < f.size))
            *kind = VERIFY_SAFETENSORS;
    }
    file_close(&f);
    return code;
}

int verify_path(const char *path, const struct verify *v, struct report *r, struct error *err)
{
    struct error bad = { 0 };
    enum verify_kind kind;

    if (verify_kind(path, &kind, &bad)) {
        report_error(r, &bad);
        return 0;
    }
    switch (kind) {
    case VERIFY_GGUF:
        return structure_check(path, v, r, err);
    case VERIFY_SAFETENSORS:
        return folder_check_file(path, v, r, err);
    case VERIFY_FOLDER:
        return folder_check(path, v, r, err);
    case VERIFY_UNKNOWN:
        break;
    }
    report_add(r, REPORT_ERROR, ERROR_FORMAT, NULL,
               "neither a GGUF file, nor a safetensors file, nor a Hugging Face folder (use -c for checksum lists)");
    return 0;
}
