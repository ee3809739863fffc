#!/bin/sh
# Unpacks the newest etcd and etcdctl that Debian has (suite sid) into DIRECTORY, and installs nothing. Needs Debian's apt.
#
#   fetch-newest-etcd.sh DIRECTORY
set -eu

[ $# -eq 1 ] || { echo "usage: $0 DIRECTORY" >&2; exit 2; }
mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
cd "$1"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=$(sed -n 's/^URIs: //p' /etc/apt/sources.list.d/debian.sources | head -n 1)
echo "deb [signed-by=$keyring] $mirror sid main" > sources.list
apt() {
    apt-get -qq -o Dir::Etc::sourcelist="$PWD/sources.list" -o Dir::Etc::sourceparts=- \
        -o Dir::State::lists="$PWD/lists" -o Dir::Cache="$PWD/cache" -o APT::Sandbox::User=root "$@"
}
apt update
rm -f ./*.deb
apt download etcd-server etcd-client
for package in ./*.deb; do dpkg-deb --extract "$package" .; done
usr/bin/etcd --version
