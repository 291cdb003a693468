/* SPDX-License-Identifier: GPL-3.0-or-later
 * A double of NVIDIA's kernel module: modinfo can read it, and no kernel could load it. */
#define INFO(name, text) static const char name[] __attribute__((section(".modinfo"), used)) = text

INFO(version, "version=" VERSION);
INFO(license, "license=GPL");
