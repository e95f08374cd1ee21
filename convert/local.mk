# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libconvert.a
libconvert_a_SOURCES = \
	convert/arch_llama.c convert/arch_qwen3.c \
	convert/cast.c convert/cast.h \
	convert/config.c convert/config.h convert/config_rope.c convert/config_rope.h \
	convert/config_rules.c convert/config_rules.h \
	convert/emit.c convert/emit.h \
	convert/extras.c convert/extras.h \
	convert/family.c convert/family.h \
	convert/header.c convert/header.h \
	convert/identity.c convert/identity.h \
	convert/job.c convert/job.h \
	convert/metadata.c convert/metadata.h \
	convert/names.c convert/names.h \
	convert/notes.c convert/notes.h \
	convert/options.c convert/options.h \
	convert/plan.c convert/plan.h convert/plan_map.c convert/plan_map.h \
	convert/report.c convert/report.h
include convert/vocab.mk

bin_PROGRAMS += convert/tern-convert
convert_tern_convert_SOURCES = convert/main.c
convert_tern_convert_LDADD = libconvert.a $(BASE_LIBS) $(PCRE2_LIBS)
dist_man1_MANS += convert/tern-convert.1
