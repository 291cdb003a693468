#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Signed repositories of empty packages that are named and numbered as NVIDIA's and SUSE's, in the folder $1:
# rpms holds signed packages and one without a signature; toolkit, as NVIDIA's own, unsigned packages and a signed list of them;
# and what somebody else could make of the latter: exchanged holds another package, forged another list.
set -eu
folder=$1
mkdir -p "$folder/specs" "$folder/rpms"
cd "$folder"
export GNUPGHOME=$folder/gnupg
mkdir -m 700 "$GNUPGHOME"
gpg --batch --quiet --pinentry-mode=loopback --passphrase '' --quick-generate-key "kubegang tests <maintainers@kubegang.dev>" rsa3072 sign never
gpg --batch --armor --export > "$folder/key.asc"

package() { # name, version, release, epoch, and the folder if it is not rpms
    cat > "specs/$1.spec" <<SPEC
Name: $1
Version: $2
Release: $3
Epoch: $4
Summary: An empty package
License: GPL-3.0-or-later
BuildArch: noarch
%description
An empty package for the tests of kubegang.core.
%files
SPEC
    rpmbuild --quiet -bb --define "_rpmdir $folder/${5:-rpms}" "specs/$1.spec"
}

# NVIDIA's for RHEL: an epoch, and three versions of two branches.
for version in 570.86.15 570.133.20 580.95.05; do
    for name in kmod-nvidia-open-dkms nvidia-driver-cuda nvidia-persistenced nvidia-fabric-manager; do
        package "$name" "$version" 1.el9 3
    done
done
package "kernel-devel-$(uname -r)" 1 1 0
package "kernel-devel-matched-$(uname -r)" 1 1 0
package python3-dnf-plugin-versionlock 4.3.1 1 0
# SUSE's modules carry the kernel's version behind the driver's, NVIDIA's user space for them does not.
for version in 580.95.05 580.126.20; do
    package nvidia-open-driver-G06-signed-cuda-kmp-default "${version}_k6.4.0_150600.21" 1.1 0
    package nvidia-compute-G06 "$version" 0 0
    package nvidia-compute-utils-G06 "$version" 0 0
    package nvidia-fabricmanager "$version" 0 0
done
rpmsign --addsign --define "__gpg /usr/bin/gpg" --define "_gpg_name kubegang tests" rpms/noarch/*.rpm > /dev/null
# After signing, so that it stays without a signature.
package nvidia-unsigned 570.86.15 1.el9 3

for version in 1.20.1 1.20.2 1.20.3; do
    for name in nvidia-container-toolkit nvidia-container-toolkit-base libnvidia-container-tools libnvidia-container1; do
        package "$name" "$version" 1 0 toolkit
    done
done

for repository in rpms toolkit; do
    createrepo_c --quiet "$folder/$repository"
    gpg --batch --armor --detach-sign "$folder/$repository/repodata/repomd.xml"
    cp "$folder/key.asc" "$folder/$repository/repodata/repomd.xml.key"
done
gpgconf --kill all

cp -r toolkit exchanged
echo >> exchanged/noarch/libnvidia-container1-1.20.3-1.noarch.rpm
cp -r toolkit forged
echo >> forged/repodata/repomd.xml
