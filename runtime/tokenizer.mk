# SPDX-License-Identifier: Apache-2.0
libruntime_a_SOURCES += \
	runtime/tokenizer.c runtime/tokenizer_internal.h runtime/tokenizer_bpe.c runtime/tokenizer_encode.c \
	runtime/tokenizer_match.c runtime/tokenizer_split.c \
	runtime/chat.c runtime/chat.h runtime/cmd_tokenize.c
