dnl SPDX-License-Identifier: Apache-2.0
dnl TERN_NEED(VARIABLE, PKG-CONFIG MODULE, DEBIAN PACKAGE): a required library; its absence names the package to install.
AC_DEFUN([TERN_NEED], [
    PKG_CHECK_MODULES([$1], [$2], [],
        [AC_MSG_ERROR([$2 is missing (Debian: apt-get install $3)])])
])
