# SPDX-License-Identifier: Apache-2.0
libconvert_a_SOURCES += \
	convert/vocab.c convert/vocab.h convert/vocab_private.h \
	convert/vocab_special.c convert/vocab_tokens.c
