# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libkernels.a
libkernels_a_SOURCES = kernels/kernels.h kernels/codec.h kernels/codec_layout.h kernels/codec_ternary.c kernels/codec_dense.c \
	kernels/codec_check.c kernels/dispatch.c kernels/ref/scalar.h kernels/ref/scalar.c \
	kernels/x86/avx2.h kernels/x86/avx2_ternary.c kernels/x86/avx2_dense.c
