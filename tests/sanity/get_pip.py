# Copyright: (c) 2026, kubegang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for the pip bootstrap script that ansible-test downloads from a host of its own.

The pip that comes with Python installs the asked-for packages from the configured index instead, so that the sanity
tests run where only a package index can be reached. ansible-test runs this file with the options of get-pip.
"""

from __future__ import annotations

import subprocess
import sys

# Options of get-pip that pip itself does not have.
GET_PIP_ONLY = ("--no-setuptools", "--no-wheel")

if __name__ == "__main__":
    subprocess.check_call([sys.executable, "-m", "ensurepip"])
    packages = [word for word in sys.argv[1:] if word not in GET_PIP_ONLY]
    sys.exit(subprocess.call([sys.executable, "-m", "pip", "install", *packages]))
