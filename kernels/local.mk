# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libkernels.a
libkernels_a_SOURCES = kernels/kernels.h kernels/codec.h
